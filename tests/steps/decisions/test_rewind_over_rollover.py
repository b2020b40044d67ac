"""A rewind and a restore go back over a rollover, and lose or read again no file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.steps.decisions.test_rewind import back_to, rewound
from tests.steps.parts.test_roll_over import known_to_spark, probed
from tests.support.histories.rolled_history import RolledHistory, rolled_over
from tidemill.contract.report import Outcome
from tidemill.generations.verify import open_generation
from tidemill.journal.takeovers import current
from tidemill.spark_logs.source_log import read_file_source_log
from tidemill.steps.decisions.restore import restore
from tidemill.steps.decisions.snapshot import keep_snapshot
from tidemill.steps.doctor import doctor

FIRST, SECOND, THIRD = "live-0001", "live-0002", "live-0003"


@pytest.fixture
def rolled(tmp_path: Path) -> RolledHistory:
    return rolled_over(tmp_path / "pipeline")


def goes_on(history: RolledHistory, last: int) -> None:
    """The files of the batches that stay are known, and the others are read again."""
    assert doctor(history.run("next")).facts["new"] == {"orders": 4 - last}
    generation = open_generation(history.pipeline)
    assert (generation.committed, generation.ledger.latest()) == (last - 1, last - 1)
    probed(history)
    assert known_to_spark(history) == [f"f{number:04d}.csv" for number in range(last)]


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_rewind_before_and_at_the_rollover(rolled: RolledHistory, last: int) -> None:
    rewound(rolled, back_to(f"run-{last}"))
    assert (current(rolled.layout), rolled.ids()) == (THIRD, [*range(1, last + 1)])
    newest = read_file_source_log(rolled.checkpoint, "orders")[last - 1]
    assert [Path(file.path).name for file in newest] == [f"f{last - 1:04d}.csv"]
    goes_on(rolled, last)
    for number in (7, 8):
        assert rolled.go(number).outcome is Outcome.DONE
    assert rolled.ids() == [*range(1, last + 1), 7, 8]


def test_a_snapshot_of_before_the_rollover_is_restored_after_it(tmp_path: Path) -> None:
    history = RolledHistory(tmp_path / "pipeline", more="rollover: {after_batches: 4}")
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    for number in (1, 2, 3):
        history.go(number)
    history.batch([])
    taken = keep_snapshot(history.run("keep"), "ada")
    history.judge(history.seal().increment)
    history.publish()
    assert (taken.generation, current(history.layout)) == (FIRST, SECOND)
    shutil.rmtree(history.checkpoint)
    restore(history.run("restore"), taken.number, by="ada", reason="the disk lost it")
    assert (current(history.layout), history.ids()) == (THIRD, [1, 2, 3])
    goes_on(history, 4)
    history.go(5)
    assert history.ids() == [1, 2, 3, 5]


def test_a_rewind_before_the_rollover_needs_a_checkpoint_that_remembers(
    rolled: RolledHistory,
) -> None:
    shutil.rmtree(rolled.layout.checkpoint(FIRST))
    rewound(rolled, back_to("run-2"))
    goes_on(rolled, 2)
