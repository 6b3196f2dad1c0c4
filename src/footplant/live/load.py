"""Load generator for benchmarks: actors that send VMC from their own sockets and receive the answers.

Runs in its own process, so that its cost is not measured: `python -m footplant.live.load --help`.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import time

import numpy as np

from footplant import rotation
from footplant.live.faults import Faults
from footplant.live.protocols import osc
from footplant.live.protocols.vmc import VmcReceiver
from footplant.live.stage import PoseEncoder
from footplant.live.wire import LOOPBACK

MARK = "pose"
"""Expression whose weight is the number of a pose, exact in 32 bits up to 16 million."""
_MARKED = osc.encode("/VMC/Ext/Blend/Val", MARK, 0.0)[:-4]
AFTER = 0.3
"""Seconds to wait for answers after everything is sent."""
WARM = 1.5
"""Seconds at the start that are not measured: tables are built then."""


def schedule(actors: int, fps: float, seconds: float) -> list[tuple[float, int, float]]:
    """Return (when, actor, its T) of every pose; actors are spread evenly over a frame."""
    frames = int(seconds * fps)
    return [(f / fps + a / (fps * actors), a, f / fps) for f in range(frames) for a in range(actors)]


def run(
    in_port: int, out_port: int, *, actors: int = 8, fps: float = 60.0, seconds: float = 10.0,
    faults: Faults | None = None, stall: tuple[float, float] | None = None, jump: float | None = None,
    clip: str = "walk",
) -> dict[str, float]:  # fmt: skip
    """Send, receive, and measure.

    stall: (start, length) seconds in which nothing is sent and then everything at once. jump: when the senders' clocks
    are set an hour ahead. Latencies are those of poses whose number came back, sent to received, on this process's
    clock. Poses sent in the first `WARM` seconds are not counted; unanswered are later ones without an answer, and
    unanswered_in_time those of them that were sent less than half a frame late. sender_late_p99_ms says how late this
    process itself was: on a busy machine that is jitter nobody asked for.
    """
    from footplant import samples

    sample = samples.load(clip)
    motion = sample.motion.resample(fps)
    count = len(motion)
    encoder = PoseEncoder("vmc", sample.character)
    plan = schedule(actors, fps, seconds)
    faults = faults or Faults()
    # draw the faults on pose numbers, to know which poses are sent when
    arrivals = [
        (when, int.from_bytes(key, "big"))
        for when, key in faults.apply((w, n.to_bytes(4, "big")) for n, (w, _, _) in enumerate(plan))
    ]
    if stall is not None:
        arrivals = [(stall[0] + stall[1] if stall[0] <= when < sum(stall) else when, n) for when, n in arrivals]
    senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(actors)]
    sockets = []
    for number in range(actors):
        answers = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        answers.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        answers.bind((LOOPBACK, out_port + number))
        answers.setblocking(False)
        sockets.append(answers)
    receivers = [VmcReceiver() for _ in sockets]
    sent: dict[int | None, tuple[float, float]] = {}
    """Number of a pose → when it was sent, and how late. Actors are numbered as they arrive, which loss may change."""
    latencies: list[float] = []
    received: list[tuple[float, int, np.ndarray]] = []
    not_finite = 0
    late: list[float] = []
    begun, used = time.perf_counter(), time.process_time()

    def listen(until: float) -> None:
        nonlocal not_finite
        while True:
            left = until - time.perf_counter()
            ready = select.select(sockets, [], [], max(left, 0.0))[0]
            now = time.perf_counter()
            for answers in ready:
                number = sockets.index(answers)
                try:
                    data = answers.recv(65_536)
                except BlockingIOError:
                    continue
                for found in receivers[number].feed(data, now):
                    not_finite += not np.isfinite(found.rotations).all()
                    if now - begun > WARM and found.time is not None:
                        received.append((found.time, number, found.rotations[found.present].copy()))
                when, _ = sent.pop(_mark(data), (begun, 0.0))
                if when - begun > WARM:
                    latencies.append(now - when)
            if left <= 0:
                return

    for when, number in arrivals:
        listen(begun + when)
        late.append(time.perf_counter() - begun - when)
        _, actor, stamp = plan[number]
        frame = round(stamp * fps) % (2 * count - 2)
        frame = frame if frame < count else 2 * count - 2 - frame
        if jump is not None and when > jump:
            stamp += 3600.0
        # an expression of the performer is that of the avatar: it says which pose is answered
        data = encoder.encode(motion.root[frame], motion.rotations[frame], stamp, {MARK: float(number)})
        sent[number] = time.perf_counter(), late[-1]
        senders[actor].sendto(data, (LOOPBACK, in_port))
    listen(time.perf_counter() + AFTER)
    share = (time.process_time() - used) / (time.perf_counter() - begun)
    for sock in (*senders, *sockets):
        sock.close()
    unanswered = [late_by for when, late_by in sent.values() if when - begun > WARM]
    found = np.array(latencies) if latencies else np.array([np.nan])
    largest = float(rotation.angle(motion.rotations[:-1], motion.rotations[1:]).max() * motion.fps)
    return {
        "actors": actors,
        "sent": len(arrivals),
        "heard": len(received),
        "unanswered": len(unanswered),
        "unanswered_in_time": sum(late_by < 0.5 / fps for late_by in unanswered),
        "p50_ms": 1e3 * float(np.percentile(found, 50)),
        "p99_ms": 1e3 * float(np.percentile(found, 99)),
        "measured": len(latencies),
        "sender_late_p99_ms": 1e3 * float(np.percentile(late, 99)) if late else 0.0,
        "sender_cpu_share": share,
        "not_finite": not_finite,
        "speed_ratio": _largest_speed(received, actors) / largest if largest > 0 else 0.0,
    }


def _mark(data: bytes) -> int | None:
    """Return the number of the pose that a datagram answers."""
    place = data.find(_MARKED)
    return round(float(np.frombuffer(data, ">f4", 1, place + len(_MARKED))[0])) if place >= 0 else None


def _largest_speed(received: list[tuple[float, int, np.ndarray]], actors: int) -> float:
    """Return the largest angular speed of any bone, radians per second of the stamps, at least half a frame apart."""
    largest = 0.0
    for actor in range(actors):
        last: tuple[float, np.ndarray] | None = None
        for when, number, turns in received:
            if number != actor:
                continue
            if last is None or not -1.0 < when - last[0] < 1.0 or len(turns) != len(last[1]):
                last = (when, turns)
            elif when - last[0] > 0.008:
                largest = max(largest, float(rotation.angle(last[1], turns).max() / (when - last[0])))
                last = (when, turns)
    return largest


def main() -> None:
    """Run the command line: print one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--in-port", type=int, required=True, help="port to send to")
    parser.add_argument("--out-port", type=int, required=True, help="port of the first actor's answers")
    parser.add_argument("--actors", type=int, default=8)
    parser.add_argument("--fps", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    for name in ("loss", "delay", "jitter", "reorder", "duplicate"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--stall", type=float, nargs=2, metavar=("AT", "LENGTH"))
    parser.add_argument("--jump", type=float, help="time at which the senders' clocks jump")
    parser.add_argument("--core", type=int, help="run on this core alone (Linux)")
    a = parser.parse_args()
    if a.core is not None:
        os.sched_setaffinity(0, {a.core})
    faults = Faults(a.loss, a.delay, a.jitter, a.reorder, a.duplicate)
    stall = None if a.stall is None else (a.stall[0], a.stall[1])
    print(
        json.dumps(
            run(
                a.in_port, a.out_port, actors=a.actors, fps=a.fps, seconds=a.seconds, faults=faults, stall=stall,
                jump=a.jump,
            )
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
