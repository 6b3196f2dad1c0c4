"""Hostile senders over real UDP: what a receiver makes of restarts, stalls, jitter, loss, wild clocks and glitches.

`python benchmarks/live_wire.py [--cases NAME …] [--clip PATH] [--simulate]`. The senders and the OSC codec are the
benchmark's own. A clip is sent to `footplant puppet` in a process of its own, once undisturbed and once for each row;
its answers are received over UDP, too. Rows: poses lost, worst speed and acceleration over those of the undisturbed
run, and seconds until the pose is back within 5 cm of the undisturbed one after the disturbance. sender_late_ms says
how late the benchmark itself was at worst: on a busy machine that is jitter which the row does not ask for.
`--simulate` feeds the same datagrams at the same times to the engine without sockets: exact and fast.
`--lag` measures lag by cross-correlation, and peaks of speed and acceleration, with and without the filter, on a
character of the performer's own shape.
"""

from __future__ import annotations

import argparse
import json
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

import footplant
from footplant import rotation
from footplant.humanoid.bones import BONES, UNITY
from footplant.live.avatar import Avatar

HERE = "127.0.0.1"
RATE = 60.0
SECONDS = 6.5
"""Length of a row; disturbances start at 3 s."""
AT = 3.0
CLOSE = 0.05
"""Metres: within this of the undisturbed run a pose has recovered."""
SETTLED = 1.0
"""Seconds at the start that are not measured."""
PARENTS = {UNITY[name]: None if bone.parent is None else UNITY[bone.parent] for name, bone in BONES.items()}
LEGS = ("Leg", "Foot", "Toes")
HANDS = ("Hand", "Thumb", "Index", "Middle", "Ring", "Little", "Head", "Neck", "Eye")

Event = tuple[float, bytes, int]
"""Seconds at which it is sent, datagram, and the number of the sender's socket."""


# own OSC: no code of the project


def _text(value: str) -> bytes:
    data = value.encode() + b"\0"
    return data + b"\0" * (-len(data) % 4)


def message(address: str, *arguments: object) -> bytes:
    """One OSC message of texts, ints and floats."""
    tags, data = ",", b""
    for value in arguments:
        if isinstance(value, str):
            tags, data = tags + "s", data + _text(value)
        elif isinstance(value, int):
            tags, data = tags + "i", data + struct.pack(">i", value)
        else:
            tags, data = tags + "f", data + struct.pack(">f", value)
    return _text(address) + _text(tags) + data


def bundle(messages: list[bytes]) -> bytes:
    """One OSC bundle."""
    return b"#bundle\0" + struct.pack(">Q", 1) + b"".join(struct.pack(">i", len(m)) + m for m in messages)


