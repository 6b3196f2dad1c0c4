"""An interactive character controller: gaits that blend in phase, actions between them, feet locked.

Macleod, "Skeletal Character Animation within a Virtual Environment" (2006), sections 3.2 and 3.3, without its known
bugs (section 4.1): the root always moves by increments, so nothing turns in one frame on the way back from a clip; all
weights change smoothly, also when one request interrupts another; loops have no seam. `init` makes a state, `request`
asks for a motion, `step` advances by some seconds: clocks, keys and sockets stay outside.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from footplant.checks import real_number, shaped
from footplant.clip import Clip
from footplant.contacts.ground import Ground
from footplant.contacts.moving_ground import MovingGround, PartedGround
from footplant.errors import MotionError
from footplant.feet.footing import sole_length
from footplant.feet.lean import lean_tables
from footplant.feet.steps import foot_length
from footplant.kinematics import Kinematics
from footplant.live.aimed_steps import FEET, LOWEST, Aimed, AimedStep, follow_steps
from footplant.live.foot_plan import BITS, FootPlanner, ground_field, has_left
from footplant.live.held_hands import HeldHand, hold_hands
from footplant.live.motion_set import STEP, MotionSet
from footplant.live.settings import AIM, CONTROLLER, FOOT_PLAN
from footplant.live.tables import GAIT, Effector, Tables, build_tables, hips_lever
from footplant.live.treads import next_tread
from footplant.motion import Motion
from footplant.rotation import multiply, normalize
from footplant.skeleton import Character
from footplant.solve.ik.limb import limb_of

if TYPE_CHECKING:
    from footplant.live._foot_plan import FootState, FootTables, GroundField
    from footplant.live.carried import Carried, MovesUnder

Direction = Literal["straight", "left", "right"]
DIRECTIONS = get_args(Direction)
LONGEST = 3600.0
"""Maximum length of one step, seconds; more means that a clock was set."""
HISTORY = 1024
"""Largest number of requests that are still being faded."""


@dataclass(eq=False)
class ControllerPose:
    """The result of a step in the world: views into the state, valid until its next step."""

    root: NDArray
    """(3,) metres; world position of joint 0."""
    rotations: NDArray
    """(J, 4) local unit quaternions."""


@dataclass(eq=False)
class ControllerState:
    """Everything that changes while a character is driven. `Controller.step` changes it in place.

    Places are in the world, or on ground that moves in the frame that it carries (`carried`).
    """

    now: float
    """Seconds since `init`."""
    numbers: NDArray
    """Phase (0 to 1), x and z of the hips, facing (radians), steering (radians per second)."""
    weights: NDArray
    """(M,) weight of each motion in the pose."""
    clocks: NDArray
    """(M,) current time of each motion, seconds."""
    targets: NDArray
    starts: NDArray
    steers: NDArray
    """Requested motions, their times and steering; the last `count` requests still have weight."""
    count: int
    feet: FootState
    """What the feet do; see `_foot_plan`."""
    aim: NDArray
    """(A, 5) how the root is moved so that actions meet their targets; see `_foot_plan.Requests`."""
    stride: NDArray
    """(3,) scale of strides, its rate per second, and what it follows (`treads`); see `_foot_plan.Requests`."""
    looked: NDArray
    """(2,) seconds before which a foot without a landing in sight is not looked at again."""
    ground: Ground | None
    """What it walks on; None: a level floor at height 0."""
    field: GroundField
    """The same for the kernels."""
    root: NDArray
    pose: NDArray
    planted: NDArray
    """(4,) weight with which left heel, left ball, right heel and right ball are planted."""
    action: int | None = None
    """The action that is playing."""
    pending: int | None = None
    """The requested action that waits for a matching pose."""
    requested_at: float = 0.0
    """When the pending action was requested."""
    go_on: tuple[int, float] = (0, 0.0)
    """Motion and steering that continue after an action."""
    waiting: tuple[int, float] | None = None
    """What was requested during an action that cannot be interrupted."""
    changed: bool = False
    """Whether something was requested since the feet were planned."""
    target: NDArray | None = None
    """(3,) metres, what the pending or playing action is aimed at."""
    aimed: Aimed | None = None
    """What is told of that."""
    steps: list[AimedStep] = dataclasses.field(default_factory=list)
    """Steps onto places that are not over, in their order."""
    key: float = -1.0
    """When the action's effector is at its target, seconds; negative: it is not aimed."""
    pace: float = 1.0 / 60.0
    """Seconds of the last step."""
    hands: tuple[HeldHand, HeldHand] = dataclasses.field(default_factory=lambda: (HeldHand(), HeldHand()))
    """What hands do that carry the body, left and right."""
    carried: Carried | None = None
    """The frame on ground that moves; None: the ground rests."""

    @property
    def phase(self) -> float:
        """Phase of the gaits' cycle, 0 to 1."""
        return float(self.numbers[0])

    @property
    def facing(self) -> float:
        """Radians about the vertical in the world; 0 faces +z, positive is to the left."""
        return float(self.numbers[3]) + (0.0 if self.carried is None else self.carried.heading)

    @property
    def held(self) -> NDArray:
        """(4,) bool: whether left heel, left ball, right heel and right ball are locked."""
        from footplant.live import _foot_plan as kernel

        flags, ages = self.feet.flags, self.feet.times[:, kernel.TURN_AGE]
        bits = np.where(flags[:, kernel.SWING] == 1, 0, flags[:, kernel.HELD])
        # while a foot settles, its second point is not down yet
        settles = (bits == 3) & (flags[:, kernel.FROZEN] == 1) & (ages < self.feet.times[:, kernel.SETTLES])
        bits = np.where(settles, 1 + flags[:, kernel.ANCHOR], bits)
        return np.stack([bits & 1, bits & 2], axis=1).ravel() > 0

    @property
    def busy(self) -> bool:
        """Whether an action is playing or pending, or a step onto a place."""
        return self.action is not None or self.pending is not None or bool(self.steps)


