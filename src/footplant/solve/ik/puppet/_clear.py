"""Keep arms out of body and scene: penetration depths of hands and elbows, and the way out."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.quaternion import rotate
from footplant.solve.ik.puppet._limbs import drawn_out, limb_places
from footplant.solve.ik.puppet._tables import AT, from_thing, out_of_body, soften


@uncounted_jit
def hand_push(target, arm, x, y, z, thick, margin, work):
    """Return the push (3) that takes a hand with its wrist at (x, y, z) out of the body.

    thick: the share of its thickness that must be out, too.
    """
    tuning = target.stage.tuning
    puppet, character, tubes, trunk = target.puppet, target.character, target.tubes, target.trunk
    sx, sy, sz = x, y, z
    c = work.captured[character.limbs[arm, 2]]
    for n in range(puppet.probes.shape[1]):
        probe = puppet.probes[arm, n]
        rx, ry, rz = rotate(c[0], c[1], c[2], c[3], probe[0], probe[1], probe[2])
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], x + rx, y + ry, z + rz, thick * probe[3], margin, tuning
        )
        x, y, z = x + px, y + py, z + pz
    return x - sx, y - sy, z - sz


@uncounted_jit
def out_of_scene(target, arm, scene, x, y, z, work):
    """Return the push (3) that takes a palm out of the scene, along the ray to the shoulder where that is short."""
    tuning = target.stage.tuning
    character, stage = target.character, target.stage
    things, poses = scene.things, scene.poses
    sx, sy, sz = x, y, z
    s = work.positions[0, character.limbs[arm, 0]]
    for o in range(things.kinds.shape[0]):
        d, nx, ny, nz = from_thing(
            things, o, poses[o], stage, x + work.points[arm, 0], y + work.points[arm, 1], z + work.points[arm, 2]
        )
        depth = soften(-d - tuning[AT.scene_give], tuning[AT.scene_give])
        if depth > 0.0:
            x, y, z = drawn_out(depth, (nx, ny, nz), (x, y, z), (s[0], s[1], s[2]), 1.0)
    return x - sx, y - sy, z - sz


@uncounted_jit
def in_body(target, arm, work):
    """Return the softened penetration of an arm into the body, metres, its hand oriented as captured."""
    tuning = target.stage.tuning
    puppet, character, tubes, trunk = target.puppet, target.character, target.tubes, target.trunk
    ex, ey, ez, x, y, z, _, _, _, _ = limb_places(puppet, character, arm, work)
    px, py, pz = out_of_body(
        tubes, trunk, work.positions[0], work.rotations[0], ex, ey, ez, 0.0, tuning[AT.deep], tuning
    )
    elbow = math.sqrt(px * px + py * py + pz * pz)
    return max(elbow, hand_in_body(target, arm, x, y, z, work))


@uncounted_jit
def hand_in_body(target, arm, x, y, z, work):
    """Return the softened penetration of a hand with its wrist at (x, y, z) into the body, metres."""
    tuning = target.stage.tuning
    puppet, character, tubes, trunk = target.puppet, target.character, target.tubes, target.trunk
    most, c = 0.0, work.captured[character.limbs[arm, 2]]
    for n in range(puppet.probes.shape[1]):
        probe = puppet.probes[arm, n]
        rx, ry, rz = rotate(c[0], c[1], c[2], c[3], probe[0], probe[1], probe[2])
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], x + rx, y + ry, z + rz, 0.0, tuning[AT.deep], tuning
        )
        most = max(most, px * px + py * py + pz * pz)
    return math.sqrt(most)


WARMUP: dict = {}
