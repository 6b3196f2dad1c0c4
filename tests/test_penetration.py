"""The posed skin: depths inside meshes against exact values, and faults of a figure of blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from block_figure import Pose, box
from footplant.quality import _penetration as kernel
from footplant.quality.fidelity import Fidelity, fidelity
from footplant.quality.penetration import PROP, BodyParts, _curve_order

MM = 1000.0
"""The skin of the figure is 1.7 m tall: its millimetres are those that are told."""


def sphere(radius: float = 1.0, rings: int = 24, sectors: int = 48):
    """Return a sphere, vertices and triangles that point outwards."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, rings), np.linspace(0, 2 * np.pi, sectors), indexing="ij")
    places = np.stack([np.sin(polar) * np.cos(around), np.cos(polar), np.sin(polar) * np.sin(around)], axis=-1)
    a = (np.arange(rings - 1)[:, None] * sectors + np.arange(sectors - 1)).ravel()
    b, c, d = a + 1, a + sectors + 1, a + sectors
    faces = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    return radius * places.reshape(-1, 3), faces


def tree_of(vertices, faces, leaves: int | None = None):
    faces = np.ascontiguousarray(faces[_curve_order(vertices[faces].mean(axis=1))])
    leaves = leaves or 1 << max(0, int(np.ceil(np.log2(len(faces) / 6))))
    return faces, (np.empty((len(faces), 9)), np.empty((2 * leaves, kernel.FIELDS)), np.empty(64, np.int64))


def depths_of(vertices, faces, points):
    """Return the depth of points in a mesh, by the kernel."""
    faces, tree = tree_of(vertices, faces)
    every = np.concatenate([vertices, points])
    out = np.empty(len(points))
    kernel.depths(every, faces, np.arange(len(vertices), len(every)), tree, out)
    return out


def exact_winding(vertices, faces, points):
    corners = vertices[faces]
    out = []
    for point in points:
        a, b, c = (corners[:, k] - point for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        volume = np.einsum("tk,tk->t", a, np.cross(b, c))
        below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        out.append(2.0 * np.arctan2(volume, below).sum() / (4.0 * np.pi))
    return np.array(out)


def test_depth_in_a_box():
    vertices, faces = box((-1.0, -2.0, -3.0), (1.0, 2.0, 3.0))
    points = np.array(
        [[0.0, 0.0, 0.0], [0.9, 0.0, 0.0], [0.0, -1.75, 2.9], [1.1, 0.0, 0.0], [0.5, 1.5, 2.0], [9, 9, 9]]
    )
    assert depths_of(vertices, faces, points) == pytest.approx([1.0, 0.1, 0.1, 0.0, 0.5, 0.0], abs=1e-12)


def test_a_sphere_in_a_box_is_as_deep_as_planted():
    walls, faces = box((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    ball, _ = sphere(0.2)
    depths = depths_of(walls, faces, ball + [1.1, 0.0, 0.0])
    assert depths.max() == pytest.approx(0.1, abs=1e-3)
    assert (depths[ball[:, 0] > -0.1] == 0.0).all()


def test_depth_in_a_sphere():
    vertices, faces = sphere()
    points = np.random.default_rng(1).normal(size=(300, 3)) * 0.7
    expected = np.maximum(1.0 - np.linalg.norm(points, axis=1), 0.0)
    assert depths_of(vertices, faces, points) == pytest.approx(expected, abs=0.01)


def test_a_mesh_with_a_hole_has_an_inside():
    vertices, faces = box((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), cells=6)
    open_top = faces[vertices[faces][:, :, 1].min(axis=1) < 0.999]
    assert len(open_top) == len(faces) * 5 // 6
    points = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 1.3, 0.0], [0.9, 0.2, 0.1]])
    depths = depths_of(vertices, open_top, points)
    assert depths[[0, 3]] == pytest.approx([1.0, 0.1], abs=1e-12)
    assert depths[1] > 0.0
    assert depths[2] == 0.0


