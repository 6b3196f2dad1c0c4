"""Contact detection against what a person sees: feet that stand still in captured clips, without any retargeting.

`python benchmarks/stances.py --json now.json` takes the human clips of ../shared/data at their own rate and at 30 fps,
finds the still feet that carry the body with the judge's own functions (--judge), and prints

- covered: share of these stances whose frames are all planted but for at most one at either end; ≥ 90 %: share of those
  with nine in ten frames planted; missed: share of those without a planted frame; split: share of those in which the
  place of the plant changes by more than 5 mm; and the same of the plain ones, in which a sole point of that foot is
  still, too, and as low as soles get around there (not so in pirouettes, or for feet that are held still in the air);
- moving: share of our planted frames whose point drifts by more than 20 mm in its plant, or is faster than 0.25 m/s;
  in the air: share of planted frames in plants that, by the judge, carry nothing (lengths of a body of 1.7 m);
- the F1 scores of heels and of balls on the samples, whose contacts are known, clean and with 5 mm of noise.

Every second clip is held out: nothing is tuned on it. `--against before.json` prints an earlier run beside this one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import footplant
from footplant import Kinematics, samples
from footplant.clip import Clip
from footplant.contacts.detection import FEET, Contacts, contacts_of_points, find_contacts
from footplant.contacts.stillness import lead_in_frames
from footplant.errors import FootplantError

SHARED = Path(__file__).resolve().parents[2] / "shared"
MOTIONS = (
    "bvh/*/*.bvh", "asf_amc/*.amc", "fbx/*.fbx", "gltf/*.glb", "vrma/*.vrma", "smpl_npz/*.npz",
    "deepmimic/humanoid3d_*.txt",
)  # fmt: skip
NEEDED = ("hips", "head", "left_foot", "right_foot", "left_upper_leg", "right_upper_leg")
DRIFT, SPEED, CHANGE = 0.020, 0.25, 0.005
PLAIN, LOW, AROUND = 0.012, 0.06, 0.5
"""Metres and metres per second of a body of 1.7 m."""
SHORTEST = 0.5
"""Seconds; a shorter clip is a pose."""


def judge_of(folder: Path) -> ModuleType:
    """Import the judge; its figures of the skin, which need libigl, are not used."""
    sys.modules.setdefault("igl", ModuleType("igl"))
    sys.path.insert(0, str(folder))
    return import_module("judge")


@dataclass(frozen=True, eq=False)
class Case:
    """A clip, scaled to a body of 1.7 m by the judge's measure, and what stands still in it."""

    name: str
    contacts: Contacts
    points: np.ndarray
    """(F, P, 3) metres; the contact points, in the order of `contacts.points`."""
    pair: Any
    """The judge's view of the clip."""
    stances: list
    """Stances of the judge that carry the body."""
    heights: dict


def human_clips(data: Path, words: list[str]) -> Iterator[tuple[str, Clip]]:
    """Yield the clips of people, by name; with `words` those whose names hold one of them."""
    for path in [path for pattern in MOTIONS for path in sorted(data.glob(pattern))]:
        if words and not any(word in str(path) for word in words):
            continue
        try:
            clip = footplant.load(path)
        except FootplantError:
            continue
        roles = clip.character.roles
        if roles is None or any(role not in roles for role in NEEDED) or "left_heel" not in clip.character.contacts:
            continue
        if len(clip.motion) > max(SHORTEST * clip.motion.fps, 8):
            yield str(path.relative_to(data)), clip


