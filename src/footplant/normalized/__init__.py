"""Motion without a morphology: postures that any human-like figure can take, whatever its lengths and vertebrae.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), sections 4 (normalised skeleton), 6 (morphological adaptation) and 8 (posture conversion).

`normalize` takes lengths out of a motion, `scale` puts the lengths of a figure in, `convert` gives its joints back:

    motion = convert(scale(normalize(clip.motion, clip.character), other))

A limb is a frame, whose half-plane holds its middle joint, and the share of its full stretch; spine and neck are
splines; head, clavicles, hands and feet are single segments; the root is a place in leg lengths, a heading and a tilt.
What is no part of that body (fingers, twist joints, props, bones that change their length) is carried beside it, so
that a figure with the same lengths gets its own motion back to the last digits.
"""

from footplant.normalized.convert import convert
from footplant.normalized.model import Normalized, NormalizedLimb, NormalizedSpline, Scaled
from footplant.normalized.normalize import normalize
from footplant.normalized.scale import scale

__all__ = ["Normalized", "NormalizedLimb", "NormalizedSpline", "Scaled", "convert", "normalize", "scale"]
