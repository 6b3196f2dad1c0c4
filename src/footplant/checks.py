"""Argument checks of public functions before compiled code runs: compiled loops have no bounds checks.

Each check returns the argument in the form that compiled code takes, or raises a Footplant error in one line: what was
expected, what was found, and where. Checks read an array once; solvers that call functions thousands of times bypass
them (`Motion.like`, `Constraint.like`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant.errors import ArgumentError, FootplantError, MotionError

Kind = type[FootplantError]
"""The class of error to raise."""


def rectangle(values: ArrayLike, what: str, error: Kind = ArgumentError) -> NDArray:
    """Return values as an array of any type; rows of different lengths are an error."""
    try:
        return np.asarray(values)
    except ValueError:
        raise error(f"expected {what} as an array, got rows of different lengths") from None


def real_array(values: ArrayLike, what: str, error: Kind = ArgumentError) -> NDArray:
    """Return values as float64 of any shape; raise if they are not a rectangular array of real numbers."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError
        return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        raise error(f"expected {what} as real numbers, got {_short(values)}") from None


def shaped(
    values: ArrayLike, shape: Sequence[int | str], what: str, error: Kind = ArgumentError, *, finite: bool = True
) -> NDArray:
    """Return values as float64 of a given shape; letters stand for axes of any length: ("N", 3).

    The array is C-contiguous: numba compiles a kernel anew for every other memory layout.
    """
    array = real_array(values, what, error)
    if not array.flags.c_contiguous:
        array = array.copy("C")
    if array.shape != shape and (
        array.ndim != len(shape)
        or any(isinstance(wanted, int) and wanted != found for wanted, found in zip(shape, array.shape))
    ):
        raise error(f"expected {what} of shape {_shape_text(shape)}, got {_shape_text(array.shape)}")
    return all_finite(array, what, error) if finite else array


def rows_of_width(values: ArrayLike, width: int, what: str, error: Kind = ArgumentError) -> NDArray:
    """Return values as float64 whose last axis has a given width, any leading axes; NaN is allowed."""
    array = real_array(values, what, error)
    if array.ndim == 0 or array.shape[-1] != width:
        raise error(f"expected {what} of shape (…, {width}), got {_shape_text(array.shape)}")
    return array


def broadcast(values: ArrayLike, shape: tuple[int, ...], what: str, error: Kind = ArgumentError) -> NDArray:
    """Return finite values as float64, one for all or one for each row of a shape, read-only."""
    array = all_finite(real_array(values, what, error), what, error)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise error(f"expected {what} of shape {_shape_text(shape)}, got {_shape_text(array.shape)}") from None


def all_finite(array: NDArray, what: str, error: Kind = ArgumentError) -> NDArray:
    """Return the array; raise if it contains NaN or infinity, with the position."""
    if not np.isfinite(array).all():
        place = ", ".join(map(str, np.argwhere(~np.isfinite(array))[0].tolist()))
        raise error(f"expected {what} to be finite, got NaN or infinity{f' at [{place}]' if place else ''}")
    return array


def real_number(
    value: Any, what: str, error: Kind = ArgumentError, *, low: float = -np.inf, above: float = -np.inf,
    high: float = np.inf,
) -> float:  # fmt: skip
    """Return a finite number as a float, from `low`, above `above`, up to `high`."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if not (math.isfinite(found) and low <= found <= high and found > above):
        raise error(f"expected {_span(what, low, above, high)}, got {_short(value)}")
    return found


def frame_rate(value: Any, error: Kind = ArgumentError) -> float:
    """Return a frame rate; 0, negative, NaN and unreasonable rates are errors."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if not (FPS[0] <= found <= FPS[1]):
        raise error(f"expected a positive number of frames a second, got {_short(value)}")
    return found


FPS = 1e-6, 1e6
"""Slowest and fastest frame rate, frames per second: beyond them times overflow."""


