"""Fidelity: what a result makes of its source, measured with other eyes than the solver's.

`quality.measure` looks at the contacts that were detected and at points of soles and palms, as the solver does: what
detection misses is missed by both. This module looks at every joint that is still in the source, at the directions of
limbs, at hands that meet, and at the whole posed skin. Both bodies are scaled to 1.7 m (see `quality.pair`), so that
lengths of different characters compare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, get_args

import numpy as np

from footplant.contacts.ground import Ground, as_ground
from footplant.errors import MotionError
from footplant.motion import Motion
from footplant.order import quantile
from footplant.quality.hands import hands_together
from footplant.quality.pair import MotionPair, motion_pair
from footplant.quality.penetration import SkinFigures, measure_skin
from footplant.quality.posture import (
    LimbAngles,
    added_limit_breaks,
    finger_range,
    head_turn,
    hinge_bends,
    limb_angles,
    peak_ratios,
)
from footplant.quality.stances import Stance, measure_stances
from footplant.serialise import json_ready
from footplant.skeleton import Character
from footplant.transfer import transfer

Depth = Literal["joints", "skin"]
"""How deep to look: at the joints alone (milliseconds), or at the posed skin too (a second for a large mesh)."""


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """What a result makes of its source. None means that there was nothing to measure (no stance, no hands, no skin).

    Lengths are mm on a body of 1.7 m, angles degrees, shares %. Frames are the source's.
    """

    frames: int
    """Frames that were compared."""
    lead_in: int
    """Frames at the start of the source (a T-pose) that were left out."""
    stances: tuple[Stance, ...] = ()
    """Every still stance of the source, with its drift and turn in the result."""
    stance_median_mm: float | None = None
    """Drift of the median stance."""
    stance_worst_mm: float | None = None
    """Drift of the worst stance."""
    stance_over_1mm_pct: float | None = None
    """Share of stances that drift more than 1 mm."""
    stance_over_5mm_pct: float | None = None
    """Share of stances that drift more than 5 mm."""
    stance_over_20mm_pct: float | None = None
    """Share of stances that drift more than 20 mm."""
    stance_sway_deg: float | None = None
    """How far a standing foot turns; 90 % of stances turn less."""
    accel_peak_ratio: float | None = None
    """Peak acceleration of any joint over the source's."""
    accel_joint_ratio: float | None = None
    """99.9th percentile of acceleration over the source's, of the worst joint."""
    jerk_ratio: float | None = None
    """Mean jerk over the source's."""
    upper_arm_median_deg: float | None = None
    """Angle between upper arms and the source's, median over frames and sides."""
    upper_arm_p95_deg: float | None = None
    """Its 95th percentile."""
    upper_arm_free_median_deg: float | None = None
    """The median over frames in which the arm touches nothing."""
    forearm_median_deg: float | None = None
    """Angle between forearms and the source's."""
    forearm_p95_deg: float | None = None
    """Its 95th percentile."""
    forearm_free_median_deg: float | None = None
    """The median over frames in which the arm touches nothing."""
    thigh_median_deg: float | None = None
    """Angle between thighs and the source's."""
    thigh_p95_deg: float | None = None
    """Its 95th percentile."""
    thigh_free_median_deg: float | None = None
    """The median over frames in which the foot is not still."""
    shin_median_deg: float | None = None
    """Angle between shins and the source's."""
    shin_p95_deg: float | None = None
    """Its 95th percentile."""
    shin_free_median_deg: float | None = None
    """The median over frames in which the foot is not still."""
    knee_start_extra_deg: float | None = None
    """Knee bend beyond the source's in the first 8 frames, the worse knee."""
    knee_straight_extra_deg: float | None = None
    """Knee bend beyond the source's where the source's is below 6°."""
    elbow_straight_extra_deg: float | None = None
    """Elbow bend beyond the source's where the source's is below 6°."""
    knee_flip_frames: int | None = None
    """Frames in which a knee is bent the other way."""
    elbow_flip_frames: int | None = None
    """Frames in which an elbow is bent the other way."""
    limit_breaks: int | None = None
    """(frame, joint) pairs more than 1° farther beyond a joint limit than a copy of the source's rotations."""
    limit_worst_deg: float | None = None
    """Largest angle beyond a joint limit that the copy does not have."""
    hands_frames: int | None = None
    """Frames in which the source's hands are together."""
    hands_mm: float | None = None
    """Error of the distance between palms or wrists there, whichever is smaller, mean."""
    hands_palms_mm: float | None = None
    """Error of the distance between the palms, mean."""
    hands_wrists_mm: float | None = None
    """Error of the distance between the wrists, mean."""
    head_p95_deg: float | None = None
    """Angle between the heads beyond one constant offset, 95th percentile."""
    fingers_kept_ratio: float | None = None
    """Range of the fingers over the source's."""
    hand_body_gap_mm: float | None = None
    """How much farther a hand is from the skin where the source's palm is at its body, median."""
    arm_in_torso_mm: float | None = None
    """Deepest vertex of forearms and hands inside the trunk, beyond the rest pose."""
    arm_in_torso_pct: float | None = None
    """Share of frames in which it is deeper than 1 % of the height."""
    hand_in_head_mm: float | None = None
    """Deepest vertex of the hands inside the head."""
    hand_in_head_pct: float | None = None
    """Share of frames in which it is deeper than 1 % of the height."""
    hand_in_legs_mm: float | None = None
    """Deepest vertex of the hands inside the legs."""
    hand_in_legs_pct: float | None = None
    """Share of frames in which it is deeper than 1 % of the height."""
    leg_in_leg_mm: float | None = None
    """Deepest vertex of a shin or foot inside the other leg."""
    leg_in_leg_pct: float | None = None
    """Share of frames in which it is deeper than 1 % of the height."""
    below_floor_mm: float | None = None
    """Lowest vertex below the level on which the result stands, or below the given ground."""
    stands_off_floor_mm: float | None = None
    """Distance of that level from y = 0 where the source stands on y = 0."""
    sole_tilt_deg: float | None = None
    """Angle of the soles to the floor where the source's foot stands flat; 90 % of frames have less."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Figure → where its worst value is, in words: "left forearm inside the trunk, frame 120"."""

    def figures(self) -> dict[str, float]:
        """Return every figure that was measured, by its name in `GOALS`."""
        found = ((name, getattr(self, name)) for name in GOALS)
        return {name: float(value) for name, value in found if value is not None}

    def beyond_goals(self) -> list[str]:
        """Return the names of the figures beyond their goals."""
        return [name for name, value in self.figures().items() if GOALS[name].missed(value)]

    def not_right(self) -> list[str]:
        """Return what is beyond its goal, one clause each: contacts and collisions first; empty if all is right."""
        beyond = set(self.beyond_goals())
        return [say(self) for names, say in _CLAUSES if names & beyond]

    def to_dict(self) -> dict:
        """Return a JSON-ready dictionary, with the clauses of what is not right."""
        return {key: json_ready(value) for key, value in asdict(self).items()} | {"not_right": self.not_right()}


