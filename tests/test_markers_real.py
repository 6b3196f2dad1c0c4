"""Real marker files: compared with another reader, with one another, and with the same take as BVH."""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import footplant
from conftest import shared_data, shared_files
from footplant import rotation
from footplant.cli.markers import describe
from footplant.errors import FormatError
from footplant.io import c3d
from footplant.kinematics import Kinematics

C3D = [path for path in shared_files("c3d/*.c3d") if path.stem != "sample02_sgi_int"]
TRC = [path for path in shared_files("trc/*.trc") if path.stem != "10002_unnamed"]
FACTS = {
    # frames, markers, rate, unit, up axis, whether both are stated, % hidden, height
    "c3d/Dance.c3d": (499, 40, 65.0533, "mm", "x", False, 0.0, 1.66),
    "c3d/Eb015pi.c3d": (450, 26, 50.0, "mm", "z", True, 1.93, 0.90),
    "c3d/Eb015pr.c3d": (450, 26, 50.0, "mm", "z", True, 1.93, 0.90),
    "c3d/Eb015si.c3d": (450, 26, 50.0, "mm", "z", True, 1.93, 0.90),
    "c3d/Eb015vr.c3d": (450, 26, 50.0, "mm", "z", True, 1.93, 0.90),
    "c3d/FunctionalWalk.c3d": (438, 110, 120.0, "mm", "z", True, 29.09, 1.02),
    "c3d/MotionMonitorC3D.c3d": (840, 8, 140.0, "m", "y", False, 0.0, 1.40),
    "c3d/PiG_Motion3_FF.c3d": (293, 61, 100.0, "mm", "z", True, 11.41, 1.03),
    "c3d/cmu_02_01.c3d": (343, 41, 120.0, "mm", "z", True, 0.0, 1.61),
    "c3d/ktk_walkingOptiTrack.c3d": (3361, 12, 160.0, "mm", "z", True, 7.43, 0.33),
    "c3d/phasespace_sample.c3d": (701, 40, 30.0, "mm", "z", False, 4.57, 1.56),
    "trc/Gait.trc": (487, 33, 100.0, "mm", "z", False, 45.46, 1.36),
    "trc/MOTEK_T.trc": (89, 41, 30.0, "mm", "y", False, 0.0, 1.59),
    "trc/ballet_reduced.trc": (100, 41, 30.0, "mm", "y", False, 0.0, 1.56),
    "bad/c3d_TESTCPI.c3d": (450, 26, 50.0, "mm", "z", True, 1.93, 0.90),
    "bad/c3d_badParameterOffset.c3d": (111, 41, 250.0, "mm", "z", True, 4.88, 1.59),
    "bad/c3d_bad_parameter_section.c3d": (332, 45, 120.0, "mm", "z", True, 40.46, 0.61),
}
"""Files with damaged parameters but intact markers are read on request, with a note."""
DAMAGED = {
    "c3d_empty.c3d": "expected a C3D file of 512 bytes or more, got 0",
    "c3d_badParameterOffset.c3d": "expected intact parameters, got a damaged section: the parameter 'UNITS'",
    "c3d_bad_parameter_section.c3d": "expected intact parameters, got a damaged section: the parameter 'LABELS'",
    "c3d_parameterOverflow.c3d": "expected visible markers, got 106 that are occluded in all 101 frames",
    "trc_empty.trc": "expected a line of marker names",
    "trc_truncated.trc": "expected a line of marker names",
}
UNREAD = {"Dance", "Eb015si", "phasespace_sample"}
"""Files that ezc3d does not read: odd parameters, MIPS, or no parameters."""
REFUSED = {
    "c3d/sample02_sgi_int.c3d": "expected intact parameters, got a damaged section: its last entry points beyond it",
}
"""Whole files of other programs that are refused: entries behind the end of a section."""
NAMELESS = {"trc/10002_unnamed.trc"}
"""Markers without names, which are numbered: tests/test_trc.py."""


@pytest.mark.named("MANIFEST.csv")
def test_the_table_is_complete(shared):
    files = [*shared_files("c3d/*.c3d"), *shared_files("trc/*.trc")]
    files += [*shared_files("bad/*.c3d"), *shared_files("bad/*.trc")]
    found = {path.relative_to(shared).as_posix() for path in files}
    assert found <= set(FACTS) | {f"bad/{name}" for name in DAMAGED} | set(REFUSED) | NAMELESS


