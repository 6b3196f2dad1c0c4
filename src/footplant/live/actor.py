"""One actor of a stream: from samples to poses of a character, through filter and puppeteer, over gaps and stalls.

No sockets and no clocks in here: whoever calls says what time it is (seconds of any steady clock).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.contacts.importance import Importance
from footplant.errors import MotionError
from footplant.live import performer as performers
from footplant.live.clock import Rate, SenderClock
from footplant.live.kalman import FilterState, Gaps, SensorFilter
from footplant.live.performer import Performer
from footplant.live.protocols.sample import Sample
from footplant.live.puppeteer import Frame, Pose, Puppeteer
from footplant.skeleton import Character

FIRST_FRAMES = 5
"""Samples from which proportions are taken where nobody calibrates."""
HELD = 1.0
"""Seconds for which a calibration pose has to be held."""
MOST_WAITING = 1000
"""Samples that are kept while a calibration pose is waited for."""
LATE = 1.6
"""Intervals after which a pose that has not come is missed."""
EARLY = 0.002
"""Seconds by which a pose may be older than what is shown and still count."""
MOST_BEHIND = 3
"""Poses in a row that may come too late before later ones are taken as they come."""

MakePuppeteer = Callable[[Character, Character], Puppeteer]


@dataclass(frozen=True)
class Settings:
    """How a stream becomes poses."""

    calibrate: bool = False
    """Wait for a T-pose or N-pose to take the performer's proportions from."""
    half_life: float = 0.013
    """Of the filter, seconds; 0: no filter, gaps are still held."""
    lag: float = 0.025
    """Seconds of the smoother, see `SensorFilter`."""
    gaps: Gaps = field(default_factory=Gaps)


class Actor:
    """Turns the samples of one performer into poses of one character."""

    def __init__(
        self, target: Character, make: MakePuppeteer = Puppeteer, settings: Settings | None = None, name: str = ""
    ) -> None:
        """make: builds the puppeteer once the performer is known."""
        self.target, self.name, self.settings = target, name, settings or Settings()
        self._make = make
        self.performer: Performer | None = None
        self.puppeteer: Puppeteer | None = None
        self.clock, self.rate = SenderClock(), Rate()
        self.poses = 0
        self.missed = 0
        self.late = 0
        """Poses that were shown, those of them for which nothing had come in time, and samples that then came late."""
        self.note = ""
        """Why there is no performer yet, or what was found at calibration."""
        self.state: Any = None
        """The puppeteer's."""
        self.importance: Importance | None = None
        """What mattered in the pose that is shown."""
        self.time: float | None = None
        """When the pose that is shown was made, on the sender's clock; None when it does not say."""
        self._behind = 0
        self._waiting: list[tuple[float, Sample]] = []
        self._filter: SensorFilter | None = None
        self._memory: FilterState | None = None
        self._shown_at = self._posed_at = self._due = 0.0
        self._local: NDArray = np.zeros((0, 4))
        self._nobody: NDArray = np.zeros(0, bool)

    def take(self, samples: list[Sample], now: float) -> Pose | None:
        """Take in samples that have come by `now`; the pose of the latest, or None before the performer is known.

        After a stall many come at once: all of them go through the filter, one pose comes out.
        """
        pose = None
        for number, sample in enumerate(samples):
            if self.performer is None and not self._meet(sample, now):
                continue
            if self.performer is None or sample.plan is not self.performer.plan:
                continue
            made = self._moment(sample, now)
            if made is None:
                continue
            self.rate.tick(made)
            self.time = sample.time
            self._advance(sample.positions, sample.rotations, sample.present, made)
            self._due = now + LATE * self.rate.interval
            if number == len(samples) - 1:
                pose = self._pose()
        return pose

    def _moment(self, sample: Sample, now: float) -> float | None:
        """When a sample was made; None for one that is older than what was shown in its place while it was waited for.

        When all come that late the way has become longer, and the clocks are compared anew.
        """
        made = self.clock.arrival(sample.time, now)
        if made >= self._shown_at - EARLY:
            self._behind = 0
            return made
        self._behind += 1
        if self._behind <= MOST_BEHIND:
            self.late += 1
            return None
        self._behind = 0
        self.clock.offset = None
        return self.clock.arrival(sample.time, now)

    def tick(self, now: float) -> Pose | None:
        """What to show when nothing has come in time; None while all is well."""
        if self.performer is None or now < self._due:
            return None
        self._due = now + self.rate.interval
        self.missed += 1
        self._advance(self.performer.rest_positions, self.performer.rest_rotations, self._nobody, now)
        if self.time is not None and self.clock.offset is not None:
            self.time = now - self.clock.offset
        return self._pose()

    @property
    def missing(self) -> float:
        """Seconds since the hips were last told."""
        return 0.0 if self._memory is None else float(self._memory.missing[0])

    def _meet(self, sample: Sample, now: float) -> bool:
        """Wait for what the performer can be made from; whether he is known now."""
        self._waiting = [*self._waiting[-MOST_WAITING:], (now, sample)]
        if self.settings.calibrate:
            self._waiting = [(when, kept) for when, kept in self._waiting if now - when <= HELD]
            if now - self._waiting[0][0] < 0.9 * HELD:
                self.note = "hold a T-pose or an N-pose"
                return False
        elif len(self._waiting) < FIRST_FRAMES:
            return False
        make = performers.calibrate if self.settings.calibrate else performers.assume
        try:
            performer = make([kept for _, kept in self._waiting], self.name or "performer")
        except MotionError as error:
            self.note = str(error)
            self._waiting = self._waiting[1:]
            return False
        self.start(performer, now)
        return True

    def start(self, performer: Performer, now: float) -> None:
        """Begin with a performer who is known."""
        self.performer = performer
        self.note = f"{performer.pose}, {performer.character.height:.2f} m tall"
        self.puppeteer = self._make(performer.character, self.target)
        self.state = self.puppeteer.init()
        settings = self.settings
        count = len(performer.plan)
        noise = (0.002, np.radians(1.0)) if settings.half_life > 0 else (0.0, 0.0)
        lag = settings.lag if settings.half_life > 0 else 0.0
        self._filter = SensorFilter.from_half_life(
            count, settings.half_life or 0.013, noise=noise, lag=lag, gaps=settings.gaps
        )
        self._memory = self._filter.init(performer.rest_positions, performer.rest_rotations)
        self._local = np.empty((len(performer.character.skeleton), 4))
        self._nobody = np.zeros(count, bool)
        self._shown_at = self._posed_at = self._due = now
        self._waiting = []

    def _advance(self, positions: NDArray, rotations: NDArray, present: NDArray, now: float) -> None:
        """Step the filter to a moment; one that is past already, because a gap was filled meanwhile, is now."""
        assert self._filter is not None
        assert self._memory is not None
        self._filter.step(self._memory, positions, rotations, present, max(now - self._shown_at, 1e-4))
        self._shown_at = max(self._shown_at, now)

    def _pose(self) -> Pose:
        assert self.performer is not None
        assert self.puppeteer is not None
        assert self._memory is not None
        root = self.performer.frame(*self._memory.shown, self._local)
        dt = min(max(self._shown_at - self._posed_at, 1e-4), 0.5)
        self._posed_at = self._shown_at
        self.state, pose = self.puppeteer.step(self.state, Frame(root, self._local, dt))
        self.poses += 1
        self.importance = pose.importance
        return pose
