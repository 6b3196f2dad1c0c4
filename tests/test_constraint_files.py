"""Constraints as TOML and JSON: round trips, the example in the docs, and errors with their locations."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from footplant import constraints as c
from footplant import samples
from footplant.constraints import KINDS, from_data, to_data
from footplant.contacts.ground import InterpolatedGround
from footplant.errors import ConstraintError, FormatError
from footplant.geometry import Ball, Box, Capsule, HeightField, Plane
from footplant.grounds import Stairs
from footplant.io.constraint_files import read_constraints, write_constraints
from footplant.kinematics import Kinematics
from footplant.skeleton import Point

CLIP = samples.load("walk")
CHARACTER = CLIP.character
FRAMES = 40
MOTION = CLIP.motion[60 : 60 + FRAMES]
KINEMATICS = Kinematics(MOTION)
JOINTS = len(CHARACTER.skeleton)
PAGE = (Path(__file__).resolve().parents[1] / "docs" / "constraints.md").read_text(encoding="utf-8")

number = st.floats(-3.0, 3.0).map(float)
triple = st.tuples(number, number, number)
direction = triple.filter(lambda v: np.linalg.norm(v) > 0.1)
points = st.one_of(
    st.sampled_from(list(CHARACTER.contacts.values())),
    st.builds(Point, st.integers(0, JOINTS - 1), st.one_of(st.just((0.0, 0.0, 0.0)), triple)),
)
grounds = st.one_of(
    st.builds(Plane, triple, st.tuples(number, st.floats(0.5, 2.0), number)),
    st.builds(
        lambda seed, basis: HeightField(np.random.default_rng(seed).normal(size=(3, 4)), 0.7, (-1.0, 0.5), basis),
        st.integers(0, 99),
        st.sampled_from(["linear", "cubic", "bspline"]),
    ),
    st.builds(Stairs, st.floats(-0.3, 0.3), st.floats(0.1, 0.5), st.integers(1, 9), st.tuples(number, number), number),
    st.builds(
        lambda seed: InterpolatedGround(np.random.default_rng(seed).normal(size=(4, 3)), 0.2), st.integers(0, 99)
    ),
)
turns = st.tuples(number, number, number, number).filter(lambda q: np.linalg.norm(q) > 0.1)
regions = st.one_of(
    st.builds(Plane, triple, direction),
    st.builds(Ball, triple, st.floats(0.0, 2.0)),
    st.builds(Capsule, triple, triple, st.floats(0.0, 2.0)),
    st.builds(
        lambda center, half, turn: Box(center, tuple(map(abs, half)), tuple(np.array(turn) / np.linalg.norm(turn))),
        triple,
        triple,
        turns,
    ),
)


@st.composite
def common(draw, hard=True):
    """The common fields of a constraint, and its number of frames."""
    kind = draw(st.sampled_from(["all", "interval", "frames"]))
    held = None
    if kind == "interval":
        start = draw(st.integers(0, FRAMES - 1))
        held = range(start, draw(st.integers(start + 1, FRAMES)))
    elif kind == "frames":
        held = tuple(sorted(draw(st.sets(st.integers(0, FRAMES - 1), min_size=1, max_size=5))))
    chain = draw(st.one_of(st.none(), st.sets(st.integers(0, JOINTS - 1), min_size=1)))
    options = {
        "name": draw(st.text(st.characters(codec="utf-8"), max_size=12)),
        "frames": held,
        "ramp": draw(st.sampled_from([(0.0, 0.0), (0.1, 0.2)])),
        "priority": draw(st.integers(-2, 2)),
        "weight": draw(st.floats(0.0, 5.0)),
        "tolerance": draw(st.one_of(st.none(), st.floats(0.0001, 1.0))),
        "chain": None if chain is None else tuple(sorted(chain)),
        "hard": draw(st.booleans()) if hard else False,
    }
    return options, (FRAMES if held is None else len(held))


@st.composite
def any_constraint(draw):
    """A constraint of any kind."""
    options, held = draw(common())
    point, other = draw(points), draw(points)
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    target = draw(
        st.sampled_from([rng.normal(size=3), rng.normal(size=(held, 3)), c.Follow(point), c.Follow(Point(3))])
    )
    values = draw(st.sampled_from([0.3, np.abs(rng.normal(size=held))]))
    joint = draw(st.integers(0, JOINTS - 1))
    of_turns = {"character": CHARACTER, **options}
    makers = {
        c.Position: lambda: c.Position(point=point, target=target, axes=draw(triple), **options),
        c.Orientation: lambda: c.Orientation(joint=joint, target=rng.normal(size=(held, 4)), **options),
        c.Distance: lambda: c.Distance(point=point, other=other, value=values, **options),
        c.AtLeast: lambda: c.AtLeast(point=point, other=other, value=values, **options),
        c.AtMost: lambda: c.AtMost(point=point, other=other, value=values, **options),
        c.Area: lambda: c.Area(point=point, region=draw(regions), inside=draw(st.booleans()), margin=values, **options),
        c.Above: lambda: c.Above(point=point, ground=draw(grounds), clearance=values, **options),
        c.LookAt: lambda: c.LookAt(point=point, direction=draw(direction), target=target, **options),
        c.CenterOfMass: lambda: c.CenterOfMass(target=target, axes=draw(triple), **of_turns),
        c.Balance: lambda: c.Balance(
            support=draw(st.sampled_from([(), (CHARACTER.contacts["left_heel"], point, other)])),
            margin=draw(st.floats(0.0, 0.1)),
            **of_turns,
        ),
        c.Apart: lambda: c.Apart(
            part=draw(st.sampled_from(["left_hand", ("left_arm", "right_forearm"), "right_lower_leg"])),
            other=draw(st.sampled_from([None, "trunk", ("trunk", "head")])),
            margin=draw(st.floats(-0.01, 0.1)),
            as_source=draw(st.booleans()),
            **of_turns,
        ),
        c.Touch: lambda: c.Touch(
            part=draw(st.sampled_from(["left_hand", "right_foot", point])),
            other=draw(st.sampled_from(["trunk", "right_hand", other])),
            offset=draw(st.sampled_from([None, 0.0])),
            **of_turns,
        ),
        c.JointLimits: lambda: c.JointLimits(joints=draw(st.sampled_from([None, (joint,)])), **of_turns),
        c.ConeTwist: lambda: c.ConeTwist(joint=joint, axis=draw(direction), swing=0.7, twist=(-0.5, 1.0), **of_turns),
        c.Hinge: lambda: c.Hinge(joint=joint, axis=draw(direction), **of_turns),
        c.Relation: lambda: c.Relation(
            terms=((joint, rng.normal(size=(2, 3))), (1, rng.normal(size=(2, 3)))), **of_turns
        ),
        c.Footplant: lambda: c.Footplant(
            point=point,
            place=draw(st.one_of(st.none(), triple)),
            ground=draw(st.one_of(st.none(), grounds)),
            **options,
        ),
        c.SamePlace: lambda: c.SamePlace(point=point, pair=(3, 17), **options),
        c.SpeedLimit: lambda: c.SpeedLimit(point=point, most=draw(st.floats(0.0, 9.0)), **options),
        c.AccelerationLimit: lambda: c.AccelerationLimit(point=point, most=draw(st.floats(0.0, 90.0)), **options),
    }
    return makers[draw(st.sampled_from(list(makers)))]()


def assert_same(ours: c.Constraint, theirs: c.Constraint) -> None:
    assert type(ours) is type(theirs)
    for key in ("name", "frames", "ramp", "priority", "weight", "hard", "tolerance", "chain"):
        assert getattr(ours, key) == getattr(theirs, key), key
    np.testing.assert_allclose(ours.residual(KINEMATICS), theirs.residual(KINEMATICS), rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.jacobian(KINEMATICS), theirs.jacobian(KINEMATICS), rtol=0, atol=1e-11)


@settings(max_examples=150, deadline=None)
@given(constraint=any_constraint())
def test_round_trip_through_values(constraint):
    data = json.loads(json.dumps(to_data([constraint], CHARACTER), allow_nan=False))
    (again,) = from_data(data, CHARACTER, frames=FRAMES)
    assert_same(constraint, again)


@settings(max_examples=30, deadline=None)
@given(found=st.lists(any_constraint(), max_size=4), ending=st.sampled_from([".toml", ".json"]))
def test_round_trip_through_files(found, ending, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / f"constraints{ending}"
    write_constraints(path, found, CHARACTER)
    again = read_constraints(path, CHARACTER, frames=FRAMES)
    assert len(again) == len(found)
    for one, other in zip(found, again):
        assert_same(one, other)


def test_every_kind_can_be_read():
    """The docs list every kind."""
    listed = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", PAGE.partition("## Kinds")[2], re.M))))
    assert listed == set(KINDS)


def test_example_in_the_docs(tmp_path):
    path = tmp_path / "rail.toml"
    path.write_text(re.findall(r"^```toml\n(.*?)^```", PAGE, re.M | re.S)[0], encoding="utf-8")
    hand, follower, beam, plant = read_constraints(path, CHARACTER, frames=len(CLIP.motion), fps=CLIP.motion.fps)
    assert isinstance(hand, c.Position)
    assert hand.frames == range(200, 261)
    assert hand.ramp == (0.3, 0.3)
    assert hand.point == CHARACTER.contacts["left_palm"]
    assert isinstance(follower.target, c.Follow)
    assert follower.frames == range(60, 121)
    assert not follower.hard
    assert isinstance(beam.region, Plane)
    assert beam.point.offset == (0.0, 0.15, 0.0)
    assert plant.free
    assert plant.ground.height(np.zeros((1, 2))) == 0.0


def test_projects_hold_constraints(tmp_path):
    found = (c.Position(point=Point(5, (0.0, 0.1, 0.0)), target=(0.0, 1.0, 0.0), frames=range(3, 9), ramp=(0.1, 0.1)),)
    project = footplant.Project(
        footplant.Project.of(CLIP).figures, constraints=tuple(to_data(found, CHARACTER))
    )  # fmt: skip
    footplant.save_project(tmp_path / "walk.footplant", project)
    again = read_constraints(tmp_path / "walk.footplant", CHARACTER, frames=FRAMES)
    assert_same(found[0], again[0])
    assert_same(found[0], from_data(footplant.load_project(tmp_path / "walk.footplant").constraints, CHARACTER)[0])


def test_names_of_points():
    def point(**given):
        (found,) = from_data([{"kind": "position", "target": [0, 0, 0], **given}], CHARACTER)
        return found.point

    skeleton, roles = CHARACTER.skeleton, CHARACTER.require_roles()
    assert point(point="left_heel") == CHARACTER.contacts["left_heel"]
    assert point(point="left_hand") == Point(roles["left_hand"])
    assert point(point=skeleton.names[4]) == Point(4)
    assert point(point={"joint": skeleton.names[4]}) == Point(4)
    heel = np.array(CHARACTER.contacts["left_heel"].offset)
    np.testing.assert_array_equal(point(point="left_heel", offset=[0, 0.1, 0]).offset, heel + [0, 0.1, 0])
    np.testing.assert_array_equal(point(point={"point": "left_heel", "offset": [0, 0.1, 0]}).offset, heel + [0, 0.1, 0])


def test_balance_over_named_points_or_the_soles():
    soles, feet = from_data(
        [{"kind": "balance"}, {"kind": "balance", "support": ["left_heel", {"point": "right_ball"}], "margin": 0.02}],
        CHARACTER,
    )
    assert len(soles.support) > 2
    assert soles.margin == 0.01
    assert feet.support == (CHARACTER.contacts["left_heel"], CHARACTER.contacts["right_ball"])
    assert feet.margin == 0.02
    # another character's soles, if the file names no support
    assert "support" not in to_data([soles], CHARACTER)[0]
    with pytest.raises(FormatError, match="no segment masses"):
        from_data([{"kind": "balance"}], replace(CHARACTER, masses=None, mass_centers=None))


def test_chains():
    def chain(value):
        (found,) = from_data([{"kind": "position", "target": [0, 0, 0], "point": "head", "chain": value}], CHARACTER)
        return found.chain

    roles = CHARACTER.require_roles()
    assert chain("left_arm") == CHARACTER.skeleton.chain(roles["left_hand"], roles["left_upper_arm"])
    assert set(chain("trunk")) == {*roles.joints["hips"], *roles.joints["spine"]}
    assert chain(["spine"]) == tuple(sorted(roles.joints["spine"]))
    assert chain([CHARACTER.skeleton.names[3], "head"]) == tuple(sorted((3, roles["head"])))


def test_shorthands():
    data = [{"kind": "spine_shares"}, {"kind": "shoulder_rhythm", "side": "left", "weight": 2.0}]
    found = from_data(data, CHARACTER)
    assert all(isinstance(relation, c.Relation) and not relation.hard for relation in found)
    assert found[-1].weight == 2.0
    assert len(found) == len(CHARACTER.require_roles().joints["spine"])
    for ours, theirs in zip(found, from_data(to_data(found, CHARACTER), CHARACTER)):
        assert_same(ours, theirs)


def test_following_another_motion_is_written_as_positions():
    other = samples.load("clap").motion
    palm = CHARACTER.contacts["left_palm"]
    made = c.Position(point=palm, target=c.Follow(palm, other), frames=range(5, 12))
    (again,) = from_data(to_data([made], CHARACTER), CHARACTER, frames=FRAMES)
    rows = np.arange(5, 12)
    np.testing.assert_allclose(made.residual(KINEMATICS[rows]), again.residual(KINEMATICS[rows]), atol=1e-12)


POSITION = {"kind": "position", "point": "left_palm", "target": [0, 1, 0]}
MISTAKES = {
    "unknown kind": ({"kind": "pozition"}, "constraints[1].kind", "did you mean 'position'"),
    "kinds are listed": ({"kind": "zzz"}, "constraints[1].kind", ", ".join(KINDS)),
    "no kind": ({}, "constraints[1].kind", "got nothing"),
    "no table": (3, "constraints[1]", "expected a table, got 3"),
    "unknown point": (POSITION | {"point": "left_plam"}, "constraints[1].point", "did you mean 'left_palm'"),
    "points are listed": (POSITION | {"point": "tail"}, "constraints[1].point", "left_heel"),
    "joints are listed": ({"kind": "hinge", "joint": "tail", "axis": [0, 0, 1]}, "constraints[1].joint", "its joints:"),
    "unknown key": (POSITION | {"prority": 3}, "constraints[1].prority", "did you mean 'priority'"),
    "wrong shape": (POSITION | {"target": [0, 1]}, "constraints[1].target", "expected 3 numbers, got a list of 2"),
    "no number": (POSITION | {"target": [0, "a", 2]}, "constraints[1].target[1]", "got 'a'"),
    "NaN": (POSITION | {"target": [0, float("nan"), 2]}, "constraints[1].target[1]", "got nan"),
    "NaN in a row": (
        POSITION | {"target": [[0, 0, 0], [0, 0, float("inf")]], "frames": [1, 2]},
        "constraints[1].target[1][2]",
        "got inf",
    ),
    "huge": (POSITION | {"target": [0, 10**400, 2]}, "constraints[1].target[1]", "finite"),
    "too many rows": (POSITION | {"target": [[0, 0, 0]] * 3, "frames": [1, 2]}, "constraints[1].target", "got 3"),
    "beyond the clip": (
        POSITION | {"interval": [3, 40]},
        "constraints[1].interval",
        "expected frames in 0..39, got 40",
    ),
    "negative frame": (POSITION | {"frames": [-1]}, "constraints[1].frames", "got -1"),
    "half a frame": (POSITION | {"frames": [1.5]}, "constraints[1].frames", "whole numbers"),
    "backwards": (POSITION | {"interval": [9, 3]}, "constraints[1].interval", "in order"),
    "twice": (POSITION | {"interval": [3, 9], "frames": [3]}, "constraints[1].interval", "'frames' as well"),
    "seconds without a rate": (POSITION | {"seconds": [0, 1]}, "constraints[1].seconds", "rate"),
    "ramp": (POSITION | {"ramp": -1}, "constraints[1].ramp", "0 or more seconds"),
    "weight": (POSITION | {"weight": -1}, "constraints[1].weight", "from 0"),
    "hard": (POSITION | {"hard": "yes"}, "constraints[1].hard", "true or false"),
    "chain": (POSITION | {"chain": ["left_arm", "tail"]}, "constraints[1].chain[1]", "no joint 'tail'"),
    "both": (POSITION | {"follow": "head"}, "constraints[1].follow", "got both"),
    "follow": (
        {"kind": "position", "point": "head", "follow": {"point": "hed"}},
        "constraints[1].follow.point",
        "did you mean 'head'",
    ),
    "zero quaternion": (
        {"kind": "orientation", "joint": "head", "target": [0, 0, 0, 0]},
        "constraints[1].target",
        "zeros",
    ),
    "shape": (
        {"kind": "area", "point": "head", "region": {"shape": "cube"}},
        "constraints[1].region.shape",
        "there are: plane, box, ball, capsule, height_field",
    ),
    "radius": (
        {"kind": "area", "point": "head", "region": {"shape": "ball", "center": [0, 0, 0], "radius": -1}},
        "constraints[1].region.radius",
        "from 0",
    ),
    "upright ground": (
        {"kind": "above", "point": "head", "ground": {"shape": "plane", "up": [1, 0, 0]}},
        "constraints[1].ground.up",
        "not vertical",
    ),
    "ragged grid": (
        {"kind": "above", "point": "head", "ground": {"shape": "height_field", "heights": [[0, 0], [0]], "spacing": 1}},
        "constraints[1].ground.heights[1]",
        "expected 2 numbers",
    ),
    "support": (
        {"kind": "balance", "support": ["left_heel", "left_hel"]},
        "constraints[1].support[1]",
        "did you mean 'left_heel'",
    ),
    "no list of points": ({"kind": "balance", "support": "left_heel"}, "constraints[1].support", "a list of points"),
    "no point": ({"kind": "balance", "support": [3]}, "constraints[1].support[0]", "expected a table, got 3"),
    "margin": ({"kind": "balance", "margin": -0.1}, "constraints[1].margin", "from 0"),
    "distance": (
        {"kind": "distance", "point": "head", "other": "left_palm", "value": -1},
        "constraints[1]",
        "0 metres or more",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_say_where(name):
    entry, where, words = MISTAKES[name]
    with pytest.raises(FormatError) as caught:
        from_data([POSITION, entry], CHARACTER, frames=FRAMES, path="rail.toml")
    assert caught.value.path == "rail.toml"
    assert caught.value.where == where
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"rail.toml: {where}: ")


FILES = {
    "empty.yaml": (b"", "expected a file ending in .toml, .json, .footplant"),
    "broken.toml": (b"[[constraints]\nkind = 1", "expected TOML, got a syntax error"),
    "broken.json": (b'{"constraints": [}', "line 1, column 18: expected JSON"),
    "bytes.toml": (b"\xff\xfe\x00", "byte 0: expected text in UTF-8"),
    "deep.json": (b"[" * 100_000, "syntax error"),
    "other.json": (b'{"constraint": []}', "unknown key (did you mean 'constraints'?)"),
    "list.json": (b'{"constraints": 3}', "constraints: expected a list of tables, got 3"),
    "number.json": (b"3", "expected a list of tables, got 3"),
}


@pytest.mark.parametrize("name", FILES)
def test_bad_files(name, tmp_path):
    content, words = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        read_constraints(path, CHARACTER)
    assert words in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_missing_file_and_empty_lists(tmp_path):
    with pytest.raises(FormatError, match="no such file"):
        read_constraints(tmp_path / "none.toml", CHARACTER)
    (tmp_path / "none.toml").write_text("")
    assert read_constraints(tmp_path / "none.toml", CHARACTER) == ()
    assert read_constraints([], CHARACTER) == ()


def test_unwritable_constraints_are_refused(tmp_path):
    class Gaze(c.Position):
        pass

    class Bump:
        def height(self, places):
            return np.zeros(np.shape(places)[:-1])

    palm = CHARACTER.contacts["left_palm"]
    with pytest.raises(ConstraintError, match="Gaze"):
        to_data([Gaze(point=palm, target=(0, 0, 0))], CHARACTER)
    with pytest.raises(ConstraintError, match="Bump"):
        to_data([c.Above(point=palm, ground=Bump())], CHARACTER)
    path = tmp_path / "kept.toml"
    path.write_text("kept")
    with pytest.raises(ConstraintError):
        write_constraints(path, [Gaze(point=palm, target=(0, 0, 0))], CHARACTER)
    assert path.read_text() == "kept"
    with pytest.raises(FormatError, match="ending in"):
        write_constraints(tmp_path / "a.txt", [], CHARACTER)
