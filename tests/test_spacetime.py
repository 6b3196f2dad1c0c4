"""Spacetime constraints: the system against finite differences and dense algebra, and what its answers keep to."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from footplant import Kinematics, samples
from footplant.clip import Clip
from footplant.constraints import (
    Above,
    AccelerationLimit,
    Area,
    AtMost,
    Constraint,
    Distance,
    Footplant,
    JointLimits,
    LookAt,
    Orientation,
    Position,
    SamePlace,
    SpeedLimit,
)  # fmt: skip
from footplant.contacts.ground import InterpolatedGround
from footplant.edits.fit import fit
from footplant.edits.retarget import retarget
from footplant.errors import ConstraintError
from footplant.geometry import Plane
from footplant.problem import Problem, Status
from footplant.skeleton import Character, Point
from footplant.solve.methods import NAMES, method_of
from footplant.solve.methods.hierarchical import Hierarchical
from footplant.solve.methods.spacetime import Spacetime
from footplant.solve.methods.spacetime.band import Border, Knots, System
from footplant.solve.methods.spacetime.rows import Rows
from footplant.solve.methods.spacetime.search import Search
from random_figures import random_motion


@dataclass(frozen=True)
class Bump:
    """A ground with a hill in it."""

    def height(self, places):
        places = np.asarray(places, float)
        return 0.1 * np.sin(1.3 * places[..., 0]) + 0.05 * np.cos(0.9 * places[..., 1])


@pytest.fixture(scope="module")
def walk() -> Clip:
    clip = samples.load("walk")
    return Clip(clip.motion.resample(30.0)[:90], clip.character)


def plants_of(clip: Clip, fps: float = 30.0, free: bool = False) -> list[Footplant]:
    """Heels and balls of the sample walk, at rest where they are, or wherever."""
    kinematics, found = Kinematics(clip.motion), []
    for name, intervals in samples.ground_truth("walk", fps).items():
        for begin, end in intervals:
            end = min(end, len(clip.motion))
            if end - begin < 2:
                continue
            point = clip.character.contacts[name]
            place = None if free else kinematics.point(point)[begin:end].mean(axis=0)
            found.append(
                Footplant(point=point, place=place, frames=range(begin, end), name=f"{name} {begin}", ramp=(0.1, 0.1))
            )
    return found


def mixture(clip: Clip) -> tuple[Constraint, ...]:
    """A constraint of nearly every kind, plants of known and of unknown place, relations near and far."""
    contacts, roles = clip.character.contacts, clip.character.require_roles()
    kinematics = Kinematics(clip.motion)
    free = [
        Footplant(point=contacts["left_heel"], frames=range(4, 40), ramp=(0.1, 0.2), name="long"),
        Footplant(point=contacts["left_ball"], frames=range(10, 45), ground=Bump(), name="hill"),
        Footplant(point=contacts["right_ball"], frames=range(30, 60), ground=Bump(), hard=False, name="soft"),
    ]
    hand = Point(roles["left_hand"], (0.02, 0.0, 0.03))
    other = Point(roles["right_hand"], (0.0, 0.0, 0.0))
    return (
        *free,
        Footplant(point=contacts["right_heel"], place=(0.1, 0.02, 0.4), frames=range(20, 50), priority=2),
        Position(point=hand, target=kinematics.point(hand)[[30]] + 0.1, frames=range(25, 36), ramp=(0.2, 0.1)),
        Position(point=hand, target=(0.3, 1.0, 0.5), frames=(50, 53), axes=(0.0, 1.0, 0.5)),
        Orientation(joint=roles["head"], target=(1.0, 0.2, 0.1, 0.0), frames=range(12, 30)),
        Distance(point=hand, other=other, value=0.4, frames=range(40, 50)),
        AtMost(point=hand, other=other, value=0.2, frames=range(55, 60)),
        Above(point=contacts["right_toe"], ground=Plane((0.0, 0.05, 0.0))),
        Area(point=other, region=Plane((0.0, 1.2, 0.0)), frames=range(20)),
        LookAt(point=Point(roles["head"], (0.0, 0.0, 0.0)), direction=(0.0, 0.0, 1.0), target=(1.0, 1.0, 3.0),
               frames=range(5, 15), hard=False),
        SamePlace(point=hand, pair=(3, 57)),
        SpeedLimit(point=other, most=0.3, frames=range(10, 40)),
    )  # fmt: skip


def searching(clip: Clip, constraints, spacing: float = 3.0) -> tuple[Search, System]:
    """A search of a problem and its system, ready for a step."""
    problem = Problem(clip.motion, clip.character, tuple(constraints))
    rows = Rows(Kinematics(clip.motion), problem.constraints, np.ones(len(clip.motion), bool))
    search = Search(problem, rows, Spacetime().smoothness, Spacetime().iterations)
    knots = search.knots(spacing, 0, len(clip.motion), False)
    return search, System(knots, rows.border(knots), search.change, search.speed, search.bend)


def dense_of(system: System) -> tuple[np.ndarray, np.ndarray]:
    """The bordered band as one matrix and one right-hand side, control points first."""
    count, width = system.rhs.shape
    border, size = system.border, system.rhs.size + len(system.border)
    matrix = np.zeros((size, size))
    for k in range(count):
        for a in range(min(4, count - k)):
            block = system.band[k, a * width : (a + 1) * width]
            rows, columns = slice((k + a) * width, (k + a + 1) * width), slice(k * width, (k + 1) * width)
            matrix[rows, columns] = block
            matrix[columns, rows] = block.T
        for v in range(len(border)):
            if border.first[v] <= k <= border.last[v]:
                line = count * width + v
                matrix[line, columns] = matrix[columns, line] = system.side[k, border.slots[v]]
    for v in range(len(border)):
        for q in range(v - border.lead[v] + 1):
            line, other = count * width + v, count * width + border.lead[v] + q
            matrix[line, other] = matrix[other, line] = system.var_corner[v, q]
    return matrix, np.concatenate([system.rhs.ravel(), system.var_rhs])


def test_derivatives_of_the_whole_system_agree_with_finite_differences(walk):
    clip = replace(walk, motion=walk.motion[:62])
    search, system = searching(clip, mixture(clip))
    random, rows = np.random.default_rng(1), search.rows
    control = 0.05 * random.standard_normal(system.rhs.shape)
    places = int(rows.variables.max()) + 1
    others = np.zeros(len(system.border))
    others[:places] = 0.05 * random.standard_normal(places)
    weights = search._weights(1, 30.0)
    multipliers = np.where(rows.hard, weights * 0.01 * random.standard_normal(rows.count), 0.0)

    def value(step: float, way, way_others) -> float:
        at = rows.evaluate(system.knots, control + step * way, others + step * way_others)
        return system.value(control + step * way) + search._penalty(at, weights, multipliers)

    at = rows.evaluate(system.knots, control, others)
    shifted = search._shifted(at, weights, multipliers)
    system.start(control)
    rows.assemble(system, at, shifted, search._active_weights(shifted, weights))
    # what is eliminated with a relation's multiplier is part of the gradient too: w·r·J
    slope, slope_others = -system.rhs.copy(), -system.var_rhs.copy()
    for v in range(places, len(system.border)):
        force = -system.var_rhs[v] / -system.var_corner[v, 0]
        slope += force * system.side[:, system.border.slots[v]] * (
            (np.arange(len(slope)) >= system.border.first[v]) & (np.arange(len(slope)) <= system.border.last[v])
        )[:, None]  # fmt: skip
        slope_others[v] = 0.0
    for _ in range(6):
        way, way_others = random.standard_normal(control.shape), random.standard_normal(others.shape)
        way_others[places:] = 0.0
        expected = (value(1e-6, way, way_others) - value(-1e-6, way, way_others)) / 2e-6
        found = np.sum(slope * way) + np.sum(slope_others * way_others)
        assert found == pytest.approx(expected, rel=2e-5)


@pytest.mark.parametrize("spacing", [2.0, 3.0, 30.0])
def test_elimination_agrees_with_dense_algebra(walk, spacing):
    clip = replace(walk, motion=walk.motion[:62])
    search, system = searching(clip, mixture(clip), spacing)
    rows = search.rows
    assert system.border.width >= 8
    control = 0.02 * np.random.default_rng(2).standard_normal(system.rhs.shape)
    at = rows.evaluate(system.knots, control, np.zeros(len(system.border)))
    weights = search._weights(0, 30.0)
    shifted = search._shifted(at, weights, np.zeros(rows.count))
    system.start(control)
    rows.assemble(system, at, shifted, search._active_weights(shifted, weights))
    matrix, vector = dense_of(system)
    assert np.abs(matrix - matrix.T).max() < 1e-9 * np.abs(matrix).max()
    places, size = int(rows.variables.max()) + 1, control.size
    costs = np.outer(system.mass[:, 0], np.diag(system.change)).ravel()
    # what was assembled is solved more than once, and is the same each time
    for damping in (0.01, 3.0, 0.0):
        matrix_of = matrix.copy()
        matrix_of[np.arange(size), np.arange(size)] += damping * costs
        own = size + np.arange(places)
        matrix_of[own, own] += damping * system.change[0, 0]
        expected = np.linalg.solve(matrix_of, vector)
        step = system.solve(damping, places)
        assert step is not None
        found = np.concatenate([step[0].ravel(), step[1]])
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    # relations that count nothing have no unknowns, which changes no step
    active = search._active_weights(shifted, weights)
    few = System(system.knots, rows.border(system.knots, active), search.change, search.speed, search.bend)
    assert len(few.border) < len(system.border) or spacing > 3.0
    few.start(control)
    rows.assemble(few, at, shifted, active)
    again = few.solve(0.0, places)
    assert again is not None
    np.testing.assert_allclose(again[0].ravel(), found[:size], rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_elimination_of_long_and_overlapping_plants_agrees_with_dense_algebra(walk):
    free = plants_of(walk, free=True)
    longest = Footplant(point=walk.character.contacts["left_palm"], frames=range(90), name="all along")
    search, system = searching(walk, [*free, longest])
    assert system.border.width >= 12
    assert len(np.unique(system.border.slots)) < len(system.border)
    at = search.rows.evaluate(system.knots, np.zeros(system.rhs.shape), np.zeros(len(system.border)))
    weights = search._weights(0, 30.0)
    system.start(np.zeros(system.rhs.shape))
    search.rows.assemble(system, at, at.residuals, weights)
    matrix, vector = dense_of(system)
    expected = np.linalg.solve(matrix, vector)
    step = system.solve()
    assert step is not None
    np.testing.assert_allclose(np.concatenate([step[0].ravel(), step[1]]), expected, rtol=1e-6, atol=1e-10)


def test_slots_are_never_shared_by_what_still_leaves_traces():
    random = np.random.default_rng(3)
    first = np.sort(random.integers(0, 200, 80))
    last = first + random.integers(0, 60, 80)
    border = Border.of(first, last, np.arange(80))
    for v in range(80):
        for w in range(v):
            if border.slots[v] == border.slots[w]:
                assert first[v] > last[w] + 3 or first[w] > last[v] + 3


def test_splines_give_back_what_is_one():
    knots = Knots.over(61, 4.0, 30.0)
    control = np.random.default_rng(4).standard_normal((knots.count, 3))
    np.testing.assert_allclose(knots.fitted(knots.displacements(control)), control, atol=1e-3)
    np.testing.assert_allclose(knots.basis.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(knots.bending.sum(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(knots.speeding.sum(axis=1), 0.0, atol=1e-9)
    curve = knots.displacements(control)
    slopes = np.sum([knots.speeding[:, a, None] * control[knots.first + a] for a in range(4)], axis=0)
    np.testing.assert_allclose(slopes[1:-1], 15.0 * (curve[2:] - curve[:-2]), atol=0.1 * np.abs(slopes).max())
    bent = np.diff(knots.displacements(control), n=2, axis=0) * 30.0**2
    ours = np.sum([knots.bending[:, a, None] * control[knots.first + a] for a in range(4)], axis=0)
    assert np.abs(ours[1:-1] - bent).mean() < 0.15 * np.abs(ours).mean()


def test_the_objective_s_slope_is_its_matrix_times_control_points(walk):
    search, system = searching(walk, plants_of(walk))
    control = np.random.default_rng(3).normal(size=system.rhs.shape)
    at = search.rows.evaluate(system.knots, 0.0 * control, np.zeros(len(system.border)))
    system.start(np.zeros_like(control))
    search.rows.assemble(system, at, at.residuals, np.zeros(search.rows.count))
    matrix = dense_of(system)[0][: control.size, : control.size]
    slope = (matrix @ control.ravel()).reshape(control.shape)
    system.start(control)
    np.testing.assert_allclose(system.rhs, -slope, rtol=1e-12, atol=1e-12 * np.abs(slope).max())
    assert system.value(control) == pytest.approx(0.5 * np.sum(control * slope), rel=1e-12)


def test_rows_are_gathered_as_dense_algebra_would(walk):
    clip = replace(walk, motion=walk.motion[:62])
    search, system = searching(clip, mixture(clip))
    rows, knots = search.rows, system.knots
    at = rows.evaluate(knots, np.zeros(system.rhs.shape), np.zeros(len(system.border)))
    count, width = system.rhs.shape
    weights = search._weights(0, 30.0)
    system.start(np.zeros(system.rhs.shape))
    rows._start_with_pins(system, at, at.residuals, 0.0 * weights)
    before = dense_of(system)[0]
    jacobian = rows.pin_jacobian(at)
    lines = np.zeros((len(jacobian), count * width + len(system.border)))
    for line, row in enumerate(np.repeat(rows.pin_rows, 3)):
        for a in range(4):
            k = knots.first[row] + a
            lines[line, k * width : (k + 1) * width] += knots.basis[row, a] * jacobian[line]
    slopes = rows._slopes(at.shifts)
    for line, owner in enumerate(np.repeat(rows.owners, 3)):
        for q, variable in enumerate(rows.variables[owner] if owner >= 0 else []):
            if variable >= 0:
                lines[line, count * width + variable] = -slopes[owner, line % 3, q]
    system.start(np.zeros(system.rhs.shape))
    rows._start_with_pins(system, at, at.residuals, weights)
    weights = weights[: len(lines)]
    expected = before + (lines * weights[:, None]).T @ lines
    np.testing.assert_allclose(dense_of(system)[0], expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(
        np.concatenate([system.rhs.ravel(), system.var_rhs]), -lines.T @ (weights * at.residuals[: len(lines)]),
        rtol=1e-10, atol=1e-12 * np.abs(lines.T @ weights).max(),
    )  # fmt: skip


def test_compiled_heights_and_bounds_are_what_their_constraints_say(walk):
    clip = replace(walk, motion=walk.motion[:62])
    contacts, hand = clip.character.contacts, Point(clip.character.require_roles()["left_hand"], (0.02, 0.0, 0.03))
    stones = InterpolatedGround(np.random.default_rng(8).uniform(-1.0, 1.0, (9, 3)), 0.3)
    given = (
        Above(point=contacts["left_toe"], ground=Bump(), clearance=np.linspace(0.0, 0.1, 40), frames=range(5, 45)),
        Above(point=contacts["right_toe"], ground=stones, ramp=(0.1, 0.2), frames=range(20, 30)),
        Above(point=contacts["right_heel"], ground=stones, clearance=0.02),
        Area(point=hand, region=Plane((0.0, 1.2, 0.0))),
        SpeedLimit(point=hand, most=0.3, frames=range(10, 40), chain=tuple(range(3, len(clip.motion.skeleton)))),
        AccelerationLimit(point=hand, most=0.5),
        AccelerationLimit(point=Point(hand.joint), most=1.0, frames=(3, 4, 30)),
    )
    search, system = searching(clip, given)
    rows = search.rows
    assert len(rows.heights) == 2
    assert len(rows.points) == 5
    control = 0.05 * np.random.default_rng(9).standard_normal(system.rhs.shape)
    at = rows.evaluate(system.knots, control, np.zeros(0))
    for other in rows.others:
        own = slice(other.begin, other.begin + other.left_over.size)
        expected = other.constraint.residual(at.kinematics[other.rows]) - other.left_over
        np.testing.assert_allclose(at.residuals[own], expected.ravel(), atol=1e-12)
    for tie in rows.ties:
        own = slice(tie.begin, tie.begin + len(tie.frames))
        np.testing.assert_allclose(at.residuals[own], tie.constraint.residual(at.kinematics)[:, 0], atol=1e-12)
        asked = rows._turned(tie, at, tie.frames.ravel(), tie.constraint.jacobian(at.kinematics)[:, :, 0])
        places = at.places[tie.frames, tie.point]
        slopes = tie.slopes(places).reshape(-1, 3)
        found = rows._point_jacobian(tie, at, tie.frames.ravel(), places.reshape(-1, 3), slopes)
        np.testing.assert_allclose(found, asked, atol=1e-12)


def test_compiled_pins_are_what_their_constraints_say(walk):
    pinned = [c for c in mixture(walk) if isinstance(c, Position | Orientation) and not any(c.ramp)]
    search, system = searching(walk, pinned)
    rows = search.rows
    at = rows.evaluate(system.knots, np.zeros(system.rhs.shape), np.zeros(0))
    jacobian = rows.pin_jacobian(at)
    kinematics = Kinematics(walk.motion)
    for constraint in pinned:
        held = np.asarray(constraint.frames)
        joint = constraint.joint if isinstance(constraint, Orientation) else constraint.point.joint
        own = np.flatnonzero((rows.pins.joints == joint) & np.isin(rows.pin_rows, held))
        lines = (3 * own[:, None] + np.arange(3)).ravel()
        part = kinematics[held]
        np.testing.assert_allclose(at.residuals[lines], constraint.residual(part).ravel(), atol=1e-12)
        theirs = constraint.jacobian(part).reshape(len(lines), -1)[:, rows.columns]
        np.testing.assert_allclose(jacobian[lines], theirs, atol=1e-12)


def lengthened(clip: Clip, free: bool) -> tuple[list[Footplant], Problem]:
    """The walk's plants with the last step 30 cm ahead, those between free or not, and the problem."""
    plants = sorted(plants_of(clip), key=lambda plant: plant.frames[0])  # type: ignore[index]
    last = max(plant.frames[0] for plant in plants if "heel" in plant.name)  # type: ignore[index]
    asked = []
    for plant in plants:
        begin = plant.frames[0]  # type: ignore[index]
        if begin >= last:
            asked.append(replace(plant, place=np.asarray(plant.place) + [0.0, 0.0, 0.3]))
        elif begin < 16 or not free:
            asked.append(plant)
        else:
            asked.append(replace(plant, place=None, ground=Plane()))
    return plants, Problem(clip.motion, clip.character, tuple(asked))


