"""What a batch costs beside its work, on this machine and through Dask, and what a second worker brings."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from timing import main

EMPTY, REAL, WORKERS = 2000, 48, 2


def _seconds(library: Path, out: Path, engine, job: str) -> float:
    """How long a batch takes whose workers have started."""
    from footplant.batch import Batch, run

    try:
        # the workers start and compile with one clip each
        run(Batch("measure", ["sample:walk", "sample:kick"], out / "warm"), engine)
        batch = Batch(job, [str(library)], out / "out")
        assert batch.entries
        started = time.perf_counter()
        run(batch, engine)
        return time.perf_counter() - started
    finally:
        engine.close()


def run() -> dict[str, float]:
    """Overhead a clip, of files that are refused at once, and the gain of two workers over one, of real work."""
    from footplant import save
    from footplant.batch.run import LocalPool
    from footplant.batch.worker import Limits
    from footplant.samples import load

    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "empty").mkdir()
        for number in range(EMPTY):
            (folder / "empty" / f"{number}.bvh").write_text(f"nothing {number}")
        local = _seconds(folder / "empty", folder / "a", LocalPool(WORKERS, Limits()), "measure")
        figures["batch.local.overhead_milliseconds"] = 1000.0 * local / EMPTY
        try:
            from footplant.batch.cluster import DaskCluster

            dask = _seconds(
                folder / "empty", folder / "b", DaskCluster("local", folder / "b", Limits(), WORKERS), "measure"
            )
            figures["batch.cluster.overhead_milliseconds"] = 1000.0 * dask / EMPTY
        except ImportError:
            pass
        walk = load("walk")
        (folder / "real").mkdir()
        for number in range(REAL):
            save(folder / "real" / f"{number}.bvh", walk.motion[number : number + 300], character=walk.character)
        one, two = (
            _seconds(folder / "real", folder / f"w{count}", LocalPool(count, Limits()), "repair") for count in (1, 2)
        )
        figures["batch.two_workers_times_faster_than_one"] = one / two
    return figures


if __name__ == "__main__":
    main(run)
