"""The motion of a robot: base and hinges of a whole clip.

Unknowns of each frame are the base (6) and every hinge (D) that follows no other one.

    minimise   Σ_t |pelvis − goal|² + Σ_limbs |direction − goal|² + Σ |turns of pelvis, chest, feet, hands|²
               + ε|q − rest|² + on each unknown w·|D²|², less that of the goal (base) or of the first guess (hinges)
    subject to planted heels and toes at their places, feet flat where both are planted,
               every solid above the ground, solids apart, lower ≤ q ≤ upper, |D¹q| ≤ speed

Legs depend on the base, but not on what the waist carries. So base, waist and legs are solved first, then waist, arms
and neck given base and legs: the matrix of a step is factored in O(frames · n³), and n is two thirds. Limbs and turns
belong to the stage that moves them. Arms and head are sketched before, for the trunk is balanced under their weight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.mechanism.body import SIDES, RobotBody
from footplant.mechanism.motion import Plant
from footplant.mechanism.solids import levels_below
from footplant.order import runs
from footplant.solve.robot.balance import balancing_shift
from footplant.solve.robot.goals import TO_Z_UP, Goals, leg_length
from footplant.solve.robot.moved_steps import step_moves, steps_apart, steps_on_treads
from footplant.solve.robot.settings import ROBOT_SETTINGS, RobotSettings

SKETCH_STEPS = 2
"""Gauss–Newton steps of waist, arms and head before the trunk. Without, the trunk is balanced under arms that move
otherwise in the end: the zero-moment point of six walks on a G1 is outside its feet in 18 % of the frames, with them in
9 %."""
DAMPING = 1e-3
"""Least weight that keeps a step short (Levenberg–Marquardt), per square radian or metre. It rises tenfold after a step
that is longer than allowed, and falls likewise. Knees of half a radian per second (PyBullet's humanoid) that crawl
(111_03) ask for steps of 65 radians between their plants. With the least weight alone, the posture is lost in them: of
eight starts of that clip, each a frame later, solids overlap in 0.7 to 5 % of the frames of all eight, and in more than
0.5 % of one if the weight rises. Matrices are factored half as often."""
PALM_FRAMES = 3
"""Frames: a hand that would rest for less is let go."""
FEET = 4
"""Held points of feet, heel and toe of each side, which come before those of palms."""


@dataclass(frozen=True, eq=False)
class RobotSolution:
    """States of a robot."""

    states: NDArray
    """(F, 7 + D): place of the base, its quaternion (real part first), angles."""
    steps: int
    """Gauss–Newton steps of base and legs."""
    factored: int
    """How often matrices were factored, in all stages."""
    plants: tuple[Plant, ...] = ()
    """Footplants, those let go among them; steps of both feet that would overlap are moved apart."""
    palms: tuple[Plant, ...] = ()
    """Contacts of hands that the arms reach, and in which frames."""
    let_go: tuple[Plant, ...] = ()
    """Footplants that are out of reach, which were let go."""


def solve_robot(goals: Goals, settings: RobotSettings = ROBOT_SETTINGS) -> RobotSolution:
    """Return the states of a robot that best follow its goals, with what must hold."""
    problem = _Problem(goals, settings)
    states = problem.first_guess()
    problem.move_steps(states)
    problem.bend_as(states)
    plants = problem.goals.plants
    trunk, upper = problem.columns(problem.lower_hinges, base=True), problem.columns(problem.upper_hinges, base=False)
    # arms and head weigh as much as they do in the end: the trunk is balanced under them
    factored = problem.solve_stage(states, upper, apart=False, steps=SKETCH_STEPS)[1]
    taken, times = problem.solve_trunk(states, trunk)
    problem.trunk = states[:, 7:].copy()
    problem.keep_palms_in_reach(states)
    factored += times + problem.solve_stage(states, upper)[1]
    if problem.keep_palms_clear(states):
        factored += problem.solve_stage(states, upper)[1]
    angles = problem.coupling.clipped(states[:, 7:])
    return RobotSolution(
        np.concatenate([states[:, :7], angles], axis=1), taken, factored, plants, problem.palms, problem.let_go
    )


class _Problem:
    """The tables of one clip."""

    def __init__(self, goals: Goals, settings: RobotSettings) -> None:
        from footplant.solve.robot import _kernels as kernel

        self.kernel, self.goals, self.settings = kernel, goals, settings
        self.body: RobotBody = goals.body
        self.links, self.mechanism = self.body.links, self.body.mechanism
        self.coupling = self.mechanism.coupling
        self.leg = leg_length(self.body)
        self.tree = self.links.tree
        # a step of the solver, in radians, moves long limbs farther
        self.size = max(self.leg / 0.8, 1.0)
        self.solids = self.body.solids
        self.palms: tuple[Plant, ...] = ()
        self.let_go: tuple[Plant, ...] = ()
        self.trunk: NDArray | None = None
        """(F, D) angles with which the trunk is solved: arms bend its waist away from these."""
        self.palm_weight = settings.palm / self.leg**2
        self.soft = self._soft()
        self.hard = self._hard()
        scale = (goals.fps / 30.0) ** 4
        bend = np.full(6 + len(self.mechanism.joints), settings.smooth * scale)
        bend[:3] = settings.smooth_base * scale / self.leg**2
        bend[3:6] = settings.smooth_base * scale
        self.bend = bend

    def columns(self, hinges: list[int], base: bool) -> NDArray:
        """Return the column of each unknown (6 + D,) that is free, and −1 for the others.

        Hinges that follow a free one have its column.
        """
        coupling = self.coupling
        free = ([*range(6)] if base else []) + [6 + hinge for hinge in hinges if coupling.free[hinge]]
        columns = np.full(6 + len(self.mechanism.joints), -1, np.int64)
        columns[free] = np.arange(len(free))
        columns[6:] = np.where(coupling.stays, -1, columns[6 + coupling.leaders])
        return columns

    @cached_property
    def arms(self) -> dict[str, list[int]]:
        """Return the hinges of each arm, its hand's among them."""
        parts = ("shoulder", "elbow", "wrist")
        found = {}
        for side in SIDES:
            arm = [hinge for part in parts for hinge in self.body.groups.get(f"{side}_{part}", ())]
            if arm:
                found[side] = sorted({*arm, *(link - 1 for link in np.flatnonzero(self.carried_by(arm)).tolist())})
        return found

    @cached_property
    def lower_hinges(self) -> list[int]:
        """Return the hinges that are solved with the base: waist, legs and all that belongs to no other part.

        With them come hinges that follow the same ones, of whatever part.
        """
        outer = {*self.body.groups.get("neck", ()), *(hinge for arm in self.arms.values() for hinge in arm)}
        return self.coupled(hinge for hinge in range(len(self.mechanism.joints)) if hinge not in outer)

    def coupled(self, hinges: Iterable[int]) -> list[int]:
        """Return some hinges with all that follow them or what they follow."""
        return np.flatnonzero(np.isin(self.coupling.leaders, self.coupling.leaders[list(hinges)])).tolist()

    @cached_property
    def upper_hinges(self) -> list[int]:
        """Return the hinges that are solved after them: arms, neck, and the waist once more, unless it moves legs.

        A waist that stays leaves to the arms what their ranges forbid: upper arms of an iCub, which swing back by no
        more than 5°, are off by 6.4° in a walk (02_01), and by 4.5° if its waist turns for them.
        """
        outer = [*self.body.groups.get("neck", ()), *(hinge for arm in self.arms.values() for hinge in arm)]
        waist = list(self.body.groups.get("waist", ()))
        legs = any(self.carried_by(waist)[self.body.soles[side].link] for side in SIDES)
        free = {*outer, *(waist if self.arms and not legs else ())}
        # what moves with a leg stays with it
        return sorted(free.difference(self.coupled(set(range(len(self.mechanism.joints))) - free)))

    def carried_by(self, hinges: list[int]) -> NDArray:
        """Return the links (L,), bool, that any of some hinges moves."""
        moves = np.zeros(len(self.links.parents), bool)
        moves[[hinge + 1 for hinge in hinges]] = True
        paths, depths = self.links.paths
        return np.array([moves[paths[link, :depth]].any() for link, depth in enumerate(depths)])

    def _soft(self):
        goals, body, s, leg = self.goals, self.body, self.settings, self.leg
        frames = len(goals)
        points = [("pelvis", s.pelvis / leg**2)] + [(f"{side}_ankle", s.ankle / leg**2) for side in SIDES]
        limbs = goals.limbs()
        ways, vectors = list(limbs), list(limbs.values())
        self.ways = ways
        weights = [s.limb / max(float(np.linalg.norm(vector[0])), 1e-6) ** 2 for vector in vectors]
        chest = "torso" if "torso" in goals.turns else "pelvis"
        pelvis = body.centers["pelvis"].link
        turns: list[tuple[str, int, NDArray]] = [("pelvis", pelvis, np.full(frames, s.pelvis_turn))]
        if body.chest != pelvis:
            turns.append((chest, body.chest, np.full(frames, s.chest_turn)))
        if body.head is not None:
            turns.append(("head", body.head, np.full(frames, s.head_turn)))
        for side, link in body.hands.items():
            turns.append((f"{side}_wrist", link, np.full(frames, s.hand_turn)))
        for side in SIDES:
            turns.append((f"{side}_ankle", body.soles[side].link, np.full(frames, s.foot_turn)))
        rotations = np.stack([goals.link_turns(joint, link) for joint, link, _ in turns], axis=1)
        weighted = np.stack([weight for _, _, weight in turns], axis=1)
        for number, side in enumerate(SIDES):
            self._lay_flat(side, rotations[:, len(turns) - 2 + number], weighted[:, len(turns) - 2 + number])
        joints = len(self.mechanism.joints)
        return self.kernel.Soft(
            np.array([body.centers[name].link for name, _ in points], np.int64),
            np.array([body.centers[name].place for name, _ in points]),
            np.ascontiguousarray(np.stack([goals.positions[name] for name, _ in points], axis=1)),
            np.array([weight for _, weight in points]),
            np.array([[body.centers[end].link for end in pair] for pair in ways], np.int64).reshape(-1, 2),
            np.array([[body.centers[end].place for end in pair] for pair in ways]).reshape(-1, 2, 3),
            np.ascontiguousarray(np.stack(vectors, axis=1)),
            np.array(weights),
            np.array([link for _, link, _ in turns], np.int64),
            np.ascontiguousarray(rotations),
            np.ascontiguousarray(weighted),
            np.tile(self.links.standing, (frames, 1)),
            np.full(joints, s.posture),
        )

    def _lay_flat(self, side: str, turns: NDArray, weights: NDArray) -> None:
        """Turn the goals of a foot to lie flat where heel and toe are planted, along the line between them."""
        sole = self.body.soles[side]
        heels, toes = (
            [plant for plant in self.goals.plants if plant.side == side and plant.part == part]
            for part in ("heel", "toe")
        )
        # the foot's own axes: heel to toe, and up in the rest pose
        ahead = (sole.toe - sole.heel) / max(float(np.linalg.norm(sole.toe - sole.heel)), 1e-9)
        up = (TO_Z_UP @ self.body.upright @ self.links.rest[1][sole.link]).T @ np.array([0.0, 0.0, 1.0])
        up = up - (up @ ahead) * ahead
        up /= max(float(np.linalg.norm(up)), 1e-9)
        own = np.stack([ahead, np.cross(up, ahead), up], axis=1)
        for heel in heels:
            for toe in toes:
                start, end = max(heel.start, toe.start), min(heel.end, toe.end)
                if start < end:
                    way = np.array(toe.place) - np.array(heel.place)
                    way /= max(float(np.linalg.norm(way)), 1e-9)
                    high = np.array([0.0, 0.0, 1.0]) - way[2] * way
                    high /= max(float(np.linalg.norm(high)), 1e-9)
                    turns[start:end] = np.stack([way, np.cross(high, way), high], axis=1) @ own.T
                    weights[start:end] = self.settings.flat_turn if self.body.rolls[side] else self.settings.edge_turn

    def _hard(self):
        goals, body, s = self.goals, self.body, self.settings
        frames = len(goals)
        names = [(side, part) for side in SIDES for part in ("heel", "toe")]
        self.hands = [side for side in SIDES if any(palm.side == side for palm in goals.palms)]
        names += [(side, "palm") for side in self.hands]
        held, weights = np.zeros((frames, len(names), 3)), np.zeros((frames, len(names)))
        for plant in (*goals.plants, *goals.palms):
            number = names.index((plant.side, plant.part))
            held[plant.start : plant.end, number] = plant.place
            # of legs longer than a metre no less: bounds weigh as much for robots of any size
            weights[plant.start : plant.end, number] = (
                self.palm_weight
                if plant.part == "palm"
                else s.plant * max(goals.fps / 30.0, 1.0) ** 2 / min(self.leg, 1.0) ** 2
            )
        points = [
            (body.centers[f"{side}_wrist"].link, np.array(body.centers[f"{side}_wrist"].place))
            if part == "palm"
            else (body.soles[side].link, getattr(body.soles[side], part))
            for side, part in names
        ]
        # the height of a palm is the floor's to decide, and that of a foot whose ankle does not roll; others give way
        # to the floor: toes under a raised heel may be lower than the point that is planted
        height = s.plant_height if goals.ground is None else 1.0
        upright = [height if part != "palm" and body.rolls[side] else 0.0 for side, part in names]
        links, places, radii = floor_points(body)
        speed = np.where(np.isfinite(self.mechanism.velocity), self.mechanism.velocity, s.speed)
        steps = self.coupling.slowed(np.minimum(speed / goals.fps, s.jump))
        big = 1e3
        return self.kernel.Hard(
            np.array([link for link, _ in points], np.int64),
            np.array([place for _, place in points]),
            held,
            weights,
            np.array([[1.0, 1.0, each] for each in upright]),
            links,
            places,
            radii,
            np.zeros((frames, len(links))),
            np.clip(self.coupling.lower, -big, big),
            np.clip(self.coupling.upper, -big, big),
            steps,
        )

    def first_guess(self) -> NDArray:
        """Return states (F, 7 + D), each frame posed by itself from the one before it."""
        frames, joints = len(self.goals), len(self.mechanism.joints)
        states = np.zeros((frames, 7 + joints))
        # the base is the pelvis, or the chest where the pelvis hangs on it
        pelvis = self.body.centers["pelvis"]
        name = "pelvis" if pelvis.link == 0 or "torso" not in self.goals.turns else "torso"
        base = self.goals.link_turns(name, 0)
        offset = self.links.rest_point(pelvis.link, np.array(pelvis.place))
        states[:, :3] = self.goals.positions["pelvis"] - np.einsum("fij,j->fi", base, offset)
        states[:, 3:7] = rotation.unroll(rotation.from_matrix(base))
        states[:, 7:] = self.coupling.clipped(self.links.standing)
        self.reference = states.copy()
        feet = self.hard._replace(hold_weights=self._of_feet())
        drawn = np.full(joints, self.settings.guess_posture)
        loose = drawn.copy()
        loose[self.lower_hinges] = self.settings.posture
        # legs follow more closely if little draws them, unless they are led astray: the guess that does is taken
        guesses = []
        for weights in (loose, drawn):
            guess = states.copy()
            soft = self.soft._replace(posture_weights=weights)
            self.kernel.track(self.tree, soft, feet, guess, 80, 3, 1e-3)
            guesses.append((self.off_limbs(guess), guess))
        return min(guesses, key=lambda each: each[0])[1]

    def off_limbs(self, states: NDArray) -> float:
        """Return what limbs that are off their goals cost."""
        at, turn = self.links.pose(states)
        (above, below), places = self.soft.way_links.T, self.soft.way_places
        ways = at[:, below] + np.einsum("fsij,sj->fsi", turn[:, below], places[:, 1])
        ways -= at[:, above] + np.einsum("fsij,sj->fsi", turn[:, above], places[:, 0])
        return float((self.soft.way_weights * ((ways - self.soft.way_goals) ** 2).sum(axis=2)).sum())

    def move_steps(self, states: NDArray) -> None:
        """Move steps of both feet that would overlap apart, and those whose foot is in a riser away from it.

        states: of the first guess, in which feet are planted; guessed again for feet that are moved away from a riser,
        out of which the ground would raise them.
        """
        if self.goals.ground is not None:
            plants = steps_on_treads(self.body, self.goals.plants, *self.links.pose(states), self.goals.ground_heights)
            if plants != self.goals.plants:
                moves = step_moves(self.goals.plants, plants, len(states))
                self.goals = replace(self.goals.with_moved_feet(moves), plants=plants)
                self.soft, self.hard = self._soft(), self._hard()
                states[:] = self.first_guess()
        if len(self.solids.pairs):
            moved = tuple(steps_apart(self.body, self.goals.plants, *self.links.pose(states), self.settings.apart))
            if moved != self.goals.plants:
                self.goals = replace(self.goals, plants=moved)
                self.soft, self.hard = self._soft(), self._hard()

    def bend_as(self, states: NDArray) -> None:
        """Let hinges bend freely as they do in a first guess, as far as that is no faster than limbs swing.

        Weights on all of D² flatten the swing of limbs as well. What a footplant or a balanced body takes is
        weighed.
        """
        scale = (self.goals.fps / 30.0) ** 6
        self.reference[:, 7:] = smoothed(states[:, 7:], self.settings.guess_smooth * scale)

    def solve_trunk(self, states: NDArray, columns: NDArray) -> tuple[int, int]:
        """Solve base, waist and legs in place.

        Legs that cannot be kept apart where their feet are planted may throw the whole body about: if plants are missed
        with solids kept apart, they are solved again without. A plant that is missed all the same is out of reach
        given all others, the floor, ranges and speeds: it would drag the body through them, and is let go.
        """
        start, reference = states.copy(), self.reference.copy()
        most = self.settings.missed * self.leg
        steps, times = 0, 0
        for number in range(self.settings.let_go + 1):
            goals = self.soft.point_goals.copy(), self.soft.way_goals.copy()
            taken, factored = self.solve_stage(states, columns, balance=self.settings.balance)
            steps, times = steps + taken, times + factored
            missed, high = self.missed(states)
            if missed.max(initial=0.0) >= most and len(self.solids.pairs):
                found, states[:], self.reference[:] = states.copy(), start, reference
                self.soft.point_goals[:], self.soft.way_goals[:] = goals
                taken, factored = self.solve_stage(states, columns, balance=self.settings.balance, apart=False)
                steps, times = steps + taken, times + factored
                apart, above = missed, high
                missed, high = self.missed(states)
                if missed.max(initial=0.0) > 0.5 * apart.max(initial=0.0):
                    states[:], missed, high = found, apart, above
            missed = np.maximum(missed, self.settings.missed_height * high)
            if missed.max(initial=0.0) < most or number == self.settings.let_go:
                break
            plants = self.goals.plants
            # one that cannot be reached drags others away: the least is lost with the shortest
            near_worst = np.flatnonzero(missed > 0.5 * missed.max())
            worst = int(min(near_worst, key=lambda each: plants[each].end - plants[each].start))
            self.let_go += (plants[worst],)
            self.goals = replace(self.goals, plants=plants[:worst] + plants[worst + 1 :])
            self.soft, self.hard = self._soft(), self._hard()
            states[:], self.reference[:] = start, reference
        return steps, times

    def missed(self, states: NDArray) -> tuple[NDArray, NDArray]:
        """Return how far each planted point is from its place at most, metres: along the ground, and in height.

        A foot that stands on what is lower than the planted point, on the tips of its toes, is not too high.
        """
        at, turn = self.links.pose(states)
        lowest = {}
        for side, own in self.body.feet.items():
            foot = own[self.hard.floor_links]
            links, places = self.hard.floor_links[foot], self.hard.floor_places[foot]
            heights = at[:, links, 2] + (turn[:, links, 2] * places).sum(axis=2) - self.hard.floor_radii[foot]
            lowest[side] = heights.min(axis=1, initial=np.inf)
        found, high = [], []
        for plant in self.goals.plants:
            sole, frames = self.body.soles[plant.side], slice(plant.start, plant.end)
            place = at[frames, sole.link] + turn[frames, sole.link] @ getattr(sole, plant.part)
            off = np.abs(place - np.array(plant.place))
            found.append(float(off[:, :2].max(initial=0.0)))
            above = np.minimum(off[:, 2], np.abs(lowest[plant.side][frames] - plant.place[2]))
            high.append(float(above.max(initial=0.0)) if self.body.rolls[plant.side] else 0.0)
        return np.array(found), np.array(high)

    def shift_to_balance(self, states: NDArray) -> float:
        """Move goals, reference and states (in place) sideways to where the robot is balanced; return how far."""
        s, scale = self.settings, (self.goals.fps / 30.0) ** 4
        shift = balancing_shift(
            self.body, states, self.goals.plants, self.goals.fps,
            self.soft.point_goals[:, 0, :2] - self.goals.positions["pelvis"][:, :2], stay=s.balance_stay,
            smooth=s.balance_smooth * scale, far=s.balance_far * self.leg, most=s.balance_most * self.leg,
        )  # fmt: skip
        self.soft.point_goals[:, 0, :2] += shift
        # ankles stay, and knees move half as far as the hips
        for number, (above, below) in enumerate(self.ways):
            if above.endswith(("hip", "knee")) and below.endswith(("knee", "ankle")):
                self.soft.way_goals[:, number, :2] -= 0.5 * shift
        self.reference[:, :2] += shift
        states[:, :2] += shift
        return float(np.abs(shift).max(initial=0.0))

    def solve_stage(
        self, states: NDArray, columns: NDArray, *, balance: int = 0, apart: bool = True, steps: int | None = None
    ) -> tuple[int, int]:
        """Solve some unknowns of all frames in place; return Gauss–Newton steps, and matrices factored.

        balance: how many of the first steps begin with a shift to balance. apart: whether solids are kept apart.
        steps: largest number of steps; None for that of the settings.
        """
        kernel, s = self.kernel, self.settings
        frames, count = len(states), int(columns.max(initial=-1)) + 1
        if not count:
            return 0, 0
        own, moved = self.own_links(columns), self.moved(columns)
        # a neck does not lift its head out of the floor: that is the trunk's to do
        kept = (own | self.carried_by(list(self.body.groups.get("neck", ()))))[self.hard.floor_links]
        hard = self.hard._replace(
            floor_links=self.hard.floor_links[kept], floor_places=np.ascontiguousarray(self.hard.floor_places[kept]),
            floor_radii=self.hard.floor_radii[kept], floor_levels=np.zeros((frames, int(kept.sum()))),
        )  # fmt: skip
        soft = self.soft_rows(own, moved | (columns[0] >= 0))
        if columns[0] >= 0:
            # arms, which come later, reach for palms: the trunk does not give way to them
            hard = hard._replace(hold_weights=self._of_feet())
        else:
            soft.turn_weights[:, soft.turn_links == self.body.chest] = s.waist_turn
            if self.trunk is not None:
                waist = list(self.body.groups.get("waist", ()))
                posture, weights = soft.posture.copy(), soft.posture_weights.copy()
                posture[:, waist], weights[waist] = self.trunk[:, waist], s.waist_bend
                soft = soft._replace(posture=posture, posture_weights=weights)
        room = kernel.Room(
            np.empty((frames, count, count)), np.empty((frames, count)), kernel.band_room(frames, count),
            np.zeros((frames, count)), np.zeros((frames, count), np.int8), np.zeros((frames, count), np.int8),
        )  # fmt: skip
        renewed = apart and len(self.solids.pairs) > 0
        pairs = self.near_pairs(states if apart else states[:0], own, moved)
        rows = kernel.rows_room(frames, 8 * frames + 2 * len(pairs.frames), count)
        touching = np.zeros((frames, len(hard.floor_links)), np.int8)
        # what follows adds to the smoothness of what it follows, whose range and speed are narrowed for it
        bend, leading = np.zeros(count), columns.copy()
        leading[6:][~self.coupling.free] = -1
        for unknown, column in enumerate(columns):
            if column >= 0:
                share = 1.0 if unknown < 6 else self.coupling.multipliers[unknown - 6]
                bend[column] += share**2 * self.bend[unknown]
        near = kernel.Near(s.margin * self.leg / 0.8, s.apart, s.part * self.size)
        factored = shifted = 0
        damping = DAMPING
        for number in range(balance + s.steps if steps is None else steps):
            if self.goals.ground is not None:
                # before a shift, which takes feet along: planted ones come back
                self.level_floor(states, hard)
            if number and shifted == number - 1 < balance:
                longest = self.shift_to_balance(states)
                soft = self.soft_rows(own, moved | (columns[0] >= 0))
                shifted += longest > s.balanced * self.leg
            if renewed and number:
                pairs = self.near_pairs(states, own, moved)
            asked = (self.tree, columns, soft, hard, pairs, states, near, touching, room)
            most = kernel.assemble(*asked, rows)
            if most > len(rows.gaps):
                rows = kernel.rows_room(frames, 2 * most, count)
                kernel.assemble(*asked, rows)
            kernel.add_smoothness(leading, bend, states, self.reference, room.vectors)
            # more and more where steps do not settle
            least = DAMPING if number - shifted < 5 else 1e-2 * 4.0 ** (number - shifted - 5)
            times = kernel.step(leading, hard, states, rows, room, bend, max(damping, least), s.rounds)
            if times < 0:
                break
            factored += times
            kernel.remember(rows, touching)
            allowed = 0.5 if number < 4 else 0.2
            longest = kernel.move(states, leading, room.change, allowed)
            states[:, 7:] = self.coupling.applied(states[:, 7:])
            damping = 10.0 * damping if longest > allowed else max(0.1 * damping, DAMPING)
            if (longest < s.settled and shifted < max(number, 1)) or number - shifted == s.steps:
                break
        return number + 1, factored

    def _of_feet(self) -> NDArray:
        """Return the weights of held points without those of palms."""
        weights = self.hard.hold_weights.copy()
        weights[:, FEET:] = 0.0
        return weights

    def keep_palms_in_reach(self, states: NDArray) -> None:
        """Keep of each contact of a hand the longest run of frames in which the arm reaches it from this trunk."""
        at, turn = self.links.pose(states)
        centers, kept = self.body.centers, []
        numbers = {side: FEET + number for number, side in enumerate(self.hands)}
        self.hard.hold_weights[:, FEET:] = 0.0
        for palm in self.goals.palms:
            shoulder = centers[f"{palm.side}_shoulder"]
            rest = [
                self.links.rest_point(
                    centers[f"{palm.side}_{part}"].link, np.array(centers[f"{palm.side}_{part}"].place)
                )
                for part in ("shoulder", "elbow", "wrist")
            ]
            length = sum(float(np.linalg.norm(b - a)) for a, b in pairwise(rest))
            frames = slice(palm.start, palm.end)
            wrist = centers[f"{palm.side}_wrist"]
            tracks = [at[frames, end.link] + turn[frames, end.link] @ np.array(end.place) for end in (shoulder, wrist)]
            # where the arm of this trunk is anyway; its height is the floor's to decide
            place = tracks[1].mean(axis=0)
            near = np.linalg.norm((tracks[0] - place)[:, :2], axis=1) < self.settings.reach * length
            first, last = longest_run(near)
            if last - first >= PALM_FRAMES:
                start, end = palm.start + first, palm.start + last
                kept.append(replace(palm, start=start, end=end, place=tuple(place.tolist())))
                self.hard.hold_goals[start:end, numbers[palm.side]] = place
                self.hard.hold_weights[start:end, numbers[palm.side]] = self.palm_weight
        self.palms = tuple(kept)

    def keep_palms_clear(self, states: NDArray) -> bool:
        """Let go of a hand where its arm, solved, is in the body; return whether one was, so that it is solved again.

        Of each contact the longest run of frames is kept that is clear of the body.
        """
        found = self.solids.near(*self.links.pose(states), -0.001)
        hits = {}
        for side, hinges in self.arms.items():
            arm, hits[side] = self.carried_by(hinges), np.zeros(len(states), bool)
            hits[side][found.frames[arm[found.links[:, 0]] != arm[found.links[:, 1]]]] = True
        kept = []
        for palm in self.palms:
            frames, hit = slice(palm.start, palm.end), hits[palm.side]
            if not hit[frames].any():
                kept.append(palm)
                continue
            number = FEET + self.hands.index(palm.side)
            self.hard.hold_weights[frames, number] = 0.0
            start, end = longest_run(~hit[frames])
            if end - start >= PALM_FRAMES:
                palm = replace(palm, start=palm.start + start, end=palm.start + end)
                self.hard.hold_weights[palm.start : palm.end, number] = self.palm_weight
                kept.append(palm)
        changed, self.palms = tuple(kept) != self.palms, tuple(kept)
        return changed

    def level_floor(self, states: NDArray, hard) -> None:
        """Write the heights of the ground below all solids; one that is deep in a riser rises slowly."""
        at, turn = self.links.pose(states)
        places = at[:, hard.floor_links] + np.einsum("fpij,pj->fpi", turn[:, hard.floor_links], hard.floor_places)
        margin = self.settings.margin * self.leg / 0.8
        heights = levels_below(self.goals.ground_heights, places, hard.floor_radii, margin)
        hard.floor_levels[:] = np.minimum(heights, places[..., 2] - hard.floor_radii + self.settings.rise)

    def near_pairs(self, states: NDArray, own: NDArray, moved: NDArray):
        """Return solids that are near each other, where the unknowns of a stage move one of them against the other.

        own, moved: what `own_links` and `moved` return for that stage.
        """
        near = self.solids.near(*self.links.pose(states), self.settings.near * self.size)
        apart = (moved[near.links[:, 0]] != moved[near.links[:, 1]]).any(axis=1)
        chosen = np.flatnonzero(apart & own[near.links].all(axis=1))
        radii = self.solids.table.radii[self.solids.pairs[near.pairs[chosen]]].sum(axis=1)
        return self.kernel.Pairs(
            near.frames[chosen], near.links[chosen], near.places[chosen], near.normals[chosen], -radii
        )

    def soft_rows(self, own: NDArray, moved: NDArray):
        """Return the limbs and turns of a stage: those of its own links that it moves.

        A trunk that followed arms would follow those of the first guess, which jump from frame to frame where a
        shoulder has more hinges than it needs.
        """
        soft = self.soft
        ways = own[soft.way_links].all(axis=1) & moved[soft.way_links[:, 1]].any(axis=1)
        turns = own[soft.turn_links] & moved[soft.turn_links].any(axis=1)
        return soft._replace(
            way_links=soft.way_links[ways], way_places=soft.way_places[ways],
            way_goals=np.ascontiguousarray(soft.way_goals[:, ways]), way_weights=soft.way_weights[ways],
            turn_links=soft.turn_links[turns], turn_goals=np.ascontiguousarray(soft.turn_goals[:, turns]),
            turn_weights=np.ascontiguousarray(soft.turn_weights[:, turns]),
        )  # fmt: skip

    def own_links(self, columns: NDArray) -> NDArray:
        """Return the links (L,), bool, that a stage is responsible for.

        The first stage leaves arms and head to the stages that move them: a trunk does not give way to a hand.
        """
        if columns[0] < 0:
            return np.ones(len(self.links.parents), bool)
        paths, depths = self.links.paths
        fixed = np.concatenate([[False], (columns[6:] < 0) & ~self.coupling.stays])
        return np.array([not fixed[paths[link, :depth]].any() for link, depth in enumerate(depths)])

    def moved(self, columns: NDArray) -> NDArray:
        """Return which of the free hinges move each link (L, D), bool."""
        paths, depths = self.links.paths
        out = np.zeros((len(depths), len(self.mechanism.joints)), bool)
        for link, depth in enumerate(depths):
            out[link, paths[link, :depth] - 1] = True
        return out & (columns[6:] >= 0)


def longest_run(true: NDArray) -> tuple[int, int]:
    """Return first and end of the longest run of a mask (F,); an empty one if there is none."""
    return max(runs(true), key=lambda run: run[1] - run[0], default=(0, 0))


def smoothed(values: NDArray, weight: float) -> NDArray:
    """Return the values (F, N) that are nearest to these, with a weight on the squares of their third differences."""
    from scipy.linalg import solveh_banded

    frames, by = len(values), np.array([-1.0, 3.0, -3.0, 1.0])
    if frames < len(by):
        return values
    band = np.zeros((len(by), frames))
    band[0] = 1.0
    for first, one in enumerate(by):
        for second in range(first, len(by)):
            band[second - first, first : frames - 3 + first] += weight * one * by[second]
    return solveh_banded(band, values, lower=True)


def floor_points(body: RobotBody) -> tuple[NDArray, NDArray, NDArray]:
    """Return links (P,), places (P, 3) and radii (P,) of points that span all solids, and soles without solids."""
    links, places, radii = body.solids.surface
    for sole in body.soles.values():
        if sole.link not in links:
            links = np.concatenate([links, np.full(len(sole.points), sole.link)])
            places = np.concatenate([places, sole.points])
            radii = np.concatenate([radii, np.zeros(len(sole.points))])
    return links, np.ascontiguousarray(places), radii
