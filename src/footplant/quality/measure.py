"""Quality of a motion: foot skating, penetration, contact timing, smoothness and deviation from the source.

The same code measures any file, also other tools' output: all it needs is a motion on a character with feet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid
from footplant.checks import real_array
from footplant.clip import Clip
from footplant.contacts.detection import HANDS, TOES, Contacts, Plant, find_contacts, known_contacts
from footplant.contacts.ground import Ground, as_ground
from footplant.contacts.moving_ground import MovingGround
from footplant.contacts.settings import StillnessSettings
from footplant.contacts.turning import Turn, turns_in_place, without_turns
from footplant.errors import MotionError
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.quality import published
from footplant.quality.balance import BalanceQuality, balance, balance_of, distances_outside, is_balanced
from footplant.quality.deviation import Deviation, deviation
from footplant.quality.fidelity import Depth, Fidelity
from footplant.quality.fidelity import fidelity as compare_with_source
from footplant.quality.flight import FlightQuality
from footplant.quality.flight import flight as flight_of
from footplant.quality.published import Published
from footplant.quality.smoothness import Smoothness, continuous_parts, jerk_and_peak, smoothness
from footplant.quality.tracks import Tracks
from footplant.serialise import json_ready
from footplant.skeleton import Character
from footplant.wording import counted

STATIONARY = 1e-3
"""Body heights per s² and s³; acceleration and jerk below this are rounding errors of a character that stands still."""
RISEN = StillnessSettings().near
"""Body heights above its lowest place in a contact, beyond the noise, from which a point is off the ground (1.8 mm)."""
PARTNERS = {
    "left_heel": "left_ball", "left_ball": "left_heel", "right_heel": "right_ball", "right_ball": "right_heel",
}  # fmt: skip
"""The other point that a foot stands on."""

Source = Clip | tuple[Motion, Character] | tuple[Motion, Character, Contacts | None]


@dataclass(frozen=True)
class PlantQuality:
    """How well one foot contact holds."""

    point: str
    """Name of the contact point."""
    start: int
    """First frame."""
    end: int
    """First frame after it."""
    drift: float
    """Largest horizontal distance of the point from its mean position over the contact, mm.

    Contacts that are found in the motion itself: without frames in which the point has risen and rolls about the other
    point of its foot, which stands more steadily."""
    height_band: float
    """Largest minus smallest height over the contact, mm."""
    skate_speed: float
    """Mean horizontal speed over the contact, m/s."""
    start_error: int | None = None
    """Frames by which the actual contact begins late (early: negative); None without a source, or when lost."""
    end_error: int | None = None
    """Frames by which the actual contact ends late (early: negative); None without a source, or when lost."""


@dataclass(frozen=True, kw_only=True)
class ConstraintQuality:
    """Residuals of one constraint."""

    name: str
    kind: str = ""
    """Kind of constraint: position, footplant …"""
    unit: str = "mm"
    """Unit of `worst` and `mean`: mm, or degrees."""
    frames: int = 0
    """Number of frames at which it is active."""
    worst: float
    """Largest residual."""
    mean: float
    """Mean residual."""
    worst_share: float
    """Largest residual, % of the body's height; NaN for angles."""
    mean_share: float
    """Mean residual, % of the body's height; NaN for angles."""
    worst_frame: int | None = None
    """Frame of the largest residual."""
    hard: bool = True
    """Whether it is a hard constraint."""
    met: bool = True
    """Whether it is satisfied to the problem's tolerance."""


