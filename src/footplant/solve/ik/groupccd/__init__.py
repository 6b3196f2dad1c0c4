"""Prioritised inverse kinematics by groups: limbs in closed form, the trunk only where limbs cannot reach.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), section 9. Beyond the paper: the centre of mass has a priority of its own, may be constrained to
the support polygon only, and free arms act as counterweights (their section 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import (
    Above,
    Area,
    Balance,
    CenterOfMass,
    Constraint,
    Distance,
    Footplant,
    Orientation,
    Position,
)
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.problem import IkSolution, missing_joint, require_joints, worst_error
from footplant.skeleton import Character
from footplant.solve.ik.groupccd.rows import Rows, rows_of
from footplant.solve.ik.groupccd.tree import ORDER, Tree
from footplant.solve.ik.limb import LIMBS, Limb, limbs_of
from footplant.solve.ik.limb_goals import is_curved


@dataclass(frozen=True, eq=False)
class GroupCcd:
    """Solver for poses of a humanoid under strict priorities: `GroupCcd(character).solve(motion, constraints)`.

    A constraint of lower priority never worsens one of higher priority by more than 0.3 mm. A target that an arm
    reaches by itself leaves the trunk exactly as it was.
    """

    character: Character
    tries: int = 24
    """Largest number of steps of trunk and root for each priority."""
    tolerance: float = 0.001
    """Metres up to which a hard constraint counts as reached."""

    @cached_property
    def limbs(self) -> dict[str, Limb]:
        """Arms and legs whose joints form a chain, by name."""
        return limbs_of(self.character, ORDER)

    def refuses(self, constraint: Constraint) -> str | None:
        """Return why it cannot honour a constraint; None when it can."""
        missing = missing_joint(constraint, len(self.character.skeleton))
        if missing:
            return missing
        if isinstance(constraint, CenterOfMass | Balance):
            if self.character.masses is None:
                return f"{self.character.name!r} has no segment masses"
            return None
        if not isinstance(constraint, Position | Orientation | Footplant | Area | Above) and (
            type(constraint) is not Distance
        ):
            return (
                "groupccd solves positions, orientations, distances, areas and balance, not "
                f"{type(constraint).__name__}"
            )
        if isinstance(constraint, Footplant) and constraint.free:
            return "its position is free; settle it first, or use spacetime"
        if isinstance(constraint, Position) and tuple(constraint.axes) != (1.0, 1.0, 1.0):
            return "it constrains some axes of a position only; use numeric, or an area"
        for joint in (*constraint.joints, *constraint.followed):
            reason = self._refuses_joint(constraint, joint)
            if reason:
                return reason
        if isinstance(constraint, Distance) and all(self.tree.limb_of[j] < 0 for j in constraint.joints):
            return "neither of its points is on an arm or a leg; use numeric"
        return None

    def _refuses_joint(self, constraint: Constraint, joint: int) -> str | None:
        name, tree = self.character.skeleton.names[joint], self.tree
        if joint in self._loose:
            limb = self._loose[joint].replace("_", " ")
            return f"{name!r} belongs to the {limb}, whose joints do not form a chain; use numeric"
        if isinstance(constraint, Orientation) and tree.limb_of[joint] >= 0 and joint not in tree.limbs[:, 2]:
            return f"{name!r} is inside a limb or beyond its end; only hands, feet and the trunk can be oriented"
        if constraint.chain is not None and tree.limb_of[joint] >= 0:
            limb = tree.limbs[tree.limb_of[joint]]
            if not {int(limb[0]), int(limb[1])} <= set(constraint.chain):
                return f"its chain leaves out joints of the limb that carries {name!r}; use numeric"
        return None

    @cached_property
    def _loose(self) -> dict[int, str]:
        roles, skeleton = self.character.require_roles(), self.character.skeleton
        found = {}
        for name, parts in LIMBS.items():
            if name not in self.limbs and all(part in roles for part in parts):
                for part in parts:
                    found |= dict.fromkeys(skeleton.descendants(roles[part]), name)
        return found

    @cached_property
    def tree(self) -> Tree:
        """The character's joints as the kernel takes them."""
        return Tree.of(self.character, self.limbs)

    @cached_property
    def _trees(self) -> dict[frozenset[int], Tree]:
        return {}

    def tree_with(self, joints: Iterable[int]) -> Tree:
        """Return the tree with some further joints posed: fingers, a tail."""
        key = frozenset(joints)
        if key not in self._trees:
            self._trees[key] = Tree.of(self.character, self.limbs, key)
        return self._trees[key]

    @cached_property
    def bodies(self) -> tuple[NDArray, NDArray, NDArray]:
        """Bones (1, J, 3), mass fractions (1, J) and centres of mass of segments (1, J, 3)."""
        return bodies_of([self.character])

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
    ) -> IkSolution:
        """Return the poses nearest to the motion's own that meet the constraints; see `problem.Ik`.

        start: poses at which areas are linearised; the search itself always begins at the motion.
        """
        require_joints(motion, constraints, start)
        self.character.require_fit(motion.skeleton)
        first = Kinematics(motion, frames)
        # areas are linearised, so their rows are evaluated again at the solved pose
        passes = 3 if any(is_curved(c) for c in constraints) else 1
        now = first if start is None else Kinematics(start, frames)
        solved = motion
        for _ in range(passes):
            rows = rows_of(self.tree, first, now, constraints)
            solved = self._solve_rows(motion, rows)
            now = Kinematics(solved, first.frames)
        reached = worst_error(now, constraints) <= self.tolerance
        return IkSolution(solved, reached, first.frames, tuple(constraints))

    def _solve_rows(self, motion: Motion, rows: Rows) -> Motion:
        root, local = np.array(motion.root), np.array(motion.rotations)
        offsets, masses, centers = self.bodies
        if motion.offsets is not None:
            offsets = motion.offsets
        tree = self.tree_with(rows.kinds[:, 1:3].ravel().tolist())
        solve_rows(tree, (offsets, masses, centers), root, local, rows, self.tries)
        return motion.like(root, local, motion.offsets)