@pytest.mark.parametrize("file", FACTS)
@pytest.mark.named("{file}")
def test_every_file_loads_with_the_right_facts(shared, file):
    frames, count, rate, unit, up, declared, hidden, height = FACTS[file]
    options = {"damaged": True} if Path(file).name in DAMAGED else {}
    markers = footplant.load_markers(shared / file, **options)
    facts = describe(markers, str(shared / file))
    assert (facts["frames"], facts["markers"]) == (frames, count)
    assert facts["fps"] == pytest.approx(rate, rel=1e-5)
    assert (facts["units"], facts["up"], facts["declared"]) == (unit, up, declared)
    assert facts["hidden_percent"] == pytest.approx(hidden, abs=0.01)
    assert facts["height"] == pytest.approx(height, abs=0.03)
    if not declared or "Offset" in file or "section" in file:
        assert markers.notes


@pytest.mark.parametrize("file", DAMAGED)
@pytest.mark.named("bad/{file}")
def test_damaged_files_are_refused(shared, file):
    with pytest.raises(FormatError, match=DAMAGED[file]):
        footplant.load_markers(shared / "bad" / file)


@pytest.mark.parametrize("file", REFUSED)
@pytest.mark.named("{file}")
def test_files_that_are_refused(shared, file):
    with pytest.raises(FormatError, match=REFUSED[file]):
        footplant.load_markers(shared / file)


@pytest.fixture(scope="module")
def ezc3d():
    """The other reader; a build of it from sources does not say where its own library is, so that is loaded first."""
    found = importlib.util.find_spec("ezc3d")
    if found is None or found.origin is None:
        pytest.skip("ezc3d is not installed")
    for library in Path(found.origin).parent.glob("libezc3d.*"):
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    return importlib.import_module("ezc3d")


@pytest.mark.parametrize("path", [path for path in C3D if path.stem not in UNREAD], ids=lambda path: path.stem)
def test_ezc3d_reads_the_same(path: Path, ezc3d):
    """Places, gaps, names, rates: to the last bit, in file units. What ezc3d cannot read is left out."""
    theirs = ezc3d.c3d(str(path))
    ours = c3d.load_markers(path)
    point = theirs["parameters"]["POINT"]
    labels = [label.strip() for label in point["LABELS"]["value"]]
    order = [labels.index(name) if name in labels else int(name.removeprefix("point")) - 1 for name in ours.names]
    expected = theirs["data"]["points"][:3, order].transpose(2, 1, 0)
    assert ours.positions.shape == expected.shape
    np.testing.assert_array_equal(ours.positions, expected)
    assert ours.fps == point["RATE"]["value"][0]
    assert (ours.units or "") == point["UNITS"]["value"][0].strip()
    left = theirs["data"]["points"].shape[1] - len(order)
    assert left == (36 if path.stem in ("FunctionalWalk", "PiG_Motion3_FF") else 0)


