"""Joints that follow others: read, solved, written and judged, against MuJoCo where it is installed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import rotation
from footplant.cli import main
from footplant.edits.robot import judge_robot, repair_robot, retarget_robot
from footplant.errors import FormatError, SkeletonError
from footplant.io.robot_files import load_robot, save_robot
from footplant.io.robot_models import parse_mechanism
from footplant.mechanism.body import robot_body
from footplant.mechanism.model import Mechanism, Mimic
from footplant.mechanism.motion import RobotMotion
from footplant.solve.robot.settings import ROBOT_SETTINGS
from footplant.solve.robot.solve import _Problem
from test_robots import OWN

FINGER = """<body name="{side}_{name}" pos="0 {place} -.08"><joint name="{side}_{name}" axis="0 1 0" range="{range}"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.03" size=".005" contype="0" conaffinity="0"/>{inside}</body>"""


def model(inside: str = "") -> str:
    """Return the robot of `test_robots` with knees of two hinges, wrists that follow elbows, and fingers in chains."""
    text = OWN
    for side in ("left", "right"):
        # a shank that rolls on the thigh: half of the bend is in each of two hinges, the first of which leads
        old = f'<joint name="{side}_knee" axis="0 1 0" range="-.05 2.5"/>'
        first = old.replace("-.05 2.5", "-.05 1.25")
        second = f'<joint name="{side}_knee_b" axis="0 -1 0" pos="0 0 .02" ref="0.1" range="-1.2 .2"/>'
        assert old in text
        text = text.replace(old, first + second)
        end = '<geom size=".04" pos="0 0 -.03"/></body>'
        last = FINGER.format(side=side, name="tip", place=0, range="-.1 1.5", inside="")
        finger = FINGER.format(side=side, name="finger", place=0.01, range="-.1 1.5", inside=last)
        thumb = FINGER.format(side=side, name="thumb", place=-0.01, range="-1.5 .1", inside="")
        start = text.index(f'<body name="{side}_wrist"')
        at = text.index(end, start)
        text = text[:at] + end.removesuffix("</body>") + finger + thumb + "</body>" + text[at + len(end) :]
    followed = inside
    for side in ("left", "right"):
        followed += f'<joint joint1="{side}_knee_b" joint2="{side}_knee" polycoef="0 -1"/>'
        followed += f'<joint joint1="{side}_wrist" joint2="{side}_elbow" polycoef="0.1 0.3 0 0 0"/>'
        # listed before what it follows: thumb → tip → finger
        followed += f'<joint joint1="{side}_thumb" joint2="{side}_tip" polycoef="0 -0.5 0 0 0"/>'
        followed += f'<joint joint1="{side}_tip" joint2="{side}_finger" polycoef="0.05 0.8 0 0 0"/>'
    return text.replace("</mujoco>", f"<equality>{followed}</equality></mujoco>")


@pytest.fixture(scope="module")
def coupled():
    return robot_body(parse_mechanism(model().encode()))


@pytest.fixture(scope="module")
def clip():
    clip = footplant.load("sample:walk")
    return replace(clip, motion=clip.motion[:120].resample(30.0))


@pytest.fixture(scope="module")
def walked(coupled, clip):
    return retarget_robot(clip, coupled)


def residual(text: str, states) -> float:
    """Return the largest violation of MuJoCo's equalities in coordinates (F, Q), radians."""
    mujoco = pytest.importorskip("mujoco")
    loaded = mujoco.MjModel.from_xml_string(text)
    data, worst, rows = mujoco.MjData(loaded), 0.0, 0
    for state in states:
        data.qpos[:] = state
        mujoco.mj_forward(loaded, data)
        found = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
        worst, rows = max(worst, float(np.abs(found).max())), len(found)
    assert rows == loaded.neq
    return worst


