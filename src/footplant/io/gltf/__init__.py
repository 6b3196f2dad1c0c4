"""glTF 2.0, .glb and .gltf: characters with skins and animations, in and out.

Metres and y up by definition. Reading: `read_figures` (a figure per skeleton, a take per animation). What glTF has and
our model has not (scale, STEP and CUBICSPLINE curves, key times) is folded into offsets and frames so that joints stand
where other readers put them; see `scene` and `animation`. Writing: onto the character's own file where it
came from one (`rewrite`), else a new file (`write`); always one self-contained file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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
from footplant.io.gltf.characters import figure_of, find_figures, read_skins
from footplant.io.gltf.document import Document, read_document
from footplant.io.gltf.pack import Packer
from footplant.io.gltf.rewrite import GltfSource, can_copy, fits, rewrite
from footplant.io.gltf.scene import Joints, Scene, make_skeleton, read_scene
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
    """Read every figure of a .glb or .gltf file."""
    return read_figures(read_document(path))


def read_figures(document: Document) -> tuple[RawCharacter, ...]:
    """Every figure of a document, with its takes and its skin."""
    # numbers that overflow end as infinities, which the checks of skeleton and motion refuse
    with np.errstate(all="ignore"):
        try:
            scene = read_scene(document)
            skins = read_skins(scene)
            for number, joints in enumerate(skins):
                read_bind_matrices(scene, number, len(joints))
            notes = list(document.notes)
            animations = read_animations(document, len(scene.entries))
            animations = _readable(animations, notes)
            bones = read_human_bones(document, len(scene.entries), notes)
            notes += constraint_notes(scene.entries)
            if bones is not None and bones.extension == ANIMATION and bones.nodes:
                notes += animation_notes(document, bones, animations)
                animations = [human_curves(animation, bones) for animation in animations]
                figures = [figure_of(scene, bones.nodes.values())]
            else:
                declared = () if bones is None else bones.nodes.values()
                figures = find_figures(
                    scene, skins, lambda nodes: moving_nodes(scene, animations, nodes), notes, declared
                )
            return tuple(_figure(scene, joints, skins, tuple(animations), bones, list(notes)) for joints in figures)
        except (SkeletonError, MotionError) as error:
            raise FormatError(str(error), path=document.path) from error


def _readable(animations: list[Animation], notes: list[str]) -> list[Animation]:
    if not animations or None not in animations[0].document.buffers:
        return animations
    kept = [a for a in animations if not any(a.document.compressed(n) for c in a.channels for n in (c.input, c.output))]
    if len(kept) < len(animations):
        notes.append(f"{len(animations) - len(kept)} animations are compressed with meshopt, which is not read")
    return kept


def _figure(
    scene: Scene,
    joints: Joints,
    skins: list[list[int]],
    animations: tuple[Animation, ...],
    bones: HumanBones | None,
    notes: list[str],
) -> RawCharacter:
    document = scene.document
    skeleton = make_skeleton(scene, joints, notes)
    takes = list_takes(animations, len(skeleton))
    # the file of a VRM animation may hold a mesh to look at, but it is no character
    bare = bones is not None and bones.extension == ANIMATION and bones.nodes
    skin = None if bare else read_skin(scene, joints, skeleton, skins, notes)
    whose = bones if bones is not None and bones.nodes and set(bones.nodes.values()) <= set(joints.nodes) else None

    source = GltfSource(scene, joints, skeleton, animations, bones=whose)
    found: dict[int, tuple[str, ...]] = {}

    def read_take(number: int) -> Motion:
        with np.errstate(all="ignore"):
            try:
                odd: list[str] = []
                motion = read_motion(scene, joints, skeleton, animations[number], odd)
                found[number] = tuple(odd)
                if motion.skeleton is not skeleton:
                    source.take_skeletons.append(motion.skeleton)
                return motion
            except MotionError as error:
                raise FormatError(str(error), path=document.path, where=f"animations[{number}]") from error

    return RawCharacter(
        name=(stated_name(document, whose) if whose else "") or _figure_name(scene, joints),
        skeleton=skeleton,
        takes=takes,
        read_take=read_take,
        take_notes=lambda number: found.get(number, ()),
        scale=1.0,
        up="y",
        facing=None if bones is None else bones.facing,
        skin=skin,
        roles=None if whose is None else _roles(whose, joints, skeleton),
        source=source,
        notes=tuple(notes),
    )


def _roles(bones: HumanBones, joints: Joints, skeleton: Skeleton) -> dict[str, tuple[str, ...]]:
    """Role → joint names, parents first."""
    number = {node: joint for joint, node in enumerate(joints.nodes)}
    return {
        role: tuple(skeleton.names[joint] for joint in sorted(number[node] for node in nodes))
        for role, nodes in bones.roles.items()
    }


def _figure_name(scene: Scene, joints: Joints) -> str:
    """The name of the node above the figure (its armature), else nothing: the file's name is better than a bone's."""
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
) -> None:
    """Write a clip as .glb or .gltf.

    A character that was loaded from glTF keeps its file: meshes, materials, morph targets, extensions and all bytes of
    its buffers stay as they were, and the motion becomes an animation. A clip that nothing changed is copied byte for
    byte. keep_takes: whether the file's other animations stay; by default they do when the motion is an edit of one of
    them (which it replaces) and go when it came from elsewhere. mesh: "auto" writes the character's own mesh, or bones
    to look at when it has none; "bones" and "none" write a new file with only that. takes: every take of the clip's
    figure, as `footplant.io.load_takes` gives them, to be written beside the clip, which stands for its own.
    """
    if mesh not in ("auto", "bones", "none"):
        raise FormatError(f"expected mesh to be 'auto', 'bones' or 'none', got {mesh!r}", path=path)
    clips = clips_to_write(clip, takes)
    check_motions(path, clip.character, clips)
    source = clip.character.source
    if mesh == "auto" and isinstance(source, GltfSource) and fits(source, clip.motion.skeleton):
        rewrite(path, clips, source, keep_takes)
    else:
        write_new(path, clip, mesh, takes=clips)


def pack_source(source: object) -> PackedSource | None:
    """A glTF character's own file as one self-contained GLB; None for what is not ours."""
    if not isinstance(source, GltfSource):
        return None
    document = source.document
    extension = document.path.suffix.lower()
    # packed as if for another folder, so that nothing is left behind
    packer = Packer(document.path.parent / "packed" / "source.glb", document)
    data = document.data if can_copy(document, packer) else packer.to_bytes()
    keys = {"materials": "materials", "images": "pictures", "cameras": "cameras"}
    carries = [words for key, words in keys.items() if document.json.get(key)]
    parts = [part for mesh in document.top.objects("meshes") for part in mesh.objects("primitives")]
    if any("targets" in part.data for part in parts):
        carries.append("morph targets")
    return PackedSource("gltf", extension if extension in (".vrm", ".vrma") else ".glb", data, tuple(carries))


def unpack_source(packed: PackedSource, skeleton: Skeleton) -> GltfSource | None:
    """The source that `pack_source` packed, for a figure of that skeleton; None where it does not fit."""
    # a folder of no files: a packed file needs none beside it, and must not reach for any
    for figure in read_figures(Document(Path("packed source", f"source{packed.extension}"), packed.data)):
        if fits(figure.source, skeleton):
            for take in range(len(figure.takes)):
                # some takes hold joints at other places: the source learns of them as they are read
                figure.read_take(take)  # type: ignore[misc]
            return figure.source
    return None
