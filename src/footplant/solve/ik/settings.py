"""Tuning numbers of inverse kinematics.

Where a field names no experiment, none is on record. Compiled kernels get those of computer puppetry as a table; what
others need, and numbers of iterations, are constants of the kernel modules, which import other kernel modules only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


def _frozen(**values: float) -> Mapping[str, float]:
    return field(default_factory=lambda: MappingProxyType(values))  # type: ignore[return-value]


@dataclass(frozen=True)
class HybridSettings:
    """Tuning of hybrid IK (Lee & Shin 1999, section 5.2)."""

    stiffness: Mapping[str, float] = _frozen(leg=1.0, arm=0.01)
    """Limb kind → weight of the change of the vector from its upper joint to its goal in the trunk's objective (1/m²):
    the hips follow the feet, the trunk hardly follows a reaching hand. Doubled, the trunk moves more for a goal that
    the limb could reach by itself."""
    overstretch: Mapping[str, float] = _frozen(leg=100.0, arm=100.0)
    """Limb kind → penalty of leaving a goal beyond the limb's reach (1/m²). Doubled, the trunk bends farther before a
    limb is left short of its goal."""
    early: Mapping[str, float] = _frozen(leg=1.0, arm=0.0)
    """Limb kind → least share of the way to a goal that the trunk follows as soon as the goal starts to ramp in. A foot
    that comes down finds the hips low enough; a hand that is about to reach does not pull the body along."""
    rigidity: Mapping[str, float] = _frozen(place=0.03, hips=0.3, spine=0.4, neck=0.2, head=0.2, clavicle=0.3)
    """α: cost of translating the root ("place", 1/m²) and of rotating each joint of the trunk (1/rad²). Doubled, a part
    takes a smaller share of the displacement."""
    reached: float = 0.001
    """Metres from its goal within which a limb counts as having reached it."""
    usable_length: float = 0.992
    """Share of a limb's full length at which the trunk lets it reach its goal; also the inverse share of its folded
    length. Nearer to 1, limbs get straighter and knees closer to snapping."""
    trunk_weight: float = 100.0
    """Weight of a constraint on the trunk of weight 1 (1/m² or 1/rad²) beside the costs above."""


@dataclass(frozen=True)
class LimbGoalSettings:
    """Tuning of the goals of wrists and ankles."""

    short_lever: float = 0.02
    """Metres between a point and the pivot of its foot or hand below which rotating about the pivot is damped as a
    means of moving the point. Doubled, points near the pivot are corrected less."""
    soft_half_weight: float = 4.0
    """Weight of a soft constraint that is followed half-way; one of weight 1 is followed a fifth of the way. Methods
    solve repeatedly, so the rest follows."""
    max_turn: float = 0.8
    """Largest rotation of a foot or hand that keeps a point out of an area, radians."""


@dataclass(frozen=True)
class NumericSettings:
    """Tuning of numerical IK (Lee & Shin 1999, section 5.1)."""

    penalties: tuple[float, ...] = (1e1, 1e2, 1e4, 1e6)
    """Weight of hard constraints in each stage of the penalty method; rotating a joint by a radian costs its
    rigidity."""
    gains: tuple[float, ...] = (1e-2, 1e-2, 1e-8, 1e-3)
    """Relative decrease of the objective below which each stage ends."""
    soft_weight: float = 10.0
    """Weight of a soft constraint of weight 1 (1/m²)."""
    soft_priority_ratio: float = 100.0
    """Ratio between the weights of soft constraints of neighbouring priorities; at most two steps either way."""
    hard_priority_powers: tuple[float, ...] = (1.0, 1.0, 2.0, 3.5)
    """Powers of ten between the weights of hard constraints of neighbouring priorities, in each stage."""
    hard_priority_steps: float = 2.0
    """Largest number of such steps between the lowest and the highest priority: double precision allows no more."""
    jacobian_budget: int = 4_000_000
    """Largest number of Jacobian entries held at once, which bounds the memory."""
    batch: int = 512
    """Largest number of frames that are solved together when some constraints are not compiled."""


@dataclass(frozen=True)
class EditingSettings:
    """Tuning of the poses of direct manipulation and fitting: equation 4 of Lee & Shin (1999) over all joints."""

    rigidity: Mapping[str, float] = _frozen(
        place=100.0, hips=100.0, spine=60.0, neck=4.0, head=1.0, clavicle=8.0, upper_arm=1.0, lower_arm=1.0, hand=1.0,
        upper_leg=1.0, lower_leg=1.0, foot=1.0, toes=1.0,
    )  # fmt: skip
    """α: cost of translating the root ("place", 1/m²) and of rotating the joints of a role (1/rad²). What carries more
    of the body is dearer: with 2 for hips and spine and 10 for the place, raising a hand of the sample walk by 10 cm
    moved the head by 22 cm; with 30 for all three by 8 cm, with these by 3.5 cm, and goals that need the trunk are
    still met to 0.1 mm (`benchmarks/drags.py`)."""
    off_hinge: float = 100.0
    """Cost of rotating an elbow or a knee off its hinge axis (1/rad²), a hundred times that of bending it; no
    experiment on record."""
    rest_hinge: float = 0.25
    """Sine of the flexion at which the axis that an elbow or a knee is bent about counts as much as that of the rest
    pose. Against the axis shown in frames bent by more than 40° (24 clips), knees bent by less are off by 3.7° on
    average (8° at the 90th percentile) and elbows by 14° (20°). With the axis shown from 10° on and that of the rest
    pose below it, knees by 4.9° (10°) and elbows by 12° (27°), and axes jump between the two; with 0.1, 6.0° (10°) and
    17° (41°), with 0.5, 3.1° (9°) and 15° (22°)."""
    backwards: float = 0.44
    """Radians (25°) below which the range of an elbow or a knee on the one side, with four times as much on the other,
    is that of bending it backwards, which edits do not add to. The limits of `humanoid.limits` have 12° and 20° there
    and 160° on the other side; no range lies between."""
    held: float = 1e3
    """Rigidity of the trunk while the limbs restore constraints around an edit (1/rad², 1/m²). With the trunk's own
    rigidity the head of the sample walk jerks by 11,000 m/s² where footplants ramp in; with 1e3 by none, and what legs
    cannot reach the trunk still gives."""
    penalties: tuple[float, ...] = (1e1, 1e2, 1e3, 1e4)
    """Weights of the lowest hard priority in each stage (1/m²). A goal of weight 1e4 is met to 0.1 mm; with 1e6 two
    plants of a foot that contradict one another by half a millimetre bend the objective so much that steps crawl
    (30 instead of 4 a frame, peak acceleration 355 instead of 67 m/s² on the sample walk)."""
    priority_ratios: tuple[float, ...] = (3.0, 3.0, 3.0, 30.0)
    """Ratio between the weights of neighbouring hard priorities in each stage; bounds are one above all. With 10 in the
    last one an unreachable goal pulls planted feet by centimetres."""
    gain: float = 1e-6
    """Relative decrease of the objective below which the last stage ends. Between 1e-3 and 1e-6 the peak accelerations
    of drags of the sample walk differ by less than 0.1 %."""
    goal_ramp: float = 1e3
    """Weight of a goal other than a footplant while it ramps (1/m²). Its target begins at the point's own place, so
    nothing jumps. With 80 a head that eases down by 50 mm is 14 mm behind its share; footplants, of weight 1e4 and
    more, must win: at 1e5 a hip goal on CesiumMan lifts planted feet by 180 mm half a second away."""
    foot_turn: float = 0.5
    """How strongly a foot of which one point is planted keeps its rotation while constraints are restored, as a share
    of a ramp: 0.5 is a weight of about 50. At 0 it swings about the point (peak acceleration 405 instead of 201 m/s²
    where a step is moved); from 0.7 on the point slips by more than a millimetre where the ground holds the sole."""
    foot_roll: float = 0.7
    """The same of a foot of which two points are planted: about 1e4, a thirtieth of the weight of the points. Without,
    an ankle that is dragged down swings below the ground about the line from heel to ball."""
    ramp_pull: float = 0.8
    """Share of its ramp by which a footplant that ramps counts: near the end of its ramp a weight of about 1e4. At 1 it
    wins over a goal in the last fifth of its ramp (3 mm missed); at 0.6 feet leave their ramps in jerks (peak
    acceleration 499 instead of 96 m/s² where the hips of the sample walk are dragged)."""
    plant_depth: float = 0.001
    """Metres by which a footplant may hold its point deeper in the ground than the clip has it at that frame. A plant's
    place is the mean of a stance: without this bound soles go 3 to 8 mm deeper at the ends of stances of the CMU
    charleston, with none the two contradict one another."""
    hopeless: float = 0.03
    """Metres by which a goal is missed from which it is held where it came to, if it pulls bounds or parts that stay
    apart. By the ratio of their weights these give way by a thirtieth of what it is missed by, at most."""
    held_again: int = 6
    """How often it is held where it came to, at most. Once leaves 1.5 mm of 9 by which a forearm was pulled into a
    trunk, twice 1.1 mm: each time joint limits and the trunk share what is left."""
    pulled: float = 0.0002
    """Metres by which parts that stay apart enter each other that count as such a pull."""
    plants_pulled: float = 0.001
    """Metres by which footplants are off that count as such a pull: a hand's goal that is missed by 446 mm pulls a ball
    off by 15 mm without. Less is left where two footplants of a foot contradict each other."""
    steepest: float = 0.5
    """Slope of the ground above which a sole's floor is level: an edge, not a slope. With level floors everywhere soles
    on a plane of 6 % go 11 mm deeper where a foot is dragged by 20 cm; no experiment separates 0.5 from 1."""
    ignored: tuple[float, float] = (0.005, 0.0005)
    """Excess of a joint limit (radians) and depth of a sole (metres) that need no correction."""


@dataclass(frozen=True)
class GroupCcdSettings:
    """Tuning of the group solver (Kulpa, Multon & Arnaldi 2005)."""

    turn_limits: Mapping[str, float] = _frozen(spine=1.6, neck=0.8, head=0.6, clavicle=0.4)
    """Radians that a chain of the trunk may rotate from the input pose, all its joints together."""
    gains: Mapping[str, float] = _frozen(spine=0.5, neck=0.6, head=0.6, clavicle=0.4)
    """Compliance of a joint relative to the others in one step. Halved in all parts, bends take more steps and spread
    more evenly."""


@dataclass(frozen=True)
class PuppetBodySettings:
    """Tuning of root and trunk in computer puppetry."""

    stretch: float = 0.999
    """Largest extension of a limb, as a share of its full length."""
    keep_place: float = 0.0003
    """Cost of moving the root in the body step, relative to reaching (α γ of equation 5.5, per m²/m²)."""
    keep_turn: float = 0.01
    """Cost of rotating hips and vertebrae in the body step, relative to reaching (α β, m²/rad²)."""
    least_importance: float = 0.05
    """Importance below which a limb's end does not influence the root."""
    gives_in: float = 1.004
    """Share of a limb's length at which the root follows at once, whatever its acceleration."""
    unbend: float = 0.026
    """Share of a limb's length around full extension (less twice this) in which the root begins to follow."""
    root_ease: float = 0.03
    """Half-life of the root's shift, seconds."""
    touch_round: float = 0.004
    """Metres around contact in which distances from the scene are rounded."""
    scene_give: float = 0.006
    """Metres by which a swinging foot and a palm may penetrate the scene."""


