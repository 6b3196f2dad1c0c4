"""Motions m(t) = (p(t), q1(t) … qn(t)), their displacement algebra, and trimming, joining and resampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import (
    MOST_FRAMES,
    frame_rate,
    picked_frames,
    real_array,
    real_number,
    shaped,
    slice_step,
    whole_number,
)
from footplant.errors import MotionError
from footplant.skeleton import Roles, Skeleton, frozen
from footplant.views import notebook_html
from footplant.wording import counted


@dataclass(frozen=True, eq=False)
class Motion:
    """A moving skeleton: Lee & Shin's m(t), sampled at a constant frame rate. A pose is a motion of one frame."""

    skeleton: Skeleton
    root: NDArray
    """(F, 3) metres; world position of joint 0."""
    rotations: NDArray
    """(F, J, 4) local unit quaternions (w, x, y, z); they contain the rest rotation."""
    fps: float = 30.0
    """Frames per second."""
    offsets: NDArray | None = None
    """(F, J, 3) metres; offsets of the joints if they change over time (stretching bones, position channels on inner
    joints); row 0 is not read, the root is in `root`. None: the skeleton's offsets."""

    def __post_init__(self) -> None:
        """Check shapes and values once."""
        root, rotations = (real_array(getattr(self, key), key, MotionError) for key in ("root", "rotations"))
        joints = len(self.skeleton)
        if rotations.ndim != 3 or rotations.shape[1:] != (joints, 4):
            raise MotionError(f"expected rotations of shape (frames, {joints}, 4), got {rotations.shape}")
        frames = len(rotations)
        if root.shape != (frames, 3):
            raise MotionError(f"expected root positions of shape ({frames}, 3), got {root.shape}")
        object.__setattr__(self, "fps", frame_rate(self.fps, MotionError))
        arrays = {"root": root, "rotations": rotations}
        if self.offsets is not None:
            arrays["offsets"] = real_array(self.offsets, "offsets", MotionError)
            if arrays["offsets"].shape != (frames, joints, 3):
                raise MotionError(f"expected offsets of shape ({frames}, {joints}, 3), got {arrays['offsets'].shape}")
        unit = rotation.are_unit(rotations)
        for label, array in arrays.items():
            if not ((label == "rotations" and unit) or np.isfinite(array).all()):
                bad = np.argwhere(~np.isfinite(array))[0]
                joint = f", joint {self.skeleton.names[bad[1]]!r}" if array.ndim == 3 else ""
                raise MotionError(f"expected finite {label}, got NaN or infinity at frame {bad[0]}{joint}")
        if not unit:
            norms = np.einsum("fjk,fjk->fj", rotations, rotations)
            frame, joint = np.unravel_index(np.argmax(np.abs(norms - 1.0)), norms.shape)
            raise MotionError(
                f"expected unit quaternions, got norm {norms[frame, joint] ** 0.5:.6g} at frame {frame}, "
                f"joint {self.skeleton.names[joint]!r}"
            )
        for key, array in arrays.items():
            object.__setattr__(self, key, frozen(array))

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.root)

    def __repr__(self) -> str:
        """Return frames, duration, frame rate and joints."""
        return f"Motion({self.timing}, {counted(len(self.skeleton), 'joint')})"

    @property
    def timing(self) -> str:
        """Return frames, duration and frame rate as a phrase."""
        return f"{counted(len(self), 'frame')}, {self.duration:.2f} s at {self.fps:.6g} fps"

    @property
    def frame_time(self) -> float:
        """Return the time between two frames, seconds."""
        return 1.0 / self.fps

    @property
    def duration(self) -> float:
        """Return the time from the first frame to the last, seconds."""
        return max(len(self) - 1, 0) / self.fps

    def _repr_html_(self) -> str | None:
        """Return the HTML that a notebook shows: a view that plays."""
        return notebook_html(self)

    def __getitem__(self, frames: int | np.integer | slice | Sequence[int] | NDArray) -> Motion:
        """Return some of the frames: m[3] is the pose at frame 3, m[10:20] a trim; a step divides the frame rate."""
        step = 1
        if isinstance(frames, slice):
            step = slice_step(frames)
        else:
            frames = picked_frames(frames, len(self))
        root, rotations, offsets = (
            None if array is None else np.ascontiguousarray(array[frames])
            for array in (self.root, self.rotations, self.offsets)
        )
        part = self.like(root, rotations, offsets)  # type: ignore[arg-type]
        object.__setattr__(part, "fps", self.fps / step)
        return part

    def frame(self, frame: int, what: str = "a frame") -> int:
        """Return the number of a frame; one that the motion does not have is an error."""
        return whole_number(frame, what, MotionError, low=0, high=len(self) - 1)

    def like(self, root: NDArray, rotations: NDArray, offsets: NDArray | None = None) -> Motion:
        """Return other frames of the same skeleton and frame rate, unchecked, for arrays known to be valid.

        Solvers create poses thousands of times; checking each would take longer than posing it. The arrays (float64,
        contiguous, as in the fields of this class) are not copied and become read-only.
        """
        made = object.__new__(Motion)
        for array in (root, rotations, offsets):
            if array is not None:
                array.setflags(write=False)
        vars(made).update(skeleton=self.skeleton, root=root, rotations=rotations, fps=self.fps, offsets=offsets)
        return made

    def __add__(self, displacement: ArrayLike) -> Motion:
        """Return m ⊕ d (Lee & Shin, equation 1): p + v0, qi·exp(vi); d is (F, 1+J, 3) or (1+J, 3)."""
        from footplant.kernels import quaternion

        frames, joints = self.rotations.shape[:2]
        try:
            given = real_array(displacement, "a displacement", MotionError)
            d = np.broadcast_to(given, (frames, 1 + joints, 3))
        except ValueError:
            raise MotionError(
                f"expected a displacement of shape ({frames}, {1 + joints}, 3), got {np.shape(displacement)}"
            ) from None
        if not np.isfinite(given).all():
            raise MotionError("expected a finite displacement, got NaN or infinity")
        out = np.empty((frames * joints, 4))
        vectors = np.array(d[:, 1:]).reshape(-1, 3)
        quaternion.displace(self.rotations.reshape(-1, 4), vectors, out)
        return replace(self, root=self.root + d[:, 0], rotations=rotation.normalize(out).reshape(frames, joints, 4))

    def __sub__(self, origin: Motion) -> NDArray:
        """Return m ⊖ m0, the displacement (F, 1+J, 3) with m0 ⊕ (m ⊖ m0) = m; rotation vectors ≤ π."""
        from footplant.kernels import quaternion

        if self.rotations.shape != origin.rotations.shape:
            raise MotionError(
                f"expected motions of the same frames and joints, got {self.rotations.shape[:2]} "
                f"and {origin.rotations.shape[:2]}"
            )
        frames, joints = self.rotations.shape[:2]
        out = np.empty((frames * joints, 3))
        quaternion.displacement(self.rotations.reshape(-1, 4), origin.rotations.reshape(-1, 4), out)
        return np.concatenate([(self.root - origin.root)[:, None], out.reshape(frames, joints, 3)], axis=1)

    def resample(self, fps: float, *, smooth: bool = False) -> Motion:
        """Return the same motion at another frame rate.

        Rotations by slerp and the root linearly; with `smooth`, cubic Hermite curves through the frames in the
        rotations' tangent spaces (no corners when upsampling). The last frame is kept if the new rate hits it, else the
        clip ends at the last new sample before it.
        """
        fps = frame_rate(fps, MotionError)
        if len(self) == 0:
            return replace(self, fps=fps)
        if self.duration * fps > MOST_FRAMES:
            raise MotionError(f"expected at most {MOST_FRAMES} frames, got {self.duration:g} s at {fps:g} fps")
        count = int(np.floor(self.duration * fps + 1e-6)) + 1
        return replace(self.at(np.arange(count) / fps, smooth=smooth), fps=float(fps))

    def at(self, seconds: ArrayLike, *, smooth: bool = False) -> Motion:
        """Return poses at any times (seconds from the first frame, clamped to the clip), as frames of a motion."""
        if len(self) == 0:
            raise MotionError("expected a motion with frames, got an empty one")
        times = shaped(np.atleast_1d(real_array(seconds, "times", MotionError)), ("N",), "times", MotionError)
        position = np.clip(times * self.fps, 0, len(self) - 1)
        # a time computed from a frame number must return that frame, not a slerp 1e-12 beside it
        nearest = np.round(position)
        position = np.where(np.abs(position - nearest) < 1e-6, nearest, position)
        first = np.minimum(position.astype(np.int64), max(len(self) - 2, 0))
        second = np.minimum(first + 1, len(self) - 1)
        u = position - first
        rotations = _interpolate_rotations(self.rotations, first, second, u, smooth)
        lines = [self.root] if self.offsets is None else [self.root, self.offsets]
        moved = [_interpolate_lines(line, first, second, u, smooth) for line in lines]
        return replace(self, root=moved[0], rotations=rotations, offsets=None if self.offsets is None else moved[1])

    def transformed(self, turn: ArrayLike, shift: ArrayLike = (0.0, 0.0, 0.0)) -> Motion:
        """Return the motion rotated about the world origin by a quaternion, then translated (metres)."""
        turn, shift = shaped(turn, (4,), "a quaternion", MotionError), shaped(shift, (3,), "a shift", MotionError)
        rotations = np.array(self.rotations)
        rotations[:, 0] = rotation.multiply(turn, rotations[:, 0])
        return replace(self, root=rotation.rotate(turn, self.root) + shift, rotations=rotations)

    def scaled(self, factor: float) -> Motion:
        """Return the motion with every length multiplied by a factor, including the skeleton's."""
        factor = real_number(factor, "factor", MotionError)
        return replace(
            self,
            skeleton=self.skeleton.scaled(factor),
            root=self.root * factor,
            offsets=None if self.offsets is None else self.offsets * factor,
        )

    def with_straight_wrists(self, roles: Roles) -> Motion:
        """Return the motion with wrists without the errors of their capture: see `humanoid.straightened_wrists`.

        It is the motion itself if the wrists are not of that kind.
        """
        from footplant import humanoid

        rotations = humanoid.straightened_wrists(self.skeleton, roles, self.rotations, self.fps)
        return self if rotations is self.rotations else replace(self, rotations=rotations)

    def with_unflipped_legs(self, roles: Roles) -> Motion:
        """Return the motion with legs and feet turned back that a capture has flipped: see `humanoid.unflipped_legs`.

        It is the motion itself if none is.
        """
        from footplant import humanoid

        rotations = humanoid.unflipped_legs(self.skeleton, roles, self.rotations, self.fps)
        return self if rotations is self.rotations else replace(self, rotations=rotations)

    def mirrored(self, roles: Roles) -> Motion:
        """Return the motion mirrored across the plane x = 0, left and right exchanged: see `humanoid.mirror_map`."""
        from footplant import humanoid

        partner, reference = humanoid.mirror_map(self.skeleton, roles)
        flip = np.array([1.0, 1.0, -1.0, -1.0])
        world = np.array(self.rotations)
        for joint in range(1, len(self.skeleton)):
            world[:, joint] = rotation.multiply(world[:, self.skeleton.parents[joint]], world[:, joint])
        # rotation of each joint from the mirror-symmetric reference pose, mirrored, and applied to its partner
        rotated = rotation.multiply(world, rotation.inverse(reference)) * flip
        mirrored = rotation.multiply(rotated[:, partner], reference)
        local = np.array(mirrored)
        offsets = None if self.offsets is None else np.array(self.offsets)
        for joint in range(1, len(self.skeleton)):
            to_parent = rotation.inverse(mirrored[:, self.skeleton.parents[joint]])
            local[:, joint] = rotation.multiply(to_parent, mirrored[:, joint])
            if offsets is not None and self.offsets is not None:
                other = partner[joint]
                bone = rotation.rotate(world[:, self.skeleton.parents[other]], self.offsets[:, other])
                offsets[:, joint] = rotation.rotate(to_parent, bone * [-1.0, 1.0, 1.0])
        return replace(self, root=self.root * [-1.0, 1.0, 1.0], rotations=rotation.normalize(local), offsets=offsets)

    def looped(self, cycles: int, *, close: bool = True) -> Motion:
        """Return the clip repeated `cycles` times without a seam.

        The last frame is the first of the next cycle, moved by the clip's own horizontal displacement and rotation
        about the vertical. With `close`, the remaining difference between the two poses is spread over the clip.
        """
        if len(self) < 2 or whole_number(cycles, "cycles", MotionError) < 1:
            raise MotionError(f"expected at least 2 frames and 1 cycle, got {len(self)} and {cycles}")
        turn, shift = ground_transform(self, len(self) - 1, self, 0)
        motion = self
        if close:
            last = self[len(self) - 1]
            gap = self[0].transformed(turn, shift) - last
            motion = self + np.linspace(0.0, 1.0, len(self))[:, None, None] * gap
        if len(self) * cycles > MOST_FRAMES:
            raise MotionError(f"expected at most {MOST_FRAMES} frames, got {cycles} cycles of {len(self)}")
        parts, part = [], motion[:-1]
        for _ in range(cycles):
            parts.append(part)
            part = part.transformed(turn, shift)
        return concatenate([*parts, part[:1]])


