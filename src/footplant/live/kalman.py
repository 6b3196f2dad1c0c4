"""Kalman filtering of streaming sensors (Shin 2002, chapter 3).

Every sensor has a position and an orientation. Both follow a constant-velocity model; orientations are filtered as
rotation vectors about the estimate, which is a quaternion kept outside of the filter. Beyond the thesis: time steps of
any length, gaps, outliers, covariances in Joseph's form, which cannot collapse, and a smoother: measurements are taken
with the times at which they were made (`measure`), and what is shown (`show`) is the estimate at any time, improved by
the measurements since. Shown some time behind the measurements, it is a jitter buffer: late and lost ones are
interpolated.

The gains follow from the times of the measurements alone, never from what was measured: bones of equal noise that are
measured together are filtered alike, and what cancels between them still does. Where thigh and shin turn against each
other at a landing, a filter whose gains grow with each bone's own motion shows one of them late and the other not, and
the foot between them leaps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import broadcast, real_array, real_number, rectangle, rows_of_width, shaped, whole_number
from footplant.errors import MotionError

NOMINAL_RATE = 120.0
"""Samples per second for which half-lives are specified."""
LEAST_NOISE = 1e-6
"""Metres and radians; smallest sensor noise. A noise of zero would make the covariance singular."""


@dataclass(frozen=True)
class Gaps:
    """What to show while a sensor sends nothing, and afterwards."""

    fade: float = 0.15
    """Seconds in which the velocity decays to 1/e without data: the motion continues a little, then stops. With 20 % of
    the datagrams lost, a kick, a punch and a run (eight draws each, `benchmarks/live_wire.py --simulate`) accelerate at
    worst by 1.34, 1.00 and 1.32 times as much, in the median by 1.11, 0.99 and 1.13. At 0.1 that is 1.30, 1.00 and 1.32
    at worst; at 0.06 a runner's hips catch up 1.6 times as fast as they run after a gap of 0.2 s, not 1.5 at most."""
    hold: float = 3.0
    """Seconds without data after which the character eases to its home pose; infinity: never."""
    ease: float = 2.0
    """Seconds that easing home takes."""
    stretch: float = 3.0
    """Ratio of the catching-up time after a gap to the gap's length: 3 keeps the catching up below half of the motion's
    own speed."""
    shortest: float = 0.45
    """Seconds; shortest catching up. At 0.2, a kick of which poses are lost accelerates 1.43 instead of 1.34 times as
    much, and is 1.38 instead of 1.14 times as fast (20 % loss, eight draws, `benchmarks/live_wire.py --simulate`)."""
    longest: float = 0.5
    """Seconds; longest catching up: after half a second the character follows again. At 0.48, the speed after a stall
    of 5 s is 1.31 instead of 1.26 times the performer's; at 0.52, 1.21."""
    restart: float = 0.25
    """Seconds without data after which nothing from before is smoothed into what follows."""


@dataclass(frozen=True)
class Outliers:
    """Which measurements are held back as physically impossible: those further from the prediction than a base and what
    an acceleration could have done since the last one.

    At 60 Hz that is 14 cm and 53°: hips reach 60 m/s² in a jump, a wrist 1500 rad/s² in a throw. Halved, throws are
    held back; doubled, glitches of 0.3 m pass at 60 Hz.
    """

    metres: float = 0.08
    metres_per_second2: float = 400.0
    radians: float = 0.5
    radians_per_second2: float = 3000.0
    believed: int = 3
    """Outliers in a row that agree with each other and are then believed."""


