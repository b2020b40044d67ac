"""`tidemill drop`: the metastore forgets a table that goes, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.support.histories.history_builder import History, rows
from tidemill.contract.report import Outcome
from tidemill.publish.hive.registration import PATH, ROOT
from tidemill.publish.target import TargetUnreachable
from tidemill.steps.decisions.drop import drop, plan_drop

if TYPE_CHECKING:
    from hive_metastore.ThriftHiveMetastore import Client

Drop = Callable[..., None]


@pytest.fixture
def drop_it(history: History) -> Drop:
    """Drops the pipeline, as its plan says, once an increment is out."""
    history.increment(rows(1))
    assert history.publish().outcome is Outcome.DONE

    def drop_it(*, table: bool = True) -> None:
        plan = plan_drop(history.layout, table=table, environ=history.environ)
        assert (plan.catalog is not None) is table
        list(drop(history.layout, table=table, run_id="drop", catalog=plan.catalog))

    return drop_it


def names(client: Client, table: str) -> list[str]:
    found: list[str] = client.get_all_tables(table.split(".")[0])
    return found


def test_a_table_that_goes_is_forgotten(
    history: History, table: str, client: Client, drop_it: Drop
) -> None:
    assert names(client, table) == ["orders"]
    drop_it()
    assert names(client, table) == []
    assert not history.layout.home.exists()


def test_a_table_that_stays_keeps_its_name_until_it_goes_too(
    table: str, client: Client, drop_it: Drop
) -> None:
    drop_it(table=False)
    assert names(client, table) == ["orders"]
    drop_it()
    assert names(client, table) == []


def test_the_name_of_another_table_stays(table: str, client: Client, drop_it: Drop) -> None:
    other = client.get_table(*table.split("."))
    other.parameters[ROOT] = "another"
    other.sd.serdeInfo.parameters[PATH] = "file:///elsewhere"
    client.alter_table(other.dbName, other.tableName, other)
    drop_it()
    assert names(client, table) == ["orders"]


def test_while_the_metastore_is_away_nothing_goes(
    history: History, table: str, client: Client, drop_it: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_METASTORE", "hive-metastore://127.0.0.1:1")
        with pytest.raises(TargetUnreachable):
            drop_it()
    assert history.ids() == [1]
    drop_it()
    assert names(client, table) == []
    assert not history.layout.home.exists()
