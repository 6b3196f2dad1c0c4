"""Write a clip as a new USD stage: SkelRoot, Skeleton, SkelAnimation and the character's skinned mesh, if any.

Joint paths may contain only letters, digits and underscores; the joints' own names go into `jointNames`. USD has no
end sites, and leaf joints in their place would be read back as joints: they go into the skeleton's custom data.
Metres, y up, one time code per frame.
"""

from __future__ import annotations

import tempfile
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.atomic import write_atomic
from footplant.clip import Clip
from footplant.io.usd.characters import invert
from footplant.io.usd.extract import END_SITES
from footplant.io.usd.library import modules, reporting
from footplant.io.usd.looks import LOOKS, add_materials, add_morphs, add_surfaces, part_of, picture_files
from footplant.io.usd.package import pack
from footplant.kinematics import Kinematics
from footplant.motion import Motion
from footplant.skeleton import Skeleton, Skin
from footplant.skinning import vertex_normals

COLOR = (0.72, 0.74, 0.78)
"""Display colour of meshes; the model has no colours."""


def write_new(path: str | Path, clip: Clip, clips: Sequence[Clip], skin: Skin | None) -> None:
    """Write takes of a character that has no stage of its own; `clip` is the one that plays."""
    path = Path(path)
    with reporting(path):
        Kind, Sdf, Usd, UsdGeom, UsdSkel = modules("Kind", "Sdf", "Usd", "UsdGeom", "UsdSkel")

        motion = clip.motion
        layer = Sdf.Layer.CreateAnonymous(".usda")
        stage = Usd.Stage.Open(layer)
        set_times(layer, 0.0, len(motion) - 1.0, motion.fps)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        root = UsdSkel.Root.Define(stage, f"/{identifier(clip.character.name, 'Character')}")
        stage.SetDefaultPrim(root.GetPrim())
        Usd.ModelAPI(root).SetKind(Kind.Tokens.component)
        place = root.GetPath()
        skeleton = UsdSkel.Skeleton.Define(stage, place.AppendChild("Skeleton"))
        paths = _write_skeleton(skeleton, motion.skeleton, skin)
        taken = {"Skeleton", "Mesh", LOOKS}
        for one in clips:
            moving = place.AppendChild(_free_name(one.name, taken))
            taken.add(moving.name)
            times = np.arange(len(one.motion)) * (motion.fps / one.motion.fps)
            write_animation(layer, moving, paths, *_curves(one.motion), times)
            if one is clip:
                binding = UsdSkel.BindingAPI.Apply(skeleton.GetPrim())
                binding.CreateAnimationSourceRel().SetTargets([moving])
        joints = Kinematics(motion).positions.reshape(-1, 3)
        lowest, highest = joints.min(axis=0), joints.max(axis=0)
        pictures: list[tuple[str, bytes]] = []
        if skin is not None and skin.looks is not None:
            looks = skin.looks.at_hand()
            pictures = picture_files(looks)
            folder = "" if path.suffix.lower() == ".usdz" else f"./{path.stem}_textures/"
            surfaces = add_materials(stage, place.AppendChild(LOOKS), looks, [folder + n for n, _ in pictures])
            reach = 0.0
            for part in skin.looks.parts:
                if part.stop <= part.start:
                    continue
                kept = np.unique(skin.faces[part.start : part.stop])
                mesh = UsdGeom.Mesh.Define(stage, place.AppendChild(_free_name(part.name or "Mesh", taken)))
                taken.add(mesh.GetPrim().GetName())
                own = part_of(skin, part, kept)
                reach = max(reach, _write_mesh(mesh, own, skeleton, motion.skeleton))
                add_surfaces(stage, mesh, part, surfaces)
                add_morphs(stage, mesh, part, kept)
            lowest, highest = lowest - reach, highest + reach
        elif skin is not None:
            mesh = UsdGeom.Mesh.Define(stage, place.AppendChild("Mesh"))
            reach = _write_mesh(mesh, skin, skeleton, motion.skeleton)
            lowest, highest = lowest - reach, highest + reach
        root.CreateExtentAttr(_vectors(np.array([lowest, highest])))
        if path.suffix.lower() == ".usdz":
            write_layer(path, layer, pictures)
        else:
            for name, data in pictures:
                file = path.parent / f"{path.stem}_textures" / name
                file.parent.mkdir(exist_ok=True)
                write_atomic(file, data)
            write_layer(path, layer)


