"""Arms of the puppet: touches, hands that meet, and staying out of the body (Shin 2002, section 5.3)."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.balls import circle, closest
from footplant.kernels.importance import LIMBS, share, spring
from footplant.kernels.limb import UP, aim
from footplant.kernels.quaternion import exp, multiply, rotate
from footplant.kernels.surface import RINGS, measure, own_place, place, world_turn
from footplant.kernels.surface import distance as tube_distance
from footplant.solve.ik.puppet._clear import hand_in_body, hand_push, in_body, out_of_scene
from footplant.solve.ik.puppet._limbs import (
    STRAIGHT,
    bend_to,
    keep_orientation,
    limb_places,
    swing_by,
    swivel_step,
    swivel_to,
    turn_upper,
    update_limb,
)
from footplant.solve.ik.puppet._pace import limit_shift, limit_turn
from footplant.solve.ik.puppet._tables import AT, out_of_body

SWEEPS = 2
"""Projections of a hand out of all obstacles, and swivels of an elbow, per frame; both are warm-started."""
FIRST_ROUNDS = 12
"""Rounds at the first frame, which has no warm start."""
MEETINGS = 8
"""Alternating projections of the meeting point out of the body and into reach at the first frame."""
CROSSINGS = 3
"""Rounds in which hands are put on each other's arms."""
SETTLES = 5
"""Projections of a touching palm onto the skin and into the arm's reach."""
TOUCHED, MISSED, COVERED = 0.9, 0.01, 0.01
"""Importance from which a palm touches, metres by which it misses the skin, and metres in the trunk at which a place of
the skin is covered."""
ADJACENT, BESIDE = 0.5, 8.0 / 15.0
"""Importance from which a segment is touched, too, and the distance from the performer's skin, as a share of that at
which the body begins to matter: a palm on the side of the hips may lie on the thigh of another body."""
AROUND = 12
"""Places around each ring of a segment that are asked whether a palm reaches them."""


@uncounted_jit
def touch_weight(seen, w, way, tuning):
    """Return the weight of a segment that a point is near to, by its importance and distance.

    way: how much the trunk is in the way of the limbs (`in_the_way`): a palm may then stay beside its place.
    """
    near = tuning[AT.nearer] / (max(seen[5], 0.0) + tuning[AT.nearer])
    return w * w * w * w * near ** (tuning[AT.nearest] - way)


@uncounted_jit
def body_place(target, importance, n, moves, x, y, z, work):
    """Return (importance, position): how much point n touches the body, and where that is on the target's body.

    Each near segment contributes the position with the same surface coordinates. moves (S,): segments that this step
    moves itself; towards those only half of the way is taken (equation 5.9).
    """
    tubes, stage = target.tubes, target.stage
    total, most, gx, gy, gz = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(tubes.joints.shape[0]):
        w = importance.body[n, k]
        if w <= 0.0:
            continue
        seen = importance.seen[n, k]
        px, py, pz = place(
            tubes, k, work.positions[0], work.rotations[0], seen[0], seen[1], seen[2], stage.size * seen[3],
            seen[4],
        )  # fmt: skip
        half = 0.5 if moves[k] else 1.0
        part = w * w * w * w
        gx, gy, gz = gx + part * half * (px - x), gy + part * half * (py - y), gz + part * half * (pz - z)
        total += part
        most = max(most, w)
    if total <= 1e-30:
        return 0.0, x, y, z
    return most, x + gx / total, y + gy / total, z + gz / total


@uncounted_jit
def skin_distance(tubes, k, positions, rotations, x, y, z):
    """Return metres from a tube's surface and the outward direction in the world, however far."""
    u, v, a = own_place(tubes, k, positions, rotations, x, y, z)
    d, nx, ny, nz, _, _, _, _, _ = measure(tubes.rings[k], tubes.lengths[k], u, v, a)
    qw, qx, qy, qz = world_turn(tubes, k, rotations)
    nx, ny, nz = rotate(qw, qx, qy, qz, nx, ny, nz)
    return d, nx, ny, nz


@uncounted_jit
def turn_hand(target, importance, arm, w, clock, limbs, work):
    """Lay a touching hand on the target's skin as the performer's lies on its own.

    The rotation that takes the performer's surface normal at the palm to the target's, by the importance; its
    acceleration is bounded, so that fingertips do not exceed what limbs may.
    """
    tuning = target.stage.tuning
    end, turn, vector, tip = (
        target.character.limbs[arm, 2],
        work.turned[arm],
        work.scratch[7],
        target.puppet.probes[arm],
    )
    vector[0], vector[1], vector[2] = hand_turn(target, importance, arm, w, work)
    length = math.sqrt(tip[2, 0] ** 2 + tip[2, 1] ** 2 + tip[2, 2] ** 2)
    bound = tuning[AT.turn_share] * clock.bound / max(1.5 * length, 0.01)
    limit_turn(limbs.turns[arm], vector, bound, clock, tuning)
    turn[0], turn[1], turn[2], turn[3] = exp(vector[0], vector[1], vector[2])
    c, r = work.captured[end], work.points[arm]
    c[0], c[1], c[2], c[3] = multiply(turn[0], turn[1], turn[2], turn[3], c[0], c[1], c[2], c[3])
    r[0], r[1], r[2] = rotate(turn[0], turn[1], turn[2], turn[3], r[0], r[1], r[2])


