"""A crowd in real time: poses out as they are played, and changed by OSC messages as they arrive."""

from __future__ import annotations

import time
from collections.abc import Callable

from footplant.live.crowd import Crowd
from footplant.live.crowd_control import CrowdControl
from footplant.live.crowd_group import Postures
from footplant.live.wire import Inlet

SendFrame = Callable[[list[Postures], float], None]
"""Gets the postures of all groups at a frame, and its time in seconds."""


def perform_crowd(
    crowd: Crowd,
    send: SendFrame,
    *,
    stop: Callable[[], bool],
    control: Inlet | None = None,
    log: Callable[[str], None] | None = None,
) -> dict[str, float]:
    """Play a scene in its own time, over and over, until `stop` returns True; return what happened.

    control: where messages for `CrowdControl` arrive; log: gets a line for each. Frames that are overdue are left out.
    """
    crowd.repeats = True
    fps, state = crowd.scene.fps, crowd.init()
    changes = CrowdControl(crowd, answer=None if control is None else control.answer, log=log)
    # kernels are loaded before time counts
    crowd.step(crowd.init(), 0)
    begun, shown, left_out, last = time.perf_counter(), 0, 0, -1
    try:
        while not stop():
            due = begun + (last + 1) / fps
            wait = min(max(due - time.perf_counter(), 0.0), 0.05)
            if control is None:
                time.sleep(wait)
            elif control.wait(wait):
                for arrival in control.drain():
                    changes.feed(arrival.data, arrival.sender)
            now = int((time.perf_counter() - begun) * fps)
            if now <= last:
                continue
            left_out += now - last - 1
            last = now
            changes.begin(now / fps)
            state, poses = crowd.step(state, now)
            changes.saw(state, poses, now)
            send(poses, now / fps)
            shown += 1
    finally:
        changes.close()
    return {"shown": shown, "left_out": left_out, "changes": changes.applied, "refused": changes.refused}
