"""The gate of the benchmarks closes when it should. (Nothing is timed here.)"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import runpy
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import footplant
from figures import shuffled
from footplant import Motion

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def load_benchmark(name):
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name.replace('/', '_')}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def gate():
    return load_benchmark("run")


@pytest.fixture
def baseline():
    return json.loads((FOLDER / "baseline.json").read_text())


def good_figures(asked):
    """Figures of a benchmark that are as good as usual."""
    return {
        figure: bounds.get("usual", bounds.get("at_least", bounds.get("at_most"))) for figure, bounds in asked.items()
    }


def test_the_gate_is_open_for_usual_figures(gate, baseline):
    def measure(name):
        return good_figures(baseline[name]), ""

    figures, bad = gate.run(sorted(baseline), baseline, True, measure)
    assert bad == []
    assert len(figures) == sum(map(len, baseline.values()))


def test_a_figure_that_is_missing_or_a_third_worse_closes_the_gate(gate, baseline):
    for name, asked in baseline.items():
        usual = good_figures(asked)
        for figure, bounds in asked.items():
            without = {other: value for other, value in usual.items() if other != figure}
            assert gate.failures(name, without, baseline) == [f"{figure}: not measured"]
            worse = usual[figure] * (1.3 if "at_most" in bounds else 0.7)
            assert len(gate.failures(name, usual | {figure: worse}, baseline)) == 1, figure
            assert len(gate.failures(name, usual | {figure: float("nan")}, baseline)) == 1, figure


def test_failed_benchmarks_and_empty_baselines_close_the_gate(gate, baseline, capsys):
    asked = []

    def broken(name):
        asked.append(name)
        return {}, "ImportError: no module named peer"

    assert gate.run(["fk"], baseline, True, broken)[1] == ["fk: ImportError: no module named peer"]
    assert asked == ["fk", "fk"]
    for empty in ({}, {"fk": {}}):
        assert "the baseline is empty" in gate.run(["fk"], empty, True, lambda name: ({"a": 1.0}, ""))[1]
    # a second run may still open it
    answers = iter([({}, "a busy machine"), (good_figures(baseline["fk"]), "")])
    assert gate.run(["fk"], baseline, True, lambda name: next(answers))[1] == []


def test_a_benchmark_that_cannot_run_says_why(gate, tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "FOLDER", tmp_path)
    (tmp_path / "broken.py").write_text("raise RuntimeError('no such peer')")
    (tmp_path / "silent.py").write_text("print('hello')")
    (tmp_path / "sound.py").write_text("import json, os; print(json.dumps({'threads': os.environ['OMP_NUM_THREADS']}))")
    assert gate.measured("broken") == ({}, "RuntimeError: no such peer")
    assert gate.measured("silent") == ({}, "it printed no JSON object")
    assert gate.measured("sound") == ({"threads": "1"}, "")


def test_every_file_is_gated_or_a_study(gate, baseline):
    there = {path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.py")}
    assert there == set(baseline) | gate.STUDIES | gate.SUPPORT
    assert not set(baseline) & gate.STUDIES
    assert set(gate.QUICK) <= set(baseline)
    for asked in baseline.values():
        for bounds in asked.values():
            assert bounds.get("usual", bounds.get("at_least", 0.0)) >= bounds.get("at_least", 0.0)


def test_the_papers_tables_are_claims(baseline, monkeypatch):
    """Every figure of a table is gated, every "no" has a sentence, and most of what is run is the papers' own work."""
    monkeypatch.syspath_prepend(str(FOLDER))
    suite = load_benchmark("papers/run")
    items = [item for _, rows in suite.WORKS.values() for item in rows]
    run = [item for item in items if item.figure is not None]
    assert sum(not item.no for item in run) >= 0.9 * len(run)
    for item in items:
        assert item.figure is not None or item.no, f"{item.item}: neither run nor a reason"
        assert not item.no or (item.no[0].isupper() and item.no.endswith(".")), item.item
    for name, (_, rows) in suite.WORKS.items():
        asked = baseline[f"papers/{name}"]
        drawn = suite.table(name, good_figures(asked), baseline)
        assert len(drawn.splitlines()) == len(rows) + 2
        assert drawn.count("no: ") == sum(bool(item.no) for item in rows)
    assert suite.claim({"at_least": 3, "at_most": 3}) == "3"
    assert suite.claim({"at_least": 0.5, "at_most": 2}) == "≥ 0.5 and ≤ 2"
    assert suite.claim({"usual": 12.0}) == "usually 12"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("parse_*.py")), ids=lambda path: path.stem)
