"""Write SMPL-family parameters (.npz) as AMASS does: rotation vectors, translation, betas, frame rate; z up.

    poses = rotation vectors of the joints in the model's order, the root's first, zero in the model's T-pose
    trans = position of the pelvis − its rest position in model space J₀(betas)

The motion must be on a body of the family: one that was loaded from such a file, or one of `smpl_character`, onto which
any humanoid can be retargeted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footplant import rotation
from footplant.clip import Clip
from footplant.errors import FormatError
from footplant.io.arrays import write_archive, write_npy
from footplant.io.npz.bodies import SMPL, SMPL_H, SMPL_X, Body

MODELS = {"smpl": SMPL, "smplh": SMPL_H, "smplx": SMPL_X}
"""Name of a layout, as AMASS's `surface_model_type` has it → body."""
BETAS = 16
"""Betas that are written where none are known, as in AMASS."""
_TO_Z_UP = rotation.from_axis_angle([1.0, 0.0, 0.0], np.pi / 2)
_OPTIONAL = ("hand", "jaw", "eye", "index", "middle", "pinky", "ring", "thumb")
"""Parts of joint names of a body that may be missing: they stay at rest."""
_NOTABLE_LENGTH = 0.002
"""Metres; bones that differ from the mean body's by more are another body's."""


@dataclass(frozen=True, eq=False)
class SmplSource:
    """What a file of the family says of its body, kept in `Character.source`."""

    betas: NDArray
    """(B,) shape parameters; of a body read without its model file they do not show in its bones."""
    gender: str
    pelvis: NDArray
    """(3,) metres; J₀ of the body that was posed."""


def save_smpl(path: str | Path, clip: Clip, layout: str, *, compress: bool = True) -> None:
    """Save a motion of an SMPL-family body as parameters; layout: a key of `MODELS`."""
    if layout not in MODELS:
        raise FormatError(f"expected a layout among footplant, {', '.join(MODELS)}; got {layout!r}", path=path)
    if Path(path).suffix.lower() != ".npz":
        raise FormatError("expected a name that ends in .npz: parameters are several arrays", path=path)
    body, motion, names = MODELS[layout], clip.motion, clip.motion.skeleton.names
    missing = [name for name in _missing(names, body) if not any(part in name for part in _OPTIONAL)]
    if missing or names[0] != "pelvis":
        shown = ", ".join(missing[:5]) or "the pelvis as the root"
        raise FormatError(
            f"expected a motion of {body.title}'s body, got one without {shown}; retarget it onto "
            f"sample:{layout} first (footplant retarget CLIP --to sample:{layout})", path=path,
        )  # fmt: skip
    source = clip.character.source if isinstance(clip.character.source, SmplSource) else None
    poses = np.zeros((len(motion), len(body.layout.names), 3), np.float32)
    # the family's rest pose has no rotations; a body whose joints are turned at rest is taken back to it
    _, rest = motion.skeleton.rest_world
    world = _world_rotations(motion.skeleton.parents, motion.rotations)
    turned = rotation.multiply(world, rotation.inverse(rest))
    for place, name in enumerate(body.layout.names):
        if name not in names:
            continue
        joint = names.index(name)
        parent = motion.skeleton.parents[joint]
        if parent < 0:
            local = rotation.multiply(_TO_Z_UP, turned[:, joint])
        else:
            local = rotation.multiply(rotation.inverse(turned[:, parent]), turned[:, joint])
        poses[:, place] = rotation.log(local)
    pelvis = np.array(body.pelvis) if source is None else source.pelvis
    betas = np.zeros(BETAS) if source is None else source.betas
    arrays = {
        "poses": poses.reshape(len(motion), -1),
        "trans": (rotation.rotate(_TO_Z_UP, motion.root) - pelvis).astype(np.float32),
        "betas": np.asarray(betas, np.float32), "gender": np.array("neutral" if source is None else source.gender),
        "mocap_framerate": np.array(float(motion.fps)), "surface_model_type": np.array(layout),
    }  # fmt: skip
    write_archive(path, {f"{name}.npy": write_npy(array) for name, array in arrays.items()}, compress=compress)


def smpl_losses(clip: Clip, layout: str) -> list[str]:
    """Return what parameters of a model cannot hold of a clip, one phrase each."""
    body, skeleton = MODELS[layout], clip.motion.skeleton
    extra = [name for name in skeleton.names if name not in body.layout.names]
    lost = []
    if extra:
        shown = ", ".join(repr(name) for name in extra[:5]) + (" …" if len(extra) > 5 else "")
        joints = "1 joint" if len(extra) == 1 else f"{len(extra)} joints"
        lost.append(f"{joints} that {body.title} does not have ({shown})")
    if not isinstance(clip.character.source, SmplSource):
        both = [name for name in skeleton.names[1:] if name in body.layout.names]
        offsets = np.asarray(body.layout.offsets)
        mean = np.array([offsets[body.layout.names.index(name)] for name in both]).reshape(-1, 3)
        own = skeleton.offsets[[skeleton.names.index(name) for name in both]]
        apart = np.abs(np.linalg.norm(mean, axis=1) - np.linalg.norm(own, axis=1)).max(initial=0.0)
        if apart > _NOTABLE_LENGTH:
            lost.append(f"bone lengths, up to {100.0 * apart:.1f} cm from the mean body's: no betas are known for them")
    return lost


def _missing(names: tuple[str, ...], body: Body) -> list[str]:
    return [name for name in body.layout.names if name not in names]


def _world_rotations(parents: NDArray, local: NDArray) -> NDArray:
    """Return world rotations (F, J, 4) of local ones; parents come first."""
    world = np.array(local)
    for joint, parent in enumerate(parents):
        if parent >= 0:
            world[:, joint] = rotation.multiply(world[:, parent], local[:, joint])
    return world
