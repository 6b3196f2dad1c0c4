"""Parts of the body that stay out of each other, and touches: derivatives, meshes of all kinds, all methods, files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import footplant
from footplant import humanoid, rotation, samples
from footplant.constraints import Apart, Footplant, Position, Touch, check, from_data
from footplant.edits.drag import begin
from footplant.edits.fit import fit
from footplant.errors import ConstraintError, FormatError
from footplant.humanoid.body_shell import BodyShell, part_faces, vertex_parts
from footplant.kernels import shell as shell_kernel
from footplant.kinematics import Kinematics
from footplant.motion import Motion, rest_motion
from footplant.problem import Problem, constraint_keys, evaluate_constraints
from footplant.skeleton import Character, Point
from footplant.skinning import linear_blend
from footplant.solve.choose_ik import posing_ik
from footplant.solve.ik.bounds import pose_bounds
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods import NAMES
from footplant.solve.methods.perkey import PerKey
from footplant.solve.methods.warping import Warping

TRUNK = ("hips", "spine", "neck", "left_clavicle", "right_clavicle")
FOREARM = ("left_lower_arm", "left_hand")
INTERPOLATING = ("warping", "perkey")
"""Methods that pose few frames and interpolate between them: what has to hold in every frame is posed in every one."""
EVERY = tuple(range(9))
WHOLE = [*(name for name in NAMES if name not in INTERPOLATING), Warping(frames=EVERY), PerKey(keys=EVERY)]


def test_large_triangles_between_two_parts_belong_to_one():
    character = footplant.load_character("sample:mannequin")
    parts, faces = vertex_parts(character), character.skin.faces
    for part in np.unique(parts):
        corners = (parts == part)[faces].sum(axis=1)
        for count, inside in ((1, corners == 3), (10**9, corners >= 2)):
            np.testing.assert_array_equal(part_faces(character.skin, parts == part, count), faces[inside])


def test_beside_a_coarse_trunk_is_outside(shared):
    """Of 370 vertices, more are bound to one arm than to the other."""
    character = footplant.load_character(shared / "gltf" / "RiggedFigure.glb")
    shell, kinematics = BodyShell.of(character).tables(), Kinematics(rest_motion(character.skeleton))
    beside = np.array([[0.15, height, 0.0] for height in (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)])
    poses = [np.repeat(part, len(beside), axis=0) for part in (kinematics.positions, kinematics.rotations)]
    for part in poses:
        part.setflags(write=False)
    for points in (beside, beside * [-1.0, 1.0, 1.0]):
        out = np.empty((len(points), 4))
        shell_kernel.distances(shell, 0, *poses, points, shell_kernel.new_posed(shell), out)
        assert (out[:, 0] > 0.02).all()
        assert (out[:, 0] < 0.1).all()
        # and what is inside is: each side is a surface, also where triangles join trunk, arm and leg
        inward = np.ascontiguousarray(points * [0.4, 1.0, 1.0])
        shell_kernel.distances(shell, 0, *poses, inward, shell_kernel.new_posed(shell), out)
        assert (out[:, 0] < -0.03).all()
        assert (out[:, 1] * np.sign(points[:, 0]) > 0.95).all()


def posed(character: Character, seed: int, frames: int = 2) -> Motion:
    """Return random poses near the rest pose."""
    random = np.random.default_rng(seed)
    motion = rest_motion(character.skeleton, frames)
    return motion + 0.35 * random.normal(size=(frames, 1 + len(character.skeleton), 3)) * random.random((1, 1, 1))


def vertices_of(character: Character, roles: tuple[str, ...]) -> np.ndarray:
    """Return which vertices move with joints of some roles most."""
    skin, own = character.skin, character.require_roles()
    joints = [joint for role in roles for joint in own.joints.get(role, ())]
    return np.isin(skin.joints[np.arange(len(skin.joints)), skin.weights.argmax(axis=1)], joints)


def winding(corners: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return generalised winding numbers (N,) of triangles (T, 3, 3), in the shortest way; 0 outside their box."""
    within = ((points > corners.min(axis=(0, 1))) & (points < corners.max(axis=(0, 1)))).all(axis=1)
    a, b, c = (corners[None, :, k] - points[within, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    volume = np.einsum("ntk,ntk->nt", a, np.cross(b, c))
    below = la * lb * lc + (a * b).sum(2) * lc + (b * c).sum(2) * la + (c * a).sum(2) * lb
    turns = np.zeros(len(points))
    turns[within] = np.abs(np.arctan2(volume, below).sum(axis=1)) / (2.0 * np.pi)
    return turns


def from_triangles(corners: np.ndarray, point: np.ndarray) -> float:
    """Return the distance of a point from triangles (T, 3, 3): from their planes within them, else from their edges."""
    a, b, c = (corners[:, k] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-15)
    height = ((point - a) * normal).sum(axis=1)
    foot = point - height[:, None] * normal
    sides = [(np.cross(q - p, foot - p) * normal).sum(axis=1) for p, q in ((a, b), (b, c), (c, a))]
    within = np.all(np.array(sides) >= 0.0, axis=0)
    nearest = np.where(within, np.abs(height), np.inf)
    for p, q in ((a, b), (b, c), (c, a)):
        way = q - p
        share = np.clip(((point - p) * way).sum(axis=1) / np.maximum((way**2).sum(axis=1), 1e-15), 0.0, 1.0)
        nearest = np.minimum(nearest, np.linalg.norm(point - p - share[:, None] * way, axis=1))
    return float(nearest.min())


def depth(character: Character, motion: Motion, roles=FOREARM, into=TRUNK) -> np.ndarray:
    """Return how deep (F,) the deepest vertex of some roles is inside others, metres."""
    faces = character.skin.faces
    faces = faces[vertices_of(character, into)[faces].all(axis=1)]
    query, out = np.flatnonzero(vertices_of(character, roles)), []
    for vertices in linear_blend(character.skin, Kinematics(motion)):
        inside = vertices[query][winding(vertices[faces], vertices[query]) > 0.5]
        out.append(max((from_triangles(vertices[faces], point) for point in inside), default=0.0))
    return np.array(out)


def through_the_trunk(character: Character, share: float = 1.0) -> tuple[Motion, Position]:
    """Return a pose with the arms at the sides, and a goal for the left hand inside the trunk, or behind it."""
    roles, skeleton = character.require_roles(), character.skeleton
    rest = rest_motion(skeleton, 1)
    kinematics = Kinematics(rest)
    local = np.array(rest.rotations)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        joint = roles[f"{side}_upper_arm"]
        above = kinematics.rotations[0, skeleton.parents[joint]]
        turn = rotation.exp(np.array([0.0, 0.0, sign * (0.3 if character.name == "blubby" else 0.9)]))
        world = rotation.multiply(turn, kinematics.rotations[0, joint])
        local[0, joint] = rotation.multiply(rotation.inverse(above), world)
    motion = Motion(skeleton, rest.root, local, 30.0)
    places = Kinematics(motion).positions[0]
    hand, spine = roles["left_hand"], roles.joints["spine"][len(roles.joints["spine"]) // 2]
    target = places[hand] + share * (places[spine] - places[hand])
    chain = skeleton.chain(hand, roles["left_upper_arm"])
    return motion, Position(point=Point(hand), target=target, priority=-1, chain=chain)


def every_kind(character: Character, motion: Motion) -> list:
    """Return body constraints of all sorts, bound to a motion or not."""
    made = [
        Apart(character=character, part="left_forearm", other="trunk"),
        Apart(character=character, part=("left_hand", "right_shin"), margin=0.01),
        Apart(character=character, part="left_arm", other=("right_arm", "head")),
        Touch(character=character, part="left_hand", other="right_hand", offset=0.0),
        Touch(character=character, part="left_hand", other="trunk"),
        Touch(character=character, part="right_foot", other=Point(3, (0.0, 0.1, 0.0))),
    ]
    return [*made, *(constraint.bound_to(motion) for constraint in made)]


@pytest.mark.parametrize("name", ["mannequin", "blubby"])
@pytest.mark.parametrize("seed", [1, 2])
def test_jacobians_equal_finite_differences(name, seed):
    character = samples.load_character(name)
    motion = posed(character, seed)
    for constraint in every_kind(character, posed(character, seed + 10)):
        assert check(constraint, motion) < 1e-6


def test_jacobians_without_a_skin():
    character = replace(samples.load_character("mannequin"), skin=None)
    motion = posed(character, 3)
    for constraint in every_kind(character, motion):
        assert check(constraint, motion) < 1e-6


def test_distances_are_those_of_the_mesh():
    """The skin of the trunk itself is at 0, within the spacing of the samples; what is far away is as far."""
    character = samples.load_character("mannequin")
    apart = Apart(character=character, part="left_hand", other="trunk")
    rest = Kinematics(rest_motion(character.skeleton, 1))
    skin = character.skin.vertices
    hand, trunk = skin[vertices_of(character, ("left_hand",))], skin[vertices_of(character, TRUNK)]
    true = np.linalg.norm(hand[:, None] - trunk, axis=2).min()
    assert apart.residual(rest).min() == pytest.approx(true, abs=0.03)


@pytest.mark.parametrize("name", ["mannequin", "blubby"])
@pytest.mark.parametrize("share", [1.0, 1.4])
def test_a_forearm_pulled_through_the_trunk_stays_outside(name, share):
    character = samples.load_character(name)
    motion, goal = through_the_trunk(character, share)
    assert depth(character, motion)[0] < 0.002
    ik = Numeric(bounds=pose_bounds(motion, character, None))
    assert depth(character, ik.solve(motion, [goal]).motion)[0] > 0.03
    apart = Apart(character=character, part="left_arm", other="trunk").bound_to(motion)
    kept = ik.solve(motion, [goal, apart])
    assert depth(character, kept.motion)[0] <= 0.002
    assert apart.residual(Kinematics(kept.motion)).min() > -0.001


def test_palms_pressed_together_on_a_wider_body():
    character = samples.load_character("blubby")
    clip = footplant.load("sample:clap")
    frame = int(np.argmin(np.linalg.norm(np.subtract(*palms(clip.character, clip.motion)), axis=1)))
    motion = Motion(character.skeleton, clip.motion.root, clip.motion.rotations, clip.motion.fps)[frame : frame + 1]
    touch = Touch(character=character, part="left_hand", other="right_hand", offset=0.0)
    apart = Apart(character=character, part=("left_arm", "right_arm"), other=("trunk", "head"), as_source=False)
    problem = Problem(motion, character, (touch, apart))
    assert evaluate_constraints(problem, Kinematics(motion))[0].worst > 20.0
    solved = Numeric().solve(motion, problem.constraints).motion
    touched, separate = evaluate_constraints(problem, Kinematics(solved))
    assert touched.met
    assert separate.met
    assert depth(character, solved)[0] <= 0.002
    left, right = palms(character, solved)
    assert np.linalg.norm(left - right) < 0.08


def palms(character: Character, motion: Motion) -> list[np.ndarray]:
    return [Kinematics(motion).point(character.contacts[f"{side}_palm"]) for side in ("left", "right")]


def test_meshes_inside_out_open_and_absent():
    """An inside-out mesh has the same inside, a hole closes over, and sheets and no mesh at all get proportions."""
    character = samples.load_character("mannequin")
    motion = Kinematics(through_the_trunk(character)[0])
    skin = character.skin

    def clearance(changed) -> float:
        other = replace(character, skin=changed)
        return float(Apart(character=other, part="left_forearm", other="trunk").residual(motion).min())

    usual = clearance(skin)
    assert clearance(replace(skin, faces=skin.faces[:, ::-1])) == pytest.approx(usual, abs=1e-3)
    trunk = np.flatnonzero(vertices_of(character, TRUNK)[skin.faces].all(axis=1))
    without = np.delete(skin.faces, trunk[:: len(trunk) // 20], axis=0)
    assert clearance(replace(skin, faces=without)) == pytest.approx(usual, abs=0.01)
    assert clearance(replace(skin, faces=skin.faces[:0])) == pytest.approx(usual, abs=0.05)
    assert clearance(None) == pytest.approx(usual, abs=0.05)


def test_depth_of_the_rest_pose_and_of_the_motion_is_allowed():
    character = samples.load_character("blubby")
    motion, goal = through_the_trunk(character)
    deep = Numeric().solve(motion, [goal]).motion
    apart = Apart(character=character, part="left_forearm", other="trunk")
    rest = Kinematics(rest_motion(character.skeleton, 1))
    assert apart.residual(rest).min() > -1e-12
    assert apart.residual(Kinematics(deep)).min() < -0.03
    assert apart.bound_to(deep).residual(Kinematics(deep)).min() > -1e-12
    strict = replace(apart, as_source=False)
    assert strict.bound_to(deep) is strict
    assert Problem(deep, character, (strict,)).constraints == (strict,)
    assert Problem(deep, character, (apart,)).constraints[0].source is deep
    removed = Numeric().solve(deep, [strict]).motion
    assert strict.residual(Kinematics(removed)).min() > -0.001


def test_touch_follows_the_skin_frame_by_frame():
    """A hand that moves along the body keeps its path on it when the trunk is bent."""
    character = samples.load_character("mannequin")
    clip = footplant.load("sample:clap")
    frames = clip.motion[30:60]
    touch = Touch(character=character, part="left_hand", other="trunk").bound_to(frames)
    assert np.abs(touch.residual(Kinematics(frames))).max() < 1e-9
    moved = np.zeros((len(frames), 1 + len(character.skeleton), 3))
    moved[:, 1] = [0.4, 0.2, 0.0]
    moved[:, 0] = [1.0, 0.5, 0.0]
    # the whole body moves: nothing changes between its parts
    assert np.abs(touch.residual(Kinematics(frames + moved))).max() < 1e-9
    spine = character.require_roles().joints["spine"][0]
    bent = np.zeros_like(moved)
    bent[:, 1 + spine] = [0.3, 0.0, 0.0]
    assert np.abs(touch.residual(Kinematics(frames + bent))).max() > 1e-4


def test_the_error_is_that_of_the_deepest_point():
    character = samples.load_character("blubby")
    motion, goal = through_the_trunk(character)
    deep = Numeric().solve(motion, [goal]).motion
    apart = Apart(character=character, part="left_arm", other="trunk", as_source=False)
    found = evaluate_constraints(Problem(deep, character, (apart,)), Kinematics(deep))[0]
    worst = -1000.0 * apart.residual(Kinematics(deep)).min()
    assert found.worst == pytest.approx(worst)
    assert found.worst_share == pytest.approx(0.1 * worst / character.height)
    assert found.unit == "mm"
    assert not found.met


@pytest.fixture(scope="module")
def hanging():
    """A clip of a character with its arms at its sides, standing, and a goal inside its trunk."""
    character = samples.load_character("blubby")
    motion, goal = through_the_trunk(character)
    long = Motion(
        character.skeleton, np.repeat(motion.root, 9, axis=0), np.repeat(motion.rotations, 9, axis=0), motion.fps
    )
    clip = replace(footplant.load("sample:walk"), motion=long, character=character)
    return clip, replace(goal, frames=(4,), ramp=(0.1, 0.1))


@pytest.mark.parametrize("method", WHOLE)
def test_every_method_keeps_parts_apart(hanging, method):
    clip, goal = hanging
    apart = Apart(character=clip.character, part="left_arm", other="trunk", priority=1)
    if not isinstance(method, str):
        method = replace(method, ik=posing_ik(clip.motion, clip.character, None, (goal, apart)))
    solution = fit(clip, [goal, apart], method=method, keep_plants=False)
    entry = next(entry for entry in solution.report.constraints if entry.name == "apart")
    assert entry.worst < 2.0
    assert depth(clip.character, solution.motion).max() <= 0.002


@pytest.mark.parametrize("method", INTERPOLATING)
def test_methods_that_interpolate_keep_parts_apart_at_the_frames_they_pose(hanging, method):
    clip, goal = hanging
    apart = Apart(character=clip.character, part="left_arm", other="trunk", priority=1)
    solution = fit(clip, [goal, apart], method=method, keep_plants=False)
    posed = constraint_keys(Problem(clip.motion, clip.character, (goal, apart)))
    assert {0, 4, 8} <= set(posed.tolist())
    assert depth(clip.character, solution.motion)[posed].max() <= 0.002
    kept = apart.bound_to(clip.motion).residual(Kinematics(solution.motion)).reshape(len(clip.motion), -1).min(axis=1)
    assert kept[posed].min() >= -0.002
    # between them it is told, not kept
    entry = next(entry for entry in solution.report.constraints if entry.name == "apart")
    assert entry.worst == pytest.approx(-1000.0 * kept.min())


def test_drags_keep_parts_apart(hanging):
    clip, goal = hanging
    apart = Apart(character=clip.character, part="left_arm", other="trunk", priority=1)
    start = begin(clip, [apart], keep_plants=False)
    dragged = start.drag(4, goal.point, goal.target[0], spacing=2.0)
    assert depth(clip.character, dragged.motion).max() <= 0.002


def test_an_arm_that_is_taken_into_the_body_is_told(hanging):
    clip, goal = hanging
    start = begin(clip, keep_plants=False)
    free = replace(goal, chain=None)
    inside = start.drag(4, free.point, free.target[0], spacing=2.0)
    assert any(note.startswith("the left hand is") and "frame 4" in note for note in inside.report().notes)
    out = start.drag(4, free.point, Kinematics(clip.motion).point(free.point)[4] + [0.02, 0.05, 0.05], spacing=2.0)
    assert not any("inside the body" in note for note in out.report().notes)
    notes = fit(clip, [goal], keep_plants=False).report.notes
    assert any("inside the body at frame 4" in note for note in notes)


def test_feet_are_not_released_by_parts_that_stay_apart():
    walk = footplant.load("sample:walk")
    clip = replace(walk, motion=walk.motion[:90])
    apart = Apart(character=clip.character, part="left_leg", other="right_leg")
    solution = fit(clip, [apart])
    assert not any("released" in note for note in solution.report.notes)
    assert any(isinstance(c, Footplant) or c.kind == "footplant" for c in solution.report.constraints)


def test_transfer_to_another_character():
    from footplant.constraints.transfer import ConstraintTransfer
    from footplant.normalized.normalize import normalize

    source, target = samples.load_character("mannequin"), samples.load_character("short")
    walk = footplant.load("sample:walk").motion[:20]
    other = Motion(target.skeleton, walk.root, walk.rotations, walk.fps)
    carry = ConstraintTransfer(source, target, normalize(walk, source), Kinematics(other))
    apart = carry.transferred(Apart(character=source, part="left_hand", other="trunk", margin=0.1).bound_to(walk))
    assert apart.character is target
    assert apart.source is None
    assert apart.margin == pytest.approx(0.06, abs=0.005)
    touch = carry.transferred(Touch(character=source, part="left_hand", other=source.contacts["right_palm"]))
    assert touch.other == target.contacts["right_palm"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda c: Apart(character=c, part="tail"), "expected a part of the body among trunk, head"),
        (lambda c: Apart(character=c, part="left_hand", other="left_arm"), "expected different parts"),
        (lambda c: Apart(character=c, part=()), "expected a part of the body, got none"),
        (lambda c: Apart(character=replace(c, roles=None), part="head"), "has no roles"),
        (lambda c: Apart(character=c, part="head", other="trunk").residual(Kinematics(rest_motion(c.skeleton))),
         "expected parts that do not adjoin"),
        (lambda c: Touch(character=c, part="left_hand", other=Point(3), offset=0.1), "expected an offset of 0"),
        (lambda c: Touch(character=c, part="left_hand", other="left_arm"), "expected different parts"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_words(make, words):
    with pytest.raises(ConstraintError, match=words):
        make(samples.load_character("mannequin"))


def test_files_name_parts():
    character = samples.load_character("mannequin")
    apart, touch = from_data(
        [
            {"kind": "apart", "part": ["left_lower_arm"], "margin": 0.02},
            {"kind": "touch", "part": "left_hand", "other": {"point": "right_palm"}, "offset": 0.0},
        ],
        character,
    )
    assert apart.part == ("left_forearm",)
    assert apart.margin == 0.02
    assert touch.other == character.contacts["right_palm"]
    with pytest.raises(FormatError, match=r"no part of the body 'left_hnad' \(did you mean 'left_hand'\?\)"):
        from_data([{"kind": "apart", "part": "left_hnad"}], character)
    with pytest.raises(FormatError, match="unknown key"):
        from_data([{"kind": "touch", "part": "left_hand", "other": "head", "distance": 1}], character)


def test_surfaces_are_cached_by_skin():
    character = samples.load_character("mannequin")
    assert BodyShell.of(character, ("trunk",)) is BodyShell.of(replace(character, name="another"), ("trunk",))
    changed = humanoid.make_character(character.skeleton, character.roles, name="changed", skin=replace(character.skin))
    assert BodyShell.of(changed, ("trunk",)) is not BodyShell.of(character, ("trunk",))
