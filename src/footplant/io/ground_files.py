"""Ground geometry by name or from files: "noise:3", "stairs:0.17:0.3", "stones:0.4:0.3", an image, heights, a mesh."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import grounds, rotation
from footplant.clip import Clip
from footplant.contacts import moving_ground
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import GroundPart, MovingGround, PartedGround
from footplant.errors import FormatError, MissingExtraError
from footplant.geometry import HeightField
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Character


@dataclass(frozen=True)
class GroundSettings:
    """Defaults of grounds. No experiment is on record for them."""

    cell: float = 0.1
    """Metres between pixels or height samples if not given. Doubled, the ground is twice as large."""
    mesh_cell: float = 0.02
    """Metres between the height samples that a mesh is rasterised to. Halved: four times the memory, finer edges."""
    stairs_distance: float = 0.7
    """Body heights from the start of the motion to the first step of stairs, at most."""
    stairs_share: float = 0.5
    """Of the way of a motion that stairs begin after, at most: a walk of 1.1 m by short legs ends before stairs that
    are 0.7 body heights ahead."""
    stairs_count: int = 10
    """Steps of stairs if not given."""
    stones_count: int = 8
    """Stepping stones if not given."""
    stones_jitter: float = 0.25
    """Gaps by which stones are displaced at random, at most, if not given."""
    stones_depth: float = 0.6
    """Body heights from stones down to the bottom: more than the highest step that can be climbed
    (`feet.step_plan`)."""
    beam_length: float = 3.0
    """Metres of a beam if not given."""
    image_relief: float = 0.4
    """Body heights between black and white pixels if not given."""
    margin: float = 0.5
    """Body heights of ground around the region that the motion covers."""
    min_travel: float = 0.2
    """Body heights. A motion that travels less is headed where the character faces at the start."""
    default_height: float = 1.7
    """Metres. Body height of a character whose own is unknown."""


SETTINGS = GroundSettings()
MAX_PIXELS = grounds.MOST_CELLS


@dataclass(frozen=True)
class Course:
    """The facts about a motion that a ground made for it depends on."""

    start: tuple[float, float]
    """(x, z) of the character at the start, metres."""
    low: tuple[float, float]
    """Minimum corner (x, z) of the ground region that the motion may touch, metres."""
    high: tuple[float, float]
    """Maximum corner (x, z), metres."""
    heading: float
    """Direction of travel, radians: see `footplant.grounds.direction`."""
    height: float
    """Body height, metres."""
    way: float = math.inf
    """Metres that the motion gets ahead; ∞ if unknown, or if it ends where it starts."""

    @classmethod
    def of(cls, motion: Motion, character: Character, scale: float = 1.0) -> Course:
        """Return the course of a motion; scale: path length on the target character relative to the source."""
        places = Kinematics(motion).positions[..., ::2].reshape(-1, 2)
        start = places.reshape(len(motion), -1, 2)[0, 0]
        root = motion.root[:, ::2]
        way, length = root[-1] - root[0], math.inf
        if np.linalg.norm(way) < SETTINGS.min_travel * character.height:
            way = _facing(motion, character)
        else:
            length = scale * float(((root - root[0]) @ way).max() / np.linalg.norm(way))
        places = start + (places - start) * max(scale, 1.0)
        height = character.height or SETTINGS.default_height
        low, high = places.min(axis=0) - SETTINGS.margin * height, places.max(axis=0) + SETTINGS.margin * height
        corners = [(float(x), float(z)) for x, z in (start, low, high)]
        return cls(corners[0], corners[1], corners[2], float(np.arctan2(*way)), height, length)


def _facing(motion: Motion, character: Character) -> NDArray:
    """Return (2,) the horizontal direction that the character faces in the first frame."""
    if character.roles is None:
        return np.array([0.0, 1.0])
    places = Kinematics(motion[:1]).positions[0]
    left = places[character.roles["left_upper_leg"]] - places[character.roles["right_upper_leg"]]
    return np.cross(left, rotation.AXES["y"])[::2]


@dataclass(frozen=True)
class GroundOptions:
    """Parameters of a height file or a mesh that the file does not define."""

    cell: float | None = None
    """Metres between two pixels or height samples; None: the default of `GroundSettings`."""
    relief: float | None = None
    """Metres from the lowest to the highest point; None: as in the file, or 40 % of the body height for images."""
    up: str = "y"
    """The vertical axis of a mesh: x, y, z, -x …"""
    center: tuple[float, float] | None = None
    """(x, z) of the ground's centre, metres; None: a mesh keeps its position, others are centred on the path."""


