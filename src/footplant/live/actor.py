"""One actor: from the samples of its sources to poses of a character, through jitter buffer, filter and puppeteer.

No sockets or clocks in here: the caller passes the time (seconds of any monotonic clock).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.contacts.importance import Importance
from footplant.errors import MotionError
from footplant.live import performer as performers
from footplant.live.clock import SenderClock
from footplant.live.kalman import FilterState, Gaps, SensorFilter
from footplant.live.performer import Performer
from footplant.live.protocols.sample import BonePlan, PoseSample
from footplant.live.puppeteer import Puppeteer, PuppetPose
from footplant.live.settings import STREAM
from footplant.skeleton import Character

MOST_WAITING = 1000
"""Samples that are kept while a calibration pose is waited for."""

GROUND = "ground"
"""Name of the tracker that the ground moves with."""

MakePuppeteer = Callable[[Character, Character], Puppeteer]


@dataclass(frozen=True)
class ActorSettings:
    """How a stream becomes poses."""

    calibrate: bool = False
    """Wait for a T-pose or N-pose to measure the performer's proportions."""
    half_life: float = 0.004
    """Half-life of the filter, seconds; 0: no filter, gaps are still bridged. At 60 Hz, 0.004 keeps 0.99 of the speed
    of punches and kicks and raises the peak acceleration of hands, feet and hips by 2 % at most in five samples and 28
    recordings, but for feet that are planted at other moments (6 % in one); 0.005 takes 3 % more of the speed of a
    jumper's hands and raises that of landing feet by 3 % (`live_wire.py --lag`). Noisy sensors want more."""
    lag: float = 0.025
    """Seconds by which a filtered pose is shown later than it was made, at least: the smoother's look-ahead."""
    gaps: Gaps = field(default_factory=Gaps)
    latency: float = 0.04
    """Latency budget of jitter buffer and filter together, seconds; 0: everything is shown as it arrives."""
    body: str = "auto"
    """One of `performers.BODIES`."""
    in_place: bool = False
    """Whether the character stays where it is, whatever way the performer goes."""
    calibrate_noise: bool = False
    """Measure the noise of every bone while the performer stands still, and filter each as much as it needs instead of
    by `half_life`."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.body not in performers.BODIES:
            raise MotionError(f"expected a body among {', '.join(performers.BODIES)}, got {self.body!r}")
        for name in ("half_life", "lag", "latency"):
            if not 0.0 <= getattr(self, name) <= 10.0:
                raise MotionError(f"expected 0 to 10 seconds of {name}, got {getattr(self, name)}")


@dataclass(eq=False)
class Source:
    """One sender of an actor's bones or expressions."""

    name: str
    """Where it is, for messages."""
    clock: SenderClock = field(default_factory=SenderClock)
    last: float = -math.inf
    """Seconds: of the last sample."""
    samples: int = 0
    ignored: int = 0
    """Samples in a row that had only bones of other sources."""


class Shown(NamedTuple):
    """A pose to show."""

    number: int
    """Index of the actor."""
    actor: Actor
    pose: PuppetPose
    time: float
    """Seconds on our clock at which it is due."""
    expressions: Mapping[str, float] | None
    """Expression → weight, or None if the performer has sent none."""
    bridged: bool = False
    """Whether there was no data in time: it answers no datagram."""


