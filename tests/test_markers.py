"""`Markers`, its unit and axis conversion, and the commands that read markers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from c3d_made import Made, walker
from footplant import rotation
from footplant.cli import main
from footplant.errors import FormatError, MotionError
from footplant.io.conversion import UP_TURNS
from footplant.io.marker_axes import up_by_names, up_by_posture
from footplant.io.marker_conversion import RawMarkers, axes_to_y_up, markers_from_raw
from footplant.markers import Event, Markers

UPS = ("x", "y", "z", "-x", "-y", "-z")
BODY = {
    "LFHD": (0.08, 1.70, 0.08), "RFHD": (-0.08, 1.70, 0.08), "C7": (0.0, 1.50, -0.08), "CLAV": (0.0, 1.45, 0.08),
    "LSHO": (0.20, 1.45, 0.0), "RSHO": (-0.20, 1.45, 0.0), "LELB": (0.48, 1.42, 0.0), "RELB": (-0.48, 1.42, 0.0),
    "LWRA": (0.75, 1.42, 0.0), "RWRA": (-0.75, 1.42, 0.0), "LASI": (0.13, 1.00, 0.10), "RASI": (-0.13, 1.00, 0.10),
    "LKNE": (0.15, 0.50, 0.03), "RKNE": (-0.15, 0.50, 0.03), "LANK": (0.12, 0.09, -0.02), "RANK": (-0.12, 0.09, -0.02),
    "LTOE": (0.13, 0.04, 0.18), "RTOE": (-0.13, 0.04, 0.18),
}  # fmt: skip
"""A person in T-pose, metres, y up, facing z."""


def person(frames: int = 40, travel: float = 0.0, hidden: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(3)
    places = np.array(list(BODY.values())) + rng.normal(0, 0.003, (frames, len(BODY), 3))
    places[..., 2] += np.linspace(0, travel, frames)[:, None]
    places[rng.random(places.shape[:2]) < hidden] = np.nan
    return places


def turned(places: np.ndarray, up: str) -> np.ndarray:
    """Return the same points in a file with another vertical axis."""
    return rotation.rotate(rotation.inverse(UP_TURNS[up]), places)


def markers(**fields) -> Markers:
    places = person(10)
    return Markers(tuple(BODY), places, 50.0, residuals=np.where(np.isnan(places[..., 0]), np.nan, 0.001), **fields)


class TestType:
    def test_shapes_and_values_are_checked(self):
        with pytest.raises(MotionError, match=r"shape \(frames, 2, 3\), got \(4, 3, 3\)"):
            Markers(("a", "b"), np.zeros((4, 3, 3)))
        with pytest.raises(MotionError, match="'a' more than once"):
            Markers(("a", "a"), np.zeros((4, 2, 3)))
        with pytest.raises(MotionError, match="infinity at frame 1, 'b'"):
            Markers(("a", "b"), np.array([[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, np.inf, 0]]], float))
        with pytest.raises(MotionError, match="a mix at frame 0, 'a'"):
            Markers(("a",), np.array([[[0, np.nan, 0]]]))
        with pytest.raises(MotionError, match="positive number of frames a second"):
            Markers(("a",), np.zeros((1, 1, 3)), 0.0)
        with pytest.raises(MotionError, match="residuals of shape"):
            Markers(("a",), np.zeros((1, 1, 3)), residuals=np.zeros((2, 1)))
        with pytest.raises(MotionError, match="a subject for each of 1 markers, got 2"):
            Markers(("a",), np.zeros((1, 1, 3)), subjects=("x", "y"))
        with pytest.raises(ValueError, match="read-only"):
            markers().positions[0, 0, 0] = 1.0

    def test_gaps(self):
        places = np.zeros((6, 3, 3))
        places[[0, 1, 4], 1] = np.nan
        places[:, 2] = np.nan
        found = Markers(("a", "b", "c"), places)
        assert found.gaps() == {"a": (), "b": ((0, 2), (4, 5)), "c": ((0, 6),)}
        assert found.visible.sum() == 6 + 3

    def test_cutting(self):
        whole = markers(first_frame=100, events=(Event("Foot Off", 0.1),))
        cut = whole[3:8]
        assert len(cut) == 5
        assert cut.first_frame == 103
        assert cut.events[0].seconds == pytest.approx(0.1 - 3 / 50)
        np.testing.assert_array_equal(cut.positions, whole.positions[3:8])
        np.testing.assert_array_equal(cut.residuals, whole.residuals[3:8])
        assert whole[::2].fps == 25.0
        assert whole[-1].first_frame == 109
        assert len(whole[[1, 5]]) == 2
        with pytest.raises(MotionError, match=r"a frame in 0\.\.9, got 10"):
            whole[10]

    def test_selecting(self):
        two = replace(
            markers(),
            names=tuple(f"{'Ann' if n % 2 else 'Bob'}:{name}" for n, name in enumerate(BODY)),
            subjects=tuple("Ann" if n % 2 else "Bob" for n in range(len(BODY))),
        )
        ann = two.select(subject="Ann")
        assert len(ann.names) == len(BODY) // 2
        assert set(ann.subjects) == {"Ann"}
        np.testing.assert_array_equal(ann.positions, two.positions[:, 1::2])
        assert two.select(["RTOE", "Bob:LFHD"]).names == ("Ann:RTOE", "Bob:LFHD")
        assert two.labels == tuple(BODY)
        with pytest.raises(MotionError, match="a subject among 'Bob', 'Ann', got 'Cyril'"):
            two.select(subject="Cyril")
        with pytest.raises(MotionError, match="a marker named 'NOSE', got none"):
            two.select(["NOSE"])

    def test_resampling(self):
        places = np.zeros((5, 1, 3))
        places[:, 0, 0] = np.arange(5)
        places[3] = np.nan
        fine = Markers(("a",), places, 10.0).resample(20.0)
        expected = [0, 0.5, 1, 1.5, 2, np.nan, np.nan, np.nan, 4]
        np.testing.assert_allclose(fine.positions[:, 0, 0], expected, atol=1e-12)
        coarse = Markers(("a",), places, 10.0).resample(10.0 / 3)
        assert len(coarse) == 2
        assert np.isnan(coarse.positions[1]).all()

    def test_turning_and_scaling(self):
        turn = rotation.from_axis_angle([0.0, 1.0, 0.0], 0.5)
        moved = markers().transformed(turn, (1.0, 2.0, 3.0)).scaled(2.0)
        np.testing.assert_allclose(moved.positions, 2 * (rotation.rotate(turn, markers().positions) + [1, 2, 3]))
        np.testing.assert_allclose(moved.residuals, 2 * markers().residuals)


class TestConversion:
    @pytest.mark.parametrize("up", UPS)
    def test_up_axes_match_the_character_conversion(self, up):
        points = np.random.default_rng(0).normal(size=(5, 3))
        axes = axes_to_y_up(up)
        by_axes = np.stack([sign * points[:, axis] for axis, sign in axes], axis=1)
        np.testing.assert_allclose(by_axes, rotation.rotate(UP_TURNS[up], points), atol=1e-12)

    @pytest.mark.parametrize("up", UPS)
    def test_up_axis_from_the_names_of_a_t_pose(self, up):
        assert up_by_names(tuple(BODY), turned(person(), up)) == up
        named = tuple(f"Ann:{name}" for name in BODY)
        assert up_by_names(named, turned(person(), up)) == up

    @pytest.mark.parametrize("up", UPS)
    def test_up_axis_from_a_walk_without_names(self, up):
        assert up_by_posture(turned(person(travel=3.0), up), "z") == up

    def test_a_lying_person_keeps_the_up_axis(self):
        """A person on the floor, z up as the file states, without names: nothing clearly says otherwise."""
        lying = person()[..., [1, 0, 2]] + [3.0, 0.0, 0.3]
        raw = RawMarkers(tuple(f"m{n}" for n in range(len(BODY))), lying, 100.0, units="m", up="z")
        found = markers_from_raw(raw, "a.c3d")
        assert found.conversion.up == "z"
        assert found.conversion.declared

    @pytest.mark.parametrize("stated", ["y", None])
    def test_names_do_not_turn_a_lying_person_or_a_handstand_upright(self, stated):
        lying = person()[..., [1, 0, 2]] * [1.0, 0.3, 1.0] + [2.0, 0.25, 0.0]
        on_hands = person()[..., [0, 1, 2]] * [1.0, -1.0, -1.0] + [0.0, 1.74, 0.0]
        for places in (lying, on_hands):
            raw = RawMarkers(tuple(BODY), np.array(places), 100.0, units="m", up=stated, likely_up="y")
            assert markers_from_raw(raw, "a.trc").conversion.up == "y"

    def test_names_overrule_what_the_file_states(self):
        raw = RawMarkers(tuple(BODY), person(), 100.0, units="m", up="z")
        found = markers_from_raw(raw, "a.c3d")
        assert found.conversion.up == "y"
        assert not found.conversion.declared
        assert "the file states that z is up, but marker names indicate y" in found.notes[0]
        forced = markers_from_raw(RawMarkers(tuple(BODY), person(), 100.0, units="m", up="z"), "a.c3d", up="z")
        assert forced.conversion.up == "z"
        assert forced.conversion.declared

    @pytest.mark.parametrize(("unit", "scale"), [("mm", 0.001), ("cm", 0.01), ("m", 1.0)])
    def test_units_are_found_stated_or_forced(self, unit, scale):
        def raw(**fields) -> RawMarkers:
            return RawMarkers(tuple(BODY), person() / scale, 100.0, **fields)

        found = markers_from_raw(raw(), "a.c3d")
        assert found.conversion.units == unit
        assert "states no unit" in " ".join(found.notes)
        np.testing.assert_allclose(found.positions, person(), atol=1e-12)
        stated = markers_from_raw(raw(units=unit.upper() + " ", up="y"), "a.c3d")
        assert (stated.conversion.units, stated.conversion.declared, stated.notes) == (unit, True, ())
        np.testing.assert_allclose(
            markers_from_raw(raw(units="inches"), "a", units=unit).positions, person(), atol=1e-12
        )
        np.testing.assert_allclose(markers_from_raw(raw(), "a", units=scale).positions, person(), atol=1e-12)

    def test_odd_units(self):
        raw = RawMarkers(tuple(BODY), person() * 1000, 100.0, units="furlong", up="y")
        assert "unknown unit 'furlong'" in markers_from_raw(raw, "a.c3d").notes[0]
        raw = RawMarkers(tuple(BODY), person() * 1000, 100.0, units="m", up="y")
        assert "extend 1.66e+03 m vertically in the unit m" in markers_from_raw(raw, "a.c3d").notes[0]
        raw = RawMarkers(tuple(BODY), person(), 100.0)
        for options in ({"units": "ell"}, {"units": -1.0}, {"units": float("nan")}, {"up": "w"}):
            with pytest.raises(FormatError, match="expected"):
                markers_from_raw(raw, "a.c3d", **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A walk of two persons as C3D."""
    folder = tmp_path_factory.mktemp("markers")
    labels = [f"{who}:{name}" for who in ("Ann", "Bob") for name in BODY]
    places = 1000 * np.concatenate([person(60, 2.0), person(60, 2.0, 0.0) + [1.0, 0, 0]], axis=1)
    extra = [("EVENT", "USED", 1), ("EVENT", "LABELS", ["Foot Off"]), ("EVENT", "TIMES", np.array([[0.0, 0.25]]))]
    (folder / "walk.c3d").write_bytes(Made(turned(places, "z"), labels, extra=extra).bytes())
    (folder / "broken.c3d").write_bytes(b"\2\x51" + bytes(600))
    return folder


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


