"""`footplant retarget`: retarget a motion to another character, feet planted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from footplant.cli.arguments import ClipFile, GroundAt, ReadOptions
from footplant.cli.loading import load_clip, load_target_clip
from footplant.cli.options import LeadInOption, lead_in_option, options, spread
from footplant.cli.output import working
from footplant.cli.robot import Layout, Order, retarget_to_robot
from footplant.cli.solving import Exact, ResultOptions, check_method, further_constraints, solving
from footplant.io.registry import is_robot

if TYPE_CHECKING:
    from footplant.clip import Clip


@options
class TargetOptions:
    """Which character the motion is put on, and where it steps."""

    to: Annotated[str, typer.Option("--to", metavar="CHARACTER", help="A character or robot file, or sample:NAME.")]
    to_roles: Annotated[
        str | None, typer.Option(metavar="TOML", help="Corrects the joint roles of the target character.")
    ] = None
    keep_footsteps: Annotated[
        bool,
        typer.Option(
            "--keep-footsteps/--scale-footsteps", help="Keep the source's footsteps, or scale them with the legs."
        ),
    ] = False

    def load(self) -> Clip:
        """Return the character's file."""
        return load_target_clip(self.to, **({} if self.to_roles is None else {"roles": self.to_roles}))


@options
class RetargetOptions:
    """How the motion is solved."""

    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="whole-body (feet, legs and hips, then arms), hierarchical, filtered, perframe, warping, perkey, "
            "spacetime, puppet (frame by frame, as if live), or copy (rotations alone: feet skate); whole-body by "
            "default.",
        ),
    ] = None
    fast: Annotated[
        bool,
        typer.Option(
            "--fast",
            help="Feet only, by the hierarchical method, not compared with the source: a quarter of the time. Legs "
            "bend where they are too long, arms may run into the body.",
        ),
    ] = False
    exact: Exact = True
    lead_in: LeadInOption = "keep"
    balance: Annotated[
        bool,
        typer.Option(
            "--balance/--no-balance", help="Sway so that the body is balanced over its feet, or as copied and scaled."
        ),
    ] = True
    dynamic: Annotated[
        bool,
        typer.Option("--dynamic", help="Jump and run with the right gravity, not the source's at the body's size."),
    ] = False
    constraints: Annotated[
        str | None, typer.Option(metavar="FILE", help="Further constraints (TOML or JSON) on the target character.")
    ] = None

    def check_for_robot(self) -> None:
        """Raise for options that robots do not take."""
        from footplant.errors import ConstraintError
        from footplant.feet.planting import WHOLE_BODY

        if self.method not in (None, WHOLE_BODY) or self.constraints is not None:
            raise ConstraintError("robots are solved as whole bodies, and take neither --method nor --constraints")

    def chosen_method(self) -> str:
        """Return the name of the method: the given one, or that of --fast, or the usual one."""
        from footplant.edits.puppet import PUPPET
        from footplant.errors import ConstraintError
        from footplant.feet.planting import WHOLE_BODY

        if self.fast and self.method is not None:
            raise ConstraintError("--fast chooses the method itself: give --fast or --method, not both")
        method = self.method or ("hierarchical" if self.fast else WHOLE_BODY)
        if method == PUPPET and self.constraints is not None:
            raise ConstraintError(f"{PUPPET} solves frame by frame and does not support constraints")
        return method


@options
class RobotOptions:
    """How the motion of a robot is written."""

    layout: Layout = None
    order: Order = "mujoco"


@spread
def retarget(
    file: ClipFile,
    *,
    target: TargetOptions,
    how: RetargetOptions,
    ground: GroundAt = None,
    reading: ReadOptions,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Also measure the posed skin: limbs inside the body, skin below the floor, tilted soles. A report "
            "file always includes them.",
        ),
    ] = False,
    robot: RobotOptions,
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
    from footplant.errors import FormatError
    from footplant.feet.floor import find_floor, put_floor_at
    from footplant.io import SAMPLE
    from footplant.quality.fidelity import fidelity

    if is_robot(target.to):
        how.check_for_robot()
        retarget_to_robot(
            file, target.to, keep_footsteps=target.keep_footsteps, ground=ground, reading=reading,
            to_roles=target.to_roles, layout=robot.layout, order=robot.order, result=result,
        )  # fmt: skip
        return
    if robot.layout is not None or robot.order != "mujoco":
        raise FormatError("--layout and --order are for robots (MJCF or URDF)", path=target.to)
    method = how.chosen_method()
    chosen = check_method(method, how.exact, COPY, PUPPET)
    wish = lead_in_option(how.lead_in)
    if target.to_roles is not None and target.to.startswith(SAMPLE):
        raise FormatError("a sample takes no --to-roles: its roles are known", path=target.to)
    result.check(file)
    clip = load_clip(file, reading, humanoid=True, frames=True)
    clip, floor = (clip, find_floor(clip)) if ground is None else put_floor_at(clip, ground)
    onto = target.load()
    character = onto.character
    extra = further_constraints(how.constraints, clip, character)
    measured = not how.fast or check or result.needs_measures
    with solving("retargeting") as progress:
        solution = solve(
            clip, character, keep_footsteps=target.keep_footsteps, method=chosen or method, arms=not how.fast,
            constraints=extra, lead_in=wish, balance=how.balance, dynamic=how.dynamic, measured=measured,
            progress=progress,
        )  # fmt: skip
    depth = "skin" if check or result.report is not None else "joints"
    if measured and (depth == "skin" or solution.report.after is None or solution.report.after.fidelity is None):
        with working("comparing with the source"):
            found = fidelity((clip.motion, clip.character), (solution.motion, character), depth=depth)
        solution = replace(solution, report=solution.report.with_fidelity(found))
    solution = solution if floor is None or floor.is_usual else solution.noted(str(floor))
    level = None if floor is None else floor.level
    result.deliver(
        solution, verb="retarget", file=file, notes=clip.notes, contents=onto.contents, to=target.to, floor=level
    )
