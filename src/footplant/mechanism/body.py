"""How a robot stands for a human body: compound joints, soles, and a proxy character with balls for joints.

A hip, a shoulder, a waist, an ankle or a wrist is a group of hinges whose axes nearly meet. Its centre is the point
nearest to all of them; between centres are the limbs. The proxy has one ball joint at each centre, so that whatever
retargets to a character retargets to the robot; the hinges then follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import HumanoidError
from footplant.humanoid import find_roles, make_character
from footplant.mechanism.links import Links, links_of
from footplant.mechanism.model import Mechanism, Solid
from footplant.mechanism.solids import SolidTable
from footplant.skeleton import Character, Point, Roles, Skeleton

SIDES = ("left", "right")
TO_Y_UP = {
    "z": np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "y": np.eye(3),
    "x": np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]),
}
"""File axes → y up."""
KNEE_WORDS = ("knee", "shank", "shin", "calf", "tibia", "lower_leg")
ANKLE_WORDS = ("ankle", "foot")
"""Parts of the names of bodies below a knee, and of feet."""
NEAR_ANKLE = 0.35
"""Fraction of the shank; hinges further than this from the ankle turn toes."""
SOLE_BAND = 0.02
"""Metres above the lowest point of a foot within which points belong to its sole. Feet of several spheres and boxes
differ by up to 15 mm."""
END_BAND = 0.02
"""Metres from the rear or front end of a sole within which points make up its heel or toe edge."""
STANDING_ERROR = 0.07
"""Direction cosines; a rest pose whose legs or soles are further from vertical is replaced by one that stands."""
MOST_SLOPE = 0.6
"""Cosine of the largest angle between the underside of a foot and the ground in the file's pose."""
ROLL_SHARE = 0.7
"""Cosine of the largest angle between the line from heel to toe and what the ankle's axes span, for one that rolls."""
FOOT_SHARES = (-0.28, 0.72, 0.27, 0.2)
"""Heel, toe, height of the ankle over the sole and half width, for a foot without solids, as multiples of a quarter of
the leg: human proportions."""


@dataclass(frozen=True)
class LinkPoint:
    """A point fixed to a link."""

    link: int
    place: tuple[float, float, float]
    """In the link's frame, metres."""


@dataclass(frozen=True, eq=False)
class Sole:
    """The underside of a foot."""

    link: int
    points: NDArray
    """(N, 3) metres, in the link's frame; the lowest points of its solids."""
    heel: NDArray
    """(3,) middle of its rear edge."""
    toe: NDArray
    """(3,) middle of its front edge."""


@dataclass(frozen=True, eq=False)
class RobotBody:
    """A mechanism with the parts of a human body found in it."""

    links: Links
    roles: Roles
    """Roles of the mechanism's bodies (not of the proxy's joints)."""
    upright: NDArray
    """(3, 3) turns the base's axes of the file into y up: the rotation of the base when the robot stands at rest."""
    centers: Mapping[str, LinkPoint]
    """"pelvis", "left_hip", "left_knee", "left_ankle", "left_shoulder", "left_elbow", "left_wrist" … → the joint's
    centre, on the link that moves with the limb below it."""
    groups: Mapping[str, tuple[int, ...]]
    """The same names, "waist" and "neck" → hinges, from the base outwards."""
    chest: int
    """Link that carries both arms."""
    head: int | None
    """Link of the head, or None where it is part of the chest."""
    hands: Mapping[str, int]
    """Side → link of the hand, where it turns against the forearm."""
    soles: Mapping[str, Sole]
    proxy: Character
    """The robot with a ball at each centre, y up, at rest as in the file."""
    missing: tuple[str, ...]
    """Parts of a body that the robot does not have: "neck", "left_wrist" …"""
    notes: tuple[str, ...] = ()

    @property
    def mechanism(self) -> Mechanism:
        """Return the mechanism."""
        return self.links.mechanism

    @cached_property
    def solids(self) -> SolidTable:
        """Return its collision solids, tabulated."""
        return SolidTable(self.links)

    @cached_property
    def feet(self) -> dict[str, NDArray]:
        """Return for each side the links (L,), bool, of its foot: the sole's, and those that hang on it."""
        paths, depths = self.links.paths
        return {
            side: np.array([sole.link in (link, *paths[link, :depth]) for link, depth in enumerate(depths)])
            for side, sole in self.soles.items()
        }

    @cached_property
    def rolls(self) -> dict[str, bool]:
        """Return for each side whether its ankle turns the foot about the line from heel to toe, not only otherwise.

        Without that roll, a foot lies flat only below its hip.
        """
        turns, found, coupling = self.links.rest[1], {}, self.mechanism.coupling
        for side, sole in self.soles.items():
            line = turns[sole.link] @ (sole.toe - sole.heel)
            ankle, own = self.groups[f"{side}_ankle"], {}
            for hinge in ankle:
                # what follows the knee does not turn the foot by itself
                leader, by = int(coupling.leaders[hinge]), coupling.multipliers[hinge]
                if leader in ankle and by != 0.0:
                    own[leader] = own.get(leader, 0.0) + by * (turns[hinge + 1] @ self.links.axes[hinge + 1])
            if not own:
                found[side] = False
                continue
            axes = list(own.values())
            # least squares: the share of that line which the axes span
            span = np.linalg.lstsq(np.stack(axes, axis=1), line, rcond=None)[0] @ np.stack(axes)
            found[side] = float(np.linalg.norm(span)) > ROLL_SHARE * float(np.linalg.norm(line))
        return found


