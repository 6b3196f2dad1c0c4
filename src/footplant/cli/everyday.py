"""`footplant trim`, `resample`, `mirror`, `loop` and `join`: everyday edits of whole clips."""

from __future__ import annotations

from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, ReadOptions
from footplant.cli.blend import Files, HoldMethod, OnCharacter, Rate, character_for, method_for, notes_of
from footplant.cli.loading import load_clip
from footplant.cli.options import LeadInOption, lead_in_option, spread
from footplant.cli.output import working
from footplant.cli.solving import ResultOptions, solving


@spread
def trim(
    file: ClipFile,
    *,
    start: Annotated[float | None, typer.Option(metavar="SECONDS", min=0.0, help="Where to begin.")] = None,
    end: Annotated[float | None, typer.Option(metavar="SECONDS", min=0.0, help="Where to end.")] = None,
    frames: Annotated[
        str | None, typer.Option(metavar="FIRST:LAST", help="First and last frame instead, counted from 0.")
    ] = None,
    lead_in: LeadInOption = "keep",
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Keep a part of a clip, by times or frames.

    Example: footplant trim sample:walk --start 1 --end 2.5 -o part.bvh
    """
    from footplant.edits.everyday import trim as cut
    from footplant.errors import FormatError

    wish = lead_in_option(lead_in)
    span = None if frames is None else _frames(frames)
    if span is not None and (start is not None or end is not None):
        raise FormatError("expected either --frames or --start and --end, got both")
    if span is None and start is None and end is None and wish == "keep":
        raise FormatError("expected --start, --end, --frames or --lead-in drop: which part to keep")
    result.check(file)
    clip = load_clip(file, reading, frames=True)
    with working("trimming"):
        done = cut(clip, start, end, frames=span, lead_in=wish)
    result.deliver(done, append=False, verb="trim", file=file, notes=clip.notes)


def _frames(text: str) -> tuple[int, int]:
    """Parse FIRST:LAST."""
    from footplant.errors import FormatError

    try:
        first, last = (int(part) for part in text.split(":"))
    except ValueError:
        raise FormatError(f"expected --frames FIRST:LAST, two frame numbers, got {text!r}") from None
    if not 0 <= first <= last:
        raise FormatError(f"expected --frames FIRST:LAST with 0 <= FIRST <= LAST, got {text!r}")
    return first, last


@spread
def resample(
    file: ClipFile,
    *,
    smooth: Annotated[
        bool | None,
        typer.Option(
            "--spline/--slerp", help="Smooth curves between frames, or straight ones (default: curves for more frames)."
        ),
    ] = None,
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Change the frame rate of a clip to --fps, footplants kept.

    Example: footplant resample sample:walk --fps 30 -o walk30.bvh
    """
    from dataclasses import replace

    from footplant.edits.everyday import resample as convert
    from footplant.errors import FormatError

    if reading.fps is None:
        raise FormatError("expected --fps RATE: the frame rate of OUT")
    reading.check_rate()
    result.check(file)
    clip = load_clip(file, replace(reading, fps=None), frames=True)
    with working("resampling"):
        done = convert(clip, reading.fps, smooth=smooth)
    result.deliver(done, append=False, verb="resample", file=file, notes=clip.notes)


@spread
def mirror(file: ClipFile, *, reading: ReadOptions, result: ResultOptions) -> None:
    """Mirror a clip left to right on the same character: what the left hand did, the right one does.

    Example: footplant mirror sample:kick -o other_leg.glb
    """
    from footplant.edits.everyday import mirror as flip

    result.check(file)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    with working("mirroring"):
        done = flip(clip)
    result.deliver(done, append=False, verb="mirror", file=file, notes=clip.notes)


@spread
def loop(
    file: ClipFile,
    *,
    cycles: Annotated[int, typer.Option(metavar="N", min=1, max=10_000, help="How many cycles to write.")] = 1,
    start: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.0, help="Where the cycle begins (default: found).")
    ] = None,
    end: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0.0, help="Where the cycle ends (default: found).")
    ] = None,
    method: HoldMethod = "whole-body",
    reading: ReadOptions,
    result: ResultOptions,
) -> None:
    """Make a loop of a gait: one cycle is found and closed without a seam, feet planted.

    The last frame repeats the first one, moved on over the floor.

    Example: footplant loop sample:walk --cycles 4 -o walking.glb
    """
    from footplant.blending.loops import loop as close
    from footplant.errors import FormatError

    if (start is None) != (end is None):
        raise FormatError("expected both --start and --end of the cycle, or neither to have it found")
    holding = method_for(method)
    result.check(file)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    ends = None if start is None or end is None else (start, end)
    with solving("looping") as progress:
        done = close(clip, cycles, ends=ends, method=holding, progress=progress)
    result.deliver(done, append=False, verb="loop", file=file, notes=clip.notes, cycles=cycles)


@spread
def join(
    files: Files,
    *,
    seconds: Annotated[
        float, typer.Option("--fade", metavar="SECONDS", min=0.05, max=60.0, help="Duration of each crossfade.")
    ] = 0.5,
    fps: Rate = None,
    character: OnCharacter = None,
    method: HoldMethod = "whole-body",
    result: ResultOptions,
) -> None:
    """Join clips one after another, each entered where it is most like the one before, feet planted.

    Example: footplant join sample:walk sample:run sample:sneak -o tour.glb
    """
    from footplant.blending.transition import join as connect
    from footplant.errors import FormatError

    if len(files) < 2:
        raise FormatError(f"expected two or more clips to join, got {len(files)}")
    holding = method_for(method)
    result.check(*files)
    clips = [load_clip(file, humanoid=True, frames=True) for file in files]
    target = character_for(character)
    with solving("joining") as progress:
        done = connect(clips, seconds=seconds, fps=fps, character=target, method=holding, progress=progress)
    result.deliver(done, append=False, verb="join", file=" + ".join(files), notes=notes_of(clips), clips=list(files))
