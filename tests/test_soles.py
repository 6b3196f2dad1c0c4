"""Soles between footplants stay above the ground, even with folded legs, and toes are flat on it while they stand."""

from dataclasses import replace

import numpy as np
import pytest

from footplant import humanoid, rotation
from footplant.constraints import Footplant
from footplant.feet.soles import LEFT_ALONE, SHALLOW, flatten_toes, lift_feet
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.samples import load_character
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of, place

FLOOR = Plane((0.0, 0.0, 0.0))
FRAMES = 60


@pytest.fixture(scope="module")
def mannequin() -> Character:
    return load_character("mannequin")


def standing(character: Character) -> Motion:
    """Return a character standing on the floor, at 60 frames per second."""
    motion = rest_motion(character.skeleton, FRAMES, 60.0)
    heights = Kinematics(motion).points(list(character.contacts.values()))[..., 1]
    feet = [n for n, name in enumerate(character.contacts) if not name.endswith("palm")]
    return replace(motion, root=motion.root - [0.0, heights[0, feet].min(), 0.0])


def test_hips_rise_where_folded_legs_cannot_lift_the_feet(mannequin):
    """A leg that cannot fold further cannot lift its foot, so the hips have to rise."""
    motion = standing(mannequin)
    limb = limb_of(mannequin, "left_leg")
    hip = Kinematics(motion).positions[:, limb.upper]
    folded = place(motion, limb, hip - [0.0, 0.05, 0.1])
    assert folded.residual.min() > 0.001, "the leg is folded as far as it goes"
    sole = Kinematics(folded.motion).points([mannequin.contacts[f"left_{part}"] for part in ("heel", "ball", "toe")])
    wave = 0.02 * np.sin(np.linspace(0.0, np.pi, FRAMES))
    down = sole[..., 1].min() + wave
    sunk = replace(folded.motion, root=folded.motion.root - down[:, None] * [0.0, 1.0, 0.0])
    other = limb_of(mannequin, "right_leg")
    away = Kinematics(sunk).positions[:, other.upper] + [0.0, -0.3, 0.3]
    sunk = place(sunk, other, np.maximum(away, [-9.0, 0.3, -9.0])).motion
    cleared = lift_feet(sunk, mannequin, (), FLOOR)
    points = [mannequin.contacts[f"left_{part}"] for part in ("heel", "ball", "toe")]
    before, after = (Kinematics(m).points(points)[..., 1].min() for m in (sunk, cleared))
    assert before < -0.015
    assert after > -2.2 * LEFT_ALONE
    raised = (cleared.root - sunk.root)[:, 1]
    assert raised.max() > 0.01
    assert np.abs(np.diff(raised, n=2)).max() < 0.001, "the hips rise smoothly"


@pytest.mark.parametrize(("rise", "straight"), [(0.0, True), (0.015, False)])
def test_toes_are_straight_if_they_will_be_above_the_ground_as_the_foot_lies(mannequin, rise, straight):
    """Not as the foot is: one that is captured with bent toes pitches until it lies on its footplants."""
    motion, roles = standing(mannequin), mannequin.require_roles()
    points = {part: mannequin.contacts[f"left_{part}"] for part in ("heel", "ball", "toe")}
    places = {part: Kinematics(motion).point(point)[0] for part, point in points.items()}
    rotations, foot, toes = np.array(motion.rotations), roles["left_foot"], roles["left_toes"]
    for joint, angle in ((foot, 0.3), (toes, -0.5)):
        rotations[:, joint] = rotation.multiply(rotations[:, joint], rotation.exp(np.array([angle, 0.0, 0.0])))
    captured = replace(motion, rotations=rotations)
    pose = humanoid.reference_pose(mannequin.skeleton, roles)[toes]
    unbent = np.array(rotations)
    unbent[:, toes] = pose
    assert Kinematics(replace(motion, rotations=unbent)).point(points["toe"])[:, 1].max() < -SHALLOW
    plants = [
        Footplant(point=points["heel"], place=places["heel"] + [0.0, rise, 0.0], frames=range(FRAMES)),
        Footplant(point=points["ball"], place=places["ball"], frames=range(FRAMES)),
    ]
    flat = flatten_toes(captured, mannequin, plants, FLOOR).rotations[:, toes]
    turned = np.linalg.norm(rotation.log(rotation.multiply(rotation.inverse(pose), flat)), axis=1)
    if straight:
        assert turned.max() < 1e-6
    else:
        # straight toes of a foot on a raised heel are in the ground
        assert turned.min() > 0.1


class _Hollow:
    """Ground that gets steeper ahead, with or without an edge under the toes."""

    def __init__(self, ball: float, edge: bool) -> None:
        self.ball, self.edge = ball, edge

    def height(self, places):
        """Return heights (…) at places (…, 2)."""
        ahead = np.maximum(np.asarray(places, float)[..., 1] - self.ball, 0.0)
        return -0.2 * (ahead > 0.02) if self.edge else 2.0 * ahead**2


@pytest.mark.parametrize("edge", [False, True])
def test_toes_lie_along_curved_ground(mannequin, edge):
    """Toes laid along the slope at the ball would have their tips in ground that gets steeper; over an edge they do."""
    motion = standing(mannequin)
    tip, ball = (mannequin.contacts[f"left_{part}"] for part in ("toe", "ball"))
    place = Kinematics(motion).point(ball)[0]
    ground = _Hollow(float(place[2]), edge)
    plant = Footplant(point=ball, place=(place[0], 0.0, place[2]), frames=range(FRAMES))
    before, after = (
        Kinematics(each).point(tip) for each in (motion, flatten_toes(motion, mannequin, (plant,), ground))
    )
    deep = ground.height(after[:, ::2]) - after[:, 1]
    if edge:
        assert np.abs(after - before).max() < 1e-6
    else:
        assert (ground.height(before[:, ::2]) - before[:, 1]).max() > 0.004
        assert deep.max() < 0.002


def test_toes_stay_as_they_lie_while_the_heel_rises(mannequin):
    """From a foot that lies on heel and ball: as one piece with it they would roll over the ball, up to 5°."""
    motion, roles = standing(mannequin), mannequin.require_roles()
    heel, ball = (mannequin.contacts[f"left_{part}"] for part in ("heel", "ball"))
    plants = [
        Footplant(point=point, place=Kinematics(motion).point(point)[0], frames=frames, ramp=(0.1, 0.1))
        for point, frames in ((heel, range(10)), (ball, range(FRAMES)))
    ]
    rotations, foot, toes = np.array(motion.rotations), roles["left_foot"], roles["left_toes"]
    pitch = np.clip(np.arange(FRAMES) - 9.0, 0.0, None)[:, None] * np.radians([1.0, 0.0, 0.0])
    rotations[:, foot] = rotation.multiply(rotations[:, foot], rotation.exp(pitch))
    found = flatten_toes(replace(motion, rotations=rotations), mannequin, plants, FLOOR)
    turned = Kinematics(found).rotations[:, toes]
    assert np.linalg.norm(rotation.log(rotation.multiply(turned, rotation.inverse(turned[0]))), axis=1).max() < 1e-3
    assert np.ptp(Kinematics(found).rotations[:, foot], axis=0).max() > 0.03
