"""Materials, embedded textures and morph targets as objects of an FBX file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from footplant.io.fbx.records import SEPARATOR, properties, record
from footplant.io.fbx.write_scene import FbxObjects
from footplant.looks import Looks, MeshPart


def add_materials(scene: FbxObjects, looks: Looks) -> list[np.int64]:
    """Add all materials with their textures; pictures at hand are embedded. Return the materials' ids."""
    textures = []
    for number, texture in enumerate(looks.textures):
        name = texture.name or f"texture{number + 1}"
        file = f"{name}.{'png' if texture.mime == 'image/png' else 'jpg'}" if texture.data else name
        path = properties(("Path", "KString", "XRefUrl", "", file))
        names = [record("Filename", file), record("RelativeFilename", file)]
        clip = [record("Type", "Clip"), path, record("UseMipMap", 0), *names]
        if texture.data:
            clip.append(record("Content", texture.data))
        video = scene.add("Video", name, "Video", "Clip", clip)
        inside = [
            record("Type", "TextureVideoClip"),
            record("Version", 202),
            record("TextureName", f"{name}{SEPARATOR}Texture"),
            record("Media", f"{name}{SEPARATOR}Video"),
            record("FileName", file),
            record("RelativeFilename", file),
            record("ModelUVTranslation", 0.0, 0.0),
            record("ModelUVScaling", 1.0, 1.0),
            record("Texture_Alpha_Source", "None"),
            record("Cropping", 0, 0, 0, 0),
        ]
        picture = scene.add("Texture", name, "Texture", "", inside)
        scene.connect(video, picture)
        textures.append(picture)
    materials = []
    for material in looks.materials:
        red, green, blue, opacity = material.color
        rows: list[tuple] = [("DiffuseColor", "Color", "", "A", red, green, blue)]
        if opacity < 1.0:
            rows.append(("TransparencyFactor", "Number", "", "A", 1.0 - opacity))
        inside = [
            record("Version", 102),
            record("ShadingModel", "lambert" if material.specular is None else "phong"),
            record("MultiLayer", 0),
            properties(*rows),
        ]
        number = scene.add("Material", material.name or "material", "Material", "", inside)
        slots = {"DiffuseColor": material.texture, "NormalMap": material.normal, "SpecularColor": material.specular}
        for slot, texture in slots.items():
            if texture is not None:
                scene.connect(textures[texture], number, slot)
        materials.append(number)
    return materials


def add_morphs(scene: FbxObjects, part: MeshPart, kept: NDArray, geometry: np.int64, title: str) -> None:
    """Add the morph targets of a mesh; kept: the skin's vertices that the mesh has, in ascending order."""
    if not part.morphs:
        return
    deformer = scene.add("Deformer", title, "Deformer", "BlendShape", [record("Version", 100)])
    scene.connect(deformer, geometry)
    for morph in part.morphs:
        place = np.searchsorted(kept, morph.vertices)
        inside = (place < len(kept)) & (kept[np.minimum(place, len(kept) - 1)] == morph.vertices)
        offsets = np.ascontiguousarray(morph.offsets[inside], "<f8")
        settings = [record("Version", 100), record("DeformPercent", 0.0), record("FullWeights", np.array([100.0]))]
        channel = scene.add("Deformer", morph.name, "SubDeformer", "BlendShapeChannel", settings)
        scene.connect(channel, deformer)
        moved = [
            record("Version", 100),
            record("Indexes", place[inside].astype("<i4")),
            record("Vertices", offsets.reshape(-1)),
            record("Normals", np.zeros(offsets.size)),
        ]
        shape = scene.add("Geometry", morph.name, "Geometry", "Shape", moved)
        scene.connect(shape, channel)