@dataclass(frozen=True)
class Goal:
    """What one figure means and what a good result reaches."""

    label: str
    """In words, for tables."""
    limit: float | None
    """Value that nine of ten good results reach; None: for information only."""
    unit: str
    """mm, °, %, × or nothing."""
    high: bool = False
    """Whether larger is better."""

    def missed(self, value: float) -> bool:
        """Return whether a value is beyond the goal."""
        return self.limit is not None and (value < self.limit if self.high else value > self.limit)


GOALS = {
    "stance_median_mm": Goal("still feet: drift, median stance", 1.0, "mm"),
    "stance_worst_mm": Goal("still feet: drift, worst stance", 5.0, "mm"),
    "stance_over_1mm_pct": Goal("still feet: stances over 1 mm", 5.0, "%"),
    "stance_over_5mm_pct": Goal("still feet: stances over 5 mm", 1.0, "%"),
    "stance_over_20mm_pct": Goal("still feet: stances over 20 mm", 0.0, "%"),
    "stance_sway_deg": Goal("still feet: turn while standing", 1.5, "°"),
    "accel_peak_ratio": Goal("peak acceleration of 16 joints over the source's", 1.2, "×"),
    "accel_joint_ratio": Goal("  worst joint, 99.9th percentile", 1.5, "×"),
    "jerk_ratio": Goal("mean jerk of 16 joints over the source's", 1.1, "×"),
    "upper_arm_median_deg": Goal("upper arms off the source", 3.0, "°"),
    "upper_arm_p95_deg": Goal("  95th percentile of frames", None, "°"),
    "upper_arm_free_median_deg": Goal("  free of contact", 1.0, "°"),
    "forearm_median_deg": Goal("forearms off the source", 3.0, "°"),
    "forearm_p95_deg": Goal("  95th percentile of frames", None, "°"),
    "forearm_free_median_deg": Goal("  free of contact", 1.0, "°"),
    "thigh_median_deg": Goal("thighs off the source", 3.0, "°"),
    "thigh_p95_deg": Goal("  95th percentile of frames", None, "°"),
    "thigh_free_median_deg": Goal("  free of contact", 2.0, "°"),
    "shin_median_deg": Goal("shins off the source", 3.0, "°"),
    "shin_p95_deg": Goal("  95th percentile of frames", None, "°"),
    "shin_free_median_deg": Goal("  free of contact", 2.0, "°"),
    "knee_start_extra_deg": Goal("knees: extra bend, first 8 frames", 5.0, "°"),
    "knee_straight_extra_deg": Goal("knees: extra bend where straight", 5.0, "°"),
    "elbow_straight_extra_deg": Goal("elbows: extra bend where straight", 5.0, "°"),
    "knee_flip_frames": Goal("knees bent the other way", 0.0, "frames"),
    "elbow_flip_frames": Goal("elbows bent the other way", 0.0, "frames"),
    "limit_breaks": Goal("joint limits broken beyond the source", 0.0, "cases"),
    "limit_worst_deg": Goal("  farthest", 1.0, "°"),
    "hands_mm": Goal("hands together: distance off", 20.0, "mm"),
    "hands_palms_mm": Goal("  distance of the palms off", None, "mm"),
    "hands_wrists_mm": Goal("  distance of the wrists off", None, "mm"),
    "hand_body_gap_mm": Goal("hand at body: farther off than the source", 60.0, "mm"),
    "arm_in_torso_mm": Goal("arm in trunk, deepest", 10.0, "mm"),
    "arm_in_torso_pct": Goal("  frames deeper than 1 % of the height", 0.0, "%"),
    "hand_in_head_mm": Goal("hand in head, deepest", 10.0, "mm"),
    "hand_in_head_pct": Goal("  frames deeper than 1 % of the height", 0.0, "%"),
    "hand_in_legs_mm": Goal("hand in legs, deepest", 10.0, "mm"),
    "hand_in_legs_pct": Goal("  frames deeper than 1 % of the height", 0.0, "%"),
    "leg_in_leg_mm": Goal("leg in leg, deepest", 10.0, "mm"),
    "leg_in_leg_pct": Goal("  frames deeper than 1 % of the height", 0.0, "%"),
    "below_floor_mm": Goal("skin below the floor, deepest", 10.0, "mm"),
    "stands_off_floor_mm": Goal("standing level off the source's", 40.0, "mm"),
    "sole_tilt_deg": Goal("soles against the floor, flat stance", 5.0, "°"),
    "head_p95_deg": Goal("head turned otherwise", 3.0, "°"),
    "fingers_kept_ratio": Goal("range of the fingers over the source's", 0.9, "×", high=True),
}
"""Every figure with its goal: what nine of ten pairs of a good retargeter reach."""