def load_ground(text: str, course: Course, options: GroundOptions | None = None, *, planned: bool = True) -> Ground:
    """Return a ground by name or from a file.

    "noise:SEED[:AMPLITUDE[:SPACING]]": rough terrain with control points up to AMPLITUDE metres high and SPACING metres
    apart (20 % and 80 % of the body height, as in Lee & Shin 1999). "stairs:RISE:RUN[:COUNT[:START[:HEADING]]]": COUNT
    (10) steps that begin START metres ahead of the start, along the direction of travel or HEADING degrees to its left;
    a negative RISE descends. "slope:DEGREES[:HEADING]": a plane that rises along the direction of
    travel, or HEADING degrees to its left. "stones:SIZE:GAP[:SEED[:JITTER[:COUNT[:START[:HEADING]]]]]": COUNT (8)
    square stones across a ditch, GAP metres apart, each displaced by up to JITTER metres (a quarter of the gap).
    "beam:WIDTH:HEIGHT[:LENGTH[:START[:HEADING]]]": a beam of LENGTH (3) metres, HEIGHT above the ground, or, negative,
    across a ditch that deep. START and HEADING are those of stairs. "moving:lift:RISE:SECONDS",
    "moving:conveyor:SPEED[:HEADING]", "moving:deck:DEGREES:SECONDS[:HEADING]" and "moving:turntable:DEGREES[:AHEAD]":
    level ground that rises, travels (metres/s, along the direction of travel or HEADING degrees to its left), rolls
    about such an axis, or turns by DEGREES a second about a place AHEAD metres ahead of the start; "+GROUND" after it
    puts another ground on it. Files: an image (white is high, up in the image is ahead), a .npy array of heights (along
    x, along z), or a mesh (.obj, .glb, .gltf), of which the topmost surface is used. planned: whether
    whole steps are planned on it, as stones and beams need; others are refused them.
    """
    path, kind = Path(text), text.partition(":")[0]
    if path.exists():
        return _read(path, course, options or GroundOptions())
    if kind != MOVING and kind not in _GENERATORS:
        raise FormatError(
            f"no such file, and no ground of that name; expected {', '.join([*_GENERATORS, MOVING])}", path=path
        )
    return named_ground(
        text, course, lambda under: load_ground(under, course, options, planned=planned), planned=planned
    )


def named_ground(
    text: str, course: Course, under: Callable[[str], Ground] | None = None, *, planned: bool = False
) -> Ground:
    """Return a ground by name, as in `load_ground`, without reading a file.

    under: makes what is on a ground that moves; by name as well if not given.
    """
    name, _, rest = text.partition(":")
    if not planned and name in NEED_PLANS:
        raise FormatError("steps on stones and beams must be planned, as footplant terrain does; not here", path=text)
    if name == MOVING:
        kind, plus, base_text = rest.partition("+")
        make = under or (lambda text: named_ground(text, course))
        base = make(base_text) if plus else None
        if isinstance(base, MovingGround):
            raise FormatError("expected a ground that does not move after +", path=text)
        try:
            return _moving(kind.split(":"), course, base)
        except ValueError as error:
            raise FormatError(f"{error}; see footplant terrain --help", path=text) from None
    if name not in _GENERATORS:
        raise FormatError(f"no ground of that name; expected {', '.join([*_GENERATORS, MOVING])}", path=text)
    try:
        return _GENERATORS[name](rest.split(":") if rest else [], course)
    except ValueError as error:
        raise FormatError(f"{error}; see footplant terrain --help", path=text) from None


