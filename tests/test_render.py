"""Retargeted characters as three.js draws them: the files are what others see."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import footplant
from footplant.conversion import Conversion
from footplant.edits.retarget import retarget
from footplant.io import load_character
from node_env import run_node

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTH, HEIGHT = 120, 160


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: three.js cannot draw")
@pytest.mark.parametrize("to", ["sample:sally", "vrm/100avatars_038_Kate.vrm"])
@pytest.mark.named("{to}")
def test_a_figure_walks(tmp_path, request, to):
    """In every cell there is a figure of a person's shape, it moves from cell to cell, and FBX looks like GLB."""
    if not to.startswith("sample:"):
        to = str(request.getfixturevalue("shared") / to)
    source = footplant.load("sample:walk")
    source = replace(source, motion=source.motion[:200])
    target = load_character(to)
    solution = retarget(source, target)
    clip = replace(source, motion=solution.motion, character=target, layout=None, conversion=Conversion())
    times = [0.2, 0.5, 0.8]
    picture = tmp_path / "walk.png"
    # FBXLoader keeps the file's unit, centimetres
    rows = [
        {"path": str(footplant.save(tmp_path / name, clip)), "times": times, "view": "side", "floor": False}
        | {"size": target.height * 1.1 * unit}
        for name, unit in (("walk.glb", 1.0), ("walk.fbx", 100.0))
    ]
    seen = run_node(
        "render.mjs",
        {"chromium": CHROMIUM, "out": str(picture), "width": WIDTH, "height": HEIGHT, "rows": rows},
        timeout=150,
    )
    for row in seen["rows"]:
        assert row["animations"] == 1
        assert row["bones"] >= 15
    with Image.open(picture) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    assert pixels.shape == (2 * HEIGHT, WIDTH * len(times), 3)
    glb, fbx = (np.split(row, len(times), axis=1) for row in np.split(pixels, 2))
    figures, again = ([np.abs(cell - cell[0, 0]).max(axis=2) > 12 for cell in cells] for cells in (glb, fbx))
    for cell, other, figure, same in zip(glb, fbx, figures, again):
        # light edges are missed in one of them; a shift by a pixel would be 40 % of a thin figure. (The GLB of a .vrm
        # keeps its scene, which faces backwards.)
        assert to.endswith(".vrm") or (figure != same).sum() < 0.12 * figure.sum()
        # materials of one format are lit a little differently from those of another
        assert np.abs(cell[figure].mean(axis=0) - other[same].mean(axis=0)).max() < 60
    for figure in figures + again:
        tall, wide = (np.ptp(np.flatnonzero(figure.any(axis=axis))) + 1 for axis in (1, 0))
        assert 0.5 * HEIGHT < tall <= HEIGHT
        assert 0.12 * tall < wide < 0.8 * tall
        assert 0.02 < figure.mean() < 0.4
    assert all((one != other).mean() > 0.005 for one, other in itertools.pairwise(figures))
