"""Balance and flight as rows of a whole-clip solve: both are linear in the acceleration of the hips' displacement h.

The centre of mass moves with the hips by about α h, and with each ankle by (1 − α)/2 of its displacement c_s. While
feet stand, the zero-moment point is p = p₀ + e − (z / (g + a)) ë with e = α h + (1 − α)/2 Σ c_s, p₀ that of the
reference, z the height of its mass and a its lift. Where p is outside the support polygon by more than a tolerance, a
row with a bounded force asks for the nearest point of it, updated in each Gauss–Newton step; where p is inside, the
row asks for p as it is. The rows of a step are thus nowhere below the squared distance from the polygon, which is
convex, and touch it where the step starts: no step makes it larger. With rows of points outside alone, each step pushes
points out beside those that it brings in, and the front of the rows travels through a clip by 1 to 25 frames a step:
two solves of a slow walk on a ball with short legs took 40 steps instead of 20. In flight a row asks for ë = −g e_y −
(the reference's own acceleration), so that the centre of mass is on a parabola that joins take-off and landing
smoothly. A row takes part in three frames, which the banded system has room for.

Folded legs and a turned pelvis move the centre of mass otherwise than e. Each solve therefore starts with what the one
before has left of it, e₊ = moved − e, as a known displacement (`Dynamics.refined`): without, a backflip on long legs is
24 mm off its parabola instead of 1 mm. Legs are lower than the mass, and accelerations are measured of smoothed
places, by up to 0.1 m at the next step of a walk at 30 frames/s: p₀ becomes what p lacks of the zero-moment point that
is measured of the solution before. Without, six walks on six bodies are outside in 5.0 points fewer frames than their
sources in the mean and in 7.5 more at worst, with it in 5.3 fewer and in 2.0 more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footplant.constraints import Footplant
from footplant.humanoid.sole import under_ankle
from footplant.kinematics import Kinematics
from footplant.quality.balance import MOST_UNLOADED, WIDTH, zero_moment_points
from footplant.quality.robot import GRAVITY
from footplant.skeleton import Character

SIDES = ("left", "right")


@dataclass(frozen=True)
class DynamicsSettings:
    """Weights of balance and flight."""

    mass: float = 0.86
    """α: share of the centre of mass' displacement that follows the hips, by the masses of `humanoid.masses` with knees
    halfway between hip joint and ankle."""
    balance: float = 60.0
    """Weight of a zero-moment point outside the support, relative to a leg that is turned that far. With 15, 30, 60 and
    120, six walks on Sally, Blubby and long legs are outside in 3.6, 4.1, 4.1 and 4.3 points fewer frames than their
    sources in the mean, and in 7.0, 5.2, 4.4 and 4.8 more at worst; jerk and peak accelerations are the same, steps of
    the search at most 35, 32, 33 and 38."""
    tolerance: float = 0.005
    """Metres outside that are left as they are. Of the same, with 0, 0.005 and 0.015 in 4.3, 4.1 and 3.7 points fewer
    frames in the mean, and in 3.7, 4.4 and 6.2 more at worst."""
    steps: int = 16
    """Further Gauss–Newton steps, in which nearest points of the support settle. Of the same, without them in 4.0
    points fewer frames in the mean and in 4.8 more at worst; with 8, 16 and 32 the same 4.1 and 4.4."""
    settled: float = 2e-3
    """Metres; with balance, the search ends when no step is longer. Of the same, with 0.001, 0.002 and 0.004 in 4.0,
    4.1 and 4.1 points fewer frames in the mean and in 5.9, 4.4 and 5.0 more at worst, after 32, 25 and 22 steps."""
    most: float = 0.02
    """Metres; a point that is farther outside pulls no more than one that is so far. With 0.04 and 0.02, walks on six
    bodies are outside in the same 5.7 points fewer frames than their sources in the mean and 2 more at worst; the knee
    of a walk on long legs accelerates 1.21 and 1.19 times as much as without balance, and footsteps of an adult that
    Blubby can just reach are missed by 2.8 and 0 mm."""
    passing: float = 0.015
    """Seconds, at least a frame, by which a footplant supports before it begins and after it ends, while others do.
    Where supports change, the point passes over from one to the other, but their polygons change within a frame: asked
    to be inside of each, hips of a walk at 30 frames/s accelerate for a frame by twice what they do in the source. With
    0, a frame and 0.03, jerk of 20 pairs is 1.17, 1.14 and 1.12 times the source's in the mean, and points are outside
    in 21.2, 22.0 and 22.9 % of the frames; with no rows 1.10 times and 40 %. With 0, 0.015 and 0.03, six walks on six
    bodies are outside in 5.3, 4.1 and 2.8 points fewer frames than their sources in the mean, and in 2.0, 4.0 and 7.0
    more at worst."""
    flight: float = 60.0
    """Weight of accelerations in flight. Doubled, no flight of `benchmarks/flights.py` is nearer to its parabola by
    more than 0.1 mm."""
    flight_time: float = 0.2
    """Seconds; an acceleration counts as the displacement that it makes over this time."""


DYNAMICS_SETTINGS = DynamicsSettings()


@dataclass(frozen=True, eq=False)
class Dynamics:
    """Balance and flight of a reference motion, whose feet will be at given plants."""

    fps: float
    points: NDArray
    """(F, 2) metres; zero-moment points of the reference, or what those of a solution have beyond the model
    (`refined`)."""
    levers: NDArray
    """(F,) s²; height of the mass over g + its lift."""
    corners: NDArray
    """(F, K, 2) metres; corners of the support."""
    counts: NDArray
    """(F,) how many; 0 where balance is not asked for."""
    flight: NDArray
    """(F,) bool; whether the body flies."""
    missing: NDArray
    """(F, 3) m/s²; acceleration that the reference's centre of mass lacks in flight."""
    allowed: NDArray
    """(F,) metres by which the zero-moment point may be outside the support."""
    remainder: NDArray
    """(F, 3) metres; displacement of the centre of mass that α h and the ankles' do not account for (`refined`)."""
    level: NDArray
    """(F,) metres; height of the support."""
    settings: DynamicsSettings = DYNAMICS_SETTINGS

    def refined(self, moved: NDArray, points: NDArray, x: NDArray, shift: NDArray) -> Dynamics:
        """Return the dynamics about a solution, at which they have its own centre of mass and zero-moment points.

        moved: (F, 3) what its centre of mass has moved by. points: (F, 2) its zero-moment points at `level`. x, shift:
        its displacements, as in `rows`. Folded legs and a turned pelvis move the centre of mass otherwise than these.
        """
        mass = self.settings.mass
        model = mass * x[:, :3] + 0.5 * (1.0 - mass) * (x[:, 3:6] + x[:, 6:9]) + shift
        bent = np.zeros_like(moved)
        bent[1:-1] = np.diff(moved, 2, axis=0) * self.fps**2
        known = points - (moved - self.levers[:, None] * bent)[:, ::2]
        return replace(self, remainder=moved - model, points=known)

    def settled_since(self, before: Dynamics) -> bool:
        """Return whether what the model leaves has changed by less than the step that a search with balance ends on.

        Never with flight: a parabola is an acceleration, of which a smaller change counts. Zero-moment points need not
        have settled: with another solve for these, six walks on six bodies are outside in 5.7 instead of 5.3 points
        fewer frames than their sources in the mean, in the same 2.0 more at worst, after 1.15 instead of 1.11 times
        the time without balance.
        """
        change = float(np.abs(self.remainder - before.remainder).max(initial=0.0))
        return change < self.settings.settled and not self.flight.any()

    def rows(self, x: NDArray, shift: NDArray, scale: float) -> NDArray:
        """Return weight, still, lever and wanted (F, 3, 4) of rows for the hips' displacement.

        x: (F, 9 or more) displacements of hips and ankles, without a common shift (3,), metres. scale: of weights.
        """
        from footplant.solve import _dynamics as kernel

        settings, moves = self.settings, np.zeros((len(x), 3, 4))
        known = kernel.Known(
            self.points, self.levers * self.fps**2, self.corners, self.counts, self.flight,
            self.missing / self.fps**2, self.allowed, self.remainder, shift,
        )  # fmt: skip
        weights = kernel.Weights(
            settings.mass, settings.tolerance, settings.most, scale * settings.balance,
            scale * settings.flight, (settings.flight_time * self.fps) ** 2,
        )  # fmt: skip
        kernel.rows(known, weights, x, moves)
        return moves


