"""Find the roles of joints by name and shape: hips, spine, limbs, hands and feet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from numpy.typing import ArrayLike

from footplant.errors import FormatError, HumanoidError
from footplant.humanoid.body_plan import FEWEST_JOINTS, Body, find_body
from footplant.humanoid.cache import CACHE_SIZE
from footplant.humanoid.details import find_details
from footplant.humanoid.shape import Tree, skin_evidence, tree_of
from footplant.skeleton import Roles, Skeleton, Skin
from footplant.text_files import parse_toml, read_text

LARGEST_FILE = 16 * 2**20
"""Bytes; a larger file is no list of roles."""

FINGERS = ("thumb", "index", "middle", "ring", "little")
_SIDED = (
    "clavicle", "upper_arm", "lower_arm", "hand", *FINGERS, "upper_leg", "lower_leg", "foot", "toes",
    "upper_arm_twist", "lower_arm_twist", "upper_leg_twist", "lower_leg_twist",
)  # fmt: skip
ROLES = (
    "hips", "spine", "neck", "head", "jaw", "left_eye", "right_eye",
    *(f"left_{role}" for role in _SIDED), *(f"right_{role}" for role in _SIDED),
)  # fmt: skip
"""All role names. Spine, neck, fingers and twists are chains; the others have one joint."""
CHAINS = frozenset(
    role for role in ROLES if role in ("spine", "neck") or role.endswith("_twist") or role.split("_", 1)[-1] in FINGERS
)
"""Roles that may have several joints, from the root outwards."""
HELP = 'name its joints in a TOML file ([roles], hips = "…", left_foot = "…") and pass it as roles=FILE (--roles FILE)'


def find_roles(
    skeleton: Skeleton,
    *,
    declared: Mapping[str, tuple[str, ...]] | None = None,
    corrections: Mapping[str, tuple[str, ...]] | None = None,
    positions: ArrayLike | None = None,
    skin: Skin | None = None,
) -> Roles:
    """Find the roles of a humanoid skeleton in any scale, axes, rest pose and naming.

    declared: role → joint names as stated by the file itself (VRM); corrections: the same from the user, which take
    precedence. positions: (F, J, 3) joint positions of some frames in the file's axes; a few poses show up, forward
    and a quadruped where the rest pose tells little. skin: the mesh, in the space of the rest pose; joints without
    children that it does not follow are ends of their parents, and feet point where it does. Raises HumanoidError,
    with the reason, if it is not a humanoid.
    """
    forced = _forced(skeleton, declared, "declared by the file") | _forced(skeleton, corrections, "as corrected")
    tree = tree_of(skeleton, None if skin is None or not len(skin.vertices) else skin_evidence(skeleton, skin))
    try:
        body = find_body(tree, positions)
        joints, confidence, reasons = _collect(tree, body)
    except HumanoidError as error:
        if not forced:
            # with fewer joints than limbs need, naming them would not help
            advice = f"if it is a humanoid nevertheless, {HELP}" if len(skeleton) >= FEWEST_JOINTS else ""
            raise HumanoidError(error.reason, advice) from None
        joints, confidence, reasons = {}, {}, {}
    joints = _without_claimed(joints, forced)
    # copy: the memoised tables stay unchanged
    confidence, reasons = dict(confidence), dict(reasons)
    for role, (chain, reason) in forced.items():
        joints[role], confidence[role], reasons[role] = chain, 1.0, reason
    order = [role for role in ROLES if joints.get(role)]
    return Roles(
        {role: joints[role] for role in order},
        {role: round(confidence[role], 3) for role in order},
        {role: reasons[role] for role in order},
    )


Forced = dict[str, tuple[tuple[int, ...], str]]
"""Role → its joints and the reason, for roles that the file or the user names."""


def _forced(skeleton: Skeleton, named: Mapping[str, tuple[str, ...]] | None, reason: str) -> Forced:
    return {role: (_joints(skeleton, role, names), reason) for role, names in (named or {}).items()}


def _without_claimed(joints: Mapping[str, tuple[int, ...]], forced: Forced) -> dict[str, tuple[int, ...]]:
    """Return the roles that were found, without forced ones and without the joints that those claim.

    A chain keeps its other joints; a role of one joint is dropped with it.
    """
    claimed = {joint for chain, _ in forced.values() for joint in chain}
    kept = dict(joints)
    for role in [role for role, chain in joints.items() if role in forced or claimed & set(chain)]:
        rest = tuple(joint for joint in kept.pop(role) if joint not in claimed)
        if rest and role in CHAINS and role not in forced:
            kept[role] = rest
    return kept


def _joints(skeleton: Skeleton, role: str, names: tuple[str, ...] | str) -> tuple[int, ...]:
    if role not in ROLES:
        raise HumanoidError(f"expected a role among {', '.join(ROLES)}; got {role!r}")
    names = (names,) if isinstance(names, str) else tuple(names)
    missing = [name for name in names if name not in skeleton.names]
    if missing:
        raise HumanoidError(
            f"role {role!r} names {', '.join(map(repr, missing))}, but the skeleton has: {', '.join(skeleton.names)}"
        )
    return tuple(skeleton.index(name) for name in names)


@lru_cache(maxsize=CACHE_SIZE)
def _collect(tree: Tree, body: Body) -> tuple[dict[str, tuple[int, ...]], dict[str, float], dict[str, str]]:
    """Return all roles of a body with confidence and reason."""
    joints: dict[str, tuple[int, ...]] = {"hips": (body.hips,), "spine": body.spine, "neck": body.neck}
    if body.head is not None:
        joints["head"] = (body.head,)
    for side, limbs in body.sides.items():
        for limb in limbs:
            joints |= {f"{side}_{role}": (joint,) for role, joint in limb.joints.items()}
    find_details(tree, body, joints)
    joints = {role: chain for role, chain in joints.items() if chain}
    confidence, reasons = {}, {}
    for role, chain in joints.items():
        confidence[role], reasons[role] = _judge(tree, body, role, chain)
    for side in body.sides:
        bend = _bend_of_wrist(tree, joints, side)
        if bend is not None:
            hand, twist = f"{side}_hand", f"{side}_lower_arm_twist"
            joints |= {hand: (bend,), twist: (*joints.get(twist, ()), *joints[hand])}
            above, name = (tree.skeleton.names[joint] for joint in (joints[twist][-1], bend))
            confidence[twist], reasons[twist] = confidence[hand], f"{above!r} is above the joint that bends the wrist"
            reasons[hand] = f"{name!r} carries the fingers, where {above!r} is"
        thumb = joints.get(f"{side}_thumb", ())
        if thumb and tree.skeleton.parents[thumb[0]] in joints.get(f"{side}_lower_arm_twist", ()):
            # on the forearm it is no part of the hand; CMU's captures have no marker on it
            del joints[f"{side}_thumb"]
    return joints, confidence, reasons


def _bend_of_wrist(tree: Tree, joints: Mapping[str, tuple[int, ...]], side: str) -> int | None:
    """Return the joint below a hand that bends its wrist: at the same place, with all fingers but the thumb.

    The one above then twists the forearm: CMU's captures as BVH files have a LeftHand and a LeftFingerBase. Vertices
    that follow the upper one are a hand's, so that it stays the hand.
    """
    hand = joints.get(f"{side}_hand", (-1,))[0]
    if hand < 0 or (tree.skin is not None and tree.skin.counts[hand] > 0):
        return None
    others = {joint for chain in joints.values() for joint in chain}
    below = [joint for joint in tree.skeleton.children[hand] if joint not in joints.get(f"{side}_thumb", ())]
    if len(below) != 1 or below[0] in others or tree.lengths[below[0]] > 0.0:
        return None
    return below[0] if tree.skeleton.children[below[0]] else None


def _judge(tree: Tree, body: Body, role: str, chain: tuple[int, ...]) -> tuple[float, str]:
    """Return the confidence in one role, and the reason in one sentence."""
    side, _, part = role.partition("_")
    sided = side in ("left", "right")
    part = part if sided else role
    base = part.removesuffix("_twist")
    readings = [tree.readings[joint] for joint in chain]
    scores = [reading.parts.get(base, -0.5 if reading.parts else 0.0) for reading in readings]
    score = sum(scores) / len(scores)
    quoted = ", ".join(repr(tree.skeleton.names[joint]) for joint in chain)
    schemes = {tree.named[joint].scheme for joint in chain if joint in tree.named and tree.named[joint].role == part}
    if schemes:
        sure, why = 0.97, f"{quoted} is named as in {schemes.pop()}"
    elif score >= 0.75:
        sure, why = 0.97, f"the name {quoted} says so and the shape agrees"
    elif score > 0.2:
        sure, why = 0.88, f"the name {quoted} fits and its position in the chain decides"
    elif score >= 0.0:
        sure, why = 0.7, f"the name {quoted} says nothing; found by the tree and the bone lengths"
    else:
        sure, why = 0.6, f"the name {quoted} suggests something else; its position in the tree decides"
    if role == "hips" and score < 0.75:
        sure, why = max(sure, 0.75), f"{quoted} is the parent of both legs and the spine"
    sure *= body.fit
    if sided:
        named = {reading.side for reading in readings} - {None}
        if named and named != {side}:
            sure, why = 0.5 * sure, f"{why}, but it is named for the other side and belongs to the {side} limb"
        sure, why = sure * body.side_confidence, f"{why}; {body.side_reason}"
    return sure, why


def read_corrections(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Read a TOML file of corrections: a table [roles] with role = "Joint" or role = ["A", "B"].

    Roles are those of `ROLES`; joint names are checked later, against the skeleton.
    """
    table = parse_toml(read_text(path, LARGEST_FILE, "roles"), path)
    roles = table.get("roles")
    if not isinstance(roles, dict):
        raise FormatError('expected a table [roles] such as: [roles], hips = "Pelvis"; got none', path=path)
    out: dict[str, tuple[str, ...]] = {}
    for role, value in roles.items():
        if role not in ROLES:
            raise FormatError(f"expected a role among {', '.join(ROLES)}; got {role!r}", path=path, where="[roles]")
        names = [value] if isinstance(value, str) else value
        if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
            raise FormatError(
                f"expected a joint name or a list of them, got {value!r}", path=path, where=f"[roles] {role}"
            )
        if len(names) > 1 and role not in CHAINS:
            raise FormatError(f"expected one joint, got {len(names)}", path=path, where=f"[roles] {role}")
        out[role] = tuple(names)
    return out
