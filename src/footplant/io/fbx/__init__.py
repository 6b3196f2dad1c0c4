"""FBX files, .fbx: characters with skins and takes, read by ufbx in a child process and written by Footplant itself.

Binary and text files of versions 6.1 to 7.7. What FBX has and the model lacks (pivots, pre- and post-rotations,
rotation orders, scale, layers, curves of any kind) is evaluated by ufbx, sampled at the file's frame rate and folded
into offsets and rotations, so that world positions match other readers: see `scene` and `pose`. The library can crash
its process, on damaged files or by itself, so it never runs in ours: see `child` and `process`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from footplant.clip import Take
from footplant.errors import FormatError, MotionError, SkeletonError
from footplant.io.character import RawCharacter
from footplant.io.contents import COUNTED
from footplant.io.fbx.characters import Joints, find_characters
from footplant.io.fbx.mesh import Mesh
from footplant.io.fbx.pose import StaticPose, make_rest, read_motion, static_pose, take_curves
from footplant.io.fbx.process import Answer, ask, max_samples
from footplant.io.fbx.scene import FbxScene, read_scene
from footplant.io.fbx.skin import bind_matrices, read_meshes, read_skin
from footplant.io.fbx.write import save
from footplant.motion import Motion
from footplant.skeleton import Skeleton

extensions = (".fbx",)
holds = frozenset({"skin", "takes", "moving bones"})
requires = ("fbx", "ufbx")


def load(path: str | Path, *, fps: float | None = None) -> tuple[RawCharacter, ...]:
    """Read every character of an .fbx file.

    fps: frames per second to sample the curves at; by default the file's own. Keys may be at any time: a note says so
    if they lie between frames, and at which frame rate they would not.
    """
    if fps is not None and not 1.0 <= fps <= 1000.0:
        raise FormatError(f"expected 1 to 1000 frames per second, got {fps}", path=path)
    return read_characters(ask(path, take=0, rate=fps, structure=True), Path(path).stat().st_size, fps)


def read_characters(answer: Answer, size: int, fps: float | None = None) -> tuple[RawCharacter, ...]:
    """Return every character in the child's answer about a file of `size` bytes, with its takes and its skin."""
    path = answer.header.path
    # overflow gives infinities, which `Skeleton` and `Motion` reject
    with np.errstate(all="ignore"):
        try:
            scene = read_scene(answer)
            notes: list[str] = []
            meshes = read_meshes(answer, len(scene.names), notes)
            found = find_characters(scene, [mesh.bones.tolist() for mesh in meshes], notes)
            source = _Takes(scene, answer, size, fps)
            static = static_pose(scene)
            contents = contents_of(answer)
            raws = [_raw_character(scene, joints, static, meshes, source, size, list(notes)) for joints in found]
            return tuple(
                replace(
                    raw,
                    contents=contents,
                    source=FbxSource(Path(path), number, raw.takes, raw.skeleton, fps) if raw.takes else None,
                )
                for number, raw in enumerate(raws)
            )
        except (SkeletonError, MotionError) as error:
            raise FormatError(str(error), path=path) from error


def contents_of(answer: Answer) -> dict[str, int]:
    """Return what the child counted in a file."""
    found = answer.header.data.get("contents")
    found = found if isinstance(found, dict) else {}
    return {key: value for key, value in found.items() if key in COUNTED and type(value) is int and value >= 0}


def count_contents(path: str | Path) -> dict[str, int]:
    """Return what a file holds, counted: see `io.contents`."""
    return contents_of(ask(path, take=None, rate=None, structure=True))


@dataclass(frozen=True, eq=False)
class FbxSource:
    """Where a character's own animations are, so that results can be added to them; its meshes are in its skin."""

    path: Path
    figure: int
    """Index of the character in the file."""
    takes: tuple[Take, ...]
    skeleton: Skeleton
    """In file units and axes."""
    fps: float | None
    """Rate at which the curves are sampled; None for the file's own."""

    def read_take(self, number: int) -> Motion:
        """Return one of the takes, in file units and axes."""
        read = load(self.path, fps=self.fps)[self.figure].read_take
        assert read is not None
        return read(number)


class _Takes:
    """The curves of a file's takes: the first take's come with the file, others are requested from a child process."""

    def __init__(self, scene: FbxScene, answer: Answer, size: int, fps: float | None) -> None:
        self.scene, self.answer, self.size, self.fps = scene, answer, size, fps
        self.number = answer.header.index("sampled", max(len(scene.takes), 1), None)

    def read(self, number: int) -> Answer:
        take = self.scene.takes[number]
        if take.frames * len(take.nodes) > max_samples(self.size):
            raise FormatError(
                f"expected at most {max_samples(self.size) // len(take.nodes)} frames, got {take.frames}",
                path=self.scene.path,
                where=f"take {take.name!r}",
            )
        if number != self.number:
            self.answer = ask(self.scene.path, take=number, rate=self.fps, structure=False)
            self.number = number
        return self.answer


def _raw_character(
    scene: FbxScene,
    joints: Joints,
    static: StaticPose,
    meshes: list[Mesh],
    source: _Takes,
    size: int,
    notes: list[str],
) -> RawCharacter:
    rest = make_rest(scene, joints, static, bind_matrices(meshes), notes)
    skin = read_skin(scene, rest, meshes, size, notes, source.answer)
    inside = set(joints.nodes)
    own = [number for number, take in enumerate(scene.takes) if not inside.isdisjoint(take.nodes)]
    found: dict[int, tuple[str, ...]] = {}

    def read_take(number: int) -> Motion:
        take_notes: list[str] = []
        with np.errstate(all="ignore"):
            try:
                plan = scene.takes[own[number]]
                motion = read_motion(scene, rest, plan, take_curves(scene, plan, source.read(own[number])), take_notes)
            except (SkeletonError, MotionError) as error:
                raise FormatError(str(error), path=scene.path, where=f"take {plan.name!r}") from error
        found[number] = tuple(take_notes)
        return motion

    above = scene.parents[joints.nodes[0]]
    return RawCharacter(
        name=scene.names[above] if above > 0 else "",
        skeleton=rest.skeleton,
        takes=tuple(
            Take(scene.takes[number].name, scene.takes[number].frames, scene.takes[number].rate) for number in own
        ),
        read_take=read_take,
        take_notes=lambda number: found.get(number, ()),
        scale=scene.scale,
        up=scene.up,
        skin=skin,
        notes=tuple(notes),
    )


__all__ = ["extensions", "holds", "load", "read_characters", "save"]
