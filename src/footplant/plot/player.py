"""Pages that play motions: the editor's viewport as one HTML file that loads nothing and works without a network.

A page has scenes. A scene shows up to three motions side by side or overlaid: the source, the target before the solve
(with copied rotations) and the result, each with its footprints; a timeline of footplants, curves, and the report.
"""

from __future__ import annotations

import base64
import hashlib
import html
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from footplant.clip import Clip
from footplant.contacts.detection import FEET, find_contacts
from footplant.contacts.ground import Ground
from footplant.errors import FootplantError, FormatError
from footplant.geometry import Plane
from footplant.kinematics import Kinematics
from footplant.plot.figures import character_data, foot_curves, ground_grid, plant_marks
from footplant.plot.packed import Packer, pack_motion, pack_skin
from footplant.problem import Report, Status
from footplant.quality.fidelity import fidelity_rows
from footplant.quality.measure import PlantQuality
from footplant.quality.published import ground_speed
from footplant.result import Result
from footplant.serialise import json_ready
from footplant.skeleton import Skin

NOT_BUILT = (
    "pages that play motions are not part of this installation, because Node and npm were missing when it was built; "
    "install them and run: python hatch_build.py"
)
"""Why there is no player."""
FRAME_HEIGHT = 460
"""Height of the view in a notebook, pixels."""
LEVEL = 0.03
"""Relief below which a ground is drawn as a level floor, metres; a ground estimated from footplants has as much."""
CURVE_STEPS = {"height": 20.0, "speed": 1000.0}
"""Steps in which curves are kept: per mm of height, and per m/s."""
MOST_SAMPLES = 3000
"""Samples of a curve at most; longer curves keep every n-th."""


@dataclass(frozen=True, eq=False)
class Figure:
    """One motion of a scene."""

    clip: Clip
    kind: str
    """"source", "unsolved" or "result": its colour."""
    label: str
    plants: tuple[PlantQuality, ...] = ()
    """Footplants and how far each drifts."""
    dropped: int = 0
    """Frames dropped before the first frame since the plants were measured; negative: added."""
    ground: Ground | None = None
    """The ground below its feet; None: level, at the height of its footplants."""


@dataclass(frozen=True, eq=False)
class Scene:
    """What is shown together: motions on one ground, the result last, and a report."""

    name: str
    figures: tuple[Figure, ...]
    report: Report | None = None


Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]
"""Title, head and rows of a table."""


def is_available() -> bool:
    """Return whether the player was built with the package; `NOT_BUILT` says why not."""
    return (_static() / "player.js").is_file()


def clip_scene(clip: Clip, ground: Ground | None = None) -> Scene:
    """Return a scene that shows one clip on a ground (default: level, as found) with the footplants found in it."""
    plants, ground = _found_plants(clip, ground)
    return Scene(clip.name, (Figure(clip, "result", clip.character.name, plants, ground=ground),))


def result_scene(result: Result, name: str | None = None) -> Scene:
    """Return a scene that shows a result beside its source and the motion before the solve."""
    report, figures = result.report, []
    for before, kind in ((result.source, "source"), (result.unsolved, "unsolved")):
        if before is None or not len(before.motion):
            continue
        if kind == "source":
            plants, ground = _found_plants(before)
            label, dropped = f"Source: {before.character.name}", 0
        else:
            plants = () if report.before is None else report.before.plants
            dropped = 0 if report.before is None else report.before.frames - len(before.motion)
            ground = result.ground
            same = result.source is not None and result.source.character.skeleton is before.character.skeleton
            label = "Not solved" if same else "Rotations copied"
        figures.append(Figure(before, kind, label, plants, dropped, ground))
    if report.after is None:
        plants, dropped = _found_plants(result.clip)[0], 0
    else:
        plants, dropped = report.after.plants, report.after.frames - len(result.motion)
    title = f"Footplant: {result.character.name}" if figures else result.character.name
    made = Figure(result.clip, "result", title, plants, dropped, result.ground)
    return Scene(name or f"{result.name} on {result.character.name}", (*figures, made), report)


