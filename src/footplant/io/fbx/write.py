"""Write FBX: binary 7.4, centimetres, y up, z forward. Experimental: not validated with Autodesk's programs.

The files hold the skeleton in its rest pose, takes, and the meshes with weights, materials, textures and morph
targets: see `write_scene` (joints and curves), `write_skin` and `write_looks` (meshes) and `write_document` (header and
settings).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io.conversion import metres_per_unit
from footplant.io.fbx.records import record, write_records
from footplant.io.fbx.write_document import definitions, documents, head, list_takes, settings, ticks
from footplant.io.fbx.write_scene import FbxObjects, add_joints, add_motion, make_names, unique_name
from footplant.io.fbx.write_skin import add_skin
from footplant.io.source import with_looks
from footplant.io.writing import check_motions, clips_to_write, generator
from footplant.looks import scaled_looks
from footplant.skeleton import Skin

MAX_LENGTH = 1e9
"""File units. Larger lengths are treated as damage; keys are 32-bit floats."""


def save(
    path: str | Path,
    clip: Clip,
    *,
    units: str | float = "cm",
    mesh: bool = True,
    keep_takes: bool | None = None,
    takes: Sequence[Clip] = (),
) -> None:
    """Save a clip: the skeleton with its end sites, the motion as a take, and the character's mesh if it has one.

    units: "cm", as in nearly all FBX files, another of `conversion.UNITS`, or metres per unit; the file states it.
    mesh: False omits the mesh. keep_takes: whether the other animations of the character's own file are written too; by
    default they are if the motion is an edit of one of them. takes: every take of the character, as
    `footplant.io.load_takes` yields them; the clip replaces its own. Equal clips give equal bytes. Keys are 32-bit
    floats by definition: positions within 100 m of the origin are accurate to 1e-5 m.
    """
    scale = metres_per_unit(units, path)
    clips = clips_to_write(clip, takes, keep_takes)
    check_motions(path, clip.character, clips)
    skin = with_looks(clip.character).skin if mesh else None
    largest = max(float(np.abs(array).max(initial=0.0)) for one in clips for array in _lengths(one, skin))
    if not largest <= MAX_LENGTH * scale:
        raise FormatError(f"expected lengths up to {MAX_LENGTH:g} units of {scale:g} m, got {largest:g} m", path=path)
    motion = clip.motion.scaled(1.0 / scale)
    names = make_names(motion.skeleton, clip.character.name, clip.name)
    scene = FbxObjects()
    bones = add_joints(scene, motion.skeleton, names)
    if skin is not None and len(skin.vertices) and len(skin.faces):
        add_skin(scene, _scaled(skin, 1.0 / scale), motion.skeleton, bones, names)
    spans: dict[str, np.int64] = {}
    for one in clips:
        moved = one.motion.scaled(1.0 / scale)
        title = unique_name(one.name or names.take, spans)
        add_motion(scene, moved, bones, title, scale, motion.skeleton)
        spans[title] = ticks(len(moved), moved.fps)[-1]
    first, last = next(iter(spans.items()))
    top = [
        *head(generator()),
        settings(100.0 * scale, motion.fps, last),
        *documents(first),
        definitions(scene.objects),
        record("Objects", inside=scene.objects),
        record("Connections", inside=scene.connections),
        list_takes(spans),
    ]
    write_records(path, top)


def _lengths(clip: Clip, skin: Skin | None) -> list:
    """Return all arrays of the clip that hold lengths."""
    skeleton = clip.motion.skeleton
    lengths = [skeleton.offsets, skeleton.end_offsets, clip.motion.root]
    lengths += [] if clip.motion.offsets is None else [clip.motion.offsets]
    return lengths if skin is None else [*lengths, skin.vertices]


def _scaled(skin: Skin, factor: float) -> Skin:
    inverse_bind = np.array(skin.inverse_bind)
    inverse_bind[:, :3, 3] *= factor
    looks = None if skin.looks is None else scaled_looks(skin.looks, factor)
    return replace(skin, vertices=skin.vertices * factor, inverse_bind=inverse_bind, looks=looks)