def fidelity(
    source: tuple[Motion, Character],
    result: tuple[Motion, Character],
    *,
    depth: Depth = "skin",
    ground: Ground | float | None = None,
    copied: Motion | None = None,
    lead_in: int | None = None,
) -> Fidelity | None:
    """Compare a result with its source; None if one of them is no humanoid or they share fewer than eight frames.

    depth: "joints" looks at the joints alone; "skin" also at the result's mesh, if it has one. ground: what the result
    stands on, a level in metres or an object with `height(places)`; by default the level on which its skin usually
    stands. copied: the source's rotations on the result's character, if they are known (`transfer.transfer`); lead_in:
    frames of the source before its motion, if they are known.
    """
    motion, character = result
    if depth not in get_args(Depth):
        raise MotionError(f"expected depth to be one of {', '.join(get_args(Depth))}, got {depth!r}")
    if copied is not None:
        character.require_fit(copied.skeleton)
    # files round their frame rates: rates that stay within half a frame over the clip are the same
    if abs(motion.fps / source[0].fps - 1.0) * len(motion) > 0.5:
        motion = motion.resample(source[0].fps)
    pair = motion_pair(source, (motion, character), lead_in=lead_in)
    if pair is None:
        return None
    found: dict = {}
    places: dict[str, str] = {}
    _add_stances(pair, found, places)
    found["accel_peak_ratio"], found["accel_joint_ratio"], found["jerk_ratio"] = peak_ratios(pair)
    for limb, angles in limb_angles(pair).items():
        _add_limb(limb, angles, found)
    _add_hinges(pair, found, places)
    _add_limits(pair, source, (motion, character), copied, found, places)
    _add_hands(pair, found, places)
    found["head_p95_deg"], found["fingers_kept_ratio"] = head_turn(pair), finger_range(pair)
    if depth == "skin" and character.skin is not None and len(character.skin.faces):
        floor = None if ground is None else as_ground(ground)
        _add_skin(measure_skin(pair, motion, character, floor), found, places)
    return Fidelity(frames=pair.frames, lead_in=pair.first, places=places, **found)


