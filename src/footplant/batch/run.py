"""The driver of a batch: plans, distributes tasks, keeps the ledger, and continues whatever happens to a clip."""

from __future__ import annotations

import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from footplant.atomic import open_atomic
from footplant.batch.cluster import recover_outcomes
from footplant.batch.jobs import Task
from footplant.batch.ledger import Ledger
from footplant.batch.plan import Batch
from footplant.batch.settings import SETTINGS
from footplant.batch.worker import Limits, Worker
from footplant.errors import FormatError


class Engine(Protocol):
    """What performs tasks: local processes, or a cluster."""

    capacity: int
    """Maximum tasks held at a time."""

    def submit(self, task: Task) -> None:
        """Queue a task; tasks end in any order."""
        ...

    def next(self) -> dict[str, Any]:
        """Wait for a task to end and return its outcome."""
        ...

    def close(self) -> None:
        """Stop, even if tasks are running."""
        ...


class LocalPool:
    """Local worker processes, each supervised by a thread."""

    def __init__(self, workers: int, limits: Limits) -> None:
        """Create the workers; their processes start on first use."""
        self.capacity = SETTINGS.local_queue * workers
        self.workers = [Worker(limits) for _ in range(workers)]
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._outcomes: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._first = threading.Lock()
        self._compiled = threading.Event()
        for worker in self.workers:
            threading.Thread(target=self._work, args=(worker,), daemon=True, name="footplant-batch").start()

    def _work(self, worker: Worker) -> None:
        """Perform tasks with one worker until the queue ends."""
        while (task := self._tasks.get()) is not None:
            if not self._compiled.is_set():
                # the first clip alone compiles the kernels of the job; the others load them from the cache
                with self._first:
                    outcome = worker.do(task)
                    if outcome["status"] == "done":
                        self._compiled.set()
            else:
                outcome = worker.do(task)
            self._outcomes.put(outcome)

    def submit(self, task: Task) -> None:
        """Queue a task."""
        self._tasks.put(task)

    def next(self) -> dict[str, Any]:
        """Wait for a task to end and return its outcome."""
        return self._outcomes.get()

    def close(self) -> None:
        """Stop every worker."""
        for _ in self.workers:
            self._tasks.put(None)
        for worker in self.workers:
            worker.stop()


@dataclass
class Summary:
    """The result of a batch."""

    total: int
    """Clips in the batch."""
    done: int = 0
    """Done in this run."""
    kept: int = 0
    """Done before, according to the ledger."""
    same: int = 0
    """Identical to another input; its result was copied."""
    failed: int = 0
    """Failed, in this run or before."""
    frames: int = 0
    """Frames done in this run."""
    work: float = 0.0
    """Total working time of all workers, seconds."""
    seconds: float = 0.0
    """Elapsed time, seconds."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Clip → why it failed."""

    @property
    def ended(self) -> int:
        """Clips that need no more work."""
        return self.done + self.kept + self.same + self.failed


ProgressCallback = Callable[[Summary, str], None]
"""Called with the summary so far and the source of each clip that has ended."""


def run(
    batch: Batch,
    engine: Engine,
    *,
    resume: bool = False,
    retry_failed: bool = False,
    progress: ProgressCallback | None = None,
) -> Summary:
    """Run a batch and keep its ledger; `progress` is called for each clip that has ended.

    resume: continue in a folder that has a ledger. retry_failed: try again what failed before.
    """
    ledger = Ledger(batch.folder)
    if ledger.path.exists() and not (resume or retry_failed):
        raise FormatError("a batch was started here; add --resume to continue it, or use another folder",
                          path=batch.folder)  # fmt: skip
    started = time.perf_counter()
    summary = Summary(len(batch.entries))
    ledger.open()
    driver = _Driver(batch, engine, ledger, summary, retry_failed, progress or (lambda summary, name: None))
    try:
        driver.run()
    finally:
        ledger.write_failures()
        ledger.close()
        summary.seconds = time.perf_counter() - started
    return summary


