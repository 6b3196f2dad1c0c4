"""How well computer puppetry keeps what matters: samples and recorded clips, on Sally and Blubby.

For each: how far feet drift while their importance is 1 (and the performer's own do, in the character's world), peak
joint acceleration over that of the captured angles on the same figure, how deep elbows, wrists and palms are in the
trunk or the head, and how far free arms are from their captured angles (`free_arms` says which are free).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation, samples
from footplant.clip import Clip
from footplant.contacts.detection import find_contacts
from footplant.contacts.importance import LIMBS, PerformanceScene, SceneObject
from footplant.edits.puppet import as_shape
from footplant.feet.lead_in import split_lead_in
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine, PuppetMotion
from footplant.transfer import transfer
from timing import main

TARGETS = ("sally", "blubby")
DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "bvh" / "cmu"
REAL = {
    "walk": "35_01", "punch": "143_23", "jump": "16_01", "cartwheel": "49_06", "dance": "05_02", "crawl": "111_03",
    "back-flip": "88_01", "box": "115_02", "claps": "18_15", "throw": "141_28",
}  # fmt: skip
"""What is done → a recorded clip of it."""
LONGEST = 900
"""Frames of a recorded clip that are played."""
STANDS = 0.1
"""m/s below which a point of the performer's foot that is planted stands."""
LEAVES = 0.01
"""Metres from its median place in a plant beyond which it does not stand any more: one that lifts slowly is leaving."""
CLEAR = 0.02
"""Body heights from the body at which an arm of the captured angles is clear of it."""
STILL = 1.0
"""m/s²: where even the captured angles accelerate less, that is what counts."""


def drift(intervals: dict[str, list[tuple[int, int]]], found: PuppetMotion, places: dict[str, NDArray]) -> float:
    """Metres that a point of a foot strays from its mean place, at most, within a plant while its importance is 1."""
    worst = 0.0
    for point, spans in intervals.items():
        if point not in places:
            continue
        limb = LIMBS.index("left_leg" if point.startswith("left") else "right_leg")
        for start, end in spans:
            full = np.arange(start, end)[found.scene[start:end, limb] >= 1.0]
            if len(full) > 2:
                place = places[point][full]
                worst = max(worst, float(np.linalg.norm(place - place.mean(axis=0), axis=1).max()))
    return worst


def feet(kinematics: Kinematics, character: Character) -> dict[str, NDArray]:
    """Contact points of the feet → (F, 3) where they are, metres."""
    points = {name: point for name, point in character.contacts.items() if not name.endswith("palm")}
    return {name: kinematics.point(point) for name, point in points.items()}


def acceleration(ours: Kinematics, theirs: Kinematics, fps: float) -> float:
    """Peak acceleration of our joints over that of theirs."""
    peaks = [np.linalg.norm(np.diff(k.positions, n=2, axis=0) * fps**2, axis=2).max() for k in (ours, theirs)]
    return float(peaks[0] / max(peaks[1], STILL))


def depth(target: Character, kinematics: Kinematics, every: int = 3) -> float:
    """Metres that an elbow, wrist or palm is in the trunk or the head, at most, at every so many frames."""
    from footplant.kernels import surface

    tubes, roles = BodySurface.of(target).tables(), target.require_roles()
    joints = [roles[f"{side}_{part}"] for side in ("left", "right") for part in ("lower_arm", "hand")]
    palms = kinematics.points([target.contacts[f"{side}_palm"] for side in ("left", "right")])
    worst = 0.0
    for f in range(0, len(palms), every):
        points = np.concatenate([kinematics.positions[f, joints], palms[f]])
        out = np.empty((len(points), len(SEGMENTS), 4))
        surface.all_distances(tubes, np.array(kinematics.positions[f]), np.array(kinematics.rotations[f]), points, out)
        worst = max(worst, float(-out[:, :4, 0].min()))
    return worst


def near_body(target: Character, kinematics: Kinematics, within: float) -> NDArray:
    """(F, 2) whether the elbow, wrist or palm of each arm is in the trunk or the head or that near, metres."""
    from footplant.kernels import surface

    tubes, roles = BodySurface.of(target).tables(), target.require_roles()
    palms = kinematics.points([target.contacts[f"{side}_palm"] for side in ("left", "right")])
    near = np.zeros((len(palms), 2), bool)
    out = np.empty((3, len(SEGMENTS), 4))
    for f, (positions, rotations) in enumerate(zip(kinematics.positions, kinematics.rotations)):
        for arm, side in enumerate(("left", "right")):
            joints = [roles[f"{side}_{part}"] for part in ("lower_arm", "hand")]
            points = np.concatenate([positions[joints], palms[f, arm : arm + 1]])
            surface.all_distances(tubes, np.array(positions), np.array(rotations), points, out)
            near[f, arm] = out[:, :4, 0].min() < within
    return near


