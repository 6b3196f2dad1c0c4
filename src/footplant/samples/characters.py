"""The characters of the papers, all derived from the mannequin: `load_character(name)`."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from footplant import humanoid
from footplant.errors import SkeletonError
from footplant.humanoid.proportions import Proportions, apply_proportions
from footplant.samples import mannequin, mesh
from footplant.skeleton import Character
from footplant.skinning import vertex_normals

PROPORTIONS: dict[str, Proportions] = {
    # an adult of 1.75 m
    "mannequin": Proportions(),
    # 60 % of the size, the same shape: the target of Gleicher's walks (2001, sections 4.2.1 and 5.1.2)
    "short": Proportions(scale=0.6),
    # "long tall Sally" of Shin 2002, chapter 7: long limbs, tall and thin
    "sally": Proportions(
        legs=1.32, arms=1.28, trunk=1.06, neck=1.35, head=0.96, shoulders=0.88, hips=0.9, feet=1.04, hands=1.08,
        girth=0.76, limb_girth=0.76,
    ),
    # "Blubby" of the same chapter: a ball with very short legs and short arms
    "blubby": Proportions(
        legs=0.42, arms=0.6, trunk=0.86, neck=0.6, head=1.05, shoulders=1.42, hips=1.4, feet=1.05, hands=1.0,
        limb_girth=1.2,
    ),
    # long legs on a short body: the character of Gleicher 1998 and of Lee and Shin 1999
    "longlegs": Proportions(legs=1.35, trunk=0.68, arms=0.9, neck=0.9, shoulders=0.92, girth=0.9, limb_girth=0.95),
    # about six years old: a big head, short limbs
    "child": Proportions(
        scale=0.68, head=1.32, neck=0.8, legs=0.88, arms=0.9, shoulders=0.92, hips=0.95, girth=1.02, limb_girth=1.05
    ),
}  # fmt: skip
"""Proportions of each character relative to the mannequin."""

NAMES: tuple[str, ...] = tuple(PROPORTIONS)
"""Every sample character, by the name after "sample:"."""


@cache
def load_character(name: str) -> Character:
    """Return the sample character of that name, with roles, contact points, masses, limits, height and skin."""
    if name not in PROPORTIONS:
        raise SkeletonError(f"expected a sample character among {', '.join(NAMES)}; got {name!r}")
    skeleton = mannequin.skeleton()
    skin = mesh.build_skin(skeleton, ball=name == "blubby")
    character = humanoid.make_character(skeleton, mannequin.roles(skeleton), name=name, skin=skin)
    character = replace(character, contacts=mannequin.contact_points(skeleton))
    character = apply_proportions(character, PROPORTIONS[name])
    assert character.skin is not None
    normals = vertex_normals(character.skin.vertices, character.skin.faces)
    return replace(character, skin=replace(character.skin, normals=normals))