@pytest.mark.named("c3d/Eb015pi.c3d")
def test_one_trial_of_three_processors(shared):
    """Sample 1 of c3d.org: the same walk by three processors, as integers and floats, and with sections moved."""
    intel = footplant.load_markers(shared / "c3d" / "Eb015pi.c3d")
    for other in ("c3d/Eb015pr.c3d", "c3d/Eb015si.c3d", "c3d/Eb015vr.c3d", "bad/c3d_TESTCPI.c3d"):
        markers = footplant.load_markers(shared / other)
        assert markers.names == intel.names
        assert markers.events == intel.events
        assert [event.label for event in markers.events] == ["RIC", "RHS", "RTO"]
        np.testing.assert_allclose(markers.positions, intel.positions, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(markers.residuals, intel.residuals, rtol=1e-12)


@pytest.mark.parametrize("path", [*TRC, *C3D], ids=lambda path: path.name)
def test_through_trc_and_back(path: Path, tmp_path):
    markers = footplant.load_markers(path)
    for units in (None, "m"):
        footplant.save_markers(tmp_path / "a.trc", markers, units=units)
        back = footplant.load_markers(tmp_path / "a.trc")
        assert back.conversion.up == "y"
        np.testing.assert_array_equal(back.positions, markers.positions)
        assert (back.names, back.fps, back.first_frame) == (markers.names, markers.fps, markers.first_frame)


def distances(points: np.ndarray, bones: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return (F, M) distances from each point to the nearest bone, each bone two (F, 3)."""
    best = np.full(points.shape[:2], np.inf)
    for start, end in bones:
        along = (end - start)[:, None]
        offset = points - start[:, None]
        share = np.clip((offset * along).sum(-1) / np.maximum((along**2).sum(-1), 1e-12), 0, 1)
        best = np.minimum(best, np.linalg.norm(offset - share[..., None] * along, axis=-1))
    return best


@pytest.mark.named("bvh/cmu/02_01.bvh", "c3d/cmu_02_01.c3d")
def test_the_same_take_lands_on_the_same_joints(shared):
    """CMU 02_01 as C3D and as BVH: the markers lie around the bones that were fitted to them.

    The BVH file starts with an added T-pose, and its z is the C3D file's x: turned by a quarter about the vertical, and
    by nothing else, the two agree. The BVH figure has a short neck and thin bones, so markers on the skin
    of the head are farthest away; those of the ankles keep their distance to a millimetre.
    """
    clip = footplant.load(shared_data("bvh", "cmu", "02_01.bvh"))
    markers = footplant.load_markers(shared / "c3d" / "cmu_02_01.c3d")
    skeleton = clip.motion.skeleton
    assert len(clip.motion) == len(markers) + 1
    assert clip.motion.fps == pytest.approx(markers.fps, rel=1e-4)
    kinematics = Kinematics(clip.motion[1:])
    joints, ends = kinematics.positions, kinematics.ends
    labels = list(markers.labels)

    # rotation and translation between the two, from markers that are nearly at joints
    pairs = {"LKNE": "LeftLeg", "RKNE": "RightLeg", "LANK": "LeftFoot", "RANK": "RightFoot", "LTOE": "LeftToeBase",
             "RTOE": "RightToeBase", "LELB": "LeftForeArm", "RELB": "RightForeArm"}  # fmt: skip
    ours = np.concatenate([markers.positions[:, labels.index(label)] for label in pairs])
    theirs = np.concatenate([joints[:, skeleton.index(joint)] for joint in pairs.values()])
    flat = (ours - ours.mean(axis=0))[:, [0, 2]].T @ (theirs - theirs.mean(axis=0))[:, [0, 2]]
    angle = np.arctan2(flat[1, 0] - flat[0, 1], flat[0, 0] + flat[1, 1])
    assert np.degrees(angle) == pytest.approx(-90.0, abs=0.3)
    markers = markers.transformed(rotation.from_axis_angle([0.0, 1.0, 0.0], -np.pi / 2))

    waist = np.mean([markers.positions[:, labels.index(label)] for label in ("LBWT", "RBWT", "LFWT", "RFWT")], axis=0)
    assert np.linalg.norm(waist - joints[:, 0], axis=1).mean() < 0.015
    bones = [(joints[:, skeleton.parents[joint]], joints[:, joint]) for joint in range(1, len(skeleton))]
    bones += [(joints[:, parent], ends[:, end]) for end, parent in enumerate(skeleton.end_parents)]
    apart = distances(markers.positions, bones)
    means = dict(zip(labels, apart.mean(axis=0), strict=True))
    assert np.median(list(means.values())) < 0.08
    assert max(means.values()) < 0.24
    for label in ("LTOE", "RTOE"):
        assert means[label] < 0.02
    for label in ("LANK", "RANK", "LKNE", "RKNE", "LELB", "RELB", "LHEE", "RHEE"):
        assert means[label] < 0.08
    for label in ("LANK", "RANK"):
        assert apart[:, labels.index(label)].std() < 0.0015

    # and frame for frame: any other offset between the two clips is worse
    legs = [labels.index(label) for label in ("LANK", "RANK", "LKNE", "RKNE", "LTOE", "RTOE", "LHEE", "RHEE")]

    def spread(offset: int) -> float:
        count = len(markers) - abs(offset)
        a, b = max(0, -offset), max(0, offset)
        parts = [(start[b : b + count], end[b : b + count]) for start, end in bones]
        return float(distances(markers.positions[a : a + count, legs], parts).std(axis=0).mean())

    assert min(range(-3, 4), key=spread) == 0
