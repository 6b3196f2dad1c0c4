"""What `measure` says of a robot's motion: planted feet, floor, self-collision, ranges, speeds, jerk and balance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.mechanism.body import SIDES, RobotBody
from footplant.mechanism.motion import Plant, RobotMotion
from footplant.mechanism.solids import levels_below
from footplant.serialise import json_ready

SKATING = 0.01
"""Metres per second: a planted point that moves faster skates."""
IN_FLOOR = 2.0
"""Millimetres: a solid deeper than this is in the floor."""
COLLIDING = 2.0
"""Millimetres: solids that overlap by more collide."""
JUMP = 0.5
"""Radians from frame to frame."""
OUTSIDE = 0.03
"""Metres by which the zero-moment point is outside the support before it counts."""
GRAVITY = 9.81


@dataclass(frozen=True)
class RobotQuality:
    """Every metric of a robot's motion. None: there was nothing to measure."""

    frames: int
    fps: float
    plants: int
    worst_drift: float | None
    """Largest horizontal distance of a planted point from its mean place, mm."""
    mean_drift: float | None
    """Mean over plants of that, mm."""
    skating: float | None
    """Share of planted samples that move faster than 1 cm/s."""
    deepest: float
    """Deepest penetration of the floor by any solid, mm."""
    in_floor: float
    """Share of frames with a solid more than 2 mm in the floor."""
    ranges_broken: int
    """Samples of a joint outside its range."""
    range_joint: str
    """The joint that is farthest outside its range; "" if none is."""
    speeds_broken: int
    """Samples of a joint faster than its file allows."""
    jumps: int
    """Samples of a joint that moves more than 0.5 rad in a frame."""
    jerk: float
    """95th percentile over frames of the joints' root-mean-square jerk, rad/s³."""
    colliding: float
    """Share of frames in which solids of the robot overlap by more than 2 mm."""
    collision_depth: float
    """Deepest overlap, mm."""
    collision_pair: str
    """The two bodies that overlap most; "" if none do."""
    limb_error: float | None
    """Mean angle between the robot's limbs and those of the motion that it follows, degrees."""
    zmp_outside: float | None
    """Share of planted frames whose zero-moment point is more than 3 cm outside the support."""
    zmp_distance: float | None
    """Mean distance of the zero-moment point from the support, mm."""
    plant_errors: tuple[float, ...] = ()
    """For each plant, its largest distance from where it should be, mm; along the ground if its ankle does not roll.
    Its height is that of the point, or of the foot's lowest where that is nearer: a foot on the tips of its toes."""
    plant_frames: tuple[int, ...] = ()
    """The frame of that distance."""
    edge_height: float = 0.0
    """How high a planted heel or toe of a foot is whose ankle does not roll, mm: the foot stands on an edge."""
    palms: int = 0
    """Contacts of hands with the ground."""
    palm_drift: float | None = None
    """Largest horizontal distance of a resting wrist from its mean place, mm."""
    coupling: float | None = None
    """Largest distance of a joint from where the one that it follows puts it, rad; None if no joint follows another."""

    def to_dict(self) -> dict:
        """Return JSON-ready numbers."""
        return json_ready(asdict(self))

    def rows(self) -> list[tuple[str, object]]:
        """Return the main measures as (measure, value)."""
        return [
            ("worst footplant drift, mm", self.worst_drift),
            ("mean drift, mm", self.mean_drift),
            ("planted samples over 1 cm/s, share", self.skating),
            ("deepest in the floor, mm", self.deepest),
            *([] if self.palm_drift is None else [("worst drift of a resting hand, mm", self.palm_drift)]),
            ("joint ranges broken", self.ranges_broken),
            ("joint speeds broken", self.speeds_broken),
            *([] if self.coupling is None else [("joint off what it follows, rad", self.coupling)]),
            ("jumps over 0.5 rad", self.jumps),
            ("joint jerk, 95th percentile, rad/s³", self.jerk),
            ("frames with self-collision, share", self.colliding),
            ("deepest self-collision, mm", self.collision_depth),
            ("limb directions off, mean °", self.limb_error),
            ("zero-moment point outside the support, share", self.zmp_outside),
        ]


