"""The compiled group solver and what crowds need beside it agree with their NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.constraints import Area, Balance, CenterOfMass, Distance, Orientation, Position
from footplant.constraints.balance import hull
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.live import _crowd as kernel
from footplant.live import _crowd_apart as apart
from footplant.solve.ik.groupccd import solve_rows
from footplant.solve.ik.groupccd.rows import drawn_in, rows_of
from test_groupccd import BODIES, figure, point, standing
from thorough import thorough
from twin_grouptrunk import solve_rows_numpy

TRIES = 5


def problem(seed: int):
    """A body, its pose and constraints of all kinds, drawn at random."""
    rng = np.random.default_rng(seed)
    character, pose, ik = figure(BODIES[seed % len(BODIES)])
    kinematics = Kinematics(pose)
    places, roles = kinematics.positions[0], character.require_roles()
    asked: list = list(standing(character, pose)) if seed % 3 else []
    for role in rng.choice(["left_hand", "right_hand", "head", "right_lower_arm", "left_foot"], 1 + seed % 4, False):
        target = places[roles[role]] + rng.normal(scale=0.3, size=3)
        asked.append(Position(point=point(character, role), target=target, priority=int(rng.integers(0, 3))))
    if seed % 4 == 1:
        asked.append(CenterOfMass(character=character, target=kinematics.center_of_mass(character)[0], priority=2))
    if seed % 4 == 2:
        asked.append(Balance(character=character, priority=4))
    if seed % 5 == 1:
        hands = point(character, "left_hand"), point(character, "right_hand")
        asked.append(Distance(point=hands[0], other=hands[1], value=0.4, priority=1))
    if seed % 5 == 2:
        turn = rotation.multiply(rotation.exp(rng.normal(scale=0.2, size=3)), kinematics.rotations[0, roles["head"]])
        asked.append(Orientation(joint=roles["head"], target=turn, priority=1))
    if seed % 5 == 3:
        top = Plane((0.0, places[roles["left_hand"], 1] + 0.1, 0.0))
        asked.append(Area(point=point(character, "left_hand"), region=top, priority=3))
    rows = rows_of(ik.tree, kinematics, kinematics, asked)
    return ik.tree_with(rows.kinds[:, 1:3].ravel().tolist()), ik.bodies, pose, rows


@pytest.mark.parametrize("seed", range(thorough(12, 24)))
@pytest.mark.parametrize("live", [False, True])
def test_the_solver_agrees_with_its_twin(seed, live):
    tree, bodies, pose, rows = problem(seed)
    leans = None
    if live:
        leans = tree.leans(1)
        leans[:] = np.random.default_rng(seed).normal(scale=0.01, size=leans.shape)
    root, local = np.array(pose.root), np.array(pose.rotations)
    *expected, left = solve_rows_numpy(tree.arrays, bodies, root, local, rows, TRIES, leans)
    residuals = solve_rows(tree, bodies, root, local, rows, TRIES, leans=leans)
    for ours, theirs in zip((root, local, leans), expected, strict=True):
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(residuals, left, rtol=0, atol=1e-9)


@pytest.mark.quick
def test_centers_of_mass_and_unit_turns_agree_with_their_twins():
    rng = np.random.default_rng(1)
    character = samples.load_character("mannequin")
    joints = len(character.skeleton)
    masses, centers = rng.uniform(size=(4, joints)), rng.normal(size=(4, joints, 3))
    places, turns = rng.normal(size=(4, joints, 3)), rotation.normalize(rng.normal(size=(4, joints, 4)))
    for array in (masses, centers, places, turns):
        array.setflags(write=False)
    found = np.empty((4, 3))
    kernel.centers_of_mass(np.arange(4), masses, centers, places, turns, found)
    expected = np.einsum("cj,cjk->ck", masses, places + rotation.rotate(turns, centers))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    loose = rng.normal(size=(4, joints, 4))
    expected = rotation.normalize(loose)
    kernel.unit_turns(loose)
    np.testing.assert_allclose(loose, expected, rtol=0, atol=1e-12)


@pytest.mark.quick
def test_supports_agree_with_the_hull_of_the_soles():
    rng = np.random.default_rng(2)
    figures, most, joints = 40, 7, 5
    counts = rng.integers(1, most + 1, figures)
    of, offsets = rng.integers(0, joints, (figures, most)), rng.normal(scale=0.1, size=(figures, most, 3))
    # some on one line, some at one place
    offsets[3, :, 0], of[3], counts[3] = 0.0, 0, most
    offsets[4], of[4], counts[4] = offsets[4, 0], 0, 3
    counts[5] = 0
    places, turns = rng.normal(size=(figures, joints, 3)), rotation.normalize(rng.normal(size=(figures, joints, 4)))
    turns[3] = [1.0, 0, 0, 0]
    for array in (places, turns):
        array.setflags(write=False)
    polygons, sides = np.zeros((figures, most + 1, 2)), np.zeros(figures, np.int64)
    scratch = kernel.HullScratch(
        np.empty((most + 1, 2)), np.empty(most + 1, np.int64), np.empty(2 * most + 2, np.int64)
    )
    # every second one is widened to a point
    inside = rng.normal(size=(figures, 3))
    inside[::2] = np.nan
    kernel.supports(kernel.SoleTables(of, offsets, counts), 0.01, inside, places, turns, scratch, polygons, sides)
    for f in range(figures):
        own = slice(0, counts[f])
        flat = (places[f, of[f, own]] + rotation.rotate(turns[f, of[f, own]], offsets[f, own]))[:, ::2]
        expected = drawn_in(flat[hull(flat)], 0.01) if len(flat) else flat
        if f % 2 and len(flat):
            wider = np.concatenate([expected, inside[f : f + 1, ::2]])
            expected = wider[hull(wider)]
        assert sides[f] == len(expected)
        np.testing.assert_allclose(polygons[f, : sides[f]], expected, rtol=0, atol=1e-12)


@pytest.mark.quick
def test_what_contacts_ask_of_limbs_agrees_with_numpy():
    rng = np.random.default_rng(3)
    characters, capsules, joints, count = 6, 5, 7, 60
    limbs = np.array([False, True, True, False, True])
    found = np.zeros((count, apart.OUT))
    for column, high in ((0, characters), (1, capsules), (3, characters), (4, capsules)):
        found[:, column] = rng.integers(high, size=count)
    found[:, [2, 5]], found[:, 9] = rng.uniform(size=(count, 2)), rng.uniform(-0.1, 0.1, count)
    found[:, 6:9], found[:, 10:12] = rng.normal(size=(count, 3)), rng.normal(size=(count, 2))
    freedom, other_freedom = rng.uniform(size=(2, characters, capsules))
    rows, other_rows = np.empty((2, count, apart.ASKED))
    counts = apart.ways(found, limbs, freedom, other_freedom, rows, other_rows)
    one, i, two, j = found[:, [0, 1, 3, 4]].astype(int).T
    ease, other_ease = limbs[i] * freedom[one, i], limbs[j] * other_freedom[two, j]
    share = ease / np.maximum(ease + other_ease, 1e-9)
    expected = np.column_stack([found[:, [0, 1, 2, 6, 7, 8, 9]], found[:, 10] + share * found[:, 9]])[limbs[i]]
    level = found[:, 11] + (1.0 - share) * found[:, 9]
    others = np.column_stack([found[:, 3:6], -found[:, 6:9], found[:, 9], level])[limbs[j]]
    assert counts == (len(expected), len(others))
    np.testing.assert_allclose(rows[: counts[0]], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other_rows[: counts[1]], others, rtol=0, atol=1e-12)

    order, most = np.empty(len(expected), np.int64), 3
    kept = apart.deepest_rows(expected, characters, most, np.empty(characters + 1, np.int64), order)
    deepest = []
    for character in range(characters):
        own = np.flatnonzero(expected[:, 0] == character)
        deepest += own[np.argsort(-expected[own, 6], kind="stable")][:most].tolist()
    assert order[:kept].tolist() == deepest

    tubes = apart.Capsules(rng.integers(joints, size=capsules), rng.integers(joints, size=capsules), freedom)
    places, turns = (
        rng.normal(size=(characters, joints, 3)),
        rotation.normalize(rng.normal(size=(characters, joints, 4))),
    )
    for array in (places, turns):
        array.setflags(write=False)
    poses, carriers = np.empty((2, kept), np.int64)
    points, planes = np.empty((kept, 3)), np.empty((kept, 4))
    apart.place_rows(expected, order[:kept], tubes, places, turns, poses, carriers, points, planes)
    asked = expected[deepest]
    c, capsule = asked[:, :2].astype(int).T
    start = places[c, tubes.starts[capsule]]
    bone = asked[:, 2:3] * (places[c, tubes.ends[capsule]] - start)
    back = rotation.rotate(rotation.inverse(turns[c, tubes.starts[capsule]]), bone)
    np.testing.assert_array_equal(poses, c)
    np.testing.assert_array_equal(carriers, tubes.starts[capsule])
    np.testing.assert_allclose(points, back, rtol=0, atol=1e-12)
    np.testing.assert_allclose(planes, asked[:, [3, 4, 5, 7]], rtol=0, atol=1e-12)
