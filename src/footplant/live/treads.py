"""Steps of a driven character fitted to treads: where the next ones land, and how far the body travels meanwhile.

`feet.step_plan` chooses the places of all steps of a motion on a ground with edges. Here those of the next steps are
chosen in the same way whenever a foot is lifted, beginning at the foot that stands:

    min Σ_i u(s_i) + Σ_i ((s_i − s_{i−1} − l_i) / l)² + w Σ_i max(0, |h_i − h_{i−1}| / p − 1)².

A first place that the leg does not reach is tried again nearer to the body, and it costs more the farther it is from
where the motion would land the foot. It is the goal of the swing, which passes the edges (`_swing_plan._pass_edges`).
The body arrives where the others are by the scale σ of its travel and of its strides (`_foot_plan.scale_stride`), which
follows a goal g by a critically damped spring:

    σ(t) = g (1 − a(t)) + b(t),    p_i = b₀ + ∫ σ v dt + σ(t_i) f_i,

where v is the velocity of the blended body and f_i how far the blended foot is ahead of it as it lands. p_i is linear
in g, so that the g for which Σ_i |p_i − s_i|² is least is known at once, and no later plan has to catch up with the lag
of the spring.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant.feet.footing import SAMPLES
from footplant.feet.step_plan import (
    BESIDE,
    EDGE_SPACING,
    STEP_PLAN_SETTINGS,
    UNSUPPORTED,
    cheapest_places,
    support_costs,
)
from footplant.live.aimed_steps import middle
from footplant.live.foot_plan import BITS
from footplant.live.settings import FOOT_PLAN, TREADS

if TYPE_CHECKING:
    from footplant.live._foot_plan import GroundField
    from footplant.live.controller import Controller, ControllerState

UNSCALED = np.array([1.0, 0.0, 1.0])
"""Strides of their own length, see `_foot_plan.Requests`."""
OUT_OF_REACH = 100.0
"""u of a place that is out of reach."""


class _Landings(NamedTuple):
    """The next N landings of a motion whose strides are not scaled, and the way of its body."""

    frames: NDArray
    """(N,) of the prediction."""
    feet: list[int]
    ahead: NDArray
    """(N, 2) unit directions (x, z) from heel to ball."""
    beside: NDArray
    """(N, 2) metres from the body to the middle of the sole, without `forward`."""
    forward: NDArray
    """(N,) metres that the middle of the sole is ahead of the body."""
    facing: NDArray
    """(2,) direction in which the body faces."""
    way: NDArray
    """(F, 2) steps of the body between frames, metres."""
    begin: NDArray
    """(2,) where the body is now."""
    stands: float
    """Metres by which the other foot is ahead of where the body is now, as blended."""
    runs: bool
    """Whether no foot is planted for much of the time."""

    def along(self, places: NDArray) -> NDArray:
        """Return metres (…) by which places (…, 2) are ahead of where the body is now."""
        return (places - self.begin) @ self.facing


def next_tread(
    controller: Controller, state: ControllerState, near: NDArray, foot: int, *, stepping: bool
) -> NDArray | None:
    """Return the goal (4,) of a foot that swings, for `_swing_plan.plan_swing`, and scale the strides to come.

    near: predicted feet (N, 2, 24), as of `Controller.look_ahead`. stepping: a step of a foot that the motion keeps
    planted.

    None where no edge is ahead, and where no tread supports the foot: it lands where the motion does. Strides return to
    their own length where no edge is ahead, in actions, in steps of their own (stepping), aside and backwards, where
    one foot alone is put on the nearest tread (`_nearest`), and on ground that moves.
    """
    scale, state.stride[2] = state.stride[2], 1.0
    if state.field.level or state.carried is not None:
        return None
    character = controller.character
    track = np.zeros((round(TREADS.horizon / TREADS.interval) + 1, 2, 24))
    controller.look_ahead(state, track, TREADS.interval, stride=UNSCALED)
    edge = _largest_edge(state.field, track, character.height)
    if edge < STEP_PLAN_SETTINGS.edge * character.height:
        return None
    lands = controller.planner.lands_in(state.feet, foot, near, state.now, stepping=stepping)
    found = None if stepping or state.action is not None else _landings(controller, track, foot, lands)
    goal = None if found is None else _fitted(controller, state, found, foot, edge, scale)
    return goal if goal is not None or lands is None else _nearest(controller, state, foot, lands)


def _fitted(
    controller: Controller, state: ControllerState, found: _Landings, foot: int, edge: float, scale: float
) -> NDArray | None:
    """Return the goal (4,) of a foot as the landings are planned, and scale the strides to come.

    edge: metres of the highest edge ahead. scale: of strides, so far. None where no tread within reach supports it.
    """
    limits = controller.planner.limits
    here, leg = state.feet.places[1 - foot, :2, ::2].mean(axis=0), 0.5 * (limits.left_leg + limits.right_leg)
    within, seconds = np.array([-np.inf, np.inf]), float(found.frames[0]) * TREADS.interval
    goal = np.zeros(4)
    for _ in range(TREADS.rounds):
        state.stride[2] = scale
        choice = _choose(controller, state, found, here, leg, edge, within)
        if choice is None:
            state.stride[2] = 1.0
            return None
        chosen, level = choice
        scale = state.stride[2] = _scale(state.stride, found, chosen)
        goal = np.array([chosen[0, 0], level, chosen[0, 1], seconds])
        near = controller.look_ahead(state)
        frame = min(round(seconds / FOOT_PLAN.interval), len(near) - 2)
        beyond = _beyond(controller, state, foot, near, goal)
        if beyond < TREADS.short:
            break
        along, hip = found.along(chosen[0]), found.along(near[frame, foot, 12:15:2])
        within[1 if along > hip else 0] = along - np.sign(along - hip) * beyond
    return goal


def _heights(field: GroundField, places: NDArray) -> NDArray:
    """Return heights (…) of the ground at places (…, 2), metres."""
    from footplant.live._foot_plan import heights_at

    out = np.empty(places.shape[:-1])
    heights_at(field, np.ascontiguousarray(places.reshape(-1, 2)), out.reshape(-1))
    return out


def _largest_edge(field: GroundField, track: NDArray, height: float) -> float:
    """Return how much the ground rises or falls within a centimetre along the way of a body at most, metres."""
    body = track[:, :, 12:15:2].mean(axis=1)
    way = body[-1] - body[0]
    long = float(np.hypot(*way))
    ahead = way / long if long > 1e-6 else np.array([0.0, 1.0])
    along = np.arange(-TREADS.around, long + TREADS.around, EDGE_SPACING)
    beside = height * np.array(BESIDE)[:, None, None] * np.array([ahead[1], -ahead[0]])
    return float(np.abs(np.diff(_heights(field, body[0] + along[:, None] * ahead + beside), axis=1)).max())


def _landings(controller: Controller, track: NDArray, foot: int, lands: float | None) -> _Landings | None:
    """Return the next landings, the first of a given foot; None if it is not predicted, or goes aside or back.

    lands: seconds in which that foot lands, if it is soon.
    """
    planted, own = track[:, :, BITS] > 0, 0 if lands is None else math.ceil(lands / TREADS.interval - 1e-6)
    lasting = max(round(FOOT_PLAN.lasting * controller.tables.shortest_stance / TREADS.interval), 1)
    found = sorted(
        (int(frame), side)
        for side in range(2)
        for frame in own + np.flatnonzero(~planted[own:-1, side] & planted[own + 1 :, side]) + 1
        if planted[frame : frame + lasting, side].all()
    )
    if lands is not None:
        found.insert(0, (own, foot))
    while found and found[0][1] != foot:
        # the landing of the other foot is planned
        found.pop(0)
    if not found:
        return None
    frames, feet = (np.array(each) for each in zip(*found[: TREADS.steps]))
    rows, body = track[frames, feet], track[:, :, 12:15:2].mean(axis=1)
    # hips turn to and fro with every stride
    across = (track[:, 0, 12:15:2] - track[:, 1, 12:15:2]).sum(axis=0)
    facing = np.array([-across[1], across[0]]) / max(float(np.hypot(*across)), 1e-9)
    way = body[frames[-1]] - body[0]
    if way @ facing < math.cos(TREADS.straight) * np.hypot(*way):
        return None
    off, line = middle(rows) - body[frames], (rows[:, 3:6] - rows[:, 0:3])[:, ::2]
    forward = off @ facing
    # a foot that is in the air has its place where it lands
    downs = np.flatnonzero(planted[: frames[0], 1 - foot])
    stands = (middle(track[downs[0] if len(downs) else 0, 1 - foot]) - body[0]) @ facing
    return _Landings(
        frames, feet.tolist(), line / np.linalg.norm(line, axis=1, keepdims=True), off - forward[:, None] * facing,
        forward, facing, np.diff(body, axis=0), body[0], float(stands),
        bool((~planted.any(axis=1)).mean() > STEP_PLAN_SETTINGS.running),
    )  # fmt: skip


def _nearest(controller: Controller, state: ControllerState, foot: int, lands: float) -> NDArray | None:
    """Return the goal (4,) of a foot on the tread that is nearest to where the motion lands it, along its own line.

    lands: seconds in which it lands. None if nothing within reach supports it.
    """
    planner, near = controller.planner, controller.look_ahead(state)
    leg = (planner.limits.left_leg, planner.limits.right_leg)[foot]
    frame = min(round(lands / FOOT_PLAN.interval), len(near) - 2)
    row = near[frame, foot]
    line = (row[3:6] - row[0:3])[::2]
    ahead = line / max(float(np.hypot(*line)), 1e-9)
    sole, long = controller.soles[foot]
    far = math.ceil(TREADS.farther * leg / STEP_PLAN_SETTINGS.spacing)
    along = STEP_PLAN_SETTINGS.spacing * np.arange(-far, far + 1)
    samples = (SAMPLES * sole - 0.5 * long)[:, None] * ahead
    places = middle(row) + along[:, None] * ahead
    under = _heights(state.field, places[:, None] + samples)
    costs, _, level = (values[0] for values in support_costs(under[None, None], samples, controller.character))
    order = np.argsort(costs + _move_costs(along / leg, lands), kind="stable")
    for cell in order[costs[order] < UNSUPPORTED]:
        goal = np.array([places[cell, 0], level[cell], places[cell, 1], lands])
        if _beyond(controller, state, foot, near, goal) < TREADS.short:
            return goal
    return None


def _beyond(controller: Controller, state: ControllerState, foot: int, near: NDArray, goal: NDArray) -> float:
    """Return by how many metres a goal (4,) is out of reach; a body that has to be lowered for it counts, too."""
    planner, frame = controller.planner, min(round(goal[3] / FOOT_PLAN.interval), len(near) - 2)
    leg = 0.5 * (planner.limits.left_leg + planner.limits.right_leg)
    beyond, need = planner.beyond(state.feet, foot, near, frame, state.field, goal)
    return beyond + TREADS.nearer * max(need - TREADS.lowered * leg, 0.0)


def _move_costs(far: NDArray, lands: float) -> NDArray:
    """Return what it costs to land (…) leg lengths from where the motion does: the sooner, the more, in seconds."""
    return TREADS.own * (max(1.0, TREADS.usual / lands) * far) ** 2


def _choose(
    controller: Controller, state: ControllerState, found: _Landings, here: NDArray, leg: float, edge: float,
    within: NDArray,
) -> tuple[NDArray, float] | None:  # fmt: skip
    """Return places (N, 2) of the next landings, metres, and the height of the first; None if none is supported.

    here: (2,) the place of the other foot. edge: metres of the highest edge ahead. within: (2,) metres along the way of
    the body between which the first has to be.
    """
    character, settings, scale = controller.character, STEP_PLAN_SETTINGS, state.stride[2]
    gone = np.cumsum(found.way, axis=0)[found.frames - 1]
    places = found.begin + scale * gone + found.beside + scale * found.forward[:, None] * found.facing
    at, first = found.along(places), float(found.along(here))
    wanted = first + np.array([0.0, *(gone @ found.facing + found.forward - found.stands)])
    farthest = wanted + TREADS.farther * leg
    # the place of the other foot is one of them
    behind = math.ceil(TREADS.back / settings.spacing)
    grid = first + settings.spacing * np.arange(-behind, (farthest.max() - first) / settings.spacing)
    costs, above, level = (np.full((len(wanted), len(grid)), OUT_OF_REACH) for _ in range(3))
    costs[0, behind] = above[0, behind] = 0.0
    level[0] = _heights(state.field, here[None])
    soles, long = controller.soles[found.feet].T
    lines = (SAMPLES * soles[:, None] - 0.5 * long[:, None])[..., None] * found.ahead[:, None]
    number, cell = np.nonzero(grid <= farthest[1:, None])
    to = places[number] + (grid[cell] - at[number])[:, None] * found.facing
    under = _heights(state.field, to[:, None] + lines[number])
    for values, own in zip((costs, above, level), support_costs(under[None, None], lines[0], character)):
        values[number + 1, cell] = own[0]
    supported = costs[1] < UNSUPPORTED
    reach = _move_costs((grid - at[0]) / leg, found.frames[0] * TREADS.interval)
    reach += np.where((grid < within[0]) | (grid > within[1]), OUT_OF_REACH, 0.0)
    # also before a step down
    costs[1], above[1] = costs[1] + reach, above[1] + reach
    rise = max((settings.running_rise if found.runs else settings.rise) * leg, edge)
    chosen = cheapest_places(costs, above, level, wanted, grid, leg, rise, settings.edge * character.height)[1:]
    if not supported[chosen[0]] or reach[chosen[0]] >= OUT_OF_REACH:
        return None
    return places + (grid[chosen] - at)[:, None] * found.facing, float(level[1, chosen[0]])


def _scale(stride: NDArray, found: _Landings, chosen: NDArray) -> float:
    """Return the goal of the scale of strides with which a body arrives at chosen places (N, 2)."""
    from footplant.live._foot_plan import STRIDE_HALF_LIFE

    y = 2.0 * math.log(2.0) / STRIDE_HALF_LIFE
    t = TREADS.interval * np.arange(1, len(found.way) + 1)
    decay = np.exp(-y * t)
    of_start = (stride[0] * (1.0 + y * t) + stride[1] * t) * decay
    of_goal = 1.0 - (1.0 + y * t) * decay
    fixed, rate = (
        np.cumsum(part * (found.way @ found.facing))[found.frames - 1] + part[found.frames - 1] * found.forward
        for part in (of_start, of_goal)
    )
    off = found.along(chosen) - fixed
    weights = TREADS.later ** (2.0 * np.arange(len(rate)))
    scale = (weights @ (rate * off) + TREADS.hold) / (weights @ rate**2 + TREADS.hold)
    return float(np.clip(scale, 0.0, TREADS.most))
