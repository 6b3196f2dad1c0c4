"""How long `import footplant` takes beyond `import numpy`, in fresh processes."""

from __future__ import annotations

import subprocess
import sys

from timing import main

MEASURE = "import time; start = time.process_time(); import {module}; print(time.process_time() - start)"


def _import_seconds(module: str, repeats: int = 7) -> float:
    command = [sys.executable, "-c", MEASURE.format(module=module)]
    runs = [subprocess.run(command, capture_output=True, check=True, text=True) for _ in range(repeats)]
    return min(float(done.stdout) for done in runs)


def run() -> dict[str, float]:
    """CPU seconds of `import numpy`, of `import footplant`, and how much more the second one takes."""
    numpy_alone, footplant = _import_seconds("numpy"), _import_seconds("footplant")
    return {
        "import.numpy_seconds": numpy_alone,
        "import.footplant_seconds": footplant,
        "import.seconds_beyond_numpy": footplant - numpy_alone,
    }


if __name__ == "__main__":
    main(run)
