"""A crowd in real time: poses out as they are played, and changed by OSC messages as they arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Protocol

from footplant.live.crowd import Crowd
from footplant.live.crowd_control import Answer, CrowdControl, Sender
from footplant.live.crowd_group import Postures

SendFrame = Callable[[list[Postures], float], None]
"""Gets the postures of all groups at a frame, and its time in seconds."""


class Arrival(Protocol):
    """A datagram."""

    @property
    def data(self) -> bytes:
        """Its bytes."""
        ...

    @property
    def sender(self) -> Sender:
        """Who sent it."""
        ...


class Control(Protocol):
    """Where messages arrive: a socket (`live.wire.Inlet`), or a queue."""

    answer: Answer

    def wait(self, seconds: float) -> bool:
        """Wait so long at most; return whether something has arrived."""
        ...

    def drain(self) -> Iterable[Arrival]:
        """Return what has arrived."""
        ...


def perform_crowd(
    crowd: Crowd,
    send: SendFrame,
    *,
    stop: Callable[[], bool],
    control: Control | None = None,
    log: Callable[[str], None] | None = None,
    changes: CrowdControl | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Play a scene in its own time, over and over, until `stop` returns True; return what happened.

    control: where messages for `CrowdControl` arrive; log: gets a line for each. changes: what takes them, where that
    is needed elsewhere, too; it is closed in the end. clock: seconds; one that stands still pauses the crowd. Frames
    that are overdue are left out.
    """
    crowd.repeats = True
    fps, state = crowd.scene.fps, crowd.init()
    if changes is None:
        changes = CrowdControl(crowd, answer=None if control is None else control.answer, log=log)
    # kernels are loaded before time counts
    crowd.step(crowd.init(), 0)
    begun, shown, left_out, last = clock(), 0, 0, -1
    try:
        while not stop():
            due = begun + (last + 1) / fps
            wait = min(max(due - clock(), 0.0), 0.05)
            if control is None:
                time.sleep(wait)
            elif control.wait(wait):
                for arrival in control.drain():
                    changes.feed(arrival.data, arrival.sender)
            now = int((clock() - begun) * fps)
            # a crowd that is paused takes changes, too
            changes.begin(now / fps)
            if now <= last:
                continue
            left_out += now - last - 1
            last = now
            state, poses = crowd.step(state, now)
            changes.saw(state, poses, now)
            send(poses, now / fps)
            shown += 1
    finally:
        changes.close()
    return {"shown": shown, "left_out": left_out, "changes": changes.applied, "refused": changes.refused}
