"""Group a file's nodes into characters: shared by FBX and glTF."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TypeVar

MAX_JOINTS = 8192
"""Maximum joints of one character."""
MAX_CHARACTERS = 64
"""Maximum characters read from one file: files may contain hundreds of props."""
Group = TypeVar("Group")


def largest(groups: list[Group], size: Callable[[Group], int], notes: list[str]) -> list[Group]:
    """Return the largest MAX_CHARACTERS of the groups, in their original order."""
    if len(groups) <= MAX_CHARACTERS:
        return groups
    notes.append(f"the file has {len(groups)} characters; the {MAX_CHARACTERS} largest were read")
    kept = sorted(range(len(groups)), key=lambda number: -size(groups[number]))[:MAX_CHARACTERS]
    return [groups[number] for number in sorted(kept)]


def topmost(order: Iterable[int], parents: Sequence[int], members: Container[int]) -> dict[int, int]:
    """Return, for each node that is a member or below one, its topmost member ancestor. order: parents first."""
    tops: dict[int, int] = {}
    for node in order:
        above = tops.get(parents[node])
        if above is not None:
            tops[node] = above
        elif node in members:
            tops[node] = node
    return tops


def subtree(children: Sequence[Sequence[int]], top: int) -> list[int]:
    """Return a node and all its descendants, parents first."""
    out, stack = [], [top]
    while stack:
        node = stack.pop()
        out.append(node)
        stack.extend(children[node])
    return out


def first_bone(
    parents: Sequence[int], children: Sequence[Sequence[int]], top: int, bones: Iterable[int], moved: Container[int]
) -> int:
    """Return the root joint of an animated character in the tree below `top`; static nodes above it only place it.

    bones: the nodes that become joints. The search descends from `top` past static nodes while all bones are in one
    branch.
    """
    contains_bones = set(bones)
    for node in reversed(subtree(children, top)):
        if node in contains_bones and node != top:
            contains_bones.add(parents[node])
    while top not in moved:
        branches = [child for child in children[top] if child in contains_bones]
        if len(branches) != 1:
            break
        top = branches[0]
    return top


def note_single(what: str, count: int, notes: list[str]) -> None:
    """Append a note on how many single nodes (or bones) outside the character were skipped."""
    if count:
        notes.append(f"{count} single {what if count == 1 else what + 's'} outside the character skipped")


class DisjointSets:
    """A union-find structure over nodes; each set is identified by one of its nodes, the leader."""

    def __init__(self, nodes: Iterable[int]) -> None:
        self.leaders = {node: node for node in nodes}

    def find(self, node: int) -> int:
        """Return the leader of a node's set, compressing the path to it."""
        while self.leaders[node] != node:
            self.leaders[node] = self.leaders[self.leaders[node]]
            node = self.leaders[node]
        return node

    def join(self, node: int, other: int) -> None:
        """Merge the sets of two nodes; the leader is that of the other's set."""
        self.leaders[self.find(node)] = self.find(other)
