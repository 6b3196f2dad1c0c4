"""Tuning numbers of the live engines: driving, clocks, streams and calibration poses.

Where a field names no experiment, none is on record. Limits of parsers and sockets are constants
of their modules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class ControllerSettings:
    """How motions are prepared and played (`tables`, `controller`)."""

    rate: float = 120.0
    """Frames per second of all tables."""
    phases: int = 512
    """Cells of a cycle in which the times of gaits are tabulated."""
    smooth: float = 0.75
    """Fraction of a cycle over which the playback rate of a gait is low-passed. Halved, gaits follow each other's foot
    strikes more closely, but speed up and slow down within a cycle."""
    bins: float = 30.0
    """Frames per second at which the best phase to enter a gait is tabulated."""
    added_acceleration: float = 0.5
    """Largest acceleration added by a transition, as a fraction of the clips' own."""
    longest_fade: float = 1.5
    """Seconds; longest transition, unless the set asks for more."""
    same: float = 1.25
    """A phase of a gait matches the start of an action up to this many times the smallest frame distance."""
    gap: float = 0.12
    """Seconds; gaps between two contacts of a point that are closed: a foot cannot step in less."""
    upright: float = 1.0
    """Radians between the line from hips to head and the vertical from which an action is not left: a body halfway
    between upright and upside down turns over within a frame, its feet at 30 times the clips' own acceleration. With
    0.8, 1, 1.25 and 1.6 feet of a set with a cartwheel accelerate alike."""
    away: float = math.pi / 2
    """Radians that the heading of an action may be away from one that turns evenly before its facing follows. Of twelve
    captures kicks, punches and jumps are up to 0.8 away, flips and bends 1.6, and are left in the direction in which
    they were entered; spins are 3 to 5 away."""
    glides: float = 0.0005
    """Metres that a planted hand of a clip may move before the clip's hands are put at rest; what is solved already
    moves by less."""
    longest_step: float = 0.05
    """Seconds; a longer step is divided."""


@dataclass(frozen=True)
class CarriedSettings:
    """How a driven character takes on the motion of the ground (`carried`)."""

    half_life: float = 0.3
    """Seconds; half-life of the critically damped filter by which the body follows the ground under its feet. When a
    ground under a sample walk starts at once at 1 m/s, the root accelerates by 20, 10.8, 7.1, 14.4 and 15.4 m/s² at
    0.1, 0.2, 0.3, 0.4 and 0.6; across a conveyor of 1 m/s by 11.9, 10.8, 13.7, 11.0 and 7.2: where it follows slowly,
    legs are stretched, and the body is pulled down. At 0.6, heels of planted feet are raised by 4 mm for that."""


