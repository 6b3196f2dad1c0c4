"""What each row, weight and stage of the whole-body solver is worth: each is taken away in turn, on the same pairs.

    python benchmarks/ablation.py --pairs 40 --out build/ablation.json

Rows of the table are variants, columns are figures of `quality.fidelity` (the 90th percentile over pairs; stances over
5 mm are of all stances together); the JSON also has the worst pair. A variant that changes nothing is a number or a
stage that may go.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from footplant.edits import retarget as edit
from footplant.feet import foot_curves, planting
from footplant.solve import _arms as arm_kernel
from footplant.solve import arms, legs
from many_pairs import SHARED, all_pairs, measure_pair
from timing import print_figures

COLUMNS = {
    "stance_over_5mm_pct": "slide",
    "stance_sway_deg": "sway",
    "accel_peak_ratio": "accel",
    "jerk_ratio": "jerk",
    "thigh_median_deg": "thigh",
    "shin_median_deg": "shin",
    "knee_start_extra_deg": "start",
    "knee_straight_extra_deg": "straight",
    "sole_tilt_deg": "tilt",
    "below_floor_mm": "floor",
    "forearm_median_deg": "forearm",
    "arm_in_torso_mm": "in trunk",
    "hands_mm": "hands",
    "limit_worst_deg": "limits",
}
"""Figure → its heading."""


@contextmanager
def patched(module: object, name: str, value: object) -> Iterator[None]:
    """Replace a name of a module for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def leg_setting(**changed: float) -> Callable:
    """A variant with other settings of the legs' objective."""
    return partial(patched, edit, "OTHER_BODY", replace(legs.OTHER_BODY, **changed))


def foot_setting(**changed: float) -> Callable:
    """A variant with other settings of the feet's curves."""
    settings = replace(foot_curves.FOOT_SETTINGS, **changed)
    return partial(patched, planting, "foot_curve", partial(foot_curves.foot_curve, settings=settings))


def arm_setting(**changed: float) -> Callable:
    """A variant with other settings of the arms' stage."""
    settings = replace(arms.ARMS, **changed)
    return partial(patched, edit, "solve_arms", partial(arms.solve_arms, settings=settings))


def _same(first, *_, **__):
    return first


def _no_arms(motion, **_):
    return arms.ArmsResult(motion)


VARIANTS: dict[str, Callable | None] = {
    "unchanged": None,
    "no smoothing of copied limb rotations": partial(patched, edit, "no_rougher", _same),
    "palms resting on the body treated as contacts": partial(patched, edit, "without_idle_palms", _same),
    "steps not widened with the hips": partial(patched, edit, "hip_width", lambda _: 0.0),
    "ball contacts not moved to the toe tips": partial(patched, edit, "with_toe_tips", _same),
    "toe rotations as copied": partial(patched, planting, "flatten_toes", _same),
    "toe tips may penetrate the ground": partial(patched, planting, "lift_toe_tips", _same),
    "planned distance of heel and ball kept": partial(patched, planting, "_as_long_as_the_foot", _same),
    "no balance, no flight": partial(patched, edit, "_physics", lambda *_: None),
    "legs do not push each other apart": leg_setting(legs_push=legs.LEG_SETTINGS.legs_push),
    "pelvis does not rotate": leg_setting(turn=1e6),
    "pelvis rotation costs a tenth": leg_setting(turn=0.1),
    "trunk does not pitch": leg_setting(pitch=1e6),
    "legs do not swivel": leg_setting(swivel=1e6),
    "hip displacement costs nothing": leg_setting(hips=1e-6),
    "hip displacement costs ten times as much": leg_setting(hips=0.2),
    "knee flexion costs a tenth": leg_setting(knee=0.02),
    "knee flexion costs ten times as much": leg_setting(knee=2.0),
    "time constant of the hips doubled": leg_setting(hips_time=0.16),
    "time constant of the ankles doubled": leg_setting(ankle_time=0.12),
    "time constant of the knees doubled": leg_setting(knee_time=0.1),
    "no minimum time constant in frames": leg_setting(least_frames=0.0, least_knee_frames=0.0),
    "knee slope never a secant": leg_setting(far=math.pi),
    "knee slope down to 2° of flexion": leg_setting(steep=math.radians(2.0)),
    "minimum knee flexion of 5°": leg_setting(least_flexion=math.radians(5.0)),
    "at most eight steps": leg_setting(steps=8),
    "knee slopes updated in every step": leg_setting(slope_steps=20),
    "hyperextended knees straightened without easing": leg_setting(softness=math.radians(0.1)),
    "leg plane from the hinge axis only": leg_setting(own_plane=(math.radians(170.0), math.radians(175.0))),
    "leg plane from the leg's own pose only": leg_setting(own_plane=(math.radians(0.0), math.radians(0.5))),
    "planted hands up to full reach": leg_setting(arm_reach=1.0),
    "feet keep their roll": foot_setting(most_roll=0.0),
    "time constant of foot rotation halved": foot_setting(turn_time=0.03),
    "free end of a pivoting foot may penetrate": foot_setting(rounds=0),
    "no residual penetration allowed": foot_setting(depth=0.0),
    "penetrating plants released without easing": foot_setting(settle=0.0),
    "limits of ankles and hip joints pushed a third as hard": leg_setting(push=legs.OTHER_BODY.push / 3.0),
    "limits of arms cost a tenth": arm_setting(limit=0.1 * arms.ARMS.limit),
    "hands do not turn at the wrist": partial(patched, arm_kernel, "WITH_HANDS", arm_kernel.UNKNOWNS),
    "no arm stage": partial(patched, edit, "solve_arms", _no_arms),
}


