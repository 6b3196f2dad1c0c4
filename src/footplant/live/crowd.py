"""Many characters at once: one motion for all bodies, and constraints that change at every frame.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), figure 2 and section 10. `Crowd.step` is the paper's pipeline as five calls: read the posture,
scale it to the body, adapt it to the ground, solve the constraints, convert it to joints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints.balance import soles
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.live.crowd_apart import (
    BUSY,
    LATER,
    LIMB,
    NEAR,
    ROWS_EACH,
    Contacts,
    Overlaps,
    Planes,
    Proxies,
    all_contacts,
    apart_rows,
    overlaps_of,
    radius_at,
)
from footplant.live.crowd_goals import Feet, GoalTable, Held, SolePoints
from footplant.live.crowd_order import SolveOrder, solve_order
from footplant.live.crowd_reasons import MET, why_unmet
from footplant.live.crowd_rows import RowLayout, key_of
from footplant.live.crowd_scene import FLOOR, CrowdActor, CrowdScene, Goal, timeline
from footplant.live.ground_adaptation import GroundInTime, foot_targets, ground_shifts
from footplant.motion import Motion
from footplant.solve.ik.groupccd import GroupCcd, bodies_of, solve_rows
from footplant.solve.ik.groupccd.rows import Rows

TOLERATED = 0.005
"""Metres by which bodies that are kept apart may overlap before they are solved again. At 0.002 the fight's deepest
overlap is 3.0 instead of 5.0 mm and its 99th percentile frame takes 33 instead of 25 ms (`crowd_changes.py`)."""
KEPT_SHIFT = 0.9
"""Share of the shift of a goal out of another body that the next frame starts with: of 22 mm, 2 mm is left after
0.7 s at 30 Hz. At 0, up to 22 instead of 18 characters of the fight's eight are solved in a frame, and a kicking leg
accelerates by 386 instead of 270 m/s²."""
SWINGS_ABOVE = 0.02
"""Metres of the sole above the floor from which a foot counts as in the air: more than soles of planted feet that are
scaled to another body are off the floor. It does not matter much: at 0.002, 0.05 and 0.15 no planted foot of
`crowd_changes.py` counts as in the air, kicking ones do in 22, 18 and 14 % of the frames, and overlaps are the same."""
BACK_IN = 0.5
"""Seconds in which a character that leant for a goal is upright again after it, to 5 %."""


@dataclass(eq=False)
class CrowdState:
    """State of a crowd between frames: how each character leans."""

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
    swings: NDArray | None = None
    """(C, feet) bool; feet that are in the air."""


@dataclass(frozen=True, eq=False)
class PreparedActor:
    """An actor that is ready to join a running crowd (`Crowd.recast`)."""

    actor: CrowdActor
    line: Motion
    """Its motion over the whole scene."""
    proxies: Proxies | None
    """Its body for avoidance."""
    swings: NDArray
    """(F, feet) bool; see `_swings`."""
    soles: SolePoints
    """Its contact points."""


class _Group:
    """Characters with the same joint tree: they are posed in one call."""

    def __init__(self, solver: GroupCcd, numbers: list[int], scene: CrowdScene) -> None:
        self.solver, self.numbers = solver, numbers
        actors = [scene.actors[number] for number in numbers]
        self.bodies = bodies_of([actor.character for actor in actors])
        self.heights = np.array([actor.character.height for actor in actors])
        lines = [timeline(actor, scene) for actor in actors]
        self.parents = actors[0].character.skeleton.parents
        self.roots = np.stack([line.root for line in lines], axis=1)
        """(F, C, 3) metres; the motion of each over the whole scene."""
        self.locals = np.stack([line.rotations for line in lines], axis=1)
        """(F, C, J, 4)"""
        self.feet = [solver.limbs[name].end for name in ("right_leg", "left_leg") if name in solver.limbs]
        self.swings = np.stack([_swings(line, actor, self.feet) for line, actor in zip(lines, actors)], axis=1)
        """(F, C, feet) bool; feet in the air."""
        self.proxies = None if scene.apart is None else Proxies.of([actor.character for actor in actors])
        table = GoalTable.of(solver, numbers, scene.actors, scene.goals)
        radius = None if scene.apart is None else np.array([_skin(scene, goal) for goal in table.goals])
        self.goals = replace(table, masses=self.bodies[1], centers=self.bodies[2], radius=radius)
        self.capsules = np.full(len(table), -1)
        """(goals,) the capsule that carries the point of each; −1: none."""
        self.followed = np.full(len(table), -1)
        """(goals,) the capsule of the other actor that each follows, filled in when all groups are known."""
        if self.proxies is not None:
            self.capsules = self.proxies.carriers(table.joint)
        joints = {*self.goals.joint.tolist(), *self.goals.other.tolist()}
        self.tree = solver.tree_with(joints)
        further = 0 if scene.apart is None else ROWS_EACH
        self.workspace = self.tree.workspace(4 + further + (self.goals.most if len(self.goals) else 0))
        self.soles = SolePoints(actors)
        self.layout: RowLayout | None = None
        self.actors = np.array(numbers)
        """(C,) indices of the characters in the scene."""

    def kinematics(self, postures: Postures) -> Poses:
        """Return where the joints of all characters are in the world."""
        poses = Poses(len(self.numbers), len(self.parents))
        self.update(poses, postures, np.arange(len(self.numbers)))
        return poses

    def update(self, poses: Poses, postures: Postures, some: NDArray) -> None:
        """Pose some characters (n,) again."""
        poses.update(self.parents, self.bodies[0], postures, some)


class Crowd:
    """A running scene: `state = crowd.init()`, then `state, poses = crowd.step(state, frame)` for every frame."""

    def __init__(self, scene: CrowdScene, *, tries: int = 6, rounds: int = 4) -> None:
        """Scale every motion to every body, and group characters and goals.

        tries: largest number of steps of trunk and root for each priority and frame. rounds: how often characters that
        follow one another in a circle are solved in a frame, and how often those are solved again whose bodies overlap,
        at most.
        """
        self.scene, self.tries = scene, tries
        self.ranks = self._ranks(goal.priority for goal in scene.goals)
        self.groups: list[_Group] = []
        self.place: dict[int, tuple[int, int]] = {}
        for solver, numbers in _grouped(scene.actors):
            self.groups.append(_Group(solver, numbers, scene))
            self._rank_goals(self.groups[-1])
            for row, number in enumerate(numbers):
                self.place[number] = len(self.groups) - 1, row
        self._goal_group, self._goal_row = np.zeros((2, len(scene.goals)), np.int64)
        for index, group in enumerate(self.groups):
            self._goal_group[group.goals.source] = index
            self._goal_row[group.goals.source] = np.arange(len(group.goals))
        for group in self.groups:
            for n in np.flatnonzero(group.goals.follows >= 0).tolist():
                proxies = self.groups[self.place[int(group.goals.follows[n])][0]].proxies
                if proxies is not None:
                    group.followed[n] = proxies.carriers(group.goals.follow_joint[n : n + 1])[0]
        self.owners = np.array([*(self.place[number] for number in range(len(scene.actors))), (-1, -1)])
        self.rounds = rounds
        self._order: tuple[bytes, SolveOrder] | None = None

    def init(self) -> CrowdState:
        """Return the initial state, without leaning."""
        leans = [group.tree.leans(len(group.numbers)) for group in self.groups]
        depths = np.zeros(len(self.scene.actors))
        return CrowdState(leans, np.full(len(self.scene.goals), np.nan), depths=depths)

    def aim(self, goals: Sequence[int] | NDArray, targets: NDArray) -> None:
        """Set targets (n, 3) of goals (by index) from the next step on, for interactive dragging."""
        goals, targets = self._known(goals), np.asarray(targets, float)
        if targets.shape != (len(goals), 3) or not np.isfinite(targets).all():
            raise ConstraintError(f"expected {len(goals)} finite positions, one per goal; got shape {targets.shape}")
        for number, group in enumerate(self.groups):
            own = self._goal_group[goals] == number
            group.goals.target[self._goal_row[goals[own]]] = targets[own]

    def prioritise(self, goals: Sequence[int] | NDArray, priority: int) -> None:
        """Give goals (by index) another priority from the next step on."""
        goals = self._known(goals)
        scene_goals = list(self.scene.goals)
        for number in goals.tolist():
            scene_goals[number] = replace(scene_goals[number], priority=priority)
        self.scene = replace(self.scene, goals=tuple(scene_goals))
        for number, group in enumerate(self.groups):
            group.goals.priority[self._goal_row[goals[self._goal_group[goals] == number]]] = priority
        self.ranks = self._ranks(np.unique(np.concatenate([group.goals.priority for group in self.groups])).tolist())
        for group in self.groups:
            self._rank_goals(group)

    def _rank_goals(self, group: _Group) -> None:
        """Write the ranks of a group's goals."""
        values, places = np.unique(group.goals.priority, return_inverse=True)
        for ranks, of in ((group.goals.rank, float), (group.goals.ramp_rank, self._ramp_priority)):
            ranks[:] = np.array([self.ranks[of(value)] for value in values.tolist()], np.int64)[places]
        group.layout = None

    def _ranks(self, priorities: Iterable[int]) -> dict[float, int]:
        """Return the rank of each priority, those of feet and avoidance included; 0 is the highest."""
        known: set[float] = {*priorities}
        known |= {self._ramp_priority(priority) for priority in known}
        known |= set() if self.scene.feet is None else {self.scene.feet, self._swing_priority(self.scene.feet)}
        known |= set() if self.scene.apart is None else {self.scene.apart}
        return {value: rank for rank, value in enumerate(sorted(known, reverse=True))}

    def _ramp_priority(self, priority: float) -> float:
        """Return the priority of a limb's goal while it ramps in or out: just below avoidance, where that counts less.

        A goal that hardly counts yet asks for the motion as it was given, which may go through other bodies.
        """
        apart = self.scene.apart
        if apart is None or priority <= apart:
            return priority
        # in the order of the goals, above feet in the air
        return apart - 0.25 - 0.2 / (1.0 + priority - apart)

    def _swing_priority(self, feet: int) -> float:
        """Return the priority of feet in the air: just below avoidance, so that a kick does not go through a body."""
        return feet if self.scene.apart is None else min(self.scene.apart - 0.5, feet)

    def schedule(self, goals: Sequence[int] | NDArray, start: float, stop: float, ramp: tuple[float, float]) -> None:
        """Give goals (by index) other times: seconds at which they begin and end to hold, and their ramps."""
        goals = self._known(goals)
        if not start <= stop or min(ramp) < 0:
            raise ConstraintError(f"expected a start before the stop and ramps of 0 or more, got {start}, {stop}")
        for number, group in enumerate(self.groups):
            group.goals.times[self._goal_row[goals[self._goal_group[goals] == number]]] = start, stop, *ramp

    def set_ground(self, ground: Ground | GroundInTime) -> None:
        """Put all characters on another ground from the next step on."""
        self.scene = replace(self.scene, ground=ground)

    def prepare(self, number: int, actor: CrowdActor) -> PreparedActor:
        """Scale an actor's motions to a body and measure it, ahead of `recast`; may run beside the crowd."""
        group = self.groups[self.place[number][0]]
        solver = GroupCcd(actor.character)
        if not _alike(solver, group.solver):
            raise ConstraintError(
                f"expected a body with the joints of {self.scene.actors[number].name!r}, got {actor.character.name!r}; "
                "another skeleton needs another scene"
            )
        proxies = None if group.proxies is None else Proxies.of([actor.character])
        line = timeline(actor, self.scene)
        return PreparedActor(actor, line, proxies, _swings(line, actor, group.feet), SolePoints([actor]))

    def recast(self, number: int, prepared: PreparedActor) -> None:
        """Give an actor (by index) another body or other motions from the next step on."""
        index, row = self.place[number]
        group, character = self.groups[index], prepared.actor.character
        group.roots[:, row], group.locals[:, row] = prepared.line.root, prepared.line.rotations
        group.swings[:, row] = prepared.swings
        own = bodies_of([character])
        offsets, masses, centers = (
            _frozen(_with_row(table, row, body[0])) for table, body in zip(group.bodies, own, strict=True)
        )
        group.bodies = offsets, masses, centers
        group.goals = replace(group.goals, masses=group.bodies[1], centers=group.bodies[2])
        group.heights[row] = character.height
        if group.proxies is not None and prepared.proxies is not None:
            group.proxies.radii[row] = prepared.proxies.radii[0]
        actors = (*self.scene.actors[:number], prepared.actor, *self.scene.actors[number + 1 :])
        self.scene = replace(self.scene, actors=actors)
        if group.goals.radius is not None:
            for place in np.flatnonzero(group.goals.row == row):
                group.goals.radius[place] = _skin(self.scene, group.goals.goals[place])
        group.soles = group.soles.with_row(row, prepared.soles)

    def _known(self, goals: Sequence[int] | NDArray) -> NDArray:
        goals = np.asarray(goals, np.int64)
        if len(goals) and not 0 <= goals.min() <= goals.max() < len(self.scene.goals):
            raise ConstraintError(f"expected goals in 0..{len(self.scene.goals) - 1}, got {goals.min()}..{goals.max()}")
        return goals

    def step(self, state: CrowdState, frame: int) -> tuple[CrowdState, list[Postures]]:
        """Compute one frame for all characters: the paper's figure 2."""
        seconds = frame / self.scene.fps
        postures = self.read(frame)
        scaled = self.scale(postures)
        grounded, standing = self.adapt_ground(scaled, seconds)
        shares = [group.goals.activations(seconds) for group in self.groups]
        solved = self.solve(state, grounded, standing, shares)
        self._relax(state, shares)
        return state, self.convert(solved)

    def unmet(self, state: CrowdState, postures: list[Postures], frame: int) -> dict[int, str]:
        """Return why goals, by their numbers, are not met at a frame: those of which more than `MET` is left."""
        seconds, placed, found = frame / self.scene.fps, {}, {}
        for number in np.flatnonzero(state.residuals > MET).tolist():
            group, row = self.place[self.scene.goals[number].actor]
            if group not in placed:
                placed[group] = self.groups[group].kinematics(postures[group]).positions
            found[number] = why_unmet(self.scene, number, seconds, placed[group][row])
        return found

    def _relax(self, state: CrowdState, shares: list[NDArray]) -> None:
        """Let characters without an active reach stand up again: their lean decays to 5 % within half a second."""
        keep = math.exp(-math.log(20.0) / (BACK_IN * self.scene.fps))
        for group, leans, share in zip(self.groups, state.leans, shares, strict=True):
            busy = np.zeros(len(group.numbers), bool)
            busy[group.goals.row[(share > 0.0) & ~group.goals.whole_body]] = True
            leans[~busy] *= keep

    def read(self, frame: int) -> int:
        """Return which frame of its motion every character is in."""
        return min(max(frame, 0), self.scene.frames - 1)

    def scale(self, posture: int) -> list[Postures]:
        """Morphological adaptation (section 6): return the posture on each body, precomputed in the constructor."""
        return [
            Postures(group.roots[posture].copy(), group.locals[posture].copy(), swings=group.swings[posture])
            for group in self.groups
        ]

    def adapt_ground(self, scaled: list[Postures], seconds: float) -> tuple[list[Postures], list[Feet | None]]:
        """Ground adaptation (section 7): raise roots with the ground, and return foot targets."""
        found: list[Feet | None] = []
        for group, postures in zip(self.groups, scaled, strict=True):
            if self.scene.feet is None or not group.feet:
                found.append(None)
                continue
            kinematics = group.kinematics(postures)
            places, turns = kinematics.positions[:, group.feet], kinematics.rotations[:, group.feet]
            if self.scene.ground is FLOOR:
                postures.kinematics = kinematics
            else:
                times = np.full(len(places), seconds)
                shifts, normals = ground_shifts(places, self.scene.ground, FLOOR, times)
                postures.root[:, 1] += shifts.mean(axis=1)
                places, turns = foot_targets(places, turns, shifts, normals, FLOOR, float(group.heights.mean()))
            assert postures.swings is not None
            found.append(Feet(places, turns, postures.swings))
        return scaled, found

    def solve(
        self, state: CrowdState, grounded: list[Postures], standing: list[Feet | None], shares: list[NDArray]
    ) -> list[Postures]:
        """Solve the constraints (section 9): whoever follows another character after it, see `solve_order`.

        shares: the activations of each group's goals.
        """
        before = [
            postures.kinematics or group.kinematics(postures)
            for group, postures in zip(self.groups, grounded, strict=True)
        ]
        posed, order = self._expected(state, grounded), self._solve_order(shares)
        most = order.rounds if self.scene.apart is None else order.rounds + self.rounds
        leans, shifts = [own.copy() for own in state.leans], [np.zeros((len(group.goals), 3)) for group in self.groups]
        if state.shifts is not None:
            shifts = [KEPT_SHIFT * own for own in state.shifts]
        solved = [Postures(postures.root.copy(), postures.local.copy()) for postures in grounded]
        freedom, holding = self._freedom(shares, order)
        given = [_Start(*start) for start in zip(grounded, before, standing, strict=True)]
        held = np.zeros(len(self.scene.actors), bool)
        earlier: Contacts = {}
        solved_last = np.ones(len(self.scene.actors), bool)
        for number in range(most + 1):
            members = order.members(number)
            found = self._contacts(posed, state.came, solved_last | members)
            overlaps = overlaps_of(found, [group.actors for group in self.groups], TOLERATED)
            if number > 0:
                # trunks make no way
                members[overlaps.pairs[LIMB[overlaps.pairs[:, 1]], 0]] = True
                members[order.follows[members[order.follows[:, 1]], 0]] = True
            if number == most or not members.any():
                break
            if number > order.rounds:
                stuck = np.zeros(len(held), bool)
                stuck[overlaps.pairs[LIMB[overlaps.pairs[:, 1]], 0]] = True
                # contacts of where they will not be
                found, earlier = (self._without(some, stuck & ~held) for some in (found, earlier))
                held |= stuck
            further = apart_rows(self._proxies, posed, (found, earlier), freedom) if freedom else []
            earlier, solved_last = _of_free(found, holding), members
            changed = []
            for index, group in enumerate(self.groups):
                some = np.flatnonzero(members[group.actors])
                changed.append(some)
                if not len(some):
                    continue
                start, stays = given[index], None
                if state.came is not None and state.locals is not None and held.any():
                    stays = Held(state.came[index], held[group.actors])
                    start = _held_back(group, start, state.locals[index], stays.held)
                if len(overlaps):
                    _shift_goals(group, order.first[group.actors] < number, overlaps, shifts[index])
                rows, sources = self._rows(
                    group, start.poses, posed, before, start.feet, shares[index],
                    further[index] if further else None, shifts[index], stays, some,
                )  # fmt: skip
                left = self._solve_some(
                    group, some, rows, start.postures, solved[index], leans[index], state.leans[index]
                )
                known = sources >= 0
                state.residuals[sources[known]] = left[known]
            if number < most - 1 or self.scene.apart is not None:
                for group, own, postures, some in zip(self.groups, posed, solved, changed, strict=True):
                    group.update(own, postures, some)
        if self.scene.apart is not None:
            state.changes = [
                (own.root - given.root, rotation.multiply(rotation.inverse(given.local), own.local))
                for own, given in zip(solved, grounded, strict=True)
            ]
            state.shifts = shifts
            state.came = [kinematics.positions for kinematics in posed]
            state.locals = [own.local.copy() for own in solved]
            state.depths[:] = 0.0
            np.maximum.at(state.depths, overlaps.pairs[:, 0], np.linalg.norm(overlaps.ways, axis=1))
        return solved

    def _expected(self, state: CrowdState, grounded: list[Postures]) -> list[Poses]:
        """Return the postures that are expected before any is solved: changed as they were at the frame before.

        Contacts are looked for there. In the unconstrained postures other limbs touch than in those that are shown:
        bodies would be solved again and again until the contacts are those of the solution, and jump when one of these
        rounds more or less is needed.
        """
        if state.changes is None:
            return [group.kinematics(given) for group, given in zip(self.groups, grounded, strict=True)]
        return [
            group.kinematics(Postures(given.root + root, rotation.multiply(given.local, turns)))
            for group, given, (root, turns) in zip(self.groups, grounded, state.changes, strict=True)
        ]

    def _solve_order(self, shares: list[NDArray]) -> SolveOrder:
        """Return the order of a frame, which changes when goals start or end."""
        key = b"".join((share > 0).tobytes() for share in shares)
        if self._order is None or self._order[0] != key:
            follows: list[tuple[int, int]] = []
            for group, share in zip(self.groups, shares, strict=True):
                table = group.goals
                counts = (share > 0) & (table.follows >= 0) & ~table.early
                follows += zip(group.actors[table.row[counts]].tolist(), table.follows[counts].tolist())
            self._order = key, solve_order(len(self.scene.actors), follows, self.rounds)
        return self._order[1]

    def _solve_some(
        self, group: _Group, some: NDArray, rows: Rows, given: Postures, solved: Postures, leans: NDArray, out: NDArray
    ) -> NDArray:
        """Solve some characters (n,) of a group from the given postures and leans; return what is left of the rows."""
        solved.root[some], solved.local[some], out[some] = given.root[some], given.local[some], leans[some]
        return solve_rows(
            group.tree, group.bodies, solved.root, solved.local, rows, self.tries, leans=out,
            workspace=group.workspace, which=some,
        )  # fmt: skip

    def _rows(
        self,
        group: _Group,
        before: Poses,
        posed: list[Poses],
        unconstrained: list[Poses],
        standing: Feet | None,
        share: NDArray,
        further: Planes | None,
        shifts: NDArray,
        held: Held | None,
        some: NDArray,
    ) -> tuple[Rows, NDArray]:
        """Return the rows of some characters (n,) of a group, with these activations, and further half-spaces.

        held: whose limbs stay as they were. And the goal that each comes from (−1: none).
        """
        table = group.goals
        key = key_of(share, None if self.scene.apart is None else standing)
        if group.layout is None or group.layout.key != key:
            feet, ranks = [], np.zeros((len(group.numbers), 0), np.int64)
            if standing is not None and self.scene.feet is not None:
                feet, planted = group.feet, self.ranks[self.scene.feet]
                ranks = np.where(standing.swings, self.ranks[self._swing_priority(self.scene.feet)], planted)
            group.layout = RowLayout.of(table, share, len(group.numbers), feet, group.tree.limb_of, ranks, key)
        layout, supports, apart = group.layout, None, self.scene.apart
        chosen = np.zeros(len(group.numbers), bool)
        chosen[some] = True
        goals = np.flatnonzero(chosen[table.row[layout.active]])
        targets = table.targets(
            layout.active[goals], before, posed, unconstrained, self.owners, share,
            [] if apart is None else self._proxies, shifts, held,
        )  # fmt: skip
        if table.balances and len(goals):
            supports = group.soles.supports(before)
        layout.fill(standing, goals, targets, share)
        return layout.of_some(some, further, 0 if apart is None else self.ranks[apart], supports)

    @property
    def _proxies(self) -> list[Proxies]:
        return [group.proxies for group in self.groups if group.proxies is not None]

    def _freedom(self, shares: list[NDArray], order: SolveOrder) -> tuple[list[NDArray], list[NDArray]]:
        """Return for each group how much of the way each capsule (C, K) of its characters makes for others.

        And which of them hold a goal that counts more than avoidance.
        """
        if self.scene.apart is None:
            return [], []
        rank, freedom, holds = self.ranks[self.scene.apart], [], []
        for group, own, share in zip(self.groups, self._proxies, shares, strict=True):
            table = group.goals
            for counts, found in ((share > 0.0, freedom), (share >= 1.0, holds)):
                chosen = counts & (table.rank < rank) & (table.limb >= 0)
                busy = np.zeros((len(group.numbers), 5), bool)
                busy[table.row[chosen], table.limb[chosen]] = True
                found.append(busy[:, group.tree.limb_of[own.starts]])
            freedom[-1] = np.where(freedom[-1], BUSY, 1.0) * LATER ** order.last[group.actors, None]
        return freedom, holds

    def _contacts(self, posed: list[Poses], came: list[NDArray] | None, looked_at: NDArray) -> Contacts:
        """Return the contacts of all characters as they are posed now.

        came: positions at the frame before. looked_at: (A,) the actors that have moved, or are solved next.
        """
        if self.scene.apart is None:
            return {}
        some = [looked_at[group.actors] for group in self.groups]
        return all_contacts(self._proxies, posed, slack=-NEAR, came=came, looked_at=some)

    def _without(self, found: Contacts, left_out: NDArray) -> Contacts:
        """Return contacts without those of some actors (A,)."""
        return {
            (one, two): rows[~(left_out[self.groups[one].actors[_indices(rows, 0)[0]]]
                               | left_out[self.groups[two].actors[_indices(rows, 3)[0]]])]
            for (one, two), rows in found.items()
        }  # fmt: skip

    def convert(self, solved: list[Postures]) -> list[Postures]:
        """Posture conversion (section 8): normalise joint rotations to unit quaternions, as renderers need them."""
        from footplant.live import _crowd as kernel

        for postures in solved:
            kernel.unit_turns(postures.local)
        return solved

    def perform(self) -> Performance:
        """Play the whole scene."""
        state, frames = self.init(), self.scene.frames
        roots = [np.empty((frames, len(group.numbers), 3)) for group in self.groups]
        turns = [np.empty((frames, len(group.numbers), len(group.tree.limb_of), 4)) for group in self.groups]
        residuals = np.full((frames, len(self.scene.goals)), np.nan)
        for frame in range(frames):
            state.residuals[:] = np.nan
            state, poses = self.step(state, frame)
            for index, postures in enumerate(poses):
                roots[index][frame], turns[index][frame] = postures.root, postures.local
            residuals[frame] = state.residuals
        motions: list[Motion] = [None] * len(self.scene.actors)  # type: ignore[list-item]
        for number, actor in enumerate(self.scene.actors):
            group, row = self.place[number]
            local = rotation.unroll(turns[group][:, row])
            motions[number] = Motion(actor.character.skeleton, roots[group][:, row].copy(), local, self.scene.fps)
        return Performance(self.scene, tuple(motions), residuals)


