"""Random bytes for the reader of NumPy files: whatever they are, it reads them or raises FormatError.

A checksum stands before all that is inside an archive, so that random changes hardly get past it. Inputs that start
with "!" are members (name, a zero byte, bytes of a .npy file) with "%%" between, which become a sound archive here.
"""

from __future__ import annotations

import contextlib
import io
import zipfile

import numpy as np

from footplant.errors import FormatError
from footplant.io import npz


def _npz(compressed: bool = False, **arrays) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def _npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def corpus() -> list[bytes]:
    """A small file of every kind."""
    rng = np.random.default_rng(0)
    poses, trans = rng.normal(size=(2, 66)).astype(np.float32), rng.normal(size=(2, 3))
    turns = np.broadcast_to([1.0, 0, 0, 0], (12, 3, 4))
    chain = np.cumsum(np.ones((12, 3, 3)), axis=1) + rng.normal(scale=0.01, size=(12, 1, 3))
    own = {
        "format": "footplant-motion", "version": 1, "names": np.array(["a", "b"]), "parents": np.array([-1, 0]),
        "offsets": np.eye(2, 3), "root": np.zeros((2, 3)), "fps": 30.0,
        "rotations": np.broadcast_to([1.0, 0, 0, 0], (2, 2, 4)), "role_names": np.array(["hips"]),
        "role_joints": np.array([0]),
    }  # fmt: skip
    whole = [
        _npz(poses=poses, trans=trans, mocap_framerate=60, betas=np.zeros(3), gender="male"),
        _npz(root_orient=poses[:, :3], pose_body=poses[:, 3:], trans=trans),
        _npz(body_positions=chain, body_rotations=turns, body_names=np.array(["a", "b", "c"]), fps=30),
        _npz(posed_joints=chain, global_rot_mats=np.broadcast_to(np.eye(3), (12, 3, 3, 3)), parents=[-1, 0, 1]),
        _npz(**own),
    ]
    single = [
        _npz(compressed=True, poses=poses, trans=trans, fps=60.0),
        _npy(rng.normal(size=(2, 22, 3)).astype(np.float32)),
        _npy(chain),
        _npy(np.asfortranarray(chain[None])),
        _npy(np.zeros((4, 5))),
        _npy(np.array(["a"])),
    ]
    return [*whole, *single, *map(_members, whole)]


def _members(data: bytes) -> bytes:
    """An archive as members that can be changed one by one."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = [name.encode() + b"\0" + archive.read(name) for name in archive.namelist()]
    return b"!" + b"%%".join(parts)


def _archive(data: bytes) -> bytes:
    """The archive of such members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number, part in enumerate(data[1:].split(b"%%")[:40]):
            name, _, content = part.partition(b"\0")
            archive.writestr(zipfile.ZipInfo(name.decode("latin-1") or f"{number}.npy"), content)
    return buffer.getvalue()


def TARGET(data: bytes) -> None:
    """Read; every figure that comes out must have the frames that it states."""
    if data[:1] == b"!":
        try:
            data = _archive(data)
        except (ValueError, UserWarning):
            return
    with contextlib.suppress(FormatError):
        for figure in npz.parse(data):
            if figure.takes and figure.read_take:
                assert len(figure.read_take(0)) == figure.takes[0].frames