@dataclass(frozen=True)
class FootPlanSettings:
    """How steps of a driven character are planned (`foot_plan`). Chosen on `benchmarks/drive_scripts.py`."""

    horizon: float = 0.8
    """Seconds that are predicted; a swing whose landing is farther away is planned when it comes near."""
    interval: float = 1.0 / 60.0
    """Seconds between predicted frames."""
    added_acceleration: float = 0.4
    """Largest acceleration that the correction of a swing may add, as a fraction of the clips' own; a landing is
    delayed for it."""
    delay: float = 0.25
    """Seconds by which a landing is delayed at most."""
    shortest: float = 0.05
    """Seconds; shortest swing."""
    late: float = 0.12
    """Seconds before a landing within which a request does not change it."""
    lasting: float = 0.8
    """Fraction of the clips' shortest stance for which a foot must stay planted after a landing: shorter ones, which
    only blends have, are passed over."""
    swing: float = 0.3
    """Fraction of the gaits' shortest swing that one takes at least; landings before that, which only blends have, are
    passed over: a foot that a run releases while a walk begins to plant it would be lifted and put down again in a
    tenth of a second. In six scripts of 200 requests on level and on rough ground feet accelerate by up to 1.43 times
    the gaits' own with 0, by 1.27 times with 0.3 and 0.5; with 0.5, feet that are released late skim over the ground,
    and contacts that are found in the recordings drift by up to 3.2 cm instead of 1.4 cm."""
    mean: float = 0.3
    """Seconds of a stance over which the blended foot's position is averaged to place it."""
    bias: float = 0.05
    """Body heights by which that mean may move a landing."""
    free: float = 0.35
    """Seconds in which a foot returns to the blended motion when no landing is in sight."""
    ahead: float = 0.2
    """Seconds ahead at which the direction is taken in which a lifted foot leaves."""
    again: float = 0.1
    """Seconds after which such a foot, or one that should step, is looked at again."""
    hardly: float = 0.004
    """Body heights that a released ball of a foot has to move before it is lifted: slower, it would creep off."""
    slow: float = 0.25
    """Body heights per second; a released foot that the blend moves more slowly than this still stands, unless the
    body leaves it behind."""
    returns: float = 0.02
    """Body heights within which a foot that is planted again at once is not lifted at all."""
    far: float = 0.07
    """Body heights that a standing foot may be from the blended one before it takes a step by itself."""
    step: float = 0.25
    """Seconds of such a step. At 0.35, steps shortly before a kick, next to which half a metre per second counts as
    still, were found as contacts that drift by up to 7.6 cm."""
    lift: float = 0.03
    """Body heights that such a step is lifted."""
    touchdown: float = 0.009
    """Seconds; times the clips' own acceleration of feet, the speed at which a foot touches down or leaves at most (1.1
    m/s for a set with a run). At 0.006, 17 of 1,072 contacts found in two scripts drifted by more than 1 mm, the worst
    by 1.5 cm; at 0.009, 9 and 2.4 mm; feet accelerate as much."""
    touchdown_share: float = 2.0
    """Per second; times the length of a step, the most of that speed."""
    clear: float = 0.006
    """Body heights of clearance in the middle of a swing."""
    highest: float = 0.25
    """Body heights that a swing is lifted at most over obstacles."""


@dataclass(frozen=True)
class TreadSettings:
    """How steps are fitted to treads (`treads`). Chosen on `benchmarks/drive_stairs.py`, whose 60 scripts go straight;
    each experiment changes one number alone. "starts": 24 scripts of the sample set that start or stop on stairs."""

    horizon: float = 2.0
    """Seconds that are predicted: three or four steps of a walk. With 0.8, 1.0, 1.5, 2 and 3, feet accelerate by up to
    8.0, 8.0, 1.3, 1.5 and 1.6 times what they do on level ground: the two landings of slow walks are not all within
    1 s."""
    interval: float = 1.0 / 30.0
    """Seconds between predicted frames."""
    steps: int = 2
    """Landings that are chosen at a time. With 3, walks do the same, and a frame takes 1.6 instead of 1.35 times as
    long as without fitting."""
    around: float = 0.3
    """Metres behind and ahead of the way of the body in which an edge counts. With 0.1, 0.3 and 0.6, feet accelerate by
    up to 2.5, 1.5 and 1.5 times."""
    back: float = 0.1
    """Metres by which a step goes back at most. Straight scripts never do; in "starts", with 0, 0.1 and 0.3, feet
    accelerate by 5.2, 3.1 and 3.8 times in the median."""
    farther: float = 0.3
    """Leg lengths by which a step may be longer than the motion's. With 0.1, 0.3 and 0.6, feet accelerate by up to 1.46
    times with all, and in "starts" by 5.2, 3.1 and 2.1 times in the median."""
    straight: float = math.radians(45.0)
    """Angle between the way of the body and its facing beyond which steps are not fitted. Nothing differs between 17°
    and 69°: who goes forwards is well within, and who goes aside is beyond."""
    own: float = 3.0
    """Weight of the squared distance, in leg lengths, of the next landing from where it would be with strides as they
    are. At 0.3, 1, 3 and 10, feet of five walks accelerate up to 1.79, 1.36, 1.41 and 1.83 times as much as on level
    ground; at 1, the heel of one comes down on a nose, and at 10, they go on taking two treads of 12 cm a step."""
    usual: float = 0.4
    """Seconds until a landing below which that distance counts more. With 0.1, 0.4 and 0.8, feet accelerate by up to
    1.41, 1.46 and 1.62 times, and in "starts" by 5.1, 4.8 and 4.4 times in the mean."""
    later: float = 0.25
    """Weight of the distance of the second landing in the scale of strides. At 0.06, 0.25 and 1, feet accelerate up to
    1.32, 1.32 and 1.51 times as much straight up and down."""
    hold: float = 0.0025
    """Square metres; weight of unscaled strides, for a body that hardly travels. With 0, 0.0025 and 0.02, straight
    scripts do the same within 0.01 times, and feet accelerate in "starts" by 5.4, 4.8 and 4.3 times in the mean."""
    most: float = 1.1
    """The largest scale of strides. On treads of 0.45 to 1 m, feet accelerate by up to 5.2, 2.5 and 2.1 times with 1,
    1.1 and 1.4; on those of 0.28 to 0.3 m, 1, 3 and 3 of the 60 scripts are beyond 1.3 times."""
    rounds: int = 3
    """How often a landing is chosen, each time within what is in reach. With 1, 2, 3 and 5, feet accelerate by 1.15,
    1.07, 1.07 and 1.07 times in the mean, and soles are up to 58 mm in the ground with 1, less than 1 mm otherwise."""
    short: float = 0.005
    """Metres that a landing may be out of reach. With 0, 5 and 20 mm, 87, 99.5 and 99.5 % of the landings are whole."""
    lowered: float = 0.03
    """Leg lengths that the body may have to be lowered for a landing. The spring that lowers it is late: at 0.06, the
    first step down was cut short by up to 3.5 cm, and put the ball of the foot on the nose."""
    nearer: float = 2.0
    """Metres by which a landing has to be nearer so that the body has to be lowered by a metre less, of a leg with its
    foot 0.4 leg lengths ahead. With 0, 1, 2 and 4, feet accelerate by up to 3.2, 1.46, 1.46 and 1.46 times, and soles
    are up to 58, 1, 1 and 196 mm in the ground."""


