"""A pipeline with state was read again without a person: of its Iceberg table nothing is left."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from itertools import count as numbers
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent, ManifestWriterV2

from tests.faults.pasts import begin_erasure, read_again
from tests.publish.iceberg.test_erasure import PERSON, assert_gone, entries
from tests.support.histories.history_builder import History, row
from tests.support.histories.net_history_builder import NetHistory, count
from tests.support.iceberg_catalogue import Catalogue
from tidemill.contract.report import Outcome
from tidemill.publish.iceberg.earlier import RowsKept
from tidemill.publish.target_heads import verify_target
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import NotErased, erase
from tidemill.steps.upkeep.erase.plan import ErasePlan, plan_erase

Make = Callable[..., Any]
LENIENT = "gate: {suite: none, rejected: {hold_above: 0.5}}"
OF_ORDERS = Condition({"text": (PERSON,)}, sources=("orders",))
# What the counts were made of does not show in them.
OF_A_CUSTOMER = Condition({"customer": (PERSON,)}, sources=("orders",))


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """An empty catalogue; `test_erasure` has the other kinds."""
    home = tmp_path / "catalogue"
    home.mkdir()
    return Catalogue(home)


@pytest.fixture
def make(tmp_path: Path, catalogue: Catalogue) -> Make:
    """Makes a history of one kind with its first increments published."""

    def build(kind: type[History], *days: Iterable[Any], targets: str = "{kind: delta}, ") -> Any:
        more = f"publish: [{targets}{catalogue.target}]\n{LENIENT}"
        history = kind(tmp_path / "pipeline", more=more)
        history.pipeline.transform_file.parent.mkdir(parents=True)
        history.pipeline.transform_file.touch()
        for day in days:
            history.increment(day)
            assert history.publish().outcome is Outcome.DONE
        return history

    return build


@pytest.fixture
def counted(make: Make) -> NetHistory:
    """Counts in mode `update`, one of which a person had raised."""
    return make(NetHistory, [count(PERSON, 1, 1), count("close", 1, 1)], [count("close", 1, 5)])


def erased(history: History, condition: Condition) -> ErasePlan:
    return erase(history.run("again"), condition, by="ann", reason="a request")


def assert_counted_again(history: NetHistory, catalogue: Catalogue, before: set[Path]) -> None:
    """The counts are the new ones, and no file of before is there."""
    assert sorted(catalogue.rows("action", "count")) == [("close", 2)]
    table = catalogue.table()
    assert len(table.snapshots()) == 1
    assert PERSON not in str([*entries(table)])
    assert {*before}.isdisjoint(stored(catalogue))
    for target in history.pipeline.spec.publish:
        verify_target(history.pipeline, target.name)


def stored(catalogue: Catalogue) -> set[Path]:
    """The table's own files that hold rows, or extremes of their values."""
    return {*catalogue.home.rglob("*.parquet"), *catalogue.home.rglob("*.avro")}


@pytest.mark.parametrize("targets", ["{kind: delta}, ", ""], ids=["beside Delta", "alone"])
def test_a_table_of_shared_files_names_the_new_ones_alone(
    make: Make, catalogue: Catalogue, targets: str
) -> None:
    history = make(
        History, [row(1), row(2, text=PERSON)], [row(3), row(4, text=PERSON)], targets=targets
    )
    plan = plan_erase(history.pipeline, OF_ORDERS)
    assert (plan.past, plan.unnamed) == (("iceberg.tidemill.sales.orders",), ())
    begin_erasure(history, OF_ORDERS)
    read_again(history, [row(1), row(3)])
    erased(history, OF_ORDERS)
    if targets:
        assert_gone(history, catalogue, [1, 3])
    assert catalogue.ids() == [1, 3]
    assert all("_live-0002" in str(path) for path in catalogue.files())
    again = plan_erase(history.pipeline, OF_ORDERS)
    assert (again.needed, again.unnamed) == (False, ())


def test_files_of_the_tables_own_go(counted: NetHistory, catalogue: Catalogue) -> None:
    before = stored(catalogue)
    begin_erasure(counted, OF_A_CUSTOMER)
    read_again(counted, [count("close", 1, 2)])
    erased(counted, OF_A_CUSTOMER)
    assert_counted_again(counted, catalogue, before)
    assert {*catalogue.home.rglob("*.parquet")} == catalogue.files()


