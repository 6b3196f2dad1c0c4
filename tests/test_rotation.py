"""Quaternions against scipy's Rotation and against their own algebra."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from footplant import rotation
from twins import exp_numpy, log_numpy

component = st.floats(-1.0, 1.0, allow_nan=False)
quaternions = (
    arrays(float, (5, 4), elements=component)
    .filter(lambda q: (np.linalg.norm(q, axis=1) > 1e-3).all())
    .map(rotation.normalize)
)
vectors = arrays(float, (5, 3), elements=st.floats(-3.0, 3.0, allow_nan=False))
ORDERS = ["".join(order) for order in permutations("xyz")]


def same_rotation(a, b, tolerance=1e-9) -> bool:
    return bool(np.allclose(np.abs(np.sum(np.asarray(a) * b, axis=-1)), 1.0, atol=tolerance))


@given(quaternions, quaternions, vectors)
@pytest.mark.quick
def test_products_and_rotated_vectors_agree_with_scipy(a, b, v):
    ra, rb = Rotation.from_quat(a, scalar_first=True), Rotation.from_quat(b, scalar_first=True)
    assert same_rotation(rotation.multiply(a, b), (ra * rb).as_quat(scalar_first=True))
    assert np.allclose(rotation.rotate(a, v), ra.apply(v), atol=1e-12)
    assert np.allclose(rotation.to_matrix(a), ra.as_matrix(), atol=1e-12)
    assert same_rotation(rotation.from_matrix(rotation.to_matrix(a)), a)
    assert np.allclose(rotation.rotate(rotation.inverse(a), rotation.rotate(a, v)), v, atol=1e-12)


@given(vectors)
def test_exp_and_log_are_inverse_on_the_shorter_arc(v):
    q = rotation.exp(v)
    assert np.allclose(np.linalg.norm(q, axis=-1), 1.0, atol=1e-12)
    back = rotation.log(q)
    assert (np.linalg.norm(back, axis=-1) <= np.pi + 1e-12).all()
    assert same_rotation(rotation.exp(back), q)
    short = np.linalg.norm(v, axis=-1) < np.pi - 1e-6
    assert np.allclose(back[short], v[short], atol=1e-9)


@given(vectors, st.sampled_from([1.0, 1e-5, 1e-9]))
def test_exp_and_log_agree_with_their_numpy_twins_and_with_scipy(v, size):
    v, near = v * size, v * size - 0.5 * size
    q = rotation.exp(near)
    assert np.allclose(q, exp_numpy(near), atol=1e-15)
    assert same_rotation(q, Rotation.from_rotvec(near).as_quat(scalar_first=True), 1e-12)
    assert np.allclose(rotation.log(q), log_numpy(q), atol=1e-14)
    short = np.linalg.norm(v, axis=-1) < 3.0
    assert np.allclose(rotation.log(rotation.exp(v[short])), v[short], atol=1e-12)
    assert np.array_equal(rotation.log(q[None, :, None])[0, :, 0], rotation.log(q))


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-7, 1e-6, 9.9e-7, 1.1e-6, np.pi - 1e-9, np.pi])
def test_exp_and_log_at_the_edges(angle):
    v = np.array([0.6, 0.0, -0.8]) * angle
    assert np.linalg.norm(rotation.log(rotation.exp(v))) == pytest.approx(angle, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("order", ORDERS)
@given(vectors)
def test_euler_angles_agree_with_scipy(order, angles):
    expected = Rotation.from_euler(order.upper(), angles).as_quat(scalar_first=True)
    assert same_rotation(rotation.from_euler(angles, order), expected)


def test_euler_orders_of_one_and_two_axes():
    assert same_rotation(rotation.from_euler([[0.4]], "y"), rotation.exp([0.0, 0.4, 0.0]))
    expected = rotation.multiply(rotation.exp([0.0, 0.0, 0.2]), rotation.exp([0.5, 0.0, 0.0]))
    assert same_rotation(rotation.from_euler([0.2, 0.5], "zx"), expected)
    with pytest.raises(ValueError, match="expected 3 angles"):
        rotation.from_euler([0.2, 0.5], "zxy")


@given(vectors, vectors)
def test_between_rotates_one_direction_into_the_other(a, b):
    keep = (np.linalg.norm(a, axis=1) > 1e-3) & (np.linalg.norm(b, axis=1) > 1e-3)
    a, b = a[keep], b[keep]
    turned = rotation.rotate(rotation.between(a, b), a)
    assert np.allclose(
        turned / np.linalg.norm(turned, axis=1, keepdims=True), b / np.linalg.norm(b, axis=1, keepdims=True), atol=1e-6
    )


@pytest.mark.parametrize("axis", [[1.0, 0, 0], [0, 2.0, 0], [0, 0, 3.0], [1.0, -1.0, 0.5]])
def test_between_opposite_directions_is_half_a_turn(axis):
    axis = np.array(axis)
    assert np.allclose(rotation.rotate(rotation.between(axis, -axis), axis), -axis, atol=1e-9)


def test_between_broadcasts():
    found, half = rotation.between([1.0, 0.0, 0.0], [[0.0, 3.0, 0.0], [2.0, 0.0, 0.0]]), np.sqrt(0.5)
    assert np.allclose(found, [[half, 0.0, 0.0, half], [1.0, 0.0, 0.0, 0.0]])
    assert rotation.between(np.zeros((0, 3)), [1.0, 0.0, 0.0]).shape == (0, 4)


@given(quaternions, vectors.filter(lambda v: (np.linalg.norm(v, axis=1) > 1e-2).all()))
@pytest.mark.quick
def test_swing_and_twist_multiply_to_the_whole(q, axis):
    swing, twist = rotation.swing_twist(q, axis)
    unit = axis / np.linalg.norm(axis, axis=1, keepdims=True)
    assert same_rotation(rotation.multiply(swing, twist), q)
    assert np.allclose(rotation.rotate(twist, unit), unit, atol=1e-9)
    assert np.allclose(np.sum(swing[:, 1:] * unit, axis=1), 0.0, atol=1e-9)


@given(quaternions)
def test_unrolled_quaternions_are_the_same_rotations_on_one_side(q):
    q = np.concatenate([q, -q])
    unrolled = rotation.unroll(q)
    assert same_rotation(unrolled, q)
    assert (np.sum(unrolled[1:] * unrolled[:-1], axis=1) >= 0).all()


@pytest.mark.parametrize("shape", [(0,), (1,), (9,), (9, 3), (9, 3, 2), (5, 0)])
def test_unrolling_agrees_with_its_numpy_twin(shape):
    quaternions = rotation.normalize(np.random.default_rng(4).normal(size=(*shape, 4)))
    expected = np.array(quaternions)
    if len(expected) > 1:
        dots = np.sum(expected[1:] * expected[:-1], axis=-1)
        expected[1:] *= np.cumprod(np.where(dots < 0, -1.0, 1.0), axis=0)[..., None]
    assert np.array_equal(rotation.unroll(quaternions), expected)


def test_slerp_runs_at_constant_speed_on_the_shorter_arc():
    a, b = rotation.exp([0.0, 0.2, 0.0]), -rotation.exp([0.0, 1.4, 0.0])
    steps = rotation.slerp(a, b, np.linspace(0, 1, 7))
    assert np.allclose(rotation.log(steps)[:, 1], np.linspace(0.2, 1.4, 7), atol=1e-12)


def test_mean_ignores_signs_and_follows_weights():
    a, b = rotation.exp([0.2, 0.0, 0.0]), rotation.exp([0.6, 0.0, 0.0])
    assert rotation.log(rotation.mean([a, -b]))[0] == pytest.approx(0.4)
    assert rotation.log(rotation.mean([a, b], [1.0, 0.0]))[0] == pytest.approx(0.2)
    many = np.broadcast_to(a, (3, 5, 4))
    assert same_rotation(rotation.mean(many), many[0])


def test_zero_quaternions_become_the_identity():
    assert rotation.normalize([[0.0, 0, 0, 0], [0, 2.0, 0, 0]]).tolist() == [[1.0, 0, 0, 0], [0, 1.0, 0, 0]]
    assert rotation.angle(rotation.exp([0.0, 0.7, 0.0]), rotation.IDENTITY) == pytest.approx(0.7)


@pytest.mark.parametrize(
    "shapes", [((600,), (600,)), ((40, 20), (20,)), ((), (700,)), ((700,), ()), ((30, 1), (1, 30))]
)
def test_batches_equal_single_calls_bit_for_bit(shapes):
    rng = np.random.default_rng(5)
    a, b, v = (rng.normal(size=(*shape, width)) for shape, width in zip((*shapes, shapes[1]), (4, 4, 3)))
    shape = np.broadcast_shapes(*shapes)
    firsts, seconds, vectors = (np.broadcast_to(x, (*shape, x.shape[-1])) for x in (a, b, v))
    products, turned = rotation.multiply(a, b), rotation.rotate(a, v)
    assert products.shape == (*shape, 4)
    assert turned.shape == (*shape, 3)
    for place in list(np.ndindex(shape))[::37]:
        np.testing.assert_array_equal(products[place], rotation.multiply(firsts[place], seconds[place]))
        np.testing.assert_array_equal(turned[place], rotation.rotate(firsts[place], vectors[place]))
    many = np.array(np.broadcast_to(a, (*shape, 4)))
    many[(0,) * len(shape)] = 0.0
    units = rotation.normalize(many)
    for place in list(np.ndindex(shape))[::37]:
        np.testing.assert_array_equal(units[place], rotation.normalize(many[place]))
    assert rotation.are_unit(units)
    assert not rotation.are_unit(many)
    units[(-1,) * len(shape)] = np.nan
    assert not rotation.are_unit(units)
