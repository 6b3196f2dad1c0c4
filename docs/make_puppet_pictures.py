"""Draw docs/puppet_*.png: one motion on Sally and Blubby three ways, as in figures 7.2 to 7.6 of Shin's thesis.

The captured angles alone; inverse kinematics that puts hands and feet where the performer's were, whatever they do;
and computer puppetry, which asks what matters. Run: python docs/make_puppet_pictures.py [SAMPLE …]

Real clips are drawn where they are beside the repository, in shared/data.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from footplant import samples
from footplant.clip import Clip
from footplant.constraints import Position
from footplant.edits.puppet import puppet
from footplant.io import load
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.plot import strip
from footplant.problem import Problem
from footplant.skeleton import Character, Point
from footplant.solve.methods.perframe import PerFrame
from footplant.transfer import leg_ratio, transfer

HERE = Path(__file__).resolve().parent
SHOWN = {"walk": 7, "clap": 6, "waist": 5, "jump": 7, "reach": 6, "punch": 6}
"""Sample → how many poses are drawn."""
REAL = {
    "cartwheel": ("bvh/cmu/49_06.bvh", 0.3, 0.75, 7),
    "dance": ("bvh/cmu/05_02.bvh", 0.3, 0.6, 6),
    "backflip": ("bvh/cmu/88_01.bvh", 0.1, 0.9, 7),
    "crawl": ("bvh/cmu/111_03.bvh", 0.3, 0.6, 6),
    "throw": ("bvh/cmu/141_28.bvh", 0.1, 0.95, 6),
}
"""Name → a real clip, the parts of it between which it is shown, and how many poses are drawn."""
DATA = HERE.parents[1] / "shared" / "data"
WIDTH, BAND = 760, 24
ENDS = ("left_hand", "right_hand", "left_foot", "right_foot")


def end_effector_ik(clip: Clip, target: Character) -> Motion:
    """Wrists and ankles at every frame where the performer's are, scaled with the legs: what matters is not asked."""
    copied = transfer(clip.motion, clip.character, target)
    source, scale = Kinematics(clip.motion), leg_ratio(clip.character, target)
    roles, own = clip.character.require_roles(), target.require_roles()
    start = source.positions[0, [roles["left_upper_leg"], roles["right_upper_leg"]]].mean(axis=0) * [1.0, 0.0, 1.0]
    asked = tuple(
        Position(
            point=Point(own[role]),
            target=start + scale * (source.positions[:, roles[role]] - start),
            frames=range(len(copied)),
            hard=False,
        )
        for role in ENDS
    )
    return PerFrame().solve(Problem(copied, target, asked)).motion


def three_ways(clip: Clip, target: Character) -> dict[str, Motion]:
    """Way → the motion it makes of the clip."""
    return {
        "captured angles": transfer(clip.motion, clip.character, target),
        "hands and feet by inverse kinematics": end_effector_ik(clip, target),
        "computer puppetry": puppet(clip, target).motion,
    }


def real_clip(name: str) -> Clip:
    """The part of a real clip that is shown."""
    path, start, stop, _ = REAL[name]
    clip = load(DATA / path)
    part = clip.motion[round(start * len(clip.motion)) : round(stop * len(clip.motion))]
    return Clip(part, clip.character, name=name)


def draw(name: str, clip: Clip, poses: int) -> None:
    """One picture: three rows for Sally beside three for Blubby."""
    rows, font = [], ImageFont.load_default(17)
    with tempfile.TemporaryDirectory() as folder:
        for who in ("sally", "blubby"):
            target = samples.load_character(who)
            for way, motion in three_ways(clip, target).items():
                path = Path(folder) / f"{who}{len(rows)}.png"
                strip(Clip(motion, target, name=way), path, poses=poses, panels=False, plants={}, dpi=80)
                picture = Image.open(path).convert("RGB")
                picture = picture.resize(
                    (WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS
                )
                # the strip's own title goes, ours says the way
                picture = trimmed(picture.crop((0, round(0.14 * picture.height), WIDTH, picture.height)))
                row = Image.new("RGB", (WIDTH, picture.height + BAND), "white")
                row.paste(picture, (0, BAND))
                ImageDraw.Draw(row).text((8, 2), f"{who.capitalize()}: {way}", "#2b2f36", font)
                rows.append(row)
    left, right = rows[:3], rows[3:]
    tall = max(sum(row.height for row in side) for side in (left, right))
    sheet = Image.new("RGB", (2 * WIDTH, tall), "white")
    for column, side in enumerate((left, right)):
        top = 0
        for row in side:
            sheet.paste(row, (column * WIDTH, top))
            top += row.height
    sheet.quantize(48, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        HERE / f"puppet_{name}.png", optimize=True
    )


def trimmed(picture: Image.Image) -> Image.Image:
    """A picture without the empty rows at its bottom."""
    dark = np.flatnonzero((np.asarray(picture.convert("L")) < 200).any(axis=1))
    return picture.crop((0, 0, picture.width, min(int(dark[-1]) + 12, picture.height))) if len(dark) else picture


if __name__ == "__main__":
    for wanted in sys.argv[1:] or (*SHOWN, *REAL):
        if wanted not in REAL:
            draw(wanted, samples.load(wanted), SHOWN.get(wanted, 6))
        elif (DATA / REAL[wanted][0]).exists():
            draw(wanted, real_clip(wanted), REAL[wanted][3])
