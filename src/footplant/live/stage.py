"""All actors of a stream: datagrams of any protocol in, poses of a character out. No sockets or clocks in here."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.live.actor import Actor, ActorSettings, MakePuppeteer, Shown, Source
from footplant.live.avatar import Avatar, RokokoJoints
from footplant.live.protocols import natnet, rokoko, vmc, xsens
from footplant.live.protocols.natnet_poses import NatNetReceiver
from footplant.live.protocols.sample import PoseSample
from footplant.live.puppeteer import Puppeteer
from footplant.live.settings import STREAM
from footplant.skeleton import Character

MOST_SENDERS = 64
"""Senders of one stream that are remembered; those that have fallen silent are forgotten first."""
COUNTED = ("ignored", "duplicates", "late")
"""What receivers count."""


class Receiver(Protocol):
    """Interface of every protocol: assembles poses from the datagrams of one sender."""

    ignored: int
    duplicates: int
    late: int

    def feed(self, data: bytes, now: float) -> list[PoseSample]:
        """Take a datagram; return the poses that it completes."""
        ...

    def poll(self, now: float) -> list[PoseSample]:
        """Return poses that have waited too long for missing parts."""
        ...

    @property
    def deadline(self) -> float:
        """Seconds beyond which `poll` returns something; infinity if it has nothing."""
        ...


PORTS = {"vmc": vmc.PORT, "xsens": xsens.PORT, "natnet": natnet.PORT, "rokoko": rokoko.PORT}
"""Protocols that can be received → default port."""
RECEIVERS: dict[str, Callable[[], Receiver]] = {
    "vmc": vmc.VmcReceiver, "xsens": xsens.XsensReceiver, "natnet": NatNetReceiver, "rokoko": rokoko.RokokoReceiver,
}  # fmt: skip
SENDABLE = ("vmc", "rokoko")
"""Protocols that can be sent."""


def protocol_of(data: bytes) -> str:
    """Return the protocol that a datagram looks like."""
    if data[:4] == b"MXTP":
        return "xsens"
    if data[:8] == b"#bundle\x00" or data[:1] == b"/":
        return "vmc"
    return "rokoko" if data[:1] in (b"{", b"\x04") else "natnet"


@dataclass
class LiveStage:
    """The actors of a stream.

    An actor is an identity, not a port: the name that the protocol gives it, or, in VMC, whoever sends. A sender that
    is new takes over an actor that has fallen silent, joins the only one, or becomes one more. Everything happens in
    the order of its time, so that the poses follow from the datagrams and their times alone.
    """

    protocol: str
    """One of `PORTS`."""
    target: Character
    make: MakePuppeteer = Puppeteer
    settings: ActorSettings = field(default_factory=ActorSettings)
    most_actors: int = 1
    """Number of actors that are driven; later ones are only counted."""
    actors: list[Actor] = field(default_factory=list)
    refused: Counter = field(default_factory=Counter)
    """Reason → number of datagrams or poses dropped."""

    def __post_init__(self) -> None:
        """Check the protocol."""
        if self.protocol not in RECEIVERS:
            raise FormatError(f"expected a protocol among {', '.join(RECEIVERS)}, got {self.protocol!r}")
        self.receivers: dict[Hashable, Receiver] = {}
        """Sender → its receiver, that of the longest silence first."""
        self.datagrams = 0
        self.now = 0.0
        """Seconds: the last time that was passed."""
        self._heard: dict[Hashable, float] = {}
        self._sources: dict[tuple[Hashable, str], tuple[Actor, Source]] = {}
        self._counts: Counter = Counter()
        self._puppeteers: dict[Hashable, Puppeteer] = {}
        self._shown: list[Shown] = []
        self._agenda: list[tuple[float, int, int, Hashable]] = []
        """Heap of when something is due: an incomplete pose of a sender (0, its number, the sender), or a pose of an
        actor (1, its index). Entries whose time has changed since are left in it and skipped."""
        self._senders = 0
        """Senders so far."""

    def feed(self, data: bytes, sender: Hashable, now: float, *, late: float | None = None) -> int:
        """Take a datagram that arrived at `now` from a sender; return how many poses it completed.

        late: seconds that have passed since; poses that are long overdue by then are left out. None: not in real time,
        as in a replay, where nothing is overdue.
        """
        self._advance(now, late)
        self.datagrams += 1
        receiver = self.receivers.get(sender)
        if receiver is None:
            if len(self.receivers) >= MOST_SENDERS and not self._forget(now):
                self.refused["too many senders"] += 1
                return 0
            receiver = self.receivers[sender] = RECEIVERS[self.protocol]()
        self._heard[sender] = now
        completed = self._take(sender, receiver.feed(data, now), now)
        self._await(sender, receiver)
        return completed

    def _await(self, sender: Hashable, receiver: Receiver) -> None:
        """Note when an incomplete pose of a sender is used as it is."""
        if receiver.deadline < math.inf:
            self._senders += 1
            heapq.heappush(self._agenda, (receiver.deadline, 0, self._senders, sender))

    def _expect(self, number: int) -> None:
        """Note when the next pose of an actor is due."""
        if self.actors[number].due < math.inf:
            heapq.heappush(self._agenda, (self.actors[number].due, 1, number, None))

    def poses(self, now: float, *, late: float | None = None) -> list[Shown]:
        """Return what is due by `now`, in the order of time; more than one pose of an actor after a stall of ours.

        late: as in `feed`.
        """
        self._advance(now, late)
        shown, self._shown = self._shown, []
        return shown

    @property
    def due(self) -> float:
        """Seconds at which something is due next; infinity if nothing is."""
        agenda = self._agenda
        while agenda:
            moment, kind, number, sender = agenda[0]
            if kind == 1:
                current = self.actors[number].due
            else:
                receiver = self.receivers.get(sender)
                current = math.inf if receiver is None else receiver.deadline
            if current == moment:
                return moment
            heapq.heappop(agenda)
        return math.inf

    def _advance(self, now: float, late: float | None) -> None:
        """Let everything happen that is due by `now`, in its order; late: as in `feed`."""
        self.now = max(self.now, now)
        while self.due <= now:
            moment, kind, number, sender = heapq.heappop(self._agenda)
            if kind == 0:
                receiver = self.receivers[sender]
                self._take(sender, receiver.poll(moment), moment)
                self._await(sender, receiver)
                continue
            actor = self.actors[number]
            if late is not None and now + late - moment > STREAM.behind:
                actor.skip(now)
            else:
                self._shown.append(actor.show())
            self._expect(number)

    def _take(self, sender: Hashable, samples: list[PoseSample], now: float) -> int:
        for sample in samples:
            found = self._sources.get((sender, sample.actor)) or self._attach(sender, sample, now)
            if found is not None:
                actor, source = found
                before = actor.due
                actor.take(sample, source, now)
                if actor.due != before:
                    self._expect(actor.number)
        return len(samples)

    def _attach(self, sender: Hashable, sample: PoseSample, now: float) -> tuple[Actor, Source] | None:
        """Return the actor of a new sender, and it as a source of that actor."""
        actor = self._actor_for(sender, sample, now)
        if actor is None:
            self.refused["more actors than are driven"] += 1
            return None
        source = Source(_place(sender))
        actor.attach(source)
        found = self._sources[sender, sample.actor] = (actor, source)
        return found

    def _actor_for(self, sender: Hashable, sample: PoseSample, now: float) -> Actor | None:
        named = sample.actor
        for actor in self.actors:
            if named and actor.name == named:
                return actor
        if not named and self.most_actors == 1 and self.actors:
            return self.actors[0]
        silent = [actor for actor in self.actors if now - actor.last() > STREAM.gone]
        if silent:
            # rather one whose sender was on the same machine, and the one that has been silent longest
            host = _place(sender).rpartition(":")[0]
            actor = min(silent, key=lambda a: (all(host not in s.name for s in a.sources), a.last()))
            actor.name = named or actor.name
            return actor
        if not sample.present[0] and not named and self.actors:
            # hands or a face: somebody's
            return self.actors[0] if len(self.actors) == 1 else None
        if len(self.actors) >= self.most_actors:
            return None
        actor = Actor(self.target, self._puppeteer, self.settings, named or f"actor {len(self.actors) + 1}")
        actor.number = len(self.actors)
        self.actors.append(actor)
        return actor

    def _puppeteer(self, performer: Character, target: Character) -> Puppeteer:
        """Return a puppeteer for a performer: one drives all actors with the same proportions."""
        skeleton = performer.skeleton
        key = (skeleton.names, skeleton.offsets.tobytes(), skeleton.rest.tobytes())
        found = self._puppeteers.get(key)
        if found is None:
            if len(self._puppeteers) >= MOST_SENDERS:
                self._puppeteers.clear()
            found = self._puppeteers[key] = self.make(performer, target)
        return found

    def _forget(self, now: float) -> bool:
        """Forget the sender that has been silent longest; False if all of them are sending."""
        sender = min(self._heard, key=lambda key: self._heard[key])
        if now - self._heard[sender] < STREAM.gone:
            return False
        receiver = self.receivers.pop(sender)
        del self._heard[sender]
        for what in COUNTED:
            self._counts[what] += getattr(receiver, what)
        for key in [key for key in self._sources if key[0] == sender]:
            actor, source = self._sources.pop(key)
            actor.detach(source)
        return True

    def count(self, what: str) -> int:
        """Return the sum over senders of a counter: one of `COUNTED`."""
        return self._counts[what] + sum(getattr(receiver, what) for receiver in self.receivers.values())


def _place(sender: Hashable) -> str:
    return f"{sender[0]}:{sender[1]}" if isinstance(sender, tuple) else str(sender)


class PoseEncoder:
    """Encodes the poses of one character as datagrams of a protocol."""

    def __init__(self, protocol: str, character: Character, name: str = "footplant", fps: float = 60.0) -> None:
        """protocol: one of `SENDABLE`; name: of the actor, where the protocol has one."""
        if protocol not in SENDABLE:
            raise FormatError(f"expected a protocol that can be sent ({', '.join(SENDABLE)}), got {protocol!r}")
        self._avatar = Avatar(character)
        self._vmc = vmc.VmcSender(self._avatar.names) if protocol == "vmc" else None
        if protocol == "rokoko":
            self._joints = RokokoJoints(self._avatar)
            hips = float(character.skeleton.rest_world[0][character.require_roles()["hips"], 1])
            self._rokoko = rokoko.RokokoSender(self._joints.names, name, character.height, hips, fps)

    def encode(
        self, root: NDArray, rotations: NDArray, time: float, expressions: Mapping[str, float] | None = None
    ) -> bytes:
        """Return the datagram of a pose, (3,) metres and (J, 4) local; time: seconds on a clock known to receivers.

        expressions: name → weight; only VMC carries them.
        """
        local = self._avatar.pose(root, rotations)
        if self._vmc is not None:
            return self._vmc.encode(local, time, expressions)
        return self._rokoko.encode(*self._joints.pose(), time)
