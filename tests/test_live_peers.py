"""Interoperability with other software: python-osc, vmcp, npm's osc and osc-min, and liblo's tools."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
import time

import numpy as np
import pytest

import live_made
import node_env
import vrm_made
from footplant import rotation
from footplant.live.protocols import osc, vmc

VALUES = np.concatenate(
    [
        np.random.default_rng(5).normal(size=(len(vmc.PLAN), 3)),
        rotation.normalize(np.random.default_rng(6).normal(size=(len(vmc.PLAN), 4))),
    ],
    axis=1,
)
WIRE = (VALUES * [1, 1, -1, 1, -1, -1, 1])[:, [0, 1, 2, 4, 5, 6, 3]]
"""(55, 7) as sent: left-handed, (x, y, z, qx, qy, qz, qw)."""


def ours(time: float = 1.25) -> bytes:
    return vmc.VmcSender(vmc.PLAN.names).encode(VALUES, time)


def received(datagrams: list[bytes]) -> np.ndarray:
    """Return (55, 7) what our receiver decodes from another sender's datagrams, right-handed."""
    receiver, found = vmc.VmcReceiver(), []
    for number, data in enumerate(datagrams):
        found += receiver.feed(data, 0.001 * number)
    found += receiver.poll(9.0)
    assert len(found) == 1
    assert found[0].present.all()
    return np.concatenate([found[0].positions, found[0].rotations], axis=1)


def bound() -> socket.socket:
    ear = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ear.bind(("127.0.0.1", 0))
    ear.settimeout(10.0)
    return ear


# python-osc


def test_python_osc_reads_us():
    packets = pytest.importorskip("pythonosc.osc_packet")
    messages = [timed.message for timed in packets.OscPacket(ours()).messages]
    bones = {m.params[0]: m.params[1:] for m in messages if m.address == "/VMC/Ext/Bone/Pos"}
    assert list(bones) == list(vmc.PLAN.names)
    assert np.abs(np.array(list(bones.values())) - WIRE).max() < 1e-6
    assert next(m.params for m in messages if m.address == "/VMC/Ext/T") == [1.25]


@pytest.mark.parametrize("nested", [False, True])
def test_we_read_python_osc(nested):
    builder = pytest.importorskip("pythonosc.osc_bundle_builder")
    from pythonosc.osc_message_builder import OscMessageBuilder

    whole = builder.OscBundleBuilder(builder.IMMEDIATELY)
    for start in range(0, len(vmc.PLAN), 13):
        part = builder.OscBundleBuilder(builder.IMMEDIATELY) if nested else whole
        for name, numbers in list(zip(vmc.PLAN.names, WIRE))[start : start + 13]:
            message = OscMessageBuilder("/VMC/Ext/Bone/Pos")
            message.add_arg(name)
            for number in numbers:
                message.add_arg(float(number), "f")
            part.add_content(message.build())
        if nested:
            whole.add_content(part.build())
    assert np.abs(received([whole.build().dgram]) - VALUES).max() < 1e-6


def test_python_osc_and_we_agree_on_every_type():
    builder = pytest.importorskip("pythonosc.osc_message_builder")
    message = builder.OscMessageBuilder("/types")
    values = [1, 2.5, "頭", b"bytes", True, False, None]
    for value in values:
        message.add_arg(value)
    message.add_arg(2**40, "h")
    message.add_arg(1.0 / 3.0, "d")
    assert osc.decode(message.build().dgram) == [("/types", (*values, 2**40, 1.0 / 3.0))]


# vmcp


def test_we_read_vmcp():
    protocol = pytest.importorskip("vmcp.protocol")
    typing = pytest.importorskip("vmcp.typing")
    messages = []
    for name, (x, y, z, qx, qy, qz, qw) in zip(vmc.PLAN.names, WIRE.tolist()):
        bone = next(bone for bone in typing.Bone if bone.value.lower() == name.lower())
        place, turn = typing.CoordinateVector(x, y, z), typing.Quaternion(qx, qy, qz, qw)
        address, tags, arguments = protocol.bone_transform(bone, place, turn)
        messages.append(osc.encode(address, str(bone.value), *arguments[1:]))
        assert tags.lstrip(",") == "sfffffff"
    assert np.abs(received([osc.bundle(messages)]) - VALUES).max() < 1e-6


