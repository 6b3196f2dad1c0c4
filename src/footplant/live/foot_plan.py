"""Plan the steps of a driven character before they happen: where and when a swinging foot lands, and its path to there.

The controller's future is known as long as nothing else is requested: `_foot_plan.look_ahead` plays it without
corrections. A swing ends where the blended foot will be planted, at the height of the ground there, drawn in where the
leg would not reach; a request during a swing plans the rest of it anew, from the foot's position, velocity and
acceleration. A landing is delayed while the path to it would accelerate the foot too much. A standing foot from which
the body moves away takes a step by itself. The plans are made in `_swing_plan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.ground import Ground
from footplant.feet.footing import FOOTING_SETTINGS
from footplant.feet.step_plan import STEP_PLAN_SETTINGS
from footplant.geometry import Basis, HeightField, Plane
from footplant.grounds import Stairs, direction
from footplant.live.settings import FOOT_PLAN

if TYPE_CHECKING:
    from footplant.live._foot_plan import FootScratch, FootState, FootTables, GroundField

BITS = 23
"""Column of a predicted foot: which of its points are planted."""
FLAT = 1e5
"""Metres; half the width of the grid that stands for a slope."""
PATCH, CELL, MOVED = 4.5, 0.025, 1.0
"""Metres: half the width and the spacing of the grid to which any other ground is sampled around a character, and how
far it may go from its centre before that is done anew. Edges of such a ground are smeared over one cell."""
PROFILE, MOST_PROFILE = 0.001, 400_000
"""Metres between the heights of stairs along their heading, and how many there are at most."""
SETTLED = 1.0
"""Seconds for which the feet of a new character have stood."""
NONE = np.full(4, -1.0)
"""No via and no goal of a swing."""


class FootPlanner:
    """Plans of a character's feet; the state is the controller's."""

    def __init__(self, feet: FootTables, height: float, strongest: float, stance: float, swing: float) -> None:
        """Note the limits of a set of clips.

        height: metres, of the body. strongest: metres per second squared, the clips' own acceleration of feet.
        stance, swing: seconds, their shortest ones.
        """
        from footplant.live import _swing_plan as kernel

        self.feet, self.far = feet, FOOT_PLAN.far * height
        interval = FOOT_PLAN.interval
        lengths = []
        for hip, _, ankle in feet.legs:
            joint, length = ankle, 0.0
            while joint != hip:
                length += float(np.linalg.norm(feet.offsets[0, joint]))
                joint = feet.parents[joint]
            lengths.append(length)
        self.limits = kernel.PlanLimits(
            interval=interval,
            most=FOOT_PLAN.added_acceleration * strongest,
            brake=strongest,
            touchdown=FOOT_PLAN.touchdown * strongest,
            touchdown_share=FOOT_PLAN.touchdown_share,
            lasting=round(FOOT_PLAN.lasting * stance / interval),
            swing=round(FOOT_PLAN.swing * swing / interval),
            shortest=round(FOOT_PLAN.shortest / interval),
            delay=round(FOOT_PLAN.delay / interval),
            mean=round(FOOT_PLAN.mean / interval),
            ahead=round(FOOT_PLAN.ahead / interval),
            again=round(FOOT_PLAN.again / interval),
            step=round(FOOT_PLAN.step / interval),
            free=FOOT_PLAN.free,
            bias=FOOT_PLAN.bias * height,
            lift=FOOT_PLAN.lift * height,
            clear=FOOT_PLAN.clear * height,
            highest=FOOT_PLAN.highest * height,
            slow=FOOT_PLAN.slow * height * FOOT_PLAN.again,
            far=self.far,
            hardly=FOOT_PLAN.hardly * height,
            returns=FOOT_PLAN.returns * height,
            drop=STEP_PLAN_SETTINGS.edge * height,
            uneven=FOOTING_SETTINGS.unevenness * height,
            left_leg=lengths[0],
            right_leg=lengths[1],
        )
        self._scratch = kernel.plan_scratch()

    def place(self, state: FootState, scratch: FootScratch, planted: NDArray, now: float, ground: GroundField) -> None:
        """Put the feet of a new character where they are; scratch holds forward kinematics of its pose."""
        from footplant.live import _foot_plan as kernel

        for foot in range(2):
            kernel.forward_goal(self.feet, foot, scratch)
            ankle = scratch.positions[0, self.feet.legs[foot, 2]]
            state.places[foot, :3] = ankle + scratch.rel[foot, :3]
            for mark in state.places[foot, :3]:
                mark[1] = kernel.ground_at(ground, mark[0], mark[2])
            held = int(planted[2 * foot] >= 0.5) + 2 * int(planted[2 * foot + 1] >= 0.5)
            level = float(state.places[foot, :2, 1].mean())
            state.levels[foot], state.levels[foot, :2] = 0.0, level
            state.places[foot, kernel.STOOD] = state.places[foot, :2].mean(axis=0)
            state.turns[foot, kernel.TOE_LOCAL] = (1.0, 0.0, 0.0, 0.0)
            if held:
                kernel.land(self.feet, foot, now, state, scratch, held)
                # it has stood for long: a flat foot is settled, and one on its heel may come down at once
                state.times[foot, kernel.TURN_AGE] = SETTLED
            else:
                kernel.lift(self.feet, foot, now, state, scratch)
                state.path[foot] = 0.0
                state.path[foot, 1, 0] = level
                state.flags[foot, kernel.LANDS] = 0
                state.times[foot, :2] = now, 0.0
        state.body[:] = kernel.no_hands()
        state.body[0] = float(state.levels[:, 0].mean())

    def stays(self, state: FootState, foot: int, track: NDArray) -> float:
        """Return the seconds for which a foot that the blend releases should still stand; track: (N, 2, 24)."""
        from footplant.live import _foot_plan, _swing_plan

        return _swing_plan.stays(self.limits, track[:, foot], state.places[foot, _foot_plan.SHIFT])

    def swing(
        self, state: FootState, foot: int, track: NDArray, now: float, ground: GroundField, *, stepping: bool = False,
        via: NDArray | None = None, goal: NDArray | None = None,
    ) -> bool:  # fmt: skip
        """Write the plan of a foot that swings, from its state now on; return whether it lands at its goal.

        track: predicted feet (N, 2, 24). stepping: a step of a foot that the motion keeps planted. via (4,): seconds,
        and the shift that the foot has to have then. goal (4,): where the middle of its sole is to land, and in how
        many seconds.
        """
        from footplant.live import _swing_plan as kernel

        aims = (NONE if via is None else via, NONE if goal is None else goal)
        return kernel.plan_swing(
            self.feet, self.limits, ground, (foot, now, stepping), aims, state, track, self._scratch
        )

    def lands_in(self, state: FootState, foot: int, track: NDArray, now: float, *, stepping: bool) -> float | None:
        """Return the seconds in which a foot that swings may land first; track: (N, 2, 24). None: not in sight."""
        from footplant.live import _swing_plan as kernel

        frame = kernel.soonest_landing(self.limits, (foot, now, stepping), NONE, state, track[:, foot])
        return None if frame >= len(track) - 2 else frame * self.limits.interval

    def stretch(self, state: FootState, foot: int, track: NDArray, now: float) -> None:
        """Note how far the body has to be lowered while a foot that has landed is flat; track: (N, 2, 24)."""
        from footplant.live import _swing_plan as kernel

        kernel.stretch(self.limits, foot, now, state, track[:, foot])

    def beyond(
        self, state: FootState, foot: int, track: NDArray, frame: int, ground: GroundField, goal: NDArray
    ) -> tuple[float, float]:
        """Return by how many metres a goal is out of the leg's reach when the foot lands in a predicted frame.

        With it, how many metres the body has to be lowered for it.
        """
        from footplant.live import _swing_plan as kernel

        return kernel.beyond(self.feet, self.limits, ground, (foot, frame), goal, state, track, self._scratch)


def ground_field(ground: Ground | None, place: NDArray) -> GroundField:
    """Return a ground as the kernels know it: a height field as it is, any other sampled around a place (x, z)."""
    from footplant.live._foot_plan import level_ground, one_surface

    if ground is None:
        return level_ground()
    if isinstance(ground, Stairs):
        return _stairs_field(ground)
    if isinstance(ground, HeightField):
        x, z = (float(value) for value in ground.origin)
        return one_surface(ground.heights, x, z, float(ground.spacing), get_args(Basis).index(ground.basis))
    half, cells = (FLAT, 1) if isinstance(ground, Plane) else (PATCH, round(2.0 * PATCH / CELL))
    low = np.zeros(2) if isinstance(ground, Plane) else np.asarray(place, float)
    along = np.linspace(-half, half, cells + 1)
    places = np.stack(np.meshgrid(low[0] + along, low[1] + along, indexing="ij"), axis=-1)
    heights = np.array(ground.height(places), float)
    return one_surface(heights, float(low[0] - half), float(low[1] - half), 2.0 * half / cells, 0)


def _stairs_field(stairs: Stairs) -> GroundField:
    """Return stairs as the kernels know them: a profile along their heading, with noses as sharp as it is fine."""
    from footplant.live._foot_plan import one_surface

    length = stairs.count * stairs.run
    spacing = max(PROFILE, length / MOST_PROFILE)
    along = spacing * np.arange(-1, int(length / spacing) + 3)
    profile = np.array(stairs.height(np.array(stairs.start) + along[:, None] * direction(stairs.heading)))
    # no lower than the stairs: a sole that is over a nose by less than that is not in it
    profile[1:-1] = np.maximum(np.maximum(profile[:-2], profile[2:]), profile[1:-1])
    field = one_surface(np.stack([profile, profile]), 0.0, -spacing, spacing, 0)
    half = 0.5 * stairs.heading
    x, z = stairs.start
    return field._replace(poses=np.array([[x, 0.0, z, np.cos(half), 0.0, np.sin(half), 0.0]]))


def has_left(ground: Ground | None, field: GroundField, place: NDArray, surface: int = 0) -> bool:
    """Return whether a character at a place (x, z) has left the part of a ground that was sampled for a surface."""
    if ground is None or isinstance(ground, HeightField | Plane | Stairs):
        return False
    x, z, _ = field.origins[surface]
    return bool(abs(place[0] - x - PATCH) > MOVED or abs(place[1] - z - PATCH) > MOVED)