def urdf(mechanism: Mechanism, speeds: dict[str, float]) -> bytes:
    """Return a robot without turned bodies, of one hinge each, as URDF."""
    names, parts = mechanism.bodies, []
    for body, name in enumerate(names):
        inside = ""
        for solid in mechanism.solids:
            if solid.body == body and solid.kind in ("sphere", "box"):
                size = f"radius='{solid.size[0]}'" if solid.kind == "sphere" else "size='{} {} {}'".format(
                    *(2.0 * side for side in solid.size)
                )  # fmt: skip
                place = " ".join(map(str, solid.place))
                inside += f"<collision><origin xyz='{place}'/><geometry><{solid.kind} {size}/></geometry></collision>"
        parts.append(
            f"<link name='{name}'><inertial><mass value='{mechanism.masses[body]}'/>"
            f"<inertia ixx='.01' iyy='.01' izz='.01'/></inertial>{inside}</link>"
        )
    mimics = {mimic.joint: mimic for mimic in mechanism.mimics}
    for number, joint in enumerate(mechanism.joints):
        mimic = mimics.get(number)
        follows = "" if mimic is None or mimic.leader is None else (
            f"<mimic joint='{mechanism.joints[mimic.leader].name}' multiplier='{mimic.multiplier}' "
            f"offset='{mimic.offset}'/>"
        )  # fmt: skip
        low, high = max(joint.lower, -3.0), min(joint.upper, 3.0)
        parts.append(
            f"<joint name='{joint.name}' type='revolute'><parent link='{names[mechanism.parents[joint.body]]}'/>"
            f"<child link='{names[joint.body]}'/><origin xyz='{' '.join(map(str, mechanism.places[joint.body]))}'/>"
            f"<axis xyz='{' '.join(map(str, joint.axis))}'/>{follows}"
            f"<limit lower='{low}' upper='{high}' velocity='{speeds.get(joint.name, 12.0)}' effort='9'/></joint>"
        )
    return f"<robot name='own'>{''.join(parts)}</robot>".encode()


def test_nothing_of_a_walk_is_off(walked, coupled, clip):
    """Everything holds as without coupling; MuJoCo finds what follows where it should be."""
    quality, free = walked.quality, retarget_robot(clip, parse_mechanism(OWN.encode())).quality
    assert str(walked.status) == "solved"
    assert (quality.coupling, quality.ranges_broken, quality.speeds_broken, quality.jumps) == (0.0, 0, 0, 0)
    assert free.coupling is None
    assert quality.worst_drift < 0.5
    assert quality.deepest < 0.5
    # wrists follow: they are not free to turn hands
    assert quality.limb_error < free.limb_error + 0.5
    names = [joint.name for joint in coupled.mechanism.joints]
    angles = dict(zip(names, walked.motion.angles.T))
    assert np.ptp(angles["left_knee"]) > 0.3
    assert angles["left_knee_b"] == pytest.approx(0.1 - angles["left_knee"], abs=1e-9)
    assert angles["right_thumb"] == pytest.approx(-0.025 - 0.4 * angles["right_finger"], abs=1e-9)
    assert residual(model(), walked.motion.qpos()) < 1e-6


@pytest.mark.parametrize("extra", [
    # chest and arm: the shoulder is solved with the trunk
    '<joint joint1="waist_yaw" joint2="left_shoulder_pitch" polycoef="0 .2"/>',
    # both legs; an ankle that is fixed
    '<joint joint1="left_hip_roll" joint2="right_hip_roll" polycoef="0 -1"/>'
    '<joint joint1="right_ankle_roll" polycoef=".02"/>',
])  # fmt: skip
def test_couplings_across_parts(clip, extra):
    text = model(extra)
    made = retarget_robot(replace(clip, motion=clip.motion[:20]), parse_mechanism(text.encode()))
    assert (made.quality.ranges_broken, made.quality.coupling) == (0, 0.0)
    assert made.quality.worst_drift < 0.5
    assert residual(text, made.motion.qpos()) < 1e-6
    if "ankle" in extra:
        rolls = robot_body(made.motion.mechanism).rolls
        assert rolls == {"left": True, "right": False}


def test_ranges_and_speeds_of_what_follows_bound_what_leads(clip):
    """A wrist of URDF that may turn little and slowly slows down the elbow that it follows."""
    free = parse_mechanism(OWN.encode())
    names = [joint.name for joint in free.joints]
    mimics = tuple(
        Mimic(names.index(f"{side}_wrist"), names.index(f"{side}_elbow"), -0.5, 0.1) for side in ("left", "right")
    )
    joints = tuple(replace(joint, upper=0.3) if "wrist" in joint.name else joint for joint in free.joints)
    data = urdf(replace(free, mimics=mimics, joints=joints), {"left_wrist": 0.1, "right_wrist": 0.1})
    robot = parse_mechanism(data)
    assert [(mimic.multiplier, mimic.offset) for mimic in robot.mimics] == [(-0.5, 0.1)] * 2
    elbow, wrist = names.index("left_elbow"), names.index("left_wrist")
    assert (robot.coupling.lower[elbow], robot.coupling.upper[elbow]) == pytest.approx((-0.4, 0.1))
    assert (robot.coupling.lower[wrist], robot.coupling.upper[wrist]) == pytest.approx((0.05, 0.3))
    made = retarget_robot(clip, robot)
    assert (made.quality.ranges_broken, made.quality.speeds_broken, made.quality.coupling) == (0, 0, 0.0)
    angles = made.motion.angles[:, elbow]
    assert angles.min() == pytest.approx(-0.4, abs=1e-6)
    assert np.abs(np.diff(angles)).max() * 30.0 == pytest.approx(0.2, abs=1e-6)
    # without coupling, the elbow bends farther and faster
    robot = parse_mechanism(urdf(free, {}))
    assert robot.coupling.free.all()
    angles = retarget_robot(clip, robot).motion.angles[:, elbow]
    assert angles.min() < -0.6
    assert np.abs(np.diff(angles)).max() * 30.0 > 1.0


