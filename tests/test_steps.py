"""Steps of a foot: what is moved onto the ground is moved as one piece."""

from __future__ import annotations

import numpy as np
import pytest

import footplant
from footplant import rotation
from footplant.contacts.detection import Contacts, Plant
from footplant.feet.steps import find_steps, keep_pitch, step_width_shifts
from footplant.geometry import Plane
from footplant.kinematics import Kinematics

FOOT = 0.14
NEAR = 0.05
FLOOR = Plane((0.0, 0.1, 0.0))


def steps_of(heel: float, ball: float):
    """A step whose heel and ball are so high over the floor, metres."""
    along = np.sqrt(FOOT**2 - (ball - heel) ** 2)
    plants = [
        Plant("left_heel", 0, 50, (0.0, 0.1 + heel, 0.0)),
        Plant("left_ball", 10, 40, (0.0, 0.1 + ball, along)),
    ]
    points = ("left_heel", "left_ball", "right_heel", "right_ball")
    return find_steps(Contacts(tuple(plants), points, 60, 60.0, FLOOR), FOOT)


def heights(step) -> list[float]:
    return [float(plant.place[1]) - 0.1 for plant in (*step.heels, *step.balls)]


@pytest.mark.parametrize(("heel", "ball"), [(0.02, 0.07), (0.07, 0.02), (-0.02, 0.06), (-0.04, -0.055)])
def test_the_far_end_of_a_foot_is_moved_as_its_near_end_will_be(heel, ball):
    (step,) = keep_pitch(steps_of(heel, ball), FLOOR, NEAR)
    # the near end is put on the floor later
    expected = [heel, ball - heel] if abs(heel) < NEAR else [heel - ball, ball]
    assert heights(step) == pytest.approx(expected)


@pytest.mark.parametrize(("heel", "ball"), [(0.02, 0.03), (0.3, 0.33), (0.06, 0.08)])
def test_feet_that_are_on_the_ground_or_off_it_as_a_whole_stay(heel, ball):
    steps = steps_of(heel, ball)
    assert keep_pitch(steps, FLOOR, NEAR) == steps


def test_a_single_end_stays():
    heel = Plant("left_heel", 0, 50, (0.0, 0.13, 0.0))
    steps = find_steps(Contacts((heel,), ("left_heel", "left_ball"), 60, 60.0, FLOOR), FOOT)
    assert keep_pitch(steps, FLOOR, NEAR) == steps


def test_a_foot_that_pivots_is_shifted_as_one():
    """Its ball and then its heel stand while the hips turn about: with a shift each, the foot was turned around."""
    walk = footplant.load("sample:walk")
    motion = walk.motion[:100]
    turns = np.linspace(0.0, np.pi, 100)
    root = motion.like(
        motion.root,
        np.concatenate(
            [
                rotation.multiply(rotation.exp(turns[:, None] * [0.0, 1.0, 0.0]), motion.rotations[:, 0])[:, None],
                motion.rotations[:, 1:],
            ],
            axis=1,
        ),
    )
    plants = [
        Plant("left_ball", 0, 55, (0.0, 0.0, 0.0)),
        Plant("left_heel", 50, 100, (0.0, 0.0, -0.05)),
        Plant("right_ball", 0, 40, (0.2, 0.0, 0.0)),
        Plant("right_ball", 60, 100, (0.2, 0.0, 0.0)),
    ]
    points = ("left_heel", "left_ball", "right_heel", "right_ball")
    steps = find_steps(Contacts(tuple(plants), points, 100, 60.0, FLOOR), FOOT)
    shifts = step_width_shifts(steps, Kinematics(root), walk.character, 0.1)
    own = {side: [at for step, at in zip(steps, shifts) if step.side == side] for side in ("left", "right")}
    assert [len(own[side]) for side in own] == [2, 2]
    np.testing.assert_array_equal(own["left"][0], own["left"][1])
    # those of another stay go with the hips of their own time
    assert np.linalg.norm(own["right"][0] - own["right"][1]) > 0.05
