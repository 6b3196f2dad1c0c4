"""`footplant retarget`: retarget a motion to another character, feet planted."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, GroundAt, ReadOptions
from footplant.cli.loading import load_clip, load_target_clip
from footplant.cli.options import LeadInOption, lead_in_option, spread
from footplant.cli.output import working
from footplant.cli.robot import Layout, Order, is_robot, retarget_to_robot
from footplant.cli.solving import Exact, ResultOptions, check_method, further_constraints, solving


@spread
def retarget(
    file: ClipFile,
    *,
    to: Annotated[str, typer.Option("--to", metavar="CHARACTER", help="A character or robot file, or sample:NAME.")],
    keep_footsteps: Annotated[
        bool,
        typer.Option(
            "--keep-footsteps/--scale-footsteps", help="Keep the source's footsteps, or scale them with the legs."
        ),
    ] = False,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="whole-body (feet, legs and hips, then arms), hierarchical, filtered, perframe, warping, perkey, "
            "spacetime, puppet (frame by frame, as if live), or copy (rotations alone: feet skate); whole-body by "
            "default.",
        ),
    ] = None,
    fast: Annotated[
        bool,
        typer.Option(
            "--fast",
            help="Feet only, by the hierarchical method: a third of the time. Legs bend where they are too long, arms "
            "may run into the body.",
        ),
    ] = False,
    exact: Exact = True,
    lead_in: LeadInOption = "keep",
    ground: GroundAt = None,
    constraints: Annotated[
        str | None, typer.Option(metavar="FILE", help="Further constraints (TOML or JSON) on the target character.")
    ] = None,
    reading: ReadOptions,
    to_roles: Annotated[
        str | None, typer.Option(metavar="TOML", help="Corrects the joint roles of the target character.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Also measure the posed skin: limbs inside the body, skin below the floor, tilted soles. A report "
            "file always includes them.",
        ),
    ] = False,
    layout: Layout = None,
    order: Order = "mujoco",
    result: ResultOptions,
) -> None:
    """Retarget a motion to another character or robot: footplants are detected and kept, hands stay on what they touch.

    Names, joints, rest poses and proportions may differ. OUT contains the character with its mesh if the format can
    hold one (GLB, FBX, USD, .footplant), otherwise its bones only (BVH). CHARACTER may be a robot (MJCF .xml, .urdf):
    OUT is then .csv, .pkl or .npz, with joint ranges, speeds and self-collision kept as well.

    Example: footplant retarget sample:walk --to sample:sally -o sally.glb
    """
    from footplant.edits.puppet import PUPPET
    from footplant.edits.retarget import COPY
    from footplant.edits.retarget import retarget as solve
    from footplant.errors import ConstraintError, FormatError
    from footplant.feet.floor import find_floor, put_floor_at
    from footplant.feet.planting import WHOLE_BODY
    from footplant.io import SAMPLE
    from footplant.quality.fidelity import fidelity

    if is_robot(to):
        if method not in (None, WHOLE_BODY) or constraints is not None:
            raise ConstraintError("robots are solved as whole bodies, and take neither --method nor --constraints")
        retarget_to_robot(
            file, to, keep_footsteps=keep_footsteps, ground=ground, reading=reading, to_roles=to_roles, layout=layout,
            order=order, result=result,
        )  # fmt: skip
        return
    if layout is not None or order != "mujoco":
        raise FormatError("--layout and --order are for robots (MJCF or URDF)", path=to)
    if fast and method is not None:
        raise ConstraintError("--fast chooses the method itself: give --fast or --method, not both")
    method = method or ("hierarchical" if fast else WHOLE_BODY)
    chosen = check_method(method, exact, COPY, PUPPET)
    wish = lead_in_option(lead_in)
    if method == PUPPET and constraints is not None:
        raise ConstraintError(f"{PUPPET} solves frame by frame and does not support constraints")
    if to_roles is not None and to.startswith(SAMPLE):
        raise FormatError("a sample takes no --to-roles: its roles are known", path=to)
    result.check(file)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    clip, floor = (clip, find_floor(clip)) if ground is None else put_floor_at(clip, ground)
    target = load_target_clip(to, **({} if to_roles is None else {"roles": to_roles}))
    character = target.character
    extra = further_constraints(constraints, clip, character)
    with solving("retargeting") as progress:
        solution = solve(
            clip, character, keep_footsteps=keep_footsteps, method=chosen or method, arms=not fast, constraints=extra,
            lead_in=wish, progress=progress,
        )  # fmt: skip
    depth = "skin" if check or result.report is not None else "joints"
    if depth == "skin" or solution.report.after is None or solution.report.after.fidelity is None:
        with working("comparing with the source"):
            found = fidelity((clip.motion, clip.character), (solution.motion, character), depth=depth)
        solution = replace(solution, report=solution.report.with_fidelity(found))
    solution = solution if floor is None or floor.is_usual else solution.noted(str(floor))
    level = None if floor is None else floor.level
    result.deliver(solution, verb="retarget", file=file, notes=clip.notes, contents=target.contents, to=to, floor=level)
