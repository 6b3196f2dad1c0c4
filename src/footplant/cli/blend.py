"""`footplant blend` and `footplant transition`: combine several clips into one, feet planted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from footplant.cli.loading import load_clip, load_target
from footplant.cli.options import options, spread
from footplant.cli.solving import ResultOptions, solving

if TYPE_CHECKING:
    from collections.abc import Sequence

    from footplant.blending.blend import WeightCurve
    from footplant.blending.registration import Registration
    from footplant.clip import Clip
    from footplant.skeleton import Character

Files = Annotated[list[str], typer.Argument(metavar="FILE…", help="Two or more motion files, or sample:NAME.")]
OnCharacter = Annotated[
    str | None,
    typer.Option("--character", metavar="CHARACTER", help="Character of the result (default: the first clip's)."),
]
Rate = Annotated[
    float | None,
    typer.Option("--fps", metavar="RATE", min=1.0, max=1000.0, help="Frame rate of OUT (default: the first clip's)."),
]
HoldMethod = Annotated[
    str,
    typer.Option(
        metavar="METHOD", help="Method that locks the feet: whole-body, hierarchical, filtered … or none (they skate)."
    ),
]


def method_for(name: str) -> str | None:
    """Return the name of the method that locks feet, checked; None for "none"."""
    from footplant.feet.planting import chosen_method

    chosen_method(name, "none")
    return None if name == "none" else name


def notes_of(clips: Sequence[Clip]) -> list[str]:
    """Return the notes of several clips, each once."""
    return list(dict.fromkeys(text for clip in clips for text in clip.notes))


def character_for(name: str | None) -> Character | None:
    """Return a character by its file or sample name."""
    return None if name is None else load_target(name)


@options
class WeightOptions:
    """How much each clip weighs."""

    weights: Annotated[
        str | None,
        typer.Option(
            "--weights",
            metavar="W,W… | T:W,W… T:W,W…",
            help='Weight of each clip: "0.3,0.7", or keys in seconds: "0:1,0 2:0,1" (default: equal).',
        ),
    ] = None
    speed: Annotated[float | None, typer.Option(metavar="M/S", help="Choose the weights for this speed instead.")] = (
        None
    )
    turn: Annotated[
        float | None, typer.Option(metavar="RAD/S", help="Choose the weights for this turning speed to the left.")
    ] = None
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part",
            metavar="PART=W,W…",
            help="Separate weights for left_arm, right_arm, upper_body, head or a role.",
        ),
    ] = None

    def check(self) -> None:
        """Raise when weights are given twice."""
        from footplant.errors import FormatError

        if self.weights is not None and (self.speed is not None or self.turn is not None):
            raise FormatError("expected either --weights or --speed and --turn, got both")


@options
class RegisterOptions:
    """How the clips are brought into step."""

    reference: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Clip that the others are registered to (default: automatic)."),
    ] = None
    as_they_are: Annotated[
        bool, typer.Option("--as-they-are", help="No time warp: play all clips from their start (a wave on a run).")
    ] = False
    loops: Annotated[bool, typer.Option("--loops", help="All clips are loops; see --cycles.")] = False

    def register(self, clips: Sequence[Clip], target: Character | None) -> Registration:
        """Return the registration of clips on a character; None: the first one's."""
        from footplant.blending.registration import register, side_by_side

        if self.as_they_are:
            return side_by_side(clips, character=target)
        first = None if self.reference is None else self.reference - 1
        return register(clips, reference=first, ends="loop" if self.loops else "free", character=target)


