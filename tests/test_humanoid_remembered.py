"""What is remembered of a figure goes by its content: a figure alike is the same, any other is another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from footplant import humanoid, load, save
from footplant.humanoid._extents import extents
from footplant.humanoid.cache import RolesKey, SkeletonKey, same_roles, same_skeleton
from footplant.samples import load as sample
from footplant.samples import mannequin

SKELETON = mannequin.skeleton()
ROLES = mannequin.roles(SKELETON)


def again(skeleton, **changed):
    """A skeleton made anew, of other arrays."""
    return replace(skeleton, offsets=np.array(skeleton.offsets), rest=np.array(skeleton.rest), **changed)


def test_alike_is_the_same_and_any_difference_is_another():
    first = same_skeleton(SKELETON)
    assert same_skeleton(again(SKELETON)) is first
    offsets = np.array(SKELETON.offsets)
    offsets[5, 1] += 1e-15
    for other in (
        replace(SKELETON, offsets=offsets),
        replace(SKELETON, names=("other", *SKELETON.names[1:])),
        replace(SKELETON, end_offsets=SKELETON.end_offsets * 1.01),
    ):
        assert same_skeleton(other) is other
        assert SkeletonKey(other) != SkeletonKey(SKELETON)
    roles = same_roles(ROLES)
    assert same_roles(replace(ROLES)) is roles
    posed = replace(ROLES, reference=humanoid.reference_pose(SKELETON, ROLES))
    assert RolesKey(posed) != RolesKey(ROLES)


def test_characters_of_one_figure_share_nothing_that_can_be_changed():
    one, other = (humanoid.make_character(again(SKELETON), ROLES, name=name) for name in ("one", "other"))
    assert (one.name, other.name) == ("one", "other")
    assert one.contacts == other.contacts
    assert one.contacts is not other.contacts
    assert one.limits is not None
    assert other.limits is not None
    one.limits.lower[:] = 0.0
    assert not np.array_equal(one.limits.lower, other.limits.lower)
    again_made = humanoid.make_character(SKELETON, ROLES, name="again")
    assert again_made.limits is not None
    np.testing.assert_array_equal(again_made.limits.lower, other.limits.lower)


def test_poses_still_tell_of_each_clip(tmp_path):
    """The same figure in another file with z up is not taken for the one that was seen before with y up."""
    clip = sample("walk")
    save(tmp_path / "y.bvh", clip.motion[:60], character=clip.character)
    turned = clip.motion[:60].transformed([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
    skeleton = clip.character.skeleton.turned(np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0]))
    save(tmp_path / "z.bvh", replace(turned, skeleton=skeleton))
    for _ in range(2):
        first, second = load(tmp_path / "y.bvh"), load(tmp_path / "z.bvh")
        assert (first.conversion.up, second.conversion.up) == ("y", "z")
        assert first.motion.skeleton is first.character.skeleton
        assert first.character.height > 1.6
        np.testing.assert_allclose(second.motion.root, first.motion.root, atol=1e-6)


def test_extents_are_numpys():
    positions = np.random.default_rng(0).normal(size=(7, 5, 3))
    positions.setflags(write=False)
    lowest, highest = np.empty((2, 7, 3))
    extents(positions, lowest, highest)
    np.testing.assert_array_equal(lowest, positions.min(axis=1))
    np.testing.assert_array_equal(highest, positions.max(axis=1))
