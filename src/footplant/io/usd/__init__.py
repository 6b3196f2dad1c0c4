"""USD files, .usd, .usda, .usdc and .usdz: skeletons, animations and skinned meshes of UsdSkel, read and written.

usd-core (extra "usd") does the reading and writing. `child` reads a file in a child process, because usd-core does not
survive every damaged file; `layers` ensures that no file outside the file's folder is opened; `extract` copies the
data to arrays, from which `characters`, `pose` and `skin` build characters. Writing: onto the character's original
stage if it was loaded from one (`rewrite`), else a new file (`write`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from footplant.clip import Clip
from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io.character import RawCharacter
from footplant.io.source import PackedSource, with_looks
from footplant.io.usd.characters import make_character, read_motion
from footplant.io.usd.child import read
from footplant.io.usd.content import Content, RawSkeleton
from footplant.io.usd.library import require
from footplant.io.usd.rewrite import UsdSource, fits, rewrite
from footplant.io.usd.skin import read_skin
from footplant.io.usd.write import write_new
from footplant.io.writing import check_motions, clips_to_write
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".usd", ".usda", ".usdc", ".usdz")
holds = frozenset({"skin", "takes", "moving bones"})
requires = ("usd", "pxr")
unpacks = "usd"
PLAUSIBLE_SIZES = (0.2, 12.0)
"""Metres. If a file states no unit, USD's default (the centimetre) is used for characters in this size range."""


def load(path: str | Path, *, isolated: bool = True) -> tuple[RawCharacter, ...]:
    """Read every skeleton of a USD file. isolated=False reads in this process: faster, for trusted files."""
    require()
    path = Path(path)
    data = path.read_bytes()
    if not data:
        raise FormatError("expected USD, got an empty file", path=path)
    return read_characters(path, data, read(path, data, isolated=isolated))


def read_characters(path: Path, data: bytes, content: Content) -> tuple[RawCharacter, ...]:
    """Return the characters in the extracted content of a file."""
    # overflow gives infinities, which `Skeleton` and `Motion` reject
    with np.errstate(all="ignore"):
        try:
            return tuple(_raw_character(path, data, content, raw) for raw in content.skeletons)
        except (SkeletonError, MotionError, np.linalg.LinAlgError) as error:
            raise FormatError(str(error), path=path) from error


def _raw_character(path: Path, data: bytes, content: Content, raw: RawSkeleton) -> RawCharacter:
    character = make_character(path, raw)
    skin = read_skin(character)
    found: dict[int, tuple[str, ...]] = {}

    def read_take(number: int) -> Motion:
        with np.errstate(all="ignore"):
            try:
                take_notes: list[str] = []
                motion = read_motion(character, number, take_notes)
                found[number] = tuple(take_notes)
                return motion
            except (MotionError, SkeletonError) as error:
                raise FormatError(str(error), path=path, where=character.animations[number].path) from error

    scale: float | None = content.scale
    if not content.declared:
        size = float(np.ptp(character.skeleton.rest_world[0], axis=0).max(initial=0.0)) * content.scale
        scale = content.scale if PLAUSIBLE_SIZES[0] <= size <= PLAUSIBLE_SIZES[1] else None
    return RawCharacter(
        name=raw.name,
        skeleton=character.skeleton,
        takes=character.takes,
        read_take=read_take,
        take_notes=lambda number: found.get(number, ()),
        scale=scale,
        up=content.up,
        skin=skin,
        source=UsdSource(character, data, content.scale),
        contents=content.counts,
        notes=(*content.notes, *character.notes),
    )


def count_contents(path: str | Path) -> dict[str, int]:
    """Return what a file holds, counted: see `io.contents`."""
    require()
    path = Path(path)
    return read(path, path.read_bytes(), isolated=True).counts


def unpack_source(packed: PackedSource, skeleton: Skeleton) -> UsdSource | None:
    """Return the source that `UsdSource.pack` packed; None if it does not match the skeleton."""
    # this folder does not exist: a packed file is self-contained and must not open any other
    path = Path("packed source", f"source{packed.extension}")
    for character in read_characters(path, packed.data, read(path, packed.data, isolated=True)):
        if fits(character.source, skeleton):
            for take in range(len(character.takes)):
                # reading a take registers its bone offsets with the source, if they differ from the rest pose
                character.read_take(take)  # type: ignore[misc]
            return character.source
    return None


def save(path: str | Path, clip: Clip, *, keep_takes: bool | None = None, takes: Sequence[Clip] = ()) -> None:
    """Save a clip as .usda (text), .usdc or .usd (binary) or .usdz (a package).

    A character that was loaded from USD keeps its stage: meshes, materials, variants and blend shapes are preserved,
    and the motion becomes its animation. An unmodified clip is copied byte for byte. Any other character gets a stage
    with its meshes, materials, textures and morph targets; the pictures are inside a .usdz, beside other files in a
    folder named after the file.

    keep_takes: whether the other animations of the character's own file are kept, as SkelAnimation prims that are not
    bound to the skeleton; on a stage of its own they are unless it is False. takes: every take of the character, as
    `footplant.io.load_takes` yields them; the clip replaces its own, and is the one that plays.
    """
    require()
    path = Path(path)
    source = clip.character.source
    own = isinstance(source, UsdSource) and fits(source, clip.motion.skeleton)
    clips = clips_to_write(clip, takes, False if own else keep_takes)
    check_motions(path, clip.character, clips)
    if own:
        rewrite(path, clip, clips, source, keep_takes)
    else:
        write_new(path, clip, clips, with_looks(clip.character).skin)
