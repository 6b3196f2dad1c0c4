"""Write a motion onto a loaded glTF character: everything else in the file is preserved, only animations are written.

Joint rotations and offsets are converted back to the nodes' own frames, through the scales and static nodes that
reading folded away (see `scene`), so that other readers put every joint where our forward kinematics does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.atomic import write_atomic
from footplant.clip import Clip, Take
from footplant.io.file_space import in_file_space
from footplant.io.gltf.animation import SETTINGS, Animation, list_takes, read_motion
from footplant.io.gltf.bones import ANIMATION, MODEL_0, HumanBones
from footplant.io.gltf.document import Document
from footplant.io.gltf.pack import Packer
from footplant.io.gltf.read_looks import read_looks
from footplant.io.gltf.scene import MADE_FOR, GltfScene, Joints, fold, mirror_fix
from footplant.io.source import PackedSource
from footplant.looks import Looks
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Skeleton

_TURN = "turned to face +z"
"""Name of the node that turns a VRM 0.x character in a .glb file."""


@dataclass(frozen=True, eq=False)
class GltfSource:
    """The file a character was loaded from, kept in `Character.source` so that motions can be written onto it."""

    scene: GltfScene
    joints: Joints
    skeleton: Skeleton
    """In file units and axes."""
    animations: tuple[Animation, ...]
    """The animations of the character's takes, in order."""
    take_skeletons: list[Skeleton] = field(default_factory=list)
    """Skeletons of the takes read so far whose bone offsets differ from the rest pose."""
    bones: HumanBones | None = None
    """The humanoid bone map, if the file states one (VRM): then its rest pose is a T-pose."""

    @property
    def document(self) -> Document:
        """The file."""
        return self.scene.document

    @property
    def facing(self) -> str | None:
        """The forward axis of the character at rest, if the file states its human bones."""
        if self.bones is None:
            return None
        return self.bones.facing(dict(zip(self.joints.nodes, self.skeleton.rest_world[0], strict=True)))

    @property
    def takes(self) -> tuple[Take, ...]:
        """Names, lengths and rates of the character's takes."""
        return list_takes(self.animations, len(self.skeleton))

    def read_take(self, number: int) -> Motion:
        """Return one of the takes, in file units and axes."""
        return read_motion(self.scene, self.joints, self.skeleton, self.animations[number], [])

    def read_looks(self) -> Looks | None:
        """Return the meshes, materials, textures and morph targets of the skin, in file units and axes."""
        return read_looks(self.scene, self.joints, self.skeleton)

    def pack(self) -> PackedSource:
        """Return the file as one self-contained GLB."""
        document = self.document
        extension = document.path.suffix.lower()
        # packed as if for another folder, so that all external files are embedded
        packer = Packer(document.path.parent / "packed" / "source.glb", document)
        data = document.data if can_copy(document, packer) else packer.to_bytes()
        keys = {"materials": "materials", "images": "pictures", "cameras": "cameras"}
        carries = [words for key, words in keys.items() if document.json.get(key)]
        parts = [part for mesh in document.top.objects("meshes") for part in mesh.objects("primitives")]
        if any("targets" in part.data for part in parts):
            carries.append("morph targets")
        return PackedSource("gltf", extension if extension in (".vrm", ".vrma") else ".glb", data, tuple(carries))


@dataclass(frozen=True, eq=False)
class NodeCurves:
    """Transforms of one node at every frame."""

    node: int
    rotations: NDArray
    """(F, 4) quaternions (w, x, y, z), consecutive ones in the same hemisphere."""
    translations: NDArray | None
    """(F, 3), or None if the node's translation is not animated."""


def fits(source: GltfSource, skeleton: Skeleton) -> bool:
    """Return whether a motion of that skeleton can be written onto the source's nodes: same joints in the same tree."""
    return skeleton.names == source.skeleton.names and np.array_equal(skeleton.parents, source.skeleton.parents)