@pytest.fixture(scope="module")
def long_walk() -> Clip:
    clip = samples.load("walk")
    return Clip(clip.motion.resample(30.0), clip.character)


def test_plants_of_unknown_place_share_a_longer_way(long_walk):
    plants, problem = lengthened(long_walk, free=True)
    solution = Spacetime().solve(problem)
    assert solution.status is Status.SOLVED
    kinematics, shifts = Kinematics(solution.motion), []
    for plant in plants:
        places = kinematics.point(plant.point)[np.asarray(plant.frames)]
        assert np.linalg.norm(places - places.mean(axis=0), axis=1).max() < 0.001
        assert np.abs(places[:, 1]).max() < 0.001
        if "heel" in plant.name:
            shifts.append(places.mean(axis=0)[2] - np.asarray(plant.place)[2])
    steps = np.diff(shifts)
    assert shifts[-1] == pytest.approx(0.3, abs=0.001)
    assert steps.max() < 0.4 * 0.3
    assert (steps > 0.05 * 0.3).sum() >= 5
    assert any("by the optimisation" in note for note in solution.report.notes)


@pytest.mark.quick
def test_shuffled_constraints_give_the_same_motion(long_walk):
    problem = lengthened(long_walk, free=True)[1]
    hand = Point(long_walk.character.require_roles()["left_hand"])
    target = Kinematics(long_walk.motion).point(hand)[60] + [0.1, 0.1, 0.1]
    extra = (
        Position(point=hand, target=target, frames=range(58, 63), ramp=(0.2, 0.2)),
        SamePlace(point=long_walk.character.contacts["left_toe"], pair=(4, 10)),
        Above(point=long_walk.character.contacts["right_toe"], ground=Plane()),
    )
    constraints = [*problem.constraints, *extra]
    first = Spacetime().solve(replace(problem, constraints=tuple(constraints))).motion
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(constraints))
        other = Spacetime().solve(replace(problem, constraints=tuple(constraints[k] for k in order))).motion
        np.testing.assert_allclose(other.root, first.root, atol=1e-9)
        np.testing.assert_allclose(other.rotations, first.rotations, atol=1e-9)


