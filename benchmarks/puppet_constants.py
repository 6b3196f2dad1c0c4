"""What each tuning number of computer puppetry does: half and twice of it, on samples and recorded clips.

Numbers near 1 (shares of a limb's length, multiples of an acceleration) are halved and doubled in their distance from
1. Printed, for Sally and Blubby together: the largest change that either makes to a figure of any clip. Where that is
within `NOTHING`, the number moves nothing there.
`python benchmarks/puppet_constants.py [--only NAME …]` prints a row of the table in docs/puppetry.md each.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from footplant import samples
from footplant.clip import Clip
from footplant.contacts.importance import PerformanceScene
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine
from footplant.solve.ik.settings import PUPPET, PuppetSettings
from footplant.transfer import transfer
from puppet_measures import DATA, TARGETS, acceleration, depth, drift, feet, free_arms, pushed_arms, real_clip
from puppet_touches import MATTERS, ON_BODY, leg_depth, palms_of, tube_distances
from timing import print_figures

CLIPS = (
    "sample:walk", "sample:run", "sample:turn-left", "sample:jump", "sample:kick", "sample:reach", "sample:clap",
    "sample:waist", "35_01", "49_06", "05_02", "111_03", "69_70", "141_28",
)  # fmt: skip
LONGEST = 480
"""Frames of a recorded clip that are played."""
NEAR_ONE = (0.6, 1.5)
"""Numbers between these are shares or multiples: their distance from 1 is halved and doubled."""
FIGURES = ("drift, mm", "acceleration, ×", "in the body, mm", "free arms, °", "touch, mm", "legs, mm")
NOTHING = (0.05, 0.005, 0.2, 0.05, 0.1, 0.2)
"""Changes of `FIGURES` that count as none."""


@dataclass(frozen=True, eq=False)
class Case:
    """A clip on a character, and what does not depend on the settings."""

    clip: Clip
    target: Character
    scene: PerformanceScene | None
    intervals: dict[str, list[tuple[int, int]]]
    copied: Motion
    pushed: NDArray
    there: NDArray
    """(F, 2, S) metres of the performer's palms from its own skin."""
    legs: NDArray
    """(F,) metres that the performer's legs are in each other."""

    @classmethod
    def of(cls, name: str, who: str) -> Case:
        """Measure the performer."""
        if name.startswith("sample:"):
            name = name.removeprefix("sample:")
            clip, scene, intervals = samples.load(name), None, samples.make(name).contacts
        else:
            clip, scene, intervals = real_clip(DATA / f"{name}.bvh")
            clip = replace(clip, motion=clip.motion[:LONGEST])
            intervals = {p: [(a, min(b, LONGEST)) for a, b in s if a < LONGEST] for p, s in intervals.items()}
        target, own = samples.load_character(who), Kinematics(clip.motion)
        copied = transfer(clip.motion, clip.character, target)
        return cls(
            clip, target, scene, intervals, copied, pushed_arms(PuppetEngine(clip.character, target, scene), copied),
            tube_distances(clip.character, own, palms_of(clip.character, own)),
            np.maximum(leg_depth(clip.character, own), 0.0),
        )  # fmt: skip

    def figures(self, settings: PuppetSettings) -> NDArray:
        """`FIGURES` with some settings."""
        engine = PuppetEngine(self.clip.character, self.target, self.scene, settings=settings)
        found = engine.play(self.clip.motion)
        ours, size = Kinematics(found.motion), engine.stage.size
        here = tube_distances(self.target, ours, palms_of(self.target, ours))
        gaps = [0.0]
        for arm in range(2):
            best = found.body[:, arm].argmax(axis=1)
            rows = np.arange(len(best))
            there = self.there[rows, arm, best]
            on = (found.body[rows, arm, best] > MATTERS) & (there <= ON_BODY * self.clip.character.height)
            gaps += [float(np.median(np.abs(here[rows, arm, best] - size * np.maximum(there, 0.0))[on]))] * bool(
                on.any()
            )
        return np.array([
            1e3 * drift(self.intervals, found, feet(ours, self.target)),
            acceleration(ours, Kinematics(self.copied), self.clip.motion.fps),
            1e3 * max(depth(self.target, ours), 0.0),
            free_arms(engine, found, self.copied, self.pushed)[0],
            1e3 * max(gaps),
            1e3 * float(np.maximum(leg_depth(self.target, ours) - size * self.legs, 0.0).max()),
        ])  # fmt: skip


def changed(value: float, factor: float) -> float:
    """A number, halved or doubled, or its distance from 1."""
    if NEAR_ONE[0] < value < NEAR_ONE[1] and value != 1.0:
        return 1.0 + factor * (value - 1.0)
    return factor * value


def run(only: list[str] | None = None) -> dict[str, float]:
    """The largest change of each figure by half and by twice of each number; prints the table."""
    cases = [Case.of(name, who) for name in CLIPS for who in TARGETS]
    usual = np.array([case.figures(PUPPET) for case in cases])
    figures = {f"constants.worst.{name}": float(worst) for name, worst in zip(FIGURES, usual.max(axis=0), strict=True)}
    print(f"| number | value | tried | {' | '.join(FIGURES)} |\n|" + "---|" * (3 + len(FIGURES)), file=sys.stderr)
    for group in fields(PUPPET):
        numbers = getattr(PUPPET, group.name)
        for field in fields(numbers):
            if only is not None and field.name not in only:
                continue
            value = getattr(numbers, field.name)
            tried = [changed(value, factor) for factor in (0.5, 2.0)]
            with_it = [replace(PUPPET, **{group.name: replace(numbers, **{field.name: each})}) for each in tried]
            moved = np.array([[case.figures(each) for case in cases] for each in with_it]) - usual
            # with its sign
            most = np.take_along_axis(moved, np.abs(moved).argmax(axis=1, keepdims=True), axis=1)[:, 0]
            cells = [
                ", ".join("0" if abs(each) <= least else f"{each:+.2g}" for each in most[:, n])
                for n, least in enumerate(NOTHING)
            ]
            said = ", ".join(f"{each:.4g}" for each in tried)
            name = f"{group.name}.{field.name}"
            print(f"| `{name}` | {value:g} | {said} | {' | '.join(cells)} |", file=sys.stderr, flush=True)
            for what, column in zip(FIGURES, most.T, strict=True):
                figures[f"constants.{name}.{what}"] = float(np.abs(column).max())
    return figures


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some numbers only")
    arguments = parser.parse_args()
    print_figures(run(arguments.only), as_json=arguments.json)


if __name__ == "__main__":
    main()
