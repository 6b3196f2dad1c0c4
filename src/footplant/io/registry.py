"""The installed file formats, found by file name extension and imported on first use.

A format is a module with `extensions` (lower case, with the dot), `load(path) → tuple of RawCharacter` and, if it can
write, `save(path, clip, **options)`. A marker format has `load_markers(path) → RawMarkers` and
`save_markers(path, markers, **options)` instead; one whose files may hold either has both and
`contains_markers(path) → bool`. Other packages register theirs under the entry point group
"footplant.formats".

A format whose files hold meshes and the like has `count_contents(path) → {what: number}`, see `io.contents`.

`holds` is a frozenset of keys of `FORMAT_FEATURES`: what the format's `save` writes besides a skeleton and one motion.
A format that holds "takes" has a `takes` option in `save`. Optional: `requires`, the name of Footplant's extra and the
module it installs; `further_losses(clip) → list of str`, what `save` would drop that `holds` does not express; and
`unpacks` with `unpack_source`, see `footplant.io.source`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from footplant.errors import FormatError

BUILT_IN = {
    "footplant.io.asf": (".amc", ".asf"),
    "footplant.io.bvh": (".bvh",),
    "footplant.io.c3d": (".c3d",),
    "footplant.io.collada": (".dae", ".zae"),
    "footplant.io.deepmimic": (".txt",),
    "footplant.io.fbx": (".fbx",),
    "footplant.io.gltf": (".glb", ".gltf"),
    "footplant.io.mmd": (".pmx", ".vmd"),
    "footplant.io.mvnx": (".mvnx",),
    "footplant.io.npz": (".npz", ".npy", ".pkl", ".pickle", ".joblib"),
    "footplant.io.project": (".footplant",),
    "footplant.io.tables": (".csv",),
    "footplant.io.trc": (".trc",),
    "footplant.io.usd": (".usd", ".usda", ".usdc", ".usdz"),
    "footplant.io.vrm": (".vrm",),
    "footplant.io.vrma": (".vrma",),
}
"""Format module → its `extensions`, repeated here so that looking up an extension imports no other format."""
FORMAT_FEATURES = {
    "skin": "the mesh with its weights",
    "takes": "several takes",
    "figures": "several characters",
    "moving bones": "bone lengths that vary over time",
    "roles": "which joint has which role",
    "contacts": "contact points, masses and joint limits of the character",
    "constraints": "constraints and edits",
}
"""What a file may store besides a skeleton and one motion; a format lists in `holds` which of these `save` writes."""
ROBOTS = (".xml", ".urdf", ".mjcf")
"""Extensions of models of robots, which are no clips."""
_MODULES = {extension: name for name, extensions in BUILT_IN.items() for extension in extensions}


@cache
def _plugins() -> dict[str, ModuleType]:
    """Extension → module for the formats of other installed packages. Importing them is the only way to know theirs."""
    from importlib.metadata import entry_points

    found: dict[str, ModuleType] = {}
    for entry in sorted(entry_points(group="footplant.formats"), key=lambda entry: entry.name):
        module = entry.load()
        for extension in module.extensions:
            found.setdefault(extension, module)
    return found


@cache
def formats() -> dict[str, ModuleType]:
    """Return extension → module for all installed formats, importing every one; built-in formats win."""
    built_in = {extension: import_module(name) for extension, name in _MODULES.items()}
    return dict(sorted((_plugins() | built_in).items()))


def find_format(path: str | Path) -> ModuleType | None:
    """Return the format module for a file name, or None if no format has its extension."""
    extension = Path(path).suffix.lower()
    name = _MODULES.get(extension)
    return import_module(name) if name is not None else _plugins().get(extension)


def format_of(path: str | Path) -> ModuleType:
    """Return the format module for a file name; raise `FormatError` if no format has its extension."""
    module = find_format(path)
    if module is None:
        if Path(path).is_dir():
            raise FormatError("is a folder; name a file in it (footplant batch works on folders)", path=path)
        known = ", ".join(sorted({*_MODULES, *_plugins()}))
        raise FormatError(f"expected a file ending in {known}; got {_ending(path)}", path=path)
    return module


def _ending(path: str | Path) -> str:
    return Path(path).suffix.lower() or "no extension"


def is_robot(path: str | Path) -> bool:
    """Return whether a file name is that of a robot: MJCF or URDF."""
    return Path(path).suffix.lower() in ROBOTS


def writer_of(path: str | Path) -> ModuleType:
    """Return the format module to write a file name with; raise `FormatError` if there is none, or it only reads."""
    module = find_format(path)
    if module is None or not hasattr(module, "save"):
        writable = ", ".join(extension for extension, other in formats().items() if hasattr(other, "save"))
        if module is None:
            raise FormatError(f"expected a name ending in {writable}; got {_ending(path)}", path=path)
        raise FormatError(f"{_ending(path)} files can be read but not written; writable formats: {writable}", path=path)
    return module
