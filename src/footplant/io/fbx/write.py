"""Write FBX: binary 7.4, centimetres, y up, z forward. Experimental: not validated with Autodesk's programs.

The files hold the skeleton in its rest pose, one take, and the mesh with its weights: see `write_scene` (joints and
curves), `write_skin` (mesh) and `write_document` (header and settings).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io.conversion import metres_per_unit
from footplant.io.fbx.records import record, write_records
from footplant.io.fbx.write_document import definitions, documents, head, settings, takes, ticks
from footplant.io.fbx.write_scene import FbxObjects, add_joints, add_motion, make_names
from footplant.io.fbx.write_skin import add_skin
from footplant.io.writing import check_motions, generator
from footplant.skeleton import Skin

MAX_LENGTH = 1e9
"""File units. Larger lengths are treated as damage; keys are 32-bit floats."""


def save(path: str | Path, clip: Clip, *, units: str | float = "cm", mesh: bool = True) -> None:
    """Save a clip: the skeleton with its end sites, the motion as one take, and the character's mesh if it has one.

    units: "cm", as in nearly all FBX files, another of `conversion.UNITS`, or metres per unit; the file states it.
    mesh: False omits the mesh. Equal clips give equal bytes. Keys are 32-bit floats by definition: positions within
    100 m of the origin are accurate to 1e-5 m.
    """
    scale = metres_per_unit(units, path)
    check_motions(path, clip.character, [clip])
    skin = clip.character.skin if mesh else None
    largest = max(float(np.abs(array).max(initial=0.0)) for array in _lengths(clip, skin))
    if not largest <= MAX_LENGTH * scale:
        raise FormatError(f"expected lengths up to {MAX_LENGTH:g} units of {scale:g} m, got {largest:g} m", path=path)
    motion = clip.motion.scaled(1.0 / scale)
    names = make_names(motion.skeleton, clip.character.name, clip.name)
    scene = FbxObjects()
    bones = add_joints(scene, motion.skeleton, names)
    if skin is not None and len(skin.vertices) and len(skin.faces):
        add_skin(scene, _scaled(skin, 1.0 / scale), motion.skeleton, bones, names)
    add_motion(scene, motion, bones, names.take, scale)
    last = ticks(len(motion), motion.fps)[-1]
    top = [
        *head(generator()),
        settings(100.0 * scale, motion.fps, last),
        *documents(names.take),
        definitions(scene.objects),
        record("Objects", inside=scene.objects),
        record("Connections", inside=scene.connections),
        takes(names.take, last),
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
    return replace(skin, vertices=skin.vertices * factor, inverse_bind=inverse_bind)
