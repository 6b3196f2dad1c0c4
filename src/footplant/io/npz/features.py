"""HumanML3D features: rows of 263 (22 joints) or 251 (KIT, 21 joints) numbers, from which joints are recovered.

A row holds the root's turn about the vertical (radians per frame), its velocity in its own heading, its height, the
places of the other joints relative to the root in its heading, and redundant rotations, velocities and foot contacts,
which are not needed (Guo et al., Generating Diverse and Natural 3D Human Motions from Text, CVPR 2022).
"""

from __future__ import annotations

import numpy as np

from footplant import rotation
from footplant.io.arrays import NpyHeader
from footplant.io.character import RawCharacter
from footplant.io.npz.archive import Archive
from footplant.io.npz.arrays import MAX_LENGTH, read_arrays

WIDTHS = {263: 22, 251: 21}
"""Numbers of a row → joints."""
FPS = {263: 20.0, 251: 12.5}


def is_humanml(archive: Archive) -> bool:
    """Return whether a single array has rows of features."""
    header = archive.headers.get("")
    return header is not None and header.dtype.kind == "f" and len(header.shape) == 2 and header.shape[1] in WIDTHS


def read_humanml(archive: Archive, name: str, fps: float | None) -> RawCharacter:
    """Return the joints of features that are not normalised (HumanML3D's new_joint_vecs)."""
    rows = np.asarray(archive.floats(""), float)
    joints = WIDTHS[rows.shape[1]]
    if np.abs(rows[:, : 4 + 3 * (joints - 1)]).max(initial=0.0) > MAX_LENGTH:
        raise archive.error("expected features of a motion, got larger numbers")
    if not 0.3 < float(np.median(rows[:, 3])) < (1.6 if joints == 22 else 1600.0):
        raise archive.error(
            f"expected features with the height of the root in metres, got {float(np.median(rows[:, 3])):.3g}; "
            "normalised features must be multiplied by their standard deviation first"
        )
    # heading before each frame; the first row's turn belongs to the second frame
    heading = np.concatenate([[0.0], np.cumsum(rows[:-1, 0])])
    turn = rotation.from_axis_angle([0.0, 1.0, 0.0], -2.0 * heading)
    steps = np.zeros((len(rows), 3))
    steps[1:, 0], steps[1:, 2] = rows[:-1, 1], rows[:-1, 2]
    root = np.cumsum(rotation.rotate(turn, steps), axis=0)
    root[:, 1] = rows[:, 3]
    local = rows[:, 4 : 4 + 3 * (joints - 1)].reshape(len(rows), joints - 1, 3)
    places = rotation.rotate(turn[:, None], local) + root[:, None] * [1.0, 0.0, 1.0]
    whole = np.concatenate([root[:, None], places], axis=1)
    inner = Archive(None, archive.path, {"": NpyHeader(whole.dtype, False, whole.shape, 0)}, {}, values={"": whole})
    return read_arrays(inner, name, "", fps or FPS[rows.shape[1]])
