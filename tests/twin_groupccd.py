"""The group solver once more, in NumPy: one figure at one instant, vectors instead of scalars, no workspace.

Kulpa, Multon & Arnaldi 2005, section 9. Slow and short; `solve.ik.groupccd._pose` must agree with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.rotation import exp, inverse, log, multiply, rotate
from footplant.solve.ik.groupccd.rows import BALANCE, CENTER, DISTANCE, HALF_SPACE, ORIENTATION, POSITION

NEAR, SLACK, OUT_OF_PLACE, ROOT_FIRST, REACH = 1e-4, 3e-4, 1e-3, 2, 0.995
UP = np.array([0.0, 1.0, 0.0])


@dataclass(eq=False)
class Row:
    """What is asked for; see `solve.ik.groupccd.rows.Rows`."""

    kind: int
    joint: int
    other: int
    rank: int
    allow: int
    point: NDArray
    target: NDArray
    other_point: NDArray
    share: float
    goal: NDArray | None = None
    """The target with its share: a place, a turn, or in column 3 a level or distance."""
    ends: tuple[NDArray, NDArray] | None = None
    """Of a distance: where its points should go."""


@dataclass(eq=False)
class Task:
    """What a limb must do: a row, the joint and the place on it, and where that should be."""

    row: Row
    joint: int
    point: NDArray
    goal: NDArray


def unit(vector: NDArray) -> NDArray:
    return vector / np.linalg.norm(vector)


def cross_turn(one: NDArray, two: NDArray, spare: NDArray) -> NDArray:
    """The smallest turn from one direction to another, as axis and angle."""
    if np.linalg.norm(one) < 1e-12 or np.linalg.norm(two) < 1e-12:
        return np.array([1.0, 0, 0, 0])
    axis = np.cross(one, two)
    angle = np.arctan2(np.linalg.norm(axis), one @ two)
    if np.linalg.norm(axis) < 1e-15 * np.linalg.norm(one) * np.linalg.norm(two):
        return (
            np.array([1.0, 0, 0, 0]) if angle < 1 else np.array([0.0, *unit(spare - (spare @ unit(one)) * unit(one))])
        )
    return exp(angle * unit(axis))


class Figure:
    """A figure while it is solved: `Figure(tree arrays, bones, masses, centres, root, local, rows, polygon)`."""

    def __init__(self, arrays, bones, masses, centers, root, local, rows: list[Row], polygon: NDArray) -> None:
        tree, self.used, limbs, hinges, self.sweep, self.turns, self.below, self.state, pelvis = arrays
        self.pelvis = int(pelvis[0])
        self.parents, self.limb_of, self.segment = tree.T
        self.limbs = {n: tuple(row[:3]) for n, row in enumerate(limbs.tolist()) if row[0] >= 0}
        self.axis, self.flexion = hinges[:, :3], hinges[:, 3:]
        self.bones, self.masses, self.centers, self.rows, self.polygon = bones, masses, centers, rows, polygon
        self.number = {id(row): n for n, row in enumerate(rows)}
        self.root, self.came_root = np.array(root), np.array(root)
        self.local, self.base, self.came = np.array(local), np.array(local), np.array(local)
        self.place, self.turn = np.zeros((len(local), 3)), np.zeros((len(local), 4))
        self.pose(self.used)
        self.came_place, self.came_turn = self.place.copy(), self.turn.copy()
        self.tasks: dict[int, dict] = {n: {} for n in self.limbs}

    def pose(self, joints) -> None:
        for j in joints:
            p = self.parents[j]
            if p < 0:
                self.place[j], self.turn[j] = self.root, self.local[j]
            else:
                self.place[j] = self.place[p] + rotate(self.turn[p], self.bones[j])
                self.turn[j] = multiply(self.turn[p], self.local[j])

    def pose_limb(self, limb: int) -> None:
        self.pose([j for j in self.used if self.limb_of[j] == limb])

    def at(self, joint: int, point: NDArray) -> NDArray:
        return self.place[joint] + rotate(self.turn[joint], point)

    def set_turn(self, joint: int, turn: NDArray) -> None:
        self.local[joint] = multiply(inverse(self.turn[self.parents[joint]]), unit(turn))

    def ask(self, rows: list[Row], factor: float) -> None:
        """Ramps lead from where the pose came in to where it should be."""
        for row in rows:
            share, goal = factor * row.share, row.target.copy()
            came = self.came_place[row.joint] + rotate(self.came_turn[row.joint], row.point)
            if row.kind == ORIENTATION:
                way = log(multiply(row.target, inverse(self.came_turn[row.joint])))
                goal = multiply(exp(share * way), self.came_turn[row.joint])
            elif row.kind == POSITION:
                goal[:3] = came + share * (row.target[:3] - came)
            elif row.kind == HALF_SPACE:
                goal[3] -= (1.0 - share) * max(row.target[3] - row.target[:3] @ came, 0.0)
            elif row.kind == DISTANCE:
                other = self.came_place[row.other] + rotate(self.came_turn[row.other], row.other_point)
                length = np.linalg.norm(came - other)
                goal[3] = length + share * (row.target[3] - length)
            row.goal = goal

    def center(self) -> NDArray:
        with_mass = [j for j in self.used if self.masses[j] > 0]
        return sum((self.masses[j] * self.at(j, self.centers[j]) for j in with_mass), np.zeros(3))

    def mass_shift(self, row: Row) -> NDArray:
        center = self.center()
        if row.kind == BALANCE:
            return row.share * (self.over_support(center) - center)
        return row.share * row.point * (row.target[:3] - center)

    def over_support(self, center: NDArray) -> NDArray:
        flat, corners = center[::2], self.polygon
        if not len(corners):
            return center
        edges, away = np.roll(corners, -1, axis=0) - corners, flat - corners
        if len(corners) > 2 and (edges[:, 0] * away[:, 1] - edges[:, 1] * away[:, 0] >= 0).all():
            return center
        square = np.sum(edges**2, axis=1)
        t = np.clip(np.sum(edges * away, axis=1) / np.where(square > 0, square, 1.0), 0, 1)
        places = corners + t[:, None] * edges
        nearest = places[np.sum((places - flat) ** 2, axis=1).argmin()]
        return np.array([nearest[0], center[1], nearest[1]])

    def error(self, row: Row) -> float:
        if row.kind >= CENTER:
            return float(np.linalg.norm(self.mass_shift(row)))
        assert row.goal is not None
        if row.kind == ORIENTATION:
            dot = abs(float(row.goal @ self.turn[row.joint]))
            return 2.0 * np.arccos(dot) if dot < 1.0 - 1e-12 else 0.0
        place = self.at(row.joint, row.point)
        if row.kind == POSITION:
            return float(np.linalg.norm(place - row.goal[:3]))
        if row.kind == HALF_SPACE:
            return max(float(row.goal[3] - row.target[:3] @ place), 0.0)
        return abs(float(np.linalg.norm(place - self.at(row.other, row.other_point)) - row.goal[3]))

    # limbs

    def find_tasks(self, limb: int, with_distances: bool) -> dict:
        """end, second, before, turned: the most important row of each; planes that the end must respect."""
        found, planes = {"first": "end"}, []
        for row in self.rows:
            if row.kind >= CENTER or (row.kind == DISTANCE and not with_distances):
                continue
            for side in range(2 if row.kind == DISTANCE else 1):
                joint, point = ((row.joint, row.point), (row.other, row.other_point))[side]
                if self.limb_of[joint] != limb:
                    continue
                if row.kind == ORIENTATION:
                    found.setdefault("turned", row)
                    continue
                beyond = self.segment[joint] == 2
                where = ("second" if "end" in found else "end") if beyond else "before"
                assert row.goal is not None
                goal = row.goal[:3]
                if row.kind == DISTANCE:
                    assert row.ends is not None
                    goal = row.ends[side]
                if row.kind == HALF_SPACE:
                    if where == "end" and len(planes) < 4:
                        planes.append(row)
                    place = self.at(joint, point)
                    miss = row.goal[3] - row.target[:3] @ place
                    if where != "before" or miss <= 0:
                        continue
                    goal = place + miss * row.target[:3]
                if where not in found:
                    found[where] = Task(row, joint, point, goal)
                    if where == "before" and "end" not in found:
                        found["first"] = "before"
        if planes:
            self.respect(planes, found)
        return found

    def respect(self, planes: list[Row], found: dict) -> None:
        free = "end" not in found
        task = Task(planes[0], planes[0].joint, planes[0].point, UP) if free else found["end"]
        place = self.at(task.joint, task.point)
        shift = np.zeros(3) if free else task.goal - place
        moved = False
        for _ in range(2 if len(planes) > 1 else 1):
            for row in planes:
                assert row.goal is not None
                miss = row.goal[3] - row.target[:3] @ (self.at(row.joint, row.point) + shift)
                if miss > 0:
                    moved, shift = True, shift + miss * row.target[:3]
        task.goal = place + shift
        if moved or not free:
            found["end"] = task

    def bend_and_aim(self, limb: int, place: NDArray, goal: NDArray) -> None:
        """Bring what is at a place below the hinge onto a goal."""
        u, m, _ = self.limbs[limb]
        axis = rotate(self.turn[u], self.axis[limb])
        upper, lower, goal = self.place[m] - self.place[u], place - self.place[m], goal - self.place[u]
        a, b = (v - (v @ axis) * axis for v in (upper, lower))
        radii = np.linalg.norm(a) * np.linalg.norm(b)
        now = np.arctan2(axis @ np.cross(a, b), a @ b)
        turn = 0.0
        if radii >= 1e-15:
            # |a|² + |b|² + 2 |a||b| cos + (what lies along the axis)² = distance²
            along = (upper + lower) @ axis
            cosine = (goal @ goal - along**2 - a @ a - b @ b) / (2.0 * radii)
            flexion = np.clip(np.arccos(np.clip(cosine, -1, 1)), *self.flexion[limb])
            turn = (-flexion if now < -1.5 else flexion) - now
        bent = exp(turn * axis)
        lower = rotate(bent, lower)
        self.set_turn(m, multiply(bent, self.turn[m]))
        self.turn_limb(limb, cross_turn(upper + lower, goal, axis))

    def turn_limb(self, limb: int, turn: NDArray) -> None:
        u = self.limbs[limb][0]
        self.set_turn(u, multiply(turn, self.turn[u]))
        self.pose_limb(limb)

    def swivel(self, limb: int, towards: NDArray, place: NDArray, goal: NDArray) -> None:
        """Turn about the axis through the upper joint, the place towards the goal."""
        start = self.place[self.limbs[limb][0]]
        axis = towards - start
        if np.linalg.norm(axis) < 1e-9:
            return
        axis = unit(axis)
        a, b = (v - start - ((v - start) @ axis) * axis for v in (place, goal))
        if a @ a >= 1e-12:
            self.turn_limb(limb, exp(np.arctan2(axis @ np.cross(a, b), a @ b) * axis))

    def solve_limb(self, limb: int, with_distances: bool, stay: bool) -> None:
        u, m, e = self.limbs[limb]
        for j in (u, m, e):
            self.local[j] = self.base[j]
        self.pose_limb(limb)
        found = self.tasks[limb] = self.find_tasks(limb, with_distances)
        leg = limb < 2
        if not {"end", "before", "turned"} & set(found):
            if leg and stay:
                self.bend_and_aim(limb, self.place[e], self.came_place[e])
                self.set_turn(e, self.came_turn[e])
                self.pose_limb(limb)
            return
        turn = self.came_turn[e].copy() if leg else self.turn[e].copy()
        if "turned" in found:
            turn = found["turned"].goal
        held, wrist = leg or "turned" in found, np.zeros(3)
        if "end" in found:
            task, back = found["end"], inverse(self.turn[e])
            arm = rotate(back, self.at(task.joint, task.point) - self.place[e])
            if "second" in found and "turned" not in found:
                second = found["second"]
                other = rotate(back, self.at(second.joint, second.point) - self.place[e])
                turn = multiply(cross_turn(rotate(turn, other - arm), second.goal - task.goal, UP), turn)
                held = True
            beside = arm @ arm > 1e-12
            if beside and not held and found["first"] == "end":
                for _ in range(3):
                    self.bend_and_aim(limb, self.place[e], task.goal - rotate(self.turn[e], arm))
                turn = self.turn[e].copy()
            held = held or beside
            wrist = task.goal - rotate(turn, arm)
        found["wrist"] = wrist
        if found["first"] == "before":
            self.before_first(limb, found)
        elif "end" in found:
            self.bend_and_aim(limb, self.place[e], wrist)
            if "before" in found:
                task = found["before"]
                self.swivel(limb, self.place[e], self.at(task.joint, task.point), task.goal)
        if held:
            self.set_turn(e, turn)
        self.pose_limb(limb)

    def before_first(self, limb: int, found: dict) -> None:
        u, m, e = self.limbs[limb]
        task = found["before"]
        place = self.at(task.joint, task.point)
        if self.segment[task.joint] == 0 or np.linalg.norm(place - self.place[m]) < 1e-4:
            if "end" in found:
                self.bend_and_aim(limb, self.place[e], found["wrist"])
            place = self.at(task.joint, task.point)
            self.turn_limb(limb, cross_turn(place - self.place[u], task.goal - self.place[u], UP))
        else:
            self.bend_and_aim(limb, place, task.goal)
        if "end" in found:
            self.swivel(limb, self.at(task.joint, task.point), self.place[e], found["wrist"])

    def demand(self, limb: int) -> NDArray | None:
        """Where the upper joint should be; None where it may stay."""
        u, m, e = self.limbs[limb]
        found, start = self.tasks[limb], self.place[u]
        if not {"end", "before"} & set(found):
            return None
        upper, lower = np.linalg.norm(start - self.place[m]), np.linalg.norm(self.place[e] - self.place[m])
        came = np.linalg.norm(self.came_place[u] - self.came_place[e])
        least, most = self.folded(limb, upper, lower), max(REACH * (upper + lower), min(came, upper + lower))
        wrist = found["wrist"]
        if "before" not in found:
            level = np.sum((start - wrist)[::2] ** 2)
            if limb < 2 and start[1] > wrist[1] and level < most**2:
                height = wrist[1] + np.sqrt(most**2 - level)
                if start[1] - height > 1e-6:
                    return np.array([start[0], height, start[2]])
            return self.nearest(start, wrist, least, most)
        task, end_first = found["before"], "end" in found and found["first"] == "end"
        place, goal = self.at(task.joint, task.point), task.goal
        beyond = np.linalg.norm(place - self.place[m]) if self.segment[task.joint] == 1 else 0.0
        if beyond > 1e-4:
            if end_first:
                return self.nearest(start, wrist, least, most)
            return self.nearest(start, goal, self.folded(limb, upper, beyond), REACH * (upper + beyond))
        if end_first:
            goal = wrist + lower * (goal - wrist) / max(np.linalg.norm(goal - wrist), 1e-12)
        arm = np.linalg.norm(place - start)
        return self.nearest(start, goal, arm, arm)

    def folded(self, limb: int, upper: float, lower: float) -> float:
        square = upper**2 + lower**2 + 2.0 * upper * lower * np.cos(self.flexion[limb, 1])
        return float(np.sqrt(max(square, 0.0)))

    @staticmethod
    def nearest(start: NDArray, goal: NDArray, least: float, most: float) -> NDArray | None:
        length = np.linalg.norm(start - goal)
        wanted = np.clip(length, least, most)
        if length < 1e-9 or abs(wanted - length) < 1e-6:
            return None
        return goal + wanted / length * (start - goal)