@dataclass(frozen=True)
class Quality:
    """Every metric of one motion. None means that there was nothing to measure (no contacts, no source, too short)."""

    frames: int
    fps: float
    """Frames per second."""
    height: float
    """Height of the body, metres."""
    plants: tuple[PlantQuality, ...]
    """Each contact that should hold: those given, else the source's, else the motion's own."""
    worst_plant: PlantQuality | None
    """The contact with the largest drift."""
    mean_drift: float | None
    """Mean drift over contacts, mm."""
    share_under_1mm: float | None
    """Share of contacts that drift less than 1 mm, 0 to 1."""
    share_under_2mm: float | None
    """Share of contacts that drift less than 2 mm, 0 to 1."""
    share_under_5mm: float | None
    """Share of contacts that drift less than 5 mm, 0 to 1."""
    timing_error: float | None
    """Mean absolute error of contact onsets and releases against the source, frames."""
    lost_plants: int | None
    """Contacts of the source during which our point is never in contact."""
    skate_speed: float | None
    """Mean horizontal speed of the points while in contact, m/s."""
    skate_speed_max: float | None
    """Largest horizontal speed of a point while in contact, m/s."""
    penetration_worst: float | None
    """Deepest point of the feet (and palms) below the ground, mm."""
    penetration_mean: float | None
    """Penetration of each frame's deepest point (0 where none is below), mean over frames, mm."""
    smoothness: Smoothness
    """Jerk and accelerations."""
    jerk_ratio: float | None
    """Jerk over the source's, both in body heights per s³, over the joints that both skeletons have (by role)."""
    peak_acceleration_ratio: float | None
    """Peak acceleration over the source's, both in body heights per s², over the joints that both skeletons have."""
    deviation: Deviation | None
    """Angles against the source; None without one."""
    limit_violations: int | None
    """Number of (frame, joint) pairs beyond the joint's limits; None when the character's limits are unknown."""
    limit_worst: float | None
    """Largest angle beyond a limit, degrees."""
    constraint_errors: tuple[ConstraintQuality, ...]
    """One for each constraint given."""
    published: Published
    """Metrics from published work."""
    fidelity: Fidelity | None = None
    """What the motion makes of its source, measured with other eyes than the solver's; None if it was not asked for."""

    balance: BalanceQuality | None = None
    """Zero-moment point over the feet; None where it has no meaning: hands carry weight, or no foot stands."""
    source_balance: BalanceQuality | None = None
    """The same of the source; None without one."""
    flight: FlightQuality | None = None
    """Centre of mass in flight; None if the motion does not fly."""

    def __repr__(self) -> str:
        """Return the footplants, the worst of them, and penetration."""
        what = [counted(len(self.plants), "footplant")]
        if self.worst_plant is not None:
            what.append(f"worst drifts {self.worst_plant.drift:.1f} mm")
        if self.penetration_worst is not None:
            what.append(f"deepest penetration {self.penetration_worst:.1f} mm")
        return f"Quality({', '.join(what)}, {self.frames} frames at {self.fps:.6g} fps)"

    def to_dict(self) -> dict:
        """Return a JSON-ready dictionary (NaN and infinity become None)."""
        out = {key: json_ready(value) for key, value in asdict(replace(self, fidelity=None)).items()}
        return out | {"fidelity": None if self.fidelity is None else self.fidelity.to_dict()}


def measure(
    motion: Motion | Clip,
    character: Character | None = None,
    contacts: Contacts | None = None,
    *,
    against: Source | None = None,
    ground: Ground | float | None = None,
    constraints: Sequence[tuple[str, ArrayLike]] = (),
    fidelity: Depth | None = None,
    hands: bool = False,
) -> Quality:
    """Measure a motion (or a clip), alone or `against` a source: a clip or (motion, character[, contacts]).

    Contacts are the given `contacts`; else the source's, since foot skating would hide the motion's own; else the
    motion's. A source with another frame rate is resampled; comparisons cover the frames that both have. `ground` is a
    level in metres or has `height(places)`; by default it is estimated from the contacts (the source's, for the
    source). On one that moves (`contacts.moving_ground`) everything is measured in its frame. `constraints` are (name,
    residuals (F,) or (F, k) in metres). fidelity: "joints" or "skin" compares it with the source by
    `quality.fidelity.fidelity` too, by its joints alone or with its posed skin. hands: palms that rest on something are
    contacts, too, where contacts are not given.
    """
    if isinstance(motion, Clip):
        motion, character = motion.motion, character or motion.character
    if character is None:
        raise MotionError("expected a clip, or a motion and its character")
    if isinstance(ground, MovingGround):
        motion, ground = ground.relative(motion), ground.base
    if hands and contacts is None and against is None:
        contacts = find_contacts((motion, character), ground=ground, hands=True)
    elif hands and against is not None and (isinstance(against, Clip) or len(against) == 2):
        performer = (against.motion, against.character) if isinstance(against, Clip) else against
        against = (*performer, find_contacts(performer, hands=True))
    source = None if against is None else _aligned(against, motion.fps)
    quality = _measure(motion, character, contacts, source, ground, constraints)
    if fidelity is None or against is None:
        return quality
    theirs = (against.motion, against.character) if isinstance(against, Clip) else against[:2]
    found = compare_with_source(theirs, (motion, character), depth=fidelity, ground=ground)
    return replace(quality, fidelity=found)


