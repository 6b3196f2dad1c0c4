"""Fuzz target of the Collada reader: any bytes give characters or a `FormatError`, nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant.errors import FormatError
from footplant.io import collada, gltf
from test_collada import curve, figure

_NOWHERE = Path(__file__).resolve().parent / "no-such-folder" / "fuzz.dae"


def TARGET(data: bytes) -> None:
    """Read the bytes as a .dae or .zae file, every character and its takes."""
    try:
        for found in gltf.read_characters(collada.translate(data, _NOWHERE)):
            for number in range(min(len(found.takes), 3)):
                assert found.read_take is not None
                found.read_take(number)
    except FormatError:
        return


def corpus() -> list[bytes]:
    """A sound file with everything, with curves and clips."""
    clips = (
        '<library_animation_clips><animation_clip id="c" start="0" end="1"><instance_animation url="#Hips-rz-ANGLE"/>'
        "</animation_clip></library_animation_clips>"
    )
    moves = curve("Hips/rz.ANGLE", [0.0, 0.1], [30, 60]) + curve("Knee/t", [0.0, 0.1], [[0, 5, -50], [1, 5, -50]])
    return [figure(), figure(moves), figure(moves, clips, "Y_UP")]
