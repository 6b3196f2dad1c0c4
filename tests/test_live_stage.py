"""From datagrams to poses: calibration, every protocol, bad networks, clocks, access control."""

from __future__ import annotations

import io
import time
from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import live_made
from footplant import Kinematics, humanoid, rotation, samples
from footplant.contacts.importance import PerformanceScene, SceneObject
from footplant.errors import FormatError, MotionError
from footplant.geometry import Ball, Plane
from footplant.live import performer, wire
from footplant.live.actor import ActorSettings
from footplant.live.clock import SenderClock
from footplant.live.faults import Faults, with_noise
from footplant.live.ground_walk import GroundWalk
from footplant.live.protocols import osc, recording, vmc, xsens
from footplant.live.puppeteer import Puppeteer
from footplant.live.rehearsal import rehearse
from footplant.live.show import Latencies, TakeRecorder, perform
from footplant.live.stage import LiveStage, PoseEncoder
from footplant.live.status import line, problems
from footplant.motion import Motion

FPS = 60.0


@pytest.fixture(scope="module")
def walk():
    return live_made.walk(FPS)


@pytest.fixture(scope="module")
def sally():
    return samples.load_character("sally")


def run(stage, schedule, until=None, step=1.0 / 240.0):
    """Play (seconds, bytes) to a stage; return (F,) times, (F, 3) roots, (F, J, 4) rotations of its output."""
    events = list(schedule)
    until = events[-1][0] + 0.05 if until is None else until
    times, roots, turns, place, now = [], [], [], 0, 0.0
    while now < until:
        now += step
        while place < len(events) and events[place][0] <= now:
            stage.feed(events[place][1], "sender", events[place][0])
            place += 1
        for shown in stage.poses(now):
            times.append(shown.time)
            roots.append(np.array(shown.pose.root))
            turns.append(np.array(shown.pose.rotations))
    return np.array(times), np.array(roots), np.array(turns)


def sent(walk, start=50.0, seconds=None):
    motion, character = walk
    part = motion if seconds is None else motion[: int(seconds * FPS)]
    return [(n / FPS, data) for n, data in enumerate(live_made.encoded("vmc", part, character, start))]


def largest_speed(times, turns, over=0.0):
    """Return the largest joint speed, radians per second, from each pose to the next that is at least `over` later."""
    after = np.maximum(np.searchsorted(times, times + over), np.arange(len(times)) + 1)
    rows = np.flatnonzero(after < len(times))[20:]
    return float((rotation.angle(turns[rows], turns[after[rows]]) / (times[after[rows]] - times[rows])[:, None]).max())


# performers


def poses(character, local, frames=30, wobble=0.0):
    """Return samples of a held pose: VMC of a character with those local rotations."""
    encoder, receiver, found = PoseEncoder("vmc", character), vmc.VmcReceiver(), []
    random = np.random.default_rng(0)
    root = np.array([0.0, 0.95, 0.0])
    for frame in range(frames):
        shaken = rotation.multiply(local, rotation.exp(random.normal(scale=wobble, size=(len(local), 3))))
        found += receiver.feed(encoder.encode(root, shaken, frame / 60.0), frame / 60.0)
    return found + receiver.poll(9.0)


def arms_at(character, degrees):
    """Return the reference pose with the arms that many degrees below the horizontal."""
    local = humanoid.reference_pose(character.skeleton, character.roles)
    for side, sign in (("left", -1.0), ("right", 1.0)):
        joint = character.roles[f"{side}_upper_arm"]
        world = character.skeleton.posed(local)[1]
        above = world[character.skeleton.parents[joint]]
        turn = rotation.from_axis_angle(np.array([0.0, 0.0, 1.0]), np.array(sign * np.radians(degrees)))
        local[joint] = rotation.multiply(rotation.multiply(rotation.inverse(above), turn), world[joint])
    return local


@pytest.mark.parametrize(("degrees", "kind"), [(0.0, "T-pose"), (15.0, "T-pose"), (80.0, "N-pose"), (88.0, "N-pose")])
def test_calibration_measures_proportions_in_a_pose(sally, degrees, kind):
    found = performer.calibrate(poses(sally, arms_at(sally, degrees), wobble=0.003), "Ann")
    assert found.pose == kind
    assert found.character.name == "Ann"
    ours, theirs = sally.roles, found.character.roles
    for a, b in (("left_upper_arm", "left_lower_arm"), ("right_upper_leg", "right_lower_leg")):
        wanted = np.linalg.norm(sally.skeleton.offsets[ours[b]])
        assert np.linalg.norm(found.character.skeleton.offsets[theirs[b]]) == pytest.approx(wanted, rel=1e-3)
        assert theirs[a] < theirs[b]
    assert found.character.height == pytest.approx(sally.height, rel=0.05)


def test_calibration_in_other_poses_raises(sally, walk):
    with pytest.raises(MotionError, match=r"T-pose .* N-pose"):
        performer.calibrate(poses(sally, arms_at(sally, 45.0)))
    receiver, found = vmc.VmcReceiver(), []
    for when, data in sent(walk):
        found += receiver.feed(data, when)
    with pytest.raises(MotionError, match="held still"):
        performer.calibrate(found)
    with pytest.raises(MotionError, match="none"):
        performer.assume([])


