"""The figures of the papers, all built from the mannequin: `load_character(name)`."""

from __future__ import annotations

from dataclasses import replace

from footplant import humanoid
from footplant.errors import SkeletonError
from footplant.samples import mannequin, mesh
from footplant.skeleton import Character

NAMES: tuple[str, ...] = ("mannequin",)
"""Every character of the samples, by the name after "sample:"."""


def load_character(name: str) -> Character:
    """The sample character of that name, with roles, contact points, masses, limits and height."""
    if name not in NAMES:
        raise SkeletonError(f"expected a sample character among {', '.join(NAMES)}; got {name!r}")
    skeleton = mannequin.skeleton()
    roles = mannequin.roles(skeleton)
    contacts = mannequin.contact_points(skeleton)
    skin = mesh.build_skin(skeleton)
    if not hasattr(humanoid, "make_character"):
        return Character(skeleton, name, roles, contacts, skin=skin, height=1.75)
    return replace(humanoid.make_character(skeleton, roles, name=name, skin=skin), contacts=contacts)
