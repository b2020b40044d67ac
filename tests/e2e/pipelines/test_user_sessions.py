"""The shipped pipeline `user_sessions` over its own sample, against plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.support.pipelines.shipped_pipeline import Shipped
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.ledger import Ledger
from tidemill.samples.user_sessions import write_file

DELAY = timedelta(minutes=10)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
KINDS = ("login", "login_failed", "view", "buy")
Action = tuple[str, datetime, str]


def actions_in(path: str) -> Iterator[Action]:
    """The good rows of a file."""
    for line in Path(path).read_text().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["action"] in KINDS:
            yield row["user"], datetime.fromisoformat(row["at"]), row["action"]


def sessions(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """The actions of each user, cut where half an hour goes by without one."""
    for _, mine in groupby(sorted(actions), key=lambda action: action[0]):
        one: list[Action] = []
        for action in mine:
            if one and action[1] - one[-1][1] >= timedelta(minutes=30):
                yield one
                one = []
            one.append(action)
        yield one


def statuses(session: list[Action]) -> Iterator[tuple[str, datetime, str, int]]:
    """What is said of one session."""
    user = session[0][0]
    yield user, session[0][1], "active", 0
    failed = 0
    for number, (_, at, kind) in enumerate(session, 1):
        if kind == "login":
            failed = 0
        if kind == "login_failed":
            failed += 1
            if failed == 3:
                failed = 0
                yield user, at, "alert", number
    yield user, session[-1][1] + timedelta(minutes=30), "inactive", len(session)


def promised(site: Shipped) -> tuple[set[Any], int]:
    """What the table must hold after the batches in the ledger, and how many rows were late."""
    late = 0
    taken: list[Action] = []
    dropped_at = watermark = latest = EPOCH
    for batch in Ledger(site.pipeline.layout, FIRST_GENERATION).batches():
        dropped_at, watermark = watermark, max(watermark, latest - DELAY)
        found = [action for file in batch.inputs for action in actions_in(file.path)]
        in_time = [action for action in found if action[1] > dropped_at]
        latest = max([latest, *(at for _, at, _ in found)])
        late += len(found) - len(in_time)
        taken += in_time
    said = {row for session in sessions(taken) for row in statuses(session)}
    return {row for row in said if row[1] <= watermark}, late


def test_status_and_alerts_are_those_of_the_actions_in_the_order_of_their_times(
    tmp_path: Path, spark: object
) -> None:
    site = Shipped("user_sessions", tmp_path)
    for files in (range(1, 4), range(4, 6), range(6, 9)):
        for number in files:
            write_file(site.input / "user_sessions", number)
        site.run()
        found = site.published("user", "since", "status", "actions")
        expected, late = promised(site)
        assert len(found) == len(set(found))
        assert set(found) == expected
    assert late > 0
    assert {status for _, _, status, _ in found} == {"active", "inactive", "alert"}
    assert site.kind is PipelineClass.ORDERED