def robot_body(mechanism: Mechanism, corrections: Mapping[str, tuple[str, ...]] | None = None) -> RobotBody:
    """Find the parts of a human body in a robot; corrections: role → names of bodies, which take precedence.

    Raises `HumanoidError` with the reason for a robot without two legs.
    """
    links = links_of(mechanism)
    skeleton = body_skeleton(links)
    try:
        roles = find_roles(skeleton, corrections=corrections)
    except HumanoidError:
        # a robot without arms is no humanoid by its shape; its legs may tell by their names
        legs = _legs_by_name(mechanism)
        if not legs:
            raise
        roles = find_roles(skeleton, corrections=legs | dict(corrections or {}))
    lacking = [f"{side}_{part}" for side in SIDES for part in ("lower_leg", "foot") if f"{side}_{part}" not in roles]
    if lacking:
        raise HumanoidError(
            f"expected a robot with two legs of hips, knees and ankles, got none for {', '.join(lacking)}",
            "name its bodies in a TOML file ([roles]) if it has them",
        )
    at = skeleton.rest_world[0]
    rise = np.sum([at[roles[f"{side}_lower_leg"]] - at[roles[f"{side}_foot"]] for side in SIDES], axis=0)
    axis = int(np.abs(rise).argmax())
    if rise[axis] < 0.8 * float(np.linalg.norm(rise)):
        raise HumanoidError("expected a robot that stands upright along an axis of its file, got another posture")
    upright = TO_Y_UP["xyz"[axis]]
    finder = _Finder(links, roles, upright)
    finder.find()
    straight = finder.standing()
    if straight is not None:
        finder = _Finder(replace(links, standing=straight), roles, upright)
        finder.find()
    return finder.body()


def _legs_by_name(mechanism: Mechanism) -> dict[str, tuple[str, ...]]:
    """Return role → body of hips, knees and ankles by their names alone; empty unless all are found."""
    found: dict[str, tuple[str, ...]] = {"hips": (mechanism.bodies[0],)}
    for side in SIDES:
        for role, words in (("lower_leg", KNEE_WORDS), ("foot", ANKLE_WORDS)):
            names = [
                name for name in mechanism.bodies if side in name.lower() and any(w in name.lower() for w in words)
            ]
            if not names:
                return {}
            found[f"{side}_{role}"] = (names[0],)
    return found


def body_skeleton(links: Links) -> Skeleton:
    """Return the bodies at rest as a skeleton, each at its last hinge."""
    mechanism = links.mechanism
    positions = np.zeros((len(mechanism.bodies), 3))
    hinged = {joint.body for joint in mechanism.joints}
    for body in range(len(positions)):
        link = int(links.body_links[body])
        place = np.zeros(3) if body in hinged else links.body_places[body]
        positions[body] = links.rest_point(link, place)
    above = np.where(mechanism.parents[:, None] >= 0, positions[mechanism.parents], 0.0)
    return Skeleton(mechanism.bodies, mechanism.parents, positions - above)


