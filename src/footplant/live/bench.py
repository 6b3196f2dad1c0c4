"""Measure latency and memory of a stage from outside: datagram in to datagram out."""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import time

from footplant.live.actor import ActorSettings, MakePuppeteer, Shown
from footplant.live.load import WARM
from footplant.live.puppeteer import Puppeteer
from footplant.live.rehearsal import rehearse
from footplant.live.show import Latencies, perform
from footplant.live.stage import LiveStage, PoseEncoder
from footplant.live.wire import LOOPBACK, Endpoint, Inlet, Outlet
from footplant.skeleton import Character


def free_ports(count: int) -> int:
    """Return the first of some consecutive free UDP ports."""
    for _ in range(100):
        sockets: list[socket.socket] = []
        try:
            first = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sockets.append(first)
            first.bind((LOOPBACK, 0))
            start = first.getsockname()[1]
            for number in range(1, count):
                following = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                sockets.append(following)
                following.bind((LOOPBACK, start + number))
            return start
        except (OSError, OverflowError):
            continue
        finally:
            for one in sockets:
                one.close()
    raise OSError("expected free ports on this machine, found none")


def measure(
    target: Character,
    make: MakePuppeteer = Puppeteer,
    settings: ActorSettings | None = None,
    *,
    actors: int = 8,
    seconds: float = 10.0,
    load: tuple[str, ...] = (),
) -> dict[str, float]:
    """Drive actors by a load generator in its own process; load: further options of `footplant.live.load`.

    p50_ms and p99_ms are measured by the load generator, from before it sends a pose to after it receives the answer;
    within_… are measured here, from when the datagram was received, or its pose was due, to handing the answer to the
    system. Both without the first seconds, in which tables are built; missed, the poses that had no data in time, and
    cpu_share also without the end.
    """
    inlet = Inlet(Endpoint("vmc", LOOPBACK, 0))
    out = free_ports(actors)
    outlet = Outlet(Endpoint("vmc", LOOPBACK, out))
    stage = LiveStage("vmc", target, make, settings or ActorSettings(), actors)
    encoders = [PoseEncoder("vmc", target) for _ in range(actors)]
    rehearse(target, make, settings, encoders[0])
    command = [
        sys.executable, "-m", "footplant.live.load", "--in-port", str(inlet.port), "--out-port", str(out),
        "--actors", str(actors), "--seconds", str(seconds), *load,
    ]  # fmt: skip
    looks: list[tuple[float, float, float, int]] = []
    """Seconds, seconds of CPU time, megabytes, and poses without data."""
    ended = False

    def send(shown: Shown, _: bool) -> None:
        pose, number = shown.pose, shown.number
        outlet.send(encoders[number].encode(pose.root, pose.rotations, shown.time, shown.expressions), number)

    def status(latencies: Latencies) -> None:
        nonlocal ended
        ended = process.poll() is not None
        if stage.now < WARM:
            latencies.count = 0
        missed = sum(actor.missed for actor in stage.actors)
        looks.append((time.perf_counter(), time.process_time(), resident_megabytes(), missed))

    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        gc.collect()
        gc.freeze()
        latencies = perform(stage, inlet, send, stop=lambda: ended, status=status)
        results = json.loads(process.communicate()[0] or "{}")
    finally:
        gc.unfreeze()
        process.kill()
        process.wait()
        inlet.close()
        outlet.close()
    poses = sum(actor.poses for actor in stage.actors)
    # without the start, when the load is not there yet and tables are built, and without the end
    settled = looks[int(0.3 * len(looks)) : -3] or looks
    (first, used_first, size_first, missed_first), (last, used_last, size_last, missed_last) = settled[0], settled[-1]
    results |= {
        "within_p50_ms": 1e3 * latencies.percentile(50),
        "within_p99_ms": 1e3 * latencies.percentile(99),
        "cpu_share": (used_last - used_first) / max(last - first, 1e-9),
        "poses": poses,
        "missed": missed_last - missed_first,
        "clock_jumps": sum(actor.clock.jumps for actor in stage.actors),
        "memory_growth_mb": size_last - size_first,
    }
    return results


def resident_megabytes() -> float:
    """Return the resident memory of this process in megabytes; 0 where the system does not report it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, AttributeError):
        return 0.0
