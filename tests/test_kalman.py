"""Kalman filter of live sensors: less noise at little lag, no drift, gaps without jumps, a valid covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from conftest import shared_data
from footplant import Kinematics, rotation, samples
from footplant.errors import MotionError
from footplant.live import _kalman as kernel
from footplant.live.kalman import Gaps, Outliers, SensorFilter
from thorough import thorough

RATE, LAG_FRAMES = 120.0, 3
NOISE = (0.002, np.radians(1.0))
REAL = ("cmu/**/13_35.bvh", "cmu/**/55_02.bvh", "cmu/**/69_70.bvh", "cmu/**/14_23.bvh", "cmu/**/19_01.bvh")


def noisy(positions, rotations, seed=0):
    random = np.random.default_rng(seed)
    shaken = rotation.multiply(rotations, rotation.exp(random.normal(scale=NOISE[1], size=positions.shape)))
    return positions + random.normal(scale=NOISE[0], size=positions.shape), shaken


def filtered(sensors, positions, rotations, present=None, times=None):
    """Return the filter's output, frame by frame."""
    state = sensors.init()
    places, turns = np.empty_like(positions), np.empty_like(rotations)
    everybody = np.ones(positions.shape[1], bool)
    for frame in range(len(positions)):
        dt = 1.0 / RATE if times is None or frame == 0 else times[frame] - times[frame - 1]
        here = everybody if present is None else present[frame]
        state, places[frame], turns[frame] = sensors.step(state, positions[frame], rotations[frame], here, dt)
    return places, turns, state


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def improvement(motion):
    """Return the relative reduction of position and orientation errors, 0 to 1, at the filter's lag."""
    kinematics = Kinematics(motion)
    positions, rotations = np.array(kinematics.positions), np.array(kinematics.rotations)
    raw = noisy(positions, rotations)
    shown = filtered(SensorFilter.from_half_life(positions.shape[1]), *raw)[:2]
    then, now = slice(30, -LAG_FRAMES), slice(30 + LAG_FRAMES, None)
    places = 1.0 - rms(shown[0][now] - positions[then]) / rms(raw[0][then] - positions[then])
    turns = 1.0 - rms(rotation.angle(shown[1][now], rotations[then])) / rms(
        rotation.angle(raw[1][then], rotations[then])
    )
    return places, turns


@pytest.mark.parametrize("name", ["walk", "run", "kick", "punch", "reach", "clap", "turn-left", "stand"])
def test_noise_falls_by_forty_percent_on_samples(name):
    places, turns = improvement(samples.load(name).motion[:600])
    assert places >= 0.4
    assert turns >= 0.4


def test_a_stream_may_begin_in_full_run():
    """Nothing is known of the speed at first: what is fast from the start is not held back."""
    count, sensors = 60, SensorFilter.from_half_life(1)
    places = np.zeros((count, 1, 3))
    places[:, 0, 0] = 14.0 * np.arange(count) / RATE
    shown, _, state = filtered(sensors, places, rotation.identity(count, 1))
    assert state.outliers == 0
    assert np.abs(shown[10 + LAG_FRAMES :] - places[10:-LAG_FRAMES]).max() < 0.01


def test_noise_falls_by_forty_percent_on_captured_clips(shared):
    found = [next(iter(sorted(shared.glob(pattern))), None) for pattern in REAL]
    paths = [path for path in found if path] or sorted(shared_data().glob("**/*.bvh"))[:5]
    gains = []
    for path in paths:
        motion = footplant.load(path).motion
        # the first frame of these clips is a T-pose
        gains.append(improvement(motion[1 : int(4 * motion.fps)].resample(RATE, smooth=True)))
    assert np.mean(gains, axis=0).min() >= 0.4
    assert np.median(gains, axis=0).min() >= 0.4


