"""Robot files: joints, ranges, masses, forward kinematics against MuJoCo, and what is refused."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from conftest import shared_files
from footplant import rotation
from footplant.errors import FormatError, SkeletonError
from footplant.io.robot_models import parse_mechanism, read_mechanism
from footplant.mechanism.model import joint_order, weld_order

ROBOTS = [*shared_files("robots/**/*.xml"), *shared_files("robots/**/*.urdf")]


def without_meshes(path: Path):
    """MuJoCo's own model of a robot file whose meshes are not beside it."""
    mujoco = pytest.importorskip("mujoco")
    root = ElementTree.fromstring(path.read_bytes().rstrip(b"\0"))
    for parent in list(root.iter()):
        for child in list(parent):
            drawn = (
                child.tag == "geom" and parent.tag != "default" and (child.get("mesh") or child.get("type") == "mesh")
            )
            if (child.tag == "mesh" and parent.tag == "asset") or drawn or child.find("geometry/mesh") is not None:
                parent.remove(child)
        if parent.tag == "default":
            for geom in parent.findall("geom"):
                if geom.get("type") == "mesh":
                    del geom.attrib["type"]
    if root.tag == "robot":
        for old in root.findall("mujoco"):
            root.remove(old)
        options = {"fusestatic": "true", "balanceinertia": "true", "boundmass": "1e-9", "boundinertia": "1e-12"}
        ElementTree.SubElement(ElementTree.SubElement(root, "mujoco"), "compiler", options)
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root).decode())


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.name)
def test_every_robot_against_mujoco(path):
    """Axes, ranges, masses and places of all bodies are MuJoCo's."""
    model = without_meshes(path)
    import mujoco

    robot, data = read_mechanism(path), mujoco.MjData(model)
    kinds = [int(kind) for kind in model.jnt_type]
    hinges = [joint for joint, kind in enumerate(kinds) if kind == mujoco.mjtJoint.mjJNT_HINGE]
    own = [joint for joint in robot.joints if not joint.ball]
    assert [model.joint(joint).name for joint in hinges] == [joint.name for joint in own]
    for joint, ours in zip(hinges, own):
        limited = bool(model.jnt_limited[joint])
        assert np.allclose(
            model.jnt_range[joint] if limited else (-np.inf, np.inf), (ours.lower, ours.upper), atol=1e-9
        )
        assert np.allclose(model.jnt_axis[joint], ours.axis, atol=1e-9)
    generator = np.random.default_rng(3)
    for _ in range(4):
        angles = generator.uniform(-1.0, 1.0, len(robot.joints))
        root, turn = generator.normal(size=3), rotation.normalize(generator.normal(size=4))
        if kinds[0] != mujoco.mjtJoint.mjJNT_FREE:  # MuJoCo welds it to the world
            root, turn = (
                (robot.places[0], robot.turns[0]) if path.suffix == ".xml" else (np.zeros(3), rotation.IDENTITY)
            )
        for joint, kind in enumerate(kinds):
            at, name = model.jnt_qposadr[joint], model.joint(joint).name
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                data.qpos[:7] = [*root, *turn]
            elif kind == mujoco.mjtJoint.mjJNT_HINGE:
                data.qpos[at] = angles[robot.joint_index(name)]
            else:
                first, made = robot.joint_index(f"{name}_x"), np.array(rotation.IDENTITY)
                for axis in range(3):
                    made = rotation.multiply(made, rotation.from_axis_angle(np.eye(3)[axis], angles[first + axis]))
                data.qpos[at : at + 4] = made
        mujoco.mj_kinematics(model, data)
        positions, rotations = robot.pose(root[None], np.array(turn)[None], angles[None])
        for body in range(1, model.nbody):
            ours = robot.bodies.index(model.body(body).name)
            assert np.abs(positions[0, ours] - data.xpos[body]).max() < 1e-6
            assert rotation.angle(rotations[0, ours], data.xquat[body]) < 1e-6
    for body in range(1, model.nbody):
        ours = robot.bodies.index(model.body(body).name)
        assert robot.masses[ours] == pytest.approx(float(model.body_mass[body]), abs=1e-6)
        if robot.masses[ours] > 1e-3:
            assert np.allclose(robot.mass_centers[ours], model.body_ipos[body], atol=1e-6)


LEG = "<body name='leg' pos='0 0 -1'><joint name='knee' axis='0 1 0' range='-90 10'/></body>"
MODEL = "<mujoco>{before}<worldbody><body name='base'><freejoint/>{inside}</body>{after}</worldbody></mujoco>"


def mjcf(inside: str = LEG, before: str = "", after: str = "") -> bytes:
    return MODEL.format(before=before, inside=inside, after=after).encode()


