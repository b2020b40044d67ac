"""A fault at calls of an erasure: the same command leaves none of the rows, and all others."""

from __future__ import annotations

from pathlib import Path

from tests.faults.__main__ import KINDS
from tests.support.processes import child

# Plays the case up to the publish after it: a kill before every tenth call, other faults at every
# thirtieth, and a power cut before the content of the files that are written again is on the disk.
# All of them take eight minutes; with steps of 1 they are played.
FAULTS = """
import re
import sys
from pathlib import Path
from tests.faults.__main__ import KINDS, can_hit
from tests.faults import cases
from tests.faults.library import Fault
from tests.faults.point import Stage

SYNCED = re.compile(r"fsync .*(-erased-000001|checkpoint)\\.parquet")
stage, every = Stage(Path(sys.argv[1]), getattr(cases, sys.argv[2])), int(sys.argv[3])
calls = stage.unharmed.calls
publish = next(n for n, call in enumerate(calls) if call.endswith("runs/erase/publish.json"))
print("unharmed", " ".join(calls[:publish]), sep="\\t")
for place, fault in enumerate(KINDS.values()):
    can = [n for n in range(1, publish + 1) if can_hit(fault, calls[n - 1])]
    points = {*can[place :: every if fault is Fault.KILL else 3 * every]}
    if fault in (Fault.POWER, Fault.POWER_NAMES):
        points |= {n for n in can if SYNCED.fullmatch(calls[n - 1])}
    for number in sorted(points):
        point = stage.play(number, fault)
        print(fault.title, point.call, *point.problems, sep="\\t")
"""


def played(
    home: Path, environ: dict[str, str], case: str, every: int
) -> tuple[str, list[list[str]]]:
    """The calls of a case without a fault, and what each fault came to."""
    with child(FAULTS, home, case, str(every), environ=environ) as process:
        said, _ = process.communicate()
    (_, calls), *points = [line.split("\t") for line in said.splitlines()]
    assert all(len(point) == 2 for point in points), said
    return calls, points


def test_a_fault_costs_nothing(tmp_path: Path, with_faults: dict[str, str]) -> None:
    calls, points = played(tmp_path, with_faults, "ERASE", 10)
    assert {fault for fault, _ in points} == {*KINDS}
    for name in (
        *("erasures/000001.json", "erasures/000001.done", "-erased-000001.parquet"),
        *("ledger/live-0001/000000.json", "_spark_metadata/0", "increments/000002/sealed.json"),
        *("table/_delta_log", "rejected/_delta_log", "snappy.parquet", "checkpoint.parquet"),
    ):
        assert name in calls, name


def test_a_fault_in_what_follows_a_rebuild_costs_nothing(
    tmp_path: Path, with_faults: dict[str, str]
) -> None:
    calls, points = played(tmp_path, with_faults, "ERASE_AGAIN", 30)
    assert {fault for fault, _ in points} == {*KINDS}
    for name in (
        *("erasures/000001.done", "journal/000002.json", "generations/000001.json"),
        *("table/_delta_log", "rejected/_delta_log", "snappy.parquet", "checkpoint.parquet"),
        "checkpoints/live-0001/offsets",
    ):
        assert name in calls, name
