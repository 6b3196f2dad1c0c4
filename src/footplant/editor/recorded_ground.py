"""The ground of a recording: what a character was driven over goes with the clip that is kept, as a file."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from footplant import grounds
from footplant.contacts.ground import Ground
from footplant.errors import ConstraintError, FootplantError
from footplant.geometry import HeightField, Plane
from footplant.live.foot_plan import CELL
from footplant.motion import Motion

AROUND = 2.0
"""Metres around the path of the root for which any other ground than a plane or a height field is sampled: more than a
foot is from the root."""


def pack_ground(ground: Ground, motion: Motion) -> bytes:
    """Return a file of the ground under a motion: planes and height fields as they are, others sampled."""
    if not isinstance(ground, Plane | HeightField):
        low, high = motion.root[:, ::2].min(axis=0) - AROUND, motion.root[:, ::2].max(axis=0) + AROUND
        spacing = max(CELL, float(np.sqrt(np.prod(high - low) / grounds.MOST_CELLS)))
        counts = np.ceil((high - low) / spacing).astype(int) + 1
        along = [low[k] + spacing * np.arange(counts[k]) for k in range(2)]
        heights = ground.height(np.stack(np.meshgrid(*along, indexing="ij"), axis=-1))
        ground = HeightField(np.asarray(heights), spacing, (float(low[0]), float(low[1])), "linear")
    out = io.BytesIO()
    if isinstance(ground, Plane):
        np.savez(out, point=np.asarray(ground.point), up=np.asarray(ground.up))
    else:
        np.savez(
            out, heights=ground.heights, spacing=ground.spacing, origin=np.asarray(ground.origin),
            basis=np.array(ground.basis),
        )  # fmt: skip
    return out.getvalue()


def unpack_ground(path: str | Path) -> Ground:
    """Return the ground of a file that `pack_ground` made."""
    try:
        with np.load(path, allow_pickle=False) as data:
            if "up" in data:
                (px, py, pz), (ux, uy, uz) = data["point"].tolist(), data["up"].tolist()
                return Plane((px, py, pz), (ux, uy, uz))
            heights, (x, z) = data["heights"], data["origin"].tolist()
            if heights.size > grounds.MOST_CELLS + 4 * sum(heights.shape):
                raise ConstraintError(f"expected at most {grounds.MOST_CELLS} heights, got {heights.size}")
            return HeightField(heights, float(data["spacing"]), (x, z), str(data["basis"]))  # type: ignore[arg-type]
    except FootplantError:
        raise
    except Exception as error:
        raise ConstraintError(f"expected the ground of a recording, got {Path(path).name}: {error}") from error
