"""glTF animations as takes: which rate their keys were made at, and their curves sampled at that rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Take
from footplant.errors import FormatError
from footplant.io.gltf.document import Document
from footplant.io.gltf.scene import NOTABLE, Joints, Scene, fold
from footplant.io.json import Json, describe
from footplant.io.place_bones import place_bones
from footplant.motion import Motion
from footplant.skeleton import Skeleton

RATES = (12, 15, 20, 23.976, 24, 25, 29.97, 30, 48, 50, 59.94, 60, 72, 90, 100, 120, 144, 180, 200, 240, 250, 300, 360)
"""Frames a second that people use; a rate within 0.1 % of one of them is that one."""
SLOWEST, SMOOTH, FASTEST = 10.0, 24.0, 120.0
"""Keys on a grid slower than SLOWEST were set by hand: they are sampled at a multiple of at least SMOOTH. Keys on no
grid are sampled at a rate from SMOOTH to FASTEST."""
ON_GRID = 0.02
"""How far a key may lie from its frame, in frames."""
MOST_SAMPLES = 2_000_000
"""Frames × joints that one take may have when the file itself is smaller than that."""
STILL = 1e-6
"""Node transforms that differ by less than this share are the same."""
UNIT_ERROR = 0.05
"""A quaternion whose length is off by more is damage; one that is off by less is normalised."""
UNIT_NOTE = 1e-3
"""… and one that is off by more than this is worth a note."""
_NOT_UNIT = "some quaternions of the take are not of unit length; they were normalised"
_KINDS = ("LINEAR", "STEP", "CUBICSPLINE")
_PATHS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}


class Channel(NamedTuple):
    """One curve: a node's translation, rotation or scale."""

    node: int
    path: str
    input: int
    """Accessor of the key times."""
    output: int
    """Accessor of the key values."""
    interpolation: str
    where: str


@dataclass(frozen=True, eq=False)
class Animation:
    """One animation of a file."""

    name: str
    channels: tuple[Channel, ...]
    document: Document
    number: int
    """Its place in the file's list of animations."""

    @cached_property
    def times(self) -> tuple[NDArray, ...]:
        """The key times of all curves, seconds, each list once."""
        return tuple(key_times(self.document, number) for number in dict.fromkeys(c.input for c in self.channels))

    @cached_property
    def span(self) -> tuple[float, float]:
        """First and last key time, seconds."""
        if not self.times:
            return 0.0, 0.0
        return float(min(t[0] for t in self.times)), float(max(t[-1] for t in self.times))

    @cached_property
    def fps(self) -> float:
        """Frames a second that the keys lie on, or that suit them."""
        return find_rate(self.times)

    @property
    def sampling(self) -> str | None:
        """One sentence when frames are not what the file's keys are, else None."""
        keys = np.unique(np.concatenate(self.times)) if self.times else np.zeros(1)
        steps = np.diff(keys)
        if _strays(keys - keys[0], self.fps) > ON_GRID:
            return f"the take's keys lie on no even grid; it was sampled at {self.fps:g} frames a second"
        if len(steps) and steps.min() * self.fps > 1.5:
            return (
                f"the take's keys are {steps.min():.3g} s apart or more; it was sampled at {self.fps:g} frames a second"
            )
        return None

    @property
    def frames(self) -> int:
        """How many frames cover all keys at that rate."""
        start, end = self.span
        return int(np.ceil((end - start) * self.fps - ON_GRID)) + 1 if end > start else 1


def key_times(document: Document, accessor: int) -> NDArray:
    """The times of an animation's keys (n,), seconds."""
    times = document.array(accessor, ("SCALAR",), floats=True)[:, 0].astype(np.float64)
    if (times[1:] < times[:-1]).any():
        late = int(np.argmax(times[1:] < times[:-1])) + 1
        document.accessors[accessor].fail("bufferView", f"expected times that increase, got key {late} earlier")
    if len(times) > 1 and times[0] == times[-1]:
        document.accessors[accessor].fail("bufferView", f"expected times that increase, got {len(times)} equal ones")
    return times


def find_rate(times: Sequence[NDArray]) -> float:
    """The rate of a set of key times: that of the uniform grid they lie on, else one that suits their spacing."""
    keys = np.unique(np.concatenate([np.asarray(t, float) for t in times])) if times else np.zeros(1)
    keys = keys - keys[0]
    # keys of different curves may be off by a rounding of the file's 32-bit numbers
    steps = np.diff(keys)
    steps = steps[steps > max(1e-5, 4e-7 * keys[-1])]
    if not len(steps):
        return 30.0
    # the mean of the shortest steps: over thousands of keys a single step's rounding would lose count
    rough = 1.0 / np.mean(steps[steps < 1.05 * steps.min()])
    fitted = max(float(np.round(keys[-1] * rough)), 1.0) / float(keys[-1])
    # a known rate that the keys lie on exactly, the keys' own, and the same again for keys with rounded times
    exact = 1e-3 + 4e-7 * rough * keys[-1]
    for tolerance in (exact, ON_GRID):
        for rate in (_snap(fitted), fitted):
            if _strays(keys, rate) <= tolerance:
                return float(rate if rate >= SLOWEST else rate * np.ceil(SMOOTH / rate - 1e-9))
    for rate in RATES:
        if SMOOTH <= rate <= FASTEST and _strays(keys, rate) <= ON_GRID:
            return float(rate)
    return _snap(float(np.clip(1.0 / np.median(steps), SMOOTH, FASTEST)))


