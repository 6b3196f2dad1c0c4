"""Write a motion onto a character that was loaded from USD: its stage is preserved, only its SkelAnimation is written.

The root layer is copied whole, so meshes, materials, variants and blend shapes are kept; the animation's opinions are
strongest there. If other layers are involved and the new file is written elsewhere, the stage is flattened into one
layer instead, with its variants as selected.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.atomic import write_atomic
from footplant.clip import Clip, Take
from footplant.io.file_space import in_file_space
from footplant.io.source import PackedSource
from footplant.io.usd.characters import UsdCharacter, read_motion
from footplant.io.usd.layers import Opened, open_stage
from footplant.io.usd.library import modules, reporting
from footplant.io.usd.package import entries, is_package
from footplant.io.usd.pose import Locals, columns, fold, split
from footplant.io.usd.write import identifier, layer_bytes, set_times, write_animation, write_layer
from footplant.motion import Motion, rest_motion
from footplant.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class UsdSource:
    """The file a character was loaded from, kept in `Character.source` so that motions can be written onto it."""

    character: UsdCharacter
    data: bytes
    """The file's bytes."""
    scale: float
    """Metres per unit."""

    @property
    def path(self) -> Path:
        """Path of the file."""
        return self.character.path

    @property
    def skeleton(self) -> Skeleton:
        """In file units and axes."""
        return self.character.skeleton

    @property
    def takes(self) -> tuple[Take, ...]:
        """Names, lengths and rates of the character's takes."""
        return self.character.takes

    def read_take(self, number: int) -> Motion:
        """Return one of the takes, in file units and axes."""
        return read_motion(self.character, number, [])

    def pack(self) -> PackedSource:
        """Return the stage as one self-contained file."""
        return pack_whole(self)


def fits(source: UsdSource, skeleton: Skeleton) -> bool:
    """Return whether a motion of that skeleton can be written onto the source: same joints, in an editable prim."""
    own = source.character.skeleton
    same = skeleton.names == own.names and np.array_equal(skeleton.parents, own.parents)
    return same and not source.character.raw.proxy


def rewrite(path: Path, clip: Clip, clips: Sequence[Clip], source: UsdSource, keep_takes: bool | None) -> None:
    """Write the motions of clips, takes of one character, onto its stage; `clip` is the one that plays."""
    character = source.character
    skeletons = [character.skeleton, *character.take_skeletons]
    motions = [in_file_space(one.motion, clip.character.skeleton, skeletons, source.scale) for one in clips]
    owns = [one.take if one.takes and one.takes == character.takes else None for one in clips]
    with reporting(source.path), open_stage(source.path, source.data, pristine=True) as opened:
        other_folder = path.parent.resolve() != source.path.parent.resolve()
        self_contained = not opened.followed and not _named_files(opened.root)
        same = [
            (own is not None or len(clips) == 1) and _is_unchanged(motion, character, own)
            for motion, own in zip(motions, owns, strict=True)
        ]
        stale = _unwritten(character, owns, keep_takes)
        unchanged = all(same) and not stale
        same_kind = path.suffix.lower() == source.path.suffix.lower()
        if unchanged and same_kind and (self_contained or not other_folder or is_package(source.data)):
            write_atomic(path, source.data)
            return
        layer = opened.root
        moved = other_folder or path.suffix.lower() == ".usdz" or is_package(source.data)
        if opened.followed and moved:
            layer = opened.stage.Flatten()
        for one, motion, own, is_same in zip(clips, motions, owns, same, strict=True):
            if not is_same:
                _author(layer, opened, character, motion, one.name, own, plays=one is clip)
        for place in stale:
            _remove(layer, place)
        write_layer(path, layer, _localize(layer, path, source, opened) if moved else None)


def _unwritten(character: UsdCharacter, owns: Sequence[int | None], keep_takes: bool | None) -> list[str]:
    """Return the prims of takes that are to be dropped: those that are not written, if none are to be kept."""
    if keep_takes is not False:
        return []
    return [a.path for n, a in enumerate(character.animations) if n not in owns and a.path and not a.shared]


def _remove(layer: Any, place: str) -> None:
    """Remove a prim from a layer, if it is defined there and has nothing below it."""
    (Sdf,) = modules("Sdf")
    spec = layer.GetPrimAtPath(place)
    if spec and not spec.nameChildren:
        edit = Sdf.BatchNamespaceEdit()
        edit.Add(Sdf.Path(place), Sdf.Path.emptyPath)
        layer.Apply(edit)


