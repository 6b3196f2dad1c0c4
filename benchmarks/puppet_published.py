"""The published limb step of computer puppetry (Shin 2002, section 5.3.3, equation 5.14) beside the one that is built.

On the same frames, roots, trunks and hand goals, three arms: ours; the published elbow, which is the point nearest to
the captured elbow on its sphere about the shoulder, in its own ball and between the shells of the hand's ball, and then
the hand likewise; and ours with every joint of the arm slerped at the end from its captured rotation by the arm's
largest importance (5.14). The hand's ball is about our wrist, with a radius that shrinks with importance; the elbow's
is about its captured place, as large as it is far from the skin.

Printed for each character: how far palms that touch are from the skin (as in `puppet_touches`), how deep elbows are in
trunk and head at frames with a touch, and the peak acceleration of the elbows over that of the captured ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.humanoid.body_proxy import SEGMENTS
from footplant.humanoid.body_shell import surface_of
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.puppet import PuppetEngine
from footplant.transfer import transfer
from puppet_touches import MATTERS, ON_BODY, SIDES, character, of, palms_of
from timing import main

CHARACTERS = ("sally", "blubby")
CLIPS = ("sample:clap", "sample:waist", "69_70")
LARGEST = 0.15
"""Metres: radius of a hand's ball without importance."""
TRUNK_AND_HEAD = 4
"""Segments of the body proxy that elbows must stay out of come first."""


def on_sphere(center: NDArray, radius: NDArray, ball: NDArray, low: NDArray, high: NDArray, wish: NDArray) -> NDArray:
    """(F, 3) points on spheres nearest to a wish, with a distance from `ball` (F, 3) between low and high (F,)."""

    def unit(vectors: NDArray) -> NDArray:
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    axis, aim = ball - center, unit(wish - center)
    far = np.linalg.norm(axis, axis=1)
    axis = unit(axis)
    free = center + radius[:, None] * aim
    # |E − ball| = d on the sphere: cos of the angle from the axis = (r² + far² − d²) / (2 r far)
    now = np.linalg.norm(free - ball, axis=1)
    wanted = np.clip(now, low, high)
    cosine = np.clip((radius**2 + far**2 - wanted**2) / np.maximum(2.0 * radius * far, 1e-9), -1.0, 1.0)
    aside = unit(aim - np.sum(aim * axis, axis=1, keepdims=True) * axis)
    circle = center + radius[:, None] * (cosine[:, None] * axis + np.sqrt(1.0 - cosine**2)[:, None] * aside)
    return np.where((np.abs(wanted - now) < 1e-9)[:, None], free, circle)


def published(
    shoulder: NDArray, captured: tuple[NDArray, NDArray], room: NDArray, wrist: NDArray, radius: NDArray,
    lengths: tuple[float, float],
) -> tuple[NDArray, NDArray]:  # fmt: skip
    """(F, 3) elbows and (F, 3) wrists of section 5.3.3; room: (F,) radius of the elbow's own ball, metres."""
    frames = len(shoulder)
    upper, lower = (np.full(frames, length) for length in lengths)
    elbow = on_sphere(shoulder, upper, wrist, np.maximum(lower - radius, 0.0), lower + radius, captured[0])
    # its own ball counts where both can be met; else the hand's, which matters more
    off = elbow - captured[0]
    size = np.linalg.norm(off, axis=1)
    nearer = captured[0] + off * np.minimum(1.0, room / np.maximum(size, 1e-9))[:, None]
    kept = on_sphere(shoulder, upper, wrist, np.maximum(lower - radius, 0.0), lower + radius, nearer)
    return kept, on_sphere(kept, lower, wrist, np.zeros(frames), radius, captured[1])


def distances(body: Character, posed: Kinematics, points: NDArray, rows: NDArray) -> NDArray:
    """(n, S) metres of points (F, 3) from each segment at some frames (n,), negative inside."""
    from footplant.kernels import surface

    tubes, out = surface_of(body).tables(), np.empty((1, len(SEGMENTS), 4))
    found = np.empty((len(rows), len(SEGMENTS)))
    for n, f in enumerate(rows):
        places, turns = np.array(posed.positions[f]), np.array(posed.rotations[f])
        surface.all_distances(tubes, places, turns, np.array(points[f : f + 1]), out)
        found[n] = out[0, :, 0]
    return found


def peak(places: NDArray, fps: float) -> float:
    """Largest acceleration of a point (F, 3), m/s²."""
    return float(np.linalg.norm(np.diff(places, 2, axis=0) * fps**2, axis=1).max())


