"""Modes `update` and `complete`: an Iceberg table has the Delta table's rows in its own files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from tests.publish.iceberg.test_target import STOPS
from tests.support.histories.generation_builder import made_again, rebuilt, reject_increment
from tests.support.histories.history_builder import History
from tests.support.histories.net_history_builder import COUNTS, NetHistory, count
from tests.support.iceberg_catalogue import Catalogue
from tests.support.processes import waiting_child
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome
from tidemill.publish import registry
from tidemill.publish.iceberg import rewrite
from tidemill.publish.iceberg import target as iceberg
from tidemill.publish.iceberg.target import IcebergTarget
from tidemill.spec.output import OutputMode
from tidemill.storage.lease import newest_epoch

NetMake = Callable[..., NetHistory]
BY_PLACE: dict[str, Any] = {
    "keys": ("action", "hour", "place"),
    "partitions": {"place": pa.string()},
}
PLACES = ("a b", "c/d", "é=#?")


@pytest.fixture
def net(tmp_path: Path, catalogue: Catalogue) -> NetMake:
    """Makes an empty history that is published to Delta and to the catalogue."""

    def make(**given: Any) -> NetHistory:
        more = f"publish: [{{kind: delta}}, {catalogue.target}]"
        return NetHistory(tmp_path / "pipeline", more=more, **given)

    return make


def publish(history: History, catalogue: Catalogue) -> list[tuple[Any, ...]]:
    """Publish; the rows of the Iceberg table, which are those of the Delta table."""
    report = history.publish()
    assert report.outcome is Outcome.DONE, report.error
    delta = history.published()
    names = [field.name for field in catalogue.table().schema().fields]
    published = Counter(tuple(row[name] for name in names) for row in delta)
    found = catalogue.rows(*names)
    assert found == published
    assert catalogue.rows_in_others(*names) == [published, published]
    return sorted(found.elements(), key=str)


def counts(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Action, count and what comes after."""
    return sorted(((action, number, *more) for action, _, number, *more in rows), key=str)


def test_a_row_replaces_the_one_of_its_keys_in_one_snapshot(
    net: NetMake, catalogue: Catalogue
) -> None:
    history = net()
    history.increment([count("open", 1, 3), count("close", 1, 1)])
    publish(history, catalogue)
    history.increment([count("open", 1, 4), count("open", 2, 1)])
    assert counts(publish(history, catalogue)) == [("close", 1), ("open", 1), ("open", 4)]
    first, second = catalogue.table().snapshots()
    assert second.parent_snapshot_id == first.snapshot_id
    assert [
        one.summary.additional_properties["tidemill.journal"]
        for one in (first, second)
        if one.summary
    ] == ["1", "2"]
    old = catalogue.table().scan(snapshot_id=first.snapshot_id).to_arrow()
    assert sorted(old["count"].to_pylist()) == [1, 3]


def test_the_last_batch_of_mode_complete_is_the_whole_table(
    net: NetMake, catalogue: Catalogue
) -> None:
    history = net(mode="complete")
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    publish(history, catalogue)
    history.increment([count("open", 1, 2)])
    assert counts(publish(history, catalogue)) == [("open", 2)]
    history.increment([], outcome="held")
    history.release(3)
    assert publish(history, catalogue) == []


def test_files_without_replaced_rows_stay_and_no_file_is_the_delta_tables(
    net: NetMake, catalogue: Catalogue
) -> None:
    history = net(**BY_PLACE)
    history.increment([count("open", 1, 1, place=place) for place in PLACES])
    publish(history, catalogue)
    before = catalogue.files()
    history.increment([count("open", 1, 2, place=PLACES[1])])
    history.increment([count("close", 2, 7, place=PLACES[2])])
    rows = publish(history, catalogue)
    assert counts(rows) == [
        ("close", 7, PLACES[2]),
        ("open", 1, PLACES[0]),
        ("open", 1, PLACES[2]),
        ("open", 2, PLACES[1]),
    ]
    assert len(before & catalogue.files()) == 2
    assert all(path.is_relative_to(catalogue.home) for path in catalogue.files())
    assert "gc.enabled" not in catalogue.table().properties
    # A filter by partition still finds the rows.
    found = catalogue.table().scan(row_filter=f"place = '{PLACES[2]}'").to_arrow()
    assert sorted(found["count"].to_pylist()) == [1, 7]


