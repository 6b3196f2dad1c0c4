"""MVNX: made files whose positions are computed apart from their joints; damage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from footplant import FormatError, Kinematics
from footplant.io import load, mvnx

SEGMENTS = {
    # name: (parent, the point on the parent where it begins), metres; x forward, y left, z up
    "Pelvis": None, "L5": ("Pelvis", (0, 0, 0.1)), "L3": ("L5", (0, 0, 0.1)), "T12": ("L3", (0, 0, 0.1)),
    "T8": ("T12", (0, 0, 0.1)), "Neck": ("T8", (0, 0, 0.13)), "Head": ("Neck", (0, 0, 0.1)),
    **{
        f"{side}{name}": (above if above in ("T8", "Pelvis") else f"{side}{above}", (x, sign * y, z))
        for side, sign in (("Right", -1), ("Left", 1))
        for name, above, (x, y, z) in (
            ("Shoulder", "T8", (0, 0.03, 0.08)), ("UpperArm", "Shoulder", (0, 0.14, 0)),
            ("ForeArm", "UpperArm", (0, 0.3, 0)), ("Hand", "ForeArm", (0, 0.25, 0)),
            ("UpperLeg", "Pelvis", (0, 0.09, 0)), ("LowerLeg", "UpperLeg", (0, 0, -0.42)),
            ("Foot", "LowerLeg", (0, 0, -0.42)), ("Toe", "Foot", (0.15, 0, -0.08)),
        )
    },
}  # fmt: skip
TIPS = {"Head": ("pTopOfHead", (0, 0, 0.2)), "RightToe": ("pRightToe", (0.05, 0, 0)),
        "LeftToe": ("pLeftToe", (0.05, 0, 0)), "RightFoot": ("pRightHeelFoot", (-0.05, 0, -0.08)),
        "LeftFoot": ("pLeftHeelFoot", (-0.05, 0, -0.08))}  # fmt: skip


def posed(frames: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """World orientations (F, S, 4), real part first, and positions (F, S, 3), by matrices of our own."""
    rng = np.random.default_rng(11)
    turns = {name: Rotation.from_rotvec(rng.normal(scale=0.2, size=(frames, 3))) for name in SEGMENTS}
    places: dict[str, np.ndarray] = {}
    for name, above in SEGMENTS.items():
        if above is None:
            places[name] = np.column_stack([0.1 * np.arange(frames), np.zeros(frames), np.full(frames, 0.95)])
        else:
            parent, offset = above
            places[name] = places[parent] + turns[parent].apply(np.array(offset, float))
    quaternions = np.stack([turns[name].as_quat()[:, [3, 0, 1, 2]] for name in SEGMENTS], axis=1)
    return quaternions, np.stack(list(places.values()), axis=1)


def text(values) -> str:
    return " ".join(f"{value:.8f}" for value in np.asarray(values).reshape(-1))


def made(people: int = 1) -> bytes:
    names = list(SEGMENTS)
    quaternions, positions = posed()
    segments, joints = "", ""
    for number, name in enumerate(names):
        points = [("pOrigin", (0, 0, 0))] + [
            (f"j{child}", above[1]) for child, above in SEGMENTS.items() if above is not None and above[0] == name
        ]
        points += [TIPS[name]] if name in TIPS else []
        inner = "".join(f'<point label="{label}"><pos_b>{text(place)}</pos_b></point>' for label, place in points)
        segments += f'<segment label="{name}" id="{number + 1}"><points>{inner}</points></segment>'
        above = SEGMENTS[name]
        if above is not None:
            joints += (
                f'<joint label="j{name}"><connector1>{above[0]}/j{name}</connector1><connector2>{name}/j{name}'
                "</connector2></joint>"
            )
    rest = f'<frame type="identity"><orientation>{text([1, 0, 0, 0] * 23)}</orientation></frame>'
    frames = "".join(
        f'<frame time="{n * 10}" index="{n}" type="normal"><orientation>{text(q)}</orientation>'
        f"<position>{text(p)}</position></frame>"
        for n, (q, p) in enumerate(zip(quaternions, positions))
    )
    person = (
        f'<subject label="Suit" frameRate="100" segmentCount="23"><segments>{segments}</segments><joints>{joints}'
        f'</joints><frames segmentCount="23">{rest}{frames}</frames></subject>'
    )
    head = '<?xml version="1.0"?><mvnx xmlns="http://www.xsens.com/mvn/mvnx" version="4">'
    return f"{head}{person * people}</mvnx>".encode()


def test_segments_stand_where_the_file_says():
    (found,) = mvnx.parse(made(), "walk.mvnx")
    motion = found.read_take(0)
    assert motion.fps == 100.0
    assert len(found.skeleton) == 23
    assert found.notes == ()
    order = [list(SEGMENTS).index(name) for name in found.skeleton.names]
    np.testing.assert_allclose(Kinematics(motion).positions, posed()[1][:, order], atol=1e-6)


def test_people_stand_upright_with_roles(tmp_path):
    (tmp_path / "walk.mvnx").write_bytes(made(2))
    clip = load(tmp_path / "walk.mvnx")
    assert clip.character.roles is not None
    assert clip.character.roles.joints["left_foot"] == (clip.character.skeleton.index("LeftFoot"),)
    assert 1.5 < clip.character.height < 1.9
    assert len(clip.others) == 1
    # x forward at rest becomes z, z up becomes y
    left, right = (
        clip.character.skeleton.rest_world[0][clip.character.skeleton.index(n)] for n in ("LeftHand", "RightHand")
    )
    assert left[0] - right[0] > 1.0
    assert clip.motion.root[:, 1] == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((b"<mvnx", b"<other"), "damaged text|expected <mvnx>"),
        ((b'frameRate="100"', b'frameRate="fast"'), "expected a frame rate"),
        ((b'frameRate="100"', b'frameRate="-1"'), "positive"),
        ((b"<connector1>Pelvis/", b"<connector1>Tail/"), "expected a joint of two segments"),
        ((b"L3/jL3</connector2>", b"L5/jL3</connector2>"), "expected one joint above 'L5', got two"),
        ((b'label="L3"', b'label="L5"'), "some twice"),
        ((b'type="normal"', b'type="tpose"'), 'expected frames of type "normal"'),
        ((b"</orientation><position>", b" 1</orientation><position>"), "expected orientations of 92 numbers, got 93"),
        ((b"<position>", b"<position>x "), "expected numbers, got other text"),
        ((b"</mvnx>", b""), "damaged text"),
    ],
)
def test_damaged_files_give_one_error(change, message):
    data = made()
    assert change[0] in data
    with pytest.raises(FormatError, match=message):
        mvnx.parse(data.replace(*change), "bad.mvnx")