def solve_rows(
    tree: Tree,
    bodies: tuple[NDArray, NDArray, NDArray],
    root: NDArray,
    local: NDArray,
    rows: Rows,
    tries: int,
    *,
    leans: NDArray | None = None,
    workspace: tuple | None = None,
    which: NDArray | None = None,
) -> NDArray:
    """Pose characters in place, root (F, 3) and local (F, J, 4); return the metres or radians left of the rows (N,).

    The F poses are frames of one character, or characters of one tree at one instant. leans: of `Tree.leans`, for
    characters that are solved instant by instant, updated in place (a warm start). workspace: of `Tree.workspace`,
    allocated once by callers that solve every frame. which: (n,) the poses that the rows are of; None: all.
    """
    from footplant.solve.ik.groupccd import _pose as kernel

    workspace = workspace or tree.workspace(int(np.diff(rows.starts).max(initial=0)))
    leans = tree.leans(0) if leans is None else leans
    residuals = np.zeros(len(rows.kinds))
    table = kernel.AllRows(rows.starts, rows.kinds, rows.asks, rows.polygons, rows.sides)
    poses = kernel.Poses(root, local, leans, residuals, np.arange(len(root)) if which is None else which)
    kernel.solve_poses(kernel.Body(*tree.arrays), kernel.Bones(*bodies), table, poses, workspace, tries)
    return residuals


def bodies_of(characters: Sequence[Character]) -> tuple[NDArray, NDArray, NDArray]:
    """Return bones (C, J, 3), mass fractions (C, J) and centres (C, J, 3) of characters with the same joints."""
    joints = len(characters[0].skeleton)
    masses = [np.zeros(joints) if c.masses is None else c.masses for c in characters]
    centers = [np.zeros((joints, 3)) if c.mass_centers is None else c.mass_centers for c in characters]
    found = np.stack([c.skeleton.offsets for c in characters]), np.stack(masses), np.stack(centers)
    for array in found:
        array.setflags(write=False)
    return found
