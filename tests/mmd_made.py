"""PMX and VMD files written by the tests themselves: a body with knees, toes, granted turns, a mesh and morphs."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from footplant.io.mmd.pmx import GRANTS_ROTATION, Bone, Pmx, PmxMaterial
from footplant.io.mmd.standard import standard_model

LINEAR = bytes([20, 20, 0, 0, 20, 20, 20, 20, 107, 107, 107, 107, 107, 107, 107, 107])


def dressed_model(texture: str = "") -> Pmx:
    """The usual bones, legs with copies that carry the mesh (足D …), half-turned arms, a small block on every bone."""
    bare = standard_model()
    bones, names = list(bare.bones), {bone.name: number for number, bone in enumerate(bare.bones)}
    for side in ("左", "右"):
        above = names["下半身"]
        for part in ("足", "ひざ", "足首"):
            copied = names[side + part]
            bones.append(Bone(f"{side}{part}D", bones[copied].place, above, 1, 0x1A | GRANTS_ROTATION, copied, 1.0))
            above = len(bones) - 1
        toes = bones[names[f"{side}つま先"]].place * [1.0, 0.0, 0.5]
        bones.append(Bone(f"{side}足先EX", toes, above, 1, 0x1A))
        twist = names[f"{side}腕捩"]
        half = 0.5 * (bones[twist].place + bones[names[f"{side}ひじ"]].place)
        bones.append(Bone(f"{side}腕捩1", half, names[f"{side}腕"], 1, 0x1A | GRANTS_ROTATION, twist, 0.5))
    carriers = [
        n for n, bone in enumerate(bones)
        if bone.ik is None and bone.name not in ("全ての親", "センター", "グルーブ", "腰")
        and not any(bone.name.endswith(end) for end in ("足", "ひざ", "足首", "つま先", "肩P", "先"))
    ]  # fmt: skip
    corners = np.array([[0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2], [-0.2, 0, -0.1]])
    places = np.concatenate([bones[number].place + corners for number in carriers])
    faces = np.concatenate([4 * n + np.array([[0, 1, 2], [0, 3, 1]]) for n in range(len(carriers))])
    influences = np.zeros((len(places), 4), np.int64)
    influences[:, 0] = np.repeat(carriers, 4)
    influences[:, 1] = [b if bones[b].parent not in carriers else bones[b].parent for b in influences[:, 0]]
    weights = np.zeros((len(places), 4))
    weights[:, 0] = np.tile([1.0, 0.75, 0.5, 1.0], len(carriers))
    weights[:, 1] = 1.0 - weights[:, 0]
    half = 3 * (len(faces) // 2)
    materials = (
        PmxMaterial("肌", (1.0, 0.8, 0.7, 1.0), True, 0 if texture else -1, half),
        PmxMaterial("服", (0.1, 0.2, 0.8, 0.5), False, -1, 3 * len(faces) - half),
    )
    smile = ("笑い", np.array([1, 2]), np.array([[0.0, 0.1, 0.0], [0.0, 0.0, 0.3]]))
    return replace(
        bare, name="試作", places=places, normals=np.tile([0.0, 0.0, -1.0], (len(places), 1)),
        uvs=np.tile([[0.25, 0.75]], (len(places), 1)), influences=influences, weights=weights, faces=faces,
        textures=(texture,) if texture else (), materials=materials, bones=tuple(bones), morphs=(smile,),
    )  # fmt: skip


def pmx_bytes(model: Pmx, encoding: int = 0, bone: int = 2, vertex: int = 2) -> bytes:
    """A PMX 2.0 file."""

    def text(value: str) -> bytes:
        data = value.encode(("utf-16-le", "utf-8")[encoding])
        return struct.pack("<i", len(data)) + data

    at_bone = {1: "<b", 2: "<h", 4: "<i"}[bone]
    at_vertex = {1: "<B", 2: "<H", 4: "<i"}[vertex]
    out = [b"PMX ", struct.pack("<fB8B", 2.0, 8, encoding, 0, vertex, 1, 1, bone, 1, 1)]
    out += [text(model.name), text("made"), text(""), text(""), struct.pack("<i", len(model.places))]
    for number in range(len(model.places)):
        out.append(struct.pack("<8f", *model.places[number], *model.normals[number], *model.uvs[number]))
        used = int((model.weights[number] > 0).sum())
        kind = 0 if used == 1 else 1 if used == 2 and number % 2 else 3 if used == 2 else 2
        out.append(bytes([kind]))
        count = {0: 1, 1: 2, 2: 4, 3: 2}[kind]
        out += [struct.pack(at_bone, index) for index in model.influences[number, :count]]
        if kind:
            out.append(struct.pack(f"<{1 if count == 2 else 4}f", *model.weights[number, : 1 if count == 2 else 4]))
        if kind == 3:
            out.append(struct.pack("<9f", *np.zeros(9)))
        out.append(struct.pack("<f", 1.0))
    out.append(struct.pack("<i", model.faces.size))
    out += [struct.pack(at_vertex, index) for index in model.faces.reshape(-1)]
    out += [struct.pack("<i", len(model.textures)), *(text(name) for name in model.textures)]
    out.append(struct.pack("<i", len(model.materials)))
    for material in model.materials:
        out += [text(material.name), text(""), struct.pack("<4f", *material.color), struct.pack("<7f", *np.zeros(7))]
        out += [bytes([int(material.two_sided)]), struct.pack("<5f", *np.zeros(5))]
        out += [struct.pack("<bbBBB", material.texture, -1, 0, 1, 0), text(""), struct.pack("<i", material.corners)]
    out.append(struct.pack("<i", len(model.bones)))
    for each in model.bones:
        flags = each.flags & ~1
        out += [text(each.name), text(""), struct.pack("<3f", *each.place), struct.pack(at_bone, each.parent)]
        out.append(struct.pack("<iH3f", each.layer, flags, 0.0, 0.0, 0.0))
        if flags & 0x300:
            out += [struct.pack(at_bone, each.granter), struct.pack("<f", each.ratio)]
        if each.ik is not None:
            out += [
                struct.pack(at_bone, each.ik.effector),
                struct.pack("<ifi", each.ik.loops, each.ik.step, len(each.ik.links)),
            ]
            for link in each.ik.links:
                out += [struct.pack(at_bone, link.bone), bytes([link.lower is not None])]
                if link.lower is not None and link.upper is not None:
                    out.append(struct.pack("<6f", *link.lower, *link.upper))
    out.append(struct.pack("<i", len(model.morphs)))
    for name, vertices, offsets in model.morphs:
        out += [text(name), text(""), bytes([1, 1]), struct.pack("<i", len(vertices))]
        for index, offset in zip(vertices, offsets):
            out += [struct.pack(at_vertex, index), struct.pack("<3f", *offset)]
    return b"".join(out) + struct.pack("<iii", 0, 0, 0)


Key = tuple[int, Sequence[float], Sequence[float]]
"""Frame, shift, quaternion (x, y, z, w)."""


def vmd_bytes(
    keys: Mapping[str, Sequence[Key]], curve: bytes = LINEAR, switches: Sequence[tuple[int, str, bool]] = ()
) -> bytes:
    """A VMD file; curve: the 16 bytes of the first row of every key's curves."""
    rows = [curve]
    for _ in range(3):
        rows.append(rows[-1][1:] + b"\1")
    curves = b"".join(rows)
    out = [b"Vocaloid Motion Data 0002".ljust(30, b"\0"), "試作".encode("cp932").ljust(20, b"\0")]
    count = sum(len(each) for each in keys.values())
    out.append(struct.pack("<I", count))
    for name, each in keys.items():
        for frame, place, turn in each:
            out += [name.encode("cp932")[:15].ljust(15, b"\0"), struct.pack("<I3f4f", frame, *place, *turn), curves]
    out.append(struct.pack("<4I", 0, 0, 0, 0))
    out.append(struct.pack("<I", len(switches)))
    for frame, name, on in switches:
        out.append(struct.pack("<IBI", frame, 1, 1) + name.encode("cp932").ljust(20, b"\0") + bytes([on]))
    return b"".join(out)


