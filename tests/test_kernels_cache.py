"""Compiled kernels on disk: never stale, never in the way, never from somebody else's folder."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import footplant

SOURCE = Path(footplant.__file__).parent
# a bone of 1 m along x, turned by 90° about z: its end is at (0, 1, 0)
FORWARD = """
import json, logging, numpy as np
said = []
logger = logging.getLogger("footplant.kernels")
logger.setLevel(logging.INFO)
logger.addFilter(lambda record: said.append(record.getMessage()))
from footplant import kernels
from footplant.kernels import fk
half = 0.5 ** 0.5
local = np.array([[[half, 0, 0, half], [1.0, 0, 0, 0]]])
positions, rotations = np.empty((1, 2, 3)), np.empty((1, 2, 4))
fk.forward(np.array([-1, 0]), np.array([[[0, 0, 0], [1.0, 0, 0]]]), np.zeros((1, 3)), local, positions, rotations)
stats = getattr(fk.forward, "stats", None)
print(json.dumps({
    "end": positions[0, 1].round(12).tolist(),
    "folder": None if kernels.cache_folder() is None else str(kernels.cache_folder()),
    "hits": None if stats is None else sum(stats.cache_hits.values()),
    "misses": None if stats is None else sum(stats.cache_misses.values()),
    "said": said,
}))
"""


def run(script: str, **environment: str | None) -> dict:
    """Run a script in a fresh interpreter and read the JSON of its last line; None takes a variable away."""
    variables = {key: value for key, value in (os.environ | environment).items() if value is not None}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def close(a: list[float], b: list[float]) -> bool:
    return max(abs(x - y) for x, y in zip(a, b)) < 1e-9


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> tuple[Path, dict]:
    """A cache in which one kernel was compiled, and what that process said; tests that change it copy it."""
    folder = tmp_path_factory.mktemp("compiled")
    return folder, run(FORWARD, FOOTPLANT_CACHE_DIR=str(folder))


def test_second_process_compiles_nothing(compiled):
    folder, first = compiled
    again = run(FORWARD, FOOTPLANT_CACHE_DIR=str(folder))
    assert close(first["end"], [0, 1, 0])
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (again["hits"], again["misses"]) == (1, 0)
    assert again["end"] == first["end"]
    # people are told once that this takes a while, and only when it does
    assert first["said"] == [f"compiling kernels, once per machine (kept in {first['folder']})"]
    assert again["said"] == []
    assert stat.S_IMODE(Path(first["folder"]).stat().st_mode) & 0o077 == 0


def test_change_in_another_kernel_file_is_seen(tmp_path, compiled):
    """Trap 1: numba's own cache looks at the caller's file alone and would go on with the old callee."""
    copy = tmp_path / "tree" / "footplant"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    place = {"PYTHONPATH": str(copy.parent), "FOOTPLANT_CACHE_DIR": str(tmp_path / "cache")}
    shutil.copytree(compiled[0], tmp_path / "cache")
    quaternion = copy / "kernels" / "quaternion.py"
    text = quaternion.read_text()
    changed = text.replace("vx + w * tx + y * tz - z * ty,", "100.0 + vx + w * tx + y * tz - z * ty,")
    assert changed != text
    quaternion.write_text(changed)
    # the caller, fk.py, is the same file with the same time stamp as before
    after = run(FORWARD, **place)
    assert close(after["end"], [100, 1, 0])
    quaternion.write_text(text)
    again = run(FORWARD, **place)
    assert close(again["end"], [0, 1, 0])
    # what was compiled for the old text is still there
    assert (again["hits"], again["misses"]) == (1, 0)


def test_change_in_a_kernel_file_that_is_not_used_costs_nothing(tmp_path, compiled):
    copy = tmp_path / "tree" / "footplant"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(compiled[0], tmp_path / "cache")
    place = {"PYTHONPATH": str(copy.parent), "FOOTPLANT_CACHE_DIR": str(tmp_path / "cache")}
    with open(copy / "kernels" / "limb.py", "a") as file:
        file.write("\nFURTHER = 1.0\n")
    assert run(FORWARD, **place)["hits"] == 1


def test_kernel_modules_import_one_another_in_the_way_that_the_cache_sees():
    import ast

    from footplant.kernels import module_names

    names = module_names()
    assert len(names) > 40
    # whatever calls numba is a kernel module, wherever it stands
    assert not [
        path for path in SOURCE.rglob("*.py") if "from numba" in path.read_text() and path.parent.name != "kernels"
    ]
    for name in names:
        path = SOURCE.joinpath(*name.split(".")[1:]).with_suffix(".py")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("footplant") for alias in node.names), name
            if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("footplant")):
                assert node.level == 0, name
                if node.module == "footplant.kernels":
                    assert {alias.name for alias in node.names} <= {"jit", "strict_jit", "uncounted_jit"}, name
                else:
                    assert node.module in names, name
                    assert node.col_offset == 0, name


def test_read_only_home_falls_back_to_the_temporary_folder(tmp_path):
    """Trap 2: numba's own cache raises when neither the package nor the home can be written."""
    blocked = tmp_path / "home"
    blocked.write_text("a file where a folder should be: nobody, not even root, can write below it")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    places = {"FOOTPLANT_CACHE_DIR": None, "XDG_CACHE_HOME": None, "HOME": str(blocked), "TMPDIR": str(temporary)}
    found = run(FORWARD, **places)
    assert close(found["end"], [0, 1, 0])
    assert Path(found["folder"]).is_relative_to(temporary)
    assert run(FORWARD, **places)["hits"] == 1


