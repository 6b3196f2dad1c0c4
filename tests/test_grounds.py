"""Grounds: kernels against NumPy twins, stairs, rough terrain, meshes, footing, and grounds from names and files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from footplant import geometry, grounds, samples
from footplant.errors import FormatError
from footplant.feet.footing import SAMPLES, sole_length, support_of
from footplant.io.ground_files import SETTINGS, Course, GroundOptions, load_ground

COURSE = Course((0.0, 0.0), (-2.0, -2.0), (2.0, 8.0), 0.0, 1.75)


def _basis(kind: str, t: np.ndarray) -> np.ndarray:
    """(N, 4) weights of the four grid points around t, by their power forms."""
    t = t[:, None]
    powers = np.concatenate([np.ones_like(t), t, t**2, t**3], axis=1)
    matrix = {
        "linear": [[0, 1, 0, 0], [0, -1, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        "cubic": [[0, 1, 0, 0], [-0.5, 0, 0.5, 0], [1, -2.5, 2, -0.5], [-0.5, 1.5, -1.5, 0.5]],
        "bspline": [[1 / 6, 4 / 6, 1 / 6, 0], [-0.5, 0, 0.5, 0], [0.5, -1, 0.5, 0], [-1 / 6, 0.5, -0.5, 1 / 6]],
    }[kind]
    return powers @ np.array(matrix)


def _heights_numpy(field: geometry.HeightField, places: np.ndarray) -> np.ndarray:
    """The twin of the kernel `height_field.sample`, heights only."""
    size = np.array(field.heights.shape)
    grid = np.clip((places - field.origin) / field.spacing, 0.0, size - 1.0)
    cell = np.minimum(grid.astype(int), size - 2)
    wx, wz = (_basis(field.basis, (grid - cell)[:, axis]) for axis in (0, 1))
    around = np.arange(-1, 3)
    rows, columns = (np.clip(cell[:, axis, None] + around, 0, size[axis] - 1) for axis in (0, 1))
    return np.einsum("na,nb,nab->n", wx, wz, field.heights[rows[:, :, None], columns[:, None, :]])


@pytest.mark.parametrize("basis", ["linear", "cubic", "bspline"])
def test_height_field_kernel_agrees_with_its_numpy_twin(basis):
    rng = np.random.default_rng(2)
    field = geometry.HeightField(rng.normal(size=(7, 5)), 0.6, (-1.0, 0.5), basis)
    places = rng.uniform([-2.0, -0.5], [4.0, 4.0], (300, 2))
    assert np.abs(field.height(places) - _heights_numpy(field, places)).max() < 1e-12
    inside = rng.uniform([-0.9, 0.6], [2.5, 2.8], (100, 2))
    step = 1e-6
    slopes = [
        (_heights_numpy(field, inside + shift) - _heights_numpy(field, inside - shift)) / (2 * step)
        for shift in step * np.eye(2)
    ]
    normal = field.normal(inside)
    # a linear basis has corners, on which a position may lie
    near = np.abs(((inside - field.origin) / field.spacing) % 1.0 - 0.5).max(axis=1) < 0.499
    assert np.allclose(-normal[near, 0] / normal[near, 1], slopes[0][near], atol=1e-6)
    assert np.allclose(-normal[near, 2] / normal[near, 1], slopes[1][near], atol=1e-6)


def test_unknown_basis_is_refused():
    with pytest.raises(ValueError, match="expected a basis among linear, cubic, bspline, got 'wavy'"):
        geometry.HeightField(np.zeros((2, 2)), 1.0, basis="wavy")  # type: ignore[arg-type]


def test_stairs():
    stairs = grounds.Stairs(0.2, 0.5, 3, (0.0, 1.0), level=0.1)
    z = np.array([0.0, 0.99, 1.01, 1.49, 1.51, 2.01, 9.0])
    places = np.stack([np.full_like(z, 3.0), z], axis=1)
    assert np.allclose(stairs.height(places), [0.1, 0.1, 0.3, 0.3, 0.5, 0.7, 0.7])
    assert np.allclose(stairs.normal(places), [0.0, 1.0, 0.0])
    to_the_left = replace(stairs, heading=np.pi / 2, start=(1.0, 0.0))
    assert to_the_left.height([1.2, 7.0]) == pytest.approx(0.3)
    with pytest.raises(ValueError, match="run above 0"):
        grounds.Stairs(0.2, 0.0)


def test_slope_rises_along_its_heading_through_its_point():
    slope = grounds.slope(10.0, np.pi / 2, (1.0, 0.5, 2.0))
    assert slope.height([1.0, 2.0]) == pytest.approx(0.5)
    assert slope.height([2.0, -3.0]) == pytest.approx(0.5 + np.tan(np.radians(10.0)))


def test_rough_terrain_is_the_same_for_any_region():
    one = grounds.rough(5, 0.35, 1.4, (-2.0, -2.0), (3.0, 9.0))
    other = grounds.rough(5, 0.35, 1.4, (1.0, 4.0), (9.0, 20.0))
    places = np.random.default_rng(0).uniform([1.0, 4.0], [3.0, 9.0], (50, 2))
    assert np.allclose(one.height(places), other.height(places), atol=1e-12)
    assert np.abs(one.heights).max() <= 0.35
    assert np.ptp(one.height(places)) > 0.05
    assert not np.allclose(grounds.rough(6, 0.35, 1.4, (1, 4), (3, 9)).height(places), one.height(places))


def test_mesh_becomes_the_highest_of_its_triangles():
    """Against a dense search: the height at a position is that of the highest triangle that covers it."""
    rng = np.random.default_rng(4)
    vertices, faces = rng.uniform(-1.0, 1.0, (24, 3)), np.arange(24).reshape(8, 3)
    field = grounds.rasterized(vertices, faces, 0.05)
    x, z = (field.origin[a] + field.spacing * np.arange(field.heights.shape[a]) for a in (0, 1))
    expected = np.full(field.heights.shape, vertices[:, 1].min())
    for a, b, c in vertices[faces]:
        basis = np.linalg.inv(np.stack([b - a, c - a], axis=1)[[0, 2]])
        places = np.stack(np.meshgrid(x, z, indexing="ij"), axis=-1) - a[[0, 2]]
        u, v = np.moveaxis(places @ basis.T, -1, 0)
        height = a[1] + u * (b[1] - a[1]) + v * (c[1] - a[1])
        expected = np.where((u >= 0) & (v >= 0) & (u + v <= 1), np.maximum(expected, height), expected)
    assert np.abs(field.heights - expected).max() < 1e-9


def test_grounds_by_name():
    noise = load_ground("noise:3", COURSE)
    assert isinstance(noise, geometry.HeightField)
    assert noise.spacing == pytest.approx(0.8 * 1.75)
    assert np.abs(noise.heights).max() <= 0.2 * 1.75
    assert load_ground("noise:3:0.1:2", COURSE).spacing == 2.0  # type: ignore[attr-defined]
    stairs = load_ground("stairs:0.17:0.3:4", COURSE)
    assert isinstance(stairs, grounds.Stairs)
    first_step = (0.0, pytest.approx(SETTINGS.stairs_distance * 1.75))
    assert (stairs.rise, stairs.run, stairs.count, stairs.start) == (0.17, 0.3, 4, first_step)
    turned = load_ground("stairs:0.17:0.3:4:0.5:90", COURSE)
    assert isinstance(turned, grounds.Stairs)
    # 90° to the left of +z is +x
    assert (turned.start, turned.heading) == (pytest.approx((0.5, 0.0)), pytest.approx(COURSE.heading + np.pi / 2))
    assert load_ground("slope:10", COURSE).height(np.array([0.0, 1.0])) == pytest.approx(np.tan(np.radians(10.0)))
    # 90° to the left of +z is +x
    assert load_ground("slope:10:90", COURSE).height(np.array([1.0, 0.0])) == pytest.approx(np.tan(np.radians(10.0)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("noise", "expected noise:SEED"),
        ("noise:x", "expected numbers"),
        ("noise:1.5", "whole number as seed"),
        ("noise:1:0.3:0", "spacing above 0"),
        ("noise:1:0.3:0.00001", "farther apart"),
        ("stairs:0.2", r"stairs:RISE:RUN\[:COUNT\[:START\[:HEADING\]\]\], got 1 values"),
        ("stairs:0.2:-1", "run above 0"),
        ("stairs:nan:1", "finite"),
        ("slope:85", "−60° to 60°"),
        ("stones:0.4", r"stones:SIZE:GAP\[:SEED\[:JITTER\[:COUNT\[:START\[:HEADING\]\]\]\]\], got 1 values"),
        ("stones:0.4:0.3:1.5", "whole number as seed"),
        ("stones:0.4:0.3:1:0:2.5", "whole number as number of stones"),
        ("stones:0.4:0.3:1:0.2", "jitter of 0 to half of the gap, 0.15 m, got 0.2"),
        ("stones:0:0.3", "size of a stone"),
        ("beam:0.2", r"beam:WIDTH:HEIGHT\[:LENGTH\[:START\[:HEADING\]\]\], got 1 values"),
        ("beam:0.2:0", "height of a beam other than 0"),
        ("beam:-0.2:0.1", "width of a beam"),
        ("hills.obj", "no such file, and no ground of that name; expected noise, stairs, slope"),
    ],
)
def test_invalid_names_are_reported(text, words):
    with pytest.raises(FormatError, match=words):
        load_ground(text, COURSE)


def test_stepping_stones_are_level_with_the_banks_of_a_deep_ditch():
    ground = load_ground("stones:0.4:0.3:5:0:3:1:90", COURSE)
    # 90° to the left of +z is +x; the ditch begins after 1 m, its three stones are 0.7 m apart
    x = np.array([0.9, 1.05, 1.25, 1.35, 1.65, 1.75, 2.1, 2.55, 2.9, 3.25, 3.45])
    deep = -SETTINGS.stones_depth * COURSE.height
    expected = [0.0, deep, deep, 0.0, 0.0, deep, 0.0, deep, 0.0, deep, 0.0]
    assert np.allclose(ground.height(np.stack([x, np.zeros_like(x)], axis=1)), expected)
    assert ground.height(np.array([1.5, 0.19])) == 0.0
    assert ground.height(np.array([1.5, 0.21])) == pytest.approx(deep)
    assert np.allclose(ground.normal(np.array([1.5, 0.0])), [0.0, 1.0, 0.0])


def test_stones_are_displaced_by_a_seed_as_far_as_the_jitter():
    rows = [grounds.stones(0.4, 0.3, seed, 0.1, 40) for seed in (0, 0, 1)]
    places = [np.array([piece.place for piece in row.pieces])[:, ::2] for row in rows]
    assert np.array_equal(places[0], places[1])
    assert not np.allclose(places[0], places[2])
    straight = np.array([piece.place for piece in grounds.stones(0.4, 0.3, count=40).pieces])[:, ::2]
    away = np.abs(places[0] - straight).max(axis=0)
    assert (away <= 0.1).all()
    assert (away > 0.09).all()


def test_beams_stand_on_the_ground_or_bridge_a_ditch():
    places = np.array([[0.0, 0.9], [0.0, 1.1], [0.09, 2.9], [0.11, 2.0], [0.11, 3.1]])
    assert np.allclose(load_ground("beam:0.2:0.15:2:1", COURSE).height(places), [0.0, 0.15, 0.15, 0.0, 0.0])
    assert np.allclose(load_ground("beam:0.2:-0.5:2:1", COURSE).height(places), [0.0, 0.0, 0.0, -0.5, 0.0])


def test_grounds_for_planned_steps_are_refused_where_none_are_planned():
    for text in ("stones:0.4:0.3", "beam:0.2:0.15"):
        with pytest.raises(FormatError, match="must be planned, as footplant terrain does"):
            load_ground(text, COURSE, planned=False)
    assert isinstance(load_ground("stairs:0.17:0.3", COURSE, planned=False), grounds.Stairs)


def test_stairs_begin_on_the_way_of_a_short_walk():
    walk = samples.load("walk")
    for last, scale in ((len(walk.motion), 1.0), (150, 1.0), (150, 0.5)):
        course = Course.of(walk.motion[:last], walk.character, scale)
        ends = walk.motion.root[[0, last - 1], ::2]
        way = scale * float(np.linalg.norm(ends[1] - ends[0]))
        ahead = np.array(load_ground("stairs:0.17:0.29", course).start) - course.start
        usual = SETTINGS.stairs_distance * walk.character.height
        assert np.linalg.norm(ahead) == pytest.approx(min(usual, SETTINGS.stairs_share * way))
        assert (np.linalg.norm(ahead) < 0.9 * usual) == (last == 150)
    course = Course.of(samples.load("stand").motion, walk.character)
    assert math.isinf(course.way)


def test_course_of_a_walk():
    walk = samples.load("turn-left")
    course = Course.of(walk.motion, walk.character)
    assert course.height == pytest.approx(walk.character.height)
    # it turns to the left, which is +x
    assert 0.2 < course.heading < 2.0
    assert np.all(np.array(course.low) < np.array(course.high))


def test_pictures(tmp_path):
    from matplotlib import image

    pixels = np.zeros((11, 5))
    pixels[0, 0] = 1.0  # far ahead, to the left
    image.imsave(tmp_path / "hill.png", pixels, cmap="gray", vmin=0.0, vmax=1.0)
    ground = load_ground(str(tmp_path / "hill.png"), COURSE, GroundOptions(cell=0.5, relief=0.6, center=(0.0, 0.0)))
    assert isinstance(ground, geometry.HeightField)
    assert ground.height([1.0, 2.5]) == pytest.approx(0.6)
    assert ground.height([-1.0, -2.5]) == pytest.approx(0.0)
    (tmp_path / "no.png").write_bytes(b"not a picture")
    with pytest.raises(FormatError, match="expected an image"):
        load_ground(str(tmp_path / "no.png"), COURSE)


def test_arrays(tmp_path):
    np.save(tmp_path / "heights.npy", np.linspace(0.0, 1.0, 12).reshape(3, 4))
    ground = load_ground(str(tmp_path / "heights.npy"), COURSE, GroundOptions(cell=0.5, center=(1.0, 1.0)))
    assert ground.height(np.array([0.5, 0.25])) == pytest.approx(0.0)
    assert ground.height(np.array([1.5, 1.75])) == pytest.approx(1.0)
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    with pytest.raises(FormatError, match="two dimensions"):
        load_ground(str(tmp_path / "cube.npy"), COURSE)
    np.save(tmp_path / "nan.npy", np.full((3, 3), np.nan))
    with pytest.raises(FormatError, match="finite"):
        load_ground(str(tmp_path / "nan.npy"), COURSE)


BOX = """# a box of 1 × 0.4 × 2, z up
v -0.5 -1 0
v 0.5 -1 0
v 0.5 1 0
v -0.5 1 0
v -0.5 -1 0.4
v 0.5 -1 0.4
v 0.5 1 0.4
v -0.5 1 0.4
f 5//1 6//1 7//1 8//1
f 1 2 6 5
f -8 -7 -6
"""


def test_obj_meshes(tmp_path):
    file = tmp_path / "box.obj"
    file.write_text(BOX)
    ground = load_ground(str(file), COURSE, GroundOptions(up="z", center=(0.0, 3.0)))
    assert ground.height(np.array([0.3, 3.8])) == pytest.approx(0.4)
    assert ground.height(np.array([0.3, 4.2])) == pytest.approx(0.0)
    with pytest.raises(FormatError, match="expected an axis"):
        load_ground(str(file), COURSE, GroundOptions(up="w"))
    for text, words in (("v 1 2\n", "line 1: expected 3 numbers"), ("v 0 0 0\nf 1 2 3\n", "line 2: expected corners"),
                        ("v a b c\n", "line 1"), ("v 0 0 0\n", "expected a mesh with faces")):  # fmt: skip
        file.write_text(text)
        with pytest.raises(FormatError, match=words):
            load_ground(str(file), COURSE)


def test_glb_meshes_are_in_world_space(tmp_path):
    import footplant

    footplant.save(tmp_path / "figure.glb", samples.load_character("mannequin"))
    ground = load_ground(str(tmp_path / "figure.glb"), COURSE, GroundOptions(cell=0.01))
    assert isinstance(ground, geometry.HeightField)
    assert ground.heights.max() == pytest.approx(1.75, abs=0.03)
    footplant.save(tmp_path / "bones.bvh", samples.load("stand"))
    (tmp_path / "bones.glb").write_bytes((tmp_path / "bones.bvh").read_bytes())
    with pytest.raises(FormatError):
        load_ground(str(tmp_path / "bones.glb"), COURSE)


@pytest.mark.named("positions_terrain/climb_seq_1/multi_boxes.obj", "smpl_npz/pyroki_heightmap.npy")
def test_real_grounds(shared):
    boxes = load_ground(
        str(shared / "positions_terrain" / "climb_seq_1" / "multi_boxes.obj"), COURSE, GroundOptions(up="z")
    )
    assert isinstance(boxes, geometry.HeightField)
    assert 0.2 < np.ptp(boxes.heights) < 3.0
    heights = load_ground(str(shared / "smpl_npz" / "pyroki_heightmap.npy"), COURSE, GroundOptions(cell=0.03))
    assert isinstance(heights, geometry.HeightField)
    assert heights.heights.shape == (288, 583)


def test_a_tread_as_long_as_a_foot_has_a_planned_place_off_its_riser():
    """Places are planned every 2 cm: one of them leaves room behind the heel, wherever the first of them is."""
    character = samples.load_character("mannequin")
    sole = sole_length(character, "left")
    stairs = grounds.Stairs(-0.22, sole, 5, (0.0, 0.0))
    for first in np.arange(0.0, 0.02, 0.001):
        heels = np.arange(sole + first, 2.0 * sole, 0.02)
        line = np.stack([np.zeros(len(SAMPLES)), sole * SAMPLES], axis=1)
        heights = stairs.height(line + np.stack([np.zeros(len(heels)), heels], axis=1)[:, None])
        kind, found = next((kind, found) for kind, _, found in support_of(heights, line, character) if found.any())
        assert kind == "foot"
        assert heels[found].min() - sole > 0.045 * sole
