"""Where ufbx itself puts the nodes and the skinned vertices of FBX files; run as a script, because ufbx may crash.

in (argument): {path, takes: [{name, times}], vertices}; name null is the pose of the file itself, times null means the
times at which every curve has a key.
out: [[{time, nodes: {name: [x, y, z]}, skinned: [[x, y, z], ..], spoiled: [name, ..]}, by time], by take]; names that
several nodes have are left out, of the skinned vertices every so manyth is given, and spoiled are nodes that three.js
cannot judge, because the three curves of one of their turns have different keys.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def ask_ufbx(path: Path, takes: list[dict[str, Any]], vertices: int = 0) -> list[list[dict[str, Any]]]:
    """Run this file as a script and return its output."""
    request = json.dumps({"path": str(path), "takes": takes, "vertices": vertices})
    done = subprocess.run([sys.executable, __file__, request], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _main() -> None:
    gc.disable()
    import ufbx

    kept: list[Any] = []

    def keep(thing: Any) -> Any:
        kept.append(thing)
        return thing

    def look(scene: Any, time: float) -> dict[str, Any]:
        places: dict[str, Any] = {}
        for node in keep(list(scene.nodes)):
            places[node.name] = None if node.name in places else list(node.node_to_world.c3)
        skinned: list[list[float]] = []
        for mesh in keep(list(scene.meshes)) if request["vertices"] else []:
            if len(mesh.skin_deformers) and not mesh.skinned_is_local:
                points = mesh.skinned_position.values
                step = max(1, len(points) // request["vertices"])
                skinned += [list(points[place]) for place in range(0, len(points), step)]
        return {
            "time": time,
            "spoiled": spoiled(scene),
            "nodes": {name: place for name, place in places.items() if place is not None},
            "skinned": skinned,
        }

    def shared_times(stack: Any) -> list[float]:
        """Return times inside the take at which all curves of bones have keys."""
        found: set[tuple[float, ...]] = set()
        for layer in keep(list(stack.layers)):
            for entry in keep(list(layer.anim_props)):
                if entry.prop_name not in ("Lcl Translation", "Lcl Rotation", "Lcl Scaling"):
                    continue
                node = keep(ufbx.as_node(keep(entry.element)))
                curves = [curve for curve in keep(entry.anim_value.curves) if curve is not None]
                if node is None or node.attrib_type != ufbx.ElementType.BONE:
                    continue
                if all(curve.min_value == curve.max_value for curve in curves):
                    continue
                keys = [tuple(key.time for key in curve.keyframes) for curve in curves]
                if len(set(keys)) > 1:
                    uneven.add(node.name)
                else:
                    found.add(keys[0])
        inside = [time for time in (min(found, key=len) if found else ()) if stack.time_begin <= time <= stack.time_end]
        return [time for time in inside if all(time in keys for keys in found)]

    def spoiled(scene: Any) -> list[str]:
        """Return nodes whose curves along the three axes have different keys, and all nodes below them."""
        names = set(uneven)
        for node in keep(list(scene.nodes)):
            if node.parent is not None and node.parent.name in names:
                names.add(node.name)
        return sorted(names)

    uneven: set[str] = set()
    request = json.loads(sys.argv[1])
    scene = keep(ufbx.load_file(request["path"]))
    stacks = {stack.name: stack for stack in keep(list(scene.anim_stacks))}
    answers = []
    for take in request["takes"]:
        anim = keep(scene.anim if take["name"] is None else stacks[take["name"]].anim)
        times = shared_times(stacks[take["name"]]) if take["times"] is None else take["times"]
        answers.append(
            [look(keep(ufbx.evaluate_scene(scene, anim, time, evaluate_skinning=True)), time) for time in times]
        )
    sys.stdout.write(json.dumps(answers))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    _main()