def measure_robot(
    body: RobotBody,
    motion: RobotMotion,
    plants: Sequence[Plant] = (),
    limbs: Mapping[tuple[str, str], NDArray] | None = None,
    palms: Sequence[Plant] = (),
    heights: Callable[[NDArray], NDArray] | None = None,
) -> RobotQuality:
    """Measure a robot's motion. plants: what should stand; limbs: pair of centres → vectors (F, 3) to follow.

    palms: hands that should rest. heights: places (N, 2) of the robot's world → height of the ground; None for a floor.
    """
    links, mechanism = body.links, body.mechanism
    at, turn = links.pose(motion.states)

    def track(link: int, place: NDArray | tuple[float, ...]) -> NDArray:
        return at[:, link] + turn[:, link] @ np.asarray(place, float)

    feet = {
        (side, part): track(body.soles[side].link, getattr(body.soles[side], part))
        for side in SIDES
        for part in ("heel", "toe")
    }
    low_feet = {side: _lowest(body, at, turn, only=body.feet[side]) for side in SIDES}
    drifts, speeds, errors, frames, edges = [], [], [], [], [0.0]
    for plant in plants:
        path = feet[plant.side, plant.part][plant.start : plant.end]
        drifts.append(1000.0 * float(np.linalg.norm(path[:, :2] - path[:, :2].mean(axis=0), axis=1).max()))
        speeds.append(np.linalg.norm(np.diff(path[:, :2], axis=0), axis=1) * motion.fps)
        off = path - np.array(plant.place)
        if body.rolls[plant.side]:
            # a foot stands also on what is lower than the planted point, on the tips of its toes
            lowest = low_feet[plant.side][plant.start : plant.end] - plant.place[2]
            off[:, 2] = np.where(np.abs(lowest) < np.abs(off[:, 2]), lowest, off[:, 2])
        else:
            # the height of a foot whose ankle does not roll is not asked for: it stands on an edge
            edges.append(1000.0 * float(off[:, 2].max()))
            off[:, 2] = 0.0
        away = np.linalg.norm(off, axis=1)
        errors.append(1000.0 * float(away.max()))
        frames.append(plant.start + int(away.argmax()))
    moving = np.concatenate(speeds) if speeds else np.zeros(0)
    resting = []
    for palm in palms:
        wrist = body.centers[f"{palm.side}_wrist"]
        path = track(wrist.link, wrist.place)[palm.start : palm.end, :2]
        resting.append(1000.0 * float(np.linalg.norm(path - path.mean(axis=0), axis=1).max(initial=0.0)))
    lowest = _lowest(body, at, turn, heights)
    angles = motion.angles
    outside = np.maximum(mechanism.lower - angles, angles - mechanism.upper)
    off_leaders = np.abs(mechanism.coupling.applied(angles) - angles)
    steps = np.abs(np.diff(angles, axis=0))
    jerk = np.diff(angles, 3, axis=0) * motion.fps**3
    near = body.solids
    found = near.near(at, turn, -0.001 * COLLIDING)
    deepest = int(found.gaps.argmin()) if len(found.gaps) else -1
    pair = ""
    if deepest >= 0:
        a, b = (mechanism.solids[solid].body for solid in near.pairs[found.pairs[deepest]])
        pair = f"{mechanism.bodies[a]}, {mechanism.bodies[b]}"
    zmp = _balance(body, motion, plants, at, turn)
    worst = np.unravel_index(int(outside.argmax()), outside.shape) if outside.size else (0, 0)
    broken = int((outside > 1e-4).sum())
    return RobotQuality(
        frames=len(motion), fps=motion.fps, plants=len(plants),
        worst_drift=max(drifts) if drifts else None, mean_drift=float(np.mean(drifts)) if drifts else None,
        skating=float(np.mean(moving > SKATING)) if len(moving) else None,
        deepest=max(0.0, -1000.0 * float(lowest.min(initial=0.0))),
        in_floor=float(np.mean(lowest < -0.001 * IN_FLOOR)),
        ranges_broken=broken, range_joint=mechanism.joints[int(worst[1])].name if broken else "",
        speeds_broken=int((steps * motion.fps > mechanism.velocity * (1.0 + 1e-3)).sum()),
        jumps=int((steps > JUMP).sum()),
        jerk=float(np.percentile(np.sqrt((jerk**2).mean(axis=1)), 95)) if len(jerk) else 0.0,
        colliding=len(np.unique(found.frames)) / max(len(motion), 1),
        collision_depth=max(0.0, -1000.0 * float(found.gaps.min(initial=0.0))), collision_pair=pair,
        limb_error=_limb_error(body, limbs, track),
        zmp_outside=None if zmp is None else float(np.mean(zmp > OUTSIDE)),
        zmp_distance=None if zmp is None else 1000.0 * float(np.mean(zmp)),
        plant_errors=tuple(errors), plant_frames=tuple(frames), edge_height=max(edges),
        palms=len(palms), palm_drift=max(resting) if resting else None,
        coupling=float(off_leaders.max(initial=0.0)) if mechanism.mimics else None,
    )  # fmt: skip


