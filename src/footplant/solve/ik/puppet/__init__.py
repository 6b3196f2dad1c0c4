"""Computer puppetry: retarget a performer's pose to another character frame by frame, by importance.

H. J. Shin, "An importance-based approach for computer puppetry" (KAIST 2002), chapter 5: the root is placed where all
important end effectors can reach their goals (5.1), the body is bent only where that is not enough (5.2), and the limbs
keep contacts, avoid scene and body, and otherwise keep their joint angles (5.3). The engine does no file, clock or
network handling; `footplant.live.puppeteer` drives it live and `footplant.edits.puppet` on clips.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footplant import humanoid, rotation
from footplant.checks import real_number, shaped
from footplant.contacts.importance import LIMBS, ImportanceAnalysis, PerformanceScene, character_tables
from footplant.errors import MotionError, SkeletonError
from footplant.humanoid.body_proxy import SEGMENTS, BodySurface
from footplant.humanoid.counterparts import Counterparts, leg_ratio
from footplant.kinematics import on_rigid_bones
from footplant.motion import Motion
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of
from footplant.solve.ik.settings import PUPPET, PuppetSettings

TRUNK = ("hips", "waist", "chest", "head")
"""Body segments that arms must not penetrate."""


@dataclass(frozen=True, eq=False)
class PuppetMotion:
    """The result of the engine on a whole clip."""

    motion: Motion
    """On the target's skeleton."""
    scene: NDArray
    """(F, 4) importance of each limb's end in the scene, 0 to 1, in the order of `LIMBS`."""
    middles: NDArray
    """(F, 4) importance of each limb's elbow or knee in the scene, 0 to 1."""
    body: NDArray
    """(F, 8, S) importance of palms, feet, elbows and knees with respect to the body's segments, 0 to 1."""
    hands: NDArray
    """(F,) importance of the palms with respect to each other, 0 to 1."""
    out_of_reach: NDArray
    """(F, 2) whether the left and right palm miss the segment that they should touch because none of its skin is in
    reach: the arm is too short, or the trunk covers it."""
    hands_out_of_reach: NDArray
    """(F,) whether the palms are not as far apart as they should be when they meet because there is no place out of the
    trunk which both arms reach."""
    iterations: NDArray
    """(F,) int64; iterations of the body step (section 5.2); mostly 0."""
    peak_acceleration: float
    """Largest acceleration of a joint of the copied pose over the clip, m/s²."""


