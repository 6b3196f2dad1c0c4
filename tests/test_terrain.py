"""Terrain: footplants on the ground, feet aligned with it, no penetration, doorways, stairs."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import footplant
from footplant import grounds, humanoid, rotation, samples
from footplant.cli import main
from footplant.clip import Clip
from footplant.constraints import Area, Footplant
from footplant.constraints.doorways import Doorway, crown, doorway_on_path, headroom, pass_under
from footplant.contacts.detection import Plant, find_contacts
from footplant.contacts.ground import normal_of
from footplant.curves import Curve
from footplant.edits.terrain import terrain
from footplant.errors import ConstraintError
from footplant.feet.footing import find_footing, sole_length
from footplant.feet.heel_release import HEEL_SETTINGS, push_off_rises
from footplant.feet.lean import leaned
from footplant.feet.stage import Stage
from footplant.feet.step_plan import _between, _middles, _parts, _smoothed_turns, _standing
from footplant.feet.steps import Step, find_steps, foot_length, plants_at, transferred_places
from footplant.feet.swing import _Anchor, _StepPath, _way_done, move_feet_to_ground
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.problem import Problem, Solution, Status
from footplant.skeleton import Point
from footplant.solve.ik.limb import limb_of
from footplant.solve.ik.limb import place as place_limb
from footplant.solve.methods.hierarchical import Hierarchical
from thorough import thorough

HEIGHT = samples.load_character("mannequin").height
FLOOR = Plane()
ROUGH = grounds.rough(3, 0.2 * HEIGHT, 0.8 * HEIGHT, (-3.0, -3.0), (3.0, 10.0))
UP_STAIRS, DOWN_STAIRS = (grounds.Stairs(rise, 0.6, 6, (0.0, 1.2)) for rise in (0.17, -0.17))
GROUNDS = {
    "rough": ROUGH,
    "up": grounds.slope(12.0),
    "down": grounds.slope(-12.0),
    "across": grounds.slope(12.0, np.pi / 2),
    "stairs up": UP_STAIRS,
    "stairs down": DOWN_STAIRS,
    "steep stairs": grounds.Stairs(0.17, 0.29, 12, (0.0, 1.2)),
}


@pytest.fixture(scope="module")
def walk() -> Clip:
    """The sample walk at 60 frames per second: fine enough for edges, fast enough for tests."""
    clip = samples.load("walk")
    return replace(clip, motion=clip.motion.resample(60.0))


@pytest.fixture(scope="module")
def solved(walk) -> dict[str, Solution]:
    """Ground → solution."""
    return {name: terrain(walk, ground) for name, ground in GROUNDS.items()}


def planned_contacts(solution: Solution):
    """Return the contacts that a solution was made for: those of the clip, retimed and with heels let go of earlier."""
    assert solution.report.after is not None
    return solution.report.after.plants


def knees(clip: Clip, motion) -> np.ndarray:
    """Return the flexion (F, 2) of both knees, radians."""
    places, roles = Kinematics(motion).positions, clip.character.require_roles()
    found = []
    for side in ("left", "right"):
        hip, knee, foot = (places[:, roles[f"{side}_{part}"]] for part in ("upper_leg", "lower_leg", "foot"))
        a, b = knee - hip, foot - knee
        cosine = np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
        found.append(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return np.array(found).T


@pytest.mark.parametrize("name", GROUNDS)
def test_footplants_hold_on_the_ground(walk, solved, name):
    solution, ground = solved[name], GROUNDS[name]
    assert solution.status is Status.SOLVED
    kinematics = Kinematics(solution.motion)
    plants = planned_contacts(solution)
    assert len(plants) > 10
    for plant in plants:
        places = kinematics.point(walk.character.contacts[plant.point])[plant.start : plant.end]
        assert np.ptp(places, axis=0).max() < 0.001, plant.point
        assert np.abs(places[:, 1] - ground.height(places[:, ::2])).max() < 0.001, plant.point


@pytest.mark.parametrize("name", GROUNDS)
def test_planted_feet_are_aligned_with_the_surface(walk, solved, name):
    ground, kinematics = GROUNDS[name], Kinematics(solved[name].motion)
    skeleton, plants = walk.character.skeleton, planned_contacts(solved[name])
    reference = skeleton.posed(humanoid.reference_pose(skeleton, walk.character.require_roles()))[1]
    for side in ("left", "right"):
        foot = walk.character.require_roles()[f"{side}_foot"]
        heel, ball = (
            np.isin(
                np.arange(len(kinematics.motion)),
                np.concatenate([np.arange(p.start, p.end) for p in plants if p.point == f"{side}_{part}"]),
            )
            for part in ("heel", "ball")
        )
        flat = heel & ball
        sole = rotation.rotate(rotation.inverse(reference[foot]), rotation.AXES["y"])
        up = rotation.rotate(kinematics.rotations[flat, foot], sole)
        ends = kinematics.points([walk.character.contacts[f"{side}_{part}"] for part in ("heel", "ball")])[flat]
        normal = normal_of(ground, ends.mean(axis=1)[:, ::2])
        angle = np.degrees(np.arccos(np.clip(np.sum(up * normal, axis=1), -1.0, 1.0)))
        assert flat.sum() > 20
        assert angle.max() < 2.0


@pytest.mark.parametrize("name", GROUNDS)
def test_no_penetration_and_no_jerks(walk, solved, name):
    solution, ground = solved[name], GROUNDS[name]
    kinematics = Kinematics(solution.motion)
    soles = kinematics.points([point for key, point in walk.character.contacts.items() if not key.endswith("palm")])
    assert (soles[..., 1] - ground.height(soles[..., ::2])).min() > -0.005
    after = solution.report.after
    assert after is not None
    stairs = isinstance(ground, grounds.Stairs)
    assert after.peak_acceleration_ratio is not None
    assert after.peak_acceleration_ratio < (2.5 if stairs else 1.3)
    assert after.jerk_ratio is not None
    assert after.jerk_ratio < (2.5 if stairs else 1.3)
    # knees rotate at most 2.5 times as fast as the fastest in the level walk
    fastest = np.abs(np.diff(knees(walk, walk.motion), axis=0)).max()
    assert np.abs(np.diff(knees(walk, solution.motion), axis=0)).max() < 2.5 * fastest


@pytest.mark.parametrize("name", ["rough", "up", "down", "across"])
def test_legs_are_as_straight_as_on_the_level(walk, solved, name):
    """At its straightest in each stance, a leg is about as straight as in the level walk."""
    before, after = knees(walk, walk.motion), knees(walk, solved[name].motion)
    contacts = find_contacts(walk)
    for number, side in enumerate(("left", "right")):
        for start, end in contacts.intervals(f"{side}_heel"):
            if end - start > 10:
                assert after[start:end, number].min() < before[start:end, number].min() + np.radians(25.0)
    assert after.min() > np.radians(2.0)


def test_level_ground_changes_nothing(walk):
    contacts = find_contacts(walk)
    stage = Stage.of(walk, walk.character, contacts, True)
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    level = transferred_places(steps, walk.character, stage.move)
    footings = [find_footing(step, places, walk.character, stage.ground, FLOOR) for step, places in zip(steps, level)]
    moved_motion, _ = move_feet_to_ground(walk.motion, walk.character, steps, footings, stage.ground, FLOOR)
    assert np.abs(moved_motion - walk.motion).max() < 1e-9
    # the solve keeps legs from stretching fully, which moves the knees a little, but not the feet
    roles = walk.character.require_roles()
    moved = np.linalg.norm(
        Kinematics(terrain(walk, FLOOR).motion).positions - Kinematics(walk.motion).positions, axis=2
    )
    assert moved.max() < 0.03
    assert moved[:, [roles["hips"], roles["left_foot"], roles["head"]]].max() < 0.01


def test_steps_at_an_edge_move_by_the_smallest_distance_onto_a_tread(walk, solved):
    contacts = find_contacts(walk)
    stage = Stage.of(walk, walk.character, contacts, True)
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    moved = 0
    for step, places in zip(steps, transferred_places(steps, walk.character, stage.move)):
        footing = find_footing(step, places, walk.character, FLOOR, UP_STAIRS)
        assert footing.support == "foot"
        if footing.heel is None or footing.ball is None:
            continue
        line = footing.heel + np.linspace(0.0, 1.3, 14)[:, None] * (footing.ball - footing.heel)
        assert np.ptp(UP_STAIRS.height(line[:, ::2])) == 0.0
        if footing.moved > 0:
            moved += 1
            # a smaller distance is not enough
            back = (1.0 - 0.02 / footing.moved) * (footing.middle - footing.level) * [1.0, 0.0, 1.0]
            before = line - (footing.middle - footing.level) * [1.0, 0.0, 1.0] + back
            air = before[0] + np.linspace(-0.55, 1.75, 40)[:, None] * (footing.ball - footing.heel)
            assert np.ptp(UP_STAIRS.height(air[:, ::2])) > 0.0
    assert moved > 0
    kept = terrain(walk, UP_STAIRS, keep_steps=True)
    assert any("straddled an edge and were moved" in text for text in kept.report.notes)
    assert not any("straddled an edge" in text for text in solved["stairs up"].report.notes)


def test_short_treads_support_the_ball_only(walk):
    solution = terrain(walk, grounds.Stairs(0.12, 0.2, 12, (0.0, 1.2)))
    assert any("on the ball only" in text for text in solution.report.notes)
    assert solution.status is Status.SOLVED


def test_contacts_above_the_level_keep_their_height(walk):
    contacts = find_contacts(walk)
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    lifted = transferred_places(steps, walk.character, lambda places: places + [0.0, 0.3, 0.0])
    footing = find_footing(steps[0], lifted[0], walk.character, FLOOR, grounds.slope(10.0))
    assert footing.heel is not None
    assert footing.heel[1] - grounds.slope(10.0).height(footing.heel[::2]) == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("clearance", [0.92, 0.85, 0.78])
def test_character_ducks_under_doorways(walk, clearance):
    doorway = doorway_on_path(walk.motion, walk.character, 3.0, clearance * HEIGHT, ROUGH)
    assert doorway.place[1] == pytest.approx(walk.motion.root[0, 2] + 3.0, abs=0.1)
    assert headroom(terrain(walk, ROUGH).motion, walk.character, [doorway])[0] < 0
    solution = terrain(walk, ROUGH, [doorway])
    assert solution.status is Status.SOLVED
    assert headroom(solution.motion, walk.character, [doorway])[0] > 0.003
    assert any("of clearance under doorway 1" in text for text in solution.report.notes)
    # it bends forward: the head is ahead of the hips under the beam
    kinematics = Kinematics(solution.motion)
    head = kinematics.point(crown(walk.character))
    under = np.abs(doorway.along(head)) < 0.2
    assert (doorway.along(head) - doorway.along(kinematics.positions[:, 0]))[under].min() > 0.1
    # and it is upright well before and after
    far = np.abs(doorway.along(head)) > 2.0
    upright = Kinematics(terrain(walk, ROUGH).motion).point(crown(walk.character))
    assert np.abs(head - upright)[far, 1].max() < 0.03


def test_impassable_doorways_are_reported(walk):
    low = doorway_on_path(walk.motion, walk.character, 3.0, 0.08 * HEIGHT, FLOOR)
    solution = terrain(walk, FLOOR, [low, Doorway((0.0, 50.0), 1.0)])
    assert solution.status is not Status.SOLVED
    assert any("above the ground at doorway 1" in entry.name for entry in solution.report.unmet)
    assert "the motion does not pass through doorway 2" in solution.report.notes
    with pytest.raises(ConstraintError, match="expected a distance along the path of 0 to 5"):
        doorway_on_path(walk.motion, walk.character, 60.0, 1.5, FLOOR)


def test_crown_is_the_top_of_the_mesh():
    character = samples.load_character("mannequin")
    assert character.skin is not None
    place = Kinematics(samples.load("stand").motion[:1]).point(crown(character))[0]
    assert place[1] == pytest.approx(character.skin.vertices[:, 1].max(), abs=0.04)


def test_margin_may_vary_over_time():
    area = Area(point=Point(0), region=Plane(), margin=[0.1, 0.2, 0.3], frames=range(5, 8))
    places = np.tile([0.0, 1.0, 0.0], (5, 1))
    assert np.allclose(area.slack(places, np.array([4, 5, 6, 7, 9])), [0.9, 0.9, 0.8, 0.7, 0.7])


@pytest.mark.parametrize("ramp", [(0.0, 0.0), (0.1, 0.2), (0.0, 0.2), (0.1, 0.0)])
def test_ranges_activate_like_tuples_of_frames(ramp):
    frames = np.arange(40)
    one, other = (
        Footplant(point=Point(0), place=(0, 0, 0), frames=held, ramp=ramp)
        for held in (range(12, 20), tuple(range(12, 20)))
    )
    assert np.allclose(one.activation(frames, 30.0), other.activation(frames, 30.0), atol=1e-12)
    assert np.array_equal(one.slot(frames), other.slot(frames))


@pytest.mark.parametrize("name", ["short", "sally", "blubby"])
def test_terrain_with_retargeting(walk, name):
    target = samples.load_character(name)
    ground = grounds.rough(8, 0.15 * target.height, 0.8 * target.height, (-3.0, -3.0), (3.0, 12.0))
    solution = terrain(walk, ground, target=target)
    assert solution.status is Status.SOLVED
    after = solution.report.after
    assert after is not None
    assert after.worst_plant is not None
    assert after.worst_plant.drift < 1.0
    assert after.penetration_worst is not None
    assert after.penetration_worst < 5.0


def test_errors_decrease_from_level_to_level(walk):
    """As in Table 1 of Lee & Shin 1999: a level walk, footplants on terrain and a doorway, without the exact pass."""
    character, contacts = walk.character, find_contacts(walk)
    stage = Stage.of(walk, character, contacts, True)
    steps = find_steps(contacts, foot_length(character, "left"))
    level = transferred_places(steps, character, stage.move)
    footings = [find_footing(step, places, character, stage.ground, ROUGH) for step, places in zip(steps, level)]
    plants = plants_at(steps, [(footing.heel, footing.ball) for footing in footings], character)
    doorway = doorway_on_path(walk.motion, character, 3.0, 0.9 * HEIGHT, ROUGH)
    moved, _ = move_feet_to_ground(walk.motion, character, steps, footings, FLOOR, ROUGH)
    beams = pass_under(moved, character, [doorway])
    problem = Problem(walk.motion, character, (*plants, *beams))
    solution = Hierarchical(spacings=(16.0, 8.0, 4.0, 2.0), exact=False).solve(problem)
    errors = [level.worst_share for level in solution.report.levels]
    assert len(errors) == 5
    assert errors[0] > 5.0
    assert all(later < earlier for earlier, later in pairwise(errors))
    assert errors[-1] < 1.0


def test_results_are_deterministic(walk):
    one, other = (terrain(walk, ROUGH).motion for _ in range(2))
    assert np.array_equal(one.root, other.root)
    assert np.array_equal(one.rotations, other.rotations)


@pytest.mark.parametrize("name", ["02_01", "09_01", "16_01"])
@pytest.mark.named("bvh/cmu/{name}.bvh")
def test_real_clips(shared, name):
    import footplant

    clip = footplant.load(shared / "bvh" / "cmu" / f"{name}.bvh")
    clip = replace(clip, motion=clip.motion.resample(60.0))
    low, high = clip.motion.root.min(axis=0)[::2] - 2.0, clip.motion.root.max(axis=0)[::2] + 2.0
    height = clip.character.height
    solution = terrain(clip, grounds.rough(4, 0.2 * height, 0.8 * height, low, high))
    after = solution.report.after
    assert after is not None
    assert after.worst_plant is not None
    assert after.worst_plant.drift < 2.0
    assert after.penetration_worst is not None
    assert after.penetration_worst < 5.0
    assert np.isfinite(solution.motion.root).all()


REAL = {
    "a knee bent sideways": ("smpl_npz/video_walk_level1_filter_amass.npz", None, "slope:15"),
    "feet without toe joints": ("bvh/other/toolbox_walk01.bvh", None, "slope:10"),
    "a heel that leaves before its ball": ("bvh/cmu/09_01.bvh", None, "slope:10"),
    "a foot that leaves after a lead-in": ("bvh/other/imusim_16_15.bvh", "sample:short", "slope:-10"),
    "a heel that comes down": ("bvh/cmu/35_01.bvh", "vrm/100avatars_038_Kate.vrm", "slope:15"),
}
"""What was beyond its limits, in the ground or jerked → clip, character and ground."""


@pytest.mark.parametrize("name", REAL)
@pytest.mark.named(*{file for file, _, _ in REAL.values()}, "vrm/100avatars_038_Kate.vrm")
def test_real_walks_on_slopes_keep_limits_and_stay_above_the_ground(shared, name):
    import footplant

    file, to, ground = REAL[name]
    clip = footplant.load(shared / file)
    result = footplant.terrain(clip, ground, target=str(shared / to) if to and to.startswith("vrm") else to)
    level = clip.motion if result.unsolved is None else result.unsolved.motion
    own, now = (humanoid.limit_violations(result.character, each.rotations) for each in (level, result.motion))
    assert (now > np.radians(0.5)).sum() <= (own > 1e-9).sum()
    after = result.report.after
    assert after is not None
    assert after.penetration_worst is not None
    assert after.penetration_worst < 2.0
    assert after.jerk_ratio is not None
    assert after.jerk_ratio < 1.2


def test_hips_are_not_kicked_where_feet_land_on_their_balls():
    """Up a steep slope the balls of a runner's feet land when the heels did, without being pulled down at once."""
    clip = samples.load("run")
    found = terrain(clip, "slope:15")
    hips = clip.character.require_roles()["hips"]
    level, uphill = (np.linalg.norm(np.diff(m.root, 3, axis=0), axis=1) for m in (clip.motion, found.motion))
    assert hips == 0
    assert uphill.mean() < 1.1 * level.mean()
    heels, balls = ([p for p in find_contacts(found.clip).plants if p.point.endswith(e)] for e in ("heel", "ball"))
    assert sum(map(len, heels)) < 0.5 * sum(map(len, balls))