def write_layer(path: Path, layer: Any, others: list[tuple[str, bytes]] | None = None) -> None:
    """Write a layer in the container of the file name's extension; others: further files of a package."""
    write_atomic(path, layer_bytes(path, layer, others))


def layer_bytes(path: Path, layer: Any, others: list[tuple[str, bytes]] | None = None) -> bytes:
    """Return the bytes of the file that `write_layer` writes."""
    packed = path.suffix.lower() == ".usdz"
    with tempfile.TemporaryDirectory(prefix="footplant-usd-") as folder:
        copy = Path(folder) / f"layer{'.usdc' if packed else path.suffix.lower()}"
        layer.Export(str(copy))
        data = copy.read_bytes()
    if packed:
        data = pack([(f"{identifier(path.stem, 'stage')}.usdc", data), *(others or [])])
    return data


def set_times(layer: Any, start: float, end: float, fps: float) -> None:
    """Set the time range and frame rate of a stage, one time code per frame."""
    layer.timeCodesPerSecond = layer.framesPerSecond = fps
    layer.startTimeCode, layer.endTimeCode = start, end


def identifier(name: str, instead: str) -> str:
    """Return a valid prim name that is as close as possible to a name; `instead` if nothing valid is left."""
    (Sdf,) = modules("Sdf")

    kept = "".join(letter if letter == "_" or letter.isalnum() else "_" for letter in name)
    kept = kept if kept[:1].isalpha() or kept[:1] == "_" else f"_{kept}"
    if kept.strip("_") and Sdf.Path.IsValidIdentifier(kept):
        return kept
    ascii_only = "".join(letter if letter.isascii() else "_" for letter in kept)
    return ascii_only if ascii_only.strip("_") and Sdf.Path.IsValidIdentifier(ascii_only) else instead


def _free_name(name: str, taken: Container[str]) -> str:
    found = identifier(name, "Animation")
    while found in taken:
        found += "_"
    return found


def joint_paths(skeleton: Skeleton) -> list[str]:
    """Return a path for each joint, of valid prim names, unique among siblings."""
    paths: list[str] = []
    taken: set[str] = set()
    for joint, name in enumerate(skeleton.names):
        above = f"{paths[skeleton.parents[joint]]}/" if joint else ""
        path = base = above + identifier(name, f"joint_{joint}")
        number = 1
        while path in taken:
            path, number = f"{base}_{number}", number + 1
        taken.add(path)
        paths.append(path)
    return paths


def _write_skeleton(prim: Any, skeleton: Skeleton, skin: Skin | None) -> list[str]:
    """Write joints, bind and rest transforms and end sites; return the joint paths."""
    (Vt,) = modules("Vt")

    paths = joint_paths(skeleton)
    prim.CreateJointsAttr(Vt.TokenArray(paths))
    if [path.rpartition("/")[2] for path in paths] != list(skeleton.names):
        prim.CreateJointNamesAttr(Vt.TokenArray(list(skeleton.names)))
    positions, rotations = skeleton.rest_world
    world = matrices(positions, rotations)
    bind = world if skin is None else np.stack([invert(matrix) for matrix in skin.inverse_bind])
    prim.CreateBindTransformsAttr(_matrices(bind))
    prim.CreateRestTransformsAttr(_matrices(matrices(skeleton.offsets, skeleton.rest)))
    if len(skeleton.end_parents):
        ends = {
            "parents": Vt.IntArray(skeleton.end_parents.tolist()),
            "offsets": Vt.Vec3dArray.FromNumpy(np.ascontiguousarray(skeleton.end_offsets)),
        }
        prim.GetPrim().SetCustomDataByKey(END_SITES, ends)
    return paths


def matrices(positions: NDArray, rotations: NDArray) -> NDArray:
    """Return (…, 4, 4) matrices for column vectors."""
    out = np.zeros((*positions.shape[:-1], 4, 4))
    out[..., :3, :3], out[..., :3, 3], out[..., 3, 3] = rotation.to_matrix(rotations), positions, 1.0
    return out


def _matrices(values: NDArray) -> Any:
    (Vt,) = modules("Vt")

    rows = np.ascontiguousarray(np.swapaxes(values, -1, -2))
    # the last column must be exactly 0 0 0 1
    rows[..., 3] = (0.0, 0.0, 0.0, 1.0)
    return Vt.Matrix4dArray.FromNumpy(rows)


