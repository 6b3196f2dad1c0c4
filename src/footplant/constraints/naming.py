"""Read points, joints and chains of a character by name, and write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from footplant.constraints.fields import Fields, describe, suggest
from footplant.errors import ConstraintError, SkeletonError
from footplant.skeleton import Character, Point

_GROUPS = {
    f"{side}_{limb}": (f"{side}_{upper}", f"{side}_{end}")
    for side in ("left", "right")
    for limb, upper, end in (("arm", "upper_arm", "hand"), ("leg", "upper_leg", "foot"))
}
"""Limb → the roles of its first and last joint."""
_TRUNK = ("hips", "spine")


def read_point(fields: Fields, key: str, character: Character) -> Point:
    """Read a point: the name of a contact point, a joint or a role; or a table of such a name and an offset.

    In a table, `joint` is the name of a joint and nothing else. A name under the key "point" may have an offset beside
    it under the key "offset".
    """
    value = fields.get(key)
    if isinstance(value, str):
        point = _named(fields, key, value, character)
        return _shifted(point, fields.vector("offset", 3, None)) if key == "point" else point
    return _point_of_table(fields.table(key), character)


def read_points(fields: Fields, key: str, character: Character) -> tuple[Point, ...]:
    """Read a list of points, each as in `read_point`."""
    value = fields.get(key)
    if not isinstance(value, list | tuple) or not value:
        fields.fail(key, f"expected a list of points, got {describe(value)}")
    found = []
    for number, entry in enumerate(value):
        place = f"{key}[{number}]"
        if isinstance(entry, str):
            found.append(_named(fields, place, entry, character))
        else:
            inner = Fields(entry, f"{fields.where}.{place}" if fields.where else place, fields.path)
            found.append(_point_of_table(inner, character))
    return tuple(found)


def _point_of_table(inner: Fields, character: Character) -> Point:
    if "joint" in inner:
        point = Point(read_joint(inner, "joint", character, exact=True))
    else:
        point = _named(inner, "point", inner.text("point"), character)
    point = _shifted(point, inner.vector("offset", 3, None))
    inner.refuse_others(("joint", "point"))
    return point


def _shifted(point: Point, offset: Any) -> Point:
    if offset is None:
        return point
    x, y, z = (np.asarray(point.offset) + offset).tolist()
    return Point(point.joint, (x, y, z))


def _named(fields: Fields, key: str, name: str, character: Character) -> Point:
    if name in character.contacts:
        return character.contacts[name]
    joint = _joint(name, character)
    if joint is None:
        roles = () if character.roles is None else tuple(character.roles.joints)
        known = (*character.contacts, *character.skeleton.names, *roles)
        fields.fail(
            key,
            f"no point {name!r} on {character.name!r}{suggest(name, known)}; its contact points: "
            f"{', '.join(character.contacts) or 'none'}; its joints: {', '.join(character.skeleton.names)}"
            + (f"; its roles: {', '.join(roles)}" if roles else ""),
        )
    return Point(joint)


def named_point(name: str, character: Character) -> Point:
    """Return a contact point, a joint or the joint of a role, by name, in that order."""
    if name in character.contacts:
        return character.contacts[name]
    joint = _joint(name, character)
    if joint is None:
        known = (*character.contacts, *character.skeleton.names)
        raise ConstraintError(f"no point {name!r} on {character.name!r}{suggest(name, known)}")
    return Point(joint)


def _joint(name: str, character: Character) -> int | None:
    """Return a joint by its name or role; None if there is none."""
    if name in character.skeleton.names:
        return character.skeleton.index(name)
    return None if character.roles is None else character.roles.get(name)


def read_joint(fields: Fields, key: str, character: Character, *, exact: bool = False) -> int:
    """Read a joint by name or, unless `exact`, by role."""
    return _known_joint(fields, key, fields.text(key), character, exact)


def read_joints(fields: Fields, key: str, character: Character, *, groups: bool = False) -> tuple[int, ...]:
    """Read joints by name or role; a role of several joints (spine) means all of them.

    groups: limbs ("left_arm") and "trunk" are accepted too.
    """
    value = fields.get(key)
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        fields.fail(key, f"expected a list of names, got {describe(value)}")
    found: set[int] = set()
    for number, name in enumerate(names):
        several = _group(name, character) if groups else None
        if several is None and name not in character.skeleton.names and character.roles is not None:
            several = character.roles.joints.get(name)
        place = f"{key}[{number}]" if names is value else key
        found.update(several or (_known_joint(fields, place, name, character, exact=False),))
    return tuple(sorted(found))


def read_chain(fields: Fields, key: str, character: Character) -> tuple[int, ...] | None:
    """Read the joints that may rotate: names of joints, roles and limbs; None if absent."""
    return None if fields.get(key, None) is None else read_joints(fields, key, character, groups=True)


def _group(name: str, character: Character) -> tuple[int, ...] | None:
    """Return the joints of a limb or of the trunk; None if the name is another or the character lacks it."""
    roles = character.roles
    if roles is None or name in character.skeleton.names:
        return None
    if name == "trunk":
        return tuple(joint for role in _TRUNK for joint in roles.joints.get(role, ())) or None
    if name not in _GROUPS:
        return None
    upper, end = (roles.get(role) for role in _GROUPS[name])
    if upper is None or end is None:
        return None
    try:
        return character.skeleton.chain(end, upper)
    except SkeletonError:
        return None


def _known_joint(fields: Fields, key: str, name: str, character: Character, exact: bool) -> int:
    joint = _joint(name, character)
    if joint is None or (exact and name not in character.skeleton.names):
        roles = () if character.roles is None or exact else tuple(character.roles.joints)
        known = (*character.skeleton.names, *roles)
        fields.fail(
            key,
            f"no joint {name!r} on {character.name!r}{suggest(name, known)}; its joints: "
            f"{', '.join(character.skeleton.names)}" + (f"; its roles: {', '.join(roles)}" if roles else ""),
        )
    return joint


def point_data(point: Point, character: Character) -> str | dict[str, Any]:
    """Return a point's shortest name: a contact point's, a joint's, or a table of a joint and an offset."""
    for name, contact in character.contacts.items():
        if contact == point:
            return name
    name = joint_data(point.joint, character)
    if not any(point.offset):
        # a contact point may have the name of a joint but another position
        return name if name not in character.contacts else {"joint": name}
    return {"joint": name, "offset": [float(value) for value in point.offset]}


def joint_data(joint: int, character: Character) -> str:
    """Return a joint's name."""
    return character.skeleton.names[character.skeleton.require_joint(joint)]
