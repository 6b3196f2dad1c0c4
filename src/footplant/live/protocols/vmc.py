"""Virtual Motion Capture protocol (VMC 3.1, OSC over UDP), in and out.

A sender sends the root of its model and local transforms of Unity's human bones, left-handed, y up, in metres. A pose
has no number and spans several datagrams; it is complete when every bone that usually arrives has arrived, when the
sender's time changes, when a bone arrives again, or after a timeout. Bones that did not arrive are marked as absent:
the filter bridges them. Expressions (blend shapes) are those of the last `Blend/Apply`.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.bones import BONES, UNITY
from footplant.live.protocols import osc
from footplant.live.protocols.sample import FARTHEST, UNIT, BonePlan, PoseSample, checked

PORT = 39539
"""Port of receivers; relays use 39540."""
TIMEOUT = 0.008
"""Seconds after which an incomplete pose is used as it is: senders write the datagrams of a pose back to back."""
EXPECTED_WITHIN = 30
"""Poses within which a bone must have arrived before to be waited for."""
ECHO = 0.004
"""Seconds within which an identical datagram is a network duplicate and not another pose."""
LATE = 1.0
"""Seconds by which a sender's time may step back: a datagram was overtaken. Beyond that its clock was reset."""
MOST_LATE = 3
"""Datagrams overtaken in a row until the clock is believed to have been set back, or to run backwards."""
HEADED = 5
"""Poses in a row that began with a time until every pose of a sender is taken to."""
TOGETHER = 0.003
"""Seconds within which the datagrams of such a pose arrive: later ones may be of another pose, and are dropped."""
STATIC = 3
"""Poses in a row with the same bytes in a datagram after which these are bones that do not move and not an echo."""
TRACKED = ("/VMC/Ext/Tra/Pos", "/VMC/Ext/Con/Pos", "/VMC/Ext/Hmd/Pos")
"""Addresses of tracked objects: trackers, controllers and headsets."""
MOST_TRACKERS = 32
"""Trackers of one sender that are kept."""
MOST_EXPRESSIONS = 256
"""Expressions of one sender that are kept; ARKit has 52."""
_MIRROR = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
"""Position (x, y, z) and rotation (w, x, y, z) between left- and right-handed axes: z is mirrored."""
_W_FIRST = np.array([6, 3, 4, 5])
"""Indices of (w, x, y, z) in a message."""


def _plan() -> BonePlan:
    names = tuple(UNITY.values())
    order = {bone: number for number, bone in enumerate(UNITY)}
    parents = [-1 if (above := BONES[bone].parent) is None else order[above] for bone in UNITY]
    roles: dict[str, tuple[str, ...]] = {}
    for bone, name in UNITY.items():
        role = BONES[bone].role
        roles[role] = (*roles.get(role, ()), name)
    return BonePlan("vmc", names, np.array(parents), roles, True, rotation.identity(len(names)))


PLAN = _plan()
"""Unity's 55 human bones. Rotations are identity in the T-pose, which faces −z in right-handed axes."""
_LOWER = {name.lower(): bone for name, bone in PLAN.index.items()}


