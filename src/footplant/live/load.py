"""A load for benchmarks: actors who send VMC from sockets of their own, and hear what comes back.

Runs in a process of its own, so that what it costs is not measured: `python -m footplant.live.load --help`.
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import time

import numpy as np

from footplant import rotation
from footplant.live.faults import Faults
from footplant.live.protocols.vmc import VmcReceiver
from footplant.live.stage import Voice
from footplant.live.wire import LOOPBACK

AFTER = 0.3
"""Seconds for which answers are waited for when all is sent."""
WARM = 1.5
"""Seconds at the start that are not measured: tables are made then."""


def schedule(actors: int, fps: float, seconds: float) -> list[tuple[float, int, float]]:
    """(when, actor, its T) of every pose; actors are spread evenly over a frame."""
    frames = int(seconds * fps)
    return [(f / fps + a / (fps * actors), a, f / fps) for f in range(frames) for a in range(actors)]


def run(
    in_port: int, out_port: int, *, actors: int = 8, fps: float = 60.0, seconds: float = 10.0,
    faults: Faults | None = None, stall: tuple[float, float] | None = None, jump: float | None = None,
    clip: str = "walk",
) -> dict[str, float]:  # fmt: skip
    """Send, listen, and measure.

    stall: (start, length) seconds in which nothing is sent and then everything at once. jump: when the senders' clocks
    are set an hour ahead. Latencies are those of poses whose stamp came back: sent to heard, in this process's clock.
    What is sent in the first seconds (WARM) is not counted as heard; unanswered is what was sent later and got lost.
    """
    from footplant import samples

    sample = samples.load(clip)
    motion = sample.motion.resample(fps)
    count = len(motion)
    voice = Voice("vmc", sample.character)
    plan = schedule(actors, fps, seconds)
    faults = faults or Faults()
    # which poses are sent when: faults are drawn on their numbers
    arrivals = [
        (when, int.from_bytes(key, "big"))
        for when, key in faults.apply((w, n.to_bytes(4, "big")) for n, (w, _, _) in enumerate(plan))
    ]
    if stall is not None:
        arrivals = [(stall[0] + stall[1] if stall[0] <= when < sum(stall) else when, n) for when, n in arrivals]
    senders = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(actors)]
    ears = []
    for number in range(actors):
        ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        ear.bind((LOOPBACK, out_port + number))
        ear.setblocking(False)
        ears.append(ear)
    receivers = [VmcReceiver() for _ in ears]
    sent: dict[float, float] = {}
    latencies: list[float] = []
    heard: list[tuple[float, int, np.ndarray]] = []
    not_finite = 0
    begun = time.perf_counter()

    def listen(until: float) -> None:
        nonlocal not_finite
        while True:
            left = until - time.perf_counter()
            ready = select.select(ears, [], [], max(left, 0.0))[0]
            now = time.perf_counter()
            for ear in ready:
                number = ears.index(ear)
                try:
                    data = ear.recv(65_536)
                except BlockingIOError:
                    continue
                for found in receivers[number].feed(data, now):
                    not_finite += not np.isfinite(found.rotations).all()
                    if now - begun > WARM and found.time is not None:
                        heard.append((found.time, number, found.rotations[found.present].copy()))
                stamp = _stamp(data)
                when = sent.pop(stamp, None) if stamp is not None else None
                if when is not None and when - begun > WARM:
                    latencies.append(now - when)
            if left <= 0:
                return

    for when, number in arrivals:
        listen(begun + when)
        _, actor, stamp = plan[number]
        frame = round(stamp * fps) % (2 * count - 2)
        frame = frame if frame < count else 2 * count - 2 - frame
        if jump is not None and when > jump:
            stamp += 3600.0
        # every actor's stamps are its own, exact in 32 bits
        mark = float(np.float32(stamp + actor / 1024.0))
        data = voice.say(motion.root[frame], motion.rotations[frame], mark)
        sent[mark] = time.perf_counter()
        senders[actor].sendto(data, (LOOPBACK, in_port))
    listen(time.perf_counter() + AFTER)
    for sock in (*senders, *ears):
        sock.close()
    found = np.array(latencies) if latencies else np.array([np.nan])
    largest = float(rotation.angle(motion.rotations[:-1], motion.rotations[1:]).max() * motion.fps)
    return {
        "actors": actors,
        "sent": len(arrivals),
        "heard": len(heard),
        "unanswered": sum(when - begun > WARM for when in sent.values()),
        "p50_ms": 1e3 * float(np.percentile(found, 50)),
        "p99_ms": 1e3 * float(np.percentile(found, 99)),
        "measured": len(latencies),
        "not_finite": not_finite,
        "speed_ratio": _largest_speed(heard, actors) / largest if largest > 0 else 0.0,
    }


def _stamp(data: bytes) -> float | None:
    place = data.find(b"/VMC/Ext/T\x00\x00,f\x00\x00")
    return float(np.frombuffer(data, ">f4", 1, place + 16)[0]) if place >= 0 else None


def _largest_speed(heard: list[tuple[float, int, np.ndarray]], actors: int) -> float:
    """Radians a second of the stamps' clock: the largest of any bone between poses at least half a frame apart."""
    largest = 0.0
    for actor in range(actors):
        last: tuple[float, np.ndarray] | None = None
        for when, number, turns in heard:
            if number != actor:
                continue
            if last is None or not -1.0 < when - last[0] < 1.0 or len(turns) != len(last[1]):
                last = (when, turns)
            elif when - last[0] > 0.008:
                largest = max(largest, float(rotation.angle(last[1], turns).max() / (when - last[0])))
                last = (when, turns)
    return largest


def main() -> None:
    """The command line: prints one JSON object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--in-port", type=int, required=True, help="where to send")
    parser.add_argument("--out-port", type=int, required=True, help="where the first actor's answers are heard")
    parser.add_argument("--actors", type=int, default=8)
    parser.add_argument("--fps", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    for name in ("loss", "delay", "jitter", "reorder", "duplicate"):
        parser.add_argument(f"--{name}", type=float, default=0.0)
    parser.add_argument("--stall", type=float, nargs=2, metavar=("AT", "LENGTH"))
    parser.add_argument("--jump", type=float, help="when the senders' clocks jump")
    a = parser.parse_args()
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
