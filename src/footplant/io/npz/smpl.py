"""SMPL-family poses (SMPL, SMPL-H, SMPL-X), as written by AMASS and related programs.

A pose has one rotation vector per joint, the root's first: `poses` (frames, 66, 72, 156 or 165), or in parts
(`root_orient`, `pose_body`, `pose_jaw`, `pose_eye`, `pose_hand`; `global_orient`, `body_pose`, …). `trans` translates
the body: the pelvis is at `trans` plus its rest position in model space.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive
from footplant.io.npz.arrays import MAX_LENGTH, find_rate
from footplant.io.npz.bodies import BY_JOINTS, Body
from footplant.io.npz.posing import BLOCK, upright
from footplant.io.npz.smpl_write import BETAS, MODELS, SmplSource
from footplant.motion import Motion
from footplant.skeleton import Skeleton

MAX_ANGLE = 1e4
"""Radians; larger numbers are not rotation vectors."""
AIST_FPS = 60.0
"""Frames per second of AIST++, whose files state none."""
POSES = ("poses", "fullpose", "full_pose", "smpl_poses", "pose", "pose_aa")
ROOTS = ("root_orient", "global_orient")
TRANSLATIONS = (
    "trans", "transl", "translation", "smpl_trans", "trans_orig", "root_trans_offset", "root_trans", "root_translation",
)  # fmt: skip
POSE_PARTS = (
    ("pose_body", "body_pose"), ("pose_jaw", "jaw_pose"), ("pose_eye", "leye_pose"), ("", "reye_pose"),
    ("pose_hand", "left_hand_pose"), ("", "right_hand_pose"),
)  # fmt: skip
"""Parts of a pose in the order of SMPL-X's joints, by AMASS's names and by those of the reference implementation."""


def find_pose(archive: Archive) -> str | None:
    """Return the array of poses, or of root orientations if poses come in parts; None without either."""
    for name in POSES:
        header = archive.headers.get(name)
        if header is not None and header.dtype.kind == "f" and _joints(header.shape) in BY_JOINTS:
            return name
    root = archive.find(*ROOTS)
    return root if root is not None and archive.find("pose_body", "body_pose") else None


def _joints(shape: tuple[int, ...]) -> int:
    """Return the number of rotation vectors per frame; 0 if the shape is something else."""
    if len(shape) == 2 and shape[1] % 3 == 0:
        return shape[1] // 3
    if len(shape) == 3 and shape[2] == 3:
        return shape[1]
    if len(shape) == 4 and shape[2:] == (3, 3):
        return shape[1]
    return 0


def read_smpl(
    archive: Archive, name: str, key: str, fps: float | None, model: str | Path | None = None
) -> RawCharacter:
    """Return a character in the poses of the file: with its betas if a model file is given, else the mean body."""
    notes: list[str] = []
    scaling = archive.number("smpl_scaling") if "smpl_scaling" in archive else None
    if scaling is not None and fps is None and archive.find("fps", "mocap_framerate") is None:
        fps = AIST_FPS
        notes.append("smpl_scaling is stated: AIST++, at 60 frames per second (fps= overrides it)")
    rate = find_rate(archive, fps, notes)
    poses = archive.floats(key) if key in POSES else _join(archive, key)
    body = BY_JOINTS[_joints(poses.shape)]
    frames = len(poses)
    if poses.ndim == 4:
        local = _from_matrices(archive, key, poses)
    else:
        largest = max(abs(float(poses.min())), abs(float(poses.max())))
        if largest > MAX_ANGLE:
            raise archive.error(f"expected rotation vectors in radians, got {largest:g}", key)
        local = to_quaternions(poses.reshape(frames, -1, 3))
    up, turn = upright(local[:, 0])
    places = _read_translation(archive, frames, notes)
    if scaling is not None:
        if not (np.isfinite(scaling) and scaling > 1e-6):
            raise archive.error(f"expected a positive scaling, got {scaling}", "smpl_scaling")
        places = places / scaling
    shape = archive.find("betas", "beta", "shape")
    skin = None
    if model is not None:
        from footplant.io.npz.smpl_models import read_smpl_model

        betas = np.zeros(0) if shape is None else np.asarray(archive.floats(shape), float)
        betas = (betas[0] if betas.ndim == 2 else betas).reshape(-1)
        skeleton, pelvis, skin, used = read_smpl_model(model).shaped(body, betas, turn)
        notes.append(f"the body has the shape of {used} betas, by the model {Path(model).name}")
    else:
        skeleton, pelvis = rest_skeleton(body, turn), body.pelvis
        if shape is not None:
            notes.append(
                f"betas (body shape) were ignored: the character is {body.title}'s mean body; skeleton= (--skeleton "
                "FILE) names the model file that they belong to"
            )
    motion = Motion(skeleton, places + pelvis, local, rate)
    return RawCharacter(
        name, skeleton, (Take(name or "motion", frames, rate),), lambda take: motion,
        scale=1.0, up=up, roles=body.roles, skin=skin, source=_source(archive, shape, np.array(pelvis)),
        notes=tuple(notes),
    )  # fmt: skip


def _source(archive: Archive, shape: str | None, pelvis: NDArray) -> SmplSource:
    """Return what the file says of its body's shape, so that it can be written again."""
    betas = np.zeros(BETAS) if shape is None else np.asarray(archive.floats(shape), float)
    gender = archive.headers.get("gender")
    words = archive.strings("gender") if gender is not None and gender.dtype.kind in "US" and not gender.shape else ()
    return SmplSource((betas[0] if betas.ndim == 2 else betas).reshape(-1), words[0] if words else "neutral", pelvis)


