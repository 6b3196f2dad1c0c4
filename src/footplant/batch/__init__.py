"""Batch processing of motion libraries: one job over thousands of clips, resumable, on one machine or a cluster."""

from __future__ import annotations

from footplant.batch.jobs import JOBS, Task
from footplant.batch.ledger import Ledger
from footplant.batch.plan import Batch
from footplant.batch.run import Summary, run

__all__ = ["JOBS", "Batch", "Ledger", "Summary", "Task", "run"]
