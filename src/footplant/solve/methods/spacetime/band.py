"""Unknowns of a spacetime problem: control points of displacement splines, and border variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Knots:
    """Uniform cubic B-splines over the frames of a clip, as weights of four control points at every frame."""

    first: NDArray
    """(F,) the first of the four control points of frame f; those outside 0 … count−1 are fixed at zero."""
    basis: NDArray
    """(F, 4) their weights."""
    speeding: NDArray
    """(F, 4) their weights in the first derivative, 1/s."""
    bending: NDArray
    """(F, 4) their weights in the second derivative, 1/s²."""
    count: int
    """K, the number of unknown control points."""
    fps: float

    @classmethod
    def over(cls, frames: int, spacing: float, fps: float, fixed: bool = False) -> Knots:
        """Return knots about `spacing` frames apart (rounded to fit), over all frames.

        fixed: value, slope and curvature are zero at both ends, so that the clip continues unchanged beyond them.
        """
        segments = max(round((frames - 1) / spacing), 1)
        step = max(frames - 1, 1) / segments
        at = np.arange(frames) / step
        first = np.clip(at.astype(np.int64), 0, segments - 1)
        t = at - first
        s = 1.0 - t
        basis = np.stack([s**3, 3 * t**3 - 6 * t**2 + 4, 3 * s**3 - 6 * s**2 + 4, t**3], axis=1) / 6.0
        speeding = np.stack([-(s**2), 3 * t**2 - 4 * t, 4 * s - 3 * s**2, t**2], axis=1) * (0.5 * fps / step)
        bending = np.stack([s, 3 * t - 2, 3 * s - 2, t], axis=1) * (fps / step) ** 2
        count = segments + 3
        if fixed:
            first, count = first - 3, max(count - 6, 0)
        return cls(first, basis, speeding, bending, count, fps)

    def gram(self, weights: NDArray) -> NDArray:
        """Return the Gram matrix (K, 4) of weights (F, 4): control point k against k … k+3, in seconds."""
        out = np.zeros((self.count + 4, 4))
        for c in range(4):
            for a in range(c, 4):
                rows = self.first + c
                inside = (rows >= 0) & (self.first + a < self.count)
                np.add.at(out[:, a - c], rows[inside], (weights[:, a] * weights[:, c])[inside] / self.fps)
        return out[: self.count]

    def displacements(self, control: NDArray) -> NDArray:
        """Return the curves (F, n) of control points (K, n)."""
        import footplant.solve.methods.spacetime._rows as kernel

        out = np.empty((len(self.first), control.shape[1]))
        kernel.displace_frames(self.first, self.basis, control, out)
        return out

    def fitted(self, displacements: NDArray) -> NDArray:
        """Return the control points (K, n) of the least-squares fit to displacements (F, n)."""
        from scipy.linalg import solveh_banded

        gram = self.gram(self.basis) * self.fps
        gram[:, 0] += 1e-6
        rhs = np.zeros((self.count, displacements.shape[1]))
        for a in range(4):
            rows = self.first + a
            inside = (rows >= 0) & (rows < self.count)
            np.add.at(rhs, rows[inside], self.basis[inside, a, None] * displacements[inside])
        if not self.count:
            return rhs
        lower = np.ascontiguousarray(gram.T)
        # LAPACK answers in Fortran's order, and kernels are compiled ahead for C's alone
        return np.ascontiguousarray(solveh_banded(lower[: min(4, self.count)], rhs, lower=True))


@dataclass(frozen=True, eq=False)
class Border:
    """Scalar unknowns that touch more than four control points: positions of plants, multipliers of couplings."""

    first: NDArray
    """(V,) the first control point that each touches."""
    last: NDArray
    """(V,) the last one; each is eliminated right after it."""
    lead: NDArray
    """(V,) the first variable of the same plant; itself for a coupling's multiplier."""
    slots: NDArray
    """(V,) the row of the border that each has while it is live."""
    width: int
    """b, the number of rows of the border: the most variables that are live at once."""
    opening: NDArray = field(init=False)
    """(V,) the variables by first control point."""
    closing: NDArray = field(init=False)
    """(V,) and by last control point."""

    def __post_init__(self) -> None:
        """Sort the variables."""
        object.__setattr__(self, "opening", np.lexsort((np.arange(len(self.first)), self.first)))
        object.__setattr__(self, "closing", np.lexsort((np.arange(len(self.last)), self.last)))

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self.first)

    @classmethod
    def of(cls, first: NDArray, last: NDArray, lead: NDArray) -> Border:
        """Assign slots to variables: the lowest free one; it stays busy for three control points after its variable."""
        slots, free, busy, width = np.zeros(len(first), np.int64), [], [], 0
        for v in np.lexsort((np.arange(len(first)), first)):
            while busy and busy[0][0] < first[v]:
                heappush(free, heappop(busy)[1])
            if free:
                slots[v] = heappop(free)
            else:
                slots[v], width = width, width + 1
            heappush(busy, (int(last[v]) + 3, int(slots[v])))
        return cls(first, last, lead, slots, width)


