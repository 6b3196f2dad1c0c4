"""Truncated files of every format: refused in one line, or read as far as possible with a note."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import pickle
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import c3d_made
import footplant
import mmd_made
import test_collada
import test_mvnx
from footplant import FormatError, Kinematics
from footplant.io import formats
from test_asf import MOTION, SKELETON
from test_cli import assert_one_line_of_error, run
from test_deepmimic import CHARACTER
from thorough import thorough

SHARES = thorough((0.0, 0.6, 0.997), (0.0, 0.03, 0.3, 0.6, 0.9, 0.997))
"""Fractions of the file that remain."""
FIXED, FACTOR = 16 << 20, 10
"""Memory limit for reading, bytes, plus this multiple of the file's size. (Child processes limit themselves.)"""
WHOLE_LINES = (".bvh", ".amc", ".trc", ".c3d")
"""Formats whose first frames are meaningful without the rest."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A sound file of a format; what stands beside it stays there."""
    folder = tmp_path_factory.mktemp("whole")

    def make(extension: str) -> Path:
        path = folder / f"clip{extension}"
        if extension in (".asf", ".amc"):
            (folder / "clip.asf").write_text(SKELETON)
            (folder / "clip.amc").write_text(MOTION)
        elif extension == ".txt":
            path.write_text(json.dumps(CHARACTER))
        elif extension == ".c3d":
            # 12 blocks of 512 bytes: truncation never removes just padding
            points, names = np.random.default_rng(0).normal(size=(32, 12, 3)), [f"M{number}" for number in range(12)]
            path.write_bytes(c3d_made.Made(1000.0 * points, names).bytes())
        elif extension == ".trc":
            markers = footplant.load_markers(make(".c3d"))
            footplant.save_markers(path, markers)
        elif extension in (".pkl", ".pickle", ".joblib"):
            poses = np.random.default_rng(0).normal(scale=0.1, size=(12, 72))
            path.write_bytes(pickle.dumps({"smpl_poses": poses, "smpl_trans": np.zeros((12, 3))}))
        elif extension in (".pmx", ".vmd"):
            (folder / "clip.pmx").write_bytes(mmd_made.pmx_bytes(mmd_made.dressed_model()))
            (folder / "clip.vmd").write_bytes(mmd_made.vmd_bytes(mmd_made.dance()))
        elif extension == ".mvnx":
            path.write_bytes(test_mvnx.made())
        elif extension == ".dae":
            path.write_bytes(test_collada.figure(test_collada.curve("Hips/rz.ANGLE", [0.0, 1.0], [30, 60])))
        elif extension == ".zae":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("made.dae", test_collada.figure())
        elif extension == ".npy":
            np.save(path, Kinematics(footplant.load("sample:walk").motion[:12]).positions)
        else:
            clip = footplant.load("sample:walk")
            footplant.save(path, clip.motion[:12], character=clip.character)
        return path

    return make


def peak_of_reading(path: Path) -> int:
    """Return the parser's peak memory, bytes."""
    module = formats()[path.suffix]
    tracemalloc.start()
    with contextlib.suppress(FormatError):
        (module.load if hasattr(module, "load") else module.load_markers)(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


# tables of robots and of markers say what they are in columns, and are cut in tests/fuzz
@pytest.mark.parametrize("extension", sorted({*formats()} - {".usd", ".usdz", ".csv"}))
def test_truncated_files(capsys, whole, extension):
    extra, library = getattr(formats()[extension], "requires", (None, None))
    if library is not None and importlib.util.find_spec(library) is None:
        pytest.skip(f"footplant[{extra}] is not installed")
    path = whole(extension)
    data = path.read_bytes()
    assert run(capsys, "info", path)[0] == 0
    # a library that reads in a child process takes a second each
    for share in SHARES if library is None else SHARES[-1:]:
        path.write_bytes(data[: int(share * len(data))])
        assert library is not None or peak_of_reading(path) < FIXED + FACTOR * len(data), share
        code, out, err = run(capsys, "info", path, "--json")
        if code:
            assert_one_line_of_error(code, out, err)
        else:
            assert extension in WHOLE_LINES, share
            assert json.loads(out)["notes"], share
