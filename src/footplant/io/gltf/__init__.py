"""glTF 2.0 files, .glb and .gltf: characters with skins and animations, read and written.

glTF is in metres and y up by definition. Reading: `read_characters` gives one character per skeleton and one take per
animation. What glTF has and the model lacks (scale, STEP and CUBICSPLINE curves, key times) is folded into joint
offsets and frames so that world positions match other readers; see `scene` and `animation`. Writing: onto the
character's original file if it was loaded from one (`rewrite`), else a new file (`write`); always self-contained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io.character import RawCharacter
from footplant.io.gltf.animation import Animation, list_takes, moving_nodes, read_animations, read_motion
from footplant.io.gltf.bones import (
    ANIMATION,
    HumanBones,
    animation_notes,
    constraint_notes,
    human_curves,
    read_human_bones,
    stated_name,
)
from footplant.io.gltf.characters import find_characters, joints_of, read_skins
from footplant.io.gltf.document import Document, read_document
from footplant.io.gltf.rewrite import GltfSource, fits, rewrite
from footplant.io.gltf.scene import BONES, GltfScene, Joints, make_skeleton, read_scene
from footplant.io.gltf.skin import read_bind_matrices, read_skin
from footplant.io.gltf.write import write_new
from footplant.io.source import PackedSource
from footplant.io.writing import check_motions, clips_to_write
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".glb", ".gltf")
holds = frozenset({"skin", "takes", "moving bones"})
unpacks = "gltf"


def load(path: str | Path) -> tuple[RawCharacter, ...]:
    """Read every character of a .glb or .gltf file."""
    return read_characters(read_document(path))


def read_characters(document: Document) -> tuple[RawCharacter, ...]:
    """Return every character of a document, with its takes and its skin."""
    # overflow gives infinities, which `Skeleton` and `Motion` reject
    with np.errstate(all="ignore"):
        try:
            scene = read_scene(document)
            skins = read_skins(scene)
            for number, joints in enumerate(skins):
                read_bind_matrices(scene, number, len(joints))
            notes = list(document.notes)
            animations = read_animations(document, len(scene.entries))
            bones = read_human_bones(document, len(scene.entries), notes)
            notes += constraint_notes(scene.entries)
            if bones is not None and bones.extension == ANIMATION and bones.nodes:
                notes += animation_notes(document, bones, animations)
                animations = [human_curves(animation, bones) for animation in animations]
                characters = [joints_of(scene, bones.nodes.values())]
            else:
                declared = () if bones is None else bones.nodes.values()
                characters = find_characters(
                    scene, skins, lambda nodes: moving_nodes(scene, animations, nodes), notes, declared
                )
            return tuple(
                _raw_character(scene, joints, skins, tuple(animations), bones, list(notes)) for joints in characters
            )
        except (SkeletonError, MotionError) as error:
            raise FormatError(str(error), path=document.path) from error


def _raw_character(
    scene: GltfScene,
    joints: Joints,
    skins: list[list[int]],
    animations: tuple[Animation, ...],
    bones: HumanBones | None,
    notes: list[str],
) -> RawCharacter:
    document = scene.document
    skeleton = make_skeleton(scene, joints, notes)
    takes = list_takes(animations, len(skeleton))
    # a VRM animation may contain a preview mesh, which is not a character's skin
    is_animation = bones is not None and bones.extension == ANIMATION and bones.nodes
    skin = None if is_animation else read_skin(scene, joints, skeleton, skins, notes)
    own_bones = bones if bones is not None and bones.nodes and set(bones.nodes.values()) <= set(joints.nodes) else None

    source = GltfSource(scene, joints, skeleton, animations, bones=own_bones)
    found: dict[int, tuple[str, ...]] = {}

    def read_take(number: int) -> Motion:
        with np.errstate(all="ignore"):
            try:
                take_notes: list[str] = []
                motion = read_motion(scene, joints, skeleton, animations[number], take_notes)
                found[number] = tuple(take_notes)
                if motion.skeleton is not skeleton:
                    source.take_skeletons.append(motion.skeleton)
                return motion
            except MotionError as error:
                raise FormatError(str(error), path=document.path, where=f"animations[{number}]") from error

    return RawCharacter(
        name=(stated_name(document, own_bones) if own_bones else "") or _character_name(scene, joints),
        skeleton=skeleton,
        takes=takes,
        read_take=read_take,
        take_notes=lambda number: found.get(number, ()),
        scale=1.0,
        up="y",
        facing=source.facing if own_bones else None if bones is None else bones.facing({}),
        skin=skin,
        roles=None if own_bones is None else _roles(own_bones, joints, skeleton),
        source=source,
        contents=contents_of(document),
        notes=tuple(notes),
    )


def contents_of(document: Document) -> dict[str, int]:
    """Return what a document holds, counted; display bones that Footplant adds are no mesh."""
    meshes = [mesh for mesh in _entries(document.json, "meshes") if BONES not in _table(mesh, "extras")]
    targets = [[_length(part, "targets") for part in _entries(mesh, "primitives")] for mesh in meshes]
    return {
        "meshes": len(meshes),
        "skins": min(_length(document.json, "skins"), 1) if meshes else 0,
        "materials": _length(document.json, "materials") if meshes else 0,
        "textures": _length(document.json, "images"),
        "morph targets": sum(max(counts, default=0) for counts in targets),
        "cameras": _length(document.json, "cameras"),
        "lights": _length(_table(_table(document.json, "extensions"), "KHR_lights_punctual"), "lights"),
        "takes": _length(document.json, "animations"),
    }


def _length(entry: dict, key: str) -> int:
    """Return the length of a list, 0 for anything else: unread parts of a file are not checked."""
    value = entry.get(key)
    return len(value) if isinstance(value, list) else 0


def _entries(entry: dict, key: str) -> list[dict]:
    value = entry.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _table(entry: dict, key: str) -> dict:
    value = entry.get(key)
    return value if isinstance(value, dict) else {}


def count_contents(path: str | Path) -> dict[str, int]:
    """Return what a file holds, counted: see `io.contents`."""
    return contents_of(read_document(path))


def _roles(bones: HumanBones, joints: Joints, skeleton: Skeleton) -> dict[str, tuple[str, ...]]:
    """Return role → joint names, parents first."""
    number = {node: joint for joint, node in enumerate(joints.nodes)}
    return {
        role: tuple(skeleton.names[joint] for joint in sorted(number[node] for node in nodes))
        for role, nodes in bones.roles.items()
    }


def _character_name(scene: GltfScene, joints: Joints) -> str:
    """Return the name of the node above the character (its armature), or "": a bone's name would be misleading."""
    top = next(node for node in joints.nodes if node >= 0)
    above = scene.parents[top]
    return scene.entries[above].text("name", "") if above >= 0 and joints.nodes[0] >= 0 else ""


