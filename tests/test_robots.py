"""Retargeting to robots, against MuJoCo where it is installed; their files; bad input."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import rotation
from footplant.batch.jobs import Task, perform
from footplant.batch.plan import Batch
from footplant.cli import main
from footplant.contacts.detection import find_contacts
from footplant.edits.robot import as_robot, judge_robot, repair_robot, retarget_robot
from footplant.errors import FormatError, HumanoidError, MotionError
from footplant.feet.stillness import held_while_still
from footplant.io.robot_files import load_robot, save_robot
from footplant.io.robot_models import parse_mechanism, read_mechanism
from footplant.kinematics import Kinematics
from footplant.mechanism.body import robot_body
from footplant.mechanism.links import links_of
from footplant.mechanism.model import weld_order
from footplant.mechanism.motion import Plant, RobotMotion
from footplant.mechanism.solids import SolidTable, levels_below
from footplant.quality.robot import measure_robot
from footplant.solve.robot.balance import balancing_shift
from footplant.solve.robot.goals import goals_of, rigid_plants
from footplant.solve.robot.moved_steps import steps_on_treads
from footplant.solve.robot.settings import ROBOT_SETTINGS
from footplant.solve.robot.solve import smoothed, solve_robot
from footplant.transfer import transfer
from test_mechanism import without_meshes

G1 = shared_data("robots", "unitree_g1", "g1.xml")


INNER = '<geom size=".02" contype="0" conaffinity="0"/>'
"""What gives a body mass, and collides with nothing."""


def leg(side: str, sign: int) -> str:
    return f"""
      <body name="{side}_hip_pitch" pos="0 {0.1 * sign} -0.1"><joint name="{side}_hip_pitch" axis="0 1 0" range="-2 2"/>
      <geom size=".02"/><body name="{side}_hip_roll"><joint name="{side}_hip_roll" axis="1 0 0" range="-1 1"/>
      {INNER}<body name="{side}_hip_yaw"><joint name="{side}_hip_yaw" axis="0 0 1" range="-1 1"/>
      <geom type="capsule" fromto="0 0 -.05 0 0 -.3" size=".04"/>
      <body name="{side}_knee" pos="0 0 -.35"><joint name="{side}_knee" axis="0 1 0" range="-.05 2.5"/>
      <geom type="capsule" fromto="0 0 -.05 0 0 -.3" size=".04"/>
      <body name="{side}_ankle_pitch" pos="0 0 -.35"><joint name="{side}_ankle_pitch" axis="0 1 0" range="-1 1"/>
      {INNER}<body name="{side}_ankle_roll"><joint name="{side}_ankle_roll" axis="1 0 0" range="-.5 .5"/>
      <geom type="box" size=".1 .04 .02" pos=".03 0 -.04"/></body></body></body></body></body></body>"""


def arm(side: str, sign: int) -> str:
    return f"""
      <body name="{side}_shoulder_pitch" pos="0 {0.2 * sign} .3"><joint name="{side}_shoulder_pitch" axis="0 1 0"/>
      <geom size=".04"/><body name="{side}_shoulder_roll"><joint name="{side}_shoulder_roll" axis="1 0 0"/>
      {INNER}<body name="{side}_shoulder_yaw"><joint name="{side}_shoulder_yaw" axis="0 0 1"/>
      <geom type="capsule" fromto="0 0 -.05 0 0 -.2" size=".03"/>
      <body name="{side}_elbow" pos="0 0 -.25"><joint name="{side}_elbow" axis="0 1 0" range="-2.5 .1"/>
      <geom type="capsule" fromto="0 0 -.05 0 0 -.2" size=".03"/>
      <body name="{side}_wrist" pos="0 0 -.25"><joint name="{side}_wrist" axis="0 0 1" range="-1 1"/>
      <geom size=".04" pos="0 0 -.03"/></body></body></body></body></body>"""


OWN = f"""<mujoco model="own"><compiler angle="radian"/><worldbody><body name="pelvis"><freejoint/>
  <geom type="box" size=".08 .1 .06"/>{leg("left", 1)}{leg("right", -1)}
  <body name="torso" pos="0 0 .1"><joint name="waist_yaw" axis="0 0 1" range="-1 1"/>
  <geom type="box" size=".08 .12 .15" pos="0 0 .15"/>{arm("left", 1)}{arm("right", -1)}</body>
