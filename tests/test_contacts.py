"""Contact detection: synthetic feet with exact contacts, motions that look like contacts, and captured clips."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from footplant import Character, Kinematics, Motion, MotionError, Point, Skeleton, SkeletonError, samples
from footplant.contacts.detection import FEET, contacts_of_points, find_contacts
from footplant.contacts.ground import InterpolatedGround, LoweredGround, estimate_ground, lower_to_soles
from footplant.contacts.stillness import lead_in
from footplant.geometry import Plane

HEIGHT = 1.75
ONE_FOOT = ("left_heel", "left_ball")
SAMPLES = [name for name in samples.names() if name != "climb"]
LENGTH = 0.19  # heel to ball, metres
RIGHT = 0.96
"""Share of right frames of a walking foot: contacts begin and end where it is 1.8 mm off its place, 10 to 20 ms away
from the instants at which it really lands and leaves."""


def smooth(u):
    """Return a smooth step from 0 to 1 with zero velocity and acceleration at both ends."""
    u = np.clip(u, 0.0, 1.0)
    return u**3 * (10 - 15 * u + 6 * u**2)


def rolling_foot(fps=120.0, cycles=5, stride=1.4, cycle=1.07, flat=0.09, off=0.42, toe=0.61, phase=0.3, slope=0.0):
    """Return heel and ball (F, 2, 3) of a walking foot, its true contacts (F, 2), and a pelvis (F, 3) moving along."""
    t = np.arange(int(cycles * cycle * fps) + 1) / fps
    count, u = np.divmod(t / cycle + phase, 1.0)
    up, down = np.radians(20), np.radians(-55)
    pitch = np.where(u < flat, up * (1 - smooth(u / flat)), 0.0)
    pitch = np.where(u > off, down * ((u - off) / (toe - off)) ** 2, pitch)
    flying = u > toe
    s = smooth((u - toe) / (1 - toe))
    pitch = np.where(flying, down + (up - down) * s, pitch)
    heel = np.stack([count * stride, np.zeros_like(t)], axis=1)
    pivot = heel + [LENGTH, 0.0]
    roll = pivot - LENGTH * np.stack([np.cos(pitch), np.sin(pitch)], axis=1)
    heel = np.where((u > off)[:, None], roll, heel)
    lifted = pivot - LENGTH * np.array([np.cos(down), np.sin(down)])
    after = np.stack([(count + 1) * stride, np.zeros_like(t)], axis=1)
    # the ball keeps moving through the strike, as a real one does
    swing = lifted + (after - lifted) * s[:, None]
    v = np.clip((u - toe) / (1 - toe), 0, 1)
    swing[:, 1] += 0.8 * v**2 * (1 - v) ** 2
    heel = np.where(flying[:, None], swing, heel)
    ball = heel + LENGTH * np.stack([np.cos(pitch), np.sin(pitch)], axis=1)
    points = np.zeros((len(t), 2, 3))
    for i, track in enumerate((heel, ball)):
        points[:, i, 2], points[:, i, 1] = track[:, 0], track[:, 1] + slope * track[:, 0]
    truth = np.stack([u <= off + 1e-9, (u >= flat - 1e-9) & (u <= toe + 1e-9)], axis=1)
    travel = (t / cycle + phase - 0.3) * stride
    pelvis = np.stack([np.zeros_like(t), 0.95 + slope * travel, travel], axis=1)
    return points, truth, pelvis


def f1_score(truth, found):
    """Return the harmonic mean of precision and recall of two masks."""
    total = truth.sum() + found.sum()
    return 1.0 if total == 0 else 2.0 * (truth & found).sum() / total


def two_feet(frames, left=(0.1, 0.0, 0.0), right=(-0.1, 0.0, 0.0)):
    """Return heels and balls of two still feet (F, 4, 3) at the given heels, and a body above them."""
    points = np.zeros((frames, 4, 3))
    for i, heel in enumerate((left, right)):
        points[:, 2 * i] = heel
        points[:, 2 * i + 1] = np.add(heel, (0.0, 0.0, LENGTH))
    body = np.tile([0.0, 0.95, 0.08], (frames, 1))
    return points, body


def found(points, fps, body=None, names=FEET, **options):
    """Return contacts of points of an adult."""
    return contacts_of_points(points, fps, HEIGHT, names=names, body=body, **options)


@pytest.mark.parametrize("fps", [24, 30, 60, 100, 120, 250])
def test_clean_rolling_foot(fps):
    points, truth, pelvis = rolling_foot(fps)
    contacts = found(points, fps, pelvis, ONE_FOOT)
    assert len(contacts.plants) == 12
    assert (contacts.masks() == truth).mean() > RIGHT
    for i, name in enumerate(ONE_FOOT):
        assert f1_score(truth[:, i], contacts.mask(name)) > RIGHT


def test_contacts_end_within_millimetres_of_their_place():
    """A contact is what a person sees: it may include the first millimetres of a departure, but no more."""
    points, truth, pelvis = rolling_foot(120.0)
    for plant in found(points, 120.0, pelvis, ONE_FOOT).plants:
        number = ONE_FOOT.index(plant.point)
        assert np.linalg.norm(points[plant.start : plant.end, number] - plant.place, axis=1).max() < 0.008
        inside = np.flatnonzero(truth[:, number] & (abs(points[:, number, 2] - plant.place[2]) < 0.5))
        assert plant.start <= inside[0]
        assert plant.end > inside[-1]


@pytest.mark.parametrize("slope", [-0.2, 0.1, 0.3])
def test_contacts_on_slopes(slope):
    points, truth, pelvis = rolling_foot(120.0, slope=slope)
    contacts = found(points, 120.0, pelvis, ONE_FOOT)
    assert (contacts.masks() == truth).mean() > RIGHT
    places = points[..., ::2][truth]
    assert np.abs(contacts.ground.height(places) - points[..., 1][truth]).max() < 0.03


@pytest.mark.parametrize("rate", [60, 120])
def test_noise_of_five_millimetres(rate):
    points, truth, pelvis = rolling_foot(rate, cycles=8)
    agreement = []
    for seed in range(3):
        noisy = points + np.random.default_rng(seed).normal(0.0, 0.005, points.shape)
        contacts = found(noisy, rate, pelvis, ONE_FOOT)
        assert len(contacts.plants) == 18
        assert contacts.noise == pytest.approx(0.005, rel=0.2)
        agreement.append((contacts.masks() == truth).mean())
    assert np.mean(agreement) > RIGHT


@settings(max_examples=15, deadline=None)
@given(
    st.floats(-np.pi, np.pi), st.floats(-50, 50), st.floats(-50, 50), st.floats(-2, 2), st.sampled_from([30.0, 120.0])
)
def test_contacts_do_not_depend_on_position_and_heading(angle, x, z, level, fps):
    points, _, pelvis = rolling_foot(fps, cycles=3)
    turn = np.array([[np.cos(angle), 0, np.sin(angle)], [0, 1, 0], [-np.sin(angle), 0, np.cos(angle)]])
    here = found(points, fps, pelvis, ONE_FOOT)
    there = found(points @ turn.T + [x, level, z], fps, pelvis @ turn.T + [x, level, z], ONE_FOOT)
    for name in ONE_FOOT:
        # far from the origin the last digits differ, which may move an end across one frame
        assert np.abs(np.array(here.intervals(name)) - np.array(there.intervals(name))).max() <= 1


@settings(max_examples=15, deadline=None)
@given(st.floats(0.2, 5.0), st.sampled_from([30.0, 120.0]), st.booleans())
def test_contacts_do_not_depend_on_body_size(size, fps, noisy):
    points, _, pelvis = rolling_foot(fps, cycles=3)
    if noisy:
        points = points + np.random.default_rng(0).normal(0.0, 0.004, points.shape)
    one = contacts_of_points(points, fps, HEIGHT, names=ONE_FOOT, body=pelvis)
    other = contacts_of_points(points * size, fps, HEIGHT * size, names=ONE_FOOT, body=pelvis * size)
    assert [one.intervals(name) for name in ONE_FOOT] == [other.intervals(name) for name in ONE_FOOT]


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 150))
def test_contacts_do_not_depend_on_the_first_frame(first):
    points, _, pelvis = rolling_foot(120.0, cycles=4)
    whole = found(points, 120.0, pelvis, ONE_FOOT)
    cut = found(points[first:], 120.0, pelvis[first:], ONE_FOOT)
    for name in ONE_FOOT:
        expected = [(a - first, b - first) for a, b in whole.intervals(name) if a > first]
        # next to the cut, fits see fewer frames, which may move an end across one
        assert np.abs(np.array(cut.intervals(name)[-len(expected) :]) - expected).max() <= 1


RATES, SEEDS, NOISE = (30.0, 60.0, 120.0), 5, 0.005
CASES = [(name, fps, noise) for name in SAMPLES for fps in RATES for noise in (0.0, NOISE)]
FRAMES_MARGIN, F1_MARGIN = 0.010, 0.030
"""How far five noises together may be below the twenty of docs/contacts.md.

