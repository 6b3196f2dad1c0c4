"""The kinematic tree of a robot, from a MuJoCo (MJCF) or URDF file: bodies, and the hinges that turn them.

Files of robot motions hold the pose of the root and one angle per hinge; the model says what that means. Only what
motions need is kept: names, places, axes and the order of the joints; `read_mechanism` has everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError, SkeletonError
from footplant.io.mjcf import read_mjcf
from footplant.io.robot_xml import MAX_BYTES, parse_xml
from footplant.io.urdf import read_urdf
from footplant.mechanism.coupling import Coupling
from footplant.mechanism.model import Mechanism
from footplant.motion import Motion
from footplant.skeleton import Skeleton

MAX_TURN = 1e4
"""Radians; larger angles are no angles."""
MAX_LENGTH = 1e9
"""Metres."""


@dataclass(frozen=True)
class Hinge:
    """One joint with one angle."""

    name: str
    body: int
    """The body that it turns."""
    axis: tuple[float, float, float]
    """Unit vector in the body's frame."""
    reference: float = 0.0
    """Radians: the angle at which the body is at rest."""


@dataclass(frozen=True, eq=False)
class RobotModel:
    """Bodies and hinges of a robot, in metres; the root is the body that floats."""

    name: str
    skeleton: Skeleton
    hinges: tuple[Hinge, ...]
    """In the order of the file, which is the order of angles in motions."""
    coupling: Coupling
    """Which hinges follow others."""

    def choose_hinges(self, count: int) -> tuple[Hinge, ...] | None:
        """Return the hinges of a motion with that many angles; None if they do not fit.

        Many motions leave out the wrists, or the hands and the head, or hinges that follow others.
        """
        chosen = choose_joints([hinge.name for hinge in self.hinges], count, self.coupling)
        return None if chosen is None else tuple(self.hinges[number] for number in chosen)

    def completed(self, angles: NDArray, hinges: tuple[Hinge, ...], notes: list[str]) -> NDArray:
        """Return the angles (F, D) of all hinges, given those of some (F, H): others follow, or are at rest."""
        chosen = [self.hinges.index(hinge) for hinge in hinges]
        rest = np.array([hinge.reference for hinge in self.hinges], float)
        full, note = complete_angles(angles, chosen, rest, self.coupling, [hinge.name for hinge in self.hinges])
        notes += [] if note is None else [note]
        return full

    def rotations(self, root: NDArray, angles: NDArray, hinges: tuple[Hinge, ...]) -> NDArray:
        """Return local rotations (F, J, 4) for root rotations (F, 4) and angles (F, H), radians."""
        out = np.array(np.broadcast_to(self.skeleton.rest, (len(angles), len(self.skeleton), 4)))
        out[:, 0] = root
        for number, hinge in enumerate(hinges):
            turn = rotation.from_axis_angle(np.array(hinge.axis), angles[:, number] - hinge.reference)
            # hinges of one body follow one another, the first one outermost
            out[:, hinge.body] = rotation.multiply(out[:, hinge.body], turn)
        return out


def choose_joints(names: Sequence[str], count: int, coupling: Coupling) -> tuple[int, ...] | None:
    """Return which joints a motion with that many angles has: all, or without wrists, hands or the head; else None.

    Any of these may leave out joints that follow others. Raises `FormatError` where that makes a difference.
    """
    kept: list[tuple[int, ...]] = []
    leading: list[tuple[int, ...]] = []
    for words in ((), ("wrist",), ("hand", "finger", "thumb"), ("wrist", "hand", "finger", "thumb"),
                  ("head", "neck"), ("wrist", "head", "neck")):  # fmt: skip
        rest = tuple(n for n, name in enumerate(names) if not any(word in name.lower() for word in words))
        for found, chosen in ((kept, rest), (leading, tuple(n for n in rest if coupling.free[n]))):
            if len(chosen) == count:
                found.append(chosen)
    found = [*kept[:1], *leading[:1]]
    if len(set(found)) > 1:
        parts = ", or without ".join(
            ", ".join(name for n, name in enumerate(names) if n not in chosen)[:200] for chosen in found
        )
        raise FormatError(
            f"expected the angles of all joints, got {count}, which may be those of the robot without {parts}"
        )
    return found[0] if found else None


def complete_angles(
    angles: NDArray, chosen: Sequence[int], rest: NDArray, coupling: Coupling, names: Sequence[str]
) -> tuple[NDArray, str | None]:
    """Return angles (F, D) of all joints, given those of some (F, H), and what they disagree about, in words.

    Joints that are left out follow, or are at rest (D,). Those that are given are where the file has them.
    """
    full = np.tile(rest, (len(angles), 1))
    full[:, list(chosen)] = angles
    left = np.ones(len(rest), bool)
    left[list(chosen)] = False
    following = coupling.applied(full)
    left &= ~coupling.free
    full[:, left] = following[:, left]
    return full, coupling.disagreement(full, names)


def read_model(path: str | Path) -> RobotModel:
    """Read a robot model: MJCF (.xml) or URDF (.urdf); raise `FormatError` for anything else."""
    return _as_model(read_mechanism(path), path)


