"""When and where do the feet stand? Usage: python 02_find_footplants.py [FILE]"""

import sys

import footplant
from footplant.contacts.detection import find_contacts

clip = footplant.load(sys.argv[1] if len(sys.argv) > 1 else "sample:walk")
contacts = find_contacts(clip)

for point in contacts.points:
    print(point)
    for start, end in contacts.intervals(point):
        print(f"  from {start / contacts.fps:.2f} s for {(end - start) / contacts.fps:.2f} s")

# as a mask a frame, for those who train networks
both_feet_down = contacts.mask("left_ball") & contacts.mask("right_heel")
print(f"left ball and right heel are down together in {both_feet_down.mean():.0%} of the frames")
