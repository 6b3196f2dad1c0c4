"""Arms that keep what matters: touches, hands that meet, and staying out of the body (Shin 2002, section 5.3)."""

from __future__ import annotations

import math

from footplant.kernels import uncounted_jit
from footplant.kernels.balls import closest
from footplant.kernels.importance import share, spring
from footplant.kernels.limb import aim
from footplant.kernels.quaternion import exp, multiply
from footplant.kernels.surface import place
from footplant.solve.ik.puppet._clear import DEEP, hand_in_body, hand_push, in_body, out_of_scene
from footplant.solve.ik.puppet._limbs import bend_to, keep_orientation, limb_places, turn_upper
from footplant.solve.ik.puppet._tables import out_of_body

SWEEPS = 2
"""How often a hand is pushed out of everything in turn, and an elbow swung; they go on from where they were before."""
FIRST_ROUNDS = 12
"""How often everything is done at the first frame, which has nothing to go on from."""
RELEASE = 0.09
"""Half-life in seconds in which a push fades when nothing pushes any more."""
CLEARS, FAR = 0.04, 0.08
"""The same, beside that, for a hand that would be clear of the body by itself, by so many metres."""
EASE, GATHER, SWING = 0.01, 0.045, 0.018
"""Half-lives in seconds in which hands, the place where they meet, and elbows take up a push."""
POSE_EASE = 0.02
"""Half-life in seconds in which an arm takes up how it is turned from the captured angles."""
HURRY = 0.012
"""Metres, rounded, that a hand which takes its time is in the body where it takes no time any more."""
GIVES = 0.002
"""Metres by which a hand is drawn or pushed away where it is not clear of everything any more."""
LEARN = 0.5
"""Share of what a hand misses of its place, for being out of reach, by which the place is drawn in for the next."""
STRAIGHT = 2e-3
"""Square metres around which an elbow's distance from its arm's axis lets it be swung."""
PRESSED = 0.006
"""Metres around a touch of the body in which it is rounded, for a hand that means to touch."""
MEETINGS = 8
"""How often the place where hands meet is pushed out of the body and drawn back within reach, in turn."""
STRETCH = 0.9
"""Share of its length to which an arm is stretched for hands that meet."""
MEANT = 4
"""The power of importance by which a hand that means to be somewhere is not pushed away from it."""
AT_ONCE = 8
"""The power of importance by which an arm does not take its time any more."""


@uncounted_jit
def body_place(tubes, importance, stage, n, moves, x, y, z, work):
    """(importance, place): how much thing n touches the body, and where it would be on the target's body for that.

    Each near segment tells a place: as far along it, on the same side, as far from its surface. moves (S,): segments
    that are moved by this step themselves; from those only half of the way is gone (equation 5.9).
    """
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
def upper_arm(puppet, figure, arm, tubes, moves, importance, stage, work):
    """An elbow goes where it is near the body by its importance; the forearm goes along."""
    upper = figure.limbs[arm, 0]
    ex, ey, ez, _, _, _, _, _, _, _ = limb_places(puppet, figure, arm, work)
    w, gx, gy, gz = body_place(tubes, importance, stage, 4 + arm, moves, ex, ey, ez, work)
    x, y, z = ex + w * (gx - ex), ey + w * (gy - ey), ez + w * (gz - ez)
    s = work.positions[0, upper]
    ax, ay, az = ex - s[0], ey - s[1], ez - s[2]
    if abs(x - ex) + abs(y - ey) + abs(z - ez) < 1e-12:
        return False
    qw, qx, qy, qz = aim(ax, ay, az, x - s[0], y - s[1], z - s[2], 0.0, 1.0, 0.0)
    turn_upper(puppet, upper, work, qw, qx, qy, qz)
    return True


