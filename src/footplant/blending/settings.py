"""Tuning numbers of registration, blending, transitions, loops and motion graphs.

Where a field names no experiment, none is on record.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RegistrationSettings:
    """How frames are compared and motions are registered (`distance`, `warp`, `registration`)."""

    rate: float = 30.0
    """Frames per second at which motions are compared. Doubled, the distance table has four times as many cells."""
    window: float = 4.0 / 30.0
    """Seconds that a point cloud spans: five neighbouring frames at 30 frames per second."""
    neighbours: int = 5
    """Poses in a point cloud."""
    knot: float = 0.12
    """Seconds of the reference between two knots of the time warp: about four frames at 30 frames per second. Doubled,
    the warp is smoother and follows foot strikes less closely."""
    slowest: float = 0.15
    """Least slope of a time warp, relative to a straight line: keeps it strictly monotone."""
    steepest: int = 8
    """How often slope limits are widened by one step before they are dropped."""
    overlap: float = 0.5
    """Fraction of the shorter motion that corresponding parts must have when their ends are free."""
    worth: float = 1.5
    """A pair of frames is worth matching up to this many times the mean distance along the best path."""
    strike: float = 0.35
    """Largest gap between two foot strikes of the same step after warping, as a fraction of a stride."""
    stride: float = 0.9
    """Seconds of a stride, where a foot strikes only once."""
    strike_weight: float = 100.0
    """Weight of a pair of foot strikes in the fit of the time warp, in pairs of frames."""


@dataclass(frozen=True)
class LoopSettings:
    """How a cycle is found and closed (`loops`)."""

    shortest: float = 0.4
    """Seconds; shortest cycle of a gait."""
    longest: float = 3.0
    """Seconds; longest cycle of a gait."""
    alike: float = 1.3
    """A shorter cycle is preferred if its ends are at most this many times as far apart as the best one's …"""
    barely: float = 0.08
    """… plus this fraction of the median distance of two frames: frames of two cycles do not coincide exactly."""
    moving: float = 0.5
    """Least distance between the start and the middle of a cycle, as a fraction of the median frame distance."""
    rate: float = 60.0
    """Frames per second of the search."""
    valley: float = 0.1
    """Seconds around the shortest cycle within which the best one is chosen."""
    centre: float = 0.01
    """Metres of frame distance per clip length from a cycle's centre to the clip's centre."""
    seam: float = 0.2
    """Seconds of the crossfade from the end of a loop into its start."""


@dataclass(frozen=True)
class GraphSettings:
    """Which transitions a motion graph has (`graph`, `matching`)."""

    near: float = 0.05
    """Body heights within which two frames are alike (9 cm for an adult). Doubled, there are more but worse edges."""
    apart: float = 0.2
    """Seconds around a transition point within which there is no better one."""
    beside: float = 0.5
    """Seconds between two transitions that are kept; and, within one clip, between the frames of a transition."""


@dataclass(frozen=True)
class TreadmillSettings:
    """Which clips are gaits on the spot (`treadmill`). Chosen on 150 takes of 12 files: 16 gaits on the spot of five
    game characters, fights, dances, gestures."""

    rate: float = 60.0
    """Frames per second at which clips are examined."""
    spot: float = 0.04
    """Body heights within which the hips of a gait on the spot stay: up to 0.02; of clips that go somewhere, 0.1."""
    low: float = 0.03
    """Body heights above its lowest position up to which a foot is on the ground."""
    slowest: float = 0.15
    """Body heights per second of the slowest belt: the slowest walk of a game character has 0.18."""
    alike: float = 0.25
    """Part of the belt's speed by which a foot on it differs at most; the nearer it is, the more it counts. Four sample
    gaits that are put on the spot get 0.98 to 1.0 of their speeds."""
    share: float = 0.06
    """Part of the frames in which each foot is on the belt, and the other is not: gaits on the spot have 0.07 to 0.19.
    What stays on the spot otherwise has none, but for one who gets up from the floor, which is no loop."""
    still: float = 0.1
    """Part of the belt's speed up to which a foot stands. Gaits stand in 0 to 0.2 of the frames and are on the belt in
    0.17 to 0.48; kicks and gestures stand in 0.33 and more, and seem to be on it in 0.18 to 0.28: they are none."""
    closed: float = 0.3
    """Of the median step of a joint from frame to frame: a loop with nearer ends has its first frame at its end …"""
    next: float = 1.5
    """… and one with ends nearer than this many times a large step (95 % are smaller) begins again after its last."""
    rounds: int = 3
    """How often a loop is played: a cycle in the middle has whole steps before and after it."""
    candidates: int = 400
    """Velocities that are tried at most."""


