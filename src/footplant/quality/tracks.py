"""Trajectories of a character's contact points over a motion, computed once for all measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.detection import FEET, HANDS, TOES, Contacts
from footplant.contacts.ground import Ground
from footplant.kinematics import Kinematics
from footplant.skeleton import Character


@dataclass(frozen=True, eq=False)
class Tracks:
    """Trajectories of the contact points of a character."""

    names: tuple[str, ...]
    """Names of all contact points: left_heel …"""
    places: NDArray
    """(F, N, 3) metres, world."""
    heights: NDArray
    """(F, N) metres above the ground."""

    @classmethod
    def of(cls, kinematics: Kinematics, character: Character, ground: Ground) -> Tracks:
        """Evaluate all contact points of a character."""
        names = tuple(character.contacts)
        places = kinematics.points(list(character.contacts.values()))
        return cls(names, places, places[..., 1] - ground.height(places[..., ::2]))

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the columns of those names that exist, in the order given."""
        return [self.names.index(name) for name in names if name in self.names]

    @property
    def depths(self) -> NDArray:
        """(F,) metres; penetration of the deepest point of feet and palms."""
        return np.maximum(-self.heights[:, self.columns(FEET + TOES + HANDS)], 0.0).max(axis=1)

    def stance(self, contacts: Contacts) -> NDArray:
        """Return (F, N) bool: planted or not, cut or padded where the motion is shorter or longer than `contacts`."""
        stance = np.zeros(self.heights.shape, bool)
        for plant in contacts.plants:
            if plant.point in self.names:
                stance[plant.start : min(plant.end, contacts.frames), self.names.index(plant.point)] = True
        return stance
