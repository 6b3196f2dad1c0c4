"""Pages that play motions: what is packed into them, and how they behave in a real browser without a network."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import time
import zlib
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from PIL import Image

import footplant
from browser_env import new_context, running_browser
from footplant import rotation
from footplant.kinematics import Kinematics
from footplant.plot import player
from footplant.plot.packed import Packer, hardware_skin, pack_motion, thinned_skin
from footplant.result import Result
from footplant.samples import load_character

pytestmark = pytest.mark.skipif(not player.is_available(), reason="the page is not built: python hatch_build.py")
MOST_BYTES = 2_500_000


@cache
def solved() -> Result:
    return footplant.retarget("sample:walk", load_character("sally"), keep_footsteps=True)


@cache
def page() -> str:
    return player.motion_page([player.result_scene(solved())], "walk <b>& on sally")


def unpacked(block: bytes) -> tuple[dict, list[np.ndarray]]:
    """Decode a block as the page does."""
    data = zlib.decompress(block)
    length = int.from_bytes(data[:4], "little")
    header, rest = json.loads(data[4 : 4 + length]), np.frombuffer(data[4 + length :], np.uint8)
    arrays = []
    for entry in header["arrays"]:
        size, count = int(entry["kind"][1]), entry["rows"] * entry["columns"]
        planes = rest[entry["at"] : entry["at"] + size * count].reshape(size, count)
        words = planes.T.copy().view(f"<u{size}").reshape(entry["rows"], entry["columns"])
        if entry["kind"] == "f4":
            arrays.append(words.view("<f4"))
            continue
        whole = words.astype(np.int64)
        whole = (whole >> 1) ^ -(whole & 1)
        for _ in range(entry["order"]):
            whole = whole.cumsum(axis=0)
        arrays.append(whole)
    return header, arrays


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arrays_come_back(order):
    packer, random = Packer(), np.random.default_rng(order)
    given = [random.integers(-limit, limit, (40, 3)) for limit in (20, 3000, 2_000_000)]
    for values in given:
        packer.add(values, order=order)
    packer.add(np.zeros((0, 3), int), order=order)
    packer.add(random.normal(size=(5, 2)))
    _, arrays = unpacked(packer.block({}))
    for values, found in zip(given, arrays, strict=False):
        np.testing.assert_array_equal(values, found)
    assert arrays[4].dtype == "<f4"


@pytest.mark.parametrize("moving", [False, True])
def test_poses_are_within_a_tenth_of_a_millimetre(moving):
    motion = footplant.load("sample:walk").motion
    # signs of quaternions may flip from frame to frame
    flips = np.random.default_rng(1).choice([-1.0, 1.0], motion.rotations.shape[:2] + (1,))
    motion = replace(motion, rotations=motion.rotations * flips)
    if moving:
        offsets = np.tile(motion.skeleton.offsets, (len(motion), 1, 1))
        motion = replace(motion, offsets=offsets * np.linspace(0.9, 1.1, len(motion))[:, None, None])
    packer = Packer()
    packed = pack_motion(packer, motion)
    _, arrays = unpacked(packer.block({}))
    turns = rotation.normalize(arrays[packed["turns"]].reshape(motion.rotations.shape) / packed["turn_steps"])
    root = arrays[packed["root"]] * packed["root_step"]
    shifts = None
    if moving:
        shifts = (arrays[packed["moving"]] * packed["moving_step"]).reshape(len(motion), -1, 3)
    again = Kinematics(replace(motion, root=root, rotations=turns, offsets=shifts))
    assert np.abs(again.positions - Kinematics(motion).positions).max() < 3e-4


def test_long_motions_keep_every_nth_frame(monkeypatch):
    monkeypatch.setattr("footplant.plot.packed.MOST_POSES", 1000)
    motion = footplant.load("sample:walk").motion
    packed = pack_motion(Packer(), motion)
    assert packed["step"] > 1
    assert packed["frames"] == len(motion[:: packed["step"]])


def test_dense_skins_are_thinned():
    skin = footplant.load_character("sample:sally").skin
    assert thinned_skin(skin) is skin
    few = thinned_skin(skin, most=800)
    assert 200 < len(few.vertices) <= 800
    assert few.faces.max() < len(few.vertices)
    assert np.abs(few.vertices.max(axis=0) - skin.vertices.max(axis=0)).max() < 0.1
    weights, joints, _ = hardware_skin(few)
    assert weights.shape == joints.shape == (len(few.vertices), 4)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_a_scene_is_source_copied_and_result():
    scene = player.result_scene(solved())
    assert [figure.kind for figure in scene.figures] == ["source", "unsolved", "result"]
    copied, ours = (max(plant.drift for plant in figure.plants) for figure in scene.figures[1:])
    assert copied > 50.0 > 1.0 > ours
    alone = player.clip_scene(footplant.load("sample:walk"))
    assert len(alone.figures) == 1
    assert alone.figures[0].plants


def test_a_dropped_lead_in_shifts_nothing():
    result = solved()
    frames = len(result.motion) - 40
    cut = replace(result, clip=replace(result.clip, motion=result.motion[40:]))
    header, _ = unpacked(_data(player.motion_page([player.result_scene(cut)], "cut")))
    source, _, ours = header["scenes"][0]["figures"]
    assert header["scenes"][0]["frames"] == frames
    assert source["lead"] == -40
    assert ours["lead"] == 0
    firsts = {mark["point"]: mark["start"] for mark in reversed(ours["marks"])}
    whole, _ = unpacked(_data(page()))
    before = {mark["point"]: mark["start"] for mark in reversed(whole["scenes"][0]["figures"][2]["marks"])}
    assert any(firsts[point] == before[point] - 40 for point in firsts if before[point] >= 40) or firsts != before


def _data(text: str) -> bytes:
    return base64.b64decode(re.search(r'id="footplant-data">([^<]*)<', text)[1])


def test_the_policy_names_both_scripts_and_nothing_else():
    text = page()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy, "nothing may be fetched: the default holds"
    code = zlib.decompress(base64.b64decode(re.search(r'id="footplant-code">([^<]*)<', text)[1]))
    start = re.search(r"<script>([^<]*)</script>", text)[1]
    for script in (code, start.encode()):
        assert f"sha256-{base64.b64encode(hashlib.sha256(script).digest()).decode()}" in policy
    assert "script-src 'unsafe" not in policy
    assert not re.search(r"(src|href)=[\"']?https?:", text)
    assert "<title>walk &lt;b&gt;&amp; on sally</title>" in text


def test_a_skinned_clip_of_five_hundred_frames_is_small():
    assert len(solved().motion) >= 500
    assert len(page()) < MOST_BYTES / 4


def test_the_report_is_in_it():
    header, _ = unpacked(_data(page()))
    report = header["scenes"][0]["report"]
    assert report["status"] == "solved"
    titles = [table["title"] for table in report["tables"]]
    assert titles[0] == "Before and after"
    constraints = next(table for table in report["tables"] if table["title"].endswith("constraints"))
    assert len(constraints["rows"]) == len(solved().report.constraints)


@pytest.fixture(scope="module")
def browser():
    with running_browser() as running:
        yield running


class Opened:
    """A page opened from file://, offline."""

    def __init__(self, browser, path, drawn: bool = True) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        view = {"viewport": {"width": 900, "height": 620}, "device_scale_factor": 0.5}
        context = new_context(browser, drawn, **view, offline=True)
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.wait("() => !!window.__fp && window.__fp.ready()")

    def wait(self, condition: str) -> None:
        end = time.monotonic() + 60
        while not self.page.evaluate(condition):
            assert time.monotonic() < end, (condition, self.problems)
            time.sleep(0.05)

    def state(self) -> dict:
        return self.page.evaluate("() => window.__fp.state()")

    def pixels(self) -> np.ndarray:
        # drawing takes a while where the processor does it
        self.wait("() => window.__fp.settled()")
        time.sleep(0.2)
        self.wait("() => window.__fp.settled()")
        shot = self.page.locator("canvas.viewport").screenshot()
        return np.asarray(Image.open(io.BytesIO(shot)).convert("RGB")).astype(int)

    def changes(self, before: np.ndarray, share: float, part: slice = slice(None)) -> bool:
        """Whether that share of the pixels changes within a while: a frame is drawn some time before it is shown."""
        end = time.monotonic() + 15
        while time.monotonic() < end:
            if (np.abs(self.pixels() - before)[:, part].max(axis=2) > 24).mean() > share:
                return True
        return False


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("player") / "walk on sally.html"
    player.write_page(path, page())
    return Opened(browser, path)


