"""Columns: new ones are added before their rows come; anything else is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from deltalake import Field

from tests.support.histories.history_builder import COLUMNS, History, reject, row, rows
from tidemill.contract.report import Outcome
from tidemill.storage.lease import newest_epoch

WIDER = COLUMNS.append(pa.field("channel", pa.string()))
NARROWER = COLUMNS.remove(COLUMNS.get_field_index("text"))


def with_type(name: str, kind: pa.DataType) -> pa.Schema:
    return COLUMNS.set(COLUMNS.get_field_index(name), pa.field(name, kind))


def names(history: History) -> list[str]:
    return [field.name for field in history.delta().schema().fields]


def types(history: History) -> dict[str, str]:
    return {field.name: str(field.type.type) for field in history.delta().schema().fields}


@pytest.fixture
def published(history: History) -> History:
    history.increment(rows(1))
    history.publish()
    return history


def refused(history: History) -> dict[str, Any]:
    """What was said about the schema; the table has no commit more than before."""
    before = (history.log(), names(history), history.ids())
    report = history.publish()
    assert report.outcome is Outcome.REFUSED
    assert report.error is not None
    assert report.error["code"] == "SchemaChanged"
    assert (history.log(), names(history), history.ids()) == before
    data: dict[str, Any] = report.error["data"]
    return data


def test_a_new_table_has_the_transforms_columns_with_partitions_last(published: History) -> None:
    assert names(published) == ["id", "amount", "at", "text", "day"]
    assert all(field.nullable for field in published.delta().schema().fields)
    assert published.delta().metadata().partition_columns == ["day"]
    assert "_reject" not in names(published)


def test_a_table_needs_no_reader_feature(published: History) -> None:
    assert published.delta().protocol().min_reader_version == 1
    assert published.delta().protocol().reader_features is None


def test_a_new_column_is_added_first_and_can_be_read(published: History) -> None:
    published.start(WIDER)
    published.increment([row(2, channel="web"), row(3, channel=None)])
    assert published.publish().outcome is Outcome.DONE
    assert names(published) == ["id", "amount", "at", "text", "day", "channel"]
    found = {one["id"]: one["channel"] for one in published.published()}
    assert found == {1: None, 2: "web", 3: None}


def test_the_commit_that_adds_a_column_is_fenced_too(published: History) -> None:
    published.start(WIDER)
    published.increment([row(2, channel="web")])
    published.publish()
    assert len(published.log()) == 3
    before, added = published.delta(version=0), published.delta(version=1)
    assert [field.name for field in added.schema().fields][-1] == "channel"
    epoch = newest_epoch(published.layout.lease)
    assert added.transaction_version("tidemill.lease") == epoch
    assert before.transaction_version("tidemill.lease") < epoch
    assert added.transaction_version("orders/live-0001") == 0


def test_a_column_that_was_added_and_whose_rows_never_came_is_not_added_twice(
    published: History,
) -> None:
    published.start(WIDER)
    published.increment([row(2, channel="web")])
    published.delta().alter.add_columns([Field("channel", "string")])
    assert published.publish().outcome is Outcome.DONE
    assert names(published).count("channel") == 1
    assert len(published.log()) == 3


@pytest.mark.parametrize(
    ("column", "kind", "value"),
    [
        ("id", pa.string(), "2"),
        ("id", pa.int32(), 2),
        ("text", pa.int64(), 2),
        ("amount", pa.decimal128(12, 2), Decimal("2.25")),
        ("amount", pa.decimal128(10, 3), Decimal("2.250")),
        ("amount", pa.float64(), 2.25),
        ("at", pa.timestamp("us"), datetime(2024, 1, 1, 12)),  # noqa: DTZ001 - without a zone
        ("at", pa.date32(), datetime(2024, 1, 1, tzinfo=UTC).date()),
    ],
)
def test_another_type_is_refused(
    published: History, column: str, kind: pa.DataType, value: Any
) -> None:
    before = types(published)[column]
    published.start(with_type(column, kind))
    published.increment([row(2, **{column: value})])
    said = refused(published)
    assert said["column"] == column
    assert said["table_type"] == before
    assert said["file_type"] not in (None, before)


def test_a_column_that_is_missing_is_refused(published: History) -> None:
    published.start(NARROWER)
    published.increment(rows(2))
    said = refused(published)
    assert (said["column"], said["file_type"]) == ("text", None)


def test_a_column_that_was_renamed_is_refused(published: History) -> None:
    published.start(NARROWER.append(pa.field("Text", pa.string())))
    published.increment([row(2, Text="x")])
    assert refused(published)["column"] in ("text", "Text")


def test_one_of_several_files_is_enough_to_refuse(published: History) -> None:
    published.batch(rows(2))
    published.start(with_type("text", pa.int64()))
    published.batch([row(3, text=3)])
    published.judge(published.seal().increment)
    assert refused(published)["column"] == "text"


def test_columns_that_newer_code_added_within_an_increment_are_null_in_older_rows(
    published: History,
) -> None:
    published.batch(rows(2))
    published.start(WIDER)
    published.batch([row(3, channel="web")])
    published.judge(published.seal().increment)
    assert published.publish().outcome is Outcome.DONE
    found = {one["id"]: one["channel"] for one in published.published()}
    assert found == {1: None, 2: None, 3: "web"}


def test_a_column_that_all_code_of_an_increment_dropped_is_refused(published: History) -> None:
    published.start(NARROWER)
    published.batch(rows(2))
    published.start(NARROWER)
    published.batch(rows(3))
    published.judge(published.seal().increment)
    assert refused(published)["column"] == "text"


def test_a_column_that_only_older_code_had_is_not_hidden(
    make_history: Callable[..., History],
) -> None:
    # Before the table exists: the newest code's columns are not all there is.
    history = make_history(columns=WIDER)
    history.batch([row(1, channel="web")])
    history.start(COLUMNS)
    history.batch(rows(2))
    history.judge(history.seal().increment)
    assert history.publish().outcome is Outcome.DONE
    assert {one["id"]: one["channel"] for one in history.published()} == {1: "web", 2: None}


def test_rejected_rows_do_not_stand_in_the_way_of_a_schema(published: History) -> None:
    published.start(WIDER)
    published.increment([], [reject("a")], outcome="held")
    published.release(2)
    assert published.publish().outcome is Outcome.DONE
    assert "channel" not in names(published)


NESTED = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))])


def test_nested_columns_stay_as_they_are(make_history: Callable[..., History]) -> None:
    history = make_history(columns=COLUMNS.append(pa.field("nested", NESTED)))
    history.increment([row(1, nested={"a": 1, "b": ["x", None]})])
    history.increment([row(2, nested=None)])
    assert history.publish().outcome is Outcome.DONE
    wider = pa.struct([*NESTED, ("c", pa.int64())])
    history.start(COLUMNS.append(pa.field("nested", wider)))
    history.increment([row(3, nested={"a": 1, "b": [], "c": 2})])
    assert refused(history)["column"] == "nested"
    found = {one["id"]: one["nested"] for one in history.published()}
    assert found == {1: {"a": 1, "b": ["x", None]}, 2: None}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.bool_(), True),
        (pa.int8(), -1),
        (pa.float32(), 1.5),
        (pa.binary(), b"x"),
        (pa.date32(), datetime(2024, 1, 1, tzinfo=UTC).date()),
        (pa.timestamp("us"), datetime(2024, 1, 1, 12)),  # noqa: DTZ001 - without a zone
        (pa.decimal128(38, 18), Decimal("1.000000000000000001")),
        (pa.list_(pa.int64()), [1, None]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1)]),
    ],
    ids=str,
)
def test_a_new_column_of_any_type_can_be_read(
    published: History, kind: pa.DataType, value: Any
) -> None:
    published.start(COLUMNS.append(pa.field("new", kind)))
    published.increment([row(2, new=value)])
    assert published.publish().outcome is Outcome.DONE
    assert {one["id"]: one["new"] for one in published.published()} == {1: None, 2: value}


def test_descriptions_of_the_sources_columns_reach_the_table(history: History) -> None:
    spec = history.project.spec(history.name)
    described = "id long COMMENT 'The key', channel string COMMENT 'web, or shop', at timestamp"
    spec.write_text(spec.read_text().replace("id long, at timestamp", described))
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2))
    history.publish()
    assert _comments(history) == {"id": "The key"}

    history.start(WIDER)
    history.increment([row(3, channel="web")])
    history.publish()
    assert _comments(history) == {"id": "The key", "channel": "web, or shop"}
    assert history.ids() == [1, 2, 3]


def test_the_specs_description_is_the_comment_of_a_new_table(history: History) -> None:
    history.write_spec(more="description: |\n  Each order,\n  in pounds.")
    history.increment(rows(1))
    history.publish()
    history.write_spec(more="description: Something else.")
    history.increment(rows(2))
    history.publish()
    assert history.delta().metadata().description == "Each order, in pounds."
    assert history.ids() == [1, 2]


def _comments(history: History) -> dict[str, str]:
    found = {field.name: field.metadata for field in history.delta().schema().fields}
    return {name: kept["comment"] for name, kept in found.items() if "comment" in kept}