def test_every_ratio_has_a_baseline(path, monkeypatch):
    """Ratios that a benchmark names itself, and those with each of its peers."""
    known = json.loads((FOLDER / "baseline.json").read_text())[path.stem]
    named = re.findall(r'"(\w[\w.]*times_faster_than_\w+)"', path.read_text())
    monkeypatch.syspath_prepend(str(FOLDER))
    benchmark = vars(importlib.import_module(path.stem))
    peers = [peer for name, value in benchmark.items() if name.endswith("PEERS") for peer in value]
    assert not [name for name in named if name not in known]
    assert not [peer for peer in peers if not any(name.endswith(f".times_faster_than_{peer}") for name in known)]


@pytest.mark.parametrize(
    "name", [str(path.relative_to(FOLDER))[:-3] for path in sorted(FOLDER.rglob("*.py")) if path.stem != "timing"]
)
def test_every_benchmark_takes_json(name, monkeypatch, capsys):
    path = FOLDER / f"{name}.py"
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0
    assert "--json" in capsys.readouterr().out


MADE = {
    "__init__.py": "",
    "top.py": """
        from typing import TYPE_CHECKING

        from made import bottom

        if TYPE_CHECKING:
            from made.deep import folder

        LIMIT, FIRST = 0.7, 3

        def quick(function):
            return jit(nogil=True)(function)

        @quick
        def kernel(a):
            pass

        def long(a, b, c, d, e, f, g, h, *, i=0.3):
            return bottom.choose(a)
        """,
    "bottom.py": '''
        """A docstring."""

        # a comment
        class FootSettings:
            speed: float = 0.2

        def choose(values):
            from made import top

            if values and top.LIMIT or not values:
                return [value for value in values if value > 0.0]
            for value in values:
                assert value
            return 1.5 if values else 1e-12
        ''',
    "deep/__init__.py": "",
    "deep/folder.py": "from .. import top",
}
"""A package with a circle that is closed in a function, and one that is closed for type checkers only."""


def test_structure(tmp_path):
    structure = load_benchmark("structure")
    for name, text in MADE.items():
        path = tmp_path / "made" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    package = structure.read_package(tmp_path)
    found = structure.report(package, command=False)
    figures = found["figures"]
    assert structure.circles(structure.import_graph(package)) == [["made.bottom", "made.top"]]
    assert figures["circles.packages"] == 1
    assert figures["circles.closed_by_typing_only"] == 1
    assert found["lists"]["imports that close circles of packages"] == ["made/bottom.py:9 → made.top (in a function)"]
    assert found["lists"]["many arguments, others"] == ["  9 made/top.py:18 long"]
    assert [f.name for f in package.functions if f.kernel] == ["kernel"]
    # 1, if, and, or, comprehension and its if, for, assert, ternary
    assert [f.complexity for f in package.functions if f.name == "choose"] == [9]
    assert {kind: figures[f"numbers.{kind}"] for kind in structure.NUMBERS} == {
        "named": 1, "layout": 1, "tables": 0, "settings": 1, "inline": 2, "epsilons": 1
    }  # fmt: skip
    assert (figures["lines.docstring"], figures["lines.comment"]) == (1, 1)
    assert "made" in structure.draw(package)


@pytest.fixture(scope="module")
def golden():
    return load_benchmark("golden")


@pytest.mark.parametrize(("change", "verdict"), [(0.0, "identical"), (1e-12, "equal"), (1e-6, "different")])
def test_golden_figures_tell_small_changes(golden, change, verdict):
    array = golden.noise(300, 22, 4)
    before = golden.kept({"rotations": array, "status": "SOLVED"})
    array[120, 7, 2] += change
    assert golden.compare_case(before, golden.kept({"rotations": array, "status": "SOLVED"}), 1e-9)[0] == verdict


def test_golden_figures_tell_everything_else(golden):
    values = {"root": np.zeros((4, 3)), "frames": 3, "worst": float("nan"), "status": "SOLVED"}
    before = golden.kept(values)
    assert golden.compare_case(before, golden.kept(values), 1e-9) == ("identical", "")
    for other in ({"root": np.zeros((3, 4))}, {"frames": 4}, {"worst": 0.0}, {"status": "UNFINISHED"}, {"more": 1}):
        assert golden.compare_case(before, golden.kept(values | other), 1e-9)[0] == "different"
    assert golden.compare_case(before, {"raised": "MotionError"}, 1e-9)[0] == "different"


