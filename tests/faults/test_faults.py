"""A fault at a few system calls of each step, and a short proof that a bad step is found out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.case import Seen, State, place_of
from tests.faults.cases import CASES
from tests.support.processes import child
from tidemill.contract.project import REPOSITORY

# Plays a case whose step writes a file without care, torn at just that file.
CARELESS = """
import sys
from pathlib import Path
from tests.faults.case import Case
from tests.faults.cases import CASES
from tests.faults.library import Fault
from tests.faults.point import Stage

def publish_and_tell(history):
    report = history.publish("again")
    told = history.home / "told"
    if not told.exists():
        told.write_text("something new")
    return report

first = CASES["first"]
case = Case(
    first.build,
    first.states,
    step=publish_and_tell,
    more=first.more,
    rest=lambda history: (history.home / "told").read_text(),
)
stage = Stage(Path(sys.argv[1]), case)
(write,) = [
    number
    for number, call in enumerate(stage.unharmed.calls, 1)
    if call.startswith("write ") and call.endswith("/told")
]
print(*stage.play(write, Fault[sys.argv[2]]).problems, sep="\\n")
"""


@pytest.mark.usefixtures("with_faults")
def test_a_fault_at_a_few_calls_of_each_step_loses_nothing() -> None:
    command = [sys.executable, "-m", "tests.faults", "--sample", "2"]
    played = subprocess.run(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    print(played.stdout)
    assert played.returncode == 0, played.stdout
    said = [line.split(":")[0] for line in played.stdout.splitlines() if line[0] != " "]
    assert said[:-1] == [*CASES]
    assert f"{2 * len(CASES)} faults" in said[-1]


@pytest.mark.parametrize(
    ("fault", "problem"), [("TEAR", "left someth and not something new"), ("KILL", "left  and")]
)
def test_a_step_that_does_not_bear_a_fault_is_found_out(
    tmp_path: Path, with_faults: dict[str, str], fault: str, problem: str
) -> None:
    with child(CARELESS, tmp_path, fault, environ=with_faults) as process:
        said, _ = process.communicate()
    assert said.startswith(problem), said


STATES: list[State] = [(["1", "2"], ["a", "x"]), (["1", "20"], ["n"])]


@pytest.mark.parametrize(
    ("good", "rejected", "listed", "place"),
    [
        (["1", "2"], ["a", "x"], None, 0),
        # The new rejected rows first, the replaced ones last.
        (["1", "2"], ["a", "n", "x"], None, 0),
        (["1", "20"], ["a", "n", "x"], None, 1),
        (["1", "20"], ["n"], None, 1),
        # The lists come after the table.
        (["1", "20"], ["n"], ["1", "2"], 1),
        (["1", "2"], ["a", "x"], ["1", "20"], None),
        # A row in neither, a row twice, half an event.
        (["1", "2"], ["n"], None, None),
        (["1", "20"], [], None, None),
        (["1", "1", "20"], ["n"], None, None),
        (["1"], ["n"], None, None),
    ],
)
def test_a_reader_sees_a_state_of_the_journal_and_no_row_in_neither_table(
    good: list[str], rejected: list[str], listed: list[str] | None, place: int | None
) -> None:
    assert place_of(Seen(good, rejected, listed), STATES) == place