Over twenty noises, one noise of the case that varies most spreads by 0.96 % of frames and 0.031 of F1 (standard
deviation). The mean of five and the mean of twenty others then differ by √(1/5 + 1/20) = half of that; the margin is
two such standard deviations.
"""


def documented() -> dict[tuple[str, float, float], tuple[float, float, float]]:
    """The table of docs/contacts.md: (sample, rate, noise) → share of frames right, F1 of heels and of balls."""
    text = (Path(__file__).parents[1] / "docs" / "contacts.md").read_text(encoding="utf-8")
    table = {}
    for line in text.splitlines():
        name, *cells = [cell.strip(" *") for cell in line.strip().strip("|").split("|")]
        if name in SAMPLES and len(cells) == 2 * len(RATES):
            numbers = [[float(number) for number in cell.split("·")] for cell in cells]
            columns = [(fps, noise) for noise in (0.0, NOISE) for fps in RATES]
            table |= {(name, *column): (n[0] / 100.0, n[1], n[2]) for column, n in zip(columns, numbers)}
    return table


DOCUMENTED = documented()


def test_every_case_is_documented():
    assert set(DOCUMENTED) == set(CASES)


@pytest.mark.parametrize(("name", "fps", "noise"), CASES)
def test_samples_are_as_documented(name, fps, noise):
    right, *both = scores(*examined(name, fps, noise))
    stated, *stated_both = DOCUMENTED[name, fps, noise]
    margins = (FRAMES_MARGIN, F1_MARGIN) if noise else (0.001, 0.001)
    assert right >= stated - margins[0]
    assert all(f1 >= least - margins[1] for f1, least in zip(both, stated_both))


@pytest.mark.parametrize(
    ("noise", "size", "agreement", "f1"), [(0.0, 1.0, 0.98, 0.98), (0.0, 0.6, 0.98, 0.98), (NOISE, 1.0, 0.97, 0.965),
    (NOISE, 0.6, 0.955, 0.95)],
)  # fmt: skip
@pytest.mark.parametrize("fps", RATES)
def test_all_samples_together(fps, noise, size, agreement, f1):
    """5 mm on the 60 % character correspond to 8 mm on an adult."""
    truth, masks = (np.concatenate(parts) for parts in zip(*(examined(name, fps, noise, size) for name in SAMPLES)))
    check_thresholds(truth, masks, agreement, f1)


@pytest.mark.parametrize(("fps", "rise", "noise"), [(60.0, 0.05, 0.0), (120.0, 0.05, 0.0), (60.0, 0.08, 0.005)])
def test_a_slow_rise_parts_two_contacts(fps, rise, noise):
    """A heel that takes 0.6 s to rise by 5 or 8 cm and to sink again is not planted meanwhile."""
    t = np.arange(round(4.0 * fps)) / fps
    points, body = two_feet(len(t))
    points[:, 0, 1] += rise * (smooth((t - 1.0) / 0.6) - smooth((t - 2.4) / 0.6))
    for seed in range(5):
        noisy = points + np.random.default_rng(seed).normal(0.0, 1.0, points.shape) * noise
        mask = found(noisy, fps, body).mask("left_heel")
        assert not mask[(t > 1.25) & (t < 1.35) | (t > 2.65) & (t < 2.75)].any()
        assert mask[(t < 0.95) | (t > 3.05)].mean() > 0.99


@pytest.mark.parametrize("fps", [60.0, 120.0])
def test_creeping_feet_are_detected_in_noise(fps):
    """Feet of real skeletons roll on by centimetres while planted; that is not a release."""
    points, truth, pelvis = rolling_foot(fps, cycles=8)
    standing = truth.all(axis=1)
    points[..., 2] += np.cumsum(np.where(standing, 0.08 / fps, 0.0))[:, None]  # 8 cm/s
    for seed in range(3):
        noisy = points + np.random.default_rng(seed).normal(0.0, 0.005, points.shape)
        masks = found(noisy, fps, pelvis, ONE_FOOT).masks()
        assert masks[truth].mean() > 0.95
        assert masks[~truth].mean() < 0.15


@cache
def examined(name, fps, noise, size=1.0):
    """Return truth and detections (nF, 4); with white noise, metres per axis on every point, for five seeds."""
    clip = samples.load(name)
    motion = clip.motion.resample(fps).scaled(size)
    character = shrunk(clip.character, size)
    kinematics = Kinematics(motion)
    points = kinematics.points([character.contacts[point] for point in FEET])
    body = kinematics.center_of_mass(character)
    masks = []
    for seed in range(SEEDS if noise else 1):
        noisy = points + noise * np.random.default_rng(seed).normal(0.0, 1.0, points.shape)
        masks.append(contacts_of_points(noisy, fps, character.height, names=FEET, body=body).masks())
    return np.concatenate([truth_of(name, fps, len(points))] * len(masks)), np.concatenate(masks)


def truth_of(name, fps, frames):
    """Return (F, 4) the sample's ground truth."""
    truth = np.zeros((frames, len(FEET)), bool)
    for i, point in enumerate(FEET):
        for start, end in samples.ground_truth(name, fps).get(point, []):
            truth[start:end, i] = True
    return truth


