"""Open USD files safely: only layers in the file's own folder are opened, and nothing on a network.

Every layer is opened as an anonymous copy, so that neither the caller's own stages nor the files are modified. What a
layer refers to (sublayers, references, payloads) is resolved here, inside the file's folder only, and replaced by the
copy; all other references are removed before the stage is composed. Nothing is left for usd-core's own resolver.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footplant.errors import FormatError
from footplant.io.usd.library import modules
from footplant.io.usd.package import is_package, unpack

MAX_LAYERS = 256
"""Maximum files of one stage."""
FORMAT_ARGUMENTS = ":SDF_FORMAT_ARGS:"


@dataclass(eq=False)
class Opened:
    """A composed stage and the layers it was composed of."""

    stage: Any
    root: Any
    """The root layer; unmodified, as in the file, if it was opened for writing."""
    folder: Path
    """Base of its relative paths: the file's folder, or the folder that a package was unpacked to."""
    followed: tuple[str, ...] = ()
    """Files that were read besides the root."""
    skipped: tuple[str, ...] = ()
    """References that were not opened, as the files spell them."""
    keep: list[Any] = field(default_factory=list)
    """Objects that must live as long as the stage."""


@contextlib.contextmanager
def open_stage(
    path: str | Path, data: bytes, before_layer: Callable[[int], None] | None = None, *, pristine: bool = False
) -> Iterator[Opened]:
    """Compose the stage of a file whose bytes are `data`; relative references start in the folder of `path`.

    before_layer(size) is called before each file is opened, with its size in bytes. pristine: whether the root layer
    is needed unmodified, for writing. Use inside `library.reporting`.
    """
    path = Path(path)
    # binary layers are read on demand, so the copies must exist as long as the stage
    with tempfile.TemporaryDirectory(prefix="footplant-usd-", ignore_cleanup_errors=True) as temporary:
        folder = path.resolve().parent
        if is_package(data):
            folder = Path(temporary).resolve()
            source = file = folder / unpack(path, data, folder)
        else:
            file = folder / path.name
            # use the given bytes: the file may have changed since
            source = Path(temporary) / f"root{path.suffix.lower()}"
            source.write_bytes(data)
        yield _Opener(path, folder, before_layer or (lambda size: None)).open(file, source, pristine)


def _anchor(layer: Any, folder: Path) -> None:
    """Make the relative asset paths of a layer absolute: an anonymous copy has no folder of its own."""
    (UsdUtils,) = modules("UsdUtils")

    def absolute(name: str) -> str:
        return name if not name or ":" in name or os.path.isabs(name) else os.path.normpath(folder / name)

    UsdUtils.ModifyAssetPaths(layer, absolute)


class _Opener:
    """Opens the layers of one stage."""

    def __init__(self, path: Path, folder: Path, before_layer: Callable[[int], None]) -> None:
        self.path, self.folder, self.before_layer = path, folder, before_layer
        self.layers: dict[Path, Any] = {}
        self.skipped: dict[str, None] = {}

    def open(self, file: Path, source: Path, pristine: bool) -> Opened:
        """Compose the stage of a file whose bytes are at `source`."""
        (Usd,) = modules("Usd")

        root = self._read(source)
        unmodified = self._read(source) if pristine else root
        self.layers[file] = root
        self._redirect(root, file)
        stage = Usd.Stage.Open(root)
        if stage is None:
            raise FormatError("expected a USD stage, got a file that cannot be composed", path=self.path)
        followed = tuple(str(other) for other in self.layers if other != file)
        skipped = tuple(self.skipped)
        return Opened(stage, unmodified, self.folder, followed, skipped, list(self.layers.values()))

    def _read(self, file: Path) -> Any:
        """Return an anonymous copy of a layer."""
        (Sdf,) = modules("Sdf")

        self.before_layer(file.stat().st_size)
        layer = Sdf.Layer.OpenAsAnonymous(str(file))
        if layer is None:
            raise FormatError("expected a USD file, got something else", path=self.path)
        return layer

    def _redirect(self, layer: Any, file: Path) -> None:
        """Redirect the layer's references to anonymous copies, and remove those that must not be opened."""
        for dependency in list(layer.GetCompositionAssetDependencies()):
            layer.UpdateCompositionAssetDependency(dependency, self._replacement(dependency, file))
        self._remove_clips(layer)

    def _replacement(self, dependency: str, file: Path) -> str:
        """Return the identifier of the copy of a referenced layer; "" removes the reference."""
        found = self._find(dependency, file)
        if found is None:
            self.skipped[dependency] = None
            return ""
        if found not in self.layers:
            if len(self.layers) >= MAX_LAYERS:
                raise FormatError(f"expected at most {MAX_LAYERS} layers, got more", path=self.path)
            self.layers[found] = self._read(found)
            self._redirect(self.layers[found], found)
            _anchor(self.layers[found], found.parent)
        return self.layers[found].identifier

    def _find(self, dependency: str, file: Path) -> Path | None:
        """Return the file that a reference names if it is inside the folder, else None."""
        if FORMAT_ARGUMENTS in dependency or "[" in dependency or os.path.isabs(dependency) or ":" in dependency:
            return None
        try:
            found = (file.parent / dependency).resolve()
            inside = found.is_relative_to(self.folder) and found.is_file()
        except (OSError, ValueError, RuntimeError):
            return None
        usd = found.suffix.lower() in (".usd", ".usda", ".usdc")
        return found if inside and usd else None

    def _remove_clips(self, layer: Any) -> None:
        """Remove value clips: they name further files, some by pattern."""
        marked: list[Any] = []

        def look(place: Any) -> None:
            if place.IsPrimPath() or place.IsPrimVariantSelectionPath():
                spec = layer.GetPrimAtPath(place)
                if spec is not None and (spec.HasInfo("clips") or spec.HasInfo("clipSets")):
                    marked.append(spec)

        layer.Traverse("/", look)
        for spec in marked:
            spec.ClearInfo("clips")
            spec.ClearInfo("clipSets")
            self.skipped["value clips"] = None