def _lowest(
    body: RobotBody,
    at: NDArray,
    turn: NDArray,
    heights: Callable[[NDArray], NDArray] | None = None,
    only: NDArray | None = None,
) -> NDArray:
    """Return how far the lowest point of any solid, or of those of links (L,), bool, is above the ground (F,), m."""
    links, places, radii = body.solids.surface
    lowest = np.full(len(at), np.inf)
    groups = [(link, places[links == link], radii[links == link]) for link in np.unique(links)]
    groups += [(sole.link, sole.points, np.zeros(len(sole.points))) for sole in body.soles.values()]
    for link, own, radius in groups:
        if only is not None and not only[link]:
            continue
        above = at[:, link, 2][:, None] + turn[:, link, 2] @ own.T - radius
        if heights is not None:
            above -= levels_below(heights, at[:, link, None] + own @ np.swapaxes(turn[:, link], -1, -2), radius)
        lowest = np.minimum(lowest, above.min(axis=1))
    return lowest


def _limb_error(body: RobotBody, limbs: Mapping[tuple[str, str], NDArray] | None, track) -> float | None:
    angles = []
    for (above, below), wanted in (limbs or {}).items():
        own = track(body.centers[below].link, body.centers[below].place) - track(
            body.centers[above].link, body.centers[above].place
        )
        lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(wanted, axis=1)
        cosines = (own * wanted).sum(axis=1) / np.maximum(lengths, 1e-12)
        angles.append(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))
    return float(np.mean(angles)) if angles else None


def support_heights(plants: Sequence[Plant], frames: int) -> NDArray:
    """Return the height of what stands (F,), metres; between steps it goes over evenly."""
    total, count = np.zeros(frames), np.zeros(frames)
    for plant in plants:
        total[plant.start : plant.end] += plant.place[2]
        count[plant.start : plant.end] += 1.0
    known = np.flatnonzero(count)
    return np.interp(np.arange(frames), known, total[known] / count[known]) if len(known) else total


