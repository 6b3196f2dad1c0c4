"""The child process that reads FBX files: run as a script, `python -I -S child.py REQUEST < file.fbx > answer`.

It imports only the standard library and `ufbx`, so that it starts fast, and it exits without cleanup: the binding
miscounts the references of scene elements, so that releasing one can crash the interpreter. Therefore nothing is ever
released (`keep`), the garbage collector is off, and the process ends by `os._exit`. The operating system limits the
resources that a damaged file can use.

REQUEST is a JSON object: folders (where ufbx is), memory and output (bytes), seconds (CPU), samples (maximum frames ×
nodes of a take), mesh_bytes (maximum of all meshes), take (index of the take to sample, or null), rate (frames per
second, or null for the file's own), structure (whether nodes and meshes are wanted besides the takes).

The answer is the bytes of the arrays one after another, then a JSON object, its length in 8 bytes, and MAGIC. Its
"arrays" lists name, `array.array` type code and count of each; "error" describes a failure.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import sys
from array import array
from itertools import chain, repeat
from math import cos, pi, sin

MAGIC = b"FOOTPFBX"
ALIGNED = 8
"""Alignment of every array, bytes."""
RATES = (24.0, 25.0, 30.0, 48.0, 50.0, 60.0, 72.0, 75.0, 90.0, 100.0, 120.0, 144.0, 150.0, 200.0, 240.0, 23.976, 29.97)
"""Hz; rates that are tried if keys do not lie on the rate that the file states."""
GRID_TOLERANCE = 0.02
"""Frames; largest distance of a key from its frame. Doubled, slightly irregular keys count as uniform."""
DEFAULT_RATE = 30.0
"""Hz; used if the file states no valid rate."""
STILL = 1e-6
"""Relative; a curve that varies by less is static."""
FAR = 1e-2
"""A translation is large if it changes by more than this fraction of the node's distance from its parent."""
PROPERTIES = {"Lcl Translation": 1, "Lcl Rotation": 2, "Lcl Scaling": 4}
"""Bits for what a take varies of a node; 8 is a large translation."""
END_SITE = "footplantEndSite"
"""Property of end sites in files that Footplant wrote."""
BONE, LIGHT, CAMERA, SWITCHER = 5, 3, 4, 14
"""Node kinds, ufbx's numbers."""
MAX_DEPTH = 1024
"""Maximum nesting depth of nodes; a deeper tree is treated as a damaged file."""
MAX_KEYS, MAX_KEYS_PER_CURVE = 4096, 64
"""Keys that are examined to see whether they lie on frames, in total and per curve."""
ORDERS = ((0, 1, 2), (0, 2, 1), (1, 2, 0), (1, 0, 2), (2, 0, 1), (2, 1, 0))
"""Axes of the rotation orders, by ufbx's numbers: the first one turns first."""
CHECKED = 8
"""Frames at which what curves say of a node is compared with its transform."""
EXACT = 1e-9
"""Largest difference of the two, relative."""
KEPT = []
"""Every object that ufbx returned; see the module docstring."""


def keep(thing):
    """Keep a reference to a ufbx object for the life of the process, because ufbx miscounts them."""
    KEPT.append(thing)
    return thing


