"""A character with other proportions, its skin fitted to them, written for any glTF viewer."""

import footplant
from footplant.humanoid import apply_proportions

adult = footplant.load_character("sample:mannequin")
lanky = apply_proportions(adult, legs=1.25, arms=1.2, girth=0.85)

print(f"{adult.height:.2f} m → {lanky.height:.2f} m")
print("wrote", footplant.save("lanky.glb", lanky))