</body></worldbody></mujoco>"""
"""A robot of 23 hinges."""
BOX_FOOT = '<geom type="box" size=".1 .04 .02" pos=".03 0 -.04"/>'
ROUND_FOOT = "".join(f'<geom size=".03" pos="{x} {y} -.03"/>' for x in (-0.07, 0.14) for y in (-0.03, 0.03))


@pytest.fixture(scope="module")
def own():
    return robot_body(parse_mechanism(OWN.encode()))


@pytest.fixture(scope="module")
def walked(own):
    clip = footplant.load("sample:walk")
    return retarget_robot(replace(clip, motion=clip.motion[:120].resample(30.0)), own)


def test_compound_joints(own):
    names = [joint.name for joint in own.mechanism.joints]
    groups = {part: [names[hinge] for hinge in hinges] for part, hinges in own.groups.items()}
    assert groups["left_hip"] == ["left_hip_pitch", "left_hip_roll", "left_hip_yaw"]
    assert groups["right_ankle"] == ["right_ankle_pitch", "right_ankle_roll"]
    assert groups["left_shoulder"] == ["left_shoulder_pitch", "left_shoulder_roll", "left_shoulder_yaw"]
    assert groups["waist"] == ["waist_yaw"]
    assert "neck" in own.missing
    sole = own.soles["left"]
    assert np.allclose(own.links.rest_point(sole.link, sole.heel), (-0.07, 0.1, -0.86), atol=1e-9)
    assert np.allclose(own.links.rest_point(sole.link, sole.toe), (0.13, 0.1, -0.86), atol=1e-9)


def test_everything_holds(walked, own):
    quality = walked.quality
    assert str(walked.status) == "solved"
    assert quality.plants >= 4
    assert quality.worst_drift < 0.5
    assert quality.skating == 0.0
    assert quality.deepest < 1.0
    assert quality.colliding == 0.0
    assert (quality.ranges_broken, quality.speeds_broken, quality.jumps) == (0, 0, 0)
    assert quality.limb_error < 4.0
    assert quality.jerk < 418.0
    angles = walked.motion.angles
    assert (angles >= own.mechanism.lower).all()
    assert (angles <= own.mechanism.upper).all()
    # no file states a speed here
    assert np.abs(np.diff(angles, axis=0)).max() <= ROBOT_SETTINGS.speed / walked.motion.fps + 1e-9


def test_mujoco_agrees(walked, own):
    """Feet of the written motion stand still in MuJoCo, and its lowest geom is on the floor."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(OWN)
    data = mujoco.MjData(model)
    places = []
    for state in walked.motion.qpos():
        data.qpos[:] = state
        mujoco.mj_kinematics(model, data)
        places.append(data.body("left_ankle_roll").xpos.copy())
    plants = {(plant.side, plant.part): plant for plant in walked.goals.plants if plant.end - plant.start > 3}
    heel, toe = plants["left", "heel"], plants["left", "toe"]
    both = slice(max(heel.start, toe.start), min(heel.end, toe.end))
    assert np.ptp(np.array(places)[both], axis=0).max() < 5e-4
    assert np.array(places)[both, 2] == pytest.approx(0.06, abs=5e-4)


def test_the_same_twice(own):
    clip = footplant.load("sample:walk")
    short = replace(clip, motion=clip.motion[:40].resample(30.0))
    assert np.array_equal(retarget_robot(short, own).motion.states, retarget_robot(short, own).motion.states)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("walk.csv", {}), ("walk.pkl", {}), ("asap.pkl", {"layout": "asap"}), ("walk.npz", {}),
        ("isaac.npz", {"order": "physx"}), ("qpos.npz", {"layout": "qpos"}),
    ],
)  # fmt: skip
def test_files_there_and_back(walked, own, tmp_path, name, options):
    path = save_robot(tmp_path / name, walked.motion, **options)
    again = load_robot(path, own.mechanism)
    assert (len(again), again.fps) == (len(walked.motion), 30.0)
    assert np.abs(again.angles - walked.motion.angles).max() < 1e-6
    assert np.abs(again.root - walked.motion.root).max() < 1e-6
    assert rotation.angle(again.turns, walked.motion.turns).max() < 1e-6


def test_body_orders_in_files(walked, own, tmp_path):
    for order in ("mujoco", "physx"):
        save_robot(tmp_path / "walk.npz", walked.motion, order=order)
        with np.load(tmp_path / "walk.npz") as arrays:
            expected = [own.mechanism.bodies[body] for body in weld_order(own.mechanism, order)]
            assert arrays["body_names"].tolist() == expected
            positions = walked.motion.bodies()[0]
            torso = expected.index("torso")
            assert (
                np.abs(arrays["body_pos_w"][:, torso] - positions[:, own.mechanism.bodies.index("torso")]).max() < 1e-6
            )
            speed = np.gradient(arrays["body_pos_w"].astype(float), 1 / 30, axis=0)
            assert np.abs(arrays["body_lin_vel_w"] - speed).max() < 1e-3