class TestFiles:
    def test_a_motion_is_not_markers(self, folder, tmp_path):
        with pytest.raises(FormatError, match=r"holds markers, not the motion of a skeleton; footplant\.solve_markers"):
            footplant.load(folder / "walk.c3d")
        footplant.save(tmp_path / "walk.bvh", footplant.load("sample:walk"))
        with pytest.raises(FormatError, match="holds the motion of a skeleton, not markers"):
            footplant.load_markers(tmp_path / "walk.bvh")
        for load in (footplant.load, footplant.load_markers):
            with pytest.raises(FormatError, match="no such file"):
                load(tmp_path / "none.c3d")

    def test_info(self, capsys, folder):
        code, out, _ = run(capsys, "info", folder / "walk.c3d", "--json")
        facts = json.loads(out)
        assert code == 0
        assert (facts["kind"], facts["format"], facts["frames"], facts["fps"]) == ("markers", "c3d", 60, 120.0)
        assert (facts["units"], facts["up"], facts["declared"]) == ("mm", "z", True)
        assert facts["subjects"] == {"Ann": 18, "Bob": 18}
        assert facts["height"] == pytest.approx(1.66, abs=0.01)
        assert 4.0 < facts["hidden_percent"] < 6.0
        assert all(name.startswith("Ann:") for name in facts["gaps"])
        assert facts["events"][0]["label"] == "Foot Off"
        code, out, _ = run(capsys, "info", folder / "walk.c3d", "--figure", "Bob")
        assert code == 0
        assert "18, 0 % hidden" in out
        assert "mm (0.001 m), z up, stated by the file" in out

    def test_convert(self, capsys, folder, tmp_path):
        out = tmp_path / "walk.trc"
        code, text, _ = run(capsys, "convert", folder / "walk.c3d", out, "--json")
        assert code == 0
        assert json.loads(text)["lost"] == ["residuals (reconstruction errors of the cameras)", "1 events"]
        source, target = footplant.load_markers(folder / "walk.c3d"), footplant.load_markers(out)
        np.testing.assert_array_equal(source.positions, target.positions)
        assert (source.names, source.subjects) == (target.names, target.subjects)
        assert (target.conversion.units, target.conversion.up) == ("mm", "y")
        run(capsys, "convert", folder / "walk.c3d", out, "--overwrite", "--to-units", "m", "--to-up", "z")
        again = footplant.load_markers(out)
        assert (again.conversion.units, again.conversion.up) == ("m", "z")
        np.testing.assert_allclose(source.positions, again.positions, rtol=1e-15)
        assert run(capsys, "convert", folder / "walk.c3d", out)[0] == 2

    def test_plot(self, capsys, folder, tmp_path):
        for file in ("walk.c3d", "walk.trc"):
            source = folder / file
            if not source.exists():
                source = tmp_path / file
                footplant.save_markers(source, footplant.load_markers(folder / "walk.c3d").select(subject="Bob"))
            code, _, err = run(capsys, "plot", source, "-o", tmp_path / f"{file}.png", "--dpi", "40")
            assert code == 0, err
            assert (tmp_path / f"{file}.png").read_bytes().startswith(b"\x89PNG")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("info", "broken.c3d"), "expected the C3D key 0x50, got 0x51"),
            (("plot", "broken.c3d", "-o", "x.png"), "expected the C3D key"),
            (("measure", "walk.c3d", "--take", "1"), "take no --take"),
            (("contacts", "broken.c3d"), "expected the C3D key"),
            (("info", "walk.c3d", "--take", "1"), "take no --take"),
            (("info", "walk.c3d", "--figure", "Eve"), "a subject among 'Ann', 'Bob', got 'Eve'"),
            (("convert", "walk.c3d", "out.bvh"), "can be written as .trc only, not as .bvh"),
            (("convert", "walk.c3d", "out.c3d"), "can be written (.trc), got .c3d"),
            (("convert", "sample:walk", "out.trc"), "expected a marker file"),
        ],
    )
    def test_errors_are_one_line(self, capsys, folder, monkeypatch, arguments, message):
        monkeypatch.chdir(folder)
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert message in err
        assert not (folder / "out.bvh").exists()

    def test_a_c3d_walk_without_names(self, tmp_path):
        path = tmp_path / "a.c3d"
        path.write_bytes(Made(walker(300, 20), [f"p{n}" for n in range(20)], up=None, units=None).bytes())
        found = footplant.load_markers(path)
        assert (found.conversion.up, found.conversion.units, found.conversion.declared) == ("z", "mm", False)
        assert len(found.notes) == 2