@pytest.mark.parametrize("kept", [1.0, 0.8])
def test_winding_numbers_against_the_sum_over_all_triangles(kept):
    vertices, faces = sphere(rings=40, sectors=60)
    faces = faces[vertices[faces][:, :, 1].mean(axis=1) < 2.0 * kept - 1.0]
    points = np.random.default_rng(2).normal(size=(200, 3))
    expected = exact_winding(vertices, faces, points)
    faces, tree = tree_of(vertices, faces)
    corners, nodes, stack = tree
    kernel.refit(vertices, faces, corners, nodes)
    found = np.array([kernel.winding(corners, nodes, stack, *point) for point in points])
    assert found == pytest.approx(expected, abs=0.01)


def test_distance_from_a_triangle():
    """Against a fine grid over the triangle."""
    random = np.random.default_rng(3)
    for _ in range(50):
        point, a, b, c = random.normal(size=(4, 3))
        u, v = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
        keep = u + v <= 1.0
        places = a + u[keep][:, None] * (b - a) + v[keep][:, None] * (c - a)
        expected = np.linalg.norm(places - point, axis=1).min()
        assert kernel.triangle_distance(tuple(point), tuple(a), tuple(b), tuple(c)) ** 0.5 == pytest.approx(
            expected, abs=0.01
        )
        assert kernel.triangle_distance(tuple(point), tuple(a), tuple(b), tuple(c)) ** 0.5 <= expected + 1e-9


@pytest.mark.parametrize("offset", [0.0, 0.6, 1.1, 1.5])
def test_deepest_is_the_largest_of_all_depths(offset):
    walls, faces = sphere(1.0)
    ball, _ = sphere(0.5, 12, 20)
    every = np.concatenate([walls, ball + [offset, 0.1, 0.0]])
    query = np.arange(len(walls), len(every))
    faces, tree = tree_of(walls, faces)
    depths = np.empty(len(query))
    kernel.depths(every, faces, query, tree, depths)
    groups, at_rest = (query % 3).astype(np.int64), 0.05 * (query % 2)
    depth, row = np.empty(3), np.empty(3, np.int64)
    kernel.deepest(every, faces, query, groups, at_rest, tree, depth, row)
    for group in range(3):
        own = (depths - at_rest)[groups == group]
        assert depth[group] == pytest.approx(max(own.max(), 0.0), abs=1e-9)
        assert (row[group] < 0) == (own.max() <= 0.0)
        if row[group] >= 0:
            assert depths[row[group]] - at_rest[row[group]] == pytest.approx(depth[group], abs=1e-9)


