"""A catalogue that does not answer or refuses holds up its target alone, and shows no secret."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest
from pyiceberg.catalog import Catalog, load_catalog

from tests.support.error_code import code_of
from tests.support.histories.history_builder import History, rows
from tests.support.iceberg_catalogue import Catalogue
from tidemill.contract.connections.airflow import connection
from tidemill.contract.connections.iceberg import catalog_properties
from tidemill.contract.report import Outcome, Report
from tidemill.publish.iceberg.catalog import CatalogRefused
from tidemill.publish.target import TargetUnreachable
from tidemill.toolchain.extras import ExtraMissing

Make = Callable[..., History]
BY_CONNECTION = "publish: [{kind: delta}, {kind: iceberg, table: sales.orders, conn_id: lake}]"


@pytest.fixture
def by_connection(make_history: Make, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Report]:
    """Publishes an increment to a catalogue with the given extra of a connection."""

    def publish(**extra: str) -> Report:
        given = {"conn_type": "generic", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(given))
        history = make_history(more=BY_CONNECTION)
        history.increment(rows(1))
        report = history.publish()
        assert history.ids() == [1]
        return report

    return publish


def test_a_catalogue_comes_from_a_connection(
    by_connection: Callable[..., Report], catalogue: Catalogue
) -> None:
    assert by_connection(**catalogue.properties).outcome is Outcome.DONE
    assert catalogue.ids() == [1]


@pytest.mark.parametrize(
    "extra",
    [
        {"type": "sql", "uri": "postgresql+psycopg://ann:hush-hush@127.0.0.1:1/lake"},
        {"type": "rest", "uri": "http://127.0.0.1:1", "token": "hush-hush"},
        {"type": "hive", "uri": "thrift://127.0.0.1:1"},
        {
            "type": "glue",
            "glue.endpoint": "http://127.0.0.1:1",
            "glue.region": "eu-west-1",
            "glue.access-key-id": "ann",
            "glue.secret-access-key": "hush-hush",
            "glue.max-retries": "1",
        },
    ],
    ids=lambda extra: extra["type"],
)
def test_one_that_does_not_answer_is_tried_again_and_its_secrets_are_in_no_report(
    by_connection: Callable[..., Report], extra: dict[str, str]
) -> None:
    report = by_connection(**extra)
    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert code_of(report) == TargetUnreachable.__name__
    assert "hush-hush" not in report.model_dump_json()


@pytest.mark.parametrize("extra", [{"type": "nonsense"}, {"type": "sql", "uri": "sqlite://"}])
def test_properties_that_are_wrong_are_refused(
    by_connection: Callable[..., Report], extra: dict[str, str]
) -> None:
    report = by_connection(**extra)
    assert (report.outcome, code_of(report)) == (Outcome.REFUSED, CatalogRefused.__name__)


def test_host_and_login_are_those_of_a_rest_catalogue() -> None:
    given = {"host": "https://lake", "port": 8181, "login": "id", "password": "hush"}
    text = json.dumps({"conn_type": "generic", "extra": {"type": "rest"}, **given})
    assert catalog_properties(connection("lake", {"AIRFLOW_CONN_LAKE": text})) == {
        "uri": "https://lake:8181",
        "credential": "id:hush",
        "type": "rest",
    }


def test_without_pyiceberg_the_message_says_what_to_install(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1))
    for name in [one for one in sys.modules if one.startswith("tidemill.publish.iceberg")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    assert code_of(history.publish()) == ExtraMissing.__name__


def test_an_answer_that_is_lost_after_the_commit_repeats_nothing(
    history: History, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    history.increment(rows(1))
    kind = type(load_catalog("tidemill", **catalogue.properties))
    commit = kind.commit_table

    def lost(catalog: Catalog, *arguments: object) -> object:
        commit(catalog, *arguments)
        raise ConnectionResetError("Connection reset by peer")

    with monkeypatch.context() as patch:
        patch.setattr(kind, "commit_table", lost)
        report = history.publish()
    assert (report.transient, code_of(report)) == (True, TargetUnreachable.__name__)
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1]
    assert len(catalogue.table().snapshots()) == 1