def _interpolate_rotations(values: NDArray, first, second, u, smooth: bool) -> NDArray:
    a, b = values[first], values[second]
    u = u[:, None]
    if not smooth or len(values) < 3:
        return rotation.normalize(rotation.slerp(a, b, np.broadcast_to(u, a.shape[:-1])))
    last = len(values) - 1
    inverse = rotation.inverse(a)
    # neighbours as rotation vectors relative to frame a: a Catmull–Rom cubic in that tangent space
    chord = rotation.log(rotation.multiply(inverse, b))
    before = rotation.log(rotation.multiply(inverse, values[np.maximum(first - 1, 0)]))
    after = rotation.log(rotation.multiply(rotation.inverse(b), values[np.minimum(second + 1, last)]))
    start = np.where((first > 0)[:, None, None], 0.5 * (chord - before), chord)
    finish = np.where((second < last)[:, None, None], 0.5 * (chord + after), chord)
    return rotation.normalize(rotation.multiply(a, rotation.exp(_hermite(0.0, chord, start, finish, u[..., None]))))


def _interpolate_lines(values: NDArray, first, second, u, smooth: bool) -> NDArray:
    a, b = values[first], values[second]
    u = u.reshape((-1,) + (1,) * (values.ndim - 1))
    if not smooth or len(values) < 3:
        return a + u * (b - a)
    last, shape = len(values) - 1, u.shape
    start = np.where((first > 0).reshape(shape), 0.5 * (b - values[np.maximum(first - 1, 0)]), b - a)
    finish = np.where((second < last).reshape(shape), 0.5 * (values[np.minimum(second + 1, last)] - a), b - a)
    return _hermite(a, b, start, finish, u)


