"""The same batch on a Dask cluster: any `distributed.Client` address, or one of this machine.

Tasks go out in chunks of about a second of work, so that the scheduler's few milliseconds do not count, and no more at
a time than keep the workers busy: futures are let go as soon as they have ended, so that a worker that is killed costs
only what it was doing. Each clip of a chunk runs in a process of its own beside the worker (`batch.worker`), which is
what stops it at its limits. What a chunk has done it notes in a file of the output folder, so that the worker that
takes it over does not do it again.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import uuid
from collections import deque
from pathlib import Path
from typing import Any

from footplant.batch.jobs import Task
from footplant.batch.ledger import open_journal
from footplant.batch.worker import Limits, Worker
from footplant.errors import FormatError, MissingExtraError

WORK = 1.5
"""Seconds of work that a chunk should have."""
LARGEST = 256
"""Clips of a chunk at most."""
AHEAD = 2
"""Chunks that wait for each worker, besides the one that it does."""
PARTS = ".parts"
"""The folder, in that of the batch, of what chunks have done so far."""

_mine = threading.local()


def perform_chunk(tasks: list[dict[str, Any]], limits: dict[str, Any], notes: str) -> list[dict[str, Any]]:
    """Do some tasks one after another, on a worker of the cluster; what `notes` has is not done again."""
    worker: Worker | None = getattr(_mine, "worker", None)
    if worker is None or worker.limits != Limits(**limits):
        worker = _mine.worker = Worker(Limits(**limits))
    ended = {outcome["key"]: outcome for outcome in read_notes(Path(notes))}
    with open_journal(Path(notes)) as file:
        for task in tasks:
            if task["key"] not in ended:
                outcome = ended[task["key"]] = worker.do(Task(**task))
                file.write(json.dumps(outcome, allow_nan=False).encode() + b"\n")
    return [ended[task["key"]] for task in tasks]


def read_notes(path: Path) -> list[dict[str, Any]]:
    """What a chunk has done; a line that a crash cut off is passed over."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


class DaskCluster:
    """Workers of a Dask cluster; keeps the contract of `batch.run.Engine`."""

    def __init__(self, address: str, folder: Path, limits: Limits, workers: int = 2) -> None:
        """Connect to a scheduler ("tcp://host:8786"), or start one with some workers here ("local")."""
        try:
            import distributed
        except ImportError as error:
            raise MissingExtraError("distributed", "cluster", "a batch on a cluster") from error
        self._own: Any = None
        if address == "local":
            self._own = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
            )
        try:
            self._client: Any = distributed.Client(self._own or address, timeout=20, set_as_default=False)
        except (OSError, ValueError) as error:
            raise FormatError(f"cannot reach the scheduler: {error}", path=address) from error
        self._folder, self._limits = folder / PARTS, {"seconds": limits.seconds, "memory": limits.memory}
        self._threads = max(sum(self._client.nthreads().values()), 1)
        self.capacity = LARGEST * self._threads * (1 + AHEAD)
        self._waiting: deque[Task] = deque()
        self._ended: deque[dict[str, Any]] = deque()
        self._chunks: dict[Any, tuple[list[Task], Path]] = {}
        self._finished = distributed.as_completed(loop=self._client.loop)
        self._clip_seconds = WORK

    def submit(self, task: Task) -> None:
        """Take a task; it goes out with the next chunk."""
        self._waiting.append(task)

    def next(self) -> dict[str, Any]:
        """The outcome of a task that has ended."""
        while not self._ended:
            self._send()
            future = next(self._finished)
            self._receive(future)
        return self._ended.popleft()

    def _send(self) -> None:
        size = int(min(max(WORK / max(self._clip_seconds, 1e-3), 1), LARGEST))
        while self._waiting and len(self._chunks) < self._threads * (1 + AHEAD):
            tasks = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
            notes = self._folder / f"{uuid.uuid4().hex}.jsonl"
            future = self._client.submit(
                perform_chunk, [task.to_dict() for task in tasks], self._limits, str(notes), pure=False
            )
            self._chunks[future.key] = (tasks, notes)
            self._finished.add(future)

    def _receive(self, future: Any) -> None:
        tasks, notes = self._chunks.pop(future.key)
        if future.status == "finished":
            outcomes = future.result()
        else:
            # the chunk itself could not be done, as when its workers were killed again and again
            ended = {outcome["key"]: outcome for outcome in read_notes(notes)}
            reason = " ".join(f"the cluster gave it up: {future.exception()}".split())[:500]
            outcomes = [
                ended.get(task.key, {"key": task.key, "status": "failed", "reason": reason, "seconds": 0.0})
                for task in tasks
            ]
        future.release()
        taken = sum(outcome["seconds"] for outcome in outcomes) / len(outcomes)
        self._clip_seconds += 0.5 * (taken - self._clip_seconds)
        self._ended.extend(outcomes)
        notes.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the cluster; one that was started here is stopped."""
        for future in list(self._finished.futures):
            future.cancel()
        self._client.close()
        if self._own is not None:
            self._own.close()
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)


def left_behind(folder: Path) -> list[dict[str, Any]]:
    """What chunks had done when their driver was killed; their files are removed."""
    found = []
    for path in sorted((folder / PARTS).glob("*.jsonl")):
        # a worker may still be at it: what it has done since is done again, no more
        found += read_notes(path)
        path.unlink(missing_ok=True)
    return found
