"""Shared by all tests: where the real clips and characters are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# a run that decides whether a change lands must not depend on luck; elsewhere every run tries new examples
settings.register_profile("ci", derandomize=True, deadline=None)
# what is called first may have to be compiled
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(*parts: str) -> Path:
    """A path in the folder of real clips and characters beside the repository."""
    return SHARED_DATA.joinpath(*parts)


def shared_files(pattern: str) -> list[Path]:
    """Files of that folder by pattern, sorted; empty when the folder is absent."""
    return sorted(SHARED_DATA.glob(pattern)) if SHARED_DATA.is_dir() else []


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real clips and characters; skips the test where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the folder shared/data with real clips is not beside the repository")
    return SHARED_DATA
