"""Balance and flight: zero-moment points, parabolas, rows of the whole-body solve, and jumps edited by physics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from footplant import rotation, samples
from footplant.clip import Clip
from footplant.constraints import Footplant
from footplant.contacts.detection import find_contacts
from footplant.edits.jump import jump
from footplant.edits.retarget import retarget
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import rest_motion
from footplant.problem import Status
from footplant.quality.balance import zero_moment_points
from footplant.quality.flight import fit_parabola, flight, flight_frames, flight_gravity, flight_phases, turning_speeds
from footplant.quality.robot import GRAVITY, nearest_in_support
from footplant.solve.dynamics import DYNAMICS_SETTINGS, Dynamics, DynamicsSettings, Physics, dynamics_of


def at_sixty(name: str) -> Clip:
    """Return a sample at 60 frames a second."""
    clip = samples.load(name)
    return replace(clip, motion=clip.motion.resample(60.0))


def flights(clip: Clip) -> list[tuple[int, int]]:
    """Return the flights of a clip."""
    grounded = np.asarray(find_contacts(clip).masks().any(axis=1))
    return flight_phases(flight_frames(Kinematics(clip.motion), clip.character, grounded))


def test_the_zero_moment_point_of_a_body_that_is_pushed():
    """Of a body in a constant pose, p = c − (h/g) a: below the centre of mass if it stands or glides."""
    character, fps = samples.load_character("mannequin"), 60.0
    still = rest_motion(character.skeleton, 60, fps)
    time = np.arange(60) / fps
    for push, glide in ((0.0, 1.0), (2.0, 0.0)):
        way = glide * time + 0.5 * push * time**2
        kinematics = Kinematics(replace(still, root=still.root + way[:, None] * [1.0, 0.0, 0.0]))
        point, high, lift = zero_moment_points(kinematics, character, np.zeros(60))
        center = kinematics.center_of_mass(character)
        expected = center[:, ::2] - (high / GRAVITY * push)[:, None] * [1.0, 0.0]
        assert np.abs(point - expected)[12:-12].max() < 1e-6
        assert np.allclose(high, center[:, 1])
        assert np.allclose(lift, GRAVITY)


def test_a_parabola_is_told_from_another_gravity():
    time = np.arange(30) / 60.0
    thrown = np.stack([time, 1.0 + 2.0 * time - 0.5 * GRAVITY * time**2, -time], axis=1)
    off, free, gravity = fit_parabola(thrown, 60.0)
    assert off < 1e-9
    assert free < 1e-9
    assert gravity == pytest.approx(GRAVITY)
    assert fit_parabola(0.5 * thrown, 60.0)[2] == pytest.approx(0.5 * GRAVITY)
    assert fit_parabola(0.5 * thrown, 60.0)[0] > 0.02


def test_a_body_that_turns_as_one_keeps_its_angular_momentum():
    character, fps = samples.load_character("mannequin"), 60.0
    still = rest_motion(character.skeleton, 40, fps)
    turned = np.array(still.rotations)
    spin = rotation.exp((np.arange(40) / fps)[:, None] * [0.0, 3.0, 0.0])
    turned[:, 0] = rotation.multiply(spin, turned[:, 0])
    speeds = turning_speeds(Kinematics(replace(still, rotations=turned)), character)[4:-4]
    # about the axis that it turns about; the rest of the momentum turns with the body
    assert np.ptp(speeds[:, 1]) < 1e-9
    assert speeds[:, 1].min() > 0.1
    assert np.abs(turning_speeds(Kinematics(still), character)).max() < 1e-9


def test_a_clip_that_is_played_at_twice_its_speed_falls_with_four_g():
    clip = at_sixty("jump")
    fast = replace(clip, motion=replace(clip.motion, fps=120.0))
    assert flight_gravity(Kinematics(clip.motion), clip.character, flights(clip)) == pytest.approx(GRAVITY)
    assert flight_gravity(Kinematics(fast.motion), fast.character, flights(fast)) == pytest.approx(4.0 * GRAVITY)
    measured = flight(Kinematics(fast.motion), fast.character, find_contacts(fast))
    assert measured is not None
    assert measured.gravity > 3.0 * GRAVITY


@pytest.mark.parametrize("body", ["sample:short", "sample:longlegs"])
def test_a_jump_flies_with_the_right_gravity_on_other_bodies(body):
    clip = at_sixty("jump")
    start, end = max(flights(clip), key=lambda phase: phase[1] - phase[0])
    for dynamic, gravity in ((True, GRAVITY), (False, None)):
        result = retarget(clip, body, dynamic=dynamic)
        off, free, found = fit_parabola(Kinematics(result.motion).center_of_mass(result.character)[start:end], 60.0)
        # by the linear model of the centre of mass alone, 3 mm on long legs
        assert free < 0.001
        assert gravity is None or (off < 0.001 and abs(found - gravity) < 0.3)


def test_rows_of_balance_are_nowhere_below_the_distance_from_the_support():
    """No step makes the distance larger: rows touch it where they are made, and are above it everywhere else."""
    frames, settings, generator = 40, DynamicsSettings(), np.random.default_rng(3)
    square = np.array([[0.0, 0.0], [0.2, 0.0], [0.2, 0.1], [0.0, 0.1]])
    zeros = np.zeros((frames, 3))
    dynamics = Dynamics(
        30.0, generator.normal(0.1, 0.1, (frames, 2)), np.full(frames, 0.1), np.tile(square, (frames, 1, 1)),
        np.full(frames, 4), np.zeros(frames, bool), zeros, np.zeros(frames), zeros, np.zeros(frames),
    )  # fmt: skip

    def own(x: np.ndarray) -> np.ndarray:
        bent = np.zeros((frames, 3))
        bent[1:-1] = np.diff(x[:, :3], 2, axis=0)
        return settings.mass * (x[:, :3] - 0.1 * 30.0**2 * bent)[:, ::2]

    def wanted(x: np.ndarray) -> np.ndarray:
        """Return the squared distance beyond the tolerance (F,), linear where the force is bounded."""
        points = dynamics.points + own(x)
        to = nearest_in_support(dynamics.corners, dynamics.counts, points)
        far = np.maximum(np.linalg.norm(to - points, axis=1) - settings.tolerance, 0.0)
        return np.where(far < settings.most, far**2, settings.most * (2.0 * far - settings.most))

    start, inside = generator.normal(0.0, 1e-3, (frames, 9)), 0
    start[:, 3:] = 0.0
    rows = dynamics.rows(start, np.zeros(3), 1.0)[:, ::2]
    assert np.allclose(rows[:, :, 1], settings.mass)

    def asked(x: np.ndarray) -> np.ndarray:
        return (rows[:, :, 0] * (own(x) - rows[:, :, 3]) ** 2).sum(axis=1) / settings.balance

    for _ in range(20):
        other = start.copy()
        other[:, :3] += generator.normal(0.0, 10.0 ** generator.uniform(-5.0, -2.0), (frames, 3))
        assert (asked(other) - asked(start) >= wanted(other) - wanted(start) - 1e-12).all()
        inside += int(((wanted(start) == 0.0) & (wanted(other) > 0.0)).sum())
    assert inside > 10


def test_balance_has_settled_when_the_model_of_the_center_of_mass_has():
    zeros, frames = np.zeros((5, 3)), 5
    before = Dynamics(
        30.0, zeros[:, :2], np.ones(frames), np.zeros((frames, 4, 2)), np.full(frames, 4), np.zeros(frames, bool),
        zeros, np.zeros(frames), zeros, np.zeros(frames),
    )  # fmt: skip
    x, shift = np.zeros((frames, 9)), np.zeros(3)
    settings = DynamicsSettings()

    def settled(moved: float) -> bool:
        points = np.full((frames, 2), moved)
        return before.refined(np.full((frames, 3), moved), points, x, shift).settled_since(before)

    assert settled(0.9 * settings.settled)
    assert not settled(1.1 * settings.settled)
    flying = replace(before, flight=np.ones(frames, bool))
    assert not flying.refined(zeros, zeros[:, :2], x, shift).settled_since(flying)


def test_rows_about_a_solution_start_from_its_own_zero_moment_points():
    rng, frames, settings = np.random.default_rng(5), 20, DynamicsSettings()
    square, zeros = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.2], [0.0, 0.2]]), np.zeros((frames, 3))
    known = Dynamics(
        30.0, rng.normal(size=(frames, 2)), rng.uniform(0.05, 0.1, frames), np.tile(square, (frames, 1, 1)),
        np.full(frames, 4), np.zeros(frames, bool), zeros, np.zeros(frames), zeros, np.zeros(frames),
    )  # fmt: skip
    x, shift, moved = 0.1 * rng.normal(size=(frames, 13)), rng.normal(size=3), 0.1 * rng.normal(size=(frames, 3))
    points = rng.normal(0.0, 0.2, (frames, 2))
    rows = known.refined(moved, points, x, shift).rows(x, shift, 1.0)[:, ::2]
    bent = np.pad(np.diff(x[:, :3:2], 2, axis=0), ((1, 1), (0, 0)))
    own = settings.mass * (x[:, :3:2] - known.levers[:, None] * 30.0**2 * bent)
    off = np.clip(points, square[0], square[2]) - points
    far = np.linalg.norm(off, axis=1, keepdims=True)
    asked = off * np.maximum(1.0 - settings.tolerance / np.maximum(far, 1e-9), 0.0)
    assert np.allclose(rows[:, :, 3] - own, asked, atol=1e-9)


def test_where_supports_change_the_point_passes_over_from_one_to_the_other():
    """Left foot, right foot, none: around the change both support; without a foot nothing does."""
    character = samples.load_character("mannequin")
    kinematics = Kinematics(rest_motion(character.skeleton, 90, 60.0))
    plants = []
    for side, frames in (("left", range(30)), ("right", range(30, 60))):
        for part in ("heel", "ball"):
            point = character.contacts[f"{side}_{part}"]
            plants.append(Footplant(point=point, place=kinematics.point(point)[0], frames=frames))
    physics = Physics(True, np.zeros(90, bool), np.zeros(90))
    found = dynamics_of(kinematics, character, plants, physics)
    assert found is not None
    both = max(round(DYNAMICS_SETTINGS.passing * 60.0), 1)
    one = found.counts[10]
    expected = np.repeat([one, 2 * one, one, 0], [30 - both, 2 * both, 30 - both, 30])
    assert np.array_equal(found.counts, expected)
    left, right = (found.corners[frame, :one] for frame in (10, 50))
    assert np.allclose(found.corners[30, : 2 * one], np.concatenate([left, right]))


def test_a_walk_stays_as_balanced_as_its_source():
    clip = at_sixty("walk")
    shares = []
    for balance in (False, True):
        after = retarget(clip, "sample:blubby", balance=balance, arms=False).report.after
        assert after is not None
        assert after.balance is not None
        assert after.source_balance is not None
        shares.append(after.balance.share_outside)
    assert shares[1] < max(shares[0], after.source_balance.share_outside + 0.05)
    assert shares[1] <= after.source_balance.share_outside + 0.05


@pytest.mark.parametrize("name", ["walk", "limp"])
def test_balance_straightens_no_knee(name):
    clip = samples.load(name)
    peaks = []
    for balance in (True, False):
        result = retarget(clip, "sample:longlegs", balance=balance, arms=False, measured=False)
        knees = [result.character.require_roles()[f"{side}_lower_leg"] for side in ("left", "right")]
        ways = Kinematics(result.motion).positions[:, knees]
        peaks.append(np.linalg.norm(np.diff(ways, 2, axis=0), axis=2).max())
    # a trailing leg that is pulled straight while it bends whips: 1.39 and 1.33 times
    assert peaks[0] < 1.2 * peaks[1]


def test_a_longer_jump_follows_gravity_and_lands_where_it_is_sent():
    clip = at_sixty("jump")
    result = jump(clip, longer=0.4)
    assert result.status is Status.SOLVED
    assert result.report.after is not None
    assert result.report.after.worst_plant is not None
    assert result.report.after.worst_plant.drift < 1.0
    start, end = max(flights(clip), key=lambda phase: phase[1] - phase[0])
    center = Kinematics(result.motion).center_of_mass(clip.character)
    assert fit_parabola(center[start:end], 60.0)[0] < 0.02
    moved = np.linalg.norm((result.motion.root - clip.motion.root)[-1])
    assert moved == pytest.approx(0.4, abs=0.03)
    assert np.abs(result.motion.root[0] - clip.motion.root[0]).max() < 0.02


def test_a_jump_falls_on_until_something_supports_it():
    """The flight is found in smoothed places, into which the landing leaks: its end is not the landing."""
    clip = at_sixty("jump")
    _, end = max(flights(clip), key=lambda phase: phase[1] - phase[0])
    assert not find_contacts(clip).masks()[end].any()
    center = Kinematics(jump(clip, longer=0.4).motion).center_of_mass(clip.character)
    fall = -(center[end + 1] - 2.0 * center[end] + center[end - 1]) * 60.0**2
    assert fall == pytest.approx([0.0, 9.81, 0.0], abs=0.5)


def test_a_higher_jump_takes_longer():
    clip = at_sixty("jump")
    result = jump(clip, higher=0.1)
    assert len(result.motion) > len(clip.motion)
    tops = [Kinematics(each).center_of_mass(clip.character)[:, 1].max() for each in (clip.motion, result.motion)]
    assert 0.06 < tops[1] - tops[0] < 0.14


def test_clips_without_a_jump_are_refused():
    with pytest.raises(MotionError, match="expected a clip with a jump"):
        jump(at_sixty("stand"), longer=0.4)
    with pytest.raises(MotionError, match="expected a jump from 1 to"):
        jump(at_sixty("jump"), longer=0.4, number=7)


def test_rows_agree_with_their_formulas():
    """Balance and flight of random displacements, written out over whole arrays."""
    rng, frames, fps = np.random.default_rng(3), 12, 30.0
    square = np.array([[0.0, 0.0], [0.1, 0.0], [0.1, 0.2], [0.0, 0.2]])
    flight = np.zeros(frames, bool)
    flight[5:8] = True
    counts = np.where(flight | (np.arange(frames) == 2), 0, 4)
    dynamics = Dynamics(
        fps, 0.2 * rng.normal(size=(frames, 2)), rng.uniform(0.05, 0.1, frames), np.tile(square, (frames, 1, 1)),
        counts, flight, rng.normal(size=(frames, 3)), rng.uniform(0.0, 0.05, frames),
        0.01 * rng.normal(size=(frames, 3)), np.zeros(frames),
    )  # fmt: skip
    x, shift = 0.1 * rng.normal(size=(frames, 13)), 0.1 * rng.normal(size=3)
    found, settings = dynamics.rows(x, shift, 2.0), dynamics.settings

    def bent(values):
        return np.pad(np.diff(values, 2, axis=0), ((1, 1), (0, 0)))

    share, levers = settings.mass, dynamics.levers[:, None] * fps**2
    others = 0.5 * (1.0 - share) * (x[:, 3:6] + x[:, 6:9]) + dynamics.remainder
    rest = dynamics.points + (others + shift)[:, ::2] - levers * bent(others)[:, ::2]
    now = rest + share * x[:, :3:2] - levers * bent(share * x[:, :3])[:, ::2]
    to = np.where(counts[:, None] > 0, np.clip(now, square[0], square[2]), now)
    away = np.linalg.norm(to - now, axis=1)[:, None]
    beyond = np.maximum(away - np.maximum(dynamics.allowed, settings.tolerance)[:, None], 0.0)
    unit = (to - now) / np.maximum(away, 1e-9)
    pull = np.minimum(settings.most / np.maximum(beyond[:, 0], 1e-9), 1.0)
    expected = np.zeros((frames, 3, 4))
    wanted = now + beyond * unit - rest
    for axis, column in ((0, 0), (2, 1)):
        rows = [2.0 * settings.balance * pull, np.full(frames, share), -share * levers[:, 0]]
        expected[:, axis] = np.stack([*rows, wanted[:, column]], axis=1)
    expected[counts == 0] = 0.0
    time = (settings.flight_time * fps) ** 2
    expected[flight, :, 0], expected[flight, :, 2] = 2.0 * settings.flight, share * time
    expected[flight, :, 3] = time * (dynamics.missing / fps**2 - bent(others))[flight]
    assert np.allclose(found, expected)
