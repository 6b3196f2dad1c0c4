"""Reading ASF/AMC: pitfalls of the format, each as a tiny file, and CMU's own files."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import footplant
from footplant import rotation
from footplant.errors import FormatError
from footplant.io import asf, bvh
from footplant.kinematics import Kinematics

SKELETON = """# a comment
:version 1.10
:name figure one
:units
  mass 1.0
  length 0.45
  angle deg
:documentation
  begin anything : at all
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
  begin
    id 1
    name thigh
    direction 0 -2 0
    length 4
    axis 0 0 20 XYZ
    dof rx ry rz
    limits (-160.0 20.0)
           (-70.0 70.0)
           (-60.0 70.0)
  end
  begin
    id 2
    name shin
    direction 0 -1 0
    length 3
    axis 30 -40 50 ZYX
    dof rx
    limits (-inf inf)
  end
:hierarchy
  begin
    thigh shin
    root thigh
  end
"""
MOTION = """#!OML:ASF x.ASF
:FULLY-SPECIFIED
:DEGREES
1
root 1 2 3 10 20 30
thigh 5 -6 7
shin 40
2
root 1.5 2 3 11 21 31
thigh 6 -7 8
shin 50
"""


def inside(text: str) -> str:
    """Return the skeleton with additional bone data."""
    return SKELETON.replace(":hierarchy", text + ":hierarchy")


STILL = inside("".join(f"begin\nname {k}\nend\n" for k in range(4_000))).replace(
    "root thigh", "root thigh " + " ".join(map(str, range(4_000)))
)
"""Thousands of bones without channels."""


def motion(skeleton: str = SKELETON, frames: str | bytes = MOTION, **options):
    return figure(skeleton, frames, **options).read_take(0)


def figure(skeleton: str = SKELETON, frames: str | bytes = MOTION, **options):
    data = frames if isinstance(frames, bytes) else frames.encode()
    return asf.parse(skeleton.encode(), data, "clip.amc", **options)[0]


def refuse(match: str, skeleton: str = SKELETON, frames: str | None = None) -> None:
    with pytest.raises(FormatError, match=match):
        asf.parse(skeleton.encode(), None if frames is None else frames.encode(), "clip.amc", asf_path="clip.asf")


def turn(axis: str, degrees: float):
    """A matrix, written out: the reader must not check itself."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return {
        "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


def test_a_simple_file():
    found = figure()
    assert found.skeleton.names == ("root", "thigh", "shin")
    assert found.skeleton.parents.tolist() == [-1, 0, 1]
    assert found.skeleton.offsets.tolist() == [[0, 0, 0], [0, 0, 0], [0, -4, 0]]
    assert found.skeleton.end_parents.tolist() == [2]
    assert found.skeleton.end_offsets.tolist() == [[0, -3, 0]]
    assert found.scale == pytest.approx(0.0254 / 0.45)
    assert found.notes == ()
    assert found.layout.limits[1] == ((-160, 20), (-70, 70), (-60, 70))
    assert found.layout.dof == (("tx", "ty", "tz", "rx", "ry", "rz"), ("rx", "ry", "rz"), ("rx",))
    assert (found.takes[0].name, found.takes[0].frames, found.takes[0].fps) == ("clip", 2, 120.0)


@pytest.mark.quick
def test_bones_rotate_about_their_own_axes():
    """C·M·C⁻¹ with turns written innermost first, in matrices."""
    pose = motion()
    root = turn("z", 30) @ turn("y", 20) @ turn("x", 10)
    c = turn("z", 20)
    thigh = c @ turn("z", 7) @ turn("y", -6) @ turn("x", 5) @ c.T
    c = turn("x", 50) @ turn("y", -40) @ turn("z", 30)
    shin = c @ turn("x", 40) @ c.T
    assert pose.root[0].tolist() == [1, 2, 3]
    for joint, expected in enumerate((root, thigh, shin)):
        assert np.abs(rotation.to_matrix(pose.rotations[0, joint]) - expected).max() < 1e-12


