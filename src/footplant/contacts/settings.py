"""Tuning numbers of contact detection, of the estimated ground and of importance.

Lengths are in body heights, so that a child and a giant are treated alike; durations are seconds. Adult values in
parentheses are for a body of 1.75 m. Where a field names no experiment, none is on record.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StillnessSettings:
    """Thresholds of the detector for still intervals (`contacts.stillness`)."""

    vertical: float = 1.5
    """How many times vertical motion counts: planted feet of captured skeletons creep along the ground, but a foot that
    rises slowly has been lifted. At 1, raised heels count as planted; at 3, every tenth still foot is missed."""
    speed: float = 0.1
    """Body heights per second; a point slower than this is still, whatever the rest of the clip does (0.18 m/s along
    the ground). Doubled, slow drags count as contacts; halved, noisy or sliding contacts are missed."""
    share: float = 0.1
    """Fraction of the point's own top speed nearby below which it is still as well. In a run, planted feet are tracked
    less accurately than in slow motion, so "slow" is relative."""
    fastest: float = 0.5
    """Body heights per second; upper bound of the relative threshold: a faster point slides (0.9 m/s). Halved, contacts
    of captured runs are lost and those of walks are a tenth too short."""
    around: float = 0.6
    """Seconds before and after a frame over which the top speed is taken: about a step."""
    shortest: float = 0.05
    """Seconds; shortest contact. A point that is still for less is at a turning point of its path."""
    near: float = 0.001
    """Body heights; a point this close to its place is still there, however fast (1.8 mm). At three times as much,
    contacts end later than a foot leaves: F1 on the samples falls by 0.01."""
    depth: float = 0.2
    """Seconds inside an end of a contact whose median position is its place there. A creeping foot has another place at
    either end."""
    creep: float = 2.0
    """Times its median speed over the contact by which a point may go on from that place. Halved, contacts of captured
    walks, whose feet roll on by centimetres, are a tenth too short."""
    release: float = 1.5
    """Times `speed`; a contact is not lengthened to frames in which the point is faster, and where it is slower for
    longer than the window of the fit, that part tells the contact's place. At 1, the second also cuts frames of
    arriving feet from contacts of captured clips: a motion of 20 frames per second accelerates 2.5 times as much."""
    bridge: float = 0.1
    """Seconds; longest gap across which two still intervals at the same position are merged; of two at other positions,
    the shorter and faster one is a skid. In 94 captured clips no still foot that carries the body is lost by that, and
    12 of 21 drifts of more than 1 mm of the driven scripts of docs/drive.md are gone."""
    merge_near: float = 0.0125
    """Body heights; positions this close are the same if the point did not go farther in between (2 cm)."""
    smallest_window: float = 0.04
    """Seconds; length of the straight-line fit in clean data."""
    largest_window: float = 0.15
    """Seconds; length of the straight-line fit in the noisiest data. A longer one would swallow the steps of a run."""


@dataclass(frozen=True)
class SupportSettings:
    """What counts as supported by the ground, and how the ground is estimated (`contacts.ground`)."""

    body_travel: float = 0.08
    """Body heights the body moves over a still foot that prove a support (14 cm). Doubled, contacts of short steps are
    no longer proven and count by height only; halved, a foot held in the air while the body sways may count."""
    body_travel_hand: float = 0.05
    """The same for a hand, which is seldom still in the world by accident while the body moves."""
    proof_time: float = 0.1
    """Seconds; shortest still interval that travel of the body proves. Beside a flip, feet that turn in the air are
    still for 0.05 s while the body travels. Of 975 intervals of captured clips that travel proves, one is shorter than
    this and not near the ground: a heel that a planted ball carries."""
    near_ground: float = 0.03
    """Body heights; largest distance from the ground of a point that stands on it (5 cm)."""
    brief: float = 0.25
    """Seconds; for contacts shorter than this, `near_ground` shrinks in proportion, to at least `brief_share` of it."""
    brief_share: float = 0.3
    """Smallest fraction of `near_ground` for brief contacts. A point that is still only for an instant above the ground
    is at a turning point in the air."""
    point_bias: float = 0.045
    """Body heights; how far above the true sole a badly fitting skeleton may have a contact point (8 cm)."""
    local: float = 0.4
    """Body heights; radius within which contacts define the ground around them: less than a step (70 cm)."""
    balance_time: float = 0.2
    """Seconds; shortest still interval that balance over a foot may support. At the top of a jump the feet are still
    under the body, too."""
    usual: float = 0.05
    """Share of a point's still time that it spends at its usual height over the ground, or lower. That height (at most
    `point_bias`) is the point's own and counts as the ground."""
    balance_distance: float = 0.12
    """Body heights; largest horizontal distance of the centre of mass from the foot that supports it (21 cm)."""
    lift: float = 0.02
    """Body heights above the ground from which a heel or toe is checked for being lifted (3.5 cm)."""
    flatness: float = 0.02
    """Body heights; 90 % of the contacts lie within this of a plane that is accepted as the ground (3.5 cm)."""
    slope_extent: float = 0.3
    """Body heights; smallest horizontal standard deviation of contacts that a slope is fitted to (50 cm)."""
    slope_gain: float = 0.25
    """Fraction of a level floor's mean residual that a slope may have at most. Of 64 clips captured on level floors, a
    slope of up to 10° fits four within `flatness`, with 0.28 to 0.97 of the level floor's residual; made slopes of 3°
    and more have less than a thousandth."""
    slope_ridge: float = 1e-3
    """Tikhonov weight of the slope, in squared body heights: a straight walk does not determine the cross slope."""
    slope_residual: float = 0.003
    """Body heights; residual below which the robust fit weights all contacts alike (5 mm)."""
    interpolation: float = 0.05
    """Body heights; standard deviation of the Gaussian weights of an interpolated ground (9 cm)."""
    cell: float = 0.012
    """Body heights; grid spacing of the upper bound that passing soles put on an estimated ground (2 cm)."""
    sole_radius: float = 0.05
    """Body heights; radius around a passing sole within which the ground is no higher than the sole (9 cm)."""
    pit_slope: float = 1.0
    """Rise over run of the upper bound outside that radius."""


