"""How motions, clips and results are shown in notebooks and in the browser.

Drawing code is installed here by `footplant`, so that motions and clips do not import it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

notebook_view: Callable[[Any], str] | None = None
"""Returns the HTML that a notebook shows for a motion, a clip or a result; None shows nothing."""
write_page: Callable[[Any, Path], None] | None = None
"""Writes a whole page for the browser, atomically."""


def notebook_html(shown: Any) -> str | None:
    """Return the HTML that a notebook shows, or None when no view is installed."""
    return None if notebook_view is None else notebook_view(shown)


def show(shown: Any, path: str | Path | None = None) -> None:
    """Show a clip or a result in the output of a notebook cell or, outside of notebooks, in the browser.

    path: write the page there instead.
    """
    if write_page is None:
        return
    if path is not None:
        write_page(shown, Path(path))
    elif _in_notebook():
        from IPython.display import HTML, display  # type: ignore[import-not-found]

        display(HTML(notebook_html(shown)))
    else:
        import tempfile
        import webbrowser

        page = Path(tempfile.mkdtemp(prefix="footplant-")) / "view.html"
        write_page(shown, page)
        webbrowser.open(page.as_uri())


def _in_notebook() -> bool:
    import sys

    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
