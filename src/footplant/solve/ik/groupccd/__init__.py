"""Inverse kinematics by groups: prioritised constraints, limbs in closed form, the trunk only where it is needed.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), section 9. Beyond the paper: the centre of mass has a priority of its own, may be asked to stay
over the support only, and free arms help to keep it there (their section 11).
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
from footplant.solve.ik.limb import LIMBS, Limb, limbs_of
from footplant.solve.ik.limb_goals import is_curved

ORDER = ("right_leg", "left_leg", "right_arm", "left_arm")
"""Limbs as the kernel numbers them: the order in which the paper adapts its groups."""
TURNS = {"spine": 1.6, "neck": 0.8, "head": 0.6, "clavicle": 0.4}
"""Radians that a chain of the trunk may be turned from how it came in, all its joints together."""
GAINS = {"spine": 0.5, "neck": 0.6, "head": 0.6, "clavicle": 0.4}
"""Share of what a joint could do that it does in one step: less of it spreads a bend more evenly."""


@dataclass(frozen=True, eq=False)
class GroupCcd:
    """Poses a human-like figure under strict priorities: `GroupCcd(character).solve(motion, constraints)`.

    A constraint of smaller priority never worsens one of greater priority by more than 0.3 mm. A
    target that an arm reaches by itself leaves the trunk exactly as it was.
    """

    character: Character
    tries: int = 24
    """Most steps of trunk and root for each priority."""
    tolerance: float = 0.001
    """Metres up to which a hard constraint counts as reached."""

    @cached_property
    def limbs(self) -> dict[str, Limb]:
        """Arms and legs that hang together, by name."""
        return limbs_of(self.character, ORDER)

    def refuses(self, constraint: Constraint) -> str | None:
        """Why it cannot honour a constraint; None when it can."""
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
            return f"groupccd knows positions, turns, distances, areas and balance, not {type(constraint).__name__}"
        if isinstance(constraint, Footplant) and constraint.free:
            return "its place is free; settle it first, or use spacetime"
        if isinstance(constraint, Position) and tuple(constraint.axes) != (1.0, 1.0, 1.0):
            return "it asks for some axes of a place only; use numeric, or an area"
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
            return f"{name!r} belongs to the {limb}, whose joints do not hang together; use numeric"
        if isinstance(constraint, Orientation) and tree.limb_of[joint] >= 0 and joint not in tree.limbs[:, 2]:
            return f"{name!r} is inside a limb or beyond its end; only hands, feet and the trunk are turned"
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
        """What the kernel must know of the figure's joints."""
        return Tree.of(self)

    @cached_property
    def _trees(self) -> dict[frozenset[int], Tree]:
        return {}

    def tree_with(self, joints: Iterable[int]) -> Tree:
        """The tree with some further joints posed: fingers, a tail."""
        key = frozenset(joints)
        if key not in self._trees:
            self._trees[key] = Tree.of(self, key)
        return self._trees[key]

    @cached_property
    def bodies(self) -> tuple[NDArray, NDArray, NDArray]:
        """Bones (1, J, 3), mass shares (1, J) and centres (1, J, 3)."""
        return bodies_of([self.character])

    def solve(
        self,
        motion: Motion,
        constraints: Sequence[Constraint],
        *,
        frames: NDArray | None = None,
        start: Motion | None = None,
    ) -> IkSolution:
        """The poses nearest to the motion's own that meet the constraints; see `problem.Ik`.

        start: a pose to look at areas from; the search itself always begins at the motion.
        """
        require_joints(motion, constraints, start)
        self.character.require_fit(motion.skeleton)
        first = Kinematics(motion, frames)
        # areas are followed by their tangents, which a second look puts right
        passes = 3 if any(is_curved(c) for c in constraints) else 1
        now = first if start is None else Kinematics(start, frames)
        solved = motion
        for _ in range(passes):
            rows = rows_of(self, first, now, constraints)
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
) -> NDArray:
    """Pose figures in place, root (F, 3) and local (F, J, 4); (N,) metres or radians that are left of the rows.

    Frames of one figure, or figures of one tree at one instant. leans: of `Tree.leans`, for figures that live on from
    instant to instant, changed in place. workspace: of `Tree.workspace`, made once by whoever calls at every frame.
    """
    from footplant.solve.ik.groupccd import _pose as kernel

    workspace = workspace or tree.workspace(int(np.diff(rows.starts).max(initial=0)))
    leans = tree.leans(0) if leans is None else leans
    residuals = np.zeros(len(rows.kinds))
    arguments: tuple = (
        *tree.arrays, *bodies, root, local, rows.starts, rows.kinds, rows.asks, rows.polygons, rows.sides, leans, tries,
        *workspace, residuals,
    )  # fmt: skip
    kernel.solve_poses(*arguments)
    return residuals