def shrunk(character: Character, factor: float) -> Character:
    """Return the same character with every length times a factor."""
    contacts = {name: Point(p.joint, tuple(np.multiply(p.offset, factor))) for name, p in character.contacts.items()}
    centers = None if character.mass_centers is None else character.mass_centers * factor
    return replace(
        character, skeleton=character.skeleton.scaled(factor), contacts=contacts, mass_centers=centers,
        height=character.height * factor,
    )  # fmt: skip


def scores(truth, masks):
    """Return the share of correct frames, over heels and over balls, and the F1 scores of heels and of balls."""
    parts = [[i for i, name in enumerate(FEET) if name.endswith(part)] for part in ("heel", "ball")]
    return (truth == masks).mean(), *(f1_score(truth[:, columns], masks[:, columns]) for columns in parts)


def meets(truth, masks, agreement, f1):
    """Return whether the share of correct frames and both F1 scores are at least that high."""
    right, *both = scores(truth, masks)
    return right >= agreement and min(both) >= f1


def check_thresholds(truth, masks, agreement, f1):
    """Assert the same, showing the scores."""
    assert meets(truth, masks, agreement, f1), scores(truth, masks)


def test_standing_still_is_one_contact_per_point():
    points, body = two_feet(200)
    contacts = found(points, 100.0, body)
    assert [contacts.intervals(name) for name in FEET] == [[(0, 200)]] * 4
    assert contacts.at(50) == list(contacts.plants)


