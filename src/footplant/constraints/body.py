"""Constraints among parts of the body: parts that stay out of each other, and points that stay on a part's skin.

Distances are those from the body shell (`humanoid.body_shell`), samples of the skin that bend with it; a character
without a skin has the surface of typical proportions. Parts are named by side and role: trunk, head, left_hand,
left_forearm, left_upper_arm, left_thigh, left_shin, left_foot, or whole limbs, left_arm, left_leg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import real_number
from footplant.constraints.base import Constraint
from footplant.errors import ConstraintError
from footplant.humanoid.body_shell import LIMB_PARTS, PARTS, SIDES, BodyShell, part_vertices
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Character, MovingPoint, Point

if TYPE_CHECKING:
    from footplant.kernels.body_rows import SkinPoints
    from footplant.kernels.shell import Shell

_ALSO = {"lower_arm": "forearm", "upper_leg": "thigh", "lower_leg": "shin"}
"""Role → the name of the part."""
_MEMBERS = {"arm": ("upper_arm", "forearm", "hand"), "leg": ("thigh", "shin", "foot")}
WHOLE = ("trunk", "head", "left_arm", "right_arm", "left_leg", "right_leg")
"""What a part is kept out of unless other parts are named: the body cut into six."""
_ADJOINING = {"upper_arm": "trunk", "forearm": "upper_arm", "hand": "forearm", "thigh": "trunk", "shin": "thigh",
              "foot": "shin", "head": "trunk"}  # fmt: skip
"""Part → the one that it hangs on."""
_BALLS = {"hand": 40, "forearm": 14, "upper_arm": 14, "head": 24, "trunk": 48, "thigh": 18, "shin": 14, "foot": 14}
"""Balls under the skin of a part. With 28 in a hand, the thumb of a mannequin goes 8 to 16 mm into its trunk between
them; with 40 the hands of four characters that are pulled through their trunks stay outside to 0.1 mm."""
BALL_SHARE = 0.95
"""Share of the radius of the largest ball that touches the skin from within: it stays clear of the skin elsewhere."""
ADJOINING_SHARE = 0.75
"""Share of a part's length, from the joint that it hangs on, within which its skin and that of the part above do not
count against each other: they always touch there. At 0.5 the upper arms of the sample characters stand off by their
sides (`solve.arms`: spheres nearer to the shoulder than the elbow push arms up by 18° instead of 2°)."""


MOST_TOLD = 48
"""Frames of a goal at which the depth of its arm is looked at, about: evenly spread."""
TOLD_DEPTH = 0.01
"""Body heights; depth of an arm in the body from which it is reported, as `quality.penetration` counts it."""


def part_name(name: str) -> str:
    """Return the name of a part of the body for a part or a role of a limb; an unknown one is an error."""
    side, _, kind = name.partition("_")
    found = f"{side}_{_ALSO[kind]}" if side in SIDES and kind in _ALSO else name
    if found not in PARTS:
        raise ConstraintError(f"expected a part of the body among {', '.join(PARTS)}; got {name!r}")
    return found


def is_part(name: str) -> bool:
    """Return whether a name is that of a part of the body."""
    side, _, kind = name.partition("_")
    return name in PARTS or (side in SIDES and kind in _ALSO)


def _kind(part: str) -> str:
    return part if part in ("trunk", "head") else part.partition("_")[2]


def _pieces(part: str) -> tuple[str, ...]:
    """Return the parts of a limb, or the part itself."""
    side = part.partition("_")[0]
    return tuple(f"{side}_{piece}" for piece in _MEMBERS[_kind(part)]) if _kind(part) in _MEMBERS else (part,)


def _overlap(first: str, second: str) -> bool:
    return bool(set(_pieces(first)) & set(_pieces(second)))


def _role(part: str) -> str:
    """Return the role of the joint that a part begins at."""
    if part in ("trunk", "head"):
        return {"trunk": "hips"}.get(part, part)
    side, _, kind = part.partition("_")
    return f"{side}_{LIMB_PARTS[kind][0]}"


def _above(part: str) -> str | None:
    """Return the part that a part hangs on."""
    side, _, kind = part.partition("_")
    above = _ADJOINING.get(_kind(_pieces(part)[0]))
    return above if above in ("trunk", None) or kind == "" else f"{side}_{above}"


def _shared_joint(character: Character, first: str, second: str) -> tuple[int, str] | None:
    """Return the joint at which two parts adjoin, and the outer one of them; None if they do not."""
    for outer, inner in ((first, second), (second, first)):
        if _above(outer) in _pieces(inner):
            return character.require_roles()[_role(_pieces(outer)[0])], outer
    return None


def _named(constraint: Constraint, character: Character, names: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of parts that the character has, checked."""
    several = (names,) if isinstance(names, str) else tuple(names)
    if not several:
        raise ConstraintError(f"{constraint.title}: expected a part of the body, got none")
    if character.roles is None:
        raise ConstraintError(f"{constraint.title}: expected a humanoid, {character.name!r} has no roles")
    found = []
    for name in several:
        try:
            part = part_name(name)
        except ConstraintError as error:
            raise ConstraintError(f"{constraint.title}: {error}") from None
        if _role(part) not in character.roles:
            raise ConstraintError(f"{constraint.title}: {character.name!r} has no {_role(part)}")
        found.append(part)
    return tuple(dict.fromkeys(found))


