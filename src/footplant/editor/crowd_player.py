"""Crowd mode: a live crowd whose poses go to the page, and which the page changes by the messages of `footplant crowd`.

The crowd runs in a thread of its own, as in `footplant crowd --live`: `perform_crowd` steps it in real time and
`CrowdControl` applies messages. Those of the page are packed as the datagrams that they would be over UDP, each with
its number as sender, to which the answer goes back.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.blending.compose import RootPath, root_reference
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import MovingGround
from footplant.editor import scene, wire
from footplant.editor.crowd_recording import CrowdRecording
from footplant.editor.crowd_scenes import Casting, Opening
from footplant.editor.driving import Performance, Send
from footplant.errors import ConstraintError
from footplant.humanoid.default_body import default_body
from footplant.live.crowd_control import CrowdControl, Sender
from footplant.live.crowd_group import Postures
from footplant.live.crowd_reasons import MET
from footplant.live.crowd_scene import FLOOR, AnyGround, Goal
from footplant.live.crowd_show import perform_crowd
from footplant.live.protocols import osc
from footplant.motion import Motion
from footplant.plot.figures import CELLS, character_data, grid_around
from footplant.samples import CHARACTERS, MOTIONS
from footplant.skeleton import Character, Point
from footplant.text_files import parse_toml

MOST_QUEUED = 64
"""Messages of the page that wait for the crowd's thread; the page sends the next one when one is answered."""
MOST_ARGUMENTS = 8
"""Arguments of a message: more than any has."""
STATUS_EVERY = 0.2
"""Seconds between two reports to the page."""
GROUND_EVERY = 0.1
"""Seconds between two pictures of a ground that moves."""
CELLS_MOVING = 56
"""Cells along the longer side of a ground that moves: 220 of a deck take 0.07 s at each picture, these 5 ms."""
AROUND = 4.0
"""Metres around the characters for which the ground is drawn."""
NEAR_EDGE = 1.5
"""Metres from its edge; an actor that comes nearer has it drawn again around itself."""
FARTHEST_DRAWN = 40.0
"""Metres from the origin beyond which no ground is drawn, so that an actor far away does not make its cells coarse."""
MET_TURN = np.radians(0.1)
"""Radians of an orientation that may be left when it counts as met."""


class _Datagram(NamedTuple):
    data: bytes
    sender: Sender


