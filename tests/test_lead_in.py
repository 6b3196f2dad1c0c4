"""Lead-in poses: taken out of a clip, put back on the ground, kept or dropped by the edits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from footplant import Kinematics, MotionError, samples
from footplant.constraints import Position
from footplant.contacts.detection import find_contacts
from footplant.contacts.stillness import lead_in_frames
from footplant.curves import circle
from footplant.edits.drag import begin
from footplant.edits.fit import fit
from footplant.edits.morph import morph
from footplant.edits.path import bend
from footplant.edits.retarget import retarget
from footplant.edits.terrain import terrain
from footplant.feet.lead_in import contacts_after_lead_in, join_lead_in, split_lead_in
from footplant.geometry import Plane
from footplant.motion import concatenate, rest_motion
from footplant.problem import Status

WALK = samples.load("walk")
LEAD = 3
SHORT = replace(WALK, motion=WALK.motion[:240].resample(60.0))
ADDED = replace(
    SHORT, motion=concatenate([rest_motion(SHORT.character.skeleton, LEAD, SHORT.motion.fps), SHORT.motion])
)  # fmt: skip


def soles(motion, character):
    """Return the heights (F, P) of the sole points."""
    points = [point for name, point in character.contacts.items() if not name.endswith("palm")]
    return Kinematics(motion).points(points)[..., 1]


def test_a_lead_in_is_split_off_and_put_back_on_the_ground():
    lead, rest = split_lead_in(ADDED)
    assert (len(lead), lead_in_frames(rest)) == (LEAD, 0)
    np.testing.assert_array_equal(rest.motion.rotations, SHORT.motion.rotations)
    joined = join_lead_in(lead, rest.motion, ADDED.character, Plane((0.0, 0.3, 0.0)))
    np.testing.assert_array_equal(joined.rotations, ADDED.motion.rotations)
    np.testing.assert_array_equal(joined.root[LEAD:], ADDED.motion.root[LEAD:])
    np.testing.assert_allclose(soles(joined[:LEAD], ADDED.character).min(axis=1), 0.3, atol=1e-9)


def test_a_clip_without_a_lead_in_stays_as_it_is():
    lead, rest = split_lead_in(SHORT)
    assert len(lead) == 0
    assert rest is SHORT
    assert join_lead_in(lead, rest.motion, SHORT.character, Plane()) is SHORT.motion


def test_bones_that_change_their_length_are_joined():
    lead, rest = split_lead_in(ADDED)
    offsets = np.repeat(1.1 * rest.motion.skeleton.offsets[None], len(rest.motion), axis=0)
    joined = join_lead_in(lead, replace(rest.motion, offsets=offsets), ADDED.character, Plane())
    assert joined.offsets is not None
    np.testing.assert_array_equal(joined.offsets[0], rest.motion.skeleton.offsets)
    np.testing.assert_array_equal(joined.offsets[LEAD], offsets[0])


def test_contacts_after_a_lead_in():
    contacts = find_contacts(ADDED)
    later = contacts.after(LEAD)
    assert later.frames == len(SHORT.motion)
    np.testing.assert_array_equal(later.masks(), contacts.masks()[LEAD:])
    found = contacts_after_lead_in(None, ADDED, LEAD)
    assert found.frames == len(ADDED.motion)
    np.testing.assert_array_equal(found.masks()[LEAD:], find_contacts(SHORT).masks())
    assert not found.masks()[:LEAD].any()


EDITS = {
    "retarget": lambda clip, **options: retarget(clip, samples.load_character("short"), **options),
    "terrain": lambda clip, **options: terrain(clip, Plane((0.0, 0.2, 0.0)), **options),
    "path": lambda clip, **options: bend(clip, circle(3.0), from_start=True, **options),
    "morph": lambda clip, **options: morph(clip, [samples.load_character("short")], **options),
}


@pytest.mark.parametrize("name", EDITS)
def test_edits_keep_or_drop_a_lead_in(name):
    edit = EDITS[name]
    kept, dropped = edit(ADDED), edit(ADDED, lead_in="drop")
    assert len(kept.motion) == len(ADDED.motion)
    assert len(dropped.motion) == len(SHORT.motion)
    np.testing.assert_allclose(kept.motion.root[LEAD:], dropped.motion.root, atol=1e-9)
    low = 0.2 if name == "terrain" else 0.0
    figure = samples.load_character("short") if name == "retarget" else ADDED.character
    assert np.abs(soles(kept.motion[:LEAD], figure).min(axis=1) - low).max() < 0.03
    assert any("kept, and placed on the ground" in note for note in kept.report.notes)
    assert any("dropped" in note for note in dropped.report.notes)
    with pytest.raises(MotionError, match="expected lead_in to be one of keep, drop, got 'ease'"):
        edit(ADDED, lead_in="ease")


def raised_palm(frame: int) -> Position:
    """A position of the left palm 20 cm above where it is in a frame."""
    palm = ADDED.character.contacts["left_palm"]
    target = Kinematics(ADDED.motion).point(palm)[frame] + [0.0, 0.2, 0.0]
    return Position(point=palm, target=target, frames=(frame,))


def test_fits_leave_a_lead_in_as_it_is_unless_it_is_constrained():
    goal = raised_palm(LEAD + 2)
    kept, dropped = fit(ADDED, [goal]), fit(ADDED, [goal], lead_in="drop")
    assert kept.status is Status.SOLVED
    np.testing.assert_array_equal(kept.motion.rotations[:LEAD], ADDED.motion.rotations[:LEAD])
    np.testing.assert_array_equal(kept.motion.root[:LEAD], ADDED.motion.root[:LEAD])
    assert any("kept as it is" in note for note in kept.report.notes)
    np.testing.assert_array_equal(dropped.motion.rotations, kept.motion.rotations[LEAD:])
    assert any("dropped" in note for note in dropped.report.notes)
    inside = fit(ADDED, [raised_palm(LEAD - 1)], lead_in="drop")
    assert len(inside.motion) == len(ADDED.motion)
    assert inside.report.constraints[0].met


def test_drags_leave_a_lead_in_as_it_is_unless_it_is_dragged():
    editing, goal = begin(ADDED), raised_palm(LEAD + 2)
    dragged = editing.drag(LEAD + 2, goal.point, goal.target[0])
    assert dragged.error() < 0.001
    np.testing.assert_array_equal(dragged.motion.rotations[:LEAD], ADDED.motion.rotations[:LEAD])
    turned = editing.turn(LEAD + 2, "head", [1.0, 0.1, 0.0, 0.0])
    np.testing.assert_array_equal(turned.motion.rotations[:LEAD], ADDED.motion.rotations[:LEAD])
    goal = raised_palm(LEAD - 1)
    inside = editing.drag(LEAD - 1, goal.point, goal.target[0])
    assert inside.error() < 0.001
