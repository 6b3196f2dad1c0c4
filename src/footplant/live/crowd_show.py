"""A crowd in real time: poses out as they are played, goals, priorities and ground changed by OSC messages."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from footplant.errors import ConstraintError
from footplant.grounds import slope
from footplant.live.crowd import Crowd, Postures
from footplant.live.crowd_scene import FLOOR
from footplant.live.protocols import osc
from footplant.live.wire import Inlet

STEEPEST = 45.0
"""Degrees; steepest ground that a message may ask for."""
FARTHEST = 1e4
"""Metres from the origin beyond which a target is refused."""

SendFrame = Callable[[list[Postures], float], None]
"""Gets the postures of all groups at a frame, and its time in seconds."""


class CrowdControl:
    """Applies OSC messages to a running crowd; what is not understood is counted and changes nothing.

    `/crowd/aim NAME x y z` moves the targets of the goals with a name, metres; `/crowd/priority NAME n` gives them
    another priority; `/crowd/ground DEGREES` tilts the ground, 0 levels it.
    """

    def __init__(self, crowd: Crowd) -> None:
        """Index the goals by name."""
        self.crowd = crowd
        self.applied = 0
        self.refused = 0
        self._goals: dict[str, list[int]] = {}
        for number, goal in enumerate(crowd.scene.goals):
            self._goals.setdefault(goal.name or goal.kind, []).append(number)

    def feed(self, data: bytes) -> None:
        """Take a datagram."""
        for address, arguments in osc.decode(data):
            try:
                done = self._apply(address, list(arguments))
            except ConstraintError:
                done = False
            self.applied += done
            self.refused += not done

    def _apply(self, address: str, arguments: list[osc.Argument]) -> bool:
        if address == "/crowd/ground":
            degrees = _numbers(arguments)
            if degrees is None or len(degrees) != 1 or abs(degrees[0]) > STEEPEST:
                return False
            self.crowd.set_ground(slope(degrees[0]) if degrees[0] else FLOOR)
            return True
        goals = self._goals.get(arguments[0], []) if arguments and isinstance(arguments[0], str) else []
        numbers = _numbers(arguments[1:])
        if not goals or numbers is None:
            return False
        if address == "/crowd/aim" and len(numbers) == 3 and max(map(abs, numbers)) <= FARTHEST:
            self.crowd.aim(goals, np.tile(numbers, (len(goals), 1)))
            return True
        if address == "/crowd/priority" and len(numbers) == 1 and abs(numbers[0]) < 2**31:
            self.crowd.prioritise(goals, int(numbers[0]))
            return True
        return False


def _numbers(arguments: list[osc.Argument]) -> list[float] | None:
    """Return arguments as finite numbers; None if one is something else."""
    if not all(type(value) in (int, float) and math.isfinite(value) for value in arguments):  # type: ignore[arg-type]
        return None
    return [float(value) for value in arguments]  # type: ignore[arg-type]


def perform_crowd(
    crowd: Crowd, send: SendFrame, *, stop: Callable[[], bool], control: Inlet | None = None
) -> dict[str, float]:
    """Play a scene in its own time, over and over, until `stop` returns True; return what happened.

    control: where messages for `CrowdControl` arrive. Frames that are overdue are left out.
    """
    fps, frames = crowd.scene.fps, crowd.scene.frames
    changes, state = CrowdControl(crowd), crowd.init()
    begun, shown, left_out, last = time.perf_counter(), 0, 0, -1
    while not stop():
        due = begun + (last + 1) / fps
        wait = min(max(due - time.perf_counter(), 0.0), 0.05)
        if control is None:
            time.sleep(wait)
        elif control.wait(wait):
            for arrival in control.drain():
                changes.feed(arrival.data)
        now = int((time.perf_counter() - begun) * fps)
        if now <= last:
            continue
        left_out += now - last - 1
        last = now
        state, poses = crowd.step(state, now % frames)
        send(poses, now / fps)
        shown += 1
    return {"shown": shown, "left_out": left_out, "changes": changes.applied, "refused": changes.refused}