@uncounted_jit
def hand_turn(target, importance, arm, w, work):
    """Return the rotation vector (3) from the performer's surface normal at its palm to the target's, by w."""
    tuning = target.stage.tuning
    tubes, stage = target.tubes, target.stage
    if w <= 0.0:
        return 0.0, 0.0, 0.0
    px, py, pz, tx, ty, tz, way = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, in_the_way(target)
    for k in range(tubes.joints.shape[0]):
        own = importance.body[arm, k]
        if own <= 0.0:
            continue
        seen = importance.seen[arm, k]
        x, y, z = place(
            tubes, k, work.positions[0], work.rotations[0], seen[0], seen[1], seen[2], stage.size * seen[3], seen[4]
        )
        part = touch_weight(seen, own, way, tuning)
        _, nx, ny, nz = skin_distance(tubes, k, work.positions[0], work.rotations[0], x, y, z)
        tx, ty, tz = tx + part * nx, ty + part * ny, tz + part * nz
        px, py, pz = px + part * seen[6], py + part * seen[7], pz + part * seen[8]
    norm = math.sqrt((px * px + py * py + pz * pz) * (tx * tx + ty * ty + tz * tz))
    if norm < 1e-12:
        return 0.0, 0.0, 0.0
    cx, cy, cz = (py * tz - pz * ty) / norm, (pz * tx - px * tz) / norm, (px * ty - py * tx) / norm
    sine, cosine = math.sqrt(cx * cx + cy * cy + cz * cz), (px * tx + py * ty + pz * tz) / norm
    angle = math.atan2(sine, cosine)
    # nearly opposite normals have no rotation of their own
    angle = w * min(angle, tuning[AT.most_turn]) * share((angle - 2.2) / 0.7) / max(sine, 1e-9)
    return angle * cx, angle * cy, angle * cz


@uncounted_jit
def in_the_way(target):
    """Return how much of the target's trunk is in the way of its limbs, 0 to 1: it is thicker than the performer's."""
    stage = target.stage
    return 1.0 - share((stage.margin - stage.tuning[AT.thick]) / stage.tuning[AT.thick])


@uncounted_jit
def settle_touch(target, importance, arm, firm, work):
    """Put the palm of a wrist's goal as far from the target's skin as the performer's is from its own, within reach.

    Alternating projections onto the skin and into the ball that the arm reaches. The skin of several segments is that
    of the nearest, on either body. Returns how much of it is a touch of a limb, 0 to 1.
    """
    tuning = target.stage.tuning
    if firm <= 0.0:
        return 0.0
    on_limb, way = 0.0, in_the_way(target)
    tubes, stage, wrist, r = target.tubes, target.stage, work.wrists[arm], work.points[arm]
    s, most = work.positions[0, target.character.limbs[arm, 0]], tuning[AT.touch_stretch] * target.puppet.lengths[arm]
    away, total = 0.0, 0.0
    for k in range(tubes.joints.shape[0]):
        part = touch_weight(importance.seen[arm, k], importance.body[arm, k], way, tuning)
        away, total = away + part * stage.size * max(importance.seen[arm, k, 5], 0.0), total + part
    if total <= 1e-30:
        return 0.0
    away /= total
    for _ in range(SETTLES):
        total, limbs_part, x, y, z = 0.0, 0.0, 0.0, 0.0, 0.0
        for k in range(tubes.joints.shape[0]):
            w = importance.body[arm, k]
            if w <= 0.0:
                continue
            seen = importance.seen[arm, k]
            d, nx, ny, nz = skin_distance(
                tubes, k, work.positions[0], work.rotations[0], wrist[0] + r[0], wrist[1] + r[1], wrist[2] + r[2]
            )
            # a segment that the palm is in counts, however far the performer's is from its own
            part = touch_weight(seen, w, way, tuning) + w * w * share(1.0 + d / tuning[AT.nearer])
            part *= math.exp(-max(d, -0.3) / tuning[AT.nearer])
            push = part * (away - d)
            total, x, y, z = total + part, x + push * nx, y + push * ny, z + push * nz
            limbs_part += 0.0 if target.trunk[k] else part
        if total <= 1e-30:
            return 0.0
        on_limb = limbs_part / total * way
        share_of = firm / total
        wrist[0], wrist[1], wrist[2] = wrist[0] + share_of * x, wrist[1] + share_of * y, wrist[2] + share_of * z
        if limbs_part > 0.0:
            # not through the belly onto a thigh
            x, y, z = hand_push(target, arm, wrist[0], wrist[1], wrist[2], way, tuning[AT.pressed], work)
            out = firm * on_limb
            wrist[0], wrist[1], wrist[2] = wrist[0] + out * x, wrist[1] + out * y, wrist[2] + out * z
        x, y, z = wrist[0] - s[0], wrist[1] - s[1], wrist[2] - s[2]
        far = math.sqrt(x * x + y * y + z * z)
        if far > most:
            far = 1.0 + firm * (most / far - 1.0)
            wrist[0], wrist[1], wrist[2] = s[0] + far * x, s[1] + far * y, s[2] + far * z
    return on_limb