@dataclass(frozen=True)
class ClipSetSettings:
    """What a clip is (`clip_set`). Chosen on 29 clips of five sources: walks, runs, kicks, punches, jumps, dances."""

    travels: float = 0.2
    """Body heights per second that a gait travels at least; the slowest sneaking walk has 0.39, dances have 0.01."""
    closes: float = 0.03
    """Body heights by which the ends of a cycle differ at most: walks and runs 0.007 to 0.024, others 0.04 and more."""
    repeats: tuple[float, float] = (0.08, 0.2)
    """Body heights that half, and nine tenths, of a gait's frames are at most from the nearest frame of its cycle.
    Someone who walks up to a box and lifts it has 0.05 and 0.28."""
    straight: float = 0.2
    """Radians by which a straight cycle turns at most."""
    turning: float = 0.4
    """Radians per second from which a cycle turns."""
    sharpest: float = 2.5
    """Radians per second of the sharpest turn that is looped."""
    turns_over: float = 2.0
    """Radians between the line from hips to head and the vertical beyond which a cycle is no gait: it cannot be blended
    in phase with one whose body is upright. Crawls and ducking runs have up to 1.55, rolls, cartwheels and flips 2.4 to
    3.1."""
    alike: float = 0.35
    """Largest logarithm of the ratio of speeds, or of cycle lengths, of a gait and its turn."""
    spot: float = 0.12
    """Maximum distance that the hips of an idle move, body heights."""
    idle_speed: float = 0.6
    """Maximum speed of the hands and feet of an idle relative to the hips, body heights per second."""
    before: tuple[float, float] = (0.5, 2.0)
    """Seconds before the key moment between which an action starts, where the body moves least."""
    after: tuple[float, float] = (0.5, 1.6)
    """Seconds after the key moment between which it stops."""


