"""Pictures of motions and markers as PNG files: a strip of poses, footplants, curves over time.

Needs matplotlib: pip install "footplant[plot]".
"""

from footplant.plot.above import above
from footplant.plot.cloud import cloud
from footplant.plot.compare import comparison_sheet
from footplant.plot.marker_fit import marker_fit
from footplant.plot.report import report_page, report_sheet
from footplant.plot.strip import strip

__all__ = ["above", "cloud", "comparison_sheet", "marker_fit", "report_page", "report_sheet", "strip"]