@uncounted_jit
def upper_arm(target, arm, importance, work):
    """Move an elbow towards its position near the body by its importance; the forearm follows. Whether it moved."""
    puppet, character = target.puppet, target.character
    moves = target.moves[arm]
    upper = character.limbs[arm, 0]
    ex, ey, ez, _, _, _, _, _, _, _ = limb_places(puppet, character, arm, work)
    w, gx, gy, gz = body_place(target, importance, 4 + arm, moves, ex, ey, ez, work)
    x, y, z = ex + w * (gx - ex), ey + w * (gy - ey), ez + w * (gz - ez)
    s = work.positions[0, upper]
    ax, ay, az = ex - s[0], ey - s[1], ez - s[2]
    if abs(x - ex) + abs(y - ey) + abs(z - ez) < 1e-12:
        return False
    qw, qx, qy, qz = aim((ax, ay, az), (x - s[0], y - s[1], z - s[2]), UP)
    turn_upper(puppet, upper, work, qw, qx, qy, qz)
    return True


@uncounted_jit
def meeting_place(target, importance, work):
    """Return the midpoint of the palms on the target's body: as far in front of it as on the performer's."""
    tubes, trunk, stage = target.tubes, target.trunk, target.stage
    total, x, y, z = 0.0, 0.0, 0.0, 0.0
    for k in range(tubes.joints.shape[0]):
        if trunk[k]:
            seen = importance.between[k]
            part = 1.0 / (max(seen[5], 0.0) + 0.03) ** 4
            px, py, pz = place(
                tubes, k, work.positions[0], work.rotations[0], seen[0], seen[1], seen[2], stage.size * seen[3],
                seen[4],
            )  # fmt: skip
            total, x, y, z = total + part, x + part * px, y + part * py, z + part * pz
    total = max(total, 1e-12)
    return x / total, y / total, z / total


@uncounted_jit
def write_arm_balls(target, half_gap, work):
    """Write the two balls in which the midpoint of the palms must lie: what the arms reach, by the palms' offsets."""
    tuning = target.stage.tuning
    gx, gy, gz = half_gap
    for arm in range(2):
        sign = 1.0 if arm == 0 else -1.0
        s, r = work.positions[0, target.character.limbs[arm, 0]], work.points[arm]
        work.centers[arm, 0] = s[0] + r[0] - sign * gx
        work.centers[arm, 1] = s[1] + r[1] - sign * gy
        work.centers[arm, 2] = s[2] + r[2] - sign * gz
        work.radii[arm] = tuning[AT.meet_stretch] * target.puppet.lengths[arm]


