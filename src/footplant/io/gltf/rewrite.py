"""A motion onto a loaded glTF character: everything of the file stays as it was, only animations are written.

The joints' rotations and places are carried back into the nodes' own frames, through the scales and static nodes that
reading folded away (see `scene`), so that other readers put every joint where our forward kinematics has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip, Take
from footplant.io.atomic import write_atomic
from footplant.io.file_space import in_file_space
from footplant.io.gltf.animation import STILL, Animation, list_takes, read_motion
from footplant.io.gltf.bones import ANIMATION, HumanBones
from footplant.io.gltf.document import Document
from footplant.io.gltf.pack import Packer
from footplant.io.gltf.scene import Joints, Scene, fold, mirror_fix
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class GltfSource:
    """What a figure came from: kept as `Character.source`, so that motions can be written onto the same meshes."""

    scene: Scene
    joints: Joints
    skeleton: Skeleton
    """As read, before the border did anything."""
    animations: tuple[Animation, ...]
    """The figure's takes, in their order."""
    take_skeletons: list[Skeleton] = field(default_factory=list)
    """Skeletons of takes that hold joints at other places than the rest pose, as far as they were read."""
    bones: HumanBones | None = None
    """Which nodes are which human bones, where the file states it (VRM): then its rest pose is a T-pose."""

    @property
    def document(self) -> Document:
        """The file."""
        return self.scene.document

    @property
    def takes(self) -> tuple[Take, ...]:
        """What the figure's takes were called, and how long they are."""
        return list_takes(self.animations, len(self.skeleton))


@dataclass(frozen=True, eq=False)
class NodeCurves:
    """Node transforms of one joint at every frame."""

    node: int
    turns: NDArray
    """(F, 4) quaternions (w, x, y, z), neighbours on the same side."""
    moves: NDArray | None
    """(F, 3) translations, or None where the node stays as the file has it."""


def fits(source: GltfSource, skeleton: Skeleton) -> bool:
    """Whether a motion of that skeleton can be written onto the source's nodes: the same joints in the same tree."""
    return skeleton.names == source.skeleton.names and np.array_equal(skeleton.parents, source.skeleton.parents)


def rewrite(path: str | Path, clips: Sequence[Clip], source: GltfSource, keep_takes: bool | None) -> None:
    """Write the motions of clips, takes of one figure, onto the nodes of their character's file."""
    skeletons = [source.skeleton, *source.take_skeletons]
    motions = [in_file_space(clip.motion, clip.character.skeleton, skeletons) for clip in clips]
    own = bool(clips[0].takes) and all(clip.takes == source.takes for clip in clips)
    keep = own if keep_takes is None else keep_takes
    originals = [source.animations[clip.take] if own else None for clip in clips]
    packer = Packer(path, source.document)
    existing = list(packer.json.get("animations") or [])
    # several motions on a file that has none are never taken for its rest pose
    unchanged = [
        (original is not None or len(clips) == 1) and _is_unchanged(motion, source, original)
        for motion, original in zip(motions, originals, strict=True)
    ]
    stays = keep or len(existing) <= 1 or {id(original) for original in originals} >= {*map(id, source.animations)}
    if all(unchanged) and stays and can_copy(source.document, packer):
        write_atomic(path, source.document.data)
        return
    written = list(existing) if keep or (all(unchanged) and not own) else []
    for clip, motion, original, same in zip(clips, motions, originals, unchanged, strict=True):
        if same:
            written += [existing[original.number]] if original is not None and not keep else []
            continue
        before = None if original is None else existing[original.number]
        animation = _animation(packer, clip, motion, source, original, before)
        same_name = next((n for n, a in enumerate(written) if a.get("name") == clip.name), None) if keep else None
        place = original.number if keep and original is not None else same_name
        if place is None:
            written.append(animation)
        else:
            written[place] = animation
    if written:
        packer.json["animations"] = written
    if not all(unchanged):
        free_matrices(packer, source)
    packer.write()


def _animation(
    packer: Packer, clip: Clip, motion: Motion, source: GltfSource, original: Animation | None, before: Any
) -> dict[str, Any]:
    """An animation of a motion; of one that replaces another it keeps what the motion does not say."""
    same_length = original is not None and len(motion) == original.frames and motion.fps == original.fps
    start = original.span[0] if original is not None and same_length else 0.0
    animation = make_animation(packer, _written_curves(source, motion), start + np.arange(len(motion)) / motion.fps)
    animation["name"] = clip.name
    if original is None:
        return animation
    if same_length:
        _carry_over(animation, before, set(source.joints.nodes))
    animation = {**before, **animation}
    if "name" not in before and clip.name == original.name:
        animation.pop("name")
    return animation


def _is_unchanged(motion: Motion, source: GltfSource, original: Animation | None) -> bool:
    """Whether the motion is, to the last bit, the one that the file already has."""
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
    return (motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets)[:, 1:]


