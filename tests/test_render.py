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
    """In every cell there is a figure of a person's shape, and it moves from cell to cell."""
    if not to.startswith("sample:"):
        to = str(request.getfixturevalue("shared") / to)
    source = footplant.load("sample:walk")
    source = replace(source, motion=source.motion[:200])
    target = load_character(to)
    solution = retarget(source, target)
    path = footplant.save(
        tmp_path / "walk.glb",
        replace(source, motion=solution.motion, character=target, layout=None, conversion=Conversion()),
    )
    times = [0.2, 0.5, 0.8]
    picture = tmp_path / "walk.png"
    row = {"path": str(path), "times": times, "view": "side", "size": target.height * 1.1, "floor": False}
    seen = run_node(
        "render.mjs",
        {"chromium": CHROMIUM, "out": str(picture), "width": WIDTH, "height": HEIGHT, "rows": [row]},
        timeout=150,
    )
    assert seen["rows"][0]["animations"] == 1
    assert seen["rows"][0]["bones"] >= 15
    with Image.open(picture) as image:
        pixels = np.asarray(image.convert("RGB")).astype(int)
    assert pixels.shape == (HEIGHT, WIDTH * len(times), 3)
    cells = np.split(pixels, len(times), axis=1)
    figures = [np.abs(cell - cell[0, 0]).max(axis=2) > 12 for cell in cells]
    for figure in figures:
        rows, columns = np.flatnonzero(figure.any(axis=1)), np.flatnonzero(figure.any(axis=0))
        tall, wide = np.ptp(rows) + 1, np.ptp(columns) + 1
        assert 0.5 * HEIGHT < tall <= HEIGHT
        assert 0.12 * tall < wide < 0.8 * tall
        assert 0.02 < figure.mean() < 0.4
    assert all((one != other).mean() > 0.005 for one, other in itertools.pairwise(figures))