@uncounted_jit
def meet(target, importance, dt, keep, limbs, work):
    """Bring the palms together as on the performer: in front of the body, within reach of both arms.

    The meeting point is pushed out of the body and into reach; the push is warm-started from the frame before, and the
    point itself is filtered relative to the shoulders, so that both hands have the same lag.
    """
    tuning = target.stage.tuning
    character, stage = target.character, target.stage
    w, state = importance.hands[0], limbs.middle
    if w <= 0.0:
        state[6] = 0.0
        return
    # the ratio of the arms: to clap takes no more acceleration than the captured angles do
    half = 0.5 * stage.arms
    gx, gy, gz = half * importance.hands[1], half * importance.hands[2], half * importance.hands[3]
    middle, found = work.scratch[6], work.scratch[7]
    sx, sy, sz = meeting_place(target, importance, work)
    if state[6] <= 0.0:
        state[:] = 0.0
    middle[0], middle[1], middle[2] = sx + keep * state[7], sy + keep * state[8], sz + keep * state[9]
    if state[6] > 0.0:
        # elbows in the body and hands out of reach shift it, too
        for k in range(3):
            middle[k] += 0.5 * (limbs.gives[0, k] + limbs.gives[1, k])
    write_arm_balls(target, (gx, gy, gz), work)
    for _ in range(SWEEPS if state[6] > 0.0 else MEETINGS):
        px, py, pz = 0.0, 0.0, 0.0
        for arm in range(2):
            sign = 1.0 if arm == 0 else -1.0
            r = work.points[arm]
            x, y, z = middle[0] + sign * gx - r[0], middle[1] + sign * gy - r[1], middle[2] + sign * gz - r[2]
            dx, dy, dz = hand_push(target, arm, x, y, z, 1.0, tuning[AT.pressed], work)
            px, py, pz = px + 0.5 * dx, py + 0.5 * dy, pz + 0.5 * dz
        middle[0], middle[1], middle[2] = middle[0] + px, middle[1] + py, middle[2] + pz
        if closest(middle, work.centers[:2], work.radii[:2], found):
            middle[0], middle[1], middle[2] = found[0], found[1], found[2]
    for k in range(3):
        state[7 + k] = middle[k] - (sx if k == 0 else (sy if k == 1 else sz))
        between = 0.5 * (work.positions[0, character.limbs[0, 0], k] + work.positions[0, character.limbs[1, 0], k])
        if state[6] > 0.0:
            state[k], state[3 + k] = spring(state[k], state[3 + k], middle[k] - between, tuning[AT.gather], dt)
        else:
            state[k], state[3 + k] = middle[k] - between, 0.0
        found[k], middle[k] = middle[k], between + state[k]
    deep = 0.0
    for arm in range(2):
        sign = 1.0 if arm == 0 else -1.0
        r = work.points[arm]
        x, y, z = middle[0] + sign * gx - r[0], middle[1] + sign * gy - r[1], middle[2] + sign * gz - r[2]
        deep = max(deep, hand_in_body(target, arm, x, y, z, work))
    # the delay vanishes where it would let hands pass through the body
    low = (1.0 - w ** tuning[AT.at_once]) * (1.0 - share(deep / tuning[AT.hurry]))
    for k in range(3):
        state[k] += low * (found[k] - middle[k])
        middle[k] += low * (found[k] - middle[k])
    state[6] = 1.0
    for arm in range(2):
        sign = 1.0 if arm == 0 else -1.0
        wrist, r = work.wrists[arm], work.points[arm]
        wrist[0] += w * (middle[0] + sign * gx - r[0] - wrist[0])
        wrist[1] += w * (middle[1] + sign * gy - r[1] - wrist[1])
        wrist[2] += w * (middle[2] + sign * gz - r[2] - wrist[2])


@uncounted_jit
def swing_elbow(target, arm, swing, sweeps, margin, work):
    """Rotate the elbow about the line from shoulder to wrist until it is out of the body; the hand stays.

    swing: start, radians; returns the final angle.
    """
    tuning = target.stage.tuning
    puppet, character, tubes, trunk = target.puppet, target.character, target.tubes, target.trunk
    s = work.positions[0, character.limbs[arm, 0]]
    axis = swing_by(puppet, character, arm, swing, work)
    for _ in range(sweeps):
        ex, ey, ez, _, _, _, _, _, _, _ = limb_places(puppet, character, arm, work)
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], ex, ey, ez, puppet.elbows[arm], margin, tuning
        )
        if px * px + py * py + pz * pz < 1e-16:
            break
        angle = swivel_step(axis, (ex - s[0], ey - s[1], ez - s[2]), (px, py, pz))
        ax, ay, az = axis
        turn_upper(puppet, character.limbs[arm, 0], work, *exp(angle * ax, angle * ay, angle * az))
        swing += angle
    return swing