def can_copy(document: Document, packer: Packer) -> bool:
    """Whether the very bytes of the file do: the same container, and nothing beside it that would be left behind."""
    if document.binary != packer.binary:
        return False
    entries = [entry for key in ("buffers", "images") for entry in (document.json.get(key) or [])]
    uris = [entry.get("uri") for entry in entries]
    return not any(isinstance(uri, str) and packer.strays(uri) for uri in uris)


def node_curves(source: GltfSource, motion: Motion) -> list[NodeCurves]:
    """The node transforms that put every joint where the motion has it (motion in the file's own space)."""
    scene, joints = source.scene, source.joints
    bones = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    turns, offsets = [], []
    synthetic = joints.nodes[0] < 0
    for joint, node in enumerate(joints.nodes):
        turn, offset, base = motion.rotations[:, joint], bones[:, joint], joints.bases[joint]
        if joint == 0:
            offset = motion.root
        elif synthetic and base is not None:
            # a root without node cannot move in the file: its children move instead
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
    stretches = [_plain_stretch(scene, max(node, 0))[None] for node in joints.nodes]
    spreads = fold(scene, joints, turns, None, stretches).spreads
    size = max(float(np.ptp(source.skeleton.rest_world[0], axis=0).max()), 1e-9)
    out = []
    for joint, node in enumerate(joints.nodes):
        if node < 0:
            continue
        spread = spreads[joint]
        still = spread @ scene.translations[node]
        moves = None
        if joints.bases[joint] is not None or np.abs(offsets[joint] - still).max() > STILL * size:
            moves = (_inverse(spread) @ offsets[joint][..., None])[..., 0]
            moves = np.broadcast_to(moves, (len(motion), 3))
        out.append(NodeCurves(node, turns[joint], moves))
    return out


def _written_curves(source: GltfSource, motion: Motion) -> list[NodeCurves]:
    """The curves to write: of every joint, but a VRM animation may only turn its human bones and move its hips."""
    if source.bones is None or source.bones.extension != ANIMATION:
        return node_curves(source, motion)
    human, hips = set(source.bones.nodes.values()), source.bones.nodes.get("hips")
    settled = _settle_others(motion, {joint for joint, node in enumerate(source.joints.nodes) if node in human})
    return [
        replace(curve, moves=curve.moves if curve.node == hips else None)
        for curve in node_curves(source, settled)
        if curve.node in human
    ]


def _settle_others(motion: Motion, human: set[int]) -> Motion:
    """All joints but some at rest, those turned in the world as they were: what lies between them is folded in."""
    parents = motion.skeleton.parents
    world, local = np.array(motion.rotations), np.array(motion.rotations)
    settled = np.array(motion.rotations)
    for joint in range(len(parents)):
        above = parents[joint]
        if above >= 0:
            world[:, joint] = rotation.multiply(world[:, above], motion.rotations[:, joint])
        if joint not in human:
            local[:, joint] = motion.skeleton.rest[joint]
        elif above >= 0:
            local[:, joint] = rotation.multiply(rotation.inverse(settled[:, above]), world[:, joint])
        settled[:, joint] = local[:, joint] if above < 0 else rotation.multiply(settled[:, above], local[:, joint])
    return replace(motion, rotations=rotation.normalize(local))


def _plain_stretch(scene: Scene, node: int) -> NDArray:
    """A node's stretch as its scale alone: animated nodes may not have a matrix, so shear is lost."""
    return np.diag(np.diagonal(scene.stretches[node]))


def _inverse(matrices: NDArray) -> NDArray:
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
        # glTF has the real part last
        own[:, :3], own[:, 3] = curve.turns[:, 1:], curve.turns[:, 0]
        channel(curve.node, "rotation", packer.add(own, "VEC4"))
        if curve.moves is not None:
            channel(curve.node, "translation", packer.add(curve.moves.astype("<f4"), "VEC3"))
    return {"channels": channels, "samplers": samplers}


def _carry_over(animation: dict[str, Any], original: dict[str, Any], joints: set[int]) -> None:
    """Keep the original's curves of other things (faces, props, cameras), which the motion does not replace."""
    for channel in original.get("channels") or []:
        target = channel["target"]
        if target.get("node") in joints and target.get("path") in ("translation", "rotation", "scale"):
            continue
        animation["samplers"].append(original["samplers"][int(channel["sampler"])])
        animation["channels"].append({**channel, "sampler": len(animation["samplers"]) - 1})


def free_matrices(packer: Packer, source: GltfSource) -> None:
    """Write animated nodes' matrices as translation, rotation and scale: glTF animates nothing else."""
    scene = source.scene
    for number in source.joints.nodes:
        node = packer.json["nodes"][number] if number >= 0 else {}
        if node.pop("matrix", None) is not None:
            w, x, y, z = scene.rotations[number].tolist()
            node["translation"] = scene.translations[number].tolist()
            node["rotation"] = [x, y, z, w]
            node["scale"] = np.diagonal(scene.stretches[number]).tolist()
