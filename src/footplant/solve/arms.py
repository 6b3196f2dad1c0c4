"""The arms' stage of retargeting: arms kept out of the body and the ground, touches of the source kept.

The whole clip is solved at once for a small displacement of the arms, given the rest of the body:

    minimise Σ |d|²_W + w(τf)⁴|D²d|² + 2w(τf)²|D¹d|² + touches (robust) + bounds (body, ground, other arm, limits,
    hands as close to the body as the source's)

d turns upper arm and forearm, two unknowns each per knot (`_arms`), and near the ground the hands, three each: |d| is
the angle by which they are off. Bounds are quadratic penalties on what is broken; a bound takes part in a step when
that step is predicted to break it (look-ahead active set). Knots are about `knot_time` apart; in windows with planted
palms, shoulders that turn past 180°, or limits that are broken between knots, every frame is a knot. Frames far from
anything that acts stay as they are, bit for bit.

A palm planted on the ground lies on it: the wrist extends, and the skin of the hand stays above it. Where its place is
free, it is where the palm comes to lie without it; so is that of a palm held in the air inside the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.checks import frame_span, real_number
from footplant.constraints import Footplant
from footplant.contacts.detection import HANDS
from footplant.contacts.ground import Ground, normal_of
from footplant.contacts.hanging import hanging_arm
from footplant.contacts.importance import importance
from footplant.errors import MotionError, SkeletonError
from footplant.humanoid.body_proxy import SEGMENTS
from footplant.humanoid.body_shell import GROUPS, ArmSamples, BodyShell, surface_of
from footplant.humanoid.limits import limit_excess, limit_table
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character, Skeleton
from footplant.solve.ik.limb import limb_of


@dataclass(frozen=True)
class ArmSettings:
    """Tuning numbers of the arms' stage. Lengths are in body heights, weights relative to that of the reference."""

    knot_time: float = 0.028
    """Seconds between knots. Doubled, quick claps are met less well; halved, everything costs twice."""
    between: float = np.radians(0.5)
    """Radians by which an arm may break its limits between knots; a window with one that does so farther is solved
    again, with a knot at every frame. Without that, the elbow of a boxer captured at 100 frames/s is 3.3 instead of
    0.2° beyond its limits (boxing_toes on short legs)."""
    smoothing: float = 0.08
    """Seconds; time constant τ of the displacement. With 0.1 free upper arms of the median pair are 0.66° off the
    source instead of 0.39°, with 0.12 0.94°, with 0.16 1.27°. What would then jump is smoothed (`smoother`)."""
    smoother: tuple[float, ...] = (1.5, 2.25, 3.4)
    """Factors of τ that are tried in turn around where a hand accelerates more than `peak` times the incoming motion's
    hands and feet do at most."""
    stiff_reach: float = 8.0
    """Time constants, multiplied by the factor, before and after such a jump in which it is smoothed. With the whole
    window smoothed, free upper arms of a walk on a belly are 33.1 instead of 29.1° off the source, and forearms 9.1
    instead of 7.6° (pymo on Blubby; its body demands 27°). With 2 and 4 28.2 and 28.5°, but jumps move elsewhere: hands
    of mocapbank on a knight have 2.3 and 1.2 times the incoming motion's peak acceleration instead of 0.9."""
    peak: float = 1.1
    """See `smoother`; smoothing that makes a jump so much higher is taken back: arms of a walk on a figure of 370
    vertices (humanoid3d's on RiggedFigure) were 16.6 and 10.5° off the source with 1.5 times its peak acceleration, and
    are 7.3 and 2.7° off with 1.1 times. Without smoothing a hand that slides round a knee has 5 times the source's peak
    acceleration (reach on long legs), with it 0.74 times; with factors up to 2 alone a slow idle has 2.9 times, up to
    3.4 0.96 times."""
    remaining_peak: float = 2.0
    """Times the incoming peak from which a jump that remains after all factors smooths the whole window: it may have
    moved on. Without it an idle on a knight has 3.6 times the source's peak acceleration, with it 1.3 times; with 1.1
    a walk on a belly is smoothed so too, and its arms stand off 33 instead of 29° from the source's."""
    slip: float = 0.002
    """Distance by which smoothing may pull planted palms off their places (3 mm), if nothing else does: what pulls
    farther is taken back. With 0.001, 0.002, 0.004 and without it, palms of a climber with long arms are up to 1.1,
    2.0, 6.1 and 10.8 mm off as they get hold of a rope, and its hands accelerate 2.9, 1.9, 1.3 and 1.2 times as much as
    the incoming motion's hands and feet do at most."""
    bound: float = 8e3
    """Weight of a broken bound, per squared body height. 6e4 follows each change of the nearest way out (peak
    acceleration 10 instead of 3.7 times the source's on mocapbank); 3e3 leaves arms 18 mm inside the trunk. Multiplied
    by the square of the factor where arms are smoothed (`smoother`), salsas on a knight with a huge head and on a girl
    (61_01 on KayKit_Knight and Godette) and a sitter (13_01 on RobotExpressive) have arms 1.3, 0.5 and 0.6 instead of
    2.2, 0.7 and 1.1 mm in the trunk in the mean over 350 frames, but free upper arms 4.5, 1.6 and 0.7° farther off, as
    have knights that had nothing inside (18_01 and mocapbank: 1.5 and 2.1°)."""
    elastic: float = 0.03
    """Distance by which a bound may be broken before it pulls no harder (5 cm)."""
    most: float = 1.4
    """Radians; largest displacement of shoulder and elbow: what needs more is not met."""
    limit: float = 3000.0
    """Weight of an elbow bent backwards or too far and of joints beyond their limits, per rad². 300 left 298 instead of
    193 broken limits (144_20 on DinoKid) before shoulders had rows; with 1e4 and 3e4 nothing else changes than this
    pair, whose fists are held before a huge head: limits are broken by 2 and 1 instead of 9°, and its hands are 110 and
    123 instead of 60 mm in the head."""
    touch: float = 1500.0
    """Weight of a palm's place on the body and of palms together, per squared body height."""
    plant: float = 1e7
    """Weight of a planted palm, per squared body height."""
    plant_force: float = 100.0
    """Largest force of a planted palm at whose place the hand is inside the body, per body height: it is not met."""
    on_ground: float = 0.08
    """Distance from the ground below which a planted palm rests on it (14 cm)."""
    flat: float = 1.2
    """Radians between the ground and a palm that lies on it, at most: farther the wrist extends. In a crawl (111_03 on
    the mannequin and on Crimsom) the hands' skin is 16 and 29 mm below the ground at 90 % of the frames near it; with
    0.8 14 and 26, but one palm is 20 mm off its place; with 0.3 4 and 20, and ten more joint limits are broken; without
    it 24 and 49; with hands that do not turn 103 and 144."""
    stretch: float = 0.995
    """Fraction of its length to which an arm stretches for a planted palm whose place is free."""
    hanging: float = 0.3
    """Share of frames with a planted palm above which the body hangs or climbs: given places inside it are met as
    well."""
    robust: float = 0.01
    """Distance beyond which a touch pulls with constant force (2 cm)."""
    given_up: float = 0.06
    """Distance by which hands that should meet, or a palm that should touch, are missed beyond which a second solve
    pulls less, as its inverse square (10 cm). Of a clap over a belly, upper arms are 80° off the source at the 95th
    percentile without that, and 53°, 66° and 80° with 0.03, 0.06 and 0.12; forearms that touch nothing 24° without, and
    6°, 5° and 20° with. Of fists before a huge head (144_20 on DinoKid), arms are 110 mm inside the trunk without and 0
    with each. With 0.03, other hands that meet are 21 instead of 17 mm off (05_02 on Kate)."""
    margin: float = 0.001
    """Clearance of the body proxy (2 mm)."""
    deepest: float = 0.006
    """Depth inside the body that a hand may have because the source's own skin has it (1 cm). Skins of sources are
    thicker or thinner than who was recorded: without this bound, hands of a limp, of a reach and of a turn are 71, 65
    and 25 mm inside the legs of a short figure, with it 14, 10 and 7 mm, and arms of a warrior 0 instead of 39 mm
    inside a belly. With 0, hands beside the body are farther from it (of a limp on Godette 8 instead of 3 mm), and arms
    beside that belly are 16.1 instead of 15.7° off the source."""
    deep: float = 0.02
    """Depth of an arm that touches something inside the body beyond which trunk and head grow about their bones, and of
    a hand in a leg beyond which legs do (3 cm). The nearest way out of a fat belly may lead to the other side; a
    growing one keeps an arm on the side where it is. Without the head growing, 380 instead of 130 joint limits are
    broken where fists are held before a huge one (144_20 on DinoKid). Without legs growing, hands of a backflip and
    of a dance are 32 and 24 mm inside them (88_01 on CesiumMan, video2bvh on Sally), with it 11 and 5 mm; others are as
    deep as before (88_01 on Godette). Trunks that grow where nothing is touched turn forearms of a walk on a knight by
    45 to 80 instead of 29° (02_01 on KayKit_Knight)."""
    small: tuple[float, float] = (0.7, 0.3)
    """Sizes of trunk and head, and of legs, in the first step. Of the 80 worst of 304 pairs, arms are 8.0, 7.3 and 7.0
    mm in the trunk in the mean, hands 2.0, 1.9 and 0.9 mm in the head, with both at 0.5 for 3 steps, 0.5 for 2 and 0.7
    for 2; with 0.4 for 3 one fist ends in a huge head, 71° beyond its limits. Legs at 0.7, 0.5, 0.3 and 0.1 for 2 leave
    hands of that backflip and that dance 31 and 35, 26 and 7, 11 and 5, 8 and 0 mm in them; at 0.1 arms that touch
    nothing are farther off (6.5 instead of 5.8°)."""
    growing: int = 2
    """Steps in which it grows."""
    near: float = 0.04
    """Distance within which bounds are looked at ahead (7 cm)."""
    near_body: float = 0.035
    """Distance from the body's surface below which a palm's place on it has importance (6 cm)."""
    close_body: tuple[float, float] = (0.03, 0.042)
    """Distances of the palm from the body's surface below which a hand stays as close to it as the source's, and above
    which it need not (5 and 7 cm). With 0.04 and 0.05 arms that touch nothing are 1.2 instead of 0.8° off the source in
    the median pair (before `swing`)."""
    close: float = 400.0
    """Weight of a hand that is farther from the body than the source's, per squared body height. Without it hands at
    the body are 25 instead of 10 mm farther off than the source's in the median pair, and free upper arms 0.45 instead
    of 0.65° off; with half of it hands are about 5 mm farther off."""
    swing: float = 0.8
    """Body heights per second; speed along the body up to which a hand stays as close; at twice that it need not. With
    0.4 a runner's hands are 81 instead of 49 mm farther from the trunk than the source's (09_01 on Sally), and those of
    113 pairs 9.5 and 16.3 instead of 9.2 and 15.3 mm in the median of two lists, but the runner's arms 0.01 instead of
    0.4° off the source. With 1.2 and 2 there is next to no difference, but one shoulder is farther beyond its limit."""
    close_slack: float = 0.006
    """Distance by which it may be farther (1 cm)."""
    near_hands: tuple[float, float] = (0.09, 0.18)
    """Distances between the palms below which it has full importance, and none (16 and 31 cm)."""
    palms_meet: tuple[float, float] = (0.03, 0.08)
    """Distances between the palms below which their skin meets, and above which the hands' middles count instead (5 and
    14 cm): hands of other sizes have their palms elsewhere."""
    hand_middle: float = 0.055
    """Distance of a hand's middle from its wrist (9 cm)."""
    passing: float = 0.3
    """Body heights per second; a palm that moves along the body this fast does not touch it."""
    meant: float = 0.5
    """Importance that a touch must reach, once, to be kept."""
    reach: float = 0.97
    """Fraction of its length to which an arm stretches for a touch."""
    hinge: float = 0.1
    """Share of the anatomical axis in the hinge axis of the elbow; the rest is the plane in which the arm bends."""
    straight: float = 0.2
    """Sine of the flexion of a nearly straight arm: below it the upper arm's twist stays as it is."""
    hinge_time: float = 0.1
    """Seconds over which the hinge axis is smoothed."""
    pad: float = 0.45
    """Seconds before and after what acts in which the displacement fades."""
    steps: int = 5
    """Gauss–Newton steps at most. 15 bring hands that meet to 7 instead of 10 mm off in the median pair, but cost three
    times as much."""
    looks: int = 4
    """Solves of a step at most, each with the bounds that the one before is predicted to break."""
    proximal: float = 15.0
    """Weight of the change in a step, relative to that of the reference: damps sliding along curved surfaces. With 3
    and eight steps free upper arms are 1.2 instead of 0.5° off the source in the median pair."""
    longest: float = 1.0
    """Radians; longest step."""
    enough: float = 0.01
    """Radians; a step shorter than this ends the search."""
    told: float = 0.015
    """Distance by which a touch is missed that is reported (25 mm)."""
    told_for: float = 0.1
    """Seconds; a touch that is missed for less time is not reported: the displacement has no time to grow."""
    told_apart: float = 0.5
    """Seconds between intervals that are reported as one."""