def whole_number(
    value: Any, what: str, error: Kind = ArgumentError, *, low: int | None = None, high: int | None = None
) -> int:
    """Return a whole number as an int, from `low` to `high`; True and 2.0 are not accepted."""
    try:
        found = None if isinstance(value, bool | np.bool_) else index(value)
    except TypeError:
        found = None
    if found is None or (low is not None and found < low) or (high is not None and found > high):
        span = "" if low is None else f" from {low} on" if high is None else f" in {low}..{high}"
        raise error(f"expected {what}{span}, got {_short(value)}")
    return found


def whole_numbers(values: ArrayLike, what: str, error: Kind = ArgumentError) -> NDArray:
    """Return whole numbers of any shape and sign as int64; 2.0 is accepted, as in files."""
    if isinstance(values, np.ndarray) and values.dtype == np.int64:
        return values
    array = real_array(values, what, error)
    if not (np.isfinite(array).all() and (array == np.round(array)).all() and (np.abs(array) < 2.0**53).all()):
        raise error(f"expected {what} as whole numbers, got {_short(values)}")
    return array.astype(np.int64)


def indices(values: ArrayLike, count: int, what: str, error: Kind = ArgumentError) -> NDArray:
    """Return whole numbers of any shape as int64, each in 0 … count − 1; negative ones are errors."""
    array = rectangle(values, what, error)
    if array.size == 0:
        return array.astype(np.int64, copy=False)
    if array.dtype.kind not in "iu":
        raise error(f"expected {what} as whole numbers, got {_short(values)}")
    if array.min() < 0 or array.max() >= count:
        bad = array[(array < 0) | (array >= count)].flat[0]
        raise error(f"expected {what} in 0..{count - 1}, got {bad}")
    return array.astype(np.int64, copy=False)


def frame_span(frames: range | None, count: int, error: Kind = MotionError) -> range:
    """Return consecutive frames of a motion of `count` frames; None stands for all of them."""
    if frames is None:
        return range(count)
    if not isinstance(frames, range) or frames.step != 1 or frames.start < 0 or max(frames.start, frames.stop) > count:
        raise error(f"expected frames as a range within 0..{count} with a step of 1, got {_short(frames)}")
    return frames


MOST_FRAMES = 10_000_000
"""Frames that a motion is made of at most: more are taken for a mistake in a rate or a count."""


def slice_step(frames: slice, error: Kind = MotionError) -> int:
    """Return by how many frames a slice goes on; one without whole numbers is an error."""
    try:
        return abs(frames.indices(0)[2])
    except (TypeError, ValueError):
        raise error(f"expected a slice of whole numbers with a step other than 0, got {frames}") from None


def picked_frames(frames: int | np.integer | Sequence[int] | NDArray, count: int, error: Kind = MotionError) -> NDArray:
    """Return frames picked one by one as an index: numbers from −count to count − 1, or (count,) bool."""
    picked = np.atleast_1d(rectangle(frames, "frames", error))
    if picked.dtype == bool and picked.shape == (count,):
        return picked
    if picked.ndim == 1 and not picked.size:
        return picked.astype(np.int64)
    if picked.ndim != 1 or picked.dtype.kind not in "iu":
        raise error(f"expected whole numbers of frames (N,), got {picked.dtype} of shape {picked.shape}")
    if picked.min() < -count or picked.max() >= count:
        bad = picked[(picked < -count) | (picked >= count)][0]
        raise error(f"expected a frame in 0..{count - 1}, got {bad}")
    return picked


def _span(what: str, low: float, above: float, high: float) -> str:
    low_text = f" from {low:g}" if low > -np.inf else f" above {above:g}" if above > -np.inf else ""
    return f"a finite {what}{low_text}{f' up to {high:g}' if high < np.inf else ''}"


def _shape_text(shape: Sequence[int | str]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"an array of {value.dtype} {_shape_text(value.shape)}"
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 60 else shown[:57] + "…"