def test_columns_are_sums(coupled, clip):
    """Right-hand sides are minus half of the derivatives of the cost, what follows moving along."""
    from footplant.solve.robot import _kernels as kernel

    goals = retarget_robot(replace(clip, motion=clip.motion[:1]), coupled).goals
    problem = _Problem(goals, ROBOT_SETTINGS)
    coupling, links = coupled.mechanism.coupling, coupled.links
    generator = np.random.default_rng(0)
    state = np.zeros((1, 7 + len(coupling.free)))
    state[:, 3:7] = (1.0, 0.0, 0.0, 0.0)
    state[:, 7:] = coupling.applied(generator.uniform(-0.4, 0.4, len(coupling.free)))
    soft = problem.soft
    columns = problem.columns(list(range(len(coupling.free))), base=True)
    count = int(columns.max()) + 1
    assert count == 6 + coupling.free.sum() == 6 + len(coupling.free) - 8

    def cost(moved):
        at, turn = links.pose(moved)

        def point(link, place):
            return at[0, link] + turn[0, link] @ place

        total = 0.0
        for number, link in enumerate(soft.point_links):
            off = point(link, soft.point_places[number]) - soft.point_goals[0, number]
            total += soft.point_weights[number] * off @ off
        for number, (above, below) in enumerate(soft.way_links):
            way = point(below, soft.way_places[number, 1]) - point(above, soft.way_places[number, 0])
            off = way - soft.way_goals[0, number]
            total += soft.way_weights[number] * off @ off
        for number, link in enumerate(soft.turn_links):
            off = rotation.log(rotation.from_matrix(soft.turn_goals[0, number] @ turn[0, link].T))
            total += soft.turn_weights[0, number] * off @ off
        return total + soft.posture_weights @ (soft.posture[0] - moved[0, 7:]) ** 2

    def floor(moved):
        at, turn = links.pose(moved)
        own = problem.hard.floor_links
        return at[0, own, 2] + (turn[0, own, 2] * problem.hard.floor_places).sum(axis=1)

    hard = problem.hard._replace(hold_weights=np.zeros_like(problem.hard.hold_weights))
    pairs = problem.near_pairs(state[:0], np.ones(len(links.parents), bool), problem.moved(columns))
    room = kernel.Room(
        np.empty((1, count, count)), np.empty((1, count)), kernel.band_room(1, count), np.zeros((1, count)),
        np.zeros((1, count), np.int8), np.zeros((1, count), np.int8),
    )  # fmt: skip
    rows, touching = kernel.rows_room(1, 500, count), np.zeros((1, len(hard.floor_links)), np.int8)
    most = kernel.assemble(
        links.tree, columns, soft, hard, pairs, state, kernel.Near(1e3, 0.0, 0.0), touching, room, rows
    )
    for joint in np.flatnonzero(coupling.free):
        step = np.zeros_like(state)
        step[0, 7:] = 1e-5 * coupling.multipliers * (coupling.leaders == joint)
        slope = (cost(state + step) - cost(state - step)) / 2e-5
        assert room.vectors[0, columns[6 + joint]] == pytest.approx(-0.5 * slope, abs=1e-5)
        rises = (floor(state + step) - floor(state - step)) / 2e-5
        assert rows.values[:most, columns[6 + joint]] == pytest.approx(rises[rows.names[:most]], abs=1e-7)