@pytest.mark.parametrize("half_life", [0.004, 0.013])
@pytest.mark.parametrize("name", ["jump", "kick", "run"])
def test_limbs_accelerate_no_more_than_measured(name, half_life):
    """Thigh and shin of a landing leg turn against each other: filtered unlike, they would not cancel at the foot."""
    clip, rate = samples.load(name), 60.0
    motion, roles = clip.motion.resample(rate), clip.character.require_roles()
    joints = [roles[role] for role in ("left_foot", "right_foot", "left_hand", "right_hand")]
    sensors = SensorFilter.from_half_life(len(motion.skeleton), half_life, lag=1.0 / rate)
    state, here = sensors.init(when=-1.0 / rate), np.ones(len(motion.skeleton), bool)
    roots, turns = np.empty_like(motion.root), np.empty_like(motion.rotations)
    places = np.zeros((len(motion), len(motion.skeleton), 3))
    places[:, 0] = motion.root
    for frame in range(len(motion)):
        state, *shown = sensors.step(state, places[frame], motion.rotations[frame], here, 1.0 / rate)
        roots[frame], turns[frame] = shown[0][0], shown[1]
    after = Kinematics(replace(motion, root=roots, rotations=turns)).positions[5:, joints]
    before = Kinematics(motion).positions[5:, joints]
    for part in (slice(0, 2), slice(2, 4)):
        peaks = [np.linalg.norm(np.diff(found[:, part], 2, axis=0), axis=-1).max() for found in (before, after)]
        assert peaks[1] <= 1.03 * peaks[0]


def test_lag_is_within_thirty_milliseconds():
    motion = samples.load("walk").motion
    positions, rotations = (np.array(a) for a in (Kinematics(motion).positions, Kinematics(motion).rotations))
    shown = filtered(SensorFilter.from_half_life(positions.shape[1]), *noisy(positions, rotations))[0]
    errors = [rms(shown[60 + shift : len(shown) - 10 + shift] - positions[60 : len(shown) - 10]) for shift in range(8)]
    assert np.argmin(errors) / RATE <= 0.03


def test_still_poses_do_not_drift():
    frames, sensors = 7200, 4
    random = np.random.default_rng(1)
    truth = np.tile(random.normal(size=(sensors, 3)), (frames, 1, 1))
    turns = np.tile(rotation.normalize(random.normal(size=(sensors, 4))), (frames, 1, 1))
    shown = filtered(SensorFilter.from_half_life(sensors), *noisy(truth, turns))
    tail = slice(120, None)
    assert rms(shown[0][tail] - truth[tail]) < 0.6 * NOISE[0]
    assert np.abs(shown[0][-1200:].mean(axis=0) - truth[0]).max() < 0.1 * NOISE[0]
    last = rotation.mean(shown[1][-1200:])
    assert rotation.angle(last, turns[0]).max() < 0.1 * NOISE[1]
    assert np.abs(np.linalg.norm(shown[1], axis=-1) - 1.0).max() < 1e-12


@pytest.mark.parametrize("count", [4, 5])
def test_the_pose_is_led_to_measurements_behind_a_short_gap_once_their_velocity_is_known(count):
    """What swings to and fro is lost where it turns round, for longer than is shown behind the measurements."""
    sensors, swing, pace = SensorFilter.from_half_life(1, 0.002), 0.3, 2.0 * np.pi * 2.5
    state, shown = sensors.init(), []
    for frame in range(180):
        seconds = frame / 60.0
        if not 96 <= frame < 96 + count:
            place = np.array([[swing * np.sin(pace * seconds), 0.0, 0.0]])
            sensors.measure(state, place, rotation.identity(1), np.ones(1, bool), seconds)
        shown.append(sensors.show(state, seconds - 0.04)[0][0, 0])
    assert np.abs(np.diff(shown[60:], 2)).max() * 60.0**2 < 1.2 * swing * pace**2


def covariances(state):
    """Return the newest covariances (2, N, 2, 2) of value and velocity: of positions, and of orientations."""
    return state.rows[:, :, 0, kernel.COVARIANCE + np.array([[0, 1], [1, 2]])]


@given(st.lists(st.floats(0.0, 0.3), min_size=5, max_size=40), st.integers(0, 2**31))
@settings(max_examples=30, deadline=None)
def test_any_time_steps_give_finite_results(steps, seed):
    random = np.random.default_rng(seed)
    sensors = SensorFilter.from_half_life(2, noise=(10.0 ** -random.integers(1, 9), 1e-6))
    state = sensors.init()
    for dt in steps:
        present = random.random(2) > 0.4
        turns = rotation.normalize(random.normal(size=(2, 4)))
        state, places, shown = sensors.step(state, random.normal(size=(2, 3)), turns, present, dt)
        assert np.isfinite(places).all()
        assert np.abs(np.linalg.norm(shown, axis=1) - 1.0).max() < 1e-9
        known = covariances(state)[:, state.counts[0] > 0]
        assert (np.linalg.eigvalsh(known) > -1e-12).all()