class PuppetEngine:
    """Tables of a performer, a target and a scene that do not change from frame to frame."""

    def __init__(
        self,
        performer: Character,
        target: Character,
        scene: PerformanceScene | None = None,
        *,
        scale: float | None = None,
        about: ArrayLike = (0.0, 0.0, 0.0),
        estimate_root: bool = True,
        settings: PuppetSettings = PUPPET,
    ) -> None:
        """Prepare the tables.

        scale: ratio of the target's world to the performer's, scene included; None: the ratio of the leg lengths.
        about: (3,) the fixed point of that scaling, metres. estimate_root: False leaves the root to the numerical body
        step alone, for comparison (table 7.1). settings: tuning.
        """
        from footplant.solve.ik.puppet._tables import Stage

        self.performer, self.target, self.settings = performer, target, settings
        given = leg_ratio(performer, target) if scale is None else scale
        self.scale = real_number(given, "scale", MotionError, above=0.0)
        self.analysis = ImportanceAnalysis(performer, scene)
        self.counterparts = Counterparts.of(performer, target)
        self.surface = BodySurface.of(target)
        size = (target.height or 1.0) / (performer.height or 1.0)
        track = 0.0
        if scale is None:
            thicker = self.surface.radius("left_lower_leg", 3) - size * self.analysis.surface.radius(
                "left_lower_leg", 3
            )
            track = 0.5 * (_hip_width(target) - self.scale * _hip_width(performer))
            track += settings.foot.track_gain * max(thicker, 0.0)
        about = np.array(shaped(about, (3,), "the fixed point of the scale", MotionError))
        self.stage = Stage(
            self.scale, about, size, track, bool(estimate_root), self._margin(size), tuning_of(settings), self._arms()
        )

    def _arms(self) -> float:
        """Return the ratio of the distances between palms: of the arms' lengths, and no larger than that of the sizes.

        In the ratio of the arms, to clap takes no more acceleration than the captured angles do; palms of long arms are
        then farther apart than the performer's, for its size.
        """
        own, theirs = arm_length(self.target), arm_length(self.performer)
        size = (self.target.height or 1.0) / (self.performer.height or 1.0)
        return min(own / theirs, size) if own * theirs > 0.0 else 1.0

    def _margin(self, size: float) -> float:
        """Return the clearance from the body at which arms begin to be pushed away, metres.

        Where the target's body is thicker than the performer's, arms that pass the performer's body would penetrate the
        target's, so avoidance must start earlier.
        """
        arm = self.settings.arm
        extra = [self.surface.radius(name, 4) - size * self.analysis.surface.radius(name, 4) for name in TRUNK]
        return float(np.clip(arm.margin_gain * max(extra), arm.least_margin, arm.most_margin))

    @cached_property
    def tables(self):
        """The target as the kernels take it: (puppet, limb tables, tubes, trunk, moves)."""
        tables = character_tables(self.target, self.surface)
        trunk = np.array([segment in TRUNK for segment in SEGMENTS])
        moves = np.array([[segment.endswith(("_arm", "_hand")) for segment in SEGMENTS]] * 2)
        puppet = puppet_tables(self.target, self.surface, self.settings.body.stretch)
        return puppet, tables, self.surface.tables(), trunk, moves

    def init(self, peak_acceleration: float = 0.0):
        """Return the state before the first frame (memory, limbs), packed.

        peak_acceleration: known largest acceleration of joints of the copied pose, m/s²; it bounds the accelerations of
        the character.
        """
        from footplant.solve.ik.puppet._packed import pack
        from footplant.solve.ik.puppet._tables import new_limbs

        limbs = new_limbs(len(self.target.skeleton), len(self.tables[0].spine), len(self.analysis.scene))
        limbs.peak[0] = peak_acceleration
        return pack(self.analysis.init()), pack(limbs)

    def packed(self):
        """Return the tables of performer, scene and target and the workspace of a frame, as one `Packed`."""
        from footplant.solve.ik.puppet._packed import pack
        from footplant.solve.ik.puppet._tables import new_work

        analysis, performer = self.analysis, self.performer.skeleton
        return pack(
            performer.parents, performer.offsets[None], analysis.character, analysis.tubes, analysis.near,
            analysis.things, analysis.rules, *self.tables, self.stage, self.counterparts.tables, analysis.buffer(),
            new_work(len(performer), len(self.target.skeleton), len(self.tables[0].spine)),
        )  # fmt: skip

    def play(
        self, motion: Motion, poses: NDArray | None = None, *, peak_acceleration: float | None = None
    ) -> PuppetMotion:
        """Return the target's motion for a whole clip of the performer.

        Bones that change their length are replaced by the performer's own.
        poses: (F, O, 7) displacements of the scene's objects at each frame, or None where they are static.
        peak_acceleration: as in `init`; 0.0: unknown, as live; None: measured on the whole clip first.
        """
        from footplant.solve.ik.puppet import _pose as kernel

        if motion.skeleton.names != self.performer.skeleton.names:
            raise MotionError(f"expected a motion on the skeleton of {self.performer.name!r}, got another one")
        # a performer's bones are rigid
        motion = on_rigid_bones(motion, self.performer.require_roles()["hips"])
        analysis, skeleton, frames = self.analysis, self.target.skeleton, len(motion)
        if poses is None:
            poses = analysis.scene.rest()[None]
        poses = np.array(poses, float)
        if poses.ndim != 3 or poses.shape[1:] != (len(analysis.scene), 7) or len(poses) not in (1, frames):
            raise MotionError(
                f"expected poses of things of shape ({frames}, {len(analysis.scene)}, 7), got {poses.shape}"
            )
        roots, rotations = np.empty((frames, 3)), np.empty((frames, len(skeleton), 4))
        scene, hands = np.empty((frames, 2 * len(LIMBS))), np.empty(frames)
        body, iterations = np.empty((frames, 8, len(SEGMENTS))), np.zeros(frames, np.int64)
        beyond = np.zeros((frames, 3))
        memory, limbs = self.init(peak_acceleration or 0.0)
        state = kernel.PackedState(memory.floats, memory.places, limbs.floats, limbs.places)
        performance = kernel.Performance(motion.root, motion.rotations, poses, 1.0 / motion.fps)
        written = kernel.Played(roots, rotations, scene, body, hands, beyond, iterations)
        peak = kernel.play(self.packed(), state, peak_acceleration is None, performance, written)
        played = Motion(skeleton, roots, rotation.unroll(rotations), motion.fps)
        return PuppetMotion(
            played,
            scene[:, :4],
            scene[:, 4:],
            body,
            hands,
            beyond[:, :2] > 0.0,
            beyond[:, 2] > 0.0,
            iterations,
            float(peak),
        )


def tuning_of(settings: PuppetSettings) -> NDArray:
    """Return the numbers of the settings as the kernels take them."""
    from footplant.solve.ik.puppet._tables import AT

    values = {name: value for group in asdict(settings).values() for name, value in group.items()}
    return np.array([values[name] for name in AT._fields])


