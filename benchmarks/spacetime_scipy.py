"""Spacetime against SciPy on one problem, the catwalk of Gleicher (Graphical Models 2001, section 4.2.1).

The catwalk is a walk on a narrow track, 183 frames at 30 frames a second, to the character of 60 % size in the original
footsteps; it has 954 scalar constraints, as in the paper (`papers/gleicher.py` lets plants move, too). SciPy's
`least_squares` gets the very same unknowns, residuals and derivatives (a sparse Jacobian, its trust region with LSMR),
constraints as a stiff penalty: what it has to offer for such a problem.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant.kinematics import Kinematics
from footplant.problem import Problem
from footplant.solve.methods.spacetime import Spacetime
from footplant.solve.methods.spacetime.rows import Rows
from footplant.solve.methods.spacetime.search import Search
from footplant.solve.methods.spacetime.settings import SPACETIME
from papers.gleicher import catwalk
from timing import cpu_seconds, main

STIFF = SPACETIME.penalties[-1]


def run() -> dict[str, float]:
    """Time and error of spacetime on the catwalk, and of SciPy on the same problem."""
    problem, method = catwalk(), Spacetime()
    solution = method.solve(problem)
    errors = np.concatenate([_errors(constraint, solution.motion) for constraint in problem.constraints])
    splines = replace(method, exact=False)
    ours = cpu_seconds(lambda: splines.solve(problem), repeats=5)
    ours_error = _total(problem, splines.solve(problem).motion)
    theirs, theirs_error = scipy_seconds(problem, splines)
    return {
        "spacetime.catwalk.frames": len(problem.motion),
        "spacetime.catwalk.scalar_constraints": 3 * sum(map(len, problem.constraints)),
        "spacetime.catwalk.seconds": cpu_seconds(lambda: method.solve(problem), repeats=5),
        "spacetime.catwalk.total_error_metres": float(errors.sum()),
        "spacetime.catwalk.worst_mm": 1000.0 * float(errors.max()),
        "spacetime.splines_seconds": ours,
        "spacetime.scipy_seconds": theirs,
        "spacetime.splines_total_error_metres": ours_error,
        "spacetime.scipy_total_error_metres": theirs_error,
        "spacetime.times_faster_than_scipy": theirs / ours,
    }


def _errors(constraint, motion) -> NDArray:
    held = np.asarray(constraint.frames)
    return np.linalg.norm(constraint.residual(Kinematics(motion)[held]), axis=1)


def _total(problem: Problem, motion) -> float:
    return float(sum(_errors(constraint, motion).sum() for constraint in problem.constraints))


def scipy_seconds(problem: Problem, method: Spacetime) -> tuple[float, float]:
    """CPU time of `scipy.optimize.least_squares`, and its total error in metres."""
    from scipy.linalg import block_diag, cholesky  # noqa: F401
    from scipy.optimize import least_squares
    from scipy.sparse import csr_matrix, kron, vstack

    motion = problem.motion
    rows = Rows(Kinematics(motion), problem.constraints, np.ones(len(motion), bool))
    search = Search(problem, rows, method.smoothness, method.iterations)
    knots = search.knots(max(method.spacing * motion.fps / 30.0, 2.0), 0, len(motion), False)
    rows.border(knots)
    weights = np.sqrt(np.where(rows.hard, STIFF, rows.soft) * rows.scale**2 / motion.fps)
    shape, width = (knots.count, len(rows.columns)), len(rows.columns)
    roots = [np.linalg.cholesky(cost + 1e-30 * np.eye(width)).T for cost in (search.change, search.speed, search.bend)]
    tables = [spread(knots, values) for values in (knots.basis, knots.speeding, knots.bending)]
    costs = vstack([kron(table, root) for table, root in zip(tables, roots)]).tocsr() / np.sqrt(motion.fps)
    pinned = np.repeat(rows.pin_rows, 3)

    def residuals(x: NDArray) -> NDArray:
        at = rows.evaluate(knots, x.reshape(shape), np.zeros(0))
        return np.concatenate([costs @ x, weights * at.residuals])

    def jacobian(x: NDArray):
        at = rows.evaluate(knots, x.reshape(shape), np.zeros(0))
        own = rows.pin_jacobian(at) * weights[:, None]
        columns = (knots.first[pinned][:, None] + np.arange(4))[:, :, None] * width + np.arange(width)
        values = knots.basis[pinned][:, :, None] * own[:, None, :]
        lines = np.broadcast_to(np.arange(len(own))[:, None, None], values.shape)
        return vstack(
            [costs, csr_matrix((values.ravel(), (lines.ravel(), columns.ravel())), (len(own), x.size))]
        ).tocsr()

    started = time.process_time()
    found = least_squares(
        residuals, np.zeros(shape[0] * shape[1]), jac=jacobian,  # type: ignore[arg-type]
        method="trf", tr_solver="lsmr", x_scale="jac",
        ftol=1e-6, xtol=1e-6, gtol=1e-6, max_nfev=60,
    )  # fmt: skip
    taken = time.process_time() - started
    at = rows.evaluate(knots, found.x.reshape(shape), np.zeros(0))
    return taken, _total(problem, at.kinematics.motion)


def spread(knots, weights: NDArray):
    """(F, K) the weights (F, 4) of control points as a sparse matrix."""
    from scipy.sparse import csr_matrix

    lines = np.repeat(np.arange(len(knots.first)), 4)
    columns = (knots.first[:, None] + np.arange(4)).ravel()
    return csr_matrix((weights.ravel(), (lines, columns)), (len(knots.first), knots.count))


if __name__ == "__main__":
    main(run)
