"""A rebuild that was held, released, and lost its race: the next run computes it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.pipelines.json_pipeline import SUITE, JsonPipeline
from tests.support.pipelines.recompute_requests import ask
from tidemill.contract.report import Outcome
from tidemill.increments.increment import State
from tidemill.increments.snapshot import Snapshot
from tidemill.steps.decisions.release import release

# Each file holds one key, and the whole table several.
ONE_KEY = {
    "type": "expect_column_unique_value_count_to_be_between",
    "kwargs": {"column": "k", "min_value": 1, "max_value": 1},
    "severity": "critical",
    "meta": {},
}
TRANSFORM = "def transform(rows):\n    return rows\n"


def test_the_next_run_computes_it_again_and_a_person_decides_about_what_came_of_it(
    tmp_path: Path, spark: object
) -> None:
    suite: dict[str, Any] = {**SUITE, "expectations": [ONE_KEY]}
    flow = JsonPipeline(
        tmp_path, {"rows": "k string, n int"}, {}, TRANSFORM.format(factor=1), suite
    )
    for number, key in enumerate("ab"):
        flow.arrive("rows", key, [{"k": key, "n": number}])
        flow.go(f"run-{key}")
    assert ask(flow, "rebuild", "rebuild")["gate"].outcome is Outcome.HELD
    flow.arrive("rows", "c", [{"k": "c", "n": 2}])
    flow.go("run-c")
    (held,) = [one for one in Snapshot(flow.layout).increments if one.state is State.HELD]

    def let_out(number: int, run_id: str) -> None:
        release(flow.pipeline, number, by="ada", reason="several keys are right", run_id=run_id)

    let_out(held.number, "release-1")
    # Nothing new has arrived: the run does what the release waits for, and its rows are judged.
    reports = flow.run("next")
    assert reports["doctor"].outcome is Outcome.DONE
    assert reports["publish"].outcome is Outcome.HELD
    snapshot = Snapshot(flow.layout)
    assert snapshot.get(held.number).state is State.SUPERSEDED
    (again,) = [one for one in snapshot.increments if one.state is State.HELD]
    assert again.sealed.rows == 3
    let_out(again.number, "release-2")
    assert flow.run("last")["publish"].outcome is Outcome.DONE
    assert [event.kind for event in Snapshot(flow.layout).events][-1] == "replace"
    assert flow.published("k", "n") == [("a", 0), ("b", 1), ("c", 2)]
