"""Touches of puppetry: where a performer's palm is on its own body, how far from that place the character's palm is.

A palm touches where its importance to the body is above 0.9 and its distance from the performer's segment is at most
`ON_BODY`. The gap of the character is how much farther its palm is from the skin than the performer's, as a fraction of
the body's size; the skin is that of all segments that the performer's palm is near to (`ADJACENT`), as thighs begin
elsewhere on another body. For hands that meet, how much farther apart the palms are. A gap of more than 10 mm is out
of reach where the engine says so: every place of that skin is farther than the arm is long, or covered by the trunk
(`PuppetMotion.out_of_reach`); of hands that meet, there is no place out of the trunk that both arms reach
(`PuppetMotion.hands_out_of_reach`). How many frames are, and the median and the largest gap of the others. Beside it:
how deep legs are in each other beyond the captured angles and the performer's own legs (`Apart` of the body proxy), how
far planted feet stray, and the largest joint acceleration over that of the captured angles.

`python benchmarks/puppet_touches.py` prints a table: on Sally, Blubby and three skinned characters. Its figures
include those of all gaps in reach of each.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import samples
from footplant.clip import Clip
from footplant.contacts.importance import PerformanceScene
from footplant.humanoid.body_proxy import SEGMENTS
from footplant.humanoid.body_shell import surface_of
from footplant.io import load
from footplant.kinematics import Kinematics
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine
from footplant.transfer import transfer
from puppet_measures import acceleration, drift, feet, real_clip
from timing import main

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CHARACTERS = {
    "sally": None, "blubby": None, "kate": "vrm/100avatars_038_Kate.vrm", "dinokid": "vrm/100avatars_045_DinoKid.vrm",
    "godette": "vrm/Godette_vrm0.vrm",
}  # fmt: skip
CLIPS = (
    "sample:clap", "sample:waist", "69_70", "75_12", "111_03", "141_28", "49_06", "19_15", "05_02", "35_01", "144_20",
    "fbx/ozz_pab_crossarms.fbx", "gltf/babylon_mixamo_Praying.glb", "bvh/other/mocapbank.bvh",
    "bvh/other/mocopi_jump.bvh", "bvh/other/mvn_40fps_A.bvh", "smpl_npz/video_squat_level1_filter_amass.npz",
)  # fmt: skip
"""Samples and recordings in which hands touch the body or each other, fights and walks among them."""
MATTERS, ON_BODY, PALMS = 0.9, 0.012, 0.05
"""Importance, distance of a palm from the skin and of the palms from each other (body heights) that make a touch."""
ADJACENT, FAR = (0.5, 0.024), 10.0
"""Importance and distance (body heights) from which a segment's skin is what is touched, too: a palm on the side of the
hips may lie on the thigh of another body. Metres that stand for no segment."""
MISSED = 10.0
"""Millimetres from which a palm misses what it touches."""
SIDES = ("left", "right")


def tube_distances(character: Character, kinematics: Kinematics, points: NDArray) -> NDArray:
    """(F, P, S) metres from each of `SEGMENTS`, negative inside."""
    from footplant.kernels import surface

    tubes, out = surface_of(character).tables(), np.empty((points.shape[1], len(SEGMENTS), 4))
    found = np.empty((len(points), points.shape[1], len(SEGMENTS)))
    for f in range(len(points)):
        places, turns = np.array(kinematics.positions[f]), np.array(kinematics.rotations[f])
        surface.all_distances(tubes, places, turns, np.array(points[f]), out)
        found[f] = out[..., 0]
    return found


def leg_depth(character: Character, kinematics: Kinematics) -> NDArray:
    """(F,) metres that a knee, shin, ankle or foot is in the other leg's skin, at most; negative: apart."""
    roles, contacts = character.require_roles(), character.contacts
    worst = np.full(len(kinematics.positions), -np.inf)
    for side, other in (SIDES, SIDES[::-1]):
        knee, ankle = (kinematics.positions[:, roles[f"{side}_{part}"]] for part in ("lower_leg", "foot"))
        soles = [kinematics.point(contacts[name]) for name in (f"{side}_heel", f"{side}_ball") if name in contacts]
        points = np.stack([knee, 0.5 * (knee + ankle), ankle, *soles], axis=1)
        parts = [SEGMENTS.index(f"{other}_{part}") for part in ("upper_leg", "lower_leg")]
        worst = np.maximum(worst, -tube_distances(character, kinematics, points)[..., parts].min(axis=(1, 2)))
    return worst


def palms_of(character: Character, kinematics: Kinematics) -> NDArray:
    """(F, 2, 3) where the palms are, metres."""
    return kinematics.points([character.contacts[f"{side}_palm"] for side in SIDES])