@dataclass(frozen=True, eq=False)
class Physics:
    """The constraints on the centre of mass."""

    balance: bool
    """Whether it is kept over the feet while they stand."""
    flight: NDArray
    """(F,) bool; frames in which the body flies."""
    allowed: NDArray
    """(F,) metres by which the zero-moment point may be outside the feet: as far as the source's is."""
    gravity: float = GRAVITY
    """m/s², in flight."""

    def part(self, frames: range) -> Physics:
        """Return the same for a part of the motion."""
        rows = slice(frames.start, frames.stop)
        return replace(self, flight=self.flight[rows], allowed=self.allowed[rows])


def dynamics_of(
    kinematics: Kinematics, character: Character, plants: Sequence[Footplant], physics: Physics
) -> Dynamics | None:
    """Return the dynamics of a reference motion, or None where there is nothing to ask for."""
    frames, fps = len(kinematics.motion), kinematics.motion.fps
    flying, balance = np.array(physics.flight, bool), physics.balance
    flying[[0, -1]] = False
    if frames < 5 or character.masses is None or not (balance or flying.any()):
        return None
    corners, counts, level = _support(kinematics, character, plants, max(round(DYNAMICS_SETTINGS.passing * fps), 1))
    points, high, lift = zero_moment_points(kinematics, character, level)
    levers = np.maximum(high, 0.0) / np.maximum(lift, MOST_UNLOADED * GRAVITY)
    if not balance:
        counts = np.zeros_like(counts)
    counts = np.where((lift < MOST_UNLOADED * GRAVITY) | flying, 0, counts)
    missing = np.zeros((frames, 3))
    missing[1:-1] = -np.diff(kinematics.center_of_mass(character), 2, axis=0) * fps**2
    missing[:, 1] -= physics.gravity
    return Dynamics(
        fps,
        np.array(points, order="C"),
        levers,
        corners,
        counts,
        flying,
        missing,
        physics.allowed,
        np.zeros((frames, 3)),
        level,
    )