def _vectors(values: NDArray) -> Any:
    (Vt,) = modules("Vt")

    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def _curves(motion: Motion) -> tuple[NDArray, NDArray, NDArray]:
    """Return translations (F, J, 3), rotations (F, J, 4) and scales (1, J, 3) of a motion."""
    bones = motion.skeleton.offsets[None] if motion.offsets is None else motion.offsets
    translations = np.array(np.broadcast_to(bones, (len(motion), *bones.shape[1:])))
    translations[:, 0] = motion.root
    return translations, rotation.unroll(motion.rotations), np.ones((1, translations.shape[1], 3))


def write_animation(
    layer: Any, path: Any, joints: list[str], translations: NDArray, rotations: NDArray, scales: NDArray, times: NDArray
) -> None:
    """Write the curves of a SkelAnimation into a layer, replacing existing ones. times: (F,) time codes."""
    Sdf, Vt = modules("Sdf", "Vt")
    spec = Sdf.CreatePrimInLayer(layer, path)
    spec.specifier, spec.typeName = Sdf.SpecifierDef, "SkelAnimation"
    kinds = Sdf.ValueTypeNames
    places = {}
    for name, kind in (
        ("joints", kinds.TokenArray), ("translations", kinds.Float3Array), ("rotations", kinds.QuatfArray),
        ("scales", kinds.Half3Array),
    ):  # fmt: skip
        found = spec.properties.get(name)
        if found is not None:
            spec.RemoveProperty(found)
        variability = Sdf.VariabilityUniform if name == "joints" else Sdf.VariabilityVarying
        places[name] = Sdf.AttributeSpec(spec, name, kind, variability)
    places["joints"].default = Vt.TokenArray(joints)
    places["scales"].default = Vt.Vec3hArray.FromNumpy(np.ascontiguousarray(scales[0], np.float16))
    constant = len(times) > 1 and bool((translations == translations[:1]).all())
    if constant:
        places["translations"].default = _vectors(translations[0])
    quaternions = np.ascontiguousarray(rotations[..., [1, 2, 3, 0]], np.float32)
    for frame, time in enumerate(times.tolist()):
        if not constant:
            layer.SetTimeSample(places["translations"].path, time, _vectors(translations[frame]))
        layer.SetTimeSample(places["rotations"].path, time, Vt.QuatfArray.FromNumpy(quaternions[frame]))


def _write_mesh(mesh: Any, skin: Skin, skeleton: Any, joints: Skeleton) -> float:
    """Write the skin; return the largest distance of a vertex from its strongest joint, metres."""
    UsdGeom, UsdSkel, Vt = modules("UsdGeom", "UsdSkel", "Vt")

    normals = vertex_normals(skin.vertices, skin.faces) if skin.normals is None else skin.normals
    mesh.CreatePointsAttr(_vectors(skin.vertices))
    mesh.CreateFaceVertexCountsAttr(Vt.IntArray([3] * len(skin.faces)))
    mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(skin.faces.astype(np.int32).ravel()))
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    mesh.CreateDoubleSidedAttr(True)
    mesh.CreateNormalsAttr(_vectors(normals))
    mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
    mesh.CreateExtentAttr(_vectors(np.array([skin.vertices.min(axis=0), skin.vertices.max(axis=0)])))
    mesh.CreateDisplayColorPrimvar(UsdGeom.Tokens.constant).Set(_vectors(np.array([COLOR])))
    influencing, weights = _used_columns(skin)
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateSkeletonRel().SetTargets([skeleton.GetPath()])
    width, indices = influencing.shape[1], influencing.astype(np.int32).ravel()
    binding.CreateJointIndicesPrimvar(False, width).Set(Vt.IntArray.FromNumpy(indices))
    binding.CreateJointWeightsPrimvar(False, width).Set(Vt.FloatArray.FromNumpy(weights.ravel()))
    strongest = influencing[np.arange(len(influencing)), np.argmax(weights, axis=1)]
    return float(np.linalg.norm(skin.vertices - joints.rest_world[0][strongest], axis=1).max())


def _used_columns(skin: Skin) -> tuple[NDArray, NDArray]:
    """Return (V, K) joints and weights (32-bit, summing to 1), strongest first, without unused columns."""
    order = np.argsort(-skin.weights, axis=1, kind="stable")
    joints = np.take_along_axis(skin.joints, order, axis=1)
    weights = np.take_along_axis(skin.weights, order, axis=1)
    width = max(int((weights > 0).sum(axis=1).max(initial=1)), 1)
    weights = np.ascontiguousarray(weights[:, :width], np.float32)
    return np.where(weights > 0, joints[:, :width], 0), weights