@dataclass(frozen=True)
class PuppetPaceSettings:
    """Tuning of the bound on accelerations in computer puppetry."""

    headroom: float = 1.18
    """Bound on the acceleration of a limb's joints, as a multiple of the largest acceleration of the copied pose. Hands
    that clap in front of Blubby's belly (1.03 arms thick) need it all: the palms of the sample clap are 7 mm apart when
    they should first meet."""
    trunk_headroom: float = 1.0
    """The same of the trunk's joints: what limbs may do beyond is theirs, as a knee whose foot stands has to follow its
    hip. Over edges of 8 cm that the performer's feet do not follow, Blubby's knees accelerate by 1.51 times with 1.15,
    by 1.35 with 1.0 (test_puppet.py); a planted foot of the recording mocapbank is off by 18 and 14 mm. No other of 205
    results changes by 1 %."""
    least_peak: float = 1.0
    """Least value of the performer's largest acceleration, m/s², for a character of the performer's size."""
    brakes: float = 0.6
    """Share of the bound with which a lagging joint brakes near its target; the rest is for following it."""
    follows: float = 0.05
    """Share of the bound that is always left to a limb to move towards its target."""
    forgets: float = 60.0
    """Half-life in which the largest acceleration decays, seconds: it may have been a fault of the recording."""
    turn_share: float = 0.2
    """Share of the bound that the rotation of a touching hand may take at its fingertips."""
    settle_share: float = 0.7
    """Share of the bound with which a palm is put on the skin. With 0.25, 0.4 and 1, 15, 10 and 27 instead of 7 frames
    of Godette miss by more than 10 mm and her hands come up to 106, 121 and 44 instead of 44 mm into her trunk; 14, 12
    and 18 instead of 12 of Blubby's miss (eleven clips of puppet_touches.py)."""
    bend_rate: float = 1.0
    """Bound on the rotation of all vertebrae together for each m/s² of the bound, rad/s²: half of the bound, half a
    metre above a vertebra."""