def compare(name: str, target: Character) -> dict[str, list[float]]:
    """Figures of one clip on one character, of both arms: see the module."""
    clip, scene, _ = of(name)
    engine = PuppetEngine(clip.character, target, scene)
    found = engine.play(clip.motion)
    copy = transfer(clip.motion, clip.character, target)
    ours, theirs, copied = Kinematics(found.motion), Kinematics(clip.motion), Kinematics(copy)
    roles, size, height = target.require_roles(), engine.stage.size, clip.character.height
    # the captured arm hangs on our shoulder
    slerped = np.array(found.motion.rotations)
    weights = [np.maximum(found.body[:, [arm, 4 + arm]].max(axis=(1, 2)), found.scene[:, arm]) for arm in range(2)]
    weights = [np.maximum(weight, found.hands) for weight in weights]
    for side, weight in zip(SIDES, weights, strict=True):
        for part in ("upper_arm", "lower_arm", "hand"):
            joint = roles[f"{side}_{part}"]
            slerped[:, joint] = rotation.slerp(copy.rotations[:, joint], found.motion.rotations[:, joint], weight)
    mixed = Kinematics(Motion(target.skeleton, found.motion.root, rotation.normalize(slerped), clip.motion.fps))
    palms = palms_of(clip.character, theirs)
    figures: dict[str, list[float]] = {}
    for arm, side in enumerate(SIDES):
        best = found.body[:, arm].argmax(axis=1)
        rows = np.flatnonzero(found.body[np.arange(len(best)), arm, best] > MATTERS)
        skin = distances(clip.character, theirs, palms[:, arm], rows)[np.arange(len(rows)), best[rows]]
        rows, skin = (values[skin <= ON_BODY * height] for values in (rows, skin))
        if not len(rows):
            continue
        up, mid, end = (roles[f"{side}_{part}"] for part in ("upper_arm", "lower_arm", "hand"))
        shoulder, wrist = ours.positions[:, up], ours.positions[:, end]
        hang = shoulder - copied.positions[:, up]
        captured = copied.positions[:, mid] + hang, copied.positions[:, end] + hang
        lengths = tuple(
            float(np.linalg.norm(np.diff(ours.positions[0, pair], axis=0))) for pair in ([up, mid], [mid, end])
        )
        every = np.arange(len(wrist))
        room = np.maximum(distances(target, ours, captured[0], every)[:, :TRUNK_AND_HEAD].min(axis=1), 0.0)
        elbow, hand = published(
            shoulder, captured, room, wrist, LARGEST * (1.0 - weights[arm]), (lengths[0], lengths[1])
        )
        arms = {
            "ours": (ours.positions[:, mid], palms_of(target, ours)[:, arm]),
            "balls": (elbow, palms_of(target, ours)[:, arm] + hand - wrist),
            "slerp": (mixed.positions[:, mid], palms_of(target, mixed)[:, arm]),
        }
        for way, (middle, palm) in arms.items():
            gap = distances(target, ours, palm, rows)[np.arange(len(rows)), best[rows]] - size * np.maximum(skin, 0.0)
            deep = -distances(target, ours, middle, rows)[:, :TRUNK_AND_HEAD].min(axis=1)
            figures.setdefault(f"{way}.touch_mm", []).extend((1e3 * np.abs(gap)).tolist())
            figures.setdefault(f"{way}.elbow_in_body_mm", []).append(1e3 * max(float(deep.max()), 0.0))
            figures.setdefault(f"{way}.elbow_acceleration_times", []).append(
                peak(middle, clip.motion.fps) / max(peak(copied.positions[:, mid], clip.motion.fps), 1.0)
            )
    return figures


def run() -> dict[str, float]:
    """Median and 95th percentile of the touches, worst of the rest, over all clips."""
    found: dict[str, float] = {}
    for who in CHARACTERS:
        target, total = character(who), {}
        for name in CLIPS:
            for key, values in compare(name, target).items():
                total.setdefault(key, []).extend(values)
        for key, values in total.items():
            if key.endswith("touch_mm"):
                found[f"puppet.published.{who}.{key}.median"] = float(np.median(values))
                found[f"puppet.published.{who}.{key}.p95"] = float(np.percentile(values, 95))
            else:
                found[f"puppet.published.{who}.{key}.worst"] = float(np.max(values))
                found[f"puppet.published.{who}.{key}.median"] = float(np.median(values))
    return found


if __name__ == "__main__":
    main(run)
