"""Plan the steps of a driven character: when and where each swinging foot lands, before it does.

The controller's future is known as long as nothing else is requested: `_foot_plan.look_ahead` plays it without
corrections. A swing ends where the blended foot will be planted, at the height of the ground there; a request during a
swing plans the rest of it anew, from the foot's position, velocity and acceleration. A landing is delayed while the
path to it would accelerate the foot too much. A standing foot from which the body moves away takes a step by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.ground import Ground
from footplant.live.settings import FOOT_PLAN

if TYPE_CHECKING:
    from footplant.live._foot_plan import FootScratch, FootState, FootTables

HEEL, BALL, TIP, ANKLE, HIP = (slice(3 * k, 3 * k + 3) for k in range(5))
"""Columns of a predicted foot."""
TURN, TOES, BITS = slice(15, 19), slice(19, 23), 23


def quintic_path(start: NDArray, end: NDArray, seconds: float) -> NDArray:
    """Return coefficients (3, 6), lowest first, of a path between positions, velocities and accelerations (3, 3)."""
    t = max(seconds, 1e-6)
    p0, v0, a0 = start
    p1, v1, a1 = end
    d = p1 - p0 - v0 * t - 0.5 * a0 * t * t
    dv = v1 - v0 - a0 * t
    da = a1 - a0
    c3 = 10.0 * d / t**3 - 4.0 * dv / t**2 + 0.5 * da / t
    c4 = -15.0 * d / t**4 + 7.0 * dv / t**3 - da / t**2
    c5 = 6.0 * d / t**5 - 3.0 * dv / t**4 + 0.5 * da / t**3
    return np.stack([p0, v0, 0.5 * a0, c3, c4, c5], axis=1)


def path_at(path: NDArray, times: NDArray) -> tuple[NDArray, NDArray]:
    """Return positions and accelerations (N, 3) of a path at times (N,) since its start."""
    powers = times[:, None] ** np.arange(6)
    order = np.arange(2, 6)
    accelerations = (order * (order - 1) * times[:, None] ** (order - 2)) @ path[:, 2:].T
    return powers @ path.T, accelerations


class Landing(NamedTuple):
    """How a swing ends."""

    seconds: float
    """From now."""
    end: NDArray
    """(3, 3) the ankle's shift, its velocity and acceleration."""
    marks: NDArray
    """(3, 3) where heel, ball and toe tip will be when the foot is flat."""
    bits: int
    """What lands: heel 1, ball 2."""
    turn: NDArray
    """(3,) rotation vector of the foot's correction."""
    toes: NDArray
    """(4,) rotation of the toes relative to the foot."""