@dataclass(frozen=True, eq=False, kw_only=True)
class KneeHeight(Constraint):
    """An outsider's constraint: a joint is so high."""

    joint: int
    height: float
    inequality: ClassVar[bool] = False

    def residual(self, kinematics):
        return kinematics.positions[:, self.joint, 1:2] - self.height

    def jacobian(self, kinematics):
        return kinematics.position_jacobian(Point(self.joint))[:, 1:2]


@dataclass(frozen=True, eq=False, kw_only=True)
class KneeAbove(KneeHeight):
    """And one that is at least so high."""

    inequality: ClassVar[bool] = True


def test_an_outsiders_constraints_are_met(walk):
    roles = walk.character.require_roles()
    left, right = roles["left_lower_leg"], roles["right_lower_leg"]
    places = Kinematics(walk.motion).positions
    asked = (
        KneeHeight(joint=left, height=float(places[24, left, 1]) + 0.1, frames=range(22, 27)),
        KneeAbove(joint=right, height=float(places[38:44, right, 1].max()) + 0.05, frames=range(38, 44)),
        *plants_of(walk),
    )
    solution = Spacetime().solve(Problem(walk.motion, walk.character, asked))
    assert solution.status is Status.SOLVED
    found = Kinematics(solution.motion).positions
    assert np.abs(found[22:27, left, 1] - asked[0].height).max() < 0.001
    assert found[38:44, right, 1].min() > asked[1].height - 0.001