def case_of(name: str, clip: Clip, judge: ModuleType) -> Case:
    """Find our contacts and the judge's stances of a clip."""
    measures, character = sys.modules["measures"], clip.character
    kinematics, roles = Kinematics(clip.motion), character.require_roles()
    positions, parents = kinematics.positions, clip.motion.skeleton.parents.tolist()
    scale = measures.BODY / judge.body_height(positions, parents, roles)
    dt, lead = 1.0 / clip.motion.fps, measures.lead_in(positions, 1.0 / clip.motion.fps, measures.BODY / scale)
    source = {role: scale * positions[lead:, joint] for role, (joint, *_) in roles.joints.items()}
    pair = measures.Pair(dt, source, source, {}, {}, {}, {})
    for joint in (f"{side}_{part}" for side in measures.SIDES for part in ("foot", "toes")):
        if joint in source:
            pair.stances += [measures.Stance(joint, a, b) for a, b in measures.still_stances(source[joint], dt)]
    heights = measures.sole_heights(pair)
    stances = [stance for stance in pair.stances if measures.carries(pair, stance, heights)]
    contacts = find_contacts(clip)
    plants = tuple(
        replace(plant, start=max(plant.start - lead, 0), end=plant.end - lead)
        for plant in contacts.plants
        if plant.end > lead
    )
    contacts = replace(contacts, plants=plants, frames=contacts.frames - lead)
    points = scale * kinematics.points([character.contacts[name] for name in contacts.points])[lead:]
    return Case(name, contacts, points, pair, stances, heights)


def coverage(case: Case) -> dict[str, float]:
    """Count stances, by how much of them our plants cover."""
    keys = ("stances", "covered", "mostly", "missed", "split", "plain", "plain covered", "plain missed")
    counts: dict[str, float] = dict.fromkeys(keys, 0)
    for stance in case.stances:
        side, _, part = stance.joint.partition("_")
        names = [f"{side}_ball"] if part == "toes" else [f"{side}_heel", f"{side}_ball"]
        names = [name for name in names if name in case.contacts.points]
        cut = slice(stance.start, stance.stop)
        planted = np.any([case.contacts.mask(name)[cut] for name in names], axis=0)
        split = True
        for name in names:
            places = [
                p.place for p in case.contacts.plants if p.point == name and p.start < cut.stop and p.end > cut.start
            ]
            split &= len(places) != 1 and (not places or np.ptp(places, axis=0).max() > CHANGE)
        covered, missed, plain = bool(planted[1:-1].all()), not planted.any(), is_plain(case, names, cut)
        for key, value in zip(
            keys,
            (
                True,
                covered,
                planted.mean() >= 0.9,
                missed,
                split and not missed,
                plain,
                plain and covered,
                plain and missed,
            ),
        ):
            counts[key] += int(value)
    return counts


def is_plain(case: Case, names: list[str], cut: slice) -> bool:
    """Whether one of the points is still in these frames and as low as points get around there."""
    for name in names:
        track = case.points[cut, case.contacts.points.index(name)]
        place = np.median(track, axis=0)
        around = np.linalg.norm((case.points - place)[..., ::2], axis=-1) < AROUND
        if (
            np.linalg.norm(track - place, axis=1).max() < PLAIN
            and place[1] < np.percentile(case.points[..., 1][around], 2) + LOW
        ):
            return True
    return False


def falsehood(case: Case) -> dict[str, float]:
    """Count planted frames, and those of points that move or are in the air."""
    measures, fps = sys.modules["measures"], case.contacts.fps
    counts: dict[str, float] = dict.fromkeys(("planted", "moving", "air"), 0)
    for plant in case.contacts.plants:
        track = case.points[plant.start : plant.end, case.contacts.points.index(plant.point)]
        counts["planted"] += len(track)
        drift = np.linalg.norm(track - np.median(track, axis=0), axis=1)
        speed = np.zeros(len(track))
        if len(track) > 2:
            speed[1:-1] = 0.5 * fps * np.linalg.norm(track[2:] - track[:-2], axis=1)
        counts["moving"] += int(((drift > DRIFT) | (speed > SPEED)).sum())
        side, _, part = plant.point.partition("_")
        joint = f"{side}_toes" if part == "ball" and f"{side}_toes" in case.pair.source else f"{side}_foot"
        stands = measures.carries(case.pair, measures.Stance(joint, plant.start, plant.end), case.heights)
        counts["air"] += 0 if stands else len(track)
    return counts


