"""The base class of constraints: Kulpa's {CP, T, KC, P, A} (2005, section 5), with residual and Jacobian.

A user-defined constraint is a subclass with two methods, `residual` and `jacobian`; there is no registry. `check`
compares the two by finite differences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import frame_rate, real_array, real_number, whole_number, whole_numbers
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Point
from footplant.wording import shortened


@dataclass(frozen=True, eq=False, kw_only=True)
class Constraint(ABC):
    """A condition that must hold at some frames. Hardness, frames, ramps and priority are data."""

    name: str = ""
    """Name in reports; "" uses the kind."""
    frames: range | tuple[int, ...] | None = None
    """Frames at which it holds: an interval (stop excluded), single frames, or None for the whole clip."""
    ramp: tuple[float, float] = (0.0, 0.0)
    """Seconds over which it ramps in before its first frame and out after its last one (Kulpa's activation)."""
    priority: int = 0
    """Larger wins: of two that cannot both be met, the one with the smaller number is violated."""
    weight: float = 1.0
    """Weight among soft constraints and inside the ramps, dimensionless; default 1."""
    hard: bool = True
    """Hard: met to the tolerance or reported as not met. Soft: minimised, by `weight`."""
    tolerance: float | None = None
    """Error up to which it counts as met, in `unit`; None: the problem's tolerance."""
    chain: tuple[int, ...] | None = None
    """Joints that may rotate for it (the root may also move when joint 0 is among them); None: all."""

    unit: ClassVar[Literal["m", "rad"]] = "m"
    """Unit of the residual."""
    inequality: ClassVar[bool] = False
    """True: residuals ≥ 0 are satisfied. False: they must be 0."""
    separate: ClassVar[bool] = False
    """True: residuals are conditions of their own, and the largest error counts. False: components of one error."""

    def __post_init__(self) -> None:
        """Check the fields of every kind."""
        if self.frames is not None and not isinstance(self.frames, range):
            held = whole_numbers(tuple(self.frames), f"{self.title}: frames", ConstraintError)
            object.__setattr__(self, "frames", tuple(np.unique(held).tolist()))
        if isinstance(self.frames, range) and self.frames.step != 1:
            raise ConstraintError(
                f"{self.title}: expected an interval of every frame, got a step of {self.frames.step}"
            )
        if self.frames and self.frames[0] < 0:
            raise ConstraintError(f"{self.title}: expected frames from 0 on, got {self.frames[0]}")
        if not (len(self.ramp) == 2 and all(isfinite(r) and r >= 0 for r in self.ramp)):
            raise ConstraintError(f"{self.title}: expected ramps of 0 seconds or more, got {self.ramp}")
        if not (isfinite(self.weight) and self.weight >= 0):
            raise ConstraintError(f"{self.title}: expected a weight of 0 or more, got {self.weight}")
        if self.tolerance is not None and not (isfinite(self.tolerance) and self.tolerance >= 0):
            raise ConstraintError(f"{self.title}: expected a tolerance of 0 or more, got {self.tolerance}")
        if self.chain is not None:
            chain = whole_numbers(tuple(self.chain), f"{self.title}: joints of the chain", ConstraintError)
            if (chain < 0).any():
                raise ConstraintError(f"{self.title}: expected a chain of joints from 0 on, got {chain.min()}")
            object.__setattr__(self, "chain", tuple(chain.tolist()))

    def __init_subclass__(cls, **options: Any) -> None:
        """Give every kind the short repr below, before its dataclass decorator would write a long one."""
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Constraint.__repr__

    def __repr__(self) -> str:
        """Return kind, name, frames, and what differs from the usual."""
        held = "all frames"
        if isinstance(self.frames, range):
            held = f"frames {self.frames.start}–{self.frames.stop - 1}" if len(self.frames) else "no frames"
        elif self.frames is not None:
            held = f"{len(self.frames)} frames" if len(self.frames) > 3 else f"frames {list(self.frames)}"
        what = [repr(shortened(self.name))] if self.name else []
        what += [f"joint {self.joints[0]}"] if self.joints else []
        what += [held, *([] if self.hard else [f"soft, weight {self.weight:g}"])]
        what += [f"priority {self.priority}"] if self.priority else []
        return f"{type(self).__name__}({', '.join(what)})"

    @property
    def title(self) -> str:
        """Return the name, or the kind if it has none."""
        return self.name or type(self).__name__.lower()

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joints whose position or rotation it constrains, the one that it moves first; () for the body.

        A user-defined kind without this property concerns the last joint of its chain, if it has one.
        """
        return () if not self.chain else (max(self.chain),)

    @property
    def followed(self) -> tuple[int, ...]:
        """Return the joints of the same character that its target moves with."""
        return ()

    def bound_to(self, motion: Motion) -> Self:
        """Return the constraint with what it takes from the motion of a problem, before any edit; usually itself."""
        return self

    @abstractmethod
    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the residual (F, k), in `unit`, for every row (whose clip frames are `kinematics.frames`)."""

    @abstractmethod
    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, k, 3+3J) by the displacement, columns as in `Kinematics.position_jacobian`."""

    def activation(self, frames: ArrayLike, fps: float) -> NDArray:
        """Return the activation (F,), 0 to 1, at frames of the clip: 1 where it holds, 3u² − 2u³ in the ramps."""
        frames, fps = np.asarray(frames), frame_rate(fps, ConstraintError)
        if self.frames is None:
            return np.ones(len(frames))
        if not len(self.frames):
            return np.zeros(len(frames))
        if isinstance(self.frames, range):
            return self._interval_activation(frames, self.frames, fps)
        held = np.asarray(self.frames)
        if not any(self.ramp):
            return np.isin(frames, held).astype(float)
        after = np.searchsorted(held, frames)
        following, before = held[np.minimum(after, len(held) - 1)], held[np.maximum(after - 1, 0)]
        until = np.where(after < len(held), following - frames, np.inf) / fps
        since = np.where(following == frames, 0.0, np.where(after > 0, frames - before, np.inf)) / fps
        rise, fall = (
            np.clip(1.0 - np.divide(gap, length, out=np.where(gap > 0, np.inf, 0.0), where=length > 0), 0.0, 1.0)
            for gap, length in ((until, self.ramp[0]), (since, self.ramp[1]))
        )
        share = np.where(following == frames, 1.0, np.maximum(rise, fall))
        return share * share * (3.0 - 2.0 * share)

    def active_rows(self, frames: NDArray, fps: float) -> tuple[NDArray, NDArray]:
        """Return the rows of frames of the clip (ascending) at which it is active, and its activation there.

        The cost does not grow with the frames on either side: a long clip has many short constraints.
        """
        part = slice(0, len(frames))
        if self._is_interval and not any(self.ramp):
            rows = self.held_rows(frames, fps)
            return rows, np.ones(len(rows))
        if self.frames is not None and len(self.frames) and type(self).activation is Constraint.activation:
            before, after = (int(np.ceil(ramp * fps)) for ramp in self.ramp)
            part = slice(*np.searchsorted(frames, [self.frames[0] - before, self.frames[-1] + after + 1]).tolist())
        active = self.activation(frames[part], fps)
        rows = np.flatnonzero(active > 0)
        return part.start + rows, active[rows]

    def acts_within(self, first: int, last: int, fps: float) -> bool:
        """Return whether it is active at any of the clip's frames `first` to `last`, both included."""
        if self.frames is None:
            return True
        if not self._is_interval or not len(self.frames):
            return bool(self.activation(np.arange(first, last + 1), fps).any())
        # activation rises from 0 at the ends of the ramps
        held, (into, out) = self.frames, self.ramp
        begun = last >= held[0] or held[0] - last < fps * into
        return begun and (first <= held[-1] or first - held[-1] < fps * out)

    def held_rows(self, frames: NDArray, fps: float) -> NDArray:
        """Return the rows of frames of the clip (ascending) at which it is fully active."""
        if self._is_interval:
            assert isinstance(self.frames, range)
            return np.arange(*np.searchsorted(frames, [self.frames.start, self.frames.stop]))
        rows, active = self.active_rows(frames, fps)
        return rows[active >= 1.0]

    @property
    def _is_interval(self) -> bool:
        """Return whether it holds over an interval, as most constraints do."""
        return isinstance(self.frames, range) and type(self).activation is Constraint.activation

    def _interval_activation(self, frames: NDArray, held: range, fps: float) -> NDArray:
        """Return the `activation` of an interval, which needs no search."""
        share = ((frames >= held.start) & (frames < held.stop)).astype(float)
        for gap, length in ((held.start - frames, self.ramp[0]), (frames - (held.stop - 1), self.ramp[1])):
            if length > 0:
                share = np.maximum(share, np.where(gap > 0, 1.0 - gap / (fps * length), 0.0))
        return share * share * (3.0 - 2.0 * share)

    def slot(self, frames: NDArray) -> NDArray:
        """Return the row of a per-frame target for each clip frame: its index among the held frames, clamped."""
        if self.frames is None:
            return frames
        if isinstance(self.frames, range):
            return np.minimum(np.maximum(frames - self.frames.start, 0), max(len(self.frames) - 1, 0))
        held = np.asarray(self.frames)
        return np.clip(np.searchsorted(held, frames), 0, max(len(held) - 1, 0))

    def like(self, **changed: Any) -> Self:
        """Return a copy with some fields replaced, unchecked, for values known to be valid."""
        made = object.__new__(type(self))
        own = vars(self)
        vars(made).update({name: own[name] for name in self.__dataclass_fields__ if name in own} | changed)
        return made

    def __len__(self) -> int:
        """Return the number of frames at which it holds; 0 for the whole clip, whose length is unknown."""
        return 0 if self.frames is None else len(self.frames)