class _Driver:
    """The loop of `run` and its state."""

    def __init__(
        self,
        batch: Batch,
        engine: Engine,
        ledger: Ledger,
        summary: Summary,
        retry_failed: bool,
        progress: ProgressCallback,
    ) -> None:
        self.batch, self.engine, self.ledger, self.summary = batch, engine, ledger, summary
        self.retry_failed, self.progress = retry_failed, progress
        self.pending: dict[str, deque[dict[str, Any]]] = {}
        """Key of a submitted task → facts about all inputs that it covers."""
        self.recovered = {outcome["key"]: outcome for outcome in recover_outcomes(batch.folder)}

    def run(self) -> None:
        """Submit tasks and record outcomes until nothing is left."""
        waiting = self._needed()
        exhausted = False
        while True:
            while not exhausted and len(self.pending) < self.engine.capacity:
                task = next(waiting, None)
                if task is None:
                    exhausted = True
                else:
                    self.engine.submit(task)
            if not self.pending:
                return
            self._end(self.engine.next())

    def _needed(self) -> Iterator[Task]:
        """Yield tasks that are not in the ledger; the same work on the same bytes is submitted once."""
        for entry in self.batch.entries:
            try:
                task, facts = self.batch.task(entry, self.ledger)
            except OSError as error:
                self._fail({"source": entry.source, "character": entry.character, "key": ""}, error.strerror or "")
                continue
            state = self.ledger.state(task.key, entry.source)
            if state == "done":
                self.summary.kept += 1
                self.progress(self.summary, entry.source)
            elif state == "failed" and not self.retry_failed:
                self._fail(facts, self.ledger.records[task.key, entry.source]["reason"], keep=False)
            elif task.key in self.pending:
                self.pending[task.key].append(facts)
            elif (duplicate := self.ledger.duplicate(task.key)) is not None:
                self._copy(facts, duplicate)
            else:
                self.pending[task.key] = deque([facts])
                recovered = self.recovered.get(task.key)
                if recovered is not None and (task.out is None or Path(task.out).exists()):
                    self._end(recovered)
                else:
                    yield task

    def _end(self, outcome: dict[str, Any]) -> None:
        """Record a task that has ended, and the inputs that are identical to its own."""
        first, *others = self.pending.pop(outcome["key"])
        if outcome["status"] == "failed":
            for facts in (first, *others):
                self._fail(facts, outcome["reason"], more=outcome)
            return
        self.summary.done += 1
        self.summary.frames += outcome.get("frames", 0)
        self.summary.work += outcome.get("seconds", 0.0)
        record = self._record(first, outcome)
        self.progress(self.summary, first["source"])
        for facts in others:
            self._copy(facts, record)

    def _record(self, facts: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
        """Append the record of a finished clip to the ledger and return it."""
        record = outcome | facts
        if facts["out"] is not None:
            record["size"] = (self.batch.folder / facts["out"]).stat().st_size
        self.ledger.append(record)
        return record

    def _copy(self, facts: dict[str, Any], duplicate: dict[str, Any]) -> None:
        """Copy the result of an identical input to this input's own result."""
        if facts["out"] is not None and facts["out"] != duplicate["out"]:
            target = self.batch.folder / facts["out"]
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(self.batch.folder / duplicate["out"], "rb") as source, open_atomic(target) as file:
                shutil.copyfileobj(source, file)
        self._record(facts, duplicate | {"same": duplicate["source"]})
        self.summary.same += 1
        self.progress(self.summary, facts["source"])

    def _fail(
        self, facts: dict[str, Any], reason: str, *, keep: bool = True, more: dict[str, Any] | None = None
    ) -> None:
        self.summary.failed += 1
        name = facts["source"] if facts["character"] is None else f"{facts['source']} → {facts['character']}"
        self.summary.reasons[name] = reason
        if keep:
            self.ledger.append((more or {}) | {"status": "failed", "reason": reason} | facts)
        self.progress(self.summary, facts["source"])


def worst_first(ledger: Ledger, measure: str = "worst_drift") -> list[dict[str, Any]]:
    """Return the records of clips that were done, those with the largest measure first."""
    done = [record for record in ledger.records.values() if record["status"] == "done"]
    return sorted(done, key=lambda record: -((record.get("after") or {}).get(measure) or 0.0))


def result_of(batch: Path, record: dict[str, Any]) -> str:
    """Return the file that shows a record's motion: the result, or the input of jobs that write no motion."""
    out = record.get("out")
    return str(batch / out) if out and not out.endswith(".json") else record["source"]
