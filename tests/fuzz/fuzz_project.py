"""Fuzz target of project files: any bytes give figures or a `FormatError`, nothing else.

Random bytes hardly ever make a zip file with the right checksums, so inputs that begin like JSON or like an array are
put into a sound project, in the place of its index or of one of its arrays.
"""

from __future__ import annotations

import io
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant import Character, Clip, Skin
from footplant.errors import FormatError
from footplant.io.project import Project, parse, save_project
from footplant.io.project.read import Reader
from footplant.skeleton import Limits, Point, Roles
from random_figures import random_motion


@cache
def sound() -> tuple[bytes, dict[str, bytes]]:
    """A small project with something of everything, and its members."""
    motion = random_motion(2, 3)
    skin = Skin(np.eye(3), [[0, 1, 2]], np.zeros((3, 1), int), np.ones((3, 1)), np.tile(np.eye(4), (3, 1, 1)))
    roles = Roles({"hips": (0,)}, {"hips": 1.0}, {"hips": "so"}, motion.skeleton.rest)
    character = Character(
        motion.skeleton, "a", roles, {"left_heel": Point(1)}, np.ones(3), np.ones((3, 3)),
        Limits(np.zeros((3, 3)), np.ones((3, 3))), skin,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = save_project(
            Path(folder, "a.footplant"), Project(((Clip(motion, character),),), ({"kind": "plant"},), ({"do": 1},))
        )
        data = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return data, {name: archive.read(name) for name in archive.namelist()}


def TARGET(data: bytes) -> None:
    """Read the bytes as a project file, or as a part of one."""
    if data[:1] == b"{":
        data = _packed({"project.json": data})
    elif data[:6] == b"\x93NUMPY":
        arrays = [name for name in sound()[1] if name.endswith(".npy")]
        data = _packed({arrays[len(data) % len(arrays)]: data})
    try:
        for figure in parse("fuzz.footplant", data):
            assert figure.read_take is not None
            assert figure.read_character is not None
            assert len(figure.read_take(0)) == figure.takes[0].frames
            figure.read_character(0)
        Reader("fuzz.footplant", data).project()
    except FormatError:
        return


def _packed(changed: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in {**sound()[1], **changed}.items():
            archive.writestr(name, content)
    return out.getvalue()


def corpus() -> list[bytes]:
    """Seeds: a whole file, a deflated one, its index alone, arrays alone."""
    data, members = sound()
    deflated = io.BytesIO()
    with zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    index = members["project.json"]
    newer = index.replace(b'"version": "1.0"', b'"version": "1.9", "someone:thing": ["figures/0/takes/0/root.npy"]')
    arrays = [members["figures/0/takes/0/root.npy"], members["characters/0/skin_faces.npy"]]
    return [data, deflated.getvalue(), index, newer, *arrays, b"{}", b""]
