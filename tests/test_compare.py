"""Comparing methods: one row each, what is refused said, one picture, and many footplants taken at once."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import plot, samples
from footplant.cli import main
from footplant.constraints import Footplant, Position, SamePlace
from footplant.constraints.plants import Plants, is_simple_plant
from footplant.edits.compare import COLUMNS, Row, compare
from footplant.errors import ConstraintError
from footplant.kinematics import Kinematics
from footplant.problem import Problem, constraint_keys, errors, evaluate_constraints
from footplant.solve.methods import NAMES


@pytest.fixture(scope="module")
def walk():
    clip = samples.load("walk")
    return replace(clip, motion=clip.motion.resample(40.0)[:100])


@pytest.fixture(scope="module")
def comparison(walk):
    return compare(walk, samples.load_character("short"), keep_footsteps=True, repeats=1)


def test_every_method_has_a_row(comparison):
    assert [row.method for row in comparison.rows] == list(NAMES)
    assert all(row.failed is None for row in comparison.rows)
    assert {key for key, _ in COLUMNS} <= {field.name for field in fields(Row)}
    for row in comparison.rows:
        assert row.seconds is not None
        assert row.passes >= 1
        assert row.joint_change > 0.1
        assert row.plants_moved > 1.0


def test_what_is_exact_holds_and_what_is_smooth_is_smooth(comparison):
    rows = {row.method: row for row in comparison.rows}
    for name in ("hierarchical", "filtered", "perframe", "spacetime"):
        assert rows[name].worst_drift < 1.0, name
    assert rows["perframe"].jerk > 3.0 * rows["filtered"].jerk
    assert rows["warping"].worst_error > rows["hierarchical"].worst_error


def test_what_a_method_refuses_is_said(walk):
    ball = walk.character.contacts["left_ball"]
    asked = (SamePlace(point=ball, pair=(20, 60), name="again"),)
    found = compare(walk, constraints=asked, methods=("perframe", "spacetime"), repeats=1)
    rows = {row.method: row for row in found.rows}
    assert "perframe cannot honour it" in rows["perframe"].failed
    assert rows["perframe"].seconds is None
    assert rows["spacetime"].failed is None
    assert set(found.solutions) == {"spacetime"}


def test_constraints_alone_can_be_compared(walk):
    palm = walk.character.contacts["right_palm"]
    place = Kinematics(walk.motion).point(palm)[50] + [0.0, 0.1, 0.05]
    asked = (Position(point=palm, target=place, frames=range(48, 53), ramp=(0.2, 0.2), name="reach"),)
    found = compare(walk, constraints=asked, methods=("hierarchical", "warping"), repeats=1)
    assert found.rows[0].worst_error < 1.0
    assert found.character is walk.character


def test_nothing_to_ask_is_an_error(walk):
    with pytest.raises(ConstraintError, match="got neither"):
        compare(walk)
    with pytest.raises(ConstraintError, match="expected a method among"):
        compare(walk, walk.character, methods=("magic",))


def test_one_picture(comparison, tmp_path):
    assert plot.comparison_sheet(comparison, tmp_path / "compare.png").stat().st_size > 20_000


def test_the_command(capsys, tmp_path):
    arguments = ["compare", "sample:jump", "--to", "sample:sally", "--methods", "filtered,perkey", "--repeats", "1"]
    assert main([*arguments, "--json", "-o", str(tmp_path / "c.png")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["method"] for row in told["methods"]] == ["filtered", "perkey"]
    assert (tmp_path / "c.png").exists()
    assert main(arguments) == 0
    assert "perkey" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong", [[], ["--to", "sample:sally", "--methods", "magic"], ["--to", "sample:sally", "-o", "c.jpg"]]
)
def test_wrong_options_are_one_line(capsys, wrong):
    assert main(["compare", "sample:walk", *wrong]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_many_footplants_at_once_are_as_one_by_one(walk, data):
    kinematics, contacts = Kinematics(walk.motion), walk.character.contacts
    count = data.draw(st.integers(1, 6))
    plants = []
    for _ in range(count):
        start = data.draw(st.integers(0, 90))
        plants.append(
            Footplant(
                point=contacts[data.draw(st.sampled_from(["left_heel", "right_ball"]))],
                place=np.array(data.draw(st.tuples(*[st.floats(-1, 1)] * 3))),
                frames=range(start, data.draw(st.integers(start + 1, 100))),
                ramp=data.draw(st.tuples(*[st.sampled_from([0.0, 0.05, 0.3])] * 2)),
            )
        )
    rows_given = np.array(sorted(data.draw(st.sets(st.integers(0, 99), min_size=1))))
    part = Kinematics(replace(walk.motion, fps=40.0)[rows_given], rows_given)
    table = Plants(plants)
    assert all(map(is_simple_plant, plants))
    busy = table.over(part.frames, 40.0)
    rows, which, active = busy.rows, busy.which, busy.activation
    residuals = busy.residuals(part)
    for number, plant in enumerate(plants):
        held, activation = plant.active_rows(part.frames, 40.0)
        own = which == number
        np.testing.assert_array_equal(rows[own], held)
        np.testing.assert_allclose(active[own], activation, atol=1e-12)
        if len(held):
            np.testing.assert_allclose(residuals[own], plant.residual(part[held]), atol=1e-12)
    assert len(kinematics.frames) == 100


def test_footplants_judged_at_once_are_judged_as_one_by_one(walk):
    kinematics, contacts = Kinematics(walk.motion), walk.character.contacts
    plants = [
        Footplant(point=contacts[name], place=(0.1, 0.0, place), frames=held, ramp=(0.1, 0.0))
        for name, place, held in (
            ("left_heel", 0.0, range(10, 30)),
            ("right_ball", 0.4, range(20, 21)),
            ("left_ball", 1.0, range(60, 61)),
        )
    ]
    judged = evaluate_constraints(Problem(walk.motion, walk.character, tuple(plants)), kinematics)
    for plant, entry in zip(plants, judged, strict=True):
        rows, values = errors(plant, kinematics)
        assert entry.frames == len(rows)
        assert entry.worst_frame == rows[values.argmax()]
        np.testing.assert_allclose([entry.worst, entry.mean], [1e3 * values.max(), 1e3 * values.mean()], rtol=1e-12)


def test_keys_stand_for_what_lasts(comparison):
    character = samples.load_character("mannequin")
    motion = samples.load("walk").motion
    point = character.contacts["left_ball"]
    long = Footplant(point=point, place=(0, 0, 0), frames=range(40, 280))
    short = Footplant(point=point, place=(0, 0, 0), frames=range(100, 103))
    keys = constraint_keys(Problem(motion, character, (long, short)))
    assert {40, 279, 100, 101, 102} <= set(keys.tolist())
    gaps = np.diff(keys)
    assert gaps.max() <= 0.45 * motion.fps
    assert (gaps[gaps > 1] >= 0.1 * motion.fps).all()
