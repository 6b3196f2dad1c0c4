"""The editor in use: a real browser, the real server, mouse and keyboard."""

from __future__ import annotations

import base64
import itertools
import time
from pathlib import Path

import numpy as np
import pytest

import footplant
from browser_env import CHROMIUM, new_context, running_browser
from editor_env import running_editor, start_editor
from footplant import samples
from footplant.editor.server import STATIC
from node_env import run_node

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: the page cannot be opened"),
    pytest.mark.skipif(not (STATIC / "app.js").is_file(), reason="the page is not built: python hatch_build.py"),
]
VIEW = {"viewport": {"width": 1280, "height": 720}, "device_scale_factor": 0.25}
"""A quarter of the pixels each way of a screen: here the processor draws them all."""
TIMEOUT = 90.0


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("starlette", reason="the extra edit is not installed")
    with running_browser() as running:
        yield running


@pytest.fixture(scope="module")
def editor(tmp_path_factory):
    with running_editor(tmp_path_factory.mktemp("state")) as running:
        yield running


class Page:
    """A page of the editor, and what its test interface shows."""

    def __init__(self, page, address: str) -> None:
        self.page, self.problems = page, []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.set_default_timeout(1000.0 * TIMEOUT)
        self.open(address)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.wait("() => window.__fp && window.__fp.ready() && window.__fp.positions(0).some((x) => x !== 0)")

    def ask(self, script: str, *arguments):
        return self.page.evaluate(script, *arguments)

    def state(self) -> dict:
        return self.ask("() => window.__fp.state()")

    def history(self) -> list[str]:
        return self.state()["document"]["history"]

    def wait(self, condition: str) -> None:
        """Wait until a function of the page is true; evaluated from outside, because the page's policy forbids eval."""
        end = time.monotonic() + TIMEOUT
        while not self.page.evaluate(condition):
            if time.monotonic() > end:
                shown = self.page.evaluate("() => window.__fp && window.__fp.state().toasts")
                raise AssertionError(f"{condition} did not come true; messages: {shown}; errors: {self.problems}")
            time.sleep(0.05)

    def bar(self, mark: str) -> dict:
        """The position of a bar of the timeline, after the page has drawn the changes."""
        end = time.monotonic() + TIMEOUT
        found = None
        while found is None and time.monotonic() < end:
            self.draw()
            found = self.ask("(id) => window.__fp.bar(id)", mark)
        assert found is not None, f"no bar for {mark}; errors: {self.problems}"
        return found

    def draw(self) -> None:
        """Wait until the page has handled its events and drawn what they changed."""
        self.ask("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")

    def wait_for_frame(self, frame: int) -> None:
        self.wait(f"() => window.__fp.state().frame === {frame}")

    def wait_for_edits(self, count: int) -> None:
        self.wait(f"() => window.__fp.state().document.position === {count}")

    def positions(self, frame: int) -> np.ndarray:
        return np.array(self.ask("(frame) => window.__fp.positions(frame)", frame)).reshape(-1, 3)

    def go_to(self, frame: int) -> None:
        self.ask("(frame) => window.__fp.goTo(frame)", frame)
        self.wait_for_frame(frame)
        self.draw()

    def settled(self, script: str):
        """Return a place on the screen once it stays: nothing is pending, and two pictures in turn have it there."""
        self.wait("() => window.__fp.state().pending === 0")
        before = None
        while (place := self.ask(script)) != before:
            before = place
            self.draw()
        return place

    def drag(self, start, by, steps: int = 5) -> None:
        mouse = self.page.mouse
        mouse.move(*start)
        self.draw()
        mouse.down()
        for step in range(1, steps + 1):
            mouse.move(start[0] + by[0] * step / steps, start[1] + by[1] * step / steps)
            self.draw()
        mouse.up()

    def drop(self, path: Path) -> None:
        """Drop a file on the viewport."""
        data = base64.b64encode(path.read_bytes()).decode()
        made = self.page.evaluate_handle(
            """([name, data]) => {
                const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
                const all = new DataTransfer();
                all.items.add(new File([bytes], name));
                return all;
            }""",
            [path.name, data],
        )
        self.page.dispatch_event("canvas.viewport", "drop", {"dataTransfer": made})

    def plant(self, track: str, after: int) -> dict:
        marks = self.state()["document"]["marks"]
        return next(mark for mark in marks if mark["track"] == track and mark["start"] > after)


