"""VRM humanoid bones: which nodes of a glTF file are the hips, the spine, the hands …

VRM 0.x (extension VRM), VRM 1.0 (VRMC_vrm) and VRM animations (VRMC_vrm_animation) are glTF files that map human bones
to nodes in a document-level extension. Bone names here are those of VRM 1.0; VRM 0.x names the thumb's differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from numpy.typing import NDArray

from footplant.humanoid.bones import BONES, RENAMED, REQUIRED
from footplant.io.gltf.animation import Animation
from footplant.io.gltf.document import Document
from footplant.io.json import Json, describe

MODEL_0, MODEL_1, ANIMATION = "VRM", "VRMC_vrm", "VRMC_vrm_animation"
"""Extensions: a VRM 0.x character, a VRM 1.0 character, and an animation for either."""
NO_NODE = -1
"""How VRM 0.x writes a null node reference."""


@dataclass(frozen=True)
class HumanBones:
    """A file's humanoid bone map."""

    extension: str
    """MODEL_0, MODEL_1 or ANIMATION."""
    nodes: Mapping[str, int]
    """Bone → node, in the order of BONES; empty for a VRM file that maps no bones."""

    def facing(self, places: Mapping[int, NDArray]) -> str:
        """Return the forward axis of the character at rest: −z in VRM 0.x, +z in VRM 1.0.

        places: node → position (3,) at rest. A VRM 0.x character in a scene that was turned, as in the .glb files that
        Footplant writes, has its left leg on the side of +x, and faces +z.
        """
        if self.extension != MODEL_0:
            return "z"
        left, right = (places.get(self.nodes.get(bone, NO_NODE)) for bone in ("leftUpperLeg", "rightUpperLeg"))
        return "z" if left is not None and right is not None and (left - right)[0] > abs((left - right)[2]) else "-z"

    @property
    def roles(self) -> dict[str, tuple[int, ...]]:
        """Role → nodes, from the root outwards."""
        out: dict[str, tuple[int, ...]] = {}
        for bone, node in self.nodes.items():
            role = BONES[bone].role
            out[role] = (*out.get(role, ()), node)
        return out


def read_human_bones(document: Document, nodes: int, notes: list[str]) -> HumanBones | None:
    """Return the document's humanoid bone map, checked; None if it is not VRM. nodes: number of nodes."""
    for extension in (MODEL_1, MODEL_0, ANIMATION):
        found = document.top.extension(extension)
        if found is None:
            continue
        humanoid = found.object("humanoid")
        stated: list[tuple[str, int, Json]] = []
        if humanoid is not None:
            stated = _list_0(humanoid, nodes) if extension == MODEL_0 else _object_1(humanoid, nodes)
        return HumanBones(extension, _checked(stated, notes))
    return None


def _list_0(humanoid: Json, nodes: int) -> list[tuple[str, int, Json]]:
    """Return (bone, node, JSON entry) for VRM 0.x."""
    out = []
    for entry in humanoid.objects("humanBones"):
        name = entry.text("bone")
        if entry.integer("node", low=NO_NODE) != NO_NODE or RENAMED.get(name, name) in REQUIRED:
            out.append((RENAMED.get(name, name), entry.index("node", nodes), entry))
    return out


def _object_1(humanoid: Json, nodes: int) -> list[tuple[str, int, Json]]:
    """Return (bone, node, JSON entry) for VRM 1.0 and animations; null means that the character lacks the bone."""
    bones = humanoid.object("humanBones")
    entries = {} if bones is None else {name: bones.object(name) for name in bones.data}
    return [(name, entry.index("node", nodes), entry) for name, entry in entries.items() if entry is not None]


def _checked(stated: list[tuple[str, int, Json]], notes: list[str]) -> dict[str, int]:
    """Return bone → node; raise `FormatError` for duplicates, and note unknown and missing bones."""
    nodes: dict[str, int] = {}
    owners: dict[int, str] = {}
    unknown = []
    for bone, node, entry in stated:
        if bone not in BONES:
            unknown.append(bone)
            continue
        if bone in nodes:
            entry.fail("node", f"expected each human bone once, got {bone!r} again")
        if node in owners:
            entry.fail("node", f"expected a node of its own for {bone!r}, got that of {owners[node]!r} ({node})")
        nodes[bone], owners[node] = node, bone
    if unknown:
        names = ", ".join(describe(name) for name in unknown[:5])
        notes.append(f"{len(unknown)} human bones that VRM does not define were ignored ({names})")
    missing = [bone for bone in REQUIRED if bone not in nodes]
    if missing and not nodes:
        notes.append("the file does not say which joints are human bones; they are found by name and shape")
    elif missing:
        notes.append(
            f"the file does not say which joint is {', '.join(missing)}, which VRM requires; found by name and shape"
        )
    return {bone: nodes[bone] for bone in BONES if bone in nodes}


def human_curves(animation: Animation, bones: HumanBones) -> Animation:
    """Return the animation with only what VRM defines: rotations of human bones and the translation of the hips."""
    human, hips = set(bones.nodes.values()), bones.nodes.get("hips")
    channels = tuple(
        channel
        for channel in animation.channels
        if channel.node in human
        and (channel.path == "rotation" or (channel.path, channel.node) == ("translation", hips))
    )
    return replace(animation, channels=channels)


def animation_notes(document: Document, bones: HumanBones, animations: list[Animation]) -> list[str]:
    """Return notes on the contents of a VRM animation that are not read, one sentence each."""
    notes = []
    found = document.top.extension(bones.extension)
    expressions = None if found is None else found.object("expressions")
    tables = [] if expressions is None else [expressions.object(key) for key in ("preset", "custom")]
    names = [name for table in tables if table is not None for name in table.data]
    if names:
        shown = ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
        notes.append(f"the animation's expressions ({shown}) are not read")
    if found is not None and found.object("lookAt") is not None:
        notes.append("the animation's gaze (lookAt) is not read")
    human = set(bones.nodes.values())
    described = {node for table in tables if table is not None for node in _nodes(table)} | _nodes(found, "lookAt")
    others = {c.node for animation in animations for c in animation.channels} - human - described
    if others:
        what = (
            "1 node that is not a human bone is"
            if len(others) == 1
            else f"{len(others)} nodes that are not human bones are"
        )
        notes.append(f"{what} animated too; VRM animations only apply to human bones, so this was ignored")
    return notes


def constraint_notes(nodes: Iterable[Json]) -> list[str]:
    """Return a note if nodes are driven by VRM node constraints."""
    count = sum(1 for node in nodes if "extensions" in node.data and node.extension("VRMC_node_constraint") is not None)
    if not count:
        return []
    what = "1 node is" if count == 1 else f"{count} nodes are"
    return [f"{what} driven by node constraints (VRMC_node_constraint), which are not evaluated"]


def stated_name(document: Document, bones: HumanBones) -> str:
    """Return the name that a VRM file gives its character, or ""."""
    found = document.top.extension(bones.extension)
    meta = None if found is None else found.data.get("meta")
    name = meta.get("title" if bones.extension == MODEL_0 else "name") if isinstance(meta, dict) else None
    # Blender's exporter writes "undefined" for an unnamed character
    return name.strip() if isinstance(name, str) and name.strip() != "undefined" else ""


def _nodes(table: Json | None, *keys: str) -> set[int]:
    """Return the nodes that the objects of a table reference."""
    entries = [] if table is None else [table.data.get(key) for key in keys or table.data]
    return {entry["node"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("node"), int)}