def test_a_skid_is_no_contact():
    points, body = two_feet(240)
    points[60:180, :2, 2] += np.linspace(0, 1.2, 120)[:, None]  # 1.2 m/s, on the floor
    points[180:, :2, 2] += 1.2
    body[:, 2] += points[:, 0, 2]
    contacts = found(points, 120.0, body)
    for name in ONE_FOOT:
        assert not contacts.mask(name)[64:176].any()
        assert contacts.mask(name)[5:55].all()
        assert contacts.mask(name)[185:235].all()


@pytest.mark.parametrize("between", [0.5, 1.2])
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.parametrize("fps", [60.0, 120.0])
def test_a_skid_beside_a_stance_is_no_contact(fps, leaves, between):
    """A foot slides at 0.5 m/s for 0.08 s before it stands, as beside a kick: 0.5 m/s is slow in a clip with one."""
    t = np.arange(0.0, 1.2, 1.0 / fps)
    speed = np.interp(
        t,
        [0.0, 0.3, 0.34, 0.36, 0.44, 0.45, 0.48, 0.5, 0.9, 0.94, 1.2],
        [9, 9, 1, 0.5, 0.5, between, between, 0, 0, 9, 9],
    )
    points, body = two_feet(len(t))
    points[:, 0, 2] += np.cumsum(speed) / fps
    points[:, 0, 1] += 0.3 * np.clip(np.maximum(0.33 - t, t - 0.92) / 0.3, 0.0, 1.0)
    body[:, 2] = points[:, 0, 2]
    stands = (t > 0.5) & (t < 0.9)
    if leaves:
        points, body, stands = points[::-1], body[::-1], stands[::-1]
    ((start, end),) = found(points, fps, body).intervals("left_heel")
    stands = np.flatnonzero(stands)
    assert abs(start - stands[0]) <= 2
    assert abs(end - 1 - stands[-1]) <= 2


