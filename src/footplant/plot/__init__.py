"""Pictures of motions, as PNG files: a strip of poses, the feet with their plants, and curves over time.

Needs matplotlib: pip install "footplant[plot]".
"""

from footplant.plot.strip import strip

__all__ = ["strip"]
