"""Optical markers: named points over time, with gaps where they are occluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import rotation
from footplant.checks import MOST_FRAMES, frame_rate, picked_frames, real_array, real_number, shaped, slice_step
from footplant.conversion import Conversion
from footplant.errors import MotionError
from footplant.skeleton import frozen
from footplant.wording import shortened


@dataclass(frozen=True)
class Event:
    """A moment that was marked in a trial, such as a foot strike."""

    label: str
    """What happened: "Foot Strike" …"""
    seconds: float
    """Time from the first frame of the markers; negative if before."""
    context: str = ""
    """Side: "Left", "Right", "General" …; "" if unknown."""
    subject: str = ""
    """The person; "" if unknown."""


@dataclass(frozen=True, eq=False)
class Markers:
    """Named points over time, sampled at a constant rate, with NaN where a point is occluded."""

    names: tuple[str, ...]
    """M unique names; prefixed with the subject and a colon if the file does so ("Ann:LKNE")."""
    positions: NDArray
    """(F, M, 3) metres, y up; all three coordinates are NaN where a marker is occluded."""
    fps: float = 100.0
    """Frames per second."""
    residuals: NDArray | None = None
    """(F, M) metres; reconstruction residual of each point, 0 for points that were interpolated; NaN where occluded.
    None if unknown."""
    subjects: tuple[str, ...] = ()
    """M names of the persons or props that the markers are on, "" if unknown; empty if all are unknown."""
    first_frame: int = 1
    """Number of the first frame in the original recording."""
    events: tuple[Event, ...] = ()
    name: str = "markers"
    conversion: Conversion = field(default_factory=Conversion)
    """The unit and axis conversion that was applied to the file's numbers."""
    notes: tuple[str, ...] = ()
    """Oddities that the reader found and how it handled them, one sentence each."""

    def __post_init__(self) -> None:
        """Validate names, shapes and values."""
        names = tuple(self.names)
        positions = real_array(self.positions, "positions", MotionError)
        if positions.ndim != 3 or positions.shape[1:] != (len(names), 3):
            raise MotionError(f"expected positions of shape (frames, {len(names)}, 3), got {positions.shape}")
        if len(set(names)) != len(names) or "" in names:
            bad = next((name for place, name in enumerate(names) if name == "" or name in names[:place]), "")
            raise MotionError(f"expected unique marker names, got {bad!r} more than once or empty")
        object.__setattr__(self, "fps", frame_rate(self.fps, MotionError))
        subjects = tuple(self.subjects) or ("",) * len(names)
        if len(subjects) != len(names):
            raise MotionError(f"expected a subject for each of {len(names)} markers, got {len(subjects)}")
        if np.isinf(positions).any():
            frame, marker, _ = np.argwhere(np.isinf(positions))[0]
            raise MotionError(f"expected finite positions or NaN, got infinity at frame {frame}, {names[marker]!r}")
        x, y, z = (np.isnan(positions[..., axis]) for axis in range(3))
        partly = (x != y) | (y != z)
        if partly.any():
            frame, marker = np.argwhere(partly)[0]
            raise MotionError(f"expected three coordinates or three NaN, got a mix at frame {frame}, {names[marker]!r}")
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "subjects", subjects)
        object.__setattr__(self, "positions", frozen(positions))
        if self.residuals is not None:
            residuals = real_array(self.residuals, "residuals", MotionError)
            if residuals.shape != positions.shape[:2]:
                raise MotionError(f"expected residuals of shape {positions.shape[:2]}, got {residuals.shape}")
            object.__setattr__(self, "residuals", frozen(residuals))

    def __repr__(self) -> str:
        """Return the name, the number of markers and frames, and how much is hidden."""
        subjects = [name for name in dict.fromkeys(self.subjects) if name]
        of = f" of {', '.join(subjects[:3])}{' …' if len(subjects) > 3 else ''}" if subjects else ""
        hidden = float(np.isnan(self.positions[..., 0]).mean()) if self.positions.size else 0.0
        count, rate = f"{len(self.names)} markers{shortened(of)}", f"{len(self)} frames at {self.fps:.6g} fps"
        return f"Markers({shortened(self.name)!r}: {count}, {rate}, {hidden:.1%} hidden)"

    def __len__(self) -> int:
        """Return the number of frames."""
        return len(self.positions)

    @property
    def frame_time(self) -> float:
        """Seconds per frame."""
        return 1.0 / self.fps

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return max(len(self) - 1, 0) / self.fps

    @property
    def visible(self) -> NDArray:
        """(F, M) bool; whether a marker is visible."""
        return ~np.isnan(self.positions[..., 0])

    @property
    def labels(self) -> tuple[str, ...]:
        """Names without the subject prefix: "LKNE" for "Ann:LKNE"."""
        return tuple(name.rpartition(":")[2] or name for name in self.names)

    def index(self, name: str) -> int:
        """Return the index of a marker by its name or, if unique, by its label."""
        if name in self.names:
            return self.names.index(name)
        places = [place for place, label in enumerate(self.labels) if label == name]
        if len(places) != 1:
            known = ", ".join(self.names[:8]) + (" …" if len(self.names) > 8 else "")
            found = "none" if not places else f"{len(places)}; add the subject"
            raise MotionError(f"expected a marker named {name!r}, got {found}; available: {known}")
        return places[0]

    def gaps(self) -> dict[str, tuple[tuple[int, int], ...]]:
        """Return marker → frame ranges [start, end) in which it is occluded, for every marker."""
        edges = np.zeros((len(self) + 2, len(self.names)), np.int8)
        edges[1:-1] = ~self.visible
        steps = np.diff(edges, axis=0)
        found: dict[str, tuple[tuple[int, int], ...]] = {}
        for marker, name in enumerate(self.names):
            starts, ends = np.flatnonzero(steps[:, marker] > 0), np.flatnonzero(steps[:, marker] < 0)
            found[name] = tuple(zip(starts.tolist(), ends.tolist(), strict=True))
        return found

    def __getitem__(self, frames: int | np.integer | slice | Sequence[int] | NDArray) -> Markers:
        """Return some of the frames: m[3] is one frame, m[10:20] a range; a step divides the frame rate.

        A range keeps frame numbers and events. With a step, numbers start from 1 again; individually picked frames have
        no events.
        """
        first, fps, events = 1, self.fps, self.events
        if isinstance(frames, int | np.integer) and not isinstance(frames, bool):
            place = int(picked_frames(frames, len(self))[0]) % len(self)
            frames = slice(place, place + 1)
        if isinstance(frames, slice):
            slice_step(frames)
            start, _, step = frames.indices(len(self))
            fps = self.fps / abs(step)
            first = self.first_frame + start if step == 1 else 1
            events = tuple(replace(event, seconds=event.seconds - start / self.fps) for event in events)
            events = events if step > 0 else ()
        else:
            frames, events = picked_frames(frames, len(self)), ()
        return replace(
            self,
            positions=self.positions[frames],
            residuals=None if self.residuals is None else self.residuals[frames],
            fps=fps,
            first_frame=first,
            events=events,
        )

    def select(self, names: Sequence[str] | None = None, *, subject: str | None = None) -> Markers:
        """Return some of the markers: the named ones, in that order, or all of one subject, or both."""
        places = list(range(len(self.names))) if names is None else [self.index(name) for name in names]
        if subject is not None:
            places = [place for place in places if self.subjects[place] == subject]
            if not places:
                known = ", ".join(repr(name) for name in dict.fromkeys(self.subjects))
                raise MotionError(f"expected a subject among {known or 'none'}, got {subject!r}")
        return replace(
            self,
            names=tuple(self.names[place] for place in places),
            subjects=tuple(self.subjects[place] for place in places),
            positions=self.positions[:, places],
            residuals=None if self.residuals is None else self.residuals[:, places],
        )

    def resample(self, fps: float) -> Markers:
        """Resample to another frame rate, linearly; a sample is occluded if either neighbouring frame is.

        The last frame is kept if it falls on a new sample, else the markers end at the last new sample before it.
        """
        fps = frame_rate(fps, MotionError)
        if len(self) == 0:
            return replace(self, fps=fps, first_frame=1)
        if self.duration * fps > MOST_FRAMES:
            raise MotionError(f"expected at most {MOST_FRAMES} frames, got {self.duration:g} s at {fps:g} fps")
        count = int(np.floor(self.duration * fps + 1e-6)) + 1
        position = np.minimum(np.arange(count) / fps * self.fps, len(self) - 1)
        nearest = np.round(position)
        # a time computed from a frame number must give back that frame, not NaN from a gap beside it
        position = np.where(np.abs(position - nearest) < 1e-6, nearest, position)
        before = np.floor(position).astype(np.int64)
        share = position - before
        after = np.where(share > 0, before + 1, before)

        def between(values: NDArray) -> NDArray:
            weight = share.reshape((-1,) + (1,) * (values.ndim - 1))
            return values[before] + weight * (values[after] - values[before])

        return replace(
            self,
            positions=between(self.positions),
            residuals=None if self.residuals is None else between(self.residuals),
            fps=float(fps),
            first_frame=self.first_frame if fps == self.fps else 1,
        )

    def transformed(self, turn: ArrayLike, shift: ArrayLike = (0.0, 0.0, 0.0)) -> Markers:
        """Return the markers rotated about the world origin by a quaternion, then translated (metres)."""
        turn, shift = shaped(turn, (4,), "a quaternion", MotionError), shaped(shift, (3,), "a shift", MotionError)
        return replace(self, positions=rotation.rotate(turn, self.positions) + shift)

    def scaled(self, factor: float) -> Markers:
        """Return the markers with every length multiplied by a factor."""
        factor = real_number(factor, "factor", MotionError)
        residuals = None if self.residuals is None else self.residuals * abs(factor)
        return replace(self, positions=self.positions * factor, residuals=residuals)
