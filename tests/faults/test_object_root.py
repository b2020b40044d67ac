"""A fault at a few writes of each step to a root in an object store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.cases import CASES_IN_BUCKET
from tidemill.contract.project import REPOSITORY


@pytest.mark.parametrize("case", CASES_IN_BUCKET)
def test_a_fault_at_a_few_writes_loses_nothing(case: str, child_jvm: Path) -> None:
    command = [sys.executable, "-m", "tests.faults", "--bucket", "--case", case, "--sample", "2"]
    played = subprocess.run(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert played.returncode == 0, played.stdout
    assert "2 faults" in played.stdout.splitlines()[-1]
