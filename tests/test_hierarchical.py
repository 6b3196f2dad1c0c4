"""Hierarchical motion fitting: levels close in, the last pass is exact, ramps ease, and what cannot be is said."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Kinematics
from footplant.constraints import Distance, Footplant, JointLimits, Orientation, Position, SamePlace
from footplant.errors import ConstraintError, MotionError
from footplant.problem import Problem, Status
from footplant.samples import load
from footplant.skeleton import Character, Point
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.spline import Spline, fit_multilevel, fit_spline
from random_figures import random_motion

FIRST = (0.0, 0.06, 0.04)
"""Metres by which the plants of the edit are moved."""


@pytest.fixture(scope="module")
def walk():
    clip = load("walk")
    return replace(clip, motion=clip.motion[:300])


def plants(clip, shift=FIRST, ramp=(0.15, 0.15)) -> tuple[Footplant, ...]:
    """The heels' and balls' own rests, moved: a walk that must go elsewhere."""
    kinematics, found = Kinematics(clip.motion), []
    for name in ("left_heel", "left_ball", "right_heel", "right_ball"):
        places = kinematics.point(clip.character.contacts[name])
        still = np.flatnonzero(np.linalg.norm(np.diff(places, axis=0), axis=1) < 1e-4)
        for part in np.split(still, np.flatnonzero(np.diff(still) > 1) + 1):
            if len(part) > 10:
                found.append(
                    Footplant(
                        name=f"{name} {part[0]}",
                        point=clip.character.contacts[name],
                        place=places[part].mean(axis=0) + shift,
                        frames=range(int(part[0]), int(part[-1]) + 1),
                        ramp=ramp,
                    )
                )
    return tuple(found)


def uneven(clip) -> tuple[Footplant, ...]:
    """Every step moved elsewhere: what they had in common the first guess would meet alone."""
    shifts = [[0.02, 0.08, 0.05], [0.06, 0.02, 0.0], [0.0, 0.06, 0.06], [-0.04, 0.0, 0.05], [0.0, 0.05, 0.0]]
    return tuple(replace(plant, place=plant.place + shifts[plant.frames[0] // 60]) for plant in plants(clip, (0, 0, 0)))


def test_levels_close_in_and_the_last_pass_is_exact(walk):
    problem = Problem(walk.motion, walk.character, uneven(walk))
    loose = Hierarchical(exact=False).solve(problem)
    errors = [level.worst for level in loose.report.levels]
    assert errors[-1] < 0.25 * errors[1]
    assert all(later <= 1.05 * earlier for earlier, later in pairwise(errors[1:]))
    assert loose.report.levels[-1].worst_share < 1.0, "below 1 % of the height, as in the paper"
    exact = Hierarchical().solve(problem)
    assert exact.status is Status.SOLVED
    assert exact.report.levels[-1].name == "exact"
    assert exact.report.worst is not None
    assert exact.report.worst.worst < 1.0
    assert all(entry.met for entry in exact.report.constraints)
    assert [level.name for level in exact.report.levels[:-1]] == [level.name for level in loose.report.levels]


def test_what_all_plants_have_in_common_is_met_by_the_first_guess(walk):
    problem = Problem(walk.motion, walk.character, plants(walk, (0.02, 0.08, 0.05)))
    guess = Hierarchical(spacings=(16.0,), exact=False).solve(problem)
    assert guess.report.levels[0].name == "first guess"
    assert guess.report.levels[0].worst < 1e-6
    moved = guess.motion.root - walk.motion.root
    assert np.abs(moved - moved.mean(axis=0)).max() < 0.001, "no ripples"


def test_further_levels_are_taken_where_much_is_left(walk):
    problem = Problem(walk.motion, walk.character, uneven(walk))
    coarse = Hierarchical(spacings=(16.0,), exact=False)
    alone, finer = (replace(coarse, further=number).solve(problem).report.levels for number in (0, 3))
    assert [level.name for level in finer[1:]] == [f"{spacing} frames a knot" for spacing in (16, 8, 4)], (
        "no more than needed"
    )
    assert finer[-1].worst < 0.5 * alone[-1].worst
    easy = Problem(walk.motion, walk.character, plants(walk))
    assert len(replace(coarse, further=3).solve(easy).report.levels) == 2


def test_what_a_shaking_source_holds_is_stilled_frame_by_frame(walk):
    root, shaking = np.array(walk.motion.root), slice(140, 152)
    root[shaking, 0] += 0.025 * (-1.0) ** np.arange(12)
    shaken = replace(walk.motion, root=root)
    problem = Problem(shaken, walk.character, plants(walk, (0, 0, 0)))
    usual, finer = (Hierarchical(further=number, exact=False).solve(problem) for number in (0, 3))
    assert usual.report.levels[-1].worst_share > 1.2
    assert finer.report.levels[-1].worst_share < 0.8
    away = np.abs(np.arange(len(root)) - 146) > 40
    smooth = Hierarchical(further=3, exact=False).solve(replace(problem, motion=walk.motion))
    assert np.abs((finer.motion.root - smooth.motion.root)[away]).max() < 1e-3, "and only there"


def test_the_trunk_leans_to_where_limbs_alone_do_not_reach(walk):
    character = walk.character
    wrist = Point(character.require_roles()["left_hand"])
    upper = character.require_roles()["left_upper_arm"]
    kinematics = Kinematics(walk.motion)
    goal = kinematics.positions[150, upper] + [0.25, 0.1, 0.56]
    reach = Position(point=wrist, target=goal, frames=range(150, 160), ramp=(0.3, 0.3))
    problem = Problem(walk.motion, character, (*plants(walk, (0, 0, 0)), reach))
    far, near = (Hierarchical(spacings=(), first_guess=False, further=number).solve(problem) for number in (0, 3))
    assert far.status is Status.UNREACHABLE
    assert near.status is Status.SOLVED
    moved = np.linalg.norm(near.motion.root - walk.motion.root, axis=1)
    assert moved.max() < 0.05, "bending, not walking there"


def test_the_displacement_is_smooth_and_ends_where_nothing_is_asked(walk):
    roles = walk.character.require_roles()
    hand = Point(roles["left_hand"])
    target = Kinematics(walk.motion).point(hand)[150] + [0.05, 0.12, 0.05]
    goal = Position(point=hand, target=target, frames=(150,), ramp=(0.1, 0.1))
    method = Hierarchical(spacings=(4.0, 2.0, 2.0), exact=False, first_guess=False)
    solution = method.solve(Problem(walk.motion, walk.character, (goal,)))
    moved = (solution.motion - walk.motion).reshape(len(walk.motion), -1)
    spacing = 4.0 * walk.motion.fps / 30.0
    far = np.abs(np.arange(len(walk.motion)) - 150) > 4 * spacing + 0.1 * walk.motion.fps
    assert far.sum() > 100
    assert np.abs(moved[far]).max() < 1e-12
    assert np.abs(moved).max() > 0.05
    # a cubic spline with knots of several frames: no frame jumps
    assert np.abs(np.diff(moved, 2, axis=0)).max() < 0.2 * np.abs(moved).max()


def test_ramps_ease_the_exact_pass(walk):
    """With ramps the correction of the last pass comes and goes over frames, without them it jumps."""
    jumps = []
    for ramp in ((0.2, 0.2), (0.0, 0.0)):
        problem = Problem(walk.motion, walk.character, plants(walk, (0.06, 0.05, 0.05), ramp))
        solution = Hierarchical(spacings=(16.0,)).solve(problem)
        assert solution.status is Status.SOLVED
        moved = (solution.motion - walk.motion).reshape(len(walk.motion), -1)
        jumps.append(np.abs(np.diff(moved, axis=0)).max())
    assert jumps[0] < 0.5 * jumps[1]


def test_the_first_guess_keeps_a_lifted_walk_from_squatting(walk):
    """A walk put a third of a metre higher: with the guess the knees stay as they were."""
    up = plants(walk, (0.0, 0.35, 0.0))
    knee = walk.character.require_roles()["left_lower_leg"]
    moved = [
        np.abs(
            (Hierarchical(first_guess=guess, spacings=(16.0, 8.0)).solve(
                Problem(walk.motion, walk.character, up)
            ).motion - walk.motion)[:, 1 + knee]
        ).max()
        for guess in (True, False)
    ]  # fmt: skip
    assert moved[0] < 0.5 * moved[1]


def test_nothing_asked_changes_nothing(walk):
    solution = Hierarchical().solve(Problem(walk.motion, walk.character))
    assert solution.status is Status.SOLVED
    assert solution.motion is walk.motion
    for asked in (plants(walk, (0.0, 0.0, 0.0)),):
        solution = Hierarchical(ik=Hybrid(walk.character, as_straight_as=walk.motion, softness=0.0)).solve(
            Problem(walk.motion, walk.character, asked)
        )
        before, after = Kinematics(walk.motion).positions, Kinematics(solution.motion).positions
        assert np.abs(after - before).max() < 2e-3


def test_a_single_frame(walk):
    one = walk.motion[40]
    heel = walk.character.contacts["left_heel"]
    goal = Position(point=heel, target=Kinematics(one).point(heel)[0] + [0.0, 0.05, 0.0])
    solution = Hierarchical().solve(Problem(one, walk.character, (goal,)))
    assert solution.status is Status.SOLVED
    assert len(solution.motion) == 1


def test_out_of_reach_is_said_and_finite(walk):
    far = Position(point=walk.character.contacts["left_heel"], target=(0.0, 9.0, 0.0), frames=range(50, 80))
    solution = Hierarchical(ik=Hybrid(walk.character, stiffness={"leg": 0.0, "arm": 0.0})).solve(
        Problem(walk.motion, walk.character, (far,))
    )
    assert solution.status is Status.UNREACHABLE
    assert np.isfinite(solution.motion.rotations).all()
    assert [entry.name for entry in solution.report.unmet] == ["position"]
    assert solution.report.to_dict()["status"] == "unreachable"


def test_what_it_cannot_honour_is_refused_by_name(walk):
    heel = walk.character.contacts["left_heel"]
    cases = {
        "free heel: hierarchical cannot honour it: its position is free": Footplant(
            point=heel, frames=range(5, 9), name="free heel"
        ),
        "not SamePlace": SamePlace(point=heel, pair=(0, 5)),
        "not JointLimits": JointLimits(character=walk.character),
    }
    for words, constraint in cases.items():
        with pytest.raises(ConstraintError, match=words):
            Hierarchical().solve(Problem(walk.motion, walk.character, (constraint,)))
    with pytest.raises(ConstraintError, match=r"expected frames in 0\.\.299, got 300"):
        Problem(walk.motion, walk.character, (Position(point=heel, target=(0, 0, 0), frames=(300,)),))
    other = Character(random_motion(1, 5).skeleton, name="x")
    with pytest.raises(MotionError, match="expected a motion on the skeleton of 'x', got other joints"):
        Problem(walk.motion, other)


def test_numeric_ik_takes_what_hybrid_refuses(walk):
    roles = walk.character.require_roles()
    clip = replace(walk, motion=walk.motion[:120:4])
    left, right = Point(roles["left_hand"]), Point(roles["right_hand"])
    asked = (Distance(point=left, other=right, value=0.5), JointLimits(character=walk.character))
    solution = Hierarchical(ik=Numeric()).solve(Problem(clip.motion, walk.character, asked))
    assert solution.status is Status.SOLVED
    kinematics = Kinematics(solution.motion)
    assert np.abs(asked[0].residual(kinematics)).max() < 1e-3


def test_same_input_same_bits_on_one_and_two_threads(walk):
    problem = Problem(walk.motion, walk.character, (*plants(walk), Orientation(joint=5, target=(1, 0, 0, 0))))
    first, second = (Hierarchical().solve(problem) for _ in range(2))
    threaded = Hierarchical(ik=Hybrid(walk.character, threads=2)).solve(problem)
    for other in (second, threaded):
        assert np.array_equal(first.motion.root, other.motion.root)
        assert np.array_equal(first.motion.rotations, other.motion.rotations)


def test_the_order_of_constraints_does_not_matter(walk):
    asked = plants(walk)
    first, second = (Hierarchical().solve(Problem(walk.motion, walk.character, c)).motion for c in (asked, asked[::-1]))
    np.testing.assert_allclose(first.root, second.root, atol=1e-7)
    np.testing.assert_allclose(first.rotations, second.rotations, atol=1e-7)


def test_progress_is_told(walk):
    told = []
    Hierarchical(spacings=(8.0, 4.0)).solve(
        Problem(walk.motion, walk.character, plants(walk)[:2]), lambda words, share: told.append((words, share))
    )
    assert [words for words, _ in told] == ["level 1", "level 2", "exact"]
    assert all(0 <= share <= 1 for _, share in told)


# ---- the fit beside a dense least-squares oracle


def least_squares_spline(t, values, spacing, start, stop) -> Spline:
    """All control points at once, by NumPy's dense least squares, the smallest ones where the data leave them free."""
    knots = max(int(np.ceil((stop - start) / spacing - 1e-9)), 1)
    basis = np.stack([Spline(row[:, None], spacing, start)(t)[:, 0] for row in np.eye(knots + 3)], axis=1)
    return Spline(np.linalg.lstsq(basis, values, rcond=None)[0], spacing, start)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_levels_reach_what_the_finest_knots_can_hold(seed):
    """Smooth data at some of the frames: after the finest level next to nothing is left, as of least squares."""
    rng = np.random.default_rng(seed)
    count = 121
    frames = np.sort(rng.choice(count, 70, replace=False))
    phases, sizes = rng.uniform(0, 6, (4, 3)), rng.normal(size=(4, 3))
    waves = np.arange(1, 5)[:, None, None] * 2 * np.pi * frames[None, :, None] / 120.0
    values = np.sum(sizes[:, None] * np.sin(waves + phases[:, None]), axis=0)
    residual = values.copy()
    left = []
    for spacing in (16.0, 8.0, 4.0, 2.0, 2.0, 2.0):
        residual = residual - fit_spline(frames, residual, spacing, 0.0, count - 1.0)(frames)
        left.append(np.abs(residual).max())
    oracle = least_squares_spline(frames, values, 2.0, 0.0, count - 1.0)
    best = np.abs(values - oracle(frames)).max()
    size = np.abs(values).max()
    assert best < 1e-3 * size, "two frames a knot can hold it"
    assert left[-1] < 0.05 * size
    assert left[-1] < 0.1 * left[0]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), spacing=st.sampled_from([2.0, 4.0]))
