"""What commands cost is theirs alone, with all that they started."""

from __future__ import annotations

import os
import sys

import pytest

from tests.bench.measure import Cost, cost_of

MB = 1024 * 1024
# Leaves a process behind that takes 200 MB and outlives it.
LEAVES_ANOTHER = """
import subprocess, sys
waits_and_fills = "import sys; sys.stdin.read(); bytearray(b'x') * (200 * 1024 * 1024)"
subprocess.Popen([sys.executable, "-c", waits_and_fills], stdin=subprocess.PIPE)
"""


def cost(*programs: str) -> Cost:
    return cost_of([[sys.executable, "-c", one] for one in programs], os.environ)


def test_the_memory_of_who_measures_is_not_counted() -> None:
    ours = bytearray(b"x") * (500 * MB)
    theirs = cost("pass").memory
    assert theirs < 250, f"MB, beside {len(ours)} bytes of ours"


def test_a_process_that_a_command_leaves_behind_is_waited_for_and_counted() -> None:
    assert cost("pass", LEAVES_ANOTHER).memory > 200


def test_a_command_that_fails_is_named_with_what_it_said() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)ended with 3.*too late"):
        cost("import sys; print('too late', file=sys.stderr); sys.exit(3)")