def _add_stances(pair: MotionPair, found: dict, places: dict[str, str]) -> None:
    stances = measure_stances(pair)
    found["stances"] = tuple(stances)
    if not stances:
        return
    drifts = np.array([stance.drift for stance in stances])
    found["stance_median_mm"], found["stance_worst_mm"] = float(np.median(drifts)), float(drifts.max())
    for limit in (1, 5, 20):
        found[f"stance_over_{limit}mm_pct"] = 100.0 * float((drifts > limit).mean())
    worst = stances[int(drifts.argmax())]
    places["stance_worst_mm"] = f"{_words(worst.joint)}, frames {worst.start}–{worst.end - 1}"
    turned = [stance for stance in stances if stance.turn is not None]
    if turned:
        found["stance_sway_deg"] = quantile(np.array([stance.turn for stance in turned], float), 0.9)
        most = max(turned, key=lambda stance: stance.turn or 0.0)
        places["stance_sway_deg"] = f"{_words(most.joint)}, frames {most.start}–{most.end - 1}"


def _add_limb(limb: str, angles: LimbAngles, found: dict) -> None:
    found[f"{limb}_median_deg"], found[f"{limb}_p95_deg"] = angles.median, angles.p95
    found[f"{limb}_free_median_deg"] = angles.free


def _add_hinges(pair: MotionPair, found: dict, places: dict[str, str]) -> None:
    for hinge, bends in hinge_bends(pair).items():
        found[f"{hinge}_straight_extra_deg"], found[f"{hinge}_flip_frames"] = bends.straight, bends.flips
        if bends.first_flip is not None:
            places[f"{hinge}_flip_frames"] = f"first at frame {bends.first_flip}"
        if hinge == "knee":
            found["knee_start_extra_deg"] = bends.start


