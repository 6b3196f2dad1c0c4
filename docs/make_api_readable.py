"""A hook of mkdocs: set the parameters of the Python API in lines of their own.

Docstrings describe parameters in running text, "clip: … keep_footsteps: …", which reads well beside the code. On the
page each gets a line.
"""

from __future__ import annotations

import re
from typing import Any

NAMED = re.compile(r"(^|(?<=[.;\]]) )((?:[a-z_0-9]+)(?:, [a-z_0-9]+)*): (?=\S)")
"""Names at the start of a paragraph or sentence, with a colon after them."""


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Return the HTML of a page; that of the API with a line for each parameter."""
    if page.file.src_path != "api.md":
        return html
    return re.sub(r"<p>(.*?)</p>", lambda match: f"<p>{_in_lines(match[1])}</p>", html, flags=re.DOTALL)


def _in_lines(text: str) -> str:
    joined = re.sub(r"\s*\n\s*", " ", text)
    if not NAMED.search(joined):
        return text
    return NAMED.sub(
        lambda found: f"{'<br>' if found.start() else ''}<strong><code>{found[2]}</code></strong>: ", joined
    )
