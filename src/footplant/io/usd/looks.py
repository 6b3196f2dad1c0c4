"""Write materials, textures, texture coordinates and morph targets to a USD stage.

Materials are UsdPreviewSurface, which every USD viewer knows; morph targets are UsdSkel blend shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.io.usd.library import modules
from footplant.looks import Looks, MeshPart
from footplant.skeleton import Skin

LOOKS = "Looks"
"""Name of the scope that holds the materials."""


def picture_files(looks: Looks) -> list[tuple[str, bytes]]:
    """Return names and bytes of the pictures; the names differ."""
    out: list[tuple[str, bytes]] = []
    taken: set[str] = set()
    for number, texture in enumerate(looks.textures):
        stem = "".join(
            letter if letter.isascii() and (letter.isalnum() or letter in "_-") else "_" for letter in texture.name
        )
        name = f"{stem or 'texture'}.{'png' if texture.mime == 'image/png' else 'jpg'}"
        if name.lower() in taken:
            name = f"{number}_{name}"
        taken.add(name.lower())
        out.append((name, texture.data))
    return out


def add_materials(stage: Any, scope: Any, looks: Looks, files: Sequence[str]) -> list[Any]:
    """Add every material below a scope; files: the asset path of each texture. Returns the materials."""
    Gf, Sdf, UsdGeom, UsdShade = modules("Gf", "Sdf", "UsdGeom", "UsdShade")
    UsdGeom.Scope.Define(stage, scope)
    kinds, out, taken = Sdf.ValueTypeNames, [], set()
    for number, material in enumerate(looks.materials):
        name = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in material.name)
        name = f"M_{name}" if not name[:1].isalpha() else name
        name = f"{name}_{number}" if name in taken else name
        taken.add(name)
        made = UsdShade.Material.Define(stage, scope.AppendChild(name))
        shader = UsdShade.Shader.Define(stage, made.GetPath().AppendChild("Surface"))
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("roughness", kinds.Float).Set(0.9)
        shader.CreateInput("metallic", kinds.Float).Set(0.0)
        red, green, blue, opacity = material.color
        shader.CreateInput("diffuseColor", kinds.Color3f).Set(Gf.Vec3f(red, green, blue))
        if opacity < 1.0:
            shader.CreateInput("opacity", kinds.Float).Set(opacity)
        slots = (
            ("diffuseColor", material.texture, kinds.Color3f, "sRGB"),
            ("normal", material.normal, kinds.Normal3f, "raw"),
            ("specularColor", material.specular, kinds.Color3f, "sRGB"),
        )  # fmt: skip
        if any(texture is not None for _, texture, _, _ in slots):
            reader = UsdShade.Shader.Define(stage, made.GetPath().AppendChild("Coordinates"))
            reader.CreateIdAttr("UsdPrimvarReader_float2")
            reader.CreateInput("varname", kinds.String).Set("st")
            reader.CreateOutput("result", kinds.Float2)
        for slot, texture, kind, space in slots:
            if texture is None:
                continue
            picture = UsdShade.Shader.Define(stage, made.GetPath().AppendChild(f"{slot}Texture"))
            picture.CreateIdAttr("UsdUVTexture")
            picture.CreateInput("file", kinds.Asset).Set(Sdf.AssetPath(files[texture]))
            picture.CreateInput("sourceColorSpace", kinds.Token).Set(space)
            picture.CreateInput("wrapS", kinds.Token).Set("repeat")
            picture.CreateInput("wrapT", kinds.Token).Set("repeat")
            picture.CreateInput("st", kinds.Float2).ConnectToSource(reader.ConnectableAPI(), "result")
            if slot == "normal":
                # the picture holds 0 … 1, a normal −1 … 1
                picture.CreateInput("scale", kinds.Float4).Set(Gf.Vec4f(2.0, 2.0, 2.0, 1.0))
                picture.CreateInput("bias", kinds.Float4).Set(Gf.Vec4f(-1.0, -1.0, -1.0, 0.0))
            if slot == "specularColor":
                shader.CreateInput("useSpecularWorkflow", kinds.Int).Set(1)
            picture.CreateOutput("rgb", kinds.Float3)
            shader.CreateInput(slot, kind).ConnectToSource(picture.ConnectableAPI(), "rgb")
        shader.CreateOutput("surface", kinds.Token)
        made.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        out.append(made)
    return out


def part_of(skin: Skin, part: MeshPart, kept: NDArray) -> Skin:
    """Return the skin of one mesh: its own triangles, and of the vertices those that they use, in ascending order."""
    return replace(
        skin,
        vertices=skin.vertices[kept],
        faces=np.searchsorted(kept, skin.faces[part.start : part.stop]),
        joints=skin.joints[kept],
        weights=skin.weights[kept],
        normals=None if skin.normals is None else skin.normals[kept],
        attached=None if skin.attached is None else skin.attached[kept],
        looks=None,
    )


def add_surfaces(stage: Any, mesh: Any, part: MeshPart, materials: Sequence[Any]) -> None:
    """Bind a mesh to its material, or groups of its faces to several; add texture coordinates."""
    Sdf, UsdGeom, UsdShade, Vt = modules("Sdf", "UsdGeom", "UsdShade", "Vt")
    if part.uvs is not None:
        primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar(
            "st", Sdf.ValueTypeNames.TexCoord2fArray, UsdGeom.Tokens.faceVarying
        )
        primvar.Set(Vt.Vec2fArray.FromNumpy(np.ascontiguousarray(part.uvs.reshape(-1, 2), np.float32)))
    used = np.unique(part.materials).tolist()
    if len(used) == 1:
        UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(materials[used[0]])
        return
    for number in used:
        faces = np.flatnonzero(part.materials == number).astype(np.int32)
        subset = UsdGeom.Subset.CreateGeomSubset(
            mesh, f"material_{number}", UsdGeom.Tokens.face, Vt.IntArray.FromNumpy(faces), "materialBind",
            UsdGeom.Tokens.nonOverlapping,
        )  # fmt: skip
        UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(materials[number])
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).SetMaterialBindSubsetsFamilyType(UsdGeom.Tokens.partition)


def add_morphs(stage: Any, mesh: Any, part: MeshPart, kept: NDArray) -> None:
    """Add the morph targets of a mesh as blend shapes; kept: the skin's vertices that it has, in ascending order."""
    UsdSkel, Vt = modules("UsdSkel", "Vt")
    if not part.morphs:
        return
    names, targets = [], []
    for number, morph in enumerate(part.morphs):
        title = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in morph.name)
        title = f"shape_{title}" if not title[:1].isalpha() else title
        title = f"{title}_{number}" if title in names else title
        place = np.searchsorted(kept, morph.vertices)
        inside = (place < len(kept)) & (kept[np.minimum(place, len(kept) - 1)] == morph.vertices)
        shape = UsdSkel.BlendShape.Define(stage, mesh.GetPath().AppendChild(title))
        offsets = np.ascontiguousarray(morph.offsets[inside], np.float32)
        shape.CreateOffsetsAttr(Vt.Vec3fArray.FromNumpy(offsets))
        shape.CreatePointIndicesAttr(Vt.IntArray.FromNumpy(place[inside].astype(np.int32)))
        names.append(title)
        targets.append(shape.GetPath())
    binding = UsdSkel.BindingAPI(mesh.GetPrim())
    binding.CreateBlendShapesAttr(Vt.TokenArray(names))
    binding.CreateBlendShapeTargetsRel().SetTargets(targets)