@uncounted_jit
def meeting_place(tubes, trunk, importance, stage, work):
    """Where the middle of the palms is on the target's body: as far in front of it as on the performer's."""
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
def meet(puppet, figure, tubes, trunk, importance, stage, dt, keep, limbs, work):
    """Bring the palms together as they are on the performer: in front of the body, within reach of both arms.

    Where they meet is pushed out of the body and drawn within reach; that is carried on from frame to frame, and so
    is the place itself, seen from the shoulders: both hands are late by as much.
    """
    w, state = importance.hands[0], limbs.middle
    if w <= 0.0:
        state[6] = 0.0
        return
    half = 0.5 * stage.size
    gx, gy, gz = half * importance.hands[1], half * importance.hands[2], half * importance.hands[3]
    middle, found = work.scratch[6], work.scratch[7]
    sx, sy, sz = meeting_place(tubes, trunk, importance, stage, work)
    if state[6] <= 0.0:
        state[:] = 0.0
    middle[0], middle[1], middle[2] = sx + keep * state[7], sy + keep * state[8], sz + keep * state[9]
    if state[6] > 0.0:
        # elbows that are in the body, and hands that are out of reach, shift it, too
        for k in range(3):
            middle[k] += 0.5 * (limbs.gives[0, k] + limbs.gives[1, k])
    # the middle must be in two balls, those that the arms reach, seen from the middle
    for arm in range(2):
        sign = 1.0 if arm == 0 else -1.0
        s, r = work.positions[0, figure.limbs[arm, 0]], work.points[arm]
        work.centers[arm, 0] = s[0] + r[0] - sign * gx
        work.centers[arm, 1] = s[1] + r[1] - sign * gy
        work.centers[arm, 2] = s[2] + r[2] - sign * gz
        work.radii[arm] = STRETCH * puppet.lengths[arm]
    for _ in range(SWEEPS if state[6] > 0.0 else MEETINGS):
        px, py, pz = 0.0, 0.0, 0.0
        for arm in range(2):
            sign = 1.0 if arm == 0 else -1.0
            r = work.points[arm]
            x, y, z = middle[0] + sign * gx - r[0], middle[1] + sign * gy - r[1], middle[2] + sign * gz - r[2]
            dx, dy, dz = hand_push(puppet, figure, arm, tubes, trunk, x, y, z, PRESSED, work)
            px, py, pz = px + 0.5 * dx, py + 0.5 * dy, pz + 0.5 * dz
        middle[0], middle[1], middle[2] = middle[0] + px, middle[1] + py, middle[2] + pz
        if closest(middle, work.centers[:2], work.radii[:2], found):
            middle[0], middle[1], middle[2] = found[0], found[1], found[2]
    for k in range(3):
        state[7 + k] = middle[k] - (sx if k == 0 else (sy if k == 1 else sz))
        between = 0.5 * (work.positions[0, figure.limbs[0, 0], k] + work.positions[0, figure.limbs[1, 0], k])
        if state[6] > 0.0:
            state[k], state[3 + k] = spring(state[k], state[3 + k], middle[k] - between, GATHER, dt)
        else:
            state[k], state[3 + k] = middle[k] - between, 0.0
        found[k], middle[k] = middle[k], between + state[k]
    deep = 0.0
    for arm in range(2):
        sign = 1.0 if arm == 0 else -1.0
        r = work.points[arm]
        x, y, z = middle[0] + sign * gx - r[0], middle[1] + sign * gy - r[1], middle[2] + sign * gz - r[2]
        deep = max(deep, hand_in_body(puppet, figure, arm, tubes, trunk, x, y, z, work))
    # what takes its time does not go through the body meanwhile; hands that meet go together, which takes it
    low = (1.0 - w**AT_ONCE) * (1.0 - share(deep / HURRY))
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
def swing_by(puppet, figure, arm, angle, work):
    """Swing the elbow about the line from shoulder to wrist; (3) that line's direction."""
    s = work.positions[0, figure.limbs[arm, 0]]
    _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, figure, arm, work)
    x, y, z = x - s[0], y - s[1], z - s[2]
    norm = max(math.sqrt(x * x + y * y + z * z), 1e-9)
    x, y, z = x / norm, y / norm, z / norm
    turn_upper(puppet, figure.limbs[arm, 0], work, *exp(angle * x, angle * y, angle * z))
    return x, y, z


@uncounted_jit
def swing_elbow(puppet, figure, arm, tubes, trunk, swing, sweeps, margin, work):
    """Swing the elbow about the line from shoulder to wrist until it is out of the body; the hand stays.

    swing: radians to begin with; returned: radians in the end.
    """
    s = work.positions[0, figure.limbs[arm, 0]]
    ax, ay, az = swing_by(puppet, figure, arm, swing, work)
    for _ in range(sweeps):
        ex, ey, ez, _, _, _, _, _, _, _ = limb_places(puppet, figure, arm, work)
        px, py, pz = out_of_body(
            tubes, trunk, work.positions[0], work.rotations[0], ex, ey, ez, puppet.elbows[arm], margin
        )
        if px * px + py * py + pz * pz < 1e-16:
            break
        ex, ey, ez = ex - s[0], ey - s[1], ez - s[2]
        # how the elbow moves when it swings: the axis × its arm; an arm that is all but straight is left alone
        tx, ty, tz = ay * ez - az * ey, az * ex - ax * ez, ax * ey - ay * ex
        angle = (tx * px + ty * py + tz * pz) / (tx * tx + ty * ty + tz * tz + STRAIGHT)
        turn_upper(puppet, figure.limbs[arm, 0], work, *exp(angle * ax, angle * ay, angle * az))
        swing += angle
    return swing