def _strays(keys: NDArray, rate: float) -> float:
    """How far the keys lie from the frames of a rate at most, in frames."""
    frames = keys * rate
    return float(np.abs(frames - np.round(frames)).max())


def _snap(rate: float) -> float:
    nearest = min(RATES, key=lambda known: abs(known - rate))
    return float(nearest) if abs(nearest - rate) <= 1e-3 * nearest else rate


def read_animations(document: Document, nodes: int) -> list[Animation]:
    """Every animation's channels, checked; curves of anything else than node transforms are left alone."""
    out = []
    for number, entry in enumerate(document.top.objects("animations")):
        samplers = entry.array("samplers")
        channels = []
        for place, data in enumerate(entry.array("channels")):
            # files have tens of thousands of these: the plain case is taken without making objects for messages
            where = f"{entry.where}.channels[{place}]"
            target = data.get("target") if type(data) is dict else None
            sampler = data.get("sampler") if type(data) is dict else None
            if type(target) is not dict or type(sampler) is not int or not 0 <= sampler < len(samplers):
                channel = Json(data, where, document.path)
                target = Json(target, f"{where}.target", document.path).data
                sampler = channel.index("sampler", len(samplers))
            node, path = target.get("node"), target.get("path")
            if type(path) is not str:
                Json(target, f"{where}.target", document.path).text("path")
            if node is None or path not in _PATHS:
                continue
            if type(node) is not int or not 0 <= node < nodes:
                node = Json(target, f"{where}.target", document.path).index("node", nodes)
            channels.append(Channel(node, path, *_sampler(document, entry, samplers, sampler), where))
        name = entry.text("name", "") or f"animation_{number}"
        out.append(Animation(name, tuple(channels), document, number))
    return out


def _sampler(document: Document, entry: Json, samplers: list, number: int) -> tuple[int, int, str]:
    """Accessors of the key times and the key values, and the interpolation."""
    data, count = samplers[number], len(document.accessors)
    if type(data) is dict:
        times, values, kind = data.get("input"), data.get("output"), data.get("interpolation", "LINEAR")
        if type(times) is int and type(values) is int and 0 <= times < count and 0 <= values < count and kind in _KINDS:
            return times, values, kind
    sampler = Json(data, f"{entry.where}.samplers[{number}]", document.path)
    kind = sampler.text("interpolation", "LINEAR")
    if kind not in _KINDS:
        sampler.fail("interpolation", f"expected {', '.join(_KINDS)}, got {describe(kind)}")
    return sampler.index("input", count), sampler.index("output", count), kind


def key_values(document: Document, channel: Channel, notes: list[str] | None = None) -> tuple[NDArray, NDArray]:
    """Times (n,) and values (n, width), or (n, 3, width) for CUBICSPLINE; quaternions as (w, x, y, z)."""
    times = key_times(document, channel.input)
    values = document.floats(channel.output, (_PATHS[channel.path],))
    each = 3 if channel.interpolation == "CUBICSPLINE" else 1
    if len(values) != each * len(times):
        raise FormatError(
            f"expected {each * len(times)} values for {len(times)} keys, got {len(values)}",
            path=document.path,
            where=channel.where,
        )
    if channel.path == "rotation":
        values = values[:, [3, 0, 1, 2]]
        keys = values[1::3] if each == 3 else values
        norms = np.linalg.norm(keys, axis=1)
        worst = int(np.argmax(np.abs(norms - 1.0)))
        if abs(norms[worst] - 1.0) > UNIT_ERROR:
            raise FormatError(
                f"expected unit quaternions, got one of length {norms[worst]:.6g} at key {worst}",
                path=document.path,
                where=channel.where,
            )
        if notes is not None and abs(norms[worst] - 1.0) > UNIT_NOTE and _NOT_UNIT not in notes:
            notes.append(_NOT_UNIT)
        if each == 1:
            values = values / norms[:, None]
    return times, values.reshape(-1, 3, values.shape[1]) if each == 3 else values