def measures(clip: Clip, target: Character, scene: PerformanceScene | None, intervals) -> dict[str, NDArray | float]:
    """All figures of one clip on one character; gaps in millimetres, frame by frame."""
    engine = PuppetEngine(clip.character, target, scene)
    found = engine.play(clip.motion)
    ours, theirs = Kinematics(found.motion), Kinematics(clip.motion)
    copied = Kinematics(transfer(clip.motion, clip.character, target))
    size, height = engine.stage.size, clip.character.height
    palms, own = palms_of(clip.character, theirs), palms_of(target, ours)
    there, here = tube_distances(clip.character, theirs, palms), tube_distances(target, ours, own)
    gaps, beyond = [], []
    for arm in range(2):
        weights, near = found.body[:, arm], there[:, arm]
        on = ((weights > MATTERS) & (near <= ON_BODY * height)).any(axis=1)
        skin = (weights > ADJACENT[0]) & (near <= ADJACENT[1] * height)
        wanted, away = (np.where(skin, tubes[:, arm], FAR).min(axis=1) for tubes in (there, here))
        gap = away - size * np.maximum(wanted, 0.0)
        gaps.append(1e3 * gap[on])
        beyond.append(found.out_of_reach[on, arm])
    between, apart = (np.linalg.norm(p[:, 0] - p[:, 1], axis=1) for p in (palms, own))
    meet = (found.hands > MATTERS) & (between <= PALMS * height)
    limbs = leg_depth(target, ours)
    allowed = np.maximum(size * leg_depth(clip.character, theirs), 0.0)
    return {
        "gaps": np.concatenate(gaps),
        "beyond": np.concatenate(beyond),
        "hands": 1e3 * (apart - size * between)[meet],
        "hands_beyond": found.hands_out_of_reach[meet],
        "legs": 1e3 * np.maximum(limbs - allowed, 0.0),
        "copied_legs": 1e3 * np.maximum(leg_depth(target, copied) - allowed, 0.0),
        "drift": 1e3 * drift(intervals, found, feet(ours, target)),
        "acceleration": acceleration(ours, copied, clip.motion.fps),
    }


def of(name: str) -> tuple[Clip, PerformanceScene | None, dict]:
    """A clip with its scene and when its feet are planted."""
    if name.startswith("sample:"):
        name = name.removeprefix("sample:")
        return samples.load(name), None, samples.make(name).contacts
    return real_clip(SHARED / (name if "/" in name else f"bvh/cmu/{name}.bvh"))


def character(name: str) -> Character:
    """One of `CHARACTERS`."""
    path = CHARACTERS[name]
    return samples.load_character(name) if path is None else load(SHARED / path).character


def run(clips=CLIPS, characters=tuple(CHARACTERS)) -> dict[str, float]:
    """Worst and median gaps, leg depths, drift and acceleration of every clip on every character."""
    figures: dict[str, float] = {}
    heads = (
        "touch",
        "90 %",
        "worst",
        "frames",
        "too far",
        "in reach",
        "worst",
        "hands",
        "worst",
        "over 10",
        "too far",
        "legs",
        "copied",
        "drift",
        "times",
    )
    print(f"{'clip':24} {'character':9}" + "".join(f"{head:>9}" for head in heads))
    targets = {name: character(name) for name in characters}
    reached: dict[str, list[NDArray]] = {name: [] for name in characters}
    for name in clips:
        clip, scene, intervals = of(name)
        for who, target in targets.items():
            found = measures(clip, target, scene, intervals)
            gaps, hands = np.abs(np.asarray(found["gaps"])), np.asarray(found["hands"])
            middle, most, worst = np.percentile(gaps, [50, 90, 100]) if len(gaps) else (0.0, 0.0, 0.0)
            far = np.asarray(found["beyond"], bool)
            within, missed = np.percentile(gaps[~far], [50, 100]) if (~far).any() else (0.0, 0.0)
            reached[who].append(gaps[~far])
            cannot = np.asarray(found["hands_beyond"], bool)
            can = hands[~cannot]
            meet, farthest = np.percentile(can, [50, 100]) if len(can) else (0.0, 0.0)
            over = float((can > MISSED).sum())
            legs, copied = float(np.max(found["legs"])), float(np.max(found["copied_legs"]))
            row = (
                middle, most, worst, len(gaps), far.sum(), within, missed, meet, farthest, over, cannot.sum(), legs,
                copied, found["drift"], found["acceleration"],
            )  # fmt: skip
            print(f"{Path(name).stem[:24]:24} {who:9}" + "".join(f"{value:9.2f}" for value in row), flush=True)
            figures |= {
                f"touch.{name}.{who}.median_mm": float(middle), f"touch.{name}.{who}.worst_mm": float(worst),
                f"touch.{name}.{who}.out_of_reach_frames": float(far.sum()),
                f"touch.{name}.{who}.in_reach_mm": float(within),
                f"touch.{name}.{who}.in_reach_worst_mm": float(missed),
                f"touch.{name}.{who}.hands_mm": float(farthest), f"touch.{name}.{who}.legs_mm": legs,
                f"touch.{name}.{who}.hands_over_10_mm": over,
                f"touch.{name}.{who}.hands_out_of_reach_frames": float(cannot.sum()),
                f"touch.{name}.{who}.drift_mm": float(found["drift"]),
                f"touch.{name}.{who}.acceleration": float(found["acceleration"]),
            }  # fmt: skip
    for who, found in reached.items():
        gaps = np.concatenate(found)
        if len(gaps):
            middle, most = np.percentile(gaps, [50, 90])
            figures |= {
                f"touch.all.{who}.in_reach_mm": float(middle), f"touch.all.{who}.in_reach_90_mm": float(most),
                f"touch.all.{who}.in_reach_over_10_mm": float(np.mean(gaps > MISSED)),
            }  # fmt: skip
    return figures


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--only":
        run(sys.argv[2].split(","), sys.argv[3].split(",") if len(sys.argv) > 3 else tuple(CHARACTERS))
    else:
        main(run)
