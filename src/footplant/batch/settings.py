"""Tuning numbers of batches."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatchSettings:
    """How batches are scheduled. Benchmarks: benchmarks/batch_overhead.py; no experiment chose the values."""

    local_queue: int = 4
    """Tasks queued per local worker, so that none waits for the driver. Halved, short clips may leave workers idle."""
    chunk_seconds: float = 1.5
    """Seconds of work per chunk on a cluster. Doubled, less scheduling overhead, but more is lost with a worker."""
    max_chunk: int = 256
    """Maximum clips per chunk."""
    chunk_queue: int = 2
    """Chunks queued per cluster worker besides the running one. Halved, workers may wait for the scheduler."""
    clip_seconds_smoothing: float = 0.5
    """Weight of the latest chunk in the moving average of seconds per clip, 0 to 1."""
    sync_seconds: float = 0.5
    """Maximum seconds until a ledger record is flushed to disk; a machine crash loses at most this much."""
    start_timeout: float = 120.0
    """Seconds until a worker must be ready; importing from a slow network disk takes time."""
    voting_files: int = 24
    """BVH files of a folder that decide together whether position channels replace OFFSET. Doubled, planning is
    slower."""
    hash_chunk: int = 16
    """Inputs that a worker hashes in one task. Doubled, less scheduling; but few large files keep one worker busy."""
    largest_input: int = 1 << 32
    """Bytes of an input beyond which it is refused: a file that grows for ever must not fill a disk."""
    max_attempts: int = 3
    """Attempts at a clip whose worker dies: it may be killed from outside, but not repeatedly."""


SETTINGS = BatchSettings()
