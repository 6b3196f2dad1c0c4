"""Cached results are keyed by a skeleton's content: equal skeletons share them, any other does not."""

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
    """A copy of a skeleton with new arrays."""
    return replace(skeleton, offsets=np.array(skeleton.offsets), rest=np.array(skeleton.rest), **changed)


def test_equal_content_is_one_key_and_any_difference_is_another():
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


def test_characters_of_one_skeleton_share_nothing_mutable():
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


def test_poses_of_each_clip_still_count(tmp_path):
    """The same skeleton in another file with z up is not mistaken for the cached one with y up."""
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
