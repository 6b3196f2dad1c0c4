"""A skeleton becomes a character: its height, contact points, masses and limits."""

from __future__ import annotations

from typing import Any

from footplant.humanoid.measure import standing_height
from footplant.skeleton import Character, Roles, Skeleton, Skin


def make_character(
    skeleton: Skeleton, roles: Roles | None, *, name: str, skin: Skin | None = None, source: Any = None
) -> Character:
    """A character from a skeleton in metres and y up; without roles it only has its skeleton, skin and name."""
    if roles is None:
        return Character(skeleton, name=name, skin=skin, source=source)
    return Character(
        skeleton, name=name, roles=roles, skin=skin, source=source, height=standing_height(skeleton, roles)
    )