def test_gmr_files_are_plain(walked, tmp_path):
    save_robot(tmp_path / "walk.pkl", walked.motion)
    content = pickle.loads((tmp_path / "walk.pkl").read_bytes())  # noqa: S301
    assert {"fps", "root_pos", "root_rot", "dof_pos"} <= set(content)
    assert np.allclose(content["root_rot"][:, 3], walked.motion.turns[:, 0])


def test_repair_and_measure(walked, own):
    """Noise on every joint makes feet skate; repairing plants them again."""
    noise = np.random.default_rng(0).normal(scale=0.01, size=walked.motion.states.shape)
    noise[:, 3:7] = 0.0
    shaken = RobotMotion(own.mechanism, walked.motion.states + noise, 30.0)
    clip = footplant.load("sample:walk")
    source = replace(clip, motion=clip.motion[:120].resample(30.0))
    before = judge_robot(shaken, own, source)
    assert before.worst_drift > 5.0
    repaired = repair_robot(shaken, own)
    assert repaired.quality.worst_drift < 0.5
    assert repaired.quality.jerk < before.jerk


def test_distances_against_mujoco():
    mujoco = pytest.importorskip("mujoco")
    path = shared_data("robots", "unitree_h1", "h1.xml")
    if not path.exists():
        pytest.skip("no real robots")
    robot, model = read_mechanism(path), without_meshes(path)
    links, data = links_of(robot), mujoco.MjData(model)
    table = SolidTable(links)
    states = np.zeros((6, 7 + len(robot.joints)))
    states[:, 3] = 1.0
    states[:, 7:] = np.random.default_rng(1).uniform(robot.lower, robot.upper, (6, len(robot.joints)))
    near = table.near(*links.pose(states), 0.05)
    geoms = [geom for geom in range(model.ngeom) if model.geom_contype[geom] or model.geom_conaffinity[geom]]
    assert len(near.gaps) > 20
    for frame, pair, gap in zip(near.frames, near.pairs, near.gaps):
        data.qpos[:] = states[frame]
        mujoco.mj_kinematics(model, data)
        first, second = (geoms[solid] for solid in table.pairs[pair])
        assert gap == pytest.approx(mujoco.mj_geomDistance(model, data, first, second, 1.0, None), abs=2e-3)


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (OWN.replace("left_knee", "box1").replace("left_ankle", "box2"), None, ""),
        (OWN[: OWN.index('<body name="left_hip')] + "</body></worldbody></mujoco>", HumanoidError, "are too few"),
    ],
)  # fmt: skip
def test_unusual_robots(data, error, said):
    if error is None:
        assert robot_body(parse_mechanism(data.encode())).groups["left_knee"]
    else:
        with pytest.raises(error, match=said):
            robot_body(parse_mechanism(data.encode()))


def test_without_arms():
    """What is there is solved, and what is missing told."""
    bare = OWN.replace(arm("left", 1), "").replace(arm("right", -1), "")
    clip = footplant.load("sample:walk")
    made = retarget_robot(replace(clip, motion=clip.motion[:60].resample(30.0)), parse_mechanism(bare.encode()))
    assert str(made.status) == "solved"
    assert "the robot has no left arm, right arm, neck" in made.report.notes


def short_walk():
    clip = footplant.load("sample:walk")
    return replace(clip, motion=clip.motion[:120].resample(30.0))


def test_feet_stand_at_higher_frame_rates():
    """Plants weigh more at 120 frames/s, where smoothness does: feet drift as little as at 30."""
    clip = footplant.load("sample:walk")
    slow, fast = (
        retarget_robot(replace(clip, motion=clip.motion[:240].resample(fps)), parse_mechanism(OWN.encode()))
        for fps in (30.0, 120.0)
    )
    assert fast.quality.worst_drift < 2.0 * slow.quality.worst_drift


def test_ankles_that_yaw_do_not_roll():
    """A second hinge about the upright lays no foot flat: hips stay where they are, and feet stand on an edge."""
    yaw = OWN
    for side in ("left", "right"):
        yaw = yaw.replace(f'name="{side}_ankle_roll" axis="1 0 0"', f'name="{side}_ankle_roll" axis="0 0 1"')
    body = robot_body(parse_mechanism(yaw.encode()))
    assert not body.rolls["left"]
    assert not body.rolls["right"]
    quality = retarget_robot(short_walk(), body).quality
    assert quality.worst_drift < 0.5
    assert quality.limb_error < 2.0
    assert quality.jerk < 250.0