def test_radians_in_the_skeleton_and_in_the_motion():
    skeleton = SKELETON.replace("angle deg", "angle rad")
    skeleton = skeleton.replace("0 0 20 XYZ", f"0 0 {np.radians(20)} XYZ")
    skeleton = skeleton.replace("30 -40 50 ZYX", "{} {} {} ZYX".format(*np.radians([30, -40, 50])))
    same = motion(skeleton)
    assert np.abs(same.rotations - motion().rotations).max() < 1e-12
    assert "degrees in the motion, in radians in the skeleton" in " ".join(figure(skeleton).notes)
    values = [1.0, 2, 3, *np.radians([10, 20, 30]), *np.radians([5, -6, 7]), np.radians(40)]
    text = ":RADIANS\n1\nroot {} {} {} {} {} {}\nthigh {} {} {}\nshin {}\n".format(*values)
    assert np.abs(motion(skeleton, text).rotations - motion().rotations[:1]).max() < 1e-12
    assert np.abs(motion(skeleton, text.replace(":RADIANS", "")).rotations - motion().rotations[:1]).max() < 1e-12


def test_root_order_axis_position_and_orientation():
    skeleton = SKELETON.replace("TX TY TZ RX RY RZ", "RZ RY RX TZ TX TY").replace("axis XYZ\n", "axis ZXY\n")
    skeleton = skeleton.replace("position 0 0 0", "position 10 20 30").replace("orientation 0 0 0", "orientation 5 6 7")
    pose = motion(skeleton, "1\nroot 10 20 30 3 1 2\nthigh 0 0 0\nshin 0\n")
    assert pose.root[0].tolist() == [11, 22, 33]
    stands = turn("y", 7) @ turn("x", 6) @ turn("z", 5)
    turned = turn("y", 20) @ turn("x", 30) @ turn("z", 10)
    assert np.abs(rotation.to_matrix(pose.rotations[0, 0]) - stands @ turned).max() < 1e-12
    (rest,) = asf.parse(skeleton.encode(), None)
    assert np.abs(rotation.to_matrix(rest.skeleton.rest[0]) - stands).max() < 1e-12
    assert rest.skeleton.offsets[0].tolist() == [10, 20, 30]


def test_bones_that_slide_and_stretch():
    skeleton = SKELETON.replace("dof rx ry rz", "dof tx tz rx ry rz l").replace("dof rx\n", "dof rx ty\n")
    rows = "1\nroot 0 0 0 0 0 0\nthigh 1 2 0 0 0 0.5\nshin 0 3\n"
    pose = motion(skeleton, rows)
    own = turn("z", 20)
    assert np.abs(pose.offsets[0, 1] - own @ [1, 0, 2]).max() < 1e-12
    own = turn("x", 50) @ turn("y", -40) @ turn("z", 30)
    assert np.abs(pose.offsets[0, 2] - (np.array([0, -4.5, 0]) + own @ [0, 3, 0])).max() < 1e-12
    assert "change length" in " ".join(figure(skeleton, rows).notes)
    # a value near the bone's length is the length itself
    whole = motion(skeleton, rows.replace("0.5", "4.25"))
    assert np.abs(whole.offsets[0, 2] - (np.array([0, -4.25, 0]) + own @ [0, 3, 0])).max() < 1e-12