@dataclass
class FilterState:
    """State of the filter for N sensors. `step` changes it in place, so that a frame allocates nothing."""

    home: NDArray
    """(2, N, 4) positions (metres, in three columns) and orientations: shown before the first data, and where long gaps
    ease to."""
    rows: NDArray
    """(2, N, depth, width) positions and orientations: the last frames of each, newest first, see `_kalman`."""
    counts: NDArray
    """(2, N) frames of each since a gap, up to `depth`; 0 for a sensor that has sent nothing yet."""
    memories: NDArray
    """(2, N, 22) seconds without data, easing, outliers: see `_kalman`."""
    shown: tuple[NDArray, NDArray]
    """(N, 3) metres and (N, 4): the last output."""
    scratch: NDArray
    """Scratch of the kernel."""
    missing_at: int
    """Column of `memories` for `missing`."""
    time: float = 0.0
    """Seconds: of the last output."""

    @property
    def missing(self) -> NDArray:
        """(N,) seconds since each sensor sent its position."""
        return self.memories[0][:, self.missing_at]

    @property
    def outliers(self) -> int:
        """Measurements that were held back."""
        from footplant.live import _kalman as kalman

        return int(self.memories[..., kalman.GATED].sum())


MOST_SENSORS = 100_000
"""Sensors of a filter at most: more are taken for a mistake."""


