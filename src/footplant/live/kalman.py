"""Kalman filtering of streaming sensors (Shin 2002, chapter 3).

Every sensor has a position and an orientation. Both follow a constant-velocity model; orientations are filtered as
rotation vectors about the estimate, which is a quaternion kept outside of the filter. Beyond the thesis: process noise
that adapts to the sensor's motion (a still sensor is smoothed more, a moving one is followed), time steps of any
length, gaps, covariances in Joseph's form, which cannot collapse, and a fixed-lag smoother: the output is the estimate
of `lag` seconds ago, improved by the measurements since.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import broadcast, real_array, real_number, rectangle, shaped, whole_number
from footplant.errors import MotionError

NOMINAL_RATE = 120.0
"""Samples per second for which half-lives are specified."""
LEAST_NOISE = 1e-6
"""Metres and radians; smallest sensor noise. A noise of zero would make the covariance singular."""


@dataclass(frozen=True)
class Gaps:
    """What to show while a sensor sends nothing, and afterwards."""

    fade: float = 0.08
    """Seconds in which the velocity decays to 1/e without data: the motion continues a little, then stops."""
    hold: float = 3.0
    """Seconds without data after which the character eases to its home pose; infinity: never."""
    ease: float = 2.0
    """Seconds that easing home takes."""
    stretch: float = 3.0
    """Ratio of the catching-up time after a gap to the gap's length: 3 keeps the catching up below half of the motion's
    own speed."""
    longest: float = 1.2
    """Seconds; longest catching up."""


@dataclass
class FilterState:
    """State of the filter for N sensors. `step` changes it in place, so that a frame allocates nothing."""

    rings: tuple[NDArray, NDArray]
    """Positions and orientations: (N, depth, width) the last frames of each, see `_kalman`."""
    heads: tuple[NDArray, NDArray]
    """(N,) the newest row of each ring."""
    counts: tuple[NDArray, NDArray]
    """(N,) rows that are filled; 0 for a sensor that has sent nothing yet."""
    memories: tuple[NDArray, NDArray]
    """(N, 7) activity, seconds without data, easing."""
    home: tuple[NDArray, NDArray]
    """(N, 3) metres and (N, 4): shown before the first data, and where long gaps ease to."""
    shown: tuple[NDArray, NDArray]
    """(N, 3) metres and (N, 4): the last output."""
    scratch: NDArray
    """Scratch of the kernel."""

    @property
    def missing(self) -> NDArray:
        """(N,) seconds since each sensor sent its position."""
        from footplant.live import _kalman as kalman

        return self.memories[0][:, kalman.MISSING]


MOST_SENSORS = 100_000
"""Sensors of a filter at most: more are taken for a mistake."""


@dataclass(frozen=True, eq=False)
class SensorFilter:
    """A Kalman filter of N sensors: R is the sensors' noise, Q the density of their accelerations."""

    noise: NDArray
    """(N, 2) standard deviations of one sample per axis: metres and radians (R)."""
    acceleration: NDArray
    """(N, 2) spectral densities of the model's white acceleration: m²/s³ and rad²/s³ (Q), scaled by the sensor's
    activity, see `settle`."""
    lag: float = 0.025
    """Seconds by which the output is behind the input; 0: the filter alone, without the smoother."""
    settle: float = 0.03
    """Seconds over which innovations are averaged to tell whether a sensor is still or moving."""
    gaps: Gaps = field(default_factory=Gaps)
    _times: NDArray = field(init=False, repr=False)
    _variances: tuple[NDArray, NDArray] = field(init=False, repr=False)
    _densities: tuple[NDArray, NDArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        noise, acceleration = (
            np.array(real_array(value, what, MotionError))
            for value, what in ((self.noise, "noise"), (self.acceleration, "acceleration"))
        )
        if noise.ndim != 2 or noise.shape[1] != 2 or acceleration.shape != noise.shape:
            raise MotionError(
                f"expected noise and acceleration of shape (sensors, 2), got {noise.shape} and {acceleration.shape}"
            )
        if not (np.isfinite(noise).all() and np.isfinite(acceleration).all() and (acceleration > 0).all()):
            raise MotionError("expected finite noise and positive accelerations of the sensors")
        real_number(self.lag, "lag", MotionError)
        real_number(self.settle, "settle", MotionError)
        if not (self.lag >= 0 and self.settle > 0):
            raise MotionError(f"expected a lag of 0 s or more and a positive settle, got {self.lag} and {self.settle}")
        noise = np.maximum(noise, LEAST_NOISE)
        for name, array in (("noise", noise), ("acceleration", acceleration)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        gaps = self.gaps
        times = (self.lag, self.settle, gaps.fade, gaps.hold, max(gaps.ease, 1e-3), gaps.longest, gaps.stretch)
        object.__setattr__(self, "_times", np.array(times))
        object.__setattr__(self, "_variances", tuple(np.ascontiguousarray(noise[:, k] ** 2) for k in (0, 1)))
        object.__setattr__(self, "_densities", tuple(np.ascontiguousarray(acceleration[:, k]) for k in (0, 1)))

    @classmethod
    def from_half_life(
        cls,
        sensors: int,
        half_life: float = 0.013,
        *,
        noise: tuple[float, float] = (0.002, math.radians(1.0)),
        **options,
    ) -> SensorFilter:
        """Build a filter by its responsiveness: `half_life` seconds after a step input half of it is made up.

        noise: standard deviations of the sensors, metres and radians. The poles of the continuous filter are at
        ω·exp(±iπ/4) with ω⁴ = Q/(R·Δt), so that its response halves in √2·ln 2/ω seconds.
        """
        half_life = _checked_half_life(half_life)
        sensors = whole_number(sensors, "sensors", MotionError, low=0, high=MOST_SENSORS)
        spread = np.maximum(broadcast(noise, (sensors, 2), "noise", MotionError), LEAST_NOISE)
        return cls(spread, _density(spread, half_life), **options)

    def __len__(self) -> int:
        """Return the number of sensors."""
        return len(self.noise)

    def init(self, home_positions: ArrayLike | None = None, home_rotations: ArrayLike | None = None) -> FilterState:
        """Return an initial state. home: (N, 3) metres and (N, 4), shown at first and after long gaps."""
        from footplant.live import _kalman as kalman

        count = len(self)
        places = np.zeros((count, 3)) if home_positions is None else np.array(home_positions, float)
        turns = rotation.identity(count) if home_rotations is None else np.array(home_rotations, float)
        if places.shape != (count, 3) or turns.shape != (count, 4):
            raise MotionError(
                f"expected homes of shapes ({count}, 3) and ({count}, 4), got {places.shape}, {turns.shape}"
            )
        return FilterState(
            rings=_pair(lambda: np.zeros((count, kalman.DEPTH, kalman.WIDTH))),
            heads=_pair(lambda: np.zeros(count, np.int64)),
            counts=_pair(lambda: np.zeros(count, np.int64)),
            memories=_pair(lambda: np.zeros((count, kalman.MEMORY))),
            home=(places, np.array(turns)),
            shown=(places.copy(), np.array(turns)),
            scratch=np.zeros(kalman.SCRATCH),
        )

    def step(
        self, state: FilterState, positions: NDArray, rotations: NDArray, present: NDArray, dt: float
    ) -> tuple[FilterState, NDArray, NDArray]:
        """Filter one frame, `dt` seconds after the last one, and return the output: (N, 3) metres and (N, 4).

        present: (N,) which sensors have sent; the others' values are ignored. The returned arrays belong to the state
        and are overwritten by the next step.
        """
        from footplant.live import _kalman as kernel

        # shapes and types alone: what is not finite is the kernel's business, which takes it for absent
        count = len(self)
        positions = np.ascontiguousarray(shaped(positions, (count, 3), "positions", MotionError, finite=False))
        rotations = np.ascontiguousarray(shaped(rotations, (count, 4), "rotations", MotionError, finite=False))
        present = np.ascontiguousarray(rectangle(present, "present", MotionError), bool)
        if present.shape != (count,):
            raise MotionError(f"expected present of shape ({count},), got {present.shape}")
        dt = min(max(float(dt), 0.0), 1.0) if isinstance(dt, int | float) and math.isfinite(dt) else 0.0
        for channel, measured in enumerate((positions, rotations)):
            model = kernel.ChannelModel(
                self._variances[channel], self._densities[channel], self._times, state.home[channel]
            )  # fmt: skip
            own = kernel.ChannelState(
                state.rings[channel], state.heads[channel], state.counts[channel], state.memories[channel]
            )  # fmt: skip
            kernel.step_channel(
                measured, present, dt, model, own, state.scratch, state.shown[channel], channel == 1
            )  # fmt: skip
        return state, *state.shown


def _pair(make):
    return make(), make()


def _checked_half_life(half_life: float) -> float:
    """A half-life in seconds that a filter can have."""
    if not 1e-6 <= real_number(half_life, "half-life", MotionError) <= 1e6:
        raise MotionError(f"expected a positive half-life in seconds, got {half_life}")
    return float(half_life)


def _density(spread: NDArray, half_life: float) -> NDArray:
    """Return the Q that gives a filter of sensors with that noise the half-life."""
    return spread**2 / NOMINAL_RATE * (math.sqrt(2.0) * math.log(2.0) / half_life) ** 4