ARMS = ArmSettings()
KEPT = 2048
"""Frames at most whose posed body is kept from step to step, 17 kB each: the arms do not move it."""
PROJECTIONS = 50
"""Most projections by which a planted palm's place is brought within reach or out of the body."""
LEG_GROUPS = [GROUPS.index(name) for name in ("left_leg", "right_leg")]
GROUP_NEAR = 0.02
"""Metres from the arms within which parts of the body are looked at."""
GROUND_NEAR = 0.1
"""Body heights of an arm's lowest point above the ground under its elbows and wrists within which it is looked at."""
LEGS_AND_TRUNK = 0.85
"""Legs and trunk up to the head joint as a share of the height (Drillis and Contini 1966)."""


@dataclass(frozen=True, eq=False)
class ArmsResult:
    """A motion after the arms' stage."""

    motion: Motion
    notes: tuple[str, ...] = ()
    """What could not be met, one sentence each."""
    palms: NDArray | None = None
    """(N,) metres left between each planted palm and its place, the worst of its frames; None without any."""
    plants: tuple[Footplant, ...] = ()
    """The palms' footplants with their places: those given, or moved where they are free."""


def solve_arms(
    motion: Motion,
    target: Character,
    source: Kinematics,
    source_character: Character,
    *,
    palms: Sequence[Footplant] = (),
    free: bool = False,
    same_body: bool = False,
    ground: Ground | None = None,
    frames: range | None = None,
    settings: ArmSettings = ARMS,
) -> ArmsResult:
    """Return the target's motion with its arms out of its body and the ground, and the source's touches kept.

    source: kinematics of the source's motion at the same frames. palms: planted palms with their places; free: whether
    these may move to where the motion has the palm. same_body: whether the motion is the source's, edited: arms change
    only near planted palms and in the ground, they may be in the body as deep as they were, and palms on the ground
    keep their places, but are as high as they lie on it. ground: of the target; None: none. frames: those that may
    change (default: all).
    """
    frames = frame_span(frames, len(motion))
    for own, owner in ((motion, target), (source.motion, source_character)):
        owner.require_fit(own.skeleton)
        real_number(owner.height, f"height of {owner.name!r}", SkeletonError, above=0.0)
    if len(source.motion) != len(motion):
        raise MotionError(f"expected a source of {len(motion)} frames, got one of {len(source.motion)}")
    arms = _tables(target)
    plants = tuple(palms)
    if arms is None or len(frames) < 3:
        return ArmsResult(motion, plants=plants)
    if free:
        plants = _at_mean_places(plants, motion, target, ground, settings)
    stage = _ArmsStage(
        motion, target, source, source_character, plants, free, ground, frames, settings, arms, same_body
    )
    return stage.solve()