@dataclass(frozen=True)
class PuppetFootSettings:
    """Tuning of feet that stand in computer puppetry."""

    track_gain: float = 0.6
    """Metres by which each foot is farther from the mid-line for each metre by which the shin's radius exceeds the
    performer's, both at the target's size: thick legs do not fit into narrow steps."""
    slow: float = 0.1
    """Speed up to which a point of a foot that matters fully is held over the ground, m/s."""
    fast: float = 0.25
    """Speed from which it is meant to slide, m/s."""
    slow_rise: float = 0.06
    """Speed up to which it is held vertically, m/s. With 0.04 (and 0.12) Sally's median clip of 17 drifts by 1.8 mm
    instead of 1.5 and 4.2 % of her plants by more than 2 mm instead of 2.2; with 0.1 (and 0.25), 1.2 %, but heels that
    leave are held, too: 11 mm instead of 4 in the sample reach."""
    fast_rise: float = 0.15
    """Speed from which its foot rolls, m/s."""
    grips: float = 0.01
    """Half-life in which the grip of a point rises, seconds."""
    lets_go: float = 0.015
    """Half-life in which a speed that was held back fades when the grip is lost, seconds. At 60 Hz feet of a punch, a
    limp and a walk on the performer's own shape accelerate by 1.95, 1.18 and 1.10 times as much as the performer's, by
    2.54, 1.28 and 1.16 where it is lost at once; with 0.03 by 1.71, 1.14 and 1.09, but points that leave are up to 21
    instead of 13 mm from where they would be, and a plant of Sally and one of Blubby more drift by 2 mm (19 clips)."""
    hold_rate: float = 0.015
    """Half-life of the low-pass filter on the speed of a point, seconds."""
    trembles: float = 0.3
    """Share of the unsigned mean speed (jitter) that counts as the speed of a point."""
    on_ground: float = 0.06
    """Height of the performer's point above the scene up to which it is held, metres. Who kneels has the ball that far
    above the toes: with 0.03 (and 0.06) it drifts by 12 mm on Sally and 54 mm on Blubby (mocapbank), with 0.06 by 4
    and 18 mm."""
    off_ground: float = 0.12
    """Height from which it is not, metres."""
    most_creep: float = 0.2
    """Largest hold offset over the ground, metres, for a character of the performer's size: full hold up to a half of
    it. Who begins to kneel with tucked toes rolls the ball slowly over them: with 0.12 Blubby's drifts by 3.0 mm
    (mocapbank), with 0.2 by 1.3."""
    most_rise: float = 0.06
    """The same, vertically. With 0.02, 4.0 instead of 2.6 % of Blubby's plants drift by more than 2 mm; with 0.04 the
    worst of Sally and Blubby by 4.8 and 9.1 mm in 55_02 and by 2.7 and 6.2 in 143_23, with 0.06 by 2.0 and 7.0, 2.7 and
    3.1: balls high above a heel that stands."""
    fully: float = 8.0
    """Exponent of importance in the grip: only a fully important foot is held."""
    levels: float = 0.15
    """Half-life in which a point that is not held gives up the rotation of its foot caused by the others, seconds."""
    sinks: float = 60.0
    """Half-life in which a held point gives up its vertical offset, seconds. With 6 the foot of a kneeling Sally sinks
    by 8 mm in six seconds (mocapbank) and one that stands for ten by 2.5 (mvn_40fps_A); with 20 by 3.4 and 0.5, with 60
    by 1.8 and 0.4. Heights of planted points (95th percentile of nine clips) are the same to 1 mm from 20 on."""
    sharp: float = 0.01
    """Height difference that decides which of heel, ball and toe the foot stands on, metres."""
    blunt: float = 0.6
    """Its growth per metre of the foot's height: in the air heel and toe may swap at once."""
    foot_settle: float = 0.05
    """Half-life in which the shift of a swinging foot decays, seconds."""
    settle_along: float = 3.0
    """Decay of the shift per metre of the foot's path, however near to the floor (a body may turn meanwhile)."""
    settle_creep: float = 0.3
    """Speed below which that decay vanishes, m/s: the foot may be in stance."""