def test_vmcp_reads_us():
    events = pytest.importorskip("vmcp.events")
    seen = {}
    for message in osc.decode(ours()):
        if message.address == events.BoneTransformEvent.ADDRESS_PATTERN:
            event = events.BoneTransformEvent.from_message_data("test", message.address, message.arguments)
            place, turn = event.position, event.rotation
            seen[event.joint.value.lower()] = [place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w]
    assert len(seen) == len(vmc.PLAN)
    order = [seen[name.lower()] for name in vmc.PLAN.names]
    assert np.abs(np.array(order) - WIRE).max() < 1e-6


# npm's osc and osc-min


@pytest.fixture(scope="module")
def node():
    request = {
        "read": base64.b64encode(ours()).decode(),
        "write": [[name, *numbers] for name, numbers in zip(vmc.PLAN.names, WIRE.tolist())],
    }
    return node_env.run_node("osc_peers.mjs", request)


@pytest.mark.parametrize("library", ["osc", "osc-min"])
def test_npm_reads_us(node, library):
    bones = node[library]["read"]
    assert [row[0] for row in bones] == list(vmc.PLAN.names)
    assert np.abs(np.array([row[1:] for row in bones]) - WIRE).max() < 1e-6


@pytest.mark.parametrize("library", ["osc", "osc-min"])
def test_we_read_npm(node, library):
    data = base64.b64decode(node[library]["written"])
    assert np.abs(received([data]) - VALUES).max() < 1e-6


# liblo


def require(tool: str) -> str:
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} (liblo-tools) is not on this machine: it cannot be compared with")
    return path


def test_oscdump_reads_us():
    dump = require("oscdump")
    with bound() as free:
        port = free.getsockname()[1]
    with (
        subprocess.Popen([dump, "-L", str(port)], stdout=subprocess.PIPE, text=True) as process,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth,
    ):
        # the tool does not report when it listens: earlier datagrams are lost, which the protocol allows
        for _ in range(8):
            time.sleep(0.15)
            mouth.sendto(ours(), ("127.0.0.1", port))
        time.sleep(0.15)
        process.terminate()
        lines = process.communicate(timeout=10)[0].splitlines()
    bones = [line.split() for line in lines if "/VMC/Ext/Bone/Pos" in line][: len(vmc.PLAN)]
    assert len(bones) == len(vmc.PLAN)
    at = bones[0].index("/VMC/Ext/Bone/Pos")
    assert [row[at + 2].strip('"') for row in bones] == list(vmc.PLAN.names)
    assert np.abs(np.array([[float(number) for number in row[at + 3 :]] for row in bones]) - WIRE).max() < 1e-5


def test_we_read_oscsend():
    send = require("oscsend")
    with bound() as ear:
        port = str(ear.getsockname()[1])
        arguments = ["127.0.0.1", port, "/VMC/Ext/Bone/Pos", "sfffffff", "Hips", "0.5", "1", "-2", "0", "0", "0", "1"]
        subprocess.run([send, *arguments], check=True, timeout=10)
        data = ear.recv(65_536)
    receiver = vmc.VmcReceiver()
    found = receiver.feed(data, 0.0) + receiver.poll(1.0)
    assert found[0].present.sum() == 1
    assert found[0].positions[0].tolist() == [0.5, 1.0, 2.0]


def test_peers_read_a_walking_character():
    """The output of a character follows the protocol: unit quaternions, hips at their height."""
    packets = pytest.importorskip("pythonosc.osc_packet")
    motion, character = live_made.walk()
    data = live_made.encoded("vmc", motion[:1], character)[0]
    rows = [timed.message.params for timed in packets.OscPacket(data).messages]
    bones = {row[0]: row[1:] for row in rows if len(row) == 8 and row[0] != "root"}
    assert {"Hips", "Spine", "Head", "LeftUpperArm", "RightFoot"} <= set(bones)
    assert bones["Hips"][1] == pytest.approx(motion.root[0, 1], abs=1e-5)
    assert all(abs(np.linalg.norm(row[3:]) - 1.0) < 1e-5 for row in bones.values())
    assert json.dumps(list(bones))


# expressions, eyes and fingers


WEIGHTS = {"Joy": 0.75, "Blink_L": 1.0, "あ": 0.25}


def through(data: list[bytes], avatar) -> bytes:
    """Return what an avatar gets from a performer's datagrams, the last of them."""
    from footplant.live.actor import ActorSettings
    from footplant.live.stage import LiveStage, PoseEncoder

    stage, encoder, replies = LiveStage("vmc", avatar, settings=ActorSettings(latency=0.0)), None, []
    for number, one in enumerate(data):
        stage.feed(one, "app", number / 60.0)
        for shown in stage.poses(number / 60.0):
            encoder = encoder or PoseEncoder("vmc", avatar)
            replies.append(encoder.encode(shown.pose.root, shown.pose.rotations, shown.time, shown.expressions))
    return replies[-1]


