"""A captured walk solved from its markers, beside the motion of the same take that was published."""

from __future__ import annotations

from functools import cache

import numpy as np

from footplant import rotation
from footplant.edits.markers import solve
from footplant.io import load
from footplant.kinematics import Kinematics


def flexion(places: np.ndarray, roles, near: str, far: str) -> np.ndarray:
    """How far forward of straight down a limb points, in the plane that the pelvis faces, radians."""
    limb = places[:, roles[far]] - places[:, roles[near]]
    left = places[:, roles["left_upper_leg"]] - places[:, roles["right_upper_leg"]]
    forward = np.cross(left, [0.0, 1.0, 0.0])
    forward /= np.linalg.norm(forward, axis=1)[:, None]
    return np.arctan2(np.sum(limb * forward, axis=1), -limb[:, 1])


def bend(first: np.ndarray, middle: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The angle at the middle, radians."""
    a, b = first - middle, last - middle
    return np.arccos(np.sum(a * b, axis=-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1))


@cache
def of_cmu():
    from conftest import shared_data
    from footplant.io import load_markers

    markers = load_markers(shared_data("c3d/cmu_02_01.c3d"))
    return markers, solve(markers)


def test_cmu_walk_against_its_own_markers_and_its_published_motion(shared) -> None:
    markers, solved = of_cmu()
    published = load(shared / "bvh/cmu/02_01.bvh")
    assert solved.report.marker_set == "CMU 41"
    assert solved.report.median < 4.0
    ours, roles = Kinematics(solved.clip.motion).positions, solved.clip.character.require_roles()
    # the published motion has a pose more, before the first frame
    theirs, their_roles = Kinematics(published.motion).positions[1:], published.character.require_roles()
    for side in ("left", "right"):
        limbs = (("upper_leg", "lower_leg"), ("lower_leg", "foot"), ("foot", "toes"), ("upper_arm", "lower_arm"))
        for near, far in limbs:
            pair = (f"{side}_{near}", f"{side}_{far}")
            both = flexion(ours, roles, *pair), flexion(theirs, their_roles, *pair)
            assert np.corrcoef(*both)[0, 1] > 0.97, pair
        bends = {("upper_arm", "lower_arm", "hand"): 0.97, ("upper_leg", "lower_leg", "foot"): 0.92,
                 ("lower_leg", "foot", "toes"): 0.91}  # fmt: skip
        for parts, least in bends.items():
            limb = [f"{side}_{part}" for part in parts]
            both = [bend(*(x[:, r[role]] for role in limb)) for x, r in ((ours, roles), (theirs, their_roles))]
            assert np.corrcoef(*both)[0, 1] > least, limb
        mark = side[0].upper()
        labels = ("FWT", "BWT", "KNE", "ANK", "TOE")
        place = {label: markers.positions[:, markers.index(mark + label)] for label in labels}
        leg = [ours[:, roles[f"{side}_{part}"]] for part in ("upper_leg", "lower_leg", "foot", "toes")]
        knee = bend(0.5 * (place["FWT"] + place["BWT"]), place["KNE"], place["ANK"])
        assert np.corrcoef(bend(*leg[:3]), knee)[0, 1] > 0.97
        assert np.corrcoef(bend(*leg[1:]), bend(place["KNE"], place["ANK"], place["TOE"]))[0, 1] > 0.97


def similarity(points: np.ndarray, to: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Scale, turn and shift that bring points onto others (Umeyama 1991)."""
    here, there = points.reshape(-1, 3).mean(axis=0), to.reshape(-1, 3).mean(axis=0)
    u, sizes, v = np.linalg.svd((to.reshape(-1, 3) - there).T @ (points.reshape(-1, 3) - here))
    flip = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ v))])
    scale = float(np.sum(sizes * flip) / np.sum((points.reshape(-1, 3) - here) ** 2))
    turn = u @ np.diag(flip) @ v
    return scale, turn, there - scale * turn @ here


LIMBS = ("upper_leg", "lower_leg", "foot", "toes", "upper_arm", "lower_arm", "hand")
WORN = {"upper_leg": "THI KNE", "lower_leg": "SHN ANK", "foot": "HEE TOE MT5", "upper_arm": "UPA ELB",
        "lower_arm": "FRM WRA WRB"}  # fmt: skip


def test_cmu_walk_is_where_its_published_motion_is(shared) -> None:
    """The two skeletons put joints elsewhere in the segments; beside that they are within 3 cm of each other.

    Of the two, ours is the one in which markers stay where they are on their segments.
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
