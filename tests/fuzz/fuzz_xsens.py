"""Random bytes for the receiver of Xsens MVN's stream: sane poses or none, never an exception."""

from __future__ import annotations

import numpy as np

from footplant import rotation
from footplant.live.protocols.sample import PoseSample
from footplant.live.protocols.xsens import PLAN, XsensReceiver, encode


def corpus() -> list[bytes]:
    """Datagrams to start from: a whole one, a part of one, another kind."""
    count = len(PLAN)
    sample = PoseSample(PLAN, "", np.ones((count, 3)), rotation.identity(count), np.ones(count, bool))
    whole = encode(sample, 7, 100)
    return [whole, whole[:120], b"MXTP12" + whole[6:60], whole[:10] + b"\x00" + whole[11:]]


def TARGET(data: bytes) -> None:
    """Feed it before and after a good one; what comes out must be sane."""
    receiver = XsensReceiver()
    for number, datagram in enumerate((data, corpus()[0], data)):
        for sample in receiver.feed(datagram, 0.1 * number):
            assert np.isfinite(sample.positions).all()
            assert np.abs(np.linalg.norm(sample.rotations, axis=1) - 1.0).max() < 1e-9