@spread
def blend(
    files: Files,
    *,
    sharing: WeightOptions,
    registering: RegisterOptions,
    cycles: Annotated[int, typer.Option(min=1, help="Number of cycles for loops.")] = 1,
    fps: Rate = None,
    character: OnCharacter = None,
    method: HoldMethod = "whole-body",
    result: ResultOptions,
) -> None:
    """Blend clips: register times, positions and footplants, average the poses, and lock the feet again.

    Clips of different characters are retargeted to one character first.

    Example: footplant blend sample:walk sample:run --weights 0.5,0.5 -o jog.glb
    """
    from footplant.blending import blend as blending
    from footplant.errors import FormatError

    if len(files) < 2:
        raise FormatError(f"expected two or more clips to blend, got {len(files)}")
    sharing.check()
    if registering.reference is not None and registering.reference > len(files):
        raise FormatError(f"expected --reference to be 1 to {len(files)}, got {registering.reference}")
    curve = None if sharing.weights is None else read_weights(sharing.weights, len(files))
    parts = dict(_read_part(text, len(files)) for text in sharing.part or ())
    holding = method_for(method)
    result.check(*files)
    clips = [load_clip(file, humanoid=True, frames=True) for file in files]
    target = character_for(character)
    with solving("blending") as progress:
        progress("registering", 0.0)
        registration = registering.register(clips, target)
        if curve is not None:
            shares = curve
        elif sharing.speed is not None or sharing.turn is not None:
            shares = blending.weights_for(registration, speed=sharing.speed, turn=sharing.turn)
        else:
            shares = [1.0] * len(files)
        solution = blending.blend(
            registration, shares, parts=parts, fps=fps, cycles=cycles, method=holding, progress=progress
        )
    used = blending.WeightCurve.of(shares, len(files))
    solution = solution.noted(f"reference: {files[registration.reference]}")
    result.deliver(
        solution, verb="blend", file=" + ".join(files), notes=notes_of(clips), clips=list(files),
        weights=used.values.round(6).tolist(), reference=registration.reference, costs=list(registration.costs),
    )  # fmt: skip


def read_weights(text: str, count: int) -> WeightCurve:
    """Parse weights: "0.3,0.7", or keys in seconds, "0:1,0 2:0,1"."""
    from itertools import pairwise

    import numpy as np

    from footplant.blending.blend import WeightCurve
    from footplant.errors import FormatError

    keys = text.split()
    seconds, values = [], []
    for key in keys:
        before, colon, after = key.rpartition(":")
        values.append(_numbers(after, count, f"--weights {text!r}"))
        if len(keys) > 1 and not colon:
            raise FormatError(f"--weights {text!r}: expected a time before {key!r}, as in 2:0,1")
        try:
            seconds.append(float(before) if colon else 0.0)
        except ValueError:
            raise FormatError(f"--weights {text!r}: expected seconds before the colon, got {before!r}") from None
    if not keys or any(b <= a for a, b in pairwise(seconds)):
        raise FormatError(f"--weights {text!r}: expected weights at increasing times")
    return WeightCurve.of(WeightCurve(np.array(seconds), np.array(values)), count)


def _numbers(text: str, count: int, where: str) -> list[float]:
    from footplant.errors import FormatError

    try:
        numbers = [float(word) for word in text.split(",")]
    except ValueError:
        raise FormatError(f"{where}: expected {count} numbers separated by commas, got {text!r}") from None
    if len(numbers) != count:
        raise FormatError(f"{where}: expected {count} numbers, one for each clip, got {len(numbers)}")
    return numbers


def _read_part(text: str, count: int) -> tuple[str, list[float]]:
    from footplant.errors import FormatError

    name, equals, values = text.partition("=")
    if not equals:
        raise FormatError(f"--part {text!r}: expected a part and its weights, as in right_arm=0,1")
    return name, _numbers(values, count, f"--part {text!r}")


@spread
def transition(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="The clip to leave: a file or sample:NAME.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="The clip to enter.")],
    *,
    at: Annotated[
        str | None, typer.Option(metavar="T,T", help="Seconds in both clips that coincide (default: most similar).")
    ] = None,
    seconds: Annotated[float, typer.Option("--fade", metavar="SECONDS", min=0.05, help="Crossfade duration.")] = 0.5,
    fps: Rate = None,
    character: OnCharacter = None,
    method: HoldMethod = "whole-body",
    result: ResultOptions,
) -> None:
    """Make a transition from one clip to another where they are similar: time-warped crossfade, feet planted.

    Example: footplant transition sample:walk sample:sneak -o both.glb
    """
    from footplant.blending.transition import transition as solve

    meeting = None
    if at is not None:
        meeting = _numbers(at, 2, f"--at {at!r}")
    holding = method_for(method)
    result.check(first, second)
    clips = [load_clip(file, humanoid=True, frames=True) for file in (first, second)]
    target = character_for(character)
    with solving("blending") as progress:
        solution = solve(
            clips[0], clips[1], at=None if meeting is None else (meeting[0], meeting[1]), seconds=seconds, fps=fps,
            character=target, method=holding, progress=progress,
        )  # fmt: skip
    result.deliver(
        solution, verb="transition", file=f"{first} + {second}", notes=notes_of(clips), clips=[first, second]
    )