@dataclass(frozen=True, eq=False)
class SensorFilter:
    """A Kalman filter of N sensors: R is the sensors' noise, Q the density of their accelerations."""

    noise: NDArray
    """(N, 2) standard deviations of one sample per axis: metres and radians (R)."""
    acceleration: NDArray
    """(N, 2) spectral densities of the model's white acceleration: m²/s³ and rad²/s³ (Q)."""
    lag: float = 0.025
    """Seconds by which the output of `step` is behind its input; 0: the filter alone, without the smoother."""
    gaps: Gaps = field(default_factory=Gaps)
    outliers: Outliers = field(default_factory=Outliers)
    _model: tuple[NDArray, NDArray, NDArray] = field(init=False, repr=False)
    """Variances (2, N), densities (2, N) and numbers (2, 10) of both channels: see `_kalman.ChannelModel`."""
    _kernels: tuple[Callable, Callable] = field(init=False, repr=False)
    """`measure` and `show` of `_kalman`."""

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        from footplant.live._kalman import measure, show

        object.__setattr__(self, "_kernels", (measure, show))
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
        if self.lag < 0:
            raise MotionError(f"expected a lag of 0 s or more, got {self.lag}")
        noise = np.maximum(noise, LEAST_NOISE)
        for name, array in (("noise", noise), ("acceleration", acceleration)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        gaps, outliers = self.gaps, self.outliers
        times = (
            gaps.fade, gaps.hold, max(gaps.ease, 1e-3), gaps.shortest, gaps.longest, gaps.restart, gaps.stretch,
        )  # fmt: skip
        gates = (
            (outliers.metres, outliers.metres_per_second2),
            (outliers.radians, outliers.radians_per_second2),
        )
        numbers = np.array([[*times, *gate, outliers.believed] for gate in gates], float)
        model = (np.ascontiguousarray(noise.T**2), np.array(acceleration.T, order="C"), numbers)
        object.__setattr__(self, "_model", model)

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

    @classmethod
    def from_noise(cls, noise: ArrayLike, **options) -> SensorFilter:
        """Build a filter from measured noise (N, 2), metres and radians: the more of it, the longer its half-life.

        The accelerations of the model are those at which sensors with 2 mm and 1° of noise have a half-life of 13 ms,
        which halves their error; the half-life goes with the square root of the noise.
        """
        spread = np.maximum(rows_of_width(noise, 2, "noise", MotionError), LEAST_NOISE)
        usual = _density(np.array([0.002, math.radians(1.0)]), 0.013)
        return cls(spread, np.broadcast_to(usual, spread.shape), **options)

    def __len__(self) -> int:
        """Return the number of sensors."""
        return len(self.noise)

    def init(
        self, home_positions: ArrayLike | None = None, home_rotations: ArrayLike | None = None, when: float = 0.0
    ) -> FilterState:
        """Return a state at `when` seconds. home: (N, 3) metres and (N, 4), shown at first and after long gaps."""
        from footplant.live import _kalman as kalman

        count = len(self)
        places = np.zeros((count, 3)) if home_positions is None else np.array(home_positions, float)
        turns = rotation.identity(count) if home_rotations is None else np.array(home_rotations, float)
        if places.shape != (count, 3) or turns.shape != (count, 4):
            raise MotionError(
                f"expected homes of shapes ({count}, 3) and ({count}, 4), got {places.shape}, {turns.shape}"
            )
        home = np.zeros((2, count, 4))
        home[0, :, :3], home[1] = places, turns
        return FilterState(
            home=home,
            rows=np.zeros((2, count, kalman.DEPTH, kalman.WIDTH)),
            counts=np.zeros((2, count), np.int64),
            memories=np.zeros((2, count, kalman.MEMORY)),
            shown=(places.copy(), np.array(turns)),
            scratch=np.zeros(kalman.SCRATCH),
            missing_at=kalman.MISSING,
            time=float(when),
        )

    def step(
        self, state: FilterState, positions: NDArray, rotations: NDArray, present: NDArray, dt: float
    ) -> tuple[FilterState, NDArray, NDArray]:
        """Filter one frame, `dt` seconds after the last one, and return the output: (N, 3) metres and (N, 4).

        present: (N,) which sensors have sent; the others' values are ignored. The returned arrays belong to the state
        and are overwritten by the next step.
        """
        dt = min(max(float(dt), 0.0), 1.0) if isinstance(dt, int | float) and math.isfinite(dt) else 0.0
        # the first output is at 0
        now = state.time + self.lag + dt
        self.measure(state, positions, rotations, present, now)
        return state, *self.show(state, now - self.lag)

    def measure(
        self, state: FilterState, positions: NDArray, rotations: NDArray, present: NDArray, when: float
    ) -> None:
        """Take one frame that was made at a time, seconds on any clock: see `step`.

        Sensors may send at different times; what is not newer than a sensor's last measurement is ignored.
        """
        # shapes and types alone: what is not finite is the kernel's business, which takes it for absent
        count = len(self)
        positions = np.ascontiguousarray(shaped(positions, (count, 3), "positions", MotionError, finite=False))
        rotations = np.ascontiguousarray(shaped(rotations, (count, 4), "rotations", MotionError, finite=False))
        present = np.ascontiguousarray(rectangle(present, "present", MotionError), bool)
        if present.shape != (count,):
            raise MotionError(f"expected present of shape ({count},), got {present.shape}")
        self.measure_unchecked(state, positions, rotations, present, float(real_number(when, "time", MotionError)))

    def measure_unchecked(
        self, state: FilterState, positions: NDArray, rotations: NDArray, present: NDArray, when: float
    ) -> None:
        """Take one frame like `measure`, for callers whose arrays are contiguous and have the right shapes."""
        self._kernels[0](
            positions, rotations, present, state.scratch, when, state.time, *self._model, state.home, state.rows,
            state.counts, state.memories,
        )  # fmt: skip

    def show(self, state: FilterState, when: float) -> tuple[NDArray, NDArray]:
        """Return the estimate at a time, not before the last one: (N, 3) metres and (N, 4), owned by the state."""
        return self.show_unchecked(state, float(real_number(when, "time", MotionError)))

    def show_unchecked(self, state: FilterState, when: float) -> tuple[NDArray, NDArray]:
        """Return the estimate at a time like `show`, for callers whose time is a number."""
        when = max(when, state.time)
        dt = min(when - state.time, 1.0)
        state.time = when
        self._kernels[1](
            *state.shown, state.scratch, when, dt, *self._model, state.home, state.rows, state.counts, state.memories
        )  # fmt: skip
        return state.shown


def _checked_half_life(half_life: float) -> float:
    """A half-life in seconds that a filter can have."""
    if not 1e-6 <= real_number(half_life, "half-life", MotionError) <= 1e6:
        raise MotionError(f"expected a positive half-life in seconds, got {half_life}")
    return float(half_life)


def _density(spread: NDArray, half_life: float) -> NDArray:
    """Return the Q that gives a filter of sensors with that noise the half-life."""
    return spread**2 / NOMINAL_RATE * (math.sqrt(2.0) * math.log(2.0) / half_life) ** 4
