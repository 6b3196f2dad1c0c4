"""How motions are shown in notebooks and in the browser; drawing code is installed here by `footplant`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

html_view: Callable[[Any, Any, str], str] | None = None
"""Draws a motion: (motion, its character or None, name) → HTML. `footplant` installs it, so that motions and
clips do not import drawing code; None shows nothing."""


def notebook_html(motion: Any, character: Any = None, name: str = "motion") -> str | None:
    """Return the HTML that a notebook shows for a motion, or None when no view is installed."""
    return None if html_view is None else html_view(motion, character, name)


def html_page(html: str, title: str) -> str:
    """Return HTML as a whole page."""
    from html import escape

    return f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>\n{html}\n</html>\n'


def show(html: str | None, title: str) -> None:
    """Show HTML in the output of a notebook cell or, outside of notebooks, as a page in the browser."""
    if html is None:
        return
    if _in_notebook():
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        display(HTML(html))
        return
    import tempfile
    import webbrowser
    from pathlib import Path

    page = Path(tempfile.mkdtemp(prefix="footplant-")) / "view.html"
    page.write_text(html_page(html, title), encoding="utf-8")
    webbrowser.open(page.as_uri())


def _in_notebook() -> bool:
    import sys

    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
