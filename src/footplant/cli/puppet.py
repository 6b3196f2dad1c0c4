"""`footplant puppet`: a performer drives a character with another body, live or from a file."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json
from footplant.cli.kernels import prepare_kernels
from footplant.cli.options import options, spread
from footplant.cli.output import note, print_facts, print_json, working

if TYPE_CHECKING:
    from footplant.contacts.ground import Ground
    from footplant.contacts.moving_ground import MovingGround
    from footplant.io.ground_files import Course
    from footplant.live.actor import MakePuppeteer, Shown
    from footplant.live.puppeteer import PuppetPose
    from footplant.live.show import Latencies, TakeRecorder
    from footplant.live.stage import LiveStage
    from footplant.skeleton import Character

Listen = Annotated[
    str | None, typer.Option("--listen", metavar="ADDR", help="Listen for other machines at this local address.")
]
Allow = Annotated[
    list[str] | None, typer.Option("--allow", metavar="SENDER", help="Address or network that may send; repeatable.")
]
Seconds = Annotated[float | None, typer.Option("--seconds", metavar="TIME", help="Stop after this many seconds.")]
STEP = 0.05
"""Seconds by which time advances while a recording has no datagrams."""
FILE_RATE = 60.0
"""Default frame rate of a take that is written to a file."""


@options
class CastOptions:
    """Who is driven, how many, and among which objects."""

    to: Annotated[str | None, typer.Option("--to", metavar="CHARACTER", help="A character file, or sample:NAME.")] = (
        None
    )
    scene: Annotated[
        str | None, typer.Option("--scene", metavar="TOML", help="Objects that hands and feet may touch.")
    ] = None
    ground: Annotated[
        str | None,
        typer.Option(
            "--ground",
            metavar="GROUND",
            help="What the character walks on, as for terrain: noise:3, moving:lift:1:4, a file.",
        ),
    ] = None
    actors: Annotated[int, typer.Option("--actors", metavar="N", help="Actors to drive; OUT's port counts up.")] = 1


class BodyMode(StrEnum):
    """What of the performer drives the character."""

    AUTO = "auto"
    WHOLE = "whole"
    UPPER = "upper"
    SEATED = "seated"


class RootMode(StrEnum):
    """How far the character travels."""

    SCALED = "scaled"
    WORLD = "world"
    IN_PLACE = "in-place"


@options
class PerformanceOptions:
    """How the performer's poses are calibrated and filtered."""

    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Wait for a T-pose or N-pose and take the proportions from it.")
    ] = False
    calibrate_noise: Annotated[
        bool,
        typer.Option("--calibrate-noise", help="Measure the sensors' noise while the performer stands still first."),
    ] = False
    smooth: Annotated[
        float, typer.Option("--smooth", metavar="SECONDS", help="Half-life of the filter; 0: no filter, no lag.")
    ] = 0.002
    lag: Annotated[
        float, typer.Option("--lag", metavar="SECONDS", help="Look-ahead of the smoother; 0: filter only.")
    ] = 0.025
    latency: Annotated[
        float,
        typer.Option("--latency", metavar="SECONDS", help="Budget of jitter buffer and filter; 0: show at once."),
    ] = 0.04
    body: Annotated[
        BodyMode, typer.Option("--body", help="What drives the character; auto: the upper body if no legs are sent.")
    ] = BodyMode.AUTO
    root: Annotated[
        RootMode, typer.Option("--root", help="Travel scaled to the character, as in the world, or none.")
    ] = RootMode.SCALED
    hold: Annotated[
        float,
        typer.Option("--hold", metavar="SECONDS", help="Without data, hold the pose this long, then ease to rest."),
    ] = 3.0


@options
class NetworkOptions:
    """Who may send."""

    listen: Listen = None
    allow: Allow = None


@options
class TakeOptions:
    """Where poses and datagrams go."""

    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="OUT", help="vmc:HOST:PORT, rokoko:HOST:PORT, or a FILE.")
    ] = None
    record: Annotated[
        str | None, typer.Option("--record", metavar="FILE", help="Record the datagrams too, for replay.")
    ] = None
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False


