"""Body–body avoidance of a crowd: proxies of the characters, and rows that keep them out of one another.

Every character is ten capsules around trunk, head and limb bones, with the radii of its skin (`humanoid.body_proxy`).
Where two characters overlap, the limb that is in the way makes way: a half-space row on the point of its bone that is
nearest to the other body. Two limbs share the way; one that has a goal of its own leaves it to the other; a trunk
stays. Goals on another body are moved onto its skin first (`clear_targets`): a goal inside a body could only be met by
an overlap, whatever the priorities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from footplant.humanoid.body_proxy import SEGMENTS
from footplant.humanoid.body_shell import surface_of
from footplant.skeleton import Character

if TYPE_CHECKING:
    from footplant.live._crowd_apart import GoalsOnBodies

NEAR = 0.04
"""Metres between two bodies from which rows keep them apart, so that they hold before bodies overlap."""
ROWS_EACH = 8
"""Most of these rows of one character: the deepest count."""
MOST = 4096
"""Most contacts of two groups that are looked at."""
Contacts = dict[tuple[int, int], NDArray]
"""Pair of groups → contacts (N, 12) of their characters."""
Planes = tuple[NDArray, NDArray, NDArray, NDArray]
"""Half-spaces sorted by character: characters (n,), joints (n,), points (n, 3) on them, planes (n, 4)."""
_BONES = (
    ("hips", "neck", "chest", False), ("head", "head", "head", False),
    *((f"{side}_{start}", f"{side}_{end}", f"{side}_{start}", True)
      for side in ("left", "right")
      for start, end in (("upper_arm", "lower_arm"), ("lower_arm", "hand"), ("upper_leg", "lower_leg"),
                         ("lower_leg", "foot"))),
)  # fmt: skip
"""Joints between which a capsule lies, the segment whose radius it has, and whether it belongs to a limb."""
TRUNK, HEAD = 0, 1
"""Capsules that are not of a limb."""
LIMB = np.array([bone[3] for bone in _BONES])
"""(K,) whether a capsule belongs to a limb."""


class Posed(Protocol):
    """Characters at an instant: `Kinematics`, or `crowd.Poses`."""

    @property
    def positions(self) -> NDArray:
        """(C, J, 3) metres, read-only."""
        ...

    @property
    def rotations(self) -> NDArray:
        """(C, J, 4) world, read-only."""
        ...


@dataclass(frozen=True, eq=False)
class Proxies:
    """The capsules of a group of characters with one joint tree."""

    starts: NDArray
    ends: NDArray
    radii: NDArray

    @classmethod
    def of(cls, characters: Sequence[Character]) -> Proxies:
        """Return the capsules of characters with one joint tree."""
        roles = characters[0].require_roles()
        joints = [(_joint(roles, start), _joint(roles, end)) for start, end, _, _ in _BONES]
        radii = np.array(
            [
                [-1.0 if None in pair else surface_of(body).radius(bone[2], 3) for pair, bone in zip(joints, _BONES)]
                for body in characters
            ]
        )
        starts, ends = (np.array([0 if j[n] is None else j[n] for j in joints], np.int64) for n in range(2))
        return cls(starts, ends, radii)

    def carriers(self, joints: int) -> NDArray:
        """Return the capsule (J,) that carries a point of each of so many joints: a limb, head or trunk."""
        found = np.full(joints, TRUNK)
        found[self.starts[HEAD]] = HEAD
        for capsule in np.flatnonzero(LIMB):
            found[[self.ends[capsule], self.starts[capsule]]] = capsule
        return found

    @cached_property
    def tables(self):
        """Return the capsules as the kernel takes them."""
        from footplant.live._crowd_apart import Capsules

        return Capsules(self.starts, self.ends, self.radii)


def skin_radii(character: Character) -> NDArray:
    """Return the radius of a character's skin about the bone of each joint (J,), metres; 0 where none is known."""
    found, surface = np.zeros(len(character.skeleton)), surface_of(character)
    for role, chain in character.require_roles().joints.items():
        segment = role.replace("_foot", "_lower_leg")
        if segment in SEGMENTS:
            found[list(chain)] = surface.radius(segment, -1 if role.endswith("_foot") else 3)
    return found


def _joint(roles, name: str) -> int | None:
    if name == "neck" and name not in roles:
        name = "head"
    return roles.get(name)


def contacts(
    one: Proxies, two: Proxies, first: Posed, second: Posed, *, slack: float = 0.0,
    came: tuple[NDArray, NDArray] | None = None, looked_at: tuple[NDArray, NDArray] | None = None,
) -> NDArray:  # fmt: skip
    """Return the overlaps (N, 12) of two groups of characters, or of one with itself; see `_crowd_apart.OUT`.

    came: positions (C, J, 3) of both groups at the frame before, metres; None: as now. looked_at: (C,) bool of both;
    only pairs of which one is count; None: all.
    """
    from footplant.live import _crowd_apart as kernel

    found, bounds = np.empty((MOST, kernel.OUT)), np.empty((len(one.radii) + len(two.radii), 6))
    before, other_before = (first.positions, second.positions) if came is None else came
    some = np.ones(len(bounds), bool) if looked_at is None else np.concatenate(looked_at)
    count = kernel.overlaps(
        one.tables, two.tables, first.positions, second.positions, before, other_before, some, one is two, slack,
        bounds, found,
    )  # fmt: skip
    return found[:count]


