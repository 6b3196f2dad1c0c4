"""Notebook views of a motion: 3-D views that play, or pictures where the player was not built."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import footplant
from footplant.plot import player
from footplant.plot.notebook import motion_html, page_view
from footplant.samples import load

needs_player = pytest.mark.skipif(not player.is_available(), reason="the page is not built: python hatch_build.py")


@needs_player
def test_a_clip_is_a_view_that_plays_in_a_frame():
    clip = load("walk")
    text = clip._repr_html_()
    title, _, frame = text.partition("<iframe")
    assert "walk" in title
    assert f"{len(clip.motion)} frames" in title
    assert 'sandbox="allow-scripts"' in frame
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert page.startswith("<!doctype html>")
    assert "Content-Security-Policy" in page
    assert len(text) < 600_000


@needs_player
def test_a_motion_alone_one_frame_and_none():
    motion = load("walk").motion
    assert "<iframe" in motion._repr_html_()
    assert "<iframe" in motion[:1]._repr_html_()
    assert "<iframe" not in motion[:0]._repr_html_()
    assert "0 frames" in page_view(motion[:0])


def test_without_the_player_there_is_a_picture(monkeypatch):
    monkeypatch.setattr(player, "is_available", lambda: False)
    clip = load("kick")
    assert "<svg" in clip._repr_html_()
    assert "<iframe" not in clip._repr_html_()
    assert "npm" in page_view(clip), "it says why, and what to do"


def test_names_cannot_smuggle_markup():
    clip = footplant.Clip(load("walk").motion[:3], load("walk").character, name="<script>alert(1)</script>")
    shown = clip._repr_html_()
    assert "<script" not in shown
    assert "<script>alert" not in html.unescape(shown.partition("<iframe")[2])


def test_show_writes_a_page(tmp_path):
    load("kick").show(tmp_path / "kick.html")
    assert (tmp_path / "kick.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["walk", "kick", "climb"])
def test_the_picture_is_animated(name):
    clip = load(name)
    text = motion_html(clip.motion, clip.character, clip.name)
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


def test_planted_feet_are_marked_in_the_picture():
    clip = load("walk")
    contacts = footplant.contacts(clip)
    text = motion_html(clip.motion, clip.character)
    *_, marks = ElementTree.fromstring("<svg" + text.partition("<svg")[2]).iter("{http://www.w3.org/2000/svg}animate")
    frames = marks.attrib["values"].split(";")
    moments = np.unique(np.linspace(0, len(clip.motion) - 1, len(frames)).round().astype(int))
    planted = contacts.masks()[moments].sum(axis=1)
    assert [frame.count("L") for frame in frames] == planted.tolist()
    assert planted.max() >= 2
    assert 'values="M0 0;M0 0;' in motion_html(clip.motion, footplant.Character(clip.motion.skeleton))
    assert "<svg" not in motion_html(clip.motion[:0])


def test_it_needs_no_matplotlib():
    code = "import sys, footplant; footplant.load('sample:kick')._repr_html_(); assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