@uncounted_jit
def arms(target, importance, scene, clock, limbs, work):
    """Solve both arms: elbows first, then hands, which may meet; then elbows again with fixed hands.

    Shifts of hands and elbows out of the body are kept from frame to frame and decay when no longer needed: a hand
    passes around the body, however deep the captured pose alone would put it.
    """
    tuning = target.stage.tuning
    puppet, character, stage, moves = target.puppet, target.character, target.stage, target.moves
    dt, started = clock.dt, clock.started
    meant = work.meant
    for arm in range(2):
        if character.limbs[arm, 2] < 0:
            continue
        if upper_arm(target, arm, importance, work):
            keep_orientation(puppet, character, arm, work)
        _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, character, arm, work)
        px, py, pz = x + work.points[arm, 0], y + work.points[arm, 1], z + work.points[arm, 2]
        w, gx, gy, gz = body_place(target, importance, arm, moves[arm], px, py, pz, work)
        work.firm[arm] = 1.0 - share((w - tuning[AT.touches]) / (tuning[AT.all_of_it] - tuning[AT.touches]))
        turn_hand(target, importance, arm, work.firm[arm], clock, limbs, work)
        held, shift, r = work.held[arm], work.pushes[arm], work.points[arm]
        held[0], held[1], held[2] = x, y, z
        shift[0], shift[1], shift[2] = w * (gx - r[0] - x), w * (gy - r[1] - y), w * (gz - r[2] - z)
        meant[arm] = max(w, importance.scene[arm], importance.hands[0])
        work.margins[arm] = stage.margin + meant[arm] * (tuning[AT.pressed] - stage.margin)
    keep = math.exp(-0.6931471805599453 * dt / tuning[AT.release])
    for again in range(1 if started else FIRST_ROUNDS):
        first = not started and again == 0
        for arm in range(2):
            for k in range(3):
                work.wrists[arm, k] = work.held[arm, k]
        apart, together = 1.0, 0.0
        if character.limbs[0, 2] >= 0 and character.limbs[1, 2] >= 0:
            meet(target, importance, dt, keep, limbs, work)
            apart -= importance.hands[0] ** tuning[AT.meant]
            together = importance.hands[0] ** 2
        for arm in range(2):
            if character.limbs[arm, 2] < 0:
                continue
            w, wrist, goal = importance.scene[arm], work.wrists[arm], work.goals[arm]
            for k in range(3):
                wrist[k] += w * (goal[k] - wrist[k])
            work.free[arm] = apart * (1.0 - w ** tuning[AT.meant])
            shift_hand(target, arm, scene, keep, apart, clock, first, limbs, work)
        for arm in range(2):
            if character.limbs[arm, 2] < 0:
                continue
            wrist = work.wrists[arm]
            for k in range(3):
                # hands that meet are shifted together
                own, other = limbs.hands[arm, k], limbs.hands[1 - arm, k]
                wrist[k] += apart * (own + 0.5 * together * (other - own))
            x, y, z = out_of_scene(target, arm, scene, wrist[0], wrist[1], wrist[2], work)
            wrist[0], wrist[1], wrist[2] = wrist[0] + x, wrist[1] + y, wrist[2] + z
            vector = work.scratch[7]
            for k in range(3):
                vector[k] = -wrist[k]
            firm = work.free[arm] * work.firm[arm]
            on_limb = settle_touch(target, importance, arm, firm, work)
            for k in range(3):
                vector[k] += wrist[k]
                wrist[k] -= vector[k]
            limit_shift(limbs.settles[arm], wrist, vector, tuning[AT.settle_share] * clock.bound, clock, tuning)
            for k in range(3):
                wrist[k] += vector[k]
            if on_limb > 0.0:
                # the delay must not leave the hand in the body
                way = in_the_way(target)
                x, y, z = hand_push(target, arm, wrist[0], wrist[1], wrist[2], way, tuning[AT.pressed], work)
                on_limb *= firm
                wrist[0], wrist[1], wrist[2] = wrist[0] + on_limb * x, wrist[1] + on_limb * y, wrist[2] + on_limb * z
            lower_arm(target, arm, importance, keep, clock, again, limbs, work)


@uncounted_jit
def cross_arms(target, importance, work):
    """Put palms that touch the other arm on it as it is posed now; the two take turns."""
    tuning = target.stage.tuning
    puppet, character = target.puppet, target.character
    if character.limbs[0, 2] < 0 or character.limbs[1, 2] < 0:
        return
    crossed = 0.0
    for k in range(target.moves.shape[1]):
        if target.moves[0, k]:
            crossed = max(crossed, importance.body[0, k], importance.body[1, k])
    if crossed <= tuning[AT.touches]:
        return
    part = 1.0 - share((crossed - tuning[AT.touches]) / (tuning[AT.all_of_it] - tuning[AT.touches]))
    for arm in range(2):
        update_limb(puppet, arm, work)
    for _ in range(CROSSINGS):
        for arm in range(2):
            wrist = work.wrists[arm]
            _, _, _, wrist[0], wrist[1], wrist[2], _, _, _, _ = limb_places(puppet, character, arm, work)
            settle_touch(target, importance, arm, part * work.free[arm] * work.firm[arm], work)
            bend_to(puppet, character, arm, 1.0, 1.0, wrist, work, tuning)
            update_limb(puppet, arm, work)


@uncounted_jit
def touched_skin(performer, importance, arm, k):
    """Return whether a palm touches the skin of a segment, or what lies next to it."""
    return importance.body[arm, k] > ADJACENT and importance.seen[arm, k, 5] <= BESIDE * performer.rules.body