def test_covariance_does_not_collapse():
    """Many frames of a perfect, still sensor: the filter must still respond when it moves."""
    sensors = SensorFilter.from_half_life(1, noise=(1e-9, 1e-9))
    state = sensors.init()
    here, turn, present = np.zeros((1, 3)), rotation.identity(1), np.ones(1, bool)
    for _ in range(thorough(20_000, 100_000)):
        state, *_ = sensors.step(state, here, turn, present, 0.001)
    assert (np.linalg.eigvalsh(covariances(state)) > 0).all()
    for _ in range(60):
        state, places, _ = sensors.step(state, here + 0.1, turn, present, 1.0 / RATE)
    assert np.abs(places - 0.1).max() < 1e-3


def test_a_gap_continues_then_holds_then_eases_home():
    sensors = SensorFilter.from_half_life(1, lag=0.0, gaps=Gaps(hold=1.0, ease=1.0))
    home = np.array([[0.0, 1.0, 0.0]])
    state = sensors.init(home)
    turn, here, nobody = rotation.identity(1), np.ones(1, bool), np.zeros(1, bool)
    for frame in range(120):
        place = np.array([[frame / RATE, 1.0, 0.0]])
        state, shown, _ = sensors.step(state, place, turn, here, 1.0 / RATE)
    last, way = place[0, 0], []
    for _ in range(300):
        state, shown, _ = sensors.step(state, place, turn, nobody, 1.0 / RATE)
        way.append(shown[0, 0])
    way = np.array(way)
    assert last + 0.03 < way[60] < last + 0.18
    assert np.abs(np.diff(way[60:110])).max() < 1e-3
    assert abs(way[-1]) < 1e-6
    assert np.abs(np.diff(way)).max() < 2.0 / RATE
    assert state.missing[0] == pytest.approx(2.5)


@pytest.mark.parametrize("name", ["walk", "run", "kick"])
@pytest.mark.parametrize("start", [0.6, 1.1, 1.7])
def test_no_jump_after_a_gap_of_200_ms(name, start):
    motion = samples.load(name).motion
    rotations = np.array(motion.rotations)
    positions = np.repeat(motion.root[:, None], rotations.shape[1], axis=1)
    present = np.ones(rotations.shape[:2], bool)
    first = int(start * RATE)
    present[first : first + 24] = False
    sensors = SensorFilter.from_half_life(rotations.shape[1])
    shown = filtered(sensors, positions, rotations, present)
    for values, truth in ((shown[1], rotations),):
        speed = rotation.angle(values[:-1], values[1:]).max() * RATE
        usual = rotation.angle(truth[:-1], truth[1:]).max() * RATE
        assert speed <= 1.5 * usual
    step = np.linalg.norm(np.diff(shown[0][:, 0], axis=0), axis=1).max()
    assert step <= 1.5 * np.linalg.norm(np.diff(motion.root, axis=0), axis=1).max()
    assert rotation.angle(shown[1][-1], rotations[-1 - LAG_FRAMES]).max() < 0.02


def test_single_missing_sensors_are_bridged():
    motion = samples.load("walk").motion[:240]
    rotations = np.array(motion.rotations)
    positions = np.repeat(motion.root[:, None], rotations.shape[1], axis=1)
    present = np.random.default_rng(4).random(rotations.shape[:2]) > 0.05
    shown = filtered(SensorFilter.from_half_life(rotations.shape[1]), positions, rotations, present)[1]
    off = rotation.angle(shown[20 + LAG_FRAMES :], rotations[20:-LAG_FRAMES])
    assert np.degrees(np.percentile(off, 99.9)) < 3.0