@spread
def puppet(
    source: Annotated[
        str | None,
        typer.Option("--in", metavar="IN", help="vmc:39539, xsens:9763, natnet:1511, rokoko:14043, or a FILE."),
    ] = None,
    *,
    cast: CastOptions,
    performance: PerformanceOptions,
    network: NetworkOptions,
    take: TakeOptions,
    seconds: Seconds = None,
    bench: Annotated[
        bool, typer.Option("--bench", help="Benchmark: 8 actors at 60 Hz from a separate process, for 10 s.")
    ] = False,
    json: Json = False,
) -> None:
    """Drive a character by a performer with another body: feet stay planted, hands stay on what they touch.

    Poses come from capture software (VMC, Xsens MVN, OptiTrack, Rokoko Studio), from a recording of datagrams or from
    any motion file, and go to avatars (VMC, Rokoko) or into a file. Only this machine may send, unless --listen and
    --allow permit others. Stop it with Ctrl-C; files are complete.

    Example: footplant puppet --in vmc:39539 --to sample:sally --out vmc:127.0.0.1:39540

    Aboard a ship: footplant puppet --in sample:walk --to sample:sally --ground moving:deck:8:4 --out aboard.glb
    """
    from footplant.errors import FormatError
    from footplant.io import load_character
    from footplant.live.actor import ActorSettings
    from footplant.live.kalman import Gaps
    from footplant.live.stage import LiveStage
    from footplant.live.wire import endpoint

    prepare_kernels()
    settings = ActorSettings(
        performance.calibrate, performance.smooth, performance.lag, Gaps(hold=performance.hold), performance.latency,
        performance.body.value, performance.root is RootMode.IN_PLACE, performance.calibrate_noise,
    )  # fmt: skip
    actors, to = cast.actors, cast.to
    with working(f"reading {to or 'sample:sally'}"):
        target = load_character(to or ("sample:sally" if bench else _need(to, "--to CHARACTER")))
    world = _World(cast.scene, 1.0 if performance.root is RootMode.WORLD else None, cast.ground, target.height)
    make = world.puppeteers()
    if bench:
        _bench(target, make, settings, actors if actors > 1 else 8, seconds or 10.0, json)
        return
    source, out = _need(source, "--in IN"), _need(take.out, "--out OUT")
    place, goal = endpoint(source), endpoint(out, sending=True)
    if actors < 1 or (goal is None and actors > 1):
        raise FormatError(
            "expected one actor for a file" if actors > 1 else f"expected --actors of 1 or more, got {actors}"
        )
    show = _Show(target, goal, None if goal else out, source, take.overwrite)
    try:
        if place is None:
            facts = _from_file(source, target, make, settings, show, seconds, take.record, actors)
        else:
            stage = LiveStage(place.protocol, target, make, settings, actors)
            facts = _from_wire(place, stage, world.puppeteers(), show, network, seconds, take, quiet=json)
    finally:
        show.close()
    facts |= show.finish()
    facts = {"command": "puppet", "input": source, "output": out, "character": target.name, **facts}
    if json:
        print_json(facts)
    else:
        print_facts(f"puppet: {source} → {out}", {name: value for name, value in facts.items() if value is not None})


def _need(value: str | None, option: str) -> str:
    from footplant.errors import FormatError

    if value is None:
        raise FormatError(f"expected {option} (see: footplant puppet --help)")
    return value


class _World:
    """The scene of a file, or a floor, and what characters walk on in it."""

    def __init__(self, scene: str | None, scale: float | None, ground: str | None, height: float) -> None:
        """Read them. scale: of the world; height: metres, of the character, to check the ground beforehand."""
        from footplant.io.ground_files import Course
        from footplant.io.scene_files import read_scene

        self._things = None if scene is None else read_scene(scene)
        self._scale, self._words = scale, ground
        if ground is not None:
            self._ground(Course((0.0, 0.0), (-1.0, -1.0), (1.0, 1.0), 0.0, height))

    def _ground(self, course: Course) -> Ground | MovingGround:
        from footplant.io.ground_files import load_ground

        assert self._words is not None
        return load_ground(self._words, course, planned=False)

    def puppeteers(self) -> MakePuppeteer:
        """Return a function that builds puppeteers of one performance: their ground begins where its first pose is."""
        from footplant.live.ground_walk import GroundWalk, SharedGround
        from footplant.live.puppeteer import Puppeteer

        shared = SharedGround()

        def make(performer: Character, target: Character) -> Puppeteer:
            walk = None if self._words is None else GroundWalk(target, self._ground, shared)
            return Puppeteer(performer, target, self._things, scale=self._scale, ground=walk)

        return make