def test_golden_file_has_every_case(golden):
    kept = json.loads(golden.GOLDEN.read_text())
    assert set(kept["cases"]) == set(golden.CASES)
    assert golden.GOLDEN.stat().st_size <= 250_000


def test_agreement_of_two_judges(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    benchmark = load_benchmark("judge_agreement")
    pairs = [(f"pair {n}", {"a": float(n), "b": 1.0}, {"a": n + 0.1 * (n == 2), "c": 2.0}) for n in range(4)]
    rows = {row["figure"]: row for row in benchmark.agreement(pairs)}
    assert rows["a"]["worst_at"] == "pair 2"
    assert rows["a"]["worst_difference"] == pytest.approx(0.1)
    assert rows["a"]["correlation"] > 0.99
    assert (rows["b"]["pairs"], rows["b"]["judge_alone"], rows["c"]["ours_alone"]) == (0, 4, 4)
    assert "pair 2" in benchmark.table(list(rows.values()))


def test_many_pairs_survive_failures(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(FOLDER))
    benchmark = load_benchmark("many_pairs")
    good = {"clip": "a", "character": "b", "frames": 100, "seconds": 0.1, "measure_seconds": 0.1, "places": {}}
    rows = [
        good | {"figures": {"stance_worst_mm": 2.0, "stance_over_5mm_pct": 0.0}, "stances": 3, "not_right": []},
        good | {"clip": "c", "figures": {"stance_worst_mm": 9.0, "stance_over_5mm_pct": 100.0}, "stances": 1},
        {"clip": "d", "character": "b", "error": "BUG"},
        {"clip": "e", "character": "b", "skipped": "no human motion"},
    ]
    now = benchmark.summary(rows)
    assert (now["measured"], now["skipped"], now["failed"]) == (2, 1, ["d → b: BUG"])
    assert now["all_stances"]["stance_over_5mm_pct"] == pytest.approx(25.0)
    assert now["figures"]["stance_worst_mm"]["worst_at"] == "c → b"
    assert now["figures"]["stance_worst_mm"]["beyond_pct"] == 50.0
    better = [good | {"figures": {"stance_worst_mm": 1.0}}]
    assert benchmark.changes(better, rows)["stance_worst_mm"] == (1, 0)
    assert "FAILED d → b: BUG" in benchmark.table(now, now, benchmark.changes(rows, rows))
    arguments = benchmark.argparse.Namespace(seed=0, pairs=2)
    for name in ("out.json", "out.csv"):
        benchmark.write(tmp_path / name, rows, now, arguments)
        assert "BUG" in (tmp_path / name).read_text()
    # a pair whose file is missing is skipped, not fatal
    assert "skipped" in benchmark.measure_pair("missing.bvh", "sample:sally", tmp_path)


BALL, AWAY, LONG = 0.3, 0.6, 0.55
"""Metres; radius of a ball, distance of the elbow from its middle, and length of a thin forearm."""


@pytest.fixture(scope="module")
def stand_off():
    sys.path.insert(0, str(FOLDER))
    try:
        return load_benchmark("stand_off")
    finally:
        sys.path.remove(str(FOLDER))


def ball_and_arm(stand_off, way, elbow_limit=np.inf):
    """A ball about the origin, and a box of a forearm at (0, 0, −0.6) that points some way; its upper arm has no length
    to speak of. elbow_limit: radians, about every axis."""
    rows, columns = np.mgrid[0:33, 0:64]
    polar, around = np.pi * rows / 32.0, 2.0 * np.pi * columns / 64.0
    skin = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], -1)
    corner = (64 * rows + columns)[:-1].ravel()
    beside = (64 * rows + (columns + 1) % 64)[:-1].ravel()
    faces = np.concatenate(
        [np.stack([corner, corner + 64, beside], 1), np.stack([beside, corner + 64, beside + 64], 1)]
    )
    body = object.__new__(stand_off.BodyParts)
    body.skin, body.rest = SimpleNamespace(faces=faces), BALL * skin.reshape(-1, 3)
    part = body.part_of("ball", np.ones(len(body.rest), bool))
    elbow, way = np.array([0.0, 0.0, -AWAY]), np.asarray(way, float)
    axes = np.stack([stand_off.across(way), stand_off.across(way)])
    box = np.stack(np.meshgrid(np.linspace(0.0, LONG, 56), (-1e-3, 1e-3), (-1e-3, 1e-3)), -1).reshape(-1, 3)
    parts = np.zeros((len(box), 3, 3))
    parts[:, 2] = elbow + box @ axes[1]
    free, identity = np.full(3, 10.0), np.tile([1.0, 0.0, 0.0, 0.0], (4, 1))
    limits = [np.r_[identity[0], identity[0], -most, most] for most in (free, np.minimum(free, elbow_limit))]
    arm = stand_off.Arm(
        elbow - 1e-6 * way, elbow, np.tile([0.0, 1.0], (len(box), 1)), parts, np.zeros(len(box)), box[:, 0] == LONG,
        axes, identity, np.array(limits),
    )  # fmt: skip
    return stand_off.solid_of(part, body.rest), arm