@pytest.mark.parametrize("ending", ["\r\n", "\r", " \t\n", "\n\n", "\n  # so\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_comments_and_byte_order_marks(ending, start):
    found = motion(start + SKELETON.replace("\n", ending), start + MOTION.replace("\n", ending))
    assert np.array_equal(found.rotations, motion().rotations)


def test_utf_16_tabs_and_capitals():
    skeleton = (
        SKELETON.replace("  ", "\t").replace("begin", "BEGIN").replace(":root", ":ROOT").replace("dof rx", "DOF RX")
    )
    (found,) = asf.parse(skeleton.encode("utf-16"), MOTION.encode("utf-16"))
    assert np.array_equal(found.read_take(0).rotations, motion().rotations)


def test_the_root_in_capitals():
    found = motion(SKELETON.replace("root thigh", "Root thigh"), MOTION.replace("root ", "ROOT "))
    assert np.array_equal(found.rotations, motion().rotations)


def test_line_by_line_and_bulk_parsing_agree():
    fast = motion()
    mixed = MOTION.replace("thigh 6 -7 8\nshin 50", "shin 50\nthigh 6 -7 8")
    assert np.array_equal(motion(frames=mixed).rotations, fast.rotations)
    assert np.array_equal(motion(frames=MOTION + "\n \n").rotations, fast.rotations)
    assert np.array_equal(motion(frames=MOTION.rstrip()).rotations, fast.rotations)


def test_bones_missing_from_frames():
    rows = MOTION + "3\nroot 2 2 3 11 21 31\nshin 70\n4\nroot 2 2 3 12 21 31\nthigh 8 -9 10\nshin 70\n"
    found = figure(frames=rows)
    between = motion(frames=rows.replace("shin 70\n4", "thigh 7 -8 9\nshin 70\n4"))
    assert np.abs(found.read_take(0).rotations - between.rotations).max() < 1e-12
    assert "1 frame omits some bones" in found.notes[0]
    never = figure(frames=MOTION.replace("shin 40\n", "").replace("shin 50\n", ""))
    assert "1 bone of the skeleton has no data" in never.notes[0]
    assert np.abs(never.read_take(0).rotations[:, 2] - [1, 0, 0, 0]).max() < 1e-12


def test_bones_unknown_to_the_skeleton():
    found = figure(frames=MOTION.replace("shin 40", "tail 1 2\nshin 40"))
    assert "1 bone of the motion is not in the skeleton" in found.notes[0]
    assert np.array_equal(found.read_take(0).rotations, motion().rotations)


def test_numbers_of_frames():
    rows = MOTION + MOTION[MOTION.index("1\nroot") :].replace("1\nroot 1 ", "4\nroot 5 ", 1).replace("\n2\n", "\n5\n")
    found = figure(frames=rows)
    assert "1 frames are missing" in found.notes[0]
    assert found.takes[0].frames == 5
    assert found.read_take(0).root[:, 0].tolist() == [1, 1.5, 3.25, 5, 1.5]
    assert len(motion(frames=MOTION.replace("\n2\n", "\n999999999999\n"))) == 2
    assert len(motion(frames=rows.replace("\n4\n", "\n999999999999\n").replace("\n5\n", "\n1000000000000\n"))) == 4
    assert "do not increase" in figure(frames=MOTION.replace("\n2\n", "\n1\n")).notes[0]
    # every fourth frame of a faster recording is a valid recording
    assert figure(frames=MOTION.replace("\n2\n", "\n5\n")).notes == ()


def test_a_truncated_file():
    for cut in ("", "3\nroot 1.5 2 3 11 21 31\nthigh 6", "3\nroot 1.5 2 3 11 21 31\nthigh 6 7 8\n"):
        found = figure(frames=MOTION + cut)
        assert len(found.read_take(0)) == 2
        assert bool(found.notes) == bool(cut)
        assert all("ends inside its last frame" in note for note in found.notes)


def test_rate():
    assert motion(fps=60).fps == 60.0
    for fps in (0, -1, float("nan"), float("inf")):
        with pytest.raises(FormatError, match="positive number of frames per second"):
            motion(fps=fps)


def test_units_other_than_cmus_are_estimated_from_the_size():
    assert asf.parse(SKELETON.replace("length 0.45", "length 1.0").encode(), None)[0].scale is None
    assert asf.parse(SKELETON.replace("  length 0.45\n", "").encode(), None)[0].scale is None


def test_errors_are_reported():
    refuse("expected a section :bonedata, got no section at all; is this an ASF file", "nothing")
    refuse("expected a section :hierarchy, got :units", ":units\n:bonedata\n")
    refuse("line 21: expected an order of axes such as XYZ, got 'XXZ'", SKELETON.replace("20 XYZ", "20 XXZ"))
    refuse("expected channels among tx, ty", SKELETON.replace("dof rx\n", "dof rx spin\n"))
    refuse("expected each channel once", SKELETON.replace("dof rx\n", "dof rx rx\n"))
    refuse("expected 3 numbers after direction, got 2", SKELETON.replace("direction 0 -1 0", "direction 0 -1"))
    refuse("expected a finite number after length, got 'nan'", SKELETON.replace("length 3", "length nan"))
    refuse("expected a finite number after length, got '1e300'", SKELETON.replace("length 3", "length 1e300"))
    refuse("expected unique names of bones, got 'thigh' again", SKELETON.replace("name shin", "name thigh"))
    refuse(
        "expected bones of :bonedata in the hierarchy, got 'tail'", SKELETON.replace("thigh shin", "thigh shin tail")
    )
    refuse("expected one parent of 'shin'", SKELETON.replace("root thigh", "root thigh shin"))
    apart = inside("begin\nname foot\nend\n").replace("root thigh", "shin thigh\nroot foot")
    refuse("expected every bone of the hierarchy below root, got 'shin' apart", apart)
    refuse("expected bones on the root", SKELETON.replace("root thigh", "root"))
    refuse("got the end of the file", SKELETON[: SKELETON.index("limits (-inf")])
    refuse("expected one :units", SKELETON.replace(":documentation", ":units"))
    refuse("line 1: expected lines of at most", "x" * 100_000)
    refuse("expected a name in each bone", SKELETON.replace("name shin", ""))
    refuse("expected frames, got none", frames=":DEGREES\n")
    refuse("expected the number of a frame on a line of its own, got 'HIERARCHY'", frames="HIERARCHY\nROOT x\n")
    refuse("line 7, frame 1: expected 1 numbers for 'shin', got 2", frames=MOTION.replace("shin 40", "shin 40 50"))
    refuse(
        "line 6: expected a finite number for 'thigh' in frame 1, got 'x'", frames=MOTION.replace("thigh 5", "thigh x")
    )
    refuse("expected a finite number for 'shin' in frame 2, got 'inf'", frames=MOTION.replace("shin 50", "shin inf"))


def test_bones_outside_the_hierarchy_are_noted():
    (found,) = asf.parse(SKELETON.replace("    thigh shin\n", "").encode(), None)
    assert found.skeleton.names == ("root", "thigh")
    assert "1 bone is not in the hierarchy and ignored (first 'shin')" in found.notes


def test_skeleton_file_of_a_motion(tmp_path):
    for name in ("35.asf", "3.asf", "dance.ASF", "35_01.asf"):
        (tmp_path / name).write_text(SKELETON)
    for name in ("35_01.amc", "35_02.amc", "dance1.amc", "tumble.amc", "3-7.amc"):
        (tmp_path / name).write_text(MOTION)
    found = {
        name: asf.find_skeleton(tmp_path / name).name for name in ("35_01.amc", "35_02.amc", "dance1.amc", "3-7.amc")
    }
    assert found == {"35_01.amc": "35_01.asf", "35_02.amc": "35.asf", "dance1.amc": "dance.ASF", "3-7.amc": "3.asf"}
    with pytest.raises(FormatError, match=r"its skeleton tumble.asf .* got 3.asf, 35.asf, 35_01.asf, dance.ASF"):
        asf.load(tmp_path / "tumble.amc")
    assert len(asf.load(tmp_path / "tumble.amc", skeleton=tmp_path / "3.asf")[0].skeleton) == 3
    with pytest.raises(FormatError, match="No such file"):
        asf.load(tmp_path / "tumble.amc", skeleton=tmp_path / "none.asf")
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "tumble.amc").write_text(MOTION)
    with pytest.raises(FormatError, match="in its folder, got none"):
        asf.load(tmp_path / "alone" / "tumble.amc")
    (tmp_path / "alone" / "other.asf").write_text(SKELETON)
    assert asf.load(tmp_path / "alone" / "tumble.amc")[0].takes[0].frames == 2


@pytest.mark.parametrize(
    ("skeleton", "frames"),
    [
        pytest.param(SKELETON, MOTION[:36] + "1\n" * 50_000, id="empty frames"),
        pytest.param(SKELETON, MOTION + "".join(f"{k}\nshin {k}\n" for k in range(3, 7_500)), id="sparse frames"),
        pytest.param(SKELETON, MOTION + "a b\n" * 25_000, id="unknown bone"),
        pytest.param(SKELETON, MOTION + "".join(f"n{k}\n" for k in range(15_000)), id="unknown bones"),
        pytest.param("a\n" * 50_000, None, id="no section"),
        pytest.param(":hierarchy\n" + "aa bb\n" * 15_000, None, id="hierarchy"),
        pytest.param(inside("begin\nname x\nlimits " + "(1 2)\n" * 15_000 + "end\n"), None, id="limits"),
        pytest.param(inside("begin\nend\n" * 10_000), None, id="nameless bones"),
        pytest.param(inside("".join(f"begin\nname {k}\nend\n" for k in range(5_000))), None, id="bones"),
        pytest.param(STILL, ":DEGREES\n" + "".join(f"{k}\nroot 1 2 3 4 5 6\n" for k in range(5_000)), id="still bones"),
    ],
)
def test_memory_is_bounded_by_the_file(skeleton, frames):
    asf.parse(SKELETON.encode(), MOTION.encode())  # compiles
    data = skeleton.encode(), None if frames is None else frames.encode()
    size = len(data[0]) + len(data[1] or b"")
    tracemalloc.start()
    try:
        asf.parse(*data)
    except FormatError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 10 * size + (1 << 22)


@given(st.integers(0, 2**32 - 1))
def test_random_skeletons_against_matrices(seed):
    """Return tips of bones as in the format's documentation: W = parent's W · C · M · C⁻¹, tip = start + W · bone."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 7))
    parents = [int(rng.integers(-1, k)) for k in range(count)]
    letters = ["".join(rng.permutation(list("xyz"))) for _ in range(count)]
    axes = rng.uniform(-180, 180, (count, 3)).round(3)
    dofs = [[f"r{axis}" for axis in rng.permutation(list("xyz"))[: rng.integers(0, 4)]] for _ in range(count)]
    directions = rng.normal(size=(count, 3)).round(4)
    values = [rng.uniform(-180, 180, len(dof)).round(3) for dof in dofs]
    root = rng.uniform(-90, 90, 6).round(3)
    blocks = [
        f"begin\nname b{k}\ndirection {' '.join(map(str, directions[k]))}\nlength {k + 1}\n"
        f"axis {' '.join(map(str, axes[k]))} {letters[k].upper()}\ndof {' '.join(dofs[k])}\nend"
        for k in range(count)
    ]
    tree = [f"{'root' if parent < 0 else f'b{parent}'} b{k}" for k, parent in enumerate(parents)]
    rng.shuffle(tree)
    skeleton = ":bonedata\n" + "\n".join(blocks) + "\n:hierarchy\nbegin\n" + "\n".join(tree) + "\nend\n"
    lines = [f"b{k} {' '.join(map(str, values[k]))}" for k in range(count) if dofs[k]]
    pose = motion(skeleton, f"1\nroot {' '.join(map(str, root))}\n" + "\n".join(lines) + "\n")
    kin = Kinematics(pose)
    world = {-1: turn("z", root[5]) @ turn("y", root[4]) @ turn("x", root[3])}
    tips = {-1: root[:3]}
    for k, parent in enumerate(parents):
        c, m = np.eye(3), np.eye(3)
        for letter, angle in zip(letters[k], axes[k]):
            c = turn(letter, angle) @ c
        for channel, angle in zip(dofs[k], values[k]):
            m = turn(channel[1], angle) @ m
        world[k] = world[parent] @ c @ m @ c.T
        tips[k] = tips[parent] + world[k] @ (directions[k] / np.linalg.norm(directions[k]) * (k + 1))
        joint = pose.skeleton.index(f"b{k}")
        assert np.abs(kin.positions[0, joint] - tips[parent]).max() < 1e-9
    for end, joint in enumerate(pose.skeleton.end_parents):
        assert np.abs(kin.ends[0, end] - tips[int(pose.skeleton.names[joint][1:])]).max() < 1e-9


@given(st.data())
def test_any_mutated_file_is_read_or_refused(data):
    skeleton, frames = bytearray(SKELETON.encode()), bytearray(MOTION.encode())
    for text in (skeleton, frames):
        for _ in range(data.draw(st.integers(0, 4))):
            at = data.draw(st.integers(0, len(text) - 1))
            piece = data.draw(
                st.one_of(st.binary(max_size=4), st.sampled_from([b"nan", b"1e999", b":", b"\n", b"begin"]))
            )
            text[at : at + data.draw(st.integers(0, 6))] = piece
    try:
        (found,) = asf.parse(bytes(skeleton), bytes(frames))
    except FormatError:
        return
    assert len(found.read_take(0)) == found.takes[0].frames


SAME = {
    "root": "Hips", "upperback": "Spine", "thorax": "Spine1", "lowerneck": "Neck", "upperneck": "Neck1", "head": "Head",
    **{f"{s}{a}": f"{side}{b}" for s, side in (("l", "Left"), ("r", "Right")) for a, b in (
        ("femur", "UpLeg"), ("tibia", "Leg"), ("foot", "Foot"), ("toes", "ToeBase"), ("clavicle", "Shoulder"),
        ("humerus", "Arm"), ("radius", "ForeArm"), ("wrist", "Hand"))},
}  # fmt: skip
"""Joints of CMU's ASF skeletons and of the BVH conversion at the same positions."""
ABOVE_THORAX = {name for name in SAME if name[1:] in ("clavicle", "humerus", "radius", "wrist")} | {
    "lowerneck", "upperneck", "head"
}  # fmt: skip


@pytest.mark.named("asf_amc/35_01.amc", "bvh/cmu/35_01.bvh")
def test_bvh_and_amc_of_the_same_take_agree(shared):
    """CMU 35_01: the BVH has a T-pose before the first frame, and leaves out the thorax bone (116 mm).

    Below it all joints agree within 0.01 mm; above it once the bone is taken out of the AMC's positions as well.
    """
    (ours,), (theirs,) = asf.load(shared / "asf_amc/35_01.amc"), bvh.load(shared / "bvh/cmu/35_01.bvh")
    scale = 1000.0 * ours.scale
    a = Kinematics(ours.read_take(0)).positions * scale
    b = Kinematics(theirs.read_take(0)[1:]).positions * scale
    assert len(a) == len(b) == 358
    thorax = a[:, ours.skeleton.index("lowerneck")] - a[:, ours.skeleton.index("thorax")]
    assert np.linalg.norm(thorax, axis=-1) == pytest.approx(116.14, abs=0.01)
    for name, other in SAME.items():
        gap = a[:, ours.skeleton.index(name)] - b[:, theirs.skeleton.index(other)]
        if name in ABOVE_THORAX:
            gap = gap - thorax
        assert np.linalg.norm(gap, axis=-1).max() < 0.01, name


ROLES = {
    "hips": "root", "spine": "lowerback", "neck": "lowerneck", "head": "head",
    **{f"{side}_{role}": f"{side[0]}{bone}" for side in ("left", "right") for role, bone in (
        ("clavicle", "clavicle"), ("upper_arm", "humerus"), ("lower_arm", "radius"), ("hand", "hand"),
        ("lower_arm_twist", "wrist"), ("upper_leg", "femur"), ("lower_leg", "tibia"), ("foot", "foot"),
        ("toes", "toes"))},
}  # fmt: skip
REAL = {
    "asf_amc/11_01.amc": (597, 1.69), "asf_amc/35_01.amc": (358, 1.675),
    "asf_amc/backflip.amc": (247, 1.50), "asf_amc/charleston1.amc": (506, 1.685),
    "asf_amc/11.asf": (1, 1.69), "asf_amc/35.asf": (1, 1.675), "asf_amc/backflip.asf": (1, 1.50),
    "asf_amc/charleston.asf": (1, 1.685),
}  # fmt: skip
"""File → frames, standing height in metres."""


@pytest.mark.parametrize("file", REAL)
@pytest.mark.named("{file}")
@pytest.mark.quick
def test_real_files(shared, file):
    clip = footplant.load(shared / file)
    frames, height = REAL[file]
    assert len(clip.motion) == frames
    assert clip.character.height == pytest.approx(height, abs=0.01)
    assert (clip.conversion.units, clip.conversion.up) == ("cmu", "y")
    assert clip.notes == ()
    roles = clip.character.require_roles()
    names = clip.motion.skeleton.names
    assert {role: names[roles[role]] for role in ROLES} == ROLES
    assert roles.overall > 0.8
    if frames > 1:
        assert clip.motion.fps == 120.0


@pytest.mark.named("bad/asf_02_truncated.asf")
def test_a_truncated_skeleton_is_refused(shared):
    """The text is complete, but bones that it counts are missing."""
    with pytest.raises(FormatError, match="expected 8 bones according to their ids, got 6"):
        footplant.load(shared / "bad/asf_02_truncated.asf")