def test_repeated_at_the_finest_knots_the_local_fit_goes_to_the_oracle(seed, spacing):
    """Data that such a spline meets: dense least squares finds it at once, local fits of what is left close in."""
    rng = np.random.default_rng(seed)
    t = np.arange(60.0)
    truth = Spline(rng.normal(size=(int(np.ceil(59 / spacing)) + 3, 2)), spacing, 0.0)
    values = truth(t)
    oracle = least_squares_spline(t, values, spacing, 0.0, 59.0)
    np.testing.assert_allclose(oracle(t), values, atol=1e-9)
    residual, distances = values.copy(), []
    for _ in range(40):
        residual = residual - fit_spline(t, residual, spacing, 0.0, 59.0)(t)
        distances.append(np.abs(values - residual - oracle(t)).max())
    assert distances[-1] < 0.15 * np.abs(values).max()
    assert distances[-1] < 0.5 * distances[0]


def test_multilevel_equals_its_levels():
    rng = np.random.default_rng(1)
    t, values = np.sort(rng.uniform(0, 40, 30)), rng.normal(size=(30, 2))
    splines = fit_multilevel(t, values, 8.0, 3, 0.0, 40.0)
    residual = values.copy()
    for level, spline in enumerate(splines):
        single = fit_spline(t, residual, 8.0 / 2**level, 0.0, 40.0)
        np.testing.assert_allclose(spline.control, single.control, atol=1e-12)
        residual = residual - single(t)


def test_a_rigid_joint_moves_less():
    """α: the spine of a reach that is stiff turns less, and the goal is met all the same."""
    clip = load("reach")
    motion, character = clip.motion[::8], clip.character
    palm = character.contacts["right_palm"]
    target = Kinematics(motion).point(palm)[25] + [0.0, 0.35, 0.35]
    goal = Position(point=palm, target=target, frames=range(24, 27))
    turned = {}
    for value in (0.05, 50.0):
        problem = Problem(motion, character, (goal,), rigidity={"spine": value})
        solution = Hierarchical().solve(problem)
        spine = list(character.require_roles().joints["spine"])
        turned[value] = np.abs((solution.motion - motion)[25, 1:][spine]).max()
    assert turned[50.0] < 0.3 * turned[0.05]
