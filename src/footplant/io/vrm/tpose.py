"""Convert a humanoid character to VRM's conventions: joints mapped to human bones, rest pose a T-pose facing +z."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from footplant import humanoid, rotation
from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.humanoid.bones import BONES, REQUIRED, bone_above, bones_of
from footplant.io.gltf.rewrite import GltfSource, fits
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Skeleton

GAZE = ("leftEye", "rightEye")
"""Bones that a VRM animation may not contain: gaze is represented differently."""


def stated_by(clip: Clip) -> GltfSource | None:
    """Return the VRM file that states the human bones of a clip's character, or None."""
    source = clip.character.source
    if isinstance(source, GltfSource) and source.bones is not None and fits(source, clip.motion.skeleton):
        return source
    return None


def human_bones(clip: Clip, path: str | Path) -> dict[str, int]:
    """Return bone → joint of the clip's character, in the order of BONES; raise `FormatError` if VRM cannot hold it."""
    skeleton, source = clip.motion.skeleton, stated_by(clip)
    if source is not None and source.bones is not None:
        wanted = {bone: source.joints.nodes.index(node) for bone, node in source.bones.nodes.items()}
    elif clip.character.roles is None:
        raise FormatError(f"expected a humanoid character, got {clip.character.name!r}, which has no roles", path=path)
    else:
        wanted = bones_of(skeleton, clip.character.roles)
    missing = [bone for bone in REQUIRED if bone not in wanted]
    if missing:
        raise FormatError(
            f"expected all joints that VRM requires; {clip.character.name!r} lacks {', '.join(missing)}", path=path
        )
    bones: dict[str, int] = {}
    for bone in (bone for bone in BONES if bone in wanted):
        above = bone_above(bone, bones)
        if above is None or wanted[bone] in skeleton.descendants(bones[above])[1:]:
            bones[bone] = wanted[bone]
        elif bone in REQUIRED:
            raise FormatError(
                f"expected {skeleton.names[wanted[bone]]!r} ({bone}) somewhere below {skeleton.names[bones[above]]!r} "
                f"({above}) as VRM requires, got it elsewhere",
                path=path,
            )
    return bones


def t_posed(clip: Clip) -> Motion:
    """Return the clip's motion on the same character with a T-pose as rest pose: facing +z, soles on the floor.

    The rest pose of a VRM file is a T-pose by definition; for others it is `humanoid.reference_pose`.
    """
    motion, skeleton, source = clip.motion, clip.motion.skeleton, stated_by(clip)
    if source is not None and np.allclose(skeleton.rest[1:], source.skeleton.rest[1:], atol=1e-9):
        return motion
    roles = clip.character.require_roles()
    pose = humanoid.reference_pose(skeleton, roles)
    places, turned = skeleton.posed(pose)
    soles = [places[p.joint] + rotation.rotate(turned[p.joint], p.offset) for p in clip.character.contacts.values()]
    floor = float(np.min([*np.array(soles).reshape(-1, 3)[:, 1], *places[:, 1]]))
    offsets = np.array(skeleton.offsets)
    offsets[0] -= places[roles["hips"]] * [1.0, 0.0, 1.0] + [0.0, floor, 0.0]
    return replace(motion, skeleton=replace(skeleton, rest=pose, offsets=offsets))


@dataclass(frozen=True, eq=False)
class HumanMotion:
    """A motion of human bones only."""

    motion: Motion
    """Joints named as in the original character, at rest in a T-pose."""
    joints: Mapping[str, int]
    """Bone → joint."""
    lost: float
    """Largest displacement of a human bone, metres: joints between bones that VRM lacks may bend, and bones may
    change length."""


def on_human_bones(clip: Clip, path: str | Path) -> HumanMotion:
    """Return the clip's motion as in a VRM animation: rotations of human bones, and the translation of the hips.

    Every bone keeps its world rotation. If its only child bone is attached via joints that VRM lacks, it is aimed at
    that child's actual position.
    """
    bones = {bone: joint for bone, joint in human_bones(clip, path).items() if bone not in GAZE}
    motion = t_posed(clip)
    old = motion.skeleton
    places, turned = old.rest_world
    kinematics = Kinematics(motion)
    number = {bone: place for place, bone in enumerate(bones)}
    above = {bone: bone_above(bone, bones) for bone in bones}
    index = list(bones.values())
    world = np.array(kinematics.rotations[:, index])
    offsets, rest = np.array(places[index]), np.array(turned[index])
    for bone, parent in above.items():
        if parent is not None:
            back = rotation.inverse(turned[bones[parent]])
            offsets[number[bone]] = rotation.rotate(back, places[bones[bone]] - places[bones[parent]])
            rest[number[bone]] = rotation.multiply(back, turned[bones[bone]])
    local = np.array(world)
    for bone, joint in bones.items():
        after = [other for other, parent in above.items() if parent == bone]
        if len(after) == 1 and old.parents[bones[after[0]]] != joint:
            aim = kinematics.positions[:, bones[after[0]]] - kinematics.positions[:, joint]
            now = rotation.rotate(world[:, number[bone]], offsets[number[after[0]]])
            world[:, number[bone]] = rotation.multiply(rotation.between(now, aim), world[:, number[bone]])
        parent = above[bone]
        if parent is not None:
            local[:, number[bone]] = rotation.multiply(
                rotation.inverse(world[:, number[parent]]), world[:, number[bone]]
            )
        else:
            local[:, number[bone]] = world[:, number[bone]]
    ends = np.flatnonzero(np.isin(old.end_parents, index))
    skeleton = Skeleton(
        names=tuple(old.names[joint] for joint in index),
        parents=np.array([-1 if parent is None else number[parent] for parent in above.values()]),
        offsets=offsets,
        rest=rotation.normalize(rest),
        end_parents=np.array([index.index(joint) for joint in old.end_parents[ends]], np.int64),
        end_offsets=old.end_offsets[ends],
    )
    hips = kinematics.positions[:, bones["hips"]]
    human = Motion(skeleton, hips, rotation.normalize(local), motion.fps)
    lost = float(np.abs(Kinematics(human).positions - kinematics.positions[:, index]).max(initial=0.0))
    return HumanMotion(human, number, lost)
