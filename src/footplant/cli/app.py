"""The application: every command, in the order in which users need them."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli import (
    batch,
    blend,
    compare,
    completion,
    convert,
    crowd,
    demo,
    drive,
    edit,
    everyday,
    fit,
    inspect,
    judge,
    jump,
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
    together,
    view,
    wire,
)

app = typer.Typer(
    name="footplant",
    help="Edit and retarget human motion: detect footplants, measure, draw, convert, solve under constraints.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # plain help appears at once: formatting it with rich takes as long as importing NumPy
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog='Start with "footplant demo". Wherever a FILE is expected, sample:walk and other samples work too.',
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from footplant import __version__

        print(f"footplant {__version__}")
        raise typer.Exit


@app.callback()
def _global_options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    kernels.choose_command(context.invoked_subcommand)


for name, command, summary in (
    ("info", inspect.info, "Show what a file contains: frames, size, axes, roles, takes."),
    ("contacts", judge.contacts, "Detect foot contacts: when and where each heel and ball is planted."),
    ("measure", judge.measure, "Measure quality: drift, foot skating, penetration, smoothness."),
    ("view", view.view, "Look at a clip in the browser, read only."),
    ("plot", picture.plot, "Draw one picture: poses, footplants, angles, speed."),
    ("retarget", retarget.retarget, "Retarget a motion to another character, feet planted."),
    ("together", together.together, "Put figures that hold each other or a prop on others."),
    ("solve", solve.solve, "Solve optical markers into a skeletal motion."),
    ("terrain", terrain.terrain, "Adapt a walk to hills, slopes, stairs and doorways."),
    ("path", path.path, "Bend a walk along another curve, feet planted."),
    ("jump", jump.jump, "Make a jump longer or higher, by physics."),
    ("morph", morph.morph, "Change a character's proportions while it moves."),
    ("repair", repair.repair, "Fix foot skating, floating and ground penetration."),
    ("trim", everyday.trim, "Keep a part of a clip."),
    ("resample", everyday.resample, "Change the frame rate, footplants kept."),
    ("mirror", everyday.mirror, "Mirror a clip left to right."),
    ("loop", everyday.loop, "Make a seamless loop of a gait, feet planted."),
    ("join", everyday.join, "Join clips one after another, feet planted."),
    ("fit", fit.fit, "Change a motion as little as its constraints allow."),
    ("blend", blend.blend, "Blend several clips with any weights, feet planted."),
    ("transition", blend.transition, "Make a seamless transition between two clips."),
    ("match", library.match, "Find corresponding times and steps of two clips."),
    ("graph", library.graph, "Build a motion graph from a folder of clips."),
    ("drive", drive.drive, "Drive a character by a script, feet planted."),
    ("compare", compare.compare, "Compare all methods on one problem."),
    ("puppet", puppet.puppet, "Drive a character live by a performer with another body."),
    ("record", wire.record, "Record what a motion capture system sends."),
    ("replay", wire.replay, "Send a recording or any motion as a live source."),
    ("edit", edit.edit, "Edit motion in the browser, on this machine."),
    ("normalize", normalize.normalize, "Write morphology-independent motion for any character."),
    ("crowd", crowd.crowd, "Play many characters with goals on one another."),
    ("convert", convert.convert, "Write a motion in another format."),
    ("batch", batch.batch, "Run one job over a whole motion library."),
    ("demo", demo.demo, "Show the main features on samples that ship."),
    ("samples", inspect.samples, "List the sample motions and characters."),
    ("formats", inspect.formats, "List the formats that can be read and written."),
    ("warmup", kernels.warmup, "Compile all kernels now rather than on first use."),
    ("completion", completion.completion, "Print a script for shell completion: bash, zsh, fish."),
):
    app.command(name, short_help=summary)(command)