def test_nowhere_to_write_still_computes(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    found = run(FORWARD, FOOTPLANT_CACHE_DIR=str(blocked / "below"))
    assert close(found["end"], [0, 1, 0])
    assert found["folder"] is None


def test_folder_of_somebody_else_is_refused(tmp_path):
    """Compiled code is run from the folder, so it must be ours: here every folder's owner is said to be another."""
    script = """
import os, pathlib
real = pathlib.Path.stat
def foreign(self, **options):
    found = real(self, **options)
    if "kernels-" not in self.name:
        return found
    return os.stat_result([*found[:4], found.st_uid + 1, *found[5:10]])
pathlib.Path.stat = foreign
"""
    found = run(script + FORWARD, FOOTPLANT_CACHE_DIR=str(tmp_path))
    assert found["folder"] is None
    assert close(found["end"], [0, 1, 0])


def test_without_the_compiler(tmp_path):
    found = run(FORWARD, NUMBA_DISABLE_JIT="1", FOOTPLANT_CACHE_DIR=str(tmp_path))
    assert close(found["end"], [0, 1, 0])


@pytest.fixture(scope="module")
def warmed_up() -> dict:
    """The report of `footplant warmup`, in the usual cache folder: all other tests are the faster for it."""
    command = [sys.executable, "-m", "footplant", "warmup", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_warmup_says_what_it_did(warmed_up):
    assert {"kernels.fk.forward", "kernels.quaternion.displace"} <= set(warmed_up["kernels"])
    assert any(Path(warmed_up["cache"]).glob("fk.forward-footplant.kernels.fk-*.nbc"))


def test_warmup_leaves_nothing_to_compile(warmed_up):
    """After `footplant warmup` a real motion, of constant or changing bones, finds every kernel it needs on disk."""
    script = """
import json, numpy as np
import footplant
from footplant import Kinematics, Motion, Point, kernels
from footplant.samples.characters import load_character
character = load_character("mannequin")
still = footplant.rest_motion(character.skeleton, frames=3)
offsets = np.tile(still.skeleton.offsets, (3, 1, 1))
for motion in (still, Motion(still.skeleton, still.root, still.rotations, offsets=offsets)):
    kinematics = Kinematics(motion + np.zeros((3, 1 + len(motion.skeleton), 3)))
    kinematics.ends
    kinematics.position_jacobian(Point(3, (0.0, 0.1, 0.0)))
    kinematics.rotation_jacobian(3)
    kinematics.center_of_mass_jacobian(character)
    motion - motion
    motion[0] + np.zeros((1, 1 + len(motion.skeleton), 3))
missed = {}
for module in kernels.modules():
    for name, item in vars(module).items():
        if hasattr(item, "stats") and item.stats.cache_misses:
            missed[f"{module.__name__}.{name}"] = sum(item.stats.cache_misses.values())
print(json.dumps(missed))
"""
    assert run(script) == {}


def test_what_was_compiled_long_ago_is_forgotten_unless_it_is_in_use(tmp_path, compiled):
    shutil.copytree(compiled[0], tmp_path, dirs_exist_ok=True)
    folder = tmp_path / Path(compiled[1]["folder"]).name
    used = {entry.name for entry in folder.iterdir()}
    for name, days in (("kernels-old", 90), ("kernels-new", 3), ("else", 90)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("")
        age = time.time() - days * 86400
        os.utime(tmp_path / name / "file", (age, age))
    for name in (*used, "fk.forward-footplant.kernels.fk-0123456789abcdef.py311.1.nbc"):
        (folder / name).touch()
        os.utime(folder / name, (age, age))
    assert run(FORWARD, FOOTPLANT_CACHE_DIR=str(tmp_path))["hits"] == 1
    assert {entry.name for entry in tmp_path.iterdir()} == {"kernels-new", "else", folder.name}
    assert {entry.name for entry in folder.iterdir()} == used
