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
