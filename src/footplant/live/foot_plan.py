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
    path: NDArray
    """(3, 6) of the ankle's shift."""
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

    def __init__(self, feet: FootTables, height: float, strongest: float) -> None:
        """height: metres, of the body. strongest: metres per second squared, the clips' own acceleration of feet."""
        self.feet, self.height = feet, height
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

    def swing(
        self, state: FootState, foot: int, track: NDArray, now: float, interval: float, ground: Ground | None,
        *, stepping: bool = False, via: tuple[float, NDArray] | None = None,
    ) -> None:  # fmt: skip
        """Write the plan of a foot that swings, from its state now on.

        track: predicted feet (N, 2, 24) at an interval. stepping: a step of a foot that the motion keeps planted. via:
        seconds, and the shift (3,) that the foot has to have then.
        """
        from footplant.live import _foot_plan as kernel

        start = self._now(state, foot, now)
        own = track[:, foot]
        found = None if via is not None else self._landing(own, foot, start, interval, ground, stepping)
        flags, times = state.flags[foot], state.times[foot]
        u = min(max((now - times[0]) / times[1], 0.0), 1.0) if times[1] > 0.0 else 1.0
        share = u * u * u * (10.0 + u * (6.0 * u - 15.0))
        fades, levels = state.fades[foot], state.levels[foot]
        if times[kernel.SINCE] < now:
            # replanned in the middle of a swing: corrections go on from where they are
            fades[0] += share * (fades[1] - fades[0])
            levels[0] += share * (levels[1] - levels[0])
        times[0] = now
        flags[kernel.LANDS] = int(found is not None)
        if found is None:
            if via is not None:
                seconds, goal = via
                end = np.array([goal, np.zeros(3), np.zeros(3)])
            else:
                seconds = FOOT_PLAN.free
                later = own[min(round(seconds / interval), len(own) - 1), ANKLE]
                level = float(heights(ground, later[None, ::2])[0])
                end = np.array([[0.0, level, 0.0], np.zeros(3), np.zeros(3)])
            state.path[foot] = quintic_path(start, end, seconds)
            times[1], levels[1], levels[2] = seconds, end[0, 1] if via is None else levels[0], 0.0
            fades[1] = 0.0
            return
        seconds, path, marks, bits, turn, toes = found
        state.turns[foot, kernel.TOE_LOCAL] = toes
        state.path[foot] = path
        state.places[foot, :3] = marks
        times[1], flags[kernel.FIRST] = seconds, bits
        fades[1] = turn
        levels[1] = float(marks[:2, 1].mean())
        levels[2] = self._clearance(own, path, seconds, interval, ground, stepping)

    def _now(self, state: FootState, foot: int, now: float) -> NDArray:
        """Return shift, its velocity and acceleration (3, 3)."""
        from footplant.live import _foot_plan as kernel

        places, times, out = state.places[foot], state.times[foot], np.zeros((3, 3))
        out[0], out[1] = places[kernel.SHIFT], places[kernel.SPEED]
        if state.flags[foot, kernel.SWING] and times[kernel.SINCE] < now < times[0] + times[1]:
            tau = now - times[0]
            out[2] = path_at(state.path[foot], np.array([tau]))[1][0]
            u = tau / times[1]
            out[2, 1] += state.levels[foot, 2] * 32.0 * (1.0 - 6.0 * u + 6.0 * u * u) / times[1] ** 2
        return out

    def _landing(
        self, own: NDArray, foot: int, start: NDArray, interval: float, ground: Ground | None, stepping: bool
    ) -> Landing | None:
        """Return the first landing whose path does not accelerate the foot too much, or the gentlest; None: none."""
        bits = own[:, BITS].astype(int)
        on = bits > 0
        lasting = on.copy()
        for later in range(1, round(FOOT_PLAN.lasting / interval) + 1):
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
            strongest = float(np.linalg.norm(path_at(option[1], np.linspace(0.0, option[0], 13))[1], axis=1).max())
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
        # a foot that lands on heel and ball lands flat
        turn = rotation.log(level) if bits[k] == 3 else pitch
        landed = rotation.multiply(rotation.exp(turn), own[k, TURN])
        # toes that are level when the foot is flat
        flat, toes = rotation.multiply(level, own[k, TURN]), rotation.multiply(level, own[k, TOES])
        tip = rotation.rotate(level, own[k, TIP] - own[k, BALL])
        ahead_of_ball = np.array([tip[0], 0.0, tip[2]])
        if np.linalg.norm(ahead_of_ball) > 1e-4:
            ahead_of_ball[1] = marks[2, 1] - marks[1, 1]
            toes = rotation.multiply(rotation.between(tip, ahead_of_ball), toes)
        local = rotation.multiply(rotation.inverse(flat), toes)
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
        seconds = k * interval
        return Landing(seconds, quintic_path(start, goal, seconds), marks, int(bits[k]), turn, local)

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
        for point in (HEEL, BALL, TIP):
            at = own[frames, point] + shift
            needed = heights(ground, at[:, ::2]) + FOOT_PLAN.clear * self.height * bump - at[:, 1]
            wanted = max(wanted, float((needed / bump).max()))
        return min(wanted, FOOT_PLAN.highest * self.height)


def heights(ground: Ground | None, places: NDArray) -> NDArray:
    """Return the height of the ground (N,) at places (N, 2); a level floor at 0 without one."""
    return np.zeros(len(places)) if ground is None else np.asarray(ground.height(places), float)
