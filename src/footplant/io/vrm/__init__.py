"""VRM 0.x and 1.0 files, .vrm: humanoid characters, read and written, with the file's own humanoid bone map.

VRM is a profile of glTF, read and written by `io.gltf`, which also reads bone maps in .glb files. This module adds what
only VRM files need: a motion saved onto a loaded character keeps its file (meshes, materials, expressions, spring
bones, metadata) and adds an animation; any other humanoid character becomes a VRM 1.0 file in a T-pose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io import gltf
from footplant.io.character import RawCharacter
from footplant.io.gltf.bones import MODEL_0, MODEL_1
from footplant.io.gltf.document import Document, read_document
from footplant.io.gltf.rewrite import GltfSource, fits
from footplant.io.source import with_looks
from footplant.io.vrm.write import write_character
from footplant.io.writing import check_motions, clips_to_write

extensions = (".vrm",)
unpacks, unpack_source, count_contents = gltf.unpacks, gltf.unpack_source, gltf.count_contents
holds = frozenset({"skin", "takes", "moving bones", "roles"})


def load(path: str | Path) -> tuple[RawCharacter, ...]:
    """Read every character of a .vrm file."""
    document = read_document(path)
    if not _is_vrm(document):
        document.notes.append("the file has no VRM extension; it was read as plain glTF")
    return gltf.read_characters(document)


def _is_vrm(document: Document) -> bool:
    """Return whether a file declares a VRM character."""
    return any(document.top.extension(name) is not None for name in (MODEL_0, MODEL_1))


def save(
    path: str | Path,
    clip: Clip,
    *,
    keep_takes: bool | None = None,
    mesh: str = "auto",
    takes: Sequence[Clip] = (),
    meta: Mapping[str, Any] | None = None,
) -> None:
    """Save a clip as .vrm.

    A character that was loaded from VRM keeps its file and version, and the motion becomes an animation. Any other is
    written as VRM 1.0 if it has the joints that VRM requires. keep_takes, mesh and takes: see `gltf.save`. meta:
    metadata of a new file, overriding the defaults (name: the character's, authors: ["unknown"], licenseUrl: the VRM
    Public License with nothing permitted beyond its default).
    """
    source = clip.character.source
    if (
        mesh == "auto"
        and isinstance(source, GltfSource)
        and fits(source, clip.motion.skeleton)
        and _is_vrm(source.document)
    ):
        if meta is not None:
            raise FormatError("expected no meta for a character that has its own VRM file, got some", path=path)
        gltf.save(path, clip, keep_takes=keep_takes, takes=takes)
        return
    if mesh not in ("auto", "bones", "none"):
        raise FormatError(f"expected mesh to be 'auto', 'bones' or 'none', got {mesh!r}", path=path)
    clips = clips_to_write(clip, takes, keep_takes)
    check_motions(path, clip.character, clips)
    if mesh == "auto":
        clip = replace(clip, character=with_looks(clip.character))
    with np.errstate(all="ignore"):
        write_character(path, clip, clips, mesh, meta or {})