def test_a_knee_that_flexes_more_bends_sideways_no_further(walk):
    """A knee that is bent sideways by 15° on the level would bend so by 73° on stairs, in the plane that it has."""
    character, knee = walk.character, walk.character.require_roles()["left_lower_leg"]
    world = humanoid.reference_world(character.skeleton, character.require_roles())[1]
    above = world[character.skeleton.parents[knee]]
    rotations = np.array(walk.motion.rotations)
    aside = rotation.multiply(rotation.exp(np.radians(-15.0) * rotation.AXES["z"]), above)
    rotations[:, knee] = rotation.multiply(rotation.inverse(above), rotation.multiply(aside, rotations[:, knee]))
    bowed = walk.motion.like(walk.motion.root, rotations, walk.motion.offsets)
    result = terrain(replace(walk, motion=bowed), GROUNDS["steep stairs"])
    before, after = (
        np.degrees(humanoid.anatomical_turns(character, each.rotations)[:, knee]) for each in (bowed, result.motion)
    )
    assert np.abs(before[:, 2]).max() < 16.0
    assert after[:, 0].max() > before[:, 0].max() + 20.0
    assert np.abs(after[:, 2]).max() < 25.0


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_command(capsys, tmp_path):
    out = tmp_path / "hills.glb"
    code, text, err = run(
        capsys, "terrain", "sample:start", "--ground", "noise:3", "--doorways", "1.5:88%", "-o", out, "--json",
        "--report", tmp_path / "report.json",
    )  # fmt: skip
    assert code == 0, err
    printed = json.loads(text)
    assert printed["status"] == "solved"
    assert printed["ground"] == "noise:3"
    assert len(printed["doorways"]) == 1
    assert any("of clearance under doorway 1" in line for line in printed["notes"])
    assert out.stat().st_size > 10_000
    assert json.loads((tmp_path / "report.json").read_text())["after"]["penetration_worst"] < 6.0
    code, text, err = run(capsys, "terrain", "sample:start", "--ground", "slope:5", "-o", out)
    assert (code, text) == (2, "")
    assert "exists already" in err


