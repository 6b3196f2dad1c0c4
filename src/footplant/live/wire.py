"""Sockets for datagrams in and out. Loopback only, unless an address and its senders are given."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import select
import socket
import struct
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from footplant.errors import FormatError
from footplant.live.protocols import natnet
from footplant.live.stage import PORTS, SENDABLE

LOOPBACK = "127.0.0.1"
MOST_AT_ONCE = 4096
"""Datagrams read from the system before poses are made: a flood cannot starve them."""
BUFFER = 1 << 20
"""Bytes of the socket's receive buffer."""
STAMPS = getattr(socket, "SO_TIMESTAMPNS", 35) if sys.platform == "linux" else None
"""The option that lets the system note when a datagram arrived: that is no later when we are. None: arrivals are noted
when they are read."""
_STAMP = struct.Struct("qq")
LONGEST_WAIT = 30.0
"""Seconds that a datagram may have waited in the buffer; beyond it the system's clock was set."""


class Endpoint(NamedTuple):
    """A protocol at an address."""

    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        """Return the form used on the command line."""
        return f"{self.protocol}:{self.host}:{self.port}"


def endpoint(text: str, *, sending: bool = False) -> Endpoint | None:
    """Parse "vmc:39539", "vmc:HOST:PORT" or "vmc"; return None for a file name."""
    protocol, _, place = text.partition(":")
    if protocol not in PORTS:
        return None
    if sending and protocol not in SENDABLE:
        raise FormatError(f"{protocol} can only be received; protocols that can be sent: {', '.join(SENDABLE)}")
    host, _, port = place.rpartition(":")
    try:
        number = int(port) if port else PORTS[protocol]
    except ValueError:
        number = -1
    if not 0 < number < 65536:
        raise FormatError(f"expected {protocol}:PORT or {protocol}:HOST:PORT, got {text!r}")
    return Endpoint(protocol, host or LOOPBACK, number)


class Arrival(NamedTuple):
    """A received datagram."""

    data: bytes
    sender: tuple[str, int]
    """Address and port."""
    when: float
    """Seconds of `time.perf_counter` at which it arrived, also where we were late to read it."""


@dataclass
class Inlet:
    """A receiving socket."""

    place: Endpoint
    allowed: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()
    """Networks that senders may be in; all others are ignored."""

    def __post_init__(self) -> None:
        """Open the socket."""
        self.refused = 0
        """Datagrams from senders that are not allowed."""
        try:
            address = socket.getaddrinfo(self.place.host, self.place.port, type=socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(address[0], socket.SOCK_DGRAM)
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
                if STAMPS is not None:
                    self._socket.setsockopt(socket.SOL_SOCKET, STAMPS, 1)
            self._bind(address[4])
        except OSError as error:
            raise FormatError(f"cannot listen at {self.place}: {error.strerror or error}") from error
        self._socket.setblocking(False)
        if self.place.protocol == "natnet" and not ipaddress.ip_address(address[4][0]).is_loopback:
            self._join(natnet.MULTICAST, str(address[4][0]))
        self._known: dict[str, bool] = {}

    def _bind(self, address) -> None:
        try:
            self._socket.bind(address)
        except OSError:
            self._socket.close()
            raise

    def _join(self, group: str, interface: str) -> None:
        """Join a multicast group; without multicast support only unicast is received."""
        request = struct.pack("4s4s", socket.inet_aton(group), socket.inet_aton(interface))
        with contextlib.suppress(OSError):
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)

    @property
    def port(self) -> int:
        """The actual port."""
        return self._socket.getsockname()[1]

    def wait(self, seconds: float) -> bool:
        """Sleep until something arrives, or until a timeout."""
        return bool(select.select([self._socket], [], [], max(seconds, 0.0))[0])

    def drain(self) -> list[Arrival]:
        """Return everything that has arrived, oldest first."""
        found: list[Arrival] = []
        ahead = time.perf_counter() - time.time()
        for _ in range(MOST_AT_ONCE):
            try:
                data, sender, notes = self._read()
            except BlockingIOError:
                break
            except OSError as error:
                # on some systems a receiver of ours that has gone is reported here: nothing to repair
                if error.errno in (errno.ECONNREFUSED, errno.ECONNRESET, errno.EINTR):
                    continue
                break
            if self._may_send(sender[0]):
                found.append(Arrival(data, (sender[0], sender[1]), _arrived(notes, ahead)))
            else:
                self.refused += 1
        return found

    def _read(self) -> tuple[bytes, tuple, list[tuple[int, int, bytes]]]:
        """Return a datagram, its sender, and what the system noted about it."""
        if STAMPS is None:
            return *self._socket.recvfrom(65_536), []
        data, notes, _, sender = self._socket.recvmsg(65_536, 64)
        return data, sender, notes

    def answer(self, data: bytes, host: str, port: int) -> None:
        """Send something back; errors are ignored."""
        with contextlib.suppress(OSError):
            self._socket.sendto(data, (host, port))

    def close(self) -> None:
        """Release the port."""
        self._socket.close()

    def _may_send(self, host: str) -> bool:
        known = self._known.get(host)
        if known is None:
            if len(self._known) > 1024:
                self._known.clear()
            address = ipaddress.ip_address(host.partition("%")[0])
            known = address.is_loopback or any(address in network for network in self.allowed)
            self._known[host] = known
        return known