def pack_whole(source: UsdSource) -> PackedSource:
    """Return one file with the source's stage and all the files of its folder that the stage references."""
    with reporting(source.path), open_stage(source.path, source.data, pristine=True) as opened:
        carries = tuple(_other_parts(opened.stage))
        if is_package(source.data) or not (opened.followed or _named_files(opened.root)):
            return PackedSource("usd", source.path.suffix.lower(), source.data, carries)
        layer = opened.stage.Flatten() if opened.followed else opened.root
        path = source.path.with_suffix(".usdz")
        return PackedSource("usd", ".usdz", layer_bytes(path, layer, _localize(layer, path, source, opened)), carries)


def _other_parts(stage: Any) -> list[str]:
    """Return the contents of a stage that the model does not represent, in words."""
    words = {"Material": "materials", "BlendShape": "blend shapes", "Camera": "cameras"}
    prims = list(stage.Traverse())
    found = {str(prim.GetTypeName()) for prim in prims}
    varies = any(prim.HasVariantSets() for prim in prims)
    return [word for kind, word in words.items() if kind in found] + (["variants"] if varies else [])


def _named_files(layer: Any) -> list[str]:
    """Return every file that a layer references: images, layers."""
    (UsdUtils,) = modules("UsdUtils")

    found: list[str] = []

    def look(name: str) -> str:
        found.append(name)
        return name

    UsdUtils.ModifyAssetPaths(layer, look)
    return found


def _is_unchanged(motion: Motion, character: UsdCharacter, own: int | None) -> bool:
    """Return whether the motion is, up to rounding, the one in the file."""
    if own is None and character.animations:
        return False
    read = rest_motion(character.skeleton) if own is None else read_motion(character, own, [])
    if len(read) != len(motion) or (own is not None and read.fps != motion.fps):
        return False
    size = max(float(np.ptp(character.skeleton.rest_world[0], axis=0).max(initial=0.0)), 1e-9)
    pairs = [(motion.root, read.root, size), (motion.rotations, read.rotations, 1.0)]
    pairs.append((_bones(motion), _bones(read), size))
    return all(np.abs(a - b).max(initial=0.0) <= 1e-12 * unit for a, b, unit in pairs)


def _bones(motion: Motion) -> NDArray:
    """Return bone offsets (F or 1, J − 1, 3), without the root."""
    return (motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets)[:, 1:]


def _author(
    layer: Any, opened: Opened, character: UsdCharacter, motion: Motion, name: str, own: int | None, *, plays: bool
) -> None:
    """Write the animation into the layer: in place of the take that it is an edit of, else as a new prim.

    plays: whether it becomes the skeleton's animation, and its time range the stage's.
    """
    (Sdf,) = modules("Sdf")
    stage = opened.stage
    take = character.animations[own] if own is not None and character.animations[own].path else None
    start = 0.0
    if take is not None:
        start = take.start
    elif stage.HasAuthoredTimeCodeRange():
        start = float(stage.GetStartTimeCode())
    codes = float(stage.GetTimeCodesPerSecond())
    if not stage.HasAuthoredTimeCodeRange() and not any(a.frames > 1 for a in character.animations):
        # nothing was animated: the stage can use the motion's frame rate
        codes = motion.fps
    times = start + np.arange(len(motion)) * (codes / motion.fps)
    if plays:
        set_times(layer, start, float(times[-1]), motion.fps)
        layer.timeCodesPerSecond = codes
    where = Sdf.Path(character.raw.path)
    alone = take is not None and take.path == character.raw.path
    if take is not None and (alone or not take.shared):
        target = Sdf.Path(take.path)
    else:
        target = _free_place(stage, layer, where, identifier(name, "Animation"))
    translations, rotations, scales = joint_curves(character, motion, _bases(opened, character, times))
    order = [new for new, old in enumerate(character.order) if old >= 0]
    paths = [character.raw.joints[character.order[new]] for new in order]
    write_animation(layer, target, paths, translations[:, order], rotations[:, order], scales[:, order], times)
    if not alone and plays:
        _bind(layer, stage, where, target)


def _bind(layer: Any, stage: Any, skeleton: Any, animation: Any) -> None:
    """Bind an animation to a skeleton."""
    Sdf, UsdSkel = modules("Sdf", "UsdSkel")
    spec = Sdf.CreatePrimInLayer(layer, skeleton)
    if not stage.GetPrimAtPath(skeleton).HasAPI(UsdSkel.BindingAPI):
        applied = spec.GetInfo("apiSchemas")
        applied.prependedItems = ["SkelBindingAPI", *applied.prependedItems]
        spec.SetInfo("apiSchemas", applied)
    source = spec.relationships.get("skel:animationSource") or Sdf.RelationshipSpec(spec, "skel:animationSource", False)
    source.targetPathList.ClearEditsAndMakeExplicit()
    source.targetPathList.explicitItems.append(animation)