def measure_each(
    motions: Sequence[Motion],
    character: Character,
    contacts: Contacts | None = None,
    *,
    against: Source | JudgedSource,
    ground: Ground | float | None = None,
) -> tuple[Quality, ...]:
    """Measure several motions of one character against the same source, as `measure` does each.

    Measures of the source are computed once, for motions before and after an edit for example.
    """
    sources: dict[float, JudgedSource] = {}
    for motion in motions:
        if motion.fps not in sources:
            sources[motion.fps] = _aligned(against, motion.fps)
    return tuple(_measure(motion, character, contacts, sources[motion.fps], ground, ()) for motion in motions)


def _measure(
    motion: Motion,
    character: Character,
    contacts: Contacts | None,
    source: JudgedSource | None,
    ground: Ground | float | None,
    constraints: Sequence[tuple[str, ArrayLike]],
) -> Quality:
    given = contacts or (None if source is None else source.contacts)
    points = set() if given is None else {plant.point for plant in given.plants}
    own = find_contacts(
        (motion, character), ground=ground, toes=not points.isdisjoint(TOES), hands=not points.isdisjoint(HANDS)
    )
    kinematics = Kinematics(motion)
    expected = own if given is None else given
    floor = as_ground(ground) if ground is not None else own.ground if own.plants else expected.ground
    planted, found = expected, own
    if source is not None and expected.frames == source.contacts.frames:
        planted, found = (without_turns(every, source.turns) for every in (expected, own))
    tracks = Tracks.of(kinematics, character, floor)
    # heels that rise slowly over a planted ball are found to stand for a while
    risen = RISEN * character.height + 3.0 * own.noise if expected is own else np.inf
    plants = _measure_plants(tracks, planted, found if source is not None else None, motion.fps, risen)
    drifts = np.array([plant.drift for plant in plants])
    errors = [e for plant in plants for e in (plant.start_error, plant.end_error) if e is not None]
    stance = tracks.stance(planted)
    speeds = published.ground_speed(tracks.places, motion.fps)[stance[:-1] & stance[1:]]
    depths = 1000.0 * tracks.depths
    parts = continuous_parts(kinematics, character.height)
    smooth = smoothness(kinematics, character.height, parts=parts)
    ratios = (None, None) if source is None else _smoothness_ratios(kinematics, character, source)
    violations, worst_violation = _limits(motion, character)
    return Quality(
        frames=len(motion),
        fps=float(motion.fps),
        height=float(character.height),
        plants=tuple(plants),
        worst_plant=plants[int(drifts.argmax())] if plants else None,
        mean_drift=_mean(drifts),
        share_under_1mm=published.share(drifts < 1.0),
        share_under_2mm=published.share(drifts < 2.0),
        share_under_5mm=published.share(drifts < 5.0),
        timing_error=_mean(np.abs(errors)),
        lost_plants=None if source is None else sum(plant.start_error is None for plant in plants),
        skate_speed=_mean(speeds),
        skate_speed_max=_largest(speeds),
        penetration_worst=_largest(depths),
        penetration_mean=_mean(depths),
        smoothness=smooth,
        jerk_ratio=ratios[0],
        peak_acceleration_ratio=ratios[1],
        deviation=None if source is None else deviation(kinematics, character, source.kinematics, source.character),
        limit_violations=violations,
        limit_worst=worst_violation,
        constraint_errors=tuple(_constraint_error(name, residual, character.height) for name, residual in constraints),
        published=published.published_metrics(
            tracks, stance, expected, motion.fps, None if source is None else source.tracks
        ),
        balance=balance(kinematics, character, expected, parts),
        source_balance=None if source is None else source.balance,
        flight=None if character.masses is None else flight_of(kinematics, character, expected),
    )


