"""What files hold, counted without Footplant: meshes, skins, materials, textures, morph targets, joints, takes …"""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

LIGHTS = "KHR_lights_punctual"
_UFBX = """
import ufbx, gc, json, os, sys
gc.disable()
s = ufbx.load_file(sys.argv[1])
m = [x for x in list(s.meshes) if x.num_faces and len(x.instances)]
t = {x.relative_filename or x.filename for x in list(s.textures)} - {''}
print(json.dumps({
    'meshes': len(m), 'skins': min(len(s.skin_deformers), 1), 'textures': len(t), 'takes': len(s.anim_stacks),
    'materials': len(s.materials) if m else 0, 'morph targets': len(s.blend_channels), 'cameras': len(s.cameras),
    'lights': len(s.lights), 'joints': len(s.bones),
}), flush=True)
os._exit(0)
"""
_USD = """
import json, sys
from pxr import Usd, UsdGeom, UsdLux, UsdShade, UsdSkel
stage = Usd.Stage.Open(sys.argv[1])
prims = list(stage.Traverse())
def count(kind):
    return sum(prim.IsA(kind) for prim in prims)
shaders = [UsdShade.Shader(prim) for prim in prims if prim.IsA(UsdShade.Shader)]
skeletons = [UsdSkel.Skeleton(prim) for prim in prims if prim.IsA(UsdSkel.Skeleton)]
print(json.dumps({
    'meshes': count(UsdGeom.Mesh), 'materials': count(UsdShade.Material), 'morph targets': count(UsdSkel.BlendShape),
    'skins': int(any(prim.IsA(UsdGeom.Mesh) and prim.HasAPI(UsdSkel.BindingAPI) for prim in prims)),
    'textures': sum(bool(s.GetInput('file') and s.GetInput('file').Get()) for s in shaders),
    'takes': count(UsdSkel.Animation), 'cameras': count(UsdGeom.Camera), 'lights': count(UsdLux.BoundableLightBase),
    'joints': max((len(s.GetJointsAttr().Get() or ())
                   + len((s.GetPrim().GetCustomDataByKey('footplantEndSites') or {}).get('parents', ()))
                   for s in skeletons), default=0),
}))
"""


def gltf_json(path: Path) -> dict:
    """The document of a .glb, .vrm or .gltf file."""
    return _document(path.read_bytes())


def _document(data: bytes) -> dict:
    if data[:4] != b"glTF":
        return json.loads(data)
    return json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])


def independent(path: Path) -> dict[str, int]:
    """What a file holds; kinds that a format does not have are missing."""
    ending = path.suffix.lower()
    if ending in (".glb", ".vrm", ".gltf", ".vrma"):
        return _gltf(gltf_json(path))
    if ending == ".fbx":
        return _ask(_UFBX, path)
    if ending in (".usd", ".usda", ".usdc", ".usdz"):
        return _ask(_USD, path)
    if ending == ".dae":
        return _collada(path)
    if ending == ".bvh":
        return {"takes": 1, "joints": len(re.findall(rb"\b(?:ROOT|JOINT|End)\b", path.read_bytes()[:1_000_000]))}
    if ending == ".npz":
        with np.load(path) as arrays:
            ends = len(arrays["end_parents"]) if "end_parents" in arrays else 0
            return {"takes": 1, "joints": len(arrays["names"]) + ends if "names" in arrays else 0}
    if ending == ".footplant":
        return _project(path)
    return {"takes": 1}


def _gltf(document: dict) -> dict[str, int]:
    meshes = [mesh for mesh in document.get("meshes", ()) if "footplantBones" not in mesh.get("extras", {})]
    targets = [max(len(part.get("targets", ())) for part in mesh["primitives"]) for mesh in meshes]
    joints = {joint for skin in document.get("skins", ()) for joint in skin["joints"]}
    joints |= {
        n for n, node in enumerate(document.get("nodes", ())) if "footplantEndSite" in (node.get("extras") or {})
    }
    return {
        "meshes": len(meshes), "skins": min(len(document.get("skins", ())), 1) if meshes else 0,
        "takes": len(document.get("animations", ())),
        "materials": len(document.get("materials", ())), "textures": len(document.get("images", ())),
        "morph targets": sum(targets), "cameras": len(document.get("cameras", ())),
        "lights": len(document.get("extensions", {}).get(LIGHTS, {}).get("lights", ())),
        "joints": len(joints),
    }  # fmt: skip


def _collada(path: Path) -> dict[str, int]:
    root = ElementTree.parse(path).getroot()
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    return {
        "meshes": tags.count("geometry"), "skins": min(tags.count("skin"), 1), "materials": tags.count("material"),
        "textures": tags.count("image"), "cameras": tags.count("camera"), "lights": tags.count("light"),
        "takes": max(tags.count("animation_clip"), min(tags.count("animation"), 1)),
    }  # fmt: skip


def _project(path: Path) -> dict[str, int]:
    """The character's own file inside a project, and the project's takes."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        takes = {match.group(0) for name in names if (match := re.match(r"figures/\d+/takes/\d+", name))}
        found: dict[str, int] = {"meshes": int(any("skin" in name for name in names)), "takes": len(takes)}
        found["skins"] = found["meshes"]
        for name in names:
            if name.endswith((".glb", ".vrm", ".vrma")):
                found |= _gltf(_document(archive.read(name))) | {"takes": len(takes)}
        bones = np.load(io.BytesIO(archive.read("characters/0/offsets.npy")))
        ends = np.load(io.BytesIO(archive.read("characters/0/end_offsets.npy")))
        return found | {"joints": len(bones) + len(ends)}


def _ask(code: str, path: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise AssertionError(f"counting {path.name} failed: {done.stderr[-500:]}")
    return json.loads(done.stdout)