@dataclass(frozen=True)
class PuppetLegSettings:
    """Tuning of legs in computer puppetry."""

    foot_low: float = 0.003
    """Height of the performer's foot above the scene up to which it follows its goal at once, metres."""
    foot_high: float = 0.055
    """Height from which it follows with a delay, metres."""
    foot_ease: float = 0.02
    """Half-life of the shift of a swinging foot, seconds."""
    easy_step: float = 0.984
    """Share of its length from which a leg is extended less than requested, on the ground."""
    easy_swing: float = 0.94
    """The same, `foot_high` above it."""
    knee_off: float = 0.004
    """Least squared distance of a knee from the line to a goal just out of reach, for legs of length 1."""
    legs_apart: float = 0.6
    """Share of its radius by which a knee or ankle stays out of the other leg's skin: thighs are compressed."""
    legs_round: float = 0.004
    """Rounding of the contact of the legs, metres."""
    apart_ease: float = 0.02
    """Half-life of the shift that keeps the legs apart, seconds."""
    apart_release: float = 0.09
    """Half-life of its decay, seconds."""


@dataclass(frozen=True)
class PuppetArmSettings:
    """Tuning of arms in computer puppetry."""

    margin_gain: float = 0.3
    """Metres of clearance around the body for each metre by which its radius exceeds the performer's."""
    least_margin: float = 0.004
    """Smallest clearance, metres."""
    most_margin: float = 0.06
    """Largest clearance, metres."""
    release: float = 0.09
    """Half-life in which a push decays when nothing pushes any more, seconds."""
    clears: float = 0.04
    """Additional half-life for a hand that would be clear of the body anyway, seconds."""
    clear_from: float = 0.08
    """Clearance from which it would be, metres."""
    hand_ease: float = 0.01
    """Half-life of the shifts of hands, seconds."""
    gather: float = 0.045
    """Half-life of the point where hands meet, seconds."""
    elbow_ease: float = 0.018
    """Half-life of the elbows' swivel, seconds."""
    pose_ease: float = 0.02
    """Half-life of an arm's rotation from the captured one, seconds."""
    hurry: float = 0.012
    """Penetration of a delayed hand into the body at which the delay vanishes, metres."""
    deep: float = 0.022
    """Metres around contact with the body in which a delayed arm begins to move at once."""
    gives: float = 0.002
    """Metres by which a hand is pushed away where it is no longer clear of all obstacles."""
    learn: float = 0.5
    """Share of a hand's error from being out of reach by which its goal is drawn in at the next frame."""
    pressed: float = 0.006
    """Rounding of contact with the body for a hand that is about to touch, metres."""
    blend: float = 0.02
    """Metres over which neighbouring segments of a body blend into one surface."""
    meet_stretch: float = 0.9
    """Largest extension of an arm for hands that meet, as a share of its length."""
    meant: float = 4.0
    """Exponent of importance by which a hand with a goal is exempt from pushes."""
    at_once: float = 8.0
    """Exponent of importance by which an arm is exempt from delays."""
    bent: float = 0.2
    """Squared distance of an elbow from the line shoulder–wrist, for arms of length 1, where an arm begins to resist
    extension."""
    straightest: float = 0.13
    """Its least value."""
    straight_round: float = 0.05
    """Width of the rounding there."""
    slowly: float = 0.12
    """The range over which a straight arm begins to bend."""


