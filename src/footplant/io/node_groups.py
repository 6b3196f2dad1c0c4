"""Nodes of a file gathered into figures: what FBX and glTF have in common."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import TypeVar

MOST_JOINTS = 8192
"""Joints that one figure may have."""
MOST_FIGURES = 64
"""Figures of one file that are read; a crowd of props is no crowd of people."""
Group = TypeVar("Group")


def largest(groups: list[Group], size: Callable[[Group], int], notes: list[str]) -> list[Group]:
    """At most MOST_FIGURES of the groups, the largest, in their order."""
    if len(groups) <= MOST_FIGURES:
        return groups
    notes.append(f"the file has {len(groups)} figures; the {MOST_FIGURES} largest were read")
    kept = sorted(range(len(groups)), key=lambda number: -size(groups[number]))[:MOST_FIGURES]
    return [groups[number] for number in sorted(kept)]


def topmost(order: Iterable[int], parents: Sequence[int], members: Container[int]) -> dict[int, int]:
    """Each node that is a member or below one → its topmost ancestor that is a member. order: parents first."""
    tops: dict[int, int] = {}
    for node in order:
        above = tops.get(parents[node])
        if above is not None:
            tops[node] = above
        elif node in members:
            tops[node] = node
    return tops


def subtree(children: Sequence[Sequence[int]], top: int) -> list[int]:
    """A node and everything below it, parents first."""
    out, stack = [], [top]
    while stack:
        node = stack.pop()
        out.append(node)
        stack.extend(children[node])
    return out


def first_bone(
    parents: Sequence[int], children: Sequence[Sequence[int]], top: int, bones: Iterable[int], moved: Container[int]
) -> int:
    """Where a moving figure of the tree below a node begins: nodes on top that stay only say where it stands.

    bones: the nodes that are to be joints; a node that stays and has one of them below it alone is passed.
    """
    holds = set(bones)
    for node in reversed(subtree(children, top)):
        if node in holds and node != top:
            holds.add(parents[node])
    while top not in moved:
        branches = [child for child in children[top] if child in holds]
        if len(branches) != 1:
            break
        top = branches[0]
    return top


def note_alone(what: str, count: int, notes: list[str]) -> None:
    """Say how many nodes (or bones) stand alone beside a figure and were left out."""
    if count:
        notes.append(f"{count} single {what if count == 1 else what + 's'} beside the figure not read")


class Union:
    """Nodes that are joined into groups, each known by one of its nodes."""

    def __init__(self, nodes: Iterable[int]) -> None:
        self.leaders = {node: node for node in nodes}

    def find(self, node: int) -> int:
        """The node by which a node's group is known."""
        while self.leaders[node] != node:
            self.leaders[node] = self.leaders[self.leaders[node]]
            node = self.leaders[node]
        return node

    def join(self, node: int, other: int) -> None:
        """Make two nodes' groups one, known as the other's was."""
        self.leaders[self.find(node)] = self.find(other)
