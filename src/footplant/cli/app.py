"""The application: every command, registered in the order in which people meet them."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli import (
    batch,
    blend,
    compare,
    convert,
    crowd,
    demo,
    drive,
    edit,
    fit,
    inspect,
    judge,
    kernels,
    library,
    morph,
    normalize,
    path,
    picture,
    puppet,
    repair,
    retarget,
    solve,
    terrain,
    wire,
)

app = typer.Typer(
    name="footplant",
    help="Edit human motion under constraints that hold: read it, find its footplants, measure, draw and convert it.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # plain help appears at once: drawing it with rich costs as much time as importing NumPy
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Start with "footplant demo". Where a FILE is asked for, sample:walk and its like work too.',
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from footplant import __version__

        print(f"footplant {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


for name, command, summary in (
    ("info", inspect.info, "What is in a file: frames, size, axes, roles, takes."),
    ("contacts", judge.contacts, "When each heel and ball is planted, and where."),
    ("measure", judge.measure, "How good a clip is: drift, skating, smoothness."),
    ("plot", picture.plot, "One picture: poses, plants, angles, speed."),
    ("retarget", retarget.retarget, "Put a motion on another character, feet planted."),
    ("solve", solve.solve, "Turn optical markers into a motion."),
    ("terrain", terrain.terrain, "Walk on hills, slopes and stairs, and under doorways."),
    ("path", path.path, "Lay a walk along another curve, feet planted."),
    ("morph", morph.morph, "Change a figure's proportions while it moves."),
    ("repair", repair.repair, "Put feet right that skate, float or sink."),
    ("fit", fit.fit, "Change a motion as little as its constraints allow."),
    ("blend", blend.blend, "Several clips as one, at any weights, feet planted."),
    ("transition", blend.transition, "From one clip to another without a break."),
    ("match", library.match, "Which times and steps of two clips correspond."),
    ("graph", library.graph, "A folder of clips as a motion graph."),
    ("drive", drive.drive, "A character that goes through a script, feet planted."),
    ("compare", compare.compare, "One question, every method's answer side by side."),
    ("puppet", puppet.puppet, "Drive a character live by a performer of another shape."),
    ("record", wire.record, "Keep what a capture system sends."),
    ("replay", wire.replay, "Send a recording or any motion as a live source."),
    ("edit", edit.edit, "A page to edit motion by hand, on this machine."),
    ("normalize", normalize.normalize, "A motion without lengths: one file for any character."),
    ("crowd", crowd.crowd, "Many characters at once, with goals on one another."),
    ("convert", convert.convert, "Write a motion in another format."),
    ("batch", batch.batch, "One job over a whole library of motion."),
    ("demo", demo.demo, "All of it, on samples that ship with the package."),
    ("samples", inspect.samples, "List the motions and characters that ship."),
    ("formats", inspect.formats, "List the formats that are read and written."),
    ("warmup", kernels.warmup, "Compile everything now rather than later."),
):
    app.command(name, short_help=summary)(command)