def test_invalid_settings_raise():
    with pytest.raises(MotionError, match="half-life"):
        SensorFilter.from_half_life(3, 0.0)
    with pytest.raises(MotionError, match=r"\(sensors, 2\)"):
        SensorFilter(np.ones((3, 1)), np.ones((3, 1)))
    with pytest.raises(MotionError, match="homes"):
        SensorFilter.from_half_life(3).init(np.zeros((2, 3)))


# the same filter in matrix form, as in the thesis, with the smoother of Rauch, Tung & Striebel


class Twin:
    """Reference implementation of one sensor and one channel."""

    def __init__(self, sensors, channel):
        self.variance = sensors.noise[0, channel] ** 2
        self.density = sensors.acceleration[0, channel]
        self.largest = (sensors.outliers.metres_per_second2, sensors.outliers.radians_per_second2)[channel]
        self.lag, self.turning, self.rows = sensors.lag, channel == 1, []

    def move(self, value, vector):
        return rotation.normalize(rotation.multiply(value, rotation.exp(vector))) if self.turning else value + vector

    def between(self, a, b):
        return rotation.log(rotation.multiply(rotation.inverse(a), b)) if self.turning else b - a

    def step(self, measured, dt):
        if not self.rows:
            start = np.diag([self.variance, (kernel.UP_TO_SPEED * self.largest) ** 2])
            self.rows.append((measured, np.zeros(3), start, start, 0.0))
            return measured
        value, speed, covariance, _, _ = self.rows[-1]
        a = np.array([[1.0, dt], [0.0, 1.0]])
        q = self.density * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
        predicted = a @ covariance @ a.T + q
        value = self.move(value, dt * speed)
        innovation = self.between(value, measured)
        gain = predicted[:, 0] / (predicted[0, 0] + self.variance)
        rest = np.eye(2) - np.outer(gain, [1.0, 0.0])
        updated = rest @ predicted @ rest.T + self.variance * np.outer(gain, gain)
        self.rows.append((self.move(value, gain[0] * innovation), speed + gain[1] * innovation, updated, predicted, dt))
        return self.look_back()

    def between_rows(self, value, speed, later, fast, u, dt):
        """Return the cubic through two states."""
        way, rest = self.between(value, later), 1.0 - u
        return self.move(value, u * u * (3 - 2 * u) * way + dt * u * rest * rest * speed - dt * u * u * rest * fast)

    def look_back(self):
        value, speed = self.rows[-1][:2]
        passed = 0.0
        for after, (old, slow, covariance, _, _) in zip(self.rows[:0:-1], self.rows[-2::-1]):
            if passed >= self.lag:
                break
            dt, later, fast = after[4], value, speed
            passed += dt
            a = np.array([[1.0, dt], [0.0, 1.0]])
            back = covariance @ a.T @ np.linalg.inv(after[3])
            off = self.between(self.move(old, dt * slow), value), speed - slow
            value = self.move(old, back[0, 0] * off[0] + back[0, 1] * off[1])
            speed = slow + back[1, 0] * off[0] + back[1, 1] * off[1]
            if passed > self.lag:
                value = self.between_rows(value, speed, later, fast, (passed - self.lag) / dt, dt)
        return value


@pytest.mark.parametrize("channel", [0, 1])
def test_kernel_agrees_with_the_matrix_form(channel):
    random = np.random.default_rng(6)
    # jumps are for the filter here, not for the gate
    sensors = SensorFilter.from_half_life(1, outliers=Outliers(metres=1e9, radians=1e9))
    twin, state = Twin(sensors, channel), sensors.init()
    places, turns = np.cumsum(random.normal(scale=0.01, size=(80, 3)), axis=0), rotation.identity(80)
    places[50] += 3.0
    for frame in range(1, 80):
        vector = random.normal(scale=0.05, size=3) + (2.0 if frame == 40 else 0.0)
        turns[frame] = rotation.multiply(turns[frame - 1], rotation.exp(vector))
    for frame in range(80):
        dt = float(random.uniform(0.004, 0.02))
        measured = (places[frame : frame + 1].copy(), turns[frame : frame + 1].copy())
        state, *shown = sensors.step(state, *measured, np.ones(1, bool), dt)
        wanted = twin.step(measured[channel][0], dt)
        assert np.abs(twin.between(wanted, shown[channel][0])).max() < 1e-9
