"""VRM animations, .vrma: motions of human bones for any VRM character, read and written.

The file is glTF with a humanoid bone map (VRMC_vrm_animation). Only rotations of human bones and the translation of the
hips are used; expressions and gaze are not read, but preserved when an edited animation is written onto its own file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io import gltf
from footplant.io.character import RawCharacter
from footplant.io.gltf.bones import ANIMATION
from footplant.io.gltf.document import read_document
from footplant.io.gltf.rewrite import GltfSource
from footplant.io.gltf.write import write_new
from footplant.io.vrm.tpose import on_human_bones, stated_by
from footplant.io.writing import check_motions, clips_to_write
from footplant.skeleton import Character, Skeleton

extensions = (".vrma",)
unpacks, unpack_source, count_contents = gltf.unpacks, gltf.unpack_source, gltf.count_contents
holds = frozenset({"roles", "takes"})


def load(path: str | Path) -> tuple[RawCharacter, ...]:
    """Read the character of a .vrma file: its human bones, one take per animation."""
    document = read_document(path)
    if document.top.extension(ANIMATION) is None:
        document.notes.append(f"the file has no {ANIMATION} extension; it was read as plain glTF")
    return gltf.read_characters(document)


def save(path: str | Path, clip: Clip, *, keep_takes: bool | None = None, takes: Sequence[Clip] = ()) -> None:
    """Save a clip of a humanoid character as .vrma.

    The human bones are written with a T-pose as rest pose, so that any VRM character can use the motion. Other joints
    are dropped; their rotation is applied to the next human bone. An animation that came from a .vrma file keeps that
    file, with expressions and gaze. keep_takes and takes: see `gltf.save`.
    """
    clips = clips_to_write(clip, takes)
    check_motions(path, clip.character, clips)
    source = stated_by(clip)
    if source is not None and _is_own(source, clip.motion.skeleton):
        gltf.save(path, clip, keep_takes=keep_takes, takes=takes)
        return
    with np.errstate(all="ignore"):
        converted = [on_human_bones(take, path) for take in clips]
    place = min(clip.take, len(clips) - 1)
    first = converted[place]
    bones = {bone: {"node": joint} for bone, joint in first.joints.items()}
    character = Character(first.motion.skeleton, name=clip.character.name)
    # only the hips may be translated, so all takes are written on the bones of one
    posed = [
        replace(take, motion=replace(human.motion, skeleton=first.motion.skeleton), character=character)
        for take, human in zip(clips, converted, strict=True)
    ]
    extension = {ANIMATION: {"specVersion": "1.0", "humanoid": {"humanBones": bones}}}
    write_new(path, posed[place], "none", extension, posed)


def further_losses(clip: Clip) -> list[str]:
    """Return what a VRM animation cannot represent of a clip's character, one phrase each."""
    source = stated_by(clip)
    if source is not None and _is_own(source, clip.motion.skeleton):
        return []
    try:
        with np.errstate(all="ignore"):
            human = on_human_bones(replace(clip, motion=replace(clip.motion, offsets=None)), "")
    except FormatError:
        # it cannot be written at all, and `save` says why
        return []
    names = [name for name in clip.motion.skeleton.names if name not in human.motion.skeleton.names]
    if not names:
        return []
    shown = ", ".join(repr(name) for name in names[:5]) + (" …" if len(names) > 5 else "")
    moved = f", which displaces human bones by up to {1000.0 * human.lost:.3g} mm" if human.lost > 1e-5 else ""
    joints = "1 joint that is not" if len(names) == 1 else f"{len(names)} joints that are not"
    return [f"{joints} a human bone of VRM ({shown}){moved}"]


def _is_own(source: GltfSource, skeleton: Skeleton) -> bool:
    """Return whether a motion of that skeleton can be written onto its .vrma file: the bones are the same."""
    return (
        source.bones is not None
        and source.bones.extension == ANIMATION
        and source.joints.nodes[0] == source.bones.nodes.get("hips")
        and np.allclose(skeleton.offsets[1:], source.skeleton.offsets[1:], atol=1e-9)
    )
