"""Run the experiments of the five works and print one table for each: the paper's figure, ours, and what is claimed.

"Same work" asks whether the task is the paper's with the paper's own counts (frames, constraints, iterations, clips).
Motions and characters are ours throughout, as theirs are not published; machines differ by decades, so times are only
claimed as bounds. The claim is the bound of `baseline.json`, which `benchmarks/run.py --gate` enforces. What cannot be
run, or is other work, is a "no" with the reason.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from timing import print_figures

BASELINE = Path(__file__).resolve().parents[1] / "baseline.json"


class Item(NamedTuple):
    """One line of a table."""

    item: str
    paper: str
    figure: str | None
    """The name of our figure; None: it is not run."""
    unit: str = ""
    no: str = ""
    """Why it is not the same work; empty: it is."""


WORKS: dict[str, tuple[str, tuple[Item, ...]]] = {
    "lee_shin": (
        "Lee & Shin 1999, Table 1 (SGI, 195 MHz)",
        (
            Item("terrain: scalar constraints on 464 frames", "5568", "lee_shin.terrain.scalar_constraints"),
            Item("terrain: error after four levels", "1.0", "lee_shin.terrain.level_4.error_percent", "%"),
            Item("terrain: time of four levels", "about 6", "lee_shin.terrain.seconds", "s"),
            Item("rope: scalar constraints on 275 frames", "5898", "lee_shin.rope.scalar_constraints"),
            Item("rope: error after four levels", "1.11", "lee_shin.rope.level_4.error_percent", "%"),
            Item("morphing: scalar constraints on 62 frames", "420", "lee_shin.morph.scalar_constraints"),
            Item("morphing: error after four levels", "about 1", "lee_shin.morph.level_4.error_percent", "%"),
            Item("transition: scalar constraints on 119 frames", "834", "lee_shin.transition.scalar_constraints"),
            Item("transition: error after four levels", "below 1", "lee_shin.transition.level_4.error_percent", "%"),
            Item(
                "hybrid against numerical IK", "much faster", "lee_shin.terrain.hybrid_times_faster_than_numeric", "×"
            ),
            Item(
                "figure 5c: a physically simulated rope",
                "a picture",
                None,
                no="Our rope is a line; nothing is simulated.",
            ),
        ),
    ),
    "gleicher": (
        "Gleicher 2001 (Pentium III, 550 and 866 MHz)",
        (
            Item("figures 1 and 2: gained in a pass", "30 %", "gleicher.particle.gained_in_a_pass"),
            Item(
                "figures 3 and 4: change of the wave away from it",
                "none",
                "gleicher.particle.change_of_the_wave_far_away",
            ),
            Item("figure 7: left with decreasing kernels", "small", "gleicher.particle.left_with_decreasing_kernels"),
            Item("catwalk: scalar constraints on 183 frames", "954", "gleicher.catwalk.scalar_constraints"),
            Item(
                "catwalk: spacetime, free plants, total error",
                "below 2",
                "gleicher.catwalk.spacetime.total_error_cm",
                "cm",
            ),
            Item("catwalk: spacetime, free plants, time", "below 0.5", "gleicher.catwalk.spacetime.seconds", "s"),
            Item(
                "catwalk: five passes of filtering, total error",
                "about 6",
                "gleicher.catwalk.filtered.pass_5.total_error_cm",
                "cm",
            ),
            Item("catwalk: five passes of filtering, worst error", "a few", "gleicher.catwalk.filtered.worst_mm", "mm"),
            Item(
                "3.5 (Gleicher 1997): a step of dragging in 60 frames",
                "interactive",
                "gleicher.drag.step_median_ms",
                "ms",
            ),
            Item("figure 13: scalar constraints on 13,350 frames", "73350", "gleicher.fig13.13350.scalar_constraints"),
            Item(
                "figure 13: four passes of filtering, 13,350 frames",
                "29.8",
                "gleicher.fig13.paper_filtered.13350.seconds",
                "s",
            ),
            Item(
                "figure 13: spacetime, 12,460 or 13,350 frames",
                "244, 877",
                "gleicher.fig13.paper_spacetime.13350.seconds",
                "s",
            ),
            Item("figure 14: filtering, 15 times the frames", "18.6", "gleicher.fig13.paper_filtered.time_ratio", "×"),
            Item(
                "figure 14: three iterations, 15 times the frames",
                "linear",
                "gleicher.fig13.paper_spacetime_3.time_ratio",
                "×",
            ),
            Item(
                "figure 14: error of three iterations over filtering",
                "comparable",
                "gleicher.fig14.error_of_three_iterations_over_filtering",
                "×",
            ),
            Item(
                "figure 11: a leap on a cartoon ant",
                "pictures",
                None,
                no="There is neither the leap nor the ant; retarget_table.md has other pairs.",
            ),
        ),
    ),
    "kulpa": (
        "Kulpa, Multon & Arnaldi 2005, sections 10 and 11 (Pentium 4, 2.8 GHz)",
        (
            Item("the fight: characters", "8", "kulpa.fight.characters"),
            Item("the fight: worst of twelve contacts", "a contact", "kulpa.fight.worst_contact_mm", "mm"),
            Item("the fight: worst dodge", "avoided", "kulpa.fight.worst_dodge_mm", "mm"),
            Item("the fight: a frame of eight characters", "33, drawn", "kulpa.fight.ms_a_frame_of_8", "ms"),
            Item("two wrists out of reach: a frame of 22 characters", "33", "kulpa.unreachable.ms_a_frame_of_22", "ms"),
            Item("figure 13b: wrist and elbow in reach", "met", "kulpa.fig13.worst_of_both_mm", "mm"),
            Item("figure 13c: the wrist, where only it can", "met", "kulpa.fig13.wrist_where_only_it_can_mm", "mm"),
            Item("figure 6: wrists above the table, deepest", "above", "kulpa.fig6.deepest_wrist_mm", "mm"),
            Item("equation 2: same lengths give the motion back", "no loss", "kulpa.equation_2.same_lengths_mm", "mm"),
            Item(
                "section 11: palms of a handstand, root by arms and trunk",
                "future work",
                "kulpa.handstand.palms_off_the_floor_by_arms_and_trunk_mm",
                "mm",
            ),
        ),
    ),
    "macleod": (
        "Macleod 2006, chapters 1 and 3 (words and pictures, no figures)",
        (
            Item("3.1: curves of six motions with one reference", "n − 1", "macleod.registration.curves"),
            Item("3.1: foot strikes after registration", "leg matched", "macleod.registration.worst_strike_ms", "ms"),
            Item("3.1: least slope of a time warp", "above 0", "macleod.registration.least_slope"),
            Item(
                "3.2: sweep of weights, worst drift of a planted foot", "not held", "macleod.sweep.worst_drift_mm", "mm"
            ),
            Item("3.2: opposite turns, way of the blend over theirs", "no collapse", "macleod.turns.travelled_share"),
            Item(
                "3.3 and 4.1: turn in a frame over the clips' own, 200 requests",
                "a known bug",
                "macleod.state_machine.turn_in_a_frame_over_the_clips",
                "×",
            ),
            Item(
                "figure 5: radius left after a twist of 180°, linear", "collapses", "macleod.twist.radius_left_linear"
            ),
            Item(
                "figure 5: the same by dual quaternions",
                "(not there)",
                "macleod.twist.radius_left_dual_quaternion",
                no="The thesis blends vertices linearly; dual quaternions are later work.",
            ),
        ),
    ),
    "shin": (
        "Shin 2002, Tables 7.1 and 7.2 (Pentium 4, 1.7 GHz)",
        (
            Item("clips", "61", "shin.clips"),
            Item("frames", "9692", "shin.frames"),
            Item("7.1: Blubby, iterations without the estimate", "15634", "shin.all.blubby.iterations_without"),
            Item("7.1: Blubby, share of them left with it", "0.0005", "shin.all.blubby.share_left"),
            Item("7.1: Sally, iterations without the estimate", "429", "shin.all.sally.iterations_without"),
            Item("7.1: Sally, iterations with it", "0", "shin.all.sally.iterations_with"),
            Item("7.2: Blubby, time of a frame", "1680", "shin.all.blubby.microseconds_a_frame", "µs"),
            Item("7.2: Sally, time of a frame", "1410", "shin.all.sally.microseconds_a_frame", "µs"),
            Item(
                "7.1 and 7.2: the handstand",
                "266, 38; 1.7 ms",
                None,
                no="There is no recording of a handstand; a cartwheel and a back-flip are among the clips.",
            ),
        ),
    ),
}
"""Benchmark → its title and its items."""


def claim(bounds: Mapping[str, float]) -> str:
    """What the gate asks of a figure."""
    least, most = bounds.get("at_least"), bounds.get("at_most")
    if least is not None and least == most:
        return f"{least:g}"
    words = [f"≥ {least:g}"] if least is not None else []
    words += [f"≤ {most:g}"] if most is not None else []
    return " and ".join(words) or f"usually {bounds['usual']:g}"


def table(name: str, figures: Mapping[str, float], baseline: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The table of one work."""
    title, items = WORKS[name]
    rows = [("item", "paper", "ours", "claim", "same work")]
    for item, paper, figure, unit, no in items:
        ours = "not run" if figure is None else f"{figures[figure]:.4g} {unit}".strip()
        asked = "" if figure is None else claim(baseline[f"papers/{name}"][figure])
        rows.append(
            (
                item,
                f"{paper} {unit}".strip() if paper[0].isdigit() else paper,
                ours,
                asked,
                f"no: {no}" if no else "yes",
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[4]]) for row in rows]
    return "\n".join([title, *lines, ""])


def main() -> int:
    """Run the works that are asked for; print their tables, or with --json all figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of named figures")
    parser.add_argument("--only", nargs="+", choices=sorted(WORKS), metavar="WORK", help="only these works")
    arguments = parser.parse_args()
    import run as gate

    baseline, everything, failed = json.loads(BASELINE.read_text()), {}, []
    for name in arguments.only or WORKS:
        figures, reason = gate.measured(f"papers/{name}")
        everything |= figures
        failed += [f"{name}: {reason}"] if reason else gate.failures(f"papers/{name}", figures, baseline)
        if not reason and not arguments.json:
            print(table(name, figures, baseline), flush=True)
    if arguments.json:
        print_figures(everything, as_json=True)
    else:
        ran = [item for _, items in WORKS.values() for item in items if item.figure is not None]
        same = sum(not item.no for item in ran)
        print(f"same work: {same} of {len(ran)} that are run")
    for sentence in failed:
        print(sentence, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
