"""The trunk and the priorities of the group solver once more, in NumPy: see `twin_groupccd`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.rotation import exp, inverse, log, multiply, rotate
from footplant.solve.ik.groupccd.rows import BALANCE, CENTER, DISTANCE, HALF_SPACE, ORIENTATION, POSITION, ROOT, Rows
from twin_groupccd import NEAR, OUT_OF_PLACE, ROOT_FIRST, SLACK, Figure, Row

STAYS_BEHIND = np.array([1.15, 1.0, 1.15])


class Solver(Figure):
    """One pose under its rows, by rank."""

    def settle(self, may_drop: bool = True) -> None:
        """The trunk as its base has it, then all limbs; hips come down where a leg would not reach."""
        for again in (False, True):
            moved = again or bool((self.root != self.came_root).any())
            trunk = [j for j in self.used if self.limb_of[j] < 0]
            self.local[trunk] = self.base[trunk]
            self.pose(trunk)
            drop = 0.0
            for limb in sorted({0, 1} & set(self.limbs)):
                self.solve_limb(limb, False, moved)
                wanted = self.demand(limb) if may_drop and not again else None
                if wanted is not None:
                    drop = max(drop, self.place[self.limbs[limb][0], 1] - wanted[1])
            if drop <= 0:
                break
            self.root[1] -= drop
        for limb in sorted({2, 3} & set(self.limbs)):
            self.solve_limb(limb, False, moved)
        if self.aim_distances():
            for limb in self.limbs:
                self.solve_limb(limb, True, moved)

    def aim_distances(self) -> bool:
        found = [row for row in self.rows if row.kind == DISTANCE]
        for row in found:
            limbs = [self.limb_of[row.joint], self.limb_of[row.other]]
            legs = [limb in (0, 1) and other > 1 for limb, other in (limbs, limbs[::-1])]
            free = [limb >= 0 and not leg for limb, leg in zip(limbs, legs, strict=True)]
            for other in self.rows:
                if other.kind == POSITION and other.rank < row.rank:
                    held = self.limb_of[other.joint]
                    free = [is_free and limb != held for is_free, limb in zip(free, limbs, strict=True)]
            one, two = self.at(row.joint, row.point), self.at(row.other, row.other_point)
            away = one - two
            length = np.linalg.norm(away)
            assert row.goal is not None
            more = (row.goal[3] - length) / length * away
            share = 0.5 if all(free) else float(free[0])
            row.ends = one + share * more, two - (1.0 - share) * more
        return bool(found)

    def snapshot(self) -> tuple[NDArray, NDArray]:
        return self.base.copy(), self.root.copy()

    def restore_mass(self, rank: int, rounds: int) -> None:
        for _ in range(rounds):
            shifts = [self.mass_shift(row) for row in self.rows if row.kind >= CENTER and row.rank <= rank]
            shifts = [shift for shift in shifts if shift @ shift > NEAR**2]
            if not shifts:
                break
            self.root = self.root + sum(STAYS_BEHIND * shift for shift in shifts)
            self.settle()

    def restore_mass_if_it_may(self, rank: int, rounds: int, rows: list[Row], best: dict[int, float]) -> None:
        """Back again where one of the rows would be worse off than its best."""
        before = self.snapshot()
        self.restore_mass(rank, rounds)
        if any(self.error(row) > best[id(row)] + SLACK for row in rows):
            self.base, self.root = before
            self.settle(may_drop=False)

    def turn_base(self, joint: int, cap: float, vector: NDArray) -> None:
        parent = self.parents[joint]
        if parent >= 0:
            vector = rotate(inverse(self.turn[parent]), vector)
        way = log(multiply(multiply(exp(vector), self.base[joint]), inverse(self.came[joint])))
        size = np.linalg.norm(way)
        turned = multiply(exp(way * min(1.0, cap / size) if size > 0 else way), self.came[joint])
        self.base[joint] = turned / np.linalg.norm(turned)

    def swing_free_arms(self, shift: NDArray) -> None:
        for limb in sorted({2, 3} & set(self.limbs)):
            if {"end", "before", "turned"} & set(self.tasks[limb]):
                continue
            u, own = self.limbs[limb][0], [j for j in self.used if self.limb_of[j] == limb]
            mass = self.masses[own].sum()
            if mass <= 0:
                continue
            arm = sum(self.masses[j] * self.at(j, self.centers[j]) for j in own) / mass - self.place[u]
            way = 0.2 * shift * [1.0, 0.0, 1.0] / mass
            vector = np.cross(arm, way) / max(arm @ arm, 1e-6)
            self.turn_base(u, 1.0, vector * min(1.0, 0.2 / max(np.linalg.norm(vector), 1e-300)))

    def demands(self, rank: int) -> list[tuple[NDArray, NDArray, int, int]]:
        """(place, goal, joint that carries it, what may move) of shoulders, hips and points of the trunk."""
        found = []
        for limb, (u, _, _) in self.limbs.items():
            tasks = [self.tasks[limb][key] for key in ("end", "before") if key in self.tasks[limb]]
            # the first of the list in the order of rows
            main = min(
                tasks, key=lambda task: next(n for n, row in enumerate(self.rows) if row is task.row), default=None
            )
            if main is None or main.row.rank > rank:
                continue
            goal = self.demand(limb)
            if goal is not None:
                allow = np.bitwise_or.reduce([task.row.allow for task in tasks])
                found.append((self.place[u].copy(), goal, self.parents[u], int(allow)))
        for row in self.rows:
            if row.rank > rank or row.kind not in (POSITION, HALF_SPACE) or self.limb_of[row.joint] >= 0:
                continue
            place = self.at(row.joint, row.point)
            assert row.goal is not None
            goal = row.goal[:3]
            if row.kind == HALF_SPACE:
                goal = place + self.error(row) * row.target[:3]
            if np.sum((goal - place) ** 2) >= NEAR**2:
                found.append((place, goal, row.joint, row.allow))
        return found

    def propose(self, rank: int, step: int) -> None:
        kept = asked = False
        for row in self.rows:
            if row.rank > rank:
                break
            if row.kind >= CENTER:
                shift = self.mass_shift(row)
                kept, asked = kept or row.kind == CENTER, True
                if shift @ shift > NEAR**2:
                    kept = True
                    self.root = self.root + STAYS_BEHIND * shift
                    if step >= ROOT_FIRST:
                        self.swing_free_arms(shift)
            elif row.kind == ORIENTATION and self.limb_of[row.joint] < 0:
                assert row.goal is not None
                self.turn_base(row.joint, 3.2, log(multiply(row.goal, inverse(self.turn[row.joint]))))
        demands = self.demands(rank)
        helps = 0.15 if step >= ROOT_FIRST else 0.0
        pitches = step >= ROOT_FIRST and self.keeps_balance(rank)
        if asked and demands and step >= ROOT_FIRST and not pitches:
            shift = sum(place - goal for place, goal, _, _ in demands) * [1.0, 0.0, 1.0]
            self.swing_free_arms(0.05 * shift / max(np.linalg.norm(shift), 0.05))
        if demands:
            self.bend_trunk(demands, np.array([0.0 if kept else helps, helps, 0.0 if kept else helps]), pitches)

    def keeps_balance(self, rank: int) -> bool:
        return self.pelvis >= 0 and any(row.kind == BALANCE and row.rank <= rank for row in self.rows)

    def bend_trunk(self, demands: list, root_gain: NDArray, pitches: bool) -> None:
        """Σ g c cᵀ λ = way, ω = g c λ, for all joints and demands at once, and the pitch about the line of the hips."""
        places, goals = (np.array([demand[k] for demand in demands]) for k in (0, 1))
        lengths = np.linalg.norm(goals - places, axis=1)
        ways = (goals - places) / np.maximum(lengths, 1e-12)[:, None]
        levers = np.zeros((len(self.sweep), len(demands), 3))
        gains = np.zeros(len(self.sweep))
        for n, j in enumerate(self.sweep):
            half = multiply(self.base[j], inverse(self.came[j]))[1:]
            gains[n] = self.turns[n, 1] * max(1.0 - 4.0 * half @ half / self.turns[n, 0] ** 2, 0.01)
            for d, (place, _, carrier, allow) in enumerate(demands):
                if (allow >> n) & 1 and self.below[j, carrier]:
                    levers[n, d] = np.cross(place - self.place[j], ways[d])
        system = 1e-4 * np.eye(len(demands)) + np.einsum("n,ndk,nek->de", gains, levers, levers)
        helped = np.array([demand[3] >= ROOT for demand in demands])
        system += np.where(helped[:, None] & helped, (ways * root_gain) @ ways.T, 0.0)
        pitch, tilts, line, middle = 0.0, np.zeros(len(demands)), np.zeros(3), np.zeros(3)
        if pitches:
            hips = [self.place[self.limbs[limb][0]] for limb in (0, 1)]
            middle, line = 0.5 * (hips[0] + hips[1]), (hips[0] - hips[1]) / np.linalg.norm(hips[0] - hips[1])
            half = multiply(self.base[self.pelvis], inverse(self.came[self.pelvis]))[1:]
            pitch = 0.5 * max(1.0 - 4.0 * half @ half / 1.4**2, 0.01)
            tilts = np.where(helped, np.cross(places - middle, ways) @ line, 0.0)
            system += pitch * np.outer(tilts, tilts)
        forces = np.zeros(len(demands))
        for _ in range(12 if len(demands) > 1 else 1):
            for d in range(len(demands)):
                left = lengths[d] - system[d] @ forces + system[d, d] * forces[d]
                forces[d] = max(left / system[d, d], 0.0)
        vectors = gains[:, None] * np.einsum("ndk,d->nk", levers, forces)
        for n, vector in enumerate(vectors):
            size = np.linalg.norm(vector)
            if size > 1e-12:
                self.turn_base(self.sweep[n], self.turns[n, 0], vector * min(1.0, 0.35 / size))
        self.root = self.root + root_gain * (np.where(helped, forces, 0.0) @ ways)
        if abs(pitch * tilts @ forces) > 1e-12:
            joint, parent = self.pelvis, self.parents[self.pelvis]
            before = self.base[joint].copy()
            self.turn_base(joint, 1.4, np.clip(pitch * tilts @ forces, -0.35, 0.35) * line)
            turned = multiply(self.base[joint], inverse(before))
            if parent >= 0:
                turned = multiply(multiply(self.turn[parent], turned), inverse(self.turn[parent]))
            arm = middle - self.place[joint]
            self.root = self.root + arm - rotate(turned, arm)

    def between(self, before: tuple, ahead: tuple, share: float) -> None:
        self.root = before[1] + share * (ahead[1] - before[1])
        for j in self.state:
            way = log(multiply(ahead[0][j], inverse(before[0][j])))
            self.base[j] = multiply(exp(share * way), before[0][j])

    def judge(self, rows: list[Row], best: dict[int, float]) -> tuple[float, bool]:
        for row in self.rows:
            if row is rows[0]:
                break
            if self.error(row) > best[id(row)] + SLACK:
                return np.inf, True
        return sum(self.error(row) ** 2 for row in rows), False

    def climb(self, rows: list[Row], begun: int, tries: int, shorter: int, best: dict[int, float]) -> float:
        merit, stalled, balanced = self.judge(rows, best)[0], 0, self.keeps_balance(rows[0].rank)
        for step in range(begun, begun + tries):
            if merit <= NEAR**2 or stalled > 1:
                break
            before, center = self.snapshot(), self.center()
            self.propose(rows[0].rank, step)
            ahead, taken = self.snapshot(), False
            for cut in range(shorter):
                if cut:
                    self.between(before, ahead, 0.35**cut)
                self.settle()
                if balanced:
                    self.root = self.root - 0.7 * np.array([1.0, 0.0, 1.0]) * (self.center() - center)
                    self.settle()
                self.restore_mass(rows[0].rank - 1, 3 if balanced else 1)
                now, worse = self.judge(rows, best)
                if now < merit and not worse:
                    stalled = stalled + 1 if now > 0.98 * merit else 0
                    merit, taken = now, True
                    break
            if not taken:
                self.base, self.root = before[0].copy(), before[1].copy()
                self.settle(may_drop=False)
                if step >= begun + ROOT_FIRST:
                    break
        return merit

    def solve(self, tries: int, leaning: bool = False) -> bool:
        """True where no step of the trunk was needed."""
        self.ask(self.rows, 1.0)
        self.settle()
        start = self.snapshot()
        best: dict[int, float] = {}
        self.restore_mass(self.rows[-1].rank, 1 if leaning else 5)
        if max(self.error(row) for row in self.rows) <= NEAR:
            return True
        if not leaning:
            self.base, self.root = start[0].copy(), start[1].copy()
            self.settle()
        for rank in sorted({row.rank for row in self.rows}):
            rows = [row for row in self.rows if row.rank == rank]
            later = [row for row in self.rows if row.rank > rank]
            for factor in (1.0,) if leaning else (0.5, 0.0, 0.0):
                if not leaning:
                    above = [row for row in self.rows if row.rank < rank]
                    self.restore_mass_if_it_may(rank - 1, 2, above, best)
                merit = self.climb(rows, ROOT_FIRST if leaning else 0, tries, 1 if leaning else 3, best)
                massive = any(row.kind >= CENTER for row in rows)
                if not massive or not later or merit < OUT_OF_PLACE**2:
                    break
                if leaning:
                    factor = 0.5
                self.ask(later, factor)
                self.settle()
            best |= {id(row): self.error(row) for row in self.rows if row.rank <= rank}
        self.ask(self.rows, 1.0)
        return False

    def lean(self, leans: NDArray) -> bool:
        """Begin as an instant ago."""
        if np.sum(leans**2) < 1e-8:
            return False
        for n, j in enumerate(self.state):
            self.base[j] = multiply(exp(leans[n]), self.came[j])
        self.root = self.came_root + leans[-1]
        return True

    def leant(self) -> NDArray:
        turns = [log(multiply(self.base[j], inverse(self.came[j]))) for j in self.state]
        return np.array([*turns, self.root - self.came_root])


def solve_rows_numpy(arrays, bodies, root, local, rows: Rows, tries: int, leans: NDArray | None = None):
    """The twin of `ik.groupccd.solve_rows`: new (root, local, leans) and what is left of the rows."""
    root, local = root.copy(), local.copy()
    leans = None if leans is None else leans.copy()
    left = np.zeros(len(rows.kinds))
    for f in range(len(root)):
        own = range(rows.starts[f], rows.starts[f + 1])
        if not len(own):
            continue
        bones, masses, centers = (table[f if len(table) > 1 else 0] for table in bodies)
        asked = [
            Row(*rows.kinds[i].tolist(), *np.split(rows.asks[i], [3, 7, 10])[:3], float(rows.asks[i, 10])) for i in own
        ]
        figure = Solver(
            arrays, bones, masses, centers, root[f], local[f], asked, rows.polygons[f, : rows.sides[f]]
        )  # fmt: skip
        leaning = leans is not None and figure.lean(leans[f])
        easy = figure.solve(tries, leaning)
        if leans is not None:
            leans[f] = (0.96 if easy else 1.0) * figure.leant()
        root[f], local[f, figure.used] = figure.root, figure.local[figure.used]
        left[list(own)] = [figure.error(row) for row in asked]
    return root, local, leans, left
