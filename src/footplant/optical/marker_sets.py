"""Marker sets of studios and laboratories: where on the body a marker is, by its label.

Plug-in Gait (Vicon), CMU's 41 markers, Helen Hayes, Motek's Human Body Model and OptiTrack's Baseline are recognised by
their labels. Landmarks are given on the mannequin in its T-pose; on other bodies they scale in proportion, and a
calibration moves each marker to where it really was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ON_BONE, ON_SOFT_TISSUE = 0.008, 0.07
"""Metres, standard deviation of a marker from its landmark: on a bony prominence, and on soft tissue."""


@dataclass(frozen=True)
class Landmark:
    """A position on the body."""

    segment: str
    """The role that carries it, without a side."""
    place: tuple[float, float, float]
    """Metres on the mannequin in its T-pose (1.75 m tall, facing +z), of the left one where there are two."""
    spread: float = ON_BONE
    """Metres; standard deviation of a marker from there."""


LANDMARKS: dict[str, Landmark] = {
    "front waist": Landmark("hips", (0.12, 0.99, 0.08)),
    "back waist": Landmark("hips", (0.05, 1.0, -0.1)),
    "sacrum": Landmark("hips", (0.0, 0.995, -0.107)),
    "iliac crest": Landmark("hips", (0.145, 1.03, 0.0)),
    "pelvis": Landmark("hips", (0.0, 0.98, -0.05), 0.15),
    "trochanter": Landmark("upper_leg", (0.165, 0.90, 0.0), 0.03),
    "thigh": Landmark("upper_leg", (0.17, 0.69, 0.0), ON_SOFT_TISSUE),
    "knee": Landmark("upper_leg", (0.146, 0.49, 0.0)),
    "inner knee": Landmark("upper_leg", (0.034, 0.49, 0.0)),
    "shin": Landmark("lower_leg", (0.14, 0.285, 0.0), ON_SOFT_TISSUE),
    "ankle": Landmark("lower_leg", (0.132, 0.08, -0.01)),
    "inner ankle": Landmark("lower_leg", (0.048, 0.08, -0.01)),
    "heel": Landmark("foot", (0.09, 0.04, -0.08)),
    "forefoot": Landmark("foot", (0.1, 0.055, 0.12)),
    "outer foot": Landmark("foot", (0.147, 0.025, 0.1)),
    "inner foot": Landmark("foot", (0.06, 0.035, 0.12)),
    "foot": Landmark("foot", (0.10, 0.06, 0.03), ON_SOFT_TISSUE),
    "toe tip": Landmark("toes", (0.105, 0.02, 0.195)),
    "neck base": Landmark("chest", (0.0, 1.47, -0.09)),
    "back": Landmark("chest", (0.0, 1.23, -0.126), 0.04),
    "side of the back": Landmark("chest", (0.085, 1.34, -0.128), 0.05),
    "throat": Landmark("chest", (0.0, 1.415, 0.065)),
    "breastbone": Landmark("chest", (0.0, 1.255, 0.105), 0.04),
    "trunk": Landmark("chest", (0.0, 1.33, -0.02), 0.15),
    "shoulder": Landmark("clavicle", (0.175, 1.474, -0.025)),
    "back of the shoulder": Landmark("clavicle", (0.15, 1.42, -0.09), 0.04),
    "upper arm": Landmark("upper_arm", (0.32, 1.455, -0.055), ON_SOFT_TISSUE),
    "elbow": Landmark("upper_arm", (0.465, 1.462, -0.025)),
    "inner elbow": Landmark("upper_arm", (0.465, 1.378, -0.025)),
    "forearm": Landmark("lower_arm", (0.59, 1.46, -0.025), 0.05),
    "thumb side of the wrist": Landmark("lower_arm", (0.715, 1.42, 0.013)),
    "other side of the wrist": Landmark("lower_arm", (0.715, 1.42, -0.063)),
    "wrist": Landmark("lower_arm", (0.715, 1.449, -0.025), 0.04),
    "hand": Landmark("hand", (0.797, 1.44, -0.025), 0.04),
    "front of the head": Landmark("head", (0.065, 1.67, 0.09), 0.02),
    "back of the head": Landmark("head", (0.065, 1.67, -0.08), 0.02),
    "forehead": Landmark("head", (0.0, 1.68, 0.115), 0.04),
    "top of the head": Landmark("head", (0.0, 1.765, 0.005), 0.04),
    "side of the head": Landmark("head", (0.085, 1.66, 0.005), 0.05),
}
MIDDLE = {
    "sacrum", "pelvis", "neck base", "back", "throat", "breastbone", "trunk", "forehead", "top of the head"
}  # fmt: skip
"""Landmarks on the midline."""
AT_HIP = {"front waist", "iliac crest"}
"""Landmarks whose distance from the hip joint does not depend on the width of the hips."""

LABELS: dict[str, str] = {
    name: landmark
    for landmark, names in {
        "front waist": "ASI ASIS FWT WAISTFRONT FRONTWAIST FASI IASF",
        "back waist": "PSI PSIS BWT WAISTBACK BACKWAIST BASI",
        "sacrum": "SACR VSACRAL SACRAL SACRUM SAC MIDPSIS",
        "iliac crest": "ILC ICR CREST ILIACCREST",
        "pelvis": "PV PEL PELVIS",
        "trochanter": "GTR GTRO TROC TROCHANTER GT",
        "thigh": "THI THIGH TH THAP THAD UPPERLEG FTHI FLTHI FRTHI",
        "knee": "KNE KNEE LEK KNEEOUT KNEELATERAL LATKNEE KNEEL LFC FLE KNELAT",
        "inner knee": "KNEIN MEK KNEEIN KNEEMEDIAL MEDKNEE KNEEM KNM MFC FME KNEMED",
        "shin": "TIB SHN SHANK SHIN SK TIAP TIAD ATI LEG SHK",
        "ankle": "ANK ANKLE LM ANKLEOUT ANKLELATERAL ANKLEL FAL LMAL ANKLAT",
        "inner ankle": "ANKIN MM ANKLEIN ANKLEMEDIAL ANKLEM ANM TAM MMAL MED ANKMED",
        "heel": "HEE HEEL FCC CAL HEELBACK",
        "forefoot": "TOE MT2 FOOTFRONT FORE TOEMID FM2 SMH MTP",
        "outer foot": "MT5 TOEOUT FOOTLATERAL FM5 VMH 5TH FOOTOUT",
        "inner foot": "MT1 TOEIN FOOTMEDIAL FM1 FMH 1ST FOOTIN",
        "foot": "FT FOOT",
        "toe tip": "TOETIP TIP HLX",
        "neck base": "C7 CV7 BACKTOP NECKBACK",
        "back": "T10 TV10 BACK T8 TV8 BACKMID SPINE",
        "side of the back": "BAK BAC SCAP OFFSET BACKLEFT BACKRIGHT BACKL BACKR BBAC",
        "throat": "CLAV IJ JN SJN CLAVICLE STERNUMTOP",
        "breastbone": "STRN PX XYPH SXS XIPHOID CHEST STERNUM STER",
        "trunk": "TRUNK THORAX TR",
        "shoulder": "SHO SHOULDER SHOULDERTOP ACR ACROMION AC CAJ",
        "back of the shoulder": "SHOULDERBACK",
        "upper arm": "UPA UPPERARM UARMHIGH UARM DELT UA BICEP",
        "elbow": "ELB ELBOW LEE ELBOWOUT ELBOWLATERAL HLE LELBOW ELBL",
        "inner elbow": "ELBIN MEE ELBOWIN ELBOWMEDIAL HME MELBOW ELBM",
        "forearm": "FRM FRA FOREARM FA LARM",
        "thumb side of the wrist": "WRA WRISTIN MW LATWRIST RSP WRISTTHUMB WRISTRADIUS RAD",
        "other side of the wrist": "WRB WRISTOUT LW USP WRISTPINKY WRISTULNA ULN",
        "wrist": "WRI WRIST WR",
        "hand": "FIN FINGER HAND HANDOUT HANDIN HM2 HM5 KNUCKLE FIN1 HAN",
        "front of the head": "FHD HEADFRONTSIDE FRONTHEAD",
        "back of the head": "BHD HEADBACKSIDE BACKHEAD",
        "forehead": "HEADFRONT FHEAD FOREHEAD FRONTALHEAD ARIEL",
        "top of the head": "HEADTOP THEAD TOPHEAD TOPHD VERTEX",
        "side of the head": "HEADSIDE HEAD SIDEHEAD EAR TEMPLE HD",
    }.items()
    for name in names.split()
}
"""Label without its side → landmark."""

SETS: tuple[tuple[str, frozenset[str]], ...] = (
    ("Plug-in Gait", frozenset(["LASI", "RASI", "LPSI", "RPSI", "LTIB", "RTIB", "LTHI", "RTHI", "LFHD", "RBAK"])),
    ("CMU 41", frozenset(["LFWT", "RFWT", "LBWT", "RBWT", "LSHN", "RSHN", "LMT5", "RMT5", "RBAC", "LFRM"])),
    ("Helen Hayes", frozenset(["RASIS", "LASIS", "VSACRAL", "RTHIGH", "RSHANK", "RKNEEMEDIAL", "ROFFSET", "RTOE"])),
    (
        "Motek Human Body Model",
        frozenset(["LLEK", "RLEK", "LMEK", "LATI", "LGTRO", "XYPH", "JN", "LDELT", "LLEE", "NAVE"]),
    ),
    (
        "OptiTrack Baseline",
        frozenset(["WAISTLFRONT", "WAISTRFRONT", "LKNEEOUT", "RKNEEOUT", "LUARMHIGH", "BACKTOP", "HEADTOP"]),
    ),
)
"""Labels by which a set is recognised."""


_VIRTUAL = re.compile(r"(PEL|TRX|HED|[LR](FE|FO|TI|TO|HU|RA|HN|CL))[OALP]")
"""Segment axes that Plug-in Gait writes next to the markers."""


@dataclass(frozen=True)
class MarkerPlacement:
    """A marker on a segment."""

    marker: int
    """Its index among the markers."""
    role: str
    """The role of the segment, with its side: "left_upper_leg", "hips", "chest" for the last vertebra …"""
    landmark: str | None = None
    """Its landmark; None where only the segment is known."""
    side: float = 1.0
    """1 on the left, −1 on the right."""
    place: tuple[float, float, float] | None = None
    """Metres on the mannequin in its T-pose, where it is known for this marker alone."""


def recognise(labels: Sequence[str]) -> tuple[str | None, list[MarkerPlacement]]:
    """Return the name of the marker set, if it is a known one, and the placement of each marker with a known label.

    Virtual points that programs write next to the markers (joint centres, axes) have other names and are left out.
    """
    found, taken = [], set()
    for number, label in enumerate(labels):
        placement = _read(number, label)
        # the markers of a cluster share one landmark of their segment; a bony landmark carries only one
        key = None if placement is None else (placement.role, placement.landmark, placement.side)
        if placement is None or (key in taken and LANDMARKS[placement.landmark or ""].spread <= ON_BONE):
            continue
        taken.add(key)
        found.append(placement)
    spelled = {_letters(label) for label in labels}
    scores = Counter({name: len(known & spelled) for name, known in SETS})
    name, score = scores.most_common(1)[0]
    return (name if score >= 3 else None), found


def _letters(label: str) -> str:
    return re.sub(r"[^A-Z0-9]", "", label.upper())


def _read(number: int, label: str) -> MarkerPlacement | None:
    letters = _letters(label)
    if _VIRTUAL.fullmatch(letters):
        return None
    for side, name in _sides(letters):
        landmark = LABELS.get(name) or LABELS.get(name.rstrip("0123456789"))
        if landmark is None:
            continue
        if landmark in MIDDLE:
            side = 0.0
        elif side == 0.0:
            continue
        segment = LANDMARKS[landmark].segment
        paired = segment not in ("hips", "chest", "head")
        role = f"{'left' if side > 0 else 'right'}_{segment}" if paired else segment
        return MarkerPlacement(number, role, landmark, side or 1.0)
    return None


def _sides(letters: str) -> list[tuple[float, str]]:
    """Return readings of a label as (side, name): side 1 left, −1 right, 0 none."""
    found: list[tuple[float, str]] = [(0.0, letters)]
    for mark, side in (("LEFT", 1.0), ("RIGHT", -1.0), ("L", 1.0), ("R", -1.0)):
        if letters.startswith(mark):
            found.append((side, letters[len(mark) :]))
        if letters.endswith(mark):
            found.append((side, letters[: -len(mark)]))
    # OptiTrack writes WaistLFront; BackLeft is a name of its own
    for word in ("WAIST",):
        rest = letters.removeprefix(word)
        if rest != letters and rest[:1] in "LR":
            found.append((1.0 if rest[0] == "L" else -1.0, word + rest[1:]))
    if letters in ("BACKLEFT", "BACKRIGHT", "BACKL", "BACKR"):
        found.insert(0, (1.0 if "L" in letters.removeprefix("BACK") else -1.0, letters))
    return found


def from_table(labels: Sequence[str], table: Mapping[str, str]) -> list[MarkerPlacement]:
    """Place markers by a user's table, label → landmark or segment ("left thigh", "left_upper_leg", "hips")."""
    from footplant.errors import ConstraintError

    places = {label: number for number, label in enumerate(labels)}
    found = []
    for label, where in table.items():
        if label not in places:
            known = ", ".join(labels[:8])
            raise ConstraintError(f"expected a marker of the take, got {label!r}; there are: {known} …")
        found.append(_place(places[label], str(where)))
    return found


def _place(number: int, where: str) -> MarkerPlacement:
    from footplant.errors import ConstraintError

    words = where.replace("_", " ").strip().lower()
    side, _, rest = words.partition(" ") if words.startswith(("left ", "right ")) else ("", "", words)
    sign = -1.0 if side == "right" else 1.0
    segments = {landmark.segment.replace("_", " "): landmark.segment for landmark in LANDMARKS.values()}
    if rest in LANDMARKS and (bool(side) != (rest in MIDDLE)):
        segment = LANDMARKS[rest].segment
        landmark: str | None = rest
    elif rest in segments:
        segment, landmark = segments[rest], None
    else:
        known = ", ".join(sorted({*LANDMARKS, *segments}))
        raise ConstraintError(
            f"expected a landmark or a segment, with left or right before it, got {where!r}; known: {known}"
        )
    paired = segment not in ("hips", "chest", "head")
    if paired and not side:
        raise ConstraintError(f"expected left or right before {where!r}")
    return MarkerPlacement(number, f"{side}_{segment}" if paired else segment, landmark, sign)