def test_it_opens_from_a_file_without_a_network(opened):
    assert opened.problems == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in opened.requests)
    state = opened.state()
    assert state["frames"] == len(solved().motion)
    assert state["panes"] == 3
    assert [figure["kind"] for figure in state["figures"]] == ["source", "unsolved", "result"]
    assert state["figures"][1]["drifting"] > 10
    assert state["figures"][2]["drifting"] == 0
    # source grey, copied orange, result blue, and red where copied feet slide
    pixels = opened.pixels()
    third = pixels.shape[1] // 3
    red, blue = pixels[..., 0] - pixels[..., 2], pixels[..., 2] - pixels[..., 0]
    assert (red[:, third : 2 * third] > 60).mean() > 0.02
    assert (blue[:, 2 * third :] > 60).mean() > 0.02
    assert (np.abs(red[:, :third]) > 90).mean() < 0.005


def test_its_poses_are_those_of_the_clips(opened):
    scene = player.result_scene(solved())
    for number, figure in enumerate(scene.figures):
        for frame in (0, 200, len(figure.clip.motion) - 1):
            found = np.array(opened.page.evaluate(f"() => window.__fp.positions({number}, {frame})")).reshape(-1, 3)
            assert np.abs(found - Kinematics(figure.clip.motion).positions[frame]).max() < 3e-4