def test_a_slow_slide_is_no_contact():
    points, body = two_feet(360)
    points[60:300, :2, 2] += np.linspace(0, 0.6, 240)[:, None]  # 0.3 m/s
    points[300:, :2, 2] += 0.6
    contacts = found(points, 120.0, body)
    assert not contacts.mask("left_heel")[70:290].any()


@pytest.mark.parametrize("seconds", [0.15, 0.4, 1.5])
def test_a_foot_held_in_the_air_is_no_contact(seconds):
    fps = 120.0
    rise, hold = 30, int(seconds * fps)
    lift = np.concatenate(
        [np.zeros(60), smooth(np.linspace(0, 1, rise)), np.ones(hold), smooth(np.linspace(1, 0, rise)), np.zeros(60)]
    )
    points, body = two_feet(len(lift))
    points[:, :2, 1] += 0.45 * lift[:, None]
    points[:, :2, 2] += 0.3 * lift[:, None]
    body[:, 0] -= 0.09 * lift  # the weight shifts over the standing foot
    body[:, 1] += 0.01 * np.sin(np.arange(len(lift)) / 20.0)
    contacts = found(points, fps, body)
    for name in ONE_FOOT:
        assert not contacts.mask(name)[65:-65].any()
        assert len(contacts.intervals(name)) == 2
    assert contacts.mask("right_heel").all()


def test_standing_on_a_box_is_a_contact():
    """Both feet step up by 40 cm, one after the other, and stay."""
    fps, frames = 60.0, 300
    t = np.arange(frames) / fps
    points, body = two_feet(frames)
    for foot, when in ((0, 1.0), (1, 2.0)):
        u = smooth((t - when) / 0.5)
        points[:, 2 * foot : 2 * foot + 2, 1] += 0.4 * u[:, None]
        points[:, 2 * foot : 2 * foot + 2, 2] += 0.5 * u[:, None]
    u = smooth((t - 1.3) / 1.0)
    body[:, 1] += 0.4 * u
    body[:, 2] += 0.5 * u
    contacts = found(points, fps, body)
    for name in FEET:
        assert len(contacts.intervals(name)) == 2
        assert contacts.intervals(name)[-1][1] == frames
    assert isinstance(contacts.ground, InterpolatedGround)
    assert contacts.ground.height([0.1, 0.5]) == pytest.approx(0.4, abs=0.02)


def test_a_raised_heel_over_a_planted_ball_is_no_contact():
    points, body = two_feet(240)
    points[60:180, [0, 2], 1] = 0.1  # on tiptoe
    points[60:180, [0, 2], 2] += 0.03
    contacts = found(points, 120.0, body)
    assert contacts.mask("left_ball").all()
    assert not contacts.mask("left_heel")[62:178].any()
    assert contacts.mask("left_heel")[:58].all()


def test_a_jump_has_no_contacts_in_the_air():
    fps = 120.0
    t = np.arange(240) / fps
    height = np.where((t > 0.8) & (t < 1.4), 0.5 * 9.81 * (t - 0.8) * (1.4 - t), 0.0)
    points, body = two_feet(len(t))
    points[..., 1] += height[:, None]
    body[:, 1] += height
    contacts = found(points, fps, body)
    for name in FEET:
        assert np.abs(np.array(contacts.intervals(name)) - [(0, 97), (168, 240)]).max() <= 2


def test_an_added_pose_before_the_first_frame_changes_nothing():
    points, truth, pelvis = rolling_foot(120.0)
    points[0] += [2.0, 0.3, -4.0]
    pelvis[0] += [2.0, 0.3, -4.0]
    contacts = found(points, 120.0, pelvis, ONE_FOOT)
    assert not contacts.masks()[0].any()
    assert (contacts.masks()[1:] == truth[1:]).mean() > RIGHT


def test_a_cut_between_takes_ends_contacts():
    points, body = two_feet(200)
    points[80:] += [3.0, 0.9, -1.0]
    body[80:] += [3.0, 0.9, -1.0]
    contacts = found(points, 120.0, body)
    for name in FEET:
        assert contacts.intervals(name) == [(0, 80), (80, 200)]


def test_a_few_bad_frames_do_not_split_a_contact():
    points, body = two_feet(300)
    points[150:153, 0] += 0.01
    contacts = found(points, 120.0, body)
    assert contacts.intervals("left_heel") == [(0, 300)]


