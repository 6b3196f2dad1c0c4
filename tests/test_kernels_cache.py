"""Compiled kernels on disk: never stale, never in the way, never from somebody else's folder."""

from __future__ import annotations

import contextlib
import io
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
import needed_kernels
from footplant import kernels
from footplant.cli import main
from footplant.kernels import storage
from thorough import thorough

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
    shutil.copytree(SOURCE, copy)
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
    # a change in a file that is not used costs nothing
    with open(copy / "kernels" / "limb.py", "a") as file:
        file.write("\nFURTHER = 1.0\n")
    again = run(FORWARD, **place)
    assert close(again["end"], [0, 1, 0])
    # what was compiled for the old text is still there
    assert (again["hits"], again["misses"]) == (1, 0)


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
    """The report of `footplant warmup`, in this process: tests after it find every kernel loaded."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert main(["warmup", "--json"]) == 0
    return json.loads(said.getvalue())


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


def test_commands_call_kernels_as_they_are_compiled_ahead(tmp_path):
    """With the types of WARMUP, read-only arrays among them: a wheel has code for no others."""
    code, called, unexpected = needed_kernels.run("retarget sample:walk --to sample:sally -o sally.glb", tmp_path)
    assert code == 0
    assert len(called) > 40
    assert unexpected == []


@pytest.fixture(scope="module")
def carrying(tmp_path_factory) -> Path:
    """A tree that carries one compiled kernel as a wheel carries all: for a level of processors, read only."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "tree" / "footplant"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("compiled"))
    script = f"""{FORWARD}
from pathlib import Path
from footplant.kernels import packing
packing.pack(Path(kernels.__file__).parent / "compiled")
print("{{}}")
"""
    level = storage.level()
    if level is None:
        pytest.skip("wheels with compiled kernels are not made for this machine")
    run(
        script, PYTHONPATH=str(copy.parent), FOOTPLANT_CACHE_DIR=str(folder / "cache"),
        NUMBA_CPU_NAME=level.name, NUMBA_CPU_FEATURES=level.features,
    )  # fmt: skip
    return copy


def test_installation_with_compiled_kernels_compiles_nothing(carrying, tmp_path):
    """The whole wheel is tried by `make dist` (try_distributions.py)."""
    place = {"PYTHONPATH": str(carrying.parent), "FOOTPLANT_CACHE_DIR": str(tmp_path)}
    found = run(FORWARD, **place)
    assert close(found["end"], [0, 1, 0])
    assert (found["hits"], found["misses"], found["said"]) == (1, 0, [])
    assert not list(Path(found["folder"]).iterdir())
    # nor where nothing can be written
    (tmp_path / "file").write_text("")
    assert run(FORWARD, **place | {"FOOTPLANT_CACHE_DIR": str(tmp_path / "file" / "below")})["hits"] == 1
    # nothing of the folder in which they were compiled is in them
    for file in (carrying / "kernels" / "compiled").rglob("*.nb?"):
        assert str(carrying.parent).encode() not in file.read_bytes()


def test_compiled_kernels_for_another_compiler_are_left_alone_and_said_to_be(carrying, tmp_path):
    copy = tmp_path / "tree" / "footplant"
    shutil.copytree(carrying, copy)
    about = copy / "kernels" / "compiled" / "about.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"numba": "0.1"}))
    found = run(FORWARD, PYTHONPATH=str(copy.parent), FOOTPLANT_CACHE_DIR=str(tmp_path / "cache"))
    assert (found["hits"], found["misses"]) == (0, 1)
    assert len(found["said"]) == 1
    assert "those of this installation are for numba 0.1, here is" in found["said"][0]


def test_processor_without_what_compiled_kernels_need_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(storage, "SHIPPED", tmp_path)
    monkeypatch.setattr(storage, "level", lambda: storage.Level("x86-64-v9", "", ("teleport",)))
    (tmp_path / "about.json").write_text(json.dumps(storage.compiler()))
    storage.shipped_folder.cache_clear()
    try:
        assert storage.shipped_folder() == (
            None, "those of this installation need a processor with teleport"
        )  # fmt: skip
    finally:
        storage.shipped_folder.cache_clear()


