"""Phrases that reprs and messages share."""

from __future__ import annotations


def counted(number: int, word: str) -> str:
    """Return a number of things in words: "1 joint", "22 joints"."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def shortened(text: str, longest: int = 40) -> str:
    """Return a name in at most `longest` characters, its end cut off."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
