"""The four pages for beginners ("doors"), and the real files that stand for the reader's own."""

from __future__ import annotations

import shutil
from pathlib import Path

DOORS: dict[str, dict[str, str]] = {
    "door_character": {
        "hero.vrm": "vrm/100avatars_038_Kate.vrm",
        "mixamo_walk.glb": "gltf/babylon_mixamo_Catwalk_Walking.glb",
    },
    "door_data": {
        "amass.npz": "smpl_npz/video_walk_level1_filter_amass.npz",
        "walk.bvh": "bvh/cmu/02_01.bvh",
        "take.c3d": "c3d/cmu_02_01.c3d",
    },
    "door_pipeline": {
        "hero.vrm": "vrm/100avatars_038_Kate.vrm",
        "clips/walk.bvh": "bvh/cmu/02_01.bvh",
        "clips/bow.bvh": "bvh/bandai_nc/dataset-1_bow_masculinity_001.bvh",
    },
    "door_live": {
        "hero.vrm": "vrm/100avatars_038_Kate.vrm",
        "walk.bvh": "bvh/cmu/02_01.bvh",
    },
}
"""Page → the name of a file in it → the file of the folder of real clips that takes its place."""


def missing_files(page: str, data: Path) -> list[str]:
    """Return the real files of a page that are absent."""
    return [name for name in DOORS[page].values() if not (data / name).is_file()]


def lay_out_files(page: str, data: Path, folder: Path) -> None:
    """Copy a page's files under the names that it uses."""
    for name, real in DOORS[page].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data / real, folder / name)