def save(
    path: str | Path,
    clip: Clip,
    *,
    keep_takes: bool | None = None,
    mesh: str = "auto",
    takes: Sequence[Clip] = (),
    made_for: Mapping[str, Any] | None = None,
) -> None:
    """Save a clip as .glb or .gltf.

    A character that was loaded from glTF keeps its file: meshes, materials, morph targets, extensions and all buffer
    bytes are preserved, and the motion becomes an animation. An unmodified clip is copied byte for byte.

    keep_takes: whether the file's other animations are kept. By default they are if the motion is an edit of one of
        them (which it replaces), and not if it comes from elsewhere.
    mesh: "auto" writes the character's own mesh, or octahedral bones for display if it has none; "bones" and "none"
        write a new file with bones only or without a mesh.
    takes: every take of the character, as `footplant.io.load_takes` yields them; the clip replaces its own take.
    made_for: JSON-ready data that the clip's animation carries, about the ground that it was made for: see
        `footplant.io.ground_files.MadeFor`.
    """
    if mesh not in ("auto", "bones", "none"):
        raise FormatError(f"expected mesh to be 'auto', 'bones' or 'none', got {mesh!r}", path=path)
    source = clip.character.source
    own = mesh == "auto" and isinstance(source, GltfSource) and fits(source, clip.motion.skeleton)
    clips = clips_to_write(clip, takes, False if own else keep_takes)
    check_motions(path, clip.character, clips)
    if own:
        rewrite(path, clips, source, keep_takes, [made_for if each is clip else None for each in clips])
    else:
        write_new(path, clip, mesh, takes=clips, made_for=made_for)


def unpack_source(packed: PackedSource, skeleton: Skeleton) -> GltfSource | None:
    """Return the source that `GltfSource.pack` packed; None if it does not match the skeleton."""
    # this folder does not exist: a packed file is self-contained and must not open any other
    for character in read_characters(Document(Path("packed source", f"source{packed.extension}"), packed.data)):
        if fits(character.source, skeleton):
            for take in range(len(character.takes)):
                # reading a take registers its bone offsets with the source, if they differ from the rest pose
                character.read_take(take)  # type: ignore[misc]
            return character.source
    return None