@dataclass(frozen=True)
class AimSettings:
    """How actions are aimed (`controller`)."""

    rounds: int = 4
    """Predictions of where the effector will be: one for the turn, the others for the shift."""
    turn: float = math.pi / 2
    """Radians that the character turns at most."""
    reach: float = 0.6
    """Body heights that the character is moved at most."""
    limb: float = 0.25
    """Body heights that a foot leaves its path at most: what is farther away is missed."""
    before: float = 0.4
    """Seconds before the key moment in which a limb leaves its path."""
    after: float = 0.5
    """Seconds after it in which it returns."""
    horizon: float = 3.0
    """Seconds within which a step onto a place is taken: two to three strides of a walk, so that a place up to 3 m away
    can be walked to."""
    met: float = 0.02
    """Metres from its target within which an effector has met it: what is asked of a kick."""
    rows: int = 8
    """Aims that may move the root at the same time."""


@dataclass(frozen=True)
class ClockSettings:
    """When poses were made (`clock`). Chosen on `benchmarks/live_wire.py --simulate`."""

    usual_rate: float = 60.0
    """Poses per second before any interval is known."""
    window: int = 32
    """Poses over which intervals are medians and stamps are judged. Doubled, a change of rate takes half a second to be
    noticed at 60 Hz; halved, a burst of jitter changes the rate."""
    far: int = 8
    """Poses over which the interval of arrivals is measured."""
    judged: int = 6
    """Poses before stamps, or a latency that has increased, are judged."""
    still: float = 0.1
    """Fraction of stamps that may stand still or go back in a clock that is used."""
    together: float = 0.005
    """Seconds within which poses with the same stamp are parts of one."""
    tick: float = 0.001
    """Seconds; stamps whose squared deviation from arrivals exceeds that of equal intervals by the square of this are
    too coarse. Jitter of arrivals is in both and cancels out."""
    again: int = 8
    """Times in a row, every eight poses, that stamps have to be good before those that were too coarse are used again:
    jitter hides how coarse they are now and then, and every change of clocks is a jolt. Without it, stamps of 1/64 s
    and in-order jitter of 10 ms give 1.60 times the acceleration at worst of three draws."""
    steady: float = 1.0 / 16.0
    """Intervals by which poses may come late on average where one that comes an interval late without a stamp is taken
    for one behind a lost one. With infinity, a boxer without stamps accelerates 1.26 times as much with in-order jitter
    of 2 ms on average, 9.6 times with 5 ms and 13 times with 20 ms, at worst of four draws, as late poses are taken for
    lost ones; with this 1.01, 1.03 and 1.10."""
    most_ahead: float = 0.1
    """Seconds by which a stamp may be ahead of arrivals before it has jumped."""
    stall: float = 0.25
    """Seconds of delay beyond which a pose waited in a stall: it does not count as jitter."""
    increased: float = 0.25
    """Seconds for which everything has to come late by one and a half intervals before latency has increased for
    good. At 0.12, bursts of in-order jitter of 20 ms are taken for that, which gives 1.65 instead of 0.74 times the
    acceleration."""
    catches_up: float = 0.5
    """Seconds of delay that poses may make up per second while latency is taken to have increased; beyond it they are
    the flood after a stall. A flood makes up more than 1, jitter next to nothing over `increased`."""
    memory: float = 2.0
    """Seconds over which the smallest delay is taken."""
    faster: float = 0.02
    """Fraction by which time may run faster to be in step with the sender again."""
    slower: float = 0.1
    """Fraction by which it may run slower: what is shown too early has nothing to show."""
    waits: int = 256
    """Poses over which jitter is measured."""
    in_time: float = 0.995
    """Fraction of poses that the jitter buffer waits for. At 0.9, jitter of 10 ms shows; at 1, one straggler counts."""


