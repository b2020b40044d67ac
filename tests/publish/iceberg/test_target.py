"""An Iceberg table has the published rows, in the sink's own files, and each event once."""

from __future__ import annotations

from collections import Counter
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.doctor_report import look, refused
from tests.support.histories import history_builder
from tests.support.histories.generation_builder import reject_increment
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.iceberg_catalogue import Catalogue
from tests.support.processes import waiting_child
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome
from tidemill.publish import registry
from tidemill.publish.fences import all_fences
from tidemill.publish.target import HeadUnexplained, NotOurTurn
from tidemill.steps.decisions.repair_target import repair_target
from tidemill.storage.lease import newest_epoch

SECOND = date(2024, 1, 2)
COLUMNS = ("id", "amount", "text", "day")
NAME = "iceberg.tidemill.sales.orders"
# Publishes with a target that stops at a point and says so.
STOPS = """
import signal, sys
from pathlib import Path
from tidemill.main import main
from tidemill.publish.iceberg import target

reached, point = Path(sys.argv[1]), sys.argv[2]
commit = target.IcebergTarget._commit

def stop():
    reached.touch()
    signal.pause()

def stopping(*arguments):
    if point == "before":
        stop()
    commit(*arguments)
    if point == "after":
        stop()

target.IcebergTarget._commit = stopping
sys.exit(main(["publish", "orders", "--run-id", "killed"]))
"""


def apply(history: History, number: int, epoch: int = 99, **changes: object) -> int:
    """Offer an event, or one that differs from it, to the table."""
    event = history.journal.event(number)
    assert event is not None
    target = registry.targets_of(history.pipeline, epoch, lambda _: None)[-1]
    return target.apply(event.model_copy(update=changes), history.payload(event))


def test_its_rows_are_those_of_delta_in_the_same_files(
    history: History, catalogue: Catalogue
) -> None:
    history.increment([*rows(1, 2), row(2, SECOND)], [reject("bad")])
    history.batch([row(3, amount=None, text=None)])
    history.judge(history.seal().increment)
    assert history.publish().outcome is Outcome.DONE
    published = Counter(tuple(one[name] for name in COLUMNS) for one in history.published())
    assert sum(published.values()) == 4
    assert catalogue.rows(*COLUMNS) == published
    assert catalogue.rows_in_others(*COLUMNS) == [published, published]
    assert catalogue.files() == {Path(uri) for uri in history.delta().file_uris()}


def test_descriptions_of_the_sources_columns_reach_the_table(
    history: History, catalogue: Catalogue
) -> None:
    spec = history.project.spec(history.name)
    described = "id long COMMENT 'The key', channel string COMMENT 'web, or shop', at timestamp"
    spec.write_text(spec.read_text().replace("id long, at timestamp", described))
    history.increment(rows(1))
    history.publish()
    assert catalogue.comments() == {"id": "The key"}

    history.start(history_builder.COLUMNS.append(pa.field("channel", pa.string())))
    history.increment([row(2, channel="web")])
    history.publish()
    assert catalogue.comments() == {"id": "The key", "channel": "web, or shop"}
    assert catalogue.ids() == [1, 2]


def test_the_specs_description_is_the_comment_of_a_new_table(
    history: History, catalogue: Catalogue
) -> None:
    history.write_spec(more=f"publish: [{{kind: delta}}, {catalogue.target}]\ndescription: Orders.")
    history.increment(rows(1))
    history.publish()
    assert catalogue.table().properties["comment"] == "Orders."
    assert catalogue.ids() == [1]


def test_the_specs_properties_are_the_tables_and_follow_the_spec_with_the_next_snapshot(
    history: History, catalogue: Catalogue
) -> None:
    ours = catalogue.target.removesuffix("}")
    for increment, given in enumerate(("owner: tides", "owner: harbour, history.kept: 9"), 1):
        target = f"{ours}, table_properties: {{{given}}}}}"
        history.write_spec(more=f"publish: [{{kind: delta}}, {target}]")
        history.increment(rows(increment))
        history.publish()
        history.publish()
    properties = catalogue.table().properties
    assert (properties["owner"], properties["history.kept"]) == ("harbour", "9")
    assert len(catalogue.table().snapshots()) == 2
    assert catalogue.ids() == [1, 2]


def test_a_table_without_partitions_has_all_rows(history: History, catalogue: Catalogue) -> None:
    history.partitions = {}
    history.write_spec()
    history.increment(rows(1, 2), [reject("bad")])
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1, 2]
    assert catalogue.table().spec().fields == ()