def test_relations_across_frames_hold(walk):
    hand = Point(walk.character.require_roles()["right_hand"])
    asked = (
        SamePlace(point=hand, pair=(10, 20)),
        SpeedLimit(point=Point(walk.character.require_roles()["left_hand"]), most=2.2),
        *plants_of(walk),
    )
    before = Kinematics(walk.motion)
    assert np.abs(asked[0].residual(before)).max() > 0.2
    assert asked[1].residual(before).min() < -0.005
    solution = Spacetime().solve(Problem(walk.motion, walk.character, asked))
    after = Kinematics(solution.motion)
    assert solution.status is Status.SOLVED
    assert np.linalg.norm(asked[0].residual(after)) < 0.001
    assert asked[1].residual(after).min() > -0.001


def test_limits_and_solids_are_inequalities(walk):
    hand = Point(walk.character.require_roles()["left_hand"])
    places = Kinematics(walk.motion).point(hand)
    wall = Plane((0.0, 0.0, float(np.median(places[:, 2]))), (0.0, 0.0, 1.0))
    asked = (
        Area(point=hand, region=wall, frames=range(20, 60), ramp=(0.3, 0.3)),
        JointLimits(character=walk.character, joints=(walk.character.require_roles()["left_lower_arm"],)),
    )
    assert asked[0].residual(Kinematics(walk.motion)[np.arange(20, 60)]).min() < -0.05
    solution = Spacetime().solve(Problem(walk.motion, walk.character, asked))
    after = Kinematics(solution.motion)
    assert asked[0].residual(after[np.arange(20, 60)]).min() > -0.001
    assert asked[1].residual(after).min() > -0.01


