"""The two analyses of the front door: `contacts` and `measure` of a file, a clip or a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from footplant.contacts.detection import Contacts
    from footplant.contacts.ground import Ground
    from footplant.quality.fidelity import Depth
    from footplant.quality.measure import Quality
    from footplant.result import ClipSource


def contacts(
    clip: ClipSource, *, toes: bool = False, hands: bool = False, ground: Ground | float | None = None
) -> Contacts:
    """Return when and where each heel and ball of the foot is planted.

    toes, hands: examine toe tips and palms too. ground: a level in metres or any object with `height(places)`; None:
    estimated from the contacts.
    """
    from footplant.contacts.detection import find_contacts
    from footplant.result import as_clip

    return find_contacts(as_clip(clip), toes=toes, hands=hands, ground=ground)


def measure(
    clip: ClipSource,
    against: ClipSource | None = None,
    *,
    contacts: Contacts | None = None,
    ground: Ground | float | None = None,
    fidelity: Depth | None = None,
) -> Quality:
    """Return the quality of a clip: drift of every footplant, skating, penetration, smoothness, joint limits.

    against: the source to compare with, whose footplants are then the ones that should hold. contacts: those that
    should hold, if they are known. ground: a level in metres or any object with `height(places)`. fidelity: "joints" or
    "skin": also compare the posture with the source's, by joints alone or with the posed skin.
    """
    from footplant.quality.measure import measure as measure_clip
    from footplant.result import as_clip

    source = None if against is None else as_clip(against)
    return measure_clip(as_clip(clip), contacts=contacts, against=source, ground=ground, fidelity=fidelity)
