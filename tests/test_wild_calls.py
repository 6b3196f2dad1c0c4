"""Every public entry, called wildly: the answer is finite, or an error of ours; nothing crashes, nothing is garbage.

FOOTPLANT_WILD=50 makes fifty times as many calls as usual, for a long run.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import footplant
from footplant import (
    Character,
    Clip,
    FootplantError,
    Kinematics,
    Markers,
    Motion,
    Point,
    Roles,
    Skeleton,
    Skin,
    curves,
    geometry,
    grounds,
    humanoid,
    normalized,
    rotation,
    samples,
    skinning,
    spline,
)
from footplant import constraints as c
from footplant.blending import (
    blend,
    compose,
    distance,
    graph,
    graph_walk,
    loops,
    matching,
    registration,
    transition,
    warp,
)  # fmt: skip
from footplant.constraints.doorways import Doorway
from footplant.contacts import detection, ground, hanging, importance, stillness
from footplant.contacts.settings import StillnessSettings
from footplant.edits import (
    compare,
    drag,
    everyday,
    fit,
    jump,
    merge,
    morph,
    morphology_independent,
    path,
    puppet,
    repair,
    spacetime_drag,
)
from footplant.edits import retarget as retargeting
from footplant.edits import terrain as terrains
from footplant.edits import together as togethers
from footplant.feet import detached, foot_curves, kept_plants, lead_in, palms, planting, soles, stances, steps, travel
from footplant.humanoid import body_shell
from footplant.humanoid.proportions import Proportions, apply_proportions
from footplant.live.controller import build_controller
from footplant.live.kalman import SensorFilter
from footplant.live.motion_set import load_set
from footplant.live.puppeteer import PerformerFrame, Puppeteer
from footplant.motion import concatenate, ground_transform, rest_motion
from footplant.optical.solve import solve_markers
from footplant.plot import player
from footplant.problem import Problem, Solution, evaluate_constraints, worst_error
from footplant.quality import deviation, fidelity, measure, pair, penetration, smoothness, still_joints
from footplant.skeleton import Limits, MovingPoint
from footplant.solve import arms, legs
from footplant.solve.ik import limb
from footplant.solve.ik.groupccd import GroupCcd
from footplant.solve.ik.hybrid import Hybrid
from footplant.solve.ik.numeric import Numeric
from footplant.solve.methods import NAMES, method_of
from footplant.transfer import transfer
from thorough import thorough

ROOT = Path(__file__).resolve().parents[1]
TIMES = int(os.environ.get("FOOTPLANT_WILD", "1"))
"""How many times as many calls as usual."""
SEEN: Counter[str] = Counter()
"""How calls ended: "answer" or the name of the error."""

# wild values

WHOLE = (-1, 0, 1, 2, 5, 21, 22, 200, 2**31, 2**63, -(2**40), 10**30, np.int64(3), True, 1.5, np.nan, "3", None)
REAL = (0.0, -1.0, 1.0, 0.5, 30.0, np.nan, np.inf, -np.inf, 1e-300, 1e9, np.float32(0.1), "x", None)


@st.composite
def arrays(draw, good) -> Any:
    """An array like a good one, but for its shape, its numbers or its type."""
    good = np.asarray(good)
    ways = ["good", "empty", "flat", "deeper", "shorter", "longer", "narrower", "nan", "inf", "big", "negative",
            "words", "ragged", "complex", "float32", "whole", "strided", "fortran", "none", "list"]  # fmt: skip
    way = draw(st.sampled_from(ways))
    changed = np.array(good, float) if good.dtype.kind == "f" else np.array(good)
    if way in ("nan", "inf", "big", "negative") and changed.size:
        place = draw(st.integers(0, changed.size - 1))
        if changed.dtype.kind == "f":
            changed.flat[place] = {"nan": np.nan, "inf": np.inf, "big": 1e8, "negative": -3.0}[way]
        else:
            changed.flat[place] = {"nan": -1, "inf": 2**40, "big": 10_000_000, "negative": -(2**40)}[way]
        return changed
    match way:
        case "empty":
            return changed[:0]
        case "flat":
            return changed.ravel()
        case "deeper":
            return changed[None]
        case "shorter":
            return changed[:-1]
        case "longer":
            return np.concatenate([changed, changed[-1:]]) if changed.ndim else changed
        case "narrower":
            return changed[..., :-1] if changed.ndim else changed
        case "words":
            return "wild"
        case "ragged":
            return [[1.0], [1.0, 2.0]]
        case "complex":
            return changed.astype(complex)
        case "float32":
            return changed.astype(np.float32)
        case "whole":
            return np.nan_to_num(changed).astype(np.int32)
        case "strided":
            return np.repeat(changed, 2, axis=0)[::2] if changed.ndim else changed
        case "fortran":
            return np.asfortranarray(changed)
        case "none":
            return None
        case "list":
            return changed.tolist()
    return good


def real(good: float, *others: Any):
    return st.one_of(st.just(good), st.sampled_from((*REAL, *others)))


def whole(good: int, *others: Any):
    return st.one_of(st.just(good), st.sampled_from((*WHOLE, *others)))


def word(*good: str):
    return st.sampled_from((*good, "wild", ""))


# figures and clips that are odd but allowed


@cache
def walk() -> Clip:
    clip = samples.load("walk")
    return replace(clip, motion=clip.motion[:48])


@cache
def figure(kind: str) -> Character:
    """Characters: whole ones, and ones that lack something."""
    whole_one = walk().character
    match kind:
        case "sally":
            return samples.load_character("sally") if hasattr(samples, "load_character") else whole_one
        case "no roles":
            return Character(whole_one.skeleton)
        case "no contacts":
            return replace(whole_one, contacts={}, masses=None, mass_centers=None, limits=None, skin=None)
        case "no height":
            return replace(whole_one, height=0.0)
        case "one joint":
            return Character(Skeleton(("root",), [-1], np.zeros((1, 3))))
        case "no bones":
            return Character(replace(whole_one.skeleton, offsets=np.zeros((len(whole_one.skeleton), 3))))
        case "no shin" | "no thigh" | "no arm" | "tiny":
            offsets = np.array(whole_one.skeleton.offsets)
            roles = whole_one.require_roles()
            joint = {"no shin": "left_foot", "no thigh": "left_lower_leg", "no arm": "right_hand"}.get(kind)
            if joint is None:
                offsets *= 1e-6
            else:
                offsets[roles[joint]] = 0.0
            skeleton = replace(whole_one.skeleton, offsets=offsets)
            return humanoid.make_character(skeleton, roles, name=kind)
        case "lost joints":
            roles = whole_one.require_roles()
            lost = ("left_foot", "right_lower_leg", "left_hand", "head", "neck", "right_toes", "hips")
            kept = {role: joints for role, joints in roles.joints.items() if role not in lost}
            return replace(whole_one, roles=replace(roles, joints=kept))
        case "no faces" | "flat skin" | "one sheet" | "loose skin":
            skin = whole_one.skin
            assert skin is not None
            changes = {
                "no faces": {"faces": np.zeros((0, 3), int)},
                "flat skin": {"vertices": np.zeros_like(skin.vertices)},
                "one sheet": {"faces": skin.faces[::7]},
                "loose skin": {"weights": np.zeros_like(skin.weights), "inverse_bind": 0.0 * skin.inverse_bind},
            }
            return replace(whole_one, skin=replace(skin, normals=None, **changes[kind]))
    return whole_one


FIGURES = ("whole", "sally", "no roles", "no contacts", "no height", "one joint", "no bones", "no shin", "no thigh",
           "no arm", "tiny", "lost joints", "no faces", "flat skin", "one sheet", "loose skin")  # fmt: skip
MOTIONS = ("good", "no frames", "one frame", "two frames", "slow", "fast", "still", "moving bones", "jumpy", "far")


@cache
def moved(kind: str, of: str) -> Motion:
    """Motions of a figure."""
    motion, character = walk().motion, figure(of)
    if len(character.skeleton) != len(motion.skeleton):
        motion = rest_motion(character.skeleton, 48, 30.0)
    motion = replace(motion, skeleton=character.skeleton)
    match kind:
        case "no frames":
            return motion[:0]
        case "one frame":
            return motion[:1]
        case "two frames":
            return motion[:2]
        case "slow":
            return replace(motion, fps=1.0)
        case "fast":
            return replace(motion, fps=1e4)
        case "still":
            return motion[np.zeros(48, int)]
        case "moving bones":
            return replace(motion, offsets=np.tile(motion.skeleton.offsets, (len(motion), 1, 1)))
        case "jumpy":
            return replace(motion, root=motion.root + np.arange(48)[:, None] % 2 * 3.0)
        case "far":
            return replace(motion, root=motion.root + [1e6, 1e5, -1e6])
    return motion


characters = st.sampled_from(FIGURES).map(figure)
motions = st.builds(moved, st.sampled_from(MOTIONS), st.sampled_from(FIGURES))


@cache
def _clip(kind: str, of: str) -> Clip:
    return Clip(moved(kind, of), figure(of), name=f"{kind} {of}")


@cache
def clip(kind: str, of: str, with_: str) -> Clip:
    """A clip; now and then the motion is on another figure than it says."""
    return _clip(kind, of) if with_ != "other" else replace(_clip(kind, of), character=figure("one joint"))


clips = st.builds(
    clip,
    st.one_of(st.just("good"), st.sampled_from(MOTIONS)),
    st.one_of(st.just("whole"), st.just("whole"), st.just("whole"), st.sampled_from(FIGURES)),
    st.sampled_from((*7 * ("own",), "other")),
)
solids = st.sampled_from(
    (geometry.Plane(), geometry.Ball((0, 1, 0), 0.0), geometry.Capsule((0, 0, 0), (0, 0, 0), 0.2),
     geometry.Box((0, 1, 0), (0, 0, 0)), geometry.HeightField(np.zeros((2, 2)), 1.0))
)  # fmt: skip
floors = st.sampled_from(
    (geometry.Plane(), geometry.Plane((0, 3, 0), (0.4, 1, 0)), geometry.HeightField(np.eye(3), 0.5),
     grounds.Stairs(0.2, 0.3))
)  # fmt: skip


@st.composite
def points(draw) -> Point:
    joint = draw(st.sampled_from((0, 3, 7, 12, 16, 21, 21, 22, 10_000_000)))
    offset = draw(st.sampled_from(((0.0, 0.0, 0.0), (0.0, 0.1, 0.0), (1e6, 0.0, 0.0))))
    return draw(st.sampled_from((Point(joint, offset), MovingPoint(joint, offset, np.zeros((12, 3))))))


@st.composite
def made_constraints(draw) -> c.Constraint:
    """A constraint of any kind, odd in places; building it may already fail with an error of ours."""
    kind = draw(st.sampled_from(c.KINDS))
    common: dict[str, Any] = {
        "frames": draw(st.sampled_from((None, range(3, 9), range(0), (1,), (47,), (48,), (10**9,), range(5, 100)))),
        "ramp": draw(st.sampled_from(((0.0, 0.0), (0.1, 0.2), (1e9, 0.0)))),
        "hard": draw(st.booleans()),
        "weight": draw(st.sampled_from((1.0, 0.0, 1e9))),
        "priority": draw(st.integers(-2, 2)),
        "chain": draw(st.sampled_from((None, None, None, (0, 1, 2), (), (200,)))),
    }
    own, point, other = draw(characters), draw(points()), draw(points())
    joint = draw(st.sampled_from((0, 3, 21, 22, 10_000_000)))
    target = draw(
        st.sampled_from(
            (np.zeros(3), np.ones((12, 3)), np.full(3, 1e6), c.Follow(other),
             c.Follow(Point(0), moved("good", "whole")), c.Follow(Point(0), moved("two frames", "whole")))
        )
    )  # fmt: skip
    axis = draw(st.sampled_from(((1.0, 0.0, 0.0), (0.0, 1e-9, 0.0))))
    match kind:
        case "position":
            return c.Position(point=point, target=target, axes=draw(st.sampled_from(((1, 1, 1), (0, 1, 0)))), **common)
        case "orientation":
            return c.Orientation(joint=joint, target=draw(arrays([1.0, 0, 0, 0])), **common)
        case "distance" | "at_least" | "at_most":
            made = {"distance": c.Distance, "at_least": c.AtLeast, "at_most": c.AtMost}[kind]
            return made(point=point, other=other, value=draw(arrays([0.3, 0.2])), **common)
        case "area":
            return c.Area(point=point, region=draw(solids), inside=draw(st.booleans()), **common)
        case "above":
            return c.Above(point=point, ground=draw(floors), clearance=draw(real(0.0)), **common)
        case "look_at":
            return c.LookAt(point=point, direction=axis, target=target, **common)
        case "center_of_mass":
            return c.CenterOfMass(character=own, target=target, **common)
        case "balance":
            return c.Balance(character=own, support=draw(st.sampled_from(((), (point,), (point, other)))), **common)
        case "apart":
            parts = st.sampled_from(("left_hand", ("left_arm", "trunk"), "tail", ()))
            return c.Apart(character=own, part=draw(parts), other=draw(st.one_of(st.none(), parts)), **common)
        case "touch":
            ends = st.sampled_from(("left_hand", "trunk", "head", "tail", point))
            return c.Touch(character=own, part=draw(ends), other=draw(ends), offset=draw(real(0.0)), **common)
        case "joint_limits":
            return c.JointLimits(character=own, joints=draw(st.sampled_from((None, (joint,), (3, 4)))), **common)
        case "cone_twist":
            return c.ConeTwist(character=own, joint=joint, axis=axis, swing=draw(real(0.5)), **common)
        case "hinge":
            return c.Hinge(character=own, joint=joint, axis=axis, **common)
        case "relation" | "spine_shares" | "shoulder_rhythm":
            return c.Relation(character=own, terms=((joint, np.eye(3)), (3, draw(arrays(np.eye(3))))), **common)
        case "footplant":
            return c.Footplant(point=point, place=draw(st.sampled_from((None, [0, 0, 0], [1e6, 0, 0]))), **common)
        case "same_place":
            return c.SamePlace(point=point, pair=draw(st.sampled_from(((0, 5), (3, 3), (0, 100)))), **common)
        case "speed_limit":
            return c.SpeedLimit(point=point, most=draw(real(1.0)), **common)
    return c.AccelerationLimit(point=point, most=draw(real(1.0)), **common)


def mostly(good: Any, wild: Any):
    """What is right, four times out of five: calls with many arguments get past the first checks."""
    return st.integers(0, 4).flatmap(lambda number: wild if number == 4 else st.just(good))


@st.composite
def made_contacts(draw) -> detection.Contacts:
    """Contacts as a caller may write them down, right or wrong."""
    plants = []
    for start in draw(st.sampled_from(((), (3,), (3, 20)))):
        point = draw(word("left_heel", "left_ball", "right_ball", "left_palm"))
        end = draw(mostly(start + 12, whole(9, 48)))
        plants.append(
            detection.Plant(point, draw(mostly(start, whole(3))), end, draw(mostly([0.1, 0, 0.2], arrays([0.1, 0, 0]))))
        )
    examined = draw(st.sampled_from(((*detection.FEET, *detection.HANDS), ())))
    return detection.Contacts(
        tuple(plants), examined, draw(mostly(48, whole(48))), draw(mostly(30.0, real(30.0))), draw(floors)
    )


@st.composite
def made_footplants(draw) -> list[c.Footplant]:
    """Footplants of soles and palms, odd in places."""
    character = draw(st.one_of(st.just(figure("whole")), characters))
    names = draw(st.lists(word("left_heel", "left_ball", "right_heel", "left_palm"), max_size=3))
    return [
        c.Footplant(
            point=character.contacts.get(name) or draw(points()),
            place=draw(mostly([0.1, 0.0, 0.2], st.one_of(st.none(), arrays([0.1, 0.0, 0.2])))),
            frames=draw(st.sampled_from((range(5, 20), range(30, 48), (1,), range(0), range(40, 100), None))),
        )
        for name in names
    ]


known_contacts = st.one_of(st.none(), made_contacts())
levels = st.one_of(floors, real(0.0))
footplants = made_footplants()


# whether an answer is valid

REPORTS = (
    measure.Quality, measure.PlantQuality, fidelity.Fidelity, penetration.SkinFigures, penetration.Inside,
    pair.MotionPair, deviation.Deviation, body_shell.BodyShell, body_shell.ArmSamples, detection.Contacts,
    detection.Plant, legs.FootCurve, smoothness.Smoothness, travel.Travel,
)  # fmt: skip
"""Answers all of whose numbers are finite."""


def assert_valid(answer: Any) -> None:
    """Numbers in an answer are finite; containers and our own types are looked into."""
    if isinstance(answer, np.ndarray):
        assert answer.dtype.kind != "f" or np.isfinite(answer).all(), answer
    elif isinstance(answer, float):
        assert np.isfinite(answer), answer
    elif isinstance(answer, Motion):
        assert np.isfinite(answer.root).all()
        assert np.isfinite(answer.rotations).all()
        assert rotation.are_unit(answer.rotations, 1e-5)
        assert answer.offsets is None or np.isfinite(answer.offsets).all()
        assert np.isfinite(answer.fps)
        assert answer.fps > 0
        assert len(answer.root) == len(answer.rotations)
    elif isinstance(answer, Kinematics):
        assert_valid((answer.positions, answer.rotations))
    elif isinstance(answer, Solution | Clip | legs.LegSolution | planting.PlantedFeet | arms.ArmsResult):
        assert_valid(answer.motion)
    elif isinstance(answer, REPORTS):
        assert_valid(vars(answer))
    elif isinstance(answer, dict):
        assert_valid(tuple(answer.values()))
    elif isinstance(answer, list | tuple):
        for part in answer:
            assert_valid(part)


def call(function: Callable[[], Any]) -> None:
    """Call; an error of ours is fine and says something in one line."""
    try:
        answer = function()
    except FootplantError as error:
        said = str(error)
        SEEN[type(error).__name__] += 1
    else:
        said = "answer"
        assert_valid(answer)
        SEEN[said] += 1
    assert said
    assert "\n" not in said, said


def _skin(draw) -> Skin:
    count = len(walk().motion.skeleton)
    return Skin(
        vertices=draw(arrays(np.eye(3))),
        faces=draw(arrays(np.array([[0, 1, 2]]))),
        joints=draw(arrays(np.array([[0, 1], [1, 2], [21, 0]]))),
        weights=draw(arrays(np.full((3, 2), 0.5))),
        inverse_bind=draw(arrays(np.tile(np.eye(4), (count, 1, 1)))),
        normals=draw(st.one_of(st.none(), arrays(np.eye(3)))),
    )


def _markers(draw) -> Markers:
    return Markers(
        names=draw(st.sampled_from((("A", "B"), ("A", "A"), (), ("A", "B", "C")))),
        positions=draw(arrays(np.arange(60.0).reshape(10, 2, 3))),
        fps=draw(real(100.0)),
        residuals=draw(st.one_of(st.none(), arrays(np.zeros((10, 2))))),
    )


def _skeleton(draw) -> Skeleton:
    return Skeleton(
        names=draw(st.sampled_from((("a", "b", "c"), ("a", "a", "c"), (), ("a", "b"), (1, None, "x")))),
        parents=draw(arrays(np.array([-1, 0, 1]))),
        offsets=draw(arrays(np.eye(3))),
        rest=draw(st.one_of(st.none(), arrays(rotation.identity(3)))),
        end_parents=draw(st.one_of(st.none(), arrays(np.array([2])))),
        end_offsets=draw(st.one_of(st.none(), arrays(np.zeros((1, 3))))),
    )


def _motion(draw) -> Motion:
    base = moved(draw(st.sampled_from(MOTIONS)), "whole")[:6]
    return Motion(
        base.skeleton,
        draw(arrays(base.root)),
        draw(arrays(base.rotations)),
        draw(real(30.0)),
        draw(st.one_of(st.none(), arrays(np.tile(base.skeleton.offsets, (len(base), 1, 1))))),
    )


def _character(draw) -> Character:
    good = figure("whole")
    return Character(
        good.skeleton,
        roles=Roles(draw(st.sampled_from(({}, {"hips": (0,)}, {"hips": (99,)}, {"hips": ()}))), {}, {}),
        contacts={"left_heel": draw(points())},
        masses=draw(st.one_of(st.none(), arrays(np.full(22, 1 / 22)))),
        mass_centers=draw(st.one_of(st.none(), arrays(np.zeros((22, 3))))),
        limits=draw(st.one_of(st.none(), st.just(good.limits), st.just(Limits(np.zeros((2, 3)), np.zeros((2, 3)))))),
        height=draw(real(1.7)),
    )


def _limb(draw) -> Any:
    motion, character = draw(motions), draw(characters)
    found = limb.limb_of(character, draw(word("left_arm", "right_leg")))
    frames = len(motion)
    return limb.place(
        motion, found, draw(arrays(np.zeros((frames, 3)))), swivel=draw(real(0.0)), softness=draw(real(0.0)),
        pole=draw(st.one_of(st.none(), arrays(np.zeros((frames, 3))))),
    ).motion  # fmt: skip


@cache
def _registered() -> registration.Registration:
    return registration.register([walk(), replace(walk(), motion=walk().motion[4:40])])


@cache
def _normalized() -> normalized.Normalized:
    return normalized.normalize(walk().motion, walk().character)


@cache
def _iks() -> tuple:
    return Hybrid(figure("whole")), GroupCcd(figure("whole")), Numeric()


def _solve_ik(draw) -> Any:
    ik = draw(st.sampled_from(_iks()))
    motion = draw(motions)
    asked = draw(st.lists(made_constraints(), max_size=2))
    for constraint in asked:
        if ik.refuses(constraint):
            return None
    frames = draw(st.one_of(st.none(), arrays(np.arange(len(motion)))))
    return ik.solve(motion, tuple(asked), frames=frames).motion


def _solve_pose(draw) -> Any:
    hybrid, first = _iks()[0], walk().motion[:1]
    count = len(hybrid.limbs)
    places, turns = np.zeros((count, 3)), rotation.identity(count)
    return hybrid.solve_pose(
        draw(arrays(first.root[0])), draw(arrays(first.rotations[0])), draw(arrays(places)), draw(arrays(turns)),
        draw(st.one_of(st.none(), arrays(np.ones(count)))),
    )[:3]  # fmt: skip


def _problem(draw) -> Any:
    clip_ = draw(clips)
    asked = tuple(draw(st.lists(made_constraints(), max_size=2)))
    return Problem(clip_.motion, clip_.character, asked, tolerance=draw(real(0.001)))


def _method(draw) -> Any:
    return method_of(draw(word(*NAMES))).solve(_problem(draw))


def _on(draw) -> Any:
    problem = _problem(draw).on(draw(motions))
    return worst_error(Kinematics(problem.motion), problem.constraints), bool(
        evaluate_constraints(problem, Kinematics(problem.motion))
    )


def _residual(draw) -> Any:
    constraint, kinematics = draw(made_constraints()), Kinematics(draw(motions))
    return constraint.residual(kinematics), constraint.jacobian(kinematics)


def _drag(draw) -> Any:
    begun = drag.begin(draw(clips), tuple(draw(st.lists(made_constraints(), max_size=1))))
    begun = begun.drag(
        draw(whole(10)), draw(st.one_of(points(), word("left_palm"))), draw(arrays([0.2, 1.0, 0.3])), draw(real(8.0))
    )
    begun = begun.turn(draw(whole(10)), draw(whole(3)), draw(arrays([1.0, 0, 0, 0])), draw(real(8.0)))
    return begun.motion


@cache
def _puppeteer() -> Puppeteer:
    return Puppeteer(figure("whole"), figure("sally"))


def _puppet_step(draw) -> Any:
    puppeteer, motion = _puppeteer(), walk().motion
    frame = PerformerFrame(draw(arrays(motion.root[0])), draw(arrays(motion.rotations[0])), draw(real(1 / 60)))
    _, pose = puppeteer.step(puppeteer.init(), frame)
    return pose.root, pose.rotations


def _filter(draw) -> Any:
    filter_ = SensorFilter(draw(arrays(np.full((2, 2), 0.01))), draw(arrays(np.ones((2, 2)))), draw(real(0.02)))
    state = filter_.init()
    answer = filter_.step(
        state,
        draw(arrays(np.zeros((2, 3)))),
        draw(arrays(rotation.identity(2))),
        draw(arrays(np.ones(2, bool))),
        draw(real(1 / 60)),
    )
    return answer[1:]


@cache
def _controller():
    spec = load_set("set:samples")
    files = {gait.clip for table in (spec.gaits, spec.idles, spec.actions) for gait in table.values()}
    files |= {side for gait in spec.gaits.values() for side in (gait.left, gait.right) if side}
    return build_controller(spec, {file: footplant.load(file) for file in files})


def _control(draw) -> Any:
    controller = _controller()
    state = controller.init(place=draw(st.sampled_from(((0.0, 0.0), (np.nan, 0.0), (1.0,)))), facing=draw(real(0.0)))
    controller.request(state, draw(word(*controller.names)), draw(word("straight", "left")))
    _, pose = controller.step(state, draw(real(1 / 60)))
    return pose.root, pose.rotations


def _contacts(draw) -> Any:
    found = draw(made_contacts())
    found = draw(
        st.sampled_from(
            (
                lambda: found,
                lambda: found.since(draw(whole(3))),
                lambda: found.after(draw(whole(3))),
                lambda: found.resample(draw(real(24.0)), draw(whole(40))),
            )
        )
    )()
    return found, found.masks(), found.at(3), found.intervals(draw(word("left_heel"))), found.to_dict()


def _knee_flexions(draw) -> Any:
    limbs = legs.legs_of(draw(characters))
    return limbs and legs.knee_flexions(Kinematics(draw(motions)), limbs[0])


def _foot_curve(draw) -> Any:
    return foot_curves.foot_curve(
        Kinematics(draw(motions)), draw(characters), draw(word("left", "right")), draw(footplants), draw(floors),
        draw(st.one_of(st.none(), st.fixed_dictionaries({"left_heel": arrays(np.zeros(48))}))),
    )  # fmt: skip


@cache
def _foot_curves(of: str) -> tuple[legs.FootCurve, legs.FootCurve]:
    kinematics, character = Kinematics(moved("good", of)), figure(of)
    left, right = (foot_curves.foot_curve(kinematics, character, side, (), geometry.Plane()) for side in legs.SIDES)
    return left, right


def _solve_legs(draw) -> Any:
    left, right = _foot_curves("whole")
    changed = replace(
        left,
        rotations=draw(mostly(left.rotations, arrays(left.rotations))),
        planted=draw(mostly(np.arange(48) < 9, arrays(left.planted))),
        places=draw(mostly(left.places + 0.01, arrays(left.places))),
    )
    hand = legs.HeldHand(
        draw(mostly(np.ones(48, bool), arrays(np.ones(48, bool)))),
        draw(mostly(np.ones((48, 3)), arrays(np.ones((48, 3))))),
    )
    clip_ = draw(clips)
    return legs.solve_legs(
        Kinematics(clip_.motion),
        draw(mostly(clip_.character, characters)),
        draw(mostly((changed, right), st.sampled_from(((left, right), (left,), ())))),
        draw(st.sampled_from((None, {"left": hand}, {"wild": hand}))),
        steps=draw(mostly(None, whole(2))),
    )


def _solve_arms(draw) -> Any:
    clip_ = draw(clips)
    source = draw(st.one_of(st.just(clip_), clips))
    return arms.solve_arms(
        clip_.motion,
        draw(mostly(clip_.character, characters)),
        Kinematics(source.motion),
        draw(mostly(source.character, characters)),
        palms=draw(footplants),
        ground=draw(st.one_of(st.none(), floors)),
        frames=draw(mostly(None, st.sampled_from((range(3, 30), range(-5, 9), range(40, 90), range(0, 48, 7), "x")))),
    )


def _plant_feet(draw) -> Any:
    clip_ = draw(clips)
    return planting.plant_feet(
        clip_.motion,
        draw(mostly(clip_.character, characters)),
        draw(footplants),
        draw(floors),
        palms=draw(footplants),
        allowed=draw(mostly(None, st.fixed_dictionaries({"left_heel": arrays(np.zeros(48))}))),
        frames=draw(mostly(None, st.sampled_from((range(3, 30), range(-5, 9), range(40, 90))))),
    )


def _lead_in(draw) -> Any:
    lead, rest = lead_in.split_lead_in(draw(clips))
    other = draw(st.one_of(st.just(rest), clips))
    joined = lead_in.join_lead_in(draw(st.one_of(st.just(lead), motions)), other.motion, rest.character, draw(floors))
    return lead, rest, joined, lead_in.stand_lead_in(joined, joined, rest.character, geometry.Plane(), draw(whole(0)))


def _pair(draw) -> Any:
    source = draw(clips)
    result = draw(st.one_of(st.just(source), clips))
    return (
        (source.motion, draw(mostly(source.character, characters))),
        (result.motion, draw(mostly(result.character, characters))),
    )


def _motion_pair(draw) -> Any:
    found = pair.motion_pair(*_pair(draw), lead_in=draw(st.one_of(st.none(), whole(0))))
    return found and (found.fps, found.still, found.stances, found.frames)


def _measure_skin(draw) -> Any:
    source, result = _pair(draw)
    found = pair.motion_pair(source, result)
    if found is None:
        return None
    motion, character = draw(st.one_of(st.just(result), clips.map(lambda each: (each.motion, each.character))))
    return penetration.measure_skin(found, motion, character, draw(st.one_of(st.none(), floors)))


Draw = Callable[[Any], Any]
CHEAP: dict[str, Draw] = {
    "Skeleton": _skeleton,
    "Motion": _motion,
    "Character": _character,
    "Skin": _skin,
    "Markers": _markers,
    "Point": lambda d: Point(d(whole(1)), d(arrays([0.0, 1, 0]))),
    "MovingPoint.at": lambda d: MovingPoint(d(whole(1)), offsets=d(arrays(np.zeros((5, 3))))).at(
        np.array([d(st.integers(-3, 9))])
    ),
    "Kinematics": lambda d: Kinematics(d(motions), d(st.one_of(st.none(), arrays(np.arange(48))))),
    "Kinematics.points": lambda d: Kinematics(d(motions)).points(d(st.lists(points(), max_size=3))),
    "Kinematics.at": lambda d: Kinematics(d(motions)).at(
        d(arrays(np.arange(3))), d(arrays(np.arange(3))), d(arrays(np.zeros((3, 3))))
    ),
    "Kinematics[rows]": lambda d: Kinematics(d(motions))[d(arrays(np.array([1, 2, 3])))],
    "Kinematics.position_jacobian": lambda d: Kinematics(d(motions)).position_jacobian(d(points())),
    "Kinematics.rotation_jacobian": lambda d: Kinematics(d(motions)).rotation_jacobian(d(whole(3))),
    "Kinematics.center_of_mass": lambda d: Kinematics(d(motions)).center_of_mass(d(characters)),
    "Kinematics.center_of_mass_jacobian": lambda d: Kinematics(d(motions)).center_of_mass_jacobian(d(characters)),
    "Kinematics.ends": lambda d: Kinematics(d(motions)).ends,
    "Motion[frames]": lambda d: d(motions)[
        d(
            st.one_of(
                whole(3),
                arrays(np.array([0, 1])),
                st.builds(
                    slice,
                    st.sampled_from((None, -3, 0, 2, 100, 1.5)),
                    st.sampled_from((None, 1, 40, "x")),
                    st.sampled_from((None, 1, -2, 0)),
                ),
            )
        )
    ],
    "Motion + d": lambda d: d(motions) + d(arrays(np.zeros((48, 23, 3)))),
    "Motion - m": lambda d: d(motions) - d(motions),
    "Motion.at": lambda d: d(motions).at(d(arrays([0.0, 0.1])), smooth=d(st.booleans())),
    "Motion.resample": lambda d: d(motions).resample(d(real(24.0)), smooth=d(st.booleans())),
    "Motion.transformed": lambda d: d(motions).transformed(d(arrays([1.0, 0, 0, 0])), d(arrays([0.0, 1, 0]))),
    "Motion.scaled": lambda d: d(motions).scaled(d(real(2.0))),
    "Motion.with_straight_wrists": lambda d: d(motions).with_straight_wrists(
        figure(d(st.sampled_from(("whole", "sally")))).require_roles()
    ),
    "Motion.with_unflipped_legs": lambda d: d(motions).with_unflipped_legs(
        figure(d(st.sampled_from(("whole", "sally")))).require_roles()
    ),
    "Motion.mirrored": lambda d: d(motions).mirrored(figure(d(st.sampled_from(("whole", "sally")))).require_roles()),
    "Motion.looped": lambda d: d(motions).looped(d(whole(2))),
    "ground_transform": lambda d: ground_transform(d(motions), d(whole(1)), d(motions), d(whole(1))),
    "concatenate": lambda d: concatenate(d(st.lists(motions, max_size=3))),
    "rest_motion": lambda d: rest_motion(d(characters).skeleton, d(whole(3)), d(real(30.0))),
    "Skeleton.chain": lambda d: d(characters).skeleton.chain(d(whole(3)), d(whole(0))),
    "Skeleton.descendants": lambda d: d(characters).skeleton.descendants(d(whole(3))),
    "Skeleton.index": lambda d: d(characters).skeleton.index(d(word("Hips"))),
    "Skeleton.posed": lambda d: d(characters).skeleton.posed(d(arrays(rotation.identity(22)))),
    "Skeleton.scaled": lambda d: d(characters).skeleton.scaled(d(real(2.0))).offsets,
    "Skeleton.turned": lambda d: d(characters).skeleton.turned(d(arrays([1.0, 0, 0, 0]))).rest,
    "Markers.use": lambda d: (lambda m: (m.resample(d(real(50.0))).fps, m.scaled(2.0).fps, len(m[d(whole(0))])))(
        _markers(d)
    ),
    "Spline": lambda d: spline.Spline(d(arrays(np.eye(5))), d(real(0.5)), d(real(0.0)))(d(arrays([0.1, 0.9]))),
    "fit_spline": lambda d: (
        spline.fit_spline(
            d(arrays([0.0, 0.5, 1.0])), d(arrays(np.eye(3))), d(real(0.25)), d(real(0.0)), d(real(1.0))
        ).control
    ),
    "fit_multilevel": lambda d: len(
        spline.fit_multilevel(d(arrays([0.0, 0.5])), d(arrays(np.eye(2))), d(real(0.25)), d(whole(2)), 0.0, 1.0)
    ),
    "binomial_kernel": lambda d: spline.binomial_kernel(d(whole(5))),
    "filter_fir": lambda d: spline.filter_fir(
        d(arrays(np.eye(4))), d(arrays([0.25, 0.5, 0.25])), ends=d(word("hold", "zero", "reflect"))
    ),
    "smooth_envelope": lambda d: spline.smooth_envelope(d(arrays(np.ones(8))), d(whole(2))),
    "smooth_above": lambda d: spline.smooth_above(d(arrays(np.ones(8))), d(arrays(np.zeros(8, bool))), d(whole(2))),
    "Plane": lambda d: (lambda p, x: (p.distance(x), p.closest(x)))(
        geometry.Plane(d(arrays([0.0, 0, 0])), d(arrays([0.0, 1, 0]))), d(arrays(np.eye(3)))
    ),
    "Plane.height": lambda d: geometry.Plane(up=d(arrays([0.0, 1, 0]))).height(d(arrays(np.eye(2)))),
    "HeightField": lambda d: (lambda h, x: (h.height(x), h.normal(x)))(
        geometry.HeightField(
            d(arrays(np.eye(4))), d(real(0.5)), d(arrays([0.0, 0])), d(word("linear", "cubic", "bspline"))
        ),
        d(arrays(np.eye(2))),
    ),
    "HeightField.closest": lambda d: geometry.HeightField(np.eye(4), 0.5).closest(d(arrays(np.eye(3)))),
    "Ball": lambda d: (lambda p, x: (p.distance(x), p.closest(x)))(
        geometry.Ball(d(arrays([0.0, 0, 0])), d(real(0.5))), d(arrays(np.eye(3)))
    ),
    "Capsule": lambda d: (lambda p, x: (p.distance(x), p.closest(x)))(
        geometry.Capsule(d(arrays([0.0, 0, 0])), d(arrays([0.0, 1, 0])), d(real(0.5))), d(arrays(np.eye(3)))
    ),
    "Box": lambda d: (lambda p, x: (p.distance(x), p.closest(x)))(
        geometry.Box(d(arrays([0.0, 0, 0])), d(arrays([1.0, 1, 1])), d(arrays([1.0, 0, 0, 0]))), d(arrays(np.eye(3)))
    ),
    "direction": lambda d: grounds.direction(d(arrays([0.0, 1]))),
    "Stairs": lambda d: grounds.Stairs(
        d(real(0.2)), d(real(0.3)), d(whole(3)), d(arrays([0.0, 0])), d(real(0.0)), d(real(0.0))
    ).height(d(arrays(np.eye(2)))),
    "slope": lambda d: grounds.slope(d(real(10.0)), d(real(0.0)), d(arrays([0.0, 0, 0]))).distance(np.zeros(3)),
    "rough": lambda d: (
        grounds.rough(d(whole(1)), d(real(0.2)), d(real(0.8)), d(arrays([0.0, 0])), d(arrays([2.0, 2]))).heights
    ),
    "rasterized": lambda d: (
        grounds.rasterized(d(arrays(np.eye(3))), d(arrays(np.array([[0, 1, 2]]))), d(real(0.1))).heights
    ),
    "curves": lambda d: (lambda curve: curve.at(d(arrays([0.0, 1.0]))))(
        d(st.sampled_from((curves.line(), curves.circle(2.0), curves.s_curve(4.0, 1.0))))
    ),
    "curves.made": lambda d: d(st.sampled_from((curves.line, curves.circle)))(d(real(2.0))).length,
    "s_curve": lambda d: curves.s_curve(d(real(4.0)), d(real(1.0))).length,
    "through": lambda d: curves.through(d(arrays(np.array([[0.0, 0], [1, 2], [3, 1]])))).positions,
    "Curve.moved": lambda d: curves.circle(2.0).moved(d(arrays([0.0, 1.0])), d(real(0.0))).positions,
    "skinning": lambda d: d(
        st.sampled_from(
            (
                skinning.linear_blend,
                skinning.dual_quaternion,
                skinning.linear_blend_normals,
                skinning.dual_quaternion_normals,
            )
        )
    )(_skin(d), Kinematics(d(motions)[:3])),
    "vertex_normals": lambda d: skinning.vertex_normals(d(arrays(np.eye(3))), d(arrays(np.array([[0, 1, 2]])))),
    "normalize": lambda d: (
        normalized.normalize(d(motions), d(characters), about=d(st.one_of(st.none(), arrays([0.0, 0, 0])))).root
    ),
    "scale and convert": lambda d: normalized.convert(
        normalized.scale(_normalized(), d(characters), d(st.one_of(st.none(), arrays(np.zeros((48, 22, 3))))))
    ),
    "transfer": lambda d: transfer(d(motions), d(characters), d(characters), stride=d(st.one_of(st.none(), real(1.0)))),
    "Proportions": lambda d: (
        apply_proportions(d(characters), Proportions(legs=d(real(1.2)), scale=d(real(1.0)))).skeleton.offsets
    ),
    "humanoid.find_roles": lambda d: len(humanoid.find_roles(d(characters).skeleton).joints),
    "humanoid.make_character": lambda d: (
        humanoid.make_character(d(characters).skeleton, d(characters).roles, name="x").height
    ),
    "lower_soles": lambda d: humanoid.lower_soles(d(characters), d(arrays(np.zeros((2, 22, 3))))).height,
    "unflipped_legs": lambda d: humanoid.unflipped_legs(
        figure("whole").skeleton, figure("whole").require_roles(), d(arrays(walk().motion.rotations[:2])), d(real(30.0))
    ),
    "anatomical_turns": lambda d: humanoid.anatomical_turns(d(characters), d(arrays(walk().motion.rotations[:2]))),
    "limit_violations": lambda d: humanoid.limit_violations(d(characters), d(arrays(walk().motion.rotations[:2]))),
    "constraint": lambda d: d(made_constraints()).activation(np.arange(48), d(real(30.0))),
    "constraint.residual": _residual,
    "constraints.check": lambda d: c.check(d(made_constraints()), d(motions)[:1], d(real(1e-6))),
    "constraints.to_data": lambda d: (
        c.from_data(c.to_data([d(made_constraints())], figure("whole")), figure("whole"), frames=48, fps=30.0) and None
    ),
    "spine_shares": lambda d: len(c.spine_shares(d(characters), d(st.one_of(st.none(), arrays([0.5, 0.5]))))),
    "shoulder_rhythm": lambda d: c.shoulder_rhythm(d(characters), d(word("left", "right")), d(real(0.3))) and None,
    "Problem": lambda d: _problem(d) and None,
    "Problem.on": _on,
    "find_still_intervals": lambda d: stillness.find_still_intervals(
        d(arrays(np.zeros((20, 2, 3)))), d(real(30.0)), d(real(1.7)), StillnessSettings()
    )[1],
    "continuous_segments": lambda d: stillness.continuous_segments(
        d(arrays(np.zeros((20, 2, 3)))), d(real(30.0)), d(real(1.7))
    ),
    "lead_in": lambda d: stillness.lead_in(d(arrays(np.zeros((60, 2, 3)))), d(real(30.0)), d(real(1.7))),
    "lead_in_frames": lambda d: stillness.lead_in_frames(d(clips)),
    "contacts_of_points": lambda d: (
        detection.contacts_of_points(
            d(arrays(np.zeros((20, 2, 3)))),
            d(real(30.0)),
            d(real(1.7)),
            names=d(st.sampled_from((("left_heel", "left_ball"), ("a",), ()))),
        )
        and None
    ),
    "estimate_ground": lambda d: ground.estimate_ground(
        d(arrays(np.eye(3))), d(arrays(np.ones(3))), d(real(1.7))
    ).height(np.zeros((1, 2))),
    "InterpolatedGround": lambda d: ground.InterpolatedGround(d(arrays(np.eye(3))), d(real(0.3))).height(
        d(arrays(np.eye(2)))
    ),
    "importance": lambda d: importance.importance(d(arrays([0.1, 0.5]))),
    "importances": lambda d: len(
        importance.importances(
            d(characters),
            d(arrays(Kinematics(walk().motion[:4]).positions)),
            d(arrays(Kinematics(walk().motion[:4]).rotations)),
            d(real(30.0)),
        )
    ),
    "limb.place": _limb,
    "Hybrid.solve_pose": _solve_pose,
    "bezier": lambda d: blend.bezier(d(arrays([0.0, 0.5])), d(arrays([0.0, 1.0]))),
    "find_path": lambda d: len(
        warp.find_path(d(arrays(np.ones((12, 12)))), ends=d(word("both", "free")), overlap=d(real(0.5))).frames
    ),
    "clamped_knots": lambda d: warp.clamped_knots(d(real(0.0)), d(real(1.0)), d(real(0.1))),
    "local_minima": lambda d: len(
        distance.local_minima(d(arrays(np.ones((4, 4)))), most=d(real(1.0)), apart=d(whole(1)))
    ),
    "clouds": lambda d: distance.clouds(d(motions), d(characters), window=d(real(0.13))) and None,
    "compose": lambda d: compose.compose(
        d(st.lists(motions, max_size=2)), d(arrays(np.full((48, 2), 0.5))), d(characters)
    ),
    "SensorFilter": _filter,
    "SensorFilter.from_half_life": lambda d: SensorFilter.from_half_life(d(whole(2)), d(real(0.013))).noise,
    "SensorFilter.from_noise": lambda d: SensorFilter.from_noise(d(arrays(np.full((2, 2), 0.01)))).noise,
    "Puppeteer.step": _puppet_step,
    "Controller": _control,
    "smoothness": lambda d: (
        smoothness.smoothness(Kinematics(d(motions)), d(real(1.7)), d(st.sampled_from((None, [3], [200], [])))) and None
    ),
    "Contacts": _contacts,
    "known_contacts": lambda d: detection.known_contacts(d(known_contacts), d(clips)) and None,
    "as_ground": lambda d: ground.normal_of(ground.as_ground(d(levels)), d(arrays(np.eye(2)))),
    "lower_to_soles": lambda d: ground.lower_to_soles(
        d(floors), d(arrays(0.1 * np.eye(3) - 0.05)), d(real(1.7))
    ).height(np.zeros((1, 2))),
    "hanging_arm": lambda d: hanging.hanging_arm(Kinematics(d(motions)), d(characters), d(word("left", "right"))),
    "stature": lambda d: arms.stature(d(characters)),
    "legs_of": lambda d: legs.legs_of(d(characters)) and None,
    "knee_flexions": _knee_flexions,
    "solve_legs": _solve_legs,
    "foot_curve": _foot_curve,
    "BodyShell.of": lambda d: body_shell.BodyShell.of(d(characters)),
    "ArmSamples.of": lambda d: body_shell.ArmSamples.of(d(characters)),
    "surface_of": lambda d: body_shell.surface_of(d(characters)).samples(),
    "vertex_parts": lambda d: body_shell.vertex_parts(d(characters)),
    "attach_feet": lambda d: detached.attach_feet(d(characters)).skeleton.offsets,
    "attached_motion": lambda d: detached.attached_motion(d(motions), d(characters).skeleton),
    "detached_motion": lambda d: detached.detached_motion(d(motions), d(characters).skeleton),
    "with_attached_feet": lambda d: detached.with_attached_feet(d(clips)),
    "can_plant": lambda d: planting.can_plant(d(characters)),
    "lead-in": _lead_in,
    "require_lead_in": lambda d: lead_in.require_lead_in(d(st.one_of(word("keep", "drop"), real(1.0)))),
    "palms": lambda d: (
        palms.without_idle_palms(d(made_contacts()), d(real(1.7)), d(st.one_of(st.none(), clips))),
        palms.hangs_by_hands(d(made_contacts()), d(real(1.7))),
    ),
    "hip_width": lambda d: (steps.hip_width(d(characters)), steps.foot_length(d(characters), d(word("left", "right")))),
    "find_steps": lambda d: len(steps.find_steps(d(made_contacts()), d(real(0.2)), d(whole(0)))),
    "keep_pitch": lambda d: len(steps.keep_pitch(steps.find_steps(d(made_contacts()), 0.2), d(floors), d(real(0.05)))),
    "find_travel": lambda d: travel.find_travel(d(motions), d(characters), d(known_contacts)),
    "clearances_of": lambda d: soles.clearances_of(Kinematics(d(motions)), d(characters), d(floors)),
    "standing_places": lambda d: soles.standing_places(d(footplants), d(motions), d(characters)),
    "flatten_toes": lambda d: soles.flatten_toes(d(motions), d(characters), d(footplants), d(floors)),
    "correct_soles": lambda d: soles.correct_soles(d(motions), d(characters), d(footplants), d(floors)),
    "motion_pair": _motion_pair,
    "bone_height": lambda d: pair.bone_height(Kinematics(d(motions)), d(characters)),
    "deviation": lambda d: deviation.deviation(
        Kinematics(d(motions)), d(characters), Kinematics(d(motions)), d(characters)
    ),
    "still_intervals": lambda d: still_joints.still_intervals(
        d(arrays(np.zeros((20, 2, 3)))), d(st.sampled_from(([0, 1], [2], [-3], [], ["x"]))), d(real(30.0))
    ),
    "humanoid.measure": lambda d: (
        lambda skeleton, roles: (
            humanoid.standing_height(skeleton, roles),
            humanoid.leg_length(skeleton, roles),
            humanoid.segment_masses(skeleton, roles),
            len(humanoid.contact_points(skeleton, roles)),
        )
    )(d(characters).skeleton, d(characters).require_roles()),
    "humanoid.joint_limits": lambda d: (
        humanoid.joint_limits(d(characters).skeleton, d(characters).require_roles()) and None
    ),
    "humanoid.find_units": lambda d: humanoid.find_units(
        d(characters).skeleton, d(characters).roles, d(st.sampled_from(({"m": 1.0, "cm": 0.01}, {}, {"x": np.nan})))
    )[1],
    "humanoid.find_up": lambda d: humanoid.find_up(
        d(characters).skeleton, d(characters).roles, d(arrays(np.zeros((4, 22, 3))))
    ),
    "humanoid.reference": lambda d: (
        lambda skeleton, roles: (
            humanoid.reference_pose(skeleton, roles),
            humanoid.reference_world(skeleton, roles),
            humanoid.mirror_map(skeleton, roles),
        )
    )(d(characters).skeleton, d(characters).require_roles()),
    "humanoid.with_reference": lambda d: (
        humanoid.with_reference(
            d(characters).skeleton, d(characters).require_roles(), d(arrays(walk().motion.rotations[:4]))
        )
        and None
    ),
    "humanoid.with_head_of_t_pose": lambda d: (
        humanoid.with_head_of_t_pose(
            d(characters).skeleton, d(characters).require_roles(), d(arrays(walk().motion.rotations[0]))
        )
        and None
    ),
    "humanoid.with_straight_toes": lambda d: (
        humanoid.with_straight_toes(
            d(characters).skeleton, d(characters).require_roles(), d(arrays(walk().motion.rotations[:8]))
        )
        and None
    ),
    "humanoid.straightened_wrists": lambda d: (
        humanoid.straightened_wrists(
            d(characters).skeleton, d(characters).require_roles(), d(arrays(walk().motion.rotations[:8])), d(real(30.0))
        )
        is None
    ),
    "proportions_of": lambda d: humanoid.proportions_of(d(characters), d(characters)) and None,
    "Doorway": lambda d: Doorway(d(arrays([0.0, 0.0])), d(real(0.0)), d(real(1.5))) and None,
}
"""Calls of a millisecond or so: what is called with what is drawn."""

DEAR: dict[str, Draw] = {
    "find_contacts": lambda d: (
        detection.find_contacts(d(clips), toes=d(st.booleans()), hands=d(st.booleans())) and None
    ),
    "clip_scene": lambda d: player.motion_page([player.clip_scene(d(clips))], "wild") and None,
    "measure": lambda d: measure.measure(
        d(clips),
        d(st.one_of(st.none(), characters)),
        d(known_contacts),
        against=d(st.one_of(st.none(), clips)),
        ground=d(st.one_of(st.none(), levels)),
        constraints=d(st.sampled_from(((), (("x", np.ones(48)),), (("x", "y"),)))),
        fidelity=d(st.sampled_from((None, "joints", "skin", "wild"))),
    ),
    "measure_each": lambda d: measure.measure_each(
        d(st.lists(motions, max_size=2)), d(characters), d(known_contacts), against=d(clips), ground=d(levels)
    ),
    "fidelity": lambda d: fidelity.fidelity(
        *_pair(d),
        depth=d(word("joints", "skin")),
        ground=d(st.one_of(st.none(), levels)),
        copied=d(st.one_of(st.none(), motions)),
        lead_in=d(st.one_of(st.none(), whole(0))),
    ),
    "measure_skin": _measure_skin,
    "solve_arms": _solve_arms,
    "plant_feet": _plant_feet,
    "find_skating_contacts": lambda d: stances.find_skating_contacts(
        d(motions), d(characters), slide=d(st.one_of(st.none(), real(0.3))), ground=d(st.one_of(st.none(), floors))
    ),
    "own_plants": lambda d: len(kept_plants.own_plants(d(motions), d(characters))),
    "solve_markers": lambda d: (
        solve_markers(
            _markers(d),
            d(st.one_of(st.none(), characters)),
            table=d(st.sampled_from((None, {}, {"A": "left_hand"}))),
            pose_frame=d(st.one_of(st.none(), whole(0))),
            smooth=d(st.booleans()),
        ).clip
    ),
    "retarget": lambda d: retargeting.retarget(
        d(clips),
        d(characters),
        constraints=tuple(d(st.lists(made_constraints(), max_size=1))),
        method=d(st.sampled_from((None, None, "whole-body", *NAMES, "wild"))),
        contacts=d(known_contacts),
        keep_footsteps=d(st.booleans()),
    ),
    "repair": lambda d: repair.repair(
        d(clips),
        ground=d(st.one_of(st.none(), real(0.0))),
        slide=d(st.one_of(st.none(), real(0.01))),
        lead_in=d(word("keep", "drop")),
    ),
    "terrain": lambda d: terrains.terrain(d(clips), d(floors)),
    "bend": lambda d: path.bend(
        d(clips), curves.circle(3.0), timing=d(word("keep", "arc")), plant_at=d(word("middle", "start"))
    ),
    "together": lambda d: (
        togethers.together(
            d(st.lists(clips, max_size=3)),
            d(st.lists(characters, max_size=3)),
            props=d(st.lists(clips, max_size=1)),
            touch=d(st.booleans()),
        )
        and None
    ),
    "jump": lambda d: jump.jump(
        d(clips), longer=d(real(0.2)), higher=d(real(0.1)), number=d(st.one_of(st.none(), st.integers(-2, 3)))
    ),
    "morph": lambda d: morph.morph(d(clips), d(st.lists(characters, max_size=2))),
    "fit": lambda d: fit.fit(
        d(clips), d(st.lists(made_constraints(), max_size=2)), ik=d(word("auto", "hybrid", "numeric", "groupccd"))
    ),
    "drag": _drag,
    "puppet": lambda d: puppet.puppet(d(clips), d(characters)),
    "share": lambda d: morphology_independent.share(d(clips), d(characters)),
    "merge_clips": lambda d: merge.merge_clips(d(st.lists(clips, max_size=2))),
    "compare": lambda d: compare.compare(d(clips), d(st.one_of(st.none(), characters)), (d(word(*NAMES)),)) and None,
    "method.solve": _method,
    "ik.solve": _solve_ik,
    "register": lambda d: (
        registration.register(
            d(st.lists(clips, max_size=2)), reference=d(st.one_of(st.none(), whole(0))), ends=d(word("free", "both"))
        )
        and None
    ),
    "blend": lambda d: blend.blend(
        _registered(), d(arrays([0.5, 0.5])), fps=d(st.one_of(st.none(), real(30.0))), cycles=d(whole(1))
    ),
    "weights_for": lambda d: blend.weights_for(_registered(), speed=d(st.one_of(st.none(), real(1.0)))),
    "transition": lambda d: transition.transition(
        d(clips),
        d(clips),
        seconds=d(real(0.3)),
        at=d(st.sampled_from((None, (0.5, 0.3), (np.nan, 0.0), (99.0, -9.0)))),
        fps=d(st.one_of(st.none(), real(30.0))),
    ),
    "trim": lambda d: everyday.trim(
        d(clips),
        d(st.one_of(st.none(), real(0.1))),
        d(st.one_of(st.none(), real(0.3))),
        frames=d(st.sampled_from((None, None, (0, 3), (3, 0), (-1, 10**9)))),
        lead_in=d(word("keep", "drop")),
    ),
    "resample": lambda d: everyday.resample(d(clips), d(real(30.0))),
    "mirror": lambda d: everyday.mirror(d(clips)),
    "loop": lambda d: loops.loop(
        d(clips), d(whole(1)), ends=d(st.sampled_from((None, (0.0, 0.2), (0.2, 0.1), (np.nan, 1.0), (-5.0, 99.0))))
    ),
    "drive_set": lambda d: footplant.drive_set(d(st.lists(clips, max_size=1)), fade=d(real(0.5))) and None,
    "join": lambda d: transition.join(d(st.lists(clips, max_size=2)), seconds=d(real(0.3))),
    "cut_loop": lambda d: loops.cut_loop(
        d(motions), d(characters), *d(st.sampled_from(((0.0, 0.2), (0.2, 0.1), (np.nan, 1.0), (-5.0, 99.0))))
    ),
    "build_graph": lambda d: (
        graph.build_graph(
            d(st.lists(clips, max_size=2)), threshold=d(st.one_of(st.none(), real(0.1))), most=d(whole(3))
        )
        and None
    ),
    "walk_graph": lambda d: graph_walk.walk_graph(
        d(st.lists(clips, max_size=2)),
        path=d(st.sampled_from((None, None, "line:2", "circle:1", "nothing"))),
        target=d(st.one_of(st.none(), arrays([0.5, 1.0]))),
        start=d(st.one_of(st.none(), whole(0))),
        within=d(real(0.3)),
        fade=d(real(0.2)),
        longest=d(real(3.0)),
        fps=d(st.one_of(st.none(), real(30.0))),
    ),
    "begin_spacetime": lambda d: (
        spacetime_drag.begin_spacetime(
            d(clips),
            d(st.sampled_from((range(6), range(2, 9, 2), range(-3, 4), range(4, 4), range(10**6), (0, 5), None))),
            spacing=d(real(3.0)),
            exact=d(st.booleans()),
        )
        .drag(d(whole(2)), d(word("left_palm", "head")), d(arrays([0.0, 1.0, 0.0])))
        .motion
    ),
    "match": lambda d: matching.match(d(clips), d(clips)) and None,
    "Puppeteer": lambda d: (
        Puppeteer(d(characters), d(characters), scale=d(st.one_of(st.none(), real(1.0))), about=d(arrays([0.0, 0, 0])))
        and None
    ),
}
"""Calls that solve something."""


@pytest.mark.parametrize("name", CHEAP)
@given(data=st.data())
@settings(max_examples=thorough(8, 24) * TIMES, suppress_health_check=list(HealthCheck), database=None)
def test_wild_calls(name, data):
    call(lambda: CHEAP[name](data.draw))


@pytest.mark.parametrize("name", DEAR)
@given(data=st.data())
@settings(max_examples=thorough(4, 12) * TIMES, suppress_health_check=list(HealthCheck), database=None)
def test_wild_calls_of_edits(name, data):
    call(lambda: DEAR[name](data.draw))


ELSEWHERE = {
    "report_page", "result_scene", "write_page",
    "load", "load_character", "load_markers", "load_project", "load_takes", "save", "save_markers", "save_project",
    "read_corrections", "pack", "run",
}  # fmt: skip
"""Entries that take or write files (`tests/fuzz`, `test_cut_files`, the tests of each format), or take answers."""

ANSWERS = {
    "AcrossFrames", "Conversion", "Dataset", "NormalizedLimb", "NormalizedSpline", "Project", "Report", "Result",
    "Scaled", "Status", "Take",
}  # fmt: skip
"""Base classes, and types that hold answers."""


def test_every_public_entry_is_called():
    """What docs/api.md lists and packages export is called above, but for what only holds answers."""
    listed = re.findall(
        r"^::: footplant\.([\w.]+)", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    exported = [
        f"{package.__name__}.{name}" for package in (footplant, c, humanoid, normalized) for name in package.__all__
    ]
    wanted = set()
    for address in (*listed, *(name.removeprefix("footplant.") for name in exported)):
        module, _, name = f"footplant.{address}".rpartition(".")
        entry = getattr(import_module(module), name)
        if callable(entry) and not (isinstance(entry, type) and issubclass(entry, Exception)):
            wanted.add(name)
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    called |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert wanted - called - ELSEWHERE == ANSWERS