def _at_mean_places(
    plants: tuple[Footplant, ...], motion: Motion, target: Character, ground: Ground | None, settings: ArmSettings
) -> tuple[Footplant, ...]:
    """Return the plants in the air at the mean of their points' paths, the least way for the hands, or as near to it as
    the arms reach.

    Palms on the ground stay, at its height: the legs' stage has brought the shoulders within reach of them.
    """
    kinematics, roles, found = Kinematics(motion), target.require_roles(), []
    for plant in plants:
        side = next((name.partition("_")[0] for name in HANDS if plant.point == target.contacts.get(name)), None)
        if side is None or plant.place is None or not plant.frames or f"{side}_upper_arm" not in roles:
            found.append(plant)
            continue
        given = np.array(plant.place, float)
        level = -np.inf if ground is None else float(ground.height(given[None, ::2])[0])
        if given[1] - level < settings.on_ground * target.height:
            given[1] = level
            found.append(plant.like(place=given))
            continue
        rows = np.asarray(plant.frames)
        path = kinematics.point(plant.point)[rows]
        shoulder, elbow = (kinematics.positions[rows, roles[f"{side}_{part}"]] for part in ("upper_arm", "lower_arm"))
        found.append(plant.like(place=_mean_place(shoulder, elbow, path, settings.stretch)))
    return tuple(found)


def _mean_place(shoulder: NDArray, elbow: NDArray, palm: NDArray, stretch: float) -> NDArray:
    """Return the mean (3,) of a palm's path, or as near to it as the arm reaches in all frames, to a fraction `stretch`
    of its length; all (K, 3), metres."""
    lengths = np.linalg.norm(elbow - shoulder, axis=1) + np.linalg.norm(palm - elbow, axis=1)
    return _within(palm.mean(axis=0), shoulder, stretch * lengths)


def _within(place: NDArray, centres: NDArray, radii: NDArray) -> NDArray:
    """Return a place (3,) within all balls about centres (K, 3) with radii (K,), near the one given.

    It is moved into the ball that it is farthest outside of, by turns.
    """
    for _ in range(PROJECTIONS):
        away = place - centres
        distance = np.linalg.norm(away, axis=1)
        worst = int((distance - radii).argmax())
        if distance[worst] <= radii[worst]:
            break
        place = centres[worst] + radii[worst] / distance[worst] * away[worst]
    return place


_known: WeakKeyDictionary[Skeleton, tuple[tuple, tuple | None]] = WeakKeyDictionary()


def _tables(target: Character):
    """Return the arms of a character as kernels take them, cached with the skeleton; None without arms."""
    parts = (target.roles, target.skin, *(target.contacts.get(name) for name in HANDS))
    found = _known.get(target.skeleton)
    if found is None or any(known is not part for known, part in zip(found[0], parts)):
        found = _known[target.skeleton] = parts, _find_tables(target)
    return found[1]