def _support(
    kinematics: Kinematics, character: Character, plants: Sequence[Footplant], passing: int
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the corners (F, K, 2) of the support, how many there are (F,), and its height (F,), metres.

    passing: frames by which a plant supports before it begins and after it ends, while others do.
    """
    frames = len(kinematics.motion)
    corners, counts = np.zeros((frames, 32, 2)), np.zeros(frames, np.int64)
    heights, parts = np.zeros(frames), np.zeros(frames)
    for side in SIDES:
        heel, ball, toe = (character.contacts.get(f"{side}_{part}") for part in ("heel", "ball", "toe"))
        if heel is None or ball is None:
            continue
        front = kinematics.point(ball)
        tip = front if toe is None else kinematics.point(toe)
        line = (tip - kinematics.point(heel))[:, ::2]
        across = 0.5 * WIDTH * np.stack([line[:, 1], -line[:, 0]], axis=1)
        sole = under_ankle(character, side)
        under = None if sole is None else sole[0]
        for plant in plants:
            if plant.point not in (heel, ball, under) or plant.place is None or not plant.frames:
                continue
            own = np.asarray(plant.frames)
            own = own[(own >= 0) & (own < frames)]
            if not len(own):
                continue
            place = np.asarray(plant.place, float)
            heights[own] += place[1]
            parts[own] += 1.0
            first, last = own[0], own[-1]
            own = np.arange(max(first - passing, 0), min(last + passing + 1, frames))
            posed = np.clip(own, first, last)
            ends = [np.zeros((len(own), 2))]
            if plant.point == ball:
                ends.append((tip - front)[posed][:, ::2])
            elif under is not None and plant.point == under:
                # the whole foot lies: its heel and its tip
                at = kinematics.point(under)
                ends = [(end - at)[posed][:, ::2] for end in (kinematics.point(heel), tip)]
            free = counts[own] + 2 * len(ends) <= corners.shape[1]
            own, posed, ends = own[free], posed[free], [end[free] for end in ends]
            for end in ends:
                for sign in (-1.0, 1.0):
                    corners[own, counts[own]] = place[::2] + end + sign * across[posed]
                    counts[own] += 1
    known = parts > 0.0
    counts[~known] = 0
    heights[known] /= parts[known]
    if known.any():
        every = np.arange(frames)
        heights = np.interp(every, every[known], heights[known])
    return corners, counts, heights