@pytest.fixture
def page(browser, editor, request):
    """A page of a session of its own; its scene is drawn for tests with the mark `drawn`, and in a thorough run."""
    drawn = request.node.get_closest_marker("drawn") is not None
    context = new_context(browser, drawn, **VIEW, accept_downloads=True)
    made = Page(context.new_page(), editor.address)
    yield made
    assert made.problems == []
    context.close()


@pytest.mark.drawn
def test_it_opens_plays_and_scrubs(page):
    state = page.state()
    assert state["frames"] == len(samples.load("walk").motion)
    assert {mark["track"] for mark in state["document"]["marks"]} == {"left_foot", "right_foot"}
    page.page.keyboard.press("Space")
    page.wait("() => window.__fp.state().frame > 20")
    page.page.keyboard.press("Space")
    page.wait("() => !window.__fp.state().playing")
    stopped = page.state()["frame"]
    page.draw()
    assert page.state()["frame"] == stopped
    box = page.page.locator("canvas.timeline").bounding_box()
    page.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 8)
    page.wait("() => 180 < window.__fp.state().frame && window.__fp.state().frame < 320")
    middle = page.state()["frame"]
    page.drag((box["x"] + 0.5 * box["width"], box["y"] + 8), (120, 0))
    page.wait(f"() => window.__fp.state().frame > {middle + 20}")
    for key, expected in (("Home", 0), ("ArrowRight", 1), ("Shift+ArrowRight", 11), ("End", state["frames"] - 1)):
        page.page.keyboard.press(key)
        page.wait_for_frame(expected)


def test_space_plays_and_escape_stops_wherever_the_focus_is(page):
    """Space pressed the last button that was clicked."""
    page.page.click("#show-ghost")
    shown = page.ask("() => document.querySelector('#show-ghost').getAttribute('aria-pressed')")
    page.page.keyboard.press("Space")
    page.wait("() => window.__fp.state().playing")
    assert page.ask("() => document.querySelector('#show-ghost').getAttribute('aria-pressed')") == shown
    page.page.keyboard.press("Escape")
    page.wait("() => !window.__fp.state().playing")
    assert page.history() == []


def test_a_footprint_is_dragged_as_one_foot(page):
    """One step, one print, one entry of the stack; one bar over the next is red, and a fix cures it."""
    step = next(
        entry for entry in page.state()["document"]["steps"] if entry["side"] == "right" and entry["start"] > 100
    )
    page.go_to(step["start"] + 10)
    bar = page.bar(step["id"])
    page.page.mouse.click(0.5 * (bar["x0"] + bar["x1"]), bar["y"])
    page.wait(f"() => window.__fp.state().selection.id === {step['id']}")
    page.page.fill("input[data-place='x']", f"{step['place'][0] + 0.15:.3f}")
    page.page.keyboard.press("Enter")
    page.wait_for_edits(1)
    moved = next(entry for entry in page.state()["document"]["steps"] if entry["id"] == step["id"])
    assert np.subtract(moved["place"], step["place"]) == pytest.approx([0.15, 0.0, 0.0], abs=1e-3)
    assert len(page.state()["document"]["stack"]) == 1
    assert page.state()["document"]["report"]["solved"]
    page.drag((0.5 * (bar["x0"] + bar["x1"]), bar["y"]), (140, 0))
    page.wait("() => window.__fp.state().document.conflicts.length > 0")
    assert not page.state()["document"]["report"]["solved"]
    page.page.click("#tab-edit")
    page.page.locator(".fix", has_text="End the first").first.click()
    page.wait("() => window.__fp.state().document.conflicts.length === 0")


