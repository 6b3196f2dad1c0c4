"""`footplant crowd`: many characters that share motions, with constraints on one another."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json
from footplant.cli.kernels import prepare_kernels
from footplant.cli.output import note, print_facts, print_json, print_table, refuse_to_overwrite, working
from footplant.cli.solving import Overwrite, check_targets

if TYPE_CHECKING:
    from footplant.live.crowd import Performance
    from footplant.live.crowd_scene import CrowdScene

SCENE = "scene:"
BENCH_CHARACTERS = 160
"""Fewest characters that --bench plays: with few, call overhead would dominate."""


def crowd(
    scene: Annotated[
        str, typer.Argument(metavar="SCENE", help="A scene (.toml), or scene:NAME (fight, boxes, table …).")
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "-o", "--out", metavar="OUT", help="Where to write all characters; the extension selects the format."
        ),
    ] = None,
    picture: Annotated[
        str | None, typer.Option(metavar="PNG", help="Draw eight instants of the scene side by side.")
    ] = None,
    bench: Annotated[
        bool, typer.Option("--bench", help="Report the speed, and how many characters one core can play.")
    ] = False,
    live: Annotated[
        str | None,
        typer.Option("--live", metavar="OUT", help="Play in real time to vmc:HOST:PORT; the port counts up by actor."),
    ] = None,
    control: Annotated[
        int | None,
        typer.Option(
            "--control",
            metavar="PORT",
            help="With --live, take OSC messages on this machine: /crowd/aim, /crowd/goal, /crowd/body, /crowd/motion, "
            "/crowd/actor, /crowd/ground …",
        ),
    ] = None,
    bodies: Annotated[
        list[str] | None,
        typer.Option("--body", metavar="NAME=FILE", help="A body that messages may name; repeatable."),
    ] = None,
    motions: Annotated[
        list[str] | None,
        typer.Option("--motion", metavar="NAME=FILE", help="A motion that messages may name; repeatable."),
    ] = None,
    grounds: Annotated[
        list[str] | None,
        typer.Option("--ground", metavar="NAME=FILE", help="A ground file that messages may name; repeatable."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(metavar="TIME", help="Stop --live after this many seconds.")] = None,
    rate: Annotated[float, typer.Option(metavar="HZ", help="Frame rate to sustain with --bench.")] = 30.0,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Play a scene of many characters: one motion for all bodies, contacts between characters, strict priorities.

    Example: footplant crowd scene:fight -o fight.glb --picture fight.png

    Live: footplant crowd scene:fight --live vmc:127.0.0.1:39539 --control 9000 --motion wave=wave.bvh
    """
    from footplant.io import format_of, save
    from footplant.live.crowd import Crowd

    prepare_kernels()
    check_targets(scene, out, overwrite=overwrite)
    if picture is not None:
        refuse_to_overwrite(scene, Path(picture), overwrite)
    loaded = _with_cast(load_scene(scene), bodies or [], motions or [], grounds or [])
    with working("adapting motions to bodies"):
        played = Crowd(loaded)
    if live is not None:
        facts = {"command": "crowd", "input": scene, "output": live, **_perform_live(played, live, control, seconds)}
        print_json(facts) if json else print_facts(f"crowd: {scene} → {live}", facts)
        return
    with working(f"playing {loaded.name}"):
        performance = played.perform()
    facts: dict[str, Any] = {"command": "crowd", "input": scene, "output": out, **_facts(performance)}
    if bench:
        with working("benchmarking"):
            facts["bench"] = _bench(loaded, rate)
    if out is not None:
        with working(f"writing {out}"):
            save(out, _clip(performance, "figures" in format_of(out).holds))
    if picture is not None:
        _draw(performance, picture)
    if json:
        print_json(facts)
        return
    print_facts(
        f"crowd: {scene}" + ("" if out is None else f" → {out}"),
        {"characters": facts["figures"], "frames": f"{facts['frames']} at {loaded.fps:g} fps"} | facts.get("bench", {}),
    )
    rows = [(g["name"], g["actor"], g["kind"], g["frames"], g["worst"], g["met"], g["why"]) for g in facts["goals"]]
    if rows:
        print_table("Goals", ("goal", "actor", "kind", "#frames held", "#worst mm", "met", "why not"), rows)


def _perform_live(played: Any, live: str, control: int | None, seconds: float | None) -> dict[str, Any]:
    """Play a scene in real time until it is stopped; return what happened."""
    from footplant.cli.puppet import until_stopped
    from footplant.errors import FormatError
    from footplant.live.crowd_show import perform_crowd
    from footplant.live.stage import PoseEncoder
    from footplant.live.wire import LOOPBACK, Endpoint, Inlet, Outlet, endpoint

    place = endpoint(live, sending=True)
    if place is None:
        raise FormatError(f"expected --live as vmc:HOST:PORT, got {live!r}")
    actors = played.scene.actors
    encoders: dict[int, tuple[Any, PoseEncoder]] = {}
    outlet = Outlet(place)
    inlet = None if control is None else Inlet(Endpoint("vmc", LOOPBACK, control))

    def send(poses: list, when: float) -> None:
        for number in played.present():
            actor, (group, row) = played.scene.actors[number], played.place[number]
            known, encoder = encoders.get(number, (None, None))
            if encoder is None or known is not actor.character:
                encoder = PoseEncoder(place.protocol, actor.character, actor.name, played.scene.fps)
                encoders[number] = actor.character, encoder
            outlet.send(encoder.encode(poses[group].root[row], poses[group].local[row], when), number)

    note(f"playing {len(actors)} characters to {place} and the ports after it; stop with Ctrl-C")
    try:
        with until_stopped(seconds) as stop:
            return {"figures": len(actors)} | perform_crowd(played, send, stop=stop, control=inlet, log=note)
    finally:
        outlet.close()
        if inlet is not None:
            inlet.close()


