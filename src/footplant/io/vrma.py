"""VRM animations, .vrma: motions of human bones for any VRM character, in and out.

The file is glTF with a map of human bones (VRMC_vrm_animation). Only turns of human bones and the way of the hips
count; expressions and gaze are not read, and kept when an edited animation is written back onto its own file.
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
unpacks, unpack_source = gltf.unpacks, gltf.unpack_source
holds = frozenset({"roles", "takes"})


def load(path: str | Path) -> tuple[RawCharacter, ...]:
    """Read the figure of a .vrma file: its human bones, a take per animation."""
    document = read_document(path)
    if document.top.extension(ANIMATION) is None:
        document.notes.append(f"the file has no extension {ANIMATION}; it was read as plain glTF")
    return gltf.read_figures(document)


def save(path: str | Path, clip: Clip, *, keep_takes: bool | None = None, takes: Sequence[Clip] = ()) -> None:
    """Write a clip of a human-like figure as .vrma.

    The figure's human bones are written, at rest in a T-pose, so that any VRM character can take the motion over. Other
    joints are lost: what they turn is given to the next human bone. An animation that came from a .vrma file keeps that
    file, with expressions and gaze. keep_takes and takes: see `gltf.save`.
    """
    clips = clips_to_write(clip, takes)
    check_motions(path, clip.character, clips)
    source = stated_by(clip)
    if source is not None and _is_own(source, clip.motion.skeleton):
        gltf.save(path, clip, keep_takes=keep_takes, takes=takes)
        return
    with np.errstate(all="ignore"):
        told = [on_human_bones(take, path) for take in clips]
    place = min(clip.take, len(clips) - 1)
    first = told[place]
    bones = {bone: {"node": joint} for bone, joint in first.joints.items()}
    figure = Character(first.motion.skeleton, name=clip.character.name)
    # nothing but the hips may move on its bone, so all takes are told on the bones of one
    posed = [
        replace(take, motion=replace(human.motion, skeleton=first.motion.skeleton), character=figure)
        for take, human in zip(clips, told, strict=True)
    ]
    extension = {ANIMATION: {"specVersion": "1.0", "humanoid": {"humanBones": bones}}}
    write_new(path, posed[place], "none", extension, posed)


def further_losses(clip: Clip) -> list[str]:
    """What VRM animations cannot say of a clip's figure, one phrase each."""
    source = stated_by(clip)
    if source is not None and _is_own(source, clip.motion.skeleton):
        return []
    try:
        with np.errstate(all="ignore"):
            human = on_human_bones(replace(clip, motion=replace(clip.motion, offsets=None)), "")
    except FormatError:
        # it will not be written at all, and saving says why
        return []
    names = [name for name in clip.motion.skeleton.names if name not in human.motion.skeleton.names]
    if not names:
        return []
    shown = ", ".join(repr(name) for name in names[:5]) + (" …" if len(names) > 5 else "")
    moved = f", which moves human bones by up to {1000.0 * human.lost:.3g} mm" if human.lost > 1e-5 else ""
    joints = "1 joint that is" if len(names) == 1 else f"{len(names)} joints that are"
    return [f"{joints} no human bone of VRM ({shown}){moved}"]


def _is_own(source: GltfSource, skeleton: Skeleton) -> bool:
    """Whether a motion of that skeleton can be written onto the .vrma file it came from: its bones are the same."""
    return (
        source.bones is not None
        and source.bones.extension == ANIMATION
        and source.joints.nodes[0] == source.bones.nodes.get("hips")
        and np.allclose(skeleton.offsets[1:], source.skeleton.offsets[1:], atol=1e-9)
    )