@dataclass(frozen=True)
class ImportanceSettings:
    """When a hand or foot begins to matter (`contacts.importance`; chapter 4 of H. J. Shin 2002)."""

    reach: float = 0.1
    """Body heights from an object at which importance begins (D of the paper, which leaves it to the animator)."""
    near_body: float = 0.045
    """Body heights from the body's surface at which a palm, foot, elbow or knee begins to matter."""
    near_hands: float = 0.12
    """Body heights between the palms at which they begin to matter to each other."""
    passing: float = 0.3
    """Body heights per second along the body's surface at which a touch no longer matters."""
    lookahead: float = 0.25
    """Seconds by which an approaching hand counts ahead (λ, figure 4.3)."""
    step_lookahead: float = 0.35
    """Seconds by which an approaching foot counts ahead."""
    touch_lookahead: float = 0.14
    """Seconds by which an approach to the body counts ahead."""
    hands_lookahead: float = 0.45
    """Seconds by which an approach of the palms to each other counts ahead. With 0.23, 0.35 and 0.6 Blubby's palms,
    which go around its belly, are 23, 15 and 5 instead of 7 mm apart when those of the sample clap first meet."""
    hands_on_body: float = 0.5
    """Share of that which is lost where a palm comes to the trunk as soon: it is not about to meet the other one. With
    0, 90 frames of the sample waist miss the hips by more than 10 mm on Blubby, by up to 86; with 0.5 and 0.6 none."""
    rate: float = 0.02
    """Half-life in seconds of the filter on speeds."""
    rise: float = 0.085
    """Half-life in seconds with which the importance of feet rises."""
    fall: float = 0.075
    """Half-life in seconds with which the importance of feet falls."""
    touch_rise: float = 0.114
    """Half-life in seconds with which the importance of hands and of self-contacts rises."""
    touch_fall: float = 0.45
    """Half-life in seconds with which the importance of hands and of self-contacts falls."""


@dataclass(frozen=True)
class ExchangeSettings:
    """What counts as a hand that holds another figure's hand, or rests on its body (`contacts.exchanges`)."""

    hold: float = 0.25
    """Body heights between palms below which one may hold the other. The handshake of CMU 18_01 and 19_01, whose
    forearms are 12 cm short, has 0.22; the next steady pair of hands in the four captured pairs at hand has 0.31."""
    rest: float = 0.06
    """Body heights from the samples of a body's surface (0.05 apart) below which a palm may rest on it."""
    band: float = 0.02
    """Body heights by which the distance of a hold may change."""
    shortest: float = 0.2
    """Seconds that it lasts at least: hands that pass each other are near for less."""
    grip: float = 0.08
    """Body heights from the bounding box of a prop below which a palm may hold it; a palm is up to 0.06 from the wrist
    that short hands are captured with."""
    seat: float = 0.12
    """Body heights above a prop's bounding box below which the hip joints of a figure that sits on it are: buttocks and
    thighs are 0.05 to 0.08 thick."""
    still: float = 0.03
    """Body heights by which a part may move in the frame of a prop that it holds."""


SUPPORT = SupportSettings()
IMPORTANCE = ImportanceSettings()
EXCHANGES = ExchangeSettings()