@dataclass(frozen=True, eq=False, kw_only=True)
class AcrossFrames(Constraint):
    """A relation among frames: same position at two frames, a bound on speed. For whole-clip methods only."""

    @abstractmethod
    def groups(self, frames: int) -> NDArray:
        """Return the T frames (R, T) that each of its R rows relates, in a clip of `frames` frames."""

    @abstractmethod
    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the residual (R, k) over the rows of `groups`; `kinematics` holds the whole clip."""

    @abstractmethod
    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (R, T, k, 3+3J) by the displacement at each of the T frames."""


@dataclass(frozen=True, eq=False)
class Follow:
    """A target that moves with another point."""

    point: Point
    """The point to follow; its offset gives the target in the frame of its joint."""
    motion: Motion | None = field(default=None, repr=False)
    """The motion of the point: None is the character itself (then both ends may move), else a fixed motion."""


Target = NDArray | Follow


def as_target(target: ArrayLike | Follow, width: int, what: str) -> Target:
    """Return a target as (1, width) or (n, width) numbers, checked; a `Follow` stays as it is."""
    if isinstance(target, Follow):
        return target
    array = np.array(real_array(target, what, ConstraintError))
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != width or not len(array):
        raise ConstraintError(f"{what}: expected {width} numbers, or {width} for each frame, got {np.shape(target)}")
    if not np.isfinite(array).all():
        raise ConstraintError(f"{what}: expected finite numbers, got NaN or infinity")
    if width == 4:
        if (np.linalg.norm(array, axis=1) < 1e-9).any():
            raise ConstraintError(f"{what}: expected unit quaternions, got zeros")
        array = rotation.normalize(array)
    array.setflags(write=False)
    return array


