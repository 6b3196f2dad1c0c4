"""Notebook views of a motion: well-formed, small, and drawn from the poses."""

from __future__ import annotations

import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import footplant
from footplant.samples import load


@pytest.mark.parametrize("name", ["walk", "kick", "climb"])
def test_a_clip_is_an_animated_picture(name):
    clip = load(name)
    text = clip._repr_html_()
    title, _, picture = text.partition("<svg")
    assert name in title
    assert f"{len(clip.motion)} frames" in title
    root = ElementTree.fromstring("<svg" + picture)
    width, tall = (float(value) for value in root.attrib["viewBox"].split()[2:])
    animated = root.find(".//{*}animate")
    assert animated is not None
    assert float(animated.attrib["dur"].rstrip("s")) == pytest.approx(clip.motion.duration, abs=0.01)
    assert len(set(animated.attrib["values"].split(";"))) > 10
    for path in root.iter("{http://www.w3.org/2000/svg}path"):
        numbers = np.array([float(word) for word in re.findall(r"-?\d+", path.attrib["d"])]).reshape(-1, 2)
        assert (numbers >= -1).all()
        assert (numbers <= [width + 1, tall + 1]).all()
    assert len(text) < 150_000


def test_planted_feet_are_marked():
    clip = load("walk")
    contacts = footplant.contacts(clip)
    text = clip._repr_html_()
    *_, marks = ElementTree.fromstring("<svg" + text.partition("<svg")[2]).iter("{http://www.w3.org/2000/svg}animate")
    frames = marks.attrib["values"].split(";")
    moments = np.unique(np.linspace(0, len(clip.motion) - 1, len(frames)).round().astype(int))
    planted = contacts.masks()[moments].sum(axis=1)
    assert [frame.count("L") for frame in frames] == planted.tolist()
    assert planted.max() >= 2
    bare = footplant.Clip(clip.motion, footplant.Character(clip.motion.skeleton))._repr_html_()
    assert 'values="M0 0;M0 0;' in bare


def test_a_motion_alone_one_frame_and_none():
    motion = load("walk").motion
    assert "<svg" in motion._repr_html_()
    assert "<svg" in motion[:1]._repr_html_()
    assert "<svg" not in motion[:0]._repr_html_()


def test_names_cannot_smuggle_markup():
    clip = footplant.Clip(load("walk").motion[:3], load("walk").character, name="<script>alert(1)</script>")
    assert "<script" not in clip._repr_html_()


def test_it_needs_no_matplotlib():
    code = "import sys, footplant; footplant.load('sample:kick')._repr_html_(); assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