def test_hands_are_in_contact_only_while_they_support_the_body():
    """Hands that are still while the body stands still prove nothing; while it climbs, they hold."""
    fps, frames = 60.0, 240
    points, body = two_feet(frames)
    hands = np.tile([[0.25, 1.6, 0.3], [-0.25, 0.9, 0.1]], (frames, 1, 1))
    body[:, 1] += 0.4 * smooth((np.arange(frames) / fps - 1.0) / 2.0)
    hands[:, 1] += body - body[0]  # the right hand moves with the body
    names = (*FEET, "left_palm", "right_palm")
    contacts = found(np.concatenate([points, hands], axis=1), fps, body, names)
    assert contacts.mask("left_palm").mean() > 0.95
    assert not contacts.mask("right_palm")[75:165].any()
    still = found(np.concatenate([points, hands[:1].repeat(frames, 0)], axis=1), fps, body[:1].repeat(frames, 0), names)
    assert not still.mask("left_palm").any()


def test_palms_on_the_floor_are_contacts():
    points, body = two_feet(120)
    hands = np.tile([[0.25, 0.0, 0.8], [-0.25, 0.6, 0.8]], (120, 1, 1))
    contacts = found(np.concatenate([points, hands], axis=1), 60.0, body, (*FEET, "left_palm", "right_palm"))
    assert contacts.mask("left_palm").all()
    assert not contacts.mask("right_palm").any()


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 5])
def test_very_short_clips(frames):
    points, body = two_feet(frames)
    contacts = found(points, 30.0, body)
    assert contacts.frames == frames
    assert contacts.masks().shape == (frames, 4)
    if frames < 2:
        assert contacts.plants == ()


def test_a_given_ground_overrides_the_estimate():
    points, body = two_feet(120, left=(0.1, 0.3, 0.0))
    assert found(points, 60.0, body, ground=0.0).intervals("left_heel") == []
    assert found(points, 60.0, body, ground=Plane((0.0, 0.3, 0.0))).intervals("left_heel") == [(0, 120)]


def test_invalid_input_raises():
    points, body = two_feet(10)
    with pytest.raises(MotionError, match=r"shape \(frames, 4, 3\), got \(10, 3, 3\)"):
        found(points[:, :3], 30.0)
    broken = points.copy()
    broken[3, 1, 2] = np.nan
    with pytest.raises(MotionError, match="frame 3, point 'left_ball'"):
        found(broken, 30.0)
    with pytest.raises(MotionError, match="body height above 0"):
        contacts_of_points(points, 30.0, 0.0, names=FEET)
    with pytest.raises(MotionError, match="body path"):
        found(points, 30.0, body[:5])
    with pytest.raises(MotionError, match="one of the points"):
        found(points, 30.0, body).mask("tail")
    with pytest.raises(MotionError, match="ground level"):
        found(points, 30.0, body, ground="floor")


def test_a_character_without_feet_raises():
    snake = Skeleton(("a", "b"), np.array([-1, 0]), np.zeros((2, 3)))
    motion = Motion(snake, np.zeros((3, 3)), np.tile([1.0, 0, 0, 0], (3, 2, 1)))
    with pytest.raises(SkeletonError, match="no contact points on its feet"):
        find_contacts((motion, Character(snake, "snake")))


def test_ground_estimated_from_contacts():
    rng = np.random.default_rng(0)
    xz = rng.uniform(-3, 3, (40, 2))
    places = np.insert(xz, 1, 0.02 + rng.normal(0, 0.005, 40), axis=1)
    level = estimate_ground(places, np.ones(40), HEIGHT)
    assert isinstance(level, Plane)
    assert level.height([0.0, 0.0]) == pytest.approx(0.02, abs=0.005)
    slope = estimate_ground(np.insert(xz, 1, 0.2 * xz[:, 0] - 0.1 * xz[:, 1], axis=1), np.ones(40), HEIGHT)
    assert isinstance(slope, Plane)
    assert slope.height([1.0, 1.0]) == pytest.approx(0.1, abs=0.01)
    stairs = estimate_ground(np.insert(xz, 1, 0.3 * np.floor(np.abs(xz[:, 0])), axis=1), np.ones(40), HEIGHT)
    assert isinstance(stairs, InterpolatedGround)
    assert estimate_ground(np.zeros((0, 3)), [], HEIGHT).height([5.0, 5.0]) == 0.0


