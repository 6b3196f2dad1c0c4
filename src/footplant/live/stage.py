"""All actors of a stream: datagrams of any protocol in, poses of a character out. No sockets or clocks in here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Protocol

from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.live.actor import Actor, ActorSettings, MakePuppeteer
from footplant.live.avatar import Avatar, RokokoJoints
from footplant.live.protocols import natnet, rokoko, vmc, xsens
from footplant.live.protocols.natnet_poses import NatNetReceiver
from footplant.live.protocols.sample import PoseSample
from footplant.live.puppeteer import Puppeteer, PuppetPose
from footplant.skeleton import Character

MOST_SENDERS = 64
"""Senders of one stream that are accepted; more are an attack."""


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
    """The actors of a stream, each driven by its sender."""

    protocol: str
    """One of `PORTS`."""
    target: Character
    make: MakePuppeteer = Puppeteer
    settings: ActorSettings = field(default_factory=ActorSettings)
    most_actors: int = 1
    """Number of actors that are driven; later ones are only counted."""
    actors: dict[Hashable, Actor] = field(default_factory=dict)
    refused: Counter = field(default_factory=Counter)
    """Reason → number of datagrams or poses dropped."""

    def __post_init__(self) -> None:
        """Check the protocol."""
        if self.protocol not in RECEIVERS:
            raise FormatError(f"expected a protocol among {', '.join(RECEIVERS)}, got {self.protocol!r}")
        self.receivers: dict[Hashable, Receiver] = {}
        self.datagrams = 0
        self._pending: dict[Hashable, list[PoseSample]] = {}

    def feed(self, data: bytes, sender: Hashable, now: float) -> int:
        """Take a datagram that arrived at `now` from a sender; return how many poses it completed."""
        self.datagrams += 1
        receiver = self.receivers.get(sender)
        if receiver is None:
            if len(self.receivers) >= MOST_SENDERS:
                self.refused["too many senders"] += 1
                return 0
            receiver = self.receivers[sender] = RECEIVERS[self.protocol]()
        return self._keep(sender, receiver.feed(data, now))

    def poses(self, now: float) -> list[tuple[int, Actor, PuppetPose]]:
        """Return what to show at `now`, for actors that are due: index of the actor, the actor and the pose."""
        for sender, receiver in self.receivers.items():
            self._keep(sender, receiver.poll(now))
        shown = []
        for number, (key, actor) in enumerate(self.actors.items()):
            samples = self._pending.get(key)
            pose = actor.take(samples, now) if samples else actor.tick(now)
            if samples:
                samples.clear()
            if pose is not None:
                shown.append((number, actor, pose))
        return shown

    def _keep(self, sender: Hashable, samples: list[PoseSample]) -> int:
        for sample in samples:
            # a VMC sender is one actor; other protocols identify actors
            key = sender if self.protocol == "vmc" else sample.actor
            if key not in self.actors:
                if len(self.actors) >= self.most_actors:
                    self.refused["more actors than are driven"] += 1
                    continue
                name = sample.actor or f"actor {len(self.actors) + 1}"
                self.actors[key] = Actor(self.target, self.make, self.settings, name)
            self._pending.setdefault(key, []).append(sample)
        return len(samples)

    def count(self, what: str) -> int:
        """Return the sum over senders of a counter: "ignored", "duplicates" or "late"."""
        return sum(getattr(receiver, what) for receiver in self.receivers.values())


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

    def encode(self, root: NDArray, rotations: NDArray, time: float) -> bytes:
        """Return the datagram of a pose, (3,) metres and (J, 4) local; time: seconds on a clock known to receivers."""
        local = self._avatar.pose(root, rotations)
        if self._vmc is not None:
            return self._vmc.encode(local, time)
        return self._rokoko.encode(*self._joints.pose(), time)