def test_more_partitions_than_may_be_open_are_written_in_turns(
    net: NetMake, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "OPEN_FILES", 3)
    history = net(keys=("action", "hour", "n"), partitions={"n": pa.int32()})
    for number in (1, 2):
        history.increment([count("open", 1, number, n=n) for n in range(8)])
        rows = publish(history, catalogue)
    assert counts(rows) == [("open", 2, n) for n in range(8)]


def test_a_swap_replaces_its_partitions_and_upserts_go_on(
    net: NetMake, catalogue: Catalogue
) -> None:
    history = net(**BY_PLACE)
    history.increment([count("open", 1, 1, place=place) for place in PLACES])
    publish(history, catalogue)
    before = catalogue.files()
    partitions = {"columns": ("place",), "values": ((PLACES[1],),)}
    made_again(history, [count("close", 1, 7, place=PLACES[1])], partitions=partitions)
    publish(history, catalogue)
    assert len(before & catalogue.files()) == 2
    history.increment([count("close", 1, 8, place=PLACES[1])])
    assert counts(publish(history, catalogue)) == [
        ("close", 8, PLACES[1]),
        ("open", 1, PLACES[0]),
        ("open", 1, PLACES[2]),
    ]
    assert all(path.is_relative_to(catalogue.home) for path in catalogue.files())


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_a_rebuild_replaces_everything(net: NetMake, catalogue: Catalogue, mode: str) -> None:
    history = net(mode=mode, **BY_PLACE)
    history.increment([count("open", 1, 1, place="a b"), count("close", 1, 1, place="c/d")])
    publish(history, catalogue)
    first = [count("open", 1, 5, place="c/d"), count("open", 2, 5, place="a b")]
    rebuilt(history, first, [count("open", 1, 6, place="c/d")])
    both = [("open", 5, "a b"), ("open", 6, "c/d")]
    rows = counts(publish(history, catalogue))
    assert rows == (both if mode == "update" else both[1:])
    assert len(catalogue.table().snapshots()) == 2


def test_a_rejected_increment_moves_the_head_alone(net: NetMake, catalogue: Catalogue) -> None:
    history = net(mode="complete")
    history.increment([count("open", 1, 1)])
    publish(history, catalogue)
    before = catalogue.files()
    held = history.increment([count("open", 1, 2)], outcome="held")
    reject_increment(history, held)
    assert counts(publish(history, catalogue)) == [("open", 1)]
    assert catalogue.files() == before
    assert catalogue.table().properties["tidemill.journal"] == "2"


def test_a_key_may_be_null_and_a_column_may_come_later(net: NetMake, catalogue: Catalogue) -> None:
    history = net(keys=("action",))
    history.increment([{**count("open", 1, 1), "action": None}, count("close", 1, 1)])
    publish(history, catalogue)
    history.start(history.columns.append(pa.field("note", pa.string())))
    history.increment([{**count("open", 1, 2, note="new"), "action": None}])
    assert counts(publish(history, catalogue)) == [("close", 1, None), (None, 2, "new")]


def test_values_of_every_kind_survive_a_rewrite(net: NetMake, catalogue: Catalogue) -> None:
    at = datetime(2024, 1, 1, 12, 30, 0, 123456, tzinfo=UTC)
    values: dict[str, tuple[pa.DataType, Any]] = {
        "small": (pa.int8(), -7),
        "float": (pa.float64(), float("inf")),
        "decimal": (pa.decimal128(38, 18), Decimal("-1.500000000000000001")),
        "nine": (pa.decimal128(9, 2), Decimal("-1.50")),
        "long": (pa.string(), "ä" * 100 + "\U0001f600"),
        "binary": (pa.binary(), b"\x00\xff"),
        "day": (pa.date32(), date(1969, 12, 31)),
        "plain": (pa.timestamp("us"), at.replace(tzinfo=None)),
        "inner": (pa.struct([("a", pa.list_(pa.int16()))]), {"a": [1, None]}),
    }
    columns = pa.schema([*COUNTS, *(pa.field(name, kind) for name, (kind, _) in values.items())])
    history = net(columns=columns)
    every = {name: value for name, (_, value) in values.items()}
    history.increment([count("open", 1, 1, **every), count("close", 1, 1)])
    history.increment([count("close", 1, 2)])
    assert history.publish().outcome is Outcome.DONE
    found = catalogue.table().scan(row_filter="action = 'open'").to_arrow().to_pylist()
    assert found == [count("open", 1, 1, **every)]
    for condition in ("nine < 0", "small = -7", "day < '1970-01-01'", "long >= 'ä'"):
        assert len(catalogue.table().scan(row_filter=condition).to_arrow()) == 1