def test_only_a_window_changes_and_its_ends_go_on_smoothly(walk):
    hand = Point(walk.character.require_roles()["left_hand"])
    target = Kinematics(walk.motion).point(hand)[45] + [0.1, 0.15, 0.1]
    problem = Problem(walk.motion, walk.character, (Position(point=hand, target=target, frames=(45,)),))
    solution = Spacetime(window=range(30, 61)).solve(problem)
    assert solution.status is Status.SOLVED
    change = np.abs(solution.motion - walk.motion).max(axis=(1, 2))
    assert change[:30].max() < 1e-12
    assert change[61:].max() < 1e-12
    assert change[[30, 60]].max() < 1e-9
    assert change[[31, 59]].max() < 0.05 * change.max()
    with pytest.raises(ConstraintError, match="window"):
        Spacetime(window=range(30, 600)).solve(problem)


def test_it_begins_where_another_method_has_ended(walk):
    asked = tuple(replace(plant, place=np.asarray(plant.place) + [0.0, 0.03, 0.02]) for plant in plants_of(walk))
    problem = Problem(walk.motion, walk.character, asked)
    before = Hierarchical().solve(problem)
    for start in (Hierarchical(), before.motion):
        assert Spacetime(start=start).solve(problem).status is Status.SOLVED


@pytest.mark.quick
def test_what_is_out_of_reach_is_said_and_lower_priorities_give_way(walk):
    hand = Point(walk.character.require_roles()["left_hand"])
    places = Kinematics(walk.motion).point(hand)
    far = Position(point=hand, target=(3.0, 4.0, 5.0), frames=range(40, 50), priority=-1, name="far")
    plants = plants_of(walk)
    solution = Spacetime().solve(Problem(walk.motion, walk.character, (far, *plants)))
    assert solution.status is Status.UNREACHABLE
    assert np.isfinite(solution.motion.rotations).all()
    assert {entry.name for entry in solution.report.unmet} == {"far"}
    near = Position(point=hand, target=places[45] + [0.1, 0.0, 0.0], frames=(45,), priority=1, name="near")
    other = replace(near, target=places[45] - [0.1, 0.0, 0.0], priority=0, name="other")
    again = Spacetime().solve(Problem(walk.motion, walk.character, (other, near)))
    errors = {entry.name: entry.worst for entry in again.report.constraints}
    assert errors["near"] < 1.0
    assert errors["other"] > 150.0


