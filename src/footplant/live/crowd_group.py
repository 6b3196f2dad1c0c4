"""Characters of a crowd with one joint tree, and what is known of them from frame to frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.constraints.balance import soles
from footplant.kinematics import Kinematics
from footplant.live.crowd_apart import (
    ROWS_EACH,
    Proxies,
)
from footplant.live.crowd_ease import Easing
from footplant.live.crowd_feet import FootHolds
from footplant.live.crowd_goals import GoalTable, SolePoints
from footplant.live.crowd_ground import GroundEase
from footplant.live.crowd_lines import AIR, MOVING, Line, Lines
from footplant.live.crowd_rows import RowLayout
from footplant.live.crowd_scene import CrowdActor, CrowdScene, Goal
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.groupccd import GroupCcd, bodies_of

if TYPE_CHECKING:
    from footplant.live._crowd_apart import GoalsOnBodies

SWINGS_ABOVE = 0.02
"""Metres of the sole above the floor from which a foot counts as in the air: more than soles of planted feet that are
scaled to another body are off the floor. It does not matter much: at 0.002, 0.05 and 0.15 no planted foot of
`crowd_changes.py` counts as in the air, kicking ones do in 22, 18 and 14 % of the frames, and overlaps are the same."""
STILL_BELOW = 0.2
"""Metres per second of an ankle up to which its foot stands still and is held in place by changes: a walker's ankle is
below in the middle of a stance and rises with 0.5 and more from when its heel lifts."""


class Poses:
    """Joints of the characters of one group in the world at an instant; some are posed again after they were solved."""

    def __init__(self, characters: int, joints: int) -> None:
        """Make the tables."""
        self._positions, self._rotations = np.empty((characters, joints, 3)), np.empty((characters, joints, 4))
        self.positions, self.rotations = _frozen(self._positions.view()), _frozen(self._rotations.view())
        """(C, J, 3) metres and (C, J, 4), read-only."""

    def update(self, parents: NDArray, offsets: NDArray, postures: Postures, some: NDArray) -> None:
        """Pose some characters (n,)."""
        from footplant.live import _crowd as kernel

        kernel.pose_some(some, parents, offsets, postures.root, postures.local, self._positions, self._rotations)


@dataclass(eq=False)
class Postures:
    """All characters of one group at an instant: root (C, 3) metres, local rotations (C, J, 4)."""

    root: NDArray
    local: NDArray
    kinematics: Poses | None = None
    """Joints in the world, where they have been computed already."""
    phases: NDArray | None = None
    """(C, feet) int8; what feet do (`crowd_lines.STILL`)."""


@dataclass(frozen=True, eq=False)
class PreparedActor:
    """An actor that is ready to join a running crowd (`Crowd.recast`, `Crowd.add_actor`)."""

    actor: CrowdActor
    solver: GroupCcd
    line: Line
    """Its motion."""
    proxies: Proxies | None
    """Its body for avoidance."""
    soles: SolePoints
    """Its contact points."""
    bones: tuple[NDArray, NDArray, NDArray]
    """Its bones, masses and centres of mass, see `solve.ik.groupccd.bodies_of`."""
    skin: NDArray
    """(J,) metres; radii of its skin about its bones."""

    @property
    def body(self) -> tuple[NDArray, ...]:
        """Bones, masses, centres of mass, height and radii: see `CrowdGroup.body_of`."""
        radii = np.zeros(0) if self.proxies is None else self.proxies.radii[0]
        return (*(table[0] for table in self.bones), np.array(self.actor.character.height), radii)


class Reshape(NamedTuple):
    """A body that changes into another one."""

    start: tuple[NDArray, ...]
    end: tuple[NDArray, ...]
    """Rows of bones, masses, centres of mass, height and radii."""
    over: float
    """Seconds."""
    begun: float | None = None


class CrowdGroup:
    """Characters with the same joint tree: they are posed in one call."""

    def __init__(self, numbers: list[int], prepared: Sequence[PreparedActor], scene: CrowdScene) -> None:
        self.solver, self.numbers = prepared[0].solver, numbers
        actors = [scene.actors[number] for number in numbers]
        self._keep([table.copy() for table in bodies_of([actor.character for actor in actors])])
        self.heights = np.array([actor.character.height for actor in actors])
        self.parents = actors[0].character.skeleton.parents
        self.lines = Lines([own.line for own in prepared])
        self.feet = feet_of(self.solver)
        self.proxies, self._carriers = None, np.zeros(len(self.parents), np.int64)
        if scene.apart is not None:
            self.proxies = Proxies.of([actor.character for actor in actors])
            self._carriers = self.proxies.carriers(len(self.parents))
        self.skin = np.stack([own.skin for own in prepared])
        """(C, J) metres; radii of the skin about the bones."""
        self.goals = self.table(scene, dict(enumerate(scene.goals)))
        self.capsules, self.followed = np.zeros((2, 0), np.int64)
        """(goals,) the capsules that carry the point of each, and the one of the other actor that each follows."""
        self.here = np.ones(len(numbers), bool)
        """(C,) whether a row is taken: actors that are removed leave theirs to others."""
        self.reshaping: dict[int, Reshape] = {}
        self.fresh: dict[int, float | None] = {}
        """Rows that change at the next frame, and in how many seconds they ease in; None: they appear."""
        self.moved: dict[int, float] = {}
        """Rows whose lines are elsewhere from the next frame on, and in how many seconds they get there."""
        self.starting: dict[int, float] = {}
        """Goals of the table that move to their targets from where their points are, and in how many seconds."""
        self.soles = SolePoints(actors)
        self.layout: RowLayout | None = None
        self._room: tuple[frozenset[int], int] | None = None
        """For which joints and how many rows of a character there are work arrays."""
        self.actors = np.array(numbers)
        """(C,) indices of the characters in the scene."""
        self.make_room()

    @property
    def size(self) -> int:
        """Number of characters, absent ones included."""
        return len(self.numbers)

    def table(self, scene: CrowdScene, goals: Mapping[int, Goal]) -> GoalTable:
        """Return the table of those of some goals, by their numbers, that are of the group's actors."""
        table = GoalTable.of(self.solver, self.numbers, scene.actors, goals)
        radius = None if scene.apart is None else self.skin[table.row, table.joint]
        return replace(table, masses=self.bodies[1], centers=self.bodies[2], radius=radius)

    def make_room(self) -> None:
        """Take note of goals that were added: joints that they need, and work arrays."""
        joints = frozenset({*self.goals.joint.tolist(), *self.goals.other.tolist()})
        further = 1 + (0 if self.proxies is None else ROWS_EACH)
        rows = 4 + further + (self.goals.most if len(self.goals) else 0)
        if self._room is None or self._room != (joints, rows):
            self._room, self.tree = (joints, rows), self.solver.tree_with(joints)
            self.workspace = self.tree.workspace(rows)
        self.capsules, self.layout = self.carriers(self.goals.joint), None

    @property
    def on_bodies(self) -> GoalsOnBodies:
        """Which bodies its goals are on."""
        from footplant.live._crowd_apart import GoalsOnBodies

        table = self.goals
        return GoalsOnBodies(table.row, table.follows, self.capsules, self.followed, self.actors)

    def carriers(self, joints: NDArray) -> NDArray:
        """Return the capsules (n,) that carry points of joints (n,); −1 where bodies are not kept apart."""
        return np.full(len(joints), -1) if self.proxies is None else self._carriers[joints]

    def ankles(self, character: Character, root: NDArray, local: NDArray) -> NDArray:
        """Return where the feet (N, 3) of a character are in a pose: root (3,), local rotations (J, 4)."""
        poses, offsets = Poses(1, len(self.parents)), _frozen(np.array(character.skeleton.offsets[None]))
        poses.update(self.parents, offsets, Postures(root[None], local[None]), np.zeros(1, np.int64))
        return poses.positions[0, self.feet]

    def body_of(self, row: int) -> tuple[NDArray, ...]:
        """Return bones, masses, centres of mass, height and radii of a row."""
        radii = np.zeros(0) if self.proxies is None else self.proxies.radii[row]
        return (*(table[row].copy() for table in self.bodies), np.array(self.heights[row]), radii.copy())

    def shape(self, rows: dict[int, tuple[NDArray, ...]]) -> None:
        """Give rows other bodies: see `body_of`."""
        for row, body in rows.items():
            for table, values in zip(self._tables, body[:3], strict=True):
                table[row] = values
            self.heights[row] = float(body[3])
            if self.proxies is not None:
                self.proxies.radii[row] = body[4]

    def _keep(self, tables: Sequence[NDArray]) -> None:
        """Take tables of bones (C, J, 3), masses (C, J) and centres of mass (C, J, 3), which are written in place."""
        offsets, masses, centers = self._tables = tuple(tables)
        self.bodies = _frozen(offsets.view()), _frozen(masses.view()), _frozen(centers.view())
        """The same, read-only: kernels are compiled for bodies that are."""

    def reshape(self, now: float) -> None:
        """Let bodies that change into others be what they are at a time."""
        bodies = {}
        for row, change in list(self.reshaping.items()):
            begun = now if change.begun is None else change.begun
            self.reshaping[row] = change._replace(begun=begun)
            share = 1.0 if change.over <= 0.0 else min((now - begun) / change.over, 1.0)
            if share >= 1.0:
                del self.reshaping[row]
            share = share * share * (3.0 - 2.0 * share)
            bodies[row] = tuple(a + share * (b - a) for a, b in zip(change.start, change.end, strict=True))
        if bodies:
            self.shape(bodies)

    def append(self, number: int, prepared: PreparedActor) -> int:
        """Add a row for an actor; return it."""
        row = self.size
        self.numbers.append(number)
        self.actors = np.array(self.numbers)
        self._keep([np.concatenate([table, body]) for table, body in zip(self._tables, prepared.bones, strict=True)])
        self.heights = np.append(self.heights, prepared.actor.character.height)
        self.here = np.append(self.here, True)
        self.skin = np.concatenate([self.skin, prepared.skin[None]])
        if self.proxies is not None and prepared.proxies is not None:
            self.proxies = replace(self.proxies, radii=np.concatenate([self.proxies.radii, prepared.proxies.radii]))
        self.goals = replace(self.goals, masses=self.bodies[1], centers=self.bodies[2])
        self.layout = None
        return row

    def kinematics(self, postures: Postures) -> Poses:
        """Return where the joints of all characters are in the world."""
        poses = Poses(len(self.numbers), len(self.parents))
        self.update(poses, postures, np.arange(len(self.numbers)))
        return poses

    def update(self, poses: Poses, postures: Postures, some: NDArray) -> None:
        """Pose some characters (n,) again."""
        poses.update(self.parents, self.bodies[0], postures, some)