def _hermite(a, b, start, finish, u):
    u2, u3 = u * u, u * u * u
    return (2 * u3 - 3 * u2 + 1) * a + (3 * u2 - 2 * u3) * b + (u3 - 2 * u2 + u) * start + (u3 - u2) * finish


def ground_transform(a: Motion, a_frame: int, b: Motion, b_frame: int) -> tuple[NDArray, NDArray]:
    """Return the rotation about the vertical and the horizontal shift that align a frame of motion b with one of a.

    Returned as (quaternion, shift) for `Motion.transformed`; heights stay unchanged.
    """
    a_frame, b_frame = a.frame(a_frame), b.frame(b_frame)
    relative = rotation.multiply(a.rotations[a_frame, 0], rotation.inverse(b.rotations[b_frame, 0]))
    turn = rotation.swing_twist(relative, rotation.AXES["y"])[1]
    shift = a.root[a_frame] - rotation.rotate(turn, b.root[b_frame])
    return turn, shift * [1.0, 0.0, 1.0]


def concatenate(motions: Sequence[Motion]) -> Motion:
    """Join motions of the same joints and frame rate as they are. (`ground_transform` aligns a clip with another.)"""
    if not motions:
        raise MotionError("expected at least one motion, got none")
    head = motions[0]
    for number, motion in enumerate(motions[1:], start=1):
        if (
            motion.skeleton.names != head.skeleton.names
            or motion.skeleton.parents.tolist() != head.skeleton.parents.tolist()
        ):
            raise MotionError(f"expected motions of the same joints, motion {number} has others than motion 0")
        if not np.isclose(motion.fps, head.fps, rtol=1e-6):
            raise MotionError(
                f"expected {head.fps:g} fps as in motion 0, got {motion.fps:g} in motion {number}; resample it"
            )
    offsets = None
    if any(m.offsets is not None for m in motions):
        offsets = np.concatenate(
            [
                np.broadcast_to(m.skeleton.offsets, (len(m), len(m.skeleton), 3)) if m.offsets is None else m.offsets
                for m in motions
            ]
        )
    return replace(
        head,
        root=np.concatenate([m.root for m in motions]),
        rotations=np.concatenate([m.rotations for m in motions]),
        offsets=offsets,
    )


def rest_motion(skeleton: Skeleton, frames: int = 1, fps: float = 30.0) -> Motion:
    """Return the rest pose, repeated."""
    frames = whole_number(frames, "frames", MotionError, low=0, high=MOST_FRAMES)
    return Motion(
        skeleton,
        np.broadcast_to(skeleton.offsets[0], (frames, 3)),
        np.broadcast_to(skeleton.rest, (frames, len(skeleton), 4)),
        fps,
    )