class _Show:
    """Destination of poses: an avatar, or a take that is written at the end."""

    def __init__(self, target: Character, goal: Any, file: str | None, source: str, overwrite: bool) -> None:
        from footplant.cli.solving import check_targets
        from footplant.live.show import TakeRecorder
        from footplant.live.wire import Outlet

        self._target, self._file = target, file
        self._outlet = None if goal is None else Outlet(goal)
        self._protocol = "" if goal is None else goal.protocol
        self._encoders: dict[int, Any] = {}
        self._take: TakeRecorder | None = None
        self.fps = FILE_RATE
        self.poses = 0
        if file is not None:
            check_targets(source, file, overwrite=overwrite)
            self._take = TakeRecorder(target.skeleton)

    @property
    def is_live(self) -> bool:
        """Return whether poses are sent live and must be paced."""
        return self._outlet is not None

    def show(self, shown: Shown, _: bool = True) -> None:
        """Send a pose, or add it to the take."""
        self.present(shown.pose, shown.time, shown.number, shown.actor.name, shown.expressions)

    def present(
        self, pose: PuppetPose, seconds: float, number: int = 0, name: str = "footplant",
        expressions: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Send a pose of an actor, or add it to the take."""
        from footplant.live.stage import PoseEncoder

        self.poses += 1
        if self._take is not None:
            self._take.add(seconds, pose.root, pose.rotations)
        if self._outlet is not None:
            encoder = self._encoders.get(number)
            if encoder is None:
                encoder = self._encoders[number] = PoseEncoder(self._protocol, self._target, name)
            self._outlet.send(encoder.encode(pose.root, pose.rotations, seconds, expressions), number)

    def close(self) -> None:
        """Close the sockets."""
        if self._outlet is not None:
            self._outlet.close()

    def finish(self) -> dict[str, Any]:
        """Write the take if there is one, and return the facts to print."""
        if self._take is None or self._file is None:
            return {"poses": self.poses}
        from footplant.clip import Clip
        from footplant.io import save

        if not len(self._take):
            note("note: no data arrived; no file was written")
            return {"poses": 0, "frames": 0}
        motion = self._take.motion(self.fps)
        with working(f"writing {self._file}"):
            save(self._file, Clip(motion, self._target, name=Path(self._file).stem))
        return {"poses": self.poses, "frames": len(motion), "fps": motion.fps}


@contextlib.contextmanager
def until_stopped(seconds: float | None = None) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns True after SIGINT, SIGTERM or a time limit, so that files can be completed."""
    stopped = threading.Event()
    end = None if seconds is None else time.monotonic() + seconds
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, lambda *_: stopped.set())
    try:
        yield lambda: stopped.is_set() or (end is not None and time.monotonic() > end)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _from_wire(
    place: Any, stage: LiveStage, rehearsal: MakePuppeteer, show: _Show, network: NetworkOptions,
    seconds: float | None, take: TakeOptions, *, quiet: bool,
) -> dict[str, Any]:  # fmt: skip
    """Drive characters by what comes in; rehearsal: builds puppeteers whose ground nobody else walks on."""
    from footplant.live.rehearsal import rehearse
    from footplant.live.show import perform
    from footplant.live.wire import listen_at, opened

    inlet = listen_at(place, network.listen, network.allow or [])
    with working("rehearsing"):
        rehearse(stage.target, rehearsal, stage.settings)
    inlet.drain()
    note(f"listening at {inlet.place}{opened(inlet)}; stop with Ctrl-C")

    try:
        with until_stopped(seconds) as stop, recording_to(take.record, take.overwrite) as recorder:
            status = None if quiet or not sys.stderr.isatty() else lambda found: _status(stage, found)
            latencies = perform(stage, inlet, show.show, stop=stop, recorder=recorder, status=status)
    finally:
        inlet.close()
    if sys.stderr.isatty() and not quiet:
        print(file=sys.stderr)
    return facts_of(stage, latencies) | {"refused_senders": inlet.refused}


@contextlib.contextmanager
def recording_to(path: str | None, overwrite: bool = False) -> Iterator[Any]:
    """Yield a recorder that writes datagrams as they arrive, or None; the file is readable after a crash."""
    if path is None:
        yield None
        return
    from footplant.cli.output import refuse_to_overwrite
    from footplant.errors import FormatError
    from footplant.live.protocols.recording import Recorder

    refuse_to_overwrite("", Path(path), overwrite)
    try:
        with open(path, "wb") as file:
            yield Recorder(file)
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


