"""A driven character: continuous under any requests, time only forwards, loops without seams, feet locked."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import footplant
from figures import feet_on_the_root
from footplant import grounds, io, rotation, samples
from footplant.blending.common_character import carry_heading, on_one_character
from footplant.blending.compose import RootPath, root_reference
from footplant.blending.loops import find_loop
from footplant.blending.treadmill import belt_velocity
from footplant.cli import main
from footplant.cli.drive import load_controller
from footplant.contacts.detection import find_contacts
from footplant.errors import FormatError, MotionError
from footplant.feet.tiptoe import with_toe_tips
from footplant.kinematics import Kinematics
from footplant.live import _controller as kernel
from footplant.live.clip_set import clips_of, examine, travelling
from footplant.live.controller import DIRECTIONS, Controller, build_controller
from footplant.live.motion_set import MotionSet, load_set, read_set
from footplant.live.script import Order, drive, held_intervals, parse_script
from footplant.live.tables import GAIT, ONCE, as_motion
from footplant.motion import Motion
from footplant.quality.measure import measure
from footplant.skeleton import Point, Skeleton
from real_clips import DATA
from thorough import thorough

FPS = 60.0


@cache
def full():
    return load_controller(load_set("set:samples"))[0]


@cache
def without_jumps():
    """Return a controller without jump and punch, whose own accelerations would hide those of others."""
    spec = load_set("set:samples")
    spec = replace(spec, actions={"kick": spec.actions["kick"]})
    return build_controller(spec, {name: io.load(name) for name in spec.clips()}, io.load_character(spec.character))


@cache
def limits(which):
    """Return the largest acceleration of the root, m/s², and of its heading, rad/s², of any clip alone."""
    controller, found = which(), []
    for motion in controller.tables.motions:
        alone = as_motion(motion, controller.character)
        cycles = alone.looped(2, close=False) if motion.kind != ONCE else alone
        found.append(peaks(cycles.resample(FPS), controller.character))
    return np.max(found, axis=0)


def peaks(motion, character):
    heading = RootPath.of(motion, root_reference(character)).heading
    return (
        np.linalg.norm(np.diff(motion.root, 2, axis=0), axis=1).max() * motion.fps**2,
        np.abs(np.diff(heading, 2)).max() * motion.fps**2,
    )


def play(controller, requests, state=None):
    """Play requests: (name, direction, number of frames)."""
    state = state or controller.init()
    roots, poses, phases, clocks, weights = [], [], [], [], []
    for name, direction, frames in requests:
        controller.request(state, name, direction)
        for _ in range(frames):
            _, pose = controller.step(state, 1.0 / FPS)
            roots.append(pose.root.copy())
            poses.append(pose.rotations.copy())
            phases.append(state.phase)
            clocks.append(state.clocks.copy())
            weights.append(state.weights.copy())
    rotations = rotation.normalize(np.array(poses))
    motion = Motion(controller.character.skeleton, np.array(roots), rotations, FPS)
    return motion, np.array(phases), np.array(clocks), np.array(weights)


def requests_of(seed, names, count):
    rng = np.random.default_rng(seed)
    return [
        (str(rng.choice(names)), str(rng.choice(DIRECTIONS)), int(rng.integers(1, 25))) for _ in range(count)
    ]  # fmt: skip


@pytest.mark.parametrize("which", [full, without_jumps])
@settings(max_examples=thorough(2, 20), deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_any_200_requests_are_continuous(which, seed):
    """Root velocity and heading have no jump: accelerations stay within 1.5 times the clips' own."""
    controller = which()
    motion, phases, clocks, weights = play(controller, requests_of(seed, controller.names, 200))
    most, most_heading = limits(which)
    acceleration, turning = peaks(motion, controller.character)
    assert acceleration <= 1.5 * most
    assert turning <= 1.5 * most_heading
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-9)
    assert weights.min() >= -1e-12
    # weights follow Bézier curves of the fade's length, so that they never change faster than these
    assert np.abs(np.diff(weights, axis=0)).max() <= 1.5 / controller.tables.fade / FPS + 1e-9
    time_never_runs_back(controller, phases, clocks, weights)


def time_never_runs_back(controller, phases, clocks, weights):
    for number, motion in enumerate(controller.tables.motions):
        seen = (weights[:-1, number] > 0) & (weights[1:, number] > 0)
        step = np.diff(clocks[:, number])
        if motion.kind != ONCE:
            step = (step + 0.5 * motion.seconds) % motion.seconds - 0.5 * motion.seconds
        assert (step[seen] >= -1e-12).all()
        assert step[seen].max(initial=0.0) < 5.0 / FPS
    gaits = [number for number, motion in enumerate(controller.tables.motions) if motion.kind == GAIT]
    seen = weights[:, gaits].sum(axis=1) > 0
    steps = (np.diff(phases) + 0.5) % 1.0 - 0.5
    assert (steps[seen[1:] & seen[:-1]] > 0).all()


def test_no_turn_in_one_frame_on_the_way_back_from_a_clip():
    """First known bug of the thesis: a large turn in one frame, and a time glitch, on the way back from a clip."""
    controller = full()
    for action in controller.spec.actions:
        state = controller.init(begin="run", facing=1.0)
        play(controller, [("run", "straight", 47)], state)
        before = state.facing
        motion, phases, clocks, weights = play(controller, [(action, "straight", 400)], state)
        heading = RootPath.of(motion, root_reference(controller.character)).heading
        assert np.abs(np.diff(heading)).max() < 0.12
        assert not state.busy
        assert state.weights[controller.tables.index("run")] == pytest.approx(1.0)
        # it continues in its old direction
        assert state.facing == pytest.approx(before, abs=0.02)
        time_never_runs_back(controller, phases, clocks, weights)


def test_weights_are_interpolated_when_requests_interrupt_each_other():
    """Second known bug: interpolation of weights was switched off; here more than two are fading at once."""
    controller = full()
    state = controller.init(begin="walk")
    script = [("run", "straight", 8), ("sneak", "straight", 8), ("limp", "straight", 8), ("walk", "straight", 60)]
    motion, _, _, weights = play(controller, script, state)
    assert (weights > 0.02).sum(axis=1).max() >= 4
    assert np.abs(np.diff(weights, 2, axis=0)).max() < 0.02
    assert weights[-1, controller.tables.index("walk")] == pytest.approx(1.0)
    assert peaks(motion, controller.character)[0] <= 1.5 * limits(full)[0]


@pytest.mark.parametrize("name", ["walk", "run", "sneak", "limp", "stand", "walk left", "walk right"])
def test_loops_have_no_seam(name):
    """Third known bug: discontinuities where turning runs restart."""
    controller = full()
    gait, _, side = name.partition(" ")
    state = controller.init(begin=gait)
    play(controller, [(gait, side or "straight", 120)], state)
    seconds = controller.tables.motions[controller.tables.index(name)].seconds
    motion, _, clocks, _ = play(controller, [(gait, side or "straight", int(2.2 * seconds * FPS) + 30)], state)
    clock = clocks[:, controller.tables.index(name)]
    seams = np.flatnonzero(np.diff(clock) < 0)
    assert len(seams) >= 1
    speed = np.diff(Kinematics(motion).positions, axis=0)
    jumps = np.linalg.norm(np.diff(speed, axis=0), axis=2).max(axis=1)
    near = np.unique(np.clip((seams[:, None] + np.arange(-2, 2)).ravel(), 0, len(jumps) - 1))
    elsewhere = np.delete(jumps, near)
    assert jumps[near].max() <= 1.25 * elsewhere.max() + 1e-5


