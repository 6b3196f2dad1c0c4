"""Open what people drop on the page: clips with their companions, takes, optical markers, robots, corrected roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from footplant.clip import Clip
from footplant.errors import FootplantError, FormatError
from footplant.problem import Progress

ROBOTS = (".urdf", ".xml", ".mjcf")
COMPANIONS = (".bin", ".png", ".jpg", ".jpeg", ".tga", ".bmp", ".webp", ".mtl", ".stl", ".toml")
"""Files that others refer to, and that are no clips or characters by themselves."""


def load_material(
    path: Path,
    *,
    take: int | None = None,
    roles: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Clip:
    """Return the clip of a file: a take of it, its markers solved, its roles corrected (role → joint)."""
    from footplant.io import holds_markers, load

    if path.suffix.lower() in ROBOTS:
        raise FormatError(
            "a robot has no motion of its own: open a clip, then retarget it to the robot", path=path.name
        )
    if holds_markers(path):
        from footplant.io import load_markers
        from footplant.optical.solve import solve_markers

        return replace(solve_markers(load_markers(path), progress=progress).clip, name=path.stem)
    if not roles:
        return load(path, take=take)
    table = path.with_name(f"{path.stem}.roles.toml")
    table.write_text(roles_table(roles), encoding="utf-8")
    return load(path, take=take, roles=table)


def roles_table(roles: Mapping[str, str]) -> str:
    """Return corrections of roles as the TOML of `humanoid.read_corrections`."""
    import json

    from footplant.humanoid.roles import ROLES

    unknown = [role for role in roles if role not in ROLES]
    if unknown or not all(isinstance(joint, str) for joint in roles.values()):
        raise FormatError(f"expected roles among {', '.join(ROLES)}; got {', '.join(map(str, unknown or roles))}")
    return "[roles]\n" + "".join(f"{role} = {json.dumps(joint)}\n" for role, joint in roles.items())


def inspect(path: Path) -> dict[str, Any]:
    """Return facts about a file for the page: what it holds, its frames and takes, whether it is a humanoid."""
    from footplant.io import holds_markers, load
    from footplant.io.constraint_files import EXTENSIONS

    ending = path.suffix.lower()
    facts = {"frames": 0, "human": False, "takes": [], "skinned": False, "name": path.stem, "markers": False,
             "robot": False, "joints": [], "roles": {}, "why": "", "notes": []}  # fmt: skip
    if ending in ROBOTS:
        from footplant.edits.robot import as_robot

        body = as_robot(path)
        return facts | {"robot": True, "human": True, "name": body.mechanism.name or path.stem}
    if ending in EXTENSIONS and ending != ".footplant":
        raise FormatError(f"expected a clip or a character, got {ending}", path=path.name)
    if holds_markers(path):
        from footplant.io import load_markers

        found = load_markers(path)
        return facts | {"markers": True, "human": True, "frames": int(found.positions.shape[0])}
    clip = load(path)
    character = clip.character
    takes = [{"name": take.name, "frames": take.frames} for take in clip.takes]
    mapped = {} if character.roles is None else {
        role: character.skeleton.names[joints[0]] for role, joints in character.roles.joints.items() if joints
    }  # fmt: skip
    return facts | {
        "frames": len(clip.motion), "human": character.roles is not None, "takes": takes,
        "skinned": character.skin is not None, "name": character.name, "joints": list(character.skeleton.names),
        "roles": mapped, "why": character.not_humanoid, "notes": list(clip.notes),
    }  # fmt: skip


def inspect_drop(folder: Path) -> list[dict[str, Any]]:
    """Return facts about the clips and characters of files that were dropped together; errors as text.

    A file that others refer to (the buffer of a .gltf, a picture, the skeleton of an .amc) is part of those.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    motions = any(path.suffix.lower() == ".amc" for path in files)
    found = []
    for path in files:
        ending = path.suffix.lower()
        alone = len(files) == 1
        if not alone and (ending in COMPANIONS or (ending == ".asf" and motions)):
            continue
        try:
            facts = inspect(path)
        except FootplantError as error:
            facts = {"error": str(error).replace(f"{folder}/", "")}
        found.append({"file": f"{folder.name}/{path.name}", **facts})
    return found
