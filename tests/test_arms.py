"""The arms' stage: arms out of the body, hands that meet, limits, and frames that stay as they are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import footplant
from conftest import shared_data
from footplant import rotation
from footplant.constraints import Footplant
from footplant.geometry import Plane
from footplant.humanoid import body_shell
from footplant.humanoid.body_shell import GROUPS, ArmSamples, BodyShell, part_vertices
from footplant.humanoid.limits import limit_table, limit_violations
from footplant.kernels import shell as kernel
from footplant.kernels.quaternion import nearer_way
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.quality.fidelity import fidelity
from footplant.samples import load_character
from footplant.skeleton import Character
from footplant.solve import _arms as arms_kernel
from footplant.solve import arms as arms_module
from footplant.solve.arms import ArmSettings, solve_arms
from footplant.transfer import transfer

FRAMES, FPS = 60, 60.0
pytestmark = pytest.mark.usefixtures("inner_kernels_are_interpreted")


@cache
def character(name: str) -> Character:
    return load_character(name)


def standing(name: str, down: float, frames: int = FRAMES) -> Motion:
    """Return a motion that stands still with its arms lowered from the rest pose by an angle, radians."""
    target = character(name)
    skeleton, roles = target.skeleton, target.require_roles()
    local = np.tile(skeleton.rest, (frames, 1, 1))
    world = skeleton.rest_world[1]
    for side, sign in (("left", -1.0), ("right", 1.0)):
        joint = roles[f"{side}_upper_arm"]
        parent = world[skeleton.parents[joint]]
        turn = rotation.exp(np.array([0.0, 0.0, sign * down]))
        local[:, joint] = rotation.multiply(
            rotation.multiply(rotation.inverse(parent), turn), rotation.multiply(parent, local[0, joint])
        )
    return Motion(skeleton, np.tile(skeleton.offsets[0], (frames, 1)), local, FPS)


def clearance(motion: Motion, name: str, group: str = "trunk") -> np.ndarray:
    """Return the least distance (F,) of forearms and hands from a part of the body, metres, negative inside."""
    target, kinematics = character(name), Kinematics(motion)
    samples, shell = ArmSamples.of(target), BodyShell.of(target).tables()
    least, out = np.full(len(motion), np.inf), np.empty((len(motion), 4))
    for n in np.flatnonzero(samples.forearm):
        turned = rotation.rotate(kinematics.rotations[:, samples.joints[n]], samples.offsets[n])
        at = np.ascontiguousarray(kinematics.positions[:, samples.joints[n]] + turned)
        kernel.distances(
            shell, GROUPS.index(group), kinematics.positions, kinematics.rotations, at, kernel.new_posed(shell), out
        )
        least = np.minimum(least, out[:, 0] - samples.radii[n])
    return least


def solve(motion: Motion, name: str, **options):
    """Solve with the motion as its own source, of which the skin is unknown."""
    source = replace(character(name), skin=None)
    return solve_arms(motion, character(name), Kinematics(motion), source, **options)


def test_a_shell_knows_the_distance_from_a_belly():
    target = character("blubby")
    skeleton, skin = target.skeleton, target.skin
    assert skin is not None
    motion = Motion(skeleton, skeleton.offsets[:1], skeleton.rest[None], FPS)
    kinematics, shell = Kinematics(motion), BodyShell.of(target).tables()
    waist = kinematics.positions[0, target.require_roles().joints["spine"][0]]
    level = skin.vertices[np.abs(skin.vertices[:, 1] - waist[1]) < 0.03]
    front = level[:, 2].max()
    for away in (-0.06, -0.02, 0.02, 0.06):
        point, out = np.array([[waist[0], waist[1], front + away]]), np.empty((1, 4))
        kernel.distances(shell, 0, kinematics.positions, kinematics.rotations, point, kernel.new_posed(shell), out)
        assert out[0, 0] == pytest.approx(away - 0.011, abs=0.006)  # a field over samples lies 11 ± 2 mm outside
        assert out[0, 3] > 0.9


def test_points_beyond_a_thin_part_are_outside_it():
    # one sample on a part of 2 cm: seen from the other side, it faces away, as the far side of a belly would
    rest, none, out = kernel.read_only(1, 1, 3), np.array([[1.0, 0.0, 0.0]]), np.empty((1, 4))
    turned = np.array([[[1.0, 0.0, 0.0, 0.0]]])
    turned.setflags(write=False)
    shell = kernel.smallest_shell()._replace(normals=none, widths=np.array([0.05]))
    for depth, away in ((0.01, 0.92), (2.0, -1.0)):
        body, point = shell._replace(depths=np.array([depth])), np.array([[-1.0, 0.0, 0.0]])
        kernel.distances(body, 0, rest, turned, point, kernel.new_posed(body), out)
        assert out[0, 0] == pytest.approx(away)
        assert out[0, 1] == pytest.approx(-np.sign(away))


def test_a_body_is_as_deep_as_the_largest_ball_inside():
    rng = np.random.default_rng(0)
    ball = rng.normal(size=(400, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    assert body_shell._depths(0.3 * ball[:9], ball[:9], 0.3 * ball, ball) == pytest.approx(0.3)
    plate, up = rng.uniform(size=(2, 500, 3)), np.array([[[0.0, 1.0, 0.0]], [[0.0, -1.0, 0.0]]])
    plate[:, :, 1] = [[0.01], [-0.01]]
    normals = np.broadcast_to(up, plate.shape)
    middle = np.array([[0.5, 0.01, 0.5]])
    assert 0.01 <= body_shell._depths(middle, up[0], plate.reshape(-1, 3), normals.reshape(-1, 3))[0] < 0.1
    assert body_shell._depths(middle, up[0], plate[0], normals[0])[0] == np.inf, "nothing on the other side"


@pytest.mark.parametrize("name", ["mannequin", "sally", "child"])
def test_hips_have_no_way_out_into_the_thighs(name):
    # trunk and legs are closed where they were cut from each other; a hand inside a hip is not pushed through that
    target, skin = character(name), character(name).skin
    assert skin is not None
    skeleton, roles = target.skeleton, target.require_roles()
    kinematics, shell = (
        Kinematics(Motion(skeleton, skeleton.offsets[:1], skeleton.rest[None], FPS)),
        BodyShell.of(target),
    )
    assert (shell.cuts < shell.groups[1:]).all()
    alone = BodyShell.of(target, ("trunk",))
    assert alone.cuts[0] == alone.groups[1], "without the legs, the trunk ends at the cut"
    heaviest = np.take_along_axis(skin.joints, np.argmax(skin.weights, axis=1)[:, None], axis=1)[:, 0]
    thigh = skin.vertices[heaviest == roles["left_upper_leg"]]
    top = thigh[thigh[:, 1] > thigh[:, 1].max() - 0.01 * target.height]
    side, posed, out = (
        0.5 * (top.mean(axis=0) + top[top[:, 0].argmax()]),
        kernel.new_posed(shell.tables()),
        np.empty((1, 4)),
    )
    for group, above in (("trunk", 0.03), ("left_leg", -0.03)):
        point = (side + [0.0, above * target.height, 0.0])[None]
        pose = kinematics.positions, kinematics.rotations
        kernel.distances(shell.tables(), GROUPS.index(group), *pose, point, posed, out)
        assert out[0, 0] < -0.01 * target.height
        assert abs(out[0, 2]) < 0.5, group
    # beyond the cut, inside the thigh, the trunk is as far as the cut
    point = (side - [0.0, 0.1 * target.height, 0.0])[None]
    kernel.distances(shell.tables(), 0, kinematics.positions, kinematics.rotations, point, posed, out)
    assert out[0, 0] > 0.04 * target.height


@pytest.mark.parametrize("name", ["blubby", "mannequin"])
def test_forearms_are_pushed_out_of_the_body(name):
    motion = standing(name, 1.45)
    before = clearance(motion, name).min()
    found = solve(motion, name).motion
    after = clearance(found, name)
    if name == "blubby":
        assert before < -0.05
    assert after.min() > -0.002
    # no farther than needed: they lie on the skin
    if before < 0.0:
        assert after.max() < 0.01
    # the same in every frame, as the motion is
    assert rotation.angle(found.rotations, found.rotations[:1]).max() < 1e-4


def test_nothing_near_leaves_the_motion_as_it_is():
    motion = standing("mannequin", 0.4)
    assert solve(motion, "mannequin", ground=Plane()).motion is motion


def test_frames_far_from_a_push_stay_bit_equal():
    down = np.r_[np.full(120, 0.4), np.full(60, 1.5), np.full(120, 0.4)]
    down = np.convolve(np.pad(down, 15, mode="edge"), np.ones(31) / 31, mode="valid")
    poses = [standing("blubby", angle, 1) for angle in down]
    skeleton = poses[0].skeleton
    motion = Motion(
        skeleton, np.concatenate([p.root for p in poses]), np.concatenate([p.rotations for p in poses]), FPS
    )
    found = solve(motion, "blubby").motion
    assert clearance(motion, "blubby").min() < -0.05
    assert clearance(found, "blubby").min() > -0.01
    np.testing.assert_array_equal(found.rotations[:60], motion.rotations[:60])
    np.testing.assert_array_equal(found.rotations[-60:], motion.rotations[-60:])
    arms = [character("blubby").require_roles()[f"{s}_{p}_arm"] for s in ("left", "right") for p in ("upper", "lower")]
    others = np.setdiff1d(np.arange(len(skeleton)), arms)
    np.testing.assert_array_equal(found.rotations[:, others], motion.rotations[:, others])


def test_a_clap_meets():
    clip, target = footplant.load("sample:clap"), character("sally")
    copied = transfer(clip.motion, clip.character, target)
    found = solve_arms(copied, target, Kinematics(clip.motion), clip.character)
    theirs, ours, before = (
        np.linalg.norm(
            np.subtract(*(Kinematics(motion).point(who.contacts[f"{s}_palm"]) for s in ("left", "right"))), axis=1
        )
        for motion, who in ((clip.motion, clip.character), (found.motion, target), (copied, target))
    )
    close = theirs < 0.02
    assert before[close].min() > 0.05
    assert ours[close].max() < 0.03
    assert not found.notes


def test_what_is_out_of_reach_is_told():
    clip, target = footplant.load("sample:clap"), character("blubby")
    copied = transfer(clip.motion, clip.character, target)
    found = solve_arms(copied, target, Kinematics(clip.motion), clip.character)
    assert any("out of reach" in note for note in found.notes)
    assert clearance(found.motion, "blubby").min() > -0.02


def test_hands_that_a_belly_keeps_apart_leave_arms_as_they_were():
    """The pull of what is out of reach is given up, instead of lifting elbows around the body."""
    clip, target = footplant.load("sample:clap"), character("blubby")
    copied, roles = transfer(clip.motion, clip.character, target), target.require_roles()
    joints = [roles[f"{side}_lower_arm"] for side in ("left", "right")]
    before, off = Kinematics(copied).rotations[:, joints], {}
    for name, far in (("given up", ArmSettings().given_up), ("kept", 1e6)):
        settings = replace(ArmSettings(), given_up=far)
        found = solve_arms(copied, target, Kinematics(clip.motion), clip.character, settings=settings)
        assert any("out of reach" in note for note in found.notes)
        off[name] = np.degrees(np.percentile(rotation.angle(Kinematics(found.motion).rotations[:, joints], before), 90))
    assert off["given up"] < 0.5 * off["kept"]


def test_smoothing_that_adds_to_a_jump_is_taken_back(monkeypatch):
    jumps = []

    def jump_higher(arms, shell, window, positions, rotations, weights, rules, work, unknowns):
        jumps.append(0.1 + 0.1 * len(jumps))
        unknowns[:] = 0.0
        unknowns[len(unknowns) // 2, 0] = jumps[-1]
        return 1

    monkeypatch.setattr(arms_kernel, "solve_window", jump_higher)
    motion = standing("blubby", 1.45)
    swaying = np.array(motion.root)
    swaying[:, 0] += 0.01 * np.sin(0.1 * np.arange(len(motion)))
    motion = Motion(motion.skeleton, swaying, motion.rotations, FPS)
    once = solve(motion, "blubby", settings=replace(ArmSettings(), smoother=()))
    assert len(jumps) == 1
    jumps.clear()
    found = solve(motion, "blubby")
    assert len(jumps) > 1
    np.testing.assert_array_equal(found.motion.rotations, once.motion.rotations)


def test_arms_that_are_smoothed_stay_where_they_were():
    """A solve with more smoothing refines the one before, and is not drawn from afar anew."""
    clip, target = footplant.load("sample:clap"), character("blubby")
    copied, roles = transfer(clip.motion, clip.character, target), target.require_roles()
    hands, places = [roles[f"{side}_hand"] for side in ("left", "right")], []
    for smoother in ((), (1.01,)):
        settings = replace(ArmSettings(), smoother=smoother, peak=0.0)
        found = solve_arms(copied, target, Kinematics(clip.motion), clip.character, settings=settings)
        places.append(Kinematics(found.motion).positions[:, hands])
    assert np.median(np.linalg.norm(places[1] - places[0], axis=2)) < 0.015


def test_knots_are_stiff_where_a_hand_would_jump():
    """The equations with additional second differences, as a dense solver has them."""
    knots, n, random = 7, arms_kernel.UNKNOWNS, np.random.default_rng(0)
    target = character("mannequin")
    tables = arms_module._tables(target)
    assert tables is not None
    arms, shell = tables[:2]
    work = arms_kernel.new_work(knots, shell, len(arms.sample_arms), n)
    window = arms_kernel.empty_window(np.arange(knots), len(arms.sample_arms), len(GROUPS))
    window.stiff[2:4] = 5.0, 50.0
    weights = arms_kernel._weights()._replace(bend=np.full(n, 3.0), speed=np.full(n, 2.0))
    work.squares[:] = np.eye(n) * random.uniform(1.0, 2.0, (knots, 1, 1))
    work.vectors[:] = random.normal(size=(knots, n))
    diagonal, vectors = work.squares[:, 0, 0].copy(), work.vectors.copy()
    assert arms_kernel.solve_knots(window, weights, work)
    first, second = np.diff(np.eye(knots), axis=0), np.diff(np.eye(knots), 2, axis=0)
    dense = np.diag(diagonal) + 2.0 * first.T @ first + second.T @ np.diag(3.0 + window.stiff[1:-1]) @ second
    np.testing.assert_allclose(work.trial, np.linalg.solve(dense, vectors), atol=1e-9)


def test_planted_palms_are_met_and_told():
    motion, target = standing("mannequin", 0.6), character("mannequin")
    point = target.contacts["left_palm"]
    at = Kinematics(motion).point(point)[0]
    near, far = at + [-0.05, 0.06, 0.08], at + [2.0, 0.0, 0.0]
    held = Footplant(point=point, place=near, frames=range(20, 40))
    found = solve(motion, "mannequin", palms=(held,))
    assert np.linalg.norm(Kinematics(found.motion).point(point)[20:40] - near, axis=1).max() < 0.001
    assert found.palms is not None
    assert found.palms.max() < 0.001
    found = solve(motion, "mannequin", palms=(replace(held, place=far),))
    assert found.palms is not None
    assert found.palms.max() > 1.0


def test_free_places_of_palms_inside_the_body_move_out_of_it():
    """Also where palms are planted for so long that the body might hang from them."""
    motion, target = standing("blubby", 1.45), character("blubby")
    point = target.contacts["left_palm"]
    held = Footplant(point=point, place=Kinematics(motion).point(point)[30], frames=range(10, 50))
    assert clearance(motion, "blubby").min() < -0.05
    found = solve(motion, "blubby", palms=(held,), free=True)
    assert clearance(found.motion, "blubby").min() > -0.005
    assert found.palms is not None
    assert found.palms.max() < 0.001
    path = Kinematics(found.motion).point(point)[10:50]
    np.testing.assert_allclose(path, np.broadcast_to(found.plants[0].place, path.shape), atol=0.001)


@pytest.mark.parametrize("name", ["blubby", "mannequin"])
def test_samples_of_a_hand_cover_it(name):
    target, samples = character(name), ArmSamples.of(character(name))
    places, turned = target.skeleton.rest_world
    at = places[samples.joints] + rotation.rotate(turned[samples.joints], samples.offsets)
    for arm, side in enumerate(("left", "right")):
        vertices, own = part_vertices(target, f"{side}_hand"), (samples.arms == arm) & (samples.radii == 0.0)
        assert vertices is not None
        away = np.linalg.norm(vertices[:, None] - at[own], axis=2).min(axis=1)
        assert away.max() < 0.21 * np.linalg.norm(np.ptp(vertices, axis=0))


def test_joint_limits_are_kept():
    motion, target = standing("blubby", 1.45), character("blubby")
    found = solve(motion, "blubby").motion
    excess = [limit_violations(target, m.rotations).max(axis=0) for m in (motion, found)]
    assert (excess[1] <= excess[0] + np.radians(1.0)).all()


def test_forearms_beside_a_belly_keep_their_direction():
    motion, roles = standing("blubby", 1.2), character("blubby").require_roles()
    kept = solve(motion, "blubby").motion
    off = []
    for start, end in (("upper_arm", "lower_arm"), ("lower_arm", "hand")):
        ways = []
        for each in (motion, kept):
            places = Kinematics(each).positions[30]
            way = places[roles[f"left_{end}"]] - places[roles[f"left_{start}"]]
            ways.append(way / np.linalg.norm(way))
        off.append(np.degrees(np.arccos(np.clip(ways[0] @ ways[1], -1.0, 1.0))))
    assert off[0] > 5.0
    assert off[1] < 0.7 * off[0]


def test_hands_stay_as_close_to_the_body_as_the_source_s():
    """A hand that hangs beside the thigh in the source comes near the thigh."""
    source, target = standing("mannequin", 1.5), standing("sally", 1.3)
    kinematics = Kinematics(source)
    without = ArmSettings(close=0.0)
    found = [
        clearance(solve_arms(target, character("sally"), kinematics, character("mannequin"), settings=settings).motion,
                  "sally", "left_leg")[FRAMES // 2]
        for settings in (ArmSettings(), without)
    ]  # fmt: skip
    assert found[0] < 0.3 * found[1]


def leaning(depth: float) -> tuple[Motion, Plane, tuple[Footplant, ...]]:
    """Return a mannequin with hanging arms whose fingers reach so far into the ground, and its palms planted on it."""
    motion, target = standing("mannequin", 1.5), character("mannequin")
    kinematics = Kinematics(motion)
    low = min(float(lowest_of_hand(motion, side).min()) for side in ("left", "right"))
    ground = Plane((0.0, low + depth, 0.0))
    plants = []
    for side in ("left", "right"):
        point = target.contacts[f"{side}_palm"]
        place = kinematics.point(point)[0]
        plants.append(Footplant(point=point, place=(place[0], low + depth, place[2]), frames=range(15, 45)))
    return motion, ground, tuple(plants)


def lowest_of_hand(motion: Motion, side: str) -> np.ndarray:
    """Return the height (F,) of the lowest sample of a hand."""
    samples, kinematics = ArmSamples.of(character("mannequin")), Kinematics(motion)
    own = np.flatnonzero((samples.arms == (side == "right")) & (samples.radii == 0.0))
    joints = samples.joints[own]
    at = kinematics.positions[:, joints] + rotation.rotate(kinematics.rotations[:, joints], samples.offsets[own])
    return at[..., 1].min(axis=1)


def test_hands_that_point_into_the_ground_lie_on_it():
    motion, ground, plants = leaning(0.1)
    target = character("mannequin")
    found = solve(motion, "mannequin", palms=plants, free=True, ground=ground)
    level = float(ground.height(np.zeros((1, 2)))[0])
    roles, kinematics = target.require_roles(), Kinematics(found.motion)
    for side in ("left", "right"):
        assert lowest_of_hand(motion, side)[20:40].max() < level - 0.08
        assert lowest_of_hand(found.motion, side)[20:40].min() > level - 0.01
        palm = kinematics.point(target.contacts[f"{side}_palm"])[20:40]
        assert np.ptp(palm[:, ::2], axis=0).max() < 0.001
        # wrists extend: the backs of the hands turn upwards
        hand = roles[f"{side}_hand"]
        turn = rotation.log(
            rotation.multiply(rotation.inverse(motion.rotations[30, hand]), found.motion.rotations[30, hand])
        )
        assert np.linalg.norm(turn) > 0.3
    assert found.palms is not None
    assert found.palms.max() < 0.005
    excess = [limit_violations(target, each.rotations).max(axis=0) for each in (motion, found.motion)]
    assert (excess[1] <= excess[0] + np.radians(1.0)).all()


def test_hands_leave_the_ground_after_they_were_deep_in_it():
    """One that comes up is looked at, too, although others were far lower."""
    motion = standing("mannequin", 1.2, 120)
    low = float(min(lowest_of_hand(motion, side).min() for side in ("left", "right")))
    down = np.interp(np.arange(120), [0, 10, 30, 119], [0.0, 0.4, 0.4, 0.0])
    sunk = replace(motion, root=motion.root - down[:, None] * [0.0, 1.0, 0.0])
    found = solve(sunk, "mannequin", ground=Plane((0.0, low, 0.0)))
    for side in ("left", "right"):
        assert lowest_of_hand(sunk, side)[70:95].max() < low - 0.1
        assert lowest_of_hand(found.motion, side)[70:95].min() > low - 0.02


def test_places_that_are_asked_for_are_kept_on_the_ground():
    motion, ground, plants = leaning(0.04)
    own = [Kinematics(motion).point(plant.point)[0] for plant in plants]
    plants = [plant.like(place=place + [0.0, 0.03, 0.0]) for plant, place in zip(plants, own)]
    found = solve(motion, "mannequin", palms=plants, ground=ground)
    assert found.plants == tuple(plants)
    for plant in plants:
        path = Kinematics(found.motion).point(plant.point)[20:40]
        assert np.linalg.norm(path - plant.place, axis=1).max() < 0.001


def test_edited_arms_change_near_planted_palms_alone():
    """Of the same body, arms inside it stay there, and palms keep their places as high as they lie."""
    motion, ground, plants = leaning(0.04)
    target = character("mannequin")
    inside = np.array(motion.rotations)
    # the frames without plants have an arm in the trunk
    inside[:5] = standing("mannequin", 1.75, 5).rotations
    motion = replace(motion, rotations=inside)
    assert clearance(motion, "mannequin")[:5].max() < -0.005
    own = [Kinematics(motion).point(plant.point)[30] for plant in plants]
    plants = [plant.like(place=place + [0.03, -0.02, 0.0]) for plant, place in zip(plants, own)]
    options = {"palms": plants, "same_body": True, "settings": ArmSettings(pad=0.1)}
    found = solve_arms(motion, target, Kinematics(motion), target, **options)
    assert np.array_equal(found.motion.rotations[:5], motion.rotations[:5])
    assert np.abs(found.motion.rotations[20:40] - motion.rotations[20:40]).max() > 0.01
    found = solve_arms(motion, target, Kinematics(motion), target, ground=ground, **options)
    for plant, place in zip(plants, found.plants):
        np.testing.assert_array_equal(np.asarray(place.place)[::2], np.asarray(plant.place)[::2])
        assert place.place[1] > plant.place[1] + 0.01
        off = Kinematics(found.motion).point(plant.point)[20:40] - place.place
        assert np.linalg.norm(off[:, ::2], axis=1).max() < 0.001
    for side in ("left", "right"):
        assert lowest_of_hand(found.motion, side)[20:40].min() > -0.01


def rows_of_hands(flat: float):
    """Return a function of unknowns that gives numbers, values and slopes of the rows of leaning arms: of all but those
    of the body, whose nearest samples change; and the window, the arms and the number of unknowns. flat: of `Weights`.
    """
    motion, ground, plants = leaning(0.04)
    target = character("mannequin")
    tables = arms_module._tables(target)
    assert tables is not None
    stage = arms_module._ArmsStage(
        motion, target, Kinematics(motion), replace(target, skin=None), plants, True, ground, range(FRAMES),
        ArmSettings(), tables,
    )  # fmt: skip
    window, _ = stage.window(np.arange(20, 24))
    arms = stage.arms._replace(allowed=np.full_like(stage.arms.allowed, -np.inf))
    count, free = len(window.frames), arms_kernel.WITH_HANDS
    weights = arms_kernel.Weights(
        np.ones(free), np.ones(free), np.ones(free), 1.0, 1.0, 10.0, 0.0, 0.3, 1.4, 1.0, 10.0, 10.0, 1.0, 0.2, flat
    )
    work = arms_kernel.new_work(count, stage.shell, len(arms.sample_arms), free)
    poses = stage.kinematics.positions, stage.kinematics.rotations

    def rows(unknowns):
        arms_kernel.linearise(arms, stage.shell, window, *poses, unknowns, 1.0, 1e6, weights, work)
        return work.counts.copy(), work.values.copy(), work.slopes.copy()

    return rows, window, arms, 0.1 * np.random.default_rng(3).standard_normal((count, free))


@pytest.mark.parametrize("lying", [True, False])
def test_rows_of_hands_have_their_derivatives(lying):
    """Against central differences: goals, ground, limits of wrists and elbows, arm and arm."""
    rows, window, _, at = rows_of_hands(flat=10.0)
    assert window.normals.any()
    if not lying:
        window.normals[:] = 0.0
    counts, _, slopes = rows(at)
    assert counts.min() > 20
    assert counts.max() < arms_kernel.ROWS
    for unknown in range(at.shape[1]):
        step = np.zeros_like(at)
        step[:, unknown] = 1e-6
        (more, up, _), (fewer, down, _) = rows(at + step), rows(at - step)
        assert (more == counts).all()
        assert (fewer == counts).all()
        for k, n in enumerate(counts):
            assert np.abs((up[k, :n] - down[k, :n]) / 2e-6 - slopes[k, :n, unknown]).max() < 1e-4


def test_wrists_extend_until_palms_lie_flat():
    """The row of a palm that lies flat changes by as much as the wrist extends."""
    rows, window, arms, at = rows_of_hands(flat=0.0)
    at[:, arms_kernel.UNKNOWNS :] = 0.0
    counts, values, slopes = rows(at)
    for side in range(2):
        own = slice(arms_kernel.UNKNOWNS + 3 * side, arms_kernel.UNKNOWNS + 3 * side + 3)
        axis = rotation.rotate(window.locals[0, side, arms_kernel.HAND], arms.hand_axes[side, 2])
        # of the rows on this hand alone
        alone = [n for n in range(counts[0]) if slopes[0, n, own].any() and not np.delete(slopes[0, n], own).any()]
        flat = [n for n in alone if slopes[0, n, own] @ axis > 0.999]
        assert flat
        step = np.zeros_like(at)
        step[:, own] = 0.1 * axis
        assert abs(rows(at + step)[1][0, flat[0]] - values[0, flat[0]] - 0.1) < 1e-9


def test_turns_are_taken_the_way_round_that_is_nearer():
    """A shoulder that turns on past 180° goes on: its rotation vector does not jump."""
    axis = np.array([-0.74, -0.25, 0.62]) / np.linalg.norm([-0.74, -0.25, 0.62])
    own, turn = (tuple(rotation.log(rotation.exp(angle * axis))) for angle in (np.pi - 0.05, np.pi + 0.1))
    np.testing.assert_allclose(nearer_way(turn, own), (np.pi + 0.1) * axis, atol=1e-9)
    np.testing.assert_allclose(nearer_way(own, turn), -(np.pi + 0.05) * axis, atol=1e-9)
    # a straight elbow that bends far stays on its way
    assert nearer_way((0.0, 2.0, 0.0), (0.0, -1e-9, 0.0)) == (0.0, 2.0, 0.0)


def turned_stage(motion: Motion, local: np.ndarray, target: Character):
    """Return the stage of arms of a motion with other rotations (F, J, 4), whose source is the motion as it was."""
    tables = arms_module._tables(target)
    assert tables is not None
    return arms_module._ArmsStage(
        replace(motion, rotations=local), target, Kinematics(motion), replace(target, skin=None), (), False, None,
        range(FRAMES), ArmSettings(), tables,
    )  # fmt: skip


def test_limits_of_a_hand_go_on_past_half_a_turn():
    """A captured wrist far beyond its limits (3.1 radians) is asked for no more when it turns on past 180°."""
    motion, target = standing("mannequin", 1.0), character("mannequin")
    hand = target.require_roles()["right_hand"]
    local, table = np.array(motion.rotations), limit_table(target, hand)
    axis = np.array([-0.74, -0.25, 0.62]) / np.linalg.norm([-0.74, -0.25, 0.62])
    local[:, hand] = rotation.multiply(
        rotation.multiply(rotation.inverse(table[:4]), rotation.exp(3.1 * axis)), table[4:8]
    )
    stage = turned_stage(motion, local, target)
    window, _ = stage.window(np.arange(20, 23))
    free = arms_kernel.WITH_HANDS
    weights = arms_kernel.Weights(
        np.ones(free), np.ones(free), np.ones(free), 1.0, 1.0, 10.0, 0.0, 0.3, 1.4, 1.0, 10.0, 10.0, 1.0, 0.2, 10.0
    )
    work = arms_kernel.new_work(3, stage.shell, len(stage.arms.sample_arms), free)

    def rows(turn):
        work.counts[:], work.arms[1, 27:30] = 0, turn
        arms_kernel.add_wrist_limits(stage.arms, window, 0, 1, weights, work)
        return work.counts[0], work.values[0].copy(), work.slopes[0].copy()

    # the turn of the hand in its parent's frame
    along = rotation.rotate(rotation.inverse(table[:4]), axis)
    (before, short, _), (count, long, slopes) = (rows(angle * along) for angle in (0.02, 0.08))
    assert count == before >= 3
    assert np.abs(long[:count] - short[:count]).max() < 0.061
    for unknown in range(3):
        step = 1e-6 * np.eye(3)[unknown]
        (_, up, _), (_, down, _) = rows(0.08 * along + step), rows(0.08 * along - step)
        column = arms_kernel.UNKNOWNS + 3 + unknown
        assert np.abs((up[:count] - down[:count]) / 2e-6 - slopes[:count, column]).max() < 1e-4


def test_limits_hold_at_every_frame_where_a_shoulder_turns_past_half_a_turn():
    """Which limits it is beyond changes there from one frame to the next: knots farther apart see one of both alone."""
    still, target = standing("blubby", 1.0), character("blubby")
    joint = target.require_roles()["right_upper_arm"]
    table, local = limit_table(target, joint), np.array(still.rotations)
    # past 180° about an axis beyond the limits on both ways round, at frame 22, between two knots
    axis = np.array([-0.74, -0.25, 0.62]) / np.linalg.norm([-0.74, -0.25, 0.62])
    angles = np.pi + np.radians(6.0) * (np.arange(FRAMES) - 22.4)
    turns = rotation.exp(angles[:, None] * axis)
    local[:, joint] = rotation.multiply(rotation.multiply(rotation.inverse(table[:4]), turns), table[4:8])
    motion = replace(still, rotations=local)
    settings = ArmSettings(knot_time=3.0 / motion.fps)
    found = solve_arms(motion, target, Kinematics(still), replace(target, skin=None), settings=settings)
    added = np.degrees(limit_violations(target, found.motion.rotations) - limit_violations(target, local))[:, joint]
    assert np.abs(found.motion.rotations - local).max() > 0.05
    assert added.max() < 1.0


def test_rows_of_a_shoulder_past_half_a_turn_have_their_derivatives():
    motion, target = standing("mannequin", 1.0), character("mannequin")
    joint = target.require_roles()["right_upper_arm"]
    local, table = np.array(motion.rotations), limit_table(target, joint)
    turn = rotation.exp(3.1 * np.array([-0.74, -0.25, 0.62]) / np.linalg.norm([-0.74, -0.25, 0.62]))
    local[:, joint] = rotation.multiply(rotation.multiply(rotation.inverse(table[:4]), turn), table[4:8])
    stage = turned_stage(motion, local, target)
    window, _ = stage.window(np.arange(20, 23))
    weights = arms_kernel.Weights(
        np.ones(8), np.ones(8), np.ones(8), 1.0, 1.0, 10.0, 0.0, 0.3, 1.4, 1.0, 10.0, 10.0, 1.0, 0.2, 10.0
    )
    work = arms_kernel.new_work(3, stage.shell, len(stage.arms.sample_arms))

    def rows(unknowns):
        work.counts[:] = 0
        for k in range(3):
            arms_kernel.add_arm_limits(stage.arms, window, k, 1, unknowns[k], weights, work)
        return work.counts.copy(), work.values.copy(), work.slopes.copy()

    at = 0.05 * np.random.default_rng(4).standard_normal((3, 8))
    counts, _, slopes = rows(at)
    assert counts.min() >= 3
    for unknown in range(4, 8):
        step = np.zeros_like(at)
        step[:, unknown] = 1e-5
        (_, up, _), (_, down, _) = rows(at + step), rows(at - step)
        for k, n in enumerate(counts):
            assert np.abs((up[k, :n] - down[k, :n]) / 2e-5 - slopes[k, :n, unknown]).max() < 1e-3


def test_elbows_that_bend_quickly_keep_their_limits_between_knots(monkeypatch):
    clip = footplant.load(shared_data("bvh/other/boxing_toes.bvh"))
    short, part = load_character("short"), replace(clip, motion=clip.motion[252:450])

    def farthest() -> float:
        made = footplant.retarget(part, short, measured=False)
        assert made.unsolved is not None
        added = limit_violations(short, made.motion.rotations) - limit_violations(short, made.unsolved.motion.rotations)
        return float(np.degrees(added[:, short.require_roles()["left_lower_arm"]].max()))

    assert farthest() < 0.6
    monkeypatch.setattr(arms_module._ArmsStage, "_breaks_limits", lambda *_: False)
    assert farthest() > 1.5


def test_hands_may_not_be_as_deep_in_legs_as_the_source_s():
    """A source's skin may be thicker than who was recorded: what its hands do inside it is not wanted elsewhere."""
    clip, target = footplant.load("sample:limp"), character("longlegs")
    copied = transfer(clip.motion, clip.character, target)

    def deepest(**settings) -> float:
        found = solve_arms(
            copied, target, Kinematics(clip.motion), clip.character, settings=replace(arms_module.ARMS, **settings)
        )
        return -clearance(found.motion, "longlegs", "left_leg").min()

    assert clip.character.skin is not None
    assert -clearance(clip.motion, "mannequin", "left_leg").min() > 0.05
    assert deepest(deepest=1.0) > 0.04
    assert deepest() < 0.6 * 0.04


def test_hands_deep_in_a_leg_come_out_on_the_side_where_they_are(monkeypatch):
    clip = footplant.load(shared_data("bvh/cmu/88_01.bvh"))
    target = footplant.load_character(shared_data("gltf/CesiumMan.glb"))

    def deepest(small: tuple[float, float]) -> float:
        defaults = {**(solve_arms.__kwdefaults__ or {}), "settings": replace(arms_module.ARMS, small=small)}
        monkeypatch.setattr(solve_arms, "__kwdefaults__", defaults)
        made = footplant.retarget(clip, target, measured=False)
        found = fidelity((clip.motion, clip.character), (made.motion, target))
        return found.figures()["hand_in_legs_mm"]

    assert deepest((arms_module.ARMS.small[0], 1.0)) > 20.0
    assert deepest(arms_module.ARMS.small) < 15.0
