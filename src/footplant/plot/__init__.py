"""Pictures of motions and markers as PNG files, and pages that play motions.

Pictures need matplotlib: pip install "footplant[plot]". Pages need nothing.
"""

from footplant.plot.above import above
from footplant.plot.cloud import cloud
from footplant.plot.compare import comparison_sheet
from footplant.plot.marker_fit import marker_fit
from footplant.plot.report import report_page, report_sheet, still_page
from footplant.plot.strip import strip

__all__ = ["above", "cloud", "comparison_sheet", "marker_fit", "report_page", "report_sheet", "still_page", "strip"]
