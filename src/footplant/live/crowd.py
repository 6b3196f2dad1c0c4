"""Many characters at once: one motion for all bodies, and constraints that change at every frame.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), figure 2 and section 10. `Crowd.step` is the paper's pipeline as five calls: read the posture,
scale it to the body, adapt it to the ground, solve the constraints, convert it to joints.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.blending.compose import root_reference
from footplant.checks import real_number
from footplant.contacts.moving_ground import MovingGround
from footplant.errors import ConstraintError
from footplant.live.crowd_apart import (
    BUSY,
    LATER,
    LIMB,
    NEAR,
    Contacts,
    Planes,
    Proxies,
    all_contacts,
    apart_rows,
    overlaps_of,
    skin_radii,
    without,
)
from footplant.live.crowd_ease import offset_postures, posture_offsets
from footplant.live.crowd_goals import Feet, GoalTable, Held, SolePoints
from footplant.live.crowd_ground import OnGround, effect_ahead, on_ground
from footplant.live.crowd_group import (
    CrowdGroup,
    CrowdState,
    Poses,
    Postures,
    PreparedActor,
    Reshape,
    Shown,
    feet_of,
    longer,
    phases_of,
)
from footplant.live.crowd_lines import AIR, STILL, Line, heading_between
from footplant.live.crowd_order import SolveOrder, solve_order
from footplant.live.crowd_reasons import MET, why_unmet
from footplant.live.crowd_rows import RowLayout, key_of
from footplant.live.crowd_scene import KINDS, AnyGround, CrowdActor, CrowdScene, Goal, played_once, timeline
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
BACK_IN = 0.25
"""Seconds in which a character that leant for a goal stands up, or in those in which the goal fades out if more."""
SETTLED_IN = 0.5
"""Seconds in which the lean of a character that reaches for nothing decays to 5 %: hips that came down for its legs."""
EASE = 0.4
"""Seconds in which changes of bodies, motions and ground ease in by default."""
SAME_PLACE = 0.3
"""Metres: a character whose root is farther from where the scene begins again starts there at once."""


class Crowd:
    """A running scene: `state = crowd.init()`, then `state, poses = crowd.step(state, frame)` for every frame."""

    def __init__(self, scene: CrowdScene, *, tries: int = 6, rounds: int = 4, repeats: bool = False) -> None:
        """Scale every motion to every body, and group characters and goals.

        tries: largest number of steps of trunk and root for each priority and frame. rounds: how often characters that
        follow one another in a circle are solved in a frame, and how often those are solved again whose bodies overlap,
        at most. repeats: whether the scene begins again where it ends; else its last frame stays.
        """
        self.scene, self.tries, self.rounds, self.repeats = scene, tries, rounds, repeats
        self.groups: list[CrowdGroup] = []
        self.place: dict[int, tuple[int, int]] = {}
        """Group and row of each actor, by its number."""
        for solver, numbers in _grouped(scene.actors):
            self._add_group(numbers, [self._prepared(scene.actors[number], solver) for number in numbers])
        self._goal_group, self._goal_row = np.zeros((2, len(scene.goals)), np.int64)
        self._index()
        self._rank_all()
        self._order: tuple[bytes, SolveOrder] | None = None
        self._ground_begun: int | None = 0
        """Frame from which the times of the ground count; None: the next one."""
        self._ground_over: float | None = None
        self._ground_before: AnyGround = scene.ground
        """What was there before the ground that eases in from the next frame on in so many seconds."""
        self._retargeted: list[tuple[NDArray, NDArray, float]] = []
        self._reranked: list[tuple[NDArray, float]] = []
        self._rescheduled: list[tuple[NDArray, NDArray]] = []
        """Goals that change at the next frame, by how much their targets do, and in how many seconds they ease in."""
        self._leaving: dict[int, float] = {}
        """Goals that are removed, and the seconds in which they fade out from the next frame on."""
        self._vacant: dict[int, float] = {}
        """Numbers of goals that may be given to others from a time on, seconds."""

    def _add_group(self, numbers: list[int], prepared: Sequence[PreparedActor]) -> None:
        self.groups.append(CrowdGroup(numbers, prepared, self.scene))
        for row, number in enumerate(numbers):
            self.place[number] = len(self.groups) - 1, row

    def _index(self) -> None:
        """Take note of which goal and which actor is where."""
        self.owners = np.array([*(self.place[number] for number in range(len(self.scene.actors))), (-1, -1)])
        self._here = np.zeros(len(self.scene.actors), bool)
        for index, group in enumerate(self.groups):
            self._here[group.actors] = group.here
            self._goal_group[group.goals.source] = index
            self._goal_row[group.goals.source] = np.arange(len(group.goals))
            group.followed = self._followed(group.goals)
        self._order = None

    def _followed(self, table: GoalTable) -> NDArray:
        """Return the capsules (n,) of other actors that goals follow; −1: none."""
        found, followed = np.full(len(table), -1), self.owners[table.follows, 0]
        for index, other in enumerate(self.groups):
            own = followed == index
            found[own] = other.carriers(table.follow_joint[own])
        return found

    def init(self) -> CrowdState:
        """Return the initial state, without leaning."""
        state = CrowdState([], np.zeros(0))
        self._fit(state)
        return state

    def _fit(self, state: CrowdState) -> None:
        """Make room in a state for actors and goals that were added since."""
        goals, actors = len(self.scene.goals), len(self.scene.actors)
        if len(state.residuals) < goals:
            more = goals - len(state.residuals)
            state.residuals = np.pad(state.residuals, (0, more), constant_values=np.nan)
            state.shares = np.pad(state.shares, (0, more))
            state.targets.grow(goals)
            state.activations.grow(goals)
        state.depths = longer(state.depths, actors)
        for index, group in enumerate(self.groups):
            if index == len(state.parts):
                state.parts.append(Shown(group))
                state.leans.append(group.tree.leans(group.size))
                if state.changes is not None and state.came is not None and state.locals is not None:
                    joints = len(group.parents)
                    state.changes.append((np.zeros((0, 3)), np.zeros((0, joints, 4))))
                    state.came.append(np.zeros((0, joints, 3)))
                    state.locals.append(np.zeros((0, joints, 4)))
            part, lean = state.parts[index], state.leans[index]
            if len(lean) != group.size or part.tree is not group.tree:
                # goals on further joints pose more of them; the root is the last
                columns = np.searchsorted(group.tree.state, part.tree.state)
                state.leans[index] = group.tree.leans(group.size)
                state.leans[index][: len(lean), [*columns.tolist(), -1]] = lean
                part.tree = group.tree
            part.grow(group.size)
            if state.changes is not None and state.came is not None and state.locals is not None:
                root, turns = state.changes[index]
                state.changes[index] = longer(root, group.size), longer(turns, group.size)
                state.came[index] = longer(state.came[index], group.size)
                state.came[index].setflags(write=False)
                state.locals[index] = longer(state.locals[index], group.size)
            if state.shifts is not None:
                if index == len(state.shifts):
                    state.shifts.append(np.zeros((0, 3)))
                state.shifts[index] = longer(state.shifts[index], len(group.goals))

    def aim(self, goals: Sequence[int] | NDArray, targets: NDArray, *, ease: float = 0.0) -> None:
        """Set targets (n, 3) of goals (by index) from the next step on, for interactive dragging.

        ease: seconds in which they move there, smoothly also where they are moving already.
        """
        goals, targets = self._known(goals), np.asarray(targets, float)
        if targets.shape != (len(goals), 3) or not np.isfinite(targets).all():
            raise ConstraintError(f"expected {len(goals)} finite positions, one per goal; got shape {targets.shape}")
        before = np.empty_like(targets)
        for number, group in enumerate(self.groups):
            own = self._goal_group[goals] == number
            rows = self._goal_row[goals[own]]
            before[own] = group.goals.target[rows]
            group.goals.target[rows] = targets[own]
        if _seconds(ease) > 0.0:
            self._retargeted.append((goals, before - targets, ease))

    def prioritise(self, goals: Sequence[int] | NDArray, priority: int, *, ease: float = EASE) -> None:
        """Give goals (by index) another priority from the next step on.

        ease: seconds in which all goals of their actors move to their targets from where their points are then.
        """
        goals = self._known(goals)
        self._alter(goals, priority=priority)
        for number, group in enumerate(self.groups):
            group.goals.priority[self._goal_row[goals[self._goal_group[goals] == number]]] = priority
        self._rank_all()
        if _seconds(ease) > 0.0:
            self._reranked.append((np.array(sorted({self.scene.goals[n].actor for n in goals.tolist()})), ease))

    def _alter(self, goals: NDArray, **fields: Any) -> None:
        """Change fields of goals of the scene."""
        own = list(self.scene.goals)
        for number in goals.tolist():
            own[number] = replace(own[number], **fields)
        self.scene = replace(self.scene, goals=tuple(own))

    def _rank_all(self) -> None:
        """Write the ranks of all goals."""
        self.ranks = self._ranks(
            {int(value) for group in self.groups for value in np.unique(group.goals.priority).tolist()}
        )
        for group in self.groups:
            values, places = np.unique(group.goals.priority, return_inverse=True)
            for ranks, of in ((group.goals.rank, float), (group.goals.ramp_rank, self._ramp_priority)):
                ranks[:] = np.array([self.ranks[of(value)] for value in values.tolist()], np.int64)[places]
            group.layout = None

    def _ranks(self, priorities: Iterable[int]) -> dict[float, int]:
        """Return the rank of each priority, those of feet and avoidance included; 0 is the highest."""
        known: set[float] = {*priorities}
        known |= {self._ramp_priority(priority) for priority in known}
        known |= set() if self.scene.feet is None else {self.scene.feet, self._swing_priority(self.scene.feet)}
        known |= {priority for priority in (self.scene.apart, self.scene.balance) if priority is not None}
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

    def schedule(
        self, goals: Sequence[int] | NDArray, start: float, stop: float, ramp: tuple[float, float],
        *, since: int | None = None,
    ) -> None:  # fmt: skip
        """Give goals (by index) other times: seconds at which they begin and end to hold, and their ramps.

        since: a frame of the crowd from which the times count, once; None: of the scene, whenever it is played.
        """
        goals = self._known(goals)
        begun = 0.0 if since is None else since / self.scene.fps
        start, stop, clock = start + begun, stop + begun, since is not None
        self._alter(goals, start=start, stop=stop, ramp=ramp, clock=clock)
        self._time(goals)
        self._rescheduled.append((goals, np.tile(ramp, (len(goals), 1))))

    def _time(self, goals: NDArray) -> None:
        """Write the times of goals of the scene into their tables."""
        for number in goals.tolist():
            goal, row = self.scene.goals[number], self._goal_row[number]
            table = self.groups[self._goal_group[number]].goals
            table.times[row], table.clock[row] = (goal.start, goal.stop, *goal.ramp), goal.clock

    def add_goals(self, goals: Sequence[Goal]) -> list[int]:
        """Add goals from the next step on; they ease in during their first ramp. Return their numbers."""
        own, added = list(self.scene.goals), {}
        for goal in goals:
            actors = (goal.actor, *(() if goal.of is None else (goal.of[0],)))
            if not all(0 <= actor < len(self._here) and self._here[actor] for actor in actors):
                raise ConstraintError(f"expected goals of actors of the crowd, got {goal.name or goal.kind!r}")
        for goal in goals:
            index = self.place[goal.actor][0]
            free = (n for n in self._vacant if self._goal_group[n] == index and self._vacant[n] <= self._now)
            number = next(free, len(own))
            if number == len(own):
                own.append(goal)
            else:
                own[number] = goal
                del self._vacant[number]
            added[number] = goal
            self._rescheduled.append((np.array([number]), np.array([goal.ramp])))
        known, more = len(self._goal_row), len(own) - len(self._goal_row)
        self._goal_group, self._goal_row = (np.pad(table, (0, more)) for table in (self._goal_group, self._goal_row))
        self.scene, self._order = replace(self.scene, goals=tuple(own)), None
        for index in {self.place[goal.actor][0] for goal in goals}:
            group = self.groups[index]
            made = group.table(self.scene, added)
            new, before = made.source >= known, len(group.goals)
            self._goal_group[made.source] = index
            self._goal_row[made.source[new]] = before + np.arange(np.count_nonzero(new))
            places = self._goal_row[made.source]
            group.goals = group.goals.put(places, made)
            group.followed = np.concatenate([group.followed, np.zeros(np.count_nonzero(new), np.int64)])
            group.followed[places] = self._followed(made)
            group.make_room()
        self._rank_all()
        return list(added)

    def remove_goals(self, goals: Sequence[int] | NDArray) -> None:
        """Remove goals (by index): they fade out in their last ramp. Their numbers may then be given to others."""
        goals = self._known(goals)
        for number in goals.tolist():
            self._leaving[number] = self.scene.goals[number].ramp[1]
        self._rescheduled.append((goals, np.array([self.scene.goals[n].ramp for n in goals.tolist()]).reshape(-1, 2)))
        self._alter(goals, start=-math.inf, stop=-math.inf, ramp=(0.0, 0.0))
        self._time(goals)

    def set_ground(self, ground: AnyGround, *, ease: float = EASE) -> None:
        """Put all characters on another ground from the next step on; its times count from there.

        ease: seconds in which feet and roots get there. A conveyor leaves characters where it has carried them.
        """
        if self._ground_over is None:
            self._ground_before = self.scene.ground
        self._ground_over = _seconds(ease)
        self.scene = replace(self.scene, ground=ground)

    def prepare(self, number: int, actor: CrowdActor, *, own: bool = False, once: bool = False) -> PreparedActor:
        """Scale an actor's motions to a body and measure it, ahead of `recast`; may run beside the crowd.

        own: its last motion alone, from its first frame on when it is recast, and again and again from where it ends;
        else all of them at the times of the scene. once: an own motion stays at its last frame.
        """
        prepared = self.prepare_new(actor, own=own, once=once)
        self._require_alike(number, prepared)
        return prepared

    def prepare_new(self, actor: CrowdActor, *, own: bool = True, once: bool = False) -> PreparedActor:
        """Scale the motions of a further actor to its body, ahead of `add_actor`; see `prepare`."""
        return self._prepared(actor, GroupCcd(actor.character), own=own, once=once)

    def _prepared(self, actor: CrowdActor, solver: GroupCcd, *, own: bool = False, once: bool = False) -> PreparedActor:
        motion = played_once(actor, self.scene.fps) if own else timeline(actor, self.scene)
        line = Line.of(motion, phases_of(motion, actor, feet_of(solver)), own=own, once=once)
        apart, body = self.scene.apart is not None, actor.character
        proxies, skin = (
            Proxies.of([body]) if apart else None,
            skin_radii(body) if apart else np.zeros(len(body.skeleton)),
        )
        return PreparedActor(
            actor, self._known_solver(solver), line, proxies, SolePoints([actor]), bodies_of([body]), skin
        )

    def _known_solver(self, solver: GroupCcd) -> GroupCcd:
        """Return the solver of a group with the same joint tree, so that the frame of a change compares no trees."""
        return next((group.solver for group in self.groups if _alike(group.solver, solver)), solver)

    def _require_alike(self, number: int, prepared: PreparedActor) -> None:
        if not _alike(prepared.solver, self.groups[self.place[number][0]].solver):
            raise ConstraintError(
                f"expected a body with the joints of {self.scene.actors[number].name!r}, got another skeleton, which "
                "needs another actor: add one with that body, and remove this one"
            )

    def recast(self, number: int, prepared: PreparedActor, *, ease: float = EASE, same_phase: bool = False) -> None:
        """Give an actor (by index) another body or other motions from the next step on.

        They go on from where the actor is and faces then. ease: seconds in which it gets there; planted feet stay.
        same_phase: an own motion (see `prepare`) goes on in its middle, from where the actor's last one is: it is the
        same at another speed.
        """
        self._require_alike(number, prepared)
        index, row = self.place[number]
        group, line = self.groups[index], prepared.line
        before, act = group.lines[row], self.scene.actors[number].acts[-1]
        if line.own and before.own and prepared.actor.acts[-1] is act:
            line = replace(line, begun=before.begun)
        elif line.own and same_phase:
            frame = round(self._now * self.scene.fps)
            now = before.index(frame, self.read(frame))
            played = now if before.own else max(now - round(act.start * self.scene.fps), 0)
            at = min(round(played * act.speed / prepared.actor.acts[-1].speed), len(line) - 1)
            root, local = before.pose(now)
            line = replace(line.aligned(at, root, local[0]), begun=frame - at)
        group.lines.put(row, line)
        group.fresh[row] = _seconds(ease)
        group.reshaping[row] = Reshape(group.body_of(row), prepared.body, ease)
        self._cast(number, prepared)

    def move(
        self, number: int, place: tuple[float, float], *, heading: float | None = None, ease: float = EASE
    ) -> None:
        """Bring an actor (by index) to a place (x, z), metres, from the next step on: its motion goes on there.

        heading: radians that it faces then, 0 along +z; None: as it does. ease: seconds in which it glides there.
        """
        if not (0 <= number < len(self._here) and self._here[number]):
            raise ConstraintError(f"expected an actor of the crowd, got {number}")
        if not np.isfinite([*place, heading or 0.0]).all():
            raise ConstraintError(f"expected a finite place and heading, got {place} and {heading}")
        index, row = self.place[number]
        group, actor, frame = self.groups[index], self.scene.actors[number], round(self._now * self.scene.fps)
        line, turn = group.lines[row], rotation.identity()
        root, local = line.pose(line.index(frame, self.read(frame)))
        if heading is not None:
            upright = root_reference(actor.character)
            turn = heading_between(local[0], rotation.multiply(rotation.exp([0.0, heading, 0.0]), upright))
        shift = np.array([place[0], 0.0, place[1]]) - rotation.rotate(turn, root) * [1.0, 0.0, 1.0]
        group.lines.put(row, line.moved(turn, shift))
        group.moved[row] = _seconds(ease)
        x, _, z = rotation.rotate(turn, np.array([actor.place[0], 0.0, actor.place[1]])) + shift
        turned = actor.heading + 2.0 * math.atan2(float(turn[2]), float(turn[0]))
        own = list(self.scene.actors)
        own[number] = replace(actor, place=(float(x), float(z)), heading=turned)
        self.scene = replace(self.scene, actors=tuple(own))

    def _cast(self, number: int, prepared: PreparedActor) -> None:
        """Write an actor into the scene, and what depends on its body alone."""
        index, row = self.place[number]
        group = self.groups[index]
        actors = [*self.scene.actors, prepared.actor] if number == len(self.scene.actors) else [*self.scene.actors]
        actors[number] = prepared.actor
        self.scene = replace(self.scene, actors=tuple(actors))
        group.skin[row] = prepared.skin
        if group.goals.radius is not None:
            own = group.goals.row == row
            group.goals.radius[own] = prepared.skin[group.goals.joint[own]]
        group.soles.put(row, prepared.soles)

    def add_actor(self, prepared: PreparedActor) -> int:
        """Add an actor from the next step on, at its place; return its number, which may be one of a removed actor."""
        index = next((n for n, group in enumerate(self.groups) if _alike(group.solver, prepared.solver)), None)
        number = len(self.scene.actors)
        if index is None:
            self.scene = replace(self.scene, actors=(*self.scene.actors, prepared.actor))
            self._add_group([number], [prepared])
            self.groups[-1].fresh[0] = None
            self._index()
            self._rank_all()
            return number
        group = self.groups[index]
        free = np.flatnonzero(~group.here)
        if len(free):
            row = int(free[0])
            number = group.numbers[row]
            group.here[row] = True
            group.shape({row: prepared.body})
        else:
            row = group.append(number, prepared)
            self.place[number] = index, row
        group.lines.put(row, prepared.line)
        group.fresh[row] = None
        self._cast(number, prepared)
        if number == len(self._here):
            self.owners = np.concatenate([self.owners[:-1], [(index, row)], self.owners[-1:]])
            self._here = np.append(self._here, True)
        self._here[number], self._order = True, None
        return number

    def remove_actor(self, number: int) -> None:
        """Remove an actor (by index) and its goals; goals of others on it fade out."""
        if not (0 <= number < len(self._here) and self._here[number]):
            raise ConstraintError(f"expected an actor of the crowd, got {number}")
        index, row = self.place[number]
        group = self.groups[index]
        own = [n for n, goal in enumerate(self.scene.goals) if goal.actor == number and n not in self._vacant]
        self._alter(np.array(own, np.int64), ramp=(0.0, 0.0))
        self.remove_goals(own)
        others = [n for n, goal in enumerate(self.scene.goals) if goal.of is not None and goal.of[0] == number]
        for n in others:
            table, place = self.groups[self._goal_group[n]].goals, self._goal_row[n]
            table.follows[place], table.target[place] = -1, table.latest[place] - table.shift[place]
            if table.at_points[place]:
                table.kinds[place] = KINDS.index("reach")
                self._alter(np.array([n]), kind="reach", of=None, target=table.target[place].copy())
            else:
                # what is kept away from somebody who is gone, or turned with them, has nothing to fade with
                self._alter(np.array([n]), of=None, ramp=(0.0, 0.0))
        self.remove_goals([n for n in others if n not in self._vacant and n not in self._leaving])
        group.here[row] = False
        group.reshaping.pop(row, None)
        if group.proxies is not None:
            group.proxies.radii[row] = -1.0
        self._here[number], self._order = False, None

    def present(self) -> list[int]:
        """Return the numbers of the actors that are not removed."""
        return np.flatnonzero(self._here).tolist()

    def target(self, goal: int) -> NDArray:
        """Return the target (3,) that a goal (by index) was aimed at last; see `Goal.target`."""
        return self.groups[self._goal_group[goal]].goals.target[self._goal_row[goal]].copy()

    def ground_seconds(self, frame: int) -> float:
        """Return since when the ground is there at a frame: the time of one that moves."""
        return 0.0 if self._ground_begun is None else (frame - self._ground_begun) / self.scene.fps

    def _known(self, goals: Sequence[int] | NDArray) -> NDArray:
        goals = np.asarray(goals, np.int64)
        if len(goals) and not 0 <= goals.min() <= goals.max() < len(self.scene.goals):
            raise ConstraintError(f"expected goals in 0..{len(self.scene.goals) - 1}, got {goals.min()}..{goals.max()}")
        return goals

    def step(self, state: CrowdState, frame: int) -> tuple[CrowdState, list[Postures]]:
        """Compute one frame for all characters: the paper's figure 2. Frames go forward where the scene repeats."""
        self._fit(state)
        self._begin(state, frame)
        postures = self.scale(state, frame)
        grounded, standing = self.adapt_ground(state, postures, frame)
        shares = self._shares(state, frame)
        self._lean_back(state, shares)
        solved = self.solve(state, grounded, standing, shares)
        keep = math.exp(-math.log(20.0) / (SETTLED_IN * self.scene.fps))
        for part, leans in zip(state.parts, state.leans, strict=True):
            leans[part.leaning <= 0.0] *= keep
        for part, own in zip(state.parts, solved, strict=True):
            part.solved = own
        state.frame = frame
        return state, self.convert(solved)

    _now = 0.0
    """Seconds of the last frame."""

    def _begin(self, state: CrowdState, frame: int) -> None:
        """Let what was changed since the last frame begin to ease in."""
        scene, now = self.read(frame), frame / self.scene.fps
        self._now = now
        wrapped = state.frame is not None and scene < self.read(state.frame)
        if self._ground_over is not None:
            self._step_off(state)
        for group, part in zip(self.groups, state.parts, strict=True):
            group.reshape(now)
            changed: dict[int, float | None] = dict.fromkeys(group.lines.begin_passes(frame), EASE)
            changed |= group.fresh
            group.fresh = {}
            for row, over in changed.items():
                self._begin_line(group, part, row, over, frame, scene)
            if wrapped and part.postures:
                start, last = group.lines.read(frame, scene)[0], part.postures[-1][0]
                near = np.linalg.norm((start - last)[:, ::2], axis=1) < SAME_PLACE
                again = [row for row in np.flatnonzero(near & group.here).tolist() if row not in group.lines.own]
                changed = dict.fromkeys(again, EASE) | changed
            eased = {row: over for row, over in (changed | group.moved).items() if over}
            if eased and part.postures:
                self._ease_lines(group, part, eased, frame, scene)
            for row in group.moved:
                part.holds.forget(row)
            group.moved = {}
        for number, over in list(self._leaving.items()):
            self._vacant[number] = now + over
            del self._leaving[number]

    def _begin_line(self, group: CrowdGroup, part: Shown, row: int, over: float | None, frame: int, scene: int) -> None:
        """Let a line begin where its character is and faces, so that planted feet stay on the whole."""
        line = group.lines[row]
        start = line.own and line.begun is None
        if start:
            line = replace(line, begun=frame)
        if over is None:
            part.holds.forget(row)
        elif part.postures:
            root, local, _ = part.postures[-1]
            at = line.index(frame, scene)
            if start:
                line = line.aligned(at, root[row], local[row, 0])
            own = line.pose(at)
            shift = root[row] - own[0]
            places, planted = part.holds.standing(row)
            planted = planted & (line.phases[at] == STILL)
            if planted.any():
                feet = group.ankles(self.scene.actors[group.numbers[row]].character, *own)
                shift = (places[planted] - feet[planted]).mean(axis=0)
            line = line.moved(rotation.identity(), shift * [1.0, 0.0, 1.0])
        group.lines.move(row, line)

    def _ease_lines(self, group: CrowdGroup, part: Shown, eased: dict[int, float], frame: int, scene: int) -> None:
        """Let some rows ease from what was shown into their lines, in so many seconds."""
        rows = np.array(list(eased))
        now, then = (group.lines.read(frame + n, scene + n, rows) for n in range(2))
        last, before = part.postures[-1], part.postures[0]
        between = last[2] - before[2] if len(part.postures) > 1 else 1
        steps = float(max(between, 1)), float(frame - last[2])
        shown = [(root[rows], local[rows]) for root, local, _ in (before, last)]
        offsets, speeds = posture_offsets(shown[0], shown[1], now[:2], then[:2], steps)
        fps = self.scene.fps
        part.ease.begin(rows, offsets, frame / fps, np.array(list(eased.values())), speeds * fps)
        part.holds.hold(rows, now[2] != STILL)

    def _step_off(self, state: CrowdState) -> None:
        """Leave characters where the ground that is replaced has carried them."""
        ground, begun = self._ground_before, self._ground_begun
        self._ground_begun = None
        if not isinstance(ground, MovingGround) or state.frame is None:
            return
        at, turn = (row[0] for row in ground.poses([(state.frame - (begun or 0)) / self.scene.fps]))
        shift = at * [1.0, 0.0, 1.0]
        if abs(turn[0]) < 1.0 or not shift.any():
            return
        for group, part in zip(self.groups, state.parts, strict=True):
            group.lines.carry(shift)
            part.carry(shift)

    def _shares(self, state: CrowdState, frame: int) -> list[NDArray]:
        """Return the activations of each group's goals, and let targets and activations ease."""
        now = frame / self.scene.fps
        shares = [group.goals.activations(self.read(frame) / self.scene.fps, now) for group in self.groups]
        asked = np.zeros(len(self.scene.goals))
        for group, share in zip(self.groups, shares, strict=True):
            asked[group.goals.source] = share
        if state.frame is not None:
            self._begin_goals(state, asked, now)
        self._retargeted, self._reranked, self._rescheduled = [], [], []
        if state.activations:
            rows, offsets = state.activations.at(now)
            asked[rows] = np.clip(asked[rows] + offsets[:, 0], 0.0, 1.0)
            for group, share in zip(self.groups, shares, strict=True):
                share[:] = asked[group.goals.source]
        rows, offsets = state.targets.at(now)
        for index, group in enumerate(self.groups):
            own = self._goal_group[rows] == index
            if group.goals.shift.any() or own.any():
                group.goals.shift[:] = 0.0
                group.goals.shift[self._goal_row[rows[own]]] = offsets[own]
        state.shares = asked
        state.residuals[asked <= 0.0] = np.nan
        return shares

    def _begin_goals(self, state: CrowdState, asked: NDArray, now: float) -> None:
        """Let goals that were changed since the last frame begin to ease; asked: (goals,) their activations now."""
        for goals, offsets, over in self._retargeted:
            here, speeds, jolts = state.targets.motion_of(goals, now)
            state.targets.begin(goals, here + offsets, now, over, speeds, jolts)
        for actors, over in self._reranked:
            for group in self.groups:
                table = group.goals
                counts = np.isin(group.actors[table.row], actors) & (state.shares[table.source] >= 1.0)
                group.starting |= dict.fromkeys(np.flatnonzero(counts & table.at_points).tolist(), over)
        for group in self.groups:
            self._hand_over(group, state.shares[group.goals.source], asked[group.goals.source])
        if self._rescheduled:
            goals, ramps = (np.concatenate(parts) for parts in zip(*self._rescheduled, strict=True))
            offsets = state.shares[goals] - asked[goals]
            over = np.where(offsets < 0.0, ramps[:, 0], ramps[:, 1])
            # those that begin at once start from where their points are
            stepped = np.zeros(len(asked), bool)
            for group in self.groups:
                stepped[group.goals.source] = group.goals.stepped
            some = (np.abs(offsets) > 1e-3) & (over > 0.0) & ~(stepped[goals] & (offsets < 0.0))
            state.activations.begin(goals[some], offsets[some, None], now, over[some])

    def _hand_over(self, group: CrowdGroup, before: NDArray, now: NDArray) -> None:
        """Let points of goals move on from where they are when others begin or end to hold their limbs.

        before, now: (n,) activations of the group's goals at the last frame and at this one.
        """
        table = group.goals
        if not ((before > 0.0) != (now > 0.0)).any():
            return
        begun = np.flatnonzero(table.stepped & (before <= 0.0) & (now > 0.0))
        group.starting |= {n: float(table.times[n, 2]) for n in begun.tolist() if table.times[n, 2] > 0.0}
        ended = (before > 0.0) & (now <= 0.0) & (table.limb >= 0)
        if ended.any():
            let_go = np.zeros((group.size, 5), bool)
            let_go[table.row[ended], table.limb[ended]] = True
            free = let_go[table.row, table.limb] & table.at_points & (now >= 1.0)
            group.starting |= dict.fromkeys(np.flatnonzero(free).tolist(), EASE)

    def _start_goals(self, state: CrowdState, index: int, active: NDArray, targets: NDArray) -> None:
        """Let some active goals (n,) move to their targets (n, 4) from where their points were at the last frame."""
        group, part = self.groups[index], state.parts[index]
        table = group.goals
        starting = np.zeros(len(table), bool)
        starting[list(group.starting)] = True
        begun = np.flatnonzero(starting[active])
        if not len(begun):
            return
        if part.solved is not None:
            rows, poses = active[begun], Poses(group.size, len(group.parents))
            row, joint = table.row[rows], table.joint[rows]
            group.update(poses, part.solved, np.unique(row))
            points = poses.positions[row, joint] + rotation.rotate(poses.rotations[row, joint], table.point[rows])
            offsets = points - targets[begun, :3]
            targets[begun, :3] = points
            table.shift[rows] += offsets
            over = np.array([group.starting[n] for n in rows.tolist()])
            state.targets.begin(table.source[rows], table.shift[rows], self._now, over)
        for n in active[begun].tolist():
            del group.starting[n]

    def unmet(self, state: CrowdState, postures: list[Postures], frame: int) -> dict[int, str]:
        """Return why goals, by their numbers, are not met at a frame: those of which more than `MET` is left."""
        placed, found = {}, {}
        for number in np.flatnonzero(state.residuals > MET).tolist():
            goal = self.scene.goals[number]
            group, row = self.place[goal.actor]
            if group not in placed:
                placed[group] = self.groups[group].kinematics(postures[group]).positions
            seconds = (frame if goal.clock else self.read(frame)) / self.scene.fps
            found[number] = why_unmet(self.scene, number, seconds, placed[group][row])
        return found

    def _lean_back(self, state: CrowdState, shares: list[NDArray]) -> None:
        """Let characters stand up as the goals that they lean for fade out, and at once where these end at once."""
        slowest = 1.0 / (BACK_IN * self.scene.fps)
        for group, part, leans, share in zip(self.groups, state.parts, state.leans, shares, strict=True):
            counts = (share > 0.0) & ~group.goals.whole_body
            active = np.zeros(group.size)
            np.maximum.at(active, group.goals.row[counts], share[counts])
            before = part.leaning
            ramped = np.where(active > 0.0, 0.5 - np.sin(np.arcsin(1.0 - 2.0 * active) / 3.0), 0.0)
            part.leaning = np.maximum(ramped, before - slowest)
            falls = np.flatnonzero(part.leaning < before)
            if len(falls):
                now, last = (at * at * (3.0 - 2.0 * at) for at in (part.leaning[falls], before[falls]))
                leans[falls] *= (now / last)[:, None, None]

    def read(self, frame: int) -> int:
        """Return which frame of the scene a frame of the crowd is."""
        return frame % self.scene.frames if self.repeats else min(max(frame, 0), self.scene.frames - 1)

    def scale(self, state: CrowdState, frame: int) -> list[Postures]:
        """Morphological adaptation (section 6): return the posture on each body, as it eases in.

        Motions are scaled when an actor gets them.
        """
        found = []
        for group, part in zip(self.groups, state.parts, strict=True):
            root, local, phases = group.lines.read(frame, self.read(frame))
            if part.ease:
                offset_postures(root, local, *part.ease.at(frame / self.scene.fps))
            part.postures = [*part.postures[-1:], (root, local, frame)]
            found.append(Postures(root, local, phases=phases))
        return found

    def adapt_ground(
        self, state: CrowdState, scaled: list[Postures], frame: int
    ) -> tuple[list[Postures], list[Feet | None]]:
        """Ground adaptation (section 7): raise roots with the ground, and return foot targets."""
        fps, ground, over = self.scene.fps, self.scene.ground, self._ground_over
        if self._ground_begun is None:
            self._ground_begun = frame
        seconds, self._ground_over = (frame - self._ground_begun) / fps, None
        grounded: list[Postures] = []
        found: list[Feet | None] = []
        for group, part, postures in zip(self.groups, state.parts, scaled, strict=True):
            if self.scene.feet is None or not group.feet:
                grounded.append(postures)
                found.append(None)
                continue
            kinematics = group.kinematics(postures)
            assert postures.phases is not None
            places, turns, stepping = part.holds.place(
                np.take(kinematics.positions, group.feet, axis=1), np.take(kinematics.rotations, group.feet, axis=1),
                postures.phases != STILL, frame / fps, ~part.ease.active(np.arange(group.size)),
            )  # fmt: skip
            flat, height = OnGround(postures.root, places, turns), float(group.heights.mean())
            reached = on_ground(flat, ground, seconds, height)
            ahead = effect_ahead(flat, ground, seconds + 1.0 / fps, height) if over else None
            reached = part.ground.eased(flat, reached, frame, fps, over, ahead)
            if reached.root is postures.root:
                postures.kinematics = kinematics
            grounded.append(replace(postures, root=reached.root))
            found.append(Feet(reached.places, reached.turns, stepping | (postures.phases == AIR)))
        return grounded, found

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
            members = order.members(number) & self._here
            found = self._contacts(posed, state.came, solved_last | members)
            overlaps = overlaps_of(found, [group.actors for group in self.groups], TOLERATED)
            if number > 0:
                # trunks make no way
                members[overlaps.pairs[LIMB[overlaps.pairs[:, 1]], 0]] = True
                members[order.follows[members[order.follows[:, 1]], 0]] = True
                members &= self._here
            if number == most or not members.any():
                break
            if number > order.rounds:
                stuck = np.zeros(len(held), bool)
                stuck[overlaps.pairs[LIMB[overlaps.pairs[:, 1]], 0]] = True
                # contacts of where they will not be
                moved = [
                    np.repeat((stuck & ~held)[group.actors, None], own.radii.shape[1], axis=1)
                    for group, own in zip(self.groups, self._proxies, strict=True)
                ]
                found, earlier = without(found, moved), without(earlier, moved)
                held |= stuck
            further = apart_rows(self._proxies, posed, (found, earlier), freedom) if freedom else []
            # a limb out of one body alone may be in another, which would send it back; one that holds a goal would only
            # swivel, and for both
            earlier, solved_last = without(found, holding), members
            changed = []
            for index, group in enumerate(self.groups):
                some = np.flatnonzero(members[group.actors])
                changed.append(some)
                if not len(some):
                    continue
                start, stays = given[index], None
                if state.came is not None and state.locals is not None and held.any():
                    stays = Held(state.came[index], held[group.actors])
                    start = _held_back(group, start, state.locals[index], some[stays.held[some]], some)
                if len(overlaps):
                    overlaps.shift(group.on_bodies, order.first[group.actors] < number, shifts[index])
                rows, sources = self._rows(
                    state, index, start.poses, posed, before, start.feet, shares[index],
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
        self,
        group: CrowdGroup,
        some: NDArray,
        rows: Rows,
        given: Postures,
        solved: Postures,
        leans: NDArray,
        out: NDArray,
    ) -> NDArray:
        """Solve some characters (n,) of a group from the given postures and leans; return what is left of the rows."""
        from footplant.live import _crowd as kernel

        kernel.begin_again(some, given.root, given.local, leans, solved.root, solved.local, out)
        return solve_rows(
            group.tree, group.bodies, solved.root, solved.local, rows, self.tries, leans=out,
            workspace=group.workspace, which=some,
        )  # fmt: skip

    def _rows(
        self,
        state: CrowdState,
        index: int,
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
        group = self.groups[index]
        table = group.goals
        key = key_of(share, None if self.scene.apart is None else standing)
        balance = None if standing is None or self.scene.balance is None else self.ranks[self.scene.balance]
        if group.layout is None or group.layout.key != key:
            feet, ranks = [], np.zeros((len(group.numbers), 0), np.int64)
            if standing is not None and self.scene.feet is not None:
                feet, planted = group.feet, self.ranks[self.scene.feet]
                ranks = np.where(standing.swings, self.ranks[self._swing_priority(self.scene.feet)], planted)
            group.layout = RowLayout.of(table, share, len(group.numbers), feet, group.tree, ranks, key, balance)
        layout, supports, apart = group.layout, None, self.scene.apart
        chosen = np.zeros(len(group.numbers), bool)
        chosen[some] = True
        goals = np.flatnonzero(chosen[table.row[layout.active]])
        targets = table.targets(
            layout.active[goals], before, posed, unconstrained, self.owners, share,
            [] if apart is None else self._proxies, shifts, held,
        )  # fmt: skip
        if group.starting:
            self._start_goals(state, index, layout.active[goals], targets)
        supported = some[layout.supported[some]]
        if len(supported):
            supports = group.soles.supports(before, group.bodies[1], group.bodies[2], supported, layout.balanced)
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
                found.append(np.take(busy, group.tree.limb_of[own.starts], axis=1))
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


class _Start(NamedTuple):
    """From where the characters of a group are solved."""

    postures: Postures
    poses: Poses
    feet: Feet | None


def _held_back(group: CrowdGroup, given: _Start, came: NDArray, held: NDArray, some: NDArray) -> _Start:
    """Let limbs of held characters (h,) stay as they were at the frame before, but for planted legs.

    There they were clear of other bodies. came: (C, J, 4) local rotations then; some: (n,) characters that are posed.
    Where a foot alone stays, knee and shin go on with the motion and into other bodies: of nine runs of
    `crowd_changes.py` one then has an overlap of 92 mm.
    """
    stay = np.repeat(group.tree.limb_of[None] >= 0, len(held), axis=0)
    if given.feet is not None:
        for n, foot in enumerate(group.feet):
            stay[np.ix_(~given.feet.swings[held, n], group.tree.limb_of == group.tree.limb_of[foot])] = False
    postures, poses = replace(given.postures, local=given.postures.local.copy()), Poses(group.size, len(group.parents))
    postures.local[held] = np.where(stay[..., None], came[held], given.postures.local[held])
    group.update(poses, postures, some)
    feet = given.feet
    if feet is not None:
        places, turns = feet.places.copy(), feet.turns.copy()
        air, foot = np.nonzero(feet.swings[held])
        row, joint = held[air], np.array(group.feet, np.int64)[foot]
        places[row, foot], turns[row, foot] = poses.positions[row, joint], poses.rotations[row, joint]
        feet = replace(feet, places=places, turns=turns)
    return _Start(postures, poses, feet)


def _seconds(ease: float) -> float:
    """Return seconds in which something eases in, if they are some."""
    return real_number(ease, "seconds in which a change eases in", ConstraintError, low=0.0)


def _alike(one: GroupCcd, two: GroupCcd) -> bool:
    """Return whether two solvers have the same joint tree."""
    return one is two or all(
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