def test_gaits_blend_in_phase():
    """Foot strikes of all gaits are at (nearly) the same phase."""
    controller, found = full(), {}
    for number, motion in enumerate(controller.tables.motions):
        if motion.kind == GAIT:
            for foot in (0, 2):
                stands = motion.contacts[:-1, foot : foot + 2].max(axis=1) > 0
                strikes = np.flatnonzero(stands & ~np.roll(stands, 1)) / 120.0
                warp = controller.tables.warp[number]
                times = (strikes - warp[0]) % motion.seconds + warp[0]
                phases = np.interp(times, warp, np.linspace(0.0, 1.0, len(warp)))
                found.setdefault(foot, []).append(phases[0])
    for phases in found.values():
        apart = (np.array(phases) - phases[0] + 0.5) % 1.0 - 0.5
        assert np.abs(apart).max() < 2.0 / 30.0


@pytest.mark.parametrize(
    "script",
    ["walk 2s, run 3s left, kick, sneak 2s", "stand 1s, walk 2s right, jump, limp 2s, punch, run 2s, stand 1s"],
)
def test_feet_are_locked(script):
    controller = full()
    done = drive(controller, script)
    kinematics = Kinematics(done.motion)
    held = held_intervals(done)
    assert sum(map(len, held.values())) > 15
    for point, spans in held.items():
        track = kinematics.point(controller.character.contacts[point])
        assert track[:, 1].min() > -0.002
        for start, end in spans:
            part = track[start:end, ::2]
            assert np.linalg.norm(part - part.mean(axis=0), axis=1).max() <= 0.002


def test_directions_are_followed():
    controller = full()
    done = drive(controller, "walk 6s", facing=np.pi / 2)
    gone = done.motion.root[-1] - done.motion.root[0]
    assert gone[0] == pytest.approx(6 * 1.35, rel=0.03)
    assert abs(gone[2]) < 0.2
    for name, direction, sign in (("walk", "left", 1), ("run", "right", -1), ("sneak", "left", 1)):
        state = controller.init(begin=name)
        play(controller, [(name, direction, 180)], state)
        assert sign * state.facing > 0.8
    state = controller.init(begin="stand")
    play(controller, [("stand", "straight", 120)], state)
    assert np.linalg.norm(state.root[0, ::2]) < 0.05


def test_actions_wait_interrupt_and_return():
    controller = full()
    state = controller.init(begin="walk")
    controller.request(state, "kick")
    assert state.busy
    play(controller, [("kick", "straight", 60)], state)
    assert state.action == controller.tables.index("kick")
    controller.request(state, "run", "left")
    play(controller, [("run", "left", 60)], state)
    assert not state.busy
    assert state.weights[controller.tables.index("run")] == pytest.approx(1.0)
    stubborn = replace(controller.spec, actions={"kick": replace(controller.spec.actions["kick"], interruptible=False)})
    other = build_controller(stubborn, {name: io.load(name) for name in stubborn.clips()})
    state = other.init(begin="stand")
    play(other, [("kick", "straight", 30), ("walk", "straight", 30)], state)
    assert state.action == other.tables.index("kick")
    play(other, [("walk", "straight", 1)], state)
    for _ in range(300):
        other.step(state, 1.0 / FPS)
    assert state.weights[other.tables.index("walk")] == pytest.approx(1.0)


def test_steps_of_any_length():
    controller = full()
    ways = []
    for fps in (30, 60, 144):
        state = controller.init(begin="walk")
        for _ in range(2 * fps):
            controller.step(state, 1.0 / fps)
        ways.append(state.root[0].copy())
    np.testing.assert_allclose(ways[0], ways[1], atol=0.01)
    np.testing.assert_allclose(ways[2], ways[1], atol=0.01)
    state = controller.init()
    before = state.root.copy()
    controller.step(state, 0.0)
    np.testing.assert_allclose(state.root, before)
    controller.step(state, 3.0)
    assert state.now == pytest.approx(3.0)
    for bad in (-0.1, np.nan):
        with pytest.raises(MotionError, match=r"expected a (finite )?step"):
            controller.step(state, bad)


def test_several_characters_share_a_controller():
    controller = full()
    states = [controller.init(place=(float(k), 0.0), begin="walk") for k in range(3)]
    alone = controller.init(place=(1.0, 0.0), begin="walk")
    for _ in range(90):
        for state in states:
            controller.step(state, 1.0 / FPS)
    for _ in range(90):
        controller.step(alone, 1.0 / FPS)
    np.testing.assert_allclose(states[1].pose, alone.pose)
    assert states[2].root[0, 0] - states[0].root[0, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("request_", [("fly", "straight"), ("walk", "up")])
def test_invalid_requests_raise(request_):
    controller = full()
    with pytest.raises(MotionError, match="expected"):
        controller.request(controller.init(), *request_)
    with pytest.raises(MotionError, match="begin with a gait"):
        controller.init(begin="kick")


def test_fade_agrees_with_numpy():
    """The smoothing window as a convolution, by a sum over small steps."""
    targets, starts = np.array([0, 1, 2, 1]), np.array([0.0, 1.0, 1.2, 1.3])
    steers, weights = np.array([0.0, 0.5, 0.0, -1.0]), np.zeros(3)
    now, length = 1.5, 0.6
    steer = kernel.fade(targets, starts, steers, 4, now, length, weights)
    fine = (np.arange(200_000) + 0.5) / 200_000
    back = now - fine * length
    which = np.searchsorted(starts, back, side="right") - 1
    share = 6.0 * fine * (1.0 - fine) / len(fine)
    twin = np.bincount(targets[which], share, minlength=3)
    np.testing.assert_allclose(weights, twin, atol=1e-5)
    assert steer == pytest.approx(float(steers[which] @ share), abs=1e-5)
    # in closed form: the rise of each request minus that of the next
    u = np.clip((now - np.append(starts, np.inf)) / length, 0.0, 1.0)
    gained = u * u * (3.0 - 2.0 * u)
    exact = np.bincount(targets, np.r_[1.0, gained[1:4]] - gained[1:5], minlength=3)
    np.testing.assert_allclose(weights, exact, atol=1e-12)


def test_invalid_sets_raise():
    good = '[gaits.walk]\nclip = "sample:walk"\n'
    for text, words in (
        ("gaits = 3", "expected tables such as"),
        ("", "at least one gait"),
        ("[gaits.walk]\nclips = 'a'", "did you mean 'clip'"),
        ("[gaits.walk]\n", "expected clip"),
        (good + "loop = [2, 1]", "loop = [start, stop]"),
        (good + "turn = true", "expected turn to be a number"),
        (good + "[actions.walk]\nclip = 'b'", "every name once"),
        (good + "[actions.hop]\nclip = 'b'\nstart = 2\nstop = 1", "stop after start"),
        (good + "[actions.hop]\nclip = 'b'\ninterruptible = 1", "true or false"),
        ("fade = 0.0\n" + good, "expected fade to be a number of 0.05"),
        ("begin = 'fly'\n" + good, "expected begin to be one of walk"),
        ("reference = 'fly'\n" + good, "expected reference to be one of walk"),
        ("[gaits.walk", "expected TOML"),
    ):
        with pytest.raises(FormatError, match=r"set\.toml") as caught:
            read_set(text, where="set.toml")
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(FormatError, match="set:samples"):
        load_set("set:nothing")


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="walkrunkick ,0123456789.s leftright-\n", max_size=40))
def test_any_script_parses_or_raises(text):
    names = ["walk", "run", "kick"]
    with contextlib.suppress(FormatError):
        assert all(order.name in (*names, "step") for order in parse_script(text, names))


