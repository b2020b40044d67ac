"""Fixtures for tests that preload a library."""

from __future__ import annotations

import os

import pytest

from tests.faults.library import FAULTS, NoCompiler, preloading


@pytest.fixture(scope="session")
def with_faults() -> dict[str, str]:
    """The variables of a process whose system calls can be made to fail.

    Without a C compiler the test is skipped, but never where CI runs it.
    """
    try:
        return preloading(FAULTS)
    except NoCompiler as reason:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(reason))
