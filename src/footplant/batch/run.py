"""The driver of a batch: it plans, hands out work, keeps the ledger, and goes on whatever happens to a clip."""

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

from footplant.batch.cluster import left_behind
from footplant.batch.jobs import Task
from footplant.batch.ledger import Ledger
from footplant.batch.plan import Batch
from footplant.batch.worker import Limits, Worker
from footplant.errors import FormatError
from footplant.io.atomic import open_atomic

AHEAD = 4
"""Tasks that wait for each worker, so that none waits for the driver."""


class Engine(Protocol):
    """Who does tasks: processes of this machine, or a cluster."""

    capacity: int
    """Tasks that it may hold at a time."""

    def submit(self, task: Task) -> None:
        """Take a task; it ends some time, in any order."""
        ...

    def next(self) -> dict[str, Any]:
        """The outcome of a task that has ended; waits for one."""
        ...

    def close(self) -> None:
        """End, also in the middle of work."""
        ...


class LocalPool:
    """Worker processes of this machine, each guarded by a thread."""

    def __init__(self, workers: int, limits: Limits) -> None:
        """So many workers, started when they have something to do."""
        self.capacity = AHEAD * workers
        self.workers = [Worker(limits) for _ in range(workers)]
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._outcomes: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._first = threading.Lock()
        self._compiled = threading.Event()
        for worker in self.workers:
            threading.Thread(target=self._work, args=(worker,), daemon=True, name="footplant-batch").start()

    def _work(self, worker: Worker) -> None:
        while (task := self._tasks.get()) is not None:
            if not self._compiled.is_set():
                # the first clip compiles what the job needs, once; the others find it in the cache
                with self._first:
                    outcome = worker.do(task)
                    if outcome["status"] == "done":
                        self._compiled.set()
            else:
                outcome = worker.do(task)
            self._outcomes.put(outcome)

    def submit(self, task: Task) -> None:
        """Take a task."""
        self._tasks.put(task)

    def next(self) -> dict[str, Any]:
        """The outcome of a task that has ended."""
        return self._outcomes.get()

    def close(self) -> None:
        """Stop every worker."""
        for _ in self.workers:
            self._tasks.put(None)
        for worker in self.workers:
            worker.stop()


@dataclass
class Summary:
    """How a batch went."""

    total: int
    """Clips that it is about."""
    done: int = 0
    """Done now."""
    kept: int = 0
    """Done before, by the ledger."""
    same: int = 0
    """Equal to another input; its result was copied."""
    failed: int = 0
    """Could not be done, now or before."""
    frames: int = 0
    """Frames of what was done now."""
    work: float = 0.0
    """Seconds that workers worked, added up."""
    seconds: float = 0.0
    """Seconds that passed."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why each clip failed that did."""

    @property
    def ended(self) -> int:
        """Clips that need no more work."""
        return self.done + self.kept + self.same + self.failed


Told = Callable[[Summary, str], None]


def run(
    batch: Batch,
    engine: Engine,
    *,
    resume: bool = False,
    retry_failed: bool = False,
    told: Told | None = None,
) -> Summary:
    """Do a batch and keep its ledger; `told` hears of each clip that has ended.

    resume: go on with a folder that has a ledger. retry_failed: try again what could not be done before.
    """
    ledger = Ledger(batch.folder)
    if ledger.path.exists() and not (resume or retry_failed):
        raise FormatError("a batch was begun here; add --resume to go on with it, or take another folder",
                          path=batch.folder)  # fmt: skip
    started = time.perf_counter()
    summary = Summary(len(batch.entries))
    ledger.open()
    driver = _Driver(batch, engine, ledger, summary, retry_failed, told or (lambda summary, name: None))
    try:
        driver.drive()
    finally:
        ledger.write_failures()
        ledger.close()
        summary.seconds = time.perf_counter() - started
    return summary