@dataclass(frozen=True)
class StreamSettings:
    """How samples of a stream become poses (`actor`, `stage`)."""

    first_frames: int = 5
    """Samples from which proportions are measured without a calibration pose."""
    held: float = 1.0
    """Seconds for which a calibration pose has to be held."""
    late: float = 0.6
    """Intervals after its time until which a pose is waited for when nothing later is known."""
    denser: int = 24
    """Samples that are used within the latency budget at most; denser ones are thinned."""
    behind: float = 0.2
    """Seconds by which a pose may be overdue before poses are left out: beyond it, catching up would cost more time
    than there is. With 32 actors that need 0.9 of a core, 0.5 never caught up after the start."""
    rise: float = 0.1
    """Seconds of delay that the jitter buffer may gain per second: motion slows down by that fraction."""
    fall: float = 0.02
    """Seconds of delay that it may lose per second."""
    lapse: float = 0.15
    """Seconds without a bone, and four intervals, after which another source may send it."""
    gone: float = 0.25
    """Seconds of silence after which a new sender takes a silent actor over."""
    other_lengths: float = 0.04
    """Relative difference of bone lengths that makes another performer; senders' own noise stays below 1 %."""
    other_poses: int = 3
    """Consecutive looks, one every four poses, at other lengths or bones before the performer is measured again."""
    crossfade: float = 0.4
    """Seconds in which the character blends to a new performer."""
    position_noise: float = 0.002
    """Metres per axis; assumed sensor noise."""
    rotation_noise: float = math.radians(1.0)
    """Radians per axis; assumed sensor noise."""
    no_filter: float = 1e-4
    """Seconds; half-life where no filter is wanted: at up to 1000 Hz, poses are shown as they were measured but for
    1/2000 of what cannot be predicted of them."""


@dataclass(frozen=True)
class GroundWalkSettings:
    """How a live character follows a ground (`ground_walk`). Chosen on a walk on stairs of 17 cm and slopes of 10°."""

    ahead: float = 0.12
    """Seconds ahead at which the ground below a swinging foot counts."""
    foot_ease: float = 0.05
    """Half-life in seconds in which the height of a foot follows the ground."""
    hips_ease: float = 0.1
    """Half-life in seconds in which the hips follow the feet. At 0.05 they accelerate by 52 instead of 29 m/s² up
    stairs, at 0.14 by 31 instead of 26 m/s² down a slope: they are late, and the legs too short."""
    fastest: float = 0.6
    """m/s at which the ground below a foot rises or falls steadily at most: a walk at 1.4 m/s on a slope of 23°."""
    straight: float = 0.995
    """Share of a leg's length beyond which the hips begin to go down, where the performer's is not straighter. At 0.96
    they accelerate by 18 instead of 26 m/s² down a slope, but knees stay bent by 25° at the end of every step."""
    rolls: float = 0.01
    """Metres of height by which heel, ball and toe differ when a foot has rolled from one to the other, as in
    `solve.ik.puppet`."""
    steepest: float = math.cos(math.radians(50.0))
    """Cosine of the steepest slope that a foot is tilted to: what is steeper is the face of a step."""
    extent: float = 25.0
    """Metres around the first pose for which a ground is made."""


@dataclass(frozen=True)
class CalibrationPoseSettings:
    """When a calibration pose is accepted (`performer`)."""

    missing: float = 0.5
    """Fraction of the frames in which a bone has to be present to become a joint."""
    still_metres: float = 0.05
    """Metres that the hips may move while the pose is held."""
    still_radians: float = math.radians(8.0)
    """Radians that a bone may rotate while the pose is held."""
    upright: float = math.cos(math.radians(25.0))
    """Cosine of the largest tilt of the trunk."""
    sideways: float = math.cos(math.radians(35.0))
    """Cosine of the largest angle of the arms from the horizontal in a T-pose."""
    downwards: float = math.cos(math.radians(35.0))
    """Cosine of the largest angle of the arms from the vertical in an N-pose."""


CONTROLLER = ControllerSettings()
CLIP_SET = ClipSetSettings()
FOOT_PLAN = FootPlanSettings()
CARRIED = CarriedSettings()
TREADS = TreadSettings()
AIM = AimSettings()
CLOCK = ClockSettings()
STREAM = StreamSettings()
GROUND_WALK = GroundWalkSettings()
CALIBRATION_POSE = CalibrationPoseSettings()
