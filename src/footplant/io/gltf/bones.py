"""VRM's maps of human bones: which nodes of a glTF file are the hips, the spine, the hands.

VRM 0.x (extension VRM), VRM 1.0 (VRMC_vrm) and VRM animations (VRMC_vrm_animation) are glTF files that say so in an
extension of the whole document. Bones are called here as VRM 1.0 calls them: 0.x has other names for the thumb's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from footplant.humanoid.bones import BONES, RENAMED, REQUIRED
from footplant.io.gltf.animation import Animation
from footplant.io.gltf.document import Document
from footplant.io.json import Json, describe

MODEL_0, MODEL_1, ANIMATION = "VRM", "VRMC_vrm", "VRMC_vrm_animation"
"""The extensions: a character of VRM 0.x, one of VRM 1.0, and an animation for either."""
NO_NODE = -1
"""How VRM 0.x writes a reference to nothing."""


@dataclass(frozen=True)
class HumanBones:
    """What a file says about human bones."""

    extension: str
    """MODEL_0, MODEL_1 or ANIMATION."""
    nodes: Mapping[str, int]
    """Bone → node, in the order of BONES; empty for a file that claims to be VRM and names none."""

    @property
    def facing(self) -> str:
        """The axis that the figure faces at rest: VRM 0.x had it backwards."""
        return "-z" if self.extension == MODEL_0 else "z"

    @property
    def roles(self) -> dict[str, tuple[int, ...]]:
        """Role → nodes, from the root outwards."""
        out: dict[str, tuple[int, ...]] = {}
        for bone, node in self.nodes.items():
            role = BONES[bone].role
            out[role] = (*out.get(role, ()), node)
        return out


def read_human_bones(document: Document, nodes: int, notes: list[str]) -> HumanBones | None:
    """The map of human bones that a document states, checked; None when it is not VRM. nodes: how many there are."""
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
    """(bone, node, its entry) of VRM 0.x."""
    out = []
    for entry in humanoid.objects("humanBones"):
        name = entry.text("bone")
        if entry.integer("node", low=NO_NODE) != NO_NODE or RENAMED.get(name, name) in REQUIRED:
            out.append((RENAMED.get(name, name), entry.index("node", nodes), entry))
    return out


def _object_1(humanoid: Json, nodes: int) -> list[tuple[str, int, Json]]:
    """(bone, node, its entry) of VRM 1.0 and of animations; null stands for a bone that the figure does not have."""
    bones = humanoid.object("humanBones")
    entries = {} if bones is None else {name: bones.object(name) for name in bones.data}
    return [(name, entry.index("node", nodes), entry) for name, entry in entries.items() if entry is not None]


def _checked(stated: list[tuple[str, int, Json]], notes: list[str]) -> dict[str, int]:
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
        notes.append(f"{len(unknown)} human bones that VRM does not know were left out ({names})")
    missing = [bone for bone in REQUIRED if bone not in nodes]
    if missing and not nodes:
        notes.append("the file does not say which joints are human bones; names and shape tell")
    elif missing:
        notes.append(f"the file does not say which joint is {', '.join(missing)}, as VRM asks; names and shape tell")
    return {bone: nodes[bone] for bone in BONES if bone in nodes}


def human_curves(animation: Animation, bones: HumanBones) -> Animation:
    """What a VRM animation means: the rotations of human bones and the way of the hips, and nothing else."""
    human, hips = set(bones.nodes.values()), bones.nodes.get("hips")
    channels = tuple(
        channel
        for channel in animation.channels
        if channel.node in human
        and (channel.path == "rotation" or (channel.path, channel.node) == ("translation", hips))
    )
    return replace(animation, channels=channels)


def animation_notes(document: Document, bones: HumanBones, animations: list[Animation]) -> list[str]:
    """What a VRM animation holds that is not read, one sentence each."""
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
    told = {node for table in tables if table is not None for node in _nodes(table)} | _nodes(found, "lookAt")
    others = {c.node for animation in animations for c in animation.channels} - human - told
    if others:
        what = (
            "1 node that is no human bone moves"
            if len(others) == 1
            else f"{len(others)} nodes that are no human bones move"
        )
        notes.append(f"{what} too; a VRM animation is that of its human bones, so they stay at rest")
    return notes


def constraint_notes(nodes: Iterable[Json]) -> list[str]:
    """One sentence when nodes follow others by VRM's constraints."""
    count = sum(1 for node in nodes if "extensions" in node.data and node.extension("VRMC_node_constraint") is not None)
    if not count:
        return []
    what = "1 node follows another" if count == 1 else f"{count} nodes follow others"
    return [f"{what} by constraints (VRMC_node_constraint), which are not worked out"]


def stated_name(document: Document, bones: HumanBones) -> str:
    """What a VRM file calls its character; "" when it says nothing."""
    found = document.top.extension(bones.extension)
    meta = None if found is None else found.data.get("meta")
    name = meta.get("title" if bones.extension == MODEL_0 else "name") if isinstance(meta, dict) else None
    # Blender's exporter writes "undefined" where nobody gave a name
    return name.strip() if isinstance(name, str) and name.strip() != "undefined" else ""


def _nodes(table: Json | None, *keys: str) -> set[int]:
    """The nodes that the objects of a table name, as far as they do."""
    entries = [] if table is None else [table.data.get(key) for key in keys or table.data]
    return {entry["node"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("node"), int)}
