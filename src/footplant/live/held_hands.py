"""Hands that carry the body of a driven character: they stay where they are put, as feet do.

When a hand of an action (a cartwheel, a crawl) is planted is known beforehand. Its place is predicted shortly before,
on the ground as it is there, and the palm is brought to it; it stays while the action plants it, and then goes back to
its own way. The body follows the ground under hands as it does that under feet, and is lowered, beforehand, as far as
an arm needs to reach its place, as it is for a leg that lands; the arm does the rest by two-bone inverse kinematics:
what is beyond its reach is missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import HANDS
from footplant.live.settings import AIM, CONTROLLER

if TYPE_CHECKING:
    from footplant.live._foot_plan import FootTables
    from footplant.live.controller import Controller, ControllerState


@dataclass(eq=False)
class HeldHand:
    """One hand."""

    held: bool = False
    """Whether it is planted."""
    mark: NDArray | None = None
    """(3,) metres; where its palm is planted, or will be."""
    height: float = 0.0
    """Metres of the palm above the ground there."""
    surface: int = 0
    """What it stands on, on ground that moves."""
    arm: NDArray = field(default_factory=lambda: np.zeros((2, 3)))
    """Metres; shoulder and wrist, from the palm, as they will be when it is planted, over a level floor."""
    need: tuple[float, float] = (0.0, 0.0)
    """Metres by which the body is to be lowered so that the arm reaches, smoothly, and at once."""
    soon: float = np.inf
    """Seconds until it is planted, in the frame before."""
    off: NDArray = field(default_factory=lambda: np.zeros(3))
    """(3,) metres; how far it was from its own way when it was planted last."""
    released: float = -np.inf
    """Seconds; when that ended."""


def hold_hands(controller: Controller, state: ControllerState) -> None:
    """Bring planted hands to their places, in the pose that is shown, and those that are about to be."""
    from footplant.live import _foot_plan as kernel

    moving = [number for number in controller.tables.with_hands if state.weights[number] > 0.0]
    if not moving and all(hand.released + AIM.after < state.now and hand.mark is None for hand in state.hands):
        return
    planted, soon = np.zeros(2), np.full(2, np.inf)
    for number in moving:
        contacts = controller.tables.motions[number].hands
        frame = min(round(float(state.clocks[number]) * CONTROLLER.rate), len(contacts) - 1)
        planted += state.weights[number] * contacts[frame]
        if number == state.action:
            # contacts that begin while the action fades out are not its own any more
            leaves = int(controller.leaves(number) * CONTROLLER.rate)
            for side in range(2):
                ahead = np.flatnonzero(contacts[frame:leaves, side])
                soon[side] = ahead[0] / CONTROLLER.rate if len(ahead) else np.inf
    for side, (name, hand) in enumerate(zip(HANDS, state.hands)):
        if name in controller.character.contacts:
            _hold(controller, state, side, hand, bool(planted[side] >= 0.5), float(soon[side]))
    carry = [_level(state, hand.mark) for hand in state.hands if hand.mark is not None]
    body = state.feet.body
    body[kernel.HANDS_LOW] = min(carry, default=kernel.NO_HANDS)
    body[kernel.HANDS_HIGH] = max(carry, default=0.0)
    body[kernel.HANDS_NEED], body[kernel.HANDS_PULL] = np.max([hand.need for hand in state.hands], axis=0)


def _hold(
    controller: Controller, state: ControllerState, side: int, hand: HeldHand, planted: bool, soon: float
) -> None:  # fmt: skip
    from footplant.live import _foot_plan as kernel

    point = controller.character.contacts[HANDS[side]]
    own = controller.place(state, HANDS[side])
    if hand.mark is not None and state.carried is not None:
        hand.mark = state.carried.carry(hand.mark, hand.surface)
    if planted and not hand.held and soon == 0.0:
        if hand.mark is None:
            _mark(state, hand, own, float(own[1]) - _level(state, own))
        hand.held = True
    elif hand.mark is not None and not planted and (hand.held or soon > AIM.before):
        # lifted, or its action was left before it came down
        hand.off, hand.released = _share(hand, hand.soon) * (hand.mark - own), state.now
        hand.held, hand.mark = False, None
    elif hand.mark is None and not planted and soon <= AIM.before < soon + 1.5 * state.pace:
        body = controller.predict_body(state, max(soon, 0.5 * state.pace))
        at = body.point(point)[0]
        _mark(state, hand, at, float(at[1]))
        hand.arm = body.positions[0, controller.arms.legs[side, ::2]] - at
    hand.soon = soon
    hand.need = _need(controller, state, side, hand, own)
    shift = kernel.smoother(1.0 - (state.now - hand.released) / AIM.after) * hand.off
    if hand.mark is not None:
        if not hand.held:
            hand.mark[1] = hand.height + _level(state, hand.mark)
        shift = shift + _share(hand, soon) * (hand.mark - own - shift)
    if not shift.any():
        return
    kernel.reach_limb(
        controller.arms, side, point.joint, np.asarray(point.offset, float), own + shift, 1.0,
        (state.root, state.pose), controller.foot_scratch,
    )  # fmt: skip


def _need(
    controller: Controller, state: ControllerState, side: int, hand: HeldHand, own: NDArray
) -> tuple[float, float]:  # fmt: skip
    """Return `HeldHand.need`; own: where the palm is without it."""
    from footplant.live import _foot_plan as kernel

    if hand.mark is None:
        return 0.0, 0.0
    body, arm, joints = state.feet.body, hand.arm, controller.arms.legs[side, ::2]
    if hand.held:
        arm = controller.now(state).positions[0, joints] - own
        top = own + arm[0]
        top[1] += body[kernel.DROP]
    else:
        # where the body is lowered for the arm, it comes down with the hand
        top = np.array([hand.mark[0], hand.height, hand.mark[2]]) + arm[0]
        top[1] += body[kernel.BASE]
    length, most = _length(controller.arms, side), kernel.LOWEST * _length(controller.legs, side)
    need, pull = kernel.lowering(length, float(np.linalg.norm(arm[0] - arm[1])), top, hand.mark + arm[1])
    ahead = 1.0 if hand.held else float(kernel.smoother(1.0 - (hand.soon - kernel.DROP_LAG) / AIM.before))
    return ahead * min(need, most), min(pull, most) if hand.held else 0.0


def _length(tables: FootTables, side: int) -> float:
    return float(np.linalg.norm(tables.offsets[0, tables.legs[side, 1:]], axis=1).sum())


def _share(hand: HeldHand, soon: float) -> float:
    """Return how much of the way to its mark a hand is brought; soon: seconds until it is planted."""
    from footplant.live import _foot_plan as kernel

    return 1.0 if hand.held else float(kernel.smoother(1.0 - soon / AIM.before))


def _level(state: ControllerState, place: NDArray) -> float:
    from footplant.live import _foot_plan as kernel

    return float(kernel.ground_at(state.field, float(place[0]), float(place[2])))


def _mark(state: ControllerState, hand: HeldHand, place: NDArray, height: float) -> None:
    """Note where a hand is planted, or will be, and how high above the ground there."""
    from footplant.live import _foot_plan as kernel

    x, z = float(place[0]), float(place[2])
    hand.surface, level = kernel.surface_at(state.field, x, z)
    level = 0.0 if state.field.level else level
    hand.mark, hand.height = np.array([x, level + height, z]), height