def rewrite(
    path: str | Path,
    clips: Sequence[Clip],
    source: GltfSource,
    keep_takes: bool | None,
    made_for: Sequence[Mapping[str, Any] | None] | None = None,
) -> None:
    """Write the motions of clips, takes of one character, onto the nodes of its file. made_for: of each clip."""
    skeletons = [source.skeleton, *source.take_skeletons]
    motions = [in_file_space(clip.motion, clip.character.skeleton, skeletons) for clip in clips]
    own = bool(clips[0].takes) and all(clip.takes == source.takes for clip in clips)
    keep = own if keep_takes is None else keep_takes
    originals = [source.animations[clip.take] if own else None for clip in clips]
    packer = Packer(path, source.document)
    existing = list(packer.json.get("animations") or [])
    # several motions for a file without animations are never treated as its rest pose
    unchanged = [
        (original is not None or len(clips) == 1) and _is_unchanged(motion, source, original)
        for motion, original in zip(motions, originals, strict=True)
    ]
    stays = keep or len(existing) <= 1 or {id(original) for original in originals} >= {*map(id, source.animations)}
    turn = _must_turn(packer.path, source)
    if all(unchanged) and stays and not turn and can_copy(source.document, packer):
        write_atomic(path, source.document.data)
        return
    written, new = list(existing) if keep or (all(unchanged) and not own) else [], []
    grounds = made_for or [None] * len(clips)
    for clip, motion, original, same, ground in zip(clips, motions, originals, unchanged, grounds, strict=True):
        if same:
            written += [existing[original.number]] if original is not None and not keep else []
            continue
        before = None if original is None else existing[original.number]
        animation = _with_made_for(_animation(packer, clip, motion, source, original, before), ground)
        if keep and original is not None:
            written[original.number] = animation
        else:
            new.append(animation)
    # new ones first: viewers, and our own reader, open a file with its first animation
    names = {animation["name"] for animation in new}
    written = new + [animation for animation in written if animation.get("name") not in names]
    if written:
        packer.json["animations"] = written
    if not all(unchanged):
        free_matrices(packer, source)
    if turn:
        _turn_scenes(packer)
    packer.write()


def _must_turn(path: Path, source: GltfSource) -> bool:
    """Return whether a scene must be turned: VRM 0.x characters face −z in .vrm files, and +z in all others."""
    if source.bones is None or source.bones.extension != MODEL_0:
        return False
    return (source.facing == "-z") != (path.suffix.lower() == ".vrm")


def _turn_scenes(packer: Packer) -> None:
    """Turn everything by half a turn about y, by a node above each scene's roots; remove that node if it is there."""
    nodes = packer.json["nodes"]
    scenes = packer.json.setdefault("scenes", [])
    if not scenes:
        below = {child for node in nodes for child in node.get("children", ())}
        scenes.append({"nodes": [number for number in range(len(nodes)) if number not in below]})
        packer.json.setdefault("scene", 0)
    above: dict[int, int] = {}
    for scene in scenes:
        roots = scene.get("nodes") or []
        if len(roots) == 1 and nodes[roots[0]].get("name") == _TURN:
            # the node stays, alone, as others are known by their numbers
            scene["nodes"] = nodes[roots[0]].pop("children", [])
            continue
        free = [root for root in roots if root not in above]
        if free:
            turned = packer.append("nodes", {"name": _TURN, "rotation": [0.0, 1.0, 0.0, 0.0], "children": free})
            above |= dict.fromkeys(free, turned)
        scene["nodes"] = sorted({above[root] for root in roots})


def _animation(
    packer: Packer, clip: Clip, motion: Motion, source: GltfSource, original: Animation | None, before: Any
) -> dict[str, Any]:
    """Return an animation of a motion; one that replaces another keeps what the motion does not define."""
    same_length = original is not None and len(motion) == original.frames and motion.fps == original.fps
    start = original.span[0] if original is not None and same_length else 0.0
    animation = make_animation(packer, _written_curves(source, motion), start + np.arange(len(motion)) / motion.fps)
    animation["name"] = clip.name
    if original is None:
        return animation
    if same_length:
        _keep_other_channels(animation, before, set(source.joints.nodes))
    animation = {**before, **animation}
    if "name" not in before and clip.name == original.name:
        animation.pop("name")
    return animation


