"""Collada animations: curves of transform elements, sampled to transforms of nodes.

A node's matrix is the product of its transform elements, each of which may be animated as a whole, by component or by
angle. Nodes are sampled at the keys of their curves, and between keys often enough to follow rotations of any size and
curves of any kind.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.io.collada.document import ColladaDocument

MAX_TURN = np.pi / 6
"""Radians between samples: glTF interpolates along the shorter arc."""
STEPS = 8
"""Samples between two keys of a curve that is not linear."""
MAX_SAMPLES = 4_000_000
"""Largest number of samples × nodes of a file."""
_MEMBERS = {"X": 0, "Y": 1, "Z": 2, "ANGLE": 3}
TRANSFORMS = ("matrix", "translate", "rotate", "scale", "lookat", "skew")


@dataclass(frozen=True, eq=False)
class Curve:
    """One channel: values of a transform element, or of one of its numbers, over time."""

    node: str
    sid: str
    member: int | None
    """Which of the element's numbers; None for all."""
    times: NDArray
    """(K,) seconds, ascending."""
    values: NDArray
    """(K, width)."""
    kinds: tuple[str, ...]
    """Interpolation after each key: LINEAR, STEP, BEZIER …"""
    tangents: tuple[NDArray, NDArray] | None
    """In- and out-tangents (K, width, 2), time and value, for BEZIER and HERMITE."""

    def sample_times(self) -> NDArray:
        """Return the times at which the curve has to be sampled."""
        out = [self.times]
        for key in range(len(self.times) - 1):
            start, end = self.times[key], self.times[key + 1]
            steps = 1 if self.kinds[key] == "LINEAR" else STEPS
            if self.member == _MEMBERS["ANGLE"] or (self.member is None and self.values.shape[1] == 4):
                turn = abs(np.radians(self.values[key + 1, -1] - self.values[key, -1]))
                steps = max(steps, int(min(np.ceil(turn / MAX_TURN), 1000)))
            if steps > 1:
                out.append(np.linspace(start, end, steps + 1)[1:-1])
            if self.kinds[key] == "STEP":
                out.append(np.array([end - 1e-4 * (end - start)]))
        return np.unique(np.concatenate(out))

    def at(self, times: NDArray) -> NDArray:
        """Return the values (T, width) at times; held before the first and after the last key."""
        place = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, max(len(self.times) - 2, 0))
        if len(self.times) == 1:
            return np.repeat(self.values, len(times), axis=0)
        start, end = self.times[place], self.times[place + 1]
        share = np.clip((times - start) / np.where(end > start, end - start, 1.0), 0.0, 1.0)
        first, second = self.values[place], self.values[place + 1]
        out = first + share[:, None] * (second - first)
        kinds = np.array(self.kinds)[place]
        out = np.where((kinds == "STEP")[:, None] & (share < 1.0)[:, None], first, out)
        if self.tangents is not None:
            curved = np.isin(kinds, ("BEZIER", "HERMITE"))
            for sample in np.flatnonzero(curved):
                out[sample] = self._curved(int(place[sample]), float(times[sample]))
        return out

    def _curved(self, key: int, time: float) -> NDArray:
        """Return the value of a cubic segment at a time."""
        assert self.tangents is not None
        incoming, outgoing = self.tangents
        start, end = self.times[key], self.times[key + 1]
        first, second = self.values[key], self.values[key + 1]
        if self.kinds[key] == "HERMITE":
            s = (time - start) / max(end - start, 1e-12)
            m0, m1 = outgoing[key, :, 1], incoming[key + 1, :, 1]
            return (
                (2 * s**3 - 3 * s**2 + 1) * first + (s**3 - 2 * s**2 + s) * m0
                + (3 * s**2 - 2 * s**3) * second + (s**3 - s**2) * m1
            )  # fmt: skip
        out = np.empty(len(first))
        for column in range(len(first)):
            controls = np.clip([start, outgoing[key, column, 0], incoming[key + 1, column, 0], end], start, end)
            low, high = 0.0, 1.0
            for _ in range(40):
                middle = (low + high) / 2
                if _bezier(controls, middle) < time:
                    low = middle
                else:
                    high = middle
            values = [first[column], outgoing[key, column, 1], incoming[key + 1, column, 1], second[column]]
            out[column] = _bezier(values, (low + high) / 2)
        return out


def _bezier(controls, s: float) -> float:
    a, b, c, d = controls
    return (1 - s) ** 3 * a + 3 * s * (1 - s) ** 2 * b + 3 * s**2 * (1 - s) * c + s**3 * d


