"""A real browser for the tests of pages."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from thorough import THOROUGH

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    # pages are composed by the processor and WebGL is drawn by SwiftShader: as shaders that a processor compiles, the
    # composition alone would take longer than most tests
    "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
    # every new window would load the suggestions of its address bar in a process of its own
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,MediaRouter,OptimizationHints,Translate",
]  # fmt: skip
DRAW_NOTHING = """
for (const kind of [WebGLRenderingContext, WebGL2RenderingContext])
    for (const name of ["Arrays", "Elements", "ArraysInstanced", "ElementsInstanced", "RangeElements"])
        if (`draw${name}` in kind.prototype) kind.prototype[`draw${name}`] = () => {};
"""
"""WebGL takes shaders, buffers and all calls as ever, and draws nothing: SwiftShader compiles what is drawn."""


@contextlib.contextmanager
def running_browser() -> Iterator[Any]:
    """Run Chromium; skips the test where it or its driver is absent."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: the page cannot be opened")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed to drive a browser")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()


def new_context(browser: Any, drawn: bool = True, **options: Any) -> Any:
    """Return a window's context; in one that is not drawn, scenes of WebGL stay empty (but in a thorough run)."""
    context = browser.new_context(**options)
    if not (drawn or THOROUGH):
        context.add_init_script(DRAW_NOTHING)
    return context
