"""Extract arrays from a composed stage with usd-core. Runs in a child process: see `child`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.usd.content import Content, RawAnimation, RawSkeleton
from footplant.io.usd.layers import Opened
from footplant.io.usd.library import modules
from footplant.io.usd.meshes import read_meshes
from footplant.io.usd.timing import find_grid, frame_times
from footplant.io.usd.values import failure, read_array, read_tokens

MAX_SAMPLES = 2_000_000
"""Maximum frames × joints of a take, or the file's size in bytes if that is larger."""
MAX_JOINTS = 8192
MAX_CHARACTERS = 64
END_SITES = "footplantEndSites"
"""Key in a skeleton's custom data: {parents, offsets} of its end sites, which USD does not represent."""


def read_content(path: Path, opened: Opened, size: int) -> Content:
    """Return every skeleton of a stage with its animations and meshes; size: of the file, bytes."""
    return _Reader(path, opened, size).read()


class _Reader:
    def __init__(self, path: Path, opened: Opened, size: int) -> None:
        Usd, UsdGeom = modules("Usd", "UsdGeom")
        self.path, self.opened, self.stage, self.size = path, opened, opened.stage, size
        self.earliest = UsdGeom.XformCache(Usd.TimeCode.EarliestTime())
        root = opened.root
        self.codes = float(self.stage.GetTimeCodesPerSecond())
        if not (np.isfinite(self.codes) and self.codes > 0):
            raise FormatError(f"expected a positive timeCodesPerSecond, got {self.codes}", path=path)
        stated = float(root.framesPerSecond) if root.HasFramesPerSecond() else None
        self.stated = stated if stated is not None and np.isfinite(stated) and stated > 0 else None

    def read(self) -> Content:
        Usd, UsdGeom, UsdSkel, UsdShade = modules("Usd", "UsdGeom", "UsdSkel", "UsdShade")
        skeletons, animations, meshes = [], [], []
        others = {"materials": 0, "textures": 0, "morph targets": 0, "cameras": 0}
        notes = []
        for prim in Usd.PrimRange(self.stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()):
            if prim.IsA(UsdSkel.Skeleton):
                skeletons.append(prim)
            elif prim.IsA(UsdSkel.Animation):
                animations.append(prim)
            elif prim.IsA(UsdGeom.Mesh):
                meshes.append(prim)
            elif prim.IsA(UsdShade.Material):
                others["materials"] += 1
            elif prim.IsA(UsdSkel.BlendShape):
                others["morph targets"] += 1
            elif prim.IsA(UsdGeom.Camera):
                others["cameras"] += 1
            elif prim.IsA(UsdShade.Shader):
                file = UsdShade.Shader(prim).GetInput("file")
                others["textures"] += bool(file and file.Get())
        if self.opened.skipped:
            listing = ", ".join(repr(name) for name in self.opened.skipped[:5])
            notes.append(f"not opened, since only layers in the file's own folder are: {listing}")
        if len(skeletons) > MAX_CHARACTERS:
            notes.append(f"the file has {len(skeletons)} skeletons; the first {MAX_CHARACTERS} were read")
            skeletons = skeletons[:MAX_CHARACTERS]
        bound = {prim.GetPath(): self._animation_source(prim) for prim in skeletons}
        found = [self._skeleton(prim, bound, animations, meshes) for prim in skeletons]
        found = [skeleton for skeleton in found if skeleton is not None]
        if not found:
            found = [self._animation_alone(prim) for prim in animations[:MAX_CHARACTERS]]
            found = [skeleton for skeleton in found if skeleton is not None]
        if not found:
            extra = f" ({notes[0]})" if notes else ""
            raise FormatError(f"expected a UsdSkel Skeleton with joints, got none{extra}", path=self.path)
        scale = float(UsdGeom.GetStageMetersPerUnit(self.stage))
        if not (np.isfinite(scale) and scale > 0):
            raise FormatError(f"expected a positive metersPerUnit, got {scale}", path=self.path)
        declared = bool(UsdGeom.StageHasAuthoredMetersPerUnit(self.stage))
        skinned = any(prim.HasAPI(UsdSkel.BindingAPI) for prim in meshes)
        counts = {"meshes": len(meshes), "skins": int(skinned), "takes": len(animations), **others}
        up = str(UsdGeom.GetStageUpAxis(self.stage)).lower()
        return Content(up, scale, declared, found, notes, counts)

    def _animation_source(self, prim: Any) -> Any:
        """Return the SkelAnimation bound to a skeleton, or None."""
        (UsdSkel,) = modules("UsdSkel")
        source = UsdSkel.BindingAPI(prim).GetInheritedAnimationSource()
        return source if source and source.IsA(UsdSkel.Animation) else None

    def _skeleton(self, prim: Any, bound: dict, animations: list, meshes: list) -> RawSkeleton | None:
        """Return a Skeleton prim with its animations and meshes; None if it has no joints."""
        (UsdSkel,) = modules("UsdSkel")
        skeleton = UsdSkel.Skeleton(prim)
        joints = read_tokens(self.path, skeleton.GetJointsAttr())
        if not joints:
            return None
        count = len(joints)
        if count > MAX_JOINTS:
            raise failure(self.path, prim, f"expected at most {MAX_JOINTS} joints, got {count}")
        bind = self._matrices(skeleton.GetBindTransformsAttr(), count)
        rest = self._matrices(skeleton.GetRestTransformsAttr(), count)
        names = read_tokens(self.path, skeleton.GetJointNamesAttr())
        own = bound[prim.GetPath()]
        users = [place for place, source in bound.items() if source is not None and own is not None]
        shared = sum(1 for place in users if bound[place].GetPath() == own.GetPath()) > 1 if own is not None else False
        taken = {source.GetPath() for source in bound.values() if source is not None}
        known = set(joints)
        # an animation that is not bound to any skeleton is a further take of the skeletons whose joints it names
        free = [a for a in animations if a.GetPath() not in taken and known.intersection(self._animated(a))]
        takes = [self._animation(source, prim, shared and source is own) for source in ([own] if own else []) + free]
        notes: list[str] = []
        ends = self._end_sites(prim, count)
        return RawSkeleton(
            path=str(prim.GetPath()),
            name=self._character_name(prim),
            joints=joints,
            joint_names=names if len(names) == count else None,
            bind=bind,
            rest=rest,
            base=np.array(self.earliest.GetLocalToWorldTransform(prim)),
            animations=takes,
            meshes=read_meshes(self.path, prim, meshes, notes),
            end_parents=ends[0],
            end_offsets=ends[1],
            notes=notes,
            proxy=prim.IsInstanceProxy(),
        )

    def _animation_alone(self, prim: Any) -> RawSkeleton | None:
        """Return a skeleton for a SkelAnimation in a file without Skeleton prims, or None."""
        joints = self._animated(prim)
        if not 0 < len(joints) <= MAX_JOINTS:
            return None
        take = self._animation(prim, prim, False)
        if take.translations is None or take.rotations is None:
            return None
        notes = ["the file has no Skeleton; the joints are those of its animation, at rest as in the first frame"]
        base = np.array(self.earliest.GetLocalToWorldTransform(prim))
        return RawSkeleton(str(prim.GetPath()), "", joints, None, None, None, base, [take], notes=notes)

    def _character_name(self, prim: Any) -> str:
        """Return the name of the SkelRoot above a skeleton, which is the model's; else ""."""
        (UsdSkel,) = modules("UsdSkel")
        root = UsdSkel.Root.Find(prim)
        return root.GetPrim().GetName() if root else ""

    def _end_sites(self, prim: Any, count: int) -> tuple[list[int], list[list[float]]]:
        """Return parents and offsets of the end sites that Footplant stored, checked; empty if there are none."""
        data = prim.GetCustomDataByKey(END_SITES)
        if not isinstance(data, dict):
            return [], []
        try:
            parents = [int(parent) for parent in data.get("parents", ())]
            offsets = [[float(value) for value in offset] for offset in data.get("offsets", ())]
        except (TypeError, ValueError):
            return [], []
        valid = len(parents) == len(offsets) and all(0 <= parent < count for parent in parents)
        return (parents, offsets) if valid and all(len(offset) == 3 for offset in offsets) else ([], [])

    def _animated(self, prim: Any) -> list[str]:
        """Return the joint paths of a SkelAnimation."""
        (UsdSkel,) = modules("UsdSkel")
        return read_tokens(self.path, UsdSkel.Animation(prim).GetJointsAttr())

    def _matrices(self, attribute: Any, count: int) -> NDArray | None:
        """Return (count, 4, 4) the matrices of an attribute, or None if it has no value."""
        found = read_array(self.path, attribute, (4, 4))
        if found is None or not len(found):
            return None
        if len(found) != count:
            raise failure(self.path, attribute, f"expected {count} matrices, one per joint, got {len(found)}")
        return found.astype(float)

    def _animation(self, prim: Any, skeleton: Any, shared: bool) -> RawAnimation:
        """Return a SkelAnimation sampled at a uniform frame rate, with the transforms above the skeleton."""
        Usd, UsdGeom, UsdSkel = modules("Usd", "UsdGeom", "UsdSkel")
        animation = UsdSkel.Animation(prim)
        joints = self._animated(prim)
        attributes = {
            "translations": (animation.GetTranslationsAttr(), 3),
            "rotations": (animation.GetRotationsAttr(), 4),
            "scales": (animation.GetScalesAttr(), 3),
        }
        times: set[float] = set()
        for attribute, _ in attributes.values():
            times.update(attribute.GetTimeSamples())
        moving = self._base_times(skeleton)
        samples = np.array(sorted(times.union(moving)), float)
        if not np.isfinite(samples).all():
            raise failure(self.path, prim, "expected finite time codes, got NaN or infinity")
        grid = find_grid(samples, self.codes, self.stated)
        most = max(MAX_SAMPLES, self.size) // max(len(joints), 1)
        if not 0 < grid.frames <= most:
            raise failure(self.path, prim, f"expected at most {most} frames, got {grid.frames} at {grid.fps:g} fps")
        frames = frame_times(grid, samples)
        curves = {}
        for name, (attribute, width) in attributes.items():
            curves[name] = self._curve(attribute, frames, len(joints), width)
        bases = [
            np.array(UsdGeom.XformCache(Usd.TimeCode(time)).GetLocalToWorldTransform(skeleton))
            for time in (frames if moving else frames[:1])
        ]
        return RawAnimation(
            path=str(prim.GetPath()),
            joints=joints,
            fps=grid.fps,
            start=grid.start,
            step=grid.step,
            frames=grid.frames,
            bases=np.array(bases),
            even=grid.even,
            shared=shared,
            **curves,
        )

    def _base_times(self, prim: Any) -> set[float]:
        """Return the sample times of the transforms of a prim and its ancestors."""
        (UsdGeom,) = modules("UsdGeom")
        found: set[float] = set()
        while prim and not prim.IsPseudoRoot():
            place = UsdGeom.Xformable(prim)
            if place:
                if place.TransformMightBeTimeVarying():
                    found.update(place.GetTimeSamples())
                if place.GetResetXformStack():
                    break
            prim = prim.GetParent()
        return found

    def _curve(self, attribute: Any, frames: NDArray, joints: int, width: int) -> NDArray | None:
        """Return (1 or F, joints, width) values at the frames; None if the animation has none."""
        if attribute.GetNumTimeSamples() <= 1:
            frames = frames[:1]
        first = read_array(self.path, attribute, (width,), time=float(frames[0]))
        if first is None or (not len(first) and joints):
            return None
        out = np.empty((len(frames), joints, width), first.dtype)
        # thousands of samples: the type has been checked, the length may vary
        for number, time in enumerate(frames.tolist()):
            value = attribute.Get(time)
            if value is None:
                return None
            if len(value) != joints:
                where = f"expected {joints} values, one per joint, got {len(value)} at {time:g}"
                raise failure(self.path, attribute, where)
            out[number] = value
        return out
