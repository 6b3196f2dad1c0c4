"""`footplant record` and `footplant replay`: record datagrams and send them again; any clip as a live source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json
from footplant.cli.kernels import prepare_kernels
from footplant.cli.options import options, spread
from footplant.cli.output import note, print_facts, print_json
from footplant.cli.puppet import Allow, Listen, Seconds, recording_to, until_stopped

if TYPE_CHECKING:
    from footplant.live.faults import Faults
    from footplant.live.wire import Endpoint


def record(
    source: Annotated[
        str, typer.Option("--in", metavar="IN", help="vmc:39539, xsens:9763, natnet:1511 or rokoko:14043.")
    ],
    out: Annotated[str, typer.Option("-o", "--out", metavar="FILE", help="Where to write the datagrams.")],
    listen: Listen = None,
    allow: Allow = None,
    seconds: Seconds = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    json: Json = False,
) -> None:
    """Record every datagram with its arrival time, for puppet or replay. Stop it with Ctrl-C.

    Datagrams are written as they arrive, so the file is playable even after a crash.

    Example: footplant record --in vmc:39539 -o take.datagrams
    """
    from footplant.errors import FormatError
    from footplant.live.wire import endpoint, listen_at, opened

    place = endpoint(source)
    if place is None:
        raise FormatError(f"expected a protocol such as vmc:39539 to record, got {source!r}")
    inlet = listen_at(place, listen, allow or [])
    note(f"listening at {inlet.place}{opened(inlet)}; stop with Ctrl-C")
    size, senders = 0, set()
    try:
        with until_stopped(seconds) as stop, recording_to(out, overwrite) as recorder:
            while not stop():
                inlet.wait(0.05)
                for data, sender, when in inlet.drain():
                    recorder.add(data, sender, when)
                    size += len(data)
                    senders.add(sender)
            count = recorder.count
    finally:
        inlet.close()
    facts = {
        "command": "record", "input": source, "output": out, "datagrams": count, "bytes": size,
        "senders": len(senders), "refused": inlet.refused,
    }  # fmt: skip
    print_json(facts) if json else print_facts(f"record: {source} → {out}", facts)


@options
class FaultOptions:
    """Faults of sensors and network that are simulated."""

    noise: Annotated[
        tuple[float, float], typer.Option("--noise", metavar="MM DEG", help="Noise on a clip's root and joints.")
    ] = (0.0, 0.0)
    loss: Annotated[float, typer.Option(metavar="SHARE", help="Packet loss, 0 to 1.")] = 0.0
    delay: Annotated[float, typer.Option(metavar="SECONDS", help="Network latency.")] = 0.0
    jitter: Annotated[float, typer.Option(metavar="SECONDS", help="Variation of the latency.")] = 0.0
    reorder: Annotated[float, typer.Option(metavar="SHARE", help="Fraction of reordered packets, 0 to 1.")] = 0.0
    duplicate: Annotated[float, typer.Option(metavar="SHARE", help="Fraction of duplicated packets, 0 to 1.")] = 0.0
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed.")] = 0

    def network(self) -> Faults:
        """Return the faults of the network."""
        from footplant.live.faults import Faults

        return Faults(self.loss, self.delay, self.jitter, self.reorder, self.duplicate, self.seed)


@spread
def replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A recording, or any motion file, or sample:NAME.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="OUT", help="vmc:HOST:PORT or rokoko:HOST:PORT.")],
    *,
    simulated: FaultOptions,
    speed: Annotated[float, typer.Option(metavar="X", help="Playback speed factor.")] = 1.0,
    fps: Annotated[
        float | None, typer.Option(metavar="RATE", help="Poses per second of a clip (default: its own).")
    ] = None,
    loop: Annotated[bool, typer.Option("--loop", help="Repeat until Ctrl-C.")] = False,
    seconds: Seconds = None,
    json: Json = False,
) -> None:
    """Send a recording or any motion like a capture system, with simulated network faults.

    A recording is sent unchanged, whatever its protocol; OUT is the destination. A clip is sent in OUT's protocol.

    Example: footplant replay sample:walk --out vmc:127.0.0.1:39539 --loss 0.05 --jitter 0.005
    """
    from footplant.errors import FormatError
    from footplant.live.protocols.recording import is_recording
    from footplant.live.wire import Outlet, endpoint

    prepare_kernels()
    recorded = is_recording(file)
    place = endpoint(out, sending=not recorded)
    if place is None:
        raise FormatError(f"expected a destination such as vmc:127.0.0.1:39539, got {out!r}")
    if not 0.01 <= speed <= 100.0:
        raise FormatError(f"expected a speed from 0.01 to 100, got {speed}")
    faults = simulated.network()
    datagrams = _recorded(file) if recorded else _performed(file, place, simulated.noise, fps, simulated.seed)
    outlet = Outlet(place)
    sent, rounds = 0, 0
    begun = time.perf_counter()
    try:
        with until_stopped(seconds) as stop:
            while not stop() and (loop or rounds == 0):
                rounds += 1
                for data in _in_time(datagrams(time.perf_counter() - begun), faults, speed, stop):
                    outlet.send(data)
                    sent += 1
    finally:
        outlet.close()
    facts = {
        "command": "replay", "input": file, "output": out, "datagrams": sent, "rounds": rounds,
        "failed": outlet.failed, "seconds": round(time.perf_counter() - begun, 3),
    }  # fmt: skip
    print_json(facts) if json else print_facts(f"replay: {file} → {out}", facts)


def _in_time(datagrams: Iterable[tuple[float, bytes]], faults: Faults, speed: float, stop: Any) -> Iterator[bytes]:
    """Yield datagrams when they are due, after the simulated network faults."""
    begun = time.perf_counter()
    for when, data in faults.apply(datagrams):
        while (left := begun + when / speed - time.perf_counter()) > 0:
            if stop():
                return
            time.sleep(min(left, 0.05))
        if stop():
            return
        yield data


Datagrams = Callable[[float], Iterator[tuple[float, bytes]]]
"""Takes the start time of a round in seconds and yields (seconds since then, bytes)."""


def _recorded(file: str) -> Datagrams:
    """Return the datagrams of a recording."""
    from footplant.live.protocols.recording import read

    return lambda _: ((moment, data) for moment, _, data in read(file) if data)


def _performed(file: str, place: Endpoint, noise: tuple[float, float], fps: float | None, seed: int) -> Datagrams:
    """Return the poses of a clip as datagrams."""
    from footplant.cli.loading import load_clip
    from footplant.live.faults import with_noise
    from footplant.live.stage import PoseEncoder

    clip = load_clip(file)
    motion = clip.motion if fps is None else clip.motion.resample(fps)
    if any(noise):
        motion = with_noise(motion, *noise, seed=seed)
    encoder = PoseEncoder(place.protocol, clip.character, clip.name, motion.fps)

    def perform(start: float) -> Iterator[tuple[float, bytes]]:
        for frame in range(len(motion)):
            moment = frame / motion.fps
            yield moment, encoder.encode(motion.root[frame], motion.rotations[frame], start + moment)

    return perform
