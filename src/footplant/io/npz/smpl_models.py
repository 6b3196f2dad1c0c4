"""SMPL-family model files (the user's own; none is shipped): the mesh and joints of a body of given betas.

A model has a template mesh, how betas change it (`shapedirs`), how joints follow from vertices (`J_regressor`), the
tree (`kintree_table`), skin weights and faces. Betas move the vertices, and the joints follow: J = R · (T + S β).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.errors import FormatError
from footplant.io.npz.archive import open_archive
from footplant.io.npz.bodies import Body
from footplant.io.pickled import as_array, read_file
from footplant.skeleton import Skeleton, Skin

MAX_VERTICES = 200_000
INFLUENCES = 4
"""Joints per vertex that are kept, the strongest."""


@dataclass(frozen=True, eq=False)
class SmplModel:
    """A model file's arrays."""

    path: Path
    template: NDArray
    """(V, 3) metres."""
    directions: NDArray
    """(V, 3, B) metres per beta."""
    regressor: NDArray
    """(J, V)."""
    weights: NDArray
    """(V, J)."""
    faces: NDArray
    """(T, 3)."""

    def shaped(self, body: Body, betas: NDArray, turn: NDArray) -> tuple[Skeleton, NDArray, Skin, int]:
        """Return skeleton, rest place of the pelvis (3,), skin, and how many betas were used.

        turn: rotation (4,) from the model's y up to the file's up axis.
        """
        names = body.layout.names
        count = len(names)
        if len(self.regressor) < count or self.weights.shape[1] < count:
            raise FormatError(
                f"expected a model with the {count} joints of {body.title}, got {len(self.regressor)}", path=self.path
            )
        used = min(len(betas), self.directions.shape[2])
        if not np.isfinite(betas).all() or np.abs(betas).max(initial=0.0) > 100.0:
            raise FormatError("expected betas of a body, got larger numbers", path=self.path)
        vertices = self.template + self.directions[:, :, :used] @ betas[:used]
        joints = (self.regressor @ vertices)[:count]
        parents = np.array(body.layout.parents)
        offsets = joints - np.where(parents[:, None] >= 0, joints[np.maximum(parents, 0)], 0.0)
        lowest = float(vertices[:, 1].min())
        placed = np.array(offsets)
        # on the ground at rest
        placed[0] = joints[0] * [0.0, 1.0, 0.0] - [0.0, lowest, 0.0]
        ends, end_offsets = body.ends
        skeleton = Skeleton(names, parents, placed, None, ends, end_offsets)  # type: ignore[arg-type]
        moved = vertices + (placed[0] - joints[0])
        # joints beyond the file's (a hand's fingers under SMPL's 22) hang on the nearest joint that it has
        weights = np.array(self.weights[:, :count])
        weights[:, 0] += np.maximum(self.weights.sum(axis=1) - weights.sum(axis=1), 0.0)
        order = np.argsort(-weights, axis=1)[:, :INFLUENCES]
        strongest = np.take_along_axis(weights, order, axis=1)
        strongest /= np.maximum(strongest.sum(axis=1, keepdims=True), 1e-12)
        rest = skeleton.rest_world[0]
        bind = np.tile(np.eye(4), (count, 1, 1))
        bind[:, :3, 3] = -rest
        skin = Skin(moved, self.faces, order, strongest, bind)
        turned = skeleton.turned(turn)
        if not np.array_equal(turn, rotation.IDENTITY):
            back = np.eye(4)
            back[:3, :3] = rotation.to_matrix(rotation.inverse(turn))
            skin = Skin(rotation.rotate(turn, moved), self.faces, order, strongest, bind @ back)
        return turned, joints[0], skin, used


@lru_cache(maxsize=4)
def read_smpl_model(path: str | Path) -> SmplModel:
    """Read a model file: .npz, or a .pkl with arrays (also those with chumpy and SciPy objects)."""
    path = Path(path)
    values: dict[str, Any]
    if path.suffix.lower() == ".npz":
        with open(path, "rb") as file:
            archive = open_archive(file, path)
            wanted = ("v_template", "shapedirs", "J_regressor", "weights", "f")
            values = {key: archive.floats(key) for key in wanted if key in archive}
    else:
        values = read_file(path)
    if not isinstance(values, dict):
        raise FormatError("expected the arrays of an SMPL model, got something else", path=path)
    found = {key: _dense(values.get(key)) for key in ("v_template", "shapedirs", "J_regressor", "weights", "f")}
    missing = [key for key, array in found.items() if array is None]
    if missing:
        raise FormatError(
            f"expected an SMPL model with {', '.join(found)}; got none of {', '.join(missing)}", path=path
        )
    template, directions, regressor, weights, faces = (np.asarray(array) for array in found.values())
    count = len(template)
    if (
        template.shape != (count, 3)
        or not 4 <= count <= MAX_VERTICES
        or directions.ndim != 3
        or directions.shape[:2] != (count, 3)
        or regressor.ndim != 2
        or regressor.shape[1] != count
        or weights.shape != (count, len(regressor))
        or faces.ndim != 2
        or faces.shape[1] != 3
        or not all(np.isfinite(array).all() for array in (template, directions, regressor, weights))
        or faces.min(initial=0) < 0
        or faces.max(initial=0) >= count
    ):
        raise FormatError(
            f"expected matching arrays of an SMPL model, got v_template {template.shape}, "
            f"shapedirs {directions.shape}, J_regressor {regressor.shape}, weights {weights.shape}, f {faces.shape}",
            path=path,
        )  # fmt: skip
    return SmplModel(
        path, template.astype(float), directions.astype(float), regressor.astype(float), weights.astype(float),
        faces.astype(np.int64),
    )  # fmt: skip


def _dense(value: Any) -> NDArray | None:
    """Return an array, also from the state of a SciPy column matrix or of a chumpy array."""
    if isinstance(value, dict):
        if "x" in value:
            return as_array(value["x"])
        if "a" in value and "idxs" in value:
            inner, places, shape = _dense(value["a"]), as_array(value["idxs"]), value.get("preferred_shape")
            if inner is None or places is None or not isinstance(shape, tuple):
                return None
            flat, places = inner.reshape(-1), places.astype(np.int64).reshape(-1)
            if places.min(initial=0) < 0 or places.max(initial=0) >= len(flat):
                return None
            return flat[places].reshape(shape) if np.prod(shape) == len(places) else None
        parts = [as_array(value.get(key)) for key in ("data", "indices", "indptr")]
        shape = value.get("_shape", value.get("shape"))
        if any(part is None for part in parts) or not isinstance(shape, tuple) or len(shape) != 2:
            return None
        data, rows, starts = (np.asarray(part).reshape(-1) for part in parts)
        if max(shape) > MAX_VERTICES or shape[0] * shape[1] > 100_000_000 or len(starts) != shape[1] + 1:
            return None
        counts = np.diff(starts)
        if (counts < 0).any() or counts.sum() != len(data) or len(rows) != len(data):
            return None
        if len(rows) and not 0 <= rows.min() <= rows.max() < shape[0]:
            return None
        out = np.zeros(shape)
        np.add.at(out, (rows, np.repeat(np.arange(shape[1]), counts)), data)
        return out
    return as_array(value)