@dataclass(eq=False)
class System:
    """The normal equations of one step, with workspace to factor them."""

    knots: Knots
    border: Border
    change: NDArray
    """(n, n) C, cost of a displacement."""
    speed: NDArray
    """(n, n) S, cost of its first derivative."""
    bend: NDArray
    """(n, n) B, cost of its second derivative."""
    mass: NDArray = field(init=False)
    """(K, 4) Gram matrix of the splines; `speeding`, `bending`: of their derivatives."""
    speeding: NDArray = field(init=False)
    bending: NDArray = field(init=False)
    band: NDArray = field(init=False)
    rhs: NDArray = field(init=False)
    side: NDArray = field(init=False)
    """(K, b, n) the border."""
    var_corner: NDArray = field(init=False)
    var_rhs: NDArray = field(init=False)

    def __post_init__(self) -> None:
        """Allocate the arrays."""
        count, width = self.knots.count, len(self.change)
        knots = self.knots
        self.mass, self.speeding, self.bending = map(knots.gram, (knots.basis, knots.speeding, knots.bending))
        self.band, self.rhs = np.empty((count, 4 * width, width)), np.empty((count, width))
        self._factors = np.empty_like(self.band)
        self.surround(self.border)

    def surround(self, border: Border) -> None:
        """Replace the border."""
        self.border = border
        self.side = np.empty((*self.rhs.shape[:1], border.width, *self.rhs.shape[1:]))
        self.var_corner, self.var_rhs = np.empty((len(border), 3)), np.empty(len(border))

    def value(self, control: NDArray) -> float:
        """Return the objective at control points: ½ ∫ dᵀ·C·d + d′ᵀ·S·d′ + d″ᵀ·B·d″ dt."""
        return 0.5 * float(np.sum(control * self._slope(control)))

    def _slope(self, control: NDArray) -> NDArray:
        import footplant.solve.methods.spacetime._assembly as kernel

        out = np.empty_like(control)
        kernel.slope_band(kernel.Costs(*self.costs), control, out)
        return out

    @property
    def costs(self) -> tuple[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray]:
        return self.mass, self.speeding, self.bending, self.change, self.speed, self.bend

    @property
    def equations(self) -> tuple:
        """The fields of the kernel's `Equations`."""
        return self.band, self.rhs, self.side, self.var_corner, self.var_rhs, self.border.slots

    def start(self, control: NDArray) -> None:
        """Start the equations with the objective's gradient at control points; `Rows.assemble` starts the band."""
        self.rhs[:] = -self._slope(control)
        self.side[:], self.var_corner[:], self.var_rhs[:] = 0.0, 0.0, 0.0

    def solve(self, damping: float = 0.0, places: int = 0) -> tuple[NDArray, NDArray] | None:
        """Return the step: control points (K, n) and border variables (V,); None when the matrix is not definite.

        damping: relative to the cost of change, on the diagonal; of the border only the first `places` variables are
        damped. The equations stay as they are, to be solved again with another damping.
        """
        import footplant.solve.methods.spacetime._factor as kernel

        border, count, width = self.border, *self.rhs.shape
        side, rhs, corner, damped = self.side.copy(), self.rhs.copy(), self.var_corner, np.zeros_like(self.rhs)
        if damping:
            damped[:] = damping * self.mass[:, :1] * np.diag(self.change)
            first = np.arange(places)
            corner = corner.copy()
            corner[first, first - border.lead[:places]] += damping * self.change[0, 0]
        factors = kernel.VariableFactors(np.empty((len(border), 3 * width + border.width)), np.empty(len(border)))
        answer = kernel.Answer(np.zeros((count, width)), np.zeros(len(border)))
        variables = kernel.Variables(
            border.opening, border.closing, border.first, border.last, border.lead, border.slots
        )
        system = kernel.Bordered(self.band, damped, self._factors, side, rhs, corner, self.var_rhs)
        solved = kernel.solve_bordered(system, variables, factors, answer)
        return (answer.control, answer.variables) if solved else None
