"""Fuzz target of the USD reader: any text gives figures or a `FormatError`, nothing else.

usd-core itself is not what is tested, so everything runs in this process: binary files and deep nesting, which can end
it or fill its memory, are for the child process that `footplant.io.usd.load` reads them in (see tests/test_usd.py).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from footplant.errors import FormatError
from footplant.io import usd
from footplant.io.usd import package
from footplant.io.usd.child import read_here
from usd_made import ARM

_NOWHERE = Path(__file__).resolve().parent / "no-such-folder" / "fuzz.usda"


def TARGET(data: bytes) -> None:
    """Read the bytes as a .usda file or, if they are one, a package: every figure and its takes."""
    if data.startswith(b"PXR-USDC") or data.count(b"{") + data.count(b"[") > 5000:
        return
    try:
        for found in usd.read_characters(_NOWHERE, data, read_here(_NOWHERE, data, lambda size: None)):
            for number in range(min(len(found.takes), 3)):
                assert found.read_take is not None
                motion = found.read_take(number)
                assert len(motion) == found.takes[number].frames
            if found.skin is not None:
                assert np.isfinite(found.skin.vertices).all()
    except FormatError:
        return


def corpus() -> list[bytes]:
    """Seeds: a whole figure, and such with odd parts."""
    roots = ARM.replace('"Hip/Knee/Foot"', '"Foot"')
    scaled = ARM.replace("(1,1,1), (1,1,1)]", "(-1,1,2), (0,1,1)]")
    alone = (
        ARM[: ARM.index("    def Skeleton")] + ARM[ARM.index("    def SkelAnimation") : ARM.index("    def Mesh")] + "}"
    )
    short = '#usda 1.0\ndef Skeleton "S"\n{\n uniform token[] joints = ["a", "a/b"]\n}\n'
    packed = package.pack([("a.usda", short.encode())])
    return [text.encode() for text in (ARM, roots, scaled, alone, short)] + [packed]
