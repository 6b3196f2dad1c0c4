"""Morphology-independent motion: postures for any humanoid, whatever its bone lengths and number of vertebrae.

Kulpa, Multon & Arnaldi, "Morphology-independent representation of motions for interactive human-like animation"
(Eurographics 2005), sections 4 (normalised skeleton), 6 (morphological adaptation) and 8 (posture conversion).

`normalize` removes lengths from a motion, `scale` applies the lengths of a character, `convert` restores its joints:

    motion = convert(scale(normalize(clip.motion, clip.character), other))

A limb is a frame, whose half-plane contains its middle joint, and the ratio of its length to full extension; spine and
neck are splines; head, clavicles, hands and feet are single segments; the root is a position in leg lengths, a heading
and a tilt. Everything else (fingers, twist joints, props, bones that change their length) is stored separately, so that
a character with the same lengths gets its own motion back to the last digits.
"""

from footplant.normalized.convert import convert
from footplant.normalized.model import Normalized, NormalizedLimb, NormalizedSpline, Scaled
from footplant.normalized.normalize import normalize
from footplant.normalized.scale import scale

__all__ = ["Normalized", "NormalizedLimb", "NormalizedSpline", "Scaled", "convert", "normalize", "scale"]
