"""Gleicher's taxonomy: the particle of his figures, and every method on the same problem."""

from __future__ import annotations

import numpy as np
import pytest

from footplant import samples
from footplant.constraints import Footplant, Position, SamePlace
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.problem import Problem, Status
from footplant.solve.methods.filtered import Filtered, kernel_of, relax
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.methods.perframe import PerFrame
from footplant.solve.methods.perkey import PerKey, find_keys
from footplant.solve.methods.warping import Warping
from footplant.spline import binomial_kernel

FRAMES, MIDDLE = 81, 40


def held(path):
    """A particle on the x axis, held at both ends, at the height 1 in the middle."""
    path = path.copy()
    path[[0, -1], 1] = 0.0
    path[MIDDLE, 1] = 1.0
    return path


def line():
    return np.stack([np.linspace(0.0, 10.0, FRAMES), np.zeros(FRAMES)], axis=1)


def test_each_pass_gains_the_middle_of_the_kernel():
    path, left = line(), 1.0
    for _ in range(5):
        path = relax(path, held, [binomial_kernel(9)])
        assert 1.0 - path[MIDDLE, 1] == pytest.approx(left * (1.0 - 70.0 / 256.0), rel=1e-6)
        left = 1.0 - path[MIDDLE, 1]


def test_decreasing_kernels_converge_and_stay_smooth():
    path = relax(line(), held, [kernel_of(width) for width in (33, 17, 9, 9, 5, 5, 3, 3, 3)])
    assert path[MIDDLE, 1] > 0.97
    spike = held(line())
    assert np.abs(np.diff(path[:, 1], 2)).max() < 0.25 * np.abs(np.diff(spike[:, 1], 2)).max()
    np.testing.assert_allclose(path[:, 0], line()[:, 0], atol=1e-12)


def test_a_wavy_start_keeps_its_wave():
    wave = line()
    wave[:, 1] = 0.2 * np.sin(np.arange(FRAMES) * 2.0 * np.pi / 8.0)
    kernels = [kernel_of(width) for width in (33, 17, 9, 5)]
    change = relax(wave, held, kernels)[:, 1] - wave[:, 1]
    far = np.abs(np.arange(FRAMES) - MIDDLE) > 34
    np.testing.assert_allclose(change[far][1:-1], 0.0, atol=0.02)
    # but for the very peak, what was added is smooth: it has nothing of the wave
    beside = np.abs(np.arange(1, FRAMES - 1) - MIDDLE) > 4
    assert np.abs(np.diff(change, 2))[beside].max() < 0.3 * np.abs(np.diff(wave[:, 1], 2)).max()


@pytest.fixture(scope="module")
def problem():
    """A reach whose right palm has to be elsewhere, feet planted."""
    clip = samples.load("reach")
    motion, character = clip.motion[::4], clip.character
    kinematics = Kinematics(motion)
    palm = kinematics.point(character.contacts["right_palm"])[50]
    feet = tuple(
        Footplant(
            point=character.contacts[name],
            place=kinematics.point(character.contacts[name])[0],
            frames=range(len(motion)),
            name=name,
        )
        for name in ("left_ball", "right_ball")
    )
    shifted = Position(
        point=character.contacts["right_palm"], target=palm + [0.05, 0.08, 0.03], frames=range(46, 56), name="palm"
    )
    return Problem(motion, character, (*feet, shifted))


@pytest.mark.parametrize("method", [PerFrame(), Filtered(), Hierarchical()], ids=lambda m: type(m).__name__)
def test_exact_methods_meet_every_constraint(problem, method):
    solution = method.solve(problem)
    assert solution.status is Status.SOLVED
    assert all(entry.met for entry in solution.report.constraints)
    assert solution.report.levels


def test_warping_holds_at_its_frames_and_is_smooth_between(problem):
    solution = Warping().solve(problem)
    palm = next(entry for entry in solution.report.constraints if entry.name == "palm")
    assert palm.worst < 20.0
    chosen = Warping(frames=(46, 50, 55)).solve(problem)
    place = Kinematics(chosen.motion).point(problem.constraints[2].point)[[46, 50, 55]]
    np.testing.assert_allclose(place, np.broadcast_to(problem.constraints[2].target, (3, 3)), atol=1e-4)


def test_keys_are_found_posed_and_passed_through(problem):
    keys = find_keys(problem)
    assert {0, 46, 55} <= set(keys.tolist())
    assert len(keys) < len(problem.motion) / 2
    solution = PerKey().solve(problem)
    place = Kinematics(solution.motion).point(problem.constraints[2].point)[[46, 55]]
    np.testing.assert_allclose(place, np.broadcast_to(problem.constraints[2].target, (2, 3)), atol=1e-4)


@pytest.mark.parametrize("method", [PerFrame(), Filtered(), Warping(), PerKey(), Hierarchical()])
def test_no_method_ignores_what_it_cannot_honour(problem, method):
    point = problem.character.contacts["left_ball"]
    for constraint in (Footplant(point=point, frames=range(5, 9)), SamePlace(point=point, pair=(3, 9))):
        with pytest.raises(ConstraintError, match="cannot honour"):
            method.solve(Problem(problem.motion, problem.character, (constraint,)))


@pytest.mark.parametrize("method", [Warping(frames=(3, 4000)), PerKey(keys=(-7,))])
def test_frames_out_of_the_clip_are_refused(problem, method):
    with pytest.raises(ConstraintError, match="expected"):
        method.solve(problem)


@pytest.mark.parametrize("method", [PerFrame(), Filtered(), Warping(), PerKey(), Hierarchical()])
def test_nothing_asked_changes_nothing(problem, method):
    solution = method.solve(Problem(problem.motion, problem.character))
    assert solution.status is Status.SOLVED
    np.testing.assert_array_equal(solution.motion.rotations, problem.motion.rotations)