def test_scripts():
    names = ["walk", "run", "kick"]
    assert parse_script("walk 2s, run 3 s left,kick,", names) == (
        Order("walk", 2.0), Order("run", 3.0, "left"), Order("kick"),
    )  # fmt: skip
    assert parse_script("kick @0.3:-.2:2", names) == (Order("kick", target=(0.3, -0.2, 2.0)),)
    assert parse_script("step left @1:2.5", names) == (Order("step", None, "left", (1.0, 2.5)),)
    for text, words in (
        ("fly", "one of walk"),
        ("walk fast", "got 'fast'"),
        ("walk,,run", "got nothing"),
        ("kick @1:2", "@x:y:z"),
        ("step left", "a place to step to"),
        ("", "got nothing"),
    ):
        with pytest.raises(FormatError, match="request") as caught:
            parse_script(text, names)
        assert words in str(caught.value)


def test_command(capsys, tmp_path):
    out = tmp_path / "driven.glb"
    script = "walk 1s, run 1s left, kick, step @0:7"
    assert main(["drive", "set:samples", "--script", script, "-o", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [entry["request"] for entry in told["requests"]] == ["walk", "run left", "kick", "step"]
    assert [aim["request"] for aim in told["aims"]] == ["step"]
    assert told["worst_drift_mm"] < 2.0
    clip = footplant.load(out)
    assert len(clip.motion) == told["frames"]
    assert clip.character.skin is not None
    (tmp_path / "own.toml").write_text('[gaits.go]\nclip = "walk.bvh"\n')
    footplant.save(tmp_path / "walk.bvh", samples.load("walk"))
    assert main(["drive", str(tmp_path / "own.toml"), "--script", "go 2s", "-o", str(tmp_path / "b.bvh")]) == 0
    capsys.readouterr()
    for arguments, words in (
        (["set:samples", "--script", "fly", "-o", str(tmp_path / "c.bvh")], "expected one of walk"),
        (["set:none", "--script", "walk", "-o", str(tmp_path / "c.bvh")], "set:samples"),
        ([str(tmp_path / "absent.toml"), "--script", "walk", "-o", str(tmp_path / "c.bvh")], "absent.toml"),
    ):
        assert main(["drive", *arguments]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert words in err


@pytest.mark.named("bvh/cmu/104_02.bvh", "bvh/cmu/09_01.bvh")
def test_captured_gaits(shared):
    """A walk and a run of two people on one character, driven by random requests."""
    spec = MotionSet("captured", **gaits_of({"walk": "104_02", "run": "09_01"}))
    clips = {name: footplant.load(shared / "bvh" / "cmu" / f"{name}.bvh") for name in spec.clips()}
    clips = {name: replace(clip, motion=clip.motion[1:].resample(60.0)) for name, clip in clips.items()}
    controller = build_controller(spec, clips)
    motion, phases, clocks, weights = play(controller, requests_of(7, controller.names, 60))
    own = max(peaks(as_motion(m, controller.character).looped(2).resample(FPS), controller.character)[0]
              for m in controller.tables.motions)  # fmt: skip
    assert peaks(motion, controller.character)[0] <= 1.5 * own
    time_never_runs_back(controller, phases, clocks, weights)


def gaits_of(clips):
    from footplant.live.motion_set import Gait

    return {"gaits": {name: Gait(clip) for name, clip in clips.items()}}


@pytest.mark.parametrize("name", ["walk", "run", "sneak", "stand"])
def test_a_motion_at_full_weight_equals_its_clip(name):
    """One motion at full weight: the root's path and the pose are those of the repeated clip."""
    controller = full()
    state = controller.init(begin=name)
    number = controller.tables.index(name)
    begin = state.clocks[number]
    motion, _, _, _ = play(controller, [(name, "straight", 150)], state)
    alone = as_motion(controller.tables.motions[number], controller.character).looped(5, close=False)
    clip = alone.at(begin + np.arange(151) / FPS)
    # the body of a run is lowered by millimetres where the leg of a planted foot would not reach
    np.testing.assert_allclose(motion.root[:, 1], clip.root[1:, 1], atol=4e-3 if name == "run" else 1e-4)
    np.testing.assert_allclose(
        (motion.root - motion.root[0])[:, ::2], (clip.root[1:] - clip.root[1])[:, ::2], atol=1e-3
    )
    roles = controller.character.require_roles()
    arm = [roles["spine"], roles["left_upper_arm"], roles["right_lower_arm"]]
    assert rotation.angle(motion.rotations[:, arm], clip.rotations[1:, arm]).max() < 1e-3
    legs = [roles["left_upper_leg"], roles["right_lower_leg"], roles["left_foot"]]
    # the heel of a run leaves the ground late, catches up as it is lifted, and its swing goes past the clip: 28°
    assert np.degrees(rotation.angle(motion.rotations[:, legs], clip.rotations[1:, legs]).max()) < (
        30.0 if name == "run" else 9.0
    )


def kinds_of(clips):
    return {name: examine(on_one_character([footplant.load(clip)])[0]).kind for name, clip in clips.items()}


def test_kinds_of_clips_are_told_from_them():
    names = {"walk": "gait", "run": "gait", "stand": "idle", "kick": "action"}
    assert kinds_of({name: f"sample:{name}" for name in names}) == names
    kick = examine(footplant.load("sample:kick"))
    assert kick.effector.endswith("_foot")
    assert kick.part[0] < kick.key < kick.part[1]


def test_the_key_moment_of_an_action_comes_before_it_is_left():
    """Also where the limb is fastest at the end of the clip, or transitions are long."""
    walk, kick = footplant.load("sample:walk"), on_one_character([footplant.load("sample:kick")])[0]
    key = examine(kick).key
    cut = replace(kick, motion=kick.motion[: round((key + 0.2) * kick.motion.fps)], name="cut")
    for clip, fade in ((kick, 0.9), (cut, 0.5)):
        controller = footplant.drive_set([walk, clip], fade=fade)
        (number,) = controller.tables.effectors
        # the cut one is shorter than a transition: it is left at its key moment if it is aimed
        assert clip is cut or controller.tables.effectors[number].seconds <= controller.leaves(number) + 1e-6
        state = controller.init(begin="walk")
        aimed = controller.request(state, clip.name.removeprefix("sample:"), target=(0.0, 0.5, 2.0))
        for _ in range(400):
            controller.step(state, 1.0 / FPS)
        assert aimed.status in ("met", "missed")


@cache
def from_clips():
    return footplant.drive_set([f"sample:{name}" for name in ("walk", "run", "kick")])


def test_a_set_from_clips_does_not_jolt_and_aims():
    """Feet of a random script: held exactly, and accelerated hardly more than the clips' own; a kick meets its ball."""
    controller = from_clips()
    assert set(controller.names) == {"walk", "run", "kick"}
    names, rng = ["walk", "run"], np.random.default_rng(1)
    script = [
        Order(names[rng.integers(2)], float(rng.uniform(0.2, 1.5)), DIRECTIONS[rng.integers(3)]) for _ in range(20)
    ]
    ground = footplant.grounds.rough(2, amplitude=0.1, spacing=1.5, low=(-40, -40), high=(40, 40))
    own = max(foot_peak(as_motion(m, controller.character).looped(2, close=False).resample(FPS), controller.character)
              for m in controller.tables.motions if m.kind == GAIT)  # fmt: skip
    # the samples' own accelerations are low; captures stay below 1.2 on either ground (benchmarks/drive_scripts.py)
    for floor, most, drift in ((None, 1.4, 1e-3), (ground, 1.6, 3e-3)):
        done = drive(controller, script, ground=floor)
        soles_stay_above(done.motion, controller.character, floor)
        assert foot_peak(done.motion, controller.character) <= most * own
        kinematics = Kinematics(done.motion)
        for point, spans in held_intervals(done).items():
            track = kinematics.point(controller.character.contacts[point])
            for start, end in spans:
                part = track[start:end, ::2]
                assert np.linalg.norm(part - part.mean(axis=0), axis=1).max() <= drift
    effector = controller.tables.effectors[controller.tables.index("kick")]
    state = controller.init(begin="walk")
    play(controller, [("walk", "straight", 40)], state)
    ball = state.root[0] * [1.0, 0.0, 1.0] + [0.3, 0.3, 1.3]
    controller.request(state, "kick", target=tuple(ball))
    found = []
    for _ in range(200):
        controller.step(state, 1.0 / FPS)
        motion = Motion(controller.character.skeleton, state.root, rotation.normalize(state.pose), FPS)
        found.append(np.linalg.norm(Kinematics(motion).point(effector.point)[0] - ball))
    assert min(found) < 0.02
    assert state.aimed.status == "met"
    np.testing.assert_allclose(state.aimed.residual, min(found), atol=1e-6)
    with pytest.raises(MotionError, match="target for an action"):
        controller.request(state, "walk", target=(0.0, 0.0, 0.0))


def sole(controller, done, side, seconds):
    """Return the middle between heel and ball of a foot at a time, (3,)."""
    kinematics, frame = Kinematics(done.motion), round(seconds * FPS)
    return np.mean(
        [kinematics.point(controller.character.contacts[f"{side}_{end}"])[frame] for end in ("heel", "ball")], axis=0
    )


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_walking_character_steps_onto_marks(side):
    """Two feet in turn on marks beside its way, and it walks on."""
    controller = full()
    other = "right" if side == "left" else "left"
    places = [(0.25, 2.6), (0.1, 3.3)]
    script = [Order("walk", 0.8), Order("step", None, side, places[0]), Order("step", None, other, places[1])]
    done = drive(controller, [*script, Order("walk", 1.0)])
    assert [aim.status for aim in done.aims] == ["met", "met"]
    for aim, foot, place in zip(done.aims, (side, other), places):
        assert aim.effector == f"{foot}_foot"
        assert aim.residual < 0.005
        # 0.15 s after it has landed, the foot is flat
        off = sole(controller, done, foot, aim.seconds + 0.15)[::2] - place
        np.testing.assert_allclose(np.linalg.norm(off), aim.residual, atol=1e-3)
    root = done.motion.root
    assert np.linalg.norm(root[-1, ::2] - root[-31, ::2]) > 0.5
    most, _ = limits(full)
    assert peaks(done.motion, controller.character)[0] <= 1.5 * most


def test_a_standing_character_steps_onto_a_stone():
    """The foot is on it, at its height; the body and the other foot follow. What is too far is not tried."""
    controller = full()
    state = controller.init(begin="stand")
    near = controller.request(state, "step", "left", target=(0.15, 0.12, 0.4))
    far = controller.request(state, "step", target=(0.0, 3.0))
    for _ in range(180):
        controller.step(state, 1.0 / FPS)
    assert near.status == "met"
    assert near.residual < 1e-3
    assert far.status == "unreachable"
    assert not state.busy
    for end in ("heel", "ball"):
        assert abs(controller.place(state, f"left_{end}")[1] - 0.12) < 1e-3
        assert controller.place(state, f"right_{end}")[2] > 0.2
    # what is asked for in between ends it
    late = controller.request(state, "step", target=(0.2, 0.6))
    controller.step(state, 1.0 / FPS)
    controller.request(state, "walk")
    assert late.status == "interrupted"
    for wrong, words in ((None, "target for a step"), ((1.0,), "got 1 numbers")):
        with pytest.raises(MotionError, match=words):
            controller.request(state, "step", target=wrong)


def soles_stay_above(motion, character, ground):
    kinematics = Kinematics(motion)
    for name in ("left_heel", "left_ball", "left_toe", "right_heel", "right_ball", "right_toe"):
        point = kinematics.point(character.contacts[name])
        level = 0.0 if ground is None else ground.height(point[:, ::2])
        assert (point[:, 1] - level).min() > -(2e-4 if ground is None else 8e-3)


def test_toes_that_lie_on_the_ground_do_not_move():
    """Toes under a raised heel stay where they are when the heel comes down again."""
    controller, names, rng = from_clips(), ["walk", "run", "kick"], np.random.default_rng(2)
    script = [
        Order(names[rng.integers(3)], float(rng.uniform(0.2, 3.0)) if rng.random() < 0.8 else None,
              DIRECTIONS[rng.integers(3)])
        for _ in range(60)
    ]  # fmt: skip
    done = drive(controller, script, fps=FPS)
    kinematics = Kinematics(done.motion)
    for column, side in ((1, "left"), (3, "right")):
        tip, held = kinematics.point(controller.character.contacts[f"{side}_toe"]), done.planted[:, column]
        moved = np.linalg.norm(np.diff(tip, axis=0), axis=1)[1:]
        assert moved[held[:-2] & held[1:-1] & held[2:]].max() < 1e-4


@pytest.mark.parametrize("seed", range(2))
def test_a_foot_that_slaps_down_stops_at_the_ground(seed):
    """Beside actions, feet come down onto their balls by more than a centimetre a frame."""
    controller, rng = from_clips(), np.random.default_rng(seed)
    names = controller.names
    script = [Order(names[rng.integers(3)], float(rng.uniform(0.2, 2.0))) for _ in range(40)]
    soles_stay_above(drive(controller, script).motion, controller.character, None)


def test_a_foot_that_has_come_down_does_not_slide_to_its_place():
    """Feet that touch the ground before their planned landing stand there, as contacts that are found anew show."""
    controller, rng = from_clips(), np.random.default_rng(1)
    names = controller.names
    script = [
        Order(names[rng.integers(3)], float(rng.uniform(0.2, 3.0)), DIRECTIONS[rng.integers(3)]) for _ in range(60)
    ]
    done = drive(controller, script)
    columns = {point: column for column, point in enumerate(held_intervals(done))}
    found = [
        plant.drift
        for plant in measure(done.motion, controller.character, ground=0.0).plants
        if plant.point in columns and done.planted[plant.start : plant.end, columns[plant.point]].mean() > 0.5
    ]
    assert len(found) > 200
    assert max(found) <= 1.0


def test_a_foot_that_lands_beside_its_place_stands_on_the_ground():
    """What it stands on is as high as the ground is there, not as where it was to land."""
    from footplant.live import _foot_plan

    controller, ground = from_clips(), footplant.grounds.slope(15.0)
    state = controller.init(begin="walk", ground=ground)
    feet = state.feet
    while not (feet.flags[0, _foot_plan.LANDS] and feet.flags[0, _foot_plan.SWING]):
        controller.step(state, 1.0 / FPS)
    feet.path[0, 2, 0] += 0.03
    while feet.flags[0, _foot_plan.SWING]:
        controller.step(state, 1.0 / FPS)
    point = ("left_heel", "left_ball")[int(feet.flags[0, _foot_plan.ANCHOR])]
    place = controller.place(state, point)
    assert abs(place[1] - float(ground.height(place[::2]))) < 1e-4


def test_a_heel_in_the_air_does_not_carry_a_foot():
    """A foot on its ball settles flat where the blend plants its heel alone: it does not hang from its raised heel."""
    from footplant.live import _foot_plan

    controller = full()
    state = controller.init(begin="walk")
    while state.feet.flags[0, _foot_plan.HELD] != 2 or controller.place(state, "left_heel")[1] < 0.015:
        controller.step(state, 1.0 / FPS)
    for frame in range(12):
        root, pose = state.root.copy(), state.pose.copy()
        step = _foot_plan.FeetStep(state.now + frame / FPS, 1.0 / FPS, np.array([1.0, 0.0, 0.0, 0.0]), 1.0, 50.0)
        ground = _foot_plan.level_ground()
        _foot_plan.pose_feet(controller.legs, ground, step, state.feet, root, pose, controller.foot_scratch)
        assert state.feet.flags[0, _foot_plan.HELD] != 1
        assert abs(state.feet.places[0, 0, 1]) < 1e-9


def cartwheel():
    """Return a clip that stands, turns once about the way that it faces within a second, and stands again."""
    stand = footplant.load("sample:stand")
    times = np.arange(0.0, 5.0, 1.0 / FPS)
    motion = stand.motion.at(times % stand.motion.duration)
    angle = 2.0 * np.pi * np.clip(times - 2.0, 0.0, 1.0)
    turned = rotation.multiply(rotation.from_axis_angle(rotation.AXES["z"], angle), motion.rotations[:, 0])
    rotations = np.concatenate([turned[:, None], motion.rotations[:, 1:]], axis=1)
    root = motion.root + 0.5 * np.sin(0.5 * angle[:, None]) ** 2 * [0.0, 1.0, 0.0]
    return replace(stand, motion=replace(motion, root=root, rotations=rotations), name="cartwheel")


def test_a_cartwheel_is_not_left_upside_down():
    """Whatever is requested meanwhile starts when the body is upright again, and never jumps."""
    controller = footplant.drive_set(["sample:walk", "sample:kick", cartwheel()])
    wheel = controller.tables.index("cartwheel")
    for wanted in ("walk", "kick"):
        for frames in range(60, 200, 10):
            state = controller.init(begin="walk")
            parts = [("cartwheel", "straight", frames), (wanted, "straight", 300)]
            motion, _, _, weights = play(controller, parts, state)
            assert np.degrees(rotation.angle(motion.rotations[:-1, 0], motion.rotations[1:, 0])).max() < 15.0
            assert weights[-1, wheel] == 0.0
            assert weights[:, controller.tables.index(wanted)].max() > 0.0


def test_a_spin_can_be_left_at_any_time():
    """Two turns within a second are up to one and a third of a turn away from even ones: feet and body never jump."""
    stand = footplant.load("sample:stand")
    times = np.arange(0.0, 5.0, 1.0 / FPS)
    motion = stand.motion.at(times % stand.motion.duration)
    share = np.clip(times - 2.0, 0.0, 1.0)
    turn = rotation.from_axis_angle(rotation.AXES["y"], 4.0 * np.pi * share * share * (3.0 - 2.0 * share))
    turned = rotation.multiply(turn, motion.rotations[:, 0])
    rotations = np.concatenate([turned[:, None], motion.rotations[:, 1:]], axis=1)
    spin = replace(stand, motion=motion.like(motion.root, rotations), name="spin")
    controller = footplant.drive_set(["sample:walk", "sample:run", spin])
    number = controller.tables.index("spin")
    facing = controller.tables.motions[number].facing
    assert facing[-1] == pytest.approx(4.0 * np.pi, abs=0.05)
    heading = RootPath.of(as_motion(controller.tables.motions[number], controller.character),
                          root_reference(controller.character)).heading  # fmt: skip
    assert np.abs(heading - heading[0] - facing).max() < 0.75 * np.pi
    for frames in range(20, 200, 15):
        state = controller.init(begin="walk")
        motion, _, _, _ = play(controller, [("spin", "straight", frames), ("walk", "straight", 60)], state)
        # it turns by 18° from frame to frame itself
        assert np.degrees(rotation.angle(motion.rotations[:-1, 0], motion.rotations[1:, 0])).max() < 45.0


def test_a_foot_without_a_toe_joint_rolls_over_its_tip():
    """The tip of a rigid foot whose heel rises would be below the ground if it rolled over its ball."""
    controller = from_clips()
    contacts = dict(controller.character.contacts)
    roles = controller.character.require_roles()
    positions = controller.character.skeleton.rest_world[0]
    for side in ("left", "right"):
        foot = roles[f"{side}_foot"]
        for part in ("ball", "toe"):
            point = contacts[f"{side}_{part}"]
            offset = np.asarray(point.offset) + positions[point.joint] - positions[foot]
            contacts[f"{side}_{part}"] = Point(foot, tuple(offset.tolist()))
    tables = replace(controller.tables, character=with_toe_tips(replace(controller.character, contacts=contacts)))
    rigid = Controller(controller.spec, tables)
    done = drive(rigid, "walk 2s, run 1s")
    soles_stay_above(done.motion, tables.character, None)


def foot_peak(motion, character):
    roles = character.require_roles()
    feet = Kinematics(motion).positions[:, [roles["left_foot"], roles["right_foot"]]]
    return np.linalg.norm(np.diff(feet, 2, axis=0), axis=2).max() * motion.fps**2


def planned_landing(bits: dict[range, int], shift=None, **changed) -> tuple[int, Controller]:
    """Return the predicted frame in which a foot that is lifted now lands, if the blend plants it as told.

    shift: where it is now, from the blended one.
    """
    from footplant.live import _foot_plan

    controller = full()
    state = controller.init(begin="walk")
    track = controller.look_ahead(state).copy()
    track[:, 0, 23] = 0.0
    for frames, points in bits.items():
        track[frames.start : frames.stop, 0, 23] = points
    planner, feet = controller.planner, state.feet
    usual = planner.limits
    planner.limits = usual._replace(**changed)
    try:
        _foot_plan.lift(controller.legs, 0, state.now, feet, controller.foot_scratch)
        if shift is not None:
            feet.places[0, _foot_plan.SHIFT] = shift
        planner.swing(feet, 0, track, state.now, state.field)
    finally:
        planner.limits = usual
    return round(feet.times[0, _foot_plan.LENGTH] / usual.interval), controller


def test_a_foot_that_is_planted_again_at_once_is_not_put_down():
    """Planted weights of a run and of a walk cross below a half: the foot swings on to its next stance."""
    again = {range(3, 20): 3, range(30, 48): 3}
    landing, controller = planned_landing(again, most=1e9, brake=1e9)
    assert controller.planner.limits.swing > 3
    assert landing == controller.planner.limits.swing  # the stance goes on for long enough after the shortest swing
    landing, _ = planned_landing({range(3, 10): 3, range(30, 48): 3}, most=1e9, brake=1e9)
    assert landing == 30
    # a foot that swung before is planned anew at any time
    landing, _ = planned_landing(again, most=1e9, brake=1e9, swing=0)
    assert landing == 3


@pytest.mark.parametrize("hesitates", [False, True])
def test_a_swing_that_hesitates_is_as_high_as_a_step(hesitates):
    """A foot that passes a stance over, nearly still and close to the ground, would seem to stand there."""
    from footplant.live import _foot_plan, _swing_plan

    limits, count = full().planner.limits, 30
    share = np.linspace(0.0, 1.0, count)
    way = 0.5 + 4.0 * (share - 0.5) ** 3 if hesitates else share
    own = np.zeros((count, 24))
    own[:, :12:3], own[:, 1:9:3] = 0.8 * way[:, None], 0.002 + (share[:, None] - 0.5) ** 2
    ground = _foot_plan.level_ground()
    lifted = _swing_plan._clearance(limits, ground, own, np.zeros((3, 6)), count, False)
    assert lifted == pytest.approx((limits.lift if hesitates else limits.clear) - 0.002, rel=0.05)
    own[10:16, 23] = 3.0
    assert _swing_plan._clearance(limits, ground, own, np.zeros((3, 6)), count, False) >= 0.9 * limits.lift


def test_a_landing_is_not_delayed_until_its_stance_is_nearly_over():
    lasting = full().planner.limits.lasting
    landing, _ = planned_landing({range(20, 20 + lasting + 3): 3}, most=0.0, brake=1e9)
    assert 20 <= landing <= 22


def test_a_landing_that_would_jolt_is_passed_over():
    """A foot far from its blended place does not hurry to a stance that is nearly over: it swings on to the next."""
    shift = np.array([0.0, 0.0, -0.4])
    stances = {range(8, 20): 3, range(34, 48): 3}
    landing, _ = planned_landing(stances, shift=shift, most=0.0, brake=1e9)
    assert landing < 20
    landing, _ = planned_landing(stances, shift=shift, most=0.0)
    assert landing >= 34


def test_a_foot_that_the_body_leaves_behind_swings_within_reach():
    """Its path is bent towards the hip: at the end of a straight leg it would be dragged along, and jerk."""
    from footplant.live import _foot_plan, _swing_plan

    controller = full()
    state = controller.init(begin="run")
    for _ in range(30):
        controller.step(state, 1.0 / FPS)
    feet, planner = state.feet, controller.planner
    track = controller.look_ahead(state).copy()
    track[:, 0, 23] = 0.0
    track[40:, 0, 23] = 3.0
    _foot_plan.lift(controller.legs, 0, state.now, feet, controller.foot_scratch)
    feet.places[0, _foot_plan.SHIFT], feet.places[0, _foot_plan.SPEED] = (0.0, 0.0, -0.08), (0.0, 0.0, -1.0)
    usual = planner.limits
    planner.limits = usual._replace(most=1e9)
    planner.swing(feet, 0, track, state.now, state.field)
    planner.limits = usual
    path, length = feet.path[0, :3].copy(), planner.limits.left_leg
    count = round(feet.times[0, _foot_plan.LENGTH] / planner.limits.interval)
    start, end = np.zeros((3, 3)), np.zeros((3, 3))
    for k in range(3):
        start[:, k] = _foot_plan.quintic(path[k], 0.0)
        end[:, k] = _foot_plan.quintic(path[k], feet.times[0, _foot_plan.LENGTH])
    start[2] = 0.0
    straight = np.zeros((3, 6))
    _swing_plan.fit_path(start, end, feet.times[0, _foot_plan.LENGTH], straight)

    def beyond(curve):
        found = 0.0
        for n in range(count // 5, count):
            row = track[n, 0]
            shift = [_foot_plan.quintic(curve[k], n * planner.limits.interval)[0] for k in range(3)]
            own = np.linalg.norm(row[9:12] - row[12:15])
            reach = max(own, _foot_plan.SOFT * length)
            found = max(found, np.linalg.norm(row[9:12] + shift - row[12:15]) - reach)
        return found

    assert beyond(straight) > 0.02
    assert beyond(path) < 0.2 * beyond(straight)


def hung_on_the_floor(clip, beside=0.0):
    """Return a clip whose hips hang from a joint on the floor that never turns, some metres beside them."""
    skeleton, motion = clip.character.skeleton, clip.motion
    below = Skeleton(
        ["floor", *skeleton.names],
        [-1, 0, *(parent + 1 for parent in skeleton.parents[1:])],
        np.concatenate([[[0.0, 0.0, 0.0], [beside, 0.9, 0.0]], skeleton.offsets[1:]]),
    )
    own = clip.character.require_roles()
    joints = {role: tuple(joint + 1 for joint in part) for role, part in own.joints.items()}
    character = footplant.Character(below, roles=replace(own, joints=joints, reference=None))
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (len(motion), 1, 1))
    rotations = np.concatenate([rest, motion.rotations], axis=1)
    hung = Motion(below, motion.root - [beside, 0.9, 0.0], rotations, motion.fps)
    return replace(clip, motion=hung, character=character, layout=None)


def test_a_joint_above_the_hips_turns_with_them():
    """Hips may hang from a joint on the floor that never turns: headings are told, and bodies stay as posed."""
    clip = footplant.load("sample:turn-left")
    hung = hung_on_the_floor(clip)
    found = carry_heading(hung)
    before, after = Kinematics(hung.motion).positions[:, 1:], Kinematics(found.motion).positions[:, 1:]
    assert np.abs(before - after).max() < 1e-9
    turned = RootPath.of(clip.motion, root_reference(clip.character)).heading
    told = RootPath.of(found.motion, root_reference(hung.character)).heading
    assert np.ptp(turned) > 0.5
    assert np.abs(np.diff(turned) - np.diff(told)).max() < 1e-6


def test_a_body_turns_about_its_hips_wherever_joint_0_is(tmp_path):
    """Joint 0 of some libraries is metres beside the hips: a steered body that turned about it would fly sideways."""
    script, found = "walk 1s, walk left 2s, run 1s right, walk 1s", []
    for beside in (0.0, 4.0):
        files = [tmp_path / f"{name}.bvh" for name in ("walk", "run")]
        for file in files:
            io.save(file, hung_on_the_floor(footplant.load(f"sample:{file.stem}"), beside))
        controller = footplant.drive_set(files)
        motion = drive(controller, script).motion
        hips = controller.character.require_roles()["hips"]
        found.append(Kinematics(motion).positions[:, hips:])
        assert np.abs(found[-1][0, 0, ::2]).max() < 0.05
    np.testing.assert_allclose(found[1], found[0], atol=5e-3)


def test_a_knee_that_is_blended_aside_straightens():
    """A planted foot is reached as far as the leg is long, about whatever axis its knee is bent in the blend."""
    from footplant.live import _foot_plan

    controller = from_clips()
    state = controller.init(begin="walk")
    hip, knee, ankle = controller.legs.legs[0]
    for aside in (0.0, 0.4):
        turned = rotation.multiply(state.pose[0, knee], rotation.from_axis_angle([1.0, 0.0, 0.0], 1.0))
        pose = state.pose.copy()
        pose[0, knee] = rotation.multiply(rotation.from_axis_angle([0.0, 0.0, 1.0], aside), turned)
        places = Kinematics(Motion(controller.character.skeleton, state.root, pose, FPS)).positions[0]
        long = np.linalg.norm(places[hip] - places[knee]) + np.linalg.norm(places[knee] - places[ankle])
        target = places[hip] + 0.999 * long * np.array([0.0, -0.8, 0.6])
        _foot_plan.reach_limb(
            controller.legs, 0, int(ankle), np.zeros(3), target, 1.0, (state.root, pose), controller.foot_scratch
        )
        reached = Kinematics(Motion(controller.character.skeleton, state.root, pose, FPS)).positions[0, ankle]
        assert np.linalg.norm(reached - target) < 1e-6


def test_toes_that_leave_the_ground_bend():
    """Where only the tip of toes that were held would sink, it is bent up, and the foot is not raised."""
    from footplant.live import _foot_plan as kernel

    controller = full()
    state = controller.init(begin="walk")
    while state.feet.flags[0, kernel.SWING] == 1 or state.feet.flags[0, kernel.HELD] != 2:
        controller.step(state, 1.0 / FPS)
    feet, scratch, tables = state.feet, controller.foot_scratch, controller.legs
    kernel.lift(tables, 0, state.now, feet, scratch)
    scratch.goals[0, 1] += 0.02
    tilt = rotation.from_axis_angle(
        np.array([feet.vectors[0, kernel.ROLL, 0], 0.0, feet.vectors[0, kernel.ROLL, 2]]), 0.9
    )
    scratch.goals[0, 7:] = rotation.multiply(tilt, scratch.goals[0, 7:])
    _, tip, _ = kernel._point(tables, 0, 2, scratch)
    assert tip < -0.005
    step = kernel.FeetStep(state.now, 1.0 / FPS, state.planted, 1.0, 50.0)
    before = scratch.goals[0, 1]
    kernel._clear_ground(tables, kernel.level_ground(), step, 0, feet, scratch)
    assert abs(scratch.goals[0, 1] - before) < 1e-6
    assert abs(kernel._point(tables, 0, 2, scratch)[1]) < 1e-6
    # once they follow the blended ones again, the foot is
    scratch.goals[0, 7:] = rotation.multiply(tilt, scratch.goals[0, 7:])
    feet.times[0, kernel.SINCE] = state.now - kernel.FOLLOW
    kernel._clear_ground(tables, kernel.level_ground(), step, 0, feet, scratch)
    assert scratch.goals[0, 1] > before + 0.005


def test_a_foot_that_falls_flat_is_braked_evenly():
    """It settles from the speed at which its ball falls, by no more than feet of the gaits accelerate."""
    from footplant.live import _foot_plan as kernel

    controller, dt, brake = full(), 1.0 / 480.0, 60.0
    state = controller.init(begin="walk")
    while state.feet.flags[0, kernel.SWING] == 1 or state.feet.flags[0, kernel.HELD] != 1:
        controller.step(state, 1.0 / FPS)
    root, pose, heights = state.root - [0.0, 0.03, 0.0], state.pose.copy(), []
    for frame in range(40):
        step = kernel.FeetStep(state.now + frame * dt, dt, np.array([1.0, 0.0, 0.0, 0.0]), 1.0, brake)
        if frame == 0:
            # the ball falls as fast as it may at this height
            high = state.feet.places[0, kernel.SHOWN + 1, 1]
            assert high > 0.012
            state.feet.places[0, kernel.SHOWN + 1, 1] += dt * np.sqrt(2.0 * brake * high)
        kernel.pose_feet(
            controller.legs,
            kernel.level_ground(),
            step,
            state.feet,
            root.copy(),
            pose.copy(),
            controller.foot_scratch,
        )
        heights.append(state.feet.places[0, kernel.SHOWN + 1, 1])
    heights = np.array(heights)
    speeds = np.diff(heights) / dt
    assert state.feet.flags[0, kernel.HELD] == 3
    assert abs(heights[-1]) < 1e-6
    assert speeds[0] < -0.8 * np.sqrt(2.0 * brake * heights[0])
    assert np.abs(np.diff(speeds)).max() / dt < 1.25 * brake


def _on_the_spot(clip, cycle, name):
    """Return one cycle of a gait as games have it: hips stay where they are."""
    first, last = (round(seconds * clip.motion.fps) for seconds in cycle)
    motion = clip.motion[first : last + 1]
    root = np.array(motion.root)
    way = (root[-1] - root[0])[::2]
    root[:, ::2] -= np.linspace(0.0, 1.0, len(root))[:, None] * way
    speed = float(np.linalg.norm(way)) / motion.duration
    return replace(clip, motion=replace(motion, root=root), name=name), speed


def test_gaits_on_the_spot_travel_as_fast_as_their_feet_slide():
    clips, speeds = [], {}
    for name in ("walk", "run"):
        clip = io.load(f"sample:{name}")
        spot, speeds[name] = _on_the_spot(clip, find_loop(clip), name)
        clips.append(spot)
        assert belt_velocity(clip) is None
    controller = footplant.drive_set([*clips, "sample:stand"])
    assert set(controller.spec.gaits) == {"walk", "run"}
    for name, speed in speeds.items():
        state = controller.init(begin=name)
        roots = []
        for _ in range(240):
            state, pose = controller.step(state, 1 / 60)
            roots.append(pose.root.copy())
        went = float(np.linalg.norm((roots[-1] - roots[119])[[0, 2]])) / 2.0
        np.testing.assert_allclose(went, speed, rtol=0.1)


@pytest.mark.parametrize("name", ["kick", "stand", "jump", "clap"])
def test_what_stays_on_the_spot_without_walking_stays_there(name):
    clip = io.load(f"sample:{name}")
    assert travelling(clip) is clip


def test_a_walk_that_goes_head_over_heels_is_no_gait():
    """A roll that ends as it begins travels and repeats itself, as a walk does that turns over as it goes."""
    walk = io.load("sample:walk")
    turns = rotation.exp(np.linspace(0.0, 8.0 * np.pi, len(walk.motion))[:, None] * rotation.AXES["x"])
    rotations = np.array(walk.motion.rotations)
    rotations[:, 0] = rotation.multiply(turns, rotations[:, 0])
    rolling = replace(walk, motion=walk.motion.like(walk.motion.root, rotations, walk.motion.offsets))
    assert examine(walk).kind == "gait"
    assert examine(rolling).kind == "action"


def test_a_captured_roll_is_no_gait():
    path = DATA / "deepmimic" / "humanoid3d_roll.txt"
    if not path.exists():
        pytest.skip("no real clips")
    assert [examine(travelling(clip)).kind for clip in clips_of(path)] == ["action"]


def test_all_takes_of_a_file_make_a_set(tmp_path):
    walk = replace(io.load("sample:walk"), name="Walk")
    io.save(tmp_path / "hero.glb", walk, takes=[walk, replace(walk, motion=walk.motion[40:90], name="Step")])
    io.save(tmp_path / "solo.glb", replace(walk, name="mixamo.com"))
    names = [clip.name for clip in clips_of(tmp_path / "hero.glb")]
    assert names == ["Walk", "Step"]
    assert [clip.name for clip in clips_of(tmp_path / "solo.glb")] == ["solo"]


@pytest.mark.timeout(120)
def test_feet_that_hang_on_the_root_can_be_driven(tmp_path, monkeypatch):
    whole = io.load_character("sample:sally")
    skeleton, roles, apart = whole.skeleton, whole.require_roles(), feet_on_the_root(whole)
    names = [skeleton.names[roles[f"{side}_foot"]] for side in ("left", "right")]
    found = []
    for who in (apart, whole):
        driven = drive(footplant.drive_set(["sample:walk"], character=who), "walk 2s").motion
        found.append(Kinematics(driven).positions[:, [driven.skeleton.index(name) for name in names]])
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)
    monkeypatch.setattr(io, "load_character", lambda _: apart)
    arguments = ["drive", "--clips", "sample:walk", "--script", "walk 2s", "--character", "apart"]
    assert main([*arguments, "-o", str(tmp_path / "driven.bvh")]) == 0
    written = io.load(tmp_path / "driven.bvh").motion
    there = Kinematics(written).positions[:, [written.skeleton.index(name) for name in names]]
    np.testing.assert_allclose(there, found[0], atol=1e-3)


def test_feet_without_toe_joints_are_planted_by_their_tips():
    file = DATA / "deepmimic" / "humanoid3d_walk.txt"
    if not file.exists():
        pytest.skip("needs the clips of ../shared/data")
    controller = footplant.drive_set([file])
    ball, toe = (controller.character.contacts[f"left_{part}"] for part in ("ball", "toe"))
    assert ball == toe
    done = drive(controller, "humanoid3d_walk 6s", fps=FPS)
    kinematics = Kinematics(done.motion)
    found = find_contacts((done.motion, controller.character))
    drifts = []
    for plant in found.plants:
        places = kinematics.point(controller.character.contacts[plant.point])[plant.start : plant.end]
        drifts.append(np.linalg.norm(places - places[0], axis=1).max())
    assert len(drifts) > 10
    assert np.mean(np.array(drifts) > 0.001) < 0.2


def trunk_lean(motion, character):
    """Return the angle (F,), degrees, by which the neck is ahead of the hip joints."""
    roles, places = character.require_roles(), Kinematics(motion).positions
    hips = places[:, [roles["left_upper_leg"], roles["right_upper_leg"]]]
    line = places[:, roles["neck"]] - hips.mean(axis=1)
    ahead = np.cross((hips[:, 0] - hips[:, 1]) * [1.0, 0.0, 1.0], rotation.AXES["y"])
    along = np.sum(line * ahead, axis=1) / np.linalg.norm(ahead, axis=1)
    return np.degrees(np.arctan2(along, line[:, 1]))


@cache
def walked(degrees, script="walk 5s"):
    """Return a walk on a slope."""
    return drive(full(), script, fps=FPS, ground=grounds.slope(degrees))


@pytest.mark.parametrize(("degrees", "share"), [(10.0, 0.45), (-10.0, 0.3)])
def test_trunks_lean_into_slopes(degrees, share):
    """By the share of its angle that `footplant terrain` gives them, without a jolt, and feet stay where they are."""
    character, level, done = full().character, walked(0.0), walked(degrees)
    leans = trunk_lean(done.motion, character) - trunk_lean(level.motion, character)
    assert leans[0] == 0.0
    jolts = np.abs(np.diff(leans, 2)).max() * FPS**2
    assert jolts < 60.0
    # the head looks ahead, and arms hang
    roles = character.require_roles()
    turned = {}
    joints = {role: roles[role] for role in ("hips", "head", "left_upper_arm")} | {"chest": roles.joints["spine"][-1]}
    for role, joint in joints.items():
        turns = [Kinematics(each.motion).rotations[-1, joint] for each in (level, done)]
        turned[role] = np.degrees(np.linalg.norm(rotation.log(rotation.multiply(turns[1], rotation.inverse(turns[0])))))
    full_lean = abs(share * degrees)
    assert turned["chest"] == pytest.approx(full_lean, abs=0.3)
    assert np.sign(leans[-1]) == np.sign(degrees)
    assert turned["hips"] == pytest.approx(0.4 * full_lean, abs=0.3)
    assert turned["head"] == pytest.approx(0.4 * full_lean, abs=0.3)
    assert turned["left_upper_arm"] == pytest.approx(0.3 * full_lean, abs=0.3)


def test_the_lean_leaves_feet_alone():
    """With and without it, feet on a slope are where they were, within what the line of the hips tilts."""
    controller, slope = full(), grounds.slope(12.0)
    done = drive(controller, "walk 4s, kick, stand 2s", fps=FPS, ground=slope)
    lean, joints = (
        controller._lean,
        [controller.character.require_roles()[f"{side}_foot"] for side in ("left", "right")],
    )
    controller._lean = lean._replace(uphill=0.0, downhill=0.0)
    upright = drive(controller, "walk 4s, kick, stand 2s", fps=FPS, ground=slope)
    controller._lean = lean
    moved = Kinematics(done.motion).positions[:, joints] - Kinematics(upright.motion).positions[:, joints]
    assert np.abs(moved).max() < 2e-3
    leans = trunk_lean(done.motion, controller.character) - trunk_lean(upright.motion, controller.character)
    assert leans[:240].max() > 3.0


@pytest.mark.parametrize("gait", ["walk", "run"])
def test_bodies_come_down_a_slope_with_their_feet(gait):
    """A body that lags behind lets go of the foot that lands: it jolts, 3.7 times as hard as the gait does."""
    controller = full()
    done = drive(controller, f"{gait} 5s", fps=FPS, ground=grounds.slope(-10.0))
    own = as_motion(controller.tables.motions[controller.tables.index(gait)], controller.character)
    peak = [
        foot_peak(motion, controller.character) for motion in (done.motion, own.looped(2, close=False).resample(FPS))
    ]  # fmt: skip
    assert peak[0] <= 1.6 * peak[1]


def test_who_stands_on_a_slope_is_upright():
    """Also who turns there, or kicks."""
    script = "walk 3s, stand 4s, kick, stand 1s"
    leans = [trunk_lean(walked(degrees, script).motion, full().character) for degrees in (12.0, 0.0)]
    away = leans[0] - leans[1]
    assert away[150] > 3.0
    assert np.abs(away[360:]).max() < 0.3


def test_on_a_level_floor_nobody_leans():
    controller = full()
    state = controller.init(begin="walk")
    for _ in range(120):
        controller.step(state, 1.0 / FPS)
    from footplant.live import _foot_plan

    assert not state.feet.body[[_foot_plan.CLIMB, _foot_plan.FOLLOWED]].any()


def test_a_level_trunk_does_not_lean():
    """Who is bent down leans by as much less as the trunk is less upright."""
    from footplant.feet import _lean
    from footplant.feet.lean import lean_tables

    character = full().character
    hips, tables = character.require_roles()["hips"], lean_tables(character)
    turned = []
    for bend in (0.0, 60.0, 90.0, 150.0):
        root, pose = np.zeros((1, 3)), np.array(character.skeleton.rest[None])
        pose[0, hips] = rotation.multiply(rotation.from_axis_angle(rotation.AXES["x"], np.radians(bend)), pose[0, hips])
        before = pose[0, hips].copy()
        kinematics = Kinematics(Motion(character.skeleton, root, pose, FPS))
        places, turns = np.array(kinematics.positions), np.array(kinematics.rotations)
        _lean.lean_trunk(tables, np.array([0.2]), places, turns, root, pose)
        turned.append(np.linalg.norm(rotation.log(rotation.multiply(pose[0, hips], rotation.inverse(before)))))
    assert turned[0] == pytest.approx(0.4 * 0.45 * 0.2, rel=0.02)
    assert turned[1] == pytest.approx(0.5 * turned[0], rel=0.25)
    assert turned[2:] == pytest.approx([0.0, 0.0], abs=0.15 * turned[0])