@uncounted_jit
def beyond_reach(performer, target, importance, arm, work):
    """Return 1 where a palm misses what it should touch and no place of that skin is in reach.

    A place is in reach if the arm is long enough for it, the hand oriented as it is, and if the trunk does not cover
    it, as a belly covers thighs.
    """
    tubes, puppet, r, most, away = target.tubes, target.puppet, work.points[arm], 0.0, 1e3
    for k in range(tubes.joints.shape[0]):
        most = max(most, importance.body[arm, k])
        if touched_skin(performer, importance, arm, k):
            away = min(away, target.stage.size * max(importance.seen[arm, k, 5], 0.0))
    if most <= TOUCHED or away >= 1e3:
        return 0.0
    for limb in range(2):
        if target.character.limbs[limb, 2] >= 0:
            update_limb(puppet, limb, work)
    positions, rotations, least = work.positions[0], work.rotations[0], 1e3
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, target.character, arm, work)
    for k in range(tubes.joints.shape[0]):
        if touched_skin(performer, importance, arm, k):
            least = min(least, skin_distance(tubes, k, positions, rotations, x + r[0], y + r[1], z + r[2])[0])
    if abs(least - away) <= MISSED:
        return 0.0
    for k in range(tubes.joints.shape[0]):
        if touched_skin(performer, importance, arm, k) and skin_in_reach(target, arm, k, away, work):
            return 0.0
    return 1.0


@uncounted_jit
def beyond_meeting(target, importance, work):
    """Return 1 where palms are not as far apart as they should be and there is no place where they could be.

    Of both arms at once, the hands oriented as they are and out of the trunk.
    """
    puppet, character, tuning = target.puppet, target.character, target.stage.tuning
    if importance.hands[0] <= TOUCHED:
        return 0.0
    half = 0.5 * target.stage.arms
    gap = (half * importance.hands[1], half * importance.hands[2], half * importance.hands[3])
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, character, 0, work)
    _, _, _, u, v, w, _, _, _, _ = limb_places(puppet, character, 1, work)
    r, other = work.points[0], work.points[1]
    x, y, z = x + r[0] - u - other[0], y + r[1] - v - other[1], z + r[2] - w - other[2]
    wanted = 2.0 * math.sqrt(gap[0] ** 2 + gap[1] ** 2 + gap[2] ** 2)
    if abs(math.sqrt(x * x + y * y + z * z) - wanted) <= MISSED:
        return 0.0
    write_arm_balls(target, gap, work)
    stretch = 1.0 / tuning[AT.meet_stretch]
    exists, cx, cy, cz, nx, ny, nz, radius = circle(
        work.centers[0], work.centers[1], stretch * work.radii[0], stretch * work.radii[1]
    )
    if not exists:
        return 1.0
    # all around the line between the shoulders, out to where both arms are straight
    sx, sy, sz, _ = direction(*perpendicular(nx, ny, nz))
    tx, ty, tz = ny * sz - nz * sy, nz * sx - nx * sz, nx * sy - ny * sx
    for ring in range(RINGS):
        for n in range(AROUND):
            angle, far = 2.0 * math.pi * n / AROUND, radius * ring / (RINGS - 1.0)
            a, b = far * math.cos(angle), far * math.sin(angle)
            free = True
            for arm in range(2):
                sign, r = 1.0 if arm == 0 else -1.0, work.points[arm]
                x = cx + a * sx + b * tx + sign * gap[0] - r[0]
                y = cy + a * sy + b * ty + sign * gap[1] - r[1]
                z = cz + a * sz + b * tz + sign * gap[2] - r[2]
                px, py, pz = hand_push(target, arm, x, y, z, 1.0, COVERED, work)
                free = free and px * px + py * py + pz * pz < COVERED * COVERED
            if free:
                return 0.0
    return 1.0


@uncounted_jit
def perpendicular(x, y, z):
    """Return a vector (3) across another."""
    if abs(x) < 0.6:
        return 0.0, z, -y
    return -z, 0.0, x


@uncounted_jit
def skin_in_reach(target, arm, number, away, work):
    """Return whether a palm reaches a place `away` metres from the skin of a segment that the trunk does not cover."""
    tubes, positions, rotations, r = target.tubes, work.positions[0], work.rotations[0], work.points[arm]
    s, length = positions[target.character.limbs[arm, 0]], target.puppet.lengths[arm]
    for ring in range(RINGS):
        for n in range(AROUND):
            angle = 2.0 * math.pi * n / AROUND
            x, y, z = place(
                tubes, number, positions, rotations, ring / (RINGS - 1.0), math.cos(angle), math.sin(angle), away, 0.0
            )
            if (x - r[0] - s[0]) ** 2 + (y - r[1] - s[1]) ** 2 + (z - r[2] - s[2]) ** 2 > length**2:
                continue
            # the hand must be out of the trunk as a whole, its thickness as in `settle_touch`
            px, py, pz = hand_push(target, arm, x - r[0], y - r[1], z - r[2], in_the_way(target), COVERED, work)
            free = px * px + py * py + pz * pz < COVERED * COVERED
            for k in range(tubes.joints.shape[0]):
                if target.trunk[k] and k != number:
                    d, _, _, _ = tube_distance(tubes, k, positions, rotations, x, y, z)
                    free = free and d > -COVERED
            if free:
                return True
    return False


