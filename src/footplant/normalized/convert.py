"""Posture conversion: from a scaled motion to joint rotations of a skeleton (Kulpa 2005, section 8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.normalized.body import Body, about_x, bend_angles
from footplant.normalized.model import ON_CHEST, SPLINES, Scaled
from footplant.normalized.scale import other_turns

ROUNDING = 1e-12
"""Fraction of a limb's length below which two lengths count as equal."""


def convert(scaled: Scaled) -> Motion:
    """Return the joint motion of a scaled motion (section 8): middle joints and vertebrae are computed."""
    normalized, body = scaled.normalized, Body(scaled.character)
    skeleton, frames = body.skeleton, len(normalized)
    local, wanted = other_turns(normalized, body), _part_turns(scaled, body)
    world, rotations = np.empty((frames, len(skeleton), 4)), np.empty((frames, len(skeleton), 4))
    for joint, parent in enumerate(skeleton.parents.tolist()):
        above = world[:, parent] if parent >= 0 else rotation.identity(1)
        if joint in wanted:
            world[:, joint] = rotation.multiply(wanted[joint], body.rotations[joint])
            rotations[:, joint] = rotation.multiply(rotation.inverse(above), world[:, joint])
        else:
            rotations[:, joint] = local.get(joint, body.pose[joint])
            world[:, joint] = rotation.multiply(above, rotations[:, joint])
    rotations = rotation.unroll(rotation.normalize(rotations))
    motion = Motion(skeleton, np.zeros((frames, 3)), rotations, normalized.fps, scaled.offsets)
    hips = Kinematics(motion).positions[:, body.hip_joints].mean(axis=1)
    return replace(motion, root=scaled.hips - hips)


def _part_turns(scaled: Scaled, body: Body) -> dict[int, NDArray]:
    """Return joint → rotation (F, 4) from the reference pose, for every joint of the normalised skeleton."""
    normalized = scaled.normalized
    hips, chest = normalized.hips, normalized.chest
    wanted = {body.hip: hips}
    for name in SPLINES:
        chain = body.vertebrae(name)
        if chain and name in normalized.splines:
            turns = normalized.splines[name].at(body.knots(name)[1:])
            base = hips if name == "spine" else chest
            wanted |= {j: rotation.multiply(base, rotation.exp(turns[:, n])) for n, j in enumerate(chain)}
        elif chain:
            wanted |= dict.fromkeys(chain, hips if name == "spine" else chest)
    for role, turn in normalized.segments.items():
        if role in body.roles:
            wanted[body.roles[role][0]] = rotation.multiply(chest if role in ON_CHEST else hips, turn)
    for name in scaled.lengths:
        base = chest if name.endswith("arm") else hips
        wanted |= dict(zip(body.limbs[name], _limb_turns(scaled, body, name, base), strict=False))
    return wanted


def _limb_turns(scaled: Scaled, body: Body, name: str, base: NDArray) -> list[NDArray]:
    """Return rotations of a limb's upper and lower joint from the reference pose: its triangle in its half-plane."""
    limb, bones = scaled.normalized.limbs[name], scaled.bones[name]
    upper, lower = (np.linalg.norm(bone, axis=1) for bone in bones)
    share, proportion = scaled.lengths[name] / (upper + lower), upper / (upper + lower)
    change = bend_angles(share, proportion) - bend_angles(limb.length, limb.proportion)
    # near full extension the cosine law maps the last digit of a length to the eighth digit of an angle
    same = (np.abs(share - limb.length) < ROUNDING) & (np.abs(proportion - limb.proportion) < ROUNDING)
    bends = limb.bends + np.where(same[:, None], 0.0, change)
    frame = rotation.multiply(base, limb.frame)
    references, found = body.reference_frames(name), []
    for number, sign in ((0, -1.0), (1, 1.0)):
        bone_frame = rotation.multiply(frame, about_x(sign * bends[:, number]))
        turn = rotation.multiply(
            rotation.multiply(bone_frame, limb.rolls[:, number]), rotation.inverse(references[number])
        )
        joint = body.limbs[name][number]
        along = rotation.rotate(rotation.multiply(turn, body.rotations[joint]), bones[number])
        wanted = rotation.rotate(bone_frame, rotation.AXES["z"])
        # joints inside a bone may bend it differently than in the source character
        found.append(rotation.multiply(rotation.between(along, wanted), turn))
    return found