def test_contacts_to_dict():
    import json

    points, body = two_feet(100)
    told = json.loads(json.dumps(found(points, 50.0, body).to_dict(), allow_nan=False))
    assert told["plants"][0] == {"point": "left_heel", "start": 0, "end": 100, "place": [0.1, 0.0, 0.0]}
    assert told["frames"] == 100


def stance_shares(contacts):
    """Return the share of each foot's cycles in stance: heel or ball, between its first and its last landing."""
    shares = []
    for side in ("left", "right"):
        mask = contacts.mask(f"{side}_heel") | contacts.mask(f"{side}_ball")
        # a contact in the first frames is no landing: the foot was planted before the clip began
        landings = [frame for frame in np.flatnonzero(np.diff(mask.astype(int)) == 1) if frame > 2]
        if len(landings) > 1:
            shares.append(mask[landings[0] + 1 : landings[-1] + 1].mean())
    return shares


@pytest.mark.parametrize("name", ["02_01", "35_01", "104_02"])
@pytest.mark.named("bvh/cmu/{name}.bvh")
def test_captured_walks_have_sixty_percent_stance(shared, name):
    contacts = find_contacts(footplant.load(shared / "bvh" / "cmu" / f"{name}.bvh"))
    shares = stance_shares(contacts)
    assert shares
    assert all(0.5 < share < 0.72 for share in shares)


@pytest.mark.parametrize("name", ["02_01", "35_01", "104_02"])
@pytest.mark.named("bvh/cmu/{name}.bvh")
def test_noise_does_not_shorten_contacts_of_captured_walks(shared, name):
    clip = footplant.load(shared / "bvh" / "cmu" / f"{name}.bvh")
    kinematics = Kinematics(clip.motion)
    points = kinematics.points([clip.character.contacts[point] for point in FEET])
    body = kinematics.center_of_mass(clip.character)
    noisy = points + np.random.default_rng(0).normal(0.0, 0.005, points.shape)
    contacts = contacts_of_points(noisy, clip.motion.fps, clip.character.height, names=FEET, body=body)
    assert (contacts.masks() == find_contacts(clip).masks()).mean() > 0.95


@pytest.mark.named("bvh/cmu/09_01.bvh")
def test_a_captured_run_has_flight_phases(shared):
    contacts = find_contacts(footplant.load(shared / "bvh" / "cmu" / "09_01.bvh"))
    masks = contacts.masks()
    assert (~masks.any(axis=1)).mean() > 0.15
    assert not ((masks[:, 0] | masks[:, 1]) & (masks[:, 2] | masks[:, 3])).any()
    assert all(0.15 < share < 0.45 for share in stance_shares(contacts))


@pytest.mark.named("bvh/cmu/13_35.bvh")
def test_captured_stairs(shared):
    contacts = find_contacts(footplant.load(shared / "bvh" / "cmu" / "13_35.bvh"))
    heights = [plant.place[1] for plant in contacts.plants if plant.point.endswith("ball")]
    assert max(heights) - min(heights) > 0.5
    assert isinstance(contacts.ground, InterpolatedGround)


def test_resampled_contacts_lie_inside_the_originals():
    points, _, pelvis = rolling_foot(120.0)
    fast = found(points, 120.0, pelvis, ONE_FOOT)
    frames = len(points[::4])
    slow = fast.resample(30.0, frames)
    assert (slow.fps, slow.frames) == (30.0, frames)
    assert np.array_equal(slow.masks(), fast.masks()[::4])


def test_climber_hand_contacts():
    clip = samples.load("climb")
    contacts = find_contacts(clip, hands=True)
    truth = samples.ground_truth("climb", clip.motion.fps)
    for palm in ("left_palm", "right_palm"):
        # contacts cut short by the clip's ends may lack the body motion that would prove them
        whole = [interval for interval in truth[palm] if interval[0] > 0 and interval[1] < len(clip.motion)]
        for start, end in whole:
            assert any(abs(a - start) <= 5 and abs(b - end) <= 5 for a, b in contacts.intervals(palm))