def test_command_retargets_onto_stairs(capsys, tmp_path):
    out = tmp_path / "stairs.bvh"
    code, text, err = run(
        capsys, "terrain", "sample:start", "--ground", "stairs:0.15:0.5:4", "--to", "sample:child", "-o", out
    )
    assert code == 0, err
    assert "solved" in text
    import footplant

    assert footplant.load(out).character.height == pytest.approx(samples.load_character("child").height, rel=0.05)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ground", "hills:1"), "no such file, and no ground of that name"),
        (("--ground", "stairs:1"), "expected stairs:RISE:RUN[:COUNT[:START[:HEADING]]], got 1 values"),
        (("--ground", "slope:5", "--doorways", "3"), "expected two numbers as in --doorways"),
        (("--ground", "slope:5", "--doorways", "3:-1"), "above 0"),
        (("--ground", "slope:5", "--doorways", "300:1.5"), "expected a distance along the path"),
        (("--ground", "slope:5", "--cell", "0"), "expected --cell above 0 metres"),
        (("--ground", "slope:5", "--ground-at", "a,b"), "expected two numbers as in --ground-at"),
        (("--ground", "slope:5", "--to", "sample:nobody"), "expected a sample among"),
        ((), "--ground"),
    ],
)
def test_command_errors_are_one_line(capsys, tmp_path, options, words):
    out = tmp_path / "out.bvh"
    code, text, err = run(capsys, "terrain", "sample:stop", *options, "-o", out)
    assert (code, text) == (2, "")
    assert err.count("\n") == 1
    assert words in err
    assert not out.exists()


