"""One actor of a stream: from samples to poses of a character, through filter and puppeteer, across gaps and stalls.

No sockets or clocks in here: the caller passes the time (seconds of any monotonic clock).
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
from footplant.live.protocols.sample import PoseSample
from footplant.live.puppeteer import PerformerFrame, Puppeteer, PuppetPose
from footplant.live.settings import STREAM
from footplant.skeleton import Character

MOST_WAITING = 1000
"""Samples that are kept while a calibration pose is waited for."""

MakePuppeteer = Callable[[Character, Character], Puppeteer]


@dataclass(frozen=True)
class ActorSettings:
    """How a stream becomes poses."""

    calibrate: bool = False
    """Wait for a T-pose or N-pose to measure the performer's proportions."""
    half_life: float = 0.013
    """Half-life of the filter, seconds; 0: no filter, gaps are still bridged."""
    lag: float = 0.025
    """Lag of the smoother, seconds, see `SensorFilter`."""
    gaps: Gaps = field(default_factory=Gaps)


class Actor:
    """Converts the samples of one performer to poses of one character."""

    def __init__(
        self, target: Character, make: MakePuppeteer = Puppeteer, settings: ActorSettings | None = None, name: str = ""
    ) -> None:
        """make: builds the puppeteer once the performer is known."""
        self.target, self.name, self.settings = target, name, settings or ActorSettings()
        self._make = make
        self.performer: Performer | None = None
        self.puppeteer: Puppeteer | None = None
        self.clock, self.rate = SenderClock(), Rate()
        self.poses = 0
        self.missed = 0
        self.late = 0
        """Poses shown, those of them without data in time, and samples that arrived too late."""
        self.note = ""
        """Why there is no performer yet, or the result of the calibration."""
        self.state: Any = None
        """State of the puppeteer."""
        self.importance: Importance | None = None
        """Importances in the current pose."""
        self.time: float | None = None
        """Time of the current pose on the sender's clock; None if the sender gives none."""
        self._behind = 0
        self._waiting: list[tuple[float, PoseSample]] = []
        self._filter: SensorFilter | None = None
        self._memory: FilterState | None = None
        self._shown_at = self._posed_at = self._due = 0.0
        self._local: NDArray = np.zeros((0, 4))
        self._nobody: NDArray = np.zeros(0, bool)

    def take(self, samples: list[PoseSample], now: float) -> PuppetPose | None:
        """Take samples that arrived by `now`; return the pose of the latest, or None before the performer is known.

        After a stall many arrive at once: all of them go through the filter, one pose comes out.
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
            self._due = now + STREAM.late * self.rate.interval
            if number == len(samples) - 1:
                pose = self._pose()
        return pose

    def _moment(self, sample: PoseSample, now: float) -> float | None:
        """Return when a sample was made; None for one older than what was shown in its place.

        When all arrive that late, latency has increased, and the clock offset is estimated anew.
        """
        made = self.clock.arrival(sample.time, now)
        if made >= self._shown_at - STREAM.early:
            self._behind = 0
            return made
        self._behind += 1
        if self._behind <= STREAM.most_behind:
            self.late += 1
            return None
        self._behind = 0
        self.clock.offset = None
        return self.clock.arrival(sample.time, now)

    def tick(self, now: float) -> PuppetPose | None:
        """Return what to show when nothing has arrived in time; None otherwise."""
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
        """Seconds since the last data for the hips."""
        return 0.0 if self._memory is None else float(self._memory.missing[0])

    def _meet(self, sample: PoseSample, now: float) -> bool:
        """Collect samples until the performer can be built; return whether it is known now."""
        self._waiting = [*self._waiting[-MOST_WAITING:], (now, sample)]
        if self.settings.calibrate:
            self._waiting = [(when, kept) for when, kept in self._waiting if now - when <= STREAM.held]
            if now - self._waiting[0][0] < 0.9 * STREAM.held:
                self.note = "hold a T-pose or an N-pose"
                return False
        elif len(self._waiting) < STREAM.first_frames:
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
        """Start with a known performer."""
        self.performer = performer
        self.note = f"{performer.pose}, {performer.character.height:.2f} m tall"
        self.puppeteer = self._make(performer.character, self.target)
        self.state = self.puppeteer.init()
        settings = self.settings
        count = len(performer.plan)
        noise = (STREAM.position_noise, STREAM.rotation_noise) if settings.half_life > 0 else (0.0, 0.0)
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
        """Step the filter to a time; a time already passed, because a gap was filled meanwhile, counts as now."""
        assert self._filter is not None
        assert self._memory is not None
        self._filter.step(self._memory, positions, rotations, present, max(now - self._shown_at, 1e-4))
        self._shown_at = max(self._shown_at, now)

    def _pose(self) -> PuppetPose:
        assert self.performer is not None
        assert self.puppeteer is not None
        assert self._memory is not None
        root = self.performer.frame(*self._memory.shown, self._local)
        dt = min(max(self._shown_at - self._posed_at, 1e-4), 0.5)
        self._posed_at = self._shown_at
        self.state, pose = self.puppeteer.step(self.state, PerformerFrame(root, self._local, dt))
        self.poses += 1
        self.importance = pose.importance
        return pose