def test_a_waist_turns_for_arms():
    """Arms that do not swing back far turn the waist, as the objective weighs them."""
    held = OWN.replace('name="waist_yaw" axis="0 0 1"', 'name="waist_pitch" axis="0 1 0"')
    for side in ("left", "right"):
        name = f'name="{side}_shoulder_pitch" axis="0 1 0"'
        held = held.replace(name, f'{name} range="-2 0.05"')
    made = retarget_robot(short_walk(), parse_mechanism(held.encode()))
    assert made.quality.limb_error < 2.2
    assert made.quality.worst_drift < 0.5
    # by no more than it is held to where the trunk is balanced
    waist = 7 + next(n for n, joint in enumerate(made.motion.mechanism.joints) if joint.name == "waist_pitch")
    stiff, loose = (
        solve_robot(made.goals, replace(ROBOT_SETTINGS, waist_bend=weight)).states[:, waist] for weight in (100.0, 0.01)
    )
    held_to = made.motion.states[:, waist]
    assert 0.01 < np.abs(held_to - stiff).max() < 0.95 * np.abs(loose - stiff).max()


def test_smoothing_of_guesses():
    """Third differences are weighed: a parabola stays, a swing nearly does, and what is fast is lost."""
    at = np.arange(60.0)
    parabola, swing, noise = 0.01 * at**2, np.sin(2.0 * np.pi * at / 30.0), (-1.0) ** at
    found = smoothed(np.stack([parabola, swing, noise, parabola + swing], axis=1), 20.0)
    by = np.diff(np.eye(60), 3, axis=0)
    assert np.allclose(found[:, 1], np.linalg.solve(np.eye(60) + 20.0 * by.T @ by, swing))
    assert np.allclose(found[:, 0], parabola)
    assert np.abs(found[:, 1] - swing)[3:-3].max() < 0.02
    assert np.abs(found[15:-15, 2]).max() < 0.01
    assert np.allclose(found[:, 3], found[:, :2].sum(axis=1))
    assert np.array_equal(smoothed(np.eye(3), 20.0), np.eye(3))


def test_smoothness_is_that_of_the_difference():
    """The right-hand sides are minus the derivatives of half of w |D²(q − reference)|²."""
    from footplant.solve.robot import _kernels as kernel

    generator = np.random.default_rng(1)
    states, reference = generator.normal(size=(2, 7, 9))
    for each in (states, reference):
        each[:, 3:7] = (1.0, 0.0, 0.0, 0.0)
    bend = np.array([0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 2.0, 3.0])

    def cost(moved):
        off = np.delete(moved - reference, [3, 4, 5, 6], axis=1)
        return 0.5 * float((np.delete(bend, [3, 4, 5]) * np.diff(off, 2, axis=0) ** 2).sum())

    found = np.zeros((7, 8))
    kernel.add_smoothness(np.arange(8), bend, states, reference, found)
    for frame in range(7):
        for unknown, column in ((1, 1), (6, 7), (7, 8)):
            step = np.zeros_like(states)
            step[frame, column] = 1e-4
            slope = (cost(states + step) - cost(states - step)) / 2e-4
            assert found[frame, unknown] == pytest.approx(-slope, abs=1e-6)


def test_all_that_a_body_is_shifted_costs(own):
    """A body that stands balanced is not shifted, and comes back from where it was shifted for nothing."""
    made = retarget_robot(short_walk(), own)
    states = np.repeat(made.motion.states[:1], 40, axis=0)
    plants = [Plant(plant.side, plant.part, 0, 40, plant.place) for plant in made.goals.plants if plant.start == 0]
    options = {"stay": ROBOT_SETTINGS.balance_stay, "smooth": ROBOT_SETTINGS.balance_smooth, "far": 0.05, "most": 0.0}
    first = balancing_shift(own, states, plants, 30.0, np.zeros((40, 2)), **options)
    for way in np.eye(2):
        again = balancing_shift(own, states, plants, 30.0, np.tile(0.01 * way, (40, 1)), **options)
        assert np.all((again - first) @ way < -0.002)
    # one that is somewhat out of balance is drawn back, one that is far out hardly at all
    options |= {"most": 1e6}
    drawn = []
    for speed_up in (5.0, 40.0):
        moved = states.copy()
        moved[:, 0] += 0.5 * speed_up * (np.arange(40) / 30.0) ** 2
        drawn.append(np.abs(balancing_shift(own, moved, plants, 30.0, np.zeros((40, 2)), **options)).max())
    assert drawn[0] > 0.05
    assert drawn[1] < 0.2 * drawn[0]


