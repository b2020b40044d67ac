"""An erasure is killed at every fifth of its calls: the same command leaves none of the rows."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import child

# Plays the case with a kill before calls that change something, up to the publish after it. All of
# them take two minutes; with a step of 1 in place of the last 5 they are played.
KILLS = """
import sys
from pathlib import Path
from tests.faults.cases import ERASE
from tests.faults.library import Fault
from tests.faults.point import Stage

stage = Stage(Path(sys.argv[1]), ERASE)
calls = stage.unharmed.calls
publish = next(n for n, call in enumerate(calls) if call.endswith("runs/erase/publish.json"))
print("unharmed", " ".join(calls[:publish]), sep="\\t")
for number in range(1, publish + 1, 5):
    point = stage.play(number, Fault.KILL)
    print(point.ended, point.call, *point.problems, sep="\\t")
"""


def test_a_kill_costs_nothing(tmp_path: Path, with_faults: dict[str, str]) -> None:
    with child(KILLS, tmp_path, environ=with_faults) as process:
        said, _ = process.communicate()
    (_, calls), *points = [line.split("\t") for line in said.splitlines()]
    assert all(len(point) == 2 for point in points), said
    assert {ended for ended, _ in points} == {"killed"}
    for name in (
        *("erasures/000001.json", "erasures/000001.done", "-erased-000001.parquet"),
        *("ledger/live-0001/000000.json", "_spark_metadata/0", "increments/000002/sealed.json"),
        *("table/_delta_log", "rejected/_delta_log", "snappy.parquet", "checkpoint.parquet"),
    ):
        assert name in calls, name
