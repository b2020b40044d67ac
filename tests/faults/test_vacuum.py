"""Vacuum is killed at each of its removals: readers see no difference, and the next one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import child

# Plays the case with a kill before each call that removes or moves something, and after the last.
KILLS = """
import sys
from pathlib import Path
from tests.faults.cases import CASES
from tests.faults.library import Fault
from tests.faults.point import Stage

stage = Stage(Path(sys.argv[1]), CASES[sys.argv[2]])
calls = stage.unharmed.calls
(publish,) = [n for n, call in enumerate(calls) if call.endswith("runs/vacuum/publish.json")][:1]
removals = [
    number
    for number, call in enumerate(calls[:publish], 1)
    if call.split()[0] in ("unlink", "unlinkat", "rmdir", "rename", "renameat")
]
for number in removals:
    point = stage.play(number, Fault.KILL)
    print(point.ended, point.call, *point.problems, sep="\\t")
"""


@pytest.mark.parametrize(
    ("case", "names"),
    [
        (
            "vacuum",
            (".removed", "part-00000-dead", "backfill-0badc0de", "lease/000001", "notices"),
        ),
        ("vacuum-checkpoints", (".removed", "commits/0", "snapshots/000001")),
    ],
    ids=["leftovers", "checkpoints"],
)
def test_a_kill_at_any_removal_costs_nothing(
    tmp_path: Path, with_faults: dict[str, str], case: str, names: tuple[str, ...]
) -> None:
    with child(KILLS, tmp_path, case, environ=with_faults) as process:
        said, _ = process.communicate()
    points = [line.split("\t") for line in said.splitlines()]
    assert all(len(point) == 2 for point in points), said
    assert {ended for ended, _ in points} == {"killed"}
    removed = " ".join(call for _, call in points)
    for name in names:
        assert name in removed, said
