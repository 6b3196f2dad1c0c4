"""Messages that change a running crowd: who is in it, what they do, their goals, and the ground.

Senders name bodies, motions and grounds of the cast (`CrowdCast`): what the scene or the command line declares, and the
samples that ship. No message names a file. Whatever takes longer than a frame (scaling a motion to a body, making a
ground) is prepared beside the crowd; changes take effect in the order of their messages. A message that is not
understood changes nothing, and its sender is told why.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from footplant.constraints.fields import Fields, suggest
from footplant.contacts.moving_ground import MovingGround
from footplant.errors import ConstraintError, FootplantError
from footplant.live.crowd import EASE, Crowd
from footplant.live.crowd_group import CrowdState, Postures
from footplant.live.crowd_reader import FASTEST, SLOWEST, crowd_goals, crowd_ground, with_proportions
from footplant.live.crowd_scene import Act, AnyGround, CrowdActor, Goal
from footplant.live.protocols import osc
from footplant.samples import CHARACTERS, MOTIONS
from footplant.skeleton import Character
from footplant.text_files import parse_toml

MOST_ACTORS = 64
"""Actors of a crowd that messages may add to; more where its scene has more."""
MOST_GOALS = 512
"""Goals of a crowd that messages may add to, and of one actor a sixteenth of them."""
MOST_WAITING = 64
"""Messages that may wait for one before them."""
MOST_GROUND = 10.0
"""Metres above or below the origin that a ground may reach within `AROUND` of it."""
AROUND = 20.0
"""Metres about the origin that grounds are made for."""
FARTHEST = 1e4
"""Metres from the origin beyond which places are refused."""
LONGEST = 60.0
"""Seconds of an ease or a ramp, at most."""
SHORTEST, LARGEST = 0.5, 2.0
"""Factors of proportions."""
CHANGES_A_FRAME = 0.003
"""Seconds of the processor within a frame from which further changes wait for the next one: 60 goals that come at once
are there after 12 frames instead of holding up one frame by 30 ms."""
LINES_A_SECOND = 5.0
"""Lines of the log that messages may cause; as many at once."""

Sender = tuple[str, int]
Answer = Callable[[bytes, str, int], None]
"""Sends a datagram to a host and a port."""
Apply = Callable[[], tuple[osc.Argument, ...] | None]
Prepare = Callable[[], Any]


class CrowdCast:
    """The bodies, motions and grounds that messages may name."""

    def __init__(self, crowd: Crowd) -> None:
        """Take what the scene declares."""
        self._bodies = dict(crowd.scene.bodies)
        self._motions = dict(crowd.scene.motions)
        self._grounds = dict(crowd.scene.grounds)

    def body(self, name: str) -> Character:
        """Return a body."""
        if name in self._bodies:
            return self._bodies[name]
        sample = name.removeprefix("sample:")
        if not name.startswith("sample:") or sample not in CHARACTERS:
            raise _unknown("body", name, [*self._bodies, *(f"sample:{own}" for own in CHARACTERS)])
        from footplant.samples import load_character

        return self._bodies.setdefault(name, load_character(sample))

    def motion(self, name: str) -> Act:
        """Return a motion."""
        if name in self._motions:
            return self._motions[name]
        sample = name.removeprefix("sample:")
        if not name.startswith("sample:") or sample not in MOTIONS:
            raise _unknown("motion", name, [*self._motions, *(f"sample:{own}" for own in MOTIONS)])
        from footplant.live.crowd_reader import act_of
        from footplant.samples import load

        return self._motions.setdefault(name, act_of(load(sample)))

    def ground(self, text: str) -> AnyGround:
        """Return a ground by the name that it was declared with, or as `footplant terrain --ground` has it."""
        found = self._grounds.get(text)
        return _within_reach(crowd_ground(text, AROUND), text) if found is None else found

    def declare(self, name: str, character: Character, motion: Act | None = None) -> None:
        """Add a body, and a motion if there is one, that messages may name from now on."""
        # others may be looking for a name meanwhile
        self._bodies = {**self._bodies, name: character}
        if motion is not None:
            self._motions = {**self._motions, name: motion}


def _unknown(what: str, name: str, names: Sequence[str]) -> ConstraintError:
    name, known = name[:64], list(dict.fromkeys(names))
    return ConstraintError(f"no {what} {name!r} in the cast{suggest(name, known)}; there are: {', '.join(known)}")


def _within_reach(ground: AnyGround, text: str) -> AnyGround:
    """Return a ground if people could be on it."""
    line = np.linspace(-AROUND, AROUND, 81)
    places = np.stack(np.meshgrid(line, line), axis=-1)
    for seconds in (0.0, 1.0, 10.0, 60.0):
        if isinstance(ground, MovingGround):
            at, _ = ground.poses([seconds])
            heights = ground.base.height(places) + at[0, 1]
            if np.abs(at[0, ::2]).max() > 5.0 * max(seconds, 1.0):
                raise ConstraintError(f"expected a ground that travels with at most 5 m/s, got {text!r}")
        else:
            heights = (ground(seconds) if callable(ground) else ground).height(places)
        if not (np.isfinite(heights).all() and np.abs(heights).max() <= MOST_GROUND):
            raise ConstraintError(
                f"expected a ground within {MOST_GROUND:g} m of level 0 for {AROUND:g} m about the origin, got {text!r}"
            )
    return ground


class _Message(NamedTuple):
    """One message and who sent it."""

    address: str
    arguments: tuple[osc.Argument, ...]
    sender: Sender | None


class CrowdControl:
    """Applies OSC messages to a running crowd: `feed` what arrives, and `begin` every frame before `Crowd.step`.

    docs/crowd.md lists the messages. Answers are `/crowd/ok ADDRESS` or `/crowd/error ADDRESS WHY`.
    """

    def __init__(self, crowd: Crowd, *, answer: Answer | None = None, log: Callable[[str], None] | None = None) -> None:
        """answer: how senders are told; log: gets a line for each change, and for what is refused."""
        self.crowd, self.cast = crowd, CrowdCast(crowd)
        self.applied = 0
        self.refused = 0
        self._answer, self._log = answer, log
        self._lines, self._logged_at, self._unlogged = LINES_A_SECOND, 0.0, 0
        self._waiting: deque[_Message] = deque()
        self._pool = ThreadPoolExecutor(1, "crowd")
        self._job: tuple[_Message, Future, Callable[[Any], None]] | None = None
        self._most_actors = max(MOST_ACTORS, len(crowd.scene.actors))
        self._most_goals = max(MOST_GOALS, len(crowd.scene.goals))
        self._actors = {actor.name: number for number, actor in enumerate(crowd.scene.actors)}
        self._goals: dict[str, list[int]] = {}
        for number, goal in enumerate(crowd.scene.goals):
            self._goals.setdefault(goal.name or goal.kind, []).append(number)
        self.seen: tuple[CrowdState, list[Postures], int] | None = None
        """The state, the postures of all groups and the number of the last frame that was played."""
        self._handlers: dict[str, Callable[[_Arguments], Any]] = {
            "/crowd/aim": self._aim, "/crowd/priority": self._prioritise, "/crowd/schedule": self._schedule,
            "/crowd/goal": self._add_goal, "/crowd/goal/remove": self._remove_goal, "/crowd/body": self._reshape,
            "/crowd/motion": self._play, "/crowd/actor": self._add_actor, "/crowd/actor/remove": self._remove_actor,
            "/crowd/ground": self._ground, "/crowd/ask": self._ask, "/crowd/place": self._place,
            "/crowd/speed": self._pace,
        }  # fmt: skip
        self._prompt = {"/crowd/aim", "/crowd/priority", "/crowd/ask"}
        """What need not wait for others, where its goal is known."""

    def feed(self, data: bytes, sender: Sender | None = None) -> None:
        """Take a datagram."""
        messages = osc.decode(data)
        if not messages:
            self._refuse(_Message("", (), None), "not an OSC message")
        for address, arguments in messages:
            message = _Message(address, arguments, sender)
            if address in ("/crowd/ok", "/crowd/error", "/crowd/answer"):
                # another crowd's answers: two that answered each other would never end
                self.refused += 1
            elif address in self._prompt and arguments and arguments[0] in self._goals:
                self._start(message)
            elif len(self._waiting) >= MOST_WAITING:
                self._refuse(message, f"{MOST_WAITING} messages are waiting already; send them more slowly")
            else:
                self._waiting.append(message)

    def begin(self, now: float) -> None:
        """Apply what is ready; now: seconds on any clock that goes on."""
        self._lines = min(self._lines + LINES_A_SECOND * max(now - self._logged_at, 0.0), LINES_A_SECOND)
        self._logged_at = now
        begun = time.thread_time()
        while True:
            if self._job is not None:
                message, future, apply = self._job
                if not future.done():
                    return
                self._job = None
                self._finish(message, lambda future=future, apply=apply: apply(future.result()))
            elif self._waiting:
                self._start(self._waiting.popleft())
            else:
                break
            if time.thread_time() - begun >= CHANGES_A_FRAME:
                break
        if self._unlogged and self._lines >= 1.0:
            unlogged, self._unlogged = self._unlogged, 0
            self._tell(f"{unlogged} more messages were not logged")

    def saw(self, state: CrowdState, poses: list[Postures], frame: int) -> None:
        """Take note of a frame that was played, for senders that ask what became of a goal."""
        self.seen = state, poses, frame

    @property
    def busy(self) -> bool:
        """Whether messages wait or are prepared."""
        return self._job is not None or bool(self._waiting)

    @property
    def actors(self) -> Mapping[str, int]:
        """The actors that messages may name, and their numbers."""
        return self._actors

    @property
    def goals(self) -> Mapping[str, Sequence[int]]:
        """The goals that messages may name, and the numbers of each."""
        return self._goals

    def close(self) -> None:
        """End what is prepared beside the crowd."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _start(self, message: _Message) -> None:
        """Check a message, and apply it or have it prepared."""
        handler = self._handlers.get(message.address)
        if handler is None:
            known = list(self._handlers)
            self._refuse(message, f"no such message{suggest(message.address, known)}; there are: {', '.join(known)}")
            return
        try:
            made = handler(_Arguments(message.arguments))
        except Exception as error:
            self._refuse_for(message, error)
            return
        if isinstance(made, tuple):
            self._job = message, self._pool.submit(made[0]), made[1]
        else:
            self._finish(message, lambda: made(None))

    def _finish(self, message: _Message, apply: Apply) -> None:
        try:
            told = apply()
        except Exception as error:
            self._refuse_for(message, error)
            return
        if told is not None:
            self._reply(message, "/crowd/answer", str(message.arguments[0]), *told)
            return
        self.applied += 1
        self._reply(message, "/crowd/ok", message.address)
        if message.address not in self._prompt:
            self._tell(f"{message.address} {' '.join(map(str, message.arguments))}"[:200].replace("\n", "; "))

    def _refuse_for(self, message: _Message, error: Exception) -> None:
        # a running crowd goes on whatever a sender does
        self._refuse(message, str(error) if isinstance(error, FootplantError) else f"internal error: {error!r}")

    def _refuse(self, message: _Message, why: str) -> None:
        self.refused += 1
        why = " ".join(why.split())[:400]
        self._reply(message, "/crowd/error", message.address, why)
        whom = "" if message.sender is None else f" of {message.sender[0]}:{message.sender[1]}"
        self._tell(f"refused {message.address[:80]!r}{whom}: {why}")

    def _reply(self, message: _Message, address: str, *arguments: osc.Argument) -> None:
        if self._answer is not None and message.sender is not None:
            self._answer(osc.encode(address, *arguments), *message.sender)

    def _tell(self, line: str) -> None:
        if self._log is None:
            return
        if self._lines < 1.0:
            self._unlogged += 1
            return
        self._lines -= 1.0
        left_out, self._unlogged = self._unlogged, 0
        self._log(f"{line} ({left_out} before it were not logged)" if left_out else line)

    def _aim(self, arguments: _Arguments):
        goals = self._goals_of(arguments)
        target = arguments.numbers(3, "a place x y z", FARTHEST)
        ease = arguments.seconds(EASE)
        return lambda _: self.crowd.aim(goals, np.tile(target, (len(goals), 1)), ease=ease)

    def _prioritise(self, arguments: _Arguments):
        goals, priority = self._goals_of(arguments), arguments.numbers(1, "a priority", 1e6)[0]
        arguments.end()
        return lambda _: self.crowd.prioritise(goals, int(priority))

    def _schedule(self, arguments: _Arguments):
        goals = self._goals_of(arguments)
        start, stop = arguments.numbers(2, "START and STOP, seconds from now", 1e6)
        ramp = (arguments.seconds(0.3), arguments.seconds(0.3))
        if not start <= stop:
            raise ConstraintError(f"expected a start before the stop, got {start:g} and {stop:g}")
        return lambda _: self.crowd.schedule(goals, start, stop, ramp, since=self._frame)

    @property
    def _frame(self) -> int:
        return 0 if self.seen is None else self.seen[2] + 1

    def _add_goal(self, arguments: _Arguments):
        fields = arguments.table("goal")
        name = fields.text("name")
        actors = self.crowd.scene.actors
        goals = crowd_goals(fields, actors, self._actors)
        if name in self._goals:
            raise ConstraintError(f"there is a goal {name!r} already; remove it first")
        current = [g for n, g in enumerate(self.crowd.scene.goals) if any(n in own for own in self._goals.values())]
        if len(current) + len(goals) > self._most_goals:
            raise ConstraintError(f"expected at most {self._most_goals} goals, got more")
        for goal in goals:
            _check_goal(goal)
            if sum(own.actor == goal.actor for own in current) >= MOST_GOALS // 16:
                raise ConstraintError(f"expected at most {MOST_GOALS // 16} goals of {actors[goal.actor].name!r}")

        def apply(_: Any) -> None:
            begun = self._frame / self.crowd.scene.fps
            own = [replace(goal, start=goal.start + begun, stop=goal.stop + begun, clock=True) for goal in goals]
            self._goals[name] = self.crowd.add_goals(own)

        return apply

    def _remove_goal(self, arguments: _Arguments):
        name = arguments.text("the name of a goal")
        goals = self._known_goals(name)
        arguments.end()

        def apply(_: Any) -> None:
            self.crowd.remove_goals(goals)
            del self._goals[name]

        return apply

    def _reshape(self, arguments: _Arguments):
        number, name = self._actor(arguments), arguments.text("the name of a body", "")
        factors = _factors(arguments.table("proportions")) if arguments.left() else None
        actor = self.crowd.scene.actors[number]
        group, row = self.crowd.place[number]
        line = self.crowd.groups[group].lines[row]

        def prepare():
            body = self.cast.body(name) if name else actor.character
            body = replace(body if factors is None else with_proportions(body, factors), name=actor.name)
            return self.crowd.prepare(number, replace(actor, character=body), own=line.own, once=line.once)

        return prepare, lambda prepared: self.crowd.recast(number, prepared)

    def _play(self, arguments: _Arguments):
        number, name = self._actor(arguments), arguments.text("the name of a motion")
        ease, once = arguments.seconds(EASE), arguments.text('"once" or nothing', "")
        if once not in ("", "once"):
            raise ConstraintError(f'expected "once" or nothing after the seconds, got {once!r}')
        arguments.end()
        actor = self.crowd.scene.actors[number]

        def prepare():
            act = replace(self.cast.motion(name))
            return self.crowd.prepare(number, replace(actor, acts=(act,)), own=True, once=bool(once))

        return prepare, lambda prepared: self.crowd.recast(number, prepared, ease=ease)

    def _pace(self, arguments: _Arguments):
        number, speed = self._actor(arguments), arguments.numbers(1, "a factor", FASTEST)[0]
        ease = arguments.seconds(EASE)
        arguments.end()
        if speed < SLOWEST:
            raise ConstraintError(f"expected a factor from {SLOWEST:g} to {FASTEST:g}, got {speed:g}")
        actor = self.crowd.scene.actors[number]
        group, row = self.crowd.place[number]
        once = self.crowd.groups[group].lines[row].once
        faster = replace(actor, acts=(replace(actor.acts[-1], start=0.0, speed=speed),))
        return (
            lambda: self.crowd.prepare(number, faster, own=True, once=once),
            lambda prepared: self.crowd.recast(number, prepared, ease=ease, same_phase=True),
        )

    def _place(self, arguments: _Arguments):
        number, (x, z) = self._actor(arguments), arguments.numbers(2, "a place x z", FARTHEST)
        ease = arguments.seconds(EASE)
        degrees = arguments.numbers(1, "the degrees that it faces", 1e4)[0] if arguments.left() else None
        arguments.end()
        heading = None if degrees is None else math.radians(degrees)
        return lambda _: self.crowd.move(number, (x, z), heading=heading, ease=ease)

    def _add_actor(self, arguments: _Arguments):
        fields = arguments.table("actor")
        name, body, motion = fields.text("name"), fields.text("character"), fields.text("motion")
        x, z = fields.vector("place", 2, np.zeros(2))
        heading, once = fields.number("heading", 0.0), fields.flag("once", False)
        factors = _factors(fields.table("proportions")) if "proportions" in fields else None
        fields.refuse_others()
        if not name or len(name) > 64 or name in self._actors:
            raise ConstraintError(f"expected a new name of up to 64 characters, got {name[:80]!r}")
        if max(abs(x), abs(z)) > FARTHEST:
            raise ConstraintError(f"expected a place within {FARTHEST:g} m of the origin, got {x:g}, {z:g}")
        if len(self._actors) >= self._most_actors:
            raise ConstraintError(f"expected at most {self._most_actors} actors, got one more")

        def prepare():
            character = self.cast.body(body)
            character = replace(character if factors is None else with_proportions(character, factors), name=name)
            act = replace(self.cast.motion(motion))
            actor = CrowdActor(name, character, (act,), (float(x), float(z)), math.radians(heading))
            return self.crowd.prepare_new(actor, once=once)

        def apply(prepared: Any) -> None:
            self._actors[name] = self.crowd.add_actor(prepared)

        return prepare, apply

    def _remove_actor(self, arguments: _Arguments):
        name = arguments.text("the name of an actor")
        number = self._known_actor(name)
        arguments.end()
        if len(self._actors) == 1:
            raise ConstraintError("expected at least one actor to stay")

        def apply(_: Any) -> None:
            goals = self.crowd.scene.goals
            gone = {n for n, g in enumerate(goals) if g.actor == number or (g.of is not None and g.of[0] == number)}
            self.crowd.remove_actor(number)
            del self._actors[name]
            left = {own: [n for n in numbers if n not in gone] for own, numbers in self._goals.items()}
            self._goals = {own: numbers for own, numbers in left.items() if numbers}

        return apply

    def _ground(self, arguments: _Arguments):
        text, ease = arguments.text_or_degrees(), arguments.seconds(EASE)
        arguments.end()
        return (lambda: self.cast.ground(text)), lambda ground: self.crowd.set_ground(ground, ease=ease)

    def _ask(self, arguments: _Arguments):
        goals = self._goals_of(arguments)
        arguments.end()

        def apply(_: Any) -> tuple[osc.Argument, ...]:
            if self.seen is None:
                raise ConstraintError("expected a crowd that has begun, got one before its first frame")
            state, poses, frame = self.seen
            why = self.crowd.unmet(state, poses, frame)
            left = [float(state.residuals[n]) for n in goals]
            worst = max((n for n in range(len(goals)) if left[n] == left[n]), key=lambda n: left[n], default=None)
            if worst is None:
                return 0.0, -1.0, "it is not active"
            return float(state.shares[goals[worst]]), left[worst], why.get(goals[worst], "")

        return apply

    def _goals_of(self, arguments: _Arguments) -> list[int]:
        return self._known_goals(arguments.text("the name of a goal"))

    def _known_goals(self, name: str) -> list[int]:
        if name not in self._goals:
            raise _unknown_name("goal", name, self._goals)
        return self._goals[name]

    def _actor(self, arguments: _Arguments) -> int:
        return self._known_actor(arguments.text("the name of an actor"))

    def _known_actor(self, name: str) -> int:
        if name not in self._actors:
            raise _unknown_name("actor", name, self._actors)
        return self._actors[name]


