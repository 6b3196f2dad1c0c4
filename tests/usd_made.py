"""Small USD stages for tests, and usd-core's own results to compare with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from footplant import Kinematics, Motion, rest_motion, rotation, skinning
from footplant.io import usd
from footplant.io.character import RawCharacter

pytest.importorskip("pxr", reason="usd-core is not installed")

ARM = """#usda 1.0
(
    defaultPrim = "Model"
    metersPerUnit = 0.01
    upAxis = "Y"
    startTimeCode = 1
    endTimeCode = 3
)

def SkelRoot "Model" (
    kind = "component"
    prepend apiSchemas = ["SkelBindingAPI"]
)
{
    double3 xformOp:translate = (10, 20, 30)
    uniform token[] xformOpOrder = ["xformOp:translate"]

    def Skeleton "Skel" (
        prepend apiSchemas = ["SkelBindingAPI"]
    )
    {
        uniform token[] joints = ["Hip", "Hip/Knee", "Hip/Knee/Foot"]
        uniform matrix4d[] bindTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,4,0,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,2,0,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,0,0,1))
        ]
        uniform matrix4d[] restTransforms = [
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,4,0,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,-2,0,1)),
            ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0,-2,0,1))
        ]
        rel skel:animationSource = </Model/Anim>
    }

    def SkelAnimation "Anim"
    {
        uniform token[] joints = ["Hip/Knee", "Hip"]
        float3[] translations = [(0,-2,0), (0,4,0)]
        quatf[] rotations.timeSamples = {
            1: [(1,0,0,0), (1,0,0,0)],
            3: [(0.70710678,0.70710678,0,0), (0.70710678,0,0.70710678,0)]
        }
        half3[] scales = [(1,1,1), (1,1,1)]
    }

    def Mesh "Body" (
        prepend apiSchemas = ["SkelBindingAPI"]
    )
    {
        int[] faceVertexCounts = [4, 5, 3]
        int[] faceVertexIndices = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 5]
        point3f[] points = [(1,4,0), (1,4,1), (-1,4,1), (-1,4,0), (1,2,0), (1,2,1), (-1,0,1), (-1,0,0)]
        rel skel:skeleton = </Model/Skel>
        int[] primvars:skel:jointIndices = [0,1, 0,1, 0,1, 0,1, 1,2, 1,2, 2,0, 2,0] (
            interpolation = "vertex"
            elementSize = 2
        )
        float[] primvars:skel:jointWeights = [1,0, 0.75,0.25, 0.5,0.5, 1,0, 0.5,0.5, 0.25,0.75, 1,0, 1,0] (
            interpolation = "vertex"
            elementSize = 2
        )
        matrix4d primvars:skel:geomBindTransform = ((1,0,0,0),(0,1,0,0),(0,0,1,0),(0.5,0,0.25,1))
    }
}
"""
"""A leg of three joints, bent in three frames, with a mesh of a quadrilateral, a pentagon and a triangle."""


def write(folder: Path, text: str = ARM, name: str = "made.usda") -> Path:
    """Write a file with that text."""
    path = folder / name
    path.write_text(text)
    return path


def read(path: Path, take: int = 0) -> tuple[RawCharacter, Motion]:
    """Return the first character of a file and one of its takes (else the rest pose), read in this process."""
    figure = usd.load(path, isolated=False)[0]
    return figure, take_of(figure, take)


def take_of(figure: RawCharacter, take: int = 0) -> Motion:
    """Return a take of a character, or its rest pose."""
    if not figure.takes:
        return rest_motion(figure.skeleton)
    assert figure.read_take is not None
    return figure.read_take(take)


def frame_codes(figure: RawCharacter) -> np.ndarray:
    """Return the time codes of the first take's frames."""
    animations = figure.source.character.animations
    if not animations:
        return np.zeros(1)
    return animations[0].start + animations[0].step * np.arange(animations[0].frames)


def _open(path: Path, skeleton: str):
    """Return a stage, the prim of a skeleton, its SkelRoot and usd-core's cache of both."""
    from pxr import Usd, UsdSkel

    stage = Usd.Stage.Open(str(path))
    prim = stage.GetPrimAtPath(skeleton)
    cache, root = UsdSkel.Cache(), UsdSkel.Root.Find(prim)
    cache.Populate(root, Usd.TraverseInstanceProxies())
    return stage, prim, root, cache