def _find_tables(target: Character):
    from footplant.kernels import shell as shell_kernel
    from footplant.solve import _arms as kernel

    if target.roles is None:
        return None
    skeleton = target.skeleton
    joints, hinges, palms, offsets = np.full((2, 6), -1), np.zeros((2, 3)), np.full(2, -1), np.zeros((2, 3))
    segments, limits, axes = np.full(2, kernel.FOREARM), np.zeros((2, 3, 14)), np.zeros((2, 3, 3))
    hands: list[set[int]] = [set(), set()]
    for arm, side in enumerate(("left", "right")):
        try:
            limb = limb_of(target, f"{side}_arm")
            skeleton.chain(limb.end, limb.lower)
            skeleton.chain(limb.lower, limb.upper)
        except SkeletonError:
            continue
        parents = [int(skeleton.parents[joint]) for joint in (limb.upper, limb.lower, limb.end)]
        joints[arm] = parents[0], limb.upper, parents[1], limb.lower, limb.end, parents[2]
        hands[arm] = set(skeleton.descendants(limb.end))
        limits[arm] = [limit_table(target, joint) for joint in (limb.upper, limb.lower, limb.end)]
        # in the reference pose hands point sideways and palms face down
        out = 1.0 if side == "left" else -1.0
        axes[arm] = rotation.rotate(rotation.inverse(limits[arm, kernel.HAND, 4:8]), np.diag([out, -1.0, out]))
        hinges[arm] = limb.axis
        palm = target.contacts.get(f"{side}_palm")
        if palm is not None and palm.joint in skeleton.descendants(limb.lower):
            palms[arm], offsets[arm] = palm.joint, palm.offset
            segments[arm] = kernel.HAND if palm.joint in hands[arm] else kernel.FOREARM
    samples, shell = ArmSamples.of(target), BodyShell.of(target).tables()
    if not len(samples.arms):
        return None
    kept = joints[samples.arms, 1] >= 0
    if not kept.any():
        return None
    places, turned = skeleton.posed(skeleton.rest)
    allowed = np.zeros((int(kept.sum()), len(GROUPS)))
    at = places[samples.joints[kept]] + rotation.rotate(turned[samples.joints[kept]], samples.offsets[kept])
    for group in range(len(GROUPS)):
        out = np.empty((len(at), 4))
        repeated = [np.ascontiguousarray(np.broadcast_to(part, (len(at), *part.shape))) for part in (places, turned)]
        for part in repeated:
            part.setflags(write=False)
        many_places, many_turned = repeated
        shell_kernel.distances(shell, group, many_places, many_turned, at, shell_kernel.new_posed(shell), out)
        allowed[:, group] = np.minimum(out[:, 0] - samples.radii[kept], 0.0)
    # elbows are kept out of the trunk alone, the thick end of the forearm out of trunk and legs
    allowed[~samples.forearm[kept], 1:] = -np.inf
    allowed[~samples.outer[kept], GROUPS.index("head")] = -np.inf
    surface = surface_of(target)
    rings = [
        [surface.rings[SEGMENTS.index(f"{side}_{part}"), 4:, 0].min() for part in ("upper_arm", "lower_arm")]
        for side in ("left", "right")
    ]
    capsules = np.maximum(np.array(rings), 0.0)
    on_hand = [joint in hands[arm] for arm, joint in zip(samples.arms.tolist(), samples.joints.tolist())]
    parts = np.where(on_hand, kernel.HAND, np.where(samples.forearm, kernel.FOREARM, kernel.UPPER_ARM))
    arms = kernel.Arms(
        joints, palms, offsets, segments, axes, limits, hinges, samples.arms[kept], parts[kept],
        samples.joints[kept], np.ascontiguousarray(samples.offsets[kept]), samples.radii[kept], allowed, 0.8 * capsules,
    )  # fmt: skip
    return arms, shell, surface.tables()


def _as_points(arms):
    """Return arms with points at the allowed distance of their spheres: of points, kernels tell the depth."""
    return arms._replace(radii=np.zeros_like(arms.radii), allowed=arms.allowed + arms.radii[:, None])


def stature(character: Character) -> float:
    """Return the height of a body from its legs and trunk, metres: crowns, hats and big heads do not count."""
    roles, skeleton = character.require_roles(), character.skeleton
    lengths = np.linalg.norm(skeleton.offsets, axis=1)

    def path(end: str, start: str) -> float:
        if end not in roles or start not in roles or roles[start] not in skeleton.chain(roles[end]):
            return 0.0
        return float(sum(lengths[joint] for joint in skeleton.chain(roles[end], roles[start])[1:]))

    legs = [path(f"{side}_foot", f"{side}_upper_leg") for side in ("left", "right")]
    trunk = path("head", "hips")
    if not (trunk > 0.0 and min(legs) > 0.0):
        return character.height
    return (0.5 * sum(legs) + trunk) / LEGS_AND_TRUNK


