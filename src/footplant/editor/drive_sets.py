"""Motion sets for drive mode, from the samples or from clips of one's own, and the keys that drive them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from footplant.blending.common_character import on_one_character
from footplant.clip import Clip
from footplant.errors import MotionError
from footplant.feet.detached import attach_feet
from footplant.live.clip_set import examine, known_kinds, sort_clips, travelling, unique_names
from footplant.live.controller import Controller, build_controller
from footplant.live.motion_set import Idle, MotionSet, load_set
from footplant.problem import Progress
from footplant.skeleton import Character

SAMPLES = "set:samples"
STANDING = "sample:stand"
"""Idle of a set whose clips have none."""
MOST_CLIPS = 24
"""Clips of one set."""
ACTION_KEYS = "kjluiohg"
"""Keys of the actions of a set, in their order."""
LABELS = {"shift": "Shift"}


@dataclass(frozen=True, eq=False)
class DriveSet:
    """A controller with the keys of its motions, and what is known of them."""

    controller: Controller
    idle: str
    """What plays while no key is held."""
    gaits: Mapping[str, str]
    """Held key → gait."""
    actions: Mapping[str, str]
    """Pressed key → action."""
    missing: tuple[str, ...] = ()
    """What the clips lack, and what is done instead."""

    def requested(self, keys: frozenset[str]) -> tuple[str, str]:
        """Return the gait or idle, and the direction, that the held keys request."""
        left, right = "a" in keys, "d" in keys
        direction = "left" if left and not right else "right" if right and not left else "straight"
        for key, gait in self.gaits.items():
            if key not in ("w", "shift") and key in keys:
                return gait, direction
        if "shift" in keys and "w" in keys and "shift" in self.gaits:
            return self.gaits["shift"], direction
        going = "w" in keys or direction != "straight"
        return (self.gaits["w"], direction) if going else (self.idle, "straight")

    def keys(self) -> list[dict[str, str]]:
        """Return the keys for the page: the key, its label, and what it does."""
        turns = {"a": "turn left", "d": "turn right"}
        entries = {**self.gaits, **turns, **self.actions}
        return [{"key": key, "label": LABELS.get(key, key.upper()), "what": what} for key, what in entries.items()]

    def message(self) -> dict[str, Any]:
        """Return what was found in the clips, for the page."""
        motions = [{"name": name, "kind": kind, "what": what} for name, kind, what in known_kinds(self.controller)]
        return {"is": "set", "motions": motions, "missing": list(self.missing)}


def _require_whole(character: Character) -> None:
    if attach_feet(character) is not character:
        raise MotionError(
            f"expected a character whose limbs are in one piece to be driven here, got {character.name!r}; "
            "`footplant drive` drives it by a script"
        )


def sample_set(character: Character, progress: Progress) -> DriveSet:
    """Return the set of the sample motions on a character."""
    _require_whole(character)
    from footplant.io import load

    spec, clips = load_set(SAMPLES), {}
    names = spec.clips()
    for number, name in enumerate(names):
        progress(f"preparing {name}", 0.5 * number / len(names))
        clips[name] = load(name)
    progress("retargeting", 0.5)
    return with_keys(build_controller(spec, clips, character))


def own_set(clips: Sequence[Clip], character: Character, progress: Progress) -> DriveSet:
    """Return a set of any clips on a character: gaits, turns, idles and actions are found in them."""
    _require_whole(character)
    named, known = {}, {}
    for number, (name, clip) in enumerate(zip(unique_names(clips), clips)):
        progress(f"examining {name}", 0.7 * number / len(clips))
        (named[name],) = on_one_character([travelling(clip)], character, balance=False)
        known[name] = examine(named[name])
    spec = sort_clips(known)
    if not spec.idles:
        from footplant.io import load

        (named[STANDING],) = on_one_character([load(STANDING)], character, balance=False)
        spec = replace(spec, idles={"stand": Idle(STANDING)})
    progress("registering the clips", 0.8)
    return with_keys(build_controller(spec, named, character))


def with_keys(controller: Controller) -> DriveSet:
    """Return a set with a key for every motion.

    W is the gait that is slower than the fastest one, which is Shift; S is the slowest; further ones have numbers.
    """
    spec = controller.spec
    speeds = {name: _speed(controller, name) for name in spec.gaits}
    ordered = sorted(speeds, key=speeds.__getitem__)
    gaits = {"w": ordered[-2] if len(ordered) > 1 else ordered[0]}
    if len(ordered) > 1:
        gaits["shift"] = ordered[-1]
    if len(ordered) > 2:
        gaits["s"] = ordered[0]
    gaits |= {str(n + 1): name for n, name in enumerate(ordered[1:-2][:9])}
    idle = spec.begin if spec.begin is not None and spec.begin in spec.idles else next(iter(spec.idles))
    return DriveSet(controller, idle, gaits, dict(zip(ACTION_KEYS, spec.actions)), _missing(spec))


def _speed(controller: Controller, gait: str) -> float:
    return float(np.linalg.norm(controller.tables.motions[controller.tables.index(gait)].velocity))


def _missing(spec: MotionSet) -> tuple[str, ...]:
    """Return what the clips of a set lack, and what is done instead, as sentences."""
    found = []
    if any(idle.clip == STANDING for idle in spec.idles.values()) and spec.name == "clips":
        found.append("No clip stands still: the sample stand is used.")
    if len(spec.gaits) == 1:
        found.append("There is one gait only: Shift changes nothing.")
    for side in ("left", "right"):
        steered = [name for name, gait in spec.gaits.items() if getattr(gait, side) is None]
        if steered:
            found.append(f"No turn to the {side} of {', '.join(steered)}: steered instead.")
    if not spec.actions:
        found.append("No clip is an action, such as a kick.")
    return tuple(found)