def test_each_event_is_a_snapshot_that_says_which(history: History, catalogue: Catalogue) -> None:
    history.increment(rows(1))
    held = history.increment(rows(2), outcome="held")
    reject_increment(history, held)
    history.increment(rows(3))
    history.publish()
    said = [one.summary.additional_properties for one in catalogue.table().snapshots()]
    assert [
        (one["tidemill.pipeline"], one["tidemill.journal"], one["tidemill.kind"]) for one in said
    ] == [("orders", "1", "increment"), ("orders", "2", "reject"), ("orders", "3", "increment")]
    assert {one["tidemill.epoch"] for one in said} == {str(newest_epoch(history.layout.lease))}
    assert catalogue.ids() == [1, 3]


def test_a_reader_that_filters_skips_files_by_partition_and_by_bounds(
    history: History, catalogue: Catalogue
) -> None:
    history.increment([row(1), row(50, SECOND)])
    history.increment([row(100), row(150, SECOND)])
    history.publish()
    table = catalogue.table()
    for condition, left in [("day = '2024-01-02'", 2), ("id > 60", 2), ("id = 150", 1)]:
        assert len([*table.scan(row_filter=condition).plan_files()]) == left
    assert table.scan(row_filter="id > 60").to_arrow()["id"].to_pylist() == [100, 150]


def test_an_event_offered_twice_is_there_once(history: History, catalogue: Catalogue) -> None:
    history.increment(rows(1))
    history.publish()
    assert apply(history, 1) == 1
    (history.layout.journal / f"000001.{NAME}.json").unlink()
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1]
    assert len(catalogue.table().snapshots()) == 1


def test_an_event_out_of_order_is_refused(history: History, catalogue: Catalogue) -> None:
    history.increment(rows(1))
    history.publish()
    with pytest.raises(NotOurTurn) as refusal:
        apply(history, 1, seq=3, first=2, last=2)
    assert refusal.value.head == 0
    with pytest.raises(HeadUnexplained):
        apply(history, 1, files_hash="other")
    assert catalogue.ids() == [1]


def test_a_writer_of_an_older_epoch_is_fenced_out(history: History, catalogue: Catalogue) -> None:
    history.increment(rows(1))
    history.publish()
    fence = newest_epoch(history.layout.lease)
    assert (NAME, fence) in {(one.where, one.epoch) for one in all_fences(history.pipeline)}
    with pytest.raises(LeaseLost) as lost:
        apply(history, 1, epoch=fence - 1, seq=2, first=1, last=1)
    assert lost.value.newer == fence
    assert catalogue.ids() == [1]


@pytest.mark.parametrize(("number", "point"), [(1, "after"), (2, "before"), (2, "after")])
def test_a_publish_that_is_killed_around_its_commit_is_made_up_for_once(
    history: History, catalogue: Catalogue, tmp_path: Path, point: str, number: int
) -> None:
    for earlier in range(1, number):
        history.increment(rows(earlier))
        history.publish()
    history.increment(rows(number))
    reached = tmp_path / "reached"
    with waiting_child(STOPS, reached, point, environ=history.environ) as process:
        assert process.poll() is None
    assert process.returncode == -9
    assert history.journal.applied(number, NAME) is None
    assert history.publish("next").outcome is Outcome.DONE
    assert catalogue.ids() == [*range(1, number + 1)]
    assert len(catalogue.table().snapshots()) == number


def test_a_target_that_is_named_later_gets_everything_from_the_beginning(
    history: History, catalogue: Catalogue
) -> None:
    with_it = history.more
    history.write_spec(more="publish: [{kind: delta}]")
    for number in (1, 2):
        history.increment(rows(number))
        history.publish()
    history.write_spec(more=with_it)
    history.increment(rows(3))
    history.publish()
    assert catalogue.ids() == [1, 2, 3]


def test_a_table_that_was_dropped_is_refused_until_it_is_repaired(
    history: History, catalogue: Catalogue
) -> None:
    for number in (1, 2):
        history.increment(rows(number))
        history.publish()
    catalogue.open().drop_table("sales.orders")
    history.arrive("new.csv", "id,at\n9,\n")
    code, data = refused(history)
    assert (code, data["target"], data["head"]) == ("TargetBehindJournal", NAME, 0)
    (history.inputs / "new.csv").unlink()
    repair_target(history.pipeline, NAME, "repair", lambda _: None)
    history.publish()
    assert catalogue.ids() == history.ids() == [1, 2]
    assert look(history).outcome is Outcome.SKIPPED