def judge_joints(path: Path, skeleton: str, codes: np.ndarray) -> dict[str, np.ndarray]:
    """Return world matrices (F, 4, 4) for column vectors of each joint path, by usd-core."""
    from pxr import UsdGeom, UsdSkel

    stage, prim, _, cache = _open(path, skeleton)
    query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
    found = np.array([query.ComputeJointWorldTransforms(UsdGeom.XformCache(code)) for code in codes.tolist()])
    del stage
    return {str(name): np.swapaxes(found[:, number], 1, 2) for number, name in enumerate(query.GetJointOrder())}


def judge_skin(path: Path, skeleton: str, codes: np.ndarray) -> np.ndarray:
    """Return world positions (F, V, 3) of the skinned points of all meshes of a skeleton, by usd-core."""
    from pxr import Usd, UsdGeom, UsdSkel, Vt

    _stage, prim, root, cache = _open(path, skeleton)
    query = cache.GetSkelQuery(UsdSkel.Skeleton(prim))
    bindings = cache.ComputeSkelBindings(root, Usd.TraverseInstanceProxies())
    targets = [t for b in bindings if b.GetSkeleton().GetPath() == prim.GetPath() for t in b.GetSkinningTargets()]
    frames = []
    for code in codes.tolist():
        place = np.array(UsdGeom.XformCache(code).GetLocalToWorldTransform(prim))
        parts = []
        for target in targets:
            transforms = query.ComputeSkinningTransforms(code)
            if target.IsRigidlyDeformed():
                points = np.array(UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get())
                matrix = np.array(target.ComputeSkinnedTransform(transforms, code))
                parts.append((points @ matrix[:3, :3] + matrix[3, :3]) @ place[:3, :3] + place[3, :3])
                continue
            moved = Vt.Vec3fArray(UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get())
            assert target.ComputeSkinnedPoints(transforms, moved, code)
            parts.append(np.array(moved) @ place[:3, :3] + place[3, :3])
        frames.append(np.concatenate(parts))
    return np.array(frames)


def worst_joint(path: Path, figure: RawCharacter, motion: Motion) -> float:
    """Return the largest distance of our joints from usd-core's over all frames, in the file's metres."""
    own = figure.source.character
    judged = judge_joints(path, own.raw.path, frame_codes(figure))
    positions, places = Kinematics(motion).positions, own.joint_paths()
    worst = [np.abs(positions[:, places[name]] - matrix[:, :3, 3]).max() for name, matrix in judged.items()]
    return float(max(worst)) * figure.source.scale


def worst_turn(path: Path, figure: RawCharacter, motion: Motion) -> float:
    """Return the largest angle of our joints' axes to usd-core's, radians; for characters without mirrors or shear."""
    own = figure.source.character
    turns, worst = Kinematics(motion).rotations, 0.0
    for name, matrix in judge_joints(path, own.raw.path, frame_codes(figure)).items():
        unit = matrix[:, :3, :3] / np.linalg.norm(matrix[:, :3, :3], axis=1, keepdims=True)
        worst = max(worst, float(rotation.angle(rotation.from_matrix(unit), turns[:, own.joint_paths()[name]]).max()))
    return worst


def worst_vertex(path: Path, figure: RawCharacter, motion: Motion, every: int = 1) -> float:
    """Return the largest distance of our skinned vertices from usd-core's, in the file's metres."""
    assert figure.skin is not None
    judged = judge_skin(path, figure.source.character.raw.path, frame_codes(figure)[::every])
    ours = skinning.linear_blend(figure.skin, Kinematics(motion[::every]))
    return float(np.abs(judged - ours).max()) * figure.source.scale


def validation_errors(path: Path) -> set[str]:
    """Return the findings of all validators of usd-core, without file names."""
    from pxr import Usd, UsdValidation

    registry = UsdValidation.ValidationRegistry()
    context = UsdValidation.ValidationContext(registry.GetOrLoadAllValidators())
    found = context.Validate(Usd.Stage.Open(str(path)))
    return {f"{error.GetName()}: {error.GetMessage()}".replace(str(path), "FILE") for error in found}
