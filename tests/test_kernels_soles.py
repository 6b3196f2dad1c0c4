"""The compiled loops of foot-skate cleanup, against the same mathematics in NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import Kinematics, rotation
from footplant.errors import SkeletonError
from footplant.feet import _soles as kernel
from footplant.feet.posed import Posed
from footplant.kernels import quaternion
from footplant.kernels import smoothing as smooth_kernel
from footplant.skeleton import Point
from footplant.solve.ik.limb import Limb, place
from random_figures import random_motion

FRAMES, TOES, FOOT = 9, 7, 6
seeds = st.integers(0, 10_000)
UP = rotation.AXES["y"]


def assert_close(found, expected, within=1e-12):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=within)


def unit(rng, *shape):
    return rotation.normalize(rng.normal(size=(*shape, 4)))


def shares(rng, *shape):
    """Numbers from 0 to 1, both ends among them."""
    return np.clip(rng.uniform(-0.5, 1.5, shape), 0.0, 1.0)


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_the_turn_between_directions_agrees_with_that_of_rotation(seed):
    rng = np.random.default_rng(seed)
    for a, b in (
        (rng.normal(size=3), rng.normal(size=3)),
        (UP, -UP),
        (np.zeros(3), UP),
        ([0.0, 0.0, 2.0], [0.0, 0, -1]),
    ):
        assert_close(quaternion.between(*np.array(a, float), *b), rotation.between(a, b))


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_levelled_toes_agree_with_their_twin(seed):
    rng = np.random.default_rng(seed)
    world, local, pose = unit(rng, FRAMES, 9), unit(rng, FRAMES, 9), unit(rng)
    share, flat, reference = shares(rng, FRAMES), shares(rng, FRAMES), unit(rng)
    normals = rng.normal(size=(FRAMES, 3))
    found = np.array(local)
    kernel.level(TOES, FOOT, share, flat, (reference, pose), normals, world, found)
    up = rotation.rotate(rotation.inverse(reference), UP)
    turn = rotation.between(rotation.rotate(world[:, TOES], up), normals)
    turned = rotation.multiply(rotation.exp(share[:, None] * rotation.log(turn)), world[:, TOES])
    own = rotation.multiply(rotation.inverse(world[:, FOOT]), turned)
    straight = rotation.log(rotation.multiply(rotation.inverse(own), pose))
    expected = np.array(local)
    expected[:, TOES] = rotation.normalize(rotation.multiply(own, rotation.exp(flat[:, None] * straight)))
    idle = (share == 0.0) & (flat == 0.0)
    expected[idle] = local[idle]
    assert_close(found, expected)


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_straight_feet_and_their_tips_agree_with_their_twins(seed):
    rng = np.random.default_rng(seed)
    rows, both = rng.integers(0, FRAMES, 20), shares(rng, 20)
    planned = np.where(rng.random(20) < 0.3, np.nan, rng.normal(0.0, 0.1, 20))
    heel, ball = rng.normal(size=(2, FRAMES, 3))
    found, expected = np.zeros(FRAMES), np.zeros(FRAMES)
    kernel.straight_share(rows, both, planned, heel, ball, 0.2, 0.1, found)
    rise, length = (heel - ball)[rows, 1], np.linalg.norm(heel - ball, axis=1)[rows]
    rise = np.where(np.isnan(planned), rise, np.where(both < 1.0, np.fmax(rise, planned), planned))
    np.maximum.at(expected, rows, both * np.clip((0.2 - rise / length) / 0.1, 0.0, 1.0))
    assert_close(found, expected)
    places, turns, pose, offset = rng.normal(size=(FRAMES, 9, 3)), unit(rng, FRAMES, 9), unit(rng), rng.normal(size=3)
    tip = np.empty((FRAMES, 3))
    kernel.straight_tip(TOES, FOOT, pose, offset, places, turns, tip)
    twin = places[:, TOES] + rotation.rotate(rotation.multiply(turns[:, FOOT], pose), offset)
    assert_close(tip, twin)


def pitch_numpy(pivot, end, least):
    """Radians (F,) and the axis (F, 3) by which the line from a pivot to an end pitches up to a height."""
    line = end - pivot
    length = np.maximum(np.linalg.norm(line, axis=1), 1e-9)
    wanted = np.arcsin(np.clip((least - pivot[:, 1]) / length, -1.0, 1.0))
    axis = rotation.cross(line, UP)
    norm = np.linalg.norm(axis, axis=1, keepdims=True)
    now = np.arcsin(np.clip(line[:, 1] / length, -1.0, 1.0))
    return wanted - now, np.where(norm > 1e-9, axis / np.maximum(norm, 1e-9), rotation.AXES["x"])


@settings(deadline=None, max_examples=30)
@given(seeds)
def test_toes_that_bend_up_agree_with_their_twins(seed):
    rng = np.random.default_rng(seed)
    places, turns, local = rng.normal(size=(FRAMES, 9, 3)), unit(rng, FRAMES, 9), unit(rng, FRAMES, 9)
    tip, ball = places[:, TOES] + 0.2 * rng.normal(size=(FRAMES, 3)), rng.normal(size=(FRAMES, 3))
    least, floor, held = tip[:, 1] + rng.normal(0.0, 0.1, FRAMES), rng.normal(size=FRAMES), shares(rng, FRAMES)
    up, still = np.empty(FRAMES), np.empty(FRAMES)
    some = kernel.bend_needed(TOES, (tip, least), (ball, floor), held, 0.05, places, up, still)
    expected, axis = pitch_numpy(places[:, TOES], tip, least)
    sunk = np.maximum(floor - ball[:, 1], 0.0)
    assert_close(up, expected)
    assert_close(still, held * np.clip(1.0 - (least - tip[:, 1] - sunk) / 0.05, 0.0, 1.0))
    assert some == ((up > 0) & (still < 1.0)).any()
    found, angles = np.array(local), rng.normal(size=FRAMES)
    kernel.bend_up(TOES, FOOT, angles, 0.7, tip, places, turns, found)
    turned = rotation.multiply(rotation.exp(np.minimum(angles, 0.7)[:, None] * axis), turns[:, TOES])
    twin = np.array(local)
    twin[:, TOES] = rotation.multiply(rotation.inverse(turns[:, FOOT]), turned)
    assert_close(found, twin)


@settings(deadline=None, max_examples=30)
@given(seeds, st.booleans())
def test_pitched_feet_agree_with_their_twins(seed, toes_too):
    rng = np.random.default_rng(seed)
    places, turn, toe_turn = rng.normal(size=(4, FRAMES, 3)), unit(rng, FRAMES), unit(rng, FRAMES)
    places[1, 0] = places[0, 0] + UP
    least, wanted = rng.normal(size=FRAMES), np.empty(FRAMES)
    kernel.pitch_needed(places[0], places[1], least, wanted)
    expected, axis = pitch_numpy(places[0], places[1], least)
    assert_close(wanted, expected)
    angles = np.where(rng.random(FRAMES) < 0.3, 0.0, rng.normal(size=FRAMES))
    found = np.array(places), np.array(turn), np.array(toe_turn), np.zeros(FRAMES, bool)
    kernel.pitch_up(angles, 0, 1, *found[:3], toes_too, found[3])
    about = rotation.exp(angles[:, None] * axis)
    assert_close(found[0], places[0] + rotation.rotate(about, places - places[0]))
    assert_close(found[1], rotation.multiply(about, turn))
    assert_close(found[2], rotation.multiply(about, toe_turn) if toes_too else toe_turn)
    assert np.array_equal(found[3], angles != 0.0)
    local = unit(rng, FRAMES, 9)
    related, rows = np.array(local), np.array([1, 4])
    kernel.relate(rows, TOES, turn, toe_turn, related)
    local[rows, TOES] = rotation.multiply(rotation.inverse(turn), toe_turn)[rows]
    assert_close(related, local)


@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(1, 30), st.floats(0.0, 1.0))
def test_a_need_beside_plants_agrees_with_its_twin(seed, count, often):
    rng = np.random.default_rng(seed)
    need, held = rng.normal(size=count), np.where(rng.random(count) < often, 1.0, rng.random(count))
    found, expected = np.empty(count), need
    kernel.beside(need, held, found)
    at = np.flatnonzero(held >= 1.0)
    if len(at):
        frames = np.arange(count)
        after = np.minimum(np.searchsorted(at, frames), len(at) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(np.abs(at[before] - frames) < np.abs(at[after] - frames), at[before], at[after])
        expected = need - held * np.maximum(need[nearest], 0.0)
    assert_close(found, expected)


@settings(deadline=None, max_examples=30)
@given(seeds, st.integers(3, 80))
def test_the_smoothest_curve_above_agrees_with_its_twin(seed, count):
    rng = np.random.default_rng(seed)
    values, held = np.cumsum(rng.normal(size=count)), rng.random(count) < 0.2
    found = np.empty(count)
    smooth_kernel.smooth_above(values, held, 50.0, 1e4, 1e6, 8, smooth_kernel.above_room(count), found)
    pressed, curve = (values > 0.0) & ~held, np.zeros(count)
    second, first = np.diff(np.eye(count), n=2, axis=0), np.diff(np.eye(count), axis=0)
    smooth = 50.0 * second.T @ second + 2.0 * np.sqrt(50.0) * first.T @ first
    for _ in range(8):
        curve = np.linalg.solve(np.diag(1.0 + 1e4 * pressed + 1e6 * held) + smooth, 1e4 * pressed * values)
        now = ~held & (curve <= values)
        if np.array_equal(now, pressed):
            break
        pressed = now
    assert_close(found, np.where(held, 0.0, curve), 1e-8)


@settings(deadline=None, max_examples=30)
@given(seeds, st.booleans())
def test_limbs_placed_in_a_posed_motion_are_placed_as_alone(seed, stretching):
    """Joints inside the bones, bones that stretch, and all that hangs on the limb included."""
    motion, rng = random_motion(FRAMES, 10, seed), np.random.default_rng(seed)
    skeleton = motion.skeleton
    chains = [skeleton.chain(joint) for joint in range(10)]
    chain = max(chains, key=len)
    if len(chain) < 4:
        return
    middle = chain[-3] if len(chain) < 6 else chain[-4]
    limb = Limb(chain[1], middle, chain[-1], rotation.AXES["x"], (0.1, 2.5))
    if limb.upper == limb.lower:
        return
    if stretching:
        motion = replace(motion, offsets=skeleton.offsets + 0.1 * rng.normal(size=(FRAMES, 10, 3)))
    kinematics = Kinematics(motion)
    goals = kinematics.positions[:, limb.end] + 0.3 * rng.normal(size=(FRAMES, 3))
    wanted, rows = unit(rng, FRAMES), np.flatnonzero(rng.random(FRAMES) < 0.6)
    posed = Posed(motion)
    residual, status = posed.placed(limb, rows, goals, wanted)
    alone = place(motion, limb, goals, orientations=wanted)
    expected = np.array(motion.rotations)
    expected[rows] = alone.motion.rotations[rows]
    assert_close(posed.local, expected)
    assert_close(residual, alone.residual[rows], 1e-10)
    assert np.array_equal(status, alone.status[rows])
    tracks = posed.tracks(Point(9, (0.1, 0.2, 0.3)), Point(limb.end))
    again = Kinematics(posed.finish())
    assert_close(posed.positions, again.positions)
    assert_close(posed.rotations, again.rotations)
    assert_close(tracks, np.moveaxis(again.points([Point(9, (0.1, 0.2, 0.3)), Point(limb.end)]), 1, 0))
    assert np.array_equal(Kinematics(motion).positions, kinematics.positions), "the motion it began with is as it was"


def test_the_root_of_a_posed_motion_stays():
    with pytest.raises(SkeletonError, match="got the root"):
        Posed(random_motion()).turned(0)
