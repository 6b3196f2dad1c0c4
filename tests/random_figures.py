"""Random skeletons and motions for tests."""

from __future__ import annotations

import numpy as np

from footplant import Motion, Skeleton, rotation


def random_skeleton(joints: int = 12, seed: int = 0) -> Skeleton:
    """A random tree with random offsets and rest rotations and two end sites."""
    rng = np.random.default_rng(seed)
    parents = np.array([-1] + [int(rng.integers(0, joint)) for joint in range(1, joints)])
    return Skeleton(
        tuple(f"joint {joint}" for joint in range(joints)),
        parents,
        rng.normal(size=(joints, 3)),
        rest=rotation.normalize(rng.normal(size=(joints, 4))),
        end_parents=np.array([joints - 1, 0]),
        end_offsets=rng.normal(size=(2, 3)),
    )


def random_motion(
    frames: int = 9, joints: int = 12, seed: int = 0, *, smooth: bool = False, fps: float = 30.0
) -> Motion:
    """Random rotations, or with `smooth` a random curve of at most about 0.3 rad per frame."""
    rng = np.random.default_rng(seed + 1)
    skeleton = random_skeleton(joints, seed)
    if smooth:
        time = np.linspace(0.0, 1.0, frames)[:, None, None]
        swing = np.sin(2 * np.pi * (time + rng.uniform(size=(1, joints, 1)))) * rng.normal(
            scale=0.5, size=(1, joints, 3)
        )
        rotations = rotation.multiply(skeleton.rest, rotation.exp(swing))
        root = np.cumsum(rng.normal(scale=0.01, size=(frames, 3)), axis=0)
    else:
        rotations, root = rotation.normalize(rng.normal(size=(frames, joints, 4))), rng.normal(size=(frames, 3))
    return Motion(skeleton, root, rotation.normalize(rotations), fps)
