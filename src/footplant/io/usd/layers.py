"""USD files opened safely: only layers of the file's own folder are followed, and nothing on a network.

Every layer is opened as an anonymous copy, so that neither the caller's own stages nor the files are touched. What a
layer refers to (sublayers, references, payloads) is looked up by us, inside the folder of the file alone, and replaced
by the copy; everything else is cut out before the stage is composed. usd-core's own resolver is left nothing to look
for.
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

MOST_LAYERS = 256
"""Files that one stage may be made of."""
FORMAT_ARGUMENTS = ":SDF_FORMAT_ARGS:"


@dataclass(eq=False)
class Opened:
    """A composed stage and what it was made of."""

    stage: Any
    root: Any
    """The root layer; as the file has it, nothing cut out, if it was opened to be written."""
    folder: Path
    """Where its relative paths start: the file's folder, or the folder that a package was unpacked to."""
    followed: tuple[str, ...] = ()
    """Files that were read beside the root."""
    left_out: tuple[str, ...] = ()
    """References that were not followed, as the files spell them."""
    keep: list[Any] = field(default_factory=list)
    """What has to live as long as the stage."""


@contextlib.contextmanager
def open_stage(
    path: str | Path, data: bytes, before_layer: Callable[[int], None] | None = None, *, pristine: bool = False
) -> Iterator[Opened]:
    """Compose the stage of a file whose bytes are `data`; relative references start in the folder of `path`.

    before_layer(bytes) is called before each file that is opened, with its size. pristine: whether the root layer is
    wanted as the file has it, for writing. Use inside `library.reporting`.
    """
    path = Path(path)
    # a binary layer is read from its file piece by piece, so the copies stay until the stage is done with
    with tempfile.TemporaryDirectory(prefix="footplant-usd-", ignore_cleanup_errors=True) as temporary:
        folder = path.resolve().parent
        if is_package(data):
            folder = Path(temporary).resolve()
            source = file = folder / unpack(path, data, folder)
        else:
            file = folder / path.name
            # the bytes at hand, not what the file holds by now
            source = Path(temporary) / f"root{path.suffix.lower()}"
            source.write_bytes(data)
        yield _Opener(path, folder, before_layer or (lambda size: None)).open(file, source, pristine)


def _anchor(layer: Any, folder: Path) -> None:
    """Write the relative names of pictures out in full: an anonymous copy has no folder of its own."""
    (UsdUtils,) = modules("UsdUtils")

    def whole(name: str) -> str:
        return name if not name or ":" in name or os.path.isabs(name) else os.path.normpath(folder / name)

    UsdUtils.ModifyAssetPaths(layer, whole)


class _Opener:
    """Opens the layers of one stage."""

    def __init__(self, path: Path, folder: Path, before_layer: Callable[[int], None]) -> None:
        self.path, self.folder, self.before_layer = path, folder, before_layer
        self.layers: dict[Path, Any] = {}
        self.left_out: dict[str, None] = {}

    def open(self, file: Path, source: Path, pristine: bool) -> Opened:
        """Compose the stage of a file whose bytes lie at `source`."""
        (Usd,) = modules("Usd")

        root = self._read(source)
        untouched = self._read(source) if pristine else root
        self.layers[file] = root
        self._cut(root, file)
        stage = Usd.Stage.Open(root)
        if stage is None:
            raise FormatError("expected a USD stage, got a file that cannot be composed", path=self.path)
        followed = tuple(str(other) for other in self.layers if other != file)
        left_out = tuple(self.left_out)
        return Opened(stage, untouched, self.folder, followed, left_out, list(self.layers.values()))

    def _read(self, file: Path) -> Any:
        (Sdf,) = modules("Sdf")

        self.before_layer(file.stat().st_size)
        layer = Sdf.Layer.OpenAsAnonymous(str(file))
        if layer is None:
            raise FormatError("expected a USD file, got something else", path=self.path)
        return layer

    def _cut(self, layer: Any, file: Path) -> None:
        """Point the layer's references at safe copies, and remove those that are not to be followed."""
        for dependency in list(layer.GetCompositionAssetDependencies()):
            layer.UpdateCompositionAssetDependency(dependency, self._replacement(dependency, file))
        self._cut_clips(layer)

    def _replacement(self, dependency: str, file: Path) -> str:
        found = self._find(dependency, file)
        if found is None:
            self.left_out[dependency] = None
            return ""
        if found not in self.layers:
            if len(self.layers) >= MOST_LAYERS:
                raise FormatError(f"expected at most {MOST_LAYERS} layers, got more", path=self.path)
            self.layers[found] = self._read(found)
            self._cut(self.layers[found], found)
            _anchor(self.layers[found], found.parent)
        return self.layers[found].identifier

    def _find(self, dependency: str, file: Path) -> Path | None:
        """The file that a reference means, when it lies in the folder; None for anything else."""
        if FORMAT_ARGUMENTS in dependency or "[" in dependency or os.path.isabs(dependency) or ":" in dependency:
            return None
        try:
            found = (file.parent / dependency).resolve()
            inside = found.is_relative_to(self.folder) and found.is_file()
        except (OSError, ValueError, RuntimeError):
            return None
        usd = found.suffix.lower() in (".usd", ".usda", ".usdc")
        return found if inside and usd else None

    def _cut_clips(self, layer: Any) -> None:
        """Value clips name further files, some by pattern; they are left out."""
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
            self.left_out["value clips"] = None
