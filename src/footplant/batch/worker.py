"""A worker process and what guards it: a crash, a hang or a hunger for memory costs one clip and nothing else."""

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

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""Workers share the cores among themselves; threads inside of them would only get into each other's way."""
STARTING = 120.0
"""Seconds in which a worker must have begun; importing from a slow network disk takes its time."""
TRIES = 3
"""How often a clip is begun whose worker dies: it may be killed by somebody else, but not again and again."""


@dataclass(frozen=True)
class Limits:
    """What one clip may take."""

    seconds: float = 600.0
    memory: float | None = 2048.0
    """Megabytes beyond what an idle worker has; None: no limit."""


class Died(Exception):
    """The worker process ended without an answer."""


class Worker:
    """One process of `footplant.batch.child`, started when first needed and again after it died."""

    def __init__(self, limits: Limits) -> None:
        """A worker that is not yet started."""
        self.limits = limits
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return None if self._process is None else self._process.pid

    def do(self, task: Task) -> dict[str, Any]:
        """The outcome of a task; it is begun anew, a few times, when its process is killed."""
        for attempt in range(1, TRIES + 1):
            try:
                return self._ask(task) | ({"attempts": attempt} if attempt > 1 else {})
            except TimeoutError:
                self.stop()
                reason = f"did not end within {self.limits.seconds:g} s and was stopped"
                return {"key": task.key, "status": "failed", "reason": reason, "seconds": self.limits.seconds}
            except Died as ending:
                self.stop()
                reason = f"its worker died {attempt} times: {ending}"
        return {"key": task.key, "status": "failed", "reason": reason, "attempts": TRIES, "seconds": 0.0}

    def _ask(self, task: Task) -> dict[str, Any]:
        process = self._process or self._start()
        request = json.dumps(task.to_dict() | {"memory": self.limits.memory})
        try:
            assert process.stdin is not None
            process.stdin.write(request + "\n")
            process.stdin.flush()
        except OSError:
            raise Died(self._ending()) from None
        outcome = self._next(self.limits.seconds)
        if outcome.pop("memory", False):
            # what is left of its memory may be in pieces
            self.stop()
        return outcome

    def _start(self) -> subprocess.Popen[str]:
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
        self._next(STARTING)
        return process

    def _next(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError from None
        if line is None:
            raise Died(self._ending())
        return json.loads(line)

    def _ending(self) -> str:
        """How the process ended, in a word."""
        if self._process is None:
            return "it was stopped"
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return "it closed its output"
        return next((known.name for known in signal.Signals if known.value == -code), f"exit code {code}")

    def stop(self) -> None:
        """End the process at once, if there is one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
