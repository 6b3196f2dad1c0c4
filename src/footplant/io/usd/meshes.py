"""Extract the meshes that are bound to a skeleton from a stage, as arrays, with usd-core."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.io.usd.content import RawMesh
from footplant.io.usd.library import modules
from footplant.io.usd.values import check_array, failure, read_array, read_tokens


def read_meshes(path: Path, skeleton: Any, meshes: list[Any], notes: list[str]) -> list[RawMesh]:
    """Return those of the meshes that are bound to a skeleton."""
    (UsdSkel,) = modules("UsdSkel")
    out, shapes = [], 0
    for prim in meshes:
        binding = UsdSkel.BindingAPI(prim)
        target = binding.GetInheritedSkeleton()
        if not target or target.GetPath() != skeleton.GetPath():
            continue
        mesh = _read_mesh(path, prim)
        if mesh is not None:
            out.append(mesh)
        shapes += len(read_tokens(path, binding.GetBlendShapesAttr()))
    if shapes:
        notes.append(f"{shapes} blend {'shape was' if shapes == 1 else 'shapes were'} ignored")
    return out


def _read_mesh(path: Path, prim: Any) -> RawMesh | None:
    """Return one mesh; None if it has no points, polygons or weights."""
    (UsdGeom,) = modules("UsdGeom")
    mesh, primvars = UsdGeom.Mesh(prim), UsdGeom.PrimvarsAPI(prim)
    indices = primvars.FindPrimvarWithInheritance("skel:jointIndices")
    weights = primvars.FindPrimvarWithInheritance("skel:jointWeights")
    points = read_array(path, mesh.GetPointsAttr(), (3,))
    counts = read_array(path, mesh.GetFaceVertexCountsAttr(), ())
    corners = read_array(path, mesh.GetFaceVertexIndicesAttr(), ())
    joints, influence = _flat(path, indices, ()), _flat(path, weights, ())
    if joints is None or influence is None or points is None or counts is None or corners is None or not len(points):
        return None
    constant = str(indices.GetInterpolation()) == "constant"
    width = int(indices.GetElementSize())
    rows = 1 if constant else len(points)
    if len(joints) != len(influence) or width < 1 or len(joints) != width * rows:
        raise failure(
            path,
            prim,
            f"expected {width} joints and weights for each of {rows} vertices, got {len(joints)} and {len(influence)}",
        )
    geometry = primvars.FindPrimvarWithInheritance("skel:geomBindTransform")
    value = geometry.Get() if geometry and geometry.HasValue() else np.eye(4)
    bind = check_array(path, geometry.GetAttr() if geometry else prim, value, (4,))
    if bind is None or bind.shape != (4, 4):
        raise failure(path, prim, "expected a matrix for geomBindTransform, got something else")
    return RawMesh(
        path=str(prim.GetPath()),
        points=points,
        counts=counts,
        corners=corners,
        left_handed=str(mesh.GetOrientationAttr().Get()) == "leftHanded",
        normals=_read_normals(path, mesh, len(points)),
        indices=joints,
        weights=influence,
        width=width,
        constant=constant,
        bind=bind.astype(float),
        joints=_inherited_joints(path, prim),
    )


def _flat(path: Path, primvar: Any, row: tuple[int, ...]) -> NDArray | None:
    """Return the values of a primvar, expanded if it is indexed; None if it has none."""
    (Usd,) = modules("Usd")
    if not primvar or not primvar.HasValue():
        return None
    found = check_array(path, primvar.GetAttr(), primvar.ComputeFlattened(Usd.TimeCode.EarliestTime()), row)
    return found if found is not None and len(found) else None


def _inherited_joints(path: Path, prim: Any) -> list[str] | None:
    """Return the mesh's own list of joints, or that of an ancestor; None: the skeleton's."""
    (UsdSkel,) = modules("UsdSkel")
    while prim and not prim.IsPseudoRoot():
        attribute = UsdSkel.BindingAPI(prim).GetJointsAttr()
        if attribute and attribute.HasAuthoredValue():
            return read_tokens(path, attribute)
        prim = prim.GetParent()
    return None


def _read_normals(path: Path, mesh: Any, count: int) -> NDArray | None:
    """Return (V, 3) normals if the mesh has one per vertex, else None."""
    (UsdGeom,) = modules("UsdGeom")
    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("normals")
    if primvar and primvar.HasValue():
        found, kind = _flat(path, primvar, (3,)), primvar.GetInterpolation()
    else:
        found, kind = read_array(path, mesh.GetNormalsAttr(), (3,)), mesh.GetNormalsInterpolation()
    per_vertex = found is not None and len(found) == count and str(kind) in ("vertex", "varying")
    return found if per_vertex else None
