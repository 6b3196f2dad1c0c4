"""glTF animations as takes: find the frame rate of their keys and sample their curves at that rate."""

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
from footplant.io.gltf.scene import NOTABLE, GltfScene, Joints, fold
from footplant.io.json import Json, describe
from footplant.io.place_bones import place_bones
from footplant.motion import Motion
from footplant.skeleton import Skeleton

RATES = (12, 15, 20, 23.976, 24, 25, 29.97, 30, 48, 50, 59.94, 60, 72, 90, 100, 120, 144, 180, 200, 240, 250, 300, 360)
"""Common frame rates, Hz; a rate within 0.1 % of one of them is rounded to it."""
MAX_SAMPLES = 2_000_000
"""Maximum frames × joints of a take, or the file's size in bytes if that is larger."""
_NOT_UNIT = "some quaternions of the take are not of unit length; they were normalised"
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
_PATHS = {"translation": "VEC3", "rotation": "VEC4", "scale": "VEC3"}


@dataclass(frozen=True)
class SamplingSettings:
    """How animation keys are turned into frames. No experiment is on record for them."""

    slowest: float = 10.0
    """Hz. Keys on a grid slower than this were set by hand; they are sampled at a multiple of at least `smooth`.
    Doubled, more takes are resampled between their keys."""
    smooth: float = 24.0
    """Hz. Lowest rate for keys that are resampled. Doubled, such takes get twice the frames."""
    fastest: float = 120.0
    """Hz. Highest rate for keys that lie on no uniform grid. Halved, dense irregular keys lose detail."""
    grid_tolerance: float = 0.02
    """Frames. Largest distance of a key from its frame. Doubled, slightly irregular keys count as uniform."""
    still: float = 1e-6
    """Relative. Node transforms that differ by less are equal. Doubled, slower drift counts as no motion."""
    unit_error: float = 0.05
    """A quaternion whose norm differs from 1 by more is an error; by less, it is normalised."""
    unit_note: float = 1e-3
    """A quaternion whose norm differs from 1 by more is reported in a note."""


SETTINGS = SamplingSettings()


class Channel(NamedTuple):
    """One curve: the translation, rotation or scale of a node."""

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
    """Index in the file's list of animations."""

    @cached_property
    def times(self) -> tuple[NDArray, ...]:
        """Key times of all curves, seconds; a list shared by several curves appears once."""
        return tuple(key_times(self.document, number) for number in dict.fromkeys(c.input for c in self.channels))

    @cached_property
    def span(self) -> tuple[float, float]:
        """First and last key time, seconds."""
        if not self.times:
            return 0.0, 0.0
        return float(min(t[0] for t in self.times)), float(max(t[-1] for t in self.times))

    @cached_property
    def fps(self) -> float:
        """Frame rate of the keys, or a suitable one if they lie on no uniform grid, Hz."""
        return find_rate(self.times)

    @property
    def sampling(self) -> str | None:
        """One sentence if the frames are not the file's keys, else None."""
        keys = np.unique(np.concatenate(self.times)) if self.times else np.zeros(1)
        steps = np.diff(keys)
        if _grid_error(keys - keys[0], self.fps) > SETTINGS.grid_tolerance:
            return f"the take's keys are not evenly spaced; it was sampled at {self.fps:g} frames per second"
        if len(steps) and steps.min() * self.fps > 1.5:
            return (
                f"the take's keys are at least {steps.min():.3g} s apart; "
                f"it was sampled at {self.fps:g} frames per second"
            )
        return None

    @property
    def frames(self) -> int:
        """Number of frames that cover all keys at that rate."""
        start, end = self.span
        return int(np.ceil((end - start) * self.fps - SETTINGS.grid_tolerance)) + 1 if end > start else 1


def key_times(document: Document, accessor: int) -> NDArray:
    """Return the times of an animation's keys (n,), seconds."""
    times = document.array(accessor, ("SCALAR",), floats=True)[:, 0].astype(np.float64)
    if (times[1:] < times[:-1]).any():
        late = int(np.argmax(times[1:] < times[:-1])) + 1
        document.accessors[accessor].fail("bufferView", f"expected times that increase, got key {late} earlier")
    if len(times) > 1 and times[0] == times[-1]:
        document.accessors[accessor].fail("bufferView", f"expected times that increase, got {len(times)} equal ones")
    return times