def test_a_hand_is_dragged_by_the_gizmo(page):
    """The pose and its neighbours change, far frames and planted feet do not; undo and redo are exact."""
    page.go_to(250)
    before = {frame: page.positions(frame) for frame in (20, 235, 250, 265, 480)}
    page.page.mouse.click(*page.ask("() => window.__fp.handle('left_palm')"))
    page.wait("() => window.__fp.state().selection.name === 'left_palm' && window.__fp.gizmo('y') !== null")
    page.draw()
    page.drag(page.ask("() => window.__fp.gizmo('y')"), (0, -90))
    page.wait_for_edits(1)
    assert page.history() == ["Drag left palm at 250"]
    after = {frame: page.positions(frame) for frame in before}
    moved = {frame: float(np.linalg.norm(after[frame] - before[frame], axis=1).max()) for frame in before}
    assert moved[250] > 0.15
    assert 0.05 < moved[235] < 1.2 * moved[250]
    assert 0.05 < moved[265] < 1.2 * moved[250]
    assert max(moved[20], moved[480]) < 1e-3
    # y alone was dragged
    hand = int(np.linalg.norm(after[250] - before[250], axis=1).argmax())
    assert np.argmax(np.abs(after[250][hand] - before[250][hand])) == 1
    page.wait("() => window.__fp.state().quality?.position === 1")
    rows = {name: now for name, _, now in page.state()["quality"]["rows"]}
    assert rows["worst footplant drift, mm"] < 1.0
    page.page.keyboard.press("Control+z")
    page.wait_for_edits(0)
    assert np.array_equal(page.positions(250), before[250])
    page.page.keyboard.press("Control+y")
    page.wait_for_edits(1)
    assert np.array_equal(page.positions(250), after[250])


def test_a_joint_is_dragged_directly_and_rotated(page):
    page.go_to(120)
    before = page.positions(120)
    page.drag(page.ask("() => window.__fp.handle('right_palm')"), (-50, -50))
    page.wait_for_edits(1)
    assert np.linalg.norm(page.positions(120) - before, axis=1).max() > 0.1
    page.page.keyboard.press("p")
    page.wait_for_edits(2)
    assert page.history()[1] == "Pin right palm"
    page.page.keyboard.press("Escape")
    page.wait("() => window.__fp.state().selection.kind === 'none'")


def test_a_footplant_is_dragged_resized_and_deleted_on_the_timeline(page):
    mark = page.plant("left_foot", 200)
    bar = page.bar(mark["id"])
    page.drag(((bar["x0"] + bar["x1"]) / 2, bar["y"]), (25, 0))
    page.wait_for_edits(1)
    moved = next(m for m in page.state()["document"]["marks"] if m["id"] == mark["id"])
    assert moved["start"] > mark["start"] + 5
    assert moved["end"] - moved["start"] == mark["end"] - mark["start"]
    bar = page.bar(mark["id"])
    page.drag((bar["x1"] - 1, bar["y"]), (18, 0))
    page.wait_for_edits(2)
    longer = next(m for m in page.state()["document"]["marks"] if m["id"] == mark["id"])
    assert longer["start"] == moved["start"]
    assert longer["end"] > moved["end"]
    page.page.keyboard.press("Delete")
    page.wait_for_edits(3)
    assert all(m["id"] != mark["id"] for m in page.state()["document"]["marks"])
    page.page.click("#tab-history")
    page.page.locator("#history button").first.click()
    page.wait_for_edits(0)
    assert len(page.history()) == 3


def test_another_character_is_dropped_and_the_result_exported(page, tmp_path):
    sally = footplant.save(tmp_path / "sally.glb", samples.load_character("sally"))
    page.drop(sally)
    page.page.click("#drop-retarget")
    page.wait_for_edits(1)
    figure = page.state()["figure"]["character"]
    assert figure["height"] == pytest.approx(samples.load_character("sally").height, rel=0.02)
    page.page.select_option("#export-format", "glb")
    with page.page.expect_download() as started:
        page.page.click("#export")
    path = tmp_path / "out.glb"
    started.value.save_as(path)
    (found,) = run_node("gltf_validate.mjs", [str(path)])
    assert [issue for issue in found if issue["severity"] == 0] == []
    clip = footplant.load(path)
    assert len(clip.motion) == page.state()["frames"]
    assert clip.character.height == pytest.approx(figure["height"], rel=0.02)
    assert page.state()["document"]["unsaved"]
    with page.page.expect_download() as started:
        page.page.click("#save")
    started.value.save_as(tmp_path / "out.footplant")
    page.wait("() => !window.__fp.state().document.unsaved")
    # and the project opens again with its history
    page.drop(tmp_path / "out.footplant")
    page.page.click("#drop-open")
    page.wait("() => window.__fp.state().figure.clip === 'walk' && window.__fp.state().document.history.length === 1")


