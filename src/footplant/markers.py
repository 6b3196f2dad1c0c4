"""Points that cameras saw: markers with names, moving, and hidden now and then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.conversion import Conversion
from footplant.errors import MotionError
from footplant.skeleton import frozen


@dataclass(frozen=True)
class Event:
    """A moment that somebody marked in a trial, such as a foot strike."""

    label: str
    """What happened: "Foot Strike" …"""
    seconds: float
    """When, from the first frame of the markers; negative when it was before."""
    context: str = ""
    """Which side: "Left", "Right", "General" …; "" when the file does not say."""
    subject: str = ""
    """Whose event it is; "" when the file does not say."""


@dataclass(frozen=True, eq=False)
class Markers:
    """Named points over time, sampled at a constant rate, with NaN where a point is hidden."""

    names: tuple[str, ...]
    """M names, each once; with the subject's name before a colon where the file writes it so ("Ann:LKNE")."""
    positions: NDArray
    """(F, M, 3) metres, y up; all three coordinates are NaN where a marker is hidden."""
    fps: float = 100.0
    """Frames a second."""
    residuals: NDArray | None = None
    """(F, M) metres; how well the cameras agreed about each point, 0 for points that were made, not seen; NaN where
    hidden. None when the file does not say."""
    subjects: tuple[str, ...] = ()
    """M names of the persons or props that the markers are on, "" where unknown; empty stands for all unknown."""
    first_frame: int = 1
    """The number that the recording gives to the first frame here."""
    events: tuple[Event, ...] = ()
    name: str = "markers"
    conversion: Conversion = field(default_factory=Conversion)
    """What was done to bring the file's numbers into metres and y up."""
    notes: tuple[str, ...] = ()
    """What the reader found odd and what it made of it, one sentence each."""

    def __post_init__(self) -> None:
        """Check names, shapes and values once."""
        names = tuple(self.names)
        positions = np.asarray(self.positions, float)
        if positions.ndim != 3 or positions.shape[1:] != (len(names), 3):
            raise MotionError(f"expected positions of shape (frames, {len(names)}, 3), got {positions.shape}")
        if len(set(names)) != len(names) or "" in names:
            twice = next((name for place, name in enumerate(names) if name == "" or name in names[:place]), "")
            raise MotionError(f"expected markers with names of their own, got {twice!r} more than once or empty")
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise MotionError(f"expected a positive number of frames a second, got {self.fps}")
        subjects = tuple(self.subjects) or ("",) * len(names)
        if len(subjects) != len(names):
            raise MotionError(f"expected a subject for each of {len(names)} markers, got {len(subjects)}")
        if np.isinf(positions).any():
            frame, marker, _ = np.argwhere(np.isinf(positions))[0]
            raise MotionError(f"expected finite positions or NaN, got infinity at frame {frame}, {names[marker]!r}")
        x, y, z = (np.isnan(positions[..., axis]) for axis in range(3))
        partly = (x != y) | (y != z)
        if partly.any():
            frame, marker = np.argwhere(partly)[0]
            raise MotionError(f"expected three coordinates or three NaN, got a mix at frame {frame}, {names[marker]!r}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "subjects", subjects)
        object.__setattr__(self, "positions", frozen(positions))
        if self.residuals is not None:
            residuals = np.asarray(self.residuals, float)
            if residuals.shape != positions.shape[:2]:
                raise MotionError(f"expected residuals of shape {positions.shape[:2]}, got {residuals.shape}")
            object.__setattr__(self, "residuals", frozen(residuals))

    def __len__(self) -> int:
        """How many frames."""
        return len(self.positions)

    @property
    def frame_time(self) -> float:
        """Seconds from one frame to the next."""
        return 1.0 / self.fps

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return max(len(self) - 1, 0) / self.fps

    @property
    def visible(self) -> NDArray:
        """(F, M) bool; whether a marker was seen."""
        return ~np.isnan(self.positions[..., 0])

    @property
    def labels(self) -> tuple[str, ...]:
        """The names without the subjects' names before them: "LKNE" of "Ann:LKNE"."""
        return tuple(name.rpartition(":")[2] or name for name in self.names)

    def index(self, name: str) -> int:
        """The place of a marker, by its name or, where that tells it apart, by its label."""
        if name in self.names:
            return self.names.index(name)
        places = [place for place, label in enumerate(self.labels) if label == name]
        if len(places) != 1:
            known = ", ".join(self.names[:8]) + (" …" if len(self.names) > 8 else "")
            found = "none" if not places else f"{len(places)}; say whose"
            raise MotionError(f"expected a marker called {name!r}, got {found}; there are: {known}")
        return places[0]

    def gaps(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Marker → the frames [start, end) in which it is hidden; every marker is there, most with nothing."""
        edges = np.zeros((len(self) + 2, len(self.names)), np.int8)
        edges[1:-1] = ~self.visible
        steps = np.diff(edges, axis=0)
        found: dict[str, tuple[tuple[int, int], ...]] = {}
        for marker, name in enumerate(self.names):
            starts, ends = np.flatnonzero(steps[:, marker] > 0), np.flatnonzero(steps[:, marker] < 0)
            found[name] = tuple(zip(starts.tolist(), ends.tolist(), strict=True))
        return found

    def __getitem__(self, frames: int | np.integer | slice | Sequence[int] | NDArray) -> Markers:
        """Some of the frames: m[3] is one frame, m[10:20] a cut; a step divides the rate.

        A cut keeps the frames' numbers and the events. With a step the numbers start from 1 again; frames that are
        picked one by one have no events.
        """
        first, fps, events = 1, self.fps, self.events
        if isinstance(frames, int | np.integer):
            if not -len(self) <= frames < len(self):
                raise MotionError(f"expected a frame in 0..{len(self) - 1}, got {frames}")
            place = int(frames) % len(self)
            frames = slice(place, place + 1)
        if isinstance(frames, slice):
            start, _, step = frames.indices(len(self))
            fps = self.fps / abs(step)
            first = self.first_frame + start if step == 1 else 1
            events = tuple(replace(event, seconds=event.seconds - start / self.fps) for event in events)
            events = events if step > 0 else ()
        else:
            frames, events = np.asarray(frames), ()
        return replace(
            self,
            positions=self.positions[frames],
            residuals=None if self.residuals is None else self.residuals[frames],
            fps=fps,
            first_frame=first,
            events=events,
        )

    def select(self, names: Sequence[str] | None = None, *, subject: str | None = None) -> Markers:
        """Some of the markers: those that are named, in that order, or all of one subject, or both."""
        places = list(range(len(self.names))) if names is None else [self.index(name) for name in names]
        if subject is not None:
            places = [place for place in places if self.subjects[place] == subject]
            if not places:
                known = ", ".join(repr(name) for name in dict.fromkeys(self.subjects))
                raise MotionError(f"expected a subject among {known or 'none'}, got {subject!r}")
        return replace(
            self,
            names=tuple(self.names[place] for place in places),
            subjects=tuple(self.subjects[place] for place in places),
            positions=self.positions[:, places],
            residuals=None if self.residuals is None else self.residuals[:, places],
        )

    def resample(self, fps: float) -> Markers:
        """The same time at another rate, in straight lines; a point is hidden between frames where either hides it.

        The last frame is kept when the new rate meets it, else the markers end at the last new sample before it.
        """
        if not (np.isfinite(fps) and fps > 0):
            raise MotionError(f"expected a positive number of frames a second, got {fps}")
        if len(self) == 0:
            return replace(self, fps=float(fps), first_frame=1)
        count = int(np.floor(self.duration * fps + 1e-6)) + 1
        position = np.minimum(np.arange(count) / fps * self.fps, len(self) - 1)
        nearest = np.round(position)
        # a time that was computed from a frame number must give back that frame, not NaN of a gap beside it
        position = np.where(np.abs(position - nearest) < 1e-6, nearest, position)
        before = np.floor(position).astype(np.int64)
        share = position - before
        after = np.where(share > 0, before + 1, before)

        def between(values: NDArray) -> NDArray:
            weight = share.reshape((-1,) + (1,) * (values.ndim - 1))
            return values[before] + weight * (values[after] - values[before])

        return replace(
            self,
            positions=between(self.positions),
            residuals=None if self.residuals is None else between(self.residuals),
            fps=float(fps),
            first_frame=self.first_frame if fps == self.fps else 1,
        )

    def transformed(self, turn: ArrayLike, shift: ArrayLike = (0.0, 0.0, 0.0)) -> Markers:
        """All markers turned about the world's origin by a quaternion, then shifted (metres)."""
        return replace(self, positions=rotation.rotate(turn, self.positions) + np.asarray(shift, float))

    def scaled(self, factor: float) -> Markers:
        """Every length times a factor."""
        residuals = None if self.residuals is None else self.residuals * abs(factor)
        return replace(self, positions=self.positions * factor, residuals=residuals)
