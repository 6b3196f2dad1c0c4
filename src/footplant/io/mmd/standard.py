"""The body that a motion without its model is read on: bones as most models have them, a person of 20 units.

Feet of VMD files go where their IK bones go, in units of the model that a motion was made for. Most models are about as
tall as each other, so that motions are passed around without them.
"""

from __future__ import annotations

import numpy as np

from footplant.io.mmd.pmx import IS_IK, Bone, Ik, IkLink, Pmx

_KNEE = ((-np.pi, 0.0, 0.0), (-0.0087, 0.0, 0.0))
_TRUNK = """
全ての親 - 0 0 0; センター 全ての親 0 8 0; グルーブ センター 0 8.2 0; 腰 グルーブ 0 11.6 0.2; 下半身 腰 0 12.2 0;
上半身 腰 0 12.2 0; 上半身2 上半身 0 13.6 0; 首 上半身2 0 16.4 0.2; 頭 首 0 17.2 0.1; 頭先 頭 0 20 0.1
"""
_SIDE = """
目 頭 0.4 18 -0.6; 肩P 上半身2 0.3 16 0.2; 肩 肩P 0.3 16 0.2; 腕 肩 1.4 15.8 0.2; 腕捩 腕 2.4 15 0.2;
ひじ 腕捩 3.4 14.2 0.2; 手捩 ひじ 4.3 13.4 0.1; 手首 手捩 5.2 12.7 0; 足 下半身 0.9 11 0; ひざ 足 0.9 6.2 -0.1;
足首 ひざ 0.9 1.3 0.2; つま先 足首 0.9 0 -1.4; 足ＩＫ 全ての親 0.9 1.3 0.2; つま先ＩＫ 足ＩＫ 0.9 0 -1.4
"""
_FINGERS = (
    ("親指", 0, -0.35, 0.1),
    ("人指", 1, -0.3, 0.55),
    ("中指", 1, -0.1, 0.6),
    ("薬指", 1, 0.1, 0.55),
    ("小指", 1, 0.3, 0.45),
)
_DIGITS = "０１２３"


def standard_model() -> Pmx:
    """Return the bones, without a mesh."""
    rows = [_row(text) for text in _TRUNK.split(";")]
    for side, sign in (("左", 1.0), ("右", -1.0)):
        for text in _SIDE.split(";"):
            name, parent, (x, y, z) = _row(text)
            above = parent if parent in ("全ての親", "頭", "上半身2", "下半身") else side + parent
            rows.append((side + name, above, (sign * x, y, z)))
        for finger, first, z, length in _FINGERS:
            above = f"{side}手首"
            for digit in range(3):
                reach = 0.35 * (first + 1) + length * digit
                name = f"{side}{finger}{_DIGITS[first + digit]}"
                rows.append((name, above, (sign * (5.2 + 0.75 * reach), 12.7 - 0.66 * reach, z)))
                above = name
    numbers = {name: number for number, (name, _, _) in enumerate(rows)}
    bones = tuple(
        Bone(
            name, np.array(place, float), numbers.get(parent, -1), 0, 0x1E | (IS_IK if "ＩＫ" in name else 0),
            ik=_chain(name, numbers),
        )
        for name, parent, place in rows
    )  # fmt: skip
    empty = np.zeros((0, 3))
    return Pmx(
        "MMD", empty, empty, np.zeros((0, 2)), np.zeros((0, 4), np.int64), np.zeros((0, 4)),
        np.zeros((0, 3), np.int64), (), (), bones,
    )  # fmt: skip


def _row(text: str) -> tuple[str, str, tuple[float, float, float]]:
    name, parent, x, y, z = text.split()
    return name, parent, (float(x), float(y), float(z))


def _chain(name: str, numbers: dict[str, int]) -> Ik | None:
    side, kind = name[:1], name[1:]
    if kind == "足ＩＫ":
        links = (IkLink(numbers[f"{side}ひざ"], *_KNEE), IkLink(numbers[f"{side}足"], None, None))
        return Ik(numbers[f"{side}足首"], 40, 2.0, links)
    if kind == "つま先ＩＫ":
        return Ik(numbers[f"{side}つま先"], 3, 4.0, (IkLink(numbers[f"{side}足首"], None, None),))
    return None