@uncounted_jit
def arms(puppet, figure, tubes, trunk, moves, importance, things, poses, stage, dt, started, limbs, work):
    """Both arms: elbows first, then hands, which may meet; then elbows again, with the hands where they are.

    What shifts hands and elbows for the body's sake is carried on from frame to frame and fades when nothing asks for
    it any more: a hand goes around the body, however deep in it the captured angles alone would put it.
    """
    meant = work.meant
    for arm in range(2):
        if figure.limbs[arm, 2] < 0:
            continue
        if upper_arm(puppet, figure, arm, tubes, moves[arm], importance, stage, work):
            keep_orientation(puppet, figure, arm, work)
        _, _, _, x, y, z, _, _, _, _ = limb_places(puppet, figure, arm, work)
        px, py, pz = x + work.points[arm, 0], y + work.points[arm, 1], z + work.points[arm, 2]
        w, gx, gy, gz = body_place(tubes, importance, stage, arm, moves[arm], px, py, pz, work)
        held, shift = work.held[arm], work.pushes[arm]
        held[0], held[1], held[2] = x, y, z
        shift[0], shift[1], shift[2] = w * (gx - px), w * (gy - py), w * (gz - pz)
        meant[arm] = max(w, importance.scene[arm], importance.hands[0])
        work.margins[arm] = stage.margin + meant[arm] * (PRESSED - stage.margin)
    keep = math.exp(-0.6931471805599453 * dt / RELEASE)
    for again in range(1 if started else FIRST_ROUNDS):
        first = not started and again == 0
        for arm in range(2):
            for k in range(3):
                work.wrists[arm, k] = work.held[arm, k]
        apart, together = 1.0, 0.0
        if figure.limbs[0, 2] >= 0 and figure.limbs[1, 2] >= 0:
            meet(puppet, figure, tubes, trunk, importance, stage, dt, keep, limbs, work)
            apart -= importance.hands[0] ** MEANT
            together = importance.hands[0] ** 2
        for arm in range(2):
            if figure.limbs[arm, 2] < 0:
                continue
            w, wrist, goal = importance.scene[arm], work.wrists[arm], work.goals[arm]
            for k in range(3):
                wrist[k] += w * (goal[k] - wrist[k])
            work.free[arm] = apart * (1.0 - w**MEANT)
            shift_hand(
                puppet, figure, arm, tubes, trunk, things, poses, stage, keep, apart, dt, started, first, limbs, work
            )
        for arm in range(2):
            if figure.limbs[arm, 2] < 0:
                continue
            wrist = work.wrists[arm]
            for k in range(3):
                # hands that mean to meet are shifted together
                own, other = limbs.hands[arm, k], limbs.hands[1 - arm, k]
                wrist[k] += apart * (own + 0.5 * together * (other - own))
            x, y, z = out_of_scene(arm, things, poses, stage, puppet, figure, wrist[0], wrist[1], wrist[2], work)
            wrist[0], wrist[1], wrist[2] = wrist[0] + x, wrist[1] + y, wrist[2] + z
            lower_arm(puppet, figure, arm, tubes, trunk, keep, dt, started, again, limbs, work)


@uncounted_jit
def shift_hand(puppet, figure, arm, tubes, trunk, things, poses, stage, keep, apart, dt, started, first, limbs, work):
    """How a wrist is shifted for the body's sake: to what it touches, out of what it must not be in, without haste."""
    wrist, shift, state, give = work.wrists[arm], work.pushes[arm], limbs.hands[arm], limbs.gives[arm]
    free, there = work.free[arm], work.scratch[7]
    x, y, z = hand_push(puppet, figure, arm, tubes, trunk, wrist[0], wrist[1], wrist[2], FAR, work)
    gives = math.sqrt(give[0] * give[0] + give[1] * give[1] + give[2] * give[2])
    clear = share((gives + math.sqrt(x * x + y * y + z * z)) / GIVES)
    keep *= math.exp(-0.6931471805599453 * clear * dt / CLEARS)
    for k in range(3):
        carried = 0.0 if first else keep * (state[k] - free * shift[k]) + apart * give[k]
        there[k] = wrist[k] + free * shift[k] + carried
    for _ in range(SWEEPS):
        x, y, z = hand_push(puppet, figure, arm, tubes, trunk, there[0], there[1], there[2], work.margins[arm], work)
        there[0], there[1], there[2] = there[0] + x, there[1] + y, there[2] + z
        x, y, z = out_of_scene(arm, things, poses, stage, puppet, figure, there[0], there[1], there[2], work)
        there[0], there[1], there[2] = there[0] + x, there[1] + y, there[2] + z
    for k in range(3):
        wanted = there[k] - wrist[k]
        if started:
            state[k], state[3 + k] = spring(state[k], state[3 + k], wanted, EASE, dt)
        else:
            state[k], state[3 + k] = wanted, 0.0
    # what takes its time does not go through the body meanwhile
    deep = hand_in_body(
        puppet, figure, arm, tubes, trunk, wrist[0] + state[0], wrist[1] + state[1], wrist[2] + state[2], work
    )
    low = 1.0 - share(deep / HURRY)
    for k in range(3):
        state[k] += low * (there[k] - wrist[k] - state[k])