@uncounted_jit
def shift_hand(target, arm, scene, keep, apart, clock, first, limbs, work):
    """Compute a wrist's shift: towards what it touches and out of obstacles, low-pass filtered."""
    tuning = target.stage.tuning
    dt, started = clock.dt, clock.started
    wrist, shift, state, give = work.wrists[arm], work.pushes[arm], limbs.hands[arm], limbs.gives[arm]
    free, there = work.free[arm], work.scratch[7]
    x, y, z = hand_push(target, arm, wrist[0], wrist[1], wrist[2], 1.0, tuning[AT.clear_from], work)
    gives = math.sqrt(give[0] * give[0] + give[1] * give[1] + give[2] * give[2])
    clear = share((gives + math.sqrt(x * x + y * y + z * z)) / tuning[AT.gives])
    keep *= math.exp(-0.6931471805599453 * clear * dt / tuning[AT.clears])
    for k in range(3):
        carried = 0.0 if first else keep * (state[k] - free * shift[k]) + apart * give[k]
        there[k] = wrist[k] + free * shift[k] + carried
    for _ in range(SWEEPS):
        x, y, z = hand_push(target, arm, there[0], there[1], there[2], 1.0, work.margins[arm], work)
        there[0], there[1], there[2] = there[0] + x, there[1] + y, there[2] + z
        x, y, z = out_of_scene(target, arm, scene, there[0], there[1], there[2], work)
        there[0], there[1], there[2] = there[0] + x, there[1] + y, there[2] + z
    for k in range(3):
        wanted = there[k] - wrist[k]
        if started:
            state[k], state[3 + k] = spring(state[k], state[3 + k], wanted, tuning[AT.hand_ease], dt)
        else:
            state[k], state[3 + k] = wanted, 0.0
    # the delay vanishes where it would let the hand pass through the body
    deep = hand_in_body(target, arm, wrist[0] + state[0], wrist[1] + state[1], wrist[2] + state[2], work)
    low = 1.0 - share(deep / tuning[AT.hurry])
    for k in range(3):
        state[k] += low * (there[k] - wrist[k] - state[k])


@uncounted_jit
def ease_arm(target, arm, clock, limbs, work):
    """Low-pass filter the rotations of upper arm and forearm relative to the captured ones.

    An important hand is exempt, because importance itself is smooth, and so is an arm that would penetrate the body.
    """
    tuning = target.stage.tuning
    character = target.character
    dt, started = clock.dt, clock.started
    for n in range(2):
        c, local, state = work.angles[arm, n], work.local[0, character.limbs[arm, n]], limbs.arms[arm, n]
        # relative to the trunk and to the upper arm, so that the captured motion is kept, rotated
        w, x, y, z = multiply(local[0], local[1], local[2], local[3], c[0], -c[1], -c[2], -c[3])
        # of q and −q, the one nearer to the last frame's
        sign = 1.0 if not started or w * state[0] + x * state[1] + y * state[2] + z * state[3] >= 0.0 else -1.0
        wanted = work.scratch[4 + n]
        wanted[0], wanted[1], wanted[2], wanted[3] = sign * w, sign * x, sign * y, sign * z
        for k in range(4):
            if started:
                state[k], state[4 + k] = spring(state[k], state[4 + k], wanted[k], tuning[AT.pose_ease], dt)
            else:
                state[k], state[4 + k] = wanted[k], 0.0
        turn_from(c, state, wanted, 0.0, local)
    at_once = max(work.meant[arm] ** tuning[AT.at_once], work.firm[arm])
    low = 1.0 - (1.0 - at_once) * share(in_body(target, arm, work) / (0.6 * tuning[AT.deep]))
    if low > 0.0:
        for n in range(2):
            local = work.local[0, character.limbs[arm, n]]
            turn_from(work.angles[arm, n], limbs.arms[arm, n], work.scratch[4 + n], low, local)


@uncounted_jit
def turn_from(captured, start, stop, part, local):
    """Write a captured rotation multiplied by an interpolated one."""
    w, x = start[0] + part * (stop[0] - start[0]), start[1] + part * (stop[1] - start[1])
    y, z = start[2] + part * (stop[2] - start[2]), start[3] + part * (stop[3] - start[3])
    norm = 1.0 / math.sqrt(max(w * w + x * x + y * y + z * z, 1e-12))
    local[0], local[1], local[2], local[3] = multiply(
        norm * w, norm * x, norm * y, norm * z, captured[0], captured[1], captured[2], captured[3]
    )


