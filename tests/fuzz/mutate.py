"""A fuzzer for machines without atheris: random changes of a corpus that grows by inputs that go new ways."""

from __future__ import annotations

import hashlib
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kept import ways_of

NUMBERS = (b"\0", b"\1", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"\0\0\xc0\x7f", b"\xff\xff\xff\x7f", b"\0\0\0\x80",
           b"nan", b"-1", b"1e999", b"{", b"]", b'"')  # fmt: skip
"""What parsers stumble over."""
TRACED = 0.1
"""Share of the inputs whose way through the parser is followed, which takes longer than reading them."""


def fuzz(target: Callable[[bytes], None], corpus: list[bytes], seconds: float, slowest: int, failed: Path) -> int:
    """Call a target with changed inputs until the time is over; return how often. An input that fails is kept in
    `failed`-HASH, and its error raised. slowest: seconds that one input may take.
    """

    def stop(*_) -> None:
        raise TimeoutError(f"an input took more than {slowest} s")

    # of the process' own time: other work on the machine does not count
    signal.signal(signal.SIGPROF, stop)
    rng, inputs, ways, runs = random.Random(1), list(corpus), set(), 0
    for data in corpus:
        ways |= ways_of(target, data)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = change(rng, rng.choice(inputs), rng.choice(inputs))
        signal.setitimer(signal.ITIMER_PROF, slowest)
        try:
            target(data)
            if rng.random() < TRACED:
                new = ways_of(target, data)
                if not new <= ways:
                    ways |= new
                    inputs.append(data)
        except BaseException:
            failed.with_name(f"{failed.name}-{hashlib.sha256(data).hexdigest()[:16]}").write_bytes(data)
            raise
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        runs += 1
    print(f"Done {runs} runs, {len(inputs)} inputs", file=sys.stderr)
    return runs


def change(rng: random.Random, data: bytes, other: bytes) -> bytes:
    """Return some bytes with one to eight changes: bits, numbers, parts removed, repeated or of another input."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        kind, place = rng.randrange(6), rng.randrange(len(out) + 1)
        length = rng.choice((1, 2, 4, 16, 64, max(len(out) // 4, 1)))
        if kind == 0 and place < len(out):
            out[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            number = rng.choice(NUMBERS)
            out[place : place + len(number)] = number
        elif kind == 2:
            del out[place : place + length]
        elif kind == 3:
            out[place:place] = out[place : place + length]
        elif kind == 4:
            start = rng.randrange(len(other) + 1)
            out[place : place + length] = other[start : start + length]
        else:
            out[place : place + length] = rng.randbytes(min(length, 16))
    return bytes(out[: 1 << 16])