@pytest.mark.parametrize(("mode", "point"), [("update", "before"), ("complete", "after")])
def test_a_publish_that_is_killed_around_its_commit_is_made_up_for_once(
    net: NetMake, catalogue: Catalogue, tmp_path: Path, mode: str, point: str
) -> None:
    history = net(mode=mode)
    history.increment([count("open", 1, 1)])
    publish(history, catalogue)
    history.increment([count("open", 1, 2)])
    with waiting_child(STOPS, tmp_path / "reached", point, environ=history.environ):
        pass
    assert counts(publish(history, catalogue)) == [("open", 2)]
    assert len(catalogue.table().snapshots()) == 2


def test_an_answer_lost_after_the_first_commit_repeats_nothing(
    net: NetMake, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = net()
    history.increment([count("open", 1, 1)])
    kind = type(load_catalog("tidemill", **catalogue.properties))
    commit = kind.commit_table

    def lost(*arguments: Any) -> object:
        commit(*arguments)
        raise ConnectionResetError("Connection reset by peer")

    with monkeypatch.context() as patch:
        patch.setattr(kind, "commit_table", lost)
        # The commit that creates the table, then the one of the rows.
        assert [history.publish().transient for _ in range(2)] == [True, True]
    assert counts(publish(history, catalogue)) == [("open", 1)]
    assert len(catalogue.table().snapshots()) == 1


def test_rows_of_somebody_else_meanwhile_are_seen_before_the_next_attempt(
    net: NetMake, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = net()
    history.increment([count("open", 1, 1), count("close", 1, 1)])
    publish(history, catalogue)
    history.increment([count("open", 1, 2)])
    commit, attempts = IcebergTarget._commit, [0]

    def interfered(target: IcebergTarget, *arguments: Any) -> None:
        attempts[0] += 1
        if attempts[0] == 1:
            compacted(catalogue.table())
        commit(target, *arguments)

    monkeypatch.setattr(IcebergTarget, "_commit", interfered)
    monkeypatch.setattr(iceberg, "WAIT_SECONDS", 0.001)
    assert counts(publish(history, catalogue)) == [("close", 1), ("open", 2)]
    assert attempts == [2]


def test_a_writer_of_an_older_epoch_is_fenced_out(net: NetMake, catalogue: Catalogue) -> None:
    history = net()
    history.increment([count("open", 1, 1)])
    publish(history, catalogue)
    event = history.journal.event(1)
    assert event is not None
    older = registry.targets_of(
        history.pipeline, newest_epoch(history.layout.lease) - 1, lambda _: None
    )[-1]
    later = event.model_copy(update={"seq": 2, "first": 1, "last": 1})
    with pytest.raises(LeaseLost):
        older.apply(later, history.payload(event))
    assert len(catalogue.table().snapshots()) == 1


def test_the_tables_mode_may_change_with_a_rebuild(net: NetMake, catalogue: Catalogue) -> None:
    history = net()
    history.increment([count("open", 1, 1)])
    publish(history, catalogue)
    assert "gc.enabled" not in catalogue.table().properties
    with catalogue.table().transaction() as change:
        change.set_properties({"gc.enabled": "true"})
    rebuilt(history, [count("open", 1, 5)], mode=OutputMode.APPEND)
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.table().properties["gc.enabled"] == "false"


def compacted(table: Table) -> None:
    """What another engine does: the same rows in one file of its own."""
    table.overwrite(table.scan().to_arrow())