@uncounted_jit
def carry_swing(target, arm, started, limbs, work):
    """Carry an elbow's swing over to the plane of its arm in this frame.

    The plane of an arm that is turned from its captured hand to the goal by the smallest rotation spins about the line
    from shoulder to wrist where the two are nearly opposite, and its own direction is worth cos²(θ/2) of the angle θ
    between them. Its spin since the frame before, as seen from the trunk, is followed by that share; the rest is taken
    back by the swing, which is given up as any other.
    """
    puppet, character = target.puppet, target.character
    plane, upper, swing = limbs.planes[arm], character.limbs[arm, 0], limbs.swings[arm]
    s, held, p = work.positions[0, upper], work.held[arm], puppet.parents[upper]
    r = work.rotations[0, p]
    x, y, z, ex, ey, ez, _, _, _, _ = limb_places(puppet, character, arm, work)
    ax, ay, az, _ = direction(ex - s[0], ey - s[1], ez - s[2])
    hx, hy, hz, _ = direction(held[0] - s[0], held[1] - s[1], held[2] - s[2])
    own = 0.5 + 0.5 * (ax * hx + ay * hy + az * hz)
    along = (x - s[0]) * ax + (y - s[1]) * ay + (z - s[2]) * az
    nx, ny, nz, off = direction(x - s[0] - along * ax, y - s[1] - along * ay, z - s[2] - along * az)
    if started:
        bx, by, bz = rotate(r[0], r[1], r[2], r[3], plane[0], plane[1], plane[2])
        mx, my, mz = rotate(r[0], r[1], r[2], r[3], plane[3], plane[4], plane[5])
        qw, qx, qy, qz = aim((bx, by, bz), (ax, ay, az), UP)
        mx, my, mz = rotate(qw, qx, qy, qz, mx, my, mz)
        cosine = mx * nx + my * ny + mz * nz
        sine = ax * (my * nz - mz * ny) + ay * (mz * nx - mx * nz) + az * (mx * ny - my * nx)
        # a nearly straight arm has no plane
        spin = (1.0 - own) * off * off / (off * off + STRAIGHT) * math.atan2(sine, cosine)
        swing[0] -= spin
        if abs(swing[0]) > math.pi:
            swing[0] -= math.copysign(2.0 * math.pi, swing[0])
    plane[0], plane[1], plane[2] = rotate(r[0], -r[1], -r[2], -r[3], ax, ay, az)
    plane[3], plane[4], plane[5] = rotate(r[0], -r[1], -r[2], -r[3], nx, ny, nz)


@uncounted_jit
def direction(x, y, z):
    """Return the unit vector (3) along a vector, and its length."""
    length = math.sqrt(x * x + y * y + z * z)
    norm = 1.0 / max(length, 1e-9)
    return norm * x, norm * y, norm * z, length


@uncounted_jit
def lower_arm(target, arm, importance, keep, clock, again, limbs, work):
    """Put a wrist on its goal and swivel the elbow out of the body; where that fails, the wrist yields next frame."""
    tuning = target.stage.tuning
    puppet, character, tubes, trunk = target.puppet, target.character, target.tubes, target.trunk
    dt, started = clock.dt, clock.started
    margin, state = work.margins[arm], limbs.swings[arm]
    if again > 0:
        for n in range(3):
            for k in range(4):
                work.local[0, character.limbs[arm, n], k] = work.angles[arm, n, k]
    wrist, give = work.wrists[arm], limbs.gives[arm]
    give[0], give[1], give[2] = wrist[0], wrist[1], wrist[2]
    firm = max(work.firm[arm], importance.hands[0] ** tuning[AT.at_once])
    bend_to(puppet, character, arm, 1.0, firm, wrist, work, tuning)
    swivel_to(puppet, character, arm, work.goals[LIMBS + arm], importance.scene[LIMBS + arm], work)
    carry_swing(target, arm, started, limbs, work)
    sweeps = SWEEPS if started else FIRST_ROUNDS
    wanted = swing_elbow(target, arm, keep * state[0], sweeps, margin, work)
    if started:
        before = wanted
        state[0], state[1] = spring(state[0], state[1], wanted, tuning[AT.elbow_ease], dt)
        swing_by(puppet, character, arm, state[0] - before, work)
    else:
        state[0], state[1] = wanted, 0.0
    ease_arm(target, arm, clock, limbs, work)
    keep_orientation(puppet, character, arm, work)
    x, y, z, _, _, _, _, _, _, _ = limb_places(puppet, character, arm, work)
    px, py, pz = out_of_body(
        tubes, trunk, work.positions[0], work.rotations[0], x, y, z, puppet.elbows[arm] - 0.5 * margin, margin, tuning
    )
    # goals out of reach are drawn in
    give[0] = px + tuning[AT.learn] * (wrist[0] - give[0])
    give[1] = py + tuning[AT.learn] * (wrist[1] - give[1])
    give[2] = pz + tuning[AT.learn] * (wrist[2] - give[2])


WARMUP: dict = {}