def read_curves(document: ColladaDocument, animation: Element) -> list[Curve]:
    """Return the channels of an <animation> and of those inside it, as far as they move transforms."""
    curves = []
    for element in animation.iter("animation"):
        for channel in element.findall("channel"):
            curve = _read_channel(document, channel)
            if curve is not None:
                curves.append(curve)
    return curves


def _read_channel(document: ColladaDocument, channel: Element) -> Curve | None:
    match = re.fullmatch(r"([^/]+)/([^/.()]+)(?:\.(\w+)|((?:\(\d+\)){1,2}))?", channel.get("target", ""))
    if match is None:
        return None
    node, sid, name, index = match.groups()
    element = document.by_id.get(node)
    target = None if element is None else next((e for e in element if e.get("sid") == sid), None)
    if target is None or target.tag not in TRANSFORMS:
        # weights of morph targets, materials, cameras
        return None
    member = None
    if name is not None:
        if name not in _MEMBERS:
            return None
        member = _MEMBERS[name]
    elif index is not None:
        parts = [int(part) for part in re.findall(r"\d+", index)]
        # (i)(j) is column i, row j of a matrix
        member = parts[0] if len(parts) == 1 else parts[1] * 4 + parts[0]
    where = f"<channel {channel.get('target', '')[:60]}>"
    sampler = document.follow(channel.get("source"), "sampler", where)
    times = document.rows(document.input(sampler, "INPUT"), where, 1)[:, 0]
    values = document.rows(document.input(sampler, "OUTPUT"), where)
    width = len(document.numbers(target))
    if member is not None and member >= width:
        return None
    if not len(times) or len(values) != len(times) or (member is None and values.shape[1] != width):
        document.fail(where, f"expected {len(times)} values of {width} numbers, got {values.shape}")
    if (np.diff(times) < 0).any():
        document.fail(where, "expected ascending times, got others")
    source = document.input(sampler, "INTERPOLATION")
    kinds = document.words(source, where) if source is not None else []
    kinds = (kinds + ["LINEAR"] * len(times))[: len(times)]
    tangents = None
    parts = [document.input(sampler, key) for key in ("IN_TANGENT", "OUT_TANGENT")]
    if all(part is not None for part in parts):
        rows = [document.rows(part, where) for part in parts]
        if all(r.shape == (len(times), 2 * values.shape[1]) for r in rows):
            tangents = tuple(r.reshape(len(times), -1, 2) for r in rows)
    if tangents is None:
        kinds = [kind if kind == "STEP" else "LINEAR" for kind in kinds]
    return Curve(node, sid, member, times, values, tuple(kinds), tangents)  # type: ignore[arg-type]


def element_matrices(tag: str, values: NDArray) -> NDArray:
    """Return (T, 4, 4) the matrices of a transform element with values (T, width)."""
    out = np.tile(np.eye(4), (len(values), 1, 1))
    if tag == "matrix":
        return values.reshape(-1, 4, 4)
    if tag == "translate":
        out[:, :3, 3] = values
    elif tag == "scale":
        out[:, [0, 1, 2], [0, 1, 2]] = values
    elif tag == "rotate":
        length = np.linalg.norm(values[:, :3], axis=1)
        axis = values[:, :3] / np.where(length > 0, length, 1.0)[:, None]
        turn = rotation.exp(axis * np.radians(values[:, 3])[:, None])
        out[:, :3, :3] = rotation.to_matrix(turn)
    elif tag == "lookat":
        eye, towards, up = values[:, :3], values[:, 3:6], values[:, 6:9]
        back = _unit(eye - towards)
        right = _unit(np.cross(up, back))
        out[:, :3, :3] = np.stack([right, np.cross(back, right), back], axis=2)
        out[:, :3, 3] = eye
    return out


def _unit(vectors: NDArray) -> NDArray:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.where(length > 0, vectors / np.where(length > 0, length, 1.0), [1.0, 0.0, 0.0])


def node_matrices(document: ColladaDocument, node: Element, curves: list[Curve], times: NDArray) -> NDArray:
    """Return (T, 4, 4) a node's local matrix at times, in the file's units."""
    out = np.tile(np.eye(4), (len(times), 1, 1))
    for element in node:
        if element.tag not in TRANSFORMS:
            continue
        width = {"matrix": 16, "rotate": 4, "lookat": 9, "skew": 7}.get(element.tag, 3)
        values = np.repeat(document.numbers(element, width)[None], len(times), axis=0)
        for curve in curves:
            if curve.sid == element.get("sid"):
                if curve.member is None:
                    values = curve.at(times)
                else:
                    values[:, curve.member] = curve.at(times)[:, 0]
        out = out @ element_matrices(element.tag, values)
    return out