def test_feet_of_many_points():
    """Every point of a foot near the floor stays above it, however many there are."""
    places = [(x, y) for x in (-0.04, 0.02, 0.08, 0.1) for y in (-0.03, 0.0, 0.03)]
    foot = "".join(f'<geom type="cylinder" size=".03 .02" pos="{x} {y} -.04"/>' for x, y in places)
    made = retarget_robot(short_walk(), parse_mechanism(OWN.replace(BOX_FOOT, foot).encode()))
    assert made.quality.deepest < 0.5
    assert made.quality.worst_drift < 0.5


def test_mirrored_axes():
    """A hinge that turns the other way changes signs, and nothing else."""
    turned = OWN.replace(
        'name="right_knee" axis="0 1 0" range="-.05 2.5"', 'name="right_knee" axis="0 -1 0" range="-2.5 .05"'
    )
    assert turned != OWN
    clip = footplant.load("sample:walk")
    short = replace(clip, motion=clip.motion[:60].resample(30.0))
    plain, other = (retarget_robot(short, parse_mechanism(text.encode())).motion for text in (OWN, turned))
    knee = plain.mechanism.joint_index("right_knee")
    assert np.abs(plain.angles[:, knee] + other.angles[:, knee]).max() < 1e-3


def test_states_are_checked(own):
    with pytest.raises(MotionError, match="expected states of 30 numbers"):
        RobotMotion(own.mechanism, np.zeros((3, 20)), 30.0)
    states = np.zeros((3, 30))
    states[1, 2] = np.nan
    with pytest.raises(MotionError, match="frame 1, column 2"):
        RobotMotion(own.mechanism, states, 30.0)


