"""A captured walk solved from its markers, against the published motion of the same take."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from footplant import rotation
from footplant.io import load
from footplant.kinematics import Kinematics
from footplant.optical.body import MarkerBody, Poses, pose_markers
from footplant.optical.marker_sets import recognise
from footplant.optical.pose import solve_poses
from footplant.optical.solve import solve_markers
from thorough import thorough


def flexion(places: np.ndarray, roles, near: str, far: str) -> np.ndarray:
    """Return the forward angle of a limb from straight down, in the pelvis's sagittal plane, radians."""
    limb = places[:, roles[far]] - places[:, roles[near]]
    left = places[:, roles["left_upper_leg"]] - places[:, roles["right_upper_leg"]]
    forward = np.cross(left, [0.0, 1.0, 0.0])
    forward /= np.linalg.norm(forward, axis=1)[:, None]
    return np.arctan2(np.sum(limb * forward, axis=1), -limb[:, 1])


def bend(first: np.ndarray, middle: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return the angle at the middle point, radians."""
    a, b = first - middle, last - middle
    return np.arccos(np.sum(a * b, axis=-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1))


@cache
def of_cmu():
    from conftest import shared_data
    from footplant.io import load_markers

    markers = load_markers(shared_data("c3d/cmu_02_01.c3d"))
    return markers, solve_markers(markers)


pytestmark = pytest.mark.usefixtures("coarse_calibration")
EVERY = thorough(5, 1)
"""Of the poses that are solved on the published skeleton, one in so many frames."""


@pytest.mark.named("c3d/cmu_02_01.c3d")
def test_cmu_walk_against_its_own_markers_and_its_published_motion(shared) -> None:
    markers, solved = of_cmu()
    published = load(shared / "bvh/cmu/02_01.bvh")
    assert solved.report.markers[0].marker_set == "CMU 41"
    assert solved.report.markers[0].median < 4.0
    ours, roles = Kinematics(solved.clip.motion).positions, solved.clip.character.require_roles()
    # the published motion has one more pose, before the first frame
    theirs, their_roles = Kinematics(published.motion).positions[1:], published.character.require_roles()
    for side in ("left", "right"):
        limbs = (("upper_leg", "lower_leg"), ("lower_leg", "foot"), ("foot", "toes"), ("upper_arm", "lower_arm"))
        for near, far in limbs:
            pair = (f"{side}_{near}", f"{side}_{far}")
            both = flexion(ours, roles, *pair), flexion(theirs, their_roles, *pair)
            assert np.corrcoef(both)[0, 1] > 0.97, pair
        bends = {("upper_arm", "lower_arm", "hand"): 0.97, ("upper_leg", "lower_leg", "foot"): 0.92,
                 ("lower_leg", "foot", "toes"): 0.91}  # fmt: skip
        for parts, least in bends.items():
            limb = [f"{side}_{part}" for part in parts]
            both = [bend(*(x[:, r[role]] for role in limb)) for x, r in ((ours, roles), (theirs, their_roles))]
            assert np.corrcoef(both)[0, 1] > least, limb
        mark = side[0].upper()
        labels = ("FWT", "BWT", "KNE", "ANK", "TOE")
        place = {label: markers.positions[:, markers.index(mark + label)] for label in labels}
        leg = [ours[:, roles[f"{side}_{part}"]] for part in ("upper_leg", "lower_leg", "foot", "toes")]
        knee = bend(0.5 * (place["FWT"] + place["BWT"]), place["KNE"], place["ANK"])
        assert np.corrcoef(bend(*leg[:3]), knee)[0, 1] > 0.97
        assert np.corrcoef(bend(*leg[1:]), bend(place["KNE"], place["ANK"], place["TOE"]))[0, 1] > 0.97


def joint_turn(rotations: np.ndarray, parent: int, joint: int) -> np.ndarray:
    """Return the rotation of a joint from its pose mid-take, about its main axis, radians."""
    turned = rotation.multiply(rotation.inverse(rotations[:, parent]), rotations[:, joint])
    turns = rotation.log(rotation.multiply(rotation.inverse(turned[len(turned) // 2]), turned))
    return turns @ np.linalg.svd(turns - turns.mean(axis=0), full_matrices=False)[2][0]


# tolerances of each joint's angle against the published one; knees and ankles are discussed in the documentation
LEAST = {"upper_leg": 0.97, "upper_arm": 0.97, "lower_arm": 0.97, "lower_leg": 0.92, "foot": 0.93}


@pytest.mark.named("c3d/cmu_02_01.c3d")
def test_cmu_joint_angles_are_those_of_the_published_motion(shared) -> None:
    _, solved = of_cmu()
    published = load(shared / "bvh/cmu/02_01.bvh")
    both = ((Kinematics(solved.clip.motion), solved.clip.character.require_roles()),
            (Kinematics(published.motion[1:]), published.character.require_roles()))  # fmt: skip
    parents = {"upper_leg": "hips", "upper_arm": "spine", "lower_arm": "{}_upper_arm", "lower_leg": "{}_upper_leg",
               "foot": "{}_lower_leg"}  # fmt: skip
    for side in ("left", "right"):
        for part, least in LEAST.items():
            parent = parents[part].format(side)
            angles = [joint_turn(x.rotations, r[parent], r[f"{side}_{part}"]) for x, r in both]
            assert abs(np.corrcoef(angles)[0, 1]) > least, (side, part)


@pytest.mark.named("c3d/cmu_02_01.c3d")
def test_cmu_markers_on_the_published_skeleton_are_within_three_centimetres(shared) -> None:
    """With the published bones and mean marker offsets: our poses against the published ones, without calibration.

    Both are in the same space: rotated by a right angle, neither scaled nor shifted, the published root moves with the
    markers of the waist.
    """
    markers, _ = of_cmu()
    published = load(shared / "bvh/cmu/02_01.bvh")
    # every frame is solved by itself
    markers, known = markers[::EVERY], published.motion[1::EVERY]
    theirs, character = Kinematics(known), published.character
    turn = rotation.from_axis_angle([0.0, 1.0, 0.0], np.pi / 2.0)
    places, rotations = rotation.rotate(turn, theirs.positions), rotation.multiply(turn, theirs.rotations)
    waist = np.mean([markers.positions[:, markers.index(x)] for x in ("LFWT", "RFWT", "LBWT", "RBWT")], axis=0)
    apart = places[:, character.require_roles()["hips"]] - waist
    assert np.abs(apart.mean(axis=0)).max() < 0.012
    assert apart.std(axis=0).max() < 0.01
    stuck = recognise(markers.labels)[1]
    body, seen = MarkerBody.of(character, stuck), markers.positions[:, [item.marker for item in stuck]]
    on = body.segments
    offsets = rotation.rotate(rotation.inverse(rotations[:, on]), seen - places[:, on]).mean(axis=0)
    start = np.array(known.rotations)
    start[:, 0] = rotation.multiply(turn, start[:, 0])
    posed = solve_poses(
        body, np.array(character.skeleton.offsets), offsets, seen,
        Poses(rotation.rotate(turn, known.root), start), spread=0.01, outlier=0.1, iterations=60,
    )  # fmt: skip
    joints = pose_markers(body, np.array(character.skeleton.offsets), offsets, posed).joints
    roles = character.require_roles()
    names = [roles[f"{side}_{part}"] for side in ("left", "right") for part in LIMBS] + [roles["hips"]]
    away = np.linalg.norm((joints - places)[:, names], axis=-1)
    assert np.sqrt(np.mean(away**2)) < 0.03


def similarity(points: np.ndarray, to: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return scale, rotation and shift that map points onto others (Umeyama 1991)."""
    here, there = points.reshape(-1, 3).mean(axis=0), to.reshape(-1, 3).mean(axis=0)
    u, sizes, v = np.linalg.svd((to.reshape(-1, 3) - there).T @ (points.reshape(-1, 3) - here))
    flip = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ v))])
    scale = float(np.sum(sizes * flip) / np.sum((points.reshape(-1, 3) - here) ** 2))
    turn = u @ np.diag(flip) @ v
    return scale, turn, there - scale * turn @ here