@pytest.mark.parametrize(("name", "options"), [
    ("walk.csv", {}), ("walk.pkl", {}), ("asap.pkl", {"layout": "asap"}), ("walk.npz", {"order": "physx"}),
    ("qpos.npz", {"layout": "qpos"}),
])  # fmt: skip
def test_files_are_consistent(walked, coupled, tmp_path, name, options):
    """Also those of a motion that was not."""
    states = walked.motion.states.copy()
    states[:, 7:][:, ~coupled.mechanism.coupling.free] = 0.0
    broken = RobotMotion(coupled.mechanism, states, 30.0)
    assert "'right_knee_b' should be -1 · right_knee +0.1 rad" in str(broken.disagreement())
    again = load_robot(save_robot(tmp_path / name, broken, **options), coupled.mechanism)
    assert again.disagreement() is None
    assert residual(model(), again.qpos()) < 1e-6
    assert np.abs(again.angles - walked.motion.angles).max() < 1e-6


def test_what_files_leave_out_follows(walked, coupled, tmp_path):
    """Files may have one column for each joint that moves by itself."""
    free = coupled.mechanism.coupling.free
    states = walked.motion.states
    rows = np.concatenate([states[:, :3], states[:, [4, 5, 6, 3]], states[:, 7:][:, free]], axis=1)
    np.savetxt(tmp_path / "short.csv", rows, "%.12g", ",")
    again = load_robot(tmp_path / "short.csv", coupled.mechanism)
    assert np.abs(again.angles - walked.motion.angles).max() < 1e-9
    # as a motion of a character, too: positions are those of the robot
    model_file = tmp_path / "own.urdf"
    names = [joint.name for joint in parse_mechanism(OWN.encode()).joints]
    mimic = Mimic(names.index("left_wrist"), names.index("left_elbow"), 0.5, 0.1)
    robot = replace(parse_mechanism(OWN.encode()), mimics=(mimic,))
    model_file.write_bytes(urdf(robot, {}))
    angles = np.random.default_rng(0).uniform(-0.5, 0.0, (3, len(names)))
    base = np.tile([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], (3, 1))
    np.savetxt(tmp_path / "full.csv", np.concatenate([base, robot.coupling.applied(angles)], axis=1), "%.12g", ",")
    left_out = np.concatenate([base, np.delete(angles, mimic.joint, axis=1)], axis=1)
    np.savetxt(tmp_path / "part.csv", left_out, "%.12g", ",")
    np.savetxt(tmp_path / "wrong.csv", np.concatenate([base, angles], axis=1), "%.12g", ",")
    full, part, wrong = (
        footplant.load(tmp_path / f"{name}.csv", skeleton=model_file) for name in ("full", "part", "wrong")
    )
    assert np.allclose(full.motion.rotations, part.motion.rotations, atol=1e-9)
    assert not any("should be" in note or "stay" in note for note in (*full.notes, *part.notes))
    assert any("'left_wrist' should be 0.5 · left_elbow +0.1 rad" in note for note in wrong.notes)


def test_files_that_may_be_without_either(tmp_path):
    """Two wrists, or two joints that follow: neither is guessed."""
    free = parse_mechanism(OWN.encode())
    mimics = tuple(
        Mimic(free.joint_index(f"{side}_ankle_pitch"), free.joint_index(f"{side}_knee")) for side in ("left", "right")
    )
    robot = replace(free, mimics=mimics)
    np.savetxt(tmp_path / "walk.csv", np.tile([0.0] * 6 + [1.0] + [0.0] * 21, (2, 1)), delimiter=",")
    with pytest.raises(FormatError, match=r"got 21, .* without left_wrist, right_wrist, or without left_ankle_pitch, "):
        load_robot(tmp_path / "walk.csv", robot)
    assert load_robot(tmp_path / "walk.csv", free).disagreement() is None


