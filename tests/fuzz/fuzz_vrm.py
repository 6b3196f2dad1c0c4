"""Fuzz target of the VRM readers: any bytes give characters that can be converted, or a `FormatError`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io.conversion import clip_from_raw
from footplant.io.gltf import read_characters
from footplant.io.gltf.document import Document
from vrm_made import PLACES, human, made

_NOWHERE = Path(__file__).resolve().parent / "no-such-folder"
_FEW = tuple(bone for bone in PLACES if "Thumb" not in bone and "Index" not in bone and "Eye" not in bone)


def TARGET(data: bytes) -> None:
    """Read the bytes as a .vrm file (JSON too, which is easier to mutate), with roles, contact points and masses."""
    try:
        for figure in read_characters(Document(_NOWHERE / "fuzz.gltf", data)):
            if figure.takes and figure.takes[0].frames > 200:
                continue
            clip = clip_from_raw(figure, "fuzz.vrm")
            assert len(clip.motion) == (figure.takes[0].frames if figure.takes else 1)
    except (FormatError, SkeletonError, MotionError):
        # what `footplant.load` turns into a FormatError
        return


def corpus() -> list[bytes]:
    """Seeds: each version in both containers, with few bones and with many, and with odd maps."""
    seeds = [made(version, bones=_FEW).gltf() for version in ("0", "1", "a")]
    seeds += [made("0").glb(), made("a").glb()]
    crossed = made("1", bones=_FEW)
    bones = human(crossed)
    bones["hips"], bones["leftFoot"], bones["head"] = bones["leftFoot"], bones["head"], bones["hips"]
    flat = made("0", bones=_FEW)
    for node in flat.json["nodes"]:
        node["translation"] = [0, 0, 0]
    few = made("1", bones=("hips", "spine"))
    return [*seeds, crossed.gltf(), flat.gltf(), few.gltf()]