class FootPlanner:
    """Plans of a character's feet; the state is the controller's."""

    def __init__(self, feet: FootTables, height: float, strongest: float, shortest: float) -> None:
        """Note the limits of a set of clips.

        height: metres, of the body. strongest: metres per second squared, the clips' own acceleration of feet.
        shortest: seconds, their shortest stance.
        """
        self.feet, self.height, self.shortest = feet, height, shortest
        self.most = FOOT_PLAN.added_acceleration * strongest
        self.far = FOOT_PLAN.far * height
        self.touchdown = FOOT_PLAN.touchdown * strongest
        self.toes = [feet.parents[feet.points[3 * k + 1]] == feet.legs[k, 2] for k in range(2)]

    def place(
        self, state: FootState, scratch: FootScratch, planted: NDArray, now: float, ground: Ground | None
    ) -> None:
        """Put the feet of a new character where they are; scratch holds forward kinematics of its pose."""
        from footplant.live import _foot_plan as kernel

        for foot in range(2):
            kernel.forward_goal(self.feet, foot, scratch)
            ankle = scratch.positions[0, self.feet.legs[foot, 2]]
            at = ankle + scratch.rel[foot, :3]
            state.places[foot, :3] = at
            state.places[foot, :3, 1] = heights(ground, at[:, ::2])
            held = int(planted[2 * foot] >= 0.5) + 2 * int(planted[2 * foot + 1] >= 0.5)
            level = float(state.places[foot, :2, 1].mean())
            state.levels[foot] = level, level, 0.0
            state.turns[foot, kernel.TOE_LOCAL] = (1.0, 0.0, 0.0, 0.0)
            if held:
                kernel.land(self.feet, foot, now, state, scratch, held)
            else:
                kernel.lift(self.feet, foot, now, state, scratch)
                state.path[foot] = 0.0
                state.path[foot, 1, 0] = level
                state.flags[foot, kernel.LANDS] = 0
                state.times[foot, :2] = now, 0.0
        state.body[:] = 0.0
        state.body[0] = float(state.levels[:, 0].mean())

    def stays(self, own: NDArray, interval: float) -> float:
        """Return the seconds for which a foot that the blend releases should still stand: it hardly moves, or returns.

        own: the predicted foot (N, 24).
        """
        way = np.linalg.norm(own[:, BALL] - own[0, BALL], axis=1)
        again = min(round(FOOT_PLAN.again / interval), len(own) - 1)
        body = float(np.linalg.norm((own[again, HIP] - own[0, HIP])[::2]))
        if way[again] <= FOOT_PLAN.slow * self.height * FOOT_PLAN.again and body <= FOOT_PLAN.far * self.height:
            return interval
        near = way <= FOOT_PLAN.hardly * self.height
        leaves = again if near[: again + 1].all() else int((~near).argmax()) - 1
        back = np.flatnonzero(own[: again + 1, BITS] > 0)
        if len(back) and np.linalg.norm((own[back[0], BALL] - own[0, BALL])[::2]) <= FOOT_PLAN.returns * self.height:
            leaves = max(leaves, int(back[0]))
        return leaves * interval

    def swing(
        self, state: FootState, foot: int, track: NDArray, now: float, interval: float, ground: Ground | None,
        *, stepping: bool = False, via: tuple[float, NDArray] | None = None,
    ) -> None:  # fmt: skip
        """Write the plan of a foot that swings, from its state now on.

        track: predicted feet (N, 2, 24) at an interval. stepping: a step of a foot that the motion keeps planted. via:
        seconds, and the shift (3,) that the foot has to have then.
        """
        from footplant.live import _foot_plan as kernel

        start, turned = self._now(state, foot, now)
        own = track[:, foot]
        times, levels = state.times[foot], state.levels[foot]
        if times[kernel.SINCE] == now:
            # a foot that is lifted leaves at a speed, towards where it will be: it does not creep off
            ahead = min(round(FOOT_PLAN.ahead / interval), len(own) - 1)
            speed = (own[ahead, BALL] - own[0, BALL] - start[0]) / (ahead * interval)
            start[1] += speed * min(1.0, self.touchdown / max(float(np.linalg.norm(speed)), 1e-9))
        elif times[1] > 0.0:
            # planned anew in the middle of a swing
            u = min(max((now - times[0]) / times[1], 0.0), 1.0)
            levels[0] += u * u * u * (10.0 + u * (6.0 * u - 15.0)) * (levels[1] - levels[0])
        found = None if via is not None else self._landing(own, foot, start, interval, ground, stepping)
        state.flags[foot, kernel.LANDS] = int(found is not None)
        end, turn = np.zeros((3, 3)), np.zeros((3, 3))
        if via is not None:
            seconds, end[0] = via
            levels[1:] = levels[0], 0.0
        elif found is None:
            seconds = FOOT_PLAN.free
            later = own[min(round(seconds / interval), len(own) - 1), ANKLE]
            end[0, 1] = float(heights(ground, later[None, ::2])[0])
            levels[1:] = end[0, 1], 0.0
        else:
            seconds, end, turn[0] = found.seconds, found.end, found.turn
            state.places[foot, :3] = found.marks
            state.flags[foot, kernel.FIRST] = found.bits
            state.turns[foot, kernel.TOE_LOCAL] = found.toes
            levels[1] = float(found.marks[:2, 1].mean())
            path = quintic_path(start, end, seconds)
            levels[2] = self._clearance(own, path, seconds, interval, ground, stepping)
        times[:2] = now, seconds
        state.path[foot, :3] = quintic_path(start, end, seconds)
        state.path[foot, 3:] = quintic_path(turned, turn, seconds)

    def _now(self, state: FootState, foot: int, now: float) -> tuple[NDArray, NDArray]:
        """Return value, velocity and acceleration (3, 3) of the shift and of the rotation vector."""
        from footplant.live import _foot_plan as kernel

        places, times, out = state.places[foot], state.times[foot], np.zeros((3, 3))
        out[0], out[1] = places[kernel.SHIFT], places[kernel.SPEED]
        turned = np.zeros((3, 3))
        turned[:2] = state.vectors[foot, kernel.TURN_SHOWN : kernel.TURN_RATE + 1]
        if state.flags[foot, kernel.SWING] and times[kernel.SINCE] < now < times[0] + times[1]:
            tau = now - times[0]
            out[2] = path_at(state.path[foot, :3], np.array([tau]))[1][0]
            turned[2] = path_at(state.path[foot, 3:], np.array([tau]))[1][0]
            u = tau / times[1]
            out[2, 1] += state.levels[foot, 2] * 32.0 * (1.0 - 6.0 * u + 6.0 * u * u) / times[1] ** 2
        return out, turned

    def _landing(
        self, own: NDArray, foot: int, start: NDArray, interval: float, ground: Ground | None, stepping: bool
    ) -> Landing | None:
        """Return the first landing whose path does not accelerate the foot too much, or the gentlest; None: none."""
        bits = own[:, BITS].astype(int)
        on = bits > 0
        lasting = on.copy()
        for later in range(1, round(FOOT_PLAN.lasting * self.shortest / interval) + 1):
            lasting[:-later] &= on[later:]
        first = round((FOOT_PLAN.step if stepping else FOOT_PLAN.shortest) / interval)
        candidates = np.flatnonzero(lasting[first:-2]) + first
        if not len(candidates):
            return None
        best, least = None, np.inf
        for k in range(candidates[0], min(candidates[0] + round(FOOT_PLAN.delay / interval), len(own) - 2)):
            if not on[k]:
                break
            option = self._land_at(own, foot, bits, k, start, interval, ground)
            path = quintic_path(start, option.end, option.seconds)
            strongest = float(np.linalg.norm(path_at(path, np.linspace(0.0, option.seconds, 13))[1], axis=1).max())
            if strongest < least:
                best, least = option, strongest
            if strongest <= self.most:
                break
        return best

    def _land_at(
        self, own: NDArray, foot: int, bits: NDArray, k: int, start: NDArray, interval: float, ground: Ground | None
    ) -> Landing:
        """Return a landing at one predicted frame."""
        anchor = HEEL if bits[k] & 1 else BALL
        here = own[:, anchor]
        # where the blended point is on average while it is planted
        end = k + 1
        while end < min(len(own), k + round(FOOT_PLAN.mean / interval)) and bits[end] & (1 if anchor is HEEL else 2):
            end += 1
        bias = here[k:end].mean(axis=0) - here[k]
        place = here[k] + bias * min(1.0, FOOT_PLAN.bias * self.height / max(float(np.hypot(bias[0], bias[2])), 1e-9))
        line = own[k, BALL] - own[k, HEEL]
        ahead = np.array([line[0], 0.0, line[2]]) / max(float(np.hypot(line[0], line[2])), 1e-9)
        long, beyond = float(np.linalg.norm(line)), float(np.linalg.norm(own[k, TIP] - own[k, BALL]))
        heel = place if anchor is HEEL else place - long * ahead
        marks = np.stack([heel, heel + long * ahead, heel + (long + beyond) * ahead])
        marks[:, 1] = heights(ground, marks[:, ::2])
        place = marks[0 if anchor is HEEL else 1]
        slope = np.arctan2(marks[1, 1] - marks[0, 1], long)
        pitch = slope * np.array([-ahead[2], 0.0, ahead[0]])
        level = rotation.between(line, marks[1] - marks[0])
        # a foot that lands on heel and ball, or whose other end would be below the ground, lands flat
        pitched = rotation.rotate(rotation.exp(pitch), line)[1] - (marks[1, 1] - marks[0, 1])
        first = 3 if (bits[k] == 1 and pitched < 0.0) or (bits[k] == 2 and pitched > 0.0) else int(bits[k])
        turn = rotation.log(level) if first == 3 else pitch
        landed = rotation.multiply(rotation.exp(turn), own[k, TURN])
        # toes that are level when the foot is flat
        flat, toes = rotation.multiply(level, own[k, TURN]), rotation.multiply(level, own[k, TOES])
        tip = rotation.rotate(level, own[k, TIP] - own[k, BALL])
        ahead_of_ball = np.array([tip[0], 0.0, tip[2]])
        if np.linalg.norm(ahead_of_ball) > 1e-4:
            ahead_of_ball[1] = marks[2, 1] - marks[1, 1]
            toes = rotation.multiply(rotation.between(tip, ahead_of_ball), toes)
        local = rotation.multiply(rotation.inverse(landed if first == 2 else flat), toes)
        if anchor is HEEL or not self.toes[foot]:
            rel = rotation.rotate(rotation.exp(turn), here[k] - own[k, ANKLE])
        else:
            joint = self.feet.points[3 * foot + 1]
            arm = rotation.rotate(local, self.feet.arms[3 * foot + 1])
            rel = rotation.rotate(landed, self.feet.offsets[0, joint] + arm)
        # a foot touches down at a speed: it does not creep to its place
        now = own[0, anchor] + start[0]
        way = np.array([place[0] - now[0], 0.0, place[2] - now[2]])
        far = float(np.linalg.norm(way))
        arrival = way / max(far, 1e-9) * min(self.touchdown, FOOT_PLAN.touchdown_share * far)
        arrival[1] = -0.5 * float(np.linalg.norm(arrival))
        speed = (here[k + 1] - here[k - 1]) / (2.0 * interval)
        goal = np.array([place - own[k, ANKLE] - rel, arrival - speed, np.zeros(3)])
        return Landing(k * interval, goal, marks, first, turn, local)

    def _clearance(
        self, own: NDArray, path: NDArray, seconds: float, interval: float, ground: Ground | None, stepping: bool
    ) -> float:
        """Return how much higher a swing has to be lifted in its middle so that the sole clears the ground."""
        count = round(seconds / interval)
        u = np.arange(1, count) / max(count, 1)
        inside = (u > 0.15) & (u < 0.85)
        wanted = FOOT_PLAN.lift * self.height if stepping else 0.0
        if not inside.any():
            return wanted
        frames = np.arange(1, count)[inside]
        shift = path_at(path, frames * interval)[0]
        bump = 16.0 * u[inside] ** 2 * (1.0 - u[inside]) ** 2
        above = np.full(len(frames), np.inf)
        for point in (HEEL, BALL, TIP):
            at = own[frames, point] + shift
            above = np.minimum(above, at[:, 1] - heights(ground, at[:, ::2]))
        wanted = max(wanted, float(((FOOT_PLAN.clear * self.height * bump - above) / bump).max()))
        # a foot that the blend drags along is lifted instead
        wanted = max(wanted, FOOT_PLAN.lift * self.height - float(above.max()))
        return min(wanted, FOOT_PLAN.highest * self.height)


def heights(ground: Ground | None, places: NDArray) -> NDArray:
    """Return the height of the ground (N,) at places (N, 2); a level floor at 0 without one."""
    return np.zeros(len(places)) if ground is None else np.asarray(ground.height(places), float)