@dataclass(frozen=True)
class MadeFor:
    """The ground that a motion was made for, as `load_ground` takes it; animations of glTF files carry it."""

    text: str
    course: Course
    options: GroundOptions

    def load(self) -> Ground:
        """Return the ground."""
        return load_ground(self.text, self.course, self.options)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary."""
        course = asdict(self.course)
        course["way"] = self.course.way if math.isfinite(self.course.way) else None
        return {"ground": self.text, "course": course, "options": asdict(self.options)}

    @classmethod
    def of(cls, clip: Clip) -> MadeFor | None:
        """Return the ground that the file of a clip says it was made for; None if it says none, or nonsense."""
        from footplant.io.gltf.rewrite import GltfSource
        from footplant.io.gltf.scene import MADE_FOR

        source = clip.character.source
        if not isinstance(source, GltfSource) or not clip.takes:
            return None
        animations = source.document.json.get("animations") or []
        extras = animations[source.animations[clip.take].number].get("extras")
        stated = extras.get(MADE_FOR) if isinstance(extras, dict) else None
        try:
            course, options = dict(stated["course"]), dict(stated["options"])  # type: ignore[index]
            pairs = {key: (float(course[key][0]), float(course[key][1])) for key in ("start", "low", "high")}
            way = math.inf if course["way"] is None else float(course["way"])
            center = None if options["center"] is None else (float(options["center"][0]), float(options["center"][1]))
            cell, relief = (None if options[key] is None else float(options[key]) for key in ("cell", "relief"))
            return cls(
                str(stated["ground"]),  # type: ignore[index]
                Course(**pairs, heading=float(course["heading"]), height=float(course["height"]), way=way),
                GroundOptions(cell, relief, str(options["up"]), center),
            )
        except (KeyError, IndexError, TypeError, ValueError):
            return None


def _numbers(values: list[str], form: str, least: int, most: int) -> list[float]:
    """Return `least` to `most` finite numbers; form: the expected syntax, for messages."""
    if not least <= len(values) <= most:
        raise ValueError(f"expected {form}, got {len(values)} values")
    try:
        found = [float(value) for value in values]
    except ValueError:
        raise ValueError(f"expected numbers as in {form}, got {':'.join(values)!r}") from None
    if not np.isfinite(found).all():
        raise ValueError(f"expected finite numbers as in {form}, got {':'.join(values)!r}")
    return found


def _noise(values: list[str], course: Course) -> Ground:
    numbers = _numbers(values, "noise:SEED[:AMPLITUDE[:SPACING]]", 1, 3)
    if numbers[0] != int(numbers[0]):
        raise ValueError(f"expected a whole number as seed, got {values[0]!r}")
    usual = [0.0, grounds.PAPER_RELIEF * course.height, grounds.PAPER_SPACING * course.height]
    seed, amplitude, spacing = [*numbers, *usual[len(numbers) :]]
    return grounds.rough(int(seed), amplitude, spacing, course.low, course.high)


def _stairs(values: list[str], course: Course) -> Ground:
    rise, run, *others = _numbers(values, "stairs:RISE:RUN[:COUNT[:START[:HEADING]]]", 2, 5)
    usual = [float(SETTINGS.stairs_count), _distance(course), 0.0]
    count, distance, turned = [*others, *usual[len(others) :]]
    return grounds.Stairs(rise, run, int(count), *_ahead(distance, turned, course))


def _ahead(distance: float, degrees: float, course: Course) -> tuple[tuple[float, float], float]:
    """Return the place (x, z) metres ahead of a course's start in a direction to its left, and that heading."""
    heading = course.heading + math.radians(degrees)
    x, z = (np.array(course.start) + distance * grounds.direction(heading)).tolist()
    return (x, z), heading


def _stones(values: list[str], course: Course) -> Ground:
    size, gap, *others = _numbers(values, "stones:SIZE:GAP[:SEED[:JITTER[:COUNT[:START[:HEADING]]]]]", 2, 7)
    usual = [0.0, SETTINGS.stones_jitter * gap, float(SETTINGS.stones_count), _distance(course), 0.0]
    seed, jitter, count, distance, turned = [*others, *usual[len(others) :]]
    for value, what in ((seed, "seed"), (count, "number of stones")):
        if value != int(value):
            raise ValueError(f"expected a whole number as {what}, got {value:g}")
    start, heading = _ahead(distance, turned, course)
    return grounds.stones(
        size, gap, int(seed), jitter, int(count), start, heading, SETTINGS.stones_depth * course.height
    )


