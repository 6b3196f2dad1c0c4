"""Random bytes for the reader of recorded datagrams: records, or `FormatError`, nothing else."""

from __future__ import annotations

import io
from itertools import pairwise

from footplant.errors import FormatError
from footplant.live.protocols.recording import MAGIC, Recorder, parse


def corpus() -> list[bytes]:
    """Files to start from: two records, one that is cut, an empty one."""
    file = io.BytesIO()
    recorder = Recorder(file)
    recorder.add(b"one", "a", 5.0)
    recorder.add(b"", "b", 5.5)
    whole = file.getvalue()
    return [whole, whole[:-3], MAGIC, b"FPDGRAM2"]


def TARGET(data: bytes) -> None:
    """Read all; times never go back."""
    try:
        found = list(parse(io.BytesIO(data)))
    except FormatError:
        return
    assert all(a.time <= b.time for a, b in pairwise(found))
    assert sum(len(one.data) for one in found) <= len(data)
