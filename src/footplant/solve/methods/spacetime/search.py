"""The search of spacetime: an augmented Lagrangian whose steps are Levenberg–Marquardt's."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant import humanoid, rotation
from footplant.errors import SkeletonError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import Problem, Progress
from footplant.skeleton import Character
from footplant.solve.ik.limb import LIMBS, limb_of
from footplant.solve.ik.settings import HYBRID
from footplant.solve.methods.spacetime.band import Knots, System
from footplant.solve.methods.spacetime.parts import Look
from footplant.solve.methods.spacetime.rows import Rows

if TYPE_CHECKING:
    from footplant.solve.methods.spacetime import Spacetime

logger = logging.getLogger(__name__)
ROLE_RIGIDITY = dict(HYBRID.rigidity) | {
    "place": 0.01, "upper_leg": 0.3, "lower_leg": 0.2, "foot": 0.3, "toes": 0.2, "upper_arm": 0.03, "lower_arm": 0.03,
    "hand": 0.05,
}  # fmt: skip
"""What it costs to move the root (1/m²) and to turn each joint (1/rad²), by role without its side."""
OTHER_RIGIDITY = 0.3
"""And any other joint."""
OFF_HINGE = 30.0
"""How many times more it costs to turn a knee or an elbow otherwise than about its hinge."""
PENALTIES = (1e3, 1e4, 1e5)
"""Penalty of hard constraints, 1/m², as the search goes on."""
CAP = 300.0
"""Force (penalty times metres) up to which a multiplier of the lowest rank grows: what cannot be met gives up there."""
MOST_DAMPING = 1e8
PARTS = (0.3, 0.1, 0.03, 0.01)
"""Shares of a step that are tried where no damping made it a good one."""
TRUNK_SLOWER = 2.0
"""How many times longer the spread is of what moves the whole body: its root's place and turn."""
SWAY = 2.0
"""Seconds over which the body goes back to its way once it has left it: what counts is less where it is than that it
goes as it went."""
FAR = 0.1
"""Metres from where on a hard constraint pulls with the same force, however far it is."""
GIVEN_UP = 10.0
"""Weight of a hard constraint that turned out to be out of reach, per m²."""
CALM = 0.15
"""Radians and metres: after a shorter step multipliers are brought up to date, and penalties may rise."""
SHORT = 3e-2
"""Radians and metres: a step shorter than this ends the search once everything is met."""
SETTLED = 1e-5
"""And one shorter than this ends it at once."""
NEAR_ENOUGH = 0.5
"""Share of the tolerance at which a constraint is met for the search."""


def costs(character: Character, rigidity: Mapping[str, float], groups: NDArray) -> NDArray:
    """(n, n) what displacements of groups of unknowns cost, per m² and rad²; knees and elbows like their hinges."""
    values = np.full(1 + len(character.skeleton), OTHER_RIGIDITY)
    values[0] = rigidity.get("place", ROLE_RIGIDITY["place"])
    roles = character.roles
    for role, joints in ({} if roles is None else roles.joints).items():
        bare = role.removeprefix("left_").removeprefix("right_")
        value = rigidity.get(role, rigidity.get(bare, ROLE_RIGIDITY.get(bare, OTHER_RIGIDITY)))
        values[[1 + joint for joint in joints]] = value
    squares = values[:, None, None] * np.eye(3)
    if roles is not None:
        pose = humanoid.reference_pose(character.skeleton, roles)
        for name in LIMBS:
            try:
                limb = limb_of(character, name)
            except SkeletonError:
                continue
            axis = rotation.rotate(rotation.inverse(pose[limb.lower]), limb.axis)
            across = np.eye(3) - np.outer(axis, axis)
            squares[1 + limb.lower] += (OFF_HINGE - 1.0) * values[1 + limb.lower] * across
    out = np.zeros((3 * len(groups), 3 * len(groups)))
    for number, group in enumerate(groups):
        out[3 * number : 3 * number + 3, 3 * number : 3 * number + 3] = squares[group]
    return out


