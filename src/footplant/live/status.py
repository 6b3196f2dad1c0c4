"""One status line of a live session."""

from __future__ import annotations

from footplant.contacts.importance import Importance
from footplant.live.show import Latencies
from footplant.live.stage import LiveStage

BARS = " ▁▂▃▄▅▆▇█"
LIMBS = {"left_arm": "LH", "right_arm": "RH", "left_leg": "LF", "right_leg": "RF"}
"""Limbs whose importance is shown → short name."""


def line(stage: LiveStage, latencies: Latencies) -> str:
    """Return rate, latency, packet loss, importance of hands and feet, and what is waited for."""
    known = [actor for actor in stage.actors.values() if actor.performer is not None]
    if not known:
        waiting = next((actor.note for actor in stage.actors.values() if actor.note), "waiting for a performer")
        return f"{stage.datagrams} datagrams · {waiting}"
    rate = sum(actor.rate.per_second for actor in known) / len(known)
    poses = sum(actor.poses for actor in known)
    lost = 100.0 * sum(actor.missed for actor in known) / max(poses, 1)
    parts = [
        f"{len(known)} × {rate:.0f} Hz",
        f"latency {1e3 * latencies.percentile(50):.1f}/{1e3 * latencies.percentile(99):.1f} ms",
        f"loss {lost:.1f} %",
    ]
    held = max(actor.missing for actor in known)
    if held > 0.1:
        parts.append(f"held for {held:.1f} s")
    parts += [bars(actor.importance) for actor in known if actor.importance is not None]
    return " · ".join(parts)


def bars(importance: Importance) -> str:
    """Return the importance of each hand and foot: a name and a bar each."""
    return " ".join(f"{name}{BARS[round(8 * min(max(importance[limb], 0.0), 1.0))]}" for limb, name in LIMBS.items())