LIMBS = ("upper_leg", "lower_leg", "foot", "toes", "upper_arm", "lower_arm", "hand")
WORN = {"upper_leg": "THI KNE", "lower_leg": "SHN ANK", "foot": "HEE TOE MT5", "upper_arm": "UPA ELB",
        "lower_arm": "FRM WRA WRB"}  # fmt: skip


@pytest.mark.named("c3d/cmu_02_01.c3d")
def test_cmu_walk_is_where_its_published_motion_is(shared) -> None:
    """The two skeletons place joints differently in the segments; apart from that they agree within 3 cm.

    Of the two, ours is the one in which markers stay fixed on their segments.
    """
    markers, solved = of_cmu()
    published = load(shared / "bvh/cmu/02_01.bvh")
    ours, theirs = Kinematics(solved.clip.motion), Kinematics(published.motion[1:])
    roles, their_roles = solved.clip.character.require_roles(), published.character.require_roles()
    names = [f"{side}_{part}" for side in ("left", "right") for part in LIMBS] + ["hips"]
    mine, turned = (np.stack([x[:, roles[name]] for name in names], axis=1) for x in (ours.positions, ours.rotations))
    other = np.stack([theirs.positions[:, their_roles[name]] for name in names], axis=1)
    offsets = np.zeros((len(names), 3))
    for _ in range(20):
        scale, turn, shift = similarity(other, mine + rotation.rotate(turned, offsets))
        apart = scale * other @ turn.T + shift - mine
        offsets = rotation.rotate(rotation.inverse(turned), apart).mean(axis=0)
    assert abs(scale - 1.0) < 0.01
    left = np.linalg.norm(apart - rotation.rotate(turned, offsets), axis=-1)
    assert np.sqrt(np.mean(left**2)) < 0.03

    def slide(places: np.ndarray, rotations: np.ndarray, role: int, label: str) -> float:
        at = markers.positions[:, markers.index(label)] - places[:, role]
        return float(np.sqrt(rotation.rotate(rotation.inverse(rotations[:, role]), at).var(axis=0).sum()))

    places = scale * theirs.positions @ turn.T + shift
    rotations = rotation.multiply(rotation.from_matrix(turn), theirs.rotations)
    slides = []
    for side in ("left", "right"):
        for part, labels in WORN.items():
            for label in labels.split():
                name = f"{side}_{part}"
                own = slide(ours.positions, ours.rotations, roles[name], side[0].upper() + label)
                slides.append((own, slide(places, rotations, their_roles[name], side[0].upper() + label)))
    both = np.sqrt(np.mean(np.square(slides), axis=0))
    assert both[0] < 0.006
    assert both[1] > 0.015