class Controller:
    """Plays the motions of a set. One controller serves any number of characters: each has its own state."""

    def __init__(self, spec: MotionSet, tables: Tables) -> None:
        """Pack the tables for the kernels; use `build_controller` to make one from clips."""
        self.spec, self.tables, self.character = spec, tables, tables.character
        from footplant.live import _controller as kernel
        from footplant.live import _foot_plan as foot_plan

        motions, skeleton = tables.motions, tables.character.skeleton
        self._kinds = np.array([motion.kind for motion in motions], np.int64)
        counts = np.array([len(motion.height) for motion in motions], np.int64)
        self._motions = kernel.MotionTables(
            self._kinds,
            np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64),
            counts,
            np.concatenate([motion.facing for motion in motions]),
            tables.warp,
            np.concatenate([motion.floor for motion in motions]),
            np.concatenate([motion.height for motion in motions]),
            np.concatenate([motion.rotations for motion in motions]),
            np.concatenate([motion.contacts for motion in motions]),
            CONTROLLER.rate,
            hips_lever(tables.character),
        )
        limbs = [limb_of(tables.character, f"{side}_leg") for side in ("left", "right")]
        contacts = tables.character.contacts
        points = []
        for side in ("left", "right"):
            heel, ball = contacts[f"{side}_heel"], contacts[f"{side}_ball"]
            toe = contacts.get(f"{side}_toe", ball)
            points += [heel, ball, toe]
        self.legs = foot_plan.FootTables(
            skeleton.parents,
            skeleton.offsets[None],
            np.array([[limb.upper, limb.lower, limb.end] for limb in limbs], np.int64),
            np.array([limb.axis for limb in limbs]),
            np.array([point.joint for point in points], np.int64),
            np.array([point.offset for point in points], float),
        )
        self._lean = lean_tables(tables.character)
        self.soles = np.array(
            [
                [measured(tables.character, side) for measured in (sole_length, foot_length)]
                for side in ("left", "right")
            ]
        )
        """(2, 2) metres from the heels to the tips of the toes, and to the balls."""
        arms = [limb_of(tables.character, f"{side}_arm") for side in ("left", "right")]
        self.arms = self.legs._replace(
            legs=np.array([[limb.upper, limb.lower, limb.end] for limb in arms], np.int64),
            axes=np.array([limb.axis for limb in arms]),
        )
        count = len(motions)
        self._old = np.zeros(count)
        self._blend_scratch, self.foot_scratch = _scratch(count, len(skeleton))
        self._track = np.zeros((round(FOOT_PLAN.horizon / FOOT_PLAN.interval) + 1, 2, 24))
        self._ahead = (self._motions, self.legs, self._work(count, len(skeleton)))
        legs = _joints_above(skeleton.parents, [*self.legs.legs.ravel(), *self.legs.points])
        below = _part(self.legs, legs)
        self._legs_ahead = (
            self._motions._replace(rotations=np.ascontiguousarray(self._motions.rotations[:, legs])),
            below, self._work(count, len(legs)),
        )  # fmt: skip
        self.planner = FootPlanner(
            self.legs,
            tables.character.height,
            tables.foot_acceleration,
            tables.shortest_stance,
            tables.shortest_swing,
        )

    @staticmethod
    def _work(count: int, joints: int) -> tuple:
        """Return the work arrays of `_foot_plan.look_ahead` for some motions and joints."""
        blend, feet = _scratch(count, joints)
        return np.zeros(count), blend, np.zeros((1, 3)), np.zeros((1, joints, 4)), feet

    @property
    def names(self) -> list[str]:
        """Everything that can be requested of the set; `motion_set.STEP` can be too."""
        return self.spec.names()

    def init(
        self,
        *,
        place: tuple[float, float] = (0.0, 0.0),
        facing: float = 0.0,
        begin: str | None = None,
        ground: Ground | MovesUnder | None = None,
    ) -> ControllerState:
        """Return the state of a character at (x, z), metres, with a facing in radians and a motion.

        ground: what it walks on (default: a level floor at height 0). One that moves (`contacts.moving_ground`) carries
        the character, from its pose at time 0 on.
        """
        from footplant.kernels.fk import forward
        from footplant.live import _controller as kernel
        from footplant.live import _foot_plan as foot_plan
        from footplant.live._foot_plan import FootState

        first = begin or self.spec.begin or next(iter([*self.spec.idles, *self.spec.gaits]))
        if first in self.spec.actions:
            raise MotionError(f"expected to begin with a gait or an idle, got the action {first!r}")
        place = tuple(shaped(place, (2,), "a place", MotionError).tolist())
        facing = real_number(facing, "facing", MotionError)
        motion, steer = self._wanted(first, "straight")
        count, joints = len(self.tables.motions), len(self.character.skeleton)
        carried = None
        if isinstance(ground, MovingGround | PartedGround):
            from footplant.live.carried import Carried

            carried, ground = Carried(ground, np.array(place)), None
        field = ground_field(ground, np.array(place)) if carried is None else carried.ground()
        state = ControllerState(
            now=0.0,
            numbers=np.array([0.0, place[0], place[1], facing, steer]),
            weights=np.zeros(count),
            clocks=np.zeros(count),
            targets=np.zeros(HISTORY, np.int64),
            starts=np.zeros(HISTORY),
            steers=np.zeros(HISTORY),
            count=1,
            feet=FootState(
                np.zeros((2, 8), np.int64),
                np.zeros((2, 10)),
                np.zeros((2, 6, 6)),
                np.zeros((2, 4, 4)),
                np.zeros((2, 4, 3)),
                np.zeros((2, 8, 3)),
                np.zeros((2, 10)),
                foot_plan.no_hands(),
            ),
            aim=np.zeros((AIM.rows, 5)),
            stride=np.array([1.0, 0.0, 1.0]),
            looked=np.zeros(2),
            ground=ground,
            field=field,
            root=np.zeros((1, 3)),
            pose=np.zeros((1, joints, 4)),
            planted=np.zeros(4),
            go_on=(motion, steer),
            carried=carried,
        )
        state.targets[0], state.steers[0], state.weights[motion] = motion, steer, 1.0
        self._set_phase(state, 0.0)
        playback = kernel.Playback(state.weights, state.numbers, state.clocks, state.planted)
        kernel.advance(
            self._motions, 0.0, steer, self._old, playback, self._blend_scratch, state.root[0], state.pose[0]
        )
        scratch = self.foot_scratch
        # the kernel is compiled ahead for arrays of motions, which are read-only
        root, pose = state.root.view(), state.pose.view()
        root.setflags(write=False)
        pose.setflags(write=False)
        forward(self.legs.parents, self.legs.offsets, root, pose, scratch.positions, scratch.turns)
        self.planner.place(state.feet, scratch, state.planted, state.now, field)
        if carried is not None:
            carried.begin(state.feet, self._standing(state), state.now)
        step = foot_plan.FeetStep(state.now, 0.0, state.planted, self.planner.far, self.tables.foot_acceleration)
        foot_plan.pose_feet(self.legs, field, step, state.feet, state.root, state.pose, scratch)
        return state

    def request(
        self,
        state: ControllerState,
        name: str,
        direction: Direction = "straight",
        target: tuple[float, ...] | None = None,
    ) -> Aimed | None:
        """Request a gait, an idle, an action or a step onto a place, at any time.

        Gaits and idles start at once, whatever is playing, except an action that cannot be interrupted, or only later:
        a cartwheel is not left upside down. An action starts when the gait's pose matches its start, or after its
        `wait`; an action that still has weight is not restarted. direction: of a gait. target: (x, y, z) in metres that
        the effector of an action is to meet at its key moment: the character turns and steps towards it, and the limb
        does the rest.

        "step" puts the middle of a foot on its target (x, y, z), or (x, z) on the ground; direction: which foot
        (straight: either). Steps are taken in the order of their requests. Return what becomes of the target. On ground
        that moves, a target is carried as the character is.
        """
        if direction not in DIRECTIONS:
            raise MotionError(f"expected a direction among {', '.join(DIRECTIONS)}; got {direction!r}")
        if name == STEP:
            if target is None:
                raise MotionError("expected a target for a step, got none")
            place = shaped(target, (len(target),), "a target", MotionError)
            if len(place) not in (2, 3):
                raise MotionError(f"expected (x, y, z) or (x, z) to step to, got {len(place)} numbers")
            place = self._placed(state, place[0], place[1] if len(place) == 3 else LOWEST, place[-1])
            state.steps.append(AimedStep(STEP, place, None if direction == "straight" else f"{direction}_foot"))
            return state.steps[-1]
        if name in self.spec.actions:
            state.pending, state.requested_at = self.tables.index(name), state.now
            state.target = (
                None if target is None else self._placed(state, *shaped(target, (3,), "a target", MotionError))
            )
            self._interrupt(state.aimed)
            state.aimed = None if state.target is None else Aimed(name, state.target)
            return state.aimed
        if target is not None:
            raise MotionError(f"expected a target for an action or a step only, got one for {name!r}")
        wanted = self._wanted(name, direction)
        for task in (*state.steps, state.aimed):
            self._interrupt(task)
        state.pending, state.steps = None, []
        if not self._free(state):
            state.waiting = wanted
            return None
        state.action = None
        self._go(state, *wanted)
        return None

    @staticmethod
    def _placed(state: ControllerState, x: float, y: float, z: float) -> NDArray:
        """Return a target of the world in the state's frame; one on the ground stays so."""
        place = np.array([x, y, z])
        if state.carried is not None:
            place = state.carried.to_frame(place)
            place[1] = LOWEST if y == LOWEST else place[1]
        return place

    @staticmethod
    def _standing(state: ControllerState) -> NDArray:
        """Return the place (3,) on the ground below the root."""
        return np.array([state.numbers[1], state.feet.body[0], state.numbers[2]])

    @staticmethod
    def _interrupt(task: Aimed | None) -> None:
        if task is not None and task.open:
            task.status = "interrupted"

    def step(self, state: ControllerState, seconds: float) -> tuple[ControllerState, ControllerPose]:
        """Advance by some seconds; the state is changed in place and returned with the pose."""
        if not 0.0 <= real_number(seconds, "step", MotionError) <= LONGEST:
            raise MotionError(f"expected a step of 0 seconds or more, at most {LONGEST:g}, got {seconds}")
        parts = max(int(np.ceil(seconds / CONTROLLER.longest_step - 1e-9)), 1)
        state.pace = seconds / parts
        for _ in range(parts):
            self._decide(state)
            state.now += seconds / parts
            self._show(state, seconds / parts)
        return state, self.pose(state)

    @staticmethod
    def pose(state: ControllerState) -> ControllerPose:
        """Return the pose of a state in the world."""
        if state.carried is None:
            return ControllerPose(state.root[0], state.pose[0])
        rotations = state.pose[0].copy()
        rotations[0] = multiply(state.carried.turn, rotations[0])
        return ControllerPose(state.carried.to_world(state.root[0]), rotations)

    def _wanted(self, name: str, direction: Direction) -> tuple[int, float]:
        """Return the motion and the steering (radians per second) of a gait in a direction, or of an idle."""
        if name not in self.spec.gaits:
            if name not in self.spec.idles:
                raise MotionError(f"expected one of {', '.join(self.names)}; got {name!r}")
            return self.tables.index(name), 0.0
        gait = self.spec.gaits[name]
        if direction == "straight":
            return self.tables.index(name), 0.0
        if getattr(gait, direction) is not None:
            return self.tables.index(f"{name} {direction}"), 0.0
        return self.tables.index(name), gait.turn if direction == "left" else -gait.turn

    def _action(self, motion: int):
        return self.spec.actions[self.tables.motions[motion].name]

    def _free(self, state: ControllerState) -> bool:
        """Return whether another motion may start now: no action plays, or one that can be interrupted here."""
        if state.action is None:
            return True
        frame = round(float(state.clocks[state.action]) * CONTROLLER.rate)
        upright = self.tables.upright[state.action]
        return self._action(state.action).interruptible and bool(upright[min(frame, len(upright) - 1)])

    def _decide(self, state: ControllerState) -> None:
        """Run the state machine: decide what ends and what starts now."""
        over = state.action is not None and self._left_for(state, state.action) <= 0.0
        if over or (state.waiting is not None and self._free(state)):
            state.action = None
            self._go(state, *(state.waiting or state.go_on))
            state.waiting = None
        if state.pending is None or not self._free(state):
            return
        number = state.pending
        if state.weights[number] > 0.0 or state.steps:
            return
        waited = state.now - state.requested_at
        going = self._kinds[state.targets[state.count - 1]] == GAIT
        opening = self.tables.openings[number]
        cell = min(int(state.numbers[0] * CONTROLLER.phases), CONTROLLER.phases - 1)
        fits = bool(opening[cell])
        if going and not fits and waited < self._action(number).wait:
            return
        state.clocks[number] = 0.0
        state.action, state.pending, state.key = number, None, -1.0
        self._ask(state, number, 0.0)
        if state.target is not None:
            self._aim(state, number)

    def _aim(self, state: ControllerState, number: int) -> None:
        """Turn and move the root until the key moment so that the effector's place in the clip comes to the target.

        What that leaves (heights, and what is too far) is left to the limb.
        """
        target = state.target
        effector = self.tables.effectors.get(number)
        if effector is None or target is None or state.pace <= 0.0:
            return
        # the key moment is a frame: a fast foot is at a place for one of them only
        seconds = max(round((effector.seconds - state.clocks[number]) / state.pace), 1) * state.pace
        state.key = state.now + seconds
        aim = state.aim[self.free_aim(state)]
        aim[:] = state.now, seconds, 0.0, 0.0, 0.0
        if state.aimed is not None:
            state.aimed.effector, state.aimed.status = effector.name, "planned"
        here = state.numbers[1:3].copy()
        most = AIM.reach * self.character.height
        for round_ in range(AIM.rounds):
            at = self.predict(state, seconds, effector)
            gap = target[::2] - at[::2]
            if round_ == 0:
                a, b = at[::2] - here, target[::2] - here
                turn = np.arctan2(b[0], b[1]) - np.arctan2(a[0], a[1])
                turn = (turn + np.pi) % (2.0 * np.pi) - np.pi
                aim[4] = np.clip(turn, -AIM.turn, AIM.turn)
                continue
            moved = aim[2:4] + gap
            aim[2:4] = moved * min(1.0, most / max(float(np.hypot(*moved)), 1e-9))
        state.changed = True

    def free_aim(self, state: ControllerState) -> int:
        """Return the row of `ControllerState.aim` that is over, or is over first."""
        return int((state.aim[:, 0] + state.aim[:, 1]).argmin())

    def place(self, state: ControllerState, name: str) -> NDArray:
        """Return where a contact point of the character is in the state's frame, (3,) metres."""
        return self.now(state).point(self.character.contacts[name])[0]

    def now(self, state: ControllerState) -> Kinematics:
        """Return the body in the state's frame."""
        return Kinematics(Motion(self.character.skeleton, state.root, normalize(state.pose), 60.0))

    def predict(self, state: ControllerState, seconds: float, effector: Effector) -> NDArray:
        """Return where an effector will be, as `predict_body` has it."""
        return self.predict_body(state, seconds).point(effector.point)[0]

    def predict_body(self, state: ControllerState, seconds: float) -> Kinematics:
        """Return the body as it will be, blended, without corrections of the limbs, over a level floor."""
        count = max(round(seconds / FOOT_PLAN.interval), 1)
        self.look_ahead(state, np.zeros((count + 1, 2, 24)), seconds / count, self._ahead)
        _, _, root, pose, _ = self._ahead[2]
        return Kinematics(Motion(self.character.skeleton, root, pose, 60.0))

    def leaves(self, motion: int) -> float:
        """Return the seconds of an action at which what follows it starts to fade in."""
        seconds = self.tables.motions[motion].seconds
        return seconds - self.tables.fade if seconds > 1.5 * self.tables.fade else 0.4 * seconds

    def _left_for(self, state: ControllerState, motion: int) -> float:
        """Return the seconds until the playing action is left; one that is aimed is not before its key moment."""
        left = self.leaves(motion) - float(state.clocks[motion])
        return left if state.key < 0.0 else max(left, state.key - state.now)

    def _entry(self, motion: int, seconds: float) -> float:
        """Return the phase at which to enter a gait from a time of another motion."""
        entries = self.tables.entries[motion]
        return float(entries[min(int(seconds * CONTROLLER.bins), len(entries) - 1)])

    def _go(self, state: ControllerState, motion: int, steer: float) -> None:
        """Start a transition to a gait or an idle; a gait entered from another kind starts at the best phase."""
        state.go_on = motion, steer
        if self._kinds[motion] == GAIT and not state.weights[self._kinds == GAIT].any():
            now = int(state.weights.argmax())
            self._set_phase(state, self._entry(now, state.clocks[now]))
        self._ask(state, motion, steer)

    def _set_phase(self, state: ControllerState, phase: float) -> None:
        """Set the phase of all gaits, none of which has weight."""
        self._write_phase(state.numbers, state.clocks, phase)

    def _write_phase(self, numbers: NDArray, clocks: NDArray, phase: float) -> None:
        from footplant.live._controller import warped

        numbers[0] = phase
        for number, motion in enumerate(self.tables.motions):
            if motion.kind == GAIT:
                clocks[number] = warped(self.tables.warp, number, phase) % motion.seconds

    def _ask(self, state: ControllerState, motion: int, steer: float) -> None:
        last = state.count - 1
        if state.targets[last] == motion and state.steers[last] == steer:
            return
        if state.count > 1 and state.starts[last] == state.now:
            # two requests at one time: the first was never visible
            last -= 1
        elif state.count == HISTORY:
            last = HISTORY - 2
        state.targets[last + 1], state.starts[last + 1], state.steers[last + 1] = motion, state.now, steer
        state.count, state.changed = last + 2, True

    def _show(self, state: ControllerState, seconds: float) -> None:
        """Compute weights, clocks, root and pose at the state's time, with planned feet."""
        expired = 0
        while expired + 1 < state.count and state.starts[expired + 1] <= state.now - self.tables.fade:
            expired += 1
        if expired:
            for array in (state.targets, state.starts, state.steers):
                array[: state.count - expired] = array[expired : state.count]
            state.count -= expired
        events = self._frame(state, seconds)
        if events or state.changed or state.key >= 0.0 or state.steps:
            self._plan_feet(state, events)
        if self.tables.with_hands:
            hold_hands(self, state)
        if state.key >= 0.0:
            self._reach(state)
        if state.steps:
            follow_steps(self, state)

    def _frame(self, state: ControllerState, seconds: float) -> int:
        """Compute weights, clocks, root and pose; return the events of the feet."""
        from footplant.live import _controller as kernel
        from footplant.live import _foot_plan as foot_plan

        if state.carried is not None:
            state.carried.advance(state.feet, self._standing(state), state.now, seconds)
            state.field = state.carried.ground()
        elif has_left(state.ground, state.field, state.numbers[1:3]):
            state.field = ground_field(state.ground, state.numbers[1:3])
        requests = foot_plan.Requests(
            state.targets, state.starts, state.steers, state.count, self.tables.fade, state.aim, state.stride
        )
        playback = kernel.Playback(state.weights, state.numbers, state.clocks, state.planted)
        step = foot_plan.FeetStep(state.now, seconds, state.planted, self.planner.far, self.tables.foot_acceleration)
        events = foot_plan.show_frame(
            self._motions, (self.legs, self._lean), state.field, requests, step, playback, state.feet,
            (self._old, self._blend_scratch, self.foot_scratch), state.root, state.pose,
        )  # fmt: skip
        if state.carried is not None:
            state.carried.landed(state.feet)
        return events

    def _plan_feet(self, state: ControllerState, events: int) -> None:
        """Plan swings: of feet that were released, after a request, and where no landing was in sight."""
        from footplant.live import _foot_plan as kernel

        feet, now = state.feet, state.now
        track: NDArray | None = None
        for foot in range(2):
            event, flags, times = events >> (3 * foot) & 7, feet.flags[foot], feet.times[foot]
            swinging = flags[kernel.SWING] == 1
            late = times[0] + times[1] - now < FOOT_PLAN.late
            if not swinging and (times[kernel.SINCE] == now or state.changed):
                track = self.look_ahead(state) if track is None else track
                self.planner.stretch(feet, foot, track, now)
            again = swinging and not flags[kernel.LANDS] and now >= state.looked[foot]
            via = self._via(state, foot) if swinging else None
            planned = state.key > now and abs(times[0] + times[1] - state.key) < 1e-6
            again = (again and not planned) or (via is not None and not planned)
            task = self._step_of(state, foot)
            due = task is not None and task.own and not task.swings and not swinging
            if not (again or event or due or (swinging and state.changed and not (flags[kernel.LANDS] and late))):
                continue
            if event == kernel.FAR and now < state.looked[foot] and not due:
                continue
            track = self.look_ahead(state) if track is None else track
            state.looked[foot] = now + FOOT_PLAN.again
            stepping = task is not None and task.own
            if due:
                kernel.lift(self.legs, foot, now, feet, self.foot_scratch)
            elif not swinging:
                stepping = False
                planted = track[:, foot, BITS] > 0
                if event & kernel.LOST:
                    stepping = bool(planted[: round(FOOT_PLAN.step / FOOT_PLAN.interval)].all())
                elif event & kernel.RELEASED:
                    wait = self.planner.stays(feet, foot, track)
                    if wait > 0.0:
                        times[kernel.KEEP] = now + wait
                        continue
                else:
                    other = feet.flags[1 - foot, kernel.SWING] == 0 and now - feet.times[1 - foot, kernel.SINCE] > 0.05
                    stays = bool(planted[: round(FOOT_PLAN.step / FOOT_PLAN.interval)].all())
                    if not other or not stays or now - times[kernel.SINCE] < FOOT_PLAN.again:
                        continue
                    stepping = True
                kernel.lift(self.legs, foot, now, feet, self.foot_scratch)
            else:
                kernel.release_toes(self.legs, foot, feet, self.foot_scratch)
            via, goal = self._via(state, foot), None if task is None else task.goal(now)
            fitted = via is None and goal is None
            if fitted:
                before = state.stride[2]
                goal = next_tread(self, state, track, foot, stepping=stepping)
                if state.stride[2] != before:
                    track = self.look_ahead(state)
                    self._keep_landing(state, 1 - foot, track)
            meets = self._swing(state, foot, track, stepping=stepping, via=via, goal=goal)
            if task is not None:
                task.swings = meets
        state.changed = False

    def _keep_landing(self, state: ControllerState, foot: int, track: NDArray) -> None:
        """Plan the swing of a foot anew, to where it is to land already, after the way of the body has changed."""
        from footplant.live import _foot_plan as kernel

        flags, times, marks = (array[foot] for array in (state.feet.flags, state.feet.times, state.feet.places))
        left = float(times[kernel.START] + times[kernel.LENGTH]) - state.now
        if not flags[kernel.SWING] or not flags[kernel.LANDS] or left < FOOT_PLAN.late:
            return
        middle = marks[:2].mean(axis=0)
        kernel.release_toes(self.legs, foot, state.feet, self.foot_scratch)
        self._swing(state, foot, track, stepping=False, via=None, goal=np.array([*middle, left]))

    def _swing(
        self, state: ControllerState, foot: int, track: NDArray, *, stepping: bool, via: NDArray | None,
        goal: NDArray | None,
    ) -> bool:  # fmt: skip
        """Plan a swing, on ground that moves as that will be at the landing; return whether it meets its goal."""
        from footplant.live import _foot_plan as kernel

        feet, now, carried = state.feet, state.now, state.carried
        if carried is None:
            return self.planner.swing(feet, foot, track, now, state.field, stepping=stepping, via=via, goal=goal)
        lands = np.flatnonzero(track[:, foot, BITS] > 0)
        ends = now + FOOT_PLAN.interval * float(lands[0] if len(lands) else len(track) // 2)
        root, before = self._standing(state), [array[foot].copy() for array in feet[:-1]]
        meets = False
        for _ in range(2):
            for array, own in zip(feet[:-1], before):
                array[foot] = own
            field = carried.ground(max(ends, now), root)
            meets = self.planner.swing(feet, foot, track, now, field, stepping=stepping, via=via, goal=goal)
            planned = float(feet.times[foot, kernel.START] + feet.times[foot, kernel.LENGTH])
            # the second time for the ground at the time that was found
            if abs(planned - ends) < 0.5 * FOOT_PLAN.interval:
                break
            ends = planned
        carried.planned(feet, foot, root)
        return meets

    @staticmethod
    def _step_of(state: ControllerState, foot: int) -> AimedStep | None:
        """Return the next step that a foot takes onto a place."""
        for task in state.steps:
            if task.status == "planned" and task.effector == FEET[foot] and not task.landed:
                return task
        return None

    def _effector(self, state: ControllerState) -> Effector | None:
        """Return the effector of an action that is aimed."""
        number = state.action
        return None if number is None or state.key < 0.0 or state.target is None else self.tables.effectors.get(number)

    def _via(self, state: ControllerState, foot: int) -> NDArray | None:
        """Return when, and with which shift (4,), a foot that is aimed meets its target."""
        effector = self._effector(state)
        left = state.key - state.now
        if effector is None or effector.name != f"{('left', 'right')[foot]}_foot":
            return None
        if not 0.5 * state.pace <= left <= AIM.before + 0.5 * state.pace:
            return None
        gap = state.target - self.predict(state, left, effector)
        share = min(1.0, AIM.limb * self.character.height / max(float(np.linalg.norm(gap)), 1e-9))
        return np.array([left, *(share * gap)])

    def _reach(self, state: ControllerState) -> None:
        """Bring an aimed hand to its target around the key moment."""
        from footplant.live import _foot_plan as kernel

        effector = self._effector(state)
        if effector is None or state.now > state.key + AIM.after:
            state.key = -1.0
            return
        if effector.name.endswith("_foot"):
            self._meet(state, effector)
            return
        before, after = (state.key - state.now) / AIM.before, (state.now - state.key) / AIM.after
        share = kernel.smoother(1.0 - max(before, after, 0.0))
        side = 0 if effector.name.startswith("left") else 1
        kernel.reach_limb(
            self.arms, side, effector.point.joint, np.asarray(effector.point.offset, float),
            state.target, share, (state.root, state.pose), self.foot_scratch,
        )  # fmt: skip
        self._meet(state, effector)

    def _meet(self, state: ControllerState, effector: Effector) -> None:
        """Note at the key moment how far the effector is from its target."""
        if state.aimed is not None and state.aimed.open and state.now >= state.key - 0.5 * state.pace:
            gap = self.now(state).point(effector.point)[0] - state.target
            state.aimed.meet(state.now, float(np.linalg.norm(gap)))

    def look_ahead(
        self,
        state: ControllerState,
        track: NDArray | None = None,
        interval: float = FOOT_PLAN.interval,
        joints: tuple | None = None,
        stride: NDArray | None = None,
    ) -> NDArray:
        """Return the blended feet of the near future (N, 2, 24), if nothing else is requested.

        joints: motions, feet and work arrays; by default those of the legs alone, which are enough for feet. stride:
        see `_foot_plan.Requests`; by default the state's.
        """
        from footplant.live import _controller as kernel
        from footplant.live import _foot_plan as foot_plan

        targets, starts, steers = (
            array[: state.count + 1].copy() for array in (state.targets, state.starts, state.steers)
        )
        count, clocks, numbers = state.count, state.clocks.copy(), state.numbers.copy()
        if state.action is not None:
            # the action ends by itself
            motion, steer = state.waiting or state.go_on
            left = self._left_for(state, state.action)
            if 0.0 <= left < FOOT_PLAN.horizon and count < len(targets):
                targets[count], starts[count], steers[count] = motion, state.now + left, steer
                count += 1
                if self._kinds[motion] == GAIT and not state.weights[self._kinds == GAIT].any():
                    self._write_phase(numbers, clocks, self._entry(state.action, self.leaves(state.action)))
        scale = (state.stride if stride is None else stride).copy()
        requests = foot_plan.Requests(targets, starts, steers, count, self.tables.fade, state.aim, scale)
        playback = kernel.Playback(state.weights.copy(), numbers, clocks, state.planted.copy())
        track = self._track if track is None else track
        motions, feet, work = self._legs_ahead if joints is None else joints
        foot_plan.look_ahead(motions, feet, requests, state.now, interval, playback, work, track)
        return track


def _scratch(count: int, joints: int) -> tuple:
    """Return the work arrays of blending and of feet for some motions and joints."""
    from footplant.live import _controller as kernel
    from footplant.live import _foot_plan as foot_plan

    floats = np.zeros(36)
    blend = kernel.BlendScratch(np.zeros((count, joints, 4)), np.zeros((count, joints)), np.zeros(4), floats)
    return blend, foot_plan.FootScratch(
        np.zeros((1, joints, 3)), np.zeros((1, joints, 4)), np.zeros((2, 4, 3)), np.zeros((2, 11)), floats
    )


def _joints_above(parents: NDArray, joints: list[int]) -> NDArray:
    """Return some joints and all above them, in order."""
    found = set()
    for joint in joints:
        while joint >= 0 and joint not in found:
            found.add(int(joint))
            joint = int(parents[joint])
    return np.array(sorted(found))


def _part(feet: FootTables, joints: NDArray) -> FootTables:
    """Return the tables of feet for a skeleton of some of its joints."""
    number = {-1: -1} | {int(joint): place for place, joint in enumerate(joints)}
    parents = np.array([number[int(feet.parents[joint])] for joint in joints])
    offsets = np.ascontiguousarray(feet.offsets[:, joints])
    for array in (parents, offsets):
        array.setflags(write=False)
    return feet._replace(
        parents=parents,
        offsets=offsets,
        legs=np.array([[number[int(joint)] for joint in leg] for leg in feet.legs]),
        points=np.array([number[int(joint)] for joint in feet.points]),
    )


def build_controller(spec: MotionSet, clips: Mapping[str, Clip], character: Character | None = None) -> Controller:
    """Build a controller. clips: the set's clips by name. character: the one they are put on (default: the first's)."""
    return Controller(spec, build_tables(spec, clips, character))
