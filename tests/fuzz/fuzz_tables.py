"""Random bytes for the readers of CSV tables and of robot models: they read them or raise FormatError."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from footplant.errors import FormatError
from footplant.io import tables
from footplant.io.robot_models import parse_model

MODEL = (
    b'<mujoco><compiler angle="radian"/><default><joint axis="0 1 0"/></default><worldbody><body name="a"><freejoint/>'
    + b"".join(b'<body name="b%d" pos="0 0 %d" euler="0 0 1"><joint pos="0 0 0.1"/></body>' % (n, n) for n in range(8))
    + b"</body></worldbody></mujoco>"
)
URDF = b"""<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="revolute"><parent link="a"/>
<child link="b"/><origin xyz="0 0 1" rpy="0 1 0"/><axis xyz="0 0 1"/></joint></robot>"""
_FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-tables-"))
(_FOLDER / "model.xml").write_bytes(MODEL)


def corpus() -> list[bytes]:
    """A small file of every kind."""
    return [
        b"Format Version,1.23,Export Frame Rate,50,Length Units,Meters\n,Type,Marker,Marker,Marker\n,Name,A,A,A\n"
        b",,Position,Position,Position\nFrame,Time (Seconds),X,Y,Z\n0,0,1,2,3\n1,0.02,,,\n",
        b"Trajectories\n100\n,,A,,\nFrame,Sub Frame,X,Y,Z\n,,mm,mm,mm\n1,0,1,2,3\n",
        b"0,0,1,0,0,0,1,0,0,0,0,0,0,0,0\n0,0,1,0,0,0,1,0,0.1,0,0,0,0,0,0\n",
        MODEL,
        URDF,
    ]


def TARGET(data: bytes) -> None:
    """Read the bytes as a table of markers, as a robot's motion and as a model."""
    with contextlib.suppress(FormatError):
        tables.parse_markers(data)
    with contextlib.suppress(FormatError):
        tables.parse_robot(data, skeleton=_FOLDER / "model.xml")
    with contextlib.suppress(FormatError):
        parse_model(data)
