"""`footplant drive`: a character that follows a script, from a set of clips, feet planted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from footplant.cli.arguments import Json
from footplant.cli.kernels import prepare_kernels
from footplant.cli.loading import load_clip
from footplant.cli.output import print_facts, print_json, print_table, working
from footplant.cli.solving import Out, Overwrite, check_targets, ground_options, solving

if TYPE_CHECKING:
    from footplant.contacts.detection import Contacts
    from footplant.contacts.ground import Ground
    from footplant.contacts.moving_ground import PartedGround
    from footplant.live.aimed_steps import Aimed
    from footplant.live.controller import Controller
    from footplant.live.motion_set import MotionSet
    from footplant.live.script import Drive
    from footplant.motion import Motion
    from footplant.skeleton import Character


def load_controller(spec: MotionSet, character: str | None = None) -> tuple[Controller, Character]:
    """Return the controller of a motion set, and its character. character: use another one than the set's."""
    from footplant.io import SAMPLE, load_character
    from footplant.live.controller import build_controller

    def resolve(name: str) -> str:
        if name.startswith(SAMPLE) or spec.folder is None or Path(name).is_absolute():
            return name
        return str(spec.folder / name)

    clips = {name: load_clip(resolve(name)) for name in spec.clips()}
    wanted = character or (None if spec.character is None else resolve(spec.character))
    with working("registering the clips"):
        driven = clips[spec.clips()[0]].character if wanted is None else load_character(wanted)
        return build_controller(spec, clips, driven), driven


REACH = 60.0
"""Metres around the start for which a ground is made."""


def clips_controller(files: list[str], character: str | None = None) -> tuple[Controller, Character]:
    """Return the controller of any clips, and its character: what the clips are is told from them."""
    from footplant.io import holds_markers, load_character
    from footplant.live.clip_set import clips_of, drive_set

    clips = []
    for file in files:
        if holds_markers(file):
            clips.append(load_clip(file))
            continue
        with working(f"reading {file}"):
            clips += clips_of(file)
    with working("examining and registering the clips"):
        driven = clips[0].character if character is None else load_character(character)
        return drive_set(clips, character=driven), driven


def _ground(text: str, controller: Controller) -> tuple[Ground | PartedGround, dict[str, Any] | None]:
    """Return the ground of a driven character, which starts at the origin and walks along +z.

    With it, what the file says about it, see `MadeFor`; None of a ground that moves.
    """
    from footplant.contacts.moving_ground import MovingGround
    from footplant.io.ground_files import PART, Course, GroundOptions, MadeFor, load_ground, parted_ground

    course = Course((0.0, 0.0), (-REACH, -REACH), (REACH, REACH), 0.0, controller.character.height)
    if text.startswith(f"{PART}:"):
        return parted_ground(text, course, lambda moving: load_ground(moving, course, planned=False)), None
    ground = load_ground(text, course, planned=False)
    return ground, None if isinstance(ground, MovingGround) else MadeFor(text, course, GroundOptions()).to_dict()


def _contacts(done: Drive, character: Character, part: int | None = None) -> Contacts:
    """Return the contacts that were held: all of them, or those on one part of the ground."""
    from footplant.contacts.detection import FEET, Contacts, Plant
    from footplant.geometry import Plane
    from footplant.kinematics import Kinematics
    from footplant.live.script import held_intervals

    kinematics = Kinematics(done.motion)
    plants = [
        Plant(point, start, end, kinematics.point(character.contacts[point])[start:end].mean(axis=0))
        for point, spans in held_intervals(done, part).items()
        for start, end in spans
    ]
    return Contacts(tuple(plants), FEET, len(done.motion), done.motion.fps, Plane())


def _drifts(done: Drive, character: Character, ground: Ground | PartedGround) -> dict[str, Any]:
    """Return how contacts drift, millimetres, each relative to the part of the ground that it is on."""
    from footplant.contacts.moving_ground import PartedGround
    from footplant.quality.measure import measure

    parts = {None: ground}
    if isinstance(ground, PartedGround):
        parts = {-1: ground.still} | {number: part.ground for number, part in enumerate(ground.parts)}
    worst, total, count, depth = None, 0.0, 0, None
    for part, under in parts.items():
        contacts = _contacts(done, character, part)
        quality = measure(done.motion, character, contacts, ground=under)
        if quality.worst_plant is not None and quality.mean_drift is not None:
            worst = max(worst or 0.0, quality.worst_plant.drift)
            total, count = total + quality.mean_drift * len(contacts.plants), count + len(contacts.plants)
        depth = quality.penetration_worst
    if isinstance(ground, PartedGround):
        depth = _deepest(done.motion, character, ground)
    return {
        "plants": count,
        "worst_drift_mm": worst,
        "mean_drift_mm": total / count if count else None,
        "below_ground_mm": depth,
    }