def _free_place(stage: Any, layer: Any, skeleton: Any, name: str) -> Any:
    """Return an unused path beside the skeleton."""
    place, number = skeleton.GetParentPath().AppendChild(name), 1
    while stage.GetPrimAtPath(place) or layer.GetPrimAtPath(place):
        place, number = skeleton.GetParentPath().AppendChild(f"{name}_{number}"), number + 1
    return place


def _bases(opened: Opened, character: UsdCharacter, times: NDArray) -> Locals:
    """Return (1 or F, 1, …) the transform above the skeleton at the time codes."""
    Usd, UsdGeom = modules("Usd", "UsdGeom")

    prim = opened.stage.GetPrimAtPath(character.raw.path)
    moving = any(len(take.bases) > 1 for take in character.animations)
    if not moving:
        return split(columns(character.raw.base)[None, None])
    found = [UsdGeom.XformCache(Usd.TimeCode(time)).GetLocalToWorldTransform(prim) for time in times.tolist()]
    return split(columns(np.array([np.array(matrix) for matrix in found]))[:, None])


def joint_curves(character: UsdCharacter, motion: Motion, base: Locals) -> tuple[NDArray, NDArray, NDArray]:
    """Return translations, rotations and scales of the file's joints that reproduce a motion given in file space.

    The inverse of `pose.fold`, with the scales of the skin; (F, J, 3), (F, J, 4) and (1, J, 3).
    """
    frames, count = len(motion), len(character.parents)
    bones = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    bones = np.array(np.broadcast_to(bones, (frames, count, 3)))
    rotations = np.array(motion.rotations)
    bones[:, 0] = motion.root
    parents = list(character.parents)
    if character.order[0] < 0:
        # an added root is not in the file: its children are animated instead
        for joint in range(1, count):
            if parents[joint] == 0:
                bones[:, joint] = motion.root + rotation.rotate(rotations[:, 0], bones[:, joint])
                rotations[:, joint] = rotation.multiply(rotations[:, 0], rotations[:, joint])
                parents[joint] = -1
    scales = np.diagonal(character.scales, axis1=-2, axis2=-1)
    back = rotation.inverse(base.rotations[:, 0])
    for joint, parent in enumerate(parents):
        if parent < 0:
            bones[:, joint] = rotation.rotate(back, bones[:, joint] - base.translations[:, 0])
            rotations[:, joint] = rotation.multiply(back, rotations[:, joint])
        axes = np.where(scales[joint] < 0, -1.0, 1.0)
        if axes.min() < 0:
            rotations[:, joint] = rotation.multiply(
                rotations[:, joint], rotation.from_matrix(np.diag(axes * np.prod(axes)))
            )
    rotations = rotation.unroll(rotation.normalize(rotations))
    stretches = (scales[:, :, None] * np.eye(3))[None]
    above = fold(parents, Locals(np.zeros((1, count, 3)), rotations, stretches), base).above
    translations = np.empty((frames, count, 3))
    for joint in range(count):
        translations[:, joint] = (np.linalg.pinv(above[joint]) @ bones[:, joint, :, None])[..., 0]
    return translations, rotations, scales[None]


def _localize(layer: Any, path: Path, source: UsdSource, opened: Opened) -> list[tuple[str, bytes]]:
    """Rewrite a layer's asset paths for a new folder; return the source folder's files to include in a package."""
    (UsdUtils,) = modules("UsdUtils")

    packing, packed = path.suffix.lower() == ".usdz", is_package(source.data)
    files: dict[str, bytes] = {}
    inside = dict(entries(source.path, source.data)[1:]) if packed else {}

    def rename(name: str) -> str:
        if not name or ":" in name or (os.path.isabs(name) and not Path(name).is_relative_to(opened.folder)):
            return name
        found = Path(os.path.normpath(opened.folder / name))
        if not found.is_relative_to(opened.folder) or "[" in name or not found.resolve().is_relative_to(opened.folder):
            return name
        short = found.relative_to(opened.folder).as_posix()
        if packing:
            if found.is_file():
                files[short] = inside[short] if short in inside else found.read_bytes()
            return short
        if packed:
            return f"{_relative(source.path.resolve(), path)}[{short}]"
        return _relative(found, path)

    UsdUtils.ModifyAssetPaths(layer, rename)
    return list(files.items())


def _relative(file: Path, path: Path) -> str:
    """Return the relative path of a file as a layer at `path` refers to it."""
    name = Path(os.path.relpath(file, path.parent.resolve())).as_posix()
    return name if name.startswith("..") else f"./{name}"