class _Shape:
    """The constant part of a sender's datagrams: where their numbers are."""

    def __init__(self, data: bytes, found: list[osc.Found]) -> None:
        """Locate the numbers among the messages; `is_known` tells whether the datagram is of the usual kind."""
        self.is_known = False
        words = words_of(data) if len(data) % 4 == 0 else np.zeros(0, np.uint32)
        fixed = np.ones(len(words), bool)
        slots: list[int] = []
        rows: list[int] = []
        self.expressions: dict[str, int] = {}
        """Name → where its weight is."""
        self.trackers: dict[str, int] = {}
        """Name → where its numbers are."""
        self.applies = False
        self.time_at: int | None = None
        self.root_at: int | None = None
        self.time_first = True
        for address, tags, start, end in found:
            if address in ("/VMC/Ext/Bone/Pos", "/VMC/Ext/Root/Pos") and tags.startswith("sfffffff"):
                name, place = _name_at(data, start, end)
                if name is None or tags.strip("sf") or place + 4 * (len(tags) - 1) != end:
                    return
                fixed[place // 4 : end // 4] = False
                if address == "/VMC/Ext/Root/Pos":
                    self.root_at = place // 4
                elif (bone := _LOWER.get(name.lower())) is not None and bone not in slots:
                    slots.append(bone)
                    rows.append(place // 4)
                else:
                    return
            elif address == "/VMC/Ext/T" and tags == "f" and end == start + 4 and self.time_at is None:
                fixed[start // 4] = False
                self.time_at = start // 4
                self.time_first = not slots
            elif address == "/VMC/Ext/Blend/Val" and tags == "sf" and end - start >= 8:
                name, place = _name_at(data, start, end)
                if name is None or place + 4 != end:
                    return
                fixed[place // 4] = False
                self.expressions[name] = place // 4
            elif address in TRACKED and tags.startswith("sfffffff"):
                name, place = _name_at(data, start, end)
                if name is None or tags.strip("sf") or place + 4 * (len(tags) - 1) != end:
                    return
                fixed[place // 4 : end // 4] = False
                self.trackers[name] = place // 4
            elif address == "/VMC/Ext/Blend/Apply":
                self.applies = True
            elif address in _MOTION:
                return
        self.is_known = bool(slots or self.expressions or self.trackers)
        self.slots = np.array(slots, np.int64)
        self.rows = np.array(rows, np.int64)
        self.echoes = 0
        """Poses in a row in which it had the bytes of the pose before."""
        self.weights_at = np.array(list(self.expressions.values()), np.int64)
        self.fixed = np.flatnonzero(fixed)
        """Where the words are that are the same in every pose."""
        self.words = words[self.fixed]
        """These words."""


def words_of(data: bytes | NDArray) -> NDArray:
    """Return the bytes of a datagram, a multiple of four, as native words, or such words as those of a datagram."""
    words = np.frombuffer(data, np.uint32) if isinstance(data, bytes) else data
    return words.byteswap() if sys.byteorder == "little" else words


def _name_at(data: bytes, start: int, end: int) -> tuple[str | None, int]:
    """Return the text at the start of a message's arguments, and where the numbers after it start."""
    stop = data.find(b"\x00", start, end)
    if stop < 0:
        return None, end
    return data[start:stop].decode("utf-8", "replace"), stop + 4 - (stop - start) % 4


_NO_WORDS = np.zeros(0, np.uint32)
_MOTION = ("/VMC/Ext/Bone/Pos", "/VMC/Ext/Root/Pos", "/VMC/Ext/T", "/VMC/Ext/Blend/Val")
MOST_SHAPES = 32
"""Datagram shapes that are cached per sender."""


class VmcReceiver:
    """Assembles poses from the datagrams of one sender."""

    def __init__(self, actor: str = "") -> None:
        """Start without any knowledge of the sender."""
        from footplant.live import _bones as kernels

        self._fits, self._gather, self._from_unity = kernels.fits, kernels.gather, kernels.from_unity
        self.actor = actor
        self.ignored = 0
        """Invalid motion messages."""
        self.duplicates = 0
        self.late = 0
        """Datagrams that arrived twice, and datagrams that were overtaken by newer ones."""
        self._values = np.zeros((len(PLAN), 7))
        self._values[:, 6] = 1.0
        self._fresh = np.zeros(len(PLAN), bool)
        self._age = np.full(len(PLAN), EXPECTED_WITHIN)
        self._expected = np.zeros(len(PLAN), bool)
        """Bones that are waited for."""
        self._root: tuple[NDArray, NDArray] | None = None
        """None at the origin."""
        self._root_numbers: tuple[float, ...] = ()
        self._time: float | None = None
        self._forward = True
        self._overtaken = self._headed = 0
        self._begun: float | None = None
        self._expects = False
        self._complete = False
        """Whether all bones that are waited for have come."""
        self._doubtful = False
        """Whether the pose has an echo of the pose before in place of bones that may still come."""
        self._weights: dict[str, float] = {}
        self._expressions: dict[str, float] | None = None
        self._trackers: dict[str, NDArray] = {}
        self._recent: deque[bytes] = deque(maxlen=8)
        self._arrivals: deque[float] = deque(maxlen=8)
        """The last datagrams, and when they arrived."""
        self._shapes: dict[int, list[_Shape]] = {}

    def feed(self, data: bytes, now: float) -> list[PoseSample]:
        """Take a datagram that arrived at `now` (seconds, monotonic clock); return the poses that it completes."""
        done = self.poll(now)
        echo = math.inf
        if data in self._recent:
            echo = now - max(when for seen, when in zip(self._recent, self._arrivals) if seen == data)
        if echo < ECHO:
            self.duplicates += 1
            return done
        self._recent.append(data)
        self._arrivals.append(now)
        shapes = self._shapes.get(len(data), ())
        words = words_of(data) if shapes else _NO_WORDS
        for shape in shapes:
            fit = self._fits(words, shape.fixed, shape.words, self._fresh, shape.slots)
            if fit:
                done += self._take_known(shape, words.view(np.float32), now, echo < math.inf, fit == 2)
                break
        else:
            found = osc.scan(data)
            shape = self._learn(data, found)
            if shape is None:
                done += self._take(data, found, now)
            else:
                again = bool(self._fresh[shape.slots].any())
                done += self._take_known(shape, words_of(data).view(np.float32), now, False, again)
        if self._begun is not None and self._complete and not self._doubtful:
            done += self._flush()
        return done

    @property
    def deadline(self) -> float:
        """Seconds: when an incomplete pose is used as it is; infinity if there is none."""
        if self._begun is None:
            return math.inf
        return self._begun + (TOGETHER if self._headed >= HEADED else TIMEOUT)

    def _learn(self, data: bytes, found: list[osc.Found]) -> _Shape | None:
        """Return the shape of a datagram, and cache it, if it is a usual one."""
        shape = _Shape(data, found)
        if not shape.is_known:
            return None
        if sum(map(len, self._shapes.values())) >= MOST_SHAPES:
            self._shapes = {}
        self._shapes.setdefault(len(data), []).append(shape)
        return shape

    def _take_known(self, shape: _Shape, floats: NDArray, now: float, echo: bool, again: bool) -> list[PoseSample]:
        """Take the numbers of a datagram with a known shape, all at once.

        echo: whether it was seen before; again: whether any of its bones is in the pose that has begun.

        Where every pose begins with a time, a datagram without one belongs to the pose that has begun: if there is
        none, it comes too late, and if its bones are there already, it is newer or an echo.
        """
        done: list[PoseSample] = []
        time = None if shape.time_at is None else float(floats[shape.time_at])
        if time is not None and (self._is_late(time) or (echo and time == self._time and self._begun is None)):
            self.duplicates += echo
            self.late += not echo
            return done
        if shape.time_first:
            done += self._take_time(time, shape.time_at is not None)
        if shape.root_at is not None:
            self._take_root(tuple(floats[shape.root_at : shape.root_at + 7].tolist()))
        if len(shape.slots):
            headed = shape.time_at is not None and shape.time_first
            again = again and self._begun is not None
            if not headed and self._headed >= HEADED:
                if self._begun is None or (again and echo):
                    self.duplicates += echo
                    self.late += not echo
                    return done
                shape.echoes = shape.echoes + 1 if echo else 0
                self._doubtful = 0 < shape.echoes < STATIC
            elif again:
                done += self._flush()
            if self._begun is None:
                self._headed = self._headed + 1 if headed else 0
            whole = self._gather(floats, shape.rows, shape.slots, self._values, self._fresh, self._expected)
            self._complete = whole and self._expects
            if self._begun is None:
                self._begun = now
        for name, place in shape.trackers.items():
            self._track(name, tuple(floats[place : place + 7].tolist()), now)
        if shape.expressions:
            self._weigh(zip(shape.expressions, floats[shape.weights_at].tolist()))
        if shape.applies:
            self._apply(now)
        if not shape.time_first:
            done += self._take_time(time, True)
        return done

    def _track(self, name: object, numbers: tuple[float, ...] | None, now: float) -> None:
        """Take the pose of a tracked object; an app that sends nothing else has sent a pose without bones."""
        full = len(self._trackers) >= MOST_TRACKERS and name not in self._trackers
        if numbers is None or not isinstance(name, str) or full:
            self.ignored += 1
            return
        values = np.array([numbers])
        places, turns, sane = checked(values[:, :3] * _MIRROR[:3], values[:, _W_FIRST] * _MIRROR[3:])
        if sane[0]:
            self._trackers[name] = np.concatenate([places[0], turns[0]])
            if self._begun is None:
                self._begun = now
        else:
            self.ignored += 1

    def _weigh(self, weights: Iterable[tuple[str, float]]) -> None:
        """Take weights of expressions, which count when they are applied."""
        for name, weight in weights:
            if not math.isfinite(weight) or (len(self._weights) >= MOST_EXPRESSIONS and name not in self._weights):
                self.ignored += 1
            else:
                self._weights[name] = weight

    def _apply(self, now: float) -> None:
        """Let the weights count; an app that sends nothing else has sent a pose without bones."""
        if self._weights:
            self._expressions = dict(self._weights)
            if self._begun is None:
                self._begun = now

    def _take(self, data: bytes, found: list[osc.Found], now: float) -> list[PoseSample]:
        """Take the messages of a datagram, one by one."""
        messages = osc.decode(data, found)
        done: list[PoseSample] = []
        if self._is_late(*[_seconds(arguments) for address, arguments in messages if address == "/VMC/Ext/T"]):
            self.late += 1
            return done
        for address, arguments in messages:
            if address == "/VMC/Ext/Bone/Pos":
                bone = _LOWER.get(arguments[0].lower()) if arguments and isinstance(arguments[0], str) else None
                numbers = _seven(arguments)
                if bone is None or numbers is None:
                    self.ignored += 1
                    continue
                if self._fresh[bone]:
                    done += self._flush()
                self._values[bone] = numbers
                self._fresh[bone] = True
                self._complete = self._expects and not (self._expected > self._fresh).any()
                if self._begun is None:
                    self._begun = now
            elif address == "/VMC/Ext/T":
                done += self._take_time(_seconds(arguments), True)
            elif address == "/VMC/Ext/Root/Pos":
                self._take_root(_seven(arguments))
            elif address == "/VMC/Ext/Blend/Val":
                if len(arguments) >= 2 and isinstance(arguments[0], str) and type(arguments[1]) is float:
                    self._weigh([(arguments[0], arguments[1])])
                else:
                    self.ignored += 1
            elif address in TRACKED:
                self._track(arguments[0] if arguments else None, _seven(arguments), now)
            elif address == "/VMC/Ext/Blend/Apply":
                self._apply(now)
        return done

    def _take_time(self, time: float | None, said: bool) -> list[PoseSample]:
        if not said or time == self._time:
            return []
        if time is None or not math.isfinite(time):
            self.ignored += 1
            return []
        done = self._flush()
        self._forward = self._time is None or time > self._time
        self._time = time
        return done

    def poll(self, now: float) -> list[PoseSample]:
        """Return the pose that has waited too long for missing bones, if there is one."""
        return self._flush() if now >= self.deadline else []

    def _is_late(self, *times: float | None) -> bool:
        """Return whether datagrams with these times were overtaken, in a stream whose clock runs forward."""
        last = self._time
        if last is None or not times:
            self._overtaken = 0
            return False
        for time in times:
            if time is None or not 0 < last - time < LATE:
                self._overtaken = 0
                return False
        self._overtaken += 1
        return self._forward and self._overtaken <= MOST_LATE

    def _take_root(self, numbers: tuple[float, ...] | None) -> None:
        if numbers is None:
            self.ignored += 1
            return
        if numbers == self._root_numbers:
            return
        self._root_numbers = numbers
        values = np.array([numbers])
        places, turns, sane = checked(values[:, :3] * _MIRROR[:3], values[:, _W_FIRST] * _MIRROR[3:])
        if sane[0]:
            # most senders leave it at the origin
            still = not places.any() and turns[0, 0] == 1.0
            self._root = None if still else (places[0], turns[0])
        else:
            self.ignored += 1

    def _flush(self) -> list[PoseSample]:
        """Return the bones that arrived since the last pose as a pose."""
        if self._begun is None:
            return []
        count = len(PLAN)
        places, turns, present = np.empty((count, 3)), np.empty((count, 4)), np.empty(count, bool)
        valid, invalid = self._from_unity(
            self._values, self._fresh, self._age, FARTHEST, UNIT, EXPECTED_WITHIN, places, turns, present,
            self._expected,
        )  # fmt: skip
        self.ignored += invalid
        self._expects = self._expects or valid > 0
        self._complete = False
        if self._root is not None and present[0]:
            root_place, root_turn = self._root
            places[0] = root_place + rotation.rotate(root_turn, places[0])
            turns[0] = rotation.multiply(root_turn, turns[0])
        arrived, expressions = self._begun, self._expressions
        self._begun = self._expressions = None
        self._doubtful = False
        trackers = self._trackers or None
        self._trackers = {}
        if not valid and expressions is None and trackers is None:
            return []
        return [PoseSample(PLAN, self.actor, places, turns, present, self._time, None, arrived, expressions, trackers)]


def _seven(arguments: Sequence[osc.Argument]) -> tuple[float, ...] | None:
    """Return position and rotation after the name; further arguments are ignored."""
    numbers = arguments[1:8]
    if len(numbers) < 7 or not all(type(number) is float for number in numbers):
        return None
    return tuple(numbers)  # type: ignore[arg-type]


def _seconds(arguments: Sequence[osc.Argument]) -> float | None:
    time = arguments[0] if arguments else None
    return time if type(time) is float and math.isfinite(time) else None


class VmcSender:
    """Encodes poses as one bundle each: the bytes are laid out once, and only numbers change from pose to pose."""

    def __init__(self, names: Sequence[str]) -> None:
        """names: Unity's bone names, in the order in which `encode` gets them."""
        from footplant.live._bones import to_unity

        self._write = to_unity
        self._names = tuple(names)
        self._lay_out(())

    def _lay_out(self, expressions: tuple[str, ...]) -> None:
        """Lay out the bytes for these expressions."""
        self._expressions = expressions
        head = [osc.encode("/VMC/Ext/OK", 1), osc.encode("/VMC/Ext/T", 0.0)]
        poses = [osc.encode("/VMC/Ext/Root/Pos", "root", *[0.0] * 7)]
        poses += [osc.encode("/VMC/Ext/Bone/Pos", name, *[0.0] * 7) for name in self._names]
        weights = [osc.encode("/VMC/Ext/Blend/Val", name, 0.0) for name in expressions]
        elements = (*head, *poses, *weights, *([osc.encode("/VMC/Ext/Blend/Apply")] if weights else []))
        starts, place = [], len(osc.BUNDLE) + len(osc.IMMEDIATELY)
        for element in elements:
            place += 4 + len(element)
            starts.append(place)
        self._words = words_of(osc.bundle(elements)).copy()
        self._floats = self._words.view(np.float32)
        self._time_at = starts[1] // 4 - 1
        bones = 3 + len(self._names)
        self._rows = np.array([end // 4 - 7 for end in starts[3:bones]], np.int64)
        self._weights_at = np.array([end // 4 - 1 for end in starts[bones : bones + len(weights)]], np.int64)
        # the model stays at the origin: the hips carry its position
        self._floats[starts[2] // 4 - 1] = 1.0

    def encode(self, bones: NDArray, time: float, expressions: Mapping[str, float] | None = None) -> bytes:
        """Return one datagram. bones: (B, 7) position (m) and rotation (w, x, y, z) in the parent, right-handed."""
        if expressions is not None:
            if tuple(expressions) != self._expressions:
                self._lay_out(tuple(expressions))
            self._floats[self._weights_at] = list(expressions.values())
        self._write(bones, self._rows, self._floats)
        self._floats[self._time_at] = time
        return words_of(self._words).tobytes()
