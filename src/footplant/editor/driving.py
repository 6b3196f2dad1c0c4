"""Drive mode and live mode: keys or a stream of captured poses move the figure, in a thread of its own."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from footplant.contacts.importance import LIMBS
from footplant.editor import wire
from footplant.errors import FootplantError, FormatError
from footplant.kinematics import Kinematics
from footplant.live.controller import Controller, build_controller
from footplant.live.motion_set import load_set
from footplant.motion import Motion
from footplant.problem import Progress
from footplant.skeleton import Character

RATE = 60.0
"""Poses a second that the page is told."""
SET = "set:samples"
ACTIONS = {"k": "kick", "j": "punch"}
"""Key → action."""
Say = Callable[[dict[str, Any] | bytes], None]


def make_controller(character: Character, progress: Progress) -> Controller:
    """A controller of the sample motions for a character."""
    from footplant.io import load

    spec, clips = load_set(SET), {}
    names = spec.clips()
    for number, name in enumerate(names):
        progress(f"preparing {name}", 0.5 * number / len(names))
        clips[name] = load(name)
    progress("putting them on the figure", 0.5)
    return build_controller(spec, clips, character)


def wish(keys: frozenset[str]) -> tuple[str, str]:
    """The gait or idle, and the direction, that held keys ask for."""
    direction = (
        "left" if "a" in keys and "d" not in keys else "right" if "d" in keys and "a" not in keys else "straight"
    )
    if "s" in keys:
        return "sneak", direction
    if "shift" in keys and "w" in keys:
        return "run", direction
    return ("walk", direction) if "w" in keys or direction != "straight" else ("stand", "straight")


class _Performance(ABC):
    """A thread that shows poses of one character."""

    def __init__(self, character: Character, say: Say) -> None:
        self.character, self._say = character, say
        self._stopped = threading.Event()
        self._sequence = 0
        self._thread = threading.Thread(target=self._run, name="footplant-live", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, and wait until it has."""
        self._stopped.set()
        if self._thread is not threading.current_thread() and self._thread.is_alive():
            self._thread.join(2.0)

    def steer(self, request: Mapping[str, Any]) -> None:
        """What the page asks for while it plays; nothing can be asked of most."""
        del request

    def show(self, root: Any, rotations: Any) -> None:
        """Send one pose."""
        motion = Motion(self.character.skeleton, np.array(root)[None], np.array(rotations)[None], RATE)
        self._sequence += 1
        self._say(wire.encode_poses(Kinematics(motion), 0, wire.LIVE, self._sequence))

    def _run(self) -> None:
        try:
            self.play()
        except FootplantError as error:
            self._say({"is": "error", "text": str(error), "during": "drive"})
        except Exception as error:
            # a thread that ends in silence would leave the page waiting
            self._say({"is": "error", "text": f"driving ended: {type(error).__name__}: {error}", "during": "drive"})
            raise

    @abstractmethod
    def play(self) -> None:
        """Show poses until stopped."""


class KeyDriver(_Performance):
    """The character goes where keys lead."""

    def __init__(self, controller: Controller, say: Say) -> None:
        """Stand at the origin until a key is held."""
        super().__init__(controller.character, say)
        self._controller = controller
        self._keys: frozenset[str] = frozenset()

    def steer(self, request: Mapping[str, Any]) -> None:
        """Keys that are held now."""
        keys = request.get("keys")
        if isinstance(keys, list):
            self._keys = frozenset(str(key) for key in keys[:16])

    def play(self) -> None:
        """Step the controller by the clock."""
        state, before = self._controller.init(), frozenset()
        asked, last = ("stand", "straight"), time.perf_counter()
        while not self._stopped.wait(max(last + 1.0 / RATE - time.perf_counter(), 0.001)):
            keys, now = self._keys, time.perf_counter()
            for key in sorted(keys - before):
                if key in ACTIONS:
                    self._controller.request(state, ACTIONS[key])
            if wish(keys) != asked:
                asked = wish(keys)
                self._controller.request(state, asked[0], asked[1])  # type: ignore[arg-type]
            before = keys
            state, pose = self._controller.step(state, min(now - last, 0.1))
            last = now
            self.show(pose.root, pose.rotations)


class StreamDriver(_Performance):
    """The character is a puppet of a performer whose poses come in by UDP."""

    def __init__(self, place: str, character: Character, say: Say) -> None:
        """place: "vmc:39539" and the like; only this machine is heard."""
        from footplant.live.stage import Stage
        from footplant.live.wire import LOOPBACK, Inlet, endpoint

        super().__init__(character, say)
        found = endpoint(place)
        if found is None or found.host != LOOPBACK:
            raise FormatError(f"expected a protocol and a port of this machine, as in vmc:39539; got {place!r}")
        self._stage = Stage(found.protocol, character)
        self._inlet = Inlet(found)
        self._shown = 0.0

    def play(self) -> None:
        """Take what comes, show what is due."""
        from footplant.live.show import perform

        try:
            perform(self._stage, self._inlet, self._present, stop=self._stopped.is_set, status=self._status)
        finally:
            self._inlet.close()

    def _present(self, number: int, actor: Any, pose: Any) -> None:
        now = time.perf_counter()
        if number == 0 and now - self._shown >= 0.8 / RATE:
            self._shown = now
            self.show(pose.root, pose.rotations)

    def _status(self, latencies: Any) -> None:
        actors = list(self._stage.actors.values())
        note = actors[0].note if actors else "nothing has come yet"
        rate = actors[0].rate.per_second if actors and actors[0].performer else 0.0
        known = actors[0].importance if actors else None
        matters = {} if known is None else {limb.replace("_", " "): round(known[limb], 3) for limb in LIMBS}
        self._say(
            {"is": "live", "datagrams": self._stage.datagrams, "rate": round(rate, 1), "note": note, "matters": matters}
        )