def test_command_line_tells_what_disagrees(walked, coupled, tmp_path, capsys):
    robot, file = tmp_path / "own.xml", tmp_path / "walk.csv"
    robot.write_text(model())
    save_robot(file, walked.motion)
    rows = np.loadtxt(file, delimiter=",")
    column = 7 + coupled.mechanism.joint_index("left_knee_b")
    rows[7, column] += 0.25
    np.savetxt(file, rows, "%.9g", ",")
    said = "joint 'left_knee_b' should be -1 · left_knee +0.1 rad, and is 0.25 rad off at frame 7"
    assert judge_robot(load_robot(file, coupled.mechanism), coupled).coupling == pytest.approx(0.25, abs=1e-6)
    assert main(["measure", str(file), "--robot", str(robot)]) == 0
    told = capsys.readouterr()
    assert "joint off what it follows, rad" in told.out
    assert said in " ".join(told.err.split())
    assert main(["convert", str(file), str(tmp_path / "walk.npz"), "--robot", str(robot)]) == 0
    assert said + ": it is written where it should be" in " ".join(capsys.readouterr().err.split())
    assert load_robot(tmp_path / "walk.npz", coupled.mechanism).disagreement() is None
    assert main(["repair", str(file), "--robot", str(robot), "-o", str(tmp_path / "again.csv")]) == 0
    assert said in " ".join(capsys.readouterr().err.split())
    assert load_robot(tmp_path / "again.csv", coupled.mechanism).disagreement() is None
    assert main(["info", str(robot), "--json"]) == 0
    hinges = {hinge["name"]: hinge["follows"] for hinge in json.loads(capsys.readouterr().out)["hinges"]}
    assert hinges["left_thumb"] == {"joint": "left_tip", "multiplier": -0.5, "offset": 0.0}
    assert hinges["left_finger"] is None
    assert main(["info", str(robot)]) == 0
    assert "Coupled joints" in capsys.readouterr().out


PENDULUM = "".join(
    f"<body pos='0 0 -.1'><joint name='{name}' axis='0 1 0' {more}/><geom size='.01'/>"
    for name, more in (("a", "ref='.2'"), ("b", "ref='-.3' range='-1 1'"), ("c", ""), ("d", ""))
) + "<body><joint name='ball' type='ball'/><geom size='.01'/></body>" + 4 * "</body>"  # fmt: skip
DOOR = "<body><joint name='door'/><geom size='.1'/></body><body><joint name='handle'/><geom size='.1'/></body>"


def pendulum(equalities: str) -> str:
    return (
        "<mujoco><compiler angle='radian'/><default><default class='off'><equality active='false'/></default></default>"
        f"<worldbody><body><freejoint/><geom size='.01'/>{PENDULUM}</body>{DOOR}</worldbody>"
        f"<equality>{equalities}</equality></mujoco>"
    )


def test_equalities_mean_what_mujoco_means():
    """Polynomials are of angles less references; a joint without a leader stays; terms left out are 0, 1, 0 …"""
    text = pendulum(
        "<joint joint1='b' joint2='a' polycoef='.1 .5'/><joint joint1='c' polycoef='.4'/><joint joint1='d' joint2='b'/>"
        "<joint joint1='a' joint2='d' class='off'/><joint joint1='a' joint2='c' active='false'/>"
        "<joint joint1='door' joint2='handle'/><joint joint1='handle' joint2='a'/>"
    )
    robot = parse_mechanism(text.encode())
    assert [robot.joints[mimic.joint].name for mimic in robot.mimics] == ["b", "c", "d"]
    assert robot.coupling.free.tolist() == [True, False, False, False, True, True, True]
    angles = robot.coupling.applied([0.7, 9.0, 9.0, 9.0, 0.0, 0.0, 0.0])
    assert angles[:4] == pytest.approx([0.7, 0.1 + 0.5 * (0.7 - 0.2) - 0.3, 0.4, 0.05 + 0.3])
    mujoco = pytest.importorskip("mujoco")
    loaded = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(loaded)
    data.qpos[7:11] = angles[:4]
    data.joint("handle").qpos = data.joint("door").qpos = angles[0] - 0.2
    mujoco.mj_forward(loaded, data)
    found = data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY]
    assert len(found) == 5
    assert np.abs(found).max() < 1e-12


def wrist(kind: str, *mimics: tuple[str, str]) -> bytes:
    """Return three joints in a row, a and b hinges; mimics: joint, what it mimics and how."""
    links = "".join(f"<link name='{name}'/>" for name in "xabc")
    parts = []
    for parent, child in ("xa", "ab", "bc"):
        what = "".join(f"<mimic {how}/>" for name, how in mimics if name == child)
        parts.append(
            f"<joint name='{child}' type='{kind if child == 'c' else 'revolute'}'><parent link='{parent}'/>"
            f"<child link='{child}'/><limit lower='-1' upper='1' velocity='1'/>{what}</joint>"
        )
    return f"<robot name='r'>{links}{''.join(parts)}</robot>".encode()