def measure(pairs: list[tuple[str, str]], data: Path, frames: int | None) -> dict[str, float]:
    """The columns of one variant."""
    rows = [row for row in (measure_pair(*pair, data, frames) for pair in pairs) if "figures" in row]
    found = {"pairs": float(len(rows))}
    for name in COLUMNS:
        values = [row["figures"][name] for row in rows if name in row["figures"]]
        found[name] = float(np.percentile(values, 90)) if values else math.nan
        found[f"{name} worst"] = max(values, default=math.nan)
    stances = sum(row["stances"] for row in rows)
    slides = sum(row["figures"].get("stance_over_5mm_pct", 0.0) * row["stances"] for row in rows)
    found["stance_over_5mm_pct"] = slides / max(stances, 1)
    return found


def main() -> None:
    """Print the table; write it as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=40, help="how many pairs are measured")
    parser.add_argument("--seed", type=int, default=1, help="which sample of all pairs is taken")
    parser.add_argument("--data", type=Path, default=SHARED, help="where clips and characters are")
    parser.add_argument("--frames", type=int, help="frames of each clip (default: all)")
    parser.add_argument("--only", default="", help="variants whose name contains one of these, with commas between")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    arguments = parser.parse_args()
    pairs = all_pairs(arguments.data)
    pairs = random.Random(arguments.seed).sample(pairs, min(arguments.pairs, len(pairs)))
    if not arguments.json:
        print(f"{'variant':<52}" + "".join(f"{heading:>9}" for heading in COLUMNS.values()))
    table = {}
    for name, variant in VARIANTS.items():
        if not any(word in name for word in arguments.only.split(",")):
            continue
        if variant is None:
            table[name] = measure(pairs, arguments.data, arguments.frames)
        else:
            with variant():
                table[name] = measure(pairs, arguments.data, arguments.frames)
        if not arguments.json:
            print(f"{name:<52}" + "".join(f"{table[name][figure]:9.2f}" for figure in COLUMNS), flush=True)
    if arguments.json:
        print_figures(
            {f"{name}, {figure}": value for name, row in table.items() for figure, value in row.items()}, as_json=True
        )
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(table, indent=1) + "\n")
    idle = (
        [name for name in list(table)[1:] if str(table[name]) == str(table["unchanged"])]
        if "unchanged" in table
        else []
    )
    if len(idle) > len(table) / 2:
        raise SystemExit(f"{len(idle)} of {len(table)} rows equal the first: does retargeting use what they change?")


if __name__ == "__main__":
    sys.exit(main())
