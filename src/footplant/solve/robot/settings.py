"""Tuning numbers of `solve.robot`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RobotSettings:
    """Weights and tolerances. Lengths are divided by the robot's leg, so that they hold for any size."""

    pelvis: float = 0.3
    """Weight of the pelvis' place, per square leg length."""
    ankle: float = 0.3
    """Weight of an ankle's place, per square leg length: feet in swing."""
    limb: float = 2.0
    """Weight of a limb's direction, per square radian. From 1 to 2, limbs of three walks and a dance on a G1 are off
    by 1.4° and 1.0°, and jerk rises by 5 %."""
    pelvis_turn: float = 0.5
    """Weight of the pelvis' rotation, per square radian."""
    chest_turn: float = 0.5
    """Weight of the chest's rotation, per square radian."""
    waist_turn: float = 4.0
    """The same where the waist is solved with the arms, which turn it where they reach the ends of their ranges. With
    0.5, 2, 4 and 8, limbs of an iCub that walks (02_01) are off by 2.0, 2.5, 2.8 and 3.0°, and its chest by 9.7, 5.9,
    3.9 and 2.3°; with a waist that does not turn for arms, by 3.4 and 0.8°. dm_control's humanoid, whose right arm does
    not hang, leans by 14, 9, 6 and 4° (120_09), and its limbs are off by 2.3, 3.2, 3.7 and 4.2°, without by 5.1°. At 4,
    chests are off by about as much as limbs."""
    waist_bend: float = 1.0
    """Weight that holds each hinge of the waist, where it is solved with the arms, at its angle of the balanced trunk,
    per square radian. A spine of nine hinges may bend into an S without turning the chest: without this weight, hinges
    of dm_control's humanoid moved by up to 0.9 rad, which shifted its chest off balance, onto a thigh in a crawl
    (111_03; overlaps in 1.3 % of the frames, with it in none), and fingers into fingers (18_15; 0.7 % and none). With
    1e-3, 0.1, 0.3 and 1, zero-moment points of three of its walks (35_01, 104_02, 120_09; solids held apart more
    stiffly) are outside the feet in 62, 59, 50 and 34 % of the frames, and limbs are off by 4.3, 4.2, 4.0 and 3.8°;
    limbs of an iCub (02_01) by 2.85, 2.86, 2.88 and 2.93°, of a G1 by 1.85° with each. With 3, limbs of dm_control's
    in 120_09 are off by 3.6 instead of 3.1°: its waist leans for an arm."""
    foot_turn: float = 0.1
    """Weight of a foot's rotation in swing, per square radian."""
    flat_turn: float = 1e4
    """Weight of the rotation of a foot whose heel and toe are planted: it lies flat."""
    edge_turn: float = 1.0
    """The same of a foot whose ankle does not roll: it may stand on an edge. With 3, 1 and 0.3, limbs of six walks on
    an H1 are off by 2.07, 1.80 and 1.70°, of six other clips (14_23, 19_15, 49_21, 60_01, 36_01, 75_12) by 3.81, 3.69
    and 3.73°, and heels or toes are up to 67, 68 and 76 mm high in the mean of the twelve; on dm_control's humanoid
    (35_01, 18_01, 120_09) 3.02, 2.71 and 2.84°, and 57, 42 and 43 mm."""
    hand_turn: float = 0.05
    """Weight of a hand's rotation, per square radian."""
    head_turn: float = 0.2
    """Weight of the head's rotation, per square radian."""
    posture: float = 1e-3
    """Weight that draws every hinge to the rest pose, per square radian: redundant hinges do not drift."""
    guess_posture: float = 0.2
    """The same in the first guess, in which frames are posed one after another: a forearm that is nearly straight says
    next to nothing about the turn of its upper arm, which then wanders to where the whole clip does not find back. With
    1e-3, 0.05 and 0.2, limbs of six clips are off by 3.4, 2.9 and 2.6° on a T1 (7.1, 4.2 and 1.4° in one of them), by
    4.6, 4.0 and 4.0° on an iCub and by 1.9° on a G1 with each."""
    plant: float = 1e6
    """Weight of a planted point, per square leg length, or per square metre for longer legs. With a ninth of it,
    which is what PyBullet's humanoid has per square leg length, its feet drift by 0.7 mm in a backflip (88_01). Above
    30 frames/s it grows with the square of the rate, as smoothness does with its fourth power: at 120 frames/s feet
    of a G1 drift by 0.08 instead of 1.22 mm when it gets up (111_03), by 0.08 instead of 0.70 mm when it walks (02_01),
    and by 0.13 instead of 0.79 mm when it dances (60_01); 1, 2 and 1 instead of 5, 11 and 13 % of the planted samples
    are faster than 1 cm/s, and jerk is within 20 %."""
    plant_height: float = 0.1
    """Share of the square root of that weight for its height, which yields to a floor. At 1, toes of dm_control's
    humanoid that crawls (111_03) are pulled 20 mm into the floor by plants that its feet, tilted, do not reach. On
    stairs, where the ground below a solid changes from step to step of the solver, heights count in full: with a share
    of 0.1, a foot is 7 mm in a tread."""
    palm: float = 1e4
    """The same of the wrist of a hand that rests on the ground: it yields where arms are too short."""
    reach: float = 0.97
    """Share of the arm's length: a resting hand farther than this from its shoulder is out of reach, and let go."""
    rise: float = 0.03
    """Metres: a point that is deeper than this in the ground, in the riser of a stair, is raised by this in a step."""
    smooth: float = 16.0
    """Weight of second differences of hinges, less those of the smoothed first guess, per square radian at 30 frames/s;
    it grows with the fourth power of the frame rate. Before these were subtracted, with 6, 9 and 12, jerk of six clips
    on a G1, a T1 and an iCub is 438, 387 and 357 rad/s³, and their limbs are off by 2.9, 3.0 and 3.2°: most of it is
    where feet land and leave. The clips are 14_23, 19_15, 49_21, fair1_zombie, AV_8Walk_Meredith and toolbox_walk01,
    none of which are in the table of docs/robots.md. On an N1, PyBullet's humanoid and a G1 with five clips (120_09,
    02_01, 104_02, 14_23, 19_15), 12 instead of 9 lowers jerk from 443 to 402 and limbs are off by 3.29 instead of
    3.21°. Weights of 3 times as much within 3 frames of where plants begin and end cost as much (3.29°) for 421, and
    four times as much at ankles raises jerk to 447. Goals of hips, ankles and legs that lead smoothly to the plants, as
    a character's do, leave it as it is (447): landing feet jerk because they turn to lie flat, not because they are
    elsewhere."""
    guess_smooth: float = 20.0
    """Weight of third differences with which the first guess is smoothed, relative to 1 for an angle that is off, at 30
    frames/s; it grows with the sixth power of the frame rate. Second differences of hinges are weighed less those of
    this motion: what is slower than about 3 Hz, as limbs swing, costs nothing. With a weight of 12 on all of them,
    limbs of seven clips that are not in the table of docs/robots.md (14_23, 19_15, 49_21, 03_01, 13_33, 36_01, 75_12)
    on five robots are off by 4.16° and jerk is 463 rad/s³. With 16 on the difference, and 3, 10, 20, 30 and 100 here,
    3.90, 3.98, 4.02, 4.05 and 4.13°, and 618, 511, 474, 462 and 435 rad/s³. Limbs of six walks on a G1, an H1 and an N1
    are off by 1.42, 2.07 and 1.92 instead of 1.61, 2.21 and 2.07°, and jerk falls by 3 to 5 %."""
    smooth_base: float = 100.0
    """The same of the base, of its displacement from the reference, with lengths in legs: the base follows the shifts
    that balance it. With 30 and 100, the zero-moment point of three walks is outside the feet of an H1 in 39 and 32 %
    of the frames, and of dm_control's CMU humanoid in 70 and 62 % (after 4 shifts); jerk of a G1 rises from 329 to 428
    rad/s³."""
    balance: int = 8
    """How often the body is shifted to balance it, at most; 0 leaves it as in the source. With 4 and 8, the zero-moment
    point of three walks is outside the feet of an H1 in 32 and 10 % of the frames, and its limbs are off by 2.2° and
    2.4°; a G1 is balanced after four."""
    balanced: float = 0.01
    """Leg lengths: the body is balanced when a shift is no longer than this."""
    balance_stay: float = 0.3
    """Cost of how far the body is shifted in all, per square metre, relative to 1 for a zero-moment point as far
    outside the feet. When each shift cost by itself, however far the body was shifted before, limbs of six walks on a
    G1, an H1, an N1, MuJoCo's, dm_control's and PyBullet's humanoid were off by 1.42, 1.80, 1.92, 4.39, 3.47 and 4.59°;
    now by 1.30, 1.60, 1.70, 4.24, 3.14 and 4.15°, with the zero-moment point outside the feet as often (10, 11, 11, 11,
    43 and 66 % of the frames; 9, 10, 11, 10, 44 and 68 %). With 1, limbs are off by 1.21, 1.50, 1.58, 4.15 and 3.87°
    (without dm_control's), and it is outside in 17, 20, 13, 11 and 72 %."""
    balance_smooth: float = 100.0
    """Cost of second differences of the shift, relative likewise, at 30 frames/s."""
    balance_far: float = 0.1
    """Leg lengths: a zero-moment point farther outside the feet than this hardly draws the body any more. When it did,
    with the square of how far, PyBullet's humanoid, which walks far out of balance (2.5 leg lengths in 18_01), swayed
    by 6° for nothing. Without this bound, and with 0.1, 0.06 and 0.04, its limbs in six walks are off by 4.15, 3.72,
    3.60 and 3.56°, and its zero-moment point is outside the feet in 68, 69, 67 and 66 % of the frames; those of a G1,
    an H1 and an N1 by 1.53, 1.51, 1.48 and 1.37°, and in 10, 10, 11 and 19 %. With 0.06, four of eight crawls (111_03,
    each a frame later) on PyBullet's humanoid overlap in two frames or more, with 0.1 one, as without. In ten other
    clips (14_23, 19_15, 49_21, 03_01, 13_33, 36_01, 75_12, 16_01, 60_01, 144_20) limbs of these four, an iCub and
    MuJoCo's humanoid are off by 3.87 instead of 4.14°, and it is outside in 25 instead of 26 %."""
    balance_most: float = 0.1
    """Leg lengths: each of the shifts stays below this."""
    speed: float = 14.0
    """Radians per second: largest speed of a hinge whose file states none; at 30 frames/s no jump exceeds 0.47 rad."""
    jump: float = 0.47
    """Radians: largest change of a hinge from frame to frame, whatever speed its file states."""
    margin: float = 0.04
    """Metres per leg length of 0.8 m: nearer than this, a solid's height over the floor is a row."""
    apart: float = 0.005
    """Metres: least distance of solids that may collide."""
    near: float = 0.03
    """Metres, for legs longer than 0.8 m in proportion: solids nearer than this have a row, so that a step does not
    drive them into each other."""
    part: float = 0.01
    """Metres, likewise: solids that overlap are driven apart by this in a step."""
    missed: float = 0.002
    """Leg lengths: a body that misses a plant by more is solved again without keeping its legs apart."""
    missed_height: float = 0.05
    """Share that a missed height counts of that: a foot that hovers by 4 % of the leg is missed."""
    let_go: int = 2
    """Most footplants that are let go because they are out of reach, one at a time: of those missed by more than half
    of the worst, the shortest."""
    steps: int = 20
    """Largest number of Gauss–Newton steps. Walks settle in six. With 12 steps of 4 active sets, solids of crawls on an
    H1, a T1 and an N1 are 143, 43 and 10 mm in the floor, and plants drift by 50 to 67 mm; with 20 of 10, 0, 0.1 and
    1.1 mm, and by less than 0.1 mm. Walks take as long as before."""
    rounds: int = 20
    """Largest number of active sets tried in a step: bodies that lie on the floor touch it with dozens of points. A
    crawl on PyBullet's humanoid misses a plant by 31, 1.2, 1.0 and 3.0 mm with 10, 14, 20 and 30, its limbs 12.3°,
    8.0°, 7.9° and 10.3° off; walks need few."""
    settled: float = 2e-3
    """Radians or metres: the search ends when no step is longer."""


ROBOT_SETTINGS = RobotSettings()