class Shown:
    """What was shown of a group at the frames before, and what eases in."""

    def __init__(self, group: CrowdGroup) -> None:
        """Nothing was shown yet."""
        joints, feet, self.tree = len(group.parents), len(group.feet), group.tree
        self.postures: list[tuple[NDArray, NDArray, int]] = []
        """Roots (C, 3) and local rotations (C, J, 4) before goals at the two last frames, and the frames."""
        self.solved: Postures | None = None
        self.leaning = np.zeros(group.size)
        """(C,) how much goals made each lean, 0 to 1, as times of their ramps."""
        self.ease = Easing(group.size, 3 + 3 * joints)
        self.holds, self.ground = FootHolds(group.size, feet), GroundEase(group.size, feet)

    def carry(self, shift: NDArray) -> None:
        """Shift what was shown on the level floor (3,), metres: characters were carried there."""
        self.postures = [(root + shift, local, frame) for root, local, frame in self.postures]
        self.holds.carry(shift)
        self.ground.carry(shift)

    def grow(self, characters: int) -> None:
        """Make room for more characters."""
        for table in (self.ease, self.holds, self.ground):
            table.grow(characters)
        self.leaning = longer(self.leaning, characters)
        self.postures = [
            (longer(root, characters), longer(local, characters), frame) for root, local, frame in self.postures
        ]
        if self.solved is not None:
            self.solved = Postures(longer(self.solved.root, characters), longer(self.solved.local, characters))


