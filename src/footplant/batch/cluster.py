"""Run a batch on a Dask cluster: any `distributed.Client` address, or a local cluster.

Tasks are sent in chunks of about a second of work, so that the scheduler's few milliseconds do not matter, and only as
many at a time as keep the workers busy: futures are released as soon as they end, so that a killed worker costs only
what it was doing. Each clip of a chunk runs in its own process beside the worker (`batch.worker`), which enforces the
limits. A chunk records its outcomes in a file in the output folder, so that a worker that takes it over does not repeat
them.
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
from footplant.batch.settings import SETTINGS
from footplant.batch.worker import Limits, Worker
from footplant.errors import FormatError, MissingExtraError

CHUNK_FOLDER = ".parts"
"""Subfolder of the batch's folder with the outcomes of unfinished chunks."""

_thread = threading.local()


def perform_chunk(tasks: list[dict[str, Any]], limits: dict[str, Any], notes: str) -> list[dict[str, Any]]:
    """Perform tasks one after another on a cluster worker; those with an outcome in the file `notes` are skipped."""
    worker: Worker | None = getattr(_thread, "worker", None)
    if worker is None or worker.limits != Limits(**limits):
        worker = _thread.worker = Worker(Limits(**limits))
    ended = {outcome["key"]: outcome for outcome in read_notes(Path(notes))}
    with open_journal(Path(notes)) as file:
        for task in tasks:
            if task["key"] not in ended:
                outcome = ended[task["key"]] = worker.do(Task(**task))
                file.write(json.dumps(outcome, allow_nan=False).encode() + b"\n")
    return [ended[task["key"]] for task in tasks]


def read_notes(path: Path) -> list[dict[str, Any]]:
    """Return the recorded outcomes of a chunk; a line truncated by a crash is skipped."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


class DaskCluster:
    """Workers of a Dask cluster; implements `batch.run.Engine`."""

    def __init__(self, address: str, folder: Path, limits: Limits, workers: int = 2) -> None:
        """Connect to a scheduler ("tcp://host:8786"), or start one with local workers ("local")."""
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
        self._folder, self._limits = folder / CHUNK_FOLDER, {"seconds": limits.seconds, "memory": limits.memory}
        self._threads = max(sum(self._client.nthreads().values()), 1)
        self.capacity = SETTINGS.max_chunk * self._threads * (1 + SETTINGS.chunk_queue)
        self._waiting: deque[Task] = deque()
        self._ended: deque[dict[str, Any]] = deque()
        self._chunks: dict[Any, tuple[list[Task], Path]] = {}
        self._finished = distributed.as_completed(loop=self._client.loop)
        self._clip_seconds = SETTINGS.chunk_seconds

    def submit(self, task: Task) -> None:
        """Queue a task; it is sent with the next chunk."""
        self._waiting.append(task)

    def next(self) -> dict[str, Any]:
        """Wait for a task to end and return its outcome."""
        while not self._ended:
            self._send()
            future = next(self._finished)
            self._receive(future)
        return self._ended.popleft()

    def _send(self) -> None:
        """Send as many chunks as keep the workers busy, sized by the recent time per clip."""
        size = int(min(max(SETTINGS.chunk_seconds / max(self._clip_seconds, 1e-3), 1), SETTINGS.max_chunk))
        while self._waiting and len(self._chunks) < self._threads * (1 + SETTINGS.chunk_queue):
            tasks = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
            notes = self._folder / f"{uuid.uuid4().hex}.jsonl"
            future = self._client.submit(
                perform_chunk, [task.to_dict() for task in tasks], self._limits, str(notes), pure=False
            )
            self._chunks[future.key] = (tasks, notes)
            self._finished.add(future)

    def _receive(self, future: Any) -> None:
        """Take the outcomes of a finished chunk."""
        tasks, notes = self._chunks.pop(future.key)
        if future.status == "finished":
            outcomes = future.result()
        else:
            # the chunk itself failed, e.g. because its workers were killed repeatedly
            ended = {outcome["key"]: outcome for outcome in read_notes(notes)}
            reason = " ".join(f"the cluster abandoned it: {future.exception()}".split())[:500]
            outcomes = [
                ended.get(task.key, {"key": task.key, "status": "failed", "reason": reason, "seconds": 0.0})
                for task in tasks
            ]
        future.release()
        taken = sum(outcome["seconds"] for outcome in outcomes) / len(outcomes)
        self._clip_seconds += SETTINGS.clip_seconds_smoothing * (taken - self._clip_seconds)
        self._ended.extend(outcomes)
        notes.unlink(missing_ok=True)

    def close(self) -> None:
        """Disconnect from the cluster; stop one that was started here."""
        for future in list(self._finished.futures):
            future.cancel()
        self._client.close()
        if self._own is not None:
            self._own.close()
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)


def recover_outcomes(folder: Path) -> list[dict[str, Any]]:
    """Return the outcomes of chunks whose driver was killed, and remove their files."""
    found = []
    for path in sorted((folder / CHUNK_FOLDER).glob("*.jsonl")):
        # a worker may still be running: at worst, what it has done since is repeated
        found += read_notes(path)
        path.unlink(missing_ok=True)
    return found
