"""Put a motion on other characters: feet stay planted where the source's did, or where the legs take them."""

import footplant

clip = footplant.trim("sample:walk", end=2.2)  # or "walk.bvh", "take.fbx"
for name in ("sally", "blubby"):
    result = footplant.retarget(clip, f"sample:{name}", keep_footsteps=name == "sally")  # or "hero.glb", "avatar.vrm"
    print(f"{name}: {result.status}, {result.status.sentence}")
    for measure, copied, ours in result.report.comparison()[:3]:
        print(f"  {measure}: {copied:.2f} with rotations copied, {ours:.2f} retargeted")
    print("wrote", result.save(f"{name}.glb"))