def smpl_character(layout: str) -> RawCharacter:
    """Return the mean body of a model of the family (a key of `MODELS`) at rest, y up: a target to retarget onto."""
    body = MODELS[layout]
    source = SmplSource(np.zeros(BETAS), "neutral", np.array(body.pelvis))
    return RawCharacter(
        layout, rest_skeleton(body, rotation.IDENTITY), scale=1.0, up="y", roles=body.roles, source=source
    )


def _from_matrices(archive: Archive, key: str, matrices: NDArray) -> NDArray:
    """Return read-only quaternions (F, J, 4) of rotation matrices (F, J, 3, 3)."""
    size = np.einsum("...ij,...ij->...", matrices, matrices, dtype=float)
    if not np.abs(size - 3.0).max(initial=0.0) <= 0.06:
        raise archive.error("expected rotation matrices, got others", key)
    out = rotation.from_matrix(np.asarray(matrices, float))
    out.setflags(write=False)
    return out


def to_quaternions(vectors: NDArray) -> NDArray:
    """Return read-only quaternions (F, J, 4) of rotation vectors (F, J, 3) of any precision, in blocks."""
    from footplant.kernels import quaternion

    frames, joints = vectors.shape[:2]
    out = np.empty((frames, joints, 4))
    identity = rotation.identity(min(BLOCK, frames) * joints)
    identity.setflags(write=False)
    for at in range(0, frames, BLOCK):
        block = np.array(vectors[at : at + BLOCK], float, order="C").reshape(-1, 3)
        quaternion.displace(identity[: len(block)], block, out[at : at + BLOCK].reshape(-1, 4))
    out.setflags(write=False)
    return out


def rest_skeleton(body: Body, turn: NDArray) -> Skeleton:
    """Return the mean body at rest on the ground; turn: rotation (4,) from y up to the file's up axis."""
    ends, end_offsets = body.ends
    offsets = np.array(body.layout.offsets)
    skeleton = Skeleton(body.layout.names, body.layout.parents, offsets, None, ends, end_offsets)  # type: ignore[arg-type]
    offsets[0] = [0.0, -float(skeleton.rest_ends[:, 1].min()), 0.0]
    return Skeleton(skeleton.names, skeleton.parents, offsets, None, ends, end_offsets).turned(turn)  # type: ignore[arg-type]


def _join(archive: Archive, root: str) -> NDArray:
    """Return the parts of a pose concatenated, as far as a model of the family has them."""
    found = [root]
    for names in POSE_PARTS:
        part = archive.find(*(name for name in names if name))
        if part is not None:
            found.append(part)
    parts = [_flat(archive, part) for part in found]
    matrices = [archive.headers[part].shape[-2:] == (3, 3) for part in found]
    if all(matrices):
        return _join_matrices(archive, root, parts)
    if any(matrices):
        raise archive.error("expected rotation vectors in all parts, got matrices", found[matrices.index(True)])
    frames = len(parts[0])
    if any(len(part) != frames for part in parts):
        raise archive.error(
            f"expected parts of a pose of {frames} frames each, got {[len(part) for part in parts]}", root
        )
    for stop in range(len(parts), 1, -1):
        if sum(part.shape[1] for part in parts[:stop]) // 3 in BY_JOINTS:
            return np.concatenate(parts[:stop], axis=1)
    # hands without a face are SMPL-H's; for part counts that no model has, only the body is used
    widths = [part.shape[1] for part in parts]
    if widths[0] == 3 and widths[1] >= 63:
        return np.concatenate([parts[0], parts[1][:, :63]], axis=1)
    raise archive.error(f"expected a root of 3 numbers and a body of 63 or 69, got parts of {widths}", root)


def _join_matrices(archive: Archive, root: str, parts: list[NDArray]) -> NDArray:
    """Return parts that are rotation matrices as (F, J, 3, 3), as far as a model of the family has them."""
    if any(part.shape[1] % 9 or len(part) != len(parts[0]) for part in parts):
        raise archive.error(f"expected rotation matrices in all parts, got {[part.shape for part in parts]}", root)
    for stop in range(len(parts), 1, -1):
        whole = np.concatenate(parts[:stop], axis=1).reshape(len(parts[0]), -1, 3, 3)
        if whole.shape[1] in BY_JOINTS:
            return whole
    raise archive.error(f"expected a root and 21 or 23 joints of a body, got {[part.shape for part in parts]}", root)


def _flat(archive: Archive, name: str) -> NDArray:
    """Return a part of a pose as (frames, 3 · joints)."""
    array = archive.floats(name)
    if array.ndim < 2 or array.shape[0] == 0:
        raise archive.error(f"expected (frames, 3 × joints), got {archive.headers[name]}", name)
    array = array.reshape(len(array), -1)
    if array.shape[1] % 3:
        raise archive.error(f"expected (frames, 3 × joints), got {archive.headers[name]}", name)
    return array


def _read_translation(archive: Archive, frames: int, notes: list[str]) -> NDArray:
    """Return root translations (F, 3), metres; zeros if the file has none."""
    key = archive.find(*TRANSLATIONS)
    if key is None:
        notes.append("no translation is stated; the pelvis stays in place")
        return np.zeros((frames, 3))
    array = archive.floats(key)
    array = array.reshape(len(array), -1) if array.ndim > 1 else array
    if array.shape != (frames, 3):
        raise archive.error(f"expected a translation ({frames}, 3), got {archive.headers[key]}", key)
    if np.abs(array).max() > MAX_LENGTH:
        raise archive.error(f"expected metres, got {np.abs(array).max():g}", key)
    return np.asarray(array, float)