def _with_cast(scene: CrowdScene, bodies: list[str], motions: list[str], grounds: list[str]) -> CrowdScene:
    """Return a scene with files of the command line in its cast."""
    from dataclasses import replace

    from footplant.errors import FormatError
    from footplant.io import load, load_character
    from footplant.io.ground_files import load_ground
    from footplant.live.crowd_reader import GROUND_AROUND, act_of, course_around

    def declared(texts: list[str], option: str, read: Any) -> dict[str, Any]:
        found = {}
        for text in texts:
            name, equals, file = text.partition("=")
            if not (name and equals and file):
                raise FormatError(f"expected {option} NAME=FILE, got {text!r}")
            with working(f"reading {file}"):
                found[name] = read(file)
        return found

    return replace(
        scene,
        bodies={**scene.bodies, **declared(bodies, "--body", load_character)},
        motions={**scene.motions, **declared(motions, "--motion", lambda file: act_of(load(file)))},
        grounds={
            **scene.grounds,
            **declared(grounds, "--ground", lambda file: load_ground(file, course_around(GROUND_AROUND))),
        },
    )


def load_scene(name: str) -> CrowdScene:
    """Load a scene from a TOML file, or one that ships with the package."""
    from footplant import samples
    from footplant.io import load, load_character
    from footplant.io.ground_files import load_ground
    from footplant.live.crowd_reader import scene_from_data
    from footplant.text_files import parse_toml, read_text

    path = None
    if name.startswith(SCENE):
        text = samples.scene_text(name.removeprefix(SCENE))
    else:
        path = Path(name)
        text = read_text(path, 16 * 2**20, "a scene")
    data = parse_toml(text, path)

    def here(file: str) -> str:
        beside = path.parent / file if path is not None and ":" not in file else Path(file)
        return str(beside)

    with working(f"reading {name}"):
        return scene_from_data(
            data,
            lambda file: load(here(file)),
            lambda file: load_character(here(file)),
            load_ground=lambda file, course: load_ground(here(file), course),
            path=path,
        )


def _facts(performance: Performance) -> dict[str, Any]:
    """Return the facts to print."""
    import numpy as np

    from footplant.kinematics import Kinematics
    from footplant.live.crowd_reasons import MET, why_unmet

    scene = performance.scene
    seconds = np.arange(scene.frames) / scene.fps
    goals = []
    for number, goal in enumerate(scene.goals):
        held = np.array([goal.activation(float(t)) >= 1.0 for t in seconds])
        left = performance.residuals[held, number]
        worst = float(np.nanmax(left)) if np.isfinite(left).any() else 0.0
        met, why = worst <= MET, ""
        if not met:
            frame = int(np.flatnonzero(held)[np.nanargmax(left)])
            pose = Kinematics(performance.motions[goal.actor][frame : frame + 1]).positions[0]
            why = why_unmet(scene, number, float(seconds[frame]), pose)
        goals.append(
            {"name": goal.name or goal.kind, "actor": scene.actors[goal.actor].name, "kind": goal.kind,
             "frames": int(held.sum()), "worst": 1000.0 * worst, "met": met, "why": why}
        )  # fmt: skip
    return {"scene": scene.name, "figures": len(scene.actors), "frames": scene.frames, "fps": scene.fps, "goals": goals}


def _bench(scene: CrowdScene, rate: float) -> dict[str, Any]:
    """Measure the time per frame of many copies of the scene, and how many characters one core can play at a rate."""
    import numpy as np

    from footplant.live.crowd import Crowd
    from footplant.live.crowd_scene import repeated

    copies = max(1, BENCH_CHARACTERS // len(scene.actors))
    played = Crowd(repeated(scene, copies))
    state, times = played.init(), []
    for frame in range(0, scene.frames, max(1, round(scene.fps / rate))):
        begun = time.perf_counter()
        state, _ = played.step(state, frame)
        times.append(time.perf_counter() - begun)
    count = len(played.scene.actors)
    typical = float(np.median(times[1:] or times))
    return {
        "figures in the bench": count,
        "ms a frame, median": 1000.0 * typical,
        "ms a frame, 99 %": 1000.0 * float(np.percentile(times[1:] or times, 99)),
        f"figures a core holds at {rate:g} Hz": int(count / rate / typical),
    }


def _clips(performance: Performance) -> list:
    from footplant.clip import Clip, Take

    scene = performance.scene
    return [
        Clip(motion, actor.character, name=actor.name, takes=(Take(actor.name, len(motion), motion.fps),))
        for motion, actor in zip(performance.motions, scene.actors, strict=True)
    ]


def _clip(performance: Performance, several: bool) -> Any:
    """Return all characters as one clip: separate if the format supports several, else under one root."""
    from dataclasses import replace

    from footplant.edits.merge import merge_clips

    clips = _clips(performance)
    if several:
        return replace(clips[0], others=tuple(clips[1:]))
    return merge_clips(clips, performance.scene.name)


def _draw(performance: Performance, picture: str) -> None:
    import numpy as np

    from footplant.plot.crowd import crowd_strip

    scene = performance.scene
    frames = np.unique(np.linspace(0, scene.frames - 1, 8).astype(int)).tolist()
    with working(f"drawing {picture}"):
        crowd_strip(_clips(performance), picture, frames, columns=2 if len(scene.actors) > 4 else 4, title=scene.name)