def test_least_turn_of_a_box_arm_in_a_ball(stand_off):
    ball, arm = ball_and_arm(stand_off, (0.0, 0.0, 1.0))
    assert stand_off.distance_at(ball, 0.0, 0.0, -0.1) == pytest.approx(-0.2, abs=0.003)
    assert stand_off.distance_at(ball, 0.0, 0.0, -1.0) == pytest.approx(0.7, abs=0.01)
    searcher = stand_off.Searcher()
    # it becomes a tangent; the upper arm, which moves nothing, stays
    upper, fore = np.degrees(searcher.least(arm, ball))
    assert upper == pytest.approx(0.0, abs=1.0)
    assert fore == pytest.approx(np.degrees(np.arcsin(BALL / AWAY)), abs=1.0)
    # an allowance of 5 cm leaves less to do; an arm that is out needs nothing
    assert np.degrees(searcher.least(arm._replace(spare=np.full(len(arm.spare), 0.05)), ball)[1]) == pytest.approx(
        np.degrees(np.arcsin((BALL - 0.05) / AWAY)), abs=1.0
    )
    assert searcher.least(ball_and_arm(stand_off, (1.0, 0.0, 0.0))[1], ball) == pytest.approx(0.0, abs=1e-9)


def test_least_turn_within_joint_limits(stand_off):
    searcher = stand_off.Searcher()
    ball, arm = ball_and_arm(stand_off, (0.0, 0.0, 1.0), elbow_limit=np.radians(45.0))
    assert np.degrees(searcher.least(arm, ball, limited=True)[1]) == pytest.approx(30.0, abs=1.5)
    ball, arm = ball_and_arm(stand_off, (0.0, 0.0, 1.0), elbow_limit=np.radians(15.0))
    # about two axes at once the elbow may turn by 15° √2 and the slack; the upper arm, which takes it along, the rest
    upper, fore = np.degrees(searcher.least(arm, ball, limited=True))
    assert fore == pytest.approx(30.0, abs=1.5)
    assert upper == pytest.approx(30.0 - 15.0 * np.sqrt(2.0) - np.degrees(stand_off.SLACK), abs=1.5)


def test_least_distance_of_a_hand(stand_off):
    searcher = stand_off.Searcher()
    ball, arm = ball_and_arm(stand_off, (1.0, 0.0, 0.0))
    assert searcher.nearest(arm, ball, ball, 0.0, (np.inf, np.inf)) == pytest.approx(0.0, abs=0.005)
    angle = np.radians(70.0)
    away = np.sqrt(AWAY**2 + LONG**2 - 2.0 * AWAY * LONG * np.cos(angle)) - BALL
    assert searcher.nearest(arm, ball, ball, 0.0, (0.1, np.radians(20.0))) == pytest.approx(away, abs=0.02)
    assert searcher.nearest(arm, ball, ball, away, (0.1, np.radians(20.0))) == pytest.approx(0.0, abs=0.005)


def test_arms_of_a_motion_whose_joints_are_in_another_order(stand_off):
    clip = footplant.load("sample:walk")
    motion, skeleton = clip.motion[:5], clip.character.skeleton
    other, place = shuffled(skeleton, 1)
    assert other.names != skeleton.names
    turned = Motion(other, motion.root, motion.rotations[:, np.argsort(place)], motion.fps)
    still = Motion(skeleton, motion.root, np.broadcast_to(skeleton.rest, motion.rotations.shape), motion.fps)
    found = stand_off.with_arms_of(turned, still, clip.character).rotations
    arms = [clip.character.roles[f"{side}_upper_arm"] for side in ("left", "right")]
    arms = [joint for arm in arms for joint in (arm, *skeleton.descendants(arm))]
    np.testing.assert_array_equal(found[:, arms], motion.rotations[:, arms])
    rest = np.delete(np.arange(len(skeleton)), arms)
    np.testing.assert_array_equal(found[:, rest], still.rotations[:, rest])