@dataclass(eq=False)
class Search:
    """The augmented Lagrangian of one problem, from knots to finer knots."""

    method: Spacetime
    problem: Problem
    rows: Rows
    progress: Progress | None
    met: bool = field(default=False, init=False)
    """Whether every hard row was met when the last search ended."""
    worst: float = field(default=0.0, init=False)
    """The largest error of a hard row then, in shares of its tolerance."""
    progressing: bool = field(default=False, init=False)
    """Whether it might have come nearer with more steps."""

    def __post_init__(self) -> None:
        """Weigh the unknowns."""
        rows, problem = self.rows, self.problem
        self.change = costs(problem.character, problem.rigidity, rows.groups)
        slow = np.repeat(np.where(rows.groups <= 1, TRUNK_SLOWER, 1.0), 3)
        self.speed = np.diag(np.repeat(rows.groups == 0, 3) * SWAY**2) * self.change
        self.bend = self.change * (slow * self.method.smoothness) ** 4
        usual = problem.tolerance * np.where(rows.scale < 1.0, 10.0, 1.0)
        # plants that may be off by more are none the less brought as near as others
        given = np.where(rows.one_sided, rows.tolerances, np.fmin(rows.tolerances, usual))
        self.limits = np.where(np.isnan(rows.tolerances), usual, given)
        self.far = np.where(rows.hard, FAR / rows.scale, np.inf)
        self.shifts = np.zeros((max(len(rows.free), 1), 3))
        self.others = np.zeros(0)

    def knots(self, spacing: float, begin: int, count: int, fixed: bool) -> Knots:
        """Knots over `count` frames from row `begin` on; other rows read no control point."""
        inner = Knots.over(count, spacing, self.problem.motion.fps, fixed)
        rows = len(self.rows.reference.frames)
        if rows == count:
            return inner
        first, weights = np.full(rows, -8), np.zeros((3, rows, 4))
        part = slice(begin, begin + count)
        first[part], weights[:, part] = inner.first, (inner.basis, inner.speeding, inner.bending)
        return replace(inner, first=first, basis=weights[0], speeding=weights[1], bending=weights[2])

    def run(self, knots: Knots, begun: NDArray | None, patience: int) -> tuple[NDArray, Motion]:
        """Search from a displacement (F, 1+J, 3); return the one found, and the motion with it.

        patience: how many steps in a row may gain next to nothing.
        """
        rows, fps = self.rows, self.problem.motion.fps
        system = System(knots, rows.border(knots), self.change, self.speed, self.bend)
        if begun is None:
            control = np.zeros((knots.count, len(rows.columns)))
        else:
            control = knots.fitted(begun.reshape(len(begun), -1)[:, rows.columns])
        others = self.others if len(self.others) else np.zeros(int(rows.variables.max()) + 1)
        look = rows.look(knots, control, others)
        multipliers = np.zeros(rows.count)
        stage, damping, idle, left, held, polished = 0, 0.0, 0, np.inf, 0, False
        for number in range(self.method.iterations):
            if self.progress:
                self.progress("spacetime", number / self.method.iterations)
            weights = self._weights(stage, fps)
            before = look
            control, others, look, damping = self._improve(system, control, others, look, weights, multipliers, damping)
            longest = float(np.abs(look.displacements - before.displacements).max(initial=0.0))
            calm = longest < CALM
            if calm:
                multipliers = self._multiply(look, weights, multipliers)
            self.worst, now = self._left(look)
            logger.debug(
                "step %d: penalty %g, damping %.2g, worst %.3f tolerances, moved by %.2g",
                number, PENALTIES[stage], damping, self.worst, longest,
            )  # fmt: skip
            self.met = self.worst <= NEAR_ENOUGH
            if self.met and longest < SHORT:
                if polished:
                    break
                # one step more costs little beside all before it, and leaves half as much
                polished = True
            if stage == len(PENALTIES) - 1 and calm:
                idle = idle + 1 if now > 0.8 * left or longest < SETTLED else 0
                left = min(left, now)
                if idle > patience:
                    break
            held = held + 1
            if calm or held > 3:
                stage, held = min(stage + 1, len(PENALTIES) - 1), 0
        self.progressing = idle <= patience
        self.others, self.shifts = others, look.shifts
        out = np.zeros((len(look.displacements), 3 * (1 + len(rows.skeleton))))
        out[:, rows.columns] = look.displacements
        return out.reshape(len(out), -1, 3), look.kinematics.motion

    def _improve(
        self, system: System, control: NDArray, others: NDArray, look: Look, weights: NDArray, multipliers: NDArray,
        damping: float,
    ) -> tuple[NDArray, NDArray, Look, float]:  # fmt: skip
        """One Levenberg–Marquardt step: damped until it lowers the augmented Lagrangian."""
        rows, places = self.rows, len(others)
        value = system.value(control) + self._penalty(look, weights, multipliers)
        first: tuple[NDArray, NDArray] | None = None

        def tried(step: tuple[NDArray, NDArray], share: float) -> tuple[NDArray, NDArray, Look] | None:
            trial, moved = control + share * step[0], others + share * step[1][:places]
            ahead = rows.look(system.knots, trial, moved)
            reached = system.value(trial) + self._penalty(ahead, weights, multipliers)
            return (trial, moved, ahead) if reached <= value else None

        self._assemble(system, control, look, weights, multipliers)
        while damping <= MOST_DAMPING:
            step = system.solve(damping, places)
            if step is not None and np.isfinite(step[0]).all():
                first = step if first is None else first
                found = tried(step, 1.0)
                if found is not None:
                    return *found, 0.1 * damping if damping > 1e-3 else 0.0
            damping = max(8.0 * damping, 0.1)
        # bounds that the step would break were not in it: a part of the way does not break them yet
        for share in PARTS:
            found = None if first is None else tried(first, share)
            if found is not None:
                return *found, 0.0
        return control, others, look, damping

    def _weights(self, stage: int, fps: float) -> NDArray:
        rows = self.rows
        hard = PENALTIES[stage] * rows.rank
        return np.where(rows.hard, hard, rows.soft) * rows.scale**2 / fps

    def _shifted(self, look: Look, weights: NDArray, multipliers: NDArray) -> NDArray:
        """(R,) residuals shifted by their multipliers; one-sided ones that are fine are 0."""
        rows = self.rows
        shifted = look.residuals + np.divide(multipliers, weights, out=np.zeros_like(weights), where=weights > 0)
        return np.where(rows.one_sided, np.minimum(shifted, 0.0), shifted)

    def _penalty(self, look: Look, weights: NDArray, multipliers: NDArray) -> float:
        size = np.abs(self._shifted(look, weights, multipliers))
        # beyond a distance it grows by its length alone: what cannot be reached pulls no harder for being far
        near = np.minimum(size, self.far)
        return float(np.sum(weights * near * (size - 0.5 * near)))

    def _multiply(self, look: Look, weights: NDArray, multipliers: NDArray) -> NDArray:
        rows = self.rows
        cap = CAP * rows.rank * rows.scale / self.problem.motion.fps
        wanted = weights * self._shifted(look, weights, multipliers)
        return np.where(rows.hard, np.clip(wanted, -cap, cap), 0.0)

    def _heard(self, shifted: NDArray, weights: NDArray) -> NDArray:
        """(R,) the weights by which rows count in a step: none for inequalities that are fine, less for what is far."""
        size = np.abs(shifted)
        heard = np.where(self.rows.one_sided & (shifted >= 0.0), 0.0, weights)
        return heard * np.where(size > self.far, self.far / np.maximum(size, 1e-12), 1.0)

    def _assemble(self, system: System, control, look: Look, weights, multipliers) -> None:
        """The normal equations of a step, undamped."""
        shifted = self._shifted(look, weights, multipliers)
        heard = self._heard(shifted, weights)
        if self.rows.ties:
            # few of many bounds are broken at a time, and each of those alone costs an unknown
            system.surround(self.rows.border(system.knots, heard))
        system.start(control)
        self.rows.assemble(system, look, shifted, heard)
        places = self.rows.variables[self.rows.variables >= 0]
        if len(places):
            system.var_corner[places, places - system.border.lead[places]] += 1e-9

    def give_up(self, motion: Motion) -> bool:
        """Turn hard rows of the lowest rank that stayed far off into soft ones; whether there were any.

        What is out of reach would else drag along what is not.
        """
        rows = self.rows
        kinematics = Kinematics(motion, rows.reference.frames)
        look = rows.look_at(kinematics, self.shifts, kinematics.points(rows.points))
        size = rows.scale * np.abs(np.where(rows.one_sided, np.minimum(look, 0.0), look))
        hopeless = rows.hard & (size > FAR) & (rows.rank <= rows.rank[rows.hard].min(initial=np.inf))
        rows.hard[hopeless], rows.soft[hopeless] = False, GIVEN_UP
        return bool(hopeless.any())

    def _left(self, look: Look) -> tuple[float, float]:
        """The largest error of a hard row, in shares of its tolerance, and how many rows are not met, by degrees."""
        rows = self.rows
        errors = np.abs(np.where(rows.one_sided, np.minimum(look.residuals, 0.0), look.residuals))
        pins = errors[: 3 * len(rows.pins)].reshape(-1, 3)
        # what is judged in the end is how far a point is off, not how far along each axis
        pins[:] = np.linalg.norm(pins, axis=1, keepdims=True)
        shares = errors[rows.hard] / self.limits[rows.hard]
        return float(shares.max(initial=0.0)), float(np.minimum(shares[shares > NEAR_ENOUGH], 1.0).sum())
