"""What every edited pose must keep besides its constraints: joint limits, hinges, and soles above the ground.

Where the clip itself exceeds a limit or is below the ground, as much is allowed at that frame, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.constraints import Constraint, Footplant
from footplant.constraints.plants import SHORT
from footplant.contacts.ground import Ground, normal_of
from footplant.geometry import Plane
from footplant.humanoid.limits import anatomical_turns
from footplant.humanoid.reference import reference_world
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Point
from footplant.solve.ik.limb import Limb, limbs_of
from footplant.solve.ik.limb_goals import LimbAims, carriers
from footplant.solve.ik.pins import ORIENTATION, POSITION, Pins, collect
from footplant.solve.ik.settings import EDITING

if TYPE_CHECKING:
    from footplant.solve.ik._numeric import Bounds

SOLES = tuple(f"{side}_{part}" for side in ("left", "right") for part in ("heel", "ball", "toe"))
"""Contact points that stay above the ground."""
KEPT_AIMS = 4
"""Goals of feet that are memoised: those of a dragged frame, and of the window around it."""


@dataclass(frozen=True, eq=False)
class PoseBounds:
    """Joint limits, hinges and the ground for the poses of a clip of a humanoid."""

    clip: Motion
    """The motion whose own excess is allowed."""
    character: Character
    ground: Ground | None = None
    """The ground under the soles; None: they may be anywhere."""
    plants: tuple[Constraint, ...] = ()
    """Footplants, each of which may hold its point a little deeper in the ground than the clip does."""

    @cached_property
    def soles(self) -> tuple[Point, ...]:
        """Points of the feet that stay above the ground: those of the soles, and the ankles, for a foot on its side."""
        contacts = self.character.contacts
        if self.ground is None:
            return ()
        return (*(contacts[name] for name in SOLES if name in contacts), *(Point(leg.end) for leg in self.legs[0]))

    @property
    def moved_joints(self) -> tuple[int, ...]:
        """Joints whose position the ground bounds."""
        return tuple(dict.fromkeys(point.joint for point in self.soles))

    @cached_property
    def limb_joints(self) -> frozenset[int]:
        """Joints of arms and legs, from shoulders and hip joints on."""
        limbs = limbs_of(self.character).values()
        return frozenset(joint for limb in limbs for joint in self.character.skeleton.descendants(limb.upper))

    @cached_property
    def legs(self) -> tuple[list[Limb], NDArray]:
        """The legs, and which of them carries each joint (J,); −1 for none."""
        legs = [limb for name, limb in limbs_of(self.character).items() if name.endswith("leg")]
        return legs, carriers(self.character.skeleton, legs)

    def pins_with_foot_goals(
        self, kinematics: Kinematics, pinned: Sequence[Constraint]
    ) -> tuple[Pins, NDArray, list[Constraint]]:
        """Return the pins of constraints, how strongly each counts (N,), 0 to 1, and the constraints of their sources.

        A foot is rigid: heel and ball that follow ramps of their own contradict one another. Where none of its points
        is held fully, they become one goal of the ankle; where one is, the other's ramp asks for the foot's rotation
        alone: if it asked for a place too, it would pull the point that is held by up to 24 mm. Everywhere a planted
        foot gets a rotation beside its points. Held by heel and ball it must not roll about the line through them.
        """
        legs, carrier = self.legs
        planted = [c for c in pinned if isinstance(c, Footplant) and carrier[c.joints[0]] >= 0]
        others = [c for c in pinned if not (isinstance(c, Footplant) and carrier[c.joints[0]] >= 0)]
        pins, count = collect(kinematics, [*others, *planted]), len(kinematics.frames)
        of_row = np.repeat(np.arange(count), np.diff(pins.starts))
        feet = np.flatnonzero(pins.sources >= len(others))
        key, full = of_row[feet] * len(legs) + carrier[pins.joints[feet]], pins.activations[feet] >= 1.0
        active, held = (np.bincount(each, minlength=count * len(legs)) for each in (key, key[full]))
        together = (active >= 1) & (held < 1)
        if not len(feet):
            return pins, pins.activations, [*others, *planted]
        goals = self._aims_of(tuple(planted), kinematics.frames, kinematics.motion.fps).at(kinematics)
        # of two points of which one is held fully, the other's share
        second, pull = EDITING.foot_roll * (held >= 2), EDITING.ramp_pull
        np.maximum.at(second, key[~full], pull * EDITING.foot_roll * pins.activations[feet][~full])
        ends = np.array([limb.end for limb in legs])
        kept = np.ones(len(pins), bool)
        kept[feet] = full
        rows, parts, strengths = [of_row[kept]], [_some(pins, kept)], [pins.activations[kept]]
        for kind, where, shares in (
            (POSITION, together, goals.weights),
            (ORIENTATION, active >= 1, goals.turn_weights),
        ):
            row, leg = np.divmod(np.flatnonzero(where), len(legs))
            targets, none = np.zeros((len(row), 4)), np.zeros((len(row), 3))
            targets[:, : 3 if kind == POSITION else 4] = (goals.places if kind == POSITION else goals.turns)[row, leg]
            source, kinds = np.full(len(row), len(others)), np.full(len(row), kind)
            parts.append(Pins(none[:0], kinds, ends[leg], none, targets, none + 1.0, shares[row, leg], source))
            rows.append(row)
            strengths.append(
                pull * shares[row, leg]
                if kind == POSITION
                else np.maximum(second[where], EDITING.foot_turn * goals.weights[row, leg])
            )
        every = np.concatenate(rows)
        order = np.argsort(every, kind="stable")
        joined = {name: np.concatenate([getattr(part, name) for part in parts])[order] for name in _FIELDS}
        starts = np.searchsorted(every[order], np.arange(count + 1))
        return Pins(starts=starts, **joined), np.concatenate(strengths)[order], [*others, *planted]

    @cached_property
    def _aims(self) -> dict[tuple[tuple[Constraint, ...], bytes, float], LimbAims]:
        """Goals of the feet that were gathered last; see `_aims_of`."""
        return {}

    def _aims_of(self, planted: tuple[Constraint, ...], frames: NDArray, fps: float) -> LimbAims:
        """Return the goals of planted feet at some frames: memoised, as a drag solves the same frames again and again.

        Constraints are never changed, and equal only to themselves.
        """
        legs, carrier = self.legs
        if len(frames) > SHORT:
            return LimbAims(legs, planted, carrier, frames, fps)
        key = (planted, frames.tobytes(), fps)
        found = self._aims.get(key)
        if found is None:
            found = LimbAims(legs, planted, carrier, np.array(frames), fps)
            if len(self._aims) >= KEPT_AIMS:
                self._aims.pop(next(iter(self._aims)), None)
            self._aims[key] = found
        return found

    @cached_property
    def _limited(self) -> NDArray:
        """(B,) joints with limits."""
        limits = self.character.limits
        if limits is None:
            return np.zeros(0, np.int64)
        return np.flatnonzero((np.isfinite(limits.lower) | np.isfinite(limits.upper)).any(axis=1))

    @cached_property
    def _straightest(self) -> tuple[NDArray, NDArray]:
        """Limits (B, 3) of the limited joints, radians, of which elbows and knees bend backwards no more than straight.

        What limits allow beyond is for captured limbs. A limb of the same length is bent either way: an edit that
        straightens one would end on the wrong side, with knees 12° backwards.
        """
        limits, joints = self.character.limits, self._limited
        if limits is None:
            return np.zeros((0, 3)), np.zeros((0, 3))
        lower, upper = np.array(limits.lower[joints]), np.array(limits.upper[joints])
        hinges = np.isin(joints, [limb.lower for limb in limbs_of(self.character).values()])[:, None]
        lower[hinges & (lower > -EDITING.backwards) & (upper > 4.0 * EDITING.backwards)] = 0.0
        upper[hinges & (upper < EDITING.backwards) & (lower < -4.0 * EDITING.backwards)] = 0.0
        return lower, upper

    @cached_property
    def _reference(self) -> tuple[NDArray, NDArray]:
        """(B, 4) world rotations of the limited joints' parents, and inverse ones of the joints, in the reference."""
        skeleton = self.character.skeleton
        world = reference_world(skeleton, self.character.require_roles())[1]
        above = np.concatenate([rotation.identity(1), world[skeleton.parents[1:]]])
        return above[self._limited], rotation.inverse(world[self._limited])

    @cached_property
    def _turns(self) -> NDArray:
        """(F, B, 3) anatomical rotation vectors of the limited joints in the clip, radians."""
        return anatomical_turns(self.character, self.clip.rotations)[:, self._limited]

    @cached_property
    def _hinges(self) -> tuple[NDArray, NDArray]:
        """Elbows and knees (H,), and unit vectors across their hinge axes in their own frames (F, H, 2, 3).

        A limb shows its hinge axis the better the more it is bent; a straight one bends about that of its rest pose.
        The axis is their weighted mean, so that it does not jump from frame to frame.
        """
        limbs = list(limbs_of(self.character).values())
        kinematics = Kinematics(self.clip)
        places, turns = kinematics.positions, kinematics.rotations
        across = np.zeros((len(self.clip), len(limbs), 2, 3))
        for number, limb in enumerate(limbs):
            upper, lower = places[:, limb.lower] - places[:, limb.upper], places[:, limb.end] - places[:, limb.lower]
            lengths = np.linalg.norm(upper, axis=1) * np.linalg.norm(lower, axis=1)
            # its norm is the sine of the flexion
            shown = np.cross(upper, lower) / np.maximum(lengths, 1e-12)[:, None]
            usual = rotation.rotate(turns[:, limb.upper], limb.axis)
            # a limb that is bent backwards has the same hinge
            shown *= np.where((shown * usual).sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
            axis = shown + EDITING.rest_hinge * usual
            axis /= np.linalg.norm(axis, axis=1, keepdims=True)
            axis = rotation.rotate(rotation.inverse(turns[:, limb.lower]), axis)
            first = np.cross(axis, np.eye(3)[np.abs(axis).argmin(axis=1)])
            first /= np.linalg.norm(first, axis=1, keepdims=True)
            across[:, number] = np.stack([first, np.cross(axis, first)], axis=1)
        return np.array([limb.lower for limb in limbs], np.int64), across

    @cached_property
    def _depths(self) -> NDArray:
        """(F, S) height above the ground that each point of the soles may have, metres: 0, or below as in the clip."""
        ground, soles = self.ground, self.soles
        if ground is None or not soles:
            return np.zeros((len(self.clip), 0))
        places, every = Kinematics(self.clip).points(soles), np.arange(len(self.clip))
        clip = np.minimum(places[..., 1] - ground.height(places[..., [0, 2]]), 0.0)
        allowed = np.array(clip)
        for plant in self.plants:
            if isinstance(plant, Footplant) and plant.point in soles and not plant.free:
                (rows, shares), place = plant.active_rows(every, self.clip.fps), np.asarray(plant.place, float)
                column = soles.index(plant.point)
                own = float(place[1] - ground.height(place[[0, 2]]))
                allowed[rows, column] = np.minimum(allowed[rows, column], shares * own)
        return np.maximum(allowed, clip - EDITING.plant_depth)

    def at(self, kinematics: Kinematics) -> Bounds:
        """Return the tables for the kernel at the frames of some poses; the ground is taken under the poses' soles."""
        from footplant.solve.ik._numeric import Bounds

        frames, limits, joints = kinematics.frames, self.character.limits, self._limited
        own = self._turns[frames]
        lower = own if limits is None else np.minimum(self._straightest[0], own)
        upper = own if limits is None else np.maximum(self._straightest[1], own)
        floors = np.zeros((len(frames), 0, 3))
        if self.ground is not None and self.soles:
            places = kinematics.points(self.soles)[..., [0, 2]]
            slopes = self._slopes(self.ground, places)
            level = self.ground.height(places) + self._depths[frames] - (slopes * places).sum(axis=-1)
            floors = np.empty((*level.shape, 3))
            floors[..., 0], floors[..., 1:] = level, slopes
        hinges, across = self._hinges
        return Bounds(
            joints, *self._reference, own, lower, upper, hinges, across[frames],
            np.array([point.joint for point in self.soles], np.int64),
            np.array([point.offset for point in self.soles], float).reshape(-1, 3), floors,
        )  # fmt: skip

    def _slopes(self, ground: Ground, places: NDArray) -> NDArray:
        """Return the slopes (…, 2) of the ground at places (…, 2), or (2,) of a plane; 0 where it has an edge."""
        normals = np.asarray(ground.up, float) if isinstance(ground, Plane) else normal_of(ground, places)
        upward = normals[..., 1:2]
        slopes = -normals[..., [0, 2]] / np.where(np.abs(upward) < 1e-6, 1e-6, upward)
        return np.where(np.abs(slopes).max(axis=-1, keepdims=True) > EDITING.steepest, 0.0, slopes)

    def broken(self, kinematics: Kinematics) -> NDArray:
        """Return (F,) bool: the poses that exceed a limit, or with a sole too low, by more than can be ignored."""
        from footplant.solve.ik import _numeric as kernel

        out = np.zeros(len(kinematics.frames), bool)
        kernel.broken_rows(
            self.at(kinematics), kinematics.motion.rotations, kinematics.positions, kinematics.rotations,
            np.array(EDITING.ignored), out,
        )  # fmt: skip
        return out


_FIELDS = ("kinds", "joints", "offsets", "targets", "axes", "activations", "sources")


def _some(pins: Pins, kept: NDArray) -> Pins:
    """Return some of the pins, without their starts."""
    return replace(pins, **{name: getattr(pins, name)[kept] for name in _FIELDS})


def no_bounds(frames: int) -> Bounds:
    """Return tables without any bound for `frames` poses."""
    from footplant.solve.ik._numeric import Bounds

    none, turns = np.zeros(0, np.int64), np.zeros((0, 4))
    empty = np.zeros((frames, 0, 3))
    return Bounds(
        none, turns, turns, empty, empty, empty, none, np.zeros((frames, 0, 2, 3)), none, np.zeros((0, 3)),
        np.zeros((frames, 0, 3)),
    )  # fmt: skip


def rows_of(bounds: Bounds, rows: slice) -> Bounds:
    """Return the tables of some rows."""
    return bounds._replace(
        own=bounds.own[rows], lower=bounds.lower[rows], upper=bounds.upper[rows], sideways=bounds.sideways[rows],
        floors=bounds.floors[rows],
    )  # fmt: skip


def rigidities(character: Character) -> dict[int, float]:
    """Return α of equation 4 for each joint with a role of its own (1/rad²)."""
    found = {}
    for role, joints in character.require_roles().joints.items():
        part = role.removeprefix("left_").removeprefix("right_")
        if part in EDITING.rigidity:
            found |= dict.fromkeys(joints, EDITING.rigidity[part])
    return found


def pose_bounds(
    motion: Motion, character: Character, ground: Ground | None, constraints: Sequence[Constraint] = ()
) -> PoseBounds | None:
    """Return the bounds of a clip's poses; None for a character without humanoid roles."""
    return None if character.roles is None else PoseBounds(motion, character, ground, tuple(constraints))
