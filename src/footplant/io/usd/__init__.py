"""USD, .usd, .usda, .usdc and .usdz: skeletons, animations and skinned meshes of UsdSkel, in and out.

Reading and writing goes through usd-core (extra "usd"). `child` reads a file in a process of its own, because usd-core
does not survive every damaged file; `layers` sees to it that nothing outside the file's folder is opened; `extract`
takes out plain arrays, of which `figures`, `pose` and `skin` make our figures. Writing: onto the character's own stage
where it came from one (`rewrite`), else a new file (`write`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io.character import RawCharacter
from footplant.io.source import PackedSource
from footplant.io.usd.characters import make_figure, read_motion
from footplant.io.usd.child import read
from footplant.io.usd.content import Content, RawSkeleton
from footplant.io.usd.library import require
from footplant.io.usd.rewrite import UsdSource, fits, pack_whole, rewrite
from footplant.io.usd.skin import read_skin
from footplant.io.usd.write import write_new
from footplant.io.writing import check_motions
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".usd", ".usda", ".usdc", ".usdz")
holds = frozenset({"skin", "moving bones"})
requires = ("usd", "pxr")
unpacks = "usd"
BELIEVABLE = (0.2, 12.0)
"""Sizes of figures, metres, for which USD's unit (the centimetre) is taken where a file states none."""


def load(path: str | Path, *, isolated: bool = True) -> tuple[RawCharacter, ...]:
    """Read every skeleton of a USD file. isolated=False reads in this process: quicker, for files that are trusted."""
    require()
    path = Path(path)
    data = path.read_bytes()
    if not data:
        raise FormatError("expected USD, got an empty file", path=path)
    return read_figures(path, data, read(path, data, isolated=isolated))


def read_figures(path: Path, data: bytes, content: Content) -> tuple[RawCharacter, ...]:
    """Figures of what was taken out of a file."""
    # numbers that overflow end as infinities, which the checks of skeleton and motion refuse
    with np.errstate(all="ignore"):
        try:
            return tuple(_figure(path, data, content, raw) for raw in content.skeletons)
        except (SkeletonError, MotionError, np.linalg.LinAlgError) as error:
            raise FormatError(str(error), path=path) from error


def _figure(path: Path, data: bytes, content: Content, raw: RawSkeleton) -> RawCharacter:
    figure = make_figure(path, raw)
    skin = read_skin(figure)
    found: dict[int, tuple[str, ...]] = {}

    def read_take(number: int) -> Motion:
        with np.errstate(all="ignore"):
            try:
                odd: list[str] = []
                motion = read_motion(figure, number, odd)
                found[number] = tuple(odd)
                return motion
            except (MotionError, SkeletonError) as error:
                raise FormatError(str(error), path=path, where=figure.animations[number].path) from error

    scale: float | None = content.scale
    if not content.declared:
        size = float(np.ptp(figure.skeleton.rest_world[0], axis=0).max(initial=0.0)) * content.scale
        scale = content.scale if BELIEVABLE[0] <= size <= BELIEVABLE[1] else None
    return RawCharacter(
        name=raw.name,
        skeleton=figure.skeleton,
        takes=figure.takes,
        read_take=read_take,
        take_notes=lambda number: found.get(number, ()),
        scale=scale,
        up=content.up,
        skin=skin,
        source=UsdSource(figure, data, content.scale),
        notes=(*content.notes, *figure.notes),
    )


def pack_source(source: object) -> PackedSource | None:
    """A USD character's own stage as one self-contained file; None for what is not ours."""
    return pack_whole(source) if isinstance(source, UsdSource) else None


def unpack_source(packed: PackedSource, skeleton: Skeleton) -> UsdSource | None:
    """The source that `pack_source` packed, for a figure of that skeleton; None where it does not fit."""
    # a folder of no files: a packed file needs none beside it, and must not reach for any
    path = Path("packed source", f"source{packed.extension}")
    for figure in read_figures(path, packed.data, read(path, packed.data, isolated=True)):
        if fits(figure.source, skeleton):
            for take in range(len(figure.takes)):
                # some takes hold joints at other places: the source learns of them as they are read
                figure.read_take(take)  # type: ignore[misc]
            return figure.source
    return None


def save(path: str | Path, clip: Clip) -> None:
    """Write a clip as .usda (text), .usdc or .usd (binary) or .usdz (a package).

    A character that was loaded from USD keeps its stage: meshes, materials, variants and blend shapes stay as they
    were, and the motion becomes its animation. A clip that nothing changed is copied byte for byte.
    """
    require()
    path = Path(path)
    check_motions(path, clip.character, [clip])
    source = clip.character.source
    if isinstance(source, UsdSource) and fits(source, clip.motion.skeleton):
        rewrite(path, clip, source)
    else:
        write_new(path, clip)