@dataclass(frozen=True)
class PuppetTouchSettings:
    """Tuning of palms on the body in computer puppetry."""

    touches: float = 0.65
    """Importance from which a palm is put on the skin."""
    all_of_it: float = 0.92
    """Importance at which it is fully."""
    nearer: float = 0.01
    """Metres in the weights of segments that a hand is near to: w⁴ over the square of the distance plus this, and an
    exponential of the character's own distance over this. With 0.02 in the exponential, 7 instead of 8 of Blubby's 11
    clips have a median gap of at most 10 mm (puppet_touches.py); without it, 4, as palms stop between two segments."""
    nearest: float = 3.0
    """Power of those distances. With 2 a palm stays on the segment beside the one that it should move to: 12 instead
    of 2 frames of Sally miss by more than 10 mm, by up to 40 instead of 11 mm (puppet_touches.py); with 4, 7 do, and a
    palm on two segments ends up 4 mm in one of them. Where the belly is in the way of the thighs it is one less: with
    4, 160 instead of 17 of Blubby's frames miss in mvn_40fps_A, as the thigh that its palm should move to is behind
    the belly."""
    thick: float = 0.03
    """Metres of clearance at which a body is thicker than the performer's: its belly is in the way of its thighs, and
    hands that touch a limb stay out of it by their thickness; fully at twice this. With half of their thickness on
    every body, 34 instead of 26 frames of Godette (clearance 37 mm) miss by more than 10 mm (puppet_touches.py), and
    Blubby is 37 instead of 25 mm deep in itself in the sample climb."""
    most_turn: float = 1.2
    """Largest rotation of a touching hand from its captured orientation, radians."""
    touch_stretch: float = 0.998
    """Largest extension of an arm for a touch, as a share of its length."""
    firm_off: float = 0.002
    """Least squared distance of an elbow from the line shoulder–wrist of a hand that touches, for arms of length 1."""


