"""`footplant drive`: a character that goes through a script, from a set of clips, feet planted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footplant.cli.arguments import Json
from footplant.cli.loading import load_clip
from footplant.cli.output import announce_compiling, print_facts, print_json, print_table, working
from footplant.cli.solving import Out, Overwrite, check_targets, solving

if TYPE_CHECKING:
    from footplant.live.controller import Controller
    from footplant.live.motion_set import MotionSet


def load_controller(spec: MotionSet, character: str | None = None) -> Controller:
    """The controller of a set, its clips and its character loaded. character: another one than the set's."""
    from footplant.io import SAMPLE, load_character
    from footplant.live.controller import build_controller

    def place(name: str) -> str:
        if name.startswith(SAMPLE) or spec.folder is None or Path(name).is_absolute():
            return name
        return str(spec.folder / name)

    clips = {name: load_clip(place(name)) for name in spec.clips()}
    wanted = character or (None if spec.character is None else place(spec.character))
    with working("making the clips fit together"):
        return build_controller(spec, clips, None if wanted is None else load_character(wanted))


def drive(
    motion_set: Annotated[
        str, typer.Argument(metavar="SET", help="A TOML file of gaits, idles and actions, or set:samples.")
    ],
    script: Annotated[
        str, typer.Option("--script", metavar="TEXT", help='What to do: "walk 2s, run 3s left, kick, sneak 2s".')
    ],
    out: Out,
    fps: Annotated[float, typer.Option(metavar="RATE", min=1.0, max=1000.0, help="Frames a second of OUT.")] = 60.0,
    character: Annotated[
        str | None, typer.Option("--character", metavar="CHARACTER", help="Drive this figure instead of the set's.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Drive a character through a script: gaits go over into one another, actions between, feet stay planted.

    The same controller is driven by keys in the editor. docs/drive.md describes sets and scripts.

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

    announce_compiling()
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
        said = [{"seconds": seconds, "request": request} for seconds, request in done.requests]
        print_json({"command": "drive", "input": motion_set, "output": out, "requests": said, **facts})
        return
    print_facts(f"drive: {motion_set} → {out}", {key.replace("_", " "): value for key, value in facts.items()})
    print_table("Requests", ("#at, s", "what"), [(f"{seconds:.2f}", request) for seconds, request in done.requests])
