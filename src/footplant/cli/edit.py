"""`footplant edit`: the motion editor, a page in the browser on this machine."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from footplant.cli.arguments import ReadOptions
from footplant.cli.loading import load_clip
from footplant.cli.options import spread


@spread
def edit(
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE]", help="A motion or project file, or sample:NAME (default: the sample walk)."),
    ] = "sample:walk",
    *,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="CHARACTER", help="Retarget to a character first: a file or sample:NAME."),
    ] = None,
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0 chooses a free one.")
    ] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    reading: ReadOptions,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with the address when the server is ready.")
    ] = False,
) -> None:
    """Open the editor: a local page in which to drag, pin, retarget and compare a motion.

    It listens on this machine only; the address contains an access token. Edits are journaled as they are made and can
    be recovered after a crash; the input file is never written. Stop it with Ctrl-C.

    Example: footplant edit walk.bvh --to hero.glb
    """
    from footplant.cli.output import note, print_json, working
    from footplant.editor.hub import Hub
    from footplant.editor.server import listen, opening_page, serve
    from footplant.errors import FormatError
    from footplant.io import load_character

    listener, token = listen(file, port)
    clip = load_clip(file, reading)
    if not len(clip.motion):
        raise FormatError("expected a clip with frames to edit, got none", path=file)
    if to is not None:
        with working(f"reading {to}"):
            load_character(to)

    pages = contextlib.ExitStack()

    def started(address: str) -> None:
        if json:
            print_json({"command": "edit", "input": file, "address": address})
        else:
            print(f"The editor is at {address}")
            note("Stop it with Ctrl-C.")
        import sys

        sys.stdout.flush()
        if browser:
            import webbrowser

            webbrowser.open(pages.enter_context(opening_page(address)))

    with pages:
        serve(Hub(file, clip, to=to), listener, token, started)
