"""Simulated network faults: loss, delay, jitter, reordering, duplicates; and sensor noise."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from footplant import rotation
from footplant.errors import MotionError
from footplant.motion import Motion


@dataclass(frozen=True)
class Faults:
    """A bad network. Everything is drawn from a seeded generator: two runs are identical."""

    loss: float = 0.0
    """Fraction of datagrams lost."""
    delay: float = 0.0
    """Seconds of latency."""
    jitter: float = 0.0
    """Standard deviation of the latency, seconds. Order is kept unless `reorder` is set."""
    reorder: float = 0.0
    """Fraction of datagrams that are overtaken by later ones."""
    duplicate: float = 0.0
    """Fraction of datagrams that arrive twice."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("loss", "reorder", "duplicate"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise MotionError(f"expected a share from 0 to 1 for {name}, got {getattr(self, name)}")
        for name in ("delay", "jitter"):
            if not 0.0 <= getattr(self, name) <= 60.0:
                raise MotionError(f"expected 0 to 60 seconds of {name}, got {getattr(self, name)}")

    def apply(self, schedule: Iterable[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
        """Return the datagrams as they arrive: (seconds, bytes), in the order of arrival."""
        random = np.random.default_rng(self.seed)
        waiting: list[tuple[float, int, bytes]] = []
        number, last = 0, 0.0
        for sent, data in schedule:
            # later ones cannot arrive before they are sent: release everything due by now
            while waiting and waiting[0][0] <= sent:
                when, _, earlier = heapq.heappop(waiting)
                yield when, earlier
            draws = random.random(3)
            wait = self.delay + abs(random.normal(scale=self.jitter) if self.jitter else 0.0)
            if draws[0] < self.loss:
                continue
            arrival = max(sent + wait, last)
            if draws[1] < self.reorder:
                arrival += 0.03
            else:
                last = arrival
            copies = 2 if draws[2] < self.duplicate else 1
            for copy in range(copies):
                heapq.heappush(waiting, (arrival + 0.0005 * copy, number, data))
                number += 1
        while waiting:
            when, _, data = heapq.heappop(waiting)
            yield when, data


def with_noise(motion: Motion, millimetres: float, degrees: float, seed: int = 0) -> Motion:
    """Return a motion with white noise on root and joints: standard deviations per axis of every frame."""
    random = np.random.default_rng(seed)
    root = motion.root + random.normal(scale=millimetres / 1000.0, size=motion.root.shape)
    shake = random.normal(scale=np.radians(degrees), size=(*motion.rotations.shape[:2], 3))
    rotations = rotation.normalize(rotation.multiply(motion.rotations, rotation.exp(shake)))
    return Motion(motion.skeleton, root, rotations, motion.fps, motion.offsets)