def test_what_no_snapshot_names_is_told(counted: NetHistory, catalogue: Catalogue) -> None:
    """A publish was killed between the writing of its files and its commit."""
    (file,) = catalogue.files()
    left = file.with_name("left.parquet")
    shutil.copy(file, left)
    begin_erasure(counted, OF_A_CUSTOMER)
    read_again(counted, [count("close", 1, 2)])
    assert erased(counted, OF_A_CUSTOMER).unnamed == (str(left),)
    assert left.exists()


def test_what_keeps_snapshots_is_refused_before_anything_changes(
    counted: NetHistory, catalogue: Catalogue
) -> None:
    table = catalogue.table()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    table.manage_snapshots().create_branch(snapshot.snapshot_id, "audit").commit()
    with pytest.raises(RowsKept):
        erased(counted, OF_A_CUSTOMER)
    assert not (counted.layout.home / "erasures").exists()


def test_delete_files_of_another_engine_are_refused(
    counted: NetHistory, catalogue: Catalogue, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = catalogue.table()
    (task,) = table.scan().plan_files()
    with monkeypatch.context() as patched:
        patched.setattr(ManifestWriterV2, "content", lambda _: ManifestContent.DELETES)
        deletes = DataFile.from_args(
            content=DataFileContent.EQUALITY_DELETES,
            file_path=task.file.file_path,
            file_format=task.file.file_format,
            partition=task.file.partition,
            record_count=1,
            file_size_in_bytes=1,
            equality_ids=[1],
        )
        transaction = table.transaction()
        transaction.update_snapshot().fast_append().append_data_file(deletes).commit()
        transaction.commit_transaction()
    with pytest.raises(RowsKept) as refused:
        erased(counted, OF_A_CUSTOMER)
    assert "delete files" in refused.value.data["why"]


def test_a_table_that_shows_earlier_rows_is_named(
    counted: NetHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof does not trust the removal."""
    begin_erasure(counted, OF_A_CUSTOMER)
    read_again(counted, [count("close", 1, 2)])
    with monkeypatch.context() as patched:
        patched.setattr("tidemill.steps.upkeep.erase.erase.forget_past", lambda *_: None)
        with pytest.raises(NotErased) as refused:
            erased(counted, OF_A_CUSTOMER)
    # Two snapshots before, and what the newest one says of removed files.
    assert refused.value.data["targets"] == {"iceberg.tidemill.sales.orders": 3}
    erased(counted, OF_A_CUSTOMER)


def test_killed_at_any_write_it_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill before each file that is written or removed, and around each commit."""
    home = tmp_path / "world"
    catalogue = Catalogue(home / "catalogue")
    catalogue.home.mkdir(parents=True)
    more = f"publish: [{{kind: delta}}, {catalogue.target}]\n{LENIENT}"
    history = NetHistory(home / "pipeline", more=more)
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    for day in ([count(PERSON, 1, 1), count("close", 1, 1)], [count("close", 1, 5)]):
        history.increment(day)
        assert history.publish().outcome is Outcome.DONE
    before = stored(catalogue)
    begin_erasure(history, OF_A_CUSTOMER)
    read_again(history, [count("close", 1, 2)])
    shutil.copytree(home, tmp_path / "kept")
    for at in numbers(1):
        with monkeypatch.context() as patched:
            calls = kill_at(patched, at)
            try:
                erased(history, OF_A_CUSTOMER)
            except KeyboardInterrupt:
                pass
            else:
                break
        erased(history, OF_A_CUSTOMER)
        assert_counted_again(history, catalogue, before)
        shutil.rmtree(home)
        shutil.copytree(tmp_path / "kept", home)
    assert {*calls} == {"new_output", "delete", "commit_table", "after commit_table"}


def kill_at(patch: pytest.MonkeyPatch, at: int) -> list[str]:
    """Let the writer of an Iceberg table be killed at a call, the first being 1; the calls."""
    calls: list[str] = []

    def tick(name: str) -> None:
        calls.append(name)
        if len(calls) == at:
            raise KeyboardInterrupt

    def ticking(kind: type, name: str, *, around: bool = False) -> None:
        call = getattr(kind, name)

        def ticked(*given: Any, **named: Any) -> Any:
            tick(name)
            found = call(*given, **named)
            if around:
                tick(f"after {name}")
            return found

        patch.setattr(kind, name, ticked)

    ticking(PyArrowFileIO, "new_output")
    ticking(PyArrowFileIO, "delete")
    ticking(SqlCatalog, "commit_table", around=True)
    return calls
