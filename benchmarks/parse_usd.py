"""Reading and writing a .usdc file of about 2 MB: the skinned mannequin walking for a minute."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from timing import cpu_seconds, main, times_faster

SECONDS = 60.0


def make_file(path: Path) -> None:
    """The mannequin, with its mesh, in a long walk."""
    from dataclasses import replace

    from footplant import samples
    from footplant.io import usd

    clip = samples.load("walk")
    long = clip.motion.looped(int(SECONDS / clip.motion.duration) + 1)
    usd.save(path, replace(clip, motion=long))


def _usd_core(path: str) -> object:
    """All joints of all frames and the mesh with its weights, asked of usd-core's own queries one by one."""
    import numpy as np
    from pxr import Usd, UsdGeom, UsdSkel

    stage = Usd.Stage.Open(path)
    cache = UsdSkel.Cache()
    out: list[object] = []
    for prim in stage.Traverse():
        if not prim.IsA(UsdSkel.Root):
            continue
        root = UsdSkel.Root(prim)
        cache.Populate(root, Usd.PrimDefaultPredicate)
        for binding in cache.ComputeSkelBindings(root, Usd.PrimDefaultPredicate):
            query = cache.GetSkelQuery(binding.GetSkeleton())
            times = query.GetAnimQuery().GetJointTransformTimeSamples()
            out.append(np.array([query.ComputeJointLocalTransforms(time) for time in times]))
            for target in binding.GetSkinningTargets():
                out.append(np.array(UsdGeom.Mesh(target.GetPrim()).GetPointsAttr().Get()))
                out.extend(np.array(values) for values in target.ComputeJointInfluences())
    return out


PEERS: dict[str, Callable[[str], object]] = {"usd_core_queries": _usd_core}
"""The library that we read with, asked for the same numbers by its own skeleton and skinning queries."""


def run() -> dict[str, float]:
    """Reading and writing USD: seconds of CPU, and how many times faster than usd-core's own queries."""
    from footplant.errors import MissingExtraError
    from footplant.io import usd

    with tempfile.TemporaryDirectory() as folder:
        path, copy = Path(folder) / "walk.usdc", Path(folder) / "copy.usdc"
        try:
            make_file(path)
        except MissingExtraError:
            return {}
        megabytes = path.stat().st_size / 1e6

        def read() -> object:
            (figure,) = usd.load(path, isolated=False)
            assert figure.read_take is not None
            return figure.read_take(0)

        ours = cpu_seconds(read, repeats=5)
        start = time.perf_counter()
        usd.load(path)
        figures = {
            "parse_usd.megabytes": megabytes,
            "parse_usd.seconds": ours,
            "parse_usd.megabytes_per_second": megabytes / ours,
            "parse_usd.seconds_in_a_child_process": time.perf_counter() - start,
            "parse_usd.write_seconds": cpu_seconds(lambda: make_file(copy), repeats=2),
        }
        figures |= times_faster("parse_usd", PEERS, str(path), ours)
    return figures


if __name__ == "__main__":
    main(run)
