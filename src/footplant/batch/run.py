"""The driver of a batch: plans, distributes tasks, keeps the ledger, and continues whatever happens to a clip."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

from footplant.atomic import is_disk_full, open_atomic, sweep_parts
from footplant.batch.cluster import recover_outcomes
from footplant.batch.jobs import HASH, Task
from footplant.batch.ledger import Ledger
from footplant.batch.plan import Batch, Entry
from footplant.batch.remote import stamp_of
from footplant.batch.settings import SETTINGS
from footplant.batch.worker import Limits, Worker
from footplant.errors import FormatError
from footplant.io import SAMPLE


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
            if not self._compiled.is_set() and task.job != HASH:
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


FULL = "no space left; make room and continue with --resume: everything that is done is kept"

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
    if ledger.path.exists():
        # the process that wrote here before was killed, or has ended
        sweep_parts(batch.folder)
    ledger.open()
    driver = _Driver(batch, engine, ledger, summary, retry_failed, progress or (lambda summary, name: None))
    try:
        driver.run()
    except (OSError, FormatError) as error:
        if is_disk_full(error):
            raise FormatError(FULL, path=batch.folder) from error
        raise
    finally:
        with contextlib.suppress(OSError, FormatError):
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
        self.waiting = iter(batch.entries)
        self.unhashed: list[Entry] = []
        """Inputs that a worker must hash, until there are enough for a task."""
        self.hashing: dict[str, list[Entry]] = {}
        """Key of a submitted hash task → its inputs."""
        self.hashed: deque[tuple[Entry, tuple[tuple[Any, ...], str]]] = deque()
        """Inputs that workers have hashed, with stamp and hash."""
        self.hash_tasks = 0

    def run(self) -> None:
        """Submit tasks and record outcomes until nothing is left."""
        while True:
            while len(self.pending) + len(self.hashing) < self.engine.capacity:
                task = self._next_task()
                if task is None:
                    break
                self.engine.submit(task)
            if not self.pending and not self.hashing:
                return
            outcome = self.engine.next()
            if outcome["key"] in self.hashing:
                self._end_hashing(outcome)
            else:
                self._end(outcome)

    def _next_task(self) -> Task | None:
        """Return the next task for the engine: work on a clip, or inputs to hash; None if there is none now."""
        while True:
            if self.hashed:
                entry, digest = self.hashed.popleft()
                if (task := self._needed(entry, digest)) is not None:
                    return task
                continue
            entry = next(self.waiting, None)
            if entry is None:
                return self._hash_task(self.unhashed) if self.unhashed else None
            try:
                known = self._known_digest(entry)
            except FormatError as error:
                self._fail(_facts(entry), str(error))
                continue
            if known is None:
                self.unhashed.append(entry)
                if len(self.unhashed) >= SETTINGS.hash_chunk:
                    return self._hash_task(self.unhashed)
            elif (task := self._needed(entry, known)) is not None:
                return task

    def _known_digest(self, entry: Entry) -> tuple[tuple[Any, ...], str] | None:
        """Return the stamp and hash of an input without reading it; None if only a worker can tell."""
        if entry.source.startswith(SAMPLE):
            return (), ""
        stamp = stamp_of(entry.source)
        known = self.ledger.known_digest(entry.source, stamp)
        return None if known is None else (stamp, known)

    def _hash_task(self, entries: list[Entry]) -> Task:
        """Return a task that hashes inputs."""
        self.hash_tasks += 1
        key = f"{HASH}-{self.hash_tasks}"
        self.hashing[key] = entries
        if entries is self.unhashed:
            self.unhashed = []
        sources = list(dict.fromkeys(entry.source for entry in entries))
        return Task(key, HASH, sources[0], parameters={"sources": sources})

    def _end_hashing(self, outcome: dict[str, Any]) -> None:
        """Take the hashes of inputs; what costs a worker its life or its time is tried alone."""
        entries = self.hashing.pop(outcome["key"])
        if outcome["status"] == "failed" and len(entries) > 1:
            for entry in entries:
                self.engine.submit(self._hash_task([entry]))
            return
        digests = outcome.get("digests", {})
        for entry in entries:
            found = digests.get(entry.source, outcome)
            if "hash" in found:
                self.hashed.append((entry, (tuple(found["stamp"]), found["hash"])))
            else:
                self._fail(_facts(entry), found["reason"])

    def _needed(self, entry: Entry, digest: tuple[tuple[Any, ...], str]) -> Task | None:
        """Return the task of an entry unless the ledger has it; the same work on the same bytes is submitted once."""
        try:
            task, facts = self.batch.task(entry, self.ledger, digest)
        except (OSError, FormatError) as error:
            self._fail(_facts(entry), getattr(error, "strerror", None) or str(error))
            return None
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
            if recovered is None or not (task.out is None or Path(task.out).exists()):
                return task
            self._end(recovered)
        return None

    def _end(self, outcome: dict[str, Any]) -> None:
        """Record a task that has ended, and the inputs that are identical to its own."""
        if outcome.get("full"):
            raise FormatError(FULL, path=self.batch.folder)
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


def _facts(entry: Entry) -> dict[str, Any]:
    """Return what is recorded about an input that cannot be read."""
    return {"source": entry.source, "character": entry.character, "key": ""}


def worst_first(ledger: Ledger, most: int, measure: str = "worst_drift") -> list[dict[str, Any]]:
    """Return the records of at most `most` clips that were done, those with the largest measure first."""
    done = (record for record in ledger.records.values() if record["status"] == "done")
    return nlargest(most, done, key=lambda record: (record.get("after") or {}).get(measure) or 0.0)


def result_of(batch: Path, record: dict[str, Any]) -> str:
    """Return the file that shows a record's motion: the result, or the input of jobs that write no motion."""
    out = record.get("out")
    return str(batch / out) if out and not out.endswith(".json") else record["source"]