LATER = 20.0
"""How much more of the way a limb makes for each round by which its character is solved later: it follows the other,
which must not run away from it. At 1, a forearm that wards off a shin chases it."""
BUSY = 0.05
"""How much of the way a limb with a goal of its own makes, for each metre of a free one. At 1, arms that pass each
other in the fight overlap by 19 mm."""


def all_contacts(
    proxies: Sequence[Proxies], posed: Sequence[Posed], *, slack: float = 0.0,
    came: Sequence[NDArray] | None = None, looked_at: Sequence[NDArray] | None = None,
) -> Contacts:  # fmt: skip
    """Return the contacts of all characters, by the pair of groups that they are in; see `contacts`."""
    return {
        (one, two): contacts(
            proxies[one], proxies[two], posed[one], posed[two], slack=slack,
            came=None if came is None else (came[one], came[two]),
            looked_at=None if looked_at is None else (looked_at[one], looked_at[two]),
        )
        for one in range(len(proxies))
        for two in range(one, len(proxies))
    }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Where characters are in one another, both ways round."""

    pairs: NDArray
    """(N, 4) int64; actor, capsule of it, other actor, capsule of that."""
    ways: NDArray
    """(N, 3) metres, the way out of the other."""
    keys: NDArray
    """(N,) int64; one number for each pair, in order."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.keys)

    def shift(self, goals: GoalsOnBodies, solved: NDArray, shifts: NDArray) -> None:
        """Shift goals on other bodies (n, 3) by what the limb that carries the point is deep in that body, as posed.

        The point alone may be clear of a body that the rest of its bone goes through. solved: (C,) characters whose
        pose has met their goals in a round before.
        """
        from footplant.live import _crowd_apart as kernel

        kernel.add_ways(self.keys, self.ways, goals, solved, len(_BONES), shifts)


def overlaps_of(found: Contacts, actors: Sequence[NDArray], tolerated: float) -> Overlaps:
    """Return the contacts that are deeper than what is tolerated, metres, both ways round; actors: of each group."""
    from footplant.live import _crowd_apart as kernel

    most, count = 2 * sum(len(rows) for rows in found.values()), 0
    pairs, ways, keys = np.empty((most, 4), np.int64), np.empty((most, 3)), np.empty(most, np.int64)
    for (one, two), rows in found.items():
        count = kernel.both_ways(rows, actors[one], actors[two], len(_BONES), tolerated, count, pairs, ways, keys)
    order = np.argsort(keys[:count])
    return Overlaps(pairs[order], ways[order], keys[order])


def without(found: Contacts, left_out: Sequence[NDArray]) -> Contacts:
    """Return the contacts of which neither capsule is left out: (C, K) bool of each group."""
    from footplant.live import _crowd_apart as kernel

    kept = {}
    for (one, two), rows in found.items():
        out = np.empty_like(rows)
        kept[one, two] = out[: kernel.without(rows, left_out[one], left_out[two], out)]
    return kept


def apart_rows(
    proxies: Sequence[Proxies], posed: Sequence[Posed], contacts: Sequence[Contacts], freedom: Sequence[NDArray]
) -> list[Planes]:
    """Return for each group the half-spaces of contacts that keep its characters out of all others.

    The plane of a row lies on the skin of a trunk, or between the skins of two limbs, in proportion to their freedom
    (C, K); the point is on the limb's bone. Rows that hold already change nothing.
    """
    from footplant.live import _crowd_apart as kernel

    parts: list[list[NDArray]] = [[] for _ in proxies]
    for (one, two), found in (item for some in contacts for item in some.items()):
        if not len(found):
            continue
        own, other = np.empty((2, len(found), kernel.ASKED))
        count, other_count = kernel.ways(found, LIMB, freedom[one], freedom[two], own, other)
        parts[one].append(own[:count])
        parts[two].append(other[:other_count])
    return [
        _planes(own, kinematics, np.concatenate(rows) if rows else np.zeros((0, kernel.ASKED)))
        for own, kinematics, rows in zip(proxies, posed, parts, strict=True)
    ]


def _planes(own: Proxies, kinematics: Posed, rows: NDArray) -> Planes:
    """Return what is asked of limbs (N, 8) as half-spaces, the deepest of each character."""
    from footplant.live import _crowd_apart as kernel

    characters = len(own.radii)
    order = np.empty(len(rows), np.int64)
    kept = kernel.deepest_rows(rows, characters, ROWS_EACH, np.empty(characters + 1, np.int64), order)
    character, joint = np.empty((2, kept), np.int64)
    point, plane = np.empty((kept, 3)), np.empty((kept, 4))
    kernel.place_rows(
        rows, order[:kept], own.tables, kinematics.positions, kinematics.rotations, character, joint, point, plane
    )
    return character, joint, point, plane


def deepest(proxies: Sequence[Proxies], posed: Sequence[Posed]) -> float:
    """Return how deep two characters are in one another, metres; 0 where none are."""
    worst = 0.0
    for one in range(len(proxies)):
        for two in range(one, len(proxies)):
            found = contacts(proxies[one], proxies[two], posed[one], posed[two])
            worst = max(worst, float(found[:, 9].max(initial=0.0)))
    return worst
