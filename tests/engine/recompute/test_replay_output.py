"""A replay's error reaches the person who asked, and a replay without rows writes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

from tests.support.histories.history_builder import History
from tidemill.contract.errors import Refused, TidemillError
from tidemill.engine import callback_errors
from tidemill.engine.recompute.replay_output import ReplayOutput
from tidemill.journal.recomputation import BatchRange

PLACE = BatchRange(generation="redo-3f2a9c01", first=2, last=2)
# Neither is reached: no row comes so far.
NO_SESSION: Any = None
NO_ROWS: Any = None


def output(history: History, error: Exception | None = None) -> ReplayOutput:
    def keep(rows: Any) -> Any:
        if error is not None:
            raise error
        return rows

    return ReplayOutput(NO_SESSION, history.pipeline, PLACE, history.home / "stage", keep)


def kept() -> TidemillError | None:
    return callback_errors.take(PLACE.generation)


def test_our_own_error_in_a_batch_is_kept_whole(history: History) -> None:
    error = Refused("Two rows have one key.", remedy="Make the key unique.", column="id")
    with pytest.raises(Refused):
        output(history, error)(NO_ROWS, 0)
    assert kept() is error
    assert kept() is None


def test_an_error_of_spark_in_a_batch_is_kept_as_ours(history: History) -> None:
    error = AnalysisException(errorClass="CANNOT_PARSE_DATATYPE", messageParameters={"msg": "dais"})
    with pytest.raises(AnalysisException):
        output(history, error)(NO_ROWS, 0)
    found = kept()
    assert found is not None
    assert found.data["condition"] == "CANNOT_PARSE_DATATYPE"


def test_a_replay_that_gave_out_nothing_leaves_no_sink(history: History, tmp_path: Path) -> None:
    (tmp_path / "pipeline" / "stage" / "_tidemill_batch=0").mkdir(parents=True)
    planned: Any = None
    output(history).leave(planned)
    assert not history.layout.sink(PLACE.generation).exists()
