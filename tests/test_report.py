"""Reports of solves: every constraint in millimetres and per cent, as tables, JSON, pictures and pages."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import footplant
from footplant import plot
from footplant.cli.solving import write_report
from footplant.clip import Clip
from footplant.edits.retarget import retarget
from footplant.errors import FormatError
from footplant.plot import player
from footplant.problem import Report, Status
from footplant.result import Result
from footplant.samples import load_character


@cache
def solved() -> Result:
    whole = footplant.load("sample:walk")
    return retarget(replace(whole, motion=whole.motion[:200]), load_character("sally"), keep_footsteps=True)


def answer() -> Clip:
    return Clip(motion=solved().motion, character=load_character("sally"), name="walk <b>&")


def test_every_constraint_has_its_numbers():
    told = json.loads(json.dumps(solved().report.to_dict(), allow_nan=False))
    assert told["status"] == "solved"
    assert told["meaning"] == Status.SOLVED.sentence
    assert len(told["constraints"]) == len(solved().report.constraints) >= 8
    height = told["height"]
    for entry in told["constraints"]:
        assert entry["unit"] == "mm"
        assert math.isfinite(entry["worst"])
        assert math.isfinite(entry["mean"])
        assert entry["mean"] <= entry["worst"] + 1e-12
        assert entry["worst_share"] == pytest.approx(entry["worst"] / 1000.0 / height * 100.0)
        assert entry["met"] is True
        assert entry["frames"] > 0
    kinds = {entry["kind"] for entry in told["constraints"]}
    assert "footplant" in kinds
    for level in told["levels"]:
        assert level["worst_share"] == pytest.approx(level["worst"] / 1000.0 / height * 100.0)
        assert level["seconds"] >= 0
    assert told["after"]["plants"]
    assert told["before"]["plants"]


def test_comparison_is_before_and_after():
    rows = {name: (before, after) for name, before, after in solved().report.comparison()}
    before, after = rows["worst footplant drift, mm"]
    assert before is not None
    assert after is not None
    assert before > 50.0 > 1.0 > after
    assert rows["footplants under 1 mm, share"] == (0.0, 1.0)
    assert Report("none", Status.SOLVED, 1.7).comparison() == []


def test_the_worst_and_the_unmet():
    report = solved().report
    assert report.worst is not None
    assert report.worst.worst == max(entry.worst for entry in report.constraints)
    assert report.unmet == ()
    failed = replace(report, constraints=(replace(report.constraints[0], met=False), *report.constraints[1:]))
    assert failed.unmet == (failed.constraints[0],)
    assert Report("none", Status.SOLVED, 1.7).worst is None


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """The page, drawn once."""
    return plot.still_page(solved().report, answer(), tmp_path_factory.mktemp("page") / "report.html")


class Reader(HTMLParser):
    """Checks that tags close, and collects text and loaded resources."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said: list[str] = []
        self.sources: list[str] = []
        self.rows = 0

    def handle_starttag(self, tag, attrs):
        self.rows += tag == "tr"
        self.sources += [value or "" for key, value in attrs if key in ("src", "href")]
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)


def read_page(path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert reader.open == []
    return reader


def test_a_page_that_needs_nothing_else(page_file):
    page = read_page(page_file)
    text = " ".join(page.said)
    assert "walk <b>& on sally" in text, "names are shown, not run"
    for entry in solved().report.constraints:
        assert entry.name in text
    assert page.rows > len(solved().report.constraints)
    assert len(page.sources) == 2
    assert all(source.startswith("data:image/png;base64,") for source in page.sources)


def test_a_page_takes_a_picture_that_exists(tmp_path):
    Image.fromarray(np.full((20, 30, 3), 200, np.uint8)).save(tmp_path / "own.png")
    path = plot.still_page(solved().report, answer(), tmp_path / "report.html", poses=tmp_path / "own.png")
    page = read_page(path)
    assert len(page.sources[0]) < 500 < len(page.sources[1])


def test_pages_and_sheets_of_reports_with_little_in_them(tmp_path):
    bare = Report("none", Status.UNFINISHED, 1.7, notes=("nothing <was> done",))
    plot.report_sheet(bare, answer(), tmp_path / "bare.png")
    page = read_page(plot.still_page(bare, answer(), tmp_path / "bare.html", poses=tmp_path / "bare.png"))
    assert "nothing <was> done" in page.said
    with pytest.raises(FormatError, match=r"ending in \.html"):
        plot.still_page(bare, answer(), tmp_path / "report.txt")


def test_pages_play_where_the_player_was_built(tmp_path, monkeypatch, capsys):
    path = tmp_path / "report.html"
    if player.is_available():
        write_report(solved(), str(path))
        assert 'id="footplant-data"' in path.read_text(encoding="utf-8")
    monkeypatch.setattr(player, "is_available", lambda: False)
    write_report(solved(), str(path))
    assert "data:image/png;base64," in path.read_text(encoding="utf-8")
    assert "npm" in capsys.readouterr().err, "it says why there is no motion, and what to do"


def test_endings_choose(tmp_path):
    for name in ("report.json", "report.png"):
        write_report(solved(), str(tmp_path / name))
    assert json.loads((tmp_path / "report.json").read_text())["status"] == "solved"
    with Image.open(tmp_path / "report.png") as picture:
        assert picture.size[0] > 1000
        assert len(np.unique(np.asarray(picture.convert("RGB")).reshape(-1, 3), axis=0)) > 20


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not on this machine")
def test_a_browser_shows_the_page(tmp_path, page_file):
    shot = tmp_path / "shot.png"
    done = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,1400",
         f"--user-data-dir={tmp_path / 'profile'}", f"--screenshot={shot}", page_file.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert shot.is_file(), done.stderr[-500:]
    with Image.open(shot) as picture:
        pixels = np.asarray(picture.convert("RGB")).astype(int)
    # the strip of poses has coloured limbs: orange and blue far from grey
    colours = np.ptp(pixels, axis=2)
    assert (colours[:600] > 60).mean() > 0.01
    assert (pixels[700:].min(axis=2) < 120).mean() > 0.005, "expected tables below the pictures"