@uncounted_jit
def ease_arm(puppet, figure, arm, tubes, trunk, dt, started, limbs, work):
    """Let how far upper arm and forearm are turned from the captured angles change without haste.

    Where the hand means to be somewhere it is there at once, for what it means comes slowly enough; and so is an arm
    that would be in the body otherwise.
    """
    for n in range(2):
        c, local, state = work.angles[arm, n], work.local[0, figure.limbs[arm, n]], limbs.arms[arm, n]
        # seen from the trunk and from the upper arm: what the captured arm does is then done by ours, turned
        w, x, y, z = multiply(local[0], local[1], local[2], local[3], c[0], -c[1], -c[2], -c[3])
        # of the two quaternions that are this turn, the one that is nearer to the last
        sign = 1.0 if not started or w * state[0] + x * state[1] + y * state[2] + z * state[3] >= 0.0 else -1.0
        wanted = work.scratch[4 + n]
        wanted[0], wanted[1], wanted[2], wanted[3] = sign * w, sign * x, sign * y, sign * z
        for k in range(4):
            if started:
                state[k], state[4 + k] = spring(state[k], state[4 + k], wanted[k], POSE_EASE, dt)
            else:
                state[k], state[4 + k] = wanted[k], 0.0
        turn_from(c, state, wanted, 0.0, local)
    low = 1.0 - (1.0 - work.meant[arm] ** AT_ONCE) * share(
        in_body(puppet, figure, arm, tubes, trunk, work) / (0.6 * DEEP)
    )
    if low > 0.0:
        for n in range(2):
            local = work.local[0, figure.limbs[arm, n]]
            turn_from(work.angles[arm, n], limbs.arms[arm, n], work.scratch[4 + n], low, local)


@uncounted_jit
def turn_from(captured, start, stop, part, local):
    """A captured rotation turned by what is between two turns."""
    w, x = start[0] + part * (stop[0] - start[0]), start[1] + part * (stop[1] - start[1])
    y, z = start[2] + part * (stop[2] - start[2]), start[3] + part * (stop[3] - start[3])
    norm = 1.0 / math.sqrt(max(w * w + x * x + y * y + z * z, 1e-12))
    local[0], local[1], local[2], local[3] = multiply(
        norm * w, norm * x, norm * y, norm * z, captured[0], captured[1], captured[2], captured[3]
    )


@uncounted_jit
def lower_arm(puppet, figure, arm, tubes, trunk, keep, dt, started, again, limbs, work):
    """Put a wrist where it goes and swing the elbow out of the body; where it cannot get out, the wrist gives way."""
    margin, state = work.margins[arm], limbs.swings[arm]
    if again > 0:
        for n in range(3):
            for k in range(4):
                work.local[0, figure.limbs[arm, n], k] = work.angles[arm, n, k]
    wrist, give = work.wrists[arm], limbs.gives[arm]
    give[0], give[1], give[2] = wrist[0], wrist[1], wrist[2]
    bend_to(puppet, figure, arm, 1.0, wrist, work)
    sweeps = SWEEPS if started else FIRST_ROUNDS
    wanted = swing_elbow(puppet, figure, arm, tubes, trunk, keep * state[0], sweeps, margin, work)
    if started:
        before = wanted
        state[0], state[1] = spring(state[0], state[1], wanted, SWING, dt)
        swing_by(puppet, figure, arm, state[0] - before, work)
    else:
        state[0], state[1] = wanted, 0.0
    ease_arm(puppet, figure, arm, tubes, trunk, dt, started, limbs, work)
    keep_orientation(puppet, figure, arm, work)
    x, y, z, _, _, _, _, _, _, _ = limb_places(puppet, figure, arm, work)
    px, py, pz = out_of_body(
        tubes, trunk, work.positions[0], work.rotations[0], x, y, z, puppet.elbows[arm] - 0.5 * margin, margin
    )
    # what was out of reach is asked for less
    give[0] = px + LEARN * (wrist[0] - give[0])
    give[1] = py + LEARN * (wrist[1] - give[1])
    give[2] = pz + LEARN * (wrist[2] - give[2])


WARMUP: dict = {}
