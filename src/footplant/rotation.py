"""Rotations as unit quaternions (w, x, y, z), rotation vectors (radians) and 3×3 matrices, any leading shape.

Quaternions act from the left: `rotate(multiply(a, b), v)` rotates v by b first, then by a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.checks import rows_of_width
from footplant.errors import ArgumentError

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
IDENTITY.setflags(write=False)
AXES = {"x": np.array([1.0, 0, 0]), "y": np.array([0.0, 1, 0]), "z": np.array([0.0, 0, 1])}
"""Unit axes by name, used by Euler orders such as "zxy"."""
MANY = 16
"""Rows from which a compiled loop is worth its loading time: NumPy makes one pass for each term."""


def identity(*shape: int) -> NDArray:
    """Return identity quaternions, shape (*shape, 4)."""
    out = np.zeros((*shape, 4))
    out[..., 0] = 1.0
    return out


def _is_many(a: NDArray, b: NDArray) -> bool:
    """Return whether arrays are worth a compiled loop, and one's leading shape is a suffix of the other's."""
    if max(a.size, b.size) < 4 * MANY:
        return False
    first, second = a.shape[:-1], b.shape[:-1]
    if first == second:
        return True
    short, long = (first, second) if len(first) <= len(second) else (second, first)
    return min(a.size, b.size) > 0 and long[len(long) - len(short) :] == short


def _rows(array: NDArray) -> NDArray:
    """Return the rows (N, …) of the last axis, read-only: numba compiles separately for writable arrays."""
    rows = np.ascontiguousarray(array).reshape(-1, array.shape[-1])
    rows.setflags(write=False)
    return rows


def _quaternions(values: ArrayLike) -> NDArray:
    return rows_of_width(values, 4, "quaternions")


def _vectors(values: ArrayLike) -> NDArray:
    return rows_of_width(values, 3, "vectors")


def _must_broadcast(a: NDArray, b: NDArray) -> None:
    """Raise if the leading shapes of two arrays do not broadcast."""
    if a.ndim > 1 and b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
        try:
            np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        except ValueError:
            raise ArgumentError(f"expected leading shapes that broadcast, got {a.shape} and {b.shape}") from None


def normalize(quaternions: ArrayLike) -> NDArray:
    """Return quaternions divided by their norm; a zero quaternion becomes the identity."""
    quaternions = _quaternions(quaternions)
    if quaternions.size >= 4 * MANY:
        from footplant.kernels.rows import normalize_rows

        unit = np.empty(quaternions.shape)
        normalize_rows(_rows(quaternions), unit.reshape(-1, 4))
        return unit
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    # summed explicitly: a reduction's order depends on the shape, and one frame must equal one of many
    norm = np.sqrt(w * w + x * x + y * y + z * z)[..., None]
    safe = np.where(norm > 0, norm, 1.0)
    return np.where(norm > 0, quaternions / safe, IDENTITY)


def are_unit(quaternions: ArrayLike, tolerance: float = 1e-6) -> bool:
    """Return whether all are finite with squared norm 1 within a tolerance."""
    quaternions = _quaternions(quaternions)
    if quaternions.size >= 4 * MANY:
        from footplant.kernels.rows import first_unnormalized

        rows = _rows(quaternions)
        return bool(first_unnormalized(rows, tolerance) == len(rows))
    return bool((np.abs(np.einsum("...k,...k->...", quaternions, quaternions) - 1.0) <= tolerance).all())


def multiply(a: ArrayLike, b: ArrayLike) -> NDArray:
    """Return the Hamilton product a·b: first b, then a."""
    a, b = _quaternions(a), _quaternions(b)
    if _is_many(a, b):
        from footplant.kernels.rows import multiply_rows

        out = np.empty((*max(a.shape[:-1], b.shape[:-1], key=len), 4))
        multiply_rows(_rows(a), _rows(b), out.reshape(-1, 4))
        return out
    _must_broadcast(a, b)
    aw, ax, ay, az = (a[..., k] for k in range(4))
    bw, bx, by, bz = (b[..., k] for k in range(4))
    w = aw * bw - ax * bx - ay * by - az * bz
    product = np.empty((*np.shape(w), 4))
    product[..., 0] = w
    product[..., 1] = aw * bx + ax * bw + ay * bz - az * by
    product[..., 2] = aw * by - ax * bz + ay * bw + az * bx
    product[..., 3] = aw * bz + ax * by - ay * bx + az * bw
    return product


def inverse(quaternions: ArrayLike) -> NDArray:
    """Return the conjugate, which is the inverse of a unit quaternion."""
    quaternions = _quaternions(quaternions)
    inverted = -quaternions
    inverted[..., 0] = quaternions[..., 0]
    return inverted


def rotate(quaternions: ArrayLike, vectors: ArrayLike) -> NDArray:
    """Return vectors (…, 3) rotated by unit quaternions (…, 4)."""
    quaternions, vectors = _quaternions(quaternions), _vectors(vectors)
    if _is_many(quaternions, vectors):
        from footplant.kernels.rows import rotate_rows

        out = np.empty((*max(quaternions.shape[:-1], vectors.shape[:-1], key=len), 3))
        rotate_rows(_rows(quaternions), _rows(vectors), out.reshape(-1, 3))
        return out
    _must_broadcast(quaternions, vectors)
    w, x, y, z = (quaternions[..., k] for k in range(4))
    a, b, c = (vectors[..., k] for k in range(3))
    # explicit: for a single bone, the most frequent case, np.cross takes ten times as long
    ta, tb, tc = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    rotated = np.empty((*np.shape(ta), 3))
    rotated[..., 0] = a + w * ta + (y * tc - z * tb)
    rotated[..., 1] = b + w * tb + (z * ta - x * tc)
    rotated[..., 2] = c + w * tc + (x * tb - y * ta)
    return rotated


def cross(a: ArrayLike, b: ArrayLike) -> NDArray:
    """Return the cross product (…, 3): `np.cross` without its overhead for other cases."""
    a, b = _vectors(a), _vectors(b)
    _must_broadcast(a, b)
    ax, ay, az = (a[..., k] for k in range(3))
    bx, by, bz = (b[..., k] for k in range(3))
    x = ay * bz - az * by
    product = np.empty((*np.shape(x), 3))
    product[..., 0] = x
    product[..., 1] = az * bx - ax * bz
    product[..., 2] = ax * by - ay * bx
    return product


def exp(vectors: ArrayLike) -> NDArray:
    """Return the unit quaternion of a rotation vector (angle |v|, radians)."""
    from footplant.kernels.rows import exp_rows

    vectors = _vectors(vectors)
    out = np.empty((*vectors.shape[:-1], 4))
    exp_rows(_rows(vectors), out.reshape(-1, 4))
    return out


def log(quaternions: ArrayLike) -> NDArray:
    """Return the rotation vector of a unit quaternion on the shorter arc (|v| ≤ π)."""
    from footplant.kernels.rows import log_rows

    quaternions = _quaternions(quaternions)
    out = np.empty((*quaternions.shape[:-1], 3))
    log_rows(_rows(quaternions), out.reshape(-1, 3))
    return out


def angle(a: ArrayLike, b: ArrayLike) -> NDArray:
    """Return the angle between two orientations, radians, 0 to π."""
    return np.linalg.norm(log(multiply(inverse(a), b)), axis=-1)


def slerp(a: ArrayLike, b: ArrayLike, t: ArrayLike) -> NDArray:
    """Interpolate from a (t = 0) to b (t = 1) at constant speed on the shorter arc; t has the leading shape."""
    t = np.asarray(t, float)[..., None]
    return multiply(a, exp(t * log(multiply(inverse(a), b))))


def between(a: ArrayLike, b: ArrayLike) -> NDArray:
    """Return the smallest rotation from direction a to direction b (any lengths; opposite: about any normal)."""
    from footplant.kernels.rows import between_rows

    a, b = _vectors(a), _vectors(b)
    _must_broadcast(a, b)
    a, b = np.broadcast_arrays(a, b)
    out = np.empty((*a.shape[:-1], 4))
    between_rows(_rows(a), _rows(b), out.reshape(-1, 4))
    return out


def swing_twist(quaternions: ArrayLike, axis: ArrayLike) -> tuple[NDArray, NDArray]:
    """Return swing and twist with q = swing · twist, the twist about the local axis; both (…, 4)."""
    quaternions, axis = _quaternions(quaternions), _vectors(axis)
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    if not (length > 0).all():
        raise ArgumentError("expected an axis of non-zero length, got zeros or NaN")
    axis = axis / length
    along = np.sum(quaternions[..., 1:] * axis, axis=-1, keepdims=True)
    twist = normalize(np.concatenate([quaternions[..., :1], along * axis], axis=-1))
    return multiply(quaternions, inverse(twist)), twist


def unroll(quaternions: ArrayLike) -> NDArray:
    """Return quaternions with signs flipped along the first axis such that neighbouring frames are close (q ≡ −q)."""
    quaternions = _quaternions(quaternions)
    if quaternions.ndim < 2:
        raise ArgumentError(f"expected quaternions of shape (frames, …, 4), got {quaternions.shape}")
    out = np.empty(quaternions.shape)
    if out.size:
        from footplant.kernels.rows import unroll_rows

        frames = np.ascontiguousarray(quaternions).reshape(len(out), -1, 4).view()
        frames.setflags(write=False)
        unroll_rows(frames, np.ones(frames.shape[1]), out.reshape(frames.shape))
    return out


def mean(quaternions: ArrayLike, weights: ArrayLike | None = None) -> NDArray:
    """Return the weighted mean over the first axis: the eigenvector of Σ w q qᵀ (Markley 2007); signs do not matter."""
    quaternions = _quaternions(quaternions)
    if quaternions.ndim < 2 or not len(quaternions) or not np.isfinite(quaternions).all():
        raise ArgumentError(f"expected finite quaternions of shape (N ≥ 1, …, 4), got shape {quaternions.shape}")
    weights = np.ones(len(quaternions)) if weights is None else np.asarray(weights, float)
    if weights.shape != quaternions.shape[: weights.ndim] or not weights.ndim:
        raise ArgumentError(f"expected a weight for each of {len(quaternions)} quaternions, got shape {weights.shape}")
    weights = weights.reshape(weights.shape + (1,) * (quaternions.ndim - 1 - weights.ndim))
    outer = np.sum(weights[..., None, None] * quaternions[..., :, None] * quaternions[..., None, :], axis=0)
    vector = np.linalg.eigh(outer)[1][..., -1]
    return np.where(vector[..., :1] < 0, -vector, vector)


def to_matrix(quaternions: ArrayLike) -> NDArray:
    """Return rotation matrices (…, 3, 3), whose columns are the rotated axes."""
    w, x, y, z = np.moveaxis(_quaternions(quaternions), -1, 0)
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=-1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=-1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=-1),
        ],
        axis=-2,
    )


def from_matrix(matrices: ArrayLike) -> NDArray:
    """Return unit quaternions of rotation matrices, w ≥ 0; by the largest of four components, so never singular."""
    m = rows_of_width(matrices, 3, "matrices")
    if m.ndim < 2 or m.shape[-2] != 3:
        raise ArgumentError(f"expected matrices of shape (…, 3, 3), got {m.shape}")
    m00, m11, m22 = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    candidates = np.stack(
        [
            np.stack([1 + m00 + m11 + m22, m[..., 2, 1] - m[..., 1, 2],
                      m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]], axis=-1),
            np.stack([m[..., 2, 1] - m[..., 1, 2], 1 + m00 - m11 - m22,
                      m[..., 1, 0] + m[..., 0, 1], m[..., 2, 0] + m[..., 0, 2]], axis=-1),
            np.stack([m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] + m[..., 0, 1],
                      1 - m00 + m11 - m22, m[..., 2, 1] + m[..., 1, 2]], axis=-1),
            np.stack([m[..., 1, 0] - m[..., 0, 1], m[..., 2, 0] + m[..., 0, 2],
                      m[..., 2, 1] + m[..., 1, 2], 1 - m00 - m11 + m22], axis=-1),
        ],
        axis=-2,
    )  # fmt: skip
    diagonal = np.diagonal(candidates, axis1=-2, axis2=-1)
    best = np.argmax(diagonal, axis=-1)
    chosen = normalize(np.take_along_axis(candidates, best[..., None, None], axis=-2)[..., 0, :])
    return np.where(chosen[..., :1] < 0, -chosen, chosen)


def from_axis_angle(axis: ArrayLike, angles: ArrayLike) -> NDArray:
    """Return the rotation about a unit axis by an angle in radians."""
    half = 0.5 * np.asarray(angles, float)[..., None]
    return np.concatenate([np.cos(half), np.sin(half) * np.asarray(axis, float)], axis=-1)


def from_euler(angles: ArrayLike, order: str) -> NDArray:
    """Return the rotation of intrinsic Euler angles (…, n ≤ 3), radians, in written order: "zxy" is q = qz·qx·qy."""
    if not order or set(order.lower()) - set("xyz"):
        raise ArgumentError(f"expected an order of axes such as 'zxy', got {order!r}")
    angles = np.asarray(angles, float)
    if angles.ndim == 0 or angles.shape[-1] != len(order):
        raise ArgumentError(f"expected {len(order)} angles for order {order!r}, got shape {angles.shape}")
    out = identity(*angles.shape[:-1])
    for column, letter in enumerate(order.lower()):
        out = multiply(out, from_axis_angle(AXES[letter], angles[..., column]))
    return out