def test_methods_are_switched_and_compared(page):
    page.page.keyboard.press("4")
    page.wait_for_edits(1)
    assert page.state()["document"]["method"] == page.state()["figure"]["methods"][3]
    page.page.click("#tab-compare")
    page.page.select_option("#compare-b", "filtered")
    page.page.click("#compare")
    page.wait("() => window.__fp.state().comparison !== null")
    compared = page.state()["comparison"]
    assert (compared["a"]["name"], compared["b"]["name"]) == ("current", "filtered")
    assert compared["b"]["report"]["seconds"] > 0
    # side by side with linked cameras, and any two stacks: here the clip as opened
    page.page.locator(".segments button", has_text="Beside").click()
    page.wait("() => window.__fp.panes() === 2")
    page.page.select_option("#compare-a", "history:0")
    page.page.click("#compare")
    # while poses are being sent, Esc would cancel that
    page.wait("() => window.__fp.state().comparison.a.name === 'history:0' && window.__fp.ready()")
    page.page.keyboard.press("Escape")
    page.wait("() => window.__fp.state().comparison === null")
    assert len(page.history()) == 1


def test_mistakes_are_reported_and_nothing_is_lost(page, tmp_path):
    bad = tmp_path / "bad.glb"
    bad.write_bytes(b"glTF nothing")
    page.drop(bad)
    page.wait("() => window.__fp.state().toasts.some((entry) => entry.kind === 'error')")
    assert "bad.glb" in page.page.locator(".toast.error").inner_text()
    assert page.history() == []
    page.page.locator(".toast.error button").click()
    page.wait("() => document.querySelector('.toast.error') === null")


def test_leaving_with_unsaved_edits_asks_first(browser, editor):
    context = new_context(browser, drawn=False, **VIEW)
    page = Page(context.new_page(), editor.address)
    page.page.click("#tab-scene")
    page.page.click("text=Box")
    page.wait_for_edits(1)
    asked = []
    page.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.page.reload()
    page.wait("() => window.__fp && window.__fp.ready()")
    assert asked == ["beforeunload"]
    # the tab gets its session back
    assert page.history() == ["Arrange the scene"]
    context.close()


def test_two_tabs_do_not_disturb_each_other(browser, editor):
    context = new_context(browser, drawn=False, **VIEW)
    one, other = Page(context.new_page(), editor.address), Page(context.new_page(), editor.address)
    assert one.state()["figure"]["session"] != other.state()["figure"]["session"]
    one.page.bring_to_front()
    one.page.click("#tab-scene")
    one.page.click("[data-ground='slope:12']")
    one.wait_for_edits(1)
    assert one.state()["document"]["ground"] == "slope:12"
    assert other.history() == []
    other.page.bring_to_front()
    other.page.keyboard.press("End")
    other.wait_for_frame(other.state()["frames"] - 1)
    assert one.state()["frame"] == 0
    context.close()


def test_after_kill_9_the_last_edit_comes_back(browser, tmp_path):
    editor = start_editor(tmp_path)
    context = new_context(browser, drawn=False, **VIEW)
    try:
        page = Page(context.new_page(), editor.address)
        page.go_to(100)
        page.drag(page.ask("() => window.__fp.handle('left_palm')"), (40, -60))
        page.wait_for_edits(1)
        edited = page.positions(100)
        port = editor.port
        editor.kill()
        page.wait("() => document.querySelector('.away') !== null")
        editor = start_editor(tmp_path, port=port)
        # the old tab finds its way back by itself, with its session
        page.wait("() => document.querySelector('.away') === null && window.__fp.ready()")
        page.wait_for_edits(1)
        page.wait("() => window.__fp.positions(100).some((value) => value !== 0)")
        assert np.array_equal(page.positions(100), edited)
        assert page.history() == ["Drag left palm at 100"]
    finally:
        editor.kill()
        context.close()