class Answer:
    """Arrays, written as they are added, and the JSON object that describes them."""

    def __init__(self, file):
        """Write to an open binary file."""
        self.file, self.arrays = file, []

    def add(self, name, values, code):
        """Add one array: an `array.array`, or a ufbx list that is a buffer of doubles or 32-bit integers."""
        try:
            data = memoryview(values)
        except TypeError:
            data = memoryview(array(code, values))
        if data.nbytes:
            self.file.write(data.cast("B"))
            self.file.write(bytes(-data.nbytes % ALIGNED))
        self.arrays.append([name, code, data.nbytes // array(code).itemsize])

    def finish(self, header):
        """Write the JSON object and the trailer."""
        text = json.dumps({**header, "arrays": self.arrays}).encode()
        self.file.write(text + struct.pack("<Q", len(text)) + MAGIC)
        self.file.flush()


def limit(request):
    """Set operating system limits on this process, where supported."""
    try:
        import resource
    except ImportError:
        return
    limits = (
        ("RLIMIT_CORE", 0),
        ("RLIMIT_CPU", request["seconds"]),
        ("RLIMIT_FSIZE", request["output"]),
        ("RLIMIT_DATA", request["memory"]),
        # address space includes libraries that are mapped but never written
        ("RLIMIT_AS", request["memory"] + (512 << 20)),
    )
    for name, wanted in limits:
        try:
            which = getattr(resource, name)
            most = resource.getrlimit(which)[1]
            value = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
            resource.setrlimit(which, (value, most))
        except (AttributeError, ValueError, OSError):
            continue


def matrix(value):
    """Return the twelve numbers of an affine matrix, column by column."""
    return [number for column in value for number in column]


def read_nodes(scene, answer):
    """Add tree, kinds and local transforms of all nodes and the bind poses; return nodes and their names."""
    import ufbx

    nodes = keep(list(scene.nodes))
    parents, kinds, inherit, elements, marked = (array("i") for _ in range(5))
    local = array("d")
    for node in nodes:
        parent = node.parent
        parents.append(-1 if parent is None else parent.typed_id)
        kinds.append(int(node.attrib_type))
        inherit.append(int(node.inherit_mode))
        elements.append(node.element_id)
        marked.append(bool(ufbx.find_bool(node.props, END_SITE, False)))
        for part in node.local_transform:
            local.extend(part)
    for name, values in (("parents", parents), ("kinds", kinds), ("inherit", inherit), ("elements", elements)):
        answer.add(name, values, "i")
    answer.add("marked", marked, "i")
    answer.add("local", local, "d")
    posed, poses = array("i"), array("d")
    for pose in keep(list(scene.poses)):
        if pose.is_bind_pose:
            for bone in keep(list(pose.bone_poses)):
                posed.append(bone.bone_node.typed_id)
                poses.extend(matrix(bone.bone_to_world))
    answer.add("posed", posed, "i")
    answer.add("poses", poses, "d")
    return nodes, [node.name for node in nodes]


def read_meshes(scene, answer, most):
    """Add geometry and skin clusters of every mesh with faces; return None if they exceed `most` bytes."""
    found, size = [], 0
    meshes = [mesh for mesh in keep(list(scene.meshes)) if mesh.num_faces and len(mesh.instances)]
    for mesh in meshes:
        skins = keep(list(mesh.skin_deformers))
        clusters = keep(list(skins[0].clusters)) if skins else []
        normal = mesh.vertex_normal if mesh.vertex_normal.exists else None
        size += mesh.num_vertices * 24 + mesh.num_faces * 8 + mesh.num_indices * (8 if normal else 4)
        size += (len(normal.values) * 24 if normal else 0) + sum(cluster.num_weights for cluster in clusters) * 12
        if size > most:
            return None
        found.append((mesh, skins, clusters, normal))
    out = []
    for number, (mesh, skins, clusters, normal) in enumerate(found):
        answer.add(f"mesh{number}.vertices", mesh.vertices, "d")
        answer.add(f"mesh{number}.faces", mesh.faces, "I")
        answer.add(f"mesh{number}.corners", mesh.vertex_indices, "I")
        if normal is not None:
            answer.add(f"mesh{number}.normals", normal.values, "d")
            answer.add(f"mesh{number}.normal_corners", normal.indices, "I")
        instances, placed = array("i"), array("d")
        for node in keep(list(mesh.instances)):
            instances.append(node.typed_id)
            placed.extend(matrix(node.geometry_to_node))
        answer.add(f"mesh{number}.instances", instances, "i")
        answer.add(f"mesh{number}.placed", placed, "d")
        bones, counts, binds, worlds = array("i"), array("I"), array("d"), array("d")
        for cluster in clusters:
            bones.append(cluster.bone_node.typed_id)
            counts.append(cluster.num_weights)
            binds.extend(matrix(cluster.geometry_to_bone))
            worlds.extend(matrix(cluster.bind_to_world))
        answer.add(f"mesh{number}.bones", bones, "i")
        answer.add(f"mesh{number}.counts", counts, "I")
        answer.add(f"mesh{number}.binds", binds, "d")
        answer.add(f"mesh{number}.bind_worlds", worlds, "d")
        vertices, weights = array("I"), array("d")
        for cluster in clusters:
            vertices.extend(cluster.vertices)
            weights.extend(cluster.weights)
        answer.add(f"mesh{number}.weighted", vertices, "I")
        answer.add(f"mesh{number}.weights", weights, "d")
        add_looks(mesh, number, answer)
        name = mesh.name or next((node.name for node in keep(list(mesh.instances)) if node.name), "")
        shapes = add_shapes(mesh, number, answer)
        out.append({"name": name, "normals": normal is not None, "skins": len(skins), "shapes": shapes})
    return out


def add_looks(mesh, number, answer):
    """Add a mesh's texture coordinates, and the material of each face."""
    if mesh.vertex_uv.exists:
        answer.add(f"mesh{number}.uvs", mesh.vertex_uv.values, "d")
        answer.add(f"mesh{number}.uv_corners", mesh.vertex_uv.indices, "I")
    answer.add(f"mesh{number}.materials", array("i", [keep(m).typed_id for m in keep(list(mesh.materials))]), "i")
    answer.add(f"mesh{number}.face_materials", mesh.face_material, "I")


def add_shapes(mesh, number, answer):
    """Add the full shapes of a mesh's morph channels; return their names."""
    names = []
    for deformer in keep(list(mesh.blend_deformers)):
        for channel in keep(list(deformer.channels)):
            shape = keep(channel.target_shape)
            if shape is not None:
                answer.add(f"mesh{number}.shape{len(names)}.vertices", shape.offset_vertices, "I")
                answer.add(f"mesh{number}.shape{len(names)}.offsets", shape.position_offsets, "d")
                names.append(channel.name)
    return names


def read_looks(scene, answer, most):
    """Add embedded pictures; return the colours and pictures of all materials."""
    textures, size = [], 0
    for number, texture in enumerate(keep(list(scene.textures))):
        content = keep(texture.content)
        size += len(content)
        if len(content) and size <= most:
            answer.add(f"texture{number}", array("B", bytes(content)), "B")
        textures.append({"file": texture.relative_filename or texture.filename})
    materials = []
    for material in keep(list(scene.materials)):
        diffuse = keep(material.fbx.diffuse_color)
        picture = lowest(keep(diffuse.texture) or keep(material.pbr.base_color.texture))
        factor = material.fbx.diffuse_factor.value_vec4[0] if material.fbx.diffuse_factor.has_value else 1.0
        red, green, blue, _ = diffuse.value_vec4
        opaque = 1.0 - material.fbx.transparency_factor.value_vec4[0] if picture is None else 1.0
        further = {"normal": material.fbx.normal_map, "specular": material.fbx.specular_color}
        materials.append({
            "name": material.name, "color": [red * factor, green * factor, blue * factor, opaque or 1.0],
            "texture": None if picture is None else picture.typed_id,
            **{key: texture_of(keep(slot)) for key, slot in further.items()},
        })  # fmt: skip
    return {"textures": textures, "materials": materials}


def lowest(picture):
    """Return the picture at the bottom of a layered texture."""
    while picture is not None and int(picture.type) and len(picture.layers):
        picture = keep(keep(picture.layers[0]).texture)
    return picture


def texture_of(slot):
    """Return the number of a material slot's texture, or None."""
    picture = lowest(keep(slot.texture))
    return None if picture is None else picture.typed_id


def boneless_clusters(scene):
    """Return the names of skin clusters that have weights and no bone."""
    return [c.name for c in keep(list(scene.skin_clusters)) if c.bone_node is None and c.num_weights]


def read_curves(stack, nodes):
    """Return what a take animates: node → bits of PROPERTIES that vary; first and last key time; some key times.

    The times are those of bones, if any is animated: cameras have their own.
    """
    import ufbx

    moves, spans, keys = {}, {}, {}
    for layer in keep(list(stack.layers)):
        for entry in keep(list(layer.anim_props)):
            bit = PROPERTIES.get(entry.prop_name)
            node = keep(ufbx.as_node(keep(entry.element))) if bit else None
            if node is None or (node.attrib_type in (LIGHT, CAMERA, SWITCHER) and not len(node.children)):
                continue
            bone = node.attrib_type == BONE
            moves.setdefault(node.typed_id, 0)
            for curve in keep(entry.anim_value.curves):
                if curve is None or not len(curve.keyframes):
                    continue
                first, last = spans.get(bone, (curve.min_time, curve.max_time))
                spans[bone] = min(first, curve.min_time), max(last, curve.max_time)
                low, high = curve.min_value, curve.max_value
                if high - low > STILL * max(1.0, abs(low), abs(high)):
                    moves[node.typed_id] |= bit
                if bit == 1 and high - low > FAR * length(node.local_transform[0]):
                    moves[node.typed_id] |= 8
                keys.setdefault(bone, []).append(keep(curve.keyframes))
    bone = True in spans
    lists, times = keys.get(bone, []), set()
    for frames in lists[:: max(1, len(lists) * MAX_KEYS_PER_CURVE // MAX_KEYS)]:
        places = range(0, len(frames), max(1, len(frames) // MAX_KEYS_PER_CURVE))
        times.update(frames[place].time for place in places)
    return moves, spans.get(bone), sorted(times)


def length(vector):
    """Return the Euclidean norm of a vector."""
    return sum(part * part for part in vector) ** 0.5


def grid_error(times, start, rate):
    """Return the largest distance of a key from the nearest frame at a rate, in frames."""
    places = [(time - start) * rate for time in times]
    return max((abs(place - round(place)) for place in places), default=0.0)


def plan(scene, stack, nodes, wanted_rate):
    """Return the take's start, frame rate, length and animated nodes; None if it has no curves."""
    import ufbx

    moves, span, keys = read_curves(stack, nodes)
    if not moves or span is None:
        return None
    first, last = span
    notes, begin, end = [], stack.time_begin, stack.time_end
    if not (end > begin and begin <= last and end >= first):
        if end > begin:
            notes.append("the take's keys lie outside of its stated time range; the keys' range was used")
        begin, end = first, last
    stated = scene.settings.frames_per_second
    rate = wanted_rate or (stated if 1.0 <= stated <= 1000.0 else DEFAULT_RATE)
    inside = [time for time in keys if begin - GRID_TOLERANCE / rate <= time <= end + GRID_TOLERANCE / rate]
    if wanted_rate is None and grid_error(inside, begin, rate) > GRID_TOLERANCE:
        better = next((other for other in RATES if grid_error(inside, begin, other) <= GRID_TOLERANCE), None)
        note = f"some keys of the take lie between frames at the file's {rate:g} frames per second; it was resampled"
        notes.append(note if better is None else f"{note}; fps={better:g} would keep every key")
    if first < begin - 0.5 / rate or last > end + 0.5 / rate:
        notes.append(
            f"the take has keys from {first:.3f} to {last:.3f} s but states {begin:.3f} to {end:.3f} s, which was used"
        )
    places = (end - begin) * rate
    frames = int(-(-(places - GRID_TOLERANCE) // 1)) + 1 if places > GRID_TOLERANCE else 1
    anim = keep(stack.anim)
    for node, bits in list(moves.items()):
        here = ufbx.evaluate_transform(anim, nodes[node], begin)
        for bit, part, rest in zip((1, 2, 4), here, nodes[node].local_transform):
            if any(abs(a - b) > STILL * max(1.0, abs(a), abs(b)) for a, b in zip(part, rest)):
                bits |= bit
        rest = nodes[node].local_transform[0]
        if length([a - b for a, b in zip(here[0], rest)]) > FAR * length(rest):
            bits |= 8
        moves[node] = bits
    return {
        "name": stack.name, "begin": begin, "end": end, "rate": rate, "frames": frames, "notes": notes,
        "nodes": sorted(moves), "moves": [moves[node] for node in sorted(moves)],
    }  # fmt: skip


def sample(take, stack, nodes, answer):
    """Add local transforms of the animated nodes at every frame; a single row for constant ones.

    Returns node → rotation order and pre-rotation of nodes whose rotations are given as angles.
    """
    from ufbx import evaluate_transform

    begin, end, rate, anim = take["begin"], take["end"], take["rate"], keep(stack.anim)
    times = [min(begin + frame / rate, end) for frame in range(take["frames"])]
    values, eulers = curve_values(stack), {}
    for number in take["nodes"]:
        node = nodes[number]
        known = [values.get((number, bit)) for bit in (1, 2, 4)]
        order = sample_curves(anim, node, known, times, answer, number) if any(known) else None
        if order is not None:
            eulers[number] = order
            continue
        every = map(evaluate_transform, repeat(anim), repeat(node), times)
        rows = array("d", chain.from_iterable(chain.from_iterable(every)))
        for name, start, width in (("t", 0, 3), ("r", 3, 4), ("s", 7, 3)):
            part = columns([rows[start + column :: 10] for column in range(width)], len(times))
            answer.add(f"{name}{number}", part, "d")
    return eulers


def columns(parts, count):
    """Return columns side by side as one array of rows; a single row if they are constant."""
    if all(part.count(part[0]) == count for part in parts):
        return array("d", [part[0] for part in parts])
    out = array("d", bytes(8 * len(parts) * count))
    for number, part in enumerate(parts):
        out[number :: len(parts)] = part
    return out


def curve_values(stack):
    """Return (node, bit of PROPERTIES) → animated value, if a take has one layer; layers are blended by ufbx."""
    import ufbx

    layers = keep(list(stack.layers))
    if len(layers) != 1:
        return {}
    found = {}
    for entry in keep(list(layers[0].anim_props)):
        bit = PROPERTIES.get(entry.prop_name)
        node = keep(ufbx.as_node(keep(entry.element))) if bit else None
        if node is not None:
            found[node.typed_id, bit] = keep(entry.anim_value)
    return found


def sample_curves(anim, node, values, times, answer, number):
    """Add translations, Euler angles and scales of a node from its curves alone, five times as fast as by transforms.

    That is right for nodes whose rotation is a constant times the rotation by Euler angles, and whose translation and
    scale are those of their curves, plus a constant: it is compared with ufbx's transforms at some frames. Returns the
    rotation order and that constant, x, y, z, w; None if ufbx's transforms have to be used at every frame.
    """
    from ufbx import evaluate_curve, evaluate_transform

    count, order = len(times), int(node.rotation_order)
    if order >= len(ORDERS):
        return None
    parts = []
    for value in values:
        if value is None:
            parts.append(None)
            continue
        defaults, curves = value.default_value, keep(value.curves)
        parts.append([
            array("d", [default]) * count if curve is None or curve.min_value == curve.max_value == default
            else array("d", map(evaluate_curve, repeat(keep(curve)), times, repeat(default)))
            for curve, default in zip(curves, defaults)
        ])  # fmt: skip
    first = evaluate_transform(anim, node, times[0])
    offsets = [list(first[0]), list(first[2])]
    for place, part in ((0, parts[0]), (1, parts[2])):
        if part is not None:
            offsets[place] = [have - column[0] for have, column in zip(offsets[place], part)]
    pre = first[1]
    if parts[1] is not None:
        pre = multiply(pre, conjugate(euler([column[0] for column in parts[1]], order)))
    for frame in sorted({count * n // CHECKED for n in range(CHECKED)} | {count - 1}):
        here = evaluate_transform(anim, node, times[frame])
        for have, part, offset in ((here[0], parts[0], offsets[0]), (here[2], parts[2], offsets[1])):
            made = offset if part is None else [column[frame] + more for column, more in zip(part, offset)]
            if any(abs(a - b) > EXACT * max(1.0, abs(a)) for a, b in zip(have, made)):
                return None
        turn = pre if parts[1] is None else multiply(pre, euler([column[frame] for column in parts[1]], order))
        if abs(abs(sum(a * b for a, b in zip(here[1], turn))) - 1.0) > EXACT:
            return None
    for name, part, offset in (("t", parts[0], offsets[0]), ("s", parts[2], offsets[1])):
        if part is None:
            answer.add(f"{name}{number}", array("d", offset), "d")
            continue
        moved = [c if not more else array("d", [v + more for v in c]) for c, more in zip(part, offset)]
        answer.add(f"{name}{number}", columns(moved, count), "d")
    angles = [array("d", [0.0])] * 3 if parts[1] is None else parts[1]
    answer.add(f"e{number}", columns(angles, len(angles[0])), "d")
    return [order, *pre]


def multiply(a, b):
    """Return the product of two quaternions (x, y, z, w)."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )  # fmt: skip


def conjugate(a):
    """Return the inverse of a unit quaternion (x, y, z, w)."""
    return (-a[0], -a[1], -a[2], a[3])


def euler(angles, order):
    """Return the quaternion (x, y, z, w) of Euler angles in degrees; the first axis of an order turns first."""
    out = (0.0, 0.0, 0.0, 1.0)
    for axis in ORDERS[order]:
        half = angles[axis] * pi / 360.0
        turn = [0.0, 0.0, 0.0, cos(half)]
        turn[axis] = sin(half)
        out = multiply(turn, out)
    return out


def read(request, answer):
    """Answer a request about the file on standard input; return the answer's JSON object."""
    import ufbx

    data = keep(sys.stdin.buffer.read())
    scene = keep(ufbx.load_memory(data, file_format=ufbx.FileFormat.FBX, node_depth_limit=MAX_DEPTH))
    header = {}
    if request["structure"]:
        nodes, header["names"] = read_nodes(scene, answer)
        header["meshes"] = read_meshes(scene, answer, request["mesh_bytes"])
        header["boneless"] = boneless_clusters(scene)
        settings = scene.settings
        unit = settings.unit_meters
        header |= {"unit": unit if 0.0 < unit < float("inf") else 0.0, "up": int(settings.axes.up)}
        header["creator"] = scene.metadata.creator
        header["contents"] = count(scene)
        header["looks"] = read_looks(scene, answer, request["mesh_bytes"])
    else:
        nodes = keep(list(scene.nodes))
    stacks = keep(list(scene.anim_stacks))
    plans = [(stack, take) for stack in stacks if (take := plan(scene, stack, nodes, request["rate"])) is not None]
    header["takes"] = [take for _, take in plans]
    wanted = request["take"]
    if wanted is not None and wanted < len(plans):
        stack, take = plans[wanted]
        if take["frames"] * len(take["nodes"]) <= request["samples"]:
            header["eulers"] = sample(take, stack, nodes, answer)
            header["sampled"] = wanted
    return header


def count(scene):
    """Return how many meshes, materials, textures … a file holds."""
    meshes = [mesh for mesh in keep(list(scene.meshes)) if mesh.num_faces and len(mesh.instances)]
    pictures = {keep(texture).relative_filename or texture.filename for texture in keep(list(scene.textures))}
    return {
        "meshes": len(meshes),
        "skins": min(len(scene.skin_deformers), 1),
        "materials": len(scene.materials) if meshes else 0,
        "textures": len(pictures - {""}),
        "morph targets": len(scene.blend_channels),
        "cameras": len(scene.cameras),
        "lights": len(scene.lights),
        "takes": len(scene.anim_stacks),
    }


def main():
    """Read the file, write the answer, and exit without cleanup."""
    gc.disable()
    request = json.loads(sys.argv[1])
    answer = Answer(sys.stdout.buffer)
    sys.path.extend(request["folders"])
    try:
        import ufbx
    except ImportError as error:
        answer.finish({"error": str(error), "kind": "import"})
        os._exit(0)
    limit(request)
    try:
        header = read(request, answer)
    except (MemoryError, ufbx.OutOfMemoryError):
        header = {"error": "", "kind": "memory"}
    except ufbx.UfbxError as error:
        header = {"error": str(error), "kind": "format"}
    except Exception as error:
        header = {"error": f"{type(error).__name__}: {error}", "kind": "other"}
    answer.finish(header)
    os._exit(0)


if __name__ == "__main__":
    main()