def find_rate(times: Sequence[NDArray]) -> float:
    """Return the frame rate of a set of key times: that of their uniform grid, else one that suits their spacing."""
    keys = np.unique(np.concatenate([np.asarray(t, float) for t in times])) if times else np.zeros(1)
    keys = keys - keys[0]
    # key times are 32-bit floats, so the same time may differ by rounding between curves
    steps = np.diff(keys)
    steps = steps[steps > max(1e-5, 4e-7 * keys[-1])]
    if not len(steps):
        return 30.0
    # average the shortest steps: over thousands of keys, the rounding of a single step would miscount the frames
    rough = 1.0 / np.mean(steps[steps < 1.05 * steps.min()])
    fitted = max(float(np.round(keys[-1] * rough)), 1.0) / float(keys[-1])
    # first a common rate or the keys' own rate within float rounding, then the same with the looser grid tolerance
    exact = 1e-3 + 4e-7 * rough * keys[-1]
    for tolerance in (exact, SETTINGS.grid_tolerance):
        for rate in (_snap(fitted), fitted):
            if _grid_error(keys, rate) <= tolerance:
                return float(rate if rate >= SETTINGS.slowest else rate * np.ceil(SETTINGS.smooth / rate - 1e-9))
    for rate in RATES:
        if SETTINGS.smooth <= rate <= SETTINGS.fastest and _grid_error(keys, rate) <= SETTINGS.grid_tolerance:
            return float(rate)
    return _snap(float(np.clip(1.0 / np.median(steps), SETTINGS.smooth, SETTINGS.fastest)))


def _grid_error(keys: NDArray, rate: float) -> float:
    """Return the largest distance of a key from the nearest frame at a rate, in frames."""
    frames = keys * rate
    return float(np.abs(frames - np.round(frames)).max())


def _snap(rate: float) -> float:
    """Return the common rate within 0.1 % of a rate, or the rate itself."""
    nearest = min(RATES, key=lambda known: abs(known - rate))
    return float(nearest) if abs(nearest - rate) <= 1e-3 * nearest else rate


def read_animations(document: Document, nodes: int) -> list[Animation]:
    """Return every animation with its channels, checked; channels that are not node transforms are skipped."""
    out = []
    for number, entry in enumerate(document.top.objects("animations")):
        samplers = entry.array("samplers")
        channels = []
        for place, data in enumerate(entry.array("channels")):
            # files have tens of thousands of channels: valid ones are read without creating `Json` objects
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
    """Return the accessors of the key times and key values, and the interpolation."""
    data, count = samplers[number], len(document.accessors)
    if type(data) is dict:
        times, values, kind = data.get("input"), data.get("output"), data.get("interpolation", "LINEAR")
        known = kind in _INTERPOLATIONS
        if known and type(times) is int and type(values) is int and 0 <= times < count and 0 <= values < count:
            return times, values, kind
    sampler = Json(data, f"{entry.where}.samplers[{number}]", document.path)
    kind = sampler.text("interpolation", "LINEAR")
    if kind not in _INTERPOLATIONS:
        sampler.fail("interpolation", f"expected {', '.join(_INTERPOLATIONS)}, got {describe(kind)}")
    return sampler.index("input", count), sampler.index("output", count), kind


def key_values(document: Document, channel: Channel, notes: list[str] | None = None) -> tuple[NDArray, NDArray]:
    """Return times (n,) and values (n, width), or (n, 3, width) for CUBICSPLINE; quaternions as (w, x, y, z)."""
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
        if abs(norms[worst] - 1.0) > SETTINGS.unit_error:
            raise FormatError(
                f"expected unit quaternions, got one of length {norms[worst]:.6g} at key {worst}",
                path=document.path,
                where=channel.where,
            )
        if notes is not None and abs(norms[worst] - 1.0) > SETTINGS.unit_note and _NOT_UNIT not in notes:
            notes.append(_NOT_UNIT)
        if each == 1:
            values = values / norms[:, None]
    return times, values.reshape(-1, 3, values.shape[1]) if each == 3 else values


def sample(channel: Channel, times: NDArray, values: NDArray, start: float, fps: float, frames: int) -> NDArray:
    """Sample a curve at every frame (frames, width); (1, width) if constant. Times outside hold the end values."""
    keys = values[:, 1] if channel.interpolation == "CUBICSPLINE" else values
    if len(keys) == 1 or (channel.interpolation != "CUBICSPLINE" and (keys == keys[0]).all()):
        return rotation.normalize(keys[:1]) if channel.path == "rotation" else keys[:1]
    place = (times - start) * fps
    nearest = np.round(place)
    # snap keys to the frame they mean, so that the frame gets the key's exact value instead of an interpolation
    place = np.where(np.abs(place - nearest) <= 1e-3 + 4e-7 * fps * abs(times[-1]), nearest, place)
    if channel.interpolation == "LINEAR" and len(place) == frames and np.array_equal(place, np.arange(frames)):
        return keys
    wanted = np.arange(frames, dtype=float)
    if channel.interpolation == "STEP":
        return keys[np.clip(np.searchsorted(place, wanted + SETTINGS.grid_tolerance, side="right") - 1, 0, None)]
    before = np.clip(np.searchsorted(place, wanted, side="right") - 1, 0, len(place) - 2)
    length = place[before + 1] - place[before]
    u = np.clip((wanted - place[before]) / np.where(length > 0, length, 1.0), 0.0, 1.0)
    a, b = keys[before], keys[before + 1]
    if channel.interpolation == "LINEAR":
        return rotation.normalize(rotation.slerp(a, b, u)) if channel.path == "rotation" else a + u[:, None] * (b - a)
    # cubic Hermite: p(u) = (2u³ − 3u² + 1) a + (u³ − 2u² + u) Δt·out + (3u² − 2u³) b + (u³ − u²) Δt·in
    u, seconds = u[:, None], (length / fps)[:, None]
    out, into = values[before, 2] * seconds, values[before + 1, 0] * seconds
    u2, u3 = u * u, u * u * u
    curve = (2 * u3 - 3 * u2 + 1) * a + (u3 - 2 * u2 + u) * out + (3 * u2 - 2 * u3) * b + (u3 - u2) * into
    return rotation.normalize(curve) if channel.path == "rotation" else curve


