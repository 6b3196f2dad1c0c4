"""The sheet that pictures are drawn on: its size, style and title, and saving as a PNG file."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from footplant.errors import FormatError, MissingExtraError

WIDTH = 13.0
"""Width of the whole picture, inches."""
TALLEST = 5.2
"""Largest height of the strip of poses, inches; taller motions are drawn smaller."""
INK, PALE, GREY = "#2b2f36", "#d9dde3", "#6b7280"
STYLE: dict[Any, Any] = {
    "font.size": 8.5, "axes.edgecolor": "#9aa1ab", "axes.linewidth": 0.8, "axes.labelcolor": INK,
    "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 9.5, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.grid": True, "grid.color": "#eceff3", "grid.linewidth": 0.8,
    "axes.axisbelow": True, "xtick.color": "#555b66", "ytick.color": "#555b66", "text.color": INK,
    "legend.frameon": False, "legend.fontsize": 8, "lines.linewidth": 1.4, "lines.solid_capstyle": "round",
}  # fmt: skip
"""Use as `with matplotlib.rc_context(STYLE)` around drawing and saving."""


def require_matplotlib() -> Any:
    """Return the module matplotlib, or raise the error that says how to install it."""
    try:
        import matplotlib as mpl
        import matplotlib.backends.backend_agg
        import matplotlib.figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "drawing a picture") from error
    return mpl


def check_target(path: str | Path) -> Path:
    """Return the path after checking that it ends in .png."""
    path = Path(path)
    if path.suffix.lower() != ".png":
        raise FormatError(f"expected a file name ending in .png, got {path.suffix or 'no extension'!r}", path=path)
    return path


def new_sheet(tall: float, title: str, subtitle: str) -> Any:
    """Return a matplotlib figure of a height in inches with its title on the left and a subtitle on the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, tall), facecolor="white")
    FigureCanvasAgg(figure)
    line = {"y": 1.0 - 0.30 / tall, "va": "center", "parse_math": False}
    figure.text(0.32 / WIDTH, s=printable(title), fontsize=13, weight="bold", **line)
    figure.text(1.0 - 0.3 / WIDTH, s=subtitle, fontsize=8.5, color=GREY, ha="right", **line)
    return figure


def save_sheet(figure: Any, path: Path, dpi: int) -> None:
    """Write the figure as a PNG file, atomically."""
    from footplant.atomic import write_atomic

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # names may contain characters that the font lacks; a box in the title is acceptable
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="png", dpi=dpi, facecolor="white")
    write_atomic(path, _small(buffer))


def _small(picture: io.BytesIO) -> bytes:
    """Return the PNG with a palette of 256 colours: a quarter of the size, visually the same."""
    from PIL import Image

    out = io.BytesIO()
    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        few.save(out, format="png", optimize=True)
    return out.getvalue()


def printable(name: str, longest: int = 60) -> str:
    """Return a name without control characters, shortened to `longest` characters."""
    name = "".join(letter if letter.isprintable() else " " for letter in name)
    return name if len(name) <= longest else name[: longest - 1] + "…"