def dance(frames: int = 31) -> dict[str, list[Key]]:
    """Keys of a body that squats, sways, turns its arms and steps with both feet."""
    rng = np.random.default_rng(5)

    def turn(*axis_angle: float) -> list[float]:
        vector = np.array(axis_angle)
        angle = float(np.linalg.norm(vector))
        axis = vector / max(angle, 1e-9)
        return [*(np.sin(angle / 2) * axis), float(np.cos(angle / 2))]

    still = (0.0, 0.0, 0.0)
    times = np.linspace(0, frames - 1, 4).astype(int).tolist()
    out: dict[str, list[Key]] = {
        "センター": [(t, (0.4 * n, -0.6 * n, 0.2 * n), turn(0.0, 0.1 * n, 0.0)) for n, t in enumerate(times)],
        "左足ＩＫ": [(t, (0.3 * n, 0.5 * (n % 2), -0.8 * n), turn(0.1 * n, 0.0, 0.0)) for n, t in enumerate(times)],
        "右足ＩＫ": [(t, (-0.2 * n, 0.0, 0.3 * n), turn(0.0, -0.15 * n, 0.0)) for n, t in enumerate(times)],
    }
    for name in (
        "上半身",
        "下半身",
        "首",
        "頭",
        "左腕",
        "右腕",
        "左ひじ",
        "右ひじ",
        "左手首",
        "左腕捩",
        "左肩",
        "左人指１",
    ):
        out[name] = [(t, still, turn(*rng.normal(scale=0.3, size=3))) for t in times]
    return out
