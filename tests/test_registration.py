"""Registration: frame distances, strictly monotone time warps, corresponding foot strikes and contacts."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from conftest import shared_data
from footplant import rotation, samples
from footplant.blending.common_character import on_one_character
from footplant.blending.distance import Clouds, align, clouds, distances, joint_weights, local_minima
from footplant.blending.graph import build_graph
from footplant.blending.loops import cut_loop, find_loop
from footplant.blending.matching import match
from footplant.blending.registration import match_plants, register, strikes
from footplant.blending.settings import REGISTRATION
from footplant.blending.warp import TimeCurve, clamped_knots, find_path, fit_monotone, slope_limits
from footplant.contacts.detection import find_contacts
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import ground_transform
from footplant.transfer import transfer

WALKS = ["02_01", "35_01", "104_02"]
"""Walks of three people at different speeds and in different directions."""
RUN = "09_01"


@cache
def sample(name):
    return samples.load(name)


def loop_of(clip):
    """Return one cycle of a clip as a loop."""
    return replace(clip, motion=cut_loop(clip.motion, clip.character, *find_loop(clip)))


def own_clouds(clip):
    return clouds(clip.motion.resample(REGISTRATION.rate), clip.character)


def brute_force_distance(a, b, weights):
    """Return the distance of two clouds by its definition: the best rotation by trying many, then refining."""
    middle_a, middle_b = weights @ a, weights @ b
    a, b = a - middle_a * [1, 0, 1], b - middle_b * [1, 0, 1]

    def at(angle):
        turned = rotation.rotate(rotation.from_axis_angle(rotation.AXES["y"], angle), b)
        return float(weights @ ((a - turned) ** 2).sum(axis=1))

    angles = np.linspace(-np.pi, np.pi, 721)
    best = angles[int(np.argmin([at(angle) for angle in angles]))]
    width = angles[1] - angles[0]
    for _ in range(60):
        width *= 0.7
        best = min((best - width, best, best + width), key=at)
    return np.sqrt(at(best))


def test_distances_against_brute_force():
    rng = np.random.default_rng(1)
    weights = rng.random(12)
    weights /= weights.sum()
    a, b = Clouds(rng.normal(size=(4, 12, 3)), weights), Clouds(rng.normal(size=(5, 12, 3)) + 3.0, weights)
    table = distances(a, b)
    for i, j in product(range(4), range(5)):
        assert table[i, j] == pytest.approx(brute_force_distance(a.points[i], b.points[j], weights), abs=1e-6)


def test_distances_agree_with_numpy():
    """Against NumPy: one pair at a time, by the closed form of the paper."""
    walk, run = own_clouds(sample("walk")), own_clouds(sample("run"))
    table = distances(walk, run)
    for i, j in product(range(0, len(walk), 17), range(0, len(run), 13)):
        turn, shift = align(walk.points[i], run.points[j], walk.weights)
        moved = rotation.rotate(rotation.from_axis_angle(rotation.AXES["y"], turn), run.points[j]) + shift
        away = np.sqrt(walk.weights @ ((walk.points[i] - moved) ** 2).sum(axis=1))
        assert table[i, j] == pytest.approx(away, abs=1e-12)


def test_distances_are_invariant_to_position_and_heading():
    clip = sample("walk")
    turn = rotation.from_axis_angle(rotation.AXES["y"], 2.1)
    other = replace(clip, motion=clip.motion.transformed(turn, (5.0, 0.0, -40.0)))
    table = distances(own_clouds(clip), own_clouds(other))
    assert np.diag(table).max() < 1e-6
    angle, shift = align(own_clouds(other).points[7], own_clouds(clip).points[7], own_clouds(clip).weights)
    assert angle == pytest.approx(2.1, abs=1e-9)
    np.testing.assert_allclose(shift, (5.0, 0.0, -40.0), atol=1e-9)


def test_joint_weights():
    character = sample("walk").character
    weights = joint_weights(character)
    roles = character.require_roles()
    assert weights.sum() == pytest.approx(1.0)
    assert weights[roles["left_foot"]] > weights[roles["left_hand"]] > 0
    np.testing.assert_allclose(joint_weights(replace(character, roles=None)), 1.0 / len(character.skeleton))


def cheapest_by_brute_force(table, limits):
    """Return the cheapest of all corner-to-corner paths, by recursion."""
    up, across = limits
    rows, columns = table.shape

    def go(i, j, kind, run):
        if i == rows - 1 and j == columns - 1:
            return table[i, j]
        best = np.inf
        for di, dj, name, most in ((1, 1, "d", 99), (1, 0, "u", up), (0, 1, "a", across)):
            steps = run + 1 if name == kind else 1
            if i + di < rows and j + dj < columns and steps <= most:
                best = min(best, go(i + di, j + dj, name, steps))
        return table[i, j] + best

    return go(0, 0, "d", 0)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(2, 5), st.integers(0, 10**6))
def test_path_is_the_cheapest(rows, columns, seed):
    table = np.random.default_rng(seed).random((rows, columns))
    path = find_path(table)
    steps = np.diff(path.frames, axis=0)
    assert path.frames[0].tolist() == [0, 0]
    assert path.frames[-1].tolist() == [rows - 1, columns - 1]
    assert {tuple(step) for step in steps} <= {(0, 1), (1, 0), (1, 1)}
    assert table[tuple(path.frames.T)].sum() == pytest.approx(cheapest_by_brute_force(table, path.limits))


def test_slope_limits_widen_until_there_is_a_path():
    assert slope_limits(100, 100) == (1, 1)
    assert slope_limits(50, 100) == (1, 2)
    table = np.ones((4, 40))
    path = find_path(table)
    assert path.limits[1] > slope_limits(4, 40)[1]
    assert path.frames[-1].tolist() == [3, 39]
    assert len(find_path(np.ones((1, 5))).frames) == 5


def test_free_ends_find_the_corresponding_part():
    walk = sample("walk")
    table = distances(own_clouds(walk), own_clouds(walk))[:, 40:]
    path = find_path(table, ends="free")
    assert path.cost < 1e-6
    shift = np.unique(path.frames[:, 0] - path.frames[:, 1])
    assert len(shift) == 1
    assert len(path.frames) >= 60


@pytest.mark.parametrize("bad", [np.zeros((0, 3)), np.full((3, 3), np.nan)])
def test_bad_tables(bad):
    with pytest.raises(MotionError, match="finite distances"):
        find_path(bad)
    with pytest.raises(MotionError, match="both, free or loop"):
        find_path(np.ones((3, 3)), ends="some")  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_spline_is_strictly_monotone(seed, ends):
    """Whatever the path does: stays, jumps, runs along one side."""
    rng = np.random.default_rng(seed)
    steps = rng.choice([[0, 1], [1, 0], [1, 1]], size=80)
    path = np.concatenate([[[0, 0]], np.cumsum(steps, axis=0)]) / 30.0
    if np.ptp(path[:, 0]) < 0.2 or np.ptp(path[:, 1]) < 0.2:
        return
    knots = clamped_knots(path[0, 0], path[-1, 0])
    curve = TimeCurve(knots, fit_monotone(path[:, 0], path[:, 1], knots, ends=ends)[:, None])
    fine = np.linspace(curve.start, curve.stop, 500)
    assert (curve.rates(fine) > 0).all()
    assert (np.diff(curve(fine)[:, 0]) > 0).all()
    if ends:
        assert curve(fine)[0, 0] == pytest.approx(path[0, 1], abs=1e-3)
        assert curve(fine)[-1, 0] == pytest.approx(path[-1, 1], abs=1e-3)
    np.testing.assert_allclose(curve.reference_of(0, curve(fine)[:, 0]), fine, atol=2e-3)


def strike_errors(registration, contacts, character):
    """Return frames of 1/30 s between every strike of the reference and the nearest of the other, after warping.

    Steps at the start or end of either clip are left out: they are not visible in both.
    """
    mine, other = (strikes(own, character) for own in contacts)
    curve, found = registration.curve, []
    for side in mine:
        for second in mine[side]:
            if curve.start + 0.1 <= second <= curve.stop - 0.1 and len(other[side]):
                there = curve(second)[0, 1]
                if other[side].min() - 0.2 < there < other[side].max() + 0.2:
                    found.append(30.0 * np.abs(other[side] - there).min())
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("walk", "run"),
        ("run", "walk"),
        ("walk", "sneak"),
        ("walk", "limp"),
        ("limp", "run"),
        ("turn-left", "turn-right"),
    ],
)
def test_foot_strikes_of_samples_correspond(first, second):
    pair = [sample(first), sample(second)]
    registration = register(pair, reference=0)
    errors = strike_errors(registration, registration.contacts, pair[0].character)
    assert len(errors) >= 3
    assert max(errors) <= 2.0
    fine = np.linspace(registration.curve.start, registration.curve.stop, 300)
    assert (registration.curve.rates(fine) > 0).all()


@cache
def capture(name):
    """Return a CMU clip without its T-pose, on the character of the first one, and its contacts."""
    clip = footplant.load(shared_data("bvh", "cmu", f"{name}.bvh"))
    clip = replace(clip, motion=clip.motion[1:])
    figure = clip.character if name == WALKS[0] else capture(WALKS[0])[0].character
    moved = replace(clip, motion=transfer(clip.motion, clip.character, figure), character=figure)
    return moved, find_contacts(clip)


@pytest.mark.parametrize(("first", "second"), [(a, b) for a in [*WALKS, RUN] for b in [*WALKS, RUN] if a != b])
@pytest.mark.named("bvh/cmu/{first}.bvh", "bvh/cmu/{second}.bvh")
def test_foot_strikes_of_captured_walks_and_runs_correspond(shared, first, second):
    (a, mine), (b, other) = capture(first), capture(second)
    registration = register([a, b], reference=0, contacts=[mine, other])
    errors = strike_errors(registration, [mine, other], a.character)
    assert len(errors) >= 2
    assert max(errors) <= 2.0


def test_alignment_maps_one_motion_onto_the_other():
    clip = sample("walk")
    turn = rotation.from_axis_angle(rotation.AXES["y"], 1.0)
    other = replace(clip, motion=clip.motion.transformed(turn, (3.0, 0.0, 1.0)))
    registration = register([clip, other], reference=0)
    seconds = np.linspace(0.5, 3.5, 7)
    turns, shifts = registration.alignment(seconds)
    np.testing.assert_allclose(turns[:, 0], 0.0, atol=1e-9)
    np.testing.assert_allclose(turns[:, 1], -1.0, atol=0.05)
    there = registration.poses(1, registration.curve(seconds)[:, 1]).root
    back = rotation.rotate(rotation.from_axis_angle(rotation.AXES["y"], turns[:, 1]), there) + shifts[:, 1]
    assert np.abs(back - registration.poses(0, seconds).root).max() < 0.05


def test_contacts_correspond():
    registration = register([sample("walk"), sample("run")], reference=0)
    both = [m for m in registration.matches if all(plant is not None for plant in m.plants)]
    assert len(both) >= 12
    for found in both:
        assert {plant.point for plant in found.plants} == {found.point}
    again = match_plants(registration.curve, registration.contacts)
    assert len(again) == len(registration.matches)


def test_reference_is_chosen():
    assert register([sample("run"), sample("walk"), sample("limp")]).reference == 1
    with pytest.raises(MotionError, match=r"reference in 0\.\.1"):
        register([sample("walk"), sample("run")], reference=5)


def test_clips_of_other_characters_are_retargeted():
    walk = sample("walk")
    child = samples.load_character("child")
    small = replace(sample("limp"), motion=transfer(sample("limp").motion, walk.character, child), character=child)
    clips = on_one_character([walk, small])
    assert clips[1].character is walk.character
    height = clips[1].motion.root[:, 1].mean()
    assert height == pytest.approx(sample("limp").motion.root[:, 1].mean(), abs=0.05)
    with pytest.raises(MotionError, match="at least one clip"):
        on_one_character([])
    with pytest.raises(MotionError, match="at least 2 frames"):
        on_one_character([replace(walk, motion=walk.motion[:1])])


def test_loops_are_registered_across_their_seam():
    loops = [loop_of(sample(name)) for name in ("walk", "run")]
    assert loops[0].motion.duration == pytest.approx(1.05, abs=0.02)
    assert loops[1].motion.duration == pytest.approx(0.75, abs=0.02)
    registration = register(loops, reference=0, ends="loop")
    times = registration.curve([registration.curve.start, registration.curve.stop])
    np.testing.assert_allclose(times[1] - times[0], [loop.motion.duration for loop in loops], atol=1e-3)
    rates = registration.curve.rates([registration.curve.start, registration.curve.stop])[:, 1]
    assert rates[0] == pytest.approx(rates[1], rel=0.35)


@pytest.mark.parametrize("name", ["walk", "run", "turn-left"])
def test_loop_has_no_seam(name):
    clip = sample(name)
    loop = cut_loop(clip.motion, clip.character, *find_loop(clip))
    twice = loop.looped(2, close=False)
    speeds = np.linalg.norm(np.diff(Kinematics(twice).positions, axis=0), axis=2)
    jumps = np.abs(np.diff(speeds, axis=0)).max(axis=1)
    seam = len(loop) - 2
    assert jumps[seam - 2 : seam + 2].max() <= 1.2 * np.delete(jumps, range(seam - 2, seam + 2)).max()


@pytest.mark.named("bvh/cmu/104_02.bvh")
def test_loop_of_a_captured_walk(shared):
    clip, _ = capture(WALKS[2])
    start, stop = find_loop(clip)
    assert 0.8 < stop - start < 1.5
    loop = cut_loop(clip.motion, clip.character, start, stop)
    turn, shift = ground_transform(loop, len(loop) - 1, loop, 0)
    assert np.abs(loop[0].transformed(turn, shift) - loop[len(loop) - 1]).max() < 1e-6


def test_loops_outside_the_clip_raise():
    clip = sample("walk")
    with pytest.raises(MotionError, match="within"):
        cut_loop(clip.motion, clip.character, 1.0, 99.0)
    with pytest.raises(MotionError, match="find a loop in"):
        find_loop(replace(clip, motion=clip.motion[:10]))


def test_matching_to_dict():
    found = match(sample("walk"), sample("run"))
    told = found.to_dict()
    assert told["mean_distance"] < 0.2
    assert len(told["strikes"]) >= 5
    assert np.abs(found.strike_errors).max() <= 2.0 / 30.0
    assert found.transitions[0].distance == pytest.approx(found.table.min(), abs=1e-9)
    assert told["matched_plants"] >= 12


def test_local_minima():
    table = np.array([[3.0, 2.0, 3.0, 4.0], [2.0, 1.0, 2.0, 3.0], [3.0, 2.0, 3.0, 0.5]])
    assert [(m.first, m.second) for m in local_minima(table)] == [(2, 3), (1, 1)]
    assert [(m.first, m.second) for m in local_minima(table, most=0.7)] == [(2, 3)]


def test_graph_of_a_library():
    clips = [sample(name) for name in ("walk", "limp", "kick")]
    graph = build_graph(clips)
    assert graph.component() == {0, 1}
    for edge in graph.edges:
        assert edge.distance <= graph.threshold
    assert any(edge.source == 0 and edge.target == 1 for edge in graph.edges)
    told = graph.to_dict()
    assert [clip["lasting"] for clip in told["clips"]] == [True, True, False]
    strict = build_graph(clips, threshold=1e-6)
    assert all(edge.source == edge.target for edge in strict.edges)
    with pytest.raises(MotionError, match="at least one clip"):
        build_graph([])