def test_gap_between_meshes():
    vertices, faces = box((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    other = box((1.25, 0.0, 0.0), (2.0, 0.5, 0.5))[0]
    every = np.concatenate([vertices, other])
    faces, tree = tree_of(vertices, faces)
    assert kernel.gap(every, faces, np.arange(len(vertices), len(every)), tree) == pytest.approx(0.25, abs=1e-12)


def compare(source: Pose, result: Pose, **options) -> Fidelity:
    found = fidelity(source.both, result.both, **options)
    assert found is not None
    return found


def test_the_figure_at_rest_has_no_faults():
    found = compare(Pose(), Pose())
    assert found.arm_in_torso_mm == found.hand_in_head_mm == found.hand_in_legs_mm == found.leg_in_leg_mm == 0.0
    assert found.below_floor_mm == pytest.approx(0.0, abs=1e-9)
    assert found.stands_off_floor_mm == pytest.approx(0.0, abs=1e-9)
    assert found.sole_tilt_deg == pytest.approx(0.0, abs=1e-6)
    assert not [clause for clause in found.not_right() if "inside" in clause]


def test_a_forearm_34_mm_inside_the_trunk():
    """Trunk to x = 0.15, forearm from 0.21: shifted by 0.06 + 0.034 for two of the 24 frames."""
    inwards = 0.06 + 0.034
    frames = np.linspace(0, 119, 24).astype(int)
    result = Pose()
    for frame in frames[5:7]:
        result.shift("left_lower_arm", (-inwards, 0.0, 0.0), rows=slice(frame, frame + 1))
    found = compare(Pose(), result)
    assert found.arm_in_torso_mm == pytest.approx(34.0, abs=1e-6)
    assert found.arm_in_torso_pct == pytest.approx(100.0 * 2 / 24)
    frame = int(frames[5])
    assert found.places["arm_in_torso_mm"] == f"left forearm inside the trunk, frame {frame}"
    assert f"left forearm 34 mm inside the trunk at frame {frame}, in 8 % of frames" in found.not_right()


def test_what_is_inside_at_rest_counts_only_as_far_as_it_goes_deeper():
    pose, result = Pose(), Pose()
    for each in (pose, result):
        # boxes of the arms are bound 0.1 m further inwards: their inner sides are inside the trunk at rest
        skin = each.character.skin
        moved = np.array(skin.vertices)
        arm = each.character.skeleton.names.index("left_lower_arm")
        moved[skin.joints[:, 0] == arm, 0] -= 0.1
        each.character = replace(each.character, skin=replace(skin, vertices=moved))
    assert compare(pose, pose).arm_in_torso_mm == 0.0
    result.shift("left_lower_arm", (-0.02, 0.0, 0.0))
    assert compare(pose, result).arm_in_torso_mm == pytest.approx(0.02 * MM, abs=1e-6)


def test_legs_and_hands_in_legs():
    """Shins are 0.08 apart; a hand is 0.06 from the thigh that it hangs beside, and overlaps it by 0.15 in height."""
    some = slice(0, 40)
    shin = compare(Pose(), Pose().shift("right_lower_leg", (0.1, 0.0, 0.0), rows=some))
    assert shin.leg_in_leg_mm == pytest.approx(20.0, abs=1e-6)
    assert shin.places["leg_in_leg_mm"].endswith("leg, frame 0")
    hand = compare(Pose(), Pose().shift("left_hand", (-0.09, 0.0, 0.0), rows=some))
    assert hand.hand_in_legs_mm == pytest.approx(30.0, abs=1e-6)
    assert hand.places["hand_in_legs_mm"] == "left hand inside the left leg, frame 0"


def test_skin_below_the_floor():
    result = Pose().shift("hips", (0.0, -0.012, 0.0), rows=slice(119, 120))
    found = compare(Pose(), result)
    assert found.below_floor_mm == pytest.approx(12.0, abs=1e-6)
    assert found.places["below_floor_mm"] == "frame 119"
    raised = compare(Pose(), Pose().shift("hips", (0.0, 0.05, 0.0)))
    assert raised.below_floor_mm == pytest.approx(0.0, abs=1e-9)
    assert raised.stands_off_floor_mm == pytest.approx(50.0, abs=1e-6)
    # a given ground decides, and there is no standing level to compare
    given = compare(Pose(), Pose(), ground=0.01)
    assert given.below_floor_mm == pytest.approx(0.01 * MM, abs=1e-6)
    assert given.stands_off_floor_mm is None


def test_tilted_soles():
    found = compare(Pose(), Pose().turn("left_foot", 6.0).turn("right_foot", 6.0))
    assert found.sole_tilt_deg == pytest.approx(6.0, abs=1e-6)


def test_hands_farther_from_the_body():
    source = Pose()
    near, far = Pose(), Pose().shift("left_lower_arm", (0.3, 0.0, 0.0)).shift("right_lower_arm", (-0.3, 0.0, 0.0))
    source.shift("left_lower_arm", (-0.08, 0.0, 0.0)).shift("right_lower_arm", (0.08, 0.0, 0.0))
    gaps = [compare(source, each).hand_body_gap_mm for each in (near, far)]
    assert None not in gaps
    assert gaps[1] - gaps[0] > 150.0


def test_props_are_no_part_of_the_body():
    pose = Pose()
    skin = pose.character.skin
    sword, faces = box((0.2, 0.3, -0.02), (0.24, 1.5, 0.02))
    hand = pose.character.skeleton.names.index("left_hand")
    with_sword = replace(
        skin,
        vertices=np.concatenate([skin.vertices, sword]),
        faces=np.concatenate([skin.faces, faces + len(skin.vertices)]),
        joints=np.concatenate([skin.joints, np.full((len(sword), 1), hand)]),
        weights=np.ones((len(skin.vertices) + len(sword), 1)),
        attached=np.arange(len(skin.vertices) + len(sword)) >= len(skin.vertices),
    )
    body = BodyParts(replace(pose.character, skin=with_sword), with_sword)
    assert (body.part == PROP).sum() == len(sword)
    # when everything is attached, as in a robot, the attached meshes are the body
    robot = replace(with_sword, attached=np.ones(len(with_sword.vertices), bool))
    assert not (BodyParts(pose.character, robot).part == PROP).any()
