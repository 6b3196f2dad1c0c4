"""The pictures of docs/editor.md: the editor in a headless browser, at the two sizes that it is made for.

python docs/make_editor_pictures.py [FOLDER]
"""

from __future__ import annotations

import io
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

SIZES = {"": (1280, 720), "_1080": (1920, 1080)}
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class Camera:
    """A page, and how it is photographed."""

    def __init__(self, page, folder: Path, ending: str) -> None:
        self.page, self.folder, self.ending = page, folder, ending

    def wait(self, condition: str, seconds: float = 300.0) -> None:
        """Until a function of the page is true."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(condition):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.05)

    def edits(self, count: int) -> None:
        self.wait(f"() => window.__fp.state().document.position === {count} && window.__fp.ready()")
        time.sleep(1.0)

    def go_to(self, frame: int) -> None:
        self.page.evaluate("(frame) => window.__fp.goTo(frame)", frame)
        time.sleep(0.5)

    def shoot(self, name: str) -> None:
        """A picture with a little less depth of colour, which nobody sees and which halves its size."""
        from PIL import Image

        with Image.open(io.BytesIO(self.page.screenshot(timeout=300_000))) as picture:
            coarse = picture.convert("RGB").point(lambda value: min((value + 2) // 4 * 4, 255))
            coarse.save(self.folder / f"editor_{name}{self.ending}.png", optimize=True)

    def hide_times(self) -> None:
        """Take out how long solves took: on a machine that draws by its processor alone, that says nothing."""
        self.page.evaluate(
            """() => {
                for (const found of document.querySelectorAll(".side *")) {
                    const text = found.children.length ? "" : found.textContent.trim();
                    // " · ", the number and " ms" are three nodes
                    const timed = / · \\d+ ms$/.test(text);
                    for (const node of timed ? [...found.childNodes].slice(-3) : []) node.nodeValue = "";
                    if (text === "time, ms") found.closest("tr").style.display = "none";
                }
            }"""
        )

    def undo_all(self) -> None:
        while self.page.evaluate("() => window.__fp.state().document.position"):
            before = self.page.evaluate("() => window.__fp.state().document.position")
            self.page.keyboard.press("Control+z")
            self.edits(before - 1)


def shoot_all(camera: Camera) -> None:
    """Every scene of the documentation, one after another."""
    page = camera.page
    camera.wait("() => window.__fp && window.__fp.ready()")
    time.sleep(1.5)
    camera.go_to(40)
    camera.shoot("open")
    _dragging(camera)
    _terrain(camera)
    _compare(camera)
    _drive(camera)
    _live(camera)
    _crowd(camera)
    page.click("#tab-scene")
    page.fill(".side input[type=text]", "mountains:5")
    page.click("text=Apply")
    camera.wait("() => window.__fp.state().toasts.length > 0")
    time.sleep(0.4)
    camera.shoot("error")


def _dragging(camera: Camera) -> None:
    page = camera.page
    page.click("#show-ghost")
    page.click("#show-curves")
    camera.go_to(250)
    page.evaluate("() => window.__fp.select('left_palm')")
    time.sleep(0.6)
    x, y = page.evaluate("() => window.__fp.gizmo('y')")
    page.mouse.move(x, y)
    time.sleep(0.3)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(x, y - 8 * step)
        time.sleep(0.08)
    camera.wait("() => window.__fp.state().dragging !== null")
    time.sleep(2.0)
    camera.hide_times()
    camera.shoot("dragging")
    page.mouse.up()
    camera.edits(1)
    page.click("#show-ghost")
    page.click("#show-curves")
    page.keyboard.press("Escape")


def _terrain(camera: Camera) -> None:
    page = camera.page
    page.click("#tab-scene")
    camera.go_to(150)
    page.click("text=Doorway")
    camera.edits(2)
    page.click("[data-ground='noise:8:0.35:0.9']")
    camera.edits(3)
    camera.go_to(232)
    page.keyboard.press("Escape")
    x, y, z = page.evaluate("() => window.__fp.positions(232).slice(0, 3)")
    page.evaluate("([from, at]) => window.__fp.look(from, at)", [[x + 3.4, y + 0.9, z - 1.6], [x, y - 0.1, z + 0.3]])
    time.sleep(0.5)
    camera.shoot("terrain")
    camera.undo_all()
    page.keyboard.press("Control+y")
    camera.edits(1)
    page.keyboard.press("f")


def _compare(camera: Camera) -> None:
    page = camera.page
    camera.go_to(250)
    page.click("#tab-compare")
    page.select_option("#compare-a", "hierarchical")
    page.select_option("#compare-b", "perframe")
    page.click("#compare")
    camera.wait("() => window.__fp.state().comparison !== null")
    time.sleep(1.0)
    camera.hide_times()
    camera.shoot("compare")
    page.keyboard.press("Escape")


def _drive(camera: Camera) -> None:
    page = camera.page
    page.click("#tab-drive")
    page.click("#drive")
    camera.wait("() => window.__fp.state().driving === 'drive' && window.__fp.state().liveFrames > 5")
    page.keyboard.down("w")
    page.keyboard.down("Shift")
    page.keyboard.down("a")
    time.sleep(3.5)
    camera.shoot("drive")
    for key in ("w", "Shift", "a"):
        page.keyboard.up(key)
    page.click("#stop-driving")


def _live(camera: Camera) -> None:
    """A performer who claps, sent by VMC from a thread of ours."""
    from footplant import samples
    from footplant.live.stage import PoseEncoder

    page, clip = camera.page, samples.load("clap")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    encoder, over = PoseEncoder("vmc", clip.character), threading.Event()

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            frame = 0
            while not over.wait(1 / 60):
                frame = (frame + 2) % len(clip.motion)
                data = encoder.encode(clip.motion.root[frame], clip.motion.rotations[frame], time.monotonic())
                sender.sendto(data, ("127.0.0.1", port))

    thread = threading.Thread(target=send)
    page.fill("#live-port", str(port))
    page.click("#live")
    camera.wait("() => window.__fp.state().driving === 'live'")
    thread.start()
    try:
        camera.wait("() => window.__fp.state().liveFrames > 40")
        page.locator("#live-status").scroll_into_view_if_needed()
        time.sleep(1.5)
        camera.shoot("live")
    finally:
        over.set()
        thread.join()
    page.click("#stop-live")


def _crowd(camera: Camera) -> None:
    """Ann reaches up with her left hand as well; ben, who holds her arm, cannot reach the place he is sent to."""
    page = camera.page
    page.click("#tab-crowd")
    page.click("#start-crowd")
    camera.wait("() => window.__fp.state().crowdFrames > 40 && window.__fp.crowdPositions(0).length > 0")
    page.evaluate("() => window.__fp.look([0.9, 1.9, 4.6], [0.05, 0.85, 0])")
    page.click("[data-crowd-actor='ann'] .actor")
    camera.wait("() => window.__fp.crowdPoint('left_palm') !== null")
    time.sleep(0.5)
    x, y = page.evaluate("() => window.__fp.crowdPoint('left_palm')")
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(x + 4 * step, y - 20 * step)
        time.sleep(0.1)
    page.mouse.up()
    camera.wait("() => window.__fp.state().crowdStatus.goals.length === 3")
    page.click("[data-goal='ben left_palm'] button")
    page.fill("#goal-x", "0.8")
    page.keyboard.press("Enter")
    camera.wait("() => window.__fp.state().crowdStatus.goals.some((goal) => goal.why)")
    page.locator("#crowd-goals").scroll_into_view_if_needed()
    time.sleep(2.5)
    camera.shoot("crowd")
    page.click("#stop-crowd")


def main() -> None:
    """Make all pictures."""
    import shutil

    from playwright.sync_api import sync_playwright

    from editor_env import running_editor

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        for ending, (width, height) in SIZES.items():
            with tempfile.TemporaryDirectory() as state, running_editor(Path(state)) as editor:
                page = browser.new_page(viewport={"width": width, "height": height})
                page.set_default_timeout(300_000)
                page.goto(f"{editor.address}?quality=high")
                shoot_all(Camera(page, folder, ending))
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
