"""Draw docs/path.png: straight walks bent to a circle and an S-curve, from above, with their footprints.

Takes a walk of the CMU collection beside the sample where ../shared/data has one: python docs/make_path_pictures.py
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import footplant
from footplant import curves, plot
from footplant.contacts.detection import find_contacts
from footplant.curves import Curve
from footplant.feet.path_mapping import PathMapping
from footplant.feet.travel import find_travel
from footplant.plot.above import FromAbove

HERE = Path(__file__).resolve().parent
CAPTURED = HERE.parents[1] / "shared" / "data" / "bvh" / "cmu" / "02_01.bvh"


def rows(name: str, title: str, bends: list[tuple[str, Curve]]) -> list[FromAbove]:
    """A walk as it is and along each curve."""
    clip = footplant.load(name)
    if len(clip.motion) == 344:
        # without the T-pose that was put before the capture
        clip = replace(clip, motion=clip.motion[1:])
    contacts = find_contacts(clip)
    travel = find_travel(clip.motion, clip.character, contacts)
    found = [FromAbove(f"{title}, as captured" if "/" in name else title, clip, contacts)]
    for label, shape in bends:
        curve = shape.moved(travel.places[0], float(travel.headings[0]))
        solution = footplant.bend(clip, curve, contacts=contacts)
        report = solution.report
        assert report.after is not None
        assert report.after.worst_plant is not None
        drift = report.after.worst_plant.drift
        print(name, label, report.status.name, f"worst drift {drift:.2f} mm")
        carried = PathMapping.of(travel, curve).motion(clip.motion)
        if label.startswith("circle"):
            found.append(FromAbove(f"{label}, not solved", replace(clip, motion=carried), contacts, curve))
        found.append(FromAbove(f"{label}, planted", replace(clip, motion=solution.motion), contacts, curve))
    return found


def main() -> None:
    """Draw the picture."""
    shown = rows(
        "sample:walk", "sample:walk", [("circle:1.2", curves.circle(1.2)), ("s:5,1.5", curves.s_curve(5.0, 1.5))]
    )
    if CAPTURED.exists():
        bends = [("circle:0.8", curves.circle(0.8)), ("s:3,0.8", curves.s_curve(3.0, 0.8))]
        shown += rows(str(CAPTURED), "CMU 02_01", bends)
    plot.above(shown, HERE / "path.png", title="One walk, other paths", columns=4, dpi=100)


if __name__ == "__main__":
    main()
