"""The status of a live session: one line, and what is wrong while it is wrong."""

from __future__ import annotations

from footplant.contacts.importance import Importance
from footplant.live.show import Latencies
from footplant.live.stage import LiveStage

BARS = " ▁▂▃▄▅▆▇█"
LIMBS = {"left_arm": "LH", "right_arm": "RH", "left_leg": "LF", "right_leg": "RF"}
"""Limbs whose importance is shown → short name."""
SILENT = 0.5
"""Seconds without data after which that is said."""


def problems(stage: LiveStage) -> list[str]:
    """Return what is wrong with a stream at the moment, one sentence each; nothing if all is well."""
    found = []
    if not stage.actors:
        if stage.datagrams:
            found.append(f"{stage.datagrams} datagrams, but no {stage.protocol} pose among them")
        return found
    for actor in stage.actors:
        who = f"{actor.name}: " if len(stage.actors) > 1 else ""
        silent = stage.now - actor.last()
        if actor.performer is None:
            found.append(f"{who}{actor.note or 'waiting for whole poses'}")
        elif silent > SILENT:
            found.append(f"{who}no data for {silent:.1f} s, the pose is held")
        sending = [source for source in actor.sources if stage.now - source.last < SILENT]
        for source in sending:
            if source.ignored > 3:
                found.append(f"{who}{source.name} sends bones that another sender sends: it is ignored")
            elif not source.clock.trusts_stamps:
                found.append(f"{who}the time stamps of {source.name} are unusable, arrival times are used")
            budget = actor.settings.latency
            if budget > 0 and source.clock.jitter > budget + 0.002:
                found.append(
                    f"{who}{1e3 * source.clock.jitter:.0f} ms of jitter or loss, more than --latency {budget:g} bridges"
                )
        short = [side for side, beyond in zip(("left", "right"), actor.out_of_reach) if beyond]
        if short:
            found.append(f"{who}what the {' and the '.join(short)} hand touches is out of reach")
        if actor.hands_out_of_reach:
            found.append(f"{who}the arms do not reach around the body for the hands to meet")
        if actor.recent_outliers > 0:
            found.append(f"{who}impossible jumps of {actor.recent_outliers} bones are held back")
    found += [f"{number} × refused: {reason}" for reason, number in stage.refused.items()]
    return found


def line(stage: LiveStage, latencies: Latencies) -> str:
    """Return rate, delay, latency, packet loss, importance of hands and feet, and what is wrong."""
    known = [actor for actor in stage.actors if actor.performer is not None]
    wrong = problems(stage)
    if not known:
        return f"{stage.datagrams} datagrams · {wrong[0] if wrong else 'waiting for a performer'}"
    rate = sum(actor.clock.rate for actor in known) / len(known)
    poses = sum(actor.poses for actor in known)
    lost = 100.0 * sum(actor.missed for actor in known) / max(poses, 1)
    parts = [
        f"{len(known)} × {rate:.0f} Hz",
        f"buffer {1e3 * max(actor.delay for actor in known):.0f} ms",
        f"latency {1e3 * latencies.percentile(50):.1f}/{1e3 * latencies.percentile(99):.1f} ms",
        f"loss {lost:.1f} %",
    ]
    parts += [bars(actor.importance) for actor in known if actor.importance is not None]
    return " · ".join([*parts, *(f"! {one}" for one in wrong)])


def bars(importance: Importance) -> str:
    """Return the importance of each hand and foot: a name and a bar each."""
    return " ".join(f"{name}{BARS[round(8 * min(max(importance[limb], 0.0), 1.0))]}" for limb, name in LIMBS.items())