def as_joint(joint: int, what: str) -> int:
    """Return a joint as an index from 0 on; whether the skeleton has it is checked later."""
    return whole_number(joint, what, ConstraintError, low=0)


def as_values(values: ArrayLike, what: str, wanted: str, *, low: float = -np.inf) -> NDArray:
    """Return one number as (1,), or one per held frame (n,), finite, from `low`, read-only. wanted: for the message."""
    array = np.atleast_1d(np.array(real_array(values, what, ConstraintError)))
    if array.ndim != 1 or not len(array) or not (np.isfinite(array).all() and (array >= low).all()):
        raise ConstraintError(f"{what}: expected {wanted}, or one for each frame, got {values}")
    array.setflags(write=False)
    return array


def as_direction(vector: ArrayLike, what: str) -> tuple[float, float, float]:
    """Return a direction of any length, checked."""
    array = real_array(vector, what, ConstraintError)
    if array.shape != (3,) or not np.isfinite(array).all() or not array.any():
        raise ConstraintError(f"{what}: expected a direction, got {vector}")
    x, y, z = array.tolist()
    return x, y, z


def as_axes(axes: ArrayLike, what: str) -> tuple[float, float, float]:
    """Return the weights of the world axes, checked."""
    array = real_array(axes, what, ConstraintError)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ConstraintError(f"{what}: expected three finite numbers, got {axes}")
    x, y, z = array.tolist()
    return x, y, z


def check(constraint: Constraint, motion: Motion, step: float = 1e-6) -> float:
    """Return the largest difference between a constraint's Jacobian and central finite differences over a motion.

    For relations across frames, one frame is displaced at a time. In units of the residual per metre or radian.
    """
    step = real_number(step, "step", ConstraintError, above=0.0)
    ours = constraint.jacobian(Kinematics(motion))
    frames, joints = motion.rotations.shape[:2]
    worst = 0.0
    for column in range(3 + 3 * joints):
        moved = np.zeros((frames, 1 + joints, 3))
        moved[:, column // 3, column % 3] = step
        if isinstance(constraint, AcrossFrames):
            groups = constraint.groups(frames)
            for term in range(groups.shape[1]):
                for row, frame in enumerate(groups[:, term]):
                    only = np.zeros_like(moved)
                    only[frame] = moved[frame]
                    ahead, behind = (constraint.residual(Kinematics(motion + d))[row] for d in (only, -only))
                    worst = max(worst, np.abs((ahead - behind) / (2 * step) - ours[row, term, :, column]).max())
            continue
        ahead, behind = (constraint.residual(Kinematics(motion + d)) for d in (moved, -moved))
        worst = max(worst, float(np.abs((ahead - behind) / (2 * step) - ours[..., column]).max(initial=0.0)))
    return float(worst)
