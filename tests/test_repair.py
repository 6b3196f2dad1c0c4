"""Repair: footplants hold, penetration is removed, and everything else stays unchanged."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import footplant
from damage import DAMAGE, drifting, jittering, lifted, noisy_feet, stretched, swaying
from footplant import Clip, rotation, samples
from footplant.cli import main
from footplant.contacts.detection import HANDS, find_contacts
from footplant.edits.repair import repair
from footplant.errors import MotionError, SkeletonError
from footplant.feet.palms import without_idle_palms
from footplant.feet.stances import find_skating_contacts
from footplant.kinematics import Kinematics
from footplant.motion import concatenate, rest_motion
from footplant.problem import Solution, Status

UNCHANGED = 3.2
"""Millimetres; contacts include the first millimetres of a departure, in which a foot is held at its place."""


def change(one, other) -> float:
    """Return the largest distance of any joint at any frame between two motions, mm."""
    return float(1000.0 * np.linalg.norm(Kinematics(one).positions - Kinematics(other).positions, axis=2).max())


def check(solution: Solution, drift: float = 2.0, depth: float = 5.0) -> None:
    after = solution.report.after
    assert after.worst_plant.drift <= drift
    assert after.penetration_worst <= depth
    assert np.isfinite(solution.motion.rotations).all()


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("name", ["walk", "run", "kick"])
def test_damage_is_repaired(name, kind):
    clean = samples.load(name)
    bad = DAMAGE[kind](clean)
    solution = repair(bad)
    check(solution)
    # arms stay unchanged and the trunk nearly so; legs and feet move, and the pelvis turns by tenths of a degree
    assert solution.report.after.deviation.free_mean < 0.15
    assert solution.report.after.deviation.free_worst < 5.0
    assert solution.report.after.peak_acceleration_ratio < 1.5


@pytest.mark.parametrize(
    ("name", "damage"),
    [("walk", drifting), ("walk", noisy_feet), ("run", swaying), ("kick", drifting), ("turn-left", noisy_feet)],
)
def test_repairing_twice_changes_nothing(name, damage):
    bad = damage(samples.load(name))
    once = repair(bad).motion
    assert change(repair(replace(bad, motion=once)).motion, once) < UNCHANGED


@pytest.mark.parametrize("name", ["walk", "run", "turn-left", "stand", "kick", "jump", "sneak"])
def test_clean_motions_stay_unchanged(name):
    clip = samples.load(name)
    solution = repair(clip)
    assert change(solution.motion, clip.motion) < UNCHANGED
    assert solution.status is Status.SOLVED


def test_footplants_below_the_ground_are_raised():
    clip = samples.load("walk")
    contacts = find_contacts(clip)
    deep = tuple(replace(plant, place=plant.place - [0.0, 0.02, 0.0]) for plant in contacts.plants[:2])
    solution = repair(clip, ground=0.0, contacts=replace(contacts, plants=(*deep, *contacts.plants[2:])))
    check(solution)


def test_contacts_of_skating_feet_are_found():
    clean = samples.load("walk")
    for damage in (drifting, swaying, stretched, noisy_feet):
        bad = damage(clean)
        contacts = find_skating_contacts(bad.motion, bad.character)
        truth = samples.ground_truth("walk")
        for point in ("left_heel", "left_ball", "right_heel", "right_ball"):
            planted = np.zeros(len(bad.motion), bool)
            for start, end in truth[point]:
                planted[start:end] = True
            found = contacts.mask(point)
            assert (found & planted).sum() > 0.65 * planted.sum(), (damage.__name__, point)
            assert (found & ~planted).sum() < 0.3 * planted.sum(), (damage.__name__, point)


def test_gliding_feet_of_a_standing_character_are_planted():
    stand = samples.load("stand")
    bad = drifting(replace(stand, motion=stand.motion[::4]))
    assert not find_contacts(bad).plants
    solution = repair(bad)
    assert len(solution.report.after.plants) == 4
    check(solution, drift=0.5)
    # feet faster than `slide` are meant to slide
    assert not repair(bad, slide=0.05).report.after.plants


def test_floating_and_sunken_clips_are_put_on_the_ground():
    clip = samples.load("walk")
    for by in (0.06, -0.06):
        bad = lifted(clip, by)
        solution = repair(bad)
        assert change(solution.motion, clip.motion) < UNCHANGED
        assert any("the whole clip was" in note and "60.0 mm" in note for note in solution.report.notes)
    far = lifted(clip, 0.5)
    kept = repair(far)
    assert change(kept.motion, far.motion) < UNCHANGED
    assert any("left there" in note for note in kept.report.notes)
    assert change(repair(far, ground=0.0).motion, clip.motion) < UNCHANGED
    assert change(repair(clip, ground=0.3).motion, lifted(clip, 0.3).motion) < UNCHANGED


def with_t_pose(clip: Clip) -> Clip:
    return replace(clip, motion=concatenate([rest_motion(clip.character.skeleton, 1, clip.motion.fps), clip.motion]))


def test_lead_in():
    clip = samples.load("walk")
    added = with_t_pose(clip)
    kept = repair(added)
    assert np.array_equal(kept.motion.rotations[0], added.motion.rotations[0])
    assert change(kept.motion[1:], clip.motion) < UNCHANGED
    assert kept.report.after.penetration_worst < 5.0
    dropped = repair(added, lead_in="drop")
    assert len(dropped.motion) == len(clip.motion)
    assert change(dropped.motion, clip.motion) < UNCHANGED
    for solution, words in ((kept, "kept"), (dropped, "dropped")):
        assert words in solution.report.notes[0]
    assert not any("lead-in pose" in note for note in repair(clip, lead_in="drop").report.notes)
    known = find_contacts(added)
    # these contacts include two frames of a landing that the clip's end cuts off
    assert change(repair(added, contacts=known, lead_in="drop").motion, clip.motion) < 2.0 * UNCHANGED
    with pytest.raises(MotionError, match="keep, drop"):
        repair(added, lead_in="burn")


def test_notes_give_drift_in_millimetres():
    solution = repair(drifting(samples.load("walk")))
    before, after = solution.report.before.worst_plant.drift, solution.report.after.worst_plant.drift
    assert before > 30.0
    assert any(f"drifted by up to {before:.1f} mm" in note and f"now {after:.1f}" in note
               for note in solution.report.notes)  # fmt: skip


def test_results_are_deterministic():
    bad = noisy_feet(samples.load("run"))
    one, other = repair(bad).motion, repair(bad).motion
    assert np.array_equal(one.rotations, other.rotations)
    assert np.array_equal(one.root, other.root)


def test_other_characters_and_short_clips():
    from footplant.edits.retarget import retarget

    target = samples.load_character("child")
    walk = samples.load("walk")
    motion = retarget(walk, target).motion
    bad = swaying(Clip(motion, target), size=0.02)
    check(repair(bad))
    for frames in (1, 2, 3, 5):
        assert len(repair(replace(walk, motion=walk.motion[:frames])).motion) == frames
    with pytest.raises(SkeletonError):
        repair(Clip(walk.motion, replace(walk.character, contacts={}, roles=None)))


REAL = {
    "bvh/cmu/02_01.bvh": 2.0,
    "bvh/cmu/104_02.bvh": 2.0,
    "bvh/other/boxing_toes.bvh": 2.0,
    "bvh/other/mocopi_jump.bvh": 5.0,
    "smpl_npz/video_kick_level1_filter_amass.npz": 2.0,
    "smpl_npz/video_squat_level1_filter_amass.npz": 2.0,
}
"""Captured clip → largest drift of a footplant after a repair, mm."""


@pytest.mark.parametrize("name", REAL)
@pytest.mark.named("{name}")
def test_real_clips(shared, name):
    clip = footplant.load(shared / name)
    solution = repair(replace(clip, motion=clip.motion[:900]))
    check(solution, drift=REAL[name], depth=5.5)
    before, after = solution.report.before, solution.report.after
    assert after.worst_plant.drift < 0.2 * before.worst_plant.drift
    assert after.deviation.free_mean < 0.25
    assert after.jerk_ratio < 1.1
    assert after.share_under_2mm > 0.9


# palms


def planted_palms(solution: Solution) -> list:
    """Return the planted palms of a repair, before and after."""
    report = solution.report
    return [(old, new) for old, new in zip(report.before.plants, report.after.plants) if new.point in HANDS]


PALMS = {"deepmimic/humanoid3d_cartwheel.txt": 2, "deepmimic/humanoid3d_crawl.txt": 5, "bvh/cmu/13_33.bvh": 10}
"""Clip → least number of palms on the ground, or on what they hold."""


@pytest.mark.parametrize("name", PALMS)
@pytest.mark.named("{name}")
def test_planted_palms_stay(shared, name):
    clip = footplant.load(shared / name)
    solution = repair(clip)
    palms, report = planted_palms(solution), solution.report
    assert len(palms) >= PALMS[name]
    assert max(old.drift for old, _ in palms) > 10.0
    assert max(new.drift for _, new in palms) < 1.0
    assert max(plant.drift for plant in report.after.plants) < 1.0
    assert report.after.jerk_ratio < 1.05
    assert report.after.peak_acceleration_ratio < 1.05
    assert any("planted palm" in note for note in report.notes)
    lead, fade = len(solution.motion) - report.after.frames, round(1.0 * clip.motion.fps)
    far = np.ones(len(clip.motion), bool)
    for _, new in palms:
        far[max(new.start + lead - fade, 0) : new.end + lead + fade] = False
    roles = clip.character.require_roles()
    joints = [roles[f"{side}_{part}"] for side in ("left", "right") for part in ("upper_arm", "lower_arm", "hand")]
    turned = rotation.angle(solution.motion.rotations[:, joints], clip.motion.rotations[:, joints])
    assert not far.any() or np.degrees(turned[far]).max() < 0.2


def test_palms_that_glide_are_put_where_they_are_on_average(shared):
    clip = footplant.load(shared / "deepmimic" / "humanoid3d_crawl.txt")
    bad = drifting(clip)
    palms = planted_palms(repair(bad))
    assert len(palms) >= 4
    assert max(old.drift for old, _ in palms) > 15.0
    assert max(new.drift for _, new in palms) < 1.0


def test_palms_in_the_air_that_glide_with_the_body_are_not_held():
    bad = drifting(samples.load("kick"))
    assert any(plant.point in HANDS for plant in without_idle_palms(find_contacts(bad, hands=True), 1.7, bad).plants)
    assert not planted_palms(repair(bad))


def test_known_palms_are_held_and_missed_ones_named(shared):
    clip = footplant.load(shared / "deepmimic" / "humanoid3d_cartwheel.txt")
    known = find_contacts(clip, hands=True)
    assert len(planted_palms(repair(clip, contacts=known))) == 2
    # a hand that is planted before it arrives cannot stay at one place
    early = tuple(replace(p, start=p.start - 30) if p.point == "left_palm" else p for p in known.plants)
    solution = repair(clip, contacts=replace(known, plants=early))
    assert any("left palm at frames 35–75 still drifts by" in note for note in solution.report.notes)


# the command


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_command(capsys, tmp_path):
    bad = drifting(samples.load("walk"))
    footplant.save(tmp_path / "bad.bvh", bad)
    out, report = tmp_path / "good.bvh", tmp_path / "report.json"
    code, text, err = run(capsys, "repair", tmp_path / "bad.bvh", "-o", out, "--report", report, "--json")
    assert code == 0, err
    printed = json.loads(text)
    assert printed["command"] == "repair"
    assert printed["before"]["worst_plant"]["drift"] > 30.0 > 2.0 > printed["after"]["worst_plant"]["drift"]
    assert json.loads(report.read_text())["status"] == printed["status"]
    again = footplant.load(out)
    assert len(again.motion) == len(bad.motion)
    code, text, err = run(capsys, "repair", tmp_path / "bad.bvh", "-o", out, "--overwrite", "--ground", "0.1")
    assert code == 0
    assert "drifted by up to" in err
    assert "worst of" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["sample:walk", "--lead-in", "burn"], "expected --lead-in to be one of keep, drop; got 'burn'"),
        (["none.bvh"], "none.bvh"),
        (["sample:walk", "--slide", "-1"], "--slide"),
        (["sample:walk", "--ground", "low"], "--ground"),
    ],
)
def test_command_errors_are_one_line(capsys, tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "repair", *options, "-o", "out.bvh")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert not (tmp_path / "out.bvh").exists()


def test_jitter_does_not_rotate_feet_about_their_balls():
    """A foot that jitters rigidly is held rigidly while its heel's footplant ramps down."""
    bad = jittering(samples.load("walk"))
    solution = repair(bad)
    character = bad.character
    turns = []
    for motion in (bad.motion, solution.motion):
        kinematics = Kinematics(motion)
        line = kinematics.point(character.contacts["left_heel"]) - kinematics.point(character.contacts["left_ball"])
        turns.append(np.unwrap(np.arctan2(line[:, 0], line[:, 2])))
    assert np.abs(turns[1] - turns[0]).max() < np.radians(10.0)
