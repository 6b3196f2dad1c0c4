"""Synthetic datagrams for the tests: poses of samples in each protocol, and damaged datagrams."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from footplant import Kinematics, rotation, samples
from footplant.live.avatar import Avatar
from footplant.live.protocols import natnet, osc, rokoko, vmc, xsens
from footplant.live.protocols.sample import BonePlan, PoseSample
from footplant.live.stage import PoseEncoder
from footplant.motion import Motion


def walk(fps: float = 60.0, name: str = "walk") -> tuple[Motion, object]:
    """Return a sample's motion at a frame rate, and its character."""
    clip = samples.load(name)
    return clip.motion.resample(fps), clip.character


def encoded(protocol: str, motion: Motion, character, start: float = 0.0) -> list[bytes]:
    """Encode a motion as datagrams of a protocol that we can send."""
    encoder = PoseEncoder(protocol, character)
    return [encoder.encode(motion.root[f], motion.rotations[f], start + f / motion.fps) for f in range(len(motion))]


def split_vmc(datagram: bytes, size: int = 13) -> list[bytes]:
    """Split a VMC bundle as the reference sender does: bundles of that many messages, all but the first nested."""
    messages = [osc.encode(m.address, *m.arguments) for m in osc.decode(datagram)]
    parts = [messages[start : start + size] for start in range(0, len(messages), size)]
    return [osc.bundle(part if not n else [osc.bundle(part)]) for n, part in enumerate(parts)]


def in_plan(plan: BonePlan, motion: Motion, character, frame: int) -> PoseSample:
    """Return a pose in world space on the bones of a plan whose T-pose faces +z: each at the joint of its role."""
    kinematics = Kinematics(motion[frame])
    avatar = Avatar(character)
    avatar.pose(motion.root[frame], motion.rotations[frame])
    # rotated from a T-pose that faces −z to one that faces +z
    turns = rotation.multiply(avatar.turns, [0.0, 0.0, 1.0, 0.0])
    roles = {role: list(joints) for role, joints in character.roles.joints.items()}
    by_joint = dict(zip(avatar._joints.tolist(), turns))
    positions, rotations = np.zeros((len(plan), 3)), rotation.identity(len(plan))
    present = np.zeros(len(plan), bool)
    for role, names in plan.roles.items():
        joints = roles.get(role, [])
        for number, name in enumerate(names):
            if not joints:
                continue
            joint = joints[min(number, len(joints) - 1)]
            bone = plan.index[name]
            positions[bone] = kinematics.positions[0, joint] + [0.0, 1e-3 * max(number - len(joints) + 1, 0), 0.0]
            rotations[bone], present[bone] = by_joint[joint], True
    return PoseSample(plan, "", positions, rotations, present, frame / motion.fps, frame)


def natnet_frame(number: int, skeletons: dict[int, tuple[np.ndarray, np.ndarray]], seconds: float) -> bytes:
    """Encode a NatNet 3 frame with skeletons: id → positions (N, 3) and rotations (N, 4) of its bones."""
    body = np.int32([number, 0, 0, 0, len(skeletons)]).tobytes()
    for skeleton, (places, turns) in skeletons.items():
        rows = np.zeros(len(places), natnet._BODY)
        rows["id"] = (skeleton << 16) + np.arange(1, len(places) + 1)
        rows["position"], rows["rotation"], rows["flags"] = places, turns[:, [1, 2, 3, 0]], 1
        body += np.int32([skeleton, len(places)]).tobytes() + rows.tobytes()
    body += np.int32([0, 0, 0]).tobytes() + natnet._SUFFIX.pack(0, 0, seconds, 0, 0, 0, 0) + bytes(4)
    return np.uint16([natnet.FRAME, len(body)]).tobytes() + body


def natnet_definitions(skeletons: dict[int, tuple[str, list[tuple[str, int]]]]) -> bytes:
    """Encode definitions of skeletons: id → name and (bone, index of its parent or −1), all offsets zero."""
    body = np.int32([len(skeletons)]).tobytes()
    for number, (name, bones) in skeletons.items():
        body += np.int32([2]).tobytes() + name.encode() + b"\x00" + np.int32([number, len(bones)]).tobytes()
        for place, (bone, above) in enumerate(bones):
            body += f"{name}_{bone}".encode() + b"\x00" + np.int32([place + 1, above + 1]).tobytes()
            body += np.float32([0.0, 0.1, 0.0]).tobytes() + np.int32([0]).tobytes()
    return np.uint16([natnet.DEFINITIONS, len(body)]).tobytes() + body


def mutations(seeds: list[bytes], count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield damaged datagrams: bytes changed, truncated, repeated, moved, and numbers replaced by extreme ones."""
    random = np.random.default_rng(seed)
    words = "ffffffff 7f800000 7fc00000 00000000 80000000 2362756e e3810000"
    worst = [bytes.fromhex(word) for word in words.split()]
    for _ in range(count):
        data = bytearray(seeds[random.integers(len(seeds))])
        for _ in range(int(random.integers(1, 5))):
            kind, place = random.integers(6), int(random.integers(max(len(data), 1)))
            if kind == 0 and data:
                data[place % len(data)] = random.integers(256)
            elif kind == 1:
                data = data[:place]
            elif kind == 2:
                data[place:place] = data[place : place + int(random.integers(1, 64))]
            elif kind == 3:
                place -= place % 4
                data[place : place + 4] = worst[random.integers(len(worst))]
            elif kind == 4:
                del data[place : place + int(random.integers(1, 32))]
            else:
                data += bytes(random.integers(0, 256, int(random.integers(1, 16)), dtype=np.uint8))
        yield bytes(data)


def seeds(protocol: str) -> list[bytes]:
    """Return some datagrams of a protocol, to damage."""
    motion, character = walk()
    part = motion[:3]
    if protocol in ("vmc", "rokoko"):
        found = encoded(protocol, part, character)
        return [*found, *split_vmc(found[0])] if protocol == "vmc" else found
    if protocol == "xsens":
        return [xsens.encode(in_plan(xsens.PLAN, motion, character, f), f, 8 * f) for f in range(3)]
    bones = [(f"Bone{n}", n - 1) for n in range(5)]
    poses = np.zeros((5, 3)), rotation.identity(5)
    return [natnet_definitions({1: ("Ann", bones)}), natnet_frame(7, {1: poses}, 0.5), natnet_frame(8, {}, 0.6)]


PLANS = {"vmc": vmc.PLAN, "xsens": xsens.PLAN, "rokoko": rokoko.PLAN}