def test_space_plays_and_arrows_step(opened):
    opened.page.evaluate("() => window.__fp.goTo(0)")
    before = opened.pixels()
    opened.page.keyboard.press("Space")
    opened.wait("() => window.__fp.state().frame > 20")
    assert opened.state()["playing"]
    opened.page.keyboard.press("Space")
    assert not opened.state()["playing"]
    assert opened.changes(before, 0.01)
    at = opened.state()["frame"]
    opened.page.keyboard.press("ArrowRight")
    assert opened.state()["frame"] == at + 1
    opened.page.keyboard.press("Shift+ArrowLeft")
    assert opened.state()["frame"] == at - 9
    # Space plays after a button was clicked, too: it does not press the button again
    opened.page.click("#show-bones")
    opened.page.keyboard.press("Space")
    assert opened.state()["playing"]
    opened.page.keyboard.press("Space")
    opened.page.click("#show-bones")


def test_the_timeline_scrubs(opened):
    opened.page.evaluate("() => window.__fp.goTo(0)")
    before = opened.pixels()
    box = opened.page.locator("canvas.timeline").bounding_box()
    opened.page.mouse.move(box["x"] + 200, box["y"] + 10)
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 10, steps=4)
    opened.page.mouse.up()
    assert 200 < opened.state()["frame"] < 400
    assert opened.changes(before, 0.01)


def test_dragging_orbits_all_panes(opened):
    before, was = opened.pixels(), opened.state()
    box = opened.page.locator("canvas.viewport").bounding_box()
    opened.page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.6 * box["height"])
    opened.page.mouse.down()
    opened.page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    opened.page.mouse.up()
    now = opened.state()
    assert now["frame"] == was["frame"]
    assert np.linalg.norm(np.subtract(now["camera"], was["camera"])) > 0.5
    third = before.shape[1] // 3
    for pane in range(3):
        assert opened.changes(before, 0.05, slice(pane * third, (pane + 1) * third))
    opened.page.keyboard.press("f")


def test_overlaid_and_close_up(opened):
    opened.page.click("#layout-over")
    assert opened.state()["panes"] == 1
    opened.page.keyboard.press("s")
    assert opened.state()["panes"] == 3
    before = opened.pixels()
    opened.page.keyboard.press("z")
    assert opened.changes(before, 0.05)
    opened.page.keyboard.press("f")
    assert opened.problems == []


def test_scenes_on_one_page_and_a_notebook_frame(browser, tmp_path):
    short = replace(solved().clip, motion=solved().motion[:60])
    scenes = [player.result_scene(solved()), player.clip_scene(short)]
    table = ("All", ("character", "drift"), [("sally", "0.00")])
    player.write_page(tmp_path / "two.html", player.motion_page(scenes, "two", summary=table))
    two = Opened(browser, tmp_path / "two.html", drawn=False)
    two.page.keyboard.press("2")
    two.wait("() => window.__fp.state().frames === 60")
    assert two.state()["panes"] == 1
    assert two.problems == []
    frame = tmp_path / "notebook.html"
    frame.write_text(f"<!doctype html><body>{short._repr_html_()}</body>", encoding="utf-8")
    context = new_context(browser, drawn=False, viewport={"width": 900, "height": 560}, offline=True)
    notebook = context.new_page()
    notebook.goto(frame.as_uri())
    notebook.frame_locator("iframe").locator("canvas.viewport").wait_for(timeout=60_000)
    notebook.frame_locator("iframe").locator("#play").click()
    inner = notebook.frames[1]
    end = time.monotonic() + 60
    while not inner.evaluate("() => !!window.__fp && window.__fp.state().frame > 5"):
        assert time.monotonic() < end
        time.sleep(0.1)
