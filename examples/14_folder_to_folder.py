"""Retarget every clip of a folder (footplant batch does it in parallel, and goes on after a failure)."""

from pathlib import Path

import footplant

Path("clips").mkdir(exist_ok=True)
for name in ("walk", "kick"):  # your own files instead
    footplant.save(f"clips/{name}.bvh", footplant.load(f"sample:{name}", fps=30))
hero = footplant.load_character("sample:sally")  # or "hero.glb"
Path("retargeted").mkdir(exist_ok=True)
for path in sorted(Path("clips").glob("*.bvh")):
    result = footplant.retarget(path, hero)
    print(path.name, result.status, *result.report.worst_drifts())
    print("wrote", result.save(Path("retargeted", path.stem).with_suffix(".glb")))