def test_estimated_ground_is_lowered_to_passing_soles():
    interpolated = InterpolatedGround(np.array([[0.0, 0.0, 0.0], [0.0, 0.4, 0.6], [0.0, 0.8, 1.2]]), 0.09)
    way = np.stack([np.full(80, 0.02), np.linspace(0.0, 0.7, 80), np.linspace(0.0, 1.2, 80)], axis=1)
    ground = lower_to_soles(interpolated, way, 1.8)
    assert isinstance(ground, LoweredGround)
    assert (ground.height(way[:, ::2]) <= way[:, 1] + 1e-9).all()
    assert (ground.height(way[:, ::2]) <= interpolated.height(way[:, ::2]) + 1e-12).all()
    far = np.array([[3.0, 0.0], [-3.0, 1.2]])
    np.testing.assert_allclose(ground.height(far), interpolated.height(far))
    np.testing.assert_allclose(ground.normal(far), [[0.0, 1.0, 0.0]] * 2)
    assert lower_to_soles(interpolated, way + [0.0, 1.0, 0.0], 1.8) is interpolated


def test_lead_in_frames():
    walk = samples.load("walk")
    places = Kinematics(walk.motion[:100]).positions
    height = walk.character.height
    assert lead_in(places, 120.0, height) == 0
    late = np.concatenate([np.repeat(places[:1] - [0.0, 0.9, 0.5], 14, axis=0), places])
    assert lead_in(late, 120.0, height) == 14
    gradual = np.concatenate([places[:1] - np.array([0.0, 0.9, 0.5]) * share for share in (1.0, 0.75, 0.5, 0.25)])
    assert lead_in(np.concatenate([gradual, places]), 120.0, height) == 4
    # the last steps into the motion are jumps, but not five times as far as the fastest joint goes later
    slowing = np.concatenate([places[:1] - np.array([0.0, 0.9, 0.5]) * share for share in (1.0, 0.3, 0.15)])
    assert [lead_in(np.concatenate([slowing, places]), 120.0, height, eased=eased) for eased in (False, True)] == [1, 3]
    jump_later = np.concatenate([places[:40], places[40:] + [2.0, 0.0, 0.0]])
    assert lead_in(jump_later, 120.0, height) == 0
    dash = np.arange(60)[:, None, None] * np.array([0.0, 0.0, 0.4]) + places[:1]
    assert lead_in(dash, 120.0, height) == 0
    # a body that walks while its hands, not tracked yet, come down from somewhere else; and one that stands meanwhile
    hands = [walk.character.require_roles()[f"{side}_hand"] for side in ("left", "right")]
    for still, frames in ((False, 0), (True, 3)):
        untracked = np.array(places[40:] if not still else np.repeat(places[40:41], 60, axis=0))
        untracked[:3, hands] += [0.0, 0.6, 0.0]
        assert lead_in(untracked, 120.0, height) == frames


@pytest.mark.parametrize("count", [1, 2, 25])
def test_interpolated_ground_agrees_with_numpy(count):
    rng = np.random.default_rng(count)
    places, reach = rng.uniform(-1.0, 1.0, (count, 3)), 0.09
    at = np.concatenate([rng.uniform(-1.5, 1.5, (60, 2)), places[:, ::2], [[90.0, -40.0]]]).reshape(-1, 1, 2)
    squared = ((at - places[:, ::2]) ** 2).sum(axis=-1)
    weights = np.exp(-(squared - squared.min(axis=1, keepdims=True)) / (2.0 * reach**2))
    expected = weights @ places[:, 1] / weights.sum(axis=1)
    found = InterpolatedGround(places, reach).height(at)
    assert found.shape == (len(at), 1)
    np.testing.assert_allclose(found[:, 0], expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("frames", "stands"), [(4, False), (9, True)])
def test_a_foot_that_turns_in_the_air_does_not_stand_on_what_the_body_passes(frames, stands):
    """For an instant it is as still as a foot that stands, whatever the body travels; on a step it is for longer."""
    fps, turn = 60.0, 90
    times = [0, 60, turn, turn + frames - 1, 130, 190]
    places = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.12, 3.0], [0.0, 0.12, 3.0], [0.0, 0.0, 6.0], [0.0, 0.0, 6.0]]
    path = np.stack([np.interp(np.arange(191), times, axis) for axis in np.transpose(places)], axis=1)
    body = np.stack([np.zeros(191), np.full(191, 1.0), 5.0 * np.arange(191) / fps], axis=1)
    found = contacts_of_points(path[:, None], fps, 1.7, names=["left_ball"], body=body, ground=0.0)
    assert found.mask("left_ball")[[30, 160]].all()
    assert found.mask("left_ball")[turn + 1] == stands
