"""The kernels that read trunk and legs from poses against their NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

from footplant.humanoid import _posture as posture
from footplant.humanoid.posture import unit


def cosine(a, b):
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return np.sum(a * b, axis=-1) / np.where(lengths > 0, lengths, 1.0)


def trunk(poses, hips, shoulders):
    return poses[:, shoulders].mean(axis=1) - poses[:, hips].mean(axis=1)


def side_twin(poses, cosines, legs, shoulders, tips):
    up = unit(trunk(poses, legs[:, 0], shoulders))
    across, forward = np.zeros_like(up), np.zeros_like(up)
    for a, b in (legs[:, 0], shoulders):
        across += unit(poses[:, a] - poses[:, b])
    for hip, knee, foot, toes in legs:
        down, length = (
            unit(poses[:, foot] - poses[:, hip]),
            np.linalg.norm(poses[:, foot] - poses[:, hip], axis=1)[:, None],
        )
        bone = poses[:, knee] - poses[:, hip]
        forward += 2.0 * (bone - np.sum(bone * down, axis=1, keepdims=True) * down) / np.where(length > 0, length, 1.0)
        if toes >= 0:
            line = poses[:, toes] - poses[:, foot]
            forward += unit(line - np.sum(line * down, axis=1, keepdims=True) * down)
    forward[0] += 2.0 * tips
    turn = np.sum(np.cross(up, forward) * unit(across), axis=1)
    weights = np.where(cosines < -0.5, -cosines, 0.0)
    return np.sum(weights * np.clip(turn, -1, 1)) / max(np.sum(weights), 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_trunk_legs_and_sides(seed):
    rng = np.random.default_rng(seed)
    poses = rng.normal(size=(40, 12, 3))
    poses[3], poses[4, 2] = 0.0, poses[4, 0]  # all joints at one place, and a leg of no length
    legs, shoulders = np.array([[0, 1, 2, 3], [4, 5, 6, 7 if seed % 2 else -1]]), np.array([8, 9])
    out = np.empty(40)
    posture.leg_cosines(poses, legs[:, 0].copy(), legs[:, 2].copy(), shoulders, out)
    line = trunk(poses, legs[:, 0], shoulders)
    expected = np.mean([cosine(line, poses[:, leg[2]] - poses[:, leg[0]]) for leg in legs], axis=0)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    straight = posture.straightest(poses, 0, 8, 10)
    assert straight == pytest.approx(cosine(poses[:, 8] - poses[:, 0], poses[:, 10] - poses[:, 8]).max(), abs=1e-12)
    tips = rng.normal(size=3)
    for cosines in (out, np.full(40, -1.0), np.zeros(40)):
        found = posture.side_turn(poses, cosines, legs, shoulders, tips, np.empty((3, 3)))
        assert found == pytest.approx(side_twin(poses, cosines, legs, shoulders, tips), abs=1e-12)
