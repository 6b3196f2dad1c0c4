"""Memoise results per skeleton: a collection's clips share a few skeletons, so pose-independent work is done once.

Keys compare by content, to the bit, never by object identity: a skeleton that differs in one length is another key.
"""

from __future__ import annotations

from functools import lru_cache

from footplant.skeleton import Roles, Skeleton

CACHE_SIZE = 32
"""Skeletons whose results are kept."""


class SkeletonKey:
    """A skeleton as a cache key: equal to any with the same names, tree, lengths and rest pose."""

    __slots__ = ("_content", "_hash", "skeleton")

    def __init__(self, skeleton: Skeleton) -> None:
        self.skeleton = skeleton
        """The skeleton itself."""
        arrays = (skeleton.parents, skeleton.offsets, skeleton.rest, skeleton.end_parents, skeleton.end_offsets)
        self._content = (skeleton.names, *(array.tobytes() for array in arrays))
        self._hash = hash(self._content)

    def __hash__(self) -> int:
        """Return the hash of the content."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        return isinstance(other, SkeletonKey) and self._content == other._content


class RolesKey:
    """Roles as a cache key: equal to any with the same joints, confidence, reasons and reference pose."""

    __slots__ = ("_content", "_hash", "roles")

    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        """The roles themselves."""
        tables = (roles.joints, roles.confidence, roles.reasons)
        reference = None if roles.reference is None else roles.reference.tobytes()
        self._content = (*(tuple(table.items()) for table in tables), reference)
        self._hash = hash(self._content)

    def __hash__(self) -> int:
        """Return the hash of the content."""
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        return isinstance(other, RolesKey) and self._content == other._content


def same_skeleton(skeleton: Skeleton) -> Skeleton:
    """Return the first skeleton seen with the same content, whose rest pose is already computed."""
    return _first_skeleton(SkeletonKey(skeleton)).skeleton


def same_roles(roles: Roles) -> Roles:
    """Return the first roles seen with the same content."""
    return _first_roles(RolesKey(roles)).roles


@lru_cache(maxsize=CACHE_SIZE)
def _first_skeleton(key: SkeletonKey) -> SkeletonKey:
    return key


@lru_cache(maxsize=CACHE_SIZE)
def _first_roles(key: RolesKey) -> RolesKey:
    return key
