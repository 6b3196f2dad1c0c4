"""Draw docs/stance.gif: one stance of a walk on the source, on two characters copied and retargeted; below, the foot.

The page that `footplant retarget --report x.html` writes, photographed in a headless browser. Above, the camera goes
along; below it stands still, so that a foot that slides is seen to slide. Needs Chromium and playwright:
python docs/make_readme_picture.py
"""

from __future__ import annotations

import io
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import footplant
from footplant.plot import player

OUT = Path(__file__).resolve().parent / "stance.gif"
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
WIDTH, BODY, FOOT = 1100, 280, 220
"""Pixels: width of the picture, height of the row of bodies, height of the row of feet."""
STEP = 5
"""Frames from one picture to the next; the walk has 120 a second."""
FREQUENT, RARE = 48, 24
"""Colours of the picture."""
PAUSE = 130
"""Milliseconds a picture is shown: a third of real time."""
STYLE = """
.top, .dock, .side { display: none !important; }
.page.player { grid-template: "stage" minmax(0, 1fr) / minmax(0, 1fr) !important; }
.labels { inset: auto 0 8px 0 !important; }
.labels hr { display: none; }
.label { position: absolute; bottom: 0; }
.label button { font-size: 13px !important; white-space: nowrap; flex-wrap: nowrap !important; border: 0 !important; }
.label button small:first-of-type { display: none; }
.label button small { font-size: 13px !important; }
.label button { display: grid !important; grid-template-columns: auto auto; }
.label button small { grid-column: 2; }
"""


def photograph(page: Any, height: int, frames: range, eye: list[list[float]] | None) -> list[Image.Image]:
    """Return the view at each frame. eye: where the camera stands and looks; None: it goes along."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    time.sleep(1.0)
    if eye is not None:
        page.evaluate("([from, at]) => window.__fp.see(from, at)", eye)
    else:
        page.evaluate("() => window.__fp.look(false)")
    shots = []
    for frame in frames:
        page.evaluate("(frame) => window.__fp.goTo(frame)", frame)
        time.sleep(0.1)
        while not page.evaluate("() => window.__fp.settled()"):
            time.sleep(0.05)
        time.sleep(0.15)
        shots.append(Image.open(io.BytesIO(page.locator(".stage").screenshot())).convert("RGB"))
    return shots


def shared_palette(pictures: list[Image.Image]) -> Image.Image:
    """Return one palette for all: frequent colours for even shades, and rare ones for the red of a foot that slides."""
    sample = Image.new("RGB", (WIDTH, len(pictures) * pictures[0].height))
    for number, picture in enumerate(pictures):
        sample.paste(picture, (0, number * picture.height))
    colours: list[int] = []
    for count, way in ((FREQUENT, Image.Quantize.MEDIANCUT), (RARE, Image.Quantize.MAXCOVERAGE)):
        colours += (sample.quantize(count, way).getpalette() or [])[: 3 * count]
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours)
    return palette


def main() -> None:
    """Retarget, photograph, and put the rows below each other."""
    clip = footplant.load("sample:walk")
    tall = footplant.retarget(clip, "sample:sally", keep_footsteps=True)
    fat = footplant.retarget(clip, "sample:blubby")
    scenes = [player.result_scene(result) for result in (tall, fat)]
    shown = (*scenes[0].figures, *scenes[1].figures[1:])
    eyes = []
    for result in (tall, fat):
        stance = next(p for p in footplant.contacts(result).plants if p.point == "left_ball" and p.start > 100)
        x, y, z = stance.place.tolist()
        eyes.append([[x + 0.95, y + 0.24, z + 0.02], [x, y + 0.04, z - 0.06]])
    frames = range(stance.start - 24, stance.end + 12, STEP)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = player.write_page(
            Path(folder) / "page.html",
            player.motion_page([player.Scene("walk", shown, tall.report)], "walk", compact=True),
        )
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_context(viewport={"width": WIDTH, "height": BODY}, offline=True).new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("canvas.viewport")
        page.add_style_tag(content=STYLE)
        time.sleep(2.0)
        page.add_style_tag(content=".label { visibility: hidden; }")
        bodies = photograph(page, BODY, frames, None)
        page.add_style_tag(content=".label { visibility: visible; }")
        feet = photograph(page, FOOT, frames, eyes[0])
        left = WIDTH * len(scenes[0].figures) // len(shown)
        for whole, right in zip(feet, photograph(page, FOOT, frames, eyes[1]), strict=True):
            whole.paste(right.crop((left, 0, WIDTH, FOOT)), (left, 0))
        browser.close()
    pictures = []
    for body, foot in zip(bodies, feet, strict=True):
        sheet = Image.new("RGB", (WIDTH, BODY + FOOT + 2), "#1a1b1e")
        sheet.paste(body, (0, 0))
        sheet.paste(foot, (0, BODY + 2))
        pictures.append(sheet)
    palette = shared_palette(pictures[:: max(len(pictures) // 6, 1)])
    few = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    few[0].save(OUT, save_all=True, append_images=few[1:], duration=PAUSE, loop=0, optimize=True)
    print(f"{OUT}: {len(few)} pictures, {OUT.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
