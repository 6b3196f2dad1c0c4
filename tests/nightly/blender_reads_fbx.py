"""Blender reads our FBX, GLB and BVH files: joints and skins must stand where we have them.

    python tests/nightly/blender_reads_fbx.py --blender .venv-blender/bin/python

writes files, has them read by the Python of an environment that has Blender in it (`bpy`, Python 3.11, about 1 GB), and
compares. `make nightly` makes that environment. The same file runs on both sides; Blender's side starts at `look`.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

TOLERANCE = 1e-4
"""Metres that a joint or a vertex may be off."""
FRAMES = 12
"""Frames of each clip that are compared, first and last among them."""
VERTICES = 300
IMPORTERS = {
    ".fbx": ("import_scene.fbx", "wm.fbx_import"),
    ".glb": ("import_scene.gltf",),
    ".bvh": ("import_anim.bvh",),
}
"""Blender's readers by file name; of FBX it has two, an old one in Python and a new one on top of ufbx."""

WRITING: dict[str, dict] = {".fbx": {}, ".glb": {"keep_takes": False}, ".bvh": {"units": "cm", "up": "y"}}
"""Options of ours by file name: one take, so that its range tells the frames, and the units that Blender is told."""


def write_files(folder: Path) -> list[dict]:
    """Our side: files of samples and, where their folder is there, of real motions; with the expected places."""
    import numpy as np

    import footplant
    from footplant import Kinematics
    from footplant.io import save
    from footplant.skinning import linear_blend

    shared = Path(__file__).resolve().parents[3] / "shared" / "data"
    wanted = ["sample:walk", "sample:jump", "sample:climb"]
    wanted += [str(shared / name) for name in ("bvh/cmu/02_01.bvh", "bvh/other/mocopi_jump.bvh", "gltf/CesiumMan.glb",
               "gltf/godot_mannequiny.glb", "gltf/RobotExpressive.glb") if (shared / name).is_file()]  # fmt: skip
    questions = []
    for number, name in enumerate(wanted):
        clip = footplant.load(name)
        motion, skin = clip.motion, clip.character.skin
        frames = np.unique(np.linspace(0, len(motion) - 1, FRAMES).astype(int))
        seen = Kinematics(motion[frames])
        vertices = None
        if skin is not None:
            every = max(1, len(skin.vertices) // VERTICES)
            vertices = linear_blend(skin, seen)[:, ::every].tolist()
        for extension in IMPORTERS:
            path = folder / f"{number}{extension}"
            save(path, clip, **WRITING[extension])
            for importer in IMPORTERS[extension]:
                questions.append({
                    "source": name, "path": str(path), "importer": importer, "frames": frames.tolist(),
                    "fps": motion.fps, "names": list(motion.skeleton.names), "joints": seen.positions.tolist(),
                    "every": 1 if skin is None else every, "count": 0 if skin is None else len(skin.vertices),
                    "vertices": vertices if extension == ".fbx" else None,
                })  # fmt: skip
    return questions


def look(question: dict) -> dict:
    """Blender's side: read a file and say where bones and vertices are, in metres, y up."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    # glTF and BVH readers count in frames of the scene
    scene.render.fps = max(1, round(question["fps"]))
    group, name = question["importer"].split(".")
    options = {"global_scale": 0.01, "axis_forward": "-Z", "axis_up": "Y"} if name == "bvh" else {}
    getattr(getattr(bpy.ops, group), name)(filepath=question["path"], **options)
    armature = next(thing for thing in bpy.data.objects if thing.type == "ARMATURE")
    _disconnect(armature)
    # some readers stretch time a little where a rate is no whole number: the last key is the last frame
    start, end = (pick(action.frame_range[side] for action in bpy.data.actions) for side, pick in ((0, min), (1, max)))
    step = (end - start) / max(question["frames"][-1], 1)
    meshes = [
        thing for thing in bpy.data.objects if thing.type == "MESH" and len(thing.data.vertices) == question["count"]
    ]
    answer: dict = {"joints": [], "vertices": []}
    for frame in question["frames"]:
        time = start + frame * step
        whole = math.floor(time + 1e-6)
        scene.frame_set(whole, subframe=max(0.0, time - whole))
        world = armature.matrix_world
        bones = armature.pose.bones
        answer["joints"].append(
            [_y_up(world @ bones[joint].head) if joint in bones else None for joint in question["names"]]
        )
        if question["vertices"] is not None and meshes:
            posed = meshes[0].evaluated_get(bpy.context.evaluated_depsgraph_get())
            places = [_y_up(posed.matrix_world @ vertex.co) for vertex in posed.data.vertices]
            answer["vertices"].append(places[:: question["every"]])
    return answer


def _disconnect(armature) -> None:
    """Let bones move: Blender connects a bone to a parent that ends where it begins, and then never moves it."""
    import bpy

    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in armature.data.edit_bones:
        bone.use_connect = False
    bpy.ops.object.mode_set(mode="OBJECT")


def _y_up(place) -> list[float]:
    x, y, z = place
    return [x, z, -y]


def compare(questions: list[dict], answers: list[dict]) -> bool:
    """Print one line a file and reader; True when all are within the tolerance."""
    import numpy as np

    good = True
    for question, answer in zip(questions, answers, strict=True):
        lost = [name for name, place in zip(question["names"], answer["joints"][0], strict=True) if place is None]
        kept = [number for number, place in enumerate(answer["joints"][0]) if place is not None]
        theirs = np.array([[row[number] for number in kept] for row in answer["joints"]])
        worst = float(np.abs(np.array(question["joints"])[:, kept] - theirs).max()) if kept else math.inf
        line = f"{Path(question['path']).suffix} {question['importer']:17} joints {worst:.1e} m"
        if question["vertices"] is not None:
            places = np.array(answer["vertices"])
            apart = float(np.abs(np.array(question["vertices"]) - places).max()) if places.size else math.inf
            worst = max(worst, apart)
            line += f", vertices {apart:.1e} m"
        if lost:
            line += f", lost {', '.join(lost[:5])}"
        passed = worst <= TOLERANCE and not lost
        good &= passed
        print(f"{'ok  ' if passed else 'FAIL'} {line}  {Path(question['source']).name}", flush=True)
    return good


def main() -> int:
    """Write, have read, compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--blender", help="the Python that has bpy")
    parser.add_argument("--look", metavar="FOLDER", help="used by the script itself, inside that Python")
    chosen = parser.parse_args()
    if chosen.look:
        folder = Path(chosen.look)
        answers = [look(question) for question in json.loads((folder / "questions.json").read_text())]
        (folder / "answers.json").write_text(json.dumps(answers))
        return 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        questions = write_files(folder)
        (folder / "questions.json").write_text(json.dumps(questions))
        done = subprocess.run([chosen.blender, __file__, "--look", made], capture_output=True, text=True, timeout=1800)
        if done.returncode or not (folder / "answers.json").exists():
            print(done.stdout[-2000:], done.stderr[-4000:], file=sys.stderr)
            return 1
        return 0 if compare(questions, json.loads((folder / "answers.json").read_text())) else 1


if __name__ == "__main__":
    sys.exit(main())
