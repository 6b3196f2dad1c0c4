"""Posture of a character with known roles: trunk and leg directions in any pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.skeleton import Roles


def unit(vectors: NDArray) -> NDArray:
    """Return vectors (…, 3) divided by their lengths; zero stays zero."""
    lengths = np.sqrt(np.einsum("...k,...k->...", vectors, vectors))[..., None]
    return vectors / np.where(lengths > 0, lengths, 1.0)


def middle(roles: Roles, poses: NDArray, role: str) -> NDArray:
    """Return the midpoint (P, 3) between the left and the right joint of a role."""
    joints = [roles[f"{side}_{role}"] for side in ("left", "right") if f"{side}_{role}" in roles] or [roles["hips"]]
    return 0.5 * (poses[:, joints[0]] + poses[:, joints[-1]])


def trunk(roles: Roles, poses: NDArray) -> NDArray:
    """Return unit vectors (P, 3) from the middle of the hip joints to the middle of the shoulder joints."""
    return unit(middle(roles, poses, "upper_arm") - middle(roles, poses, "upper_leg"))


def across(roles: Roles, poses: NDArray) -> NDArray:
    """Return unit vectors (P, 3) from right to left, the mean of hips and shoulders."""
    total = np.zeros((len(poses), 3))
    for role in ("upper_leg", "upper_arm"):
        if f"left_{role}" in roles and f"right_{role}" in roles:
            total += unit(poses[:, roles[f"left_{role}"]] - poses[:, roles[f"right_{role}"]])
    return unit(total)


def leg_cosines(roles: Roles, poses: NDArray, up: NDArray | None = None) -> NDArray:
    """Return the cosine (P,) between trunk and legs, the mean of both sides; −1 when standing straight.

    up: the trunk directions (P, 3) if they are known already.
    """
    up = trunk(roles, poses) if up is None else up
    cosines = []
    for side in ("left", "right"):
        hip = roles.get(f"{side}_upper_leg")
        end = roles.get(f"{side}_foot") if f"{side}_foot" in roles else roles.get(f"{side}_lower_leg")
        if hip is not None and end is not None:
            cosines.append(np.einsum("pk,pk->p", up, unit(poses[:, end] - poses[:, hip])))
    return np.mean(cosines, axis=0) if cosines else np.zeros(len(poses))


def standing_score(roles: Roles, poses: NDArray) -> NDArray:
    """Return a score (P,), 0 to 1, for how much each pose is a standing pose, whichever way is up.

    1: legs straight and in line with the trunk, hips and shoulders parallel, feet pointing forward and level. 0: one
    of these is far off, as in a rest pose with all bones along one axis.
    """
    up, left = trunk(roles, poses), across(roles, poses)
    score = np.clip((-leg_cosines(roles, poses) - 0.6) / 0.3, 0.0, 1.0)
    ahead = unit(np.cross(left, up))
    if all(f"{side}_{part}" in roles for side in ("left", "right") for part in ("upper_leg", "upper_arm")):
        hips = unit(poses[:, roles["left_upper_leg"]] - poses[:, roles["right_upper_leg"]])
        shoulders = unit(poses[:, roles["left_upper_arm"]] - poses[:, roles["right_upper_arm"]])
        score = score * np.clip((np.sum(hips * shoulders, axis=1) - 0.5) / 0.4, 0.0, 1.0)
    for side in ("left", "right"):
        hip, knee = roles.get(f"{side}_upper_leg"), roles.get(f"{side}_lower_leg")
        foot, toes = roles.get(f"{side}_foot"), roles.get(f"{side}_toes")
        if hip is not None and knee is not None and foot is not None:
            straight = np.sum(unit(poses[:, knee] - poses[:, hip]) * unit(poses[:, foot] - poses[:, knee]), axis=1)
            score = score * np.clip((straight - 0.5) / 0.4, 0.0, 1.0)
        if foot is not None and toes is not None:
            line = unit(poses[:, toes] - poses[:, foot])
            forward = np.sum(line * ahead, axis=1)
            slope = -np.sum(line * up, axis=1)
            score = score * np.clip((forward - 0.05) / 0.25, 0.0, 1.0) * np.clip((slope + 0.35) / 0.25, 0.0, 1.0)
    return score