@dataclass(frozen=True, eq=False)
class Performance:
    """A scene that has been played."""

    scene: CrowdScene
    motions: tuple[Motion, ...]
    """The motion of each actor."""
    residuals: NDArray
    """(F, goals) metres (radians) left of each goal; NaN where it was not active."""


def _shift_goals(group: _Group, solved: NDArray, overlaps: Overlaps, shifts: NDArray) -> None:
    """Shift goals on other bodies (n, 3) by what the limb that carries the point is deep in that body, as it is posed.

    The point alone may be clear of a body that the rest of its bone goes through. solved: (C,) characters whose pose
    has met their goals in a round before.
    """
    table = group.goals
    n = np.flatnonzero((table.follows >= 0) & solved[table.row])
    pairs = np.column_stack([group.actors[table.row[n]], group.capsules[n], table.follows[n], group.followed[n]])
    found, ways = overlaps.find(pairs)
    shifts[n[found]] += ways[found]


def _of_free(found: Contacts, held: list[NDArray]) -> Contacts:
    """Return the contacts that count in the next round as well: a limb out of one body alone may be in another.

    It would be sent back then. Those of limbs that hold a goal (held) do not: such a limb only swivels, and would do so
    for both.
    """
    return {
        (one, two): rows[~(held[one][_indices(rows, 0)] | held[two][_indices(rows, 3)])]
        for (one, two), rows in found.items()
    }


