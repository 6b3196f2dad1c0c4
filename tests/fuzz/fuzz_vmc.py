"""Random bytes for the receiver of VMC and the OSC codec below it: sane poses or none, never an exception."""

from __future__ import annotations

import numpy as np

from footplant.live.protocols import osc
from footplant.live.protocols.vmc import PLAN, VmcReceiver, VmcSender


def corpus() -> list[bytes]:
    """Datagrams to start from: a small pose in a bundle, nested bundles, every type, and traps."""
    bones = np.tile([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0], (3, 1))
    pose = VmcSender(PLAN.names[:3]).encode(bones, 1.0)
    hips = osc.encode("/VMC/Ext/Bone/Pos", "Hips", *[0.0] * 6, 1.0)
    return [
        pose,
        hips,
        osc.bundle([osc.bundle([hips]), osc.encode("/VMC/Ext/T", 2.0)]),
        osc.encode("/VMC/Ext/Root/Pos", "root", *[0.0] * 6, 1.0, *[1.0] * 3, *[0.0] * 3),
        osc.encode("/VMC/Ext/Blend/Val", "笑い", 0.5),
        osc.encode("/types", 1, 2.0, "text", b"bytes", True, False, None),
        b"/a\x00\x00,hdtrcmNI[i]\x00\x00\x00\x00" + bytes(40),
    ]


def TARGET(data: bytes) -> None:
    """Decode, then feed a receiver that knows a pose already; what comes out must be sane."""
    osc.decode(data)
    receiver = VmcReceiver()
    for number, datagram in enumerate((corpus()[0], data, data, corpus()[0])):
        for sample in receiver.feed(datagram, 0.01 * number) + receiver.poll(0.01 * number):
            assert np.isfinite(sample.positions).all()
            assert np.abs(np.linalg.norm(sample.rotations, axis=1) - 1.0).max() < 1e-9
            assert sample.time is None or np.isfinite(sample.time)
