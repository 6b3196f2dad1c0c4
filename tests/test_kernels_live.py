"""Live kernels against plain Python. (The filter's reference implementation is in test_kalman.py.)"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footplant import rotation
from footplant.live import _bones as bones
from footplant.live.protocols import _lz4 as lz4
from footplant.skeleton import Skeleton

PARENTS = np.array([-1, 0, 1, 1, 0])
PARENTS.setflags(write=False)


def random_turns(*shape, seed=0):
    return rotation.normalize(np.random.default_rng(seed).normal(size=(*shape, 4)))


def test_local_from_world_agrees_with_numpy():
    sensors, world = np.array([3, 0, 2, 4, 1]), random_turns(6)
    out = np.empty((5, 4))
    bones.local_from_world(PARENTS, sensors, world, out)
    wanted = world[sensors]
    wanted[1:] = rotation.multiply(rotation.inverse(world[sensors[PARENTS[1:]]]), wanted[1:])
    assert np.abs(out - wanted).max() < 1e-12


def test_to_bones_agrees_with_numpy():
    joints, above = np.array([0, 2, 5, 3]), np.array([-1, 0, 1, 0])
    parents, offsets, root = np.array([-1, 0, 1, 1, 0, 2]), np.random.default_rng(1).normal(size=(6, 3)), np.ones(3)
    own, back = random_turns(6), random_turns(4, seed=2)
    positions, rotations, turns, local = np.empty((6, 3)), np.empty((6, 4)), np.empty((4, 4)), np.empty((4, 7))
    bones.to_bones(parents, offsets, root, own, joints, above, back, positions, rotations, turns, local)
    body = Skeleton(tuple("abcdef"), parents, np.concatenate([[root], offsets[1:]]), rotation.identity(6))
    assert np.abs(np.concatenate(body.posed(own), axis=1) - np.hstack([positions, rotations])).max() < 1e-12
    world = rotation.multiply(rotations[joints], back)
    assert np.abs(turns - world).max() < 1e-12
    inner = rotation.inverse(world[above[1:]])
    wanted = np.concatenate([positions[joints], world], axis=1)
    wanted[1:, :3] = rotation.rotate(inner, positions[joints[1:]] - positions[joints[above[1:]]])
    wanted[1:, 3:] = rotation.multiply(inner, world[1:])
    assert np.abs(local - wanted).max() < 1e-12


def unpack(block: bytes) -> bytes | None:
    """Decompress LZ4 by its specification."""
    out, place = bytearray(), 0
    while place < len(block):
        token = block[place]
        place += 1
        for part, extra in ((token >> 4, 0), (token & 15, 4)):
            count = part
            if extra:
                if place == len(block):
                    return bytes(out)
                if place + 2 > len(block):
                    return None
                back = block[place] + 256 * block[place + 1]
                place += 2
            if part == 15:
                while True:
                    if place >= len(block):
                        return None
                    count += block[place]
                    place += 1
                    if block[place - 1] != 255:
                        break
            if not extra:
                if place + count > len(block):
                    return None
                out += block[place : place + count]
                place += count
            else:
                if back == 0 or back > len(out):
                    return None
                for _ in range(count + 4):
                    out.append(out[-back])
        if len(out) > 4000:
            return None
    return bytes(out)


@pytest.mark.parametrize(
    "block", [b"", b"\x10a", b"\x1fa\x01\x00\x01\x00", b"\x40abcd\x02\x00", b"\xf0\x05" + b"x" * 20]
)
def test_lz4_of_known_blocks(block):
    agree(block)


@given(st.binary(max_size=60))
@settings(max_examples=200, deadline=None)
def test_lz4_agrees_with_python(block):
    agree(block)


def agree(block: bytes) -> None:
    source = np.frombuffer(block, np.uint8)
    out = np.zeros(40_000, np.uint8)
    end = lz4.unpack_block(source, 0, len(block), out, 0)
    wanted = unpack(block)
    if wanted is not None:
        assert end == len(wanted)
        assert out[:end].tobytes() == wanted
    else:
        assert end == -1 or end > 4000