def test_joints_that_nothing_touches_stay_as_they_are(walk):
    asked = tuple(replace(plant, place=np.asarray(plant.place) + [0.0, 0.02, 0.0]) for plant in plants_of(walk))
    solution = Spacetime().solve(Problem(walk.motion, walk.character, asked))
    roles = walk.character.require_roles()
    for role in ("left_hand", "right_upper_arm", "head"):
        joint = roles[role]
        np.testing.assert_allclose(solution.motion.rotations[:, joint], walk.motion.rotations[:, joint], atol=1e-15)


def test_figures_without_roles_and_empty_problems():
    motion = random_motion(frames=40, smooth=True, seed=5)
    character = Character(motion.skeleton)
    assert Spacetime().solve(Problem(motion, character, ())).motion is motion
    point = Point(11, (0.1, 0.0, 0.2))
    target = Kinematics(motion).point(point)[20] + [0.2, -0.1, 0.1]
    solution = Spacetime().solve(Problem(motion, character, (Position(point=point, target=target, frames=(20, 25)),)))
    assert solution.status is Status.SOLVED


def test_the_paper_s_walk_to_the_short_figure(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "benchmarks"))
    problem = importlib.import_module("papers.gleicher").looped_walk(178)
    solution = method_of("spacetime").solve(problem)
    assert solution.status is Status.SOLVED
    worst = solution.report.worst
    assert worst is not None
    assert worst.worst < 1.0
    loose = method_of("spacetime", exact=False).solve(problem)
    assert max(entry.worst for entry in loose.report.constraints) < 1.0
    assert "spacetime" in NAMES


def test_fit_lets_spacetime_find_places(long_walk):
    problem = lengthened(long_walk, free=True)[1]
    solution = fit(long_walk, problem.constraints, method="spacetime", keep_plants=False)
    assert solution.status is Status.SOLVED
    assert not any("at its mean position" in note for note in solution.report.notes)
    settled = fit(long_walk, problem.constraints, keep_plants=False)
    assert any("at its mean position" in note for note in settled.report.notes)


def test_retargeting_keeps_soles_out_of_the_ground(walk):
    for name in ("blubby", "sally"):
        solution = retarget(walk, samples.load_character(name), method=Spacetime())
        assert solution.status is Status.SOLVED
        after = solution.report.after
        assert after is not None
        assert after.worst_plant is not None
        assert after.worst_plant.drift < 1.0