def _deepest(motion: Motion, character: Character, ground: PartedGround) -> float:
    """Return how deep, millimetres, soles get into a ground of parts."""
    import numpy as np

    from footplant.kinematics import Kinematics

    kinematics = Kinematics(motion)
    soles = np.stack([kinematics.point(point) for point in character.contacts.values()], axis=1)
    depths = [ground.height(row[:, ::2], n / motion.fps) - row[:, 1] for n, row in enumerate(soles)]
    return 1000.0 * max(float(np.max(depths)), 0.0)


def drive(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SET | CLIP...",
            help="A TOML file of gaits, idles and actions, or set:samples; with --clips, any motion files.",
        ),
    ],
    script: Annotated[
        str, typer.Option("--script", metavar="TEXT", help='Commands: "walk 2s, run 3s left, kick, sneak 2s".')
    ],
    out: Out,
    fps: Annotated[float, typer.Option(metavar="RATE", min=1.0, max=1000.0, help="Frame rate of OUT.")] = 60.0,
    character: Annotated[
        str | None, typer.Option("--character", metavar="CHARACTER", help="Use this character instead of the set's.")
    ] = None,
    clips: Annotated[
        bool, typer.Option("--clips", help="Make the set from these files: gaits, turns, idles and actions are found.")
    ] = False,
    ground: Annotated[
        str | None,
        typer.Option(
            "--ground",
            metavar="GROUND",
            help="noise:SEED, stairs:RISE:RUN, slope:DEGREES, moving:…, or a file, as for terrain; "
            "part:WIDTH:LENGTH:START+moving:… for parts that move.",
        ),
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Drive a character by a script: gaits blend in phase, actions play between them, feet stay planted.

    In the editor, keys drive the same controller. docs/drive.md describes motion sets, sets of any clips and scripts.

    Example: footplant drive set:samples --script "walk 2s, run 3s left, kick, sneak 2s" -o driven.glb
    """
    from footplant.clip import Clip
    from footplant.errors import FormatError
    from footplant.feet.detached import detached_motion
    from footplant.geometry import Plane
    from footplant.io import save
    from footplant.live.clip_set import known_kinds
    from footplant.live.motion_set import load_set
    from footplant.live.script import drive as play
    from footplant.live.script import parse_script

    prepare_kernels()
    for file in files:
        check_targets(file, out, None, overwrite=overwrite)
    if clips:
        controller, driven = clips_controller(files, character)
        spec = controller.spec
        orders = parse_script(script, spec.names())
    elif len(files) > 1:
        raise FormatError(f"expected one set, got {len(files)} files; --clips makes a set from clips")
    else:
        spec = load_set(files[0])
        orders = parse_script(script, spec.names())
        controller, driven = load_controller(spec, character)
    motion_set = " ".join(files)
    uneven, made_for = (None, None) if ground is None else _ground(ground, controller)
    with solving("driving") as progress:
        done = play(controller, orders, fps=fps, ground=uneven, progress=progress)
    with working(f"writing {out}"):
        whole = driven.skeleton.names == done.motion.skeleton.names
        written = done.motion if whole else detached_motion(done.motion, driven.skeleton)
        save(out, Clip(written, driven, name=spec.name), **ground_options(Path(out), made_for))
    floor = Plane((0.0, 0.0, 0.0)) if uneven is None else uneven
    facts = {
        "frames": len(done.motion),
        "fps": fps,
        "seconds": done.motion.duration,
        "fade_seconds": controller.tables.fade,
        **_drifts(done, controller.character, floor),
    }
    aims = [_told(aim) for aim in done.aims]
    if json:
        requests = [{"seconds": seconds, "request": request} for seconds, request in done.requests]
        motions = [{"name": name, "kind": kind, "what": what} for name, kind, what in known_kinds(controller)]
        facts["motions"], facts["aims"] = motions, aims
        print_json({"command": "drive", "input": motion_set, "output": out, "requests": requests, **facts})
        return
    print_facts(f"drive: {motion_set} → {out}", {key.replace("_", " "): value for key, value in facts.items()})
    if clips:
        print_table("Clips", ("name", "kind", "what"), known_kinds(controller))
    print_table("Requests", ("#at, s", "request"), [(f"{seconds:.2f}", request) for seconds, request in done.requests])
    if aims:
        rows = [
            tuple("" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value) for value in row)
            for row in (aim.values() for aim in aims)
        ]
        print_table("Targets", ("request", "with", "status", "#at, s", "#off, mm"), rows)


def _told(aim: Aimed) -> dict[str, Any]:
    """Return what became of a request with a target."""
    off = None if aim.residual is None else 1000.0 * aim.residual
    return {
        "request": aim.name, "effector": aim.effector, "status": aim.status, "seconds": aim.seconds, "residual_mm": off
    }  # fmt: skip