@pytest.fixture(scope="module")
def vrm(tmp_path_factory):
    """Return a VRM avatar with eyes and fingers."""
    from footplant.io import load_character

    path = tmp_path_factory.mktemp("vrm") / "avatar.vrm"
    path.write_bytes(vrm_made.made("1").glb())
    return load_character(path)


def performed(turned: dict[str, np.ndarray]) -> list[bytes]:
    """Return datagrams of a T-pose with some bones turned and with expressions, as python-osc writes them."""
    builder = pytest.importorskip("pythonosc.osc_bundle_builder")
    from pythonosc.osc_message_builder import OscMessageBuilder

    from footplant import humanoid, samples
    from footplant.live.avatar import Avatar

    character = samples.load_character("sally")
    body = Avatar(character)
    rest = humanoid.reference_pose(character.skeleton, character.roles)
    local = dict(zip(body.names, body.pose(character.skeleton.rest_world[0][0], rest).copy()))
    for name, turn in turned.items():
        # the made avatar faces +z, a performer's T-pose −z
        x, y, z = vrm_made.PLACES[name[0].lower() + name[1:]][1]
        local[name] = np.concatenate([[-x, y, -z], turn])
    data = []
    for frame in range(12):
        bundle = builder.OscBundleBuilder(builder.IMMEDIATELY)
        messages = [("/VMC/Ext/T", (frame / 60.0,))]
        for name, (x, y, z, qw, qx, qy, qz) in local.items():
            messages.append(("/VMC/Ext/Bone/Pos", (name, x, y, -z, -qx, -qy, qz, qw)))
        messages += [("/VMC/Ext/Blend/Val", item) for item in WEIGHTS.items()] + [("/VMC/Ext/Blend/Apply", ())]
        for address, arguments in messages:
            message = OscMessageBuilder(address)
            for value in arguments:
                message.add_arg(value, "s") if isinstance(value, str) else message.add_arg(float(value), "f")
            bundle.add_content(message.build())
        data.append(bundle.build().dgram)
    return data


def test_expressions_eyes_and_fingers_arrive_at_an_avatar(vrm):
    packets = pytest.importorskip("pythonosc.osc_packet")
    turn = rotation.from_axis_angle(np.array([0.0, 1.0, 0.0]), np.array(0.3))
    bones = ("LeftEye", "RightEye", "LeftIndexProximal")
    reply = through(performed(dict.fromkeys(bones, turn)), vrm)
    messages = [timed.message for timed in packets.OscPacket(reply).messages]
    assert {m.params[0]: m.params[1] for m in messages if m.address == "/VMC/Ext/Blend/Val"} == WEIGHTS
    assert sum(m.address == "/VMC/Ext/Blend/Apply" for m in messages) == 1
    found = {m.params[0]: m.params[1:] for m in messages if m.address == "/VMC/Ext/Bone/Pos"}
    for name in bones:
        qx, qy, qz, qw = found[name][3:]
        assert np.degrees(rotation.angle(np.array([qw, -qx, -qy, qz]), turn)) < 1.0


def test_expressions_of_vmcp_both_ways():
    events = pytest.importorskip("vmcp.events")
    protocol = pytest.importorskip("vmcp.protocol")
    seen = {}
    for message in osc.decode(vmc.VmcSender(vmc.PLAN.names).encode(VALUES, 1.25, WEIGHTS)):
        if message.address == events.BlendShapeEvent.ADDRESS_PATTERN:
            event = events.BlendShapeEvent.from_message_data("test", message.address, message.arguments)
            seen[event.key] = event.value
    assert seen == WEIGHTS
    keys = protocol.BlendShapeKey("Keys", {"JOY": "Joy"})
    address, _, (name, weight) = protocol.blendshape(keys["JOY"], 0.5)
    data = [osc.encode(address, str(name), weight)]
    data.append(osc.encode(protocol.blendshape_apply()[0]))
    receiver = vmc.VmcReceiver()
    samples = receiver.feed(osc.bundle(data), 0.0) + receiver.poll(9.0)
    assert samples[0].expressions == {"Joy": 0.5}
    assert not samples[0].present.any()
