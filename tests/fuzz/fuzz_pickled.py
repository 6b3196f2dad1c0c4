"""Random bytes for the reader of pickles: whatever they are, it reads them or raises FormatError."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np

from footplant.errors import FormatError
from footplant.io import npz


def corpus() -> list[bytes]:
    """A small pickle of every kind and protocol."""
    rng = np.random.default_rng(0)
    poses = 0.1 * rng.normal(size=(2, 72)).astype(np.float32)
    values = [
        {"smpl_poses": poses, "smpl_trans": np.zeros((2, 3)), "smpl_scaling": np.array([2.0])},
        {"a": {"pose_aa": poses.reshape(2, 24, 3), "trans": np.zeros((2, 3)), "fps": 30, "names": ["x", "y"]}},
        {"root_pos": np.zeros((2, 3)), "root_rot": np.tile([0.0, 0, 0, 1], (2, 1)), "dof_pos": np.zeros((2, 9))},
        {
            "skeleton_tree": {"node_names": ["a", "b"], "parent_indices": {"arr": np.array([-1, 0])},
                              "local_translation": {"arr": np.ones((2, 3))}},
            "rotation": {"arr": np.tile([0.0, 0, 0, 1], (2, 2, 1))}, "root_translation": {"arr": np.zeros((2, 3))},
            "is_local": True, "fps": np.float64(30),
        },
        (1, 2.5, None, True, [b"x", "y", -3, 2**40]),
    ]  # fmt: skip
    return [pickle.dumps(value, protocol) for value in values for protocol in (0, 2, 4, 5)]


def TARGET(data: bytes) -> None:
    """Read; every figure that comes out must have the frames that it states."""
    if data[:1] != b"\x80":
        data = b"\x80\x02" + data
    with contextlib.suppress(FormatError):
        for figure in npz.parse(data):
            if figure.takes and figure.read_take:
                assert len(figure.read_take(0)) == figure.takes[0].frames