def motion_page(scenes: Sequence[Scene], title: str, *, summary: Table | None = None, compact: bool = False) -> str:
    """Return one page that plays scenes. summary: a table of all of them. compact: panels are closed at first."""
    packer, skins = Packer(), dict[int, tuple[int, Skin]]()
    packed: list[dict[str, Any]] = []

    def skin_number(skin: Skin | None) -> int | None:
        if skin is None or not len(skin.faces):
            return None
        if id(skin) not in skins:
            skins[id(skin)] = len(packed), skin
            packed.append(pack_skin(packer, skin))
        return skins[id(skin)][0]

    data = {
        "title": title,
        "compact": compact,
        "scenes": [_scene(packer, scene, skin_number) for scene in scenes if scene.figures],
        "summary": None if summary is None else _table(*summary),
        "skins": packed,
    }
    return _page(packer.block(data), title)


def notebook_frame(page: str, height: int = FRAME_HEIGHT) -> str:
    """Return a page in a frame of its own, for the output of a notebook cell."""
    style = f"width:100%;height:{height}px;border:0;border-radius:6px"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{html.escape(page, quote=True)}"></iframe>'


def write_page(path: str | Path, page: str) -> Path:
    """Write a page, atomically, and return its path."""
    from footplant.atomic import write_atomic

    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm"):
        raise FormatError(f"expected a file name ending in .html, got {path.suffix or 'no extension'!r}", path=path)
    write_atomic(path, page)
    return path


def _found_plants(clip: Clip, ground: Ground | None = None) -> tuple[tuple[PlantQuality, ...], Ground | None]:
    """Return the clip's own footplants with their drift, and the ground below them; none for a prop."""
    if len(clip.motion) < 2 or not any(name in clip.character.contacts for name in FEET):
        return (), ground
    try:
        contacts = find_contacts(clip, ground=ground)
    except FootplantError:
        # a motion whose contacts cannot be found is still shown
        return (), ground
    kinematics, plants = Kinematics(clip.motion), []
    for plant in contacts.plants:
        start, end = max(plant.start, 0), min(plant.end, len(clip.motion))
        if end > start:
            track = kinematics.point(clip.character.contacts[plant.point])[start:end]
            away = np.linalg.norm((track - track.mean(axis=0))[:, ::2], axis=1)
            speeds = ground_speed(track, clip.motion.fps)
            plants.append(PlantQuality(
                plant.point, start, end, drift=1000.0 * float(away.max()),
                height_band=1000.0 * float(np.ptp(track[:, 1])),
                skate_speed=float(speeds.mean()) if len(speeds) else 0.0,
            ))  # fmt: skip
    return tuple(plants), contacts.ground


def _scene(packer: Packer, scene: Scene, skin_number: Any) -> dict[str, Any]:
    main = scene.figures[-1].clip.motion
    kinematics = [Kinematics(figure.clip.motion) for figure in scene.figures]
    fields = {}
    for key, ground in {id(figure.ground): figure.ground for figure in scene.figures}.items():
        under = [kin for kin, figure in zip(kinematics, scene.figures) if figure.ground is ground and len(kin.frames)]
        if ground is not None and under:
            low, step, heights = ground_grid(under, ground)
            if np.ptp(heights) < LEVEL:
                continue
            whole = np.round(1e4 * heights).astype(np.int64)
            fields[key] = {"low": low.tolist(), "step": step.tolist(), "heights": packer.add(whole, order=1),
                           "height_step": 1e-4}  # fmt: skip
    return {
        "name": scene.name,
        "frames": len(main),
        "fps": main.fps,
        "figures": [
            _figure(packer, figure, kin, main, skin_number) | {"ground": fields.get(id(figure.ground))}
            for figure, kin in zip(scene.figures, kinematics)
        ],
        "report": None if scene.report is None else _report(scene.report),
    }


def _figure(packer: Packer, figure: Figure, kinematics: Kinematics, main: Any, skin_number: Any) -> dict[str, Any]:
    motion, character = figure.clip.motion, figure.clip.character
    marks = plant_marks(kinematics, character, figure.plants, figure.dropped)
    root = kinematics.positions[:, 0]
    if figure.ground is not None and len(root):
        level = float(np.median(np.asarray(figure.ground.height(root[:, ::2]))))
    else:
        level = float(np.median([mark["place"][1] for mark in marks])) if marks else 0.0
    # frames that are missing or more at the start: a lead-in that was dropped
    lead = len(main) - len(motion) if motion.fps == main.fps else 0
    drifts = [mark["drift"] for mark in marks if not mark["point"].endswith("palm")]
    return {
        "kind": figure.kind,
        "label": figure.label,
        "frames": len(motion),
        "fps": motion.fps,
        "lead": lead,
        "level": level,
        "worst": max(drifts, default=None),
        "character": character_data(character),
        "motion": pack_motion(packer, motion),
        "skin": skin_number(character.skin),
        "marks": marks,
        "curves": _curves(packer, figure, kinematics, level),
    }