def sample_scores(noise: float, seeds: int) -> dict[str, float]:
    """F1 of heels and balls over all samples but the climb (its contacts are hands), at three rates."""
    out = {}
    for fps in (30.0, 60.0, 120.0):
        hits, total = np.zeros(2), np.zeros(2)
        for name in samples.names():
            if name == "climb":
                continue
            clip = samples.load(name)
            motion = clip.motion.resample(fps)
            kinematics = Kinematics(motion)
            points = kinematics.points([clip.character.contacts[point] for point in FEET])
            body, truth = kinematics.center_of_mass(clip.character), samples.ground_truth(name, fps)
            for seed in range(seeds):
                noisy = points + noise * np.random.default_rng(seed).normal(size=points.shape)
                contacts = contacts_of_points(noisy, fps, clip.character.height, names=FEET, body=body)
                for i, point in enumerate(FEET):
                    known, found = np.zeros(len(motion), bool), contacts.mask(point)
                    for start, end in truth.get(point, []):
                        known[start:end] = True
                    hits[i % 2] += 2 * (known & found).sum()
                    total[i % 2] += known.sum() + found.sum()
        for part, f1 in zip(("heels", "balls"), hits / total):
            out[f"F1 {part} {fps:.0f} fps"] = float(f1)
    return out


def shares(counts: list[dict[str, float]]) -> dict[str, float]:
    """Sum the counts of several clips, as percentages."""
    sums = {key: sum(count[key] for count in counts) for key in counts[0]}
    stances, planted = max(sums["stances"], 1), max(sums["planted"], 1)
    return {
        "stances": sums["stances"],
        "covered %": 100 * sums["covered"] / stances,
        "≥ 90 % covered %": 100 * sums["mostly"] / stances,
        "missed %": 100 * sums["missed"] / stances,
        "split %": 100 * sums["split"] / stances,
        "plain stances": sums["plain"],
        "plain covered %": 100 * sums["plain covered"] / max(sums["plain"], 1),
        "plain missed %": 100 * sums["plain missed"] / max(sums["plain"], 1),
        "planted frames": sums["planted"],
        "moving %": 100 * sums["moving"] / planted,
        "in the air %": 100 * sums["air"] / planted,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", help="take the clips whose names hold one of these words")
    parser.add_argument("--data", type=Path, default=SHARED / "data")
    parser.add_argument("--judge", type=Path, default=SHARED / "judge")
    parser.add_argument("--json", type=Path, help="write all figures, clip by clip")
    parser.add_argument("--against", type=Path, help="an earlier --json, printed beside")
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    clips: dict[str, dict[str, float]] = {}
    if options.data.is_dir() and (options.judge / "measures.py").is_file():
        judge = judge_of(options.judge)
        counts: dict[tuple[str, str], list[dict[str, float]]] = {}
        for number, (name, clip) in enumerate(human_clips(options.data, options.words)):
            half = "held out" if number % 2 else "tuned on"
            for rate in ("own rate", "30 fps"):
                if rate == "30 fps":
                    if clip.motion.fps < 31.0:
                        continue
                    clip = replace(clip, motion=clip.motion.resample(30.0))
                case = case_of(name, clip, judge)
                found = coverage(case) | falsehood(case)
                counts.setdefault((half, rate), []).append(found)
                clips[f"{name} {rate}"] = found | {
                    "lead-in off": lead_in_frames(clip) - (len(clip.motion) - case.contacts.frames)
                }
        figures |= {f"{half}, {rate}": shares(found) for (half, rate), found in sorted(counts.items())}
    else:
        print(f"no clips or no judge in {options.data} and {options.judge}: samples only")
    figures["samples, clean"] = sample_scores(0.0, 1)
    figures["samples, 5 mm noise"] = sample_scores(0.005, 3)
    before = json.loads(options.against.read_text())["figures"] if options.against else {}
    for title, row in figures.items():
        print(title)
        for key, value in row.items():
            old = before.get(title, {}).get(key)
            print(f"  {key:20} {value:10.3f}" + ("" if old is None else f"   (before {old:.3f})"))
    if options.json:
        options.json.write_text(json.dumps({"figures": figures, "clips": clips}, indent=1))


if __name__ == "__main__":
    main()