def _beam(values: list[str], course: Course) -> Ground:
    width, height, *others = _numbers(values, "beam:WIDTH:HEIGHT[:LENGTH[:START[:HEADING]]]", 2, 5)
    usual = [SETTINGS.beam_length, _distance(course), 0.0]
    length, distance, turned = [*others, *usual[len(others) :]]
    return grounds.beam(width, height, length, *_ahead(distance, turned, course))


def _distance(course: Course) -> float:
    """Return metres from the start of a motion to stairs, stones or a beam."""
    return min(SETTINGS.stairs_distance * course.height, SETTINGS.stairs_share * course.way)


def _slope(values: list[str], course: Course) -> Ground:
    degrees, *turned = _numbers(values, "slope:DEGREES[:HEADING]", 1, 2)
    heading = course.heading + np.radians(turned[0] if turned else 0.0)
    return grounds.slope(degrees, heading, (course.start[0], 0.0, course.start[1]))


def _moving(values: list[str], course: Course, base: Ground | None) -> MovingGround:
    kind, values = values[0], values[1:]
    if kind == "lift":
        rise, seconds = _numbers(values, "moving:lift:RISE:SECONDS", 2, 2)
        return moving_ground.lift(rise, seconds, base)
    if kind == "conveyor":
        speed, *turned = _numbers(values, "moving:conveyor:SPEED[:HEADING]", 1, 2)
        return moving_ground.conveyor(speed, course.heading + np.radians(turned[0] if turned else 0.0), base)
    if kind == "deck":
        degrees, seconds, *turned = _numbers(values, "moving:deck:DEGREES:SECONDS[:HEADING]", 2, 3)
        heading = course.heading + np.radians(turned[0] if turned else 0.0)
        return moving_ground.deck(degrees, seconds, heading, (course.start[0], 0.0, course.start[1]), base)
    if kind == "turntable":
        speed, *ahead = _numbers(values, "moving:turntable:DEGREES[:AHEAD]", 1, 2)
        (x, z), _ = _ahead(ahead[0] if ahead else 0.0, 0.0, course)
        return moving_ground.turntable(speed, (x, 0.0, z), base)
    raise ValueError(f"expected moving:lift, moving:conveyor, moving:turntable or moving:deck, got moving:{kind}")


def parted_ground(text: str, course: Course, make: Callable[[str], Ground]) -> PartedGround:
    """Return level ground with parts that move, by name.

    "part:WIDTH:LENGTH:START+moving:…", several of them separated by "|": a part WIDTH metres wide, and LENGTH metres
    long along the direction of travel, that begins START metres ahead. Conveyors are let into the floor, the outline of
    others moves with them. make: makes the moving grounds.
    """
    parts = []
    for each in text.split("|"):
        head, plus, moving = each.partition("+")
        try:
            if not head.startswith(f"{PART}:") or not plus:
                raise ValueError(f"expected part:WIDTH:LENGTH:START+moving:…, got {each!r}")
            width, length, start = _numbers(head.split(":")[1:], "part:WIDTH:LENGTH:START", 3, 3)
        except ValueError as error:
            raise FormatError(str(error), path=text) from None
        ground = make(moving)
        if not isinstance(ground, MovingGround):
            raise FormatError("expected a ground that moves after +", path=text)
        place, heading = _ahead(start + 0.5 * length, 0.0, course)
        stays = moving.startswith(f"{MOVING}:conveyor")
        parts.append(GroundPart(ground, (width, length), place, heading, travels=not stays))
    return PartedGround(tuple(parts))


MOVING, PART = "moving", "part"
NEED_PLANS = ("stones", "beam")
"""Grounds on which feet stand in few places."""
_GENERATORS: dict[str, Callable[[list[str], Course], Ground]] = {
    "noise": _noise, "stairs": _stairs, "slope": _slope, "stones": _stones, "beam": _beam,
}  # fmt: skip