def test_processes_that_need_the_same_kernel_compile_it_once(tmp_path):
    variables = os.environ | {"FOOTPLANT_CACHE_DIR": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", FORWARD], stdout=subprocess.PIPE, text=True, env=variables)
        for _ in range(2)
    ]
    found = [json.loads(process.communicate()[0].splitlines()[-1]) for process in started]
    assert sorted(each["misses"] for each in found) == ([0, 1] if storage.fcntl else [1, 1])


def test_kernel_that_only_kernels_call_can_still_be_called():
    from footplant.kernels.quaternion import exp

    assert exp.is_inner
    assert exp(0.0, 0.0, 0.0) == (1.0, 0.0, 0.0, 0.0)
    assert exp(0.0, 0.0, 0.0) == (1.0, 0.0, 0.0, 0.0)
    with pytest.raises(TypeError, match="not enough arguments"):
        exp(0.0)


def test_constants_are_not_compiled_apart(tmp_path):
    script = """
import json
from footplant.contacts import _stillness
from footplant.kernels.selection import select
for name in ("median_positions", "bridge"):  # both call it
    getattr(_stillness, name)(*_stillness.WARMUP[name]())
print(json.dumps([str(signature) for signature in select.overloads]))
"""
    assert run(script, FOOTPLANT_CACHE_DIR=str(tmp_path)) == [
        "(Array(float64, 1, 'C', False, aligned=True), int64, int64)"
    ]


def test_lists_of_kernels_name_those_that_exist():
    """Written by needed_kernels.py; a kernel that a list lacks is compiled when it is called."""
    from footplant.cli.kernels import needed_kernels

    known = set(kernels.entry_points())
    assert len(needed_kernels("retarget")) > 20
    for command in ("retarget", "repair", "terrain", "measure", "demo"):
        assert set(needed_kernels(command)) <= known, "run tests/needed_kernels.py"
    assert needed_kernels("samples") == []


def test_processes_compile_ahead_and_count(tmp_path):
    """Three kernels in two processes; those that they call are counted too."""
    script = """
import json
from footplant.kernels import ahead
pool = ahead.start(["kernels.fk.forward", "kernels.quaternion.displace", "kernels.quaternion.displacement"], 2)
seen = []
pool.wait(progress=lambda done, total: seen.append((done, total)))
print(json.dumps({
    "problems": pool.problems, "compiled": sorted(pool.compiled), "seen": seen,
    "left": ahead.missing(pool.names), "again": ahead.start(pool.names) is None,
}))
"""
    found = run(script, FOOTPLANT_CACHE_DIR=str(tmp_path))
    assert found["problems"] == []
    assert {"kernels.fk.forward", "kernels.quaternion.multiply"} <= set(found["compiled"])
    assert found["left"] == []
    assert found["again"]
    counts = [done for done, _ in found["seen"]]
    assert counts == sorted(counts)
    assert {total for _, total in found["seen"]} == {len(found["compiled"])}


def test_processes_that_only_compile_make_the_same_code(tmp_path):
    """What `compile_only` changes in numba costs no bit of the machine code."""
    script = """
import hashlib, json, os, re
from footplant.kernels import compile_only, quaternion
if os.environ["COMPILE_ONLY"] == "1":
    compile_only.prepare()
quaternion.displace(*quaternion.WARMUP["displace"]())
code = next(iter(quaternion.displace.overloads.values())).library.get_asm_str()
# names of functions count what was compiled before, addresses differ between processes
code = re.sub(r'_ZN\\S+|\\.const\\.\\S+|"[^"]*"|\\.numba\\S*|0x[0-9a-f]{8,}', "", code)
print(json.dumps([len(code), hashlib.sha256(code.encode()).hexdigest()]))
"""
    made = [run(script, FOOTPLANT_CACHE_DIR=str(tmp_path / flag), COMPILE_ONLY=flag) for flag in "01"]
    assert made[0][0] > 1000
    assert made[0] == made[1]


