"""ASF/AMC files (Acclaim), read only: a skeleton in one file, its motions in others, as in CMU's database.

`load("35_01.amc")` finds the skeleton in the same folder: the .asf of the same name, else of the part before an
underscore or a number (35.asf), else the only one; `skeleton=PATH` names another. A .asf alone is a static character.

Joints are at the start of bones, and the tips of leaf bones are end sites. At rest, every joint's frame is aligned with
the world axes; a bone that rotates by M about its own axes C (`axis` in the file) rotates by C·M·C⁻¹. Rotations are
listed innermost first: `dof rx ry rz` is M = Rz·Ry·Rx. Lengths are in inches times 0.45 if the file states CMU's unit
(`length 0.45`); other units have no common meaning, so the scale is estimated from the character's size. AMC files
state no frame rate: 120 Hz, as at CMU, unless `fps=` is given.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.asf.frames import read_amc
from footplant.io.asf.layout import AsfLayout
from footplant.io.asf.motion import DEFAULT_FPS, make_motion
from footplant.io.asf.skeleton import Asf, read_asf
from footplant.io.character import RawCharacter

extensions = (".amc", ".asf")
holds: frozenset[str] = frozenset()


def load(path: str | Path, *, skeleton: str | Path | None = None, fps: float | None = None) -> tuple[RawCharacter, ...]:
    """Read a motion (.amc) with its skeleton, or a skeleton (.asf) alone, in file units and axes.

    skeleton: the .asf file of a motion. fps: frames per second of the motion (default 120).
    """
    path = Path(path)
    if path.suffix.lower() == ".asf":
        if skeleton is not None or fps is not None:
            raise FormatError("expected neither skeleton= nor fps= for an .asf file, which has no motion", path=path)
        return parse(_read(path), None, path)
    source = find_skeleton(path) if skeleton is None else Path(skeleton)
    return parse(_read(source), _read(path), path, asf_path=source, fps=fps)


def find_skeleton(path: Path) -> Path:
    """Return the .asf file of a motion: of the same name, of its longest matching prefix, or the only one.

    A prefix matches if the name continues with a separator (35_01: 35) or a number (dance1: dance).
    """
    candidates = sorted(other for other in path.parent.iterdir() if other.suffix.lower() == ".asf")
    name = path.stem.lower()
    fitting = [other for other in candidates if _begins(name, other.stem.lower())]
    if fitting:
        return max(fitting, key=lambda other: len(other.stem))
    if len(candidates) == 1:
        return candidates[0]
    listing = ", ".join(other.name for other in candidates[:8]) or "none"
    begin = path.stem.partition("_")[0]
    raise FormatError(
        f"expected its skeleton {path.stem}.asf (or {begin}.asf, or a single .asf file) in its folder, got {listing}; "
        "name it with skeleton=PATH (--skeleton)", path=path
    )  # fmt: skip


def _begins(name: str, stem: str) -> bool:
    """Return whether a skeleton's name is a prefix of a motion's name."""
    rest = name[len(stem) :]
    if not stem or not name.startswith(stem):
        return False
    return not rest or not rest[0].isalnum() or (rest[0].isdigit() and not stem[-1].isdigit())


def parse(
    asf: bytes,
    amc: bytes | None,
    path: str | Path | None = None,
    *,
    asf_path: str | Path | None = None,
    fps: float | None = None,
) -> tuple[RawCharacter, ...]:
    """Read the bytes of an ASF file and, unless None, of an AMC file: see `load`."""
    if fps is not None and not (np.isfinite(fps) and fps > 0):
        raise FormatError(f"expected a positive number of frames per second, got {fps}", path=path)
    skeleton = read_asf(asf, path if amc is None else asf_path)
    name = Path(path).stem if path else ""
    if amc is None:
        return (_raw_character(skeleton, name, ()),)
    motion, notes = make_motion(skeleton, read_amc(amc, skeleton.bones, path), len(amc), fps, path)
    take = Take(name or "motion", len(motion), motion.fps)
    return (_raw_character(skeleton, name, tuple(notes), takes=(take,), read_take=lambda take: motion),)


def _raw_character(asf: Asf, name: str, notes: tuple[str, ...], **take) -> RawCharacter:
    layout = AsfLayout(
        tuple(bone.name for bone in asf.bones),
        tuple(bone.dof for bone in asf.bones),
        tuple(bone.limits for bone in asf.bones),
        "deg" if asf.degrees else "rad",
        asf.length_unit,
    )
    skeleton = take["read_take"](0).skeleton if take else asf.skeleton()
    return RawCharacter(name, skeleton, scale=asf.scale, layout=layout, notes=(*asf.notes, *notes), **take)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


__all__ = ["DEFAULT_FPS", "AsfLayout", "extensions", "find_skeleton", "holds", "load", "parse"]