def zero_moment_points(
    body: RobotBody, at: NDArray, turn: NDArray, fps: float, floor: NDArray | float = 0.0
) -> tuple[NDArray, NDArray, NDArray]:
    """Return the zero-moment point (F, 2) at the height `floor`, how high the centre of mass (F,) is above it, and
    g + its lift (F,).

    With c the centre of mass, a its acceleration and L the angular momentum about it,
    p = c − (c_z a + (e_z × dL/dt) / m) / (g + a_z). Both ends of the motion have no acceleration.
    """
    from footplant.quality import _support as kernel

    mechanism, links = body.mechanism, body.links
    owners = links.body_links
    places = links.body_places + rotation.rotate(links.body_turns, mechanism.mass_centers)
    axes = rotation.to_matrix(links.body_turns)
    inertias = np.ascontiguousarray(axes @ mechanism.inertias @ np.swapaxes(axes, -1, -2))
    masses, fps = np.ascontiguousarray(mechanism.masses, float), float(fps)
    center, momentum = np.empty((len(at), 3)), np.empty((max(len(at) - 1, 0), 3))
    kernel.centers_of_mass(at, turn, owners, places, masses, center)
    kernel.angular_momenta(at, turn, owners, places, masses, inertias, center, fps, momentum)
    acceleration, torque = np.zeros_like(center), np.zeros_like(center)
    acceleration[1:-1] = np.diff(center, 2, axis=0) * fps**2
    torque[1:-1] = np.diff(momentum, axis=0) * fps
    lift = GRAVITY + acceleration[:, 2]
    safe = np.maximum(lift, 0.3 * GRAVITY)[:, None]
    turned = np.stack([-torque[:, 1], torque[:, 0]], axis=1) / (max(mechanism.mass, 1e-12) * safe)
    height = center[:, 2] - floor
    return center[:, :2] - height[:, None] / safe * acceleration[:, :2] + turned, height, lift


def _balance(
    body: RobotBody, motion: RobotMotion, plants: Sequence[Plant], at: NDArray, turn: NDArray
) -> NDArray | None:
    """Return the distance of the zero-moment point from the support polygon at planted frames, metres."""
    if len(motion) < 5 or not plants or body.mechanism.mass <= 0.0:
        return None
    point, _, lift = zero_moment_points(body, at, turn, motion.fps, support_heights(plants, len(motion)))
    corners, counts = support_corners(body, plants, at, turn)
    chosen = (counts > 0) & (lift > 0.2 * GRAVITY)
    chosen[:2] = chosen[-2:] = False
    away = np.linalg.norm(point - nearest_in_support(corners, counts, point), axis=1)[chosen]
    return away if len(away) else None


def support_corners(body: RobotBody, plants: Sequence[Plant], at: NDArray, turn: NDArray) -> tuple[NDArray, NDArray]:
    """Return the corners (F, N, 2) of what stands, metres, and how many there are in each frame (F,)."""
    most = 2 * max(len(sole.points) for sole in body.soles.values())
    corners, counts = np.zeros((len(at), most, 2)), np.zeros(len(at), np.int64)
    for side, sole in body.soles.items():
        ends = (sole.points - 0.5 * (sole.heel + sole.toe)) @ (sole.toe - sole.heel)
        for part, own in (("heel", sole.points[ends < 0.0]), ("toe", sole.points[ends >= 0.0])):
            held = np.zeros(len(at), bool)
            for plant in plants:
                if plant.side == side and plant.part == part:
                    held[plant.start : plant.end] = True
            frames = np.flatnonzero(held)
            places = at[frames, sole.link, None, :2] + own @ np.swapaxes(turn[frames, sole.link, :2], -1, -2)
            corners[frames[:, None], counts[frames, None] + np.arange(len(own))] = places
            counts[frames] += len(own)
    return corners, counts


def nearest_in_support(corners: NDArray, counts: NDArray, points: NDArray) -> NDArray:
    """Return the points (F, 2) of the support polygons nearest to points (F, 2): themselves if inside, or in flight."""
    from footplant.quality import _support as kernel

    out, most = points.copy(), corners.shape[1]
    order, hull = np.empty(most, np.int64), np.empty(2 * most, np.int64)
    kernel.nearest_in_support(corners, counts, np.ascontiguousarray(points), order, hull, out)
    return out
