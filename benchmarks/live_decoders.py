"""Decoders and filter: microseconds a pose, beside python-osc, and 100,000 damaged datagrams for each decoder."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from footplant import rotation
from footplant.live.kalman import SensorFilter
from footplant.live.protocols import osc, vmc
from footplant.live.stage import RECEIVERS
from timing import cpu_seconds, print_figures

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

MUTATIONS = 5_000
BONES = len(vmc.PLAN)


def damaged(protocol: str, count: int) -> dict[str, float]:
    """The slowest and the mean of so many damaged datagrams, CPU milliseconds; an exception ends the benchmark.

    The hundred slowest are decoded again: what an interrupt or another process did to one of them does not come twice.
    """
    from live_made import mutations, seeds

    receiver, taken = RECEIVERS[protocol](), []
    for number, data in enumerate(mutations(seeds(protocol), count)):
        taken.append((_seconds(receiver, data, 0.001 * number), number, data))
    taken.sort(reverse=True)
    again = [min(_seconds(RECEIVERS[protocol](), data, 0.0) for _ in range(3)) for _, _, data in taken[:100]]
    return {
        f"live.damaged.{protocol}.count": float(count),
        f"live.damaged.{protocol}.mean_ms": 1e3 * sum(seconds for seconds, _, _ in taken) / count,
        f"live.damaged.{protocol}.p999_ms": 1e3 * taken[count // 1000][0],
        f"live.damaged.{protocol}.slowest_ms": 1e3 * taken[0][0],
        f"live.damaged.{protocol}.slowest_again_ms": 1e3 * max(again),
    }


def _seconds(receiver, data: bytes, now: float) -> float:
    """CPU time of one datagram."""
    start = time.thread_time()
    receiver.feed(data, now)
    return time.thread_time() - start


def run(mutated: int = MUTATIONS) -> dict[str, float]:
    """Decoders, encoder and filter."""
    random = np.random.default_rng(0)
    values = np.concatenate(
        [random.normal(size=(BONES, 3)), rotation.normalize(random.normal(size=(BONES, 4)))], axis=1
    )
    sender, receiver = vmc.VmcSender(vmc.PLAN.names), vmc.VmcReceiver()
    datagrams = [sender.encode(values, number / 60.0) for number in range(600)]
    stream = iter(range(10**9))

    def feed() -> None:
        for _ in range(50):
            number = next(stream)
            receiver.feed(datagrams[number % 600], number / 60.0)

    encode = cpu_seconds(lambda: [sender.encode(values, 1.0) for _ in range(50)]) / 50
    decode, whole = cpu_seconds(feed) / 50, cpu_seconds(lambda: osc.decode(datagrams[0]))
    sensors = SensorFilter.from_half_life(BONES)
    state, present = sensors.init(), np.ones(BONES, bool)
    places, turns = values[:, :3].copy(), values[:, 3:].copy()
    step = cpu_seconds(lambda: [sensors.step(state, places, turns, present, 1 / 120) for _ in range(50)]) / 50
    figures = {
        "live.vmc.encode_microseconds": 1e6 * encode,
        "live.vmc.pose_in_microseconds": 1e6 * decode,
        "live.osc.decode_microseconds": 1e6 * whole,
        "live.kalman.microseconds_55_sensors": 1e6 * step,
    }
    try:
        from pythonosc.osc_message_builder import OscMessageBuilder
        from pythonosc.osc_packet import OscPacket
    except ImportError:
        pass
    else:

        def build() -> None:
            for name, row in zip(vmc.PLAN.names, values.tolist()):
                message = OscMessageBuilder("/VMC/Ext/Bone/Pos")
                message.add_arg(name)
                for number in row:
                    message.add_arg(number, "f")
                message.build()

        figures["live.vmc.encode_times_faster_than_python_osc"] = cpu_seconds(build, repeats=3) / encode
        theirs = cpu_seconds(lambda: OscPacket(datagrams[0]), repeats=3)
        figures["live.vmc.decode_times_faster_than_python_osc"] = theirs / decode
    for protocol in RECEIVERS:
        figures |= damaged(protocol, mutated)
    return figures


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--mutations", type=int, default=MUTATIONS, help="damaged datagrams for each decoder; 100000")
    arguments = parser.parse_args()
    print_figures(run(arguments.mutations), as_json=arguments.json)


if __name__ == "__main__":
    main()
