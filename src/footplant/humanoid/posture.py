"""How a figure with known roles holds itself: the lines of trunk and legs in any pose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.skeleton import Roles


def unit(vectors: NDArray) -> NDArray:
    """Vectors (…, 3) divided by their lengths; zero stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def middle(roles: Roles, poses: NDArray, role: str) -> NDArray:
    """(P, 3) the middle between the left and the right joint of a role."""
    joints = [roles[f"{side}_{role}"] for side in ("left", "right") if f"{side}_{role}" in roles]
    return np.mean([poses[:, joint] for joint in joints or [roles["hips"]]], axis=0)


def trunk(roles: Roles, poses: NDArray) -> NDArray:
    """(P, 3) unit vectors from the middle of the hip joints to the middle of the shoulder joints."""
    return unit(middle(roles, poses, "upper_arm") - middle(roles, poses, "upper_leg"))


def across(roles: Roles, poses: NDArray) -> NDArray:
    """(P, 3) unit vectors from right to left, the mean of hips and shoulders."""
    total = np.zeros((len(poses), 3))
    for role in ("upper_leg", "upper_arm"):
        if f"left_{role}" in roles and f"right_{role}" in roles:
            total += unit(poses[:, roles[f"left_{role}"]] - poses[:, roles[f"right_{role}"]])
    return unit(total)


def leg_cosines(roles: Roles, poses: NDArray) -> NDArray:
    """(P,) cosine between trunk and legs, the mean of both sides; −1 for somebody who stands straight."""
    up = trunk(roles, poses)
    cosines = []
    for side in ("left", "right"):
        hip = roles.get(f"{side}_upper_leg")
        end = roles.get(f"{side}_foot") if f"{side}_foot" in roles else roles.get(f"{side}_lower_leg")
        if hip is not None and end is not None:
            cosines.append(np.sum(up * unit(poses[:, end] - poses[:, hip]), axis=1))
    return np.mean(cosines, axis=0) if cosines else np.zeros(len(poses))