def _with_made_for(animation: dict[str, Any], made_for: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return an animation that says what it was made for; what the one before it was made for is forgotten."""
    before = animation.get("extras")
    extras = {key: value for key, value in before.items() if key != MADE_FOR} if isinstance(before, dict) else {}
    if made_for:
        extras[MADE_FOR] = made_for
    if extras or isinstance(before, dict):
        animation["extras"] = extras
    return animation


def _is_unchanged(motion: Motion, source: GltfSource, original: Animation | None) -> bool:
    """Return whether the motion is bit for bit the one in the file."""
    if original is not None:
        read = read_motion(source.scene, source.joints, source.skeleton, original, [])
    elif source.animations:
        return False
    else:
        read = rest_motion(source.skeleton)
    if len(read) != len(motion) or (original is not None and read.fps != motion.fps):
        return False
    pairs = [(motion.root, read.root), (motion.rotations, read.rotations), (_bones(motion), _bones(read))]
    return all(np.array_equal(a, b) for a, b in pairs)


def _bones(motion: Motion) -> NDArray:
    """Return bone offsets (F or 1, J − 1, 3), without the root."""
    return (motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets)[:, 1:]


def can_copy(document: Document, packer: Packer) -> bool:
    """Return whether the file's bytes can be copied: same container, and no external files that would be lost."""
    if document.binary != packer.binary or document.upgraded:
        return False
    entries = [entry for key in ("buffers", "images") for entry in (document.json.get(key) or [])]
    uris = [entry.get("uri") for entry in entries]
    return not any(isinstance(uri, str) and packer.is_unreachable(uri) for uri in uris)


def node_curves(source: GltfSource, motion: Motion) -> list[NodeCurves]:
    """Return the node transforms that reproduce a motion given in the file's own space."""
    scene, joints = source.scene, source.joints
    bones = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    turns, offsets = [], []
    synthetic = joints.nodes[0] < 0
    for joint, node in enumerate(joints.nodes):
        turn, offset, base = motion.rotations[:, joint], bones[:, joint], joints.bases[joint]
        if joint == 0:
            offset = motion.root
        elif synthetic and base is not None:
            # an added root has no node that could be animated: its children are animated instead
            offset = motion.root + rotation.rotate(motion.rotations[:, 0], offset)
            turn = rotation.multiply(motion.rotations[:, 0], turn)
        if base is not None:
            back = rotation.inverse(base.rotation)
            offset = rotation.rotate(back, offset - base.position)
            turn = rotation.multiply(back, turn)
        if node >= 0:
            turn = rotation.multiply(turn, rotation.inverse(mirror_fix(scene.stretches[node])))
        turns.append(rotation.unroll(rotation.normalize(turn)))
        offsets.append(offset)
    stretches = [_diagonal_stretch(scene, max(node, 0))[None] for node in joints.nodes]
    scale_matrices = fold(scene, joints, turns, None, stretches).scale_matrices
    size = max(float(np.ptp(source.skeleton.rest_world[0], axis=0).max()), 1e-9)
    out = []
    for joint, node in enumerate(joints.nodes):
        if node < 0:
            continue
        scale_matrix = scale_matrices[joint]
        rest = scale_matrix @ scene.translations[node]
        translations = None
        if joints.bases[joint] is not None or np.abs(offsets[joint] - rest).max() > SETTINGS.still * size:
            translations = (_inverse(scale_matrix) @ offsets[joint][..., None])[..., 0]
            translations = np.broadcast_to(translations, (len(motion), 3))
        out.append(NodeCurves(node, turns[joint], translations))
    return out


def _written_curves(source: GltfSource, motion: Motion) -> list[NodeCurves]:
    """Return the curves to write; a VRM animation may only rotate its human bones and translate its hips."""
    if source.bones is None or source.bones.extension != ANIMATION:
        return node_curves(source, motion)
    human, hips = set(source.bones.nodes.values()), source.bones.nodes.get("hips")
    human_joints = {joint for joint, node in enumerate(source.joints.nodes) if node in human}
    return [
        replace(curve, translations=curve.translations if curve.node == hips else None)
        for curve in node_curves(source, _reset_others(motion, human_joints))
        if curve.node in human
    ]


def _reset_others(motion: Motion, human: set[int]) -> Motion:
    """Return the motion with all but the human joints at rest; the human joints keep their world rotations."""
    parents = motion.skeleton.parents
    world, local = np.array(motion.rotations), np.array(motion.rotations)
    reset = np.array(motion.rotations)
    for joint in range(len(parents)):
        above = parents[joint]
        if above >= 0:
            world[:, joint] = rotation.multiply(world[:, above], motion.rotations[:, joint])
        if joint not in human:
            local[:, joint] = motion.skeleton.rest[joint]
        elif above >= 0:
            local[:, joint] = rotation.multiply(rotation.inverse(reset[:, above]), world[:, joint])
        reset[:, joint] = local[:, joint] if above < 0 else rotation.multiply(reset[:, above], local[:, joint])
    return replace(motion, rotations=rotation.normalize(local))


def _diagonal_stretch(scene: GltfScene, node: int) -> NDArray:
    """Return a node's stretch without shear: animated nodes cannot have a matrix, so shear is lost."""
    return np.diag(np.diagonal(scene.stretches[node]))


def _inverse(matrices: NDArray) -> NDArray:
    """Return inverses, or pseudo-inverses if a matrix is (nearly) singular."""
    flat = np.abs(np.linalg.det(matrices)) <= 1e-12 * np.abs(matrices).max(axis=(-2, -1)) ** 3
    return np.linalg.pinv(matrices) if flat.any() else np.linalg.inv(matrices)


def make_animation(packer: Packer, curves: Sequence[NodeCurves], times: NDArray) -> dict[str, Any]:
    """Append the arrays of an animation to a document and return its channels and samplers."""
    time = packer.add(times.astype("<f4"), "SCALAR", bounds=True)
    channels, samplers = [], []

    def channel(node: int, path: str, accessor: int) -> None:
        samplers.append({"input": time, "output": accessor, "interpolation": "LINEAR"})
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})

    turns = np.empty((len(curves), len(times), 4), "<f4")
    for curve, own in zip(curves, turns):
        # glTF stores the real part last
        own[:, :3], own[:, 3] = curve.rotations[:, 1:], curve.rotations[:, 0]
        channel(curve.node, "rotation", packer.add(own, "VEC4"))
        if curve.translations is not None:
            channel(curve.node, "translation", packer.add(curve.translations.astype("<f4"), "VEC3"))
    return {"channels": channels, "samplers": samplers}


def _keep_other_channels(animation: dict[str, Any], original: dict[str, Any], joints: set[int]) -> None:
    """Add the original's channels for anything but the joints (faces, props, cameras), which the motion lacks."""
    for channel in original.get("channels") or []:
        target = channel["target"]
        if target.get("node") in joints and target.get("path") in ("translation", "rotation", "scale"):
            continue
        animation["samplers"].append(original["samplers"][int(channel["sampler"])])
        animation["channels"].append({**channel, "sampler": len(animation["samplers"]) - 1})


def free_matrices(packer: Packer, source: GltfSource) -> None:
    """Replace animated nodes' matrices by translation, rotation and scale, as glTF requires."""
    scene = source.scene
    for number in source.joints.nodes:
        node = packer.json["nodes"][number] if number >= 0 else {}
        if node.pop("matrix", None) is not None:
            w, x, y, z = scene.rotations[number].tolist()
            node["translation"] = scene.translations[number].tolist()
            node["rotation"] = [x, y, z, w]
            node["scale"] = np.diagonal(scene.stretches[number]).tolist()
