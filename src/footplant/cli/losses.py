"""What a conversion loses, from what the formats can hold (`footplant.io.FORMAT_FEATURES`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from footplant.clip import Clip


def losses(
    clip: Clip,
    source: ModuleType | None,
    target: ModuleType,
    *,
    takes: bool,
    figures: bool,
    chosen: Sequence[str] = (),
) -> list[str]:
    """Return what the input has and the output will lack, one phrase each.

    source: the format that the clip came from; None for a sample. takes, figures: whether the file's other takes and
    other characters are written. chosen: "take", "figure" if the user has chosen one.
    """
    lost: list[str] = []
    files = f"{target.extensions[0]} files"
    if len(clip.takes) > 1 and not takes:
        others = [take.name for number, take in enumerate(clip.takes) if number != clip.take]
        lost.append(f"{_count(others, 'other take')} ({listing(others)}){_hint('take', chosen)}")
    if clip.others and not figures:
        names = [other.character.name for other in clip.others]
        lost.append(f"{_count(names, 'other character')} ({listing(names)}){_hint('figure', chosen)}")
    lost += _lost_looks(clip, source, target, files)
    if clip.motion.offsets is not None and "moving bones" not in target.holds:
        lost.append(
            f"bones that change their length over time: {files} have fixed lengths, which moves joints by up to "
            f"{1000.0 * _moved_by_fixed_bones(clip):.3g} mm"
        )
    lost += _lost_body(clip, frozenset() if source is None else source.holds - target.holds, files)
    kept = {name: len(getattr(clip.layout, name, ())) for name in ("constraints", "edits")}
    if any(kept.values()) and "constraints" not in target.holds:
        what = " and ".join(f"{count} {name if count > 1 else name[:-1]}" for name, count in kept.items() if count)
        lost.append(f"{what}: only .footplant files hold them")
    if hasattr(target, "further_losses"):
        lost += target.further_losses(clip)
    return lost


def _lost_body(clip: Clip, unheld: frozenset[str], files: str) -> list[str]:
    """Return what the source states about the body and is found again; unheld: what the target does not hold."""
    lost = []
    if clip.character.roles is not None and "roles" in unheld:
        lost.append(f"joint roles: {files} do not state them, so they will be detected again")
    if clip.character.contacts and "contacts" in unheld:
        lost.append(f"contact points, masses and limits: {files} cannot hold them, so they will be computed again")
    return lost


def _lost_looks(clip: Clip, source: ModuleType | None, target: ModuleType, files: str) -> list[str]:
    """Return the loss of the mesh, or of what its source file has besides it."""
    from footplant.io.source import KeepsLooks, Packable, PackedSource, pack_source, writes_onto

    own = clip.character.source if isinstance(clip.character.source, Packable | PackedSource) else None
    if clip.character.skin is None and own is None:
        return []
    # a format may write onto the character's own file; a project contains that file
    if "skin" in target.holds and (source is target or "constraints" in target.holds or own is None):
        return []
    packed = pack_source(own)
    if "skin" in target.holds and writes_onto(target, packed):
        return []
    carried = [] if packed is None else list(packed.carries)
    if "skin" not in target.holds:
        if clip.character.skin is None:
            return []
        words = ["the mesh", "weights", *carried]
        return [f"{words[0]} with its {_and(words[1:])}: {files} have bones only"]
    if isinstance(own, KeepsLooks):
        # they are written as far as the format has them; what is gone is counted
        return []
    if packed is None:
        return [f"what else the character's own file has (materials, textures …): {files} get the mesh only"]
    return [f"{_and(carried)} of the character's own file: {files} get the mesh only"] if carried else []


def _moved_by_fixed_bones(clip: Clip) -> float:
    """Return the largest joint displacement, metres, when every bone keeps its rest length."""
    import numpy as np

    from footplant.kinematics import Kinematics

    fixed = replace(clip.motion, offsets=None)
    apart = Kinematics(clip.motion).positions - Kinematics(fixed).positions
    return float(np.linalg.norm(apart, axis=-1).max(initial=0.0))


def listing(names: Sequence[str], most: int = 5) -> str:
    """Return some names, and dots when there are more."""
    return ", ".join(repr(name) for name in names[:most]) + (" …" if len(names) > most else "")


def _count(names: Sequence[str], what: str) -> str:
    return f"1 {what}" if len(names) == 1 else f"{len(names)} {what}s"


def _hint(what: str, chosen: Sequence[str]) -> str:
    return "" if what in chosen else f"; choose one with --{what}"


def _and(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
