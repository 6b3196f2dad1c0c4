"""`footplant drive`: a character that follows a script, from a set of clips, feet planted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footplant.cli.arguments import Json
from footplant.cli.kernels import prepare_kernels
from footplant.cli.loading import load_clip
from footplant.cli.output import print_facts, print_json, print_table, working
from footplant.cli.solving import Out, Overwrite, check_targets, solving

if TYPE_CHECKING:
    from footplant.live.controller import Controller
    from footplant.live.motion_set import MotionSet


def load_controller(spec: MotionSet, character: str | None = None) -> Controller:
    """Build the controller of a motion set with its clips and character. character: use another one than the set's."""
    from footplant.io import SAMPLE, load_character
    from footplant.live.controller import build_controller

    def resolve(name: str) -> str:
        if name.startswith(SAMPLE) or spec.folder is None or Path(name).is_absolute():
            return name
        return str(spec.folder / name)

    clips = {name: load_clip(resolve(name)) for name in spec.clips()}
    wanted = character or (None if spec.character is None else resolve(spec.character))
    with working("registering the clips"):
        return build_controller(spec, clips, None if wanted is None else load_character(wanted))


def drive(
    motion_set: Annotated[
        str, typer.Argument(metavar="SET", help="A TOML file of gaits, idles and actions, or set:samples.")
    ],
    script: Annotated[
        str, typer.Option("--script", metavar="TEXT", help='Commands: "walk 2s, run 3s left, kick, sneak 2s".')
    ],
    out: Out,
    fps: Annotated[float, typer.Option(metavar="RATE", min=1.0, max=1000.0, help="Frame rate of OUT.")] = 60.0,
    character: Annotated[
        str | None, typer.Option("--character", metavar="CHARACTER", help="Use this character instead of the set's.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Drive a character by a script: gaits blend in phase, actions play between them, feet stay planted.

    In the editor, keys drive the same controller. docs/drive.md describes motion sets and scripts.

    Example: footplant drive set:samples --script "walk 2s, run 3s left, kick, sneak 2s" -o driven.glb
    """
    from footplant.clip import Clip
    from footplant.contacts.detection import FEET, Contacts, Plant
    from footplant.geometry import Plane
    from footplant.io import save
    from footplant.kinematics import Kinematics
    from footplant.live.motion_set import load_set
    from footplant.live.script import drive as play
    from footplant.live.script import held_intervals, parse_script
    from footplant.quality.measure import measure

    prepare_kernels()
    check_targets(motion_set, out, None, overwrite=overwrite)
    spec = load_set(motion_set)
    orders = parse_script(script, spec.names())
    controller = load_controller(spec, character)
    with solving("driving") as progress:
        done = play(controller, orders, fps=fps, progress=progress)
    with working(f"writing {out}"):
        save(out, Clip(done.motion, controller.character, name=spec.name))
    kinematics = Kinematics(done.motion)
    plants = [
        Plant(point, start, end, kinematics.point(controller.character.contacts[point])[start:end].mean(axis=0))
        for point, spans in held_intervals(done).items()
        for start, end in spans
    ]
    ground = Plane((0.0, 0.0, 0.0))
    contacts = Contacts(tuple(plants), FEET, len(done.motion), fps, ground)
    quality = measure(done.motion, controller.character, contacts, ground=ground)
    facts = {
        "frames": len(done.motion),
        "fps": fps,
        "seconds": done.motion.duration,
        "fade_seconds": controller.tables.fade,
        "plants": len(plants),
        "worst_drift_mm": quality.worst_plant.drift if quality.worst_plant else None,
        "mean_drift_mm": quality.mean_drift,
        "below_ground_mm": quality.penetration_worst,
    }
    if json:
        requests = [{"seconds": seconds, "request": request} for seconds, request in done.requests]
        print_json({"command": "drive", "input": motion_set, "output": out, "requests": requests, **facts})
        return
    print_facts(f"drive: {motion_set} → {out}", {key.replace("_", " "): value for key, value in facts.items()})
    print_table("Requests", ("#at, s", "request"), [(f"{seconds:.2f}", request) for seconds, request in done.requests])
