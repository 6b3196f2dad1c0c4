"""`footplant view`: look at a clip in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from footplant.cli.arguments import ClipFile, Json, ReadOptions
from footplant.cli.loading import load_clip, stated_ground
from footplant.cli.options import spread
from footplant.cli.output import note, print_json, refuse_to_overwrite, working
from footplant.cli.solving import Overwrite


@spread
def view(
    file: ClipFile,
    *,
    out: Annotated[
        str | None,
        typer.Option("-o", "--out", "--save", metavar="HTML", help="Write the page here (default: temporary)."),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    reading: ReadOptions,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Look at a clip: one page that plays it, read only, without a network.

    Example: footplant view sample:walk -o walk.html --no-browser
    """
    from footplant.errors import FormatError
    from footplant.plot import player
    from footplant.plot.notebook import page_view

    if out is not None:
        if Path(out).suffix.lower() not in (".html", ".htm"):
            raise FormatError(f"expected a page ending in .html, got {Path(out).suffix or 'no ending'!r}", path=out)
        if not Path(out).parent.is_dir():
            raise FormatError("there is no such folder", path=Path(out).parent)
        refuse_to_overwrite(file, Path(out), overwrite)
    clip, notes = load_clip(file, reading, frames=True), []
    ground, _ = stated_ground(clip, notes, "drawn")
    if out is None:
        import tempfile

        page = Path(tempfile.mkdtemp(prefix="footplant-")) / "view.html"
    else:
        page = Path(out)
    with working(f"drawing {page}"):
        player.write_page(page, page_view(clip, ground))
    for text in notes:
        note(f"note: {text}")
    if not player.is_available():
        note(f"note: {player.NOT_BUILT}")
    if browser:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
    if json:
        print_json({"command": "view", "input": file, "output": str(page), "bytes": page.stat().st_size})
    else:
        print(f"view: {file} → {page}")