def parse_model(data: bytes, path: str | Path | None = None) -> RobotModel:
    """Read the bytes of a model file."""
    return _as_model(parse_mechanism(data, path), path)


def find_model(near: str | Path, count: int) -> Path | None:
    """Return the only robot model in a file's folder that has that many hinges; None without or with several."""
    found = []
    for path in sorted(Path(near).parent.iterdir()):
        if path.suffix.lower() in (".xml", ".urdf") and path.is_file() and path.stat().st_size < MAX_BYTES:
            try:
                if read_model(path).choose_hinges(count) is not None:
                    found.append(path)
            except FormatError:
                continue
    return found[0] if len(found) == 1 else None


def read_mechanism(path: str | Path) -> Mechanism:
    """Read the whole robot of an MJCF (.xml) or URDF file: joints with ranges, masses, collision solids."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(error.strerror or str(error), path=path) from error
    return parse_mechanism(data, path)


def parse_mechanism(data: bytes, path: str | Path | None = None) -> Mechanism:
    """Read the bytes of a robot's file."""
    root = parse_xml(data, path)
    try:
        if root.tag == "mujoco":
            return read_mjcf(root, path)
        if root.tag == "robot":
            return read_urdf(root, path)
    except SkeletonError as error:
        raise FormatError(str(error), path=path) from error
    raise FormatError(f"expected a robot model (<mujoco> or <robot>), got <{root.tag[:40]}>", path=path)


def _as_model(mechanism: Mechanism, path: str | Path | None) -> RobotModel:
    """Return the skeleton of a robot's bodies with the hinges that turn them."""
    anchors = np.zeros((len(mechanism.bodies), 3))
    turning: set[int] = set()
    for joint in mechanism.joints:
        where = f"joint {joint.name!r}"
        if joint.ball:
            raise FormatError("expected hinges, got a ball joint", path=path, where=where)
        if joint.body in turning and not np.allclose(joint.anchor, anchors[joint.body], atol=1e-3):
            raise FormatError("expected the hinges of a body at one place, got others", path=path, where=where)
        turning.add(joint.body)
        anchors[joint.body] = joint.anchor
    # a joint's frame is at its hinge, which may be beside the body's origin
    above = np.where(mechanism.parents[:, None] >= 0, anchors[mechanism.parents], 0.0)
    offsets = mechanism.places - above + rotation.rotate(mechanism.turns, anchors)
    skeleton = Skeleton(mechanism.bodies, mechanism.parents, offsets, mechanism.turns)
    hinges = tuple(Hinge(joint.name, joint.body, joint.axis, joint.reference) for joint in mechanism.joints)
    return RobotModel(mechanism.name, skeleton, hinges, mechanism.coupling)


def model_for(path: str | Path | None, skeleton: str | Path | None, count: int, notes: list[str]) -> RobotModel | None:
    """Return the model that is given, or the one beside the file with that many hinges; None without one."""
    if skeleton is not None:
        return read_model(skeleton)
    found = find_model(path, count) if path is not None and Path(path).exists() else None
    if found is None:
        return None
    notes.append(f"the robot's model is {found.name}, found beside the file")
    return read_model(found)


def robot_motion(
    model: RobotModel, root: NDArray, quaternions: NDArray, angles: NDArray, rate: float, notes: list[str]
) -> Motion:
    """Return the motion of a robot; quaternions: (F, 4), real part first. Raises ValueError for other numbers."""
    hinges = model.choose_hinges(angles.shape[1])
    if hinges is None:
        raise ValueError(
            f"expected {len(model.hinges)} joint angles, as the robot's model has, got {angles.shape[1]}; "
            "skeleton= (--skeleton) names another model"
        )
    following = {hinge for hinge, free in zip(model.hinges, model.coupling.free) if not free}
    left = [hinge.name for hinge in model.hinges if hinge not in hinges and hinge not in following]
    if left:
        notes.append(f"{len(left)} hinges of the model have no angles and stay at 0 (first {left[0]!r})")
    norms = np.linalg.norm(np.clip(quaternions, -4.0, 4.0), axis=1)
    if len(norms) and np.abs(norms - 1.0).max() > 0.05:
        raise ValueError(
            f"expected unit quaternions of the root, got one of length {norms[np.abs(norms - 1).argmax()]:g}"
        )
    if np.abs(angles).max(initial=0.0) > MAX_TURN or np.abs(root).max(initial=0.0) > MAX_LENGTH:
        raise ValueError("expected angles in radians and places in metres, got larger numbers")
    if following:
        angles, hinges = model.completed(angles, hinges, notes), model.hinges
    return Motion(model.skeleton, root, model.rotations(rotation.normalize(quaternions), angles, hinges), rate)


def missing_model(path: str | Path | None, count: int) -> FormatError:
    """Return the error for a robot motion without a model."""
    return FormatError(
        f"the file holds {count} joint angles of a robot; expected its model (MJCF .xml or URDF) beside the file, or "
        "as skeleton= (--skeleton FILE)", path=path,
    )  # fmt: skip
