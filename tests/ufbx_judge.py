"""What ufbx, a library that has nothing to do with ours, finds in FBX files.

Run as a program, for a process of its own: ufbx's Python objects can outlive what they point to.
in: JSON [{"path": …, "seconds": […], "mesh": true}, …]   out: JSON, one answer a file, see `look`.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np


def ask_ufbx(questions: list[dict[str, Any]], timeout: float = 120.0) -> list[dict[str, Any]]:
    """Ask in a child process; arrays are returned as lists. Skips the test if ufbx is missing."""
    import pytest

    pytest.importorskip("ufbx", reason="ufbx is not installed: pip install footplant[fbx]")
    done = subprocess.run(
        [sys.executable, __file__], input=json.dumps(questions), capture_output=True, text=True, timeout=timeout
    )
    if done.returncode:
        raise AssertionError(f"ufbx failed: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def counts(path) -> dict[str, int]:
    """Return how many meshes, materials, textures, morph targets … ufbx finds in a file."""
    import pytest

    pytest.importorskip("ufbx", reason="ufbx is not installed: pip install footplant[fbx]")
    code = (
        "import ufbx, gc, json, os, sys; gc.disable(); s = ufbx.load_file(sys.argv[1]);"
        "m = [x for x in list(s.meshes) if x.num_faces and len(x.instances)];"
        "t = {x.relative_filename or x.filename for x in list(s.textures)} - {''};"
        "print(json.dumps({'meshes': len(m), 'skins': min(len(s.skin_deformers), 1), 'textures': len(t), 'takes': "
        "len(s.anim_stacks), 'materials': len(s.materials) if m else 0, 'morph targets': len(s.blend_channels), "
        "'cameras': len(s.cameras)}), flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout)


def _hold(thing):
    """Keep a reference to an object: ufbx miscounts the references of its elements."""
    if thing is not None:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
    return thing


def _all(listed) -> list:
    _hold(listed)
    return [_hold(listed[number]) for number in range(len(listed))]


def look(path: str, seconds: list[float], mesh: bool = False) -> dict[str, Any]:
    """Return nodes, their positions (file units) at some times of the first take, and the first mesh with weights."""
    import ufbx

    scene = _hold(ufbx.load_file(path))
    settings, metadata, stacks = _hold(scene.settings), _hold(scene.metadata), _all(scene.anim_stacks)
    anim = _hold(stacks[0].anim)
    nodes, above = [], []
    for node in _all(scene.nodes):
        parent = _hold(node.parent)
        if parent is not None:
            nodes.append(node)
            above.append(parent.element_id)
    order = {node.element_id: number for number, node in enumerate(nodes)}
    parents = [order.get(number, -1) for number in above]
    answer: dict[str, Any] = {
        "version": metadata.version,
        "creator": metadata.creator,
        "warnings": [str(warning.description) for warning in _all(metadata.warnings)],
        "unit": settings.unit_meters,
        "axes": [int(settings.axes.right), int(settings.axes.up), int(settings.axes.front)],
        "fps": settings.frames_per_second,
        "mode": int(settings.time_mode),
        "takes": [stack.name for stack in stacks],
        "span": [stacks[0].time_begin, stacks[0].time_end],
        "names": [node.name for node in nodes],
        "kinds": [node.attrib_type.name for node in nodes],
        "parents": parents,
        "ends": [_hold(node.props).find_bool("footplantEndSite", False) for node in nodes],
        "rest": [list(node.node_to_world.c3) for node in nodes],
        "keys": [len(_hold(curve.keyframes)) for curve in _all(scene.anim_curves)],
        "positions": [_places(ufbx, anim, nodes, parents, time) for time in seconds],
    }
    if mesh:
        answer["mesh"] = _mesh(scene)
    return answer


def _places(ufbx, anim, nodes, parents, time: float) -> list[list[float]]:
    worlds: list[np.ndarray] = []
    for node, parent in zip(nodes, parents):
        local = ufbx.evaluate_transform(anim, node, time)
        x, y, z, w = local.rotation
        matrix = np.eye(4)
        matrix[:3, :3] = np.array([
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]) * np.array(local.scale)  # fmt: skip
        matrix[:3, 3] = local.translation
        worlds.append(matrix if parent < 0 else worlds[parent] @ matrix)
    return [world[:3, 3].tolist() for world in worlds]


def _mesh(scene) -> dict[str, Any]:
    mesh, skin = _all(scene.meshes)[0], _all(scene.skin_deformers)[0]
    clusters = {}
    for cluster in _all(skin.clusters):
        clusters[_hold(cluster.bone_node).name] = {
            "vertices": list(cluster.vertices),
            "weights": list(cluster.weights),
            "bind": [list(column) for column in cluster.geometry_to_bone],
            "link": [list(column) for column in cluster.bind_to_world],
        }
    normal = _hold(mesh.vertex_normal)
    directions = [list(vector) for vector in normal.values]
    pose = next(pose for pose in _all(scene.poses) if pose.is_bind_pose)
    return {
        "name": _all(mesh.instances)[0].name,
        "vertices": [list(vertex) for vertex in mesh.vertices],
        "corners": list(mesh.vertex_indices),
        "faces": mesh.num_faces,
        "normals": [directions[number] for number in normal.indices],
        "materials": [material.name for material in _all(scene.materials)],
        "clusters": clusters,
        "pose": len(pose.bone_poses),
    }


if __name__ == "__main__":
    gc.disable()
    sys.stdout.write(json.dumps([look(**question) for question in json.load(sys.stdin)]))
    sys.stdout.flush()
    os._exit(0)
