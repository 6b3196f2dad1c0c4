"""How much the costly tests try: a part of their cases in `make test`, all with FOOTPLANT_THOROUGH=1."""

from __future__ import annotations

import os
from typing import TypeVar

THOROUGH = os.environ.get("FOOTPLANT_THOROUGH", "") not in ("", "0")
T = TypeVar("T")


def thorough(usual: T, everything: T) -> T:
    """Return what to try: `usual`, or `everything` in a thorough run."""
    return everything if THOROUGH else usual
