"""`footplant match` and `footplant graph`: correspondences of clips, and a folder of clips as a motion graph."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from footplant.cli.arguments import Json
from footplant.cli.loading import load_clip
from footplant.cli.output import note, print_facts, print_json, print_table, refuse_to_overwrite, working
from footplant.cli.solving import Overwrite, check_targets, print_summary, solving

if TYPE_CHECKING:
    from footplant.blending.graph import MotionGraph
    from footplant.clip import Clip
    from footplant.result import Result

SHOWN = 10
"""Transitions shown in a table."""


def match(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A motion file, or sample:NAME.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Another one; may be the same.")],
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="PNG", help="Draw the distance matrix of all frames.")
    ] = None,
    loops: Annotated[bool, typer.Option("--loops", help="Both clips are loops.")] = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Compare two clips frame by frame: corresponding times, matched steps, and transition points.

    Example: footplant match sample:walk sample:run -o matrix.png
    """
    from footplant.blending.matching import match as compare
    from footplant.blending.settings import REGISTRATION

    if out is not None:
        _check_out(out, (".png",), [first, second], overwrite)
    clips = [load_clip(file) for file in (first, second)]
    with working("comparing"):
        found = compare(clips[0], clips[1], loops=loops)
    facts = found.to_dict()
    if out is not None:
        from footplant.plot.matching import matrix

        with working(f"drawing {out}"):
            matrix(found, (Path(first).name, Path(second).name), out)
    if json:
        print_json({"command": "match", "first": first, "second": second, "output": out, **facts})
        return
    (a, b), (c, d) = facts["overlap"]
    print_facts(
        f"{first} and {second}",
        {
            "matched frames": f"{1000 * found.path.cost:.0f} mm apart on average, {1000 * found.table.min():.0f} best",
            "corresponding": f"{a:.2f} to {b:.2f} s of the first, {c:.2f} to {d:.2f} s of the second",
            "matched footplants": facts["matched_plants"],
        },
    )
    if facts["strikes"]:
        rows = [
            (f"{s['first']:.3f}", f"{s['second']:.3f}", f"{REGISTRATION.rate * s['error']:.2f}")
            for s in facts["strikes"]
        ]
        print_table("Corresponding steps", ("#first, s", "#second, s", "#error, frames of 1/30 s"), rows)
    rows = [(f"{t['first']:.2f}", f"{t['second']:.2f}", f"{1000 * t['distance']:.0f}") for t in facts["transitions"]]
    print_table("Transitions", ("#leave the first at, s", "#enter the second at, s", "#distance, mm"), rows[:SHOWN])
    if out is not None:
        print(f"wrote {out}")