def bodies_of(characters: Sequence[Character]) -> tuple[NDArray, NDArray, NDArray]:
    """Bones (C, J, 3), mass shares (C, J) and centres (C, J, 3) of figures with the same joints."""
    joints = len(characters[0].skeleton)
    masses = [np.zeros(joints) if c.masses is None else c.masses for c in characters]
    centers = [np.zeros((joints, 3)) if c.mass_centers is None else c.mass_centers for c in characters]
    found = np.stack([c.skeleton.offsets for c in characters]), np.stack(masses), np.stack(centers)
    for array in found:
        array.setflags(write=False)
    return found


@dataclass(frozen=True, eq=False)
class Tree:
    """A figure's joints as the kernel takes them: see `kernels.groupccd`."""

    limbs: NDArray
    """(4, 3) upper joint, hinge and end of each limb of `ORDER`; −1 where there is none."""
    limb_of: NDArray
    """(J,) the limb that carries each joint; −1 for trunk and head."""
    sweep: NDArray
    """(S,) joints of head, clavicles and spine, from the extremity to the root."""
    state: NDArray
    """(T,) joints that the trunk's steps may turn."""
    arrays: tuple
    """All of it."""

    @classmethod
    def of(cls, ik: GroupCcd, further: Iterable[int] = ()) -> Tree:
        """The tree of a solver's character; `further` joints are posed beside trunk, limbs and what has mass."""
        character, limbs = ik.character, ik.limbs
        skeleton, roles = character.skeleton, character.require_roles()
        joints = len(skeleton)
        table, axes, flexions = np.full((4, 3), -1), np.zeros((4, 3)), np.zeros((4, 2))
        limb_of_joint, segments = np.full(joints, -1), np.zeros(joints, np.int64)
        for number, name in enumerate(ORDER):
            if name in limbs:
                limb = limbs[name]
                table[number] = limb.upper, limb.lower, limb.end
                axes[number], flexions[number] = limb.axis, limb.flexion
                for segment, joint in enumerate(table[number].tolist()):
                    below = list(skeleton.descendants(joint))
                    limb_of_joint[below], segments[below] = number, segment
        sweep, caps, gains = _sweep(character, limb_of_joint)
        wanted = {joint for row in table.tolist() for joint in row if joint >= 0} | set(sweep)
        wanted |= {point.joint for point in character.contacts.values()}
        if character.masses is not None:
            wanted |= set(np.flatnonzero(character.masses > 0).tolist())
        wanted |= {*roles.joints.get("hips", ()), *further}
        used = sorted({above for joint in wanted for above in skeleton.chain(joint)})
        below = np.zeros((joints, joints), np.bool_)
        for joint in range(joints):
            below[joint, list(skeleton.descendants(joint))] = True
        own = [[j for j in used if limb_of_joint[j] == n] for n in range(4)]
        limb_joints = np.full((4, 3 + max(1, *(len(row) for row in own))), -1)
        limb_joints[:, :3] = table
        for number, row in enumerate(own):
            limb_joints[number, 3 : 3 + len(row)] = row
        trunk = [j for j in used if limb_of_joint[j] < 0]
        state = np.array(sorted({*sweep, *trunk, *(int(row[0]) for row in table[2:] if row[0] >= 0)}), np.int64)
        swept = np.array(sweep, np.int64)
        arrays = (
            np.stack([skeleton.parents, limb_of_joint, segments], axis=1), np.array(used, np.int64), limb_joints,
            np.concatenate([axes, flexions], axis=1), swept, np.array([caps, gains]).T.reshape(-1, 2).copy(), below,
            state,
        )  # fmt: skip
        return cls(table, limb_of_joint, swept, state, arrays)

    def workspace(self, most_rows: int) -> tuple:
        """Arrays for the kernel to write into, for as many rows as one figure ever has."""
        from footplant.solve.ik.groupccd import _pose as kernel

        return kernel.workspace(len(self.limb_of), most_rows, len(self.state))

    def leans(self, figures: int) -> NDArray:
        """How figures leant an instant ago: not at all."""
        return np.zeros((figures, len(self.state) + 1, 3))


def _sweep(character: Character, limb_of_joint: NDArray) -> tuple[list[int], list[float], list[float]]:
    """Joints of head, clavicles and spine in the order of the sweep, how far each may turn, and its gain."""
    roles = character.require_roles()
    sweep, caps, gains = [], [], []
    for part, names in (
        ("head", ("head",)), ("neck", ("neck",)), ("clavicle", ("right_clavicle", "left_clavicle")),
        ("spine", ("spine",)),
    ):  # fmt: skip
        for name in names:
            chain = [j for j in roles.joints.get(name, ()) if limb_of_joint[j] < 0]
            for joint in reversed(chain):
                sweep.append(joint)
                caps.append(TURNS[part] / len(chain))
                gains.append(GAINS[part])
    return sweep, caps, gains