def _add_limits(
    pair: MotionPair,
    source: tuple[Motion, Character],
    result: tuple[Motion, Character],
    copied: Motion | None,
    found: dict,
    places: dict[str, str],
) -> None:
    motion, character = result
    if character.limits is None:
        return
    copied = transfer(*source, character) if copied is None else copied
    if pair.result_first != pair.first:
        copied = copied[pair.first - pair.result_first :]
    breaks = added_limit_breaks(motion, character, copied, pair.result_first)
    if breaks is not None:
        found["limit_breaks"], found["limit_worst_deg"] = breaks.count, breaks.worst
        if breaks.joint is not None and breaks.frame is not None:
            place = f"{breaks.joint}, frame {breaks.frame + pair.first - pair.result_first}"
            places["limit_worst_deg"] = places["limit_breaks"] = place


def _add_hands(pair: MotionPair, found: dict, places: dict[str, str]) -> None:
    hands = hands_together(pair)
    if hands is not None:
        found.update({"hands_frames": hands.frames, "hands_mm": hands.off})
        found.update({"hands_palms_mm": hands.palms, "hands_wrists_mm": hands.wrists})
        places["hands_mm"] = f"worst at frame {hands.worst_frame}"


def _add_skin(skin: SkinFigures, found: dict, places: dict[str, str]) -> None:
    for name, inside in skin.inside.items():
        found[f"{name}_mm"], found[f"{name}_pct"] = inside.deepest, inside.frames
        if inside.frame is not None:
            places[f"{name}_mm"] = f"{inside.part} inside the {inside.into}, frame {inside.frame}"
    found["below_floor_mm"], found["stands_off_floor_mm"] = skin.below_floor, skin.off_floor
    if skin.below_floor:
        places["below_floor_mm"] = f"frame {skin.below_floor_frame}"
    found["sole_tilt_deg"], found["hand_body_gap_mm"] = skin.sole_tilt, skin.hand_gap


def fidelity_rows(found: Fidelity) -> list[tuple[str, str, str, str, str]]:
    """Return a row per figure for tables: what, value, goal, "beyond" if it is missed, and where the worst is."""
    rows = []
    for name, value in found.figures().items():
        goal = GOALS[name]
        shown = f"{value:.0f}" if goal.unit in ("frames", "cases") else f"{value:.2f}"
        sign = "≥ " if goal.high else "≤ " if goal.limit else ""
        wanted = "" if goal.limit is None else f"{sign}{goal.limit:g}"
        missed = "beyond" if goal.missed(value) else ""
        rows.append((goal.label, f"{shown} {goal.unit}", wanted, missed, found.places.get(name, "")))
    return rows


def in_one_line(clauses: Sequence[str], most: int = 4) -> str:
    """Return the first clauses in one line, and how many more there are: "not right: … ; and 3 more"."""
    if not clauses:
        return "nothing is beyond its goal"
    more = [f"and {len(clauses) - most} more"] if len(clauses) > most else []
    return "not right: " + "; ".join([*clauses[:most], *more])


def _words(role: str) -> str:
    return role.replace("_", " ")


def _sliding(report: Fidelity) -> str:
    drifts = [stance.drift for stance in report.stances]
    limit = 5 if max(drifts) > 5.0 else 1
    over, place = sum(drift > limit for drift in drifts), report.places.get("stance_worst_mm")
    return (
        f"{over} of {len(drifts)} stances slide more than {limit} mm (worst {report.stance_worst_mm:.0f} mm: {place})"
        if limit == 5
        else f"{over} of {len(drifts)} stances slide more than 1 mm"
    )


def _inside(name: str) -> Callable[[Fidelity], str]:
    def say(report: Fidelity) -> str:
        what, _, rest = report.places.get(f"{name}_mm", "a part inside another").partition(" inside ")
        into, _, frame = rest.partition(", ")
        depth, often = getattr(report, f"{name}_mm"), getattr(report, f"{name}_pct")
        shared = f", in {often:.0f} % of frames" if often else ""
        return f"{what} {depth:.0f} mm inside {into} at {frame}{shared}"

    return say