def graph(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of clips; all readable files are used.")],
    out: Annotated[str, typer.Option("-o", "--out", metavar="JSON", help="Where to write the graph.")],
    picture: Annotated[
        str | None,
        typer.Option("--picture", metavar="PNG", help='Draw it (default: beside OUT; "none" for no picture).'),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="METRES", min=0.001, help="Largest distance of a transition (default: 5 % of the height)."
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=1, max=1000, help="Transitions kept between any two clips.")] = 10,
    walk: Annotated[
        str | None,
        typer.Option(metavar="OUT", help="Write a walk through the graph, along --curve or to --target."),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option(
            metavar="CURVE", help="Path to follow: line:LENGTH, circle:RADIUS, s:LENGTH,WIDTH, points:… or a file."
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="X,Z", help="Place on the floor to reach, metres; the walk begins at 0,0.")
    ] = None,
    heading: Annotated[
        float | None,
        typer.Option(
            metavar="DEGREES", help="Direction in which the walk to a target begins; 0 is +z (default: the best one)."
        ),
    ] = None,
    bend: Annotated[
        float | None,
        typer.Option(
            metavar="DEGREES",
            min=0.0,
            help="Largest bend of the clips' paths, degrees per metre (default 57; 0: only transitions turn).",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="CLIP", help="Clip that the walk begins with (default: automatic).")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Build a motion graph from a folder of clips: every good transition between them.

    With --walk, choose transitions and bend the paths of clips so that the character follows a curve or reaches a
    target, feet planted.

    Example: footplant graph clips -o graph.json --walk walk.glb --curve s:8,2
    """
    from footplant.atomic import write_atomic
    from footplant.blending.graph import build_graph

    _check_out(out, (".json",), [], overwrite)
    goal = _walk_goal(walk, curve, target, start, heading, bend)
    if walk is not None:
        check_targets("", walk, None, overwrite=overwrite)
    drawn = None if picture == "none" else picture or str(Path(out).with_suffix(".png"))
    if drawn is not None:
        _check_out(drawn, (".png",), [], overwrite)
    clips, left_out = _read_folder(folder)
    with solving("comparing") as progress:
        found = build_graph(clips, threshold=threshold, most=most, progress=progress)
    walked = None if walk is None else _write_walk(walk, clips, found, goal)
    import json as writer

    facts = found.to_dict()
    write_atomic(out, writer.dumps(facts, indent=1, allow_nan=False) + "\n")
    if drawn is not None:
        drawn = _draw(found, drawn, wanted=picture is not None)
    if json:
        counts = {"clips": len(facts["clips"]), "edges": len(facts["edges"]), "lasting": len(found.component())}
        files = {"command": "graph", "input": folder, "output": out, "picture": drawn, "walk": walk}
        steps = {} if walked is None else _walk_facts(walked)
        print_json({**files, **counts, **steps, "left_out": left_out})
        return
    rows = [
        (clip["name"], clip["seconds"], sum(edge["from"] == number for edge in facts["edges"]),
         sum(edge["to"] == number for edge in facts["edges"]), clip["lasting"])
        for number, clip in enumerate(facts["clips"])
    ]  # fmt: skip
    print_table(f"{folder} → {out}", ("clip", "#seconds", "#out", "#in", "can be played endlessly"), rows)
    if walked is not None:
        print_summary(walked, f"walk: {folder} → {walk}", walk or "", None)
        note(f"note: {walked.report.notes[-1]}")
    for reason in left_out:
        note(f"note: left out {reason}")


def _walk_facts(walked: Result) -> dict:
    """Return what became of a walk, JSON-ready."""
    goal = walked.report.constraints[0]
    return {
        "route": walked.report.notes[-1],
        "seconds": walked.motion.duration,
        "status": str(walked.status),
        "reached": goal.met,
        "away": {"rms": 0.001 * goal.mean, "worst": 0.001 * goal.worst},
    }


def _walk_goal(
    walk: str | None,
    curve: str | None,
    target: str | None,
    start: str | None,
    heading: float | None,
    bend: float | None,
) -> dict:
    """Return the options of a walk as `walk_graph` takes them, the first clip by name; raise for what does not fit."""
    from footplant.errors import FormatError
    from footplant.io.curve_files import load_curve

    given = {"--curve": curve, "--target": target, "--start": start, "--heading": heading, "--bend": bend}
    if walk is None:
        unused = [name for name, value in given.items() if value is not None]
        if unused:
            raise FormatError(f"expected --walk OUT with {unused[0]}")
        return {}
    if (curve is None) == (target is None):
        raise FormatError("expected --curve or --target with --walk, and not both")
    goal = {"start": start, **({} if bend is None else {"turn": math.radians(bend)})}
    if curve is not None:
        if heading is not None:
            raise FormatError("expected --heading with --target only: a curve has its own direction")
        load_curve(curve)
        return {**goal, "path": curve}
    try:
        x, z = (float(part) for part in (target or "").split(","))
    except ValueError:
        raise FormatError(f"expected --target X,Z, two numbers in metres, got {target!r}") from None
    return {**goal, "target": (x, z), "heading": None if heading is None else math.radians(heading)}


def _write_walk(walk: str, clips: list[Clip], found: MotionGraph, goal: dict) -> Result:
    """Search the graph for a walk, solve for its footplants and write it."""
    from footplant.blending.graph_walk import walk_graph
    from footplant.errors import FormatError

    start, names = goal.pop("start"), [clip.name for clip in clips]
    if start is not None and start not in names:
        raise FormatError(f"expected --start among {', '.join(names)}; got {start!r}")
    number = None if start is None else names.index(start)
    with solving("walking") as progress:
        walked = walk_graph(clips, graph=found, start=number, progress=progress, **goal)
    with working(f"writing {walk}"):
        walked.save(walk)
    return walked


def _draw(found, path: str, *, wanted: bool) -> str | None:
    """Draw the graph; a missing matplotlib is an error only when the picture was requested by name."""
    from footplant.errors import MissingExtraError
    from footplant.plot.matching import graph as draw

    try:
        with working(f"drawing {path}"):
            return str(draw(found, path))
    except MissingExtraError as error:
        if wanted:
            raise
        note(f"note: no picture: {error}")
        return None


def _read_folder(folder: str) -> tuple[list[Clip], list[str]]:
    """Return every readable clip of a moving humanoid in a folder, and why the other files are left out."""
    from dataclasses import replace

    from footplant.errors import FootplantError, FormatError
    from footplant.io import find_format

    place = Path(folder)
    if not place.is_dir():
        raise FormatError("there is no such folder", path=place)
    clips, left_out = [], []
    for file in sorted(place.iterdir()):
        if not file.is_file() or not hasattr(find_format(file), "load"):
            continue
        try:
            clip = load_clip(str(file))
        except FootplantError as error:
            left_out.append(f"{file.name}: {error}")
            continue
        if len(clip.motion) < 5 or clip.character.roles is None:
            left_out.append(f"{file.name}: no motion of a humanoid")
        else:
            clips.append(replace(clip, name=file.name))
    if not clips:
        raise FormatError("expected clips of humanoids in this folder, found none", path=place)
    return clips, left_out


def _check_out(name: str, endings: tuple[str, ...], inputs: list[str], overwrite: bool) -> None:
    from footplant.errors import FormatError

    target = Path(name)
    if target.suffix.lower() not in endings:
        raise FormatError(f"expected a file name ending in {' or '.join(endings)}, got {target.suffix!r}", path=target)
    if not (target.parent or Path()).is_dir():
        raise FormatError("there is no such folder", path=target.parent)
    for file in inputs or [""]:
        refuse_to_overwrite(file, target, overwrite)