def _samples(shell: BodyShell, group: int, character: Character) -> tuple[SkinPoints, NDArray]:
    """Return the samples of a group as points of the skin, and their places (N, 3) in the rest pose, metres."""
    from footplant.kernels.body_rows import SkinPoints

    first, last = shell.clusters[shell.groups[group : group + 2]]
    counts = np.diff(shell.starts)[first:last]
    slot = np.arange(int(counts.max()))
    at = shell.starts[first:last, None] + np.minimum(slot, counts[:, None] - 1)
    weights = np.where(slot < counts[:, None], shell.weights[at], 0.0)
    points = SkinPoints(shell.joints[at], weights, np.array(shell.places[at]), np.zeros(len(at)))
    places, turned = character.skeleton.rest_world
    world = places[points.joints] + rotation.rotate(turned[points.joints], points.places)
    return points, np.sum(points.weights[..., None] * world, axis=1)


def _balls(character: Character, part: str) -> tuple[SkinPoints, NDArray]:
    """Return balls that touch the skin of a part from within, and the points (N, 3) where in the rest pose, metres.

    Points of the skin leave gaps: between six points around a forearm it bulges by 5 mm. The largest ball that touches
    the skin at p with the normal n and holds no other point v of it has the radius min |p − v|²/(2 n·(p − v)) (Ma, Bae
    and Choi, "3D medial axis point approximation using nearest neighbors and the normal field", 2012).
    """
    from footplant.kernels import shell as kernel

    shell = BodyShell.of(character, (part,))
    points, places = _samples(shell, 0, character)
    chosen = np.empty(min(_BALLS[_kind(part)], len(places)), np.int64)
    kernel.farthest(np.ascontiguousarray(places), len(chosen), chosen)
    turned = character.skeleton.rest_world[1]
    normals = rotation.rotate(turned[points.joints[chosen, 0]], shell.normals[chosen])
    skin = part_vertices(character, part)
    surface = places if skin is None else np.concatenate([places, skin])
    away = places[chosen, None] - surface
    ahead = np.einsum("nk,nvk->nv", normals, away)
    square = np.sum(away**2, axis=2)
    # what lies nearly level with the point tells nothing about the thickness
    inside = ahead > 0.1 * np.sqrt(square)
    sizes = np.where(inside, square / np.maximum(2.0 * ahead, 1e-12), np.inf).min(axis=1, initial=np.inf)
    radii = BALL_SHARE * np.where(np.isfinite(sizes), sizes, 0.0)
    shift = radii[:, None] * normals
    joints = points.joints[chosen]
    own = points.places[chosen] - rotation.rotate(rotation.inverse(turned[joints]), shift[:, None])
    return type(points)(joints, points.weights[chosen], np.ascontiguousarray(own), radii), places[chosen]