def arm_length(character: Character) -> float:
    """Return the mean length of a character's arms from shoulder to wrist, metres; 0 without arms."""
    places = humanoid.reference_world(character.skeleton, character.require_roles())[0]
    found = []
    for name in LIMBS[:2]:
        try:
            limb = limb_of(character, name)
        except SkeletonError:
            continue
        found.append(np.linalg.norm(np.diff(places[[limb.upper, limb.lower, limb.end]], axis=0), axis=1).sum())
    return float(np.mean(found)) if found else 0.0


def puppet_tables(target: Character, surface: BodySurface, stretch: float):
    """Return a target's skeleton and limbs as the kernels take them; stretch: see `PuppetBodySettings`."""
    from footplant.solve.ik.puppet._tables import Puppet

    skeleton, roles = target.skeleton, target.require_roles()
    axes, lengths, uppers, lowers = np.tile(rotation.AXES["x"], (4, 1)), np.ones(4), np.ones(4), np.ones(4)
    places, turned = humanoid.reference_world(skeleton, roles)
    for number, name in enumerate(LIMBS):
        try:
            limb = limb_of(target, name)
        except SkeletonError:
            continue
        axes[number] = limb.axis
        bones = np.diff(places[[limb.upper, limb.lower, limb.end]], axis=0)
        lengths[number] = stretch * np.linalg.norm(bones, axis=1).sum()
        uppers[number], lowers[number] = np.linalg.norm(bones, axis=1)
    probes = np.zeros((2, 3, 4))
    for arm, side in enumerate(("left", "right")):
        if f"{side}_hand" in roles:
            probes[arm] = _probes(target, surface, side, places, turned)
    solids = [(roles["hips"], 0.8 * surface.radius("hips", -1))]
    if "head" in roles:
        solids.append((roles["head"], surface.radius("head", 2)))
    if "spine" in roles:
        solids.append((roles.joints["spine"][-1], 0.8 * surface.radius("chest")))
    for side in ("left", "right"):
        if f"{side}_lower_leg" in roles:
            solids.append((roles[f"{side}_lower_leg"], surface.radius(f"{side}_lower_leg")))
    limbs = character_tables(target, surface).limbs
    spine = [roles["hips"], *(joint for joint in roles.joints.get("spine", ()) if skeleton.parents[joint] >= 0)]
    carries = [[int(limb[0] >= 0 and limb[0] in skeleton.descendants(joint)) for limb in limbs] for joint in spine]
    owners = np.full(len(skeleton), -1, np.int64)
    for number, limb in enumerate(limbs):
        if limb[0] >= 0:
            owners[list(skeleton.descendants(int(limb[0])))] = number
    legs = [[SEGMENTS.index(f"{side}_{part}") for part in ("upper_leg", "lower_leg")] for side in ("left", "right")]
    return Puppet(
        skeleton.parents, np.array(skeleton.offsets[None]), axes, lengths, np.array(spine, np.int64),
        np.array(carries, np.int64), uppers, probes,
        np.array([surface.radius(f"{side}_lower_arm") for side in ("left", "right")]), np.array(solids, float),
        _parts(target, limbs), owners, np.array(legs, np.int64), lowers,
    )  # fmt: skip


def _parts(target: Character, limbs: NDArray) -> NDArray:
    """Return which part of the body moves each joint (J,) int64, see `Puppet.parts`."""
    parents = target.skeleton.parents
    parts = np.zeros(len(parents), np.int64)
    for j, above in enumerate(parents):
        if above < 0:
            continue
        # a joint's position depends on its parent's rotation
        parts[j] = parts[above] if above not in limbs[:, 0] else -1
        if j in limbs[:, 2]:
            parts[j] = 1 + limbs[:, 2].tolist().index(j)
    return parts


def _probes(target: Character, surface: BodySurface, side: str, places: NDArray, turned: NDArray) -> NDArray:
    """Return wrist, palm and finger tips in the hand's frame and the hand's thickness there (3, 4), metres."""
    number = SEGMENTS.index(f"{side}_hand")
    length, axis = float(surface.lengths[number]), rotation.rotate(surface.turns[number], rotation.AXES["z"])
    thin = 0.65 * surface.radius(f"{side}_hand", 2)
    shares = ((0.0, 0.8 * surface.radius(f"{side}_lower_arm", -1)), (0.45, thin), (0.95, 0.7 * thin))
    return np.array([[*(share * length * axis), thickness] for share, thickness in shares])


def _hip_width(character: Character) -> float:
    """Return the distance between the hip joints in the reference pose, metres."""
    skeleton, roles = character.skeleton, character.require_roles()
    places = humanoid.reference_world(skeleton, roles)[0]
    return float(np.linalg.norm(places[roles["left_upper_leg"]] - places[roles["right_upper_leg"]]))
