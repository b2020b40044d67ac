"""A Hive metastore as a catalogue: what it refuses by itself, and its locks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hive_metastore.ttypes import (
    LockComponent,
    LockLevel,
    LockRequest,
    LockType,
    UnlockRequest,
)

from tests.publish.iceberg.conftest import OLDER_HIVE
from tests.support.error_code import code_of
from tests.support.histories.generation_builder import rebuilt
from tests.support.histories.history_builder import COLUMNS, History, rows
from tests.support.iceberg_catalogue import Catalogue
from tidemill.contract.connections.hive import Metastore
from tidemill.contract.report import Outcome
from tidemill.publish.hive.metastore import open_metastore
from tidemill.publish.iceberg import target as iceberg
from tidemill.publish.iceberg.catalog import CatalogRefused
from tidemill.publish.iceberg.target import CatalogContended

if TYPE_CHECKING:
    from tests.servers.hive_metastore import HiveMetastore

IMPATIENT = {"lock-check-min-wait-time": "0.01", "lock-check-max-wait-time": "0.02"}
DATABASE, TABLE = "sales", "orders"
Open = Callable[..., tuple[History, Catalogue]]


@pytest.fixture
def opened(
    make_history: Callable[..., History], tmp_path: Path, hive_metastore: HiveMetastore
) -> Iterator[Open]:
    """Makes a history and its catalogue, on a metastore with Hive's own settings."""
    server = {"type": "hive", "uri": hive_metastore.uri}

    def opened(**properties: str) -> tuple[History, Catalogue]:
        catalogue = Catalogue(tmp_path, server={**server, **properties})
        more = f"publish: [{{kind: delta}}, {catalogue.target}]"
        return make_history(more=more), catalogue

    yield opened
    Catalogue(tmp_path, server=server).empty()


def test_columns_that_it_has_no_type_for_are_refused_and_a_new_table_helps(opened: Open) -> None:
    history, catalogue = opened()
    history.increment(rows(1))
    report = history.publish()
    assert (report.outcome, code_of(report)) == (Outcome.REFUSED, CatalogRefused.__name__)

    catalogue.empty()
    _, catalogue = opened(**OLDER_HIVE)
    history.write_spec(more=f"publish: [{{kind: delta}}, {catalogue.target}]")
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1]


def test_a_rebuild_with_other_columns_is_refused_and_the_table_stays_as_it_was(
    opened: Open,
) -> None:
    history, catalogue = opened(**OLDER_HIVE)
    history.increment(rows(1))
    history.publish()
    history.columns = pa.schema(
        [pa.field("text", pa.int64()) if one.name == "text" else one for one in COLUMNS]
    )
    rebuilt(history, [{"id": 10, "text": 7, "day": rows(1)[0]["day"]}])
    report = history.publish("rebuild")
    assert (report.outcome, code_of(report)) == (Outcome.REFUSED, CatalogRefused.__name__)
    assert catalogue.ids() == [1]


def test_a_lock_that_a_killed_writer_left_holds_the_target_up_until_it_is_gone(
    opened: Open, hive_metastore: HiveMetastore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iceberg, "WAIT_SECONDS", 0.001)
    history, catalogue = opened(**OLDER_HIVE, **IMPATIENT)
    history.increment(rows(1))
    history.publish()
    whole_table = LockComponent(
        type=LockType.EXCLUSIVE,
        level=LockLevel.TABLE,
        dbname=DATABASE,
        tablename=TABLE,
        isTransactional=True,
    )
    at = Metastore(hive_metastore.host, hive_metastore.port, None)
    with open_metastore(at, f"{DATABASE}.{TABLE}") as client:
        request = LockRequest(component=[whole_table], user="killed", hostname="elsewhere")
        lock = client.lock(request)
        history.increment(rows(2))
        report = history.publish()
        assert (report.transient, code_of(report)) == (True, CatalogContended.__name__)
        assert (history.ids(), catalogue.ids()) == ([1, 2], [1])
        client.unlock(UnlockRequest(lockid=lock.lockid))
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == [1, 2]