class _Start(NamedTuple):
    """From where the characters of a group are solved."""

    postures: Postures
    poses: Poses
    feet: Feet | None


def _held_back(group: _Group, given: _Start, came: NDArray, held: NDArray) -> _Start:
    """Let limbs of held characters (C,) stay as they were at the frame before, but for planted legs.

    There they were clear of other bodies. came: (C, J, 4) local rotations then. Where a foot alone stays, knee and shin
    go on with the motion and into other bodies: of nine runs of `crowd_changes.py` one then has an overlap of 92 mm.
    """
    stay = held[:, None] & (group.tree.limb_of >= 0)
    if given.feet is not None:
        for n, foot in enumerate(group.feet):
            stay[np.ix_(~given.feet.swings[:, n], group.tree.limb_of == group.tree.limb_of[foot])] = False
    postures = replace(given.postures, local=np.where(stay[..., None], came, given.postures.local))
    poses, feet = group.kinematics(postures), given.feet
    if feet is not None:
        air = feet.swings & held[:, None]
        places, turns = feet.places.copy(), feet.turns.copy()
        places[air], turns[air] = poses.positions[:, group.feet][air], poses.rotations[:, group.feet][air]
        feet = replace(feet, places=places, turns=turns)
    return _Start(postures, poses, feet)


