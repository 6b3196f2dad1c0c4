"""Where the contact points of a figure are over a motion, found once for all who judge them."""

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
    """The contact points of a figure over a motion."""

    names: tuple[str, ...]
    """Of all points of the figure: left_heel …"""
    places: NDArray
    """(F, N, 3) metres, world."""
    heights: NDArray
    """(F, N) metres over the ground."""

    @classmethod
    def of(cls, kinematics: Kinematics, character: Character, ground: Ground) -> Tracks:
        """All contact points of a character."""
        names = tuple(character.contacts)
        places = kinematics.points(list(character.contacts.values()))
        return cls(names, places, places[..., 1] - ground.height(places[..., ::2]))

    def columns(self, names: Sequence[str]) -> list[int]:
        """The points of these names, as many of them as there are, in the order of the names."""
        return [self.names.index(name) for name in names if name in self.names]

    @property
    def depths(self) -> NDArray:
        """(F,) metres; how deep the deepest point of feet and palms is below the ground."""
        return np.maximum(-self.heights[:, self.columns(FEET + TOES + HANDS)], 0.0).max(axis=1)

    def stance(self, contacts: Contacts) -> NDArray:
        """(F, N) planted or not, cut or padded to a motion that is shorter or longer than the contacts' own."""
        stance = np.zeros(self.heights.shape, bool)
        for plant in contacts.plants:
            if plant.point in self.names:
                stance[plant.start : min(plant.end, contacts.frames), self.names.index(plant.point)] = True
        return stance