def _mean(values: NDArray) -> float | None:
    return float(values.mean()) if values.size else None


def _largest(values: NDArray) -> float | None:
    return float(values.max()) if values.size else None


@dataclass(frozen=True, eq=False)
class JudgedSource:
    """A source at the rate of the motions that are measured against it; what is known of it is computed once."""

    kinematics: Kinematics
    character: Character
    contacts: Contacts
    _places: dict[tuple, tuple[float | None, float | None]] = field(default_factory=dict)

    @cached_property
    def tracks(self) -> Tracks:
        """Its contact points, relative to its own ground."""
        return Tracks.of(self.kinematics, self.character, self.contacts.ground)

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """Where its feet turn in place: heels that counted as planted are not."""
        return turns_in_place(self.contacts, self.kinematics, self.character)

    @cached_property
    def balance(self) -> BalanceQuality | None:
        """Its zero-moment point over its feet."""
        known = is_balanced(self.character, self.contacts, len(self.kinematics.motion))
        return balance_of(self.outside) if known else None

    @cached_property
    def outside(self) -> NDArray:
        """How far (F,) its zero-moment point is outside the support of its feet, metres: see `distances_outside`."""
        return distances_outside(self.kinematics, self.character, self.contacts, self.parts)

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """Its frames between cuts."""
        return continuous_parts(self.kinematics, self.character.height)

    def jerk_and_peak(
        self, joints: list[int] | None, parts: list[tuple[int, int]]
    ) -> tuple[float | None, float | None]:
        """Return `smoothness.jerk_and_peak` of some joints and frames, memoised."""
        key = (None if joints is None else tuple(joints), tuple(parts))
        if key not in self._places:
            self._places[key] = jerk_and_peak(self.kinematics, self.character.height, joints, parts)
        return self._places[key]


def _aligned(against: Source | JudgedSource, fps: float) -> JudgedSource:
    if isinstance(against, JudgedSource):
        if np.isclose(fps, against.kinematics.motion.fps, rtol=1e-6):
            return against
        motion, character, contacts = against.kinematics.motion, against.character, against.contacts
    elif isinstance(against, Clip):
        motion, character, contacts = against.motion, against.character, None
    elif len(against) == 3:
        motion, character, contacts = against
    else:
        (motion, character), contacts = against, None
    if len(motion) and not np.isclose(fps, motion.fps, rtol=1e-6):
        motion = motion.resample(fps)
        contacts = None if contacts is None else contacts.resample(fps, len(motion))
    return JudgedSource(Kinematics(motion), character, known_contacts(contacts, (motion, character)))


