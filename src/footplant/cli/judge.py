"""`footplant contacts` and `measure`: when the feet stand, and how well they do."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from footplant.cli.arguments import ClipFile, Figure, Json, RolesFile, Take, Units, Up, load_clip
from footplant.cli.output import note, print_json, print_table, working


def contacts(
    file: ClipFile,
    take: Take = None,
    figure: Figure = None,
    units: Units = None,
    up: Up = None,
    roles: RolesFile = None,
    hands: Annotated[bool, typer.Option("--hands", help="Look at the palms too.")] = False,
    toes: Annotated[bool, typer.Option("--toes", help="Look at the tips of the toes too.")] = False,
    json: Json = False,
) -> None:
    """Find the footplants: from which frame to which each heel and ball stands still, and where.

    Example: footplant contacts sample:walk
    """
    from footplant.analysis.contacts import find_contacts

    clip = load_clip(file, take, figure, units, up, roles)
    with working("finding footplants"):
        found = find_contacts(clip, hands=hands, toes=toes)
    if json:
        print_json({"file": file, "name": clip.name} | found.to_dict())
        return
    rows = [
        (plant.point, plant.start, plant.end - 1, f"{plant.start / found.fps:.2f}", f"{len(plant) / found.fps:.2f}",
         *(f"{value:.3f}" for value in plant.place))
        for plant in found.plants
    ]  # fmt: skip
    columns = ("point", "#first frame", "#last frame", "#at s", "#for s", "#x m", "#y m", "#z m")
    print_table(f"{len(found.plants)} plants in {file}", columns, rows)
    for text in clip.notes:
        note(f"note: {text}")


def measure(
    file: ClipFile,
    against: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="Compare with this clip: its plants and smoothness count.")
    ] = None,
    take: Take = None,
    figure: Figure = None,
    units: Units = None,
    up: Up = None,
    roles: RolesFile = None,
    json: Json = False,
) -> None:
    """Judge a clip: drift of every plant in mm, skating, penetration of the ground, smoothness, joint limits.

    The same figures for any file, also for what other tools have written.

    Example: footplant measure sample:walk
    """
    from footplant.analysis.quality import measure as judge

    clip = load_clip(file, take, figure, units, up, roles)
    source = None if against is None else load_clip(against)
    with working("measuring"):
        report = judge(clip, against=source).to_dict()
    if json:
        print_json({"file": file, "name": clip.name, "against": against} | report)
        return
    _print_report(file, report)
    for text in clip.notes:
        note(f"note: {text}")


def _print_report(file: str, report: dict[str, Any]) -> None:
    plants = report.pop("plants", [])
    if plants:
        columns = tuple(plants[0])
        print_table(f"{len(plants)} plants in {file}", columns, [tuple(plant.values()) for plant in plants])
    rows = [(name.replace("_", " "), value) for name, value in report.items() if not isinstance(value, list | dict)]
    print_table("The whole clip", ("measure", "#value"), rows)