def test_help_has_an_example(capsys):
    code, text, _ = run(capsys, "terrain", "--help")
    assert code == 0
    assert "Example: footplant terrain" in text


def test_a_walk_climbs_one_tread_a_step(walk, solved):
    ground, solution = GROUNDS["steep stairs"], solved["steep stairs"]
    kinematics, treads = Kinematics(solution.motion), {}
    for plant in planned_contacts(solution):
        if plant.point.endswith("ball"):
            place = kinematics.point(walk.character.contacts[plant.point])[(plant.start + plant.end) // 2]
            treads[plant.start] = round(float(ground.height(place[None, ::2])[0]) / 0.17)
    climbed = np.diff([treads[start] for start in sorted(treads)])
    assert set(climbed.tolist()) <= {0, 1}
    assert climbed.sum() >= 3
    # climbing takes longer, unless it may not
    assert len(solution.motion) > len(walk.motion)
    assert len(terrain(walk, ground, keep_timing=True).motion) == len(walk.motion)


def test_the_trunk_leans_into_a_climb(walk, solved):
    def lean(motion) -> float:
        places, roles = Kinematics(motion).positions, walk.character.require_roles()
        line = places[:, roles["neck"]] - places[:, roles["hips"]]
        return float(np.degrees(np.arctan2(line[:, 2], line[:, 1])).mean())

    level = lean(walk.motion)
    assert 2.0 < lean(solved["up"].motion) - level < 6.0
    assert -3.0 < lean(solved["down"].motion) - level < -0.5


def test_uphill_the_trailing_foot_pushes_the_body_up(walk):
    """At 15° knees of landing legs bend by 72°; by 80° where hips come down for the trailing leg."""
    result = terrain(walk, grounds.slope(15.0))
    assert result.report.after is not None
    bent = knees(walk, result.motion)
    landings = {(plant.start, plant.point[:4]) for plant in result.report.after.plants if plant.start > 0}
    at = [np.degrees(bent[start, 0 if side == "left" else 1]) for start, side in landings]
    assert max(at) < 76.0
    assert humanoid.limit_violations(result.character, result.motion.rotations).max() < np.radians(0.5)


REAL_STEEP_DESCENTS = ("bvh/cmu/104_02.bvh", "bvh/other/toolbox_walk01.bvh")
"""A slow walk that ends with its feet side by side before a riser, and long strides that become a third as long."""


@pytest.mark.parametrize("name", REAL_STEEP_DESCENTS)
def test_feet_come_down_before_risers_without_climbing_them(shared, name):
    result = terrain(shared / name, "stairs:-0.22:0.26")
    after = result.report.after
    assert after is not None
    assert after.penetration_worst < 2.0
    assert after.jerk_ratio < 1.3
    assert after.peak_acceleration_ratio < 1.5
    assert humanoid.limit_violations(result.character, result.motion.rotations).max() < np.radians(0.5)


def test_feet_of_shorter_strides_are_not_drawn_back():
    # a foot that stands, goes 1 m in 30 frames, late rather than early, and stands; planned to go 0.3 m
    time = np.clip((np.arange(60) - 15) / 30.0, 0.0, 1.0)
    middles = np.column_stack([np.zeros(60), np.zeros(60), time**3 * (4.0 - 3.0 * time)])
    share = np.where((time > 0.0) & (time < 1.0), time * time * (3.0 - 2.0 * time), 0.0)
    done, far = _way_done(middles, np.where(time < 1.0, 15, 59), np.where(time < 1.0, 45, 59), share)
    assert far[20] > 0.98
    places = middles[:, 2] - 0.7 * np.where(time < 1.0, done, 1.0)
    assert np.diff(places).min() > -1e-3
    assert np.diff(middles[:, 2] - 0.7 * np.where(time < 1.0, share, 1.0)).min() < -1e-2
    assert places[[0, -1]] == pytest.approx([0.0, 0.3])


def test_values_of_a_plan_go_on_beyond_its_steps_as_far_as_the_body_goes():
    distance = np.concatenate([np.linspace(0.0, 2.0, 101), np.full(50, 2.0)])
    values = _between(np.array([20, 60]), np.array([-0.1, -0.3]), distance)
    assert values[[20, 60]] == pytest.approx([-0.1, -0.3])
    assert np.diff(values)[:100] == pytest.approx(-0.005)
    assert np.ptp(values[100:]) == 0.0


def test_toes_of_feet_as_long_as_a_tread_overhang_it_on_the_way_down(walk):
    heel, ball = (np.array([0.0, 0.0, z]) for z in (0.0, foot_length(walk.character, "left")))
    step = find_steps(find_contacts(walk), foot_length(walk.character, "left"))[0]
    run = sole_length(walk.character, step.side)
    ground = grounds.Stairs(-0.2, run, 6, (0.0, -1.005 * run))
    footing = find_footing(step, (heel, ball), walk.character, FLOOR, ground)
    assert footing.support == "foot"
    assert (footing.heel[2] + 1.005 * run) % run > 0.08 * run


def test_a_foot_that_steps_down_has_its_ball_at_the_nose_of_its_tread(walk):
    ground = grounds.Stairs(-0.17, 0.4, 8, (0.0, 1.2))
    solution = terrain(walk, ground)
    kinematics, balls = Kinematics(solution.motion), {}
    for plant in planned_contacts(solution):
        if plant.point.endswith("ball"):
            place = kinematics.point(walk.character.contacts[plant.point])[(plant.start + plant.end) // 2]
            balls[plant.start] = place[2] - 1.2, round(-float(ground.height(place[None, ::2])[0]) / 0.17)
    placed = [balls[start] for start in sorted(balls)]
    behind = [0.4 * treads - along for (along, treads), (_, after) in pairwise(placed) if after > treads]
    assert len(behind) >= 3
    # on its tread, and the toes, 7 cm long, over the nose
    assert min(behind) > 0.0
    assert max(behind) < 0.05
    assert set(np.diff([treads for _, treads in placed]).tolist()) <= {0, 1}


@pytest.mark.named("bvh/cmu/35_01.bvh", "vrm/Godette_vrm0.vrm")
def test_ankles_of_short_legs_keep_their_limits_down_high_steps(shared):
    """Legs of 0.44 m, steps of 0.22 m: ankles of swinging feet broke their limits in 22 frames, by up to 13°."""
    result = terrain(shared / "bvh/cmu/35_01.bvh", "stairs:-0.22:0.26", target=shared / "vrm/Godette_vrm0.vrm")
    assert humanoid.limit_violations(result.character, result.motion.rotations).max() < np.radians(0.5)


@pytest.mark.parametrize("ground", ["stairs:0.17:0.29", *thorough([], ["stairs:-0.22:0.26"])])
def test_a_squat_folds_no_leg_over_on_stairs(shared, ground):
    clip = footplant.load(shared / "bvh/cmu/69_70.bvh")
    result = terrain(clip, ground)
    after = result.report.after
    assert after is not None
    assert after.penetration_worst < 2.0
    assert after.jerk_ratio < 1.1
    own, made = (humanoid.limit_violations(clip.character, motion.rotations) for motion in (clip.motion, result.motion))
    assert (made.max(axis=0) < own.max(axis=0) + np.radians(0.5)).all()


def test_a_foot_that_comes_down_where_it_was_is_planned_as_one_step(walk):
    steps = [step for step in find_steps(find_contacts(walk), 0.2) if step.side == "left"][:3]
    places = np.array([[0.0, 0.0], [0.03, 0.04], [0.0, 0.6]])
    assert _parts(steps, places, [0.08] * 3).tolist() == [0, 0, 1]
    assert _parts(steps, places, [0.04] * 3).tolist() == [0, 1, 2]


def test_a_body_that_stands_stays_over_its_steps(walk):
    usual = find_steps(find_contacts(walk), 0.2)
    long = replace(usual[3], balls=tuple(replace(ball, end=ball.end + 200) for ball in usual[3].balls))
    comes, leaves = _middles([*usual[:3], long, *usual[4:]])
    assert comes[3] == _middles(usual)[0][3]
    assert leaves[3] - comes[3] > 100
    assert (np.delete(leaves, 3) == np.delete(comes, 3)).all()
    # who stands on two steps is between them
    knots, values = _standing(np.array([10, 20, 90]), np.array([60, 70, 90]), np.array([0.0, 0.2, 0.4]))
    assert knots.tolist() == [10, 20, 60, 70, 90]
    assert values == pytest.approx([0.0, 0.1, 0.1, 0.2, 0.4])


def test_a_path_with_a_corner_is_turned_along_smoothly():
    along = np.linspace(0.0, 4.0, 401)
    places = np.column_stack([np.zeros(401), along])
    corner = _smoothed_turns(Curve(places, np.where(along < 2.0, 0.0, 1.0), along))
    assert corner.headings[[0, -1]] == pytest.approx([0.0, 1.0], abs=1e-9)
    assert np.diff(corner.headings).max() < 0.03
    # a bend is turned along as it is, to its ends
    bend = _smoothed_turns(Curve(places, 0.3 * along, along))
    assert bend.headings == pytest.approx(0.3 * along, abs=1e-9)


def squatting(clip: Clip) -> Clip:
    """Return the clip with hips lowered by 0.28 of its height, its feet where they are."""
    root = clip.motion.root - 0.28 * clip.character.height * np.asarray(rotation.AXES["y"])
    kinematics, motion = Kinematics(clip.motion), clip.motion.like(root, clip.motion.rotations, clip.motion.offsets)
    for side in ("left", "right"):
        limb = limb_of(clip.character, f"{side}_leg")
        ankles, turns = kinematics.positions[:, limb.end], kinematics.rotations[:, limb.end]
        motion = place_limb(motion, limb, ankles, orientations=turns).motion
    return replace(clip, motion=motion)


def test_hips_come_up_for_a_leg_that_would_be_folded_too_far(walk):
    clip, contacts = squatting(walk), find_contacts(walk)
    steps = find_steps(contacts, foot_length(walk.character, "left"))
    places = transferred_places(steps, walk.character, lambda rows: rows)
    ground = grounds.Stairs(0.25, 0.3, 12, (0.0, 0.5))
    footings = [find_footing(step, pair, walk.character, FLOOR, ground) for step, pair in zip(steps, places)]
    moved = move_feet_to_ground(clip.motion, walk.character, steps, footings, FLOOR, ground)[0]
    assert knees(walk, clip.motion).max() < np.radians(149.0)
    assert np.radians(140.0) < knees(walk, moved).max() < np.radians(150.5)
    # the hips were moved: feet are where the ground asks for them
    for step, footing in zip(steps, footings):
        foot = walk.character.require_roles()[f"{step.side}_foot"]
        frame = (step.start + step.end) // 2
        before, after = (Kinematics(motion).positions[frame, foot, 1] for motion in (clip.motion, moved))
        assert after - before == pytest.approx(footing.middle[1] - footing.level[1], abs=0.05)


def test_a_trunk_that_is_bent_down_leans_no_further(walk):
    steps = find_steps(find_contacts(walk), foot_length(walk.character, "left"))
    places = transferred_places(steps, walk.character, lambda rows: rows)
    footings = [find_footing(step, pair, walk.character, FLOOR, GROUNDS["up"]) for step, pair in zip(steps, places)]
    spine, rotations = walk.character.require_roles().joints["spine"][0], np.array(walk.motion.rotations)
    turned = []
    for angle in (0.0, 0.5 * np.pi):
        bent = rotations.copy()
        bent[:, spine] = rotation.multiply(rotation.exp(angle * rotation.AXES["x"]), bent[:, spine])
        motion = walk.motion.like(walk.motion.root, bent, walk.motion.offsets)
        after = leaned(motion, walk.character, steps, footings, None)
        hips = walk.character.require_roles()["hips"]
        turned.append(rotation.angle(motion.rotations[:, hips], after.rotations[:, hips]).max())
    assert turned[0] > np.radians(1.0)
    assert turned[1] < 0.35 * turned[0]


def test_a_spine_that_is_bent_back_as_far_as_it_goes_leans_back_no_further(walk):
    steps = find_steps(find_contacts(walk), foot_length(walk.character, "left"))
    places = transferred_places(steps, walk.character, lambda rows: rows)
    footings = [find_footing(step, pair, walk.character, FLOOR, GROUNDS["down"]) for step, pair in zip(steps, places)]
    spine, bent = walk.character.require_roles().joints["spine"], np.array(walk.motion.rotations)
    for joint in spine:
        far = rotation.multiply(bent[:, joint], rotation.exp(-1.0 * rotation.AXES["x"]))
        bent[:, joint] = humanoid.limits.clamp_to_limits(walk.character, joint, far, bent[:, joint])
    motion = walk.motion.like(walk.motion.root, bent, walk.motion.offsets)
    after = leaned(motion, walk.character, steps, footings, None)
    hips = walk.character.require_roles()["hips"]
    assert rotation.angle(motion.rotations[:, hips], after.rotations[:, hips]).max() > np.radians(1.0)
    for made in (motion, after):
        assert humanoid.limit_violations(walk.character, made.rotations)[:, spine].max() < np.radians(0.05)


def test_hips_do_not_crouch_for_a_foot_that_is_early(walk):
    """Runs uphill: knees flex no farther than on the level, where they flexed by 15° more."""
    run = samples.load("run")
    run = replace(run, motion=run.motion.resample(60.0))
    result = terrain(run, grounds.slope(12.0))
    assert knees(run, result.motion).max() < knees(run, run.motion).max() + np.radians(3.0)
    assert result.report.after.worst_plant.drift < 1.0


def test_a_foot_pushes_off_no_further_at_the_end_of_a_clip():
    """Its heel may be let go of 11 frames before the end, and its leg is out of reach, by less and less."""
    frames, fps = 157, 120.0
    heels, balls = (np.tile([0.0, 0.0, z], (frames, 1)) for z in (-0.15, 0.0))
    ankles, hips = np.tile([0.0, 0.09, -0.1], (frames, 1)), np.tile([0.0, 0.95, 0.25], (frames, 1))
    heel, ball = (Plant(f"left_{end}", 144, stop, np.zeros(3)) for end, stop in (("heel", 149), ("ball", frames)))
    reach = np.interp(np.arange(frames), [146, 156], [0.85, 0.9])
    rise, _ = push_off_rises(hips, ankles, heels, balls, reach, [Step("left", (heel,), (ball,))], "left", fps)
    assert rise[:146].max() < 1e-4
    assert np.radians(10.0) < rise.max() < HEEL_SETTINGS.push_off


def test_hands_of_someone_bent_down_stay_above_the_treads(walk):
    roles, rotations = walk.character.require_roles(), np.array(walk.motion.rotations)
    for joint, angle in ((roles["left_upper_arm"], -1.2), (roles["right_upper_arm"], -1.2)):
        above = Kinematics(walk.motion).rotations[:, int(walk.character.skeleton.parents[joint])]
        turn = rotation.multiply(rotation.inverse(above), rotation.exp(angle * rotation.AXES["x"]))
        rotations[:, joint] = rotation.multiply(rotation.multiply(turn, above), rotations[:, joint])
    spine = roles.joints["spine"][0]
    rotations[:, spine] = rotation.multiply(rotation.exp(1.6 * rotation.AXES["x"]), rotations[:, spine])
    clip = replace(walk, motion=walk.motion.like(walk.motion.root, rotations, walk.motion.offsets))
    result = terrain(clip, grounds.Stairs(0.22, 0.26, 12, (0.0, 1.2)))
    for motion, low, high in ((clip.motion, 0.05, 1.0), (result.motion, -0.02, 2.0)):
        level = FLOOR if motion is clip.motion else result.ground
        palms = Kinematics(motion).points([walk.character.contacts[f"{side}_palm"] for side in ("left", "right")])
        least = float((palms[..., 1] - level.height(palms[..., ::2])).min())
        assert low < least < high


@pytest.mark.parametrize(
    ("ground", "told"),
    [
        (grounds.Stairs(0.17, 0.3, 5, (0.0, 40.0)), "no step reaches the stairs: the nearest is 3"),
        (grounds.Built((grounds.Piece("block", (30.0, 0.0, 0.0)),)), "no step reaches uneven ground"),
        (FLOOR, None),
        (UP_STAIRS, None),
        (grounds.slope(5.0), None),
    ],
)
def test_ground_that_no_step_reaches_is_told(walk, ground, told):
    notes = [note for note in terrain(walk, ground).report.notes if "no step reaches" in note]
    assert len(notes) == (told is not None)
    assert told is None or notes[0].startswith(told)


def test_a_foot_in_the_air_at_the_end_of_a_clip_keeps_to_its_way():
    ends = [anchor(0, 3, 0.0), anchor(39, 40, 1.2, free=True)]
    middles = np.column_stack([np.zeros(40), np.full(40, 0.4), np.linspace(0.0, 1.2, 40)])
    path = _StepPath.of(ends, middles)
    assert path.far[5:].min() > 0.98


def test_a_foot_that_has_just_left_its_step_at_the_end_of_a_clip_does_not_jump():
    """It is 2 cm off where the level motion has it, and has gone a tenth of its way."""
    end = replace(anchor(39, 40, 0.0, free=True), gone=0.1)
    path = _StepPath.of([anchor(0, 38, 0.0), end], np.zeros((40, 3)))
    planted = np.where(np.arange(40)[:, None] < 38, [0.02, 0.0, 0.0], 0.0)
    values = path.between(planted)
    np.testing.assert_allclose(values[:38], planted[:38])
    assert values[39, 0] == pytest.approx(0.018)
    assert 0.018 <= values[38, 0] <= 0.02


@pytest.mark.parametrize("ground", ["stones:0.4:0.3:3", "beam:0.2:-0.5"])
def test_a_foot_in_the_air_at_the_end_of_a_clip_stays_out_of_the_ditch(walk, ground):
    """A clip that ends with a foot over the gap between two stones; its leg went down for the bottom of the ditch."""
    roles = walk.character.require_roles()
    for end in (120, 204):
        part = replace(walk, motion=walk.motion[:end])
        result = footplant.terrain(part, ground)
        ankles = Kinematics(result.motion).positions[:, [roles["left_foot"], roles["right_foot"]], 1]
        level = Kinematics(part.motion).positions[:, [roles["left_foot"], roles["right_foot"]], 1]
        assert ankles.min() > level.min() - 0.03


def anchor(start: int, end: int, z: float, free: bool = False) -> _Anchor:
    return _Anchor(start, end, np.zeros(3), np.array([0.0, 0.0, z]), rotation.identity(), free)


def test_another_body_is_no_rougher_than_the_source(walk):
    """Noise of 0.3°: longer limbs would shake more, in body heights, as they do not in a retarget either."""
    rng = np.random.default_rng(1)
    noise = rotation.exp(np.radians(0.3) * rng.normal(size=(*walk.motion.rotations.shape[:2], 3)))
    shaken = replace(walk.motion, rotations=rotation.multiply(walk.motion.rotations, noise))
    result = terrain(replace(walk, motion=shaken), grounds.slope(10.0), target=samples.load_character("longlegs"))
    assert result.report.after.jerk_ratio < 0.82  # 0.88 with limbs as copied


NARROW = {"stones": "stones:0.4:0.3:3", "over a ditch": "beam:0.15:-0.5", "on the ground": "beam:0.2:0.15"}


@pytest.fixture(scope="module")
def narrow(walk) -> dict:
    return {name: footplant.terrain(walk, ground) for name, ground in NARROW.items()}


@pytest.mark.parametrize("name", NARROW)
def test_whole_feet_stand_on_stones_and_beams(narrow, name):
    result = narrow[name]
    kinematics, on_top = Kinematics(result.motion), 0
    for side in ("left", "right"):
        points = [result.character.contacts[f"{side}_{part}"] for part in ("heel", "ball")]
        half = 0.15 * sole_length(result.character, side)
        ends = kinematics.points(points)
        across = np.cross(ends[:, 1] - ends[:, 0], [0.0, 1.0, 0.0])[:, ::2]
        across *= half / np.linalg.norm(across, axis=1, keepdims=True)
        masks = [np.zeros(len(result.motion), bool) for _ in points]
        for plant in result.plants:
            for mask, point in zip(masks, points):
                if plant.point == point:
                    mask[plant.frames.start : plant.frames.stop] = True
        for frame in np.flatnonzero(masks[0] & masks[1]):
            for place in ends[frame]:
                rims = place[::2] + np.array([[-1.0], [0.0], [1.0]]) * across[frame]
                assert np.abs(result.ground.height(rims) - place[1]).max() < 0.01
                on_top += any(piece.over(place[::2])[0] for piece in result.ground.pieces)
    # and not only before and behind them
    assert on_top > 60
    assert result.report.after.worst_plant.drift < 1.0
    assert result.report.after.penetration_worst < 2.0


def test_no_foot_enters_the_gaps_between_stones(narrow):
    result = narrow["stones"]
    kinematics = Kinematics(result.motion)
    feet = [f"{side}_{part}" for side in ("left", "right") for part in ("heel", "ball", "toe")]
    soles = [result.character.contacts[name] for name in feet if name in result.character.contacts]
    assert kinematics.points(soles)[..., 1].min() > -0.01


def test_a_foot_passes_beside_the_other_one_on_a_beam(walk, narrow):
    result = narrow["over a ditch"]
    roles = result.character.require_roles()
    apart = []
    for motion in (walk.motion, result.motion):
        places = Kinematics(motion).positions
        away = (places[:, roles["left_foot"]] - places[:, roles["right_foot"]])[:, ::2]
        heading = result.ground.pieces[0].heading
        near = np.abs(away @ grounds.direction(heading)) < 0.1
        apart.append(float((away @ grounds.direction(heading + 0.5 * np.pi))[near].min()))
    # without, ankles pass 1 cm beside each other
    assert apart[0] > 0.1
    assert apart[1] > 0.07


def test_steps_go_aside_only_where_the_ground_falls_away_beside_the_path(narrow):
    for name in ("over a ditch", "on the ground"):
        assert any("go aside" in note for note in narrow[name].report.notes), name
    walk = narrow["stones"].source
    told = footplant.terrain(walk, "stairs:0.17:0.29").report.notes
    assert not any("go aside" in note for note in told)


@pytest.mark.parametrize("ground", ["slope:12:90", "noise:3"])
def test_steps_do_not_go_aside_on_slopes(walk, ground):
    result = footplant.terrain(walk, ground)
    assert not any("go aside" in note for note in result.report.notes)
    assert len(result.motion) == len(walk.motion)


def test_steps_before_stones_that_nobody_reaches_are_told(walk, narrow):
    told = footplant.terrain(walk, "stones:0.4:0.3:0:0:3:20").report.notes
    assert any("no step reaches uneven ground" in note for note in told)
    assert not any("no step reaches" in note for note in narrow["stones"].report.notes)


def test_a_walk_whose_steps_take_longer_is_handed_back_at_its_new_times(walk):
    up, ramp = (footplant.terrain(walk, ground) for ground in ("stairs:0.17:0.29", "slope:5"))
    assert up.unsolved is not None
    assert len(up.unsolved.motion) == len(up.motion) > len(walk.motion)
    assert ramp.unsolved is None