def test_drive_mode_walks_and_kicks(page):
    page.page.click("#tab-drive")
    page.page.click("#drive")
    page.wait("() => window.__fp.state().driving === 'drive' && window.__fp.state().liveFrames > 3")

    def live() -> np.ndarray:
        return np.array(page.ask("() => window.__fp.livePosition()")).reshape(-1, 3)

    start = live()[0]
    page.page.keyboard.down("w")
    page.wait(f"() => window.__fp.livePosition()[2] > {start[2] + 1.0}")
    page.page.keyboard.up("w")
    walked = live()[0]
    assert walked[2] - start[2] > 1.0
    names = page.state()["figure"]["character"]["joints"]
    feet = [n for n, name in enumerate(names) if name in ("LeftFoot", "RightFoot")]
    # the page itself watches how high a foot comes: a machine under load is slow to ask
    page.ask(
        """(feet) => {
            window.highest = 0;
            const watch = () => {
                const places = window.__fp.livePosition();
                for (const foot of feet) window.highest = Math.max(window.highest, places[3 * foot + 1] ?? 0);
                setTimeout(watch, 5);
            };
            watch();
        }""",
        feet,
    )
    # a kick starts when the walk has come to its end
    end = time.monotonic() + TIMEOUT
    while page.ask("() => window.highest") <= 0.5:
        assert time.monotonic() < end
        page.page.keyboard.press("k", delay=150)
        time.sleep(0.5)
    page.page.click("#stop-driving")
    page.wait("() => window.__fp.state().driving === 'off' && window.__fp.state().liveFrames === 0")


def test_clips_of_ones_own_are_driven_over_the_scene_and_kept(page, tmp_path):
    files = [footplant.save(tmp_path / f"my_{name}.bvh", samples.load(name)) for name in ("walk", "run", "kick")]
    page.go_to(60)
    page.page.click("#tab-scene")
    page.page.click("#add-ramp")
    page.wait_for_edits(1)
    page.page.set_input_files("input[aria-label='File to open']", [str(path) for path in files])
    page.page.click("#drop-set")
    page.page.wait_for_selector("#own-set")
    found = {row.split("\t")[0]: row for row in page.page.locator("#own-set tr").all_inner_texts()}
    assert "gait" in found["my_walk"]
    assert "m/s" in found["my_run"]
    assert "action" in found["my_kick"]
    missing = page.page.locator(".warn").all_inner_texts()
    assert any("stand" in text for text in missing), missing
    page.page.click("#drive")
    page.wait("() => window.__fp.state().driving === 'drive' && window.__fp.state().liveFrames > 3")
    keys = page.page.locator("[data-drive]").all_inner_texts()
    assert [key.split()[0] for key in keys] == ["W", "Shift", "A", "D", "K"]
    start = np.array(page.ask("() => window.__fp.livePosition()"))[:3]
    # up the slope that was put in the way: the hips rise by more than they bob
    page.page.keyboard.down("w")
    page.wait(f"() => window.__fp.livePosition()[1] > {start[1] + 0.15}")
    page.page.keyboard.up("w")
    # a gamepad holds the same keys
    page.ask("() => { navigator.getGamepads = () => [{ connected: true, axes: [-0.8, -0.6], buttons: [] }]; }")
    page.wait("() => [...document.querySelectorAll('.drive-key.on')].length === 2")
    page.ask("() => { navigator.getGamepads = () => [{ connected: true, axes: [0, 0], buttons: [] }]; }")
    page.wait("() => document.querySelector('.drive-key.on') === null")
    page.page.on("dialog", lambda dialog: dialog.accept())
    page.page.click("#keep-drive")
    page.wait("() => window.__fp.state().figure.clip === 'recording' && window.__fp.ready()")
    recorded = np.array([page.positions(frame)[0] for frame in range(0, page.state()["frames"], 10)])
    assert np.ptp(recorded[:, 1]) > 0.1
    # the clips are still at hand
    page.page.click("#drive-own")
    page.page.click("#make-set")
    page.page.wait_for_selector("#own-set")


