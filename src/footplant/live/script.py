"""Drive a character by a script such as "walk 2s, run 3s left, kick, sneak 2s"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import FEET, HANDS
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import PartedGround
from footplant.errors import FormatError
from footplant.live.aimed_steps import Aimed
from footplant.live.controller import DIRECTIONS, Controller, ControllerPose, ControllerState, Direction
from footplant.live.motion_set import STEP
from footplant.motion import Motion
from footplant.problem import Progress

DEFAULT_SECONDS = 2.0
"""Seconds of a gait or an idle where the script gives none."""
_SECONDS = re.compile(r"^(\d+(?:\.\d*)?|\.\d+)\s*s$")
_NUMBER = r"-?(?:\d+(?:\.\d*)?|\.\d+)"
_TARGET = re.compile(rf"^@{_NUMBER}:{_NUMBER}(?::{_NUMBER})?$")
_LONGEST_ACTION = 60.0


@dataclass(frozen=True)
class Order:
    """One request of a script."""

    name: str
    seconds: float | None = None
    """Its duration; None: an action until it is over, anything else for `DEFAULT_SECONDS`."""
    direction: Direction = "straight"
    """Of a gait; of a step, which foot."""
    target: tuple[float, ...] | None = None
    """(x, y, z) in metres that an action or a step is aimed at; (x, z) of a step on the ground."""


@dataclass(frozen=True, eq=False)
class Drive:
    """The result of a script."""

    motion: Motion
    requests: tuple[tuple[float, str], ...]
    """Requests: seconds, and the request in words."""
    weights: NDArray
    """(F, M) weight of each motion in each frame."""
    planted: NDArray
    """(F, 4) bool: left heel, left ball, right heel and right ball locked."""
    hands: NDArray
    """(F, 2) bool: left and right palm locked on the ground."""
    under: NDArray
    """(F, 4) the part of a ground that moves under each foot and hand (`PartedGround.parts`; −1: what rests)."""
    aims: tuple[Aimed, ...] = ()
    """What became of the requests with a target."""


def parse_script(text: str, names: Sequence[str]) -> tuple[Order, ...]:
    """Parse a script: requests, separated by commas: a name, then seconds (2s), a direction or a target (@x:y:z)."""
    orders = []
    for number, part in enumerate(text.split(","), start=1):
        words = re.sub(r"(\d)\s+s\b", r"\1s", part).split()
        if not words:
            if len(text.split(",")) == 1 or number < len(text.split(",")):
                raise FormatError(f"script, request {number}: expected a name, got nothing")
            continue
        name, seconds, direction, target = words[0], None, "straight", None
        if name not in (*names, STEP):
            raise FormatError(f"script, request {number}: expected one of {', '.join((*names, STEP))}; got {name!r}")
        for word in words[1:]:
            timed = _SECONDS.match(word)
            if timed:
                seconds = float(timed[1])
            elif word in DIRECTIONS:
                direction = word
            elif _TARGET.match(word):
                target = tuple(float(part) for part in word[1:].split(":"))
                if len(target) == 2 and name != STEP:
                    raise FormatError(f"script, request {number} ({name}): expected a target @x:y:z, got {word!r}")
            else:
                raise FormatError(
                    f"script, request {number} ({name}): expected seconds as in 2s, left, right or straight, or a "
                    f"target as in @0.3:0.2:2.5; got {word!r}"
                )
        if name == STEP and target is None:
            raise FormatError(f"script, request {number}: expected a place to step to, as in step @0.3:2.5; got none")
        orders.append(Order(name, seconds, direction, target))  # type: ignore[arg-type]
    return tuple(orders)


def drive(
    controller: Controller,
    script: str | Sequence[Order],
    *,
    fps: float = 60.0,
    place: tuple[float, float] = (0.0, 0.0),
    facing: float = 0.0,
    ground: Ground | PartedGround | None = None,
    progress: Progress | None = None,
) -> Drive:
    """Play a script and record every frame. The character starts in the first request's motion.

    ground: what it walks on (default: a level floor at height 0); it may move (`contacts.moving_ground`).
    """
    orders = parse_script(script, controller.names) if isinstance(script, str) else tuple(script)
    if not orders:
        raise FormatError("expected at least one request in the script, got none")
    if not (np.isfinite(fps) and fps > 0):
        raise FormatError(f"expected a positive number of frames a second, got {fps}")
    begin = orders[0].name if orders[0].name not in (*controller.spec.actions, STEP) else None
    state = controller.init(place=place, facing=facing, begin=begin, ground=ground)
    frames = [_recorded(state, controller.pose(state))]
    requests, aims = [], []
    for number, order in enumerate(orders):
        if progress:
            progress(order.name, number / len(orders))
        label = order.name if order.direction == "straight" else f"{order.name} {order.direction}"
        requests.append((state.now, label))
        aims.append(controller.request(state, order.name, order.direction, order.target))
        action = order.name in (*controller.spec.actions, STEP) and order.seconds is None
        if action and order.name == STEP and [each.name for each in orders[number + 1 : number + 2]] == [STEP]:
            # the next step is known before this one is taken
            continue
        seconds = _LONGEST_ACTION if action else DEFAULT_SECONDS if order.seconds is None else order.seconds
        for _ in range(round(seconds * fps)):
            frames.append(_recorded(*controller.step(state, 1.0 / fps)))
            if action and not state.busy:
                break
    root, rotations, weights, planted, hands, under = (np.stack(column) for column in zip(*frames))
    motion = Motion(
        controller.character.skeleton, root, rotations / np.linalg.norm(rotations, axis=-1, keepdims=True), fps
    )
    return Drive(motion, tuple(requests), weights, planted, hands, under, tuple(aim for aim in aims if aim is not None))


def _recorded(state: ControllerState, pose: ControllerPose) -> tuple[NDArray, ...]:
    hands = np.array([hand.held for hand in state.hands])
    under = np.full(4, -1) if state.carried is None else state.carried.parts([hand.surface for hand in state.hands])
    return pose.root.copy(), pose.rotations.copy(), state.weights.copy(), state.held, hands, under


def held_intervals(done: Drive, part: int | None = None) -> dict[str, list[tuple[int, int]]]:
    """Return contact point → frames (start, end excluded) over which it was locked; part: on one part of the ground."""
    found = {}
    for point in (*FEET, *HANDS):
        hand = point in HANDS
        held = done.hands[:, HANDS.index(point)] if hand else done.planted[:, FEET.index(point)]
        if part is not None:
            held = held & (done.under[:, 2 + HANDS.index(point) if hand else FEET.index(point) // 2] == part)
        edges = np.flatnonzero(np.diff(np.r_[False, held, False].astype(int)))
        found[point] = [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2]) if b - a > 1]
    return found
