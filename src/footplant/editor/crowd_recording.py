"""What a crowd has played lately, to be kept as clips."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.motion import Motion
from footplant.skeleton import Character

LONGEST = 600.0
"""Seconds that are kept, at most."""
MOST_BYTES = 256 * 2**20
"""Bytes that are kept, at most: ten minutes of ten characters of 60 joints at 30 frames per second."""
FEWEST = 10
"""Frames of the shortest recording."""


class Played(NamedTuple):
    """An actor at a frame."""

    character: Character
    root: NDArray
    """(3,) metres."""
    rotations: NDArray
    """(J, 4) local, single precision."""


class CrowdRecording:
    """The last minutes of a crowd."""

    def __init__(self, fps: float) -> None:
        """Start empty."""
        self.fps = fps
        self._frames: deque[tuple[int, dict[str, Played]]] = deque()
        self._bytes = 0

    def add(self, frame: int, played: Mapping[str, tuple[Character, NDArray, NDArray]]) -> None:
        """Add a frame: characters, roots (3,) and local rotations (J, 4) of actors, by their names."""
        kept = {
            name: Played(character, root.copy(), local.astype(np.float32))
            for name, (character, root, local) in played.items()
        }
        self._frames.append((frame, kept))
        self._bytes += _size(kept)
        while self._bytes > MOST_BYTES or frame - self._frames[0][0] > LONGEST * self.fps:
            self._bytes -= _size(self._frames.popleft()[1])

    def clips(self) -> list[Clip]:
        """Return a clip of each actor of the last frame, all of the same length.

        An actor that came later, or got another body, stands still before. Frames that were left out are interpolated.
        """
        if len(self._frames) < FEWEST:
            raise MotionError(f"expected at least {FEWEST} frames to keep, got {len(self._frames)}")
        frames = list(self._frames)
        wanted = np.arange(frames[0][0], frames[-1][0] + 1)
        return [self._clip(name, last.character, frames, wanted) for name, last in frames[-1][1].items()]

    def _clip(
        self, name: str, character: Character, frames: list[tuple[int, dict[str, Played]]], wanted: NDArray
    ) -> Clip:
        own: list[tuple[int, Played]] = []
        for frame, played in reversed(frames):
            found = played.get(name)
            if found is None or found.character is not character:
                break
            own.append((frame, found))
        own.reverse()
        times = np.array([frame for frame, _ in own])
        roots = np.array([found.root for _, found in own])
        turns = rotation.normalize(np.array([found.rotations for _, found in own], float))
        rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 1)
        after = np.minimum(rows + 1, len(times) - 1)
        share = np.clip((wanted - times[rows]) / np.maximum(times[after] - times[rows], 1), 0.0, 1.0)
        root = roots[rows] + share[:, None] * (roots[after] - roots[rows])
        turned = rotation.unroll(rotation.slerp(turns[rows], turns[after], share[:, None]))
        return Clip(Motion(character.skeleton, root, turned, self.fps), character, name=name)


def _size(played: Mapping[str, Played]) -> int:
    return sum(found.root.nbytes + found.rotations.nbytes for found in played.values())
