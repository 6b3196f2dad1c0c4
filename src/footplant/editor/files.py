"""Downloads in any format, and projects with their whole edit history."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from footplant.clip import Clip
from footplant.constraints import to_data
from footplant.editor.session import Session
from footplant.errors import ConstraintError, FormatError

ORIGINAL = "editor/original.footplant"
"""Member of a project file: the clip before all edits, itself a project."""
UPLOADS = "editor/files/"
"""Members of a project file: uploaded files that edits refer to."""
CAST = "editor/cast/"
"""Members of a project file: the other characters of the scene, each a project."""


def exports() -> list[str]:
    """Return the extensions that can be downloaded."""
    from footplant.io import formats

    return sorted(ending for ending, module in formats().items() if hasattr(module, "save"))


def export(session: Session, ending: str, others: Sequence[Session] = ()) -> tuple[str, bytes]:
    """Return name and bytes of a download; the opened file is never written. others: go into a project as well."""
    if ending not in exports():
        raise FormatError(f"expected a format among {', '.join(exports())}; got {ending!r}")
    from footplant.io import save

    state = session.state
    clip = replace(state.clip, motion=state.motion, takes=(), take=0, others=(), notes=())
    name = f"{Path(clip.name).stem or 'clip'}-edited{ending}"
    with tempfile.TemporaryDirectory(prefix="footplant-") as folder:
        path = Path(folder) / name
        if ending == ".footplant":
            _save_project(path, session, clip, others)
        else:
            save(path, clip)
        data = path.read_bytes()
    return name, data


def _save_project(path: Path, session: Session, clip: Clip, others: Sequence[Session]) -> None:
    from footplant.io.project import Extra, Project, save_project

    original = path.with_name("original.footplant")
    save_project(original, Project.of(replace(session.origin, layout=None, others=())))
    members = {ORIGINAL: original.read_bytes()}
    done = [step.edit for step in session.steps[: session.position]]
    for name in _used_files(done, session.journal.files):
        members[UPLOADS + name] = (session.journal.files / name).read_bytes()
    for number, other in enumerate(others):
        members[f"{CAST}{number + 2:02}.footplant"] = export(other, ".footplant")[1]
    constraints: list[Mapping[str, Any]] = []
    for mark in session.state.marks:
        try:
            constraints += to_data([mark.constraint], clip.character)
        except ConstraintError:
            continue
    project = Project.of(replace(clip, layout=None))
    save_project(
        path, replace(project, constraints=tuple(constraints), edits=tuple(done), extra=Extra(members=members))
    )
    original.unlink()


def _used_files(edits: list[dict[str, Any]], folder: Path) -> list[str]:
    """Return the uploads that edits refer to, with what was dropped together with them, by their names."""
    texts = {text for edit in edits for value in edit.values() for text in _texts(value)}
    used = {path for path in folder.rglob("*") if path.is_file() and path.relative_to(folder).as_posix() in texts}
    beside = {other for path in used if path.parent != folder for other in path.parent.iterdir() if other.is_file()}
    return sorted(path.relative_to(folder).as_posix() for path in used | beside)


def _texts(value: Any) -> list[str]:
    """Return the strings of a JSON value."""
    if isinstance(value, str):
        return [value]
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for entry in entries for text in _texts(entry)]


def save_scene(path: Path, clips: Sequence[Clip]) -> None:
    """Write clips as the characters of one scene, to be opened together."""
    from footplant.io.project import Extra, Project, save_project

    members = {}
    for number, clip in enumerate(clips[1:]):
        save_project(path, Project.of(clip))
        members[f"{CAST}{number + 2:02}.footplant"] = path.read_bytes()
    save_project(path, replace(Project.of(clips[0]), extra=Extra(members=members)))


def unpack_cast(path: Path) -> list[bytes]:
    """Return the projects of the other characters of a project; none for any other file."""
    if path.suffix.lower() != ".footplant":
        return []
    from footplant.io.project import load_project

    members = load_project(path).extra.members
    return [members[name] for name in sorted(members) if name.startswith(CAST)]


def unpack_project(path: Path) -> tuple[Clip | None, list[dict[str, Any]], dict[str, bytes]]:
    """Return the clip before all edits, the edits, and the files they refer to; (None, [], {}) for any other file."""
    if path.suffix.lower() != ".footplant":
        return None, [], {}
    from footplant.io.project import load_project

    project = load_project(path)
    original = project.extra.members.get(ORIGINAL)
    if original is None or not (project.edits or any(name.startswith(CAST) for name in project.extra.members)):
        return None, [], {}
    with tempfile.TemporaryDirectory(prefix="footplant-") as folder:
        inner = Path(folder) / "original.footplant"
        inner.write_bytes(original)
        clip = load_project(inner).clip
    files = {name[len(UPLOADS) :]: data for name, data in project.extra.members.items() if name.startswith(UPLOADS)}
    return clip, [dict(edit) for edit in project.edits], files
