"""MikuMikuDance files, read only: models (.pmx) and motions (.vmd), by way of glTF.

A model becomes a glTF document in memory, in metres and y up, which the glTF reader turns into a character: it can be
written to GLB, VRM, FBX and USD with its meshes, materials, pictures and vertex morphs. A motion poses the bones of its
model, granted turns and inverse kinematics included, at 30 frames per second. `load("dance.vmd")` finds the model in
its folder: the .pmx of the same name, else the only one; `skeleton=PATH` names another; without any, the motion is read
on a body of the usual size, and a note says so.

MMD is left-handed and faces −z: z is mirrored. A unit is 8 cm, by which a person of 20 units is 1.6 m. IK bones,
the parent of all and the centre are no joints: legs are posed, and the lower body (下半身) is the root, with the upper
body below it. Bones that copy another's turn in the same place (足D …) are one joint with it. Not read: physics of hair
and clothes, morphs of bones and materials, keys of morphs.
"""

from __future__ import annotations

from pathlib import Path

from footplant.errors import FormatError
from footplant.io import gltf
from footplant.io.character import RawCharacter
from footplant.io.gltf.document import Document
from footplant.io.mmd.pmx import Pmx, read_pmx
from footplant.io.mmd.standard import standard_model
from footplant.io.mmd.translate import translate
from footplant.io.mmd.vmd import Vmd, read_vmd

extensions = (".pmx", ".vmd")
holds: frozenset[str] = frozenset()


def load(path: str | Path, *, skeleton: str | Path | None = None) -> tuple[RawCharacter, ...]:
    """Read a model (.pmx), or a motion (.vmd) on its model.

    skeleton: the .pmx file of a motion; by default the one beside it.
    """
    return gltf.read_characters(read_document(path, skeleton))


def count_contents(path: str | Path) -> dict[str, int]:
    """Return what a file holds, counted: see `io.contents`."""
    return gltf.contents_of(read_document(path))


def read_document(path: str | Path, skeleton: str | Path | None = None) -> Document:
    """Read a file as a glTF document."""
    path = Path(path)
    if path.suffix.lower() == ".pmx":
        if skeleton is not None:
            raise FormatError("expected no skeleton= for a .pmx file, which is a model itself", path=path)
        return parse(_read(path), None, path)
    found = find_model(path) if skeleton is None else Path(skeleton)
    return parse(None if found is None else _read(found), _read(path), path, model_path=found)


def parse(model: bytes | None, motion: bytes | None, path: Path, model_path: Path | None = None) -> Document:
    """Return the glTF document of a model's bytes, of a motion's, or of both."""
    notes: list[str] = []
    take: Vmd | None = None if motion is None else read_vmd(motion, path)
    if take is not None and not take.bones:
        raise FormatError("expected keys of bones, got none: the file holds a camera or a face only", path=path)
    if model is None:
        body: Pmx = standard_model()
        notes.append(
            "a VMD file has no skeleton: it was read on a body of the usual size; skeleton=MODEL.pmx (--skeleton) "
            "names its model"
        )
    else:
        body = read_pmx(model, path if model_path is None else model_path)
    return translate(body, take, path, path if model_path is None else model_path, notes)


def find_model(path: Path) -> Path | None:
    """Return the .pmx file beside a motion: of the same name, else the only one, else None."""
    try:
        found = sorted(other for other in path.parent.iterdir() if other.suffix.lower() == ".pmx")
    except OSError:
        return None
    same = [other for other in found if other.stem.lower() == path.stem.lower()]
    return (same or found)[0] if same or len(found) == 1 else None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error


__all__ = ["count_contents", "extensions", "find_model", "holds", "load", "parse"]