def _swings(line: Motion, actor: CrowdActor, feet: list[int]) -> NDArray:
    """Return (F, feet) bool: where all contact points of a foot's sole are in the air; ankles, where it has none."""
    kinematics, skeleton = Kinematics(line), actor.character.skeleton
    found = np.zeros((len(line), len(feet)), bool)
    for n, foot in enumerate(feet):
        below = set(skeleton.descendants(foot))
        points = [point for point in soles(actor.character) if point.joint in below]
        if points:
            heights = kinematics.points(points)[..., 1].min(axis=1)
        else:
            heights = kinematics.positions[:, foot, 1] - skeleton.rest_world[0][foot, 1]
        found[:, n] = heights > SWINGS_ABOVE
    return found


def _skin(scene: CrowdScene, goal: Goal) -> float:
    """Return the radius of the skin about a goal's point, metres."""
    return radius_at(scene.actors[goal.actor].character, goal.point)


def _indices(contacts: NDArray, column: int) -> tuple[NDArray, NDArray]:
    """Return the characters and capsules of one side of contacts: columns from 0, or from 3 on."""
    return contacts[:, column].astype(np.int64), contacts[:, column + 1].astype(np.int64)


def _with_row(table: NDArray, row: int, values: NDArray) -> NDArray:
    """Return a copy of a table with another row."""
    table = table.copy()
    table[row] = values
    return table


def _frozen(array: NDArray) -> NDArray:
    """Return an array made read-only: kernels are compiled for bodies that are."""
    array.setflags(write=False)
    return array


def _alike(one: GroupCcd, two: GroupCcd) -> bool:
    """Return whether two solvers have the same joint tree."""
    return all(
        a.shape == b.shape and np.allclose(a, b, atol=1e-9)
        for a, b in zip(one.tree.arrays, two.tree.arrays, strict=True)
    )


def _grouped(actors: Sequence[CrowdActor]) -> list[tuple[GroupCcd, list[int]]]:
    """Group actors with the same joint tree, each group with its solver."""
    found: list[tuple[GroupCcd, list[int]]] = []
    known: dict[int, GroupCcd] = {}
    for number, actor in enumerate(actors):
        solver = known.setdefault(id(actor.character), GroupCcd(actor.character))
        for other, numbers in found:
            if _alike(solver, other):
                numbers.append(number)
                break
        else:
            found.append((solver, [number]))
    return found
