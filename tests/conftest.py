"""Shared by all tests: where the real clips and characters are, signals, and a guard against processes left over."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from real_clips import DATA, SHARED
from thorough import THOROUGH, thorough

# workers and their child processes use all cores already: more threads of BLAS would wait for each other
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# a run that decides whether a change is good must not depend on luck; a thorough run tries new examples every time.
# No deadline: what is called first may have to be compiled
settings.register_profile("footplant", derandomize=not THOROUGH, deadline=None, max_examples=thorough(30, 300))
settings.load_profile("footplant")

# a job of a shell in the background (nohup … &) ignores SIGINT, and so would every process that the tests start
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED_DATA = DATA
SLOWEST = Path(__file__).with_name("slowest.txt").read_text().split()
"""Files by how long they take, longest first; of those that are not listed, none takes more than five seconds."""
GRACE = 5.0
"""Seconds that the processes of a test may take to end after it."""


def shared_data(*parts: str) -> Path:
    """A path in the folder of real clips and characters: shared/data beside the repository, else those of packages."""
    return SHARED_DATA.joinpath(*parts)


def shared_files(pattern: str) -> list[Path]:
    """Files of that folder by pattern, sorted; empty when the folder is absent."""
    return sorted(SHARED_DATA.glob(pattern)) if SHARED_DATA.is_dir() else []


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real clips and characters; skips the test where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("no real clips: neither shared/data beside the repository nor those of tests/real_clips.py")
    return SHARED_DATA


@pytest.fixture
def coarse_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Markers are calibrated on 24 frames instead of 96, but in a thorough run."""
    from footplant.optical import calibration

    frames = thorough(24, calibration.CALIBRATION.frames)
    monkeypatch.setattr(calibration, "CALIBRATION", replace(calibration.CALIBRATION, frames=frames))


@pytest.fixture
def coarse_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample motions at 30 frames per second instead of 120, but in a thorough run: for tests of what runs at all."""
    from footplant import Clip, samples

    def load_coarsely(name: str, load=samples.load) -> Clip:
        clip = load(name)
        return replace(clip, motion=clip.motion.resample(30.0))

    if not THOROUGH:
        monkeypatch.setattr(samples, "load", load_coarsely)


@pytest.fixture
def batches_work_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are performed in this process, but in a thorough run: a worker loads everything once more.

    For tests of what a batch makes; how it treats its workers is tested in test_batch.py.
    """
    from footplant.batch import jobs, worker

    def perform(self: worker.Worker, task: jobs.Task) -> dict:
        return json.loads(
            json.dumps(jobs.perform(jobs.Task(**json.loads(json.dumps(task.to_dict())))), allow_nan=False)
        )

    if not THOROUGH:
        monkeypatch.setattr(worker.Worker, "do", perform)


@pytest.fixture
def inner_kernels_are_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that only kernels call run as plain Python where a test calls them, but in a thorough run.

    Nothing else calls them from Python, so that no cache has them: compiling each takes a second and more. Kernels that
    Python calls are compiled, with all that they call.
    """
    from footplant.kernels.dispatcher import Kernel
    from interpreted import interpreted

    def choose(self: Kernel, *args: object, compile_for=Kernel._compile_for_args, **names: object) -> object:
        return interpreted(self) if self.is_inner else compile_for(self, *args, **names)

    if not THOROUGH:
        monkeypatch.setattr(Kernel, "_compile_for_args", choose)


def pytest_report_header() -> str:
    if not SHARED_DATA.is_dir():
        return "real clips: none (python tests/real_clips.py takes some from public packages)"
    files = sum(path.is_file() for path in SHARED_DATA.rglob("[!.]*"))
    partly = "" if SHARED_DATA == SHARED else "; cases about other named files are left out"
    return f"real clips: {files} files in {SHARED_DATA}{partly}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="of files that mark some tests as quick, run only those")


def pytest_configure(config: pytest.Config) -> None:
    # files are handed to workers in the order of slowest.txt, not by their number of tests
    config.option.loadscopereorder = False
    config.addinivalue_line("markers", "quick: with --quick, only the tests of a file that have this mark are run")
    config.addinivalue_line("markers", "drawn: the scenes of the test's page are drawn, not only in a thorough run")
    config.addinivalue_line(
        "markers", "named(*paths): the case is about these files of the real clips; without them there is no such case"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases about named files that are absent, and lists of real files that are empty; heed --quick.

    The slowest files come first, so that no worker is left with one of them when the others have finished.
    """
    order = {name: number for number, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))
    left = [item for item in items if _is_about_absent_files(item)]
    if config.getoption("quick"):
        chosen = {item.path for item in items if item.get_closest_marker("quick")}
        left += [item for item in items if item.path in chosen and not item.get_closest_marker("quick")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def _is_about_absent_files(item: pytest.Item) -> bool:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    names = [name.format(**parameters) for marker in item.iter_markers("named") for name in marker.args]
    if any(not name.startswith("sample:") and not shared_data(name).exists() for name in names):
        return True
    reasons = [marker.kwargs.get("reason", "") for marker in item.iter_markers("skip")]
    return any(reason.startswith("got empty parameter set") for reason in reasons)


# processes

_TASKS = Path("/proc/self/task")


def _children(tasks: Path = _TASKS, known: frozenset[int] = frozenset()) -> set[int]:
    """Ids of the child processes that are alive, and of theirs; empty where the system does not tell.

    known: processes that are left out together with theirs.
    """
    found: set[int] = set()
    try:
        entries = list(tasks.iterdir())
    except OSError:
        return found
    for task in entries:
        try:
            numbers = (task / "children").read_text().split()
        except OSError:
            continue
        for number in map(int, numbers):
            if number not in known and _is_alive(number):
                found |= {number} | _children(Path(f"/proc/{number}/task"), known)
    return found


def _is_alive(number: int) -> bool:
    """Whether a process runs; one that has ended and waits to be asked for its result (Z) does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _command(number: int) -> str:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def _is_left_over(number: int) -> bool:
    """Python's own helper, which lives as long as the interpreter, may stay."""
    return "multiprocessing.resource_tracker" not in _command(number) and _is_alive(number)


@pytest.fixture(autouse=True)
def no_process_is_left_over() -> Iterator[None]:
    """Fail the test that leaves a process running, and end that process, so that no other test suffers from it.

    Processes of fixtures with a wider scope are there before the test and may stay. They may start processes of their
    own whenever they like: a browser starts services on demand.
    """
    before = frozenset(_children())
    yield
    ends = time.monotonic() + GRACE
    while left := [number for number in _children(known=before) if _is_left_over(number)]:
        if time.monotonic() > ends:
            commands = [_command(number)[:200] for number in left]
            for number in left:
                os.kill(number, signal.SIGKILL)
            pytest.fail(f"processes are left over: {commands}")
        time.sleep(0.02)