@dataclass(eq=False)
class CrowdState:
    """State of a crowd between frames: how each character leans, and what eases in."""

    leans: list[NDArray]
    residuals: NDArray
    """(goals,) metres or radians left of each goal at the last frame; NaN where it was not active."""
    changes: list[tuple[NDArray, NDArray]] | None = None
    """For each group, by how much its characters differed from their motions: root (C, 3) metres, and local rotations
    (C, J, 4). None before the first frame, or where bodies are not kept apart."""
    shifts: list[NDArray] | None = None
    """For each group, by how much its goals (n, 3) on other bodies were shifted out of these, metres."""
    came: list[NDArray] | None = None
    """For each group, the joints' positions (C, J, 3), metres."""
    locals: list[NDArray] | None = None
    """For each group, the local rotations (C, J, 4)."""
    depths: NDArray = field(default_factory=lambda: np.zeros(0))
    """(actors,) metres by which each is in another body, where that is more than `TOLERATED`: it could not be kept out,
    because a goal of higher priority or a planted foot holds the limb, or because trunks meet."""
    parts: list[Shown] = field(default_factory=list)
    """For each group, what was shown of it."""
    targets: Easing = field(default_factory=lambda: Easing(0, 3))
    """Of goals: offsets of their targets, metres."""
    activations: Easing = field(default_factory=lambda: Easing(0, 1))
    """Of goals: offsets of their activations."""
    shares: NDArray = field(default_factory=lambda: np.zeros(0))
    """(goals,) activations at the last frame."""
    frame: int | None = None
    """The last frame."""


