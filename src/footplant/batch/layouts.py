"""Write the clips of a dataset besides as others read them: parameters of a body model, or HumanML3D features."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from footplant.atomic import open_atomic, write_atomic
from footplant.clip import Clip
from footplant.errors import FormatError

HUMANML = "humanml3d"
LAYOUTS = ("smpl", "smplh", "smplx", HUMANML)
"""What else a dataset may be written as: parameters of a body model, a file a clip; HumanML3D features."""
SPLIT_FILES = {"train": "train.txt", "validation": "val.txt", "test": "test.txt"}
GROUPS = (1, 3, 4, 67, 193, 259, 263)
"""Ends of the groups of features that share one standard deviation: turn, velocity, height, places, rotations,
velocities, contacts."""


class LayoutWriter:
    """Files beside a dataset's arrays, one a clip: smpl/NAME.npz as in AMASS, humanml3d/new_joint_vecs/NAME.npy."""

    def __init__(self, folder: Path, layouts: Sequence[str]) -> None:
        """Prepare the layouts, some of `LAYOUTS`."""
        unknown = [name for name in layouts if name not in LAYOUTS]
        if unknown:
            raise FormatError(f"expected a layout among {', '.join(LAYOUTS)}; got {unknown[0]!r}")
        self.folder, self.layouts = folder, tuple(dict.fromkeys(layouts))
        self._count, self._sum, self._squares = 0, np.zeros(GROUPS[-1]), np.zeros(GROUPS[-1])
        self._written: dict[str, str] = {}
        """Clip → its name in HumanML3D's folder, which has no subfolders."""

    def add(self, clip: Clip) -> None:
        """Write a clip in every layout."""
        from footplant.io import save

        for layout in self.layouts:
            if layout == HUMANML:
                self._add_features(clip)
                continue
            path = self.folder / layout / f"{clip.name}.npz"
            path.parent.mkdir(parents=True, exist_ok=True)
            save(path, clip, layout=layout)

    def _add_features(self, clip: Clip) -> None:
        """Write a clip's features; one that has no two frames at HumanML3D's rate has none."""
        from footplant.io.npz.features import FPS, humanml_features

        if len(clip.motion) / clip.motion.fps * FPS[GROUPS[-1]] < 2.0:
            return
        rows = humanml_features(clip.motion)
        name = self._written[clip.name] = clip.name.replace("/", "_")
        folder = self.folder / HUMANML / "new_joint_vecs"
        folder.mkdir(parents=True, exist_ok=True)
        with open_atomic(folder / f"{name}.npy") as file:
            np.save(file, rows)
        self._count += len(rows)
        self._sum += rows.sum(axis=0, dtype=float)
        self._squares += np.square(rows, dtype=float).sum(axis=0)

    def finish(self, entries: Sequence[dict[str, Any]]) -> None:
        """Write means, standard deviations and the lists of the splits."""
        if HUMANML not in self.layouts or not self._count:
            return
        mean = self._sum / self._count
        deviation = np.sqrt(np.maximum(self._squares / self._count - mean**2, 0.0))
        start = 0
        for end in GROUPS:
            deviation[start:end] = deviation[start:end].mean()
            start = end
        for name, values in (("Mean", mean), ("Std", deviation)):
            with open_atomic(self.folder / HUMANML / f"{name}.npy") as file:
                np.save(file, values.astype(np.float32))
        for split, name in SPLIT_FILES.items():
            lines = [
                self._written[entry["name"]] + "\n"
                for entry in entries
                if entry["split"] == split and entry["name"] in self._written
            ]
            write_atomic(self.folder / HUMANML / name, "".join(lines))
