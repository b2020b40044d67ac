"""A Hive metastore names the published Delta table, and is never in the way of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hive_metastore.ttypes import FieldSchema, SerDeInfo, StorageDescriptor, Table

from tests.support.error_code import code_of
from tests.support.histories import history_builder
from tests.support.histories.history_builder import History, row, rows
from tidemill.contract.connections.hive import Metastore
from tidemill.contract.report import Outcome
from tidemill.publish.head import TableTaken
from tidemill.publish.hive import registration
from tidemill.publish.hive.metastore import RegistrationRefused, open_metastore
from tidemill.publish.hive.registration import ROOT
from tidemill.publish.target import TargetUnreachable
from tidemill.spec.targets import DeltaTarget

if TYPE_CHECKING:
    from pathlib import Path

    from hive_metastore.ThriftHiveMetastore import Client

    from tests.servers.hive_metastore import HiveMetastore

Columns = dict[str, tuple[str, str | None]]


def register(history: History) -> None:
    (target,) = history.pipeline.spec.publish
    assert isinstance(target, DeltaTarget)
    assert target.catalog is not None
    registration.register(history.pipeline, target.catalog, lambda _: None)


def found(client: Client, table: str) -> Table:
    return client.get_table(*table.split("."))


def columns_of(client: Client, table: str) -> Columns:
    return {one.name: (one.type, one.comment) for one in found(client, table).sd.cols}


def test_columns_and_comments_are_those_of_the_table_after_each_publish(
    history: History, table: str, client: Client
) -> None:
    spec = history.project.spec(history.name)
    key = "The key" * 50
    described = f"id long COMMENT '{key}', channel string COMMENT 'or shop', at timestamp"
    text = spec.read_text().replace("id long, at timestamp", described)
    spec.write_text(f"{text}\ndescription: Orders of all shops.\n")
    history.increment(rows(1))
    history.publish()
    first = {
        "id": ("bigint", key[:256]),
        "amount": ("decimal(10,2)", None),
        "at": ("timestamp", None),
        "text": ("string", None),
        "day": ("date", None),
    }
    assert columns_of(client, table) == first
    assert found(client, table).parameters["comment"] == "Orders of all shops."

    history.start(history_builder.COLUMNS.append(pa.field("channel", pa.string())))
    history.increment([row(2, channel="web")])
    history.publish()
    assert columns_of(client, table) == {**first, "channel": ("string", "or shop")}


def test_a_publish_that_is_tried_again_changes_nothing(
    history: History, table: str, client: Client
) -> None:
    history.increment(rows(1))
    history.publish("one")
    before = found(client, table)
    assert (before.tableType, before.owner) == ("EXTERNAL_TABLE", "mill")
    assert history.publish("one").outcome is Outcome.DONE
    assert found(client, table) == before


def test_what_others_have_noted_beside_the_table_stays(
    history: History, table: str, client: Client
) -> None:
    history.increment(rows(1))
    history.publish()
    noted = found(client, table)
    noted.parameters["steward"] = "ann"
    noted.sd.cols = noted.sd.cols[:1]
    client.alter_table(noted.dbName, noted.tableName, noted)
    history.publish()
    assert found(client, table).parameters["steward"] == "ann"
    assert list(columns_of(client, table)) == [*history_builder.COLUMNS.names, "day"]


def test_a_column_of_another_type_is_named_in_a_new_entry(
    history: History, table: str, client: Client
) -> None:
    history.increment(rows(1))
    history.publish()
    older = found(client, table)
    older.sd.cols = [FieldSchema(one.name, "map<string,string>", None) for one in older.sd.cols]
    client.drop_table(older.dbName, older.tableName, False)
    client.create_table(older)
    register(history)
    assert columns_of(client, table)["id"] == ("bigint", None)
    assert history.ids() == [1]


def test_the_name_of_another_table_is_left_alone_and_the_rows_are_out(
    history: History, table: str, client: Client, tmp_path: Path
) -> None:
    history.increment(rows(1))
    history.publish()
    other = found(client, table)
    other.parameters[ROOT] = "another"
    other.sd = StorageDescriptor(
        cols=other.sd.cols,
        location=f"file://{tmp_path}/other",
        serdeInfo=SerDeInfo(parameters={"path": f"file://{tmp_path}/other"}),
    )
    client.alter_table(other.dbName, other.tableName, other)
    before = found(client, table)
    history.increment(rows(2))
    report = history.publish()
    assert (report.outcome, code_of(report)) == (Outcome.REFUSED, TableTaken.__name__)
    assert history.ids() == [1, 2]
    assert found(client, table) == before


def test_a_table_that_was_named_by_hand_is_taken_over(
    history: History, table: str, client: Client
) -> None:
    history.increment(rows(1))
    history.publish()
    by_hand = found(client, table)
    by_hand.parameters = {"EXTERNAL": "TRUE", "spark.sql.sources.provider": "delta"}
    client.alter_table(by_hand.dbName, by_hand.tableName, by_hand)
    assert history.publish().outcome is Outcome.DONE
    assert found(client, table).parameters["tidemill.pipeline"] == history.name


def test_a_metastore_that_is_away_is_tried_again_and_the_rows_are_out(
    history: History, table: str, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1))
    with monkeypatch.context() as patch:
        patch.setenv("AIRFLOW_CONN_METASTORE", "hive-metastore://127.0.0.1:1")
        report = history.publish()
    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert code_of(report) == TargetUnreachable.__name__
    assert history.ids() == [1]
    assert history.publish().outcome is Outcome.DONE
    assert found(client, table).sd.serdeInfo.parameters["path"] == f"file://{history.layout.table}"


def test_what_the_metastore_cannot_hold_is_refused(
    table: str, hive_metastore: HiveMetastore
) -> None:
    at = Metastore(hive_metastore.host, hive_metastore.port, None)
    storage = StorageDescriptor(cols=[], serdeInfo=SerDeInfo(), location="file:///nowhere")
    orphan = Table(dbName="not_there", tableName="orders", sd=storage, parameters={})
    with pytest.raises(RegistrationRefused) as refusal, open_metastore(at, table) as client:
        client.create_table(orphan)
    assert refusal.value.table == table
