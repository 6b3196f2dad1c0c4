"""Small BVH files for tests, and a slow independent reference reader."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from footplant.io import bvh
from footplant.io.character import RawCharacter
from footplant.motion import Motion

AXES = "XYZ"
WORDS = [f"{axis}{kind}" for axis in AXES for kind in ("position", "rotation")]


def simple(rows: str = "0 1 0 10 20 30 5 6 7\n", *, frames: int | None = None, time: str = "0.0333333") -> str:
    """A root with six channels and a joint with three; `rows` as they are."""
    count = len(rows.strip().splitlines()) if frames is None else frames
    return (
        "HIERARCHY\nROOT Hips\n{\n\tOFFSET 0 0 0\n"
        "\tCHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"
        "\tJOINT Spine\n\t{\n\t\tOFFSET 0 10 0\n\t\tCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "\t\tEnd Site\n\t\t{\n\t\t\tOFFSET 0 5 0\n\t\t}\n\t}\n}\n"
        f"MOTION\nFrames: {count}\nFrame Time: {time}\n{rows}"
    )


def write(parents: list[int], offsets: NDArray, channels: list[list[str]], ends: list[list], rows: NDArray) -> str:
    """A BVH file of any tree; joints must come depth first."""
    lines, open_joints = ["HIERARCHY"], []
    for joint, parent in enumerate(parents):
        while open_joints and open_joints[-1] != parent:
            open_joints.pop()
            lines.append("}")
        open_joints.append(joint)
        lines += [("ROOT" if parent < 0 else "JOINT") + f" joint {joint}", "{"]
        lines.append("OFFSET " + " ".join(map(repr, map(float, offsets[joint]))))
        lines.append(" ".join(["CHANNELS", str(len(channels[joint])), *channels[joint]]))
        for end in ends[joint]:
            lines += ["End Site", "{", "OFFSET " + " ".join(map(repr, map(float, end))), "}"]
    lines += ["}"] * len(open_joints) + ["MOTION", f"Frames: {len(rows)}", "Frame Time: 0.0083333"]
    lines += [" ".join(map(repr, map(float, row))) for row in rows]
    return "\n".join(lines) + "\n"


def turn(axis: str, degrees: float) -> NDArray:
    """Return the rotation matrix about an axis."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    i, j = [(1, 2), (2, 0), (0, 1)][AXES.index(axis)]
    matrix = np.eye(3)
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return matrix


def world(parents: list[int], offsets: NDArray, channels: list[list[str]], row: NDArray, added: bool) -> NDArray:
    """Return world positions (J, 3) of one row by 4×4 matrices; position channels replace OFFSET unless added."""
    matrices, column = [], 0
    for joint, parent in enumerate(parents):
        place, local = np.array(offsets[joint], float), np.eye(4)
        for word in channels[joint]:
            value = row[column]
            if word.endswith("position"):
                place[AXES.index(word[0])] = value + (offsets[joint][AXES.index(word[0])] if added else 0.0)
            else:
                local[:3, :3] = local[:3, :3] @ turn(word[0], value)
            column += 1
        local[:3, 3] = place
        matrices.append(local if parent < 0 else matrices[parent] @ local)
    return np.array(matrices)[:, :3, 3]


def one(text: str | bytes, **options) -> RawCharacter:
    """Return the only character of a file."""
    (figure,) = bvh.parse(text if isinstance(text, bytes) else text.encode(), "clip.bvh", **options)
    return figure


def motion(text: str | bytes, **options) -> Motion:
    """Return its motion."""
    figure = one(text, **options)
    assert figure.read_take is not None
    return figure.read_take(0)


def notes(text: str | bytes, **options) -> str:
    """Return its notes in one line."""
    return " | ".join(one(text, **options).notes)


@st.composite
def trees(draw):
    """Generate parents (depth first), offsets, channels, end sites and rows of a random BVH file."""
    count = draw(st.integers(1, 7))
    parents, path = [-1], [0]
    for joint in range(1, count):
        path = path[: draw(st.integers(1, len(path)))]
        parents.append(path[-1])
        path.append(joint)
    channels = [draw(st.lists(st.sampled_from(WORDS), max_size=6, unique=draw(st.booleans()))) for _ in parents]
    columns = sum(map(len, channels))
    offsets = draw(arrays(float, (count, 3), elements=st.floats(-50, 50)))
    ends = [draw(st.lists(st.tuples(*[st.floats(-9, 9)] * 3), max_size=2)) for _ in parents]
    rows = draw(arrays(float, (draw(st.integers(1, 4)) if columns else 0, columns), elements=st.floats(-400, 400)))
    return parents, offsets, channels, ends, rows