def phases_of(line: Motion, actor: CrowdActor, feet: list[int]) -> NDArray:
    """Return what feet do (F, feet), int8.

    They are in the air where all contact points of the sole are (ankles, where it has none), and still where the ankle
    is slow.
    """
    kinematics, skeleton = Kinematics(line), actor.character.skeleton
    found = np.zeros((len(line), len(feet)), np.int8)
    for n, foot in enumerate(feet):
        below = set(skeleton.descendants(foot))
        points = [point for point in soles(actor.character) if point.joint in below]
        ankle = kinematics.positions[:, foot]
        if points:
            heights = kinematics.points(points)[..., 1].min(axis=1)
        else:
            heights = ankle[:, 1] - skeleton.rest_world[0][foot, 1]
        if len(line) > 1:
            speeds = np.linalg.norm(np.gradient(ankle, 1.0 / line.fps, axis=0), axis=1)
            found[speeds > STILL_BELOW, n] = MOVING
        found[heights > SWINGS_ABOVE, n] = AIR
    return found


def feet_of(solver: GroupCcd) -> list[int]:
    """Return the joints of right and left foot, as far as they end legs."""
    return [solver.limbs[name].end for name in ("right_leg", "left_leg") if name in solver.limbs]


def _frozen(array: NDArray) -> NDArray:
    """Return an array made read-only: kernels are compiled for bodies that are."""
    array.setflags(write=False)
    return array


def longer(table: NDArray, rows: int) -> NDArray:
    """Return a table with zeros, or unit quaternions, as further rows."""
    if len(table) >= rows:
        return table
    longer = np.zeros((rows, *table.shape[1:]))
    longer[: len(table)] = table
    if table.ndim == 3 and table.shape[2] == 4:
        longer[len(table) :, :, 0] = 1.0
    return longer