class _Driver:
    """The loop of `run`, with what it keeps between two clips."""

    def __init__(
        self, batch: Batch, engine: Engine, ledger: Ledger, summary: Summary, retry_failed: bool, told: Told
    ) -> None:
        self.batch, self.engine, self.ledger, self.summary = batch, engine, ledger, summary
        self.retry_failed, self.told = retry_failed, told
        self.flying: dict[str, deque[dict[str, Any]]] = {}
        self.earlier = {outcome["key"]: outcome for outcome in left_behind(batch.folder)}

    def drive(self) -> None:
        waiting = self._needed()
        exhausted = False
        while True:
            while not exhausted and len(self.flying) < self.engine.capacity:
                task = next(waiting, None)
                if task is None:
                    exhausted = True
                else:
                    self.engine.submit(task)
            if not self.flying:
                return
            self._end(self.engine.next())

    def _needed(self) -> Iterator[Task]:
        """Tasks that the ledger does not hold yet; the same work on the same bytes is asked for once."""
        for entry in self.batch.entries:
            try:
                task, facts = self.batch.task(entry, self.ledger)
            except OSError as error:
                self._fail({"source": entry.source, "character": entry.character, "key": ""}, error.strerror or "")
                continue
            state = self.ledger.state(task.key, entry.source)
            if state == "done":
                self.summary.kept += 1
                self.told(self.summary, entry.source)
            elif state == "failed" and not self.retry_failed:
                self._fail(facts, self.ledger.records[task.key, entry.source]["reason"], keep=False)
            elif task.key in self.flying:
                self.flying[task.key].append(facts)
            elif (twin := self.ledger.twin(task.key)) is not None:
                self._copy(facts, twin)
            else:
                self.flying[task.key] = deque([facts])
                earlier = self.earlier.get(task.key)
                if earlier is not None and (task.out is None or Path(task.out).exists()):
                    self._end(earlier)
                else:
                    yield task

    def _end(self, outcome: dict[str, Any]) -> None:
        """A task has ended: its record, and those of the inputs that are the same."""
        first, *others = self.flying.pop(outcome["key"])
        if outcome["status"] == "failed":
            for facts in (first, *others):
                self._fail(facts, outcome["reason"], more=outcome)
            return
        self.summary.done += 1
        self.summary.frames += outcome.get("frames", 0)
        self.summary.work += outcome.get("seconds", 0.0)
        record = self._record(first, outcome)
        self.told(self.summary, first["source"])
        for facts in others:
            self._copy(facts, record)

    def _record(self, facts: dict[str, Any], outcome: dict[str, Any]) -> dict[str, Any]:
        record = outcome | facts
        if facts["out"] is not None:
            record["size"] = (self.batch.folder / facts["out"]).stat().st_size
        self.ledger.append(record)
        return record

    def _copy(self, facts: dict[str, Any], twin: dict[str, Any]) -> None:
        """The result of an equal input once more, under its own name."""
        if facts["out"] is not None and facts["out"] != twin["out"]:
            target = self.batch.folder / facts["out"]
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(self.batch.folder / twin["out"], "rb") as source, open_atomic(target) as file:
                shutil.copyfileobj(source, file)
        self._record(facts, twin | {"same": twin["source"]})
        self.summary.same += 1
        self.told(self.summary, facts["source"])

    def _fail(
        self, facts: dict[str, Any], reason: str, *, keep: bool = True, more: dict[str, Any] | None = None
    ) -> None:
        self.summary.failed += 1
        name = facts["source"] if facts["character"] is None else f"{facts['source']} → {facts['character']}"
        self.summary.reasons[name] = reason
        if keep:
            self.ledger.append((more or {}) | {"status": "failed", "reason": reason} | facts)
        self.told(self.summary, facts["source"])


def worst_first(ledger: Ledger, measure: str = "worst_drift") -> list[dict[str, Any]]:
    """Records of clips that were done, those with the largest measure first."""
    done = [record for record in ledger.records.values() if record["status"] == "done"]
    return sorted(done, key=lambda record: -((record.get("after") or {}).get(measure) or 0.0))


def result_of(batch: Path, record: dict[str, Any]) -> str:
    """The file that shows what a record speaks of: the result, or the input of jobs that write no motion."""
    out = record.get("out")
    return str(batch / out) if out and not out.endswith(".json") else record["source"]