def _curves(packer: Packer, figure: Figure, kinematics: Kinematics, level: float) -> dict[str, Any]:
    found = {}
    ground = figure.ground or Plane((0.0, level, 0.0))
    every = max(-(-len(kinematics.frames) // MOST_SAMPLES), 1)
    for plot, steps in CURVE_STEPS.items():
        if len(kinematics.frames) < 2:
            break
        lines = foot_curves(kinematics, figure.clip.character, ground, plot)
        if not lines:
            continue
        values = np.round(steps * np.stack([line[::every] for line in lines.values()], axis=1)).astype(np.int64)
        found[plot] = {"names": list(lines), "values": packer.add(values, order=2), "steps": steps, "every": every,
                       "unit": "mm" if plot == "height" else "m/s"}  # fmt: skip
    return found


def _report(report: Report) -> dict[str, Any]:
    """Return what a report tells people: a verdict and tables."""
    quality = [(name, _number(before), _number(after)) for name, before, after in report.comparison()]
    tables = [_table("Before and after", ("", "before", "after"), quality)] if quality else []
    found = None if report.after is None else report.after.fidelity
    if found is not None:
        head = ("against the source", "value", "goal", "", "where")
        tables.append(_table("Against the source", head, fidelity_rows(found)))
    if report.constraints:
        worst_first = sorted(report.constraints, key=lambda entry: (entry.met, -entry.worst))
        rows = [
            (c.name, f"{c.worst:.2f} {c.unit}", "" if c.worst_frame is None else str(c.worst_frame),
             "" if c.met else "not met")
            for c in worst_first
        ]  # fmt: skip
        tables.append(_table(f"{len(rows)} constraints", ("constraint", "worst error", "at frame", ""), rows))
    if report.levels:
        levels = [(level.name, f"{level.worst:.2f}", f"{1000 * level.seconds:.0f}") for level in report.levels]
        tables.append(_table("How it was solved", ("step", "worst error, mm", "ms"), levels))
    return {
        "status": report.status.value,
        "meaning": report.status.sentence,
        "solved": report.status is Status.SOLVED,
        "method": report.method,
        "seconds": round(report.seconds, 3),
        "drifts": report.worst_drifts(),
        "not_right": list(report.not_right),
        "notes": list(report.notes),
        "tables": tables,
    }


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def _table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    return {"title": title, "head": list(head), "rows": json_ready([list(row) for row in rows])}


def _static() -> Any:
    return files("footplant") / "editor" / "static"


@lru_cache(maxsize=1)
def _parts() -> tuple[str, str, str]:
    """Return the style, the deflated script in base64, and its hash for the page's policy."""
    if not is_available():
        raise FootplantError(NOT_BUILT)
    style, script = ((_static() / name).read_text(encoding="utf-8") for name in ("player.css", "player.js"))
    return style, base64.b64encode(zlib.compress(script.encode(), 9)).decode(), _hash(script)


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _page(block: bytes, title: str) -> str:
    style, script, script_hash = _parts()
    policy = (
        f"default-src 'none'; script-src {_hash(_START)} {script_hash}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="dark">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<div id="app"></div>\n<noscript>This page plays a motion and needs JavaScript.</noscript>\n'
        f'<script type="text/plain" id="footplant-data">{base64.b64encode(block).decode()}</script>\n'
        f'<script type="text/plain" id="footplant-code">{script}</script>\n'
        f"<script>{_START}</script>\n</body>\n</html>\n"
    )


_START = """
window.footplantInflate = async (id) => {
  const text = atob(document.getElementById(id).textContent);
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
};
window.footplantInflate("footplant-code").then((code) => {
  const script = document.createElement("script");
  script.textContent = new TextDecoder().decode(code);
  document.head.append(script);
}).catch((error) => {
  document.getElementById("app").textContent = "This page needs a browser of 2023 or later: " + error;
});
"""
"""Inflates the script and runs it; the page's policy allows these two scripts by their hashes, and no others."""