@pytest.mark.parametrize(("data", "said"), [
    (wrist("revolute", ("a", "joint='b'"), ("b", "joint='c'"), ("c", "joint='a'")), "cycle, got 'a' → 'b' → 'c' → 'a'"),
    (wrist("revolute", ("a", "joint='a'")), "without a cycle, got 'a' → 'a'"),
    (wrist("revolute", ("a", "joint='elbow'")), "joint 'a': expected a joint that it mimics, got 'elbow', which"),
    (wrist("revolute", ("a", "")), "joint 'a': expected a joint that it mimics, got ''"),
    (wrist("prismatic", ("c", "joint='a'")), "joint 'c': expected a hinge that mimics another one, got a prismatic"),
    (wrist("fixed", ("a", "joint='c'")), "joint 'a': expected a hinge that it mimics, got the fixed joint 'c'"),
    (wrist("prismatic", ("a", "joint='c'")), "joint 'a': expected a hinge that it mimics, got the prismatic joint 'c'"),
    (wrist("spherical", ("a", "joint='c'")), "joint 'a': expected a hinge that it mimics, got the spherical joint 'c'"),
    (wrist("revolute", ("a", "joint='b' offset='3'")), "joint 'a' to be in its range where 'b' puts it"),
    (wrist("revolute", ("a", "joint='b' multiplier='one'")), "expected 1 numbers, got 'one'"),
    (pendulum("<joint joint1='b' joint2='e'/>").encode(), "joint 'b' of <equality>: expected a joint of the file"),
    (pendulum("<joint joint1='e' joint2='b'/>").encode(), "expected a joint of the file, got 'e'"),
    (pendulum("<joint joint1='b' joint2='door'/>").encode(), "expected a joint of the robot that it follows"),
    (pendulum("<joint joint1='b' joint2='ball'/>").encode(), "expected hinges, got the ball joint 'ball'"),
    (pendulum("<joint joint1='b' joint2='a' polycoef='0 1 .1'/>").encode(), "follows another linearly, got a curve"),
    (pendulum("<joint joint1='b' joint2='a'/><joint joint1='b' joint2='c'/>").encode(), "'b' to follow one joint"),
    (pendulum("<joint joint1='b' joint2='a'/><joint joint1='a' joint2='b'/>").encode(), "cycle, got 'b' → 'a' → 'b'"),
    (pendulum("<joint joint1='b' polycoef='2'/>").encode(), "expected joint 'b' to be in its range, got none"),
    (pendulum("<joint joint1='b' joint2='a' class='none'/>").encode(), "expected a class of <default>, got 'none'"),
])  # fmt: skip
def test_what_cannot_follow(data, said):
    with pytest.raises(FormatError) as caught:
        parse_mechanism(data)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_too_large():
    robot = parse_mechanism(OWN.encode())
    with pytest.raises(SkeletonError, match="expected smaller numbers of what joint 'left_hip_pitch' follows"):
        replace(robot, mimics=(Mimic(0, 1, 1e200), Mimic(1, 2, 1e200)))
    with pytest.raises(SkeletonError, match="expected finite numbers of what joint 'left_hip_pitch' follows"):
        replace(robot, mimics=(Mimic(0, 1, np.nan),))


def test_ranges_with_one_angle_in_common(clip):
    """A knee whose second hinge turns the wrong way is straight, and a note says why."""
    text = OWN.replace("</mujoco>", "<equality><joint joint1='left_elbow' joint2='left_knee'/></equality></mujoco>")
    text = text.replace('"left_knee" axis="0 1 0" range="-.05 2.5"', '"left_knee" axis="0 1 0" range=".1 2.5"')
    body = robot_body(parse_mechanism(text.encode()))
    assert body.notes == (
        "joint 'left_knee' cannot move: its range and those of what follows it have one angle in common",
    )
    made = retarget_robot(replace(clip, motion=clip.motion[:10]), body)
    assert np.ptp(made.motion.angles[:, body.mechanism.joint_index("left_elbow")]) == 0.0
    assert body.notes[0] in made.report.notes


def test_repair_couples(walked, coupled):
    """Joints of other tools' motions that do not follow are brought where they should be, and feet stand."""
    states = walked.motion.states.copy()
    states[:, 7:][:, ~coupled.mechanism.coupling.free] += 0.05
    repaired = repair_robot(RobotMotion(coupled.mechanism, states, 30.0), coupled)
    assert repaired.quality.coupling == 0.0
    assert repaired.quality.worst_drift < 0.5


def test_a_fixed_joint_follows_nothing():
    # left over where a hand was locked by making its joints fixed
    robot = parse_mechanism(wrist("fixed", ("c", "joint='elbow'")))
    assert not robot.mimics
    assert any("'c' is fixed: that it mimics 'elbow' is ignored" in note for note in robot.notes)