def messages_of(data: bytes) -> Iterator[tuple[str, list]]:
    """The messages of a datagram."""
    if data[:8] == b"#bundle\0":
        place = 16
        while place + 4 <= len(data):
            size = struct.unpack_from(">i", data, place)[0]
            yield from messages_of(data[place + 4 : place + 4 + size])
            place += 4 + size
        return
    texts, place = [], 0
    for _ in range(2):
        end = data.index(0, place)
        texts.append(data[place:end].decode())
        place = (end // 4 + 1) * 4
    arguments: list = []
    for tag in texts[1][1:]:
        if tag == "s":
            end = data.index(0, place)
            arguments.append(data[place:end].decode())
            place = (end // 4 + 1) * 4
        else:
            arguments.append(struct.unpack_from(">f" if tag == "f" else ">i", data, place)[0])
            place += 4
    yield texts[0], arguments


def datagrams(names: list[str], row: NDArray, stamp: float | None, split: int = 13, number: int = 0) -> list[bytes]:
    """A pose as VMC senders write it: 13 bones in a bundle, the number of the pose as an expression."""
    head = [message("/VMC/Ext/OK", 1), message("/VMC/Ext/Root/Pos", "root", *[0.0] * 6, 1.0)]
    if stamp is not None:
        head.insert(1, message("/VMC/Ext/T", float(stamp)))
    head += [message("/VMC/Ext/Blend/Val", "number", float(number)), message("/VMC/Ext/Blend/Apply")]
    bones = [
        message("/VMC/Ext/Bone/Pos", name, x, y, -z, -qx, -qy, qz, qw)
        for name, (x, y, z, qw, qx, qy, qz) in zip(names, row.tolist())
    ]
    if not split:
        return [bundle(head + bones)]
    return [bundle(head + bones[:split])] + [
        bundle(bones[start : start + split]) for start in range(split, len(bones), split)
    ]


@dataclass
class Answers:
    """Poses that came back."""

    when: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    rows: list[NDArray] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, data: bytes, when: float) -> None:
        """Take a datagram that arrived."""
        names, row, stamp, number = [], [], when, float("nan")
        for address, arguments in messages_of(data):
            if address == "/VMC/Ext/T":
                stamp = arguments[0]
            elif address == "/VMC/Ext/Blend/Val" and arguments[0] == "number":
                number = arguments[1]
            elif address == "/VMC/Ext/Bone/Pos":
                names.append(arguments[0])
                x, y, z, qx, qy, qz, qw = arguments[1:8]
                row.append((x, y, -z, qw, -qx, -qy, qz))
        self.names = names
        self.when.append(when)
        self.stamps.append(stamp)
        self.numbers.append(number)
        self.rows.append(np.array(row))


def world(names: list[str], rows: NDArray) -> NDArray:
    """World positions (F, B, 3) of bones from local transforms (F, B, 7)."""
    index = {name: number for number, name in enumerate(names)}
    places, turns = rows[..., :3].copy(), rows[..., 3:].copy()
    for number in sorted(range(len(names)), key=lambda n: _depth(names[n])):
        above = PARENTS[names[number]]
        while above is not None and above not in index:
            above = PARENTS[above]
        if above is not None:
            p = index[above]
            places[:, number] = places[:, p] + rotation.rotate(turns[:, p], places[:, number])
            turns[:, number] = rotation.multiply(turns[:, p], turns[:, number])
    return places


def _depth(name: str) -> int:
    above = PARENTS[name]
    return 0 if above is None else 1 + _depth(above)


@dataclass(frozen=True)
class Performance:
    """A clip as a VMC sender sees it."""

    names: list[str]
    rows: NDArray
    """(F, B, 7) local transforms at 120 Hz."""

    def at(self, seconds: float) -> NDArray:
        """The pose at a time; the clip runs to and fro with gentle turning points."""
        return self.rows[self.frame(seconds)]

    def frame(self, seconds: float) -> int:
        """The frame of the clip that is shown at a time."""
        last = len(self.rows) - 1
        place = (seconds * 120.0) % (2.0 * last)
        return round(min(place, 2.0 * last - place))


@lru_cache
def performance(name: str, most: float = 1e9) -> Performance:
    """A clip of the samples or of a file."""
    clip = footplant.load(name)
    motion = clip.motion.resample(120.0)
    motion = motion[: min(len(motion), int(most * 120.0))]
    avatar = Avatar(clip.character)
    rows = np.stack([avatar.pose(motion.root[f], motion.rotations[f]).copy() for f in range(len(motion))])
    return Performance(list(avatar.names), rows)


# rows


Stamp = Callable[[float, int], float | None]
Change = Callable[[int, float, NDArray], tuple[NDArray, slice | list[int]]]


@dataclass(frozen=True)
class Row:
    """One hostile condition: how poses are sent, and when it begins and ends."""

    events: Callable[[Performance], list[Event]]
    begins: float = AT
    ends: float | None = None
    """The disturbance: recovery is measured from its end; None: it does not end."""
    options: tuple[str, ...] = ()
    seconds: float = SECONDS
    hz: float = RATE
    """Rate of the undisturbed run that it is compared with."""


def stream(
    clip: Performance, *, hz: float = RATE, seconds: float = SECONDS, start: float = 0.0, stamp: Stamp | None = None,
    change: Change | None = None, split: int = 13, sender: int | Callable[[float, int], int] = 0,
) -> list[Event]:  # fmt: skip
    """The datagrams of a well-behaved sender, in time."""
    found: list[Event] = []
    for number in range(int(start * hz), int(seconds * hz)):
        t = number / hz
        row, names = clip.at(t), clip.names
        if change is not None:
            row, kept = change(number, t, row)
            row = row[kept]
            names = [names[k] for k in kept] if isinstance(kept, list) else names
        stamped = t if stamp is None else stamp(t, number)
        who = sender if isinstance(sender, int) else sender(t, number)
        found += [(t, data, who) for data in datagrams(names, row, stamped, split, number)]
    return found


ALL = slice(None)


def jitter(milliseconds: float, stamp: Stamp | None = None, sender: int | Callable[[float, int], int] = 0) -> Row:
    """In-order jitter: exponential delays, nobody overtakes."""

    def make(clip: Performance) -> list[Event]:
        chance, last, found = np.random.default_rng(1), 0.0, []
        for t, data, who in stream(clip, split=0, stamp=stamp, sender=sender):
            last = max(t + chance.exponential(1e-3 * milliseconds), last)
            found.append((last, data, who))
        return found

    return Row(make)


def stall(length: float) -> Row:
    """Nothing, then everything at once."""
    end = AT + length
    return Row(
        lambda clip: [
            (end if AT <= t < end else t, data, who) for t, data, who in stream(clip, seconds=SECONDS + length)
        ],
        ends=end,
        seconds=SECONDS + length,
    )  # fmt: skip


def dropped(share: float, seed: int = 2) -> Row:
    """Random loss of datagrams."""

    def make(clip: Performance) -> list[Event]:
        chance = np.random.default_rng(seed)
        return [event for event in stream(clip) if chance.random() >= share or event[0] < 0.5]

    return Row(make)


def reordered(clip: Performance) -> list[Event]:
    """A tenth of the datagrams is overtaken."""
    chance = np.random.default_rng(3)
    late = [(t + (chance.uniform(0.01, 0.06) if chance.random() < 0.1 else 0.0), d, w) for t, d, w in stream(clip)]
    return sorted(late, key=lambda event: event[0])


def doubled(clip: Performance) -> list[Event]:
    """A fifth of the datagrams arrives twice."""
    chance = np.random.default_rng(4)
    again = [(t + chance.uniform(0.0, 0.03), d, w) for t, d, w in stream(clip) if chance.random() < 0.2]
    return sorted(stream(clip) + again, key=lambda event: event[0])


def stamped(stamp: Stamp, begins: float = AT) -> Row:
    """Another clock of the sender."""
    return Row(lambda clip: stream(clip, stamp=stamp), begins=begins, ends=begins)


def glitch(metres: float) -> Row:
    """One frame a second in which the hips are elsewhere and an arm is turned."""

    def change(number: int, t: float, row: NDArray) -> tuple[NDArray, slice]:
        if number % 60 == 30 and number > 60:
            row = row.copy()
            row[0, 0] += metres
            row[8:10, 3:] = 0.5
        return row, ALL

    return Row(lambda clip: stream(clip, change=change))


def restart(pause: float) -> Row:
    """The sender ends, and starts again with another port and a clock from 0."""
    again = AT + pause

    def make(clip: Performance) -> list[Event]:
        seconds = SECONDS + pause
        return stream(clip, seconds=AT) + stream(
            clip, start=again, seconds=seconds, sender=1, stamp=lambda t, n: t - again
        )

    return Row(make, ends=again, seconds=SECONDS + pause)


def only(names: list[str], parts: tuple[str, ...], wanted: bool) -> list[int]:
    """The bones whose names have, or have not, one of some parts."""
    return [k for k, name in enumerate(names) if any(part in name for part in parts) is wanted]


def two_senders(clip: Performance) -> list[Event]:
    """The body from one app, head and hands from another with another clock and phase."""
    body, hands = only(clip.names, HANDS, False), only(clip.names, HANDS, True)
    first = stream(clip, change=lambda n, t, row: (row, body))
    second = stream(clip, change=lambda n, t, row: (row, hands), sender=1, stamp=lambda t, n: 500.0 + t, split=0)
    return sorted(first + [(t + 0.005, d, w) for t, d, w in second], key=lambda event: event[0])


def rivals(clip: Performance) -> list[Event]:
    """Two apps send the whole body of different performances."""
    other = Performance(clip.names, np.roll(clip.rows, 60, axis=0))
    second = [(t + 0.004, d, w) for t, d, w in stream(other, sender=1, start=AT)]
    return sorted(stream(clip) + second, key=lambda event: event[0])


def new_performer(clip: Performance) -> list[Event]:
    """A smaller performer takes the suit over."""

    def smaller(number: int, t: float, row: NDArray) -> tuple[NDArray, slice]:
        row = row.copy()
        row[:, :3] *= 0.8
        return row, ALL

    return stream(clip, seconds=AT) + stream(clip, start=AT + 0.5, seconds=SECONDS + 2.0, change=smaller, sender=1)


def rates(clip: Performance) -> list[Event]:
    """30 Hz, then 120 Hz."""
    return stream(clip, hz=30.0, seconds=AT) + stream(clip, hz=120.0, start=AT)


ROWS: dict[str, Row] = {
    "clean": Row(stream),
    "restart 1 s": restart(1.0),
    "restart 0.2 s": restart(0.2),
    "stall 0.7 s": stall(0.7),
    "stall 1 s": stall(1.0),
    "stall 2 s": stall(2.0),
    "stall 5 s": stall(5.0),
    "jitter 5 ms": jitter(5.0),
    "jitter 10 ms": jitter(10.0),
    "jitter 20 ms": jitter(20.0),
    "jitter 5 ms, T none": jitter(5.0, lambda t, n: None),
    "jitter 10 ms, T none": jitter(10.0, lambda t, n: None),
    "jitter 10 ms, T coarse": jitter(10.0, lambda t, n: int(64.0 * t) / 64.0),
    "reordered 10 %": Row(reordered),
    "duplicates 20 %": Row(doubled),
    "loss 1 %": dropped(0.01),
    "loss 5 %": dropped(0.05),
    "loss 10 %": dropped(0.10),
    "loss 20 %": dropped(0.20),
    "loss 30 %": dropped(0.30),
    "T constant": stamped(lambda t, n: 0.0),
    "T none": stamped(lambda t, n: None),
    "T coarse (Unix time)": stamped(lambda t, n: 1.7e9 + t),
    "T coarse (3 days)": stamped(lambda t, n: 259_200.0 + t),
    "T coarse (ticks of 1/64 s)": stamped(lambda t, n: int(64.0 * t) / 64.0),
    "T huge (12 days)": stamped(lambda t, n: 1_036_800.0 + t),
    "T backwards": stamped(lambda t, n: 1000.0 - t),
    "T jumps +0.3 s": stamped(lambda t, n: 50.0 + t + 0.3 * (t > AT)),
    "T jumps -0.3 s": stamped(lambda t, n: 50.0 + t - 0.3 * (t > AT)),
    "T jumps +1000 s": stamped(lambda t, n: 50.0 + t + 1000.0 * (t > AT)),
    "T jumps -1000 s": stamped(lambda t, n: 1050.0 + t - 1000.0 * (t > AT)),
    "glitch 0.5 m": glitch(0.5),
    "glitch 500 m": glitch(500.0),
    "two senders": Row(two_senders),
    "two rivals": Row(rivals),
    "new performer": Row(new_performer, seconds=SECONDS + 2.0),
    "30 to 120 Hz": Row(rates, ends=AT, hz=120.0),
    "a port for each pose": Row(lambda clip: stream(clip, sender=lambda t, n: n)),
    "a port for each pose, jitter 5 ms": jitter(5.0, sender=lambda t, n: n),
}


# the receiver under test


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((HERE, 0))
        return sock.getsockname()[1]


def over_sockets(events: list[Event], seconds: float, target: str, options: tuple[str, ...]) -> tuple[Answers, dict]:
    """Send events to a receiver of its own process; what came back, and what it says at the end."""
    port = free_port()
    answers, sockets = Answers(), {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as back:
        back.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        back.bind((HERE, 0))
        back.setblocking(False)
        command = [sys.executable, "-m", "footplant", "puppet", "--in", f"vmc:{port}", "--to", target, "--json",
                   "--out", f"vmc:{HERE}:{back.getsockname()[1]}", *options]  # fmt: skip
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            while True:
                line = process.stderr.readline()
                if "listening" in line:
                    break
                if not line:
                    raise SystemExit(f"the receiver ended: {process.communicate()[0]}")
            begun, late = time.perf_counter() + 0.2, 0.0
            for when, data, who in [*events, (seconds + 0.2, b"", -1)]:
                while True:
                    left = begun + when - time.perf_counter()
                    if select.select([back], [], [], max(left, 0.0))[0]:
                        answers.add(back.recv(65_536), time.perf_counter() - begun)
                    elif left <= 0:
                        break
                if data:
                    late = max(late, -left)
                    if who not in sockets:
                        # what a closed program leaves is a closed port
                        if len(sockets) > 32:
                            sockets.pop(next(iter(sockets))).close()
                        sockets[who] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    sockets[who].sendto(data, (HERE, port))
            process.send_signal(signal.SIGINT)
            told = json.loads(process.communicate(timeout=30)[0]) | {"sender_late_ms": round(1e3 * late)}
        finally:
            process.kill()
            process.wait()
            for sock in sockets.values():
                sock.close()
    return answers, told


# what is measured


@dataclass(frozen=True)
class Track:
    """World positions of the answers, at a constant rate."""

    start: float
    places: NDArray
    """(F, B, 3) at `RATE`."""
    poses: int

    def index(self, seconds: float) -> int:
        """The frame at a time."""
        return int(np.clip(round((seconds - self.start) * RATE), 0, len(self.places) - 1))


def track(answers: Answers, until: float) -> Track | None:
    """The answers as positions on a grid of `RATE`, from `SETTLED` on, by the time stamps of the answers.

    Stamps are shifted to the wall clock by their smallest latency: what the system's scheduler adds is not measured.
    """
    if len(answers.rows) < 10:
        return None
    when, stamps = np.array(answers.when), np.array(answers.stamps)
    steps = np.diff(stamps)
    if (steps > 0).mean() > 0.99 and (steps < 0.5).all():
        stamps = stamps + np.percentile(when - stamps, 5)
    else:
        stamps = when
    order = np.argsort(stamps, kind="stable")
    stamps, places = stamps[order], world(answers.names, np.stack(answers.rows)[order])
    keep = np.concatenate([np.diff(stamps) > 2e-3, [True]])
    stamps, places = stamps[keep], places[keep]
    grid = np.arange(max(SETTLED, stamps[0]), min(until, stamps[-1]), 1.0 / RATE)
    if len(grid) < 10:
        return None
    # cubic, so that poses at 30 Hz have the acceleration of their motion and not that of a polyline
    on_grid = CubicSpline(stamps, places)(grid)
    return Track(float(grid[0]), on_grid, int(((stamps >= SETTLED) & (stamps < until)).sum()))


def peaks(found: Track) -> tuple[float, float]:
    """Largest speed (m/s) and acceleration (m/s²) of any bone."""
    speed = np.linalg.norm(np.diff(found.places, axis=0), axis=-1) * RATE
    rate = np.linalg.norm(np.diff(found.places, 2, axis=0), axis=-1) * RATE**2
    return float(speed.max()), float(rate.max())


def recovery(found: Track, clean: Track, ends: float) -> float:
    """Seconds after the end of a disturbance from which on all bones are within `CLOSE` of the undisturbed run.

    Each pose is compared with those of the undisturbed run within 80 ms, because the delay may differ.
    """
    first, finer = found.index(ends), 8
    frames = np.arange(len(clean.places))
    fine = CubicSpline(frames, clean.places)(np.arange(0, len(frames) - 1, 1.0 / finer))
    off = []
    for frame in range(first, len(found.places)):
        at = round((found.start + frame / RATE - clean.start) * RATE * finer)
        near = fine[max(at - 5 * finer, 0) : at + 5 * finer + 1]
        off.append(np.linalg.norm(near - found.places[frame], axis=-1).max(axis=1).min())
    bad = np.flatnonzero(np.array(off) > CLOSE)
    return 0.0 if not len(bad) else (bad[-1] + 1) / RATE


def run_row(name: str, clip: str, target: str, options: tuple[str, ...], simulate: bool) -> tuple[Answers, dict, Row]:
    """One row: the answers and what the receiver says."""
    row = ROWS[name]
    events = row.events(performance(clip))
    run = simulated if simulate else over_sockets
    answers, told = run(events, row.seconds, target, (*options, *row.options))
    return answers, told, row


def simulated(events: list[Event], seconds: float, target: str, options: tuple[str, ...]) -> tuple[Answers, dict]:
    """Feed events to the engine at their times, without sockets; options: --smooth, --lag and --latency only."""
    from footplant.cli.puppet import facts_of
    from footplant.live.actor import ActorSettings
    from footplant.live.stage import LiveStage, PoseEncoder

    given = {name: float(value) for name, value in zip(options[::2], options[1::2])}
    usual = ActorSettings()
    settings = ActorSettings(
        half_life=given.get("--smooth", usual.half_life), lag=given.get("--lag", usual.lag),
        latency=given.get("--latency", usual.latency),
    )  # fmt: skip
    character = footplant.load_character(target)
    stage, encoder, answers = LiveStage("vmc", character, settings=settings), PoseEncoder("vmc", character), Answers()
    now, waiting = 0.0, list(reversed(events))
    while now < seconds + 0.2:
        now += 1e-3
        while waiting and waiting[-1][0] <= now:
            when, data, who = waiting.pop()
            stage.feed(data, ("127.0.0.1", who), when)
        for shown in stage.poses(now):
            pose = shown.pose
            answers.add(encoder.encode(pose.root, pose.rotations, shown.time, shown.expressions), now)
    return answers, facts_of(stage, None)


def rows(
    names: list[str], clip: str, target: str, options: tuple[str, ...] = (), simulate: bool = False
) -> dict[str, float]:
    """All rows, each against the undisturbed run of the same length."""
    figures: dict[str, float] = {}
    run = simulated if simulate else over_sockets
    undisturbed: dict[float, Track] = {}
    for hz in sorted({ROWS[name].hz for name in names}):
        answers, _ = run(stream(performance(clip), hz=hz, seconds=SECONDS + 5.0), SECONDS + 5.0, target, options)
        found = track(answers, SECONDS + 5.0)
        if found is None:
            raise SystemExit("the undisturbed run gave no poses")
        undisturbed[hz] = found
        print("undisturbed, {:.0f} Hz: {:.1f} m/s, {:.0f} m/s²".format(hz, *peaks(found)), file=sys.stderr)
    print(f"{'':28} {'lost':>6} {'speed':>6} {'accel.':>6} {'recover':>8}  what the receiver says", file=sys.stderr)
    for name in names:
        answers, told, row = run_row(name, clip, target, options, simulate)
        clean = undisturbed[row.hz]
        usual = peaks(clean)
        found = track(answers, row.seconds - 0.3)
        said = {k: told.get(k) for k in ("sender_late_ms", "missed", "late", "clock_jumps", "refused", "problems")}
        said = {k: value for k, value in said.items() if value}
        if found is None:
            print(f"{name:28} {len(answers.rows)} poses only  {said}", file=sys.stderr)
            figures[f"live.{name}.poses"] = len(answers.rows)
            continue
        speed, rate = peaks(found)
        ends = row.begins if row.ends is None else row.ends
        lost = max((row.seconds - 0.3 - SETTLED - (ends - row.begins)) * RATE - found.poses, 0.0)
        back = float("nan") if row.ends is None else recovery(found, clean, ends)
        print(
            f"{name:28} {lost:6.0f} {speed / usual[0]:6.2f} {rate / usual[1]:6.2f} {back:8.2f}  {said}",
            file=sys.stderr, flush=True,
        )  # fmt: skip
        key = f"live.{name.replace(' ', '_')}"
        figures |= {f"{key}.lost": lost, f"{key}.speed": speed / usual[0], f"{key}.acceleration": rate / usual[1],
                    f"{key}.recovery": back}  # fmt: skip
    return figures


PARTS = {"hands": ("LeftHand", "RightHand"), "feet": ("LeftFoot", "RightFoot"), "hips": ("Hips",)}


def _alike(one: NDArray, two: NDArray) -> float:
    """The cosine of two series. Their product alone would prefer the shift whose window has the faster motion."""
    return float(np.dot(one, two) / max(np.linalg.norm(one) * np.linalg.norm(two), 1e-12))


FILTERS = {"filtered": (), "unfiltered": ("--smooth", "0")}
"""Name → options of the receiver."""


def lags(clip: str, filters: dict[str, tuple[str, ...]] | None = None) -> dict[str, float]:
    """Milliseconds by which hands, feet and hips are late, and their peaks over the performer's, filter on and off.

    Poses count at the times for which they were made: the thousandths of a second in which the engine is called here
    would be acceleration of their own.
    """
    shown = performance(clip)
    seconds, figures = min(SECONDS, len(shown.rows) / 120.0), {}
    times = np.arange(len(shown.rows)) / 120.0
    truth = CubicSpline(times, world(shown.names, shown.rows))
    for name, options in (filters or FILTERS).items():
        answers, _ = simulated(stream(shown, seconds=seconds), seconds, clip, options)
        stamps, places = np.array(answers.stamps), world(answers.names, np.stack(answers.rows))
        stamps += np.median(np.array(answers.when) - stamps)
        keep = np.concatenate([np.diff(stamps) > 2e-3, [True]])
        found = CubicSpline(stamps[keep], places[keep])
        grid = np.arange(0.5, seconds - 0.2, 1.0 / 240.0)
        for part, bones in PARTS.items():
            here, there = ([names.index(bone) for bone in bones] for names in (answers.names, shown.names))
            speed = found(grid, 1)[:, here].ravel()
            shifts = np.arange(-0.02, 0.15, 1e-3)
            alike = [_alike(speed, truth(grid - s, 1)[:, there].ravel()) for s in shifts]
            lag = float(shifts[int(np.argmax(alike))])
            peaks = []
            for k in (1, 2):
                # a cubic spline accelerates most at one of its knots
                ours, theirs = (grid, grid - lag) if k == 1 else (stamps[keep], times)
                ours, theirs = (at[(at >= grid[0] - late) & (at <= grid[-1] - late)]
                                for at, late in ((ours, 0.0), (theirs, lag)))  # fmt: skip
                peaks.append(float(np.linalg.norm(found(ours, k)[:, here], axis=-1).max()
                                   / np.linalg.norm(truth(theirs, k)[:, there], axis=-1).max()))  # fmt: skip
            print(f"{name:11} {part:6} {1e3 * lag:4.0f} ms late, speed {peaks[0]:.3f}, acceleration {peaks[1]:.3f}",
                  file=sys.stderr, flush=True)  # fmt: skip
            key = f"live.{name}.{part}"
            figures |= {f"{key}.lag_ms": 1e3 * lag, f"{key}.speed": peaks[0], f"{key}.acceleration": peaks[1]}
    return figures


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", nargs="+", default=list(ROWS), choices=list(ROWS), metavar="NAME")
    parser.add_argument("--clip", default="sample:punch")
    parser.add_argument("--to", default="sample:sally")
    parser.add_argument("--simulate", action="store_true", help="without sockets, exact and fast")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--options", default="", help="further options of footplant puppet, in one text")
    parser.add_argument("--lag", action="store_true", help="measure lag and peaks instead")
    arguments = parser.parse_args()
    if arguments.lag:
        figures = lags(arguments.clip)
        if arguments.json:
            print(json.dumps(figures, indent=2))
        return
    names = [name for name in arguments.cases if name != "clean"]
    figures = rows(names, arguments.clip, arguments.to, tuple(arguments.options.split()), arguments.simulate)
    if arguments.json:
        print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
