"""`tidemill diff` shows the rows that two versions of a table differ in."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode


@pytest.fixture
def two_versions(history: History) -> None:
    history.increment(rows(1, 2), [reject("bad")])
    history.publish()
    history.increment(rows(3))
    history.publish()


@pytest.mark.usefixtures("two_versions")
def test_the_newest_version_is_compared_with_the_one_before(tidemill: Tidemill) -> None:
    found = tidemill("diff", "orders", "--json").json
    assert (found["first"], found["last"]) == (0, 1)
    assert (found["added"], found["removed"]) == (1, 0)
    assert [(row["change"], row["id"]) for row in found["rows"]] == [("+", 3)]


@pytest.mark.usefixtures("two_versions")
def test_rows_are_removed_in_the_other_direction(tidemill: Tidemill) -> None:
    found = tidemill("diff", "orders", "--from", "1", "--to", "0", "--json").json
    assert [(row["change"], row["id"]) for row in found["rows"]] == [("-", 3)]


@pytest.mark.usefixtures("two_versions")
def test_a_file_that_was_written_again_with_the_same_rows_is_no_difference(
    tidemill: Tidemill, history: History
) -> None:
    table = DeltaTable(history.pipeline.layout.table)
    again = table.to_pyarrow_table()
    more = again.slice(0, 1)
    write_deltalake(table, pa.concat_tables([again, more]), mode="overwrite")
    found = tidemill("diff", "orders", "--json").json
    assert (found["added"], found["removed"]) == (1, 0)
    assert [row["id"] for row in found["rows"]] == more["id"].to_pylist()


@pytest.mark.usefixtures("two_versions")
def test_a_column_that_was_added_is_null_in_the_older_rows(
    tidemill: Tidemill, history: History
) -> None:
    table = DeltaTable(history.pipeline.layout.table)
    rows_of_it = table.to_pyarrow_table().append_column("note", pa.array(["a", None, None]))
    write_deltalake(table, rows_of_it, mode="overwrite", schema_mode="overwrite")
    found = tidemill("diff", "orders", "--json").json
    assert [(row["change"], row["note"]) for row in found["rows"]] == [("-", None), ("+", "a")]


@pytest.mark.usefixtures("two_versions")
def test_a_changed_type_is_refused(tidemill: Tidemill, history: History) -> None:
    table = DeltaTable(history.pipeline.layout.table)
    found = table.to_pyarrow_table()
    texts = found.set_column(0, "id", found["id"].cast(pa.string()))
    write_deltalake(table, texts, mode="overwrite", schema_mode="overwrite")
    answer = tidemill("diff", "orders", "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NotComparable")


def test_one_version_alone_has_no_difference(tidemill: Tidemill, history: History) -> None:
    history.increment(rows(1))
    history.publish()
    answer = tidemill("diff", "orders", "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoSuchVersion")


@pytest.mark.usefixtures("history")
def test_where_nothing_is_published_no_version_is_there(tidemill: Tidemill) -> None:
    assert tidemill("diff", "orders", "--json").json["code"] == "NoSuchVersion"
