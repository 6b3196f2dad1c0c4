"""A character with other proportions, its skin fitted to them, written for any glTF viewer."""

import footplant

adult = footplant.load_character("sample:mannequin")
lanky = adult.with_proportions(legs=1.25, arms=1.2, girth=0.85)

print(f"{adult.height:.2f} m → {lanky.height:.2f} m")
print("wrote", footplant.save("lanky.glb", lanky))
