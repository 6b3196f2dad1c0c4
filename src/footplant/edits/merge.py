"""Merge several characters into one clip, for file formats that hold a single skeleton."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from footplant import rotation
from footplant.clip import Clip, Take
from footplant.errors import MotionError
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton, Skin


def merge_clips(clips: Sequence[Clip], name: str = "scene") -> Clip:
    """Return one clip of all characters under a common root at the origin, with their meshes merged.

    The clips have the same frames and rate. Joint names get their clip's name as a prefix ("white 1/Hips"). The
    characters' own roots become bones with moving offsets.
    """
    if not clips:
        raise MotionError("expected at least one clip to merge, got none")
    frames, fps = len(clips[0].motion), clips[0].motion.fps
    for clip in clips:
        if len(clip.motion) != frames or clip.motion.fps != fps:
            raise MotionError(
                f"expected {frames} frames at {fps:g} fps as in {clips[0].name!r}, got {len(clip.motion)} at "
                f"{clip.motion.fps:g} in {clip.name!r}"
            )
    names, parents, rest, offsets = [name], [-1], [rotation.identity(1)], [np.zeros((1, 3))]
    turns = [np.broadcast_to(rotation.identity(1), (frames, 1, 4))]
    bones = [np.zeros((frames, 1, 3))]
    end_parents, end_offsets, starts = [], [], []
    for clip in clips:
        skeleton, start = clip.motion.skeleton, len(names)
        starts.append(start)
        names += [f"{clip.name}/{joint}" for joint in skeleton.names]
        parents += [0, *(skeleton.parents[1:] + start).tolist()]
        rest.append(skeleton.rest)
        offsets.append(skeleton.offsets)
        turns.append(clip.motion.rotations)
        moving = np.broadcast_to(skeleton.offsets, (frames, len(skeleton), 3)) if clip.motion.offsets is None else (
            clip.motion.offsets
        )  # fmt: skip
        bones.append(np.concatenate([clip.motion.root[:, None], moving[:, 1:]], axis=1))
        end_parents += (skeleton.end_parents + start).tolist()
        end_offsets.append(skeleton.end_offsets)
    whole = Skeleton(
        tuple(names), np.array(parents), np.concatenate(offsets), np.concatenate(rest), np.array(end_parents, np.int64),
        np.concatenate(end_offsets),
    )  # fmt: skip
    motion = Motion(whole, np.zeros((frames, 3)), np.concatenate(turns, axis=1), fps, np.concatenate(bones, axis=1))
    skins = [(clip.character.skin, start) for clip, start in zip(clips, starts, strict=True)]
    character = Character(whole, name=name, skin=_merged_skin([(s, n) for s, n in skins if s is not None], len(whole)))
    return Clip(motion, character, name=name, takes=(Take(name, frames, fps),))


def _merged_skin(skins: Sequence[tuple[Skin, int]], joints: int) -> Skin | None:
    """Return all skins as one; the integer beside each is the index of its first joint."""
    if not skins:
        return None
    most = max(skin.joints.shape[1] for skin, _ in skins)
    bind = np.tile(np.eye(4), (joints, 1, 1))
    vertices, faces, owners, weights, normals, count = [], [], [], [], [], 0
    for skin, start in skins:
        pad = ((0, 0), (0, most - skin.joints.shape[1]))
        vertices.append(skin.vertices)
        faces.append(skin.faces + count)
        owners.append(np.pad(skin.joints + start, pad, constant_values=start))
        weights.append(np.pad(skin.weights, pad))
        normals.append(skin.normals)
        bind[start : start + len(skin.inverse_bind)] = skin.inverse_bind
        count += len(skin.vertices)
    every = None if any(part is None for part in normals) else np.concatenate(normals)
    return Skin(
        np.concatenate(vertices), np.concatenate(faces), np.concatenate(owners), np.concatenate(weights), bind, every
    )