def bottom_points(solid: Solid, links: Links, down: NDArray) -> tuple[int, NDArray]:
    """Return link and points (N, 3), in its frame, with which a solid touches ground below it; down: in that frame."""
    link, center = links.attached(solid.body, solid.place)
    turn = rotation.to_matrix(rotation.multiply(links.body_turns[solid.body], np.array(solid.turn)))
    radius, half, _ = solid.size
    if solid.kind == "sphere":
        return link, (center + radius * down)[None]
    if solid.kind == "capsule":
        ends = np.array([[0.0, 0.0, half], [0.0, 0.0, -half]]) @ turn.T
        return link, center + ends + radius * down
    if solid.kind == "cylinder":
        angles = np.linspace(0.0, 2.0 * np.pi, 8, endpoint=False)
        rim = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.zeros(8)], axis=1)
        both = np.concatenate([rim + [0.0, 0.0, half], rim - [0.0, 0.0, half]])
        return link, center + both @ turn.T
    if solid.kind == "ellipsoid":
        size = np.array(solid.size)
        way = turn.T @ down
        return link, (center + turn @ (size * size * way / max(float(np.linalg.norm(size * way)), 1e-12)))[None]
    return link, center + solid.vertices @ turn.T


class _Finder:
    """Finds parts of one robot."""

    def __init__(self, links: Links, roles: Roles, upright: NDArray) -> None:
        self.links, self.roles, self.upright = links, roles, upright
        self.mechanism = links.mechanism
        self.at = body_skeleton(links).rest_world[0]
        self.up = upright.T @ np.array([0.0, 1.0, 0.0])
        across = self.at[roles["left_foot"]] - self.at[roles["right_foot"]]
        across = across - (across @ self.up) * self.up
        self.left = across / max(float(np.linalg.norm(across)), 1e-9)
        self.forward = np.cross(self.left, self.up)
        coupling, names = links.mechanism.coupling, [joint.name for joint in links.mechanism.joints]
        self.notes = [
            f"joint {names[joint]!r} cannot move: its range and those of what follows it have one angle in common"
            for joint in np.flatnonzero(coupling.free & ~coupling.moves)
        ]
        self.missing: list[str] = []
        self.centers: dict[str, LinkPoint] = {}
        self.places: dict[str, NDArray] = {}
        self.groups: dict[str, tuple[int, ...]] = {}
        self.hands: dict[str, int] = {}
        self.soles: dict[str, Sole] = {}
        self.downs: dict[str, NDArray] = {}

    def chain(self, body: int) -> list[int]:
        """Return the bodies from the base to a body."""
        out = [body]
        while self.mechanism.parents[out[-1]] >= 0:
            out.append(int(self.mechanism.parents[out[-1]]))
        return out[::-1]

    def hinges(self, bodies: list[int]) -> tuple[int, ...]:
        """Return the hinges of bodies, in order."""
        return tuple(number for number, joint in enumerate(self.mechanism.joints) if joint.body in bodies)

    def meet(self, hinges: tuple[int, ...], otherwise: NDArray) -> NDArray:
        """Return the point (3,) nearest to the axes of hinges at rest, pulled weakly to their mean place."""
        if not hinges:
            return otherwise
        positions, turns = self.links.rest
        matrix, vector = np.zeros((3, 3)), np.zeros(3)
        middle = np.mean([positions[hinge + 1] for hinge in hinges], axis=0)
        for hinge in hinges:
            axis = turns[hinge + 1] @ self.links.axes[hinge + 1]
            across = np.eye(3) - np.outer(axis, axis)
            matrix += across
            vector += across @ positions[hinge + 1]
        return np.linalg.solve(matrix + 1e-3 * np.eye(3), vector + 1e-3 * middle)

    def put(self, name: str, link: int, place: NDArray) -> None:
        """Note a joint's centre, given in the base's frame at rest, on a link."""
        self.places[name] = place
        local: tuple[float, float, float] = tuple(self.links.local(link, place).tolist())
        self.centers[name] = LinkPoint(link, local)

    def find(self) -> None:
        """Find everything."""
        knees = [self.roles[f"{side}_lower_leg"] for side in SIDES]
        both = set(self.chain(knees[0])) & set(self.chain(knees[1]))
        elbows = [self.roles.get(f"{side}_lower_arm") for side in SIDES]
        self.chest = 0
        if elbows[0] is not None and elbows[1] is not None:
            self.chest = max(body for body in self.chain(elbows[0]) if body in self.chain(elbows[1]))
        # where the trunk is the base, the pelvis hangs on it
        self.pelvis = max(both) if self.hinges([body for body in both if body]) else 0
        between = set(self.chain(self.chest)) ^ set(self.chain(self.pelvis))
        self.groups["waist"] = self.hinges(sorted(between))
        for side in SIDES:
            self.leg(side, both)
        for side, elbow in zip(SIDES, elbows):
            if elbow is None:
                self.missing.append(f"{side}_arm")
            else:
                self.arm(side, elbow)
        self.head = self.neck()

    def body(self) -> RobotBody:
        """Return what was found."""
        place = (
            np.zeros(3)
            if not self.pelvis
            else self.links.rest_point(int(self.links.body_links[self.pelvis]), np.zeros(3))
        )
        self.put("pelvis", int(self.links.body_links[self.pelvis]), place)
        return RobotBody(
            self.links, self.roles, self.upright, self.centers, self.groups, int(self.links.body_links[self.chest]),
            self.head, self.hands, self.soles, self.proxy(), tuple(self.missing), tuple(self.notes),
        )  # fmt: skip

    def standing(self) -> NDArray | None:
        """Return angles (D,) with straight legs and flat feet, if those of the file are far from that; else None."""
        from scipy.optimize import least_squares

        angles, moved, coupling = np.array(self.links.standing), False, self.mechanism.coupling
        for side in SIDES:
            hinges = [*self.groups[f"{side}_hip"], *self.groups[f"{side}_knee"], *self.groups[f"{side}_ankle"]]
            first = hinges[0]
            # joints that follow others are no unknowns
            hinges = [hinge for hinge in dict.fromkeys(coupling.leaders[hinges].tolist()) if coupling.moves[hinge]]
            base = int(self.links.parents[first + 1])
            sole, down = self.soles[side], self.downs[side]

            def errors(values: NDArray, hinges=hinges, side=side, base=base, sole=sole, down=down) -> NDArray:
                tried = np.array(self.links.standing)
                tried[hinges] = values
                positions, turns = self.links.posed(coupling.applied(tried))
                hip = self.places[f"{side}_hip"]
                ankle = positions[sole.link] + turns[sole.link] @ np.array(self.centers[f"{side}_ankle"].place)
                leg = (ankle - hip) / np.linalg.norm(self.places[f"{side}_ankle"] - hip)
                flat = turns[sole.link] @ down
                return np.array([*(leg + self.up), *(flat + self.up), *(0.02 * (values - self.links.standing[hinges]))])

            start = angles[hinges]
            if np.abs(errors(start)).max() < STANDING_ERROR:
                continue
            low, high = coupling.lower[hinges], coupling.upper[hinges]
            found = least_squares(errors, np.clip(start, low + 1e-6, high - 1e-6), bounds=(low, high))
            angles[hinges], moved = found.x, True
            angles = coupling.applied(angles)
        return angles if moved else None

    def leg(self, side: str, both: set[int]) -> None:
        """Find hip, knee, ankle and sole."""
        knee, foot = self.roles[f"{side}_lower_leg"], self.roles[f"{side}_foot"]
        way = [body for body in self.chain(knee) if body not in both and body]
        hip = self.hinges(way[:-1])
        if not hip:
            raise HumanoidError(f"expected hinges between the base and the {side} knee, got none")
        bends = self.hinges([knee])
        shank = float(np.linalg.norm(self.at[foot] - self.at[knee]))
        last, ankle = foot, [body for body in self.chain(foot) if body not in self.chain(knee)]
        while True:
            below = [body for body, parent in enumerate(self.mechanism.parents) if parent == last]
            near = [body for body in below if np.linalg.norm(self.at[body] - self.at[foot]) < NEAR_ANKLE * shank]
            if len(near) != 1 or not self.hinges(near) or self.roles.get(f"{side}_toes") == near[0]:
                break
            last = near[0]
            ankle.append(last)
        turns = self.hinges(ankle)
        self.groups |= {f"{side}_hip": hip, f"{side}_knee": bends, f"{side}_ankle": turns}
        thigh_link, shank_link = int(self.links.body_links[way[-2]]), int(self.links.body_links[knee])
        meeting = self.meet(hip, self.at[way[0]])
        # a leg beside the point at which its hip's axes meet hangs below its own place
        last_hinge = self.links.rest[0][hip[-1] + 1]
        self.put(f"{side}_hip", thigh_link, meeting + ((last_hinge - meeting) @ self.left) * self.left)
        # a knee's axis is wide: take the point of it beside the line from hip to ankle
        ankle_at = self.meet(turns, self.at[foot])
        self.put(f"{side}_knee", shank_link, self.on_axis(bends, self.places[f"{side}_hip"], ankle_at, self.at[knee]))
        link = int(self.links.body_links[last])
        self.put(f"{side}_ankle", link, ankle_at)
        self.soles[side] = self.sole(side, link, last)

    def on_axis(self, hinges: tuple[int, ...], above: NDArray, below: NDArray, otherwise: NDArray) -> NDArray:
        """Return the point of a hinge's axis that is nearest to the line between two points."""
        if len(hinges) != 1:
            return otherwise
        positions, turns = self.links.rest
        axis, origin = turns[hinges[0] + 1] @ self.links.axes[hinges[0] + 1], positions[hinges[0] + 1]
        along = below - above
        # minimise |origin + t·axis − above − s·along|
        matrix = np.array([[axis @ axis, -axis @ along], [-axis @ along, along @ along]])
        if abs(np.linalg.det(matrix)) < 1e-6 * float(along @ along):
            return otherwise
        t, _ = np.linalg.solve(matrix, [axis @ (above - origin), -along @ (above - origin)])
        return origin + t * axis

    def sole(self, side: str, link: int, foot: int) -> Sole:
        """Return the sole of a foot, from its solids if it has any."""
        solids = [solid for solid in self.mechanism.solids if int(self.links.body_links[solid.body]) == link]
        ankle = self.links.local(link, self.places[f"{side}_ankle"])
        turn = self.links.rest[1][link]
        down = -turn.T @ self.up
        if solids:
            down = self.flat_side(solids, ankle, down)
            points = np.concatenate([bottom_points(solid, self.links, down)[1] for solid in solids])
        else:
            points = self.guessed_sole(side, link, foot)
        self.downs[side] = down
        depths = points @ down
        points = points[depths > depths.max() - SOLE_BAND * self.size]
        forward = turn.T @ self.forward
        forward = forward - (forward @ down) * down
        along = points @ (forward / max(float(np.linalg.norm(forward)), 1e-9))

        def edge(chosen: NDArray) -> NDArray:
            middle = 0.5 * (chosen.min(axis=0) + chosen.max(axis=0))
            return middle + (depths.max() - middle @ down) * down

        band = min(END_BAND * self.size, 0.25 * float(along.max() - along.min()))
        heel, toe = edge(points[along <= along.min() + band]), edge(points[along >= along.max() - band])
        return Sole(link, points, heel, toe)

    @property
    def size(self) -> float:
        """Return the length of the legs, in units of 0.8 m."""
        legs = [
            float(np.linalg.norm(self.places[f"{side}_{a}"] - self.places[f"{side}_{b}"]))
            for side in SIDES
            if f"{side}_ankle" in self.places
            for a, b in (("hip", "knee"), ("knee", "ankle"))
        ]
        return sum(legs) / (0.5 * len(legs)) / 0.8

    def flat_side(self, solids: list[Solid], ankle: NDArray, down: NDArray) -> NDArray:
        """Return the direction, in the foot's frame, that is down when the foot is flat: its facet below the ankle."""
        from scipy.spatial import ConvexHull, QhullError

        for _ in range(4):
            points = np.concatenate([bottom_points(solid, self.links, down)[1] for solid in solids])
            try:
                planes = ConvexHull(np.concatenate([points, [ankle - 0.05 * self.size * down]])).equations
            except (QhullError, ValueError):
                return down
            near = planes[planes[:, :3] @ down > MOST_SLOPE]
            if not len(near):
                return down
            # where the line from the ankle downwards leaves the foot
            way = -(near[:, :3] @ ankle + near[:, 3]) / (near[:, :3] @ down)
            chosen = near[int(np.argmin(np.where(way > 0.0, way, np.inf)))]
            down = chosen[:3] / np.linalg.norm(chosen[:3])
        return down

    def guessed_sole(self, side: str, link: int, foot: int) -> NDArray:
        """Return the corners of the sole of a foot without solids: at a mark below it, or in human proportions."""
        ankle, unit = self.places[f"{side}_ankle"], 0.25 * 0.8 * self.size
        marks = [
            self.links.rest_point(*self.links.attached(mark.body, mark.place))
            for mark in self.mechanism.marks
            if mark.body == foot
        ]
        depth = max((float((ankle - mark) @ self.up) for mark in marks), default=0.0)
        if depth < 0.1 * unit:
            depth = FOOT_SHARES[2] * unit
        self.notes.append(
            f"the {side} foot has no collision solids: its sole is guessed, {1000 * depth:.0f} mm below the ankle"
        )
        base = ankle - depth * self.up
        corners = [
            base + reach * unit * self.forward + wide * FOOT_SHARES[3] * unit * self.left
            for reach in FOOT_SHARES[:2]
            for wide in (-1, 1)
        ]
        return np.array([self.links.local(link, corner) for corner in corners])

    def arm(self, side: str, elbow: int) -> None:
        """Find shoulder, elbow and wrist."""
        way = [body for body in self.chain(elbow) if body not in self.chain(self.chest)]
        while self.twists(elbow, self.at[way[0]]):
            below = [body for body, parent in enumerate(self.mechanism.parents) if parent == elbow]
            if len(below) != 1 or not self.hinges(below):
                break
            elbow = below[0]
            way.append(elbow)
        shoulder = self.hinges(way[:-1])
        if not shoulder:
            self.missing.append(f"{side}_shoulder")
            return
        bends = self.hinges([elbow])
        hand = self.roles.get(f"{side}_hand")
        hand = None if hand is not None and hand in self.chain(elbow) else hand
        after = [] if hand is None else [body for body in self.chain(hand) if body not in self.chain(elbow)]
        last = elbow if hand is None else hand
        while True:
            below = [body for body, parent in enumerate(self.mechanism.parents) if parent == last]
            if len(below) != 1 or "finger" in self.mechanism.bodies[below[0]].lower():
                break
            last = below[0]
            after.append(last)
        wrists = self.hinges(after)
        upper_link, lower_link = int(self.links.body_links[way[-2]]), int(self.links.body_links[elbow])
        self.put(f"{side}_shoulder", upper_link, self.meet(shoulder, self.at[way[0]]))
        upper = float(np.linalg.norm(self.at[elbow] - self.places[f"{side}_shoulder"]))
        otherwise = self.at[last] if hand is None or hand == last else self.at[hand]
        bent = [
            hinge for hinge in wrists if np.linalg.norm(self.links.rest[0][hinge + 1] - self.at[elbow]) > 0.3 * upper
        ]
        wrist = self.meet(tuple(bent), otherwise)
        self.put(f"{side}_elbow", lower_link, self.at[elbow])
        if np.linalg.norm(wrist - self.at[elbow]) < 0.3 * upper:
            wrist = self.end_of_arm([elbow, *after], self.at[elbow], self.places[f"{side}_shoulder"], upper)
        self.put(
            f"{side}_elbow", lower_link, self.on_axis(bends, self.places[f"{side}_shoulder"], wrist, self.at[elbow])
        )
        if bent:
            on = int(self.links.body_links[last])
            self.hands[side] = on
        else:
            on = int(self.links.body_links[([elbow, *after])[-1]])
            self.missing.append(f"{side}_wrist")
        self.put(f"{side}_wrist", on, wrist)
        self.groups |= {f"{side}_shoulder": shoulder, f"{side}_elbow": bends, f"{side}_wrist": wrists}

    def twists(self, elbow: int, shoulder: NDArray) -> bool:
        """Return whether the hinge of a body turns about the line from the shoulder: the upper arm, not the elbow."""
        hinges = self.hinges([elbow])
        way = self.at[elbow] - shoulder
        length = float(np.linalg.norm(way))
        if not hinges or length < 1e-6:
            return False
        axis = self.links.rest[1][hinges[0] + 1] @ self.links.axes[hinges[0] + 1]
        return len(hinges) == 1 and abs(float(axis @ way)) > 0.9 * length

    def end_of_arm(self, bodies: list[int], elbow: NDArray, shoulder: NDArray, upper: float) -> NDArray:
        """Return where a forearm without a wrist ends: twice as far as its centre of mass."""
        masses = self.mechanism.masses[bodies]
        centers = [
            self.links.rest_point(*self.links.attached(body, self.mechanism.mass_centers[body])) for body in bodies
        ]
        way = np.average(centers, axis=0, weights=np.maximum(masses, 1e-9)) - elbow
        length = float(np.linalg.norm(way))
        if length < 0.05 * upper:
            way, length = elbow - shoulder, float(np.linalg.norm(elbow - shoulder))
        return elbow + way * min(max(2.0, 0.6 * upper / length), 1.1 * upper / length)

    def neck(self) -> int | None:
        """Find the head, where it turns against the chest."""
        head = self.roles.get("head")
        above = [] if head is None else [body for body in self.chain(head) if body not in self.chain(self.chest)]
        hinges = self.hinges(above)
        if not hinges or head is None:
            self.missing.append("neck")
            return None
        self.groups["neck"] = hinges
        self.put("neck", int(self.links.body_links[head]), self.meet(hinges, self.at[head]))
        return int(self.links.body_links[head])

    def proxy(self) -> Character:
        """Return the robot as a character with balls for joints."""
        names, parents, places = ["pelvis"], [-1], [self.places["pelvis"]]
        roles: dict[str, int] = {"hips": 0}

        def add(name: str, role: str, parent: int, place: NDArray) -> int:
            names.append(name)
            parents.append(parent)
            places.append(place)
            roles[role] = len(names) - 1
            return len(names) - 1

        torso = 0
        if self.groups["waist"]:
            torso = add("torso", "spine", 0, self.meet(self.groups["waist"], self.at[max(self.chest, self.pelvis)]))
        ends: list[tuple[int, NDArray]] = []
        if "neck" in self.places:
            head = add("head", "head", torso, self.places["neck"])
            ends.append((head, self.upright.T @ np.array([0.0, 0.15, 0.0])))
        for side in SIDES:
            if f"{side}_shoulder" in self.places:
                upper = add(f"{side}_shoulder", f"{side}_upper_arm", torso, self.places[f"{side}_shoulder"])
                lower = add(f"{side}_elbow", f"{side}_lower_arm", upper, self.places[f"{side}_elbow"])
                hand = add(f"{side}_wrist", f"{side}_hand", lower, self.places[f"{side}_wrist"])
                fore = self.places[f"{side}_wrist"] - self.places[f"{side}_elbow"]
                ends.append((hand, 0.5 * fore))
            upper = add(f"{side}_hip", f"{side}_upper_leg", 0, self.places[f"{side}_hip"])
            lower = add(f"{side}_knee", f"{side}_lower_leg", upper, self.places[f"{side}_knee"])
            foot = add(f"{side}_ankle", f"{side}_foot", lower, self.places[f"{side}_ankle"])
            sole = self.soles[side]
            ends.append((foot, self.links.rest_point(sole.link, sole.toe) - self.places[f"{side}_ankle"]))
        world = np.array(places) @ self.upright.T
        offsets = world - np.array([world[parent] if parent >= 0 else np.zeros(3) for parent in parents])
        skeleton = Skeleton(
            tuple(names), np.array(parents), offsets, end_parents=np.array([joint for joint, _ in ends]),
            end_offsets=np.array([self.upright @ offset for _, offset in ends]),
        )  # fmt: skip
        found = Roles(
            {role: (joint,) for role, joint in roles.items()}, dict.fromkeys(roles, 1.0),
            dict.fromkeys(roles, "a joint of the robot's proxy"),
        )  # fmt: skip
        character = make_character(skeleton, found, name=self.mechanism.name or "robot")
        contacts = {name: point for name, point in character.contacts.items() if name.endswith("_palm")}
        for side in SIDES:
            joint, sole = roles[f"{side}_foot"], self.soles[side]
            for label, point in (("heel", sole.heel), ("ball", sole.toe), ("toe", sole.toe)):
                offset = self.upright @ (self.links.rest_point(sole.link, point) - self.places[f"{side}_ankle"])
                contacts[f"{side}_{label}"] = Point(joint, tuple(offset.tolist()))
        return replace(character, contacts=contacts)
