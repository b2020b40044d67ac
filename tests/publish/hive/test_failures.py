"""Where no metastore can name the table its rows are out, and the error says what to do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

import pytest

from tests.support.error_code import code_of
from tests.support.histories.history_builder import History, rows
from tidemill.contract.connections.airflow import ConnectionMissing
from tidemill.contract.connections.hive import MetastoreConnectionUnfit
from tidemill.contract.report import Outcome, Report
from tidemill.publish.target import TargetUnreachable
from tidemill.toolchain.extras import ExtraMissing

CATALOG = "{type: hive, table: sales.orders, conn_id: metastore}"


@pytest.fixture
def publish(
    make_history: Callable[..., History], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Report]:
    """Publishes an increment with a connection to a metastore; its rows must be out then."""

    def publish(**given: object) -> Report:
        if given:
            monkeypatch.setenv(
                "AIRFLOW_CONN_METASTORE", json.dumps({"conn_type": "hive_metastore", **given})
            )
        history = make_history(more=f"publish: [{{kind: delta, catalog: {CATALOG}}}]")
        history.increment(rows(1))
        report = history.publish()
        assert history.ids() == [1]
        return report

    return publish


def test_a_metastore_that_does_not_answer_is_tried_again(publish: Callable[..., Report]) -> None:
    report = publish(host="127.0.0.1", port=1)
    assert (report.outcome, report.transient) == (Outcome.FAILED, True)
    assert code_of(report) == TargetUnreachable.__name__


@pytest.mark.parametrize(
    "given",
    [{"port": 9083}, {"host": "127.0.0.1", "extra": {"authMechanism": "KERBEROS"}}],
    ids=["no host", "a login"],
)
def test_a_connection_that_cannot_be_used_is_named(
    publish: Callable[..., Report], given: dict[str, object]
) -> None:
    assert code_of(publish(**given)) == MetastoreConnectionUnfit.__name__


def test_a_connection_that_is_missing_is_named(publish: Callable[..., Report]) -> None:
    assert code_of(publish()) == ConnectionMissing.__name__


def test_without_thrift_the_message_says_what_to_install(
    publish: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [one for one in sys.modules if one.startswith("tidemill.publish.hive")]:
        monkeypatch.delitem(sys.modules, name)
    for name in [one for one in sys.modules if one.partition(".")[0] == "thrift"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "thrift", None)
    assert code_of(publish(host="127.0.0.1", port=1)) == ExtraMissing.__name__