@dataclass(frozen=True)
class PuppetToeSettings:
    """Tuning of a performer's toes in the floor in computer puppetry."""

    toe_slack: float = 0.0005
    """Metres by which the toe tip may be deeper in the scene than the rest of the foot."""
    toe_steep: float = 0.7
    """Cosine of the toes' slope from which they are bent less than needed."""
    toe_backwards: float = 0.3
    """Cosine of how far toes may point backwards into the scene; beyond it they are left unchanged."""
    toe_most: float = 1.0
    """Largest bend of toes, radians."""
    toe_rate: float = 9.0
    """Largest rate of bending, rad/s, beyond what the toes turn down themselves. Without, toes turn by 15 rad/s behind
    a gap of 200 ms in the data, with it by 10."""
    toe_share: float = 0.15
    """Share of the bound that bending toes may take at their tips, beyond what undoes their own motion."""
    toe_return: float = 0.4
    """Half-life in which toes return, seconds."""
    toe_alike: float = 0.05
    """Largest difference of the normals at tip and ball (1 − cosine) that counts as one floor."""


@dataclass(frozen=True)
class PuppetSettings:
    """Tuning of computer puppetry (Shin 2002). The table of docs/puppetry.md tells what half and twice of each does."""

    body: PuppetBodySettings = PuppetBodySettings()
    pace: PuppetPaceSettings = PuppetPaceSettings()
    foot: PuppetFootSettings = PuppetFootSettings()
    leg: PuppetLegSettings = PuppetLegSettings()
    arm: PuppetArmSettings = PuppetArmSettings()
    touch: PuppetTouchSettings = PuppetTouchSettings()
    toe: PuppetToeSettings = PuppetToeSettings()


HYBRID = HybridSettings()
LIMB_GOALS = LimbGoalSettings()
NUMERIC = NumericSettings()
EDITING = EditingSettings()
GROUP_CCD = GroupCcdSettings()
PUPPET = PuppetSettings()
