"""A swap in targets that are not tables: lists of files, topics, and a target of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from tests.support.histories.generation_builder import days, made_again, reject_increment
from tests.support.histories.history_builder import History, row
from tidemill.contract.report import Outcome
from tidemill.journal.published_files import files_now, published_files
from tidemill.publish.database.session import KeyRepeated
from tidemill.publish.kafka_target import KafkaTarget
from tidemill.publish.swap_support import refuse_backfill, refuse_repeated_keys, unable_to_swap
from tidemill.publish.target import SwapUnfit
from tidemill.spec.targets import KafkaTarget as Given

Make = Callable[..., History]
SECOND = date(2024, 1, 2)
SECOND_DAY = days("2024-01-02")

OWN = """
class Own:
    swaps = {swaps}

    def __init__(self, options, *, pipeline, epoch, say):
        self.path = options["path"]

    def find(self, event):
        return event.seq if event.last < 1 else None

    def apply(self, event, payload):
        with open(self.path, "a") as file:
            file.write(f"{{event.kind}} {{payload.rows}}\\n")
        return event.seq
"""


def with_own(make_history: Make, log: Path, swaps: bool) -> History:
    target = {"kind": "python", "target": "own:Own", "options": {"path": str(log)}}
    history = make_history(more=f"publish: [{{kind: delta}}, {json.dumps(target)}]")
    path = history.project.target("own")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OWN.format(swaps=swaps))
    return history


def test_lists_name_the_files_that_do_not_count_any_more(make_history: Make) -> None:
    history = make_history(more="publish: [{kind: files}]")
    history.increment([row(1), row(2, SECOND)])
    held = history.increment([row(3)], outcome="held")
    reject_increment(history, held)
    history.increment([row(4, SECOND)])
    history.publish()
    before = files_now(history.layout)
    made_again(history, [row(20, SECOND)], partitions=SECOND_DAY)
    assert history.publish("again").outcome is Outcome.DONE
    *_, swap = published_files(history.layout)
    gone = {file.path for file in before if file.partition == {"day": "2024-01-02"}}
    assert (swap.kind, set(swap.removes), len(gone)) == ("swap", gone, 2)
    (new,) = swap.files
    assert files_now(history.layout) == [*(f for f in before if f.path not in gone), new]
    assert files_now(history.layout, upto=3) == before
    assert (history.layout.home / new.path).is_file()
    made_again(history, [row(21, SECOND)], run_id="second", partitions=SECOND_DAY)
    assert history.publish("second").outcome is Outcome.DONE
    assert published_files(history.layout)[-1].removes == (new.path,)


def test_records_say_in_the_place_of_which_rows_they_are(history: History) -> None:
    history.increment([row(1)])
    made_again(history, [row(20, SECOND)], seq=1, partitions=SECOND_DAY)
    made_again(history, [row(21)], run_id="back", seq=1, kind="reinstate")
    history.publish()
    target = KafkaTarget(Given(kind="kafka", topic="t"), pipeline="orders")
    said = [
        {
            name: value
            for name, value in record.headers
            if name in ("tidemill.kind", "tidemill.partitions")
        }
        for event in history.journal.events()
        for record in target.records(event, history.payload(event))
    ]
    assert said == [
        {},
        {"tidemill.kind": "swap", "tidemill.partitions": SECOND_DAY.model_dump_json()},
        {"tidemill.kind": "swap", "tidemill.partitions": "null"},
    ]


def test_a_target_of_ones_own_gets_swaps_if_it_says_so(make_history: Make, tmp_path: Path) -> None:
    log = tmp_path / "log"
    history = with_own(make_history, log, swaps=True)
    refuse_backfill(history.pipeline)
    history.increment([row(1)], outcome="held")
    reject_increment(history, 1)
    history.increment([row(2), row(3)])
    made_again(history, [row(20, SECOND)], seq=2, partitions=SECOND_DAY)
    history.publish()
    # It has found the first.
    assert log.read_text().split("\n") == ["increment 2", "swap 1", ""]


def test_one_that_says_nothing_is_asked_before_a_backfill(
    make_history: Make, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    history = with_own(make_history, log, swaps=False)
    with pytest.raises(SwapUnfit) as refused:
        refuse_backfill(history.pipeline)
    assert refused.value.targets == tuple(unable_to_swap(history.pipeline)) == ("python.own.Own",)
    # And it is never told that it has a swap: its own `find` would say so.
    history.increment([row(1)])
    made_again(history, [row(20, SECOND)], seq=1, partitions=SECOND_DAY)
    report = history.publish()
    assert report.error is not None
    assert report.error["code"] == SwapUnfit.__name__
    assert history.ids() == [1, 20]
    assert not log.exists()


@pytest.mark.parametrize("mended", [False, True])
def test_a_pipeline_goes_on_without_one_that_cannot_swap_and_with_it_once_it_can(
    make_history: Make, tmp_path: Path, mended: bool
) -> None:
    log = tmp_path / "log"
    history = with_own(make_history, log, swaps=False)
    own = OWN.replace("event.last < 1", "event.last < 0")
    history.project.target("own").write_text(own.format(swaps=False))
    history.increment([row(1)])
    made_again(history, [row(20, SECOND)], seq=1, partitions=SECOND_DAY)
    report = history.publish()
    assert report.error is not None
    assert "remove it from publish" in report.error["remedy"]
    with_it = history.more
    history.write_spec(more="publish: [{kind: delta}]")
    history.increment([row(2)])
    assert history.publish("without").outcome is Outcome.DONE
    assert history.ids() == [1, 2, 20]
    if mended:
        history.write_spec(more=with_it)
        history.project.target("own").write_text(own.format(swaps=True))
        assert history.publish("mended").outcome is Outcome.DONE
    taken = ["increment 1", "swap 1", "increment 1"] if mended else ["increment 1"]
    assert log.read_text().split() == " ".join(taken).split()


def test_rows_that_a_table_with_keys_could_not_take_are_refused_before_they_go_out(
    make_history: Make,
) -> None:
    history = make_history(
        output=", keys: [id]",
        more="publish: [{kind: delta}, {kind: postgres, conn_id: none, table: t, mode: upsert}]",
    )
    history.increment([row(1)])
    unfit = made_again(history, [row(2), row(2), row(3)], kind="redo")
    fit = made_again(history, [row(2), row(3)], kind="redo")
    with pytest.raises(KeyRepeated) as refused:
        refuse_repeated_keys(history.pipeline, history.snapshot.get(unfit).sealed)
    assert (refused.value.keys, refused.value.targets) == (("id",), ("postgres.none.t",))
    refuse_repeated_keys(history.pipeline, history.snapshot.get(fit).sealed)
