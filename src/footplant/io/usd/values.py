"""Type-checked access to USD attributes as arrays: a file may declare any attribute with any type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant.errors import FormatError
from footplant.io.usd.library import modules


def failure(path: Path, thing: Any, message: str) -> FormatError:
    """Return an error that names a prim or an attribute."""
    return FormatError(message, path=path, where=str(thing.GetPath()))


def read_tokens(path: Path, attribute: Any) -> list[str]:
    """Return the tokens of an attribute; [] if it has no value."""
    value = attribute.Get() if attribute else None
    if value is None:
        return []
    (Vt,) = modules("Vt")
    if not isinstance(value, Vt.TokenArray | Vt.StringArray):
        raise failure(path, attribute, f"expected an array of tokens, got {attribute.GetTypeName()}")
    return [str(token) for token in value]


def read_array(path: Path, attribute: Any, row: tuple[int, ...], *, time: float | None = None) -> NDArray | None:
    """Return (n, *row) the numbers of an attribute at a time (default: the earliest); None if it has no value."""
    if not attribute:
        return None
    (Usd,) = modules("Usd")
    value = attribute.Get(Usd.TimeCode.EarliestTime() if time is None else Usd.TimeCode(time))
    return check_array(path, attribute, value, row)


def check_array(path: Path, attribute: Any, value: Any, row: tuple[int, ...]) -> NDArray | None:
    """Return a value of an attribute as an array (n, *row); None for None."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim != 1 + len(row) or (len(array) and array.shape[1:] != row):
        kind = "numbers" if not row else " × ".join(map(str, row)) + " numbers each"
        raise failure(path, attribute, f"expected an array of {kind}, got {attribute.GetTypeName()}")
    return np.array(array)