@dataclass(frozen=True)
class BlendContactSettings:
    """Which foot contacts a blend has (`plants`)."""

    most: float = 0.5
    """Total weight of the motions in which a foot is planted for it to be planted in the blend."""
    shortest: float = 0.03
    """Seconds; shorter contacts are dropped."""
    apart: float = 0.05
    """Body heights between a foot's positions in one motion and the next beyond which it has to take a step."""
    move: float = 0.15
    """Seconds that each of two such contacts gives up for that step."""
    drift: float = 0.045
    """Body heights that a foot may drift before it is locked; a contact that drifts farther is shortened."""


@dataclass(frozen=True)
class TransitionSettings:
    """Length and time warp of a crossfade (`transition`)."""

    seconds: float = 0.5
    """Default length of a crossfade."""
    pieces: int = 2
    """Spline segments of the time warp during a crossfade: few, so that neither clip changes speed abruptly."""
    slowest: float = 0.4
    """Least speed of either clip during a crossfade, relative to its mean."""
    cut: float = 0.1
    """Metres of frame distance that skipping a whole clip costs. Doubled, transitions keep more of both clips."""


@dataclass(frozen=True)
class SteerSettings:
    """How the path of a walk is bent (`steering`). Fields that name no experiment were set once."""

    turn: float = 1.0
    """Radians per metre by which a path is bent at most, to either side: straight walks turn with a radius of 1 m. Of
    48 targets that four sets of clips walk to, beginning along +z, 46 are reached with 0.7, one of them after a detour,
    and all with 1."""
    sideways: float = 2.0
    """Metres per second squared: acceleration to the side that bends add at most. A run at 4 m/s is bent to a radius of
    8 m."""
    still: float = 0.15
    """Metres per second; slower paths have no direction."""
    reserve: float = 0.8
    """Fraction of the largest bend by which the search expects a walk to turn to a target: clips that turn away use up
    the rest."""
    ahead: float = 0.7
    """Metres ahead on a curve that a path is steered to."""
    knot: float = 0.5
    """Metres between two knots of the bend of a whole path."""
    near: float = 0.02
    """Metres from the curve, or from the target, that cost as much as …"""
    stiff: float = 0.3
    """… one over this many radians per √metre of bends, …"""
    even: float = 1.0
    """… or one over this many radians per metre of change from one knot to the next."""
    askew: float = 0.35
    """Radians by which a path may begin off the direction of its curve."""
    steps: int = 60
    """Evaluations of the fit at most."""


@dataclass(frozen=True)
class WalkSettings:
    """How a motion graph is searched for a walk (`graph_walk`). Fields that name no experiment were set once."""

    rate: float = 20.0
    """Samples per second at which walks are compared. Doubled, the search takes twice as long."""
    sway: float = 1.0
    """Seconds over which the hips' path is averaged, so that the sway of single steps is no distance travelled."""
    fine: float = 0.01
    """Metres between the samples of a path."""
    stretch: float = 0.25
    """Metres along a path over which partial walks compete."""
    moment: float = 0.25
    """Seconds over which partial walks to a target compete."""
    width: int = 32
    """Partial walks that are continued of each stretch. Doubled, the search takes twice as long and may find better
    walks."""
    linger: float = 5e-3
    """Metres²: error that every second costs, so that a walk does not stand still where it is on the path."""
    change: float = 0.05
    """Metres by which the frames of a transition seem to be farther apart than they are: walks change seldom."""
    strain: float = 0.01
    """Metres² s per radian² per metre of bends: of two walks that are as near, that which is bent less is taken."""
    fade: float = 0.4
    """Default seconds of a crossfade."""
    least_fade: float = 0.05
    """Seconds; a transition nearer to the end of a clip than this has no frames to fade over, and is not used."""
    within: float = 0.25
    """Metres from a target that count as reaching it."""
    longest: float = 60.0
    """Seconds; longer walks are not searched."""
    again: int = 2
    """How often feet are solved again, at most, for contacts that are seen in the solution only. Of 830 contacts of
    three sets, 5 drift by more than 1 mm with 1, and none with 2 and 3."""


REGISTRATION = RegistrationSettings()
LOOP = LoopSettings()
GRAPH = GraphSettings()
BLEND_CONTACTS = BlendContactSettings()
TRANSITION = TransitionSettings()
TREADMILL = TreadmillSettings()
STEER = SteerSettings()
WALK = WalkSettings()