def list_takes(animations: Sequence[Animation], joints: int) -> tuple[Take, ...]:
    """Return names, lengths and rates of all animations; raise `FormatError` for one with too many frames."""
    takes = []
    for number, animation in enumerate(animations):
        start, end = animation.span
        limit = max(MAX_SAMPLES, animation.document.size) / max(joints, 1)
        if not (end - start) * animation.fps < limit:
            raise FormatError(
                f"expected at most {int(limit)} frames, got keys over {end - start:.6g} s at {animation.fps:g} fps",
                path=animation.document.path,
                where=f"animations[{number}]",
            )
        takes.append(Take(animation.name, animation.frames, animation.fps))
    return tuple(takes)


def read_motion(scene: GltfScene, joints: Joints, skeleton: Skeleton, animation: Animation, notes: list[str]) -> Motion:
    """Sample one animation as a motion of the character."""
    document, frames, fps, start = scene.document, animation.frames, animation.fps, animation.span[0]
    number = {node: joint for joint, node in enumerate(joints.nodes) if node >= 0}
    nodes = [max(node, 0) for node in joints.nodes]
    rotations = [scene.rotations[node][None] for node in nodes]
    translations = [scene.translations[node][None] for node in nodes]
    stretches = [scene.stretches[node][None] for node in nodes]
    scaled = 0
    for channel in animation.channels:
        joint = number.get(channel.node)
        if joint is None:
            continue
        times, values = key_values(document, channel, notes)
        curve = sample(channel, times, values, start, fps, frames)
        if channel.path == "rotation":
            rotations[joint] = curve
        elif channel.path == "translation":
            translations[joint] = curve
        else:
            rest = np.diagonal(scene.stretches[channel.node])
            if np.abs(curve - rest).max() > SETTINGS.still * max(1.0, np.abs(rest).max()):
                stretches[joint] = curve[:, :, None] * np.eye(3)
                scaled += int(np.abs(curve - rest).max() > NOTABLE * np.abs(rest).max())
    if scaled:
        where = f"{scaled} {'joint' if scaled == 1 else 'joints'}"
        notes.append(f"scale is animated (at {where}); bone lengths follow it, the thickness of the mesh does not")
    if animation.sampling:
        notes.append(animation.sampling)
    pose = fold(scene, joints, rotations, translations, stretches)
    local = np.empty((frames, len(nodes), 4))
    for joint, curve in enumerate(pose.rotations):
        local[:, joint] = curve
    root = np.empty((frames, 3))
    root[:] = pose.offsets[0]
    skeleton, offsets = place_bones(skeleton, pose.offsets, frames, notes)
    return Motion(skeleton, root, local, fps, offsets)


def moving_nodes(scene: GltfScene, animations: Sequence[Animation], nodes: set[int]) -> set[int]:
    """Return those of the nodes that an animation moves away from their rest transform."""
    out: set[int] = set()
    for animation in animations:
        for channel in animation.channels:
            if channel.node in nodes and channel.node not in out and _changes(scene, channel):
                out.add(channel.node)
    return out


def _changes(scene: GltfScene, channel: Channel) -> bool:
    """Return whether a curve ever differs from the node's rest transform."""
    values = key_values(scene.document, channel)[1]
    if channel.interpolation == "CUBICSPLINE":
        if np.abs(values[:, ::2]).max() > SETTINGS.still:
            return True
        values = values[:, 1]
    if channel.path == "rotation":
        rest = scene.rotations[channel.node]
        return bool((np.abs(values @ rest) < 1.0 - SETTINGS.still).any())
    if channel.path == "translation":
        rest = scene.translations[channel.node]
    else:
        rest = np.diagonal(scene.stretches[channel.node])
    return bool(np.abs(values - rest).max() > SETTINGS.still * max(1.0, np.abs(rest).max()))