class _Arguments:
    """The arguments of a message, taken one after another."""

    def __init__(self, values: Sequence[osc.Argument]) -> None:
        self._values = list(values)

    def left(self) -> bool:
        """Return whether there are more."""
        return bool(self._values)

    def end(self) -> None:
        """Refuse what is left."""
        if self._values:
            raise ConstraintError(f"expected no more arguments, got {str(self._values[0])[:40]!r}")

    def text(self, what: str, default: str | None = None) -> str:
        """Return a text."""
        if not self._values and default is not None:
            return default
        value = self._values.pop(0) if self._values else None
        if not isinstance(value, str):
            raise ConstraintError(f"expected {what}, got {value!r}"[:120])
        return value

    def numbers(self, count: int, what: str, most: float) -> list[float]:
        """Return so many finite numbers of a size up to `most`."""
        values, self._values = self._values[:count], self._values[count:]
        if len(values) < count or not all(type(value) in (int, float) for value in values):
            raise ConstraintError(f"expected {what}, got {' '.join(map(str, values))!r}"[:160])
        found = [float(value) for value in values]  # type: ignore[arg-type]
        if not all(abs(value) <= most for value in found):
            raise ConstraintError(f"expected {what}, at most {most:g}, got {' '.join(map(str, values))!r}"[:160])
        return found

    def seconds(self, default: float) -> float:
        """Return seconds in which something eases in; the default where there are none."""
        if not self._values or isinstance(self._values[0], str):
            return default
        found = self.numbers(1, "seconds", LONGEST)[0]
        if found < 0.0:
            raise ConstraintError(f"expected seconds of 0 or more, got {found:g}")
        return found

    def text_or_degrees(self) -> str:
        """Return a ground as a text; a number is the degrees of a slope."""
        if self._values and type(self._values[0]) in (int, float):
            return f"slope:{self.numbers(1, 'the degrees of a slope', 60.0)[0]:g}"
        return self.text("a ground: level, slope:DEGREES, stairs:RISE:RUN, or a name of the cast")

    def table(self, what: str) -> Fields:
        """Return a table as scenes have them, from a TOML text."""
        text = self.text(f"a TOML text of {what}")
        self.end()
        return Fields(parse_toml(text, None), what, None)


def _unknown_name(what: str, name: str, known: Sequence[str] | dict) -> ConstraintError:
    names = list(known)
    return ConstraintError(
        f"no {what} {name[:64]!r}{suggest(name[:64], names)}; there are: {', '.join(names[:40]) or 'none'}"
    )


def _factors(fields: Fields) -> dict[str, float]:
    """Return factors of proportions within bounds."""
    for key, value in fields.data.items():
        if type(value) not in (int, float) or not SHORTEST <= value <= LARGEST:
            fields.fail(key, f"expected a factor from {SHORTEST:g} to {LARGEST:g}, got {value!r}"[:120])
    return dict(fields.data)


def _check_goal(goal: Goal) -> None:
    """Refuse a goal with numbers that no crowd needs."""
    sizes = (*np.abs(goal.target).tolist(), abs(goal.value), *np.abs(goal.size).tolist())
    if max(sizes) > FARTHEST or max(goal.ramp) > LONGEST or abs(goal.priority) > 1e6 or abs(goal.start) > 1e6:
        raise ConstraintError(
            f"expected a goal within {FARTHEST:g} m, ramps of at most {LONGEST:g} s and a priority within a million"
        )