class CrowdPlayer(Performance):
    """A crowd that runs beside a tab."""

    mode = "crowd"

    def __init__(self, opening: Opening, send: Send) -> None:
        """Take a crowd before its first frame."""
        super().__init__(send)
        self.crowd, self.castings, self.ground = opening.crowd, opening.castings, opening.ground
        self.changes = CrowdControl(self.crowd, answer=self.answer)
        for name, (character, act) in opening.declared.items():
            self.changes.cast.declare(name, character, act)
        self.own = dict(opening.declared)
        """Bodies and motions of one's own that messages may name."""
        self.recording = CrowdRecording(self.crowd.scene.fps)
        self._queue: queue.Queue[_Datagram] = queue.Queue(MOST_QUEUED)
        self._asked: dict[int, tuple[str, tuple[osc.Argument, ...]]] = {}
        self._paused_at: float | None = None
        self._paused_for = 0.0
        self._roster: tuple | None = None
        self._models: list[tuple[int, Character]] = []
        """Numbers of the characters that the page has, and they."""
        self._next_model = 1
        self._drawn: tuple[AnyGround, NDArray, NDArray, float] | None = None
        """The ground that the page has, its corners, and when it was sent."""
        self._shown: deque[float] = deque(maxlen=120)
        self._waited, self._reported = 0.0, time.perf_counter()

    def steer(self, request: Mapping[str, Any]) -> None:
        """Take a message, or pause and go on; from the event loop."""
        if "pause" in request:
            self._pause(bool(request["pause"]))
            return
        number, address, arguments = request.get("number"), request.get("say"), request.get("with")
        if not isinstance(number, int) or not isinstance(address, str) or not isinstance(arguments, list):
            raise ConstraintError("expected a message with a number, an address and arguments")
        if not 0 <= number < 2**31 or len(address) > osc.MAX_TEXT or len(arguments) > MOST_ARGUMENTS:
            raise ConstraintError(f"expected a message of at most {MOST_ARGUMENTS} arguments")
        for argument in arguments:
            text = isinstance(argument, str) and len(argument.encode()) < osc.MAX_TEXT
            if not (text or (isinstance(argument, int | float) and abs(argument) < 2**31)):
                raise ConstraintError(
                    f"expected texts of up to {osc.MAX_TEXT} bytes and numbers, got {str(argument)[:40]!r}"
                )
        if self._queue.full():
            raise ConstraintError(f"expected at most {MOST_QUEUED} messages at a time, got more")
        self._asked[number] = address, tuple(arguments)
        self._queue.put_nowait(_Datagram(osc.encode(address, *arguments), ("page", number)))

    def _pause(self, wanted: bool) -> None:
        now = time.perf_counter()
        if wanted and self._paused_at is None:
            self._paused_at = now
        elif not wanted and self._paused_at is not None:
            self._paused_for += now - self._paused_at
            self._paused_at = None

    def _clock(self) -> float:
        """Return seconds that stand still while the crowd is paused."""
        paused_at = self._paused_at
        return (time.perf_counter() if paused_at is None else paused_at) - self._paused_for

    def declare(self, name: str, material: tuple[Character, Any]) -> None:
        """Add a body and a motion of one's own while the crowd plays."""
        self.changes.cast.declare(name, *material)
        self.own = {**self.own, name: material}
        self._roster = None

    def play(self) -> None:
        """Step the crowd in real time until stopped."""
        self._send_roster(force=True)
        perform_crowd(
            self.crowd, self._present, stop=self._stopped.is_set, control=self, changes=self.changes, clock=self._clock
        )

    def wait(self, seconds: float) -> bool:
        """Wait for messages, so long at most; report to the page when it is time."""
        now = time.perf_counter()
        if now - self._reported >= STATUS_EVERY:
            self._report(now)
        begun = time.perf_counter()
        try:
            first = self._queue.get(timeout=seconds) if seconds > 0.0 else self._queue.get_nowait()
        except queue.Empty:
            return False
        finally:
            self._waited += time.perf_counter() - begun
        self._first = first
        return True

    _first: _Datagram | None = None

    def drain(self) -> Iterable[_Datagram]:
        """Yield the messages that have arrived."""
        first, self._first = self._first, None
        if first is not None:
            yield first
        for _ in range(MOST_QUEUED):
            try:
                yield self._queue.get_nowait()
            except queue.Empty:
                return

    def answer(self, data: bytes, host: str, port: int) -> None:
        """Tell the page what became of the message of a number."""
        address, arguments = self._asked.pop(port, ("", ()))
        for verdict, values in osc.decode(data):
            if verdict == "/crowd/ok":
                self._note(address, arguments)
            wrong = str(values[1]) if verdict == "/crowd/error" else ""
            found = list(values[1:]) if verdict == "/crowd/answer" else []
            self._send({"is": "answer", "number": port, "address": address, "wrong": wrong, "values": found})

    def _note(self, address: str, arguments: tuple[Any, ...]) -> None:
        """Take note of what an actor plays, and of the ground, after a message that was applied."""
        name = str(arguments[0]) if arguments else ""
        if address == "/crowd/actor":
            table = parse_toml(name, None)
            self.castings[table["name"]] = Casting(table["character"], table["motion"])
        elif address == "/crowd/actor/remove":
            self.castings.pop(name, None)
        elif address == "/crowd/body" and arguments[1:] and arguments[1]:
            self.castings[name].body = str(arguments[1])
        elif address == "/crowd/motion":
            self.castings[name].motion, self.castings[name].speed = str(arguments[1]), 1.0
        elif address == "/crowd/speed":
            self.castings[name].speed = float(arguments[1])
        elif address == "/crowd/ground":
            self.ground = name if isinstance(arguments[0], str) else f"slope:{name}"
        # names of goals are with those of actors, so that a page that has just come has both
        self._roster = None

    def _present(self, poses: list[Postures], seconds: float) -> None:
        """Send a frame, and keep it."""
        self._send_roster()
        assert self.changes.seen is not None
        frame = self.changes.seen[2]
        kinematics = [group.kinematics(own) for group, own in zip(self.crowd.groups, poses, strict=True)]
        shown, played = {}, {}
        for name, number in self.changes.actors.items():
            group, row = self.crowd.place[number]
            shown[number] = kinematics[group].positions[row], kinematics[group].rotations[row]
            character = self.crowd.scene.actors[number].character
            played[name] = character, poses[group].root[row], poses[group].local[row]
        self.recording.add(frame, played)
        self._send_ground([places for places, _ in shown.values()], frame)
        self._sequence += 1
        self._send(wire.encode_crowd(shown, frame, self._sequence))
        self._shown.append(time.perf_counter())

    def _send_roster(self, *, force: bool = False) -> None:
        """Send the list of actors where it has changed, and skins that the page does not have."""
        actors = self.crowd.scene.actors
        key = tuple((name, number, id(actors[number].character)) for name, number in self.changes.actors.items())
        if self._roster == key and not force:
            return
        self._roster = key
        entries, fresh, used = [], [], set()
        for name, number in self.changes.actors.items():
            character, casting = actors[number].character, self.castings[name]
            model = next((known for known, own in self._models if own is character), 0)
            if not model:
                model, self._next_model = self._next_model, self._next_model + 1
                self._models.append((model, character))
                fresh.append((model, character))
            used.add(model)
            entries.append({
                "name": name, "number": number, "model": model, "body": casting.body, "motion": casting.motion,
                "speed": casting.speed, "character": character_data(character),
            })  # fmt: skip
        self._models = [entry for entry in self._models if entry[0] in used]
        known = [name for name, (_, act) in self.own.items() if act is not None]
        self._send({
            "is": "crowd", "scene": self.crowd.scene.name, "fps": self.crowd.scene.fps, "actors": entries,
            "bodies": [*self.own, *(f"sample:{name}" for name in CHARACTERS)],
            "motions": [*known, *(f"sample:{name}" for name in MOTIONS)],
            "grounds": list(self.crowd.scene.grounds), "ground": self.ground,
            "level": self.crowd.scene.ground is FLOOR, "apart": self.crowd.scene.apart is not None,
        })  # fmt: skip
        for model, character in fresh:
            skin = character.skin or default_body(character)
            if skin is None:
                continue
            self._send(wire.encode_mesh(skin, wire.CROWD + model, 0))
            looks = scene.looks_of(character) if character.skin is not None else None
            if looks is not None:
                self._send(wire.encode_looks(skin, looks, wire.CROWD + model, 0))

    def _send_ground(self, actors: list[NDArray], frame: int) -> None:
        """Send the ground around the actors where it has changed, or they have come to the edge of what was sent."""
        ground, now = self.crowd.scene.ground, time.perf_counter()
        if ground is FLOOR or not actors:
            self._drawn = None
            return
        places = np.concatenate([own[:, ::2] for own in actors])
        low, high = (
            np.clip(edge, -FARTHEST_DRAWN, FARTHEST_DRAWN) for edge in (places.min(axis=0), places.max(axis=0))
        )
        moving = isinstance(ground, MovingGround) or callable(ground)
        if self._drawn is not None:
            known, least, most, sent = self._drawn
            inside = bool((low > least + NEAR_EDGE).all() and (high < most - NEAR_EDGE).all())
            if known is ground and inside and not (moving and now - sent >= GROUND_EVERY):
                return
        least, most = low - AROUND, high + AROUND
        self._drawn = ground, least, most, now
        height = height_at(ground, self.crowd.ground_seconds(frame))
        self._sequence += 1
        grid = grid_around(least, most, height, CELLS_MOVING if moving else CELLS)
        self._send(wire.encode_ground(*grid, self._sequence, wire.CROWD))

    def _report(self, now: float) -> None:
        """Send how the crowd runs, and what is left of every goal."""
        self._send_roster()
        elapsed, self._reported = now - self._reported, now
        load, self._waited = 1.0 - self._waited / max(elapsed, 1e-6), 0.0
        seen = self.changes.seen
        recent = [at for at in self._shown if now - at < 1.0]
        frame = 0 if seen is None else seen[2]
        self._send({
            "is": "crowd_status", "seconds": frame / self.crowd.scene.fps, "playing": self._paused_at is None,
            "rate": len(recent), "load": round(min(max(load, 0.0), 1.0), 3), "busy": self.changes.busy,
            "actors": [] if seen is None else self._standing(*seen[:2]),
            "goals": [] if seen is None else self._goals(*seen),
        })  # fmt: skip

    def _standing(self, state: Any, poses: list[Postures]) -> list[dict[str, Any]]:
        """Return where actors stand, how they face, and how deep they are in other bodies."""
        found = []
        for number in self.changes.actors.values():
            group, row = self.crowd.place[number]
            character = self.crowd.scene.actors[number].character
            if row >= len(poses[group].root):
                # it comes with the next frame
                continue
            root, local = poses[group].root[row], poses[group].local[row]
            pose = Motion(character.skeleton, root[None], local[None], self.crowd.scene.fps)
            heading = float(RootPath.of(pose, root_reference(character)).heading[0])
            depth = float(state.depths[number]) if number < len(state.depths) else 0.0
            found.append({
                "number": number, "place": [float(root[0]), float(root[2])], "degrees": float(np.degrees(heading)),
                "depth": depth,
            })  # fmt: skip
        return found

    def _goals(self, state: Any, poses: list[Postures], frame: int) -> list[dict[str, Any]]:
        """Return every goal with what is left of it, and why."""
        why, found = self.crowd.unmet(state, poses, frame), []
        for name, numbers in self.changes.goals.items():
            for number in numbers:
                goal = self.crowd.scene.goals[number]
                known = number < len(state.residuals)
                active = float(state.shares[number]) if known else 0.0
                left = float(state.residuals[number]) if known else np.nan
                turn = goal.kind == "orient"
                found.append({
                    "name": name, "kind": goal.kind, "priority": goal.priority, "actor": goal.actor,
                    **self._point(goal.point, goal.actor), "of": None if goal.of is None else
                    {"actor": goal.of[0], **self._point(goal.of[1], goal.of[0])},
                    "target": self.crowd.target(number).tolist(), "active": round(active, 3),
                    "left": None if not np.isfinite(left) else left,
                    "met": bool(active > 0.0 and left <= (MET_TURN if turn else MET)),
                    "why": self._why(goal, active, left, frame, why.get(number, "")), "together": len(numbers),
                })  # fmt: skip
        return found

    def _point(self, point: Point, actor: int) -> dict[str, Any]:
        """Return a point by the name of its contact point, role or joint."""
        character = self.crowd.scene.actors[actor].character
        names = {contact: name for name, contact in character.contacts.items()}
        roles = {} if character.roles is None else {own[0]: role for role, own in character.roles.joints.items() if own}
        name = names.get(point) or roles.get(point.joint) or character.skeleton.names[point.joint]
        return {"point": name, "joint": point.joint, "offset": list(point.offset)}

    def _why(self, goal: Goal, active: float, left: float, frame: int, why: str) -> str:
        """Return why a goal is not met, or does not count now."""
        if active > 0.0:
            return why
        seconds = (frame if goal.clock else self.crowd.read(frame)) / self.crowd.scene.fps
        if seconds < goal.start:
            return f"on hold for {goal.start - goal.ramp[0] - seconds:.1f} s"
        return "on hold" if not goal.clock else "over"


def height_at(ground: AnyGround, seconds: float) -> Callable[[NDArray], NDArray]:
    """Return the heights (…) of a ground over places (…, 2) at a time since it is there."""
    if isinstance(ground, MovingGround):
        return lambda places: ground.height(places, seconds)
    still = ground(seconds) if callable(ground) else ground
    return lambda places: np.asarray(still.height(places))


def still_ground(ground: AnyGround) -> Ground | None:
    """Return a ground that is kept with a clip; None for the level floor, and for one that moves."""
    return None if isinstance(ground, MovingGround) or callable(ground) or ground is FLOOR else ground
