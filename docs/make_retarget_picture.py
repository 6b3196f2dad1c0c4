"""Draw docs/retarget.png: one stance of a walk on the source, with rotations copied, and retargeted.

Four moments of one stance lie over one another, seen from one place: a foot that stands is drawn once, one that slides
four times. Needs node, Chromium and the packages of tests/node (npm ci): python docs/make_retarget_picture.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

import footplant
from footplant.clip import Clip
from footplant.contacts.detection import find_contacts
from footplant.conversion import Conversion
from footplant.edits.retarget import retarget
from footplant.samples import load_character

HERE = Path(__file__).resolve().parent
RENDER = HERE.parent / "tests" / "node" / "render.mjs"
WIDTH, HEIGHT, MOMENTS = 225, 260, 4


def figures() -> list[tuple[str, Clip]]:
    """What is shown, with its title."""
    clip = footplant.load("sample:walk")
    found = [("the source", clip)]
    for name, keep in (("sally", True), ("blubby", False)):
        target = load_character(name)
        for copy, what in ((True, "rotations copied"), (False, "retargeted")):
            motion = retarget(clip, target, method="copy" if copy else None, keep_footsteps=keep).motion
            answer = replace(clip, motion=motion, character=target, layout=None, conversion=Conversion())
            found.append((f"{name.capitalize()}, {what}", answer))
    return found


def main() -> None:
    """Render every figure whole and at its feet, and put the cells side by side."""
    clip = footplant.load("sample:walk")
    stance = next(p for p in find_contacts(clip).plants if p.point == "left_ball" and p.start > 60)
    span = (len(stance) - 1) / (MOMENTS - 1)
    times = [[(stance.start + moment * span) / clip.motion.fps for moment in range(MOMENTS)]]
    shown = figures()
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for number, (_, answer) in enumerate(shown):
            path = footplant.save(Path(folder) / f"{number}.glb", answer)
            tall = answer.character.height
            row = {"path": str(path), "times": times, "view": "side"}
            rows += [{**row, "size": 1.02 * tall, "away": 2.7}, {**row, "size": 0.42, "eye": 0.13}]
        request = {"chromium": shutil.which("chromium"), "out": f"{folder}/cells.png", "width": WIDTH,
                   "height": HEIGHT, "rows": rows}  # fmt: skip
        subprocess.run(["node", str(RENDER)], input=json.dumps(request), text=True, check=True, capture_output=True)
        cells = Image.open(f"{folder}/cells.png").convert("RGB")
        sheet = Image.new("RGB", (WIDTH * len(shown), 2 * HEIGHT), "white")
        pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(15)
        for number, (title, _) in enumerate(shown):
            for half in (0, 1):
                top = (2 * number + half) * HEIGHT
                sheet.paste(cells.crop((0, top, WIDTH, top + HEIGHT)), (number * WIDTH, half * HEIGHT))
            pen.text((number * WIDTH + 8, 6), title, "#2b2f36", font)
    few = sheet.quantize(48, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(HERE / "retarget.png", optimize=True)


if __name__ == "__main__":
    main()
