"""Drive mode and live mode: keys or streamed motion capture move the character, in a separate thread."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.contacts.importance import LIMBS
from footplant.editor import wire
from footplant.editor.drive_sets import DriveSet
from footplant.errors import FootplantError, FormatError, MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character

RATE = 60.0
"""Poses per second sent to the page."""
LONGEST = int(600 * RATE)
"""Poses that are kept while driving, ten minutes, so that they can be opened as a clip."""
FEWEST = 10
"""Poses of the shortest clip that is kept."""
Send = Callable[[dict[str, Any] | bytes], None]


class Performance(ABC):
    """A thread that sends poses."""

    mode: ClassVar[str]
    """What the page asks for it by."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._stopped = threading.Event()
        self._sequence = 0
        self._thread = threading.Thread(target=self._run, name="footplant-live", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stopped.set()
        if self._thread is not threading.current_thread() and self._thread.is_alive():
            self._thread.join(2.0)

    def steer(self, request: Mapping[str, Any]) -> None:
        """Handle a request of the page while playing; ignored by default."""
        del request

    def _run(self) -> None:
        try:
            self.play()
        except FootplantError as error:
            self._fail(str(error))
        except Exception as error:
            # a thread that ends silently would leave the page waiting
            self._fail(f"{self.mode} mode ended: {type(error).__name__}: {error}")
            raise

    def _fail(self, text: str) -> None:
        self._send({"is": "error", "text": text, "during": self.mode})
        self._send({"is": "driving", "mode": "off", "keys": []})

    @abstractmethod
    def play(self) -> None:
        """Send poses until stopped."""


class Driver(Performance):
    """A thread that sends poses of one character."""

    mode = "drive"
    ground: Ground | None = None
    """What the character moves on; None: a level floor at height 0."""

    def __init__(self, character: Character, send: Send) -> None:
        super().__init__(send)
        self.character = character
        self._played: deque[tuple[float, Any, Any]] = deque(maxlen=LONGEST)

    def show(self, root: Any, rotations: Any) -> None:
        """Send one pose."""
        motion = Motion(self.character.skeleton, np.array(root)[None], np.array(rotations)[None], RATE)
        self._played.append((time.perf_counter(), motion.root[0], motion.rotations[0]))
        self._sequence += 1
        self._send(wire.encode_poses(Kinematics(motion), 0, wire.LIVE, self._sequence))

    def recorded(self) -> Motion:
        """Return what was played as a motion of `RATE` frames per second."""
        if len(self._played) < FEWEST:
            raise MotionError(f"expected at least {FEWEST} poses to keep as a clip, got {len(self._played)}")
        times, roots, rotations = (np.array(part) for part in zip(*self._played))
        # poses were shown at uneven times: interpolate at those of the frames
        wanted = np.arange(times[0], times[-1], 1.0 / RATE)
        rows = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 1)
        share = np.clip((wanted - times[rows]) / np.maximum(np.diff(times, append=times[-1] + 1.0)[rows], 1e-6), 0, 1)
        after = np.minimum(rows + 1, len(times) - 1)
        root = roots[rows] + share[:, None] * (roots[after] - roots[rows])
        turned = rotation.slerp(rotations[rows], rotations[after], share[:, None])
        return Motion(self.character.skeleton, root, turned, RATE)


class KeyDriver(Driver):
    """A character driven by keys."""

    def __init__(
        self,
        driven: DriveSet,
        send: Send,
        *,
        place: tuple[float, float] = (0.0, 0.0),
        facing: float = 0.0,
        ground: Ground | None = None,
    ) -> None:
        """Stand at a place (x, z) of a ground until a key is held."""
        super().__init__(driven.controller.character, send)
        self._set, self.ground = driven, ground
        self._state = driven.controller.init(place=place, facing=facing, begin=driven.idle, ground=ground)
        self._keys: frozenset[str] = frozenset()

    def steer(self, request: Mapping[str, Any]) -> None:
        """Update the keys that are held."""
        keys = request.get("keys")
        if isinstance(keys, list):
            self._keys = frozenset(str(key) for key in keys[:16])

    def play(self) -> None:
        """Step the controller in real time."""
        controller, state, before = self._set.controller, self._state, frozenset()
        current, last = (self._set.idle, "straight"), time.perf_counter()
        while not self._stopped.wait(max(last + 1.0 / RATE - time.perf_counter(), 0.001)):
            keys, now = self._keys, time.perf_counter()
            for key in sorted(keys - before):
                if key in self._set.actions:
                    controller.request(state, self._set.actions[key])
            wanted = self._set.requested(keys)
            if wanted != current:
                current = wanted
                controller.request(state, wanted[0], wanted[1])  # type: ignore[arg-type]
            before = keys
            state, pose = controller.step(state, min(now - last, 0.1))
            last = now
            self.show(pose.root, pose.rotations)


class StreamDriver(Driver):
    """A character driven as a puppet by a performer whose poses arrive by UDP."""

    def __init__(self, place: str, character: Character, send: Send) -> None:
        """place: "vmc:39539" and the like; only this machine may send."""
        from footplant.live.stage import LiveStage
        from footplant.live.wire import LOOPBACK, Inlet, endpoint

        super().__init__(character, send)
        found = endpoint(place)
        if found is None or found.host != LOOPBACK:
            raise FormatError(f"expected a protocol and a port of this machine, as in vmc:39539; got {place!r}")
        self._stage = LiveStage(found.protocol, character)
        self._inlet = Inlet(found)
        self._shown = 0.0

    def play(self) -> None:
        """Receive datagrams and show poses when they are due."""
        from footplant.live.show import perform

        try:
            perform(self._stage, self._inlet, self._present, stop=self._stopped.is_set, status=self._status)
        finally:
            self._inlet.close()

    def _present(self, shown: Any, latest: bool) -> None:
        now = time.perf_counter()
        if latest and shown.number == 0 and now - self._shown >= 0.8 / RATE:
            self._shown = now
            self.show(shown.pose.root, shown.pose.rotations)

    def _status(self, latencies: Any) -> None:
        from footplant.live.status import problems

        actors = self._stage.actors
        note = "; ".join(problems(self._stage)) or (actors[0].note if actors else "no data yet")
        rate = actors[0].clock.rate if actors and actors[0].performer else 0.0
        importance = actors[0].importance if actors else None
        limbs = {} if importance is None else {limb.replace("_", " "): round(importance[limb], 3) for limb in LIMBS}
        self._send(
            {"is": "live", "datagrams": self._stage.datagrams, "rate": round(rate, 1), "note": note, "matters": limbs}
        )