def test_a_crowd_is_changed_while_it_runs_and_kept(page):
    """A hand is pulled out of reach and back, an actor is added and moved, the ground changed, the scene kept."""
    mouse = page.page.mouse
    page.page.click("#tab-crowd")
    page.page.select_option("#crowd-scene", "open")
    page.page.click("#start-crowd")
    page.wait("() => window.__fp.state().crowdFrames > 5 && window.__fp.state().crowdStatus !== null")
    page.page.select_option("#new-motion", "sample:stand")
    page.page.click("#add-crowd-actor")
    page.wait("() => window.__fp.state().crowd.actors.length === 2 && window.__fp.crowdPositions(1).length > 0")
    page.page.click("[data-crowd-actor='mannequin'] .actor")
    page.page.keyboard.press("f")
    page.wait("() => window.__fp.crowdPoint('right_palm') !== null")
    page.draw()

    # pulled forward and up it makes a goal, which is met
    x, y = page.ask("() => window.__fp.crowdPoint('right_palm')")
    page.drag((x, y), (-12, -25))
    met = "() => window.__fp.state().crowdStatus.goals.some((goal) => goal.point === 'right_palm' && goal.met)"
    page.wait(met)
    assert page.state()["crowdGoal"] == "mannequin right_palm"
    assert "met" in page.page.inner_text("#crowd-goals")
    # pulled away by its target it is not, and says why
    target = page.ask("() => window.__fp.crowdTarget('mannequin right_palm')")
    mouse.move(*target)
    mouse.down()
    mouse.move(target[0] - 150, target[1] - 60)
    mouse.move(target[0] - 300, target[1] - 120)
    mouse.up()
    page.wait(
        "() => window.__fp.state().crowdStatus.goals[0].left > 0.05 && window.__fp.state().crowdStatus.goals[0].why"
    )
    assert "mm off" in page.page.inner_text("#crowd-goals")
    page.page.fill("#goal-priority", "200")
    page.page.keyboard.press("Enter")
    page.wait("() => window.__fp.state().crowdStatus.goals[0].priority === 200")
    page.page.keyboard.press("Escape")
    page.page.click("#crowd-goals [aria-label^=Remove]")
    page.wait("() => window.__fp.state().crowdStatus.goals.length === 0")

    # its ring moves it
    before = page.state()["crowdStatus"]["actors"][1]["place"]
    page.drag(page.ask("() => window.__fp.crowdRing(1)"), (80, 10))
    page.wait(f"() => window.__fp.state().crowdStatus.actors[1].place[0] > {before[0] + 0.15}")
    # mistakes are told, and the crowd goes on
    page.page.fill("#crowd-ground", "mountains:5")
    page.page.click("#apply-crowd-ground")
    page.wait("() => window.__fp.state().toasts.some((toast) => toast.kind === 'error')")
    page.page.click("[data-crowd-ground='slope:8']")
    page.wait("() => window.__fp.state().crowd.ground === 'slope:8'")
    page.page.keyboard.press("Space")
    page.wait("() => !window.__fp.state().crowdStatus.playing")
    assert page.state()["document"]["history"] == []
    page.page.click("#keep-crowd")
    page.wait("() => window.__fp.state().cast.length === 2 && window.__fp.ready()")
    assert page.state()["driving"] == "off"
    assert page.state()["document"]["ground"] == "slope:8"
    page.page.click("#start-crowd")
    page.wait("() => window.__fp.state().toasts.some((toast) => toast.text.includes('level ground'))")
    assert page.state()["driving"] == "off"


def test_a_stream_moves_the_character(page):
    """Poses by VMC from this machine, as capture software sends them."""
    import socket

    from footplant.live.stage import PoseEncoder

    clip = samples.load("walk")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    page.page.click("#tab-drive")
    page.page.fill("#live-port", str(port))
    page.page.click("#live")
    page.wait("() => window.__fp.state().driving === 'live'")
    encoder = PoseEncoder("vmc", clip.character)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        end = time.monotonic() + TIMEOUT
        for frame in itertools.cycle(range(0, len(clip.motion), 2)):
            sender.sendto(
                encoder.encode(clip.motion.root[frame], clip.motion.rotations[frame], time.monotonic()),
                ("127.0.0.1", port),
            )
            time.sleep(1 / 60)
            if frame % 40 == 0 and page.state()["liveFrames"] > 20:
                break
            assert time.monotonic() < end
    page.wait("() => (document.querySelector('#live-status')?.textContent ?? '').includes('poses/s')")
    page.page.click("#stop-live")
    page.wait("() => window.__fp.state().driving === 'off'")


def test_the_path_is_bent_on_the_ground(page):
    page.page.keyboard.press("w")
    page.wait("() => window.__fp.state().path.length > 2")
    before = page.positions(380)[0]
    page.go_to(300)
    page.drag(page.settled("() => window.__fp.pathPoint(3)"), (60, 0))
    page.wait_for_edits(1)
    assert page.history() == ["Bend the path"]
    assert np.linalg.norm((page.positions(380)[0] - before)[[0, 2]]) > 0.1