def _arrived(notes: list[tuple[int, int, bytes]], ahead: float) -> float:
    """Return when a datagram arrived, seconds of `time.perf_counter`, which is ahead of the system's clock."""
    now = time.perf_counter()
    for level, kind, data in notes:
        if level == socket.SOL_SOCKET and kind == STAMPS and len(data) >= _STAMP.size:
            seconds, nanoseconds = _STAMP.unpack_from(data)
            when = seconds + 1e-9 * nanoseconds + ahead
            if now - LONGEST_WAIT < when < now:
                return when
    return now


class Outlet:
    """A sending socket; the actor's index is added to the port."""

    def __init__(self, place: Endpoint) -> None:
        """Resolve the address."""
        self.place = place
        self.failed = 0
        """Datagrams that the system did not accept."""
        try:
            found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_DGRAM)[0]
        except OSError as error:
            raise FormatError(f"cannot send to {place}: {error.strerror or error}") from error
        self._socket = socket.socket(found[0], socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._host = str(found[4][0])

    def send(self, data: bytes, number: int = 0) -> None:
        """Send a datagram; a missing receiver or a network that is down is only counted."""
        try:
            self._socket.sendto(data, (self._host, self.place.port + number))
        except OSError:
            self.failed += 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def networks(texts: Iterable[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Parse addresses and networks of senders: "192.168.1.20", "192.168.1.0/24"."""
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_network(text, strict=False))
        except ValueError:
            raise FormatError(f"expected an address such as 192.168.1.20 or 192.168.1.0/24, got {text!r}") from None
    return found


def listen_at(place: Endpoint, address: str | None, allowed: Sequence[str]) -> Inlet:
    """Open an inlet: on loopback, or at a given address for given senders."""
    host = place.host if address is None else address
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if not is_local:
        if address is None:
            raise FormatError(
                f"{place} is not on loopback; to receive from other machines give --listen {host} --allow SENDER"
            )
        if not allowed:
            raise FormatError(f"--listen {address} receives from other machines: name them with --allow SENDER")
    return Inlet(Endpoint(place.protocol, host, place.port), networks(allowed))


def opened(inlet: Inlet) -> str:
    """Return what an inlet opens to other machines, for the user; "" on loopback."""
    address = ipaddress.ip_address(socket.gethostbyname(inlet.place.host))
    if address.is_loopback:
        return ""
    where = "every network of this machine" if address.is_unspecified else f"the network of {address}"
    everyone = any(network.prefixlen == 0 for network in inlet.allowed)
    who = "ANY machine there" if everyone else ", ".join(str(network) for network in inlet.allowed)
    return (
        f", open on {where}: UDP port {inlet.port} takes poses from {who}, without password or encryption; "
        "others are ignored"
    )
