"""Foot contacts as arrays, for those who train networks."""

import numpy as np

import footplant

clip = footplant.load("sample:walk", fps=30)  # or "walk.bvh", "amass.npz"
contacts = footplant.contacts(clip)
masks = contacts.masks()  # (frames, points) bool
print(contacts.points, masks.shape, f"{masks.mean():.0%} of the time in contact")
for plant in contacts.plants[:4]:
    print(f"{plant.point}: frames {plant.start} to {plant.end - 1}, at {plant.place.round(3)} m")
np.savez("contacts.npz", masks=masks, positions=footplant.Kinematics(clip.motion).positions)
print("wrote contacts.npz")