class Actor:
    """Converts the samples of one performer to poses of one character."""

    def __init__(
        self, target: Character, make: MakePuppeteer = Puppeteer, settings: ActorSettings | None = None, name: str = ""
    ) -> None:
        """make: builds the puppeteer once the performer is known."""
        from footplant.live._bones import keep

        self.target, self.name, self.settings = target, name, settings or ActorSettings()
        self._keep = keep
        self.number = 0
        """Index among the actors of a stage."""
        self._make = make
        self.performer: Performer | None = None
        self.puppeteer: Puppeteer | None = None
        self.sources: list[Source] = []
        self.poses = 0
        self.missed = 0
        self.late = 0
        """Poses shown, those of them without data in time, and samples that came too late to be shown."""
        self.changes = 0
        """How often the performer was measured again."""
        self.note = ""
        """Why there is no performer yet, or the result of the calibration."""
        self.state: Any = None
        """State of the puppeteer."""
        self.importance: Importance | None = None
        """Importances in the current pose."""
        self.out_of_reach, self.hands_out_of_reach = (False, False), False
        """Whether what the left and the right palm should touch is out of their reach."""
        self.delay = 0.0
        """Seconds from when a pose was made until it is shown: the jitter buffer and the smoother's look-ahead."""
        self.due = math.inf
        """Seconds at which the next pose is due; infinity before the performer is known."""
        self._plan: BonePlan | None = None
        self._waiting: list[tuple[float, PoseSample]] = []
        self._times: deque[float] = deque()
        """When the poses were made that have not been shown, seconds."""
        self._next = 0.0
        self._shown_at = 0.0
        self._expressions: deque[tuple[float, Mapping[str, float]]] = deque(maxlen=MOST_WAITING)
        self._tracked: deque[tuple[float, Mapping[str, NDArray]]] = deque(maxlen=MOST_WAITING)
        self.trackers: dict[str, NDArray] = {}
        """Name → (7,) position and rotation of tracked objects at the current pose."""
        self.expressions: dict[str, float] | None = None
        """Expression → weight at the current pose."""
        self._filter: SensorFilter | None = None
        self._memory: FilterState | None = None
        self._noise: NDArray | None = None
        """(N, 2) metres and radians; measured noise of the bones."""
        self._root, self._local = np.zeros((1, 3)), np.zeros((1, 0, 4))
        """The performer's frame as the puppeteer takes it."""
        self._changed = 0
        self._last: PuppetPose | None = None
        self._fade: tuple[float, NDArray, NDArray] | None = None
        """When a crossfade began, and the offsets that it fades out: (3,) metres and (J, 3) radians."""

    # sources

    @property
    def clock(self) -> SenderClock:
        """The clock of the source that sends the hips, or else of the first one."""
        return self._primary.clock

    @property
    def _primary(self) -> Source:
        if len(self.sources) > 1 and self._plan is not None and self._owner[0] >= 0:
            return self.sources[self._owner[0]]
        return self.sources[0] if self.sources else Source("nobody")

    def last(self) -> float:
        """Return when the last sample came, seconds."""
        return max((source.last for source in self.sources), default=-math.inf)

    def attach(self, source: Source) -> None:
        """Let a source send bones of this performer.

        There are senders with another port for every pose. A new source of a machine whose last one has sent only once
        takes over its clock: a clock of its own would date every pose by its arrival, jitter and all. If the other one
        sends again, it begins with a new clock.
        """
        host = source.name.rpartition(":")[0]
        before = next((other for other in reversed(self.sources) if other.name.rpartition(":")[0] == host), None)
        if before is not None and before.samples == 1:
            source.clock, before.clock = before.clock, SenderClock()
        self.sources.append(source)

    def detach(self, source: Source) -> None:
        """Forget a source."""
        number = self.sources.index(source)
        self.sources.pop(number)
        if self._plan is not None:
            self._owner[self._owner == number] = -1
            self._owner[self._owner > number] -= 1

    def _claim(self, sample: PoseSample, source: Source, now: float) -> NDArray:
        """Return (N,) the bones of a sample that are this source's: those that no other live source sends.

        A source that has sent only once has no claim: there are senders with another port for every datagram.
        """
        if len(self.sources) == 1:
            self._owner[sample.present] = 0
            return sample.present
        number = self.sources.index(source)
        claims = np.array([
            max(STREAM.lapse, 4.0 * other.clock.period) if other.samples > 1 else 0.0 for other in self.sources
        ])  # fmt: skip
        taken = (self._owner >= 0) & (self._owner != number)
        taken &= now - self._seen < claims[self._owner]
        mine = sample.present & ~taken
        self._owner[mine] = number
        return mine

    def _use_plan(self, plan: BonePlan) -> None:
        """Start with the bones of another protocol or skeleton."""
        self._plan = plan
        count = len(plan)
        self._owner, self._seen, self._made = np.full(count, -1), np.full(count, -math.inf), np.full(count, -math.inf)
        limbs = [plan.index[name] for role in performers.REQUIRED for name in plan.roles.get(role, ())]
        self._limbs = np.isin(np.arange(count), limbs)
        self._positions, self._rotations = np.zeros((count, 3)), rotation.identity(count)
        self.performer, self._waiting, self.due = None, [], math.inf

    # samples

    def take(self, sample: PoseSample, source: Source, now: float) -> None:
        """Take a sample of a source that was completed at `now`."""
        source.last = now
        arrived = now if sample.arrived is None else sample.arrived
        has_bones = np.count_nonzero(sample.present) > 0
        if not has_bones:
            # without bones there may be no stamps: what else is sent counts from when it arrives
            self._file(sample, arrived)
            return
        source.samples += 1
        if self._plan is None or (sample.plan is not self._plan and sample.plan.names != self._plan.names):
            self._use_plan(sample.plan)
        before = source.clock.made
        made = source.clock.capture(sample.time, arrived)
        self._file(sample, made)
        mine = self._claim(sample, source, now)
        count, last_made = self._keep(
            sample.positions, sample.rotations, mine, self._limbs, now, made, self._seen, self._made, self._positions,
            self._rotations,
        )  # fmt: skip
        source.ignored = 0 if count else source.ignored + 1
        if not count:
            return
        self._measure_waits(source.clock, made - last_made, made, now)
        if self.performer is None or self._is_other_performer(now):
            self._meet(now, made)
        if self.performer is None or self._filter is None or self._memory is None:
            return
        if before is not None and 0.0 < made - before < self.settings.latency / STREAM.denser:
            return
        followed = mine & self.performer.followed
        self._filter.measure_unchecked(self._memory, sample.positions, sample.rotations, followed, made)
        if source is self._primary:
            self._set_delay(made - (made if before is None else before))
            if made <= self._shown_at:
                self.late += 1
            elif made != before:
                self._times.append(made)
        self._schedule()

    def _file(self, sample: PoseSample, made: float) -> None:
        """Keep expressions and trackers of a sample until the pose of its time is shown."""
        if sample.expressions is not None:
            self._expressions.append((made, sample.expressions))
        if sample.trackers is not None:
            self._tracked.append((made, sample.trackers))

    def _measure_waits(self, clock: SenderClock, gap: float, made: float, now: float) -> None:
        """Tell the clock how long bones took until they could be used; lost ones are interpolated from this on.

        gap: seconds since the pose before, or the last one that had all bones of the limbs.
        """
        if 0.0 < gap < STREAM.lapse:
            for number in range(1, round(gap / clock.period)):
                # the one after this makes the interpolation smooth
                clock.wait(made - number * clock.period, now + clock.period)
        clock.wait(made, now)

    def _set_delay(self, passed: float) -> None:
        """Let the delay follow the jitter of all sources, slowly, within the budget."""
        budget, passed = self.settings.latency, min(max(passed, 0.0), 0.1)
        base = min(self.settings.lag if self.settings.half_life > 0 else 0.0, budget)
        wanted = base
        for source in self.sources:
            wanted = max(wanted, source.clock.jitter)
        wanted = min(wanted, budget)
        change = min(max(wanted - self.delay, -STREAM.fall * passed), STREAM.rise * passed)
        self.delay = max(self.delay + change, base)

    def _schedule(self) -> None:
        """Set which moment is shown next, and when: a pose that has come, or one interval on where it is missing."""
        period, shown = self._primary.clock.period, self._shown_at
        while self._times and self._times[0] <= shown + 0.5 * period:
            self._times.popleft()
        self._next = shown + period
        if self._times and self._times[0] <= shown + 1.5 * period:
            self._next = self._times[0]
        late = 0.0 if self._times else STREAM.late * period
        self.due = self._next + self.delay + late

    def skip(self, now: float) -> None:
        """Leave out poses that are due up to `now`, because they are long overdue: we were stopped, or are too slow.

        What is shown next is eased to, as after a gap in the data.
        """
        from footplant.live import _kalman as kernel

        self._shown_at = max(self._shown_at, now - self.delay)
        if self._memory is not None:
            self._memory.memories[..., kernel.REJOIN] = 1.0
        self._schedule()

    def show(self) -> Shown:
        """Return the pose that is due."""
        assert self._filter is not None
        assert self._memory is not None
        due, passed = self._next + self.delay, self._next - self._shown_at
        self._shown_at = self._next
        self._filter.show_unchecked(self._memory, self._next)
        bridged = self.missing > 1e-6
        if bridged:
            self.missed += 1
        else:
            # a performer that is lost for long returns to a standing pose where it is
            self._memory.home[0, 0, 0:3:2] = self._memory.shown[0][0, 0::2]
        while self._expressions and self._expressions[0][0] <= self._next + 1e-6:
            self.expressions = {**(self.expressions or {}), **self._expressions.popleft()[1]}
        while self._tracked and self._tracked[0][0] <= self._next + 1e-6:
            self.trackers |= self._tracked.popleft()[1]
        pose = self._pose(passed)
        self._schedule()
        return Shown(self.number, self, pose, due, self.expressions, bridged)

    @property
    def missing(self) -> float:
        """Seconds since the last data for the hips, or for the bone that is sent instead of them."""
        if self._memory is None or self.performer is None:
            return 0.0
        return float(self._memory.missing[self.performer.tracked])

    @property
    def outliers(self) -> int:
        """Measurements that were held back."""
        return 0 if self._memory is None else self._memory.outliers

    @property
    def recent_outliers(self) -> int:
        """Bones whose last measurement was held back."""
        from footplant.live import _kalman as kernel

        if self._memory is None:
            return 0
        return int((self._memory.memories[..., kernel.STREAK] > 0.0).any(axis=0).sum())

    # the performer

    def _meet(self, now: float, made: float) -> None:
        """Collect poses until the performer can be built, and start with it."""
        assert self._plan is not None
        fresh = now - self._seen < STREAM.held
        sample = PoseSample(self._plan, self.name, self._positions.copy(), self._rotations.copy(), fresh)
        self._waiting = [*self._waiting[-MOST_WAITING:], (now, sample)]
        if self.settings.calibrate or self.settings.calibrate_noise:
            self._waiting = [(when, kept) for when, kept in self._waiting if now - when <= STREAM.held]
            if now - self._waiting[0][0] < 0.9 * STREAM.held:
                self.note = "hold a T-pose or an N-pose" if self.settings.calibrate else "stand still"
                return
        elif len(self._waiting) < STREAM.first_frames:
            return
        samples = [kept for _, kept in self._waiting]
        try:
            performer = performers.meet(
                samples, self.name or "performer", self.target, self.settings.body, calibrated=self.settings.calibrate
            )
            self._noise = performers.noise_of(samples, performer) if self.settings.calibrate_noise else None
        except MotionError as error:
            self.note = str(error)
            self._waiting = self._waiting[1:]
            return
        self.start(performer, made)

    def _is_other_performer(self, now: float) -> bool:
        """Return whether for some time bones have had other lengths, or bones have come that the performer lacks."""
        assert self.performer is not None
        if self._waiting:
            return True
        if self.poses % 4:
            return False
        fresh = now - self._seen < STREAM.lapse
        self._changed = self._changed + 1 if self.performer.differs(self._positions, fresh) else 0
        if self._changed < STREAM.other_poses or self.settings.calibrate or self.settings.calibrate_noise:
            return False
        self._changed = 0
        self.changes += 1
        return True

    def start(self, performer: Performer, made: float) -> None:
        """Start with a known performer, or go over to it; made: seconds of its first pose."""
        settings, count = self.settings, len(performer.plan)
        if self._last is not None:
            self._fade = (math.nan, self._last.root.copy(), self._last.rotations.copy())
        self.performer = performer
        self.note = f"{performer.pose}, {performer.character.height:.2f} m tall"
        if self._noise is not None:
            place, turn = self._noise[performer.followed].max(axis=0)
            self.note += f", noise up to {1e3 * place:.1f} mm and {math.degrees(turn):.2f}°"
        self.puppeteer = self._make(performer.character, self.target)
        self.state = self.puppeteer.init()
        if self._noise is not None:
            self._filter = SensorFilter.from_noise(self._noise, lag=settings.lag, gaps=settings.gaps)
        else:
            self._filter = SensorFilter.from_half_life(
                count, settings.half_life or STREAM.no_filter, noise=(STREAM.position_noise, STREAM.rotation_noise),
                lag=settings.lag, gaps=settings.gaps,
            )  # fmt: skip
        self._shown_at = max(self._shown_at, made - self._primary.clock.period)
        self._memory = self._filter.init(performer.rest_positions, performer.home_rotations, self._shown_at)
        self._local = np.empty((1, len(performer.character.skeleton), 4))
        if self._plan is None:
            self._use_plan(performer.plan)
            self.performer = performer
        self._waiting = []
        if self.due == math.inf:
            self._set_delay(0.0)

    def _pose(self, passed: float) -> PuppetPose:
        assert self.performer is not None
        assert self.puppeteer is not None
        assert self._memory is not None
        self._root[0] = self.performer.frame(*self._memory.shown, self._local[0])
        if self.settings.in_place:
            self._root[0, ::2] = 0.0
        things = self.puppeteer.things(self.trackers) if self.trackers else None
        walk, ground = self.puppeteer.ground, None
        if walk is not None:
            ground = walk.pose_at(self._shown_at, self.trackers.get(GROUND), self.puppeteer.engine.scale)
        self.state, pose = self.puppeteer.step_unchecked(self.state, self._root, self._local, things, passed, ground)
        self.poses += 1
        self.importance, self.out_of_reach = pose.importance, pose.out_of_reach
        self.hands_out_of_reach = pose.hands_out_of_reach
        if self._fade is not None:
            pose = self._crossfaded(pose)
        self._last = pose
        return pose

    def _crossfaded(self, pose: PuppetPose) -> PuppetPose:
        """Return a pose of a new performer nearer to what was shown before it."""
        assert self._fade is not None
        begun, root, rotations = self._fade
        if math.isnan(begun):
            begun, root = self._shown_at, root - pose.root
            rotations = rotation.log(rotation.multiply(rotation.inverse(pose.rotations), rotations))
            self._fade = (begun, root, rotations)
        u = min((self._shown_at - begun) / STREAM.crossfade, 1.0)
        left = 1.0 - u * u * (3.0 - 2.0 * u)
        if left <= 0.0:
            self._fade = None
        turned = rotation.normalize(rotation.multiply(pose.rotations, rotation.exp(left * rotations)))
        return pose._replace(root=pose.root + left * root, rotations=turned)
