"""A supervised worker process: a crash, a hang or excessive memory use costs one clip and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Any

from footplant.batch.jobs import Task
from footplant.batch.settings import SETTINGS

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""Environment of workers: they share the cores among themselves, so threads inside them would only compete."""


@dataclass(frozen=True)
class Limits:
    """Resource limits of one clip."""

    seconds: float = 600.0
    memory: float | None = 2048.0
    """Megabytes beyond an idle worker's; None: no limit."""


class WorkerDied(Exception):
    """The worker process ended without an answer."""


class Worker:
    """One process of `footplant.batch.child`, started on first use and restarted after it died."""

    def __init__(self, limits: Limits) -> None:
        """Create a worker; its process is not started yet."""
        self.limits = limits
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    @property
    def pid(self) -> int | None:
        """The id of the process, or None."""
        return None if self._process is None else self._process.pid

    def do(self, task: Task) -> dict[str, Any]:
        """Return the outcome of a task; the task is retried a few times if its process is killed."""
        for attempt in range(1, SETTINGS.max_attempts + 1):
            try:
                return self._ask(task) | ({"attempts": attempt} if attempt > 1 else {})
            except TimeoutError:
                self.stop()
                reason = f"did not finish within {self.limits.seconds:g} s and was stopped"
                return {"key": task.key, "status": "failed", "reason": reason, "seconds": self.limits.seconds}
            except WorkerDied as ending:
                self.stop()
                reason = f"its worker died {attempt} times: {ending}"
        attempts = SETTINGS.max_attempts
        return {"key": task.key, "status": "failed", "reason": reason, "attempts": attempts, "seconds": 0.0}

    def _ask(self, task: Task) -> dict[str, Any]:
        """Send a task to the process and wait for its outcome."""
        process = self._process or self._start()
        request = json.dumps(task.to_dict() | {"memory": self.limits.memory})
        try:
            assert process.stdin is not None
            process.stdin.write(request + "\n")
            process.stdin.flush()
        except OSError:
            raise WorkerDied(self._ending()) from None
        outcome = self._next(self.limits.seconds)
        if outcome.pop("memory", False):
            # its remaining memory may be fragmented: start a new process
            self.stop()
        return outcome

    def _start(self) -> subprocess.Popen[str]:
        """Start the process and wait until it is ready."""
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "footplant.batch.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=os.environ | ONE_THREAD,
        )
        answers = self._answers = queue.SimpleQueue()

        def listen() -> None:
            assert process.stdout is not None
            with contextlib.suppress(ValueError, OSError):
                for line in process.stdout:
                    answers.put(line)
            answers.put(None)

        threading.Thread(target=listen, daemon=True, name="footplant-worker").start()
        self._next(SETTINGS.start_timeout)
        return process

    def _next(self, seconds: float) -> dict[str, Any]:
        """Return the next answer of the process; raise TimeoutError or WorkerDied."""
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            raise WorkerDied(self._ending())
        return json.loads(line)

    def _ending(self) -> str:
        """Return how the process ended, for messages."""
        if self._process is None:
            return "it was stopped"
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        return next((known.name for known in signal.Signals if known.value == -code), f"exit code {code}")

    def stop(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