def one_line(arguments, capsys) -> str:
    assert main([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_command_line(tmp_path, capsys):
    model = tmp_path / "own.xml"
    model.write_text(OWN)
    out = tmp_path / "walk.csv"
    assert main(["retarget", "sample:walk", "--to", str(model), "--fps", "30", "-o", str(out)]) == 0
    assert "footplants: the worst drifts 0.0" in capsys.readouterr().out
    assert main(["measure", str(out), "--robot", str(model)]) == 0
    assert "joint ranges broken" in capsys.readouterr().out
    assert main(["convert", str(out), str(tmp_path / "walk.npz"), "--robot", str(model)]) == 0
    assert main(["repair", str(out), "--robot", str(model), "-o", str(tmp_path / "again.pkl")]) == 0
    assert main(["info", str(model)]) == 0
    assert "left_hip_pitch, left_hip_roll, left_hip_yaw" in capsys.readouterr().out


def test_ball_beside_a_riser():
    """A ball touches a riser as far beside it as its radius, and its edge from above as a ball does."""

    def stairs(places):
        return np.where(places[:, 0] > 0.0, 0.1, 0.0)

    places = np.array([[-0.06, 0.0, 0.2], [-0.045, 0.0, 0.2], [-0.03, 0.0, 0.2], [0.1, 0.0, 0.2]])
    # the edge touches the ball 30 mm beside its lowest point
    wanted = [0.0, 0.1 - 0.05 + np.sqrt(0.05**2 - 0.045**2), 0.1 - 0.05 + 0.04, 0.1]
    found = levels_below(stairs, places, np.full(4, 0.05))
    assert np.allclose(found, wanted, atol=0.005)
    assert (levels_below(stairs, places, np.zeros(4)) == [0.0, 0.0, 0.0, 0.1]).all()


def test_round_feet_on_stairs():
    """Feet of balls are planted and swung clear of risers, and nothing is shaken by it."""
    body = robot_body(parse_mechanism(OWN.replace(BOX_FOOT, ROUND_FOOT).encode()))
    clip = footplant.load("sample:walk")
    quality = retarget_robot(replace(clip, motion=clip.motion.resample(30.0)), body, ground="stairs:0.12:0.3").quality
    assert quality.deepest < 2.0
    assert quality.worst_drift < 0.5
    assert max(quality.plant_errors) < 1.0
    assert quality.jerk < 650.0


def test_steps_on_treads():
    """A step with the rim of a ball in a riser is moved off it, with room to roll; one that is clear stays."""
    body = robot_body(parse_mechanism(OWN.replace(BOX_FOOT, ROUND_FOOT).encode()))
    states = np.zeros((4, 7 + len(body.mechanism.joints)))
    states[:, 3], states[:, 2] = 1.0, 0.87
    at, turn = body.links.pose(states)
    sole = body.soles["left"]
    plants = []
    for part in ("heel", "toe"):
        place = at[0, sole.link] + turn[0, sole.link] @ getattr(sole, part)
        plants.append(Plant("left", part, 0, 4, tuple(place.tolist())))
    toe = plants[1].place[0]
    for beside, least in ((0.01, 0.06), (0.04, 0.06), (0.08, 0.08)):
        moved = steps_on_treads(body, plants, at, turn, lambda at, edge=toe + beside: 0.15 * (at[:, 0] > edge))
        assert least - 0.002 < toe + beside - moved[1].place[0] < least + 0.004
        assert np.allclose(np.subtract(moved[1].place, moved[0].place), np.subtract(plants[1].place, plants[0].place))


def test_no_plant_below_the_floor(own):
    """A toe on the floor under a heel that stands above it is as far ahead as the foot is long, on the floor."""
    held = [("left", "heel", 0, 9, np.array([0.0, 0.0, 0.1])), ("left", "toe", 3, 9, np.array([0.1, 0.0, 0.0]))]
    heel, toe = rigid_plants(own, held)
    assert heel.place == (0.0, 0.0, 0.1)
    # the foot is 0.2 m long
    assert np.allclose(toe.place, (np.sqrt(0.2**2 - 0.1**2), 0.0, 0.0))


def test_terrain(own, tmp_path, capsys):
    """Feet stand on stairs of the robot's own size, and solids stay above them."""
    clip = footplant.load("sample:walk")
    made = retarget_robot(replace(clip, motion=clip.motion[:360].resample(30.0)), own, ground="stairs:0.08:0.3")
    quality = made.quality
    heights = {round(plant.place[2], 3) for plant in made.goals.plants}
    # a step that the clip ends in may be out of reach
    assert {0.0, 0.08, 0.24} <= heights, heights
    # steps that climb take longer, and plants with them: the ankle of the motion that is followed is still in them
    for heel in (plant for plant in made.goals.plants if plant.part == "heel"):
        for toe in (plant for plant in made.goals.plants if (plant.side, plant.part) == (heel.side, "toe")):
            both = range(max(heel.start, toe.start), min(heel.end, toe.end))
            if both:
                assert np.ptp(made.goals.positions[f"{heel.side}_ankle"][both], axis=0).max() < 0.01
    assert quality.worst_drift < 0.5
    assert quality.deepest < 2.0
    assert (quality.ranges_broken, quality.jumps) == (0, 0)
    model = tmp_path / "own.xml"
    model.write_text(OWN)
    terrain = ["terrain", "sample:walk", "--ground", "stairs:0.08:0.3", "--to", str(model)]
    assert "--doorways is for characters" in one_line(
        [*terrain, "--doorways", "3:1.5", "-o", tmp_path / "w.csv"], capsys
    )


def test_hands_rest(own):
    """Hands that rest on the ground in the source stay along it, as far as the arms reach."""
    clip = footplant.load("sample:walk")
    clip = replace(clip, motion=clip.motion[:90].resample(30.0))
    goals = retarget_robot(clip, own).goals
    palm = Plant("left", "palm", 5, 12, tuple(goals.positions["left_wrist"][5:12].mean(axis=0).tolist()))
    solution = solve_robot(replace(goals, palms=(palm,)))
    assert [(kept.start, kept.end) for kept in solution.palms] == [(5, 12)]
    motion = RobotMotion(own.mechanism, solution.states, 30.0)
    quality = measure_robot(own, motion, goals.plants, palms=solution.palms)
    assert quality.palm_drift < 1.0
    assert quality.worst_drift < 0.5
    free = measure_robot(own, RobotMotion(own.mechanism, solve_robot(goals).states, 30.0), palms=solution.palms)
    assert free.palm_drift > 20.0, "which swing otherwise"


def test_plants_out_of_reach_are_let_go(own):
    """One that contradicts the other foot's drags nothing through the floor: it is let go, and named."""
    clip = footplant.load("sample:walk")
    goals = retarget_robot(replace(clip, motion=clip.motion[:60].resample(30.0)), own).goals
    # both feet at once, two leg lengths apart
    first = next(plant for plant in goals.plants if plant.end - plant.start > 6)
    other = "right" if first.side == "left" else "left"
    far = Plant(other, "toe", first.start + 1, first.start + 5, (first.place[0] + 2.0, first.place[1], 0.0))
    kept = tuple(plant for plant in goals.plants if plant.side == first.side)
    solution = solve_robot(replace(goals, plants=(*kept, far)))
    assert solution.let_go == (far,)
    quality = measure_robot(own, RobotMotion(own.mechanism, solution.states, 30.0), kept)
    assert quality.worst_drift < 0.5
    assert quality.deepest < 1.0


def test_feet_stand_while_they_are_still():
    """Contacts of one place are one, and an ankle that holds still without a contact gets one."""
    clip = footplant.load("sample:walk")
    found, kinematics = find_contacts(clip), Kinematics(clip.motion)
    held = held_while_still(found, clip, kinematics)
    longest = max((plant for plant in held.plants if plant.point == "left_ball"), key=len)
    middle = (longest.start + longest.end) // 2
    halves = (replace(longest, end=middle), replace(longest, start=middle + 1))
    others = tuple(plant for plant in held.plants if plant is not longest)
    again = held_while_still(replace(held, plants=(*others, *halves)), clip, kinematics)
    assert any(plant.start <= longest.start and plant.end >= longest.end for plant in again.plants)
    added = held_while_still(replace(found, plants=()), clip, kinematics)
    assert len(added.plants) >= 4
    for plant in added.plants:
        path = kinematics.point(clip.character.contacts[plant.point])[plant.start : plant.end]
        assert np.ptp(path, axis=0).max() < 0.05


def test_steps_that_overlap_are_moved_apart(own):
    """Both feet planted 4 cm apart, each 8 cm broad: the steps move apart, and feet stand beside each other."""
    clip = footplant.load("sample:walk")
    copied = transfer(clip.motion[:20].resample(30.0), clip.character, own.proxy)
    length = float(np.linalg.norm(own.soles["left"].toe - own.soles["left"].heel))
    below = Kinematics(copied).positions[2, 0] * (1.0, 0.0, 1.0)
    held = [
        (side, part, 0, len(copied), below + (across, 0.0, ahead))
        for side, across in (("left", 0.02), ("right", -0.02))
        for part, ahead in (("heel", -0.5 * length), ("toe", 0.5 * length))
    ]
    goals = goals_of(own, copied, held, 0.0)
    solution = solve_robot(goals)
    quality = measure_robot(own, RobotMotion(own.mechanism, solution.states, 30.0), solution.plants)
    assert quality.colliding == 0.0
    assert max(quality.plant_errors) < 1.0
    left, right = (next(plant for plant in solution.plants if plant.side == side) for side in ("left", "right"))
    assert left.place[1] - right.place[1] == pytest.approx(0.085, abs=1e-3)
    assert left.place[0] == pytest.approx(goals.plants[0].place[0], abs=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_mjlab_loads_what_is_written(walked, own, tmp_path):
    """mjlab's own loader reads both orders; MuJoCo replays its angles to the places of bodies that it read."""
    mujoco, torch = pytest.importorskip("mujoco"), pytest.importorskip("torch")
    loader = pytest.importorskip("mjlab.tasks.tracking.mdp.commands").MotionLoader
    model = mujoco.MjModel.from_xml_string(OWN)
    data = mujoco.MjData(model)
    for order in ("mujoco", "physx"):
        path = save_robot(tmp_path / f"{order}.npz", walked.motion, order=order)
        with np.load(path) as stored:
            bodies, joints = stored["body_names"].tolist(), stored["joint_names"].tolist()
        motion = loader(str(path), torch.arange(len(bodies)))
        assert motion.time_step_total == len(walked.motion)
        base = bodies.index("pelvis")
        for frame in (0, motion.time_step_total - 1):
            data.qpos[:3], data.qpos[3:7] = motion.body_pos_w[frame, base], motion.body_quat_w[frame, base]
            for name, angle in zip(joints, motion.joint_pos[frame].tolist()):
                data.joint(name).qpos[0] = angle
            mujoco.mj_kinematics(model, data)
            places = np.array([data.body(name).xpos for name in bodies])
            assert np.abs(places - motion.body_pos_w[frame].numpy()).max() < 1e-5


def test_plants_below_the_floor_are_on_it(own):
    held = [("left", "toe", 2, 8, np.array([0.0, -0.08, 0.0]))]
    clip = footplant.load("sample:walk")
    motion = transfer(clip.motion[:10], clip.character, own.proxy)
    assert goals_of(own, motion, held, 0.0).plants[0].place[2] == 0.0


def test_batch_and_plot(tmp_path):
    model, out = tmp_path / "own.xml", tmp_path / "out" / "walk.csv"
    model.write_text(OWN)
    (entry,) = Batch("retarget", ["sample:walk"], out.parent, [str(model)]).entries
    assert entry.out == "walk.csv"
    found = perform(Task("key", "retarget", "sample:walk", str(out), str(model), reading={"fps": 30.0}))
    assert (found["status"], found["fps"], found["joints"], found["unmet"]) == ("done", 30.0, 23, 0)
    assert found["after"]["worst_drift"] < 0.5
    assert load_robot(out, parse_mechanism(OWN.encode())).fps == 30.0
    # motions of a robot are measured and repaired alike
    (entry,) = Batch("repair", [str(out.parent)], tmp_path / "repaired", [str(model)]).entries
    assert entry.out == "walk.csv"
    for job, target in (("measure", None), ("repair", str(tmp_path / "repaired" / "walk.csv"))):
        found = perform(Task("key", job, str(out), target, str(model)))
        assert (found["status"], found["joints"]) == ("done", 23)
        assert found["after"]["plants"]
        assert found["robot"]["ranges_broken"] == 0
    with pytest.raises(FormatError, match="but a robot"):
        Batch("measure", [str(out)], tmp_path, ["sample:sally"])
    picture = tmp_path / "walk.png"
    assert main(["plot", str(out), "--robot", str(model), "-o", str(picture), "--dpi", "30"]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    with pytest.raises(FormatError, match="two batches"):
        Batch("retarget", ["sample:walk"], out.parent, [str(model), "sample:sally"])
    with pytest.raises(FormatError, match="expected a robot"):
        Batch("retarget", ["sample:walk"], out.parent, [str(model)], "glb")


def test_bad_input_is_one_line(tmp_path, capsys):
    model = tmp_path / "own.xml"
    model.write_text(OWN)
    retarget = ["retarget", "sample:walk", "--to", model, "-o"]
    assert ".csv, .pkl or .npz" in one_line([*retarget, tmp_path / "walk.bvh"], capsys)
    assert "for the layout gmr" in one_line([*retarget, tmp_path / "walk.csv", "--layout", "gmr"], capsys)
    assert "no such folder" in one_line([*retarget, tmp_path / "none" / "walk.csv"], capsys)
    assert "robots are solved" in one_line([*retarget, tmp_path / "walk.csv", "--method", "puppet"], capsys)
    (tmp_path / "cut.csv").write_text("0," * 20 + "1\n")
    assert "expected 23 joint angles" in one_line(["measure", tmp_path / "cut.csv", "--robot", model], capsys)
    (tmp_path / "evil.pkl").write_bytes(b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.")
    assert "posix.system" in one_line(["measure", tmp_path / "evil.pkl", "--robot", model], capsys)
    (tmp_path / "wheels.urdf").write_text("<robot><link name='base'/></robot>")
    assert "wheels.urdf" in one_line(
        ["retarget", "sample:walk", "--to", tmp_path / "wheels.urdf", "-o", "x.csv"], capsys
    )
    assert not (tmp_path / "walk.csv").exists()


def test_roles_are_corrected(tmp_path):
    roles = {"left_foot": ("left_ankle_pitch",), "right_foot": ("right_ankle_pitch",)}
    assert robot_body(parse_mechanism(OWN.encode()), roles).groups["left_ankle"]
    with pytest.raises(HumanoidError, match="names 'nothing'"):
        robot_body(parse_mechanism(OWN.encode()), {"left_foot": ("nothing",)})
    with pytest.raises(FormatError, match="No such file"):
        as_robot(tmp_path / "none.xml")


@pytest.mark.skipif(not G1.exists(), reason="no real robots")
def test_a_real_robot_jumps():
    path = shared_data("bvh", "cmu", "16_01.bvh")
    if not path.exists():
        pytest.skip("no real clips")
    quality = retarget_robot(path, G1, fps=30.0).quality
    assert quality.worst_drift < 0.5
    assert quality.deepest < 2.0
    assert quality.limb_error < 3.0
    assert (quality.ranges_broken, quality.jumps) == (0, 0)


@pytest.mark.skipif(not G1.exists(), reason="no real robots")
def test_slow_knees_crawl():
    """Steps of the solver that plants and slow knees make long do not lose the posture: limbs do not overlap.

    The robot cannot do all of it, and what it gives up depends on single frames: of three cuts the median counts.
    """
    path = shared_data("bvh", "cmu", "111_03.bvh")
    if not path.exists():
        pytest.skip("no real clips")
    clip, found = footplant.load(path), []
    for start in (3, 4, 5):
        cut = replace(clip, motion=clip.motion[start:].resample(30.0)[:300])
        quality = retarget_robot(cut, shared_data("robots", "pybullet_humanoid.urdf")).quality
        found.append((quality.worst_drift, quality.deepest, quality.colliding))
        assert (quality.ranges_broken, quality.speeds_broken, quality.jumps) == (0, 0, 0)
    drift, deepest, colliding = np.median(found, axis=0)
    assert drift < 0.5
    assert deepest < 2.0
    assert colliding <= 0.005