def test_a_stream_without_a_body_raises():
    receiver = vmc.VmcReceiver()
    hips = osc.encode("/VMC/Ext/Bone/Pos", "Hips", 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    found = receiver.feed(hips, 0.0) + receiver.poll(1.0)
    with pytest.raises(MotionError, match="human"):
        performer.assume(found)


def test_calibrating_actor_waits_for_the_pose(sally, walk):
    motion, character = walk
    encoder, local = PoseEncoder("vmc", character), arms_at(character, 85.0)
    stage = LiveStage("vmc", sally, settings=ActorSettings(calibrate=True))
    moving = [(n / FPS, data) for n, (_, data) in enumerate(sent(walk)[:60])]
    still = [(1.0 + n / FPS, encoder.encode(motion.root[0], local, 51.0 + n / FPS)) for n in range(90)]
    assert len(run(stage, moving)[0]) == 0
    actor = stage.actors[0]
    assert "hold a T-pose" in actor.note or "held still" in actor.note
    assert len(run(stage, still)[0]) > 0
    assert actor.note.startswith("N-pose")


# protocols


def test_vmc_round_trip_is_the_same_motion(walk):
    """The performer drives a character of its own shape: the output is the input, delayed by the smoother's lag."""
    motion, character = walk
    stage = LiveStage("vmc", character, settings=ActorSettings(half_life=0.0))
    times, roots, turns = run(stage, sent(walk), step=1.0 / 120.0)
    frames = np.clip(np.round(times * FPS).astype(int), 0, len(motion) - 1)
    # between frames: how late it is need not be a whole number of them
    there = [motion.at(times[20:-3] + shift / FPS).rotations for shift in np.linspace(-1.0, 1.0, 9)]
    off = min(np.degrees(rotation.angle(turns[20:-3], wanted)).max() for wanted in there)
    assert off < 9.5
    assert np.abs(roots[20:-3] - motion.root[frames][20:-3]).max() < 0.04


@pytest.mark.parametrize("protocol", ["vmc", "xsens", "rokoko", "natnet"])
def test_every_protocol_drives_a_character(walk, sally, protocol):
    motion, character = walk
    part = motion[:90]
    if protocol in ("vmc", "rokoko"):
        data = live_made.encoded(protocol, part, character, 5.0)
    elif protocol == "xsens":
        data = [xsens.encode(live_made.in_plan(xsens.PLAN, motion, character, f), f + 1, 17 * f) for f in range(90)]
    else:
        from footplant.live.protocols.natnet_poses import _DEFAULT, _make

        names = tuple(name for name, _ in _DEFAULT)
        plan = _make(names, [-1 if above is None else names.index(above) for _, above in _DEFAULT], is_local=False)
        told = [live_made.in_plan(plan, motion, character, f) for f in range(90)]
        data = [live_made.natnet_frame(f, {1: (s.positions, s.rotations)}, f / FPS) for f, s in enumerate(told)]
    stage = LiveStage(protocol, sally)
    times, roots, turns = run(stage, [(n / FPS, one) for n, one in enumerate(data)])
    actor = stage.actors[0]
    assert len(times) >= 80
    assert np.isfinite(turns).all()
    assert actor.performer.character.height == pytest.approx(character.height, rel=0.12)
    # it continues to walk, upright, with its feet at the floor
    feet = Kinematics(Motion(sally.skeleton, roots, rotation.normalize(turns), FPS)).positions
    lowest = feet[20:, [sally.roles["left_foot"], sally.roles["right_foot"]], 1].min(axis=1)
    assert (lowest > 0.0).all()
    assert np.median(lowest) < 0.15
    travelled = np.linalg.norm(roots[-1] - roots[20])
    wanted = np.linalg.norm(motion.root[89] - motion.root[20]) * actor.puppeteer.engine.scale
    assert travelled == pytest.approx(wanted, rel=0.15)


def test_actors_are_separated_and_counted(walk, sally):
    stage, shown = LiveStage("vmc", sally, most_actors=2), []
    for number, data in enumerate(live_made.encoded("vmc", walk[0][:12], walk[1], 1.0)):
        for sender in ("a", "b", "c"):
            stage.feed(data, sender, number / FPS)
        shown = shown + stage.poses(number / FPS)
    assert {pose.number for pose in shown} == {0, 1}
    assert stage.refused["more actors than are driven"] > 0
    for number in range(200):
        stage.feed(b"/x\x00\x00", number, 1.0)
    assert len(stage.receivers) == 64
    assert "2 ×" in line(stage, Latencies())
    assert "waiting" in line(LiveStage("vmc", sally), Latencies())


def test_unknown_protocols_raise(sally):
    with pytest.raises(FormatError, match="protocol"):
        LiveStage("morse", sally)
    with pytest.raises(FormatError, match="can be sent"):
        PoseEncoder("xsens", sally)


# bad networks


@pytest.mark.parametrize(
    "faults",
    [Faults(), Faults(loss=0.01), Faults(loss=0.05), Faults(loss=0.2), Faults(reorder=0.1), Faults(duplicate=0.3),
     Faults(loss=0.05, delay=0.05, jitter=0.01, reorder=0.05, duplicate=0.05)],
)  # fmt: skip
def test_faults_leave_a_smooth_motion(walk, sally, faults):
    clean = run(LiveStage("vmc", sally), sent(walk))
    stage = LiveStage("vmc", sally)
    times, _, turns = run(stage, faults.apply(sent(walk)))
    assert np.isfinite(turns).all()
    assert len(times) > 0.75 * len(clean[0])
    # poses are shown as they arrive, so network jitter shows between two poses, but not over three
    over = 0.05 if faults.jitter else 0.0
    assert largest_speed(times, turns, over) <= 2.0 * largest_speed(clean[0], clean[2], over)


@pytest.mark.parametrize("start", [0.7, 1.2, 1.9, 2.6])
def test_a_gap_of_200_ms_causes_no_jump(walk, sally, start):
    usual = largest_speed(*(run(LiveStage("vmc", sally), sent(walk))[k] for k in (0, 2)))
    gappy = [(when, data) for when, data in sent(walk) if not start <= when < start + 0.2]
    stage = LiveStage("vmc", sally)
    times, _, turns = run(stage, gappy)
    assert largest_speed(times, turns) <= 1.5 * usual
    assert stage.actors[0].missed >= 8
    # poses continue through the gap
    assert np.diff(times).max() < 0.05


def test_the_latest_pose_is_shown_after_a_stall(walk, sally):
    stalled = [(1.5 if 1.0 <= when < 1.5 else when, data) for when, data in sent(walk)]
    stage = LiveStage("vmc", sally)
    times, roots, turns = run(stage, stalled)
    smooth = run(LiveStage("vmc", sally), sent(walk))
    at = np.searchsorted(times, 1.5)
    assert np.diff(times[at : at + 3]).min() > 0.003
    late, usual = roots[np.searchsorted(times, 3.0)], smooth[1][np.searchsorted(smooth[0], 3.0)]
    assert np.abs(late - usual).max() < 0.06
    assert np.isfinite(turns).all()


def test_a_reset_sender_clock_causes_no_jump(walk, sally):
    motion, character = walk
    data = live_made.encoded("vmc", motion, character, 50.0)
    data[120:] = live_made.encoded("vmc", motion, character, 7000.0)[120:]
    stage = LiveStage("vmc", sally)
    times, _, turns = run(stage, [(n / FPS, one) for n, one in enumerate(data)])
    usual = run(LiveStage("vmc", sally), sent(walk))
    assert stage.actors[0].clock.jumps == 1
    assert largest_speed(times, turns) <= 1.5 * largest_speed(usual[0], usual[2])


def test_a_long_gap_eases_to_rest_and_recovers(walk, sally):
    early = sent(walk)[:60]
    late = [(when + 8.0, data) for when, data in sent(walk, start=58.0)[60:]]
    stage = LiveStage("vmc", sally)
    times, _, turns = run(stage, early + late)
    assert np.isfinite(turns).all()
    actor = stage.actors[0]
    rest = rotation.angle(turns[np.searchsorted(times, 7.5)], turns[np.searchsorted(times, 7.0)]).max()
    assert rest < 3e-3
    assert actor.missing < 0.1
    usual = run(LiveStage("vmc", sally), sent(walk))
    assert largest_speed(times, turns) <= 1.5 * largest_speed(usual[0], usual[2])


def test_invalid_datagrams_among_poses_are_ignored(walk, sally):
    good = sent(walk, seconds=1.5)
    seeds = [data for _, data in good[:3]]
    bad = [(0.3 + 0.0005 * n, data) for n, data in enumerate(live_made.mutations(seeds, 500))]
    stage = LiveStage("vmc", sally)
    times, _, turns = run(stage, sorted([*good, *bad], key=lambda event: event[0]))
    assert np.isfinite(turns).all()
    assert len(times) > 60


def test_fault_statistics():
    events = [(n / 100.0, n.to_bytes(2, "big")) for n in range(2000)]
    lost = list(Faults(loss=0.2).apply(events))
    assert 0.76 < len(lost) / 2000 < 0.84
    doubled = list(Faults(duplicate=0.3).apply(events))
    assert 1.25 < len(doubled) / 2000 < 1.35
    late = list(Faults(delay=0.1, jitter=0.01).apply(events))
    assert [data for _, data in late] == [data for _, data in events]
    assert min(when - n / 100.0 for n, (when, _) in enumerate(late)) >= 0.1
    swapped = [int.from_bytes(data, "big") for _, data in Faults(reorder=0.1).apply(events)]
    assert sorted(swapped) == list(range(2000))
    assert 100 < sum(a > b for a, b in pairwise(swapped)) < 300
    times = [when for when, _ in Faults(jitter=0.02, reorder=0.2, duplicate=0.2).apply(events)]
    assert times == sorted(times)
    with pytest.raises(MotionError, match="share"):
        Faults(loss=2.0)


def test_noise_has_the_requested_deviation(walk):
    motion = walk[0]
    shaken = with_noise(motion, 2.0, 1.0)
    assert np.std(shaken.root - motion.root) == pytest.approx(0.002, rel=0.1)
    off = rotation.log(rotation.multiply(rotation.inverse(motion.rotations), shaken.rotations))
    assert np.degrees(np.std(off)) == pytest.approx(1.0, rel=0.05)


# identities, sources and bodies


def bones(data, keep, stamp=None):
    """Return a datagram with only the bones whose names `keep` accepts, and another stamp."""
    kept = []
    for address, arguments in osc.decode(data):
        if address == "/VMC/Ext/Bone/Pos" and not keep(arguments[0]):
            continue
        if address == "/VMC/Ext/T" and stamp is not None:
            arguments = (stamp,)
        kept.append(osc.encode(address, *arguments))
    return osc.bundle(kept)


def played(stage, events):
    """Feed (seconds, bytes, sender); return the poses and their times."""
    shown = []
    for when, data, sender in events:
        stage.feed(data, sender, when)
        shown += stage.poses(when)
    return shown


def test_expressions_are_shown_with_the_pose_that_they_were_sent_with(walk, sally):
    motion, character = walk
    encoder, stage = PoseEncoder("vmc", character), LiveStage("vmc", sally)
    events = [
        (n / FPS, encoder.encode(motion.root[n], motion.rotations[n], n / FPS, {"number": float(n)}), "suit")
        for n in range(60)
    ]
    shown = [pose for pose in played(stage, events) if not pose.bridged and pose.expressions]
    assert len(shown) > 40
    for pose in shown:
        assert pose.time - stage.actors[0].delay == pytest.approx(pose.expressions["number"] / FPS, abs=1e-6)


def is_leg(name):
    return any(part in name for part in ("Leg", "Foot", "Toes"))


def is_hand(name):
    return name in ("Head", "Neck", "LeftHand", "RightHand")


def test_a_restarted_sender_is_the_same_actor(walk, sally):
    again = [(when + 1.5, bones(data, lambda _: True, when), ("127.0.0.1", 2)) for when, data in sent(walk)[:60]]
    stage = LiveStage("vmc", sally)
    played(stage, [(when, data, ("127.0.0.1", 1)) for when, data in sent(walk)[:60]])
    assert problems(stage) == []
    stage.actors[0].out_of_reach = (True, False)
    assert problems(stage) == ["what the left hand touches is out of reach"]
    stage.actors[0].out_of_reach, stage.actors[0].hands_out_of_reach = (False, False), True
    assert problems(stage) == ["the arms do not reach around the body for the hands to meet"]
    stage.poses(1.9)
    assert any("no data for 0.9 s" in one for one in problems(stage))
    shown = played(stage, [(when + 0.6, data, sender) for when, data, sender in again])
    assert len(stage.actors) == 1
    assert len(stage.actors[0].sources) == 2
    assert stage.actors[0].missing == 0.0
    assert len(shown) > 60
    assert stage.actors[0].changes == 0
    assert problems(stage) == []


def test_every_pose_from_another_port_is_one_actor(walk, sally):
    stage = LiveStage("vmc", sally)
    shown = played(stage, [(when, data, ("127.0.0.1", n)) for n, (when, data) in enumerate(sent(walk)[:150])])
    assert len(stage.actors) == 1
    assert len(stage.receivers) <= 64
    assert len(shown) > 135
    assert not stage.refused


def test_jitter_is_removed_where_every_pose_comes_from_another_port(walk, sally):
    def hand(jitter, ports):
        chance, last, events = np.random.default_rng(1), 0.0, []
        for n, (when, data) in enumerate(sent(walk)[:180]):
            last = max(when + chance.exponential(jitter), last)
            events.append((last, data, ("127.0.0.1", n % ports)))
        shown = played(LiveStage("vmc", sally), events)
        roots, turns = (np.array([getattr(s.pose, name) for s in shown]) for name in ("root", "rotations"))
        places = Kinematics(Motion(sally.skeleton, roots, turns, FPS)).positions[:, sally.require_roles()["left_hand"]]
        return np.array([s.time for s in shown]), places

    times, places = hand(0.0, 1)
    for ports in (1, 1000):
        late, found = hand(0.005, ports)
        after = late > late[0] + 0.7
        off = [
            np.linalg.norm(CubicSpline(times, places)(late[after] - lag) - found[after], axis=1).max()
            for lag in np.arange(-0.01, 0.03, 1e-3)
        ]
        assert min(off) < 0.015


def test_two_sources_are_one_performer(walk, sally):
    data = sent(walk)[:90]
    body = [(when, bones(one, lambda name: not is_hand(name)), "suit") for when, one in data]
    hands = [(when + 0.004, bones(one, is_hand, 900.0 + when), "gloves") for when, one in data]
    stage, whole = LiveStage("vmc", sally), LiveStage("vmc", sally)
    shown = played(stage, sorted(body + hands))
    wanted = played(whole, [(when, one, "suit") for when, one in data])
    assert len(stage.actors) == 1
    assert problems(stage) == []
    last = {round(60 * pose.time): pose.pose.rotations for pose in wanted}
    near = [rotation.angle(pose.pose.rotations, last[round(60 * pose.time)]).max() for pose in shown[-14:-2]]
    assert np.degrees(max(near)) < 5.0


def test_of_two_rivals_the_first_is_followed(walk, sally):
    data = sent(walk)[:60]
    rival = [(when + 0.003, one, "rival") for (when, _), (_, one) in zip(data, sent(walk)[90:150])]
    stage, alone = LiveStage("vmc", sally), LiveStage("vmc", sally)
    shown = played(stage, sorted([(when, one, "first") for when, one in data] + rival))
    wanted = played(alone, [(when, one, "first") for when, one in data])
    at = {round(FPS * pose.time): pose.pose.root for pose in wanted}
    assert np.abs(shown[40].pose.root - at[round(FPS * shown[40].time)]).max() < 0.01
    assert any("rival sends bones that another sender sends" in one for one in problems(stage))


def test_another_performer_is_measured_anew(walk, sally):
    motion, character = walk
    small = samples.load_character("short")
    other = retargeted(motion, character, small)
    stage = LiveStage("vmc", sally)
    shown = played(stage, [(when, data, "a") for when, data in sent(walk)[:60]])
    tall = stage.actors[0].performer.character.height
    later = [(1.2 + n / FPS, data, "b") for n, data in enumerate(live_made.encoded("vmc", other[:60], small, 80.0))]
    shown += played(stage, later)
    assert stage.actors[0].changes == 1
    assert stage.actors[0].performer.character.height == pytest.approx(small.height, rel=0.1)
    assert tall == pytest.approx(character.height, rel=0.1)
    turns = np.array([pose.pose.rotations for pose in shown])
    assert np.degrees(rotation.angle(turns[1:], turns[:-1]).max()) < 40.0


def retargeted(motion, character, target):
    """Return the pose of a clip on another body, held: the walk of a performer of another size."""
    local = humanoid.reference_pose(target.skeleton, target.roles)
    root = np.repeat(target.skeleton.rest_world[0][:1], len(motion), axis=0)
    return Motion(target.skeleton, root, np.repeat(local[None], len(motion), axis=0), motion.fps)


def test_noise_is_measured_while_the_performer_stands_still(walk, sally):
    """2 mm and 1° of noise on a still take are found again, and what is shown is calmer than what is sent."""
    motion, character = walk
    rng, encoder = np.random.default_rng(3), PoseEncoder("vmc", character)
    stage, moved, shown = LiveStage("vmc", sally, settings=ActorSettings(calibrate_noise=True)), 0, []
    plain, unfiltered = LiveStage("vmc", sally, settings=ActorSettings(half_life=0.0)), []
    # long enough for the arms to have eased from the pose that they begin with
    for number in range(240):
        when = number / 60.0
        # at first the performer still moves
        frame = 2 * number if number < 10 else 20
        root = motion.root[frame] + rng.normal(0.0, 0.002, 3)
        turned = rotation.exp(rng.normal(0.0, np.radians(1.0), motion.rotations[frame].shape[:-1] + (3,)))
        data = encoder.encode(root, rotation.multiply(motion.rotations[frame], turned), when)
        stage.feed(data, "suit", when)
        plain.feed(data, "suit", when)
        unfiltered += plain.poses(when)
        moved += "still" in stage.actors[0].note if stage.actors else 0
        shown += stage.poses(when)
    actor = stage.actors[0]
    assert moved > 10
    assert "noise up to" in actor.note
    place, turn = actor._noise[0]
    assert place == pytest.approx(0.002, rel=0.4)
    assert turn == pytest.approx(np.radians(1.0), rel=0.4)
    hands = [np.array([pose.pose.rotations[:, 1:] for pose in poses[-40:]]) for poses in (shown, unfiltered)]
    ratio = np.std(hands[0], axis=0).mean() / np.std(hands[1], axis=0).mean()
    assert ratio < 0.65


def test_a_prop_moves_with_its_tracker(walk, sally):
    """A ball that a tracker brings to the left hand matters to that hand, sent with the bones or by another app."""
    motion, character = walk
    hand = Kinematics(motion[:1]).positions[0, character.require_roles()["left_hand"]]
    scene = PerformanceScene.of(Plane(), SceneObject(Ball((0.0, 0.0, 0.0), 0.03), "ball", 0.3))
    still, importances = motion[:1], {}
    pose = live_made.encoded("vmc", still, character, 50.0)[0]
    for where in ("nowhere", "with the bones", "by another app"):
        stage = LiveStage("vmc", sally, lambda performer, target: Puppeteer(performer, target, scene))
        far = np.array([9.0, 9.0, 9.0]) if where == "nowhere" else hand
        message = osc.encode("/VMC/Ext/Tra/Pos", "ball", far[0], far[1], -far[2], 0.0, 0.0, 0.0, 1.0)
        for number in range(30):
            when = number / 60.0
            messages = [osc.encode(m.address, *m.arguments) for m in osc.decode(pose)]
            messages[1] = osc.encode("/VMC/Ext/T", 50.0 + when)
            stage.feed(osc.bundle(messages + [message] * (where != "by another app")), "suit", when)
            if where == "by another app":
                stage.feed(osc.bundle([message]), "tracker", when + 0.002)
            stage.poses(when + 0.01)
        actor = stage.actors[0]
        assert len(stage.actors) == 1
        assert np.allclose(actor.trackers["ball"], [*far, 1.0, 0.0, 0.0, 0.0], atol=1e-5)
        importances[where] = actor.importance["left_arm"]
    assert importances["nowhere"] < 0.2
    assert importances["with the bones"] > 0.8
    assert importances["by another app"] > 0.8


def test_a_ground_moves_with_its_tracker(walk, sally):
    """A tracker named ground lifts what the character stands on by as much as it rises itself, scaled."""
    motion, character = walk
    pose = live_made.encoded("vmc", motion[:1], character, 50.0)[0]
    stage = LiveStage(
        "vmc", sally, lambda performer, target: Puppeteer(performer, target, ground=GroundWalk(target, Plane()))
    )
    heights = []
    for number in range(60):
        when = number / 60.0
        rise = 1.3 + 0.2 * max(when - 0.5, 0.0)
        messages = [osc.encode(m.address, *m.arguments) for m in osc.decode(pose)]
        messages[1] = osc.encode("/VMC/Ext/T", 50.0 + when)
        messages.append(osc.encode("/VMC/Ext/Tra/Pos", "ground", 4.0, rise, 2.0, 0.0, 0.0, 0.0, 1.0))
        stage.feed(osc.bundle(messages), "suit", when)
        heights += [shown.pose.root[1] for shown in stage.poses(when + 0.01)]
    puppeteer = stage.actors[0].puppeteer
    assert abs(heights[25] - heights[15]) < 1e-6
    steps = np.diff(heights[-10:])
    assert np.allclose(steps, puppeteer.engine.scale * 0.2 / 60.0, atol=1e-4)


@pytest.mark.parametrize("body", ["auto", "upper", "seated"])
def test_the_upper_body_alone_moves_the_upper_body(walk, sally, body):
    stage = LiveStage("vmc", sally, settings=ActorSettings(body=body))
    keep = (lambda name: not is_leg(name)) if body == "auto" else (lambda name: True)
    shown = played(stage, [(when, bones(data, keep), "camera") for when, data in sent(walk)[:90]])
    assert len(shown) > 75
    turns = np.array([pose.pose.rotations for pose in shown[20:]])
    moves = np.degrees(rotation.angle(turns, turns[:1]).max(axis=0))
    roles = sally.roles
    assert moves[roles["left_upper_arm"]] > 10.0
    assert max(moves[roles[f"{side}_{part}"]] for side in ("left", "right") for part in ("upper_leg", "foot")) < 1.0
    assert np.ptp([pose.pose.root for pose in shown[20:]], axis=0).max() < 0.01
    places = sally.skeleton.posed(shown[-1].pose.rotations)[0] + shown[-1].pose.root - sally.skeleton.offsets[0]
    knee, hip = places[roles["left_lower_leg"]], places[roles["left_upper_leg"]]
    assert (abs(knee[1] - hip[1]) < 0.1) == (body == "seated")


def test_legs_that_come_later_are_followed(walk, sally):
    data = sent(walk)[:120]
    stage = LiveStage("vmc", sally)
    played(stage, [(when, bones(one, lambda name: not is_leg(name)), "suit") for when, one in data[:40]])
    assert stage.actors[0].performer.legs is not None
    played(stage, [(when, one, "suit") for when, one in data[40:]])
    assert stage.actors[0].performer.legs is None


def test_root_modes(walk, sally):
    still = LiveStage("vmc", sally, settings=ActorSettings(in_place=True))
    shown = played(still, [(when, data, "suit") for when, data in sent(walk)[:90]])
    roots = np.array([pose.pose.root for pose in shown])
    assert np.ptp(roots[:, [0, 2]], axis=0).max() < 0.1
    with pytest.raises(MotionError, match="body"):
        ActorSettings(body="half")
    with pytest.raises(MotionError, match="latency"):
        ActorSettings(latency=-1.0)


@pytest.mark.parametrize("metres", [0.5, 500.0])
def test_a_glitch_of_one_frame_is_not_shown(walk, sally, metres):
    motion, character = walk
    glitches = np.array(motion.root)
    glitches[30:90:20, 0] += metres
    broken = Motion(motion.skeleton, glitches, motion.rotations, FPS)
    clean = played(LiveStage("vmc", sally), [(when, data, "suit") for when, data in sent(walk)[:90]])
    stage = LiveStage("vmc", sally)
    data = live_made.encoded("vmc", broken[:90], character, 50.0)
    shown = played(stage, [(n / FPS, one, "suit") for n, one in enumerate(data)])
    assert np.abs(shown[-1].pose.root - clean[-1].pose.root).max() < 0.02
    assert np.ptp([pose.pose.root[0] for pose in shown]) < 0.3
    assert stage.actors[0].outliers == 3


def test_latency_is_within_its_budget(walk, sally):
    events = list(Faults(jitter=0.02).apply(sent(walk)))
    for budget in (0.0, 0.04, 0.1):
        stage = LiveStage("vmc", sally, settings=ActorSettings(latency=budget))
        played(stage, [(when, data, "suit") for when, data in events])
        assert stage.actors[0].delay <= budget
        assert any("more than --latency" in one for one in problems(stage)) == (budget == 0.04)


# clocks


def made(stamps, arrivals):
    """Return the clock of a sender, and when each of its poses was made."""
    clock = SenderClock()
    return clock, np.array([clock.capture(stamp, now) for stamp, now in zip(stamps, arrivals, strict=True)])


@pytest.mark.parametrize("stamps", ["precise", "coarse", "none"])
def test_network_jitter_is_removed(stamps):
    sent_at = np.arange(600) / 60.0
    arrivals = np.maximum.accumulate(1000.02 + sent_at + np.random.default_rng(0).exponential(0.01, 600))
    given = {"precise": sent_at, "coarse": np.floor(64.0 * sent_at) / 64.0, "none": [None] * 600}[stamps]
    clock, found = made(given, arrivals)
    assert np.abs(np.diff(found[200:]) - 1.0 / 60.0).max() < 0.002
    assert clock.rate == pytest.approx(60.0, rel=0.01 if stamps == "precise" else 0.02)


@pytest.mark.parametrize("seed", range(4))
def test_precise_stamps_are_used_beside_late_and_lost_poses(seed):
    """Of poses that arrive evenly, every twentieth is lost, and the one before it is late."""
    sent_at = np.arange(600) / 60.0
    arrivals = sent_at + np.abs(np.random.default_rng(seed).normal(scale=0.002, size=600))
    arrivals[18::20] += 0.027
    kept = np.arange(600) % 20 != 19
    clock = SenderClock()
    for stamp, now in zip(sent_at[kept], np.maximum.accumulate(arrivals[kept]), strict=True):
        clock.capture(stamp, now)
        assert clock.trusts_stamps
    assert clock.jumps == 0


SENT = np.arange(300) / 60.0
STAMPS = {
    "none": [None] * 300,
    "constant": np.zeros(300),
    "not a number": np.full(300, np.nan),
    "Unix time in 32 bits": np.float32(1.7e9 + SENT).astype(float),
    "three days in 32 bits": np.float32(259_200.0 + SENT).astype(float),
    "ticks": np.floor(64.0 * SENT) / 64.0,
    "backwards": 1000.0 - SENT,
    "jump of an hour": SENT + 3600.0 * (SENT > 2.0),
    "jump back": SENT - 0.3 * (SENT > 2.0),
    "milliseconds": 1000.0 * SENT,
}


@pytest.mark.parametrize("name", STAMPS)
def test_stamps_of_any_kind_give_even_times(name):
    stamps = [None if stamp is None else float(stamp) for stamp in STAMPS[name]]
    clock, found = made(stamps, 50.0 + SENT)
    assert np.abs(found[60:] - 50.0 - SENT[60:]).max() < 0.016
    assert np.abs(np.diff(found[60:]) - 1.0 / 60.0).max() < 0.002
    assert np.diff(found).min() >= 0.0
    assert clock.trusts_stamps == name.startswith("jump")


def test_a_stall_does_not_change_the_rate():
    arrivals = np.where((SENT > 2.0) & (SENT < 3.5), 3.5, SENT) + 7.0
    clock, found = made(SENT, arrivals)
    assert clock.rate == pytest.approx(60.0, rel=0.01)
    assert np.abs(found - 7.0 - SENT).max() < 0.01


def test_a_latency_that_increases_is_followed():
    clock, found = made(SENT, SENT + 0.4 * (SENT > 2.0))
    assert np.abs(found[SENT > 2.4] - 0.4 - SENT[SENT > 2.4]).max() < 0.01
    assert clock.jumps == 1


# access control


def test_only_loopback_is_received_by_default():
    place = wire.endpoint("vmc:39539")
    assert place == wire.Endpoint("vmc", "127.0.0.1", 39539)
    assert wire.endpoint("xsens") == wire.Endpoint("xsens", "127.0.0.1", 9763)
    assert wire.endpoint("walk.bvh") is None
    with pytest.raises(FormatError, match="--listen"):
        wire.listen_at(wire.Endpoint("vmc", "0.0.0.0", 1), None, [])
    with pytest.raises(FormatError, match="--allow"):
        wire.listen_at(wire.Endpoint("vmc", "127.0.0.1", 1), "0.0.0.0", [])
    with pytest.raises(FormatError, match="address"):
        wire.networks(["nonsense"])
    with pytest.raises(FormatError, match="PORT"):
        wire.endpoint("vmc:99999999")
    with pytest.raises(FormatError, match="can only be received"):
        wire.endpoint("xsens:9763", sending=True)


def test_senders_that_are_not_allowed_are_ignored():
    inlet = wire.Inlet(wire.Endpoint("vmc", "127.0.0.1", 0), wire.networks(["10.1.2.0/24"]))
    try:
        assert inlet._may_send("127.0.0.1")
        assert inlet._may_send("10.1.2.77")
        assert not inlet._may_send("10.1.3.1")
        assert not inlet._may_send("192.168.0.1")
    finally:
        inlet.close()


def test_a_port_in_use_raises():
    first = wire.Inlet(wire.Endpoint("vmc", "127.0.0.1", 0))
    try:
        with pytest.raises(FormatError, match="cannot listen"):
            wire.Inlet(wire.Endpoint("vmc", "127.0.0.1", first.port))
    finally:
        first.close()


@pytest.mark.skipif(wire.STAMPS is None, reason="the system does not note arrivals")
def test_arrivals_count_from_when_they_arrived_and_not_from_when_they_are_read():
    inlet = wire.Inlet(wire.Endpoint("vmc", "127.0.0.1", 0))
    outlet = wire.Outlet(wire.Endpoint("vmc", "127.0.0.1", inlet.port))
    try:
        # the kernel begins to note arrivals some time after it is asked to
        outlet.send(b"early")
        time.sleep(0.2)
        inlet.drain()
        begun = time.perf_counter()
        outlet.send(b"one")
        sent_by = time.perf_counter()
        time.sleep(0.05)
        (arrival,) = inlet.drain()
    finally:
        inlet.close()
        outlet.close()
    assert begun - 0.005 < arrival.when < sent_by + 0.005


def test_a_receiver_that_was_stopped_leaves_poses_out_and_eases(walk, sally):
    data = [(when, one, "a") for when, one in sent(walk)[:240]]
    stage, free = LiveStage("vmc", sally), LiveStage("vmc", sally)
    wanted = {round(shown.time, 6): shown for shown in played(free, data)}
    shown = played(stage, data[:120])
    for when, one, sender in data[120:180]:
        stage.feed(one, sender, when, late=0.4)
    left_out = [pose for pose in stage.poses(data[179][0]) if data[120][0] + 0.1 < pose.time < data[170][0]]
    shown += played(stage, data[180:])
    assert not left_out
    turns = np.array([pose.pose.rotations for pose in shown])
    assert np.degrees(rotation.angle(turns[1:], turns[:-1]).max()) < 40.0
    last = shown[-1]
    assert np.degrees(rotation.angle(last.pose.rotations, wanted[round(last.time, 6)].pose.rotations).max()) < 6.0


def test_what_is_performed_is_replayed_to_the_bit(walk, sally):
    motion, character = walk
    inlet = wire.Inlet(wire.Endpoint("vmc", "127.0.0.1", 0))
    outlet = wire.Outlet(wire.Endpoint("vmc", "127.0.0.1", inlet.port))
    stage, shown, file = LiveStage("vmc", sally), [], io.BytesIO()
    pending = live_made.encoded("vmc", motion[:40], character, 3.0)
    deadline = time.monotonic() + 20.0

    def stop():
        if pending:
            outlet.send(pending.pop(0))
            time.sleep(0.004)
        return len(shown) >= 30 or time.monotonic() > deadline

    try:
        latencies = perform(
            stage, inlet, lambda pose, latest: shown.append(pose), stop=stop, recorder=recording.Recorder(file)
        )
    finally:
        inlet.close()
        outlet.close()
    assert len(shown) >= 25
    assert latencies.count == sum(not pose.bridged for pose in shown)
    assert outlet.failed == 0
    again, replayed = LiveStage("vmc", sally), []
    file.seek(0)
    for moment, sender, data in recording.parse(file):
        if data:
            again.feed(data, sender, moment)
        replayed += again.poses(moment)
    assert len(replayed) == len(shown)
    for live, later in zip(shown, replayed, strict=True):
        assert live.time == later.time
        assert np.array_equal(live.pose.root, later.pose.root)
        assert np.array_equal(live.pose.rotations, later.pose.rotations)


def test_rehearsal_gives_poses(sally):
    assert rehearse(sally, encoder=PoseEncoder("vmc", sally)) >= 12


def test_recorded_take_becomes_a_clip(walk):
    motion, _ = walk
    take = TakeRecorder(motion.skeleton)
    with pytest.raises(MotionError, match="nothing came in"):
        take.motion(60.0)
    for frame in range(0, 60, 2):
        take.add(frame / FPS, motion.root[frame], motion.rotations[frame])
    take.add(58 / FPS, motion.root[58], motion.rotations[58])
    found = take.motion(FPS)
    assert len(found) == 59
    assert np.abs(found.root[::2] - motion.root[0:59:2]).max() < 1e-6
    assert rotation.angle(found.rotations, motion.rotations[:59]).max() < 0.05