def _measure_plants(
    tracks: Tracks, contacts: Contacts, own: Contacts | None, fps: float, risen: float
) -> list[PlantQuality]:
    """Measure each contact on our own points; with `own`, compare its timing with the contacts found there.

    risen: metres; a point that is higher above its lowest place may roll about the other point of its foot.
    """
    from footplant.kernels.measures import plant_errors, rolling

    frames = len(tracks.places)
    if any(plant.start < 0 for plant in contacts.plants):
        raise MotionError(f"expected contacts from frame 0 on, got {min(plant.start for plant in contacts.plants)}")
    plants = [p for p in contacts.plants if p.point in tracks.names and p.start < min(p.end, frames)]
    rows = [(tracks.names.index(plant.point), plant.start, min(plant.end, frames)) for plant in plants]
    table, spans = np.empty((len(plants), 3)), np.array(rows, np.int64).reshape(-1, 3)
    rolls = np.zeros(tracks.heights.shape, bool)
    if np.isfinite(risen):
        columns = [tracks.columns([PARTNERS.get(name, "")]) for name in tracks.names]
        partners = np.array([column[0] if column else -1 for column in columns])
        room = np.empty((len(spans), 3))
        rolling(tracks.places, tracks.heights, spans, partners, risen, rolls, room)
    plant_errors(tracks.places, rolls, spans, table)
    actual = None if own is None else {point: own.intervals(point) for point in own.points}
    return [
        PlantQuality(
            plant.point,
            plant.start,
            end,
            1000.0 * drift,
            1000.0 * band,
            way * fps,
            *((None, None) if actual is None else _timing(plant, actual.get(plant.point, []))),
        )
        for plant, (_, _, end), (drift, band, way) in zip(plants, rows, table.tolist())
    ]


def _timing(plant: Plant, own: Sequence[tuple[int, int]]) -> tuple[int | None, int | None]:
    """Return the errors of onset and release against the overlapping (start, end) of our own contacts of the point."""
    overlapping = [(a, b) for a, b in own if min(b, plant.end) > max(a, plant.start)]
    if not overlapping:
        return None, None
    return overlapping[0][0] - plant.start, overlapping[-1][1] - plant.end


def _limits(motion: Motion, character: Character) -> tuple[int | None, float | None]:
    """Return the number of (frame, joint) pairs beyond the joint's limits, and the largest violation in degrees."""
    if character.limits is None or character.roles is None:
        return None, None
    beyond = humanoid.limit_violations(character, motion.rotations)
    return int((beyond > 1e-9).sum()), float(np.degrees(beyond.max(initial=0.0)))


def _constraint_error(name: str, residual: ArrayLike, height: float) -> ConstraintQuality:
    values = np.abs(np.atleast_1d(real_array(residual, f"residuals of {name!r}", MotionError)))
    values = np.linalg.norm(values.reshape(len(values), -1), axis=1) if values.ndim > 1 else values
    worst, mean = (float(values.max()), float(values.mean())) if values.size else (0.0, 0.0)
    return ConstraintQuality(
        name=name,
        frames=len(values),
        worst=1000.0 * worst,
        mean=1000.0 * mean,
        worst_share=100.0 * worst / height,
        mean_share=100.0 * mean / height,
        worst_frame=int(values.argmax()) if values.size else None,
    )


def _smoothness_ratios(
    kinematics: Kinematics, character: Character, source: JudgedSource
) -> tuple[float | None, float | None]:
    """Return jerk and peak acceleration over the source's, on joints of the same roles.

    Otherwise a skeleton with fingertip joints would look jerkier than one whose hands are a single joint.
    """
    joints = shared_joints(character, source.character)
    # use the source's cuts: whether a step counts as a cut depends on the body that moves
    frames = len(kinematics.motion)
    parts = [(first, min(last, frames)) for first, last in source.parts if first < frames]
    ours = jerk_and_peak(kinematics, character.height, joints[0], parts)
    theirs = source.jerk_and_peak(joints[1], parts)
    return _ratio(ours[0], theirs[0]), _ratio(ours[1], theirs[1])


def shared_joints(character: Character, other: Character) -> tuple[list[int], list[int]] | tuple[None, None]:
    """Return the joints of two characters that have the same roles, one per role; None where there are none."""
    if character.roles is None or other.roles is None:
        return None, None
    ours, theirs = character.roles.joints, other.roles.joints
    shared = [role for role in ours if ours[role] and theirs.get(role)]
    return ([ours[role][0] for role in shared], [theirs[role][0] for role in shared]) if shared else (None, None)


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    """Return ours / theirs; None where there is nothing to compare with, such as a source that stands still."""
    return ours / theirs if ours is not None and theirs is not None and theirs > STATIONARY else None