def pushed_arms(engine: PuppetEngine, copied: Motion) -> NDArray:
    """(F, 2) whether the captured angles alone put an arm near where the trunk or the head begins to push it away."""
    puppet = engine.tables[0]
    thick = max(float(puppet.elbows.max()), float(puppet.probes[..., 3].max())) + engine.stage.margin
    return near_body(engine.target, Kinematics(copied), thick + CLEAR * (engine.target.height or 1.75))


def free_arms(engine: PuppetEngine, found: PuppetMotion, copied: Motion, pushed: NDArray) -> tuple[float, float]:
    """(degrees that a free arm is from its captured angles at most, share of the frames at which arms are free).

    An arm is free where nothing has mattered about it for half a second and the captured angles alone have not put the
    skin of its elbow, wrist or palm within `CLEAR` of where the trunk or the head begins to push it away in that time:
    otherwise it is being pushed out of the body, or on its way back.
    """
    roles, behind = engine.target.require_roles(), round(0.5 * copied.fps)
    worst, shares = 0.0, []
    for arm, side in enumerate(("left", "right")):
        busy = np.maximum(np.maximum(found.scene[:, arm], found.hands), found.body[:, [arm, 4 + arm]].max(axis=(1, 2)))
        taken = (busy >= 0.002) | pushed[:, arm]
        free = np.array([not taken[max(f - behind, 0) : f + 1].any() for f in range(len(busy))])
        joints = [roles[f"{side}_{part}"] for part in ("upper_arm", "lower_arm", "hand")]
        angle = np.degrees(rotation.angle(found.motion.rotations[:, joints], copied.rotations[:, joints]))
        worst = max(worst, float(angle[free].max(initial=0.0)))
        shares.append(float(free.mean()))
    return worst, float(np.mean(shares))


def followed(clip: Clip) -> Clip:
    """The clip as `edits.puppet` plays it: no T-pose before it, no errors of its capture (wrists, legs)."""
    roles = clip.character.require_roles()
    motion = clip.motion.with_straight_wrists(roles).with_unflipped_legs(roles)
    return split_lead_in(replace(clip, motion=motion))[1]


def real_clip(path: Path) -> tuple[Clip, PerformanceScene, dict[str, list[tuple[int, int]]]]:
    """A recorded clip, the ground that its plants tell, and when its feet are planted and really stand."""
    from footplant.io import load

    clip = followed(load(path))
    clip = replace(clip, motion=clip.motion[:LONGEST])
    contacts = find_contacts(clip)
    scene = PerformanceScene((SceneObject(as_shape(contacts.ground, clip), "ground"),))
    intervals = {}
    kinematics = Kinematics(clip.motion)
    for point in contacts.points:
        places = kinematics.point(clip.character.contacts[point])
        speed = np.linalg.norm(np.gradient(places, axis=0), axis=1) * clip.motion.fps
        slow = contacts.mask(point) & (speed < STANDS)
        for start, end in runs(slow):
            away = np.linalg.norm(places[start:end] - np.median(places[start:end], axis=0), axis=1)
            slow[start:end] &= away < LEAVES
        intervals[point] = runs(slow)
    return clip, scene, intervals


def runs(mask: NDArray) -> list[tuple[int, int]]:
    """(first, end) of every run of frames at which something is so."""
    edges = np.diff(np.concatenate([[False], mask, [False]]).astype(int))
    return list(zip(np.flatnonzero(edges > 0).tolist(), np.flatnonzero(edges < 0).tolist()))


def measures(clip: Clip, who: str, scene: PerformanceScene | None, intervals: dict[str, list[tuple[int, int]]]) -> dict:
    """All figures of one clip on one character."""
    target = samples.load_character(who)
    engine = PuppetEngine(clip.character, target, scene)
    found = engine.play(clip.motion)
    ours, copied = Kinematics(found.motion), transfer(clip.motion, clip.character, target)
    performer = {n: engine.scale * place for n, place in feet(Kinematics(clip.motion), clip.character).items()}
    angle, share = free_arms(engine, found, copied, pushed_arms(engine, copied))
    return {
        "drift_mm": 1e3 * drift(intervals, found, feet(ours, target)),
        "performer_drift_mm": 1e3 * drift(intervals, found, performer),
        "acceleration_times": acceleration(ours, Kinematics(copied), clip.motion.fps),
        "depth_cm": 1e2 * depth(target, ours),
        "free_arm_degrees": angle,
        "arms_free": share,
    }


def run() -> dict[str, float]:
    """Drift, acceleration, depth and angles of the samples and of recorded clips."""
    figures: dict[str, float] = {}
    clips: list[tuple[str, Clip, PerformanceScene | None, dict]] = [
        (name, samples.load(name), None, samples.make(name).contacts) for name in samples.MOTIONS
    ]
    for name, stem in REAL.items():
        path = DATA / f"{stem}.bvh"
        if path.exists():
            clip, scene, intervals = real_clip(path)
            clips.append((f"real-{name}", clip, scene, intervals))
    for name, clip, scene, intervals in clips:
        for who in TARGETS:
            for what, value in measures(clip, who, scene, intervals).items():
                figures[f"puppet.{name}.{who}.{what}"] = value
    return figures


if __name__ == "__main__":
    main(run)