class _ArmsStage:
    """The data of one solve."""

    def __init__(
        self, motion, target, source, character, palms, free, ground, frames, settings, tables, same_body=False
    ) -> None:
        self.motion, self.target, self.source, self.character = motion, target, source, character
        self.ground, self.frames, self.settings = ground, frames, settings
        self.arms, self.shell, self.tubes = tables
        from footplant.kernels.shell import new_bodies

        self.kinematics = Kinematics(motion)
        self.fps = motion.fps
        self.touch = settings.touch / target.height**2
        self.plants, self.free, self.same_body = list(palms), free, same_body
        self.palms = [
            (number, side)
            for number, plant in enumerate(palms)
            for side, name in enumerate(HANDS)
            if plant.place is not None and plant.point == target.contacts.get(name) and self.arms.palms[side] >= 0
        ]
        held = np.zeros(len(motion), bool)
        for plant in (self.plants[number] for number, _ in self.palms):
            held[plant.active_rows(np.arange(len(motion)), self.fps)[0]] = True
        self.hangs = bool(held.mean() > settings.hanging)
        self.statures = stature(character), stature(target)
        self.source_tables = self._source_tables()
        self.bodies = new_bodies(self.shell, min(len(motion), KEPT))

    def _work(self, knots: int = 1, free: int | None = None):
        """Return scratch memory for so many knots, with so many unknowns each."""
        from footplant.solve import _arms as kernel

        samples = len(self.arms.sample_arms)
        return kernel.new_work(knots, self.shell, samples, kernel.UNKNOWNS if free is None else free, self.bodies)

    # --- what acts ------------------------------------------------------------------------------------------------

    def _source_tables(self):
        """Return the source's palms, hanging arms and tubes; None where it has no palms."""
        if not all(name in self.character.contacts for name in HANDS) or (self.arms.palms < 0).any():
            return None
        places = [np.ascontiguousarray(self.source.point(self.character.contacts[name])) for name in HANDS]
        hangs = [hanging_arm(self.source, self.character, name.partition("_")[0]) for name in HANDS]
        return places, hangs, surface_of(self.character).tables()

    def _planted(self, frames: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Return the places (K, 2, 3) of planted palms, where they are held (K, 2), where the hand would then be
        inside the body at some time (K, 2), and their activation (K, 2)."""
        places, held = np.zeros((len(frames), 2, 3)), np.zeros((len(frames), 2), bool)
        active, blocked = np.zeros((len(frames), 2)), np.zeros((len(frames), 2), bool)
        for number, side in self.palms:
            plant = self.plants[number]
            rows, share = plant.active_rows(frames, self.fps)
            active[rows, side] = np.maximum(active[rows, side], share)
            rows = rows[share >= 1.0]
            places[rows, side], held[rows, side] = plant.place, True
            if self.same_body:
                continue
            if not self.hangs or (self.free and not self._rests(np.array([plant.place], float))[0]):
                blocked[rows, side] = self._inside(side, plant.place, frames[rows])[0] > 0.0
        return places, held, blocked, active

    def _rests(self, places: NDArray) -> NDArray:
        """Return whether palms at places (N, 3) rest on the ground, (N,)."""
        if self.ground is None:
            return np.zeros(len(places), bool)
        return places[:, 1] - self.ground.height(places[:, ::2]) < self.settings.on_ground * self.target.height

    def _inside(self, side: int, place: NDArray, frames: NDArray) -> tuple[float, NDArray]:
        """Return how deep a hand with its palm at a place (3,) is inside the body at some frames, at most, and the way
        out (3,)."""
        from footplant.solve import _arms as kernel

        positions, rotations = self.kinematics.positions, self.kinematics.rotations
        least, way = kernel.planted_clearance(
            self.arms, self.shell, frames, positions, rotations, side, np.asarray(place, float), self._work()
        )
        return max(-least, 0.0), np.array(way)

    def window(self, frames: NDArray):
        """Return the arms, goals and ground at some frames (ascending) as kernels take them, and clearances (K, 2).

        Metres: of arms from the body, and of hands from the legs, there 0 at most.
        """
        from footplant.kernels.touches import meant
        from footplant.solve import _arms as kernel

        settings, arms = self.settings, self.arms
        window = kernel.empty_window(frames, len(arms.sample_arms), len(GROUPS))
        positions, rotations = self.kinematics.positions, self.kinematics.rotations
        kernel.gather(arms, positions, rotations, settings.hinge, window)
        step = max(float(frames[1] - frames[0]), 1.0) / self.fps if len(frames) > 1 else 1.0
        kernel.settle_hinges(arms, rotations, float(np.exp(-step / settings.hinge_time)), window)
        self._add_ground(window)
        own = _tables(self.character) if self.same_body or self.character.skin is not None else None
        if own is not None:
            # a source with a skin may be as deep inside its own body; the same body may be with or without one
            margin = GROUP_NEAR
            if self.same_body:
                own, margin = (_as_points(own[0]), *own[1:]), GROUP_NEAR + float(own[0].radii.max())
            spare = self._clearance(own, self.source, frames, window, margin)[1]
            spare = self.statures[1] / self.statures[0] * spare
            window.spare[:] = spare if self.same_body else np.maximum(spare, -settings.deepest * self.target.height)
        least, hands = self._clearance((arms, self.shell), self.kinematics, frames, window)
        clearance = np.stack([least, hands[..., LEG_GROUPS].min(axis=(1, 2))], axis=1)
        places, held, blocked, active = self._planted(frames)
        if self.source_tables is not None:
            palms, hangs, tubes = self.source_tables
            height, size = self.character.height, self.statures[1] / self.statures[0]
            rules = kernel.Touching(
                settings.near_body * height, settings.close_body[0] * height, settings.close_body[1] * height,
                settings.passing * height, settings.swing * height, size, float(self.fps), 0.1 * self.target.height,
            )  # fmt: skip
            work = self._work()
            for side in range(2):
                most, place, close = np.zeros(len(frames)), np.zeros((len(frames), 3)), np.zeros((len(frames), 3))
                kernel.find_touches(
                    frames, palms[side], tubes, _owners(side), hangs[side], rules, self.source.positions,
                    self.source.rotations, self.tubes, self.shell, (positions, rotations), work, most, place,
                    close,
                )  # fmt: skip
                share = most * (1.0 - active[:, side])
                window.close_groups[:, side] = np.where(close[:, 2] > 0.0, close[:, 0], -1.0)
                window.close_gaps[:, side] = close[:, 1] + settings.close_slack * self.target.height
                window.close_weights[:, side] = (
                    settings.close / self.target.height**2 * close[:, 2] * (1.0 - active[:, side])
                )
                meant(share, settings.meant)
                window.goals[:, side] = self._within_reach(window, side, place, share)
                window.goal_weights[:, side] = self.touch * share
                window.robust[:, side] = settings.robust * self.target.height
            theirs = [part[frames] for part in palms]
            full, none = settings.near_hands
            distance = np.linalg.norm(theirs[0] - theirs[1], axis=1) / height
            share = importance((distance - full) / (none - full))
            # at a touch the palms' skin meets; farther apart the distance between the hands' middles counts
            contact = importance(
                (distance - settings.palms_meet[0]) / (settings.palms_meet[1] - settings.palms_meet[0])
            )
            meeting = [
                middle + contact[:, None] * (palm - middle)
                for middle, palm in zip(self._middles(self.source, frames), theirs)
            ]
            apart = meeting[0] - meeting[1]
            for side, middle in enumerate(self._middles(self.kinematics, frames)):
                window.meeting[:, side] = middle + contact[:, None] * (window.palms[:, side] - middle)
            window.together[:] = self.touch * share * (1.0 - active).prod(axis=1)
            window.between[:] = size * apart
        self._add_normals(places, held, window)
        window.goals[held] = places[held]
        window.goal_weights[held] = settings.plant / self.target.height**2
        window.robust[held] = np.where(
            blocked[held], settings.plant_force / settings.plant * self.target.height, np.inf
        )
        return window, clearance

    def _clearance(
        self, tables, kinematics: Kinematics, frames: NDArray, window, margin: float = GROUP_NEAR
    ) -> tuple[NDArray, NDArray]:
        """Return the least clearance (K,) of arms from the body, and that of the hands (K, 2, G), 0 at most, metres.

        margin: metres; distance from the body within which it is looked at.
        """
        from footplant.solve import _arms as kernel

        arms, shell = tables[:2]
        least, hands = np.empty(len(frames)), np.empty((len(frames), 2, len(GROUPS)))
        work = self._work() if kinematics is self.kinematics else kernel.new_work(1, shell, len(arms.sample_arms))
        kernel.least_clearance(
            arms, shell, frames, kinematics.positions, kinematics.rotations, margin, window.spare, work, least, hands
        )
        return least, hands

    def _far_from_body(self, window) -> NDArray:
        """Return where (K,) a hand is farther from the body than the source's hand, which is close to it."""
        from footplant.solve import _arms as kernel

        found = np.empty(window.close_gaps.shape)
        kernel.hand_distances(
            self.arms, self.shell, window.frames, self.kinematics.positions, self.kinematics.rotations,
            window.close_groups, window.close_weights, self._work(), found,
        )  # fmt: skip
        return (found > window.close_gaps).any(axis=1)

    def _middles(self, kinematics: Kinematics, frames: NDArray) -> list[NDArray]:
        """Return the middles (K, 3) of both hands: from the wrist towards a finger, or on along the forearm."""
        both = (self.character.require_roles(), self.target.require_roles())
        roles, height = (both[0], self.statures[0]) if kinematics is self.source else (both[1], self.statures[1])
        shared = [
            f for f in ("middle", "index", "ring") if all(f"{s}_{f}" in r for s in ("left", "right") for r in both)
        ]
        found = []
        for side in ("left", "right"):
            wrist, elbow = (kinematics.positions[frames, roles[f"{side}_{part}"]] for part in ("hand", "lower_arm"))
            way = wrist - elbow
            if shared:
                way = kinematics.positions[frames, roles[f"{side}_{shared[0]}"]] - wrist
            length = np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
            found.append(wrist + self.settings.hand_middle * height * way / length)
        return found

    def _within_reach(self, window, side: int, place: NDArray, share: NDArray) -> NDArray:
        """Return places (K, 3), drawn towards the shoulder where the arm does not reach them."""
        shoulder, elbow = window.chains[:, side, 0], window.chains[:, side, 1]
        reach = np.linalg.norm(elbow - shoulder, axis=1) + np.linalg.norm(window.palms[:, side] - elbow, axis=1)
        away = place - shoulder
        distance = np.linalg.norm(away, axis=1)
        shrink = np.minimum(self.settings.reach * reach / np.maximum(distance, 1e-9), 1.0)
        return np.where(share[:, None] > 0.0, shoulder + shrink[:, None] * away, window.palms[:, side])

    def _add_ground(self, window) -> None:
        """Write the ground under the samples of knots whose arms are near it."""
        if self.ground is None:
            return
        joints = window.chains[:, :, 1:].reshape(-1, 2 * 2, 3)
        above = window.samples[..., 1].min(axis=1) - self.ground.height(joints[..., ::2]).max(axis=1)
        rows = np.flatnonzero(above < GROUND_NEAR * self.target.height)
        if not len(rows):
            return
        places = window.samples[rows][..., ::2]
        height = self.ground.height(places)
        step = 0.01
        slopes = [(self.ground.height(places + step * np.eye(2)[axis]) - height) / step for axis in range(2)]
        window.ground[rows] = np.stack([height, *slopes], axis=-1)

    def _add_normals(self, places: NDArray, held: NDArray, window) -> None:
        """Write the normal of the ground where planted palms (K, 2) at places (K, 2, 3) lie on it."""
        if self.ground is None or not held.any():
            return
        at = places[held]
        window.normals[held] = np.where(self._rests(at)[:, None], normal_of(self.ground, at[:, ::2]), 0.0)

    # --- solving ----------------------------------------------------------------------------------------------------

    def solve(self) -> ArmsResult:
        """Return the motion with its arms displaced in every window where something acts."""
        settings, first, end = self.settings, self.frames.start, self.frames.stop
        stride = max(round(settings.knot_time * self.fps), 1)
        count = -(-(end - 1 - first) // stride) + 1
        knots = np.minimum(first + stride * np.arange(count), end - 1)
        base, clearance = self.window(knots)
        ground = (base.samples[..., 1] - base.ground[..., 0] - self.arms.radii).min(axis=1)
        planted = self._planted(np.arange(first, end))[3].any(axis=1)
        held = np.zeros(count, bool)
        held[np.flatnonzero(planted) // stride] = True
        acts = held | (ground < 0.0)
        if not self.same_body:
            touches = (base.goal_weights > 0.0).any(axis=1) | (base.together > 0.0)
            acts |= self._far_from_body(base) | (clearance[:, 0] < 0.0) | touches
        if not acts.any():
            return ArmsResult(self.motion, plants=tuple(self.plants))
        local = np.array(self.motion.rotations)
        missed: list[str] = []
        left = np.zeros(len(self.palms))
        for begin, stop in _windows(acts, max(round(settings.pad * self.fps / stride), 2)):
            span, notes = slice(knots[begin], knots[stop - 1] + 1), len(missed)
            each = held[begin:stop].any() or self._past_half_turns(span.start, span.stop)
            if not each:
                part = type(base)(*(array[begin:stop] for array in base))
                self._solve_window(part, clearance[begin:stop], stride, local, missed, left)
                each = stride > 1 and self._breaks_limits(span, local)
                if each:
                    # the arm bends quickly between knots
                    local[span], missed[notes:] = self.motion.rotations[span], []
            if each:
                self._solve_window(*self.window(np.arange(span.start, span.stop)), 1, local, missed, left)
        moved = Motion(self.motion.skeleton, self.motion.root, local, self.fps, offsets=self.motion.offsets)
        return ArmsResult(moved, tuple(missed), left if len(left) else None, tuple(self.plants))

    def _breaks_limits(self, span: slice, local: NDArray) -> bool:
        """Return whether rotations (F, J, 4) break limits of arms farther than the incoming motion in a span."""
        joints = [joint for arm in self.arms.joints for joint in arm[[1, 3, 4]] if joint >= 0]
        ours, own = (limit_excess(self.target, rows[span]) for rows in (local, self.motion.rotations))
        return bool((ours - own)[:, joints].max(initial=0.0) > self.settings.between)

    def _past_half_turns(self, first: int, end: int) -> bool:
        """Return whether a shoulder turns past 180° at frames first … end−1: which of its limits it is beyond jumps."""
        for side in range(2):
            joint, limits = self.arms.joints[side, 1], self.arms.limits[side, 0]
            if joint >= 0:
                turned = rotation.multiply(limits[:4], self.motion.rotations[first:end, joint])
                turns = rotation.log(rotation.multiply(turned, rotation.inverse(limits[4:8])))
                if (np.linalg.norm(np.diff(turns, axis=0), axis=1) > np.pi).any():
                    return True
        return False

    def _solve_window(
        self, window, clearance: NDArray, stride: int, local: NDArray, missed: list[str], left: NDArray
    ) -> None:
        """Solve one window and write its rotations to local (F, J, 4)."""
        from footplant.solve import _arms as kernel

        settings, count, given = self.settings, len(window.frames), window
        rate = self.fps / stride
        window.pins[:] = 0.0
        if window.frames[0] > self.frames.start:
            window.pins[:2] = 1e6
        if window.frames[-1] < self.frames.stop - 1:
            window.pins[-2:] = 1e6
        height = self.target.height
        near_ground = bool((window.ground[..., 0] > -np.inf).any())
        free = kernel.WITH_HANDS if near_ground else kernel.UNKNOWNS
        unknowns, work = np.zeros((count, free)), self._work(count, free)
        positions, rotations = self.kinematics.positions, self.kinematics.rotations
        touches = window.together.any() or (window.goal_weights > 0.0).any()
        deep = (clearance < -settings.deep * height).any(axis=0)
        small = [size if grows else 1.0 for size, grows in zip(settings.small, (touches and deep[0], deep[1]))]
        growing = settings.growing if min(small) < 1.0 else 0
        rules = (
            settings.steps + growing, settings.looks, settings.longest, settings.enough,
            (float(small[0]), float(small[1])), growing,
        )  # fmt: skip
        # places that are free move to where the palms come to lie, out of the body
        blocked = (window.goal_weights > self.touch) & np.isfinite(window.robust)
        moving = (window.normals.any(axis=2) & (self.free or self.same_body)) | (blocked & self.free)
        wrists, moved, peak = np.ascontiguousarray(window.chains[:, :, 2]), np.empty((count, 2, 3)), self._peak(stride)
        time = settings.smoothing * rate
        weights = kernel.Weights(
            np.ones(free), np.full(free, time**4), np.full(free, 2.0 * time**2), settings.bound / height**2,
            settings.limit, settings.robust * height, settings.margin * height, settings.near * height,
            settings.most, settings.proximal, settings.elastic * height, settings.robust * height,
            settings.plant / height**2, settings.straight, settings.flat,
        )  # fmt: skip
        # around jumps first; where great ones are left, everywhere; and then no more
        tried = [
            (factor, settings.peak, int(np.ceil(settings.stiff_reach * factor * time))) for factor in settings.smoother
        ]
        tried += [*((factor, settings.remaining_peak, count) for factor in settings.smoother[-1:]), (0.0, np.inf, 0)]
        first, held, kept, smooth = np.inf, np.inf, None, None
        for factor, most, reach in tried:
            args = self.arms, self.shell, window, positions, rotations, weights, rules, work, unknowns
            solved = not moving.any() or self._lay_down(window, moving, args)
            solved = solved and kernel.solve_window(*args) >= 0
            if solved and given is window and (less := self._without_unreached(window, unknowns, work)) is not None:
                window, unknowns[:] = less, 0.0
                solved = kernel.solve_window(*args[:2], window, *args[3:]) >= 0
            if not solved:
                missed.append(f"frames {window.frames[0]}–{window.frames[-1]}: the arms' equations are singular")
                return
            kernel.displaced_points(self.arms, window, wrists, np.full(2, kernel.FOREARM), unknowns, work, moved)
            bends = np.linalg.norm(np.diff(moved, 2, axis=0), axis=2).max(axis=1, initial=0.0)
            worst, jumps = float(bends.max(initial=0.0)), bends > most * peak
            off = self._off_plants(window, unknowns, work)
            if smooth is None:
                first, held = worst, off
            elif off > max(held, settings.slip * height):
                unknowns[:], window.goals[:], window.robust[:], self.plants[:], worst = smooth
                break
            smooth = unknowns.copy(), window.goals.copy(), window.robust.copy(), list(self.plants), worst
            kept = smooth if kept is None else kept
            if not jumps.any():
                break
            for knot in 1 + np.flatnonzero(jumps):
                window.stiff[max(knot - reach, 0) : knot + reach + 1] = (factor**4 - 1.0) * time**4
            # from where the arms are: on a body that grows anew, or drawn from afar, they may change sides
            rules = settings.steps, *rules[1:-1], -1
        # smoothed arms that swing past the body may take longer ways round it, and jump more; bodies that stand still
        # have nothing to compare with
        if kept is not None and peak > 0.0 and worst > settings.peak * first:
            unknowns[:], window.goals[:], window.robust[:], self.plants[:], _ = kept
        second = np.zeros_like(unknowns)
        if stride > 1:
            kernel.spline_second(unknowns, second, np.zeros(count))
        kernel.apply_window(
            self.arms, window, unknowns, second, stride, int(window.frames[0]), int(window.frames[-1]) + 1,
            settings.straight, (positions, rotations), local,
        )  # fmt: skip
        self._tell(given, unknowns, work, missed, left)

    def _without_unreached(self, window, unknowns: NDArray, work):
        """Return the window with less weight where hands do not meet and palms do not touch; None where all do.

        Arms of a body that is in the way would be stretched around it, for nothing.
        """
        off, apart = self._missed(window, unknowns, work)
        far = self.settings.given_up * self.target.height
        touches = (window.goal_weights > 0.0) & (window.goal_weights <= self.touch)
        off, apart = np.where(touches, off, 0.0), np.where(window.together > 0.0, apart, 0.0)
        if max(off.max(initial=0.0), apart.max(initial=0.0)) <= far:
            return None
        return window._replace(
            goal_weights=window.goal_weights * np.minimum(far / np.maximum(off, far), 1.0) ** 2,
            together=window.together * np.minimum(far / np.maximum(apart, far), 1.0) ** 2,
        )

    def _off_plants(self, window, unknowns: NDArray, work) -> float:
        """Return how far planted palms are from their places, metres, at most."""
        planted = (window.goal_weights > self.touch) & np.isinf(window.robust)
        return float(self._missed(window, unknowns, work)[0][planted].max(initial=0.0)) if planted.any() else 0.0

    def _missed(self, window, unknowns: NDArray, work) -> tuple[NDArray, NDArray]:
        """Return how far palms are from their goals (K, 2), and hands from where they meet (K,), metres."""
        from footplant.solve import _arms as kernel

        found, meeting = (np.empty((len(window.frames), 2, 3)) for _ in range(2))
        kernel.displaced_points(self.arms, window, window.palms, self.arms.palm_segments, unknowns, work, found)
        kernel.displaced_points(self.arms, window, window.meeting, self.arms.palm_segments, unknowns, work, meeting)
        apart = np.linalg.norm(meeting[:, 0] - meeting[:, 1] - window.between, axis=1)
        return np.linalg.norm(found - window.goals, axis=2), apart

    def _lay_down(self, window, moving: NDArray, args: tuple) -> bool:
        """Solve a window without the places of planted palms where they may move (K, 2), and move these to where the
        palms come to lie; return whether that was possible."""
        from footplant.solve import _arms as kernel

        held = window.goal_weights[moving]
        # their heights still count, as much as touches: the skin of a hand says how high its palm is
        window.goal_weights[moving] = np.finfo(float).tiny
        arms, shell, part, positions, rotations, weights, *rest = args
        weights = weights._replace(lying=self.touch)
        solved = kernel.solve_window(arms, shell, part, positions, rotations, weights, *rest) >= 0
        window.goal_weights[moving] = held
        if solved:
            self._move_places(window, moving, args[-1], args[-2])
        return solved

    def _move_places(self, window, moving: NDArray, unknowns: NDArray, work) -> None:
        """Move the places of planted palms to the means of the palms' displaced paths, within reach."""
        from footplant.solve import _arms as kernel

        found, elbows = (np.empty((len(window.frames), 2, 3)) for _ in range(2))
        kernel.displaced_points(self.arms, window, window.palms, self.arms.palm_segments, unknowns, work, found)
        kernel.displaced_points(
            self.arms, window, np.ascontiguousarray(window.chains[:, :, 1]), np.full(2, kernel.UPPER_ARM), unknowns,
            work, elbows,
        )  # fmt: skip
        for number, side in self.palms:
            rows, share = self.plants[number].active_rows(window.frames, self.fps)
            rows = rows[(share >= 1.0) & moving[rows, side]]
            if len(rows):
                if self.free:
                    arm = window.chains[rows, side, 0], elbows[rows, side], found[rows, side]
                    place = _mean_place(*arm, self.settings.stretch)
                else:
                    place = np.array(self.plants[number].place, float)
                    place[1] = found[rows, side, 1].mean()
                if np.isfinite(window.robust[rows, side]).any():
                    place, out = self._out_of_body(side, place, window.frames[rows])
                    window.robust[rows, side] = np.inf if out else window.robust[rows, side]
                window.goals[rows, side] = place
                self.plants[number] = self.plants[number].like(place=place)

    def _out_of_body(self, side: int, place: NDArray, frames: NDArray) -> tuple[NDArray, bool]:
        """Return a place (3,) of a palm at which the hand is out of the body at all frames, and whether there is one:
        it is moved out where it is deepest, by turns."""
        for _ in range(PROJECTIONS):
            depth, way = self._inside(side, place, frames)
            if depth <= 0.0:
                return place, True
            place = place + depth * way
        return place, False

    def _peak(self, stride: int) -> float:
        """Return the largest second difference of wrists and ankles of the incoming motion, so many frames apart."""
        roles = self.target.require_roles()
        ends = [roles[f"{side}_{part}"] for side in ("left", "right") for part in ("hand", "foot")
                if f"{side}_{part}" in roles]  # fmt: skip
        places = self.kinematics.positions[self.frames.start : self.frames.stop : stride][:, ends]
        return float(np.linalg.norm(np.diff(places, 2, axis=0), axis=2).max(initial=0.0))

    def _tell(self, window, unknowns: NDArray, work, missed: list[str], left: NDArray) -> None:
        """Collect what a window leaves unmet."""
        off, apart = self._missed(window, unknowns, work)
        for palm, (number, side) in enumerate(self.palms):
            rows, share = self.plants[number].active_rows(window.frames, self.fps)
            rows = rows[share >= 1.0]
            if len(rows):
                left[palm] = max(left[palm], float(off[rows, side].max()))
        most = self.settings.told * self.target.height
        if window.together.any():
            for rows in self._intervals((window.together > 0.8 * self.touch) & (apart > most), window.frames):
                missed.append(
                    f"hands that meet at frames {window.frames[rows[0]]}–{window.frames[rows[-1]]} are out of reach: "
                    f"up to {1000 * apart[rows].max():.0f} mm farther apart"
                )
        for side, name in enumerate(HANDS):
            meant = (window.goal_weights[:, side] > 0.8 * self.touch) & (window.goal_weights[:, side] <= self.touch)
            for rows in self._intervals(meant & (off[:, side] > most), window.frames):
                missed.append(
                    f"the {name.replace('_', ' ')} does not reach the body at frames {window.frames[rows[0]]}–"
                    f"{window.frames[rows[-1]]}: up to {1000 * off[rows, side].max():.0f} mm away"
                )

    def _intervals(self, where: NDArray, frames: NDArray) -> list[NDArray]:
        """Return the numbers of the marked knots (K,) in intervals, those less than `told_apart` seconds apart in one;
        what lasts for less than `told_for` seconds passes while the displacement grows and is left out."""
        rows, settings = np.flatnonzero(where), self.settings
        if not len(rows):
            return []
        parts = np.split(rows, np.flatnonzero(np.diff(frames[rows]) > settings.told_apart * self.fps) + 1)
        step = float(frames[1] - frames[0]) if len(frames) > 1 else 1.0
        return [part for part in parts if len(part) * step >= settings.told_for * self.fps]


def _owners(side: int) -> NDArray:
    """Return (S, 2): whether hanging arms do not touch a segment, and its group in the shell (−1 none, −2 left out)."""
    own, table = HANDS[side].partition("_")[0], []
    for name in SEGMENTS:
        if name in ("hips", "waist", "chest"):
            table.append((1, 0))
        elif name == "head":
            table.append((0, 1))
        elif name.endswith("_leg"):
            table.append((1, GROUPS.index(f"{name.partition('_')[0]}_leg")))
        else:
            table.append((0, -2 if name.startswith(own) or name.endswith("hand") else -1))
    return np.array(table, np.int64)


def _windows(acts: NDArray, pad: int) -> list[tuple[int, int]]:
    """Return intervals (start, stop) of knots: those where something acts, widened by pad and merged."""
    rows = np.flatnonzero(acts)
    breaks = np.flatnonzero(np.diff(rows) > 2 * pad)
    starts, ends = rows[np.r_[0, breaks + 1]], rows[np.r_[breaks, len(rows) - 1]]
    return [(max(int(a) - pad, 0), min(int(b) + pad + 1, len(acts))) for a, b in zip(starts, ends)]