def sample(channel: Channel, times: NDArray, values: NDArray, start: float, fps: float, frames: int) -> NDArray:
    """A curve at every frame (frames, width); (1, width) when it never changes. Times outside hold the end values."""
    keys = values[:, 1] if channel.interpolation == "CUBICSPLINE" else values
    if len(keys) == 1 or (channel.interpolation != "CUBICSPLINE" and (keys == keys[0]).all()):
        return rotation.normalize(keys[:1]) if channel.path == "rotation" else keys[:1]
    place = (times - start) * fps
    nearest = np.round(place)
    # a key that means a frame must give back its value, not an interpolation of 1e-6 beside it
    place = np.where(np.abs(place - nearest) <= 1e-3 + 4e-7 * fps * abs(times[-1]), nearest, place)
    if channel.interpolation == "LINEAR" and len(place) == frames and np.array_equal(place, np.arange(frames)):
        return keys
    wanted = np.arange(frames, dtype=float)
    if channel.interpolation == "STEP":
        return keys[np.clip(np.searchsorted(place, wanted + ON_GRID, side="right") - 1, 0, None)]
    before = np.clip(np.searchsorted(place, wanted, side="right") - 1, 0, len(place) - 2)
    length = place[before + 1] - place[before]
    u = np.clip((wanted - place[before]) / np.where(length > 0, length, 1.0), 0.0, 1.0)
    a, b = keys[before], keys[before + 1]
    if channel.interpolation == "LINEAR":
        return rotation.normalize(rotation.slerp(a, b, u)) if channel.path == "rotation" else a + u[:, None] * (b - a)
    u, seconds = u[:, None], (length / fps)[:, None]
    out, into = values[before, 2] * seconds, values[before + 1, 0] * seconds
    u2, u3 = u * u, u * u * u
    curve = (2 * u3 - 3 * u2 + 1) * a + (u3 - 2 * u2 + u) * out + (3 * u2 - 2 * u3) * b + (u3 - u2) * into
    return rotation.normalize(curve) if channel.path == "rotation" else curve


def list_takes(animations: Sequence[Animation], joints: int) -> tuple[Take, ...]:
    """Names, lengths and rates of all animations; one that is too long to hold is an error."""
    takes = []
    for number, animation in enumerate(animations):
        start, end = animation.span
        limit = max(MOST_SAMPLES, animation.document.size) / max(joints, 1)
        if not (end - start) * animation.fps < limit:
            raise FormatError(
                f"expected at most {int(limit)} frames, got keys over {end - start:.6g} s at {animation.fps:g} fps",
                path=animation.document.path,
                where=f"animations[{number}]",
            )
        takes.append(Take(animation.name, animation.frames, animation.fps))
    return tuple(takes)


def read_motion(scene: Scene, joints: Joints, skeleton: Skeleton, animation: Animation, notes: list[str]) -> Motion:
    """Sample one animation as a motion of the figure."""
    document, frames, fps, start = scene.document, animation.frames, animation.fps, animation.span[0]
    number = {node: joint for joint, node in enumerate(joints.nodes) if node >= 0}
    nodes = [max(node, 0) for node in joints.nodes]
    turns = [scene.rotations[node][None] for node in nodes]
    moves = [scene.translations[node][None] for node in nodes]
    stretches = [scene.stretches[node][None] for node in nodes]
    scaled = 0
    for channel in animation.channels:
        joint = number.get(channel.node)
        if joint is None:
            continue
        times, values = key_values(document, channel, notes)
        curve = sample(channel, times, values, start, fps, frames)
        if channel.path == "rotation":
            turns[joint] = curve
        elif channel.path == "translation":
            moves[joint] = curve
        else:
            rest = np.diagonal(scene.stretches[channel.node])
            if np.abs(curve - rest).max() > STILL * max(1.0, np.abs(rest).max()):
                stretches[joint] = curve[:, :, None] * np.eye(3)
                scaled += int(np.abs(curve - rest).max() > NOTABLE * np.abs(rest).max())
    if scaled:
        where = f"{scaled} {'joint' if scaled == 1 else 'joints'}"
        notes.append(f"scales are animated (at {where}); bone lengths follow, the thickness of the mesh does not")
    if animation.sampling:
        notes.append(animation.sampling)
    pose = fold(scene, joints, turns, moves, stretches)
    rotations = np.empty((frames, len(nodes), 4))
    for joint, curve in enumerate(pose.rotations):
        rotations[:, joint] = curve
    root = np.empty((frames, 3))
    root[:] = pose.offsets[0]
    skeleton, offsets = place_bones(skeleton, pose.offsets, frames, notes)
    return Motion(skeleton, root, rotations, fps, offsets)


def moving_nodes(scene: Scene, animations: Sequence[Animation], nodes: set[int]) -> set[int]:
    """Those of the nodes that an animation really moves away from where they stand in the file."""
    out: set[int] = set()
    for animation in animations:
        for channel in animation.channels:
            if channel.node in nodes and channel.node not in out and _changes(scene, channel):
                out.add(channel.node)
    return out


def _changes(scene: Scene, channel: Channel) -> bool:
    values = key_values(scene.document, channel)[1]
    if channel.interpolation == "CUBICSPLINE":
        if np.abs(values[:, ::2]).max() > STILL:
            return True
        values = values[:, 1]
    if channel.path == "rotation":
        turn = scene.rotations[channel.node]
        return bool((np.abs(values @ turn) < 1.0 - STILL).any())
    stand = {"translation": scene.translations[channel.node], "scale": np.diagonal(scene.stretches[channel.node])}
    still = stand[channel.path]
    return bool(np.abs(values - still).max() > STILL * max(1.0, np.abs(still).max()))