def _read(path: Path, course: Course, options: GroundOptions) -> HeightField:
    ending = path.suffix.lower()
    try:
        if ending in (".obj", ".glb", ".gltf"):
            vertices, faces = _read_mesh(path, ending)
            vertices = rotation.rotate(_upright(options.up, path), vertices)
            if options.center is not None:
                middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))[::2]
                vertices = vertices + np.insert(np.asarray(options.center) - middle, 1, 0.0)
            ground = grounds.rasterized(vertices, faces, options.cell or SETTINGS.mesh_cell)
            heights = _relief(ground.heights, options.relief)
            return HeightField(heights, ground.spacing, ground.origin, ground.basis)
        if ending == ".npy":
            heights = _relief(_read_array(path), options.relief)
        else:
            # image rows run top to bottom and columns left to right: up is +z (ahead) and left is +x
            pixels = _read_picture(path)
            relief = SETTINGS.image_relief * course.height if options.relief is None else options.relief
            heights = relief * pixels[::-1, ::-1].T
        spacing = options.cell or SETTINGS.cell
        center = options.center or tuple(0.5 * (np.array(course.low) + course.high))
        x, z = (float(at - 0.5 * spacing * (size - 1)) for at, size in zip(center, heights.shape))
        return HeightField(heights, spacing, (x, z))
    except ValueError as error:
        raise FormatError(str(error), path=path) from error


def _relief(heights: NDArray, relief: float | None) -> NDArray:
    """Return heights rescaled to span that many metres from 0; unchanged if relief is None."""
    span = float(np.ptp(heights))
    return heights if relief is None or span == 0 else (heights - heights.min()) * (relief / span)


def _read_array(path: Path) -> NDArray:
    from footplant.io.npz.archive import open_archive

    with path.open("rb") as file:
        archive = open_archive(file, path)
        if "" not in archive:
            raise FormatError("expected a .npy array of heights, got an archive of several", path=path)
        heights = archive.floats("")
    if heights.ndim != 2:
        raise FormatError(f"expected heights on a grid of two dimensions, got shape {heights.shape}", path=path)
    return heights


def _read_picture(path: Path) -> NDArray:
    """Return (rows, columns) brightness, 0 to 1."""
    try:
        from matplotlib import image
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "reading images as grounds") from error
    try:
        with Image.open(path) as opened:
            width, height = opened.size
        if width * height > MAX_PIXELS:
            raise FormatError(f"expected at most {MAX_PIXELS:,} pixels, got {width} × {height}", path=path)
        pixels = np.asarray(image.imread(path))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise FormatError(f"expected an image, an array (.npy) or a mesh (.obj, .glb): {error}", path=path) from error
    values = pixels.astype(float) / (255.0 if pixels.dtype == np.uint8 else 1.0)
    return values if values.ndim == 2 else values[..., : min(values.shape[2], 3)].mean(axis=2)


def _read_mesh(path: Path, ending: str) -> tuple[NDArray, NDArray]:
    if ending == ".obj":
        return read_obj(path)
    from footplant.io.gltf.document import read_document
    from footplant.io.gltf.mesh import read_triangles

    return read_triangles(read_document(path))


def read_obj(path: Path) -> tuple[NDArray, NDArray]:
    """Return vertices (V, 3) and triangles (T, 3) of a Wavefront OBJ file; polygons become triangle fans."""
    vertices: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        word, *values = line.split("#")[0].split() or [""]
        try:
            if word == "v":
                vertices.append([float(value) for value in values[:3]])
                if len(vertices[-1]) < 3:
                    raise ValueError(f"expected 3 numbers, got {len(values)}")
            elif word == "f":
                corners = [int(value.split("/")[0]) for value in values]
                # OBJ indices: 1 is the first vertex, −1 the latest one
                corners = [corner - 1 if corner > 0 else len(vertices) + corner for corner in corners]
                if len(corners) < 3 or not all(0 <= corner < len(vertices) for corner in corners):
                    raise ValueError(f"expected corners among the {len(vertices)} vertices so far, got {values}")
                faces += [(corners[0], b, c) for b, c in pairwise(corners[1:])]
        except ValueError as error:
            raise FormatError(str(error), path=path, where=f"line {number}") from None
    if not faces:
        raise FormatError("expected a mesh with faces, got none", path=path)
    return np.array(vertices), np.array(faces)


def _upright(up: str, path: Path) -> NDArray:
    """Return (4,) the rotation that takes a mesh's vertical axis to +y."""
    sign, axis = (-1.0, up[1:]) if up.startswith("-") else (1.0, up)
    if axis not in rotation.AXES:
        raise FormatError(f"expected an axis x, y, z, -x, -y or -z as up, got {up!r}", path=path)
    return rotation.between(sign * np.asarray(rotation.AXES[axis]), rotation.AXES["y"])