def test_stairs_are_put_in_the_way_and_resized_by_a_knob(page):
    page.go_to(60)
    page.page.click("#tab-scene")
    page.page.click("#add-stairs")
    page.wait_for_edits(1)
    page.wait("() => window.__fp.state().pending === 0 && window.__fp.knob('height') !== null")
    height = page.state()["document"]["objects"][0]["size"][1]
    page.draw()
    page.drag(page.ask("() => window.__fp.knob('height')"), (0, 30), steps=4)
    page.wait_for_edits(2)
    lower = page.state()["document"]["objects"][0]
    assert 0.02 < lower["size"][1] < height - 0.05
    assert [entry["kind"] for entry in page.state()["document"]["stack"]] == ["terrain"]
    tops = {round(entry["place"][1], 2) for entry in page.state()["document"]["marks"]}
    assert max(tops) == pytest.approx(lower["size"][1], abs=0.02)


def test_a_pose_is_copied_and_its_influence_dragged(page):
    page.go_to(120)
    page.page.keyboard.press("Control+c")
    page.wait("() => !document.querySelector('#paste-pose')?.disabled")
    page.go_to(300)
    before = page.positions(300)
    page.page.keyboard.press("Control+v")
    page.wait_for_edits(1)
    assert page.history() == ["Paste a pose at 300"]
    assert np.linalg.norm(page.positions(300) - before, axis=1).max() > 0.02
    (key,) = page.state()["document"]["drags"]
    page.page.mouse.click(*page.ask("(id) => window.__fp.key(id)", key["operator"]))
    page.draw()
    x, y = page.ask("(id) => window.__fp.reach(id)", key["operator"])
    page.drag((x, y), (-40, 0), steps=4)
    page.wait_for_edits(2)
    (wider,) = page.state()["document"]["drags"]
    assert wider["after"] < key["after"] - 0.1
    assert wider["before"] == key["before"]


def test_every_control_has_a_name_and_the_keys_are_shown(page):
    for tab in ("edit", "character", "scene", "compare", "quality", "drive", "crowd", "history"):
        page.page.click(f"#tab-{tab}")
        nameless = page.ask(
            """() => [...document.querySelectorAll('button, input, select, canvas')].filter((control) => {
                const text = control.getAttribute('aria-label') || control.textContent.trim()
                    || control.closest('label')?.textContent.trim() || control.closest('fieldset')?.textContent.trim();
                return !text && !control.hidden;
            }).map((control) => control.outerHTML)"""
        )
        assert nameless == []
        wide = page.ask(
            "() => document.documentElement.scrollWidth > 1280 || document.documentElement.scrollHeight > 720"
        )
        assert not wide
    page.page.keyboard.press("?")
    shown = page.page.locator("[role=dialog]").inner_text()
    for key in ("Space", "Ctrl Z", "Home", "G", "R", "1 – 9"):
        assert key in shown
    page.page.keyboard.press("Escape")
    page.wait("() => document.querySelector('[role=dialog]') === null")


def test_text_is_readable_on_its_ground(page):
    """Contrast of the page's greys, by the rule of the accessibility guidelines: 4.5 to 1 for text."""
    pairs = page.ask(
        """() => [...document.querySelectorAll('.hint, .section h2, .tabs button, .top *, .transport *')].filter((e) =>
            e.childNodes.length && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())
            && !e.closest(':disabled')).map((e) => {
            let back = e;
            const ground = (part) => getComputedStyle(part).backgroundColor;
            while (back.parentElement && ground(back) === 'rgba(0, 0, 0, 0)') back = back.parentElement;
            return [getComputedStyle(e).color, ground(back), e.textContent];
        })"""
    )
    assert len(pairs) > 10

    def light(colour: str) -> float:
        values = np.array([float(word) for word in colour.split("(")[1].rstrip(")").split(",")[:3]]) / 255.0
        linear = np.where(values <= 0.03928, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for front, back, text in pairs:
        one, other = sorted((light(front), light(back)), reverse=True)
        assert (one + 0.05) / (other + 0.05) >= 4.5, (text, front, back)