def test_frames_defaults_and_includes(tmp_path):
    (tmp_path / "more.xml").write_text("<mujocoinclude><joint name='knee' axis='0 2 0' class='tight'/></mujocoinclude>")
    inside = (
        "<frame pos='1 0 0' euler='0 0 90'><body name='leg' pos='1 0 0'><include file='more.xml'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 -.4' size='.05' density='0'/></body></frame>"
    )
    before = "<default><joint range='-45 45'/><default class='tight'><joint range='-30 30'/></default></default>"
    path = tmp_path / "robot.xml"
    path.write_bytes(mjcf(inside, before))
    robot = read_mechanism(path)
    assert np.allclose(robot.places[1], (1.0, 1.0, 0.0), atol=1e-12)
    assert np.allclose((robot.joints[0].lower, robot.joints[0].upper), (-np.pi / 6, np.pi / 6))
    assert robot.joints[0].axis == (0.0, 1.0, 0.0)
    assert (robot.solids[0].kind, robot.solids[0].size) == ("capsule", (0.05, 0.2, 0.0))


def test_meshes_become_hulls(tmp_path):
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    lines = [f"v {x} {y} {z}" for x, y, z in [*corners, (0.5, 0.5, 0.5)]]
    (tmp_path / "box.obj").write_text("\n".join(lines))
    before = "<asset><mesh name='box' file='box.obj' scale='2 1 1'/><mesh name='gone' file='gone.stl'/></asset>"
    inside = LEG + "<geom type='mesh' mesh='box'/><geom type='mesh' mesh='gone'/>"
    (tmp_path / "robot.xml").write_bytes(mjcf(inside, before))
    robot = read_mechanism(tmp_path / "robot.xml")
    assert [solid.kind for solid in robot.solids] == ["hull"]
    assert robot.solids[0].vertices.shape == (8, 3)
    assert robot.solids[0].vertices.max() == 2.0
    assert "1 meshes are not beside the file" in robot.notes[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (mjcf(LEG.replace("range='-90 10'", "range='10 -90'")), "joint 'knee': expected a range from low to high"),
        (mjcf(LEG.replace("axis", "type='slide' axis")), "joint 'knee': expected hinges and balls, got a slide joint"),
        (mjcf(LEG.replace("range='-90 10'", "limited='true'")), "expected a range of a joint that is limited"),
        (mjcf(after="<body name='other'><freejoint/><body><joint/></body></body>"), "several floating bodies"),
        (mjcf().replace(b"<freejoint/>", b"<joint name='lift'/>"), "floating base"),
        (mjcf(LEG + "<composite/>"), "cannot read <composite>"),
        (mjcf(LEG + "<replicate/>"), "cannot read <replicate>"),
        (mjcf(before="<equality><connect body1='leg'/></equality>"), "loop of <equality><connect>"),
        (mjcf(LEG + "<geom type='mesh' mesh='none'/>"), "expected a mesh of <asset>"),
        (mjcf(LEG + "<geom size='nan'/>"), "expected 1 numbers, got 'nan'"),
        (mjcf("<body>" * 250 + "</body>" * 250), "nested elements"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><mujoco/>", "entities"),
        (b"<robot><link name='a'/><link name='b'/></robot>", "expected one root link"),
        (
            b"<robot><link name='a'/><link name='b'/><joint name='w' type='prismatic'><parent link='a'/>"
            b"<child link='b'/></joint></robot>",
            "joint 'w': expected hinges and balls, got a prismatic joint",
        ),
        (
            b"<robot><link name='a'/><link name='b'/><joint name='w' type='fixed'><parent link='a'/><child link='b'/>"
            b"</joint><joint name='v' type='fixed'><parent link='a'/><child link='b'/></joint></robot>",
            "kinematic loop of link 'b'",
        ),
    ],
)  # fmt: skip
def test_refused_by_name(data, said):
    with pytest.raises(FormatError, match=said):
        parse_mechanism(data)


def test_body_orders():
    """Depth first as in MuJoCo, breadth first as in PhysX; joints follow the bodies that they move."""
    two = "<body name='{0}1'><joint name='j{0}1'/><body name='{0}2'><joint name='j{0}2'/></body></body>"
    robot = parse_mechanism(mjcf(two.format("a") + two.format("b")))
    assert [robot.bodies[body] for body in weld_order(robot, "mujoco")] == ["base", "a1", "a2", "b1", "b2"]
    assert [robot.bodies[body] for body in weld_order(robot, "physx")] == ["base", "a1", "b1", "a2", "b2"]
    assert [robot.joints[joint].name for joint in joint_order(robot, "physx")] == ["ja1", "jb1", "ja2", "jb2"]
    with pytest.raises(SkeletonError, match="expected a joint of the robot"):
        robot.joint_index("elbow")


def test_which_solids_meet():
    """Neither parts of one body nor neighbours meet, nor what the file excludes."""
    ball = "<geom size='.1'/>"
    chain = f"<body name='a'><joint/>{ball}<body name='w'>{ball}<body name='b'><joint/>{ball}"
    chain += f"<body name='c'><joint/>{ball}</body></body></body></body>"
    robot = parse_mechanism(
        mjcf(chain, after="").replace(b"</mujoco>", b"<contact><exclude body1='w' body2='c'/></contact></mujoco>")
    )
    of = {robot.bodies[solid.body]: solid for solid in robot.solids}
    assert not robot.may_collide(of["a"], of["w"])
    assert not robot.may_collide(of["w"], of["b"])
    assert robot.may_collide(of["a"], of["c"])
    assert not robot.may_collide(of["w"], of["c"])
