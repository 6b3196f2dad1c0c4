"""Read a motion, whatever its format, and say what it is. Usage: python 01_read_any_file.py [FILE]"""

import sys

import footplant

clip = footplant.load(sys.argv[1] if len(sys.argv) > 1 else "sample:walk")
motion, character = clip.motion, clip.character

print(f"{clip.name}: {len(motion)} frames at {motion.fps:g} fps on {character.name!r}, {character.height:.2f} m tall")
if character.roles is not None:
    for role, joints in character.roles.joints.items():
        names = ", ".join(character.skeleton.names[joint] for joint in joints)
        print(f"  {role:<16} {names}  ({character.roles.confidence[role]:.0%})")
for note in clip.notes:
    print("note:", note)

# forward kinematics: where everything is in the world, metres
kinematics = footplant.Kinematics(motion)
print("the root travels", abs(kinematics.positions[-1, 0] - kinematics.positions[0, 0]).round(3), "m")