LEAN = """
import json, os
import numpy as np
from numba import njit
from numba.core import codegen
from footplant.kernels import compile_only
count, add = 0, codegen.CPUCodeLibrary.add_ir_module
def counting(library, module):
    global count
    count += sum(len(block.instructions) for function in module.functions for block in function.blocks)
    return add(library, module)
codegen.CPUCodeLibrary.add_ir_module = counting
if os.environ["COMPILE_ONLY"] == "1":
    compile_only.prepare()
def body(flat, table, cube, numbers, small, out):
    last, n = -1, 0
    out[0], out[-1] = flat[0], flat[last]
    for i in range(table.shape[0]):
        row = table[i]
        for j in range(row.shape[0]):
            chosen = row if j % 2 else cube[i, j]
            n += 1
            out[n] = row[j] + table[i, -1] + cube[last, i, j] + chosen[small[0]] + cube[i][j, last - 1] + numbers[-i]
        if n > 3:
            extra = flat[n % flat.shape[0]]
            out[n] += extra
        cube[i, 1:, 0] = row[0]
    pair = (flat, table)
    out[1] += pair[0][1] * pair[1][1, 1]
    return n, out[small[1]]
def arguments(order):
    rng = np.random.default_rng(3)
    table, cube = np.array(rng.normal(size=(3, 3)), order=order), np.array(rng.normal(size=(3, 3, 4)), order=order)
    if order == "K":
        table, cube = np.repeat(table, 2, axis=1)[:, ::2], np.repeat(cube, 2, axis=2)[..., ::2]
    numbers, small = np.arange(5), np.array([2, 3], np.uint8)
    return rng.normal(size=4), table, cube, numbers, small, np.zeros(12)
off = 0.0
for order, counts in json.loads(os.environ["VARIANTS"]):
    plain, made = arguments(order), arguments(order)
    assert np.allclose(body(*plain), njit(**({} if counts else {"_nrt": False}))(body)(*made))
    off = max(off, *(float(abs(a - b).max()) for a, b in zip(plain, made)))
print(json.dumps([off, count]))
"""


def test_processes_that_only_compile_need_half_of_the_instructions(tmp_path):
    """Elements, rows and slices of arrays in any order, with indices of any sign and width, are those of NumPy."""
    # orders of arrays, and whether references are counted
    variants = thorough(
        [("C", True), ("F", False), ("K", True)], [(order, c) for order in "CFK" for c in (True, False)]
    )
    plain, lean = (
        run(LEAN, FOOTPLANT_CACHE_DIR=str(tmp_path / flag), COMPILE_ONLY=flag, VARIANTS=json.dumps(variants))
        for flag in "01"
    )
    assert plain[0] < 1e-12
    assert lean[0] < 1e-12
    assert lean[1] < 0.6 * plain[1], (plain[1], lean[1])


def test_pipe_is_told_how_far_compiling_is(monkeypatch, capsys):
    from footplant.cli import kernels as told

    monkeypatch.setattr(told, "LINE_EVERY", 0.0)
    with told._counting() as progress:
        progress(3, 7)
    assert capsys.readouterr().err == "footplant: compiling kernels, once per machine: 3 of 7 after 0 s\n"


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
    # it was looked after when it was compiled: not twice a day
    assert run(FORWARD, FOOTPLANT_CACHE_DIR=str(tmp_path))["hits"] == 1
    assert (tmp_path / "kernels-old").exists()
    os.utime(tmp_path / "swept", (age, age))
    assert run(FORWARD, FOOTPLANT_CACHE_DIR=str(tmp_path))["hits"] == 1
    assert {entry.name for entry in tmp_path.iterdir()} == {"kernels-new", "else", "swept", folder.name}
    assert {entry.name for entry in folder.iterdir()} == used - {"locks"}