def facts_of(stage: LiveStage, latencies: Latencies | None) -> dict[str, Any]:
    """Return the statistics of a stage."""
    from footplant.live.status import problems

    known = stage.actors
    facts: dict[str, Any] = {
        "datagrams": stage.datagrams,
        "actors": [actor.name for actor in known],
        "performers": [actor.note for actor in known],
        "rate": round(max((actor.clock.rate for actor in known if actor.performer), default=0.0), 1),
        "delay_ms": round(1e3 * max((actor.delay for actor in known), default=0.0), 1),
        "missed": sum(actor.missed for actor in known),
        "ignored": stage.count("ignored"),
        "duplicates": stage.count("duplicates"),
        "late": stage.count("late") + sum(actor.late for actor in known),
        "clock_jumps": sum(source.clock.jumps for actor in known for source in actor.sources),
        "outliers": sum(actor.outliers for actor in known),
        "new_performers": sum(actor.changes for actor in known),
        "refused": dict(stage.refused),
        "problems": problems(stage),
    }
    if latencies is not None and latencies.count:
        facts["latency_p50_ms"] = round(1e3 * latencies.percentile(50), 3)
        facts["latency_p99_ms"] = round(1e3 * latencies.percentile(99), 3)
    return facts


def _status(stage: LiveStage, latencies: Latencies) -> None:
    """Print one status line on the terminal, in place."""
    from footplant.live.status import line

    print("\r\x1b[K" + line(stage, latencies), end="", file=sys.stderr, flush=True)


def _from_file(
    source: str, target: Character, make: MakePuppeteer, settings: Any, show: _Show, seconds: float | None,
    record: str | None, actors: int,
) -> dict[str, Any]:  # fmt: skip
    from footplant.errors import FormatError
    from footplant.live.protocols.recording import is_recording

    if record is not None:
        raise FormatError("--record applies to incoming datagrams, not to a file")
    # seconds of what the file holds: into another file it plays faster than in its time
    longest = math.inf if seconds is None else seconds
    with until_stopped() as stop:
        if is_recording(source):
            return _from_recording(source, target, make, settings, show, stop, actors, longest)
        return _from_clip(source, target, make, show, stop, longest)


def _from_recording(
    source: str, target: Character, make: MakePuppeteer, settings: Any, show: _Show, stop: Callable[[], bool],
    actors: int, longest: float,
) -> dict[str, Any]:  # fmt: skip
    """Play the datagrams of a file: in real time for an avatar, as fast as possible into a file."""
    from footplant.errors import FormatError
    from footplant.live.protocols.recording import read
    from footplant.live.stage import LiveStage, protocol_of

    stage: LiveStage | None = None
    begun, last = time.perf_counter(), 0.0
    for moment, sender, data in read(source):
        if stop() or moment > longest:
            break
        stage = stage or LiveStage(protocol_of(data), target, make, settings, actors)
        # in steps, as time passes live
        while (last := min(last + STEP, moment)) < moment:
            for shown in stage.poses(last):
                _present(show, shown, begun)
        if data:
            stage.feed(data, sender, moment)
        for shown in stage.poses(moment):
            _present(show, shown, begun)
    if stage is None:
        raise FormatError("expected a recording with datagrams, got an empty one", path=source)
    return facts_of(stage, None)


def _present(show: _Show, shown: Shown, begun: float) -> None:
    """Show a pose of a recording: an avatar gets it in its time."""
    if show.is_live:
        time.sleep(max(begun + shown.time - time.perf_counter(), 0.0))
    show.show(shown)


def _from_clip(
    source: str, target: Character, make: MakePuppeteer, show: _Show, stop: Callable[[], bool], longest: float
) -> dict[str, Any]:
    """Play a motion file as a performer: no filter, no calibration, its own frame rate."""
    from footplant.cli.loading import load_clip
    from footplant.live.puppeteer import PerformerFrame
    from footplant.transfer import source_motion

    clip = load_clip(source)
    motion = source_motion(clip.motion, clip.character, target)
    puppeteer = make(clip.character, target)
    state = puppeteer.init()
    show.fps = motion.fps
    begun = time.perf_counter()
    for frame in range(len(motion)):
        if stop() or frame / motion.fps > longest:
            break
        state, pose = puppeteer.step(
            state, PerformerFrame(motion.root[frame], motion.rotations[frame], motion.frame_time)
        )
        if show.is_live:
            time.sleep(max(begun + frame / motion.fps - time.perf_counter(), 0.0))
        show.present(pose, frame / motion.fps, 0, clip.name)
    return {"performers": [clip.character.name], "rate": motion.fps}


def _bench(target: Character, make: MakePuppeteer, settings: Any, actors: int, seconds: float, as_json: bool) -> None:
    """Run the benchmark with a load from a separate process."""
    from footplant.live.bench import measure

    figures = measure(target, make, settings, actors=actors, seconds=seconds)
    if as_json:
        print_json({"command": "puppet", "bench": figures})
        return
    print_facts(f"puppet: {actors} actors at 60 Hz for {seconds:g} s, datagram in → datagram out", figures)
