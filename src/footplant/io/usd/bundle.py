"""Save nested dicts, lists, strings, numbers and arrays as one .npz file, without pickles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ARRAY = "\0array"


def save_values(path: str | Path, value: Any) -> None:
    """Write a value; arrays keep their dtype."""
    arrays: list[NDArray] = []
    text = json.dumps(_without_arrays(value, arrays))
    named: dict[str, Any] = {f"array_{number}": array for number, array in enumerate(arrays)}
    named["text"] = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    with open(path, "wb") as file:
        np.savez(file, **named)


def load_values(path: str | Path) -> Any:
    """Read a value that `save_values` wrote."""
    with np.load(path, allow_pickle=False) as archive:
        text = bytes(archive["text"]).decode("utf-8", "surrogatepass")
        return _with_arrays(json.loads(text), archive)


def _without_arrays(value: Any, arrays: list[NDArray]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, dict):
        return {key: _without_arrays(item, arrays) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_arrays(item, arrays) for item in value]
    return value


def _with_arrays(value: Any, archive: Any) -> Any:
    if isinstance(value, dict):
        if _ARRAY in value:
            return archive[f"array_{value[_ARRAY]}"]
        return {key: _with_arrays(item, archive) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_arrays(item, archive) for item in value]
    return value
