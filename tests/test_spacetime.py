"""Spacetime constraints: the system against finite differences and dense algebra, and what its answers keep to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from footplant import Kinematics, samples
from footplant.clip import Clip
from footplant.constraints import (
    Above,
    Area,
    AtMost,
    Constraint,
    Distance,
    Footplant,
    LookAt,
    Orientation,
    Position,
    SamePlace,
    SpeedLimit,
)  # fmt: skip
from footplant.geometry import Plane
from footplant.methods.spacetime import Spacetime
from footplant.methods.spacetime_band import Border, Knots, System
from footplant.methods.spacetime_rows import Rows
from footplant.methods.spacetime_search import Search
from footplant.problem import Problem
from footplant.skeleton import Point


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
    search = Search(Spacetime(), problem, rows, None)
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
        look = rows.look(system.knots, control + step * way, others + step * way_others)
        return system.value(control + step * way) + search._penalty(look, weights, multipliers)

    look = rows.look(system.knots, control, others)
    shifted = search._shifted(look, weights, multipliers)
    system.start(control, 0.0)
    rows.assemble(system, look, shifted, np.where(rows.one_sided & (shifted >= 0), 0.0, weights))
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
    look = rows.look(system.knots, control, np.zeros(len(system.border)))
    weights = search._weights(0, 30.0)
    shifted = search._shifted(look, weights, np.zeros(rows.count))
    system.start(control, 0.01)
    rows.assemble(system, look, shifted, np.where(rows.one_sided & (shifted >= 0), 0.0, weights))
    matrix, vector = dense_of(system)
    assert np.abs(matrix - matrix.T).max() < 1e-9 * np.abs(matrix).max()
    expected = np.linalg.solve(matrix, vector)
    step = system.solve()
    assert step is not None
    found = np.concatenate([step[0].ravel(), step[1]])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_elimination_of_long_and_overlapping_plants_agrees_with_dense_algebra(walk):
    free = plants_of(walk, free=True)
    longest = Footplant(point=walk.character.contacts["left_palm"], frames=range(90), name="all along")
    search, system = searching(walk, [*free, longest])
    assert system.border.width >= 12
    assert len(np.unique(system.border.slots)) < len(system.border)
    look = search.rows.look(system.knots, np.zeros(system.rhs.shape), np.zeros(len(system.border)))
    weights = search._weights(0, 30.0)
    system.start(np.zeros(system.rhs.shape), 0.0)
    search.rows.assemble(system, look, look.residuals, weights)
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