def _joined(points: Sequence[SkinPoints]) -> SkinPoints:
    """Return points of several tables as one table."""
    from footplant.kernels.body_rows import SkinPoints

    widest = max(each.joints.shape[1] for each in points)

    def padded(array: NDArray) -> NDArray:
        if array.ndim == 1:
            return array
        return np.pad(array, [(0, 0), (0, widest - array.shape[1]), *[(0, 0)] * (array.ndim - 2)])

    return SkinPoints(*(np.concatenate([padded(each) for each in column]) for column in zip(*points)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Apart(Constraint):
    """Parts of the body do not enter each other: the skin of `part` stays outside the skin of `other`.

    Depth that the rest pose has is allowed, and unless `as_source` is off that of the edited motion at the same frame.
    """

    character: Character
    part: str | tuple[str, ...]
    """What stays outside: names of parts."""
    other: str | tuple[str, ...] | None = None
    """What it stays outside of; None: everything else, the body cut into `WHOLE`."""
    margin: float = 0.0
    """Metres kept between the two; negative: depth allowed."""
    as_source: bool = True
    """Whether depth that the motion has before the edit is allowed at each frame; otherwise it is removed."""
    source: Motion | None = field(default=None, repr=False)
    """The motion before the edit, filled in by `Problem`; None: the depth of the rest pose alone is allowed."""
    inequality: ClassVar[bool] = True
    separate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the parts and the margin."""
        super().__post_init__()
        object.__setattr__(self, "part", _named(self, self.character, self.part))
        if self.other is not None:
            object.__setattr__(self, "other", _named(self, self.character, self.other))
        if not self._others:
            raise ConstraintError(f"{self.title}: expected a part with others beside it, got the whole body")
        for own in self.part:
            for each in self._others:
                if _overlap(own, each):
                    raise ConstraintError(f"{self.title}: expected different parts, got {own} and {each}")
        real_number(self.margin, f"{self.title}: margin", ConstraintError)

    @cached_property
    def _others(self) -> tuple[str, ...]:
        """The parts that it stays outside of."""
        if self.other is not None:
            return (self.other,) if isinstance(self.other, str) else self.other
        roles = self.character.require_roles()
        return tuple(
            name for name in WHOLE if _role(name) in roles and not any(_overlap(name, own) for own in self.part)
        )

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joints at which its parts begin."""
        roles = self.character.require_roles()
        return tuple(dict.fromkeys(roles[_role(name)] for name in (*self.part, *self._others)))

    def bound_to(self, motion: Motion) -> Self:
        """Return the constraint with the motion whose own depth is allowed."""
        return self if self.source is not None or not self.as_source else replace(self, source=motion)

    @cached_property
    def _tables(self) -> tuple[Shell, SkinPoints, NDArray]:
        """The shell of the other parts, points of the skin, and the signed distances (N, G) allowed by the rest pose.

        +∞ where a part does not count for a point, because the two adjoin there; head and trunk adjoin everywhere.
        """
        from footplant.kernels import body_rows as kernel
        from footplant.kernels.shell import new_posed

        others, pieces = self._others, [piece for name in self.part for piece in _pieces(name)]
        rest = Kinematics(rest_motion(self.character.skeleton, 1))
        found, least = [], []
        for piece in pieces:
            points, places = _balls(self.character, piece)
            allowed = np.zeros((len(places), len(others)))
            for column, other in enumerate(others):
                shared = _shared_joint(self.character, piece, other)
                if shared is not None:
                    joint, outer = shared
                    if outer == "head":
                        allowed[:, column] = np.inf
                        continue
                    away = np.linalg.norm(places - rest.positions[0, joint], axis=1)
                    length = away if outer == piece else self._lengths(_pieces(outer)[0], rest.positions[0, joint])
                    allowed[away < ADJOINING_SHARE * length.max(), column] = np.inf
            found.append(points)
            least.append(allowed)
        shell, points, least = BodyShell.of(self.character, others).tables(), _joined(found), np.concatenate(least)
        counts = (least < np.inf).any(axis=1)
        points, least = type(points)(*(column[counts] for column in points)), least[counts]
        if not len(least):
            raise ConstraintError(f"{self.title}: expected parts that do not adjoin, got {self.part} and {others}")
        out = np.empty((1, *least.shape))
        kernel.deepest_allowed(shell, points, least, rest.positions, rest.rotations, new_posed(shell), out)
        return shell, points, out[0]

    def _lengths(self, part: str, joint: NDArray) -> NDArray:
        """Return the distances of a part's samples from a place (3,) in the rest pose, metres."""
        places = _samples(BodyShell.of(self.character, (part,)), 0, self.character)[1]
        return np.linalg.norm(places - joint, axis=1)

    @cached_property
    def _allowed(self) -> tuple[NDArray, NDArray]:
        """Signed distances (A, N, G) that are allowed, and which of them holds at each frame of the clip (F,)."""
        from footplant.kernels import body_rows as kernel
        from footplant.kernels.shell import new_posed

        shell, points, rest = self._tables
        if self.source is None:
            return rest[None], np.zeros(1, np.int64)
        frames, _ = self.active_rows(np.arange(len(self.source)), self.source.fps)
        kinematics = Kinematics(self.source[frames])
        out = np.empty((len(frames), *rest.shape))
        posed = new_posed(shell)
        kernel.deepest_allowed(shell, points, rest, kinematics.positions, kinematics.rotations, posed, out)
        rows = np.zeros(len(self.source), np.int64)
        rows[frames] = 1 + np.arange(len(frames))
        return np.concatenate([rest[None], out]), rows

    def _clearances(self, kinematics: Kinematics) -> tuple[NDArray, NDArray]:
        """Return the clearance (F, N) of the points, metres, and the part that each is nearest to."""
        from footplant.kernels import body_rows as kernel
        from footplant.kernels.shell import new_posed

        self._check(kinematics)
        (shell, points, _), (allowed, rows) = self._tables, self._allowed
        at = rows[np.minimum(kinematics.frames, len(rows) - 1)]
        shape = len(kinematics.frames), len(points.joints)
        out, parts = np.empty(shape), np.empty(shape, np.int64)
        poses = kinematics.positions, kinematics.rotations
        kernel.clearances(shell, points, kernel.Allowed(allowed, at), *poses, new_posed(shell), out, parts)
        return out, parts

    def _check(self, kinematics: Kinematics) -> None:
        self.character.require_fit(kinematics.motion.skeleton)

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the clearance (F, N) of balls under the skin beyond what is allowed, metres; negative inside."""
        return self._clearances(kinematics)[0] - self.margin

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, N, 3+3J); both parts move."""
        from footplant.kernels import body_rows as kernel
        from footplant.kernels.shell import new_posed

        (shell, points, _), (_, parts) = self._tables, self._clearances(kinematics)
        out = np.zeros((*parts.shape, 3 + 3 * len(kinematics.motion.skeleton)))
        parents = kinematics.motion.skeleton.parents
        poses = kinematics.positions, kinematics.rotations
        kernel.clearance_slopes(shell, points, parts, parents, *poses, new_posed(shell), out)
        return out


@dataclass(frozen=True, eq=False, kw_only=True)
class Touch(Constraint):
    """A point of the body stays at a place on the skin of another part: a hand on the hip, palms together.

    The place is taken from the motion before the edit: without an `offset` where the point is relative to the skin of
    the other part, frame by frame; with one, at that distance from the skin, where the two are nearest.
    """

    character: Character
    part: str | Point
    """What touches: a point, or a part, of which the palm or else the nearest point of the skin counts."""
    other: str | Point
    """What is touched: a part, on whose skin the place is, or a point."""
    offset: float | None = None
    """Metres from the skin of the other part, 0: contact; None: as it is in the motion before the edit."""
    source: Motion | None = field(default=None, repr=False)
    """The motion before the edit, filled in by `Problem`; None: the rest pose."""

    def __post_init__(self) -> None:
        """Check the parts and the offset."""
        super().__post_init__()
        for key in ("part", "other"):
            value = getattr(self, key)
            if isinstance(value, Point):
                self.character.skeleton.require_joint(value.joint)
                if isinstance(value, MovingPoint):
                    raise ConstraintError(f"{self.title}: expected points that do not move in their segment")
            else:
                object.__setattr__(self, key, _named(self, self.character, value)[0])
        if isinstance(self.part, str) and isinstance(self.other, str) and _overlap(self.part, self.other):
            raise ConstraintError(f"{self.title}: expected different parts, got {self.part} and {self.other}")
        if self.offset is not None:
            offset = real_number(self.offset, f"{self.title}: offset", ConstraintError)
            if isinstance(self.other, Point) and offset != 0.0:
                raise ConstraintError(f"{self.title}: expected an offset of 0 from a point, got {offset:g}")

    @property
    def joints(self) -> tuple[int, ...]:
        """Return the joint of what touches, and that of what is touched."""
        roles = self.character.roles
        return tuple(
            value.joint if isinstance(value, Point) else roles[_role(value)]  # type: ignore[index]
            for value in (self.part, self.other)
        )

    def bound_to(self, motion: Motion) -> Self:
        """Return the constraint with the motion from which its place is taken."""
        return self if self.source is not None else replace(self, source=motion)

    def _candidates(self) -> SkinPoints:
        """Return the points of which the nearest touches."""
        if isinstance(self.part, Point):
            return _fixed(self.part)
        palm = self.character.contacts.get(f"{self.part.partition('_')[0]}_palm")
        if self.part.endswith("_hand") and palm is not None:
            return _fixed(palm)
        return _samples(BodyShell.of(self.character, (self.part,)), 0, self.character)[0]

    @cached_property
    def _tables(self) -> tuple[SkinPoints, SkinPoints, bool]:
        """The point that touches, the places that it touches, and whether there is one for each held frame."""
        from footplant.kernels import body_rows as kernel
        from footplant.kernels.shell import new_posed

        if self.source is None:
            kinematics = Kinematics(rest_motion(self.character.skeleton, 1))
        else:
            every = range(len(self.source)) if self.frames is None else self.frames
            held = [frame for frame in every if frame < len(self.source)] or [0]
            kinematics = Kinematics(self.source[np.array(held)])
        positions, rotations = kinematics.positions, kinematics.rotations
        count, candidates = len(positions), self._candidates()
        onto, shell = self.other, None if isinstance(self.other, Point) else BodyShell.of(self.character, (self.other,))
        best: tuple[float, int, NDArray, NDArray] | None = None
        for number in range(len(candidates.joints)):
            # columns of `found`: where the point comes to, its distance, the nearest sample
            places, found = np.empty((count, 3)), np.empty((count, 5))
            kernel.skin_places(candidates, np.full(count, number), positions, rotations, places)
            if isinstance(onto, Point):
                found[:, :3], found[:, 3] = places, np.linalg.norm(places - kinematics.point(onto), axis=1)
            else:
                assert shell is not None
                table = shell.tables()
                posed = new_posed(table)
                kernel.project(table, 0, self.offset or 0.0, places, positions, rotations, posed, found)
            if best is None or found[:, 3].min() < best[0]:
                best = float(found[:, 3].min()), number, places, found
        assert best is not None
        _, number, places, found = best
        first = type(candidates)(*(column[number : number + 1] for column in candidates))
        if isinstance(onto, Point):
            if self.offset is not None:
                return first, _fixed(onto), False
            rows, joints, weights = np.arange(count), np.full((count, 1), onto.joint), np.ones((count, 1))
        else:
            assert shell is not None
            skin = _samples(shell, 0, self.character)[0]
            rows = np.arange(count) if self.offset is None else np.array([int(found[:, 3].argmin())])
            nearest = found[rows, 4].astype(np.int64)
            joints, weights = skin.joints[nearest], skin.weights[nearest]
        at = (places if self.offset is None else found[:, :3])[rows, None]
        own = rotation.rotate(
            rotation.inverse(rotations[rows[:, None], joints]), at - positions[rows[:, None], joints]
        )  # fmt: skip
        return (
            first,
            type(first)(joints, np.array(weights), np.ascontiguousarray(own), np.zeros(len(rows))),
            len(rows) > 1,
        )

    def _rows(self, kinematics: Kinematics) -> tuple[SkinPoints, SkinPoints, NDArray]:
        """Return both tables of points and which of them belong to each row (F, 2)."""
        self.character.require_fit(kinematics.motion.skeleton)
        first, second, several = self._tables
        which = np.zeros((len(kinematics.frames), 2), np.int64)
        if several:
            which[:, 1] = np.minimum(self.slot(kinematics.frames), len(second.joints) - 1)
        return first, second, which

    def residual(self, kinematics: Kinematics) -> NDArray:
        """Return the vector (F, 3) from the place to what touches it, metres."""
        from footplant.kernels import body_rows as kernel

        first, second, which = self._rows(kinematics)
        ends = [np.empty((len(which), 3)) for _ in range(2)]
        for points, column, out in zip((first, second), which.T, ends):
            kernel.skin_places(points, np.ascontiguousarray(column), kinematics.positions, kinematics.rotations, out)
        return ends[0] - ends[1]

    def jacobian(self, kinematics: Kinematics) -> NDArray:
        """Return the Jacobian (F, 3, 3+3J); both parts move."""
        from footplant.kernels import body_rows as kernel

        first, second, which = self._rows(kinematics)
        out = np.zeros((len(which), 3, 3 + 3 * len(kinematics.motion.skeleton)))
        parents = kinematics.motion.skeleton.parents
        kernel.difference_slopes(first, second, which, parents, kinematics.positions, kinematics.rotations, out)
        return out


def entered_notes(character: Character, before: Motion, after: Motion, goals: Sequence[tuple[int, int]]) -> list[str]:
    """Return which arms are deeper in trunk or head than before an edit, where they have goals, one sentence each.

    goals: joint and frame of each. What is less than `TOLD_DEPTH` deeper is left out: the shell of the body is that
    accurate.
    """
    roles, found = character.roles, []
    if roles is None or not goals or not character.height > 0.0:
        return []
    into = tuple(part for part in ("trunk", "head") if _role(part) in roles)
    for side in SIDES:
        pieces = tuple(f"{side}_{part}" for part in ("forearm", "hand") if _role(f"{side}_{part}") in roles)
        upper = roles.get(f"{side}_upper_arm")
        own = () if upper is None else character.skeleton.descendants(upper)
        at = np.unique([frame for joint, frame in goals if joint in own]).astype(np.int64)
        at = at[:: max(len(at) // MOST_TOLD, 1)]
        for piece in pieces if into and len(at) else ():
            apart = Apart(character=character, part=piece, other=into, source=before, frames=tuple(at.tolist()))
            depths = -apart.residual(Kinematics(after[at], at)).min(axis=1)
            worst = int(depths.argmax())
            if depths[worst] > TOLD_DEPTH * character.height:
                found.append(
                    f"the {piece.replace('_', ' ')} is {1000.0 * depths[worst]:.0f} mm inside the body at frame "
                    f"{at[worst]}; a constraint of the kind apart keeps it outside"
                )
    return found


def _fixed(point: Point) -> SkinPoints:
    """Return a point that is fixed to a segment as a table."""
    from footplant.kernels.body_rows import SkinPoints

    place = np.array(point.offset, float).reshape(1, 1, 3)
    return SkinPoints(np.array([[point.joint]]), np.ones((1, 1)), place, np.zeros(1))
