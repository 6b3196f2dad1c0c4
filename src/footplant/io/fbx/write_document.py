"""Header, global settings and definitions of an FBX file: creator, units, axes, frame rate, object counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from footplant.io.fbx.records import CREATION_TIME, FILE_ID, SEPARATOR, VERSION, Record, properties, record

TICKS = 46_186_158_000
"""FBX time units per second."""
TIME_MODES = {
    120.0: 1, 100.0: 2, 60.0: 3, 50.0: 4, 48.0: 5, 30.0: 6, 25.0: 10, 24.0: 11, 1000.0: 12, 96.0: 15, 72.0: 16,
}  # fmt: skip
"""Frame rate → FBX time mode; every other rate is CUSTOM and stated explicitly. So are the NTSC rates (30000/1001
etc.), because readers disagree on which rate their modes mean."""
CUSTOM = 14
SAME_RATE = 1e-9
"""Relative. Rates that differ by less are equal."""
DOCUMENT = np.int64(1_000_000)
"""Id of the document; object ids follow it. All are below 2^53, the limit of exact integers in JavaScript."""


def time_mode(fps: float) -> int:
    """Return the FBX time mode of a frame rate."""
    return next((mode for rate, mode in TIME_MODES.items() if abs(fps - rate) <= SAME_RATE * rate), CUSTOM)


def ticks(frames: int, fps: float) -> np.ndarray:
    """Return times of the frames 0 … frames − 1 in ticks, (F,) int64, each rounded separately to avoid drift."""
    return np.rint(np.arange(frames) * (TICKS / fps)).astype(np.int64)


def head(creator: str) -> list[Record]:
    """Return the records for creator and creation time; see `records.CREATION_TIME`."""
    date, clock = CREATION_TIME.split(" ")
    stamp = [int(part) for part in (*date.split("-"), *clock.split(":"))]
    words = ("Year", "Month", "Day", "Hour", "Minute", "Second", "Millisecond")
    texts = ("Title", "Subject", "Author", "Keywords", "Revision", "Comment")
    application = [
        (f"{kind}|Application{what}", "KString", "", "", value)
        for kind in ("Original", "LastSaved")
        for what, value in (("Vendor", "Footplant"), ("Name", creator))
    ]
    info = [
        record("Type", "UserData"),
        record("Version", 100),
        record("MetaData", inside=[record("Version", 100), *(record(text, "") for text in texts)]),
        properties(
            ("Original", "Compound", "", ""), *application[:2], ("LastSaved", "Compound", "", ""), *application[2:]
        ),
    ]
    extension = [
        record("FBXHeaderVersion", 1003),
        record("FBXVersion", VERSION),
        record("EncryptionType", 0),
        record("CreationTimeStamp", inside=[record("Version", 1000), *map(record, words, stamp)]),
        record("Creator", creator),
        record("SceneInfo", f"GlobalInfo{SEPARATOR}SceneInfo", "UserData", inside=info),
    ]
    return [
        record("FBXHeaderExtension", inside=extension),
        record("FileId", FILE_ID),
        record("CreationTime", CREATION_TIME),
        record("Creator", creator),
    ]


def settings(centimetres: float, fps: float, last: np.int64) -> Record:
    """Return units (centimetres per unit), axes (y up, z forward, x to the viewer's right) and rate; last in ticks."""
    mode = time_mode(fps)
    integers = {
        "UpAxis": 1, "UpAxisSign": 1, "FrontAxis": 2, "FrontAxisSign": 1, "CoordAxis": 0, "CoordAxisSign": 1,
        "OriginalUpAxis": 1, "OriginalUpAxisSign": 1,
    }  # fmt: skip
    rows = [(name, "int", "Integer", "", value) for name, value in integers.items()]
    rows += [(name, "double", "Number", "", centimetres) for name in ("UnitScaleFactor", "OriginalUnitScaleFactor")]
    rows += [
        ("AmbientColor", "ColorRGB", "Color", "", 0.0, 0.0, 0.0),
        ("DefaultCamera", "KString", "", "", "Producer Perspective"),
        ("TimeMode", "enum", "", "", mode),
        ("TimeSpanStart", "KTime", "Time", "", np.int64(0)),
        ("TimeSpanStop", "KTime", "Time", "", last),
        ("CustomFrameRate", "double", "Number", "", float(fps) if mode == CUSTOM else -1.0),
    ]
    return record("GlobalSettings", inside=[record("Version", 1000), properties(*rows)])


def documents(take: str) -> list[Record]:
    """Return the single document with its root, and an empty list of references."""
    rows = properties(("SourceObject", "object", "", ""), ("ActiveAnimStackName", "KString", "", "", take))
    document = record("Document", DOCUMENT, "", "Scene", inside=[rows, record("RootNode", np.int64(0))])
    return [record("Documents", inside=[record("Count", 1), document]), record("References", scope=True)]


def definitions(objects: Sequence[Record]) -> Record:
    """Return the number of objects of each kind, and their default property values."""
    counts = Counter(part.name for part in objects)
    kinds = [record("ObjectType", "GlobalSettings", inside=[record("Count", 1)])]
    for kind, count in counts.items():
        inside = [record("Count", count)]
        if kind in _TEMPLATES:
            label, rows = _TEMPLATES[kind]
            inside.append(record("PropertyTemplate", label, inside=[properties(*rows)]))
        kinds.append(record("ObjectType", kind, inside=inside))
    total = 1 + sum(counts.values())
    return record("Definitions", inside=[record("Version", 100), record("Count", total), *kinds])


def list_takes(spans: Mapping[str, np.int64]) -> Record:
    """Return the list of takes, for older readers; spans: name → last tick."""
    listed = []
    for name, last in spans.items():
        times = [record("LocalTime", np.int64(0), last), record("ReferenceTime", np.int64(0), last)]
        listed.append(record("Take", name, inside=[record("FileName", f"{name}.tak"), *times]))
    return record("Takes", inside=[record("Current", next(iter(spans))), *listed])


def _vectors(names: Sequence[str], value: float = 0.0) -> list[tuple]:
    return [(name, "Vector3D", "Vector", "", value, value, value) for name in names]


def _local(name: str, value: float) -> tuple:
    return (f"Lcl {name}", f"Lcl {name}", "", "A", value, value, value)


_TEMPLATES: dict[str, tuple[str, list[tuple]]] = {
    "Model": ("FbxNode", [
        ("QuaternionInterpolate", "enum", "", "", 0),
        *_vectors(("RotationOffset", "RotationPivot", "ScalingOffset", "ScalingPivot")),
        ("TranslationActive", "bool", "", "", 0),
        ("RotationOrder", "enum", "", "", 0),
        ("RotationSpaceForLimitOnly", "bool", "", "", 0),
        *_vectors(("PreRotation", "PostRotation")),
        ("RotationActive", "bool", "", "", 0),
        ("InheritType", "enum", "", "", 0),
        ("ScalingActive", "bool", "", "", 0),
        *_vectors(("GeometricTranslation", "GeometricRotation")),
        *_vectors(("GeometricScaling",), 1.0),
        ("Show", "bool", "", "", 1),
        ("DefaultAttributeIndex", "int", "Integer", "", -1),
        _local("Translation", 0.0),
        _local("Rotation", 0.0),
        _local("Scaling", 1.0),
        ("Visibility", "Visibility", "", "A", 1.0),
        ("Visibility Inheritance", "Visibility Inheritance", "", "", 1),
    ]),
    "NodeAttribute": ("FbxSkeleton", [
        ("Color", "ColorRGB", "Color", "", 0.8, 0.8, 0.8),
        ("Size", "double", "Number", "", 100.0),
        ("LimbLength", "double", "Number", "H", 1.0),
    ]),
    "Geometry": ("FbxMesh", [
        ("Color", "ColorRGB", "Color", "", 0.8, 0.8, 0.8),
        *_vectors(("BBoxMin", "BBoxMax")),
        ("Primary Visibility", "bool", "", "", 1),
        ("Casts Shadows", "bool", "", "", 1),
        ("Receive Shadows", "bool", "", "", 1),
    ]),
    "Material": ("FbxSurfaceLambert", [
        ("ShadingModel", "KString", "", "", "Lambert"),
        ("MultiLayer", "bool", "", "", 0),
        ("DiffuseColor", "Color", "", "A", 0.8, 0.8, 0.8),
        ("DiffuseFactor", "Number", "", "A", 1.0),
        ("AmbientColor", "Color", "", "A", 0.2, 0.2, 0.2),
        ("AmbientFactor", "Number", "", "A", 1.0),
        ("EmissiveColor", "Color", "", "A", 0.0, 0.0, 0.0),
        ("EmissiveFactor", "Number", "", "A", 1.0),
        ("TransparentColor", "Color", "", "A", 0.0, 0.0, 0.0),
        ("TransparencyFactor", "Number", "", "A", 0.0),
    ]),
    "AnimationStack": ("FbxAnimStack", [
        ("Description", "KString", "", "", ""),
        *[(name, "KTime", "Time", "", np.int64(0)) for name in (
            "LocalStart", "LocalStop", "ReferenceStart", "ReferenceStop")],
    ]),
    "AnimationLayer": ("FbxAnimLayer", [
        ("Weight", "Number", "", "A", 100.0),
        *[(name, "bool", "", "", 0) for name in ("Mute", "Solo", "Lock")],
        ("Color", "ColorRGB", "Color", "", 0.8, 0.8, 0.8),
        *[(name, "enum", "", "", 0) for name in ("BlendMode", "RotationAccumulationMode", "ScaleAccumulationMode")],
        ("BlendModeBypass", "ULongLong", "", "", np.int64(0)),
    ]),
    "AnimationCurveNode": ("FbxAnimCurveNode", [("d", "Compound", "", "")]),
}  # fmt: skip
"""Object kind → Autodesk's class name and its default properties."""
