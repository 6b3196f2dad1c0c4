"""Driven characters on stairs: whole feet on treads, one tread a step, no jolts; nothing else changes."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import footplant
from footplant.grounds import Stairs, rough, slope
from footplant.live import _foot_plan as kernel
from footplant.live.foot_plan import BITS, ground_field
from footplant.live.script import Order, drive, parse_script
from footplant.quality.measure import measure

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from drive_scripts import FPS, foot_acceleration, lock_contacts
from drive_stairs import landings, walks


@cache
def controller():
    return footplant.drive_set(["sample:walk", "sample:run"])


@cache
def peak(ground=None):
    """Return a walk and the largest acceleration of its feet."""
    done = drive(controller(), [Order("walk", 6.0)], fps=FPS, ground=ground)
    return done, float(foot_acceleration(done.motion, controller().character).max())


@pytest.mark.parametrize(("rise", "heading"), [(0.17, 0.0), (0.17, -0.4), (-0.17, 0.0), (-0.22, 0.4)])
def test_a_walk_takes_one_tread_a_step(rise, heading):
    character, ground = controller().character, Stairs(rise, 0.29, 8, (0.0, 1.2), heading)
    done, most = peak(ground)
    whole, heights = landings(done, character, ground)
    climbs = np.abs(np.diff(heights)) / abs(rise)
    assert np.mean(whole) >= 0.95
    np.testing.assert_allclose(climbs[climbs > 0.1], 1.0)
    assert np.sum(climbs > 0.1) >= 6
    held = measure(done.motion, character, lock_contacts(done, character, ground), ground=ground)
    assert held.worst_plant.drift < 1.0
    assert held.penetration_worst < 2.0
    assert most <= 1.3 * peak()[1]


@pytest.mark.parametrize(("text", "rise"), [("walk 3.3s, stand 2s, walk 3s", 0.17), ("walk 3.6s, kick, walk 2s", 0.22)])
def test_who_stops_or_kicks_on_stairs_is_neither_in_them_nor_jolts(text, rise):
    """Feet were put across noses, 10 cm above their tread or 11 cm in it, and jolted 6 times as much."""
    one = footplant.drive_set(["sample:walk", "sample:run", "sample:turn-left", "sample:stand", "sample:kick"])
    script, ground = (
        parse_script(text, [motion.name for motion in one.tables.motions]),
        Stairs(rise, 0.29, 20, (0.0, 1.5)),
    )
    level = foot_acceleration(drive(one, script, fps=FPS).motion, one.character).max()
    done = drive(one, script, fps=FPS, ground=ground)
    assert foot_acceleration(done.motion, one.character).max() <= 3.0 * level
    held = measure(done.motion, one.character, lock_contacts(done, one.character, ground), ground=ground)
    assert held.penetration_worst < 2.0
    assert np.mean(landings(done, one.character, ground)[0]) >= 0.9


def test_the_samples_walk_and_run():
    assert walks(controller()) == ["walk"]


@pytest.mark.parametrize("ground", [None, slope(8.0), rough(5, 0.15, 2.0, low=(-9.0, -9.0), high=(9.0, 9.0))])
def test_strides_keep_their_length_without_edges(ground):
    state = controller().init(begin="walk", ground=ground)
    for _ in range(150):
        controller().step(state, 1.0 / FPS)
        assert state.stride.tolist() == [1.0, 0.0, 1.0]


def test_strides_are_shorter_on_stairs_and_as_long_as_before_behind_them():
    state, scales = controller().init(begin="walk", ground=Stairs(0.17, 0.29, 4, (0.0, 1.2))), []
    for _ in range(360):
        controller().step(state, 1.0 / FPS)
        scales.append(float(state.stride[0]))
    assert min(scales) < 0.6
    assert scales[-1] == 1.0
    # no faster than the spring goes
    assert np.abs(np.diff(scales)).max() < 0.1


@pytest.mark.parametrize("scale", [0.4, 1.2])
def test_planted_feet_of_scaled_strides_stay(scale):
    """They stand as still as those of the motion itself, while the body travels by the scale of its way."""
    state, found = controller().init(begin="walk"), []
    for each in (1.0, scale):
        track = np.zeros((90, 2, 24))
        controller().look_ahead(state, track, stride=np.array([each, 0.0, each]))
        steps = np.linalg.norm(np.diff(track[:, :, 3:6:2], axis=0), axis=2)
        planted = (track[:-1, :, BITS] == 3.0) & (track[1:, :, BITS] == 3.0)
        found.append((float(steps[planted].max()), float(np.diff(track[[0, -1], 0, 14])[0])))
    assert found[1][1] == pytest.approx(scale * found[0][1], rel=0.05)
    assert found[1][0] < max(found[0][0], 0.004)


@pytest.mark.parametrize("heading", [0.0, 0.7, -2.0])
def test_noses_are_sharp(heading):
    """The ground of the kernels is that of the stairs, but for a millimetre or two of treads that go on farther."""
    stairs = Stairs(0.17, 0.29, 5, (0.3, 1.0), heading, level=0.1)
    field = ground_field(stairs, np.zeros(2))
    places = np.random.default_rng(0).uniform(-1.0, 3.5, (4000, 2))
    heights = np.empty(len(places))
    kernel.heights_at(field, places, heights)
    own = stairs.height(places)
    assert (heights >= own - 1e-9).all()
    off = heights > own + 1e-9
    assert off.mean() < 0.02
    along = (places[off] - stairs.start) @ (np.sin(heading), np.cos(heading))
    assert np.abs(along / stairs.run - np.round(along / stairs.run)).max() * stairs.run < 0.0025


@pytest.mark.parametrize("row", range(len(kernel.BUMPS)))
def test_bumps_rise_to_one_and_end_at_rest(row):
    u, step = np.linspace(0.0, 1.0, 2001), 1e-4
    values = np.array([kernel.bump(row, each) for each in u])
    assert values[:, 0].max() == pytest.approx(1.0, abs=1e-6)
    assert np.abs(values[[0, -1], :2]).max() < 1e-12
    for k in range(2):
        ahead, behind = (np.array([kernel.bump(row, each + sign * step)[k] for each in u[1:-1]]) for sign in (1, -1))
        np.testing.assert_allclose(values[1:-1, k + 1], (ahead - behind) / (2.0 * step), atol=1e-4)
