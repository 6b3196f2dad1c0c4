"""The loop around a stage: receive, show, and count. Clocks and sockets are used only here."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import MotionError
from footplant.live.actor import Shown
from footplant.live.protocols import natnet
from footplant.live.protocols.natnet_poses import NatNetReceiver
from footplant.live.protocols.recording import Recorder
from footplant.live.stage import LiveStage
from footplant.live.wire import Inlet
from footplant.motion import Motion
from footplant.skeleton import Skeleton

SHORTEST_SLEEP = 0.004
"""Seconds after which the loop checks for missed poses, even when nothing arrives."""
TURN = 0.001
"""Seconds between two turns of the loop at least: what arrives or is due meanwhile is done in one go. With 32 actors at
60 Hz a pose then takes 0.43 ms of CPU time instead of 0.49 with sockets, beside a busy core: 0.83 of a core instead of
0.95. With 4 ms it is 0.38, and poses are 3 ms later."""
STATUS_EVERY = 0.5
"""Seconds between two status reports."""
ASK_EVERY = 2.0
"""Seconds between two requests for NatNet's definitions."""
MOST_LATENCIES = 1 << 14

SendPose = Callable[[Shown, bool], None]
"""Gets a pose, and whether it is the latest of its actor: a view draws no other. Receivers get all of them, they have
buffers: with the latest alone, of 32 actors at 60 Hz on one core 8 % of the poses were left out, with all 0.2 %."""


@dataclass
class Latencies:
    """The most recent latencies, seconds: from when a pose was due, or its datagram arrived, to when it was sent. Poses
    that answer no datagram do not count."""

    values: NDArray = field(default_factory=lambda: np.zeros(MOST_LATENCIES))
    count: int = 0

    def add(self, seconds: float) -> None:
        """Add a latency."""
        self.values[self.count % len(self.values)] = seconds
        self.count += 1

    def percentile(self, share: float) -> float:
        """Return a percentile in seconds; NaN when there is none."""
        known = self.values[: min(self.count, len(self.values))]
        return float(np.percentile(known, share)) if len(known) else float("nan")


def perform(
    stage: LiveStage,
    inlet: Inlet,
    send: SendPose,
    *,
    stop: Callable[[], bool],
    recorder: Recorder | None = None,
    status: Callable[[Latencies], None] | None = None,
) -> Latencies:
    """Drive a stage by incoming datagrams until `stop` returns True.

    The stage's time starts with the first datagram and is what the recorder writes: what is recorded gives the same
    poses again, bit for bit, and also those that were left out because we were stopped. Time goes on only to where
    everything that arrived before has been read, and datagrams count from when they arrived, so that poses do not
    depend on how late we are.
    """
    latencies, shown, asked = Latencies(), -STATUS_EVERY, -ASK_EVERY
    begun: float | None = None
    now = -math.inf
    while not stop():
        rest = now + TURN - time.perf_counter()
        if rest > 0.0:
            time.sleep(rest)
        wait = SHORTEST_SLEEP
        if begun is not None:
            wait = min(wait, stage.due - (time.perf_counter() - begun))
        inlet.wait(wait)
        completed: float | None = None
        now = time.perf_counter()
        for arrival in inlet.drain():
            begun = arrival.when if begun is None else begun
            when = max(arrival.when - begun, stage.now)
            if recorder is not None:
                recorder.add(arrival.data, arrival.sender, when)
            if stage.feed(arrival.data, arrival.sender, when, late=max(now - arrival.when, 0.0)):
                completed = arrival.when if completed is None else completed
        if begun is not None:
            poses = stage.poses(max(now - begun, stage.now), late=0.0)
            latest = {pose.number: pose for pose in poses}
            for pose in poses:
                send(pose, pose is latest[pose.number])
                if not pose.bridged:
                    due = begun + pose.time
                    latencies.add(time.perf_counter() - (due if completed is None else max(due, completed)))
        if status is not None and now - shown > STATUS_EVERY:
            status(latencies)
            shown = now
        if stage.protocol == "natnet" and now - asked > ASK_EVERY:
            asked = now
            ask_for_definitions(stage, inlet)
    if recorder is not None and begun is not None:
        recorder.end(stage.now)
    return latencies


def ask_for_definitions(stage: LiveStage, inlet: Inlet) -> None:
    """Request bone definitions from the servers that have sent frames."""
    for sender, receiver in stage.receivers.items():
        if isinstance(receiver, NatNetReceiver) and receiver.wants_definitions and isinstance(sender, tuple):
            inlet.answer(natnet.request_definitions(), sender[0], natnet.COMMAND_PORT)


class TakeRecorder:
    """Records poses as they are shown, to be written as a clip."""

    def __init__(self, skeleton: Skeleton, most: int = 1_000_000) -> None:
        """most: poses that are kept; beyond, recording ends and the show goes on."""
        self._skeleton, self._most = skeleton, most
        self._times: list[float] = []
        self._roots: list[NDArray] = []
        self._rotations: list[NDArray] = []

    def __len__(self) -> int:
        """Return the number of poses."""
        return len(self._times)

    def add(self, seconds: float, root: NDArray, rotations: NDArray) -> None:
        """Add a pose; of two at the same time the later is kept."""
        if self._times and seconds <= self._times[-1]:
            self._times.pop()
            self._roots.pop()
            self._rotations.pop()
        if len(self._times) < self._most and (not self._times or seconds > self._times[-1]):
            self._times.append(seconds)
            self._roots.append(np.array(root, np.float32))
            self._rotations.append(np.array(rotations, np.float32))

    def motion(self, fps: float) -> Motion:
        """Return the poses at a constant rate, interpolated by slerp."""
        if not self._times:
            raise MotionError("expected poses to write, got none: nothing came in")
        times = np.array(self._times) - self._times[0]
        wanted = np.arange(int(times[-1] * fps + 1e-6) + 1) / fps
        after = np.clip(np.searchsorted(times, wanted), 1, max(len(times) - 1, 1))
        after = np.minimum(after, len(times) - 1)
        before = np.maximum(after - 1, 0)
        length = np.maximum(times[after] - times[before], 1e-9)
        share = np.clip((wanted - times[before]) / length, 0.0, 1.0)
        roots = np.array(self._roots, float)
        rotations = rotation.normalize(np.array(self._rotations, float))
        root = roots[before] + share[:, None] * (roots[after] - roots[before])
        turned = rotation.slerp(
            rotations[before], rotations[after], np.broadcast_to(share[:, None], (len(share), rotations.shape[1]))
        )
        return Motion(self._skeleton, root, rotation.unroll(rotation.normalize(turned)), fps)