def _of(name: str, text: str) -> Callable[[Fidelity], str]:
    """Return a clause with the value of a figure, and where it is."""

    def say(report: Fidelity) -> str:
        place = report.places.get(name)
        return text.format(getattr(report, name)) + (f" ({place})" if place else "")

    return say


def _beyond_limit(report: Fidelity) -> str:
    joint, _, frame = report.places.get("limit_worst_deg", "a joint").partition(", ")
    return f"{joint} {report.limit_worst_deg:.0f}° farther beyond its limit than in the source at {frame}"


def _limb(limb: str, words: str) -> tuple[frozenset[str], Callable[[Fidelity], str]]:
    def say(report: Fidelity) -> str:
        free, every = getattr(report, f"{limb}_free_median_deg"), getattr(report, f"{limb}_median_deg")
        if free is not None and GOALS[f"{limb}_free_median_deg"].missed(free):
            return f"{words} {free:.1f}° off the source where they touch nothing"
        return f"{words} {every:.1f}° off the source"

    return frozenset((f"{limb}_median_deg", f"{limb}_free_median_deg")), say


_CLAUSES: tuple[tuple[frozenset[str], Callable[[Fidelity], str]], ...] = (
    (frozenset(name for name in GOALS if name.startswith("stance_") and name != "stance_sway_deg"), _sliding),
    (frozenset({"stance_sway_deg"}), _of("stance_sway_deg", "standing feet turn by {:.1f}°")),
    *(
        (frozenset({f"{name}_mm", f"{name}_pct"}), _inside(name))
        for name in ("arm_in_torso", "hand_in_head", "hand_in_legs", "leg_in_leg")
    ),
    (frozenset({"below_floor_mm"}), _of("below_floor_mm", "skin {:.0f} mm below the floor")),
    (frozenset({"stands_off_floor_mm"}), _of("stands_off_floor_mm", "stands {:.0f} mm off the floor")),
    (frozenset({"hands_mm"}), _of("hands_mm", "hands that meet are {:.0f} mm off")),
    (
        frozenset({"hand_body_gap_mm"}),
        _of("hand_body_gap_mm", "hands at the body are {:.0f} mm farther from it than in the source"),
    ),
    (frozenset({"knee_flip_frames"}), _of("knee_flip_frames", "a knee bends the other way in {} frames")),
    (frozenset({"elbow_flip_frames"}), _of("elbow_flip_frames", "an elbow bends the other way in {} frames")),
    (
        frozenset({"knee_straight_extra_deg"}),
        _of("knee_straight_extra_deg", "knees bent {:.0f}° more where the source's are straight"),
    ),
    (frozenset({"knee_start_extra_deg"}), _of("knee_start_extra_deg", "knees {:.0f}° too bent in the first frames")),
    (
        frozenset({"elbow_straight_extra_deg"}),
        _of("elbow_straight_extra_deg", "elbows bent {:.0f}° more where the source's are straight"),
    ),
    (frozenset({"limit_breaks", "limit_worst_deg"}), _beyond_limit),
    (frozenset({"sole_tilt_deg"}), _of("sole_tilt_deg", "soles tilted by {:.0f}° in flat stance")),
    _limb("upper_arm", "upper arms"),
    _limb("forearm", "forearms"),
    _limb("thigh", "thighs"),
    _limb("shin", "shins"),
    (frozenset({"head_p95_deg"}), _of("head_p95_deg", "head turned otherwise by {:.0f}°")),
    (frozenset({"fingers_kept_ratio"}), _of("fingers_kept_ratio", "fingers keep {:.2f} of their range")),
    (frozenset({"accel_peak_ratio"}), _of("accel_peak_ratio", "peak acceleration {:.2f} × the source's")),
    (
        frozenset({"accel_joint_ratio"}),
        _of("accel_joint_ratio", "a joint accelerates up to {:.1f} × as much as the source's"),
    ),
    (frozenset({"jerk_ratio"}), _of("jerk_ratio", "jerk {:.2f} × the source's")),
)
"""Names of figures → the clause that says what is wrong if one of them is beyond its goal."""
