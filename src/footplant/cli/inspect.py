"""`footplant info`, `samples` and `formats`: what a file contains, what ships with the package, what can be read."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from footplant.cli import markers
from footplant.cli.arguments import ClipFile, Json, ReadOptions, format_name
from footplant.cli.loading import load_clip
from footplant.cli.options import spread
from footplant.cli.output import console, note, print_facts, print_json, print_table
from footplant.cli.robot import robot_info
from footplant.io.registry import is_robot

if TYPE_CHECKING:
    from footplant.clip import Clip
    from footplant.skeleton import Character


@spread
def info(
    file: ClipFile,
    reading: ReadOptions,
    json: Json = False,
) -> None:
    """Show what a file contains: frames, size, axes, takes, and which joints are the hips, the legs, the hands.

    For a marker file: its markers, their subjects, and how often they are occluded. For a robot (MJCF, URDF): its
    joints, ranges and masses, and which hinges are its hips, shoulders and ankles.

    Example: footplant info sample:walk
    """
    from footplant.io import holds_markers

    if is_robot(file):
        robot_info(file, reading, json)
        return
    if holds_markers(file):
        markers.info(file, reading, json)
        return
    facts = describe(load_clip(file, reading), file)
    if json:
        print_json(facts)
    else:
        _print_info(facts)


def describe(clip: Clip, file: str) -> dict[str, Any]:
    """Return everything that `info --json` prints."""
    motion, character, skeleton = clip.motion, clip.character, clip.character.skeleton
    roles = character.roles
    found: dict[str, Any] = {}
    if roles is not None:
        for role, joints in roles.joints.items():
            names = [skeleton.names[joint] for joint in joints]
            found[role] = {
                "joint": names[0],
                "joints": names,
                "confidence": roles.confidence.get(role, 0.0),
                "reason": roles.reasons.get(role, ""),
            }
    skin = character.skin
    return {
        "file": file,
        "format": format_name(file),
        "name": clip.name,
        "character": character.name,
        "frames": len(motion),
        "fps": motion.fps,
        "duration": motion.duration,
        "joints": len(skeleton),
        "height": character.height or _extent(character),
        "up": clip.conversion.up,
        "units": clip.conversion.units,
        "scale": clip.conversion.scale,
        "declared": clip.conversion.declared,
        "human": roles is not None,
        "confidence": None if roles is None else roles.overall,
        "roles": found,
        "takes": [{"name": take.name, "frames": take.frames, "fps": take.fps} for take in clip.takes],
        "take": clip.take,
        "figures": [
            {"name": other.character.name, "joints": len(other.character.skeleton), "frames": len(other.motion)}
            for other in (clip, *clip.others)
        ],
        "joint_names": list(skeleton.names),
        "contact_points": {
            name: {"joint": skeleton.names[point.joint], "offset": list(point.offset)}
            for name, point in character.contacts.items()
        },
        "skin": None if skin is None else {"vertices": len(skin.vertices), "triangles": len(skin.faces)},
        "notes": list(clip.notes),
    }


def _extent(character: Character) -> float:
    """Return the height of a non-humanoid: the vertical extent of its rest pose, metres."""
    import numpy as np

    heights = [character.skeleton.rest_world[0][:, 1], character.skeleton.rest_ends[:, 1]]
    if character.skin is not None and len(character.skin.vertices):
        heights = [character.skin.vertices[:, 1]]
    return float(np.ptp(np.concatenate(heights)))


def _print_info(facts: dict[str, Any]) -> None:
    how = "stated by the file" if facts["declared"] else "inferred from the character"
    how = "as for all samples" if facts["format"] == "sample" else how
    skin = facts["skin"]
    print_facts(
        facts["file"],
        {
            "format": facts["format"],
            "clip": facts["name"],
            "frames": f"{facts['frames']} at {facts['fps']:.6g} fps, {facts['duration']:.2f} s",
            "joints": facts["joints"],
            "height": f"{facts['height']:.3f} m" if facts["height"] else "–",
            "units, up": f"{facts['units']} ({facts['scale']:.6g} m), {facts['up']} up, {how}",
            "mesh": f"{skin['vertices']} vertices, {skin['triangles']} triangles" if skin else "none",
            "humanoid": f"yes, confidence {facts['confidence']:.0%}" if facts["human"] else "no",
        },
    )
    if facts["roles"]:
        # reasons need a wide window; --json always includes them
        columns = ("role", "joints", "#confidence", "reason")[: 4 if console().width >= 110 else 3]
        rows = [
            (role, ", ".join(found["joints"]), f"{found['confidence']:.0%}", found["reason"])[: len(columns)]
            for role, found in facts["roles"].items()
        ]
        print_table("Roles", columns, rows)
    if len(facts["takes"]) > 1:
        rows = [(n, take["name"], take["frames"], take["fps"]) for n, take in enumerate(facts["takes"])]
        print_table("Takes", ("#number", "name", "#frames", "#fps"), rows)
    if len(facts["figures"]) > 1:
        rows = [(other["name"], other["joints"], other["frames"]) for other in facts["figures"]]
        print_table("Characters", ("name", "#joints", "#frames"), rows)
    for text in facts["notes"]:
        note(f"note: {text}")


def samples(json: Json = False) -> None:
    """List the motions and characters that ship with the package; use them as sample:NAME.

    Example: footplant samples
    """
    from footplant import samples as shipped

    motions, characters = dict(shipped.MOTIONS), dict(shipped.CHARACTERS)
    if json:
        print_json({"motions": motions, "characters": characters})
        return
    print_table("Motions", ("name", "description"), [(f"sample:{name}", text) for name, text in motions.items()])
    print_table("Characters", ("name", "description"), [(f"sample:{name}", text) for name, text in characters.items()])


def formats(json: Json = False) -> None:
    """List the file formats that this installation reads and writes, and what they can hold.

    Example: footplant formats
    """
    from importlib.util import find_spec

    from footplant.io import FORMAT_FEATURES
    from footplant.io import formats as installed

    modules: dict[ModuleType, list[str]] = {}
    for extension, module in sorted(installed().items()):
        modules.setdefault(module, []).append(extension)
    found = {}
    for module, extensions in modules.items():
        extra, library = getattr(module, "requires", (None, None))
        found[module.__name__.rpartition(".")[2]] = {
            "extensions": extensions,
            "content": "markers" if hasattr(module, "load_markers") else "motion",
            "reads": hasattr(module, "load") or hasattr(module, "load_markers"),
            "writes": hasattr(module, "save") or hasattr(module, "save_markers"),
            "holds": [part for part in FORMAT_FEATURES if part in module.holds],
            "extra": extra,
            "installed": library is None or find_spec(library) is not None,
            "about": (module.__doc__ or "").strip().partition("\n")[0],
        }
    if json:
        print_json({"formats": found, "parts": FORMAT_FEATURES})
        return
    columns = ("name", "files", "reads", "writes", "needs", "holds besides joints and one motion")
    rows = [
        (
            name,
            " ".join(f["extensions"]),
            f["reads"],
            f["writes"],
            f"[{f['extra']}], {'installed' if f['installed'] else 'not installed'}" if f["extra"] else None,
            "markers" if f["content"] == "markers" else ", ".join(f["holds"]) or None,
        )
        for name, f in found.items()
    ]
    print_table("Formats", columns, rows)
    for f in found.values():
        if not f["installed"]:
            print(f'{" ".join(f["extensions"])} files need: pip install "footplant[{f["extra"]}]"')
