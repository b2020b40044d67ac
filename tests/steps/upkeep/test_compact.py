"""Compaction: fewer files, the same rows, and every later event is as exact as without it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from tests.steps.decisions.test_rewind import back_to, rewound
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, row, rows
from tests.support.histories.net_history_builder import NetHistory, count
from tests.support.histories.rolled_history import RolledHistory
from tests.support.iceberg_catalogue import Catalogue
from tests.support.remedies import carry_out
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome
from tidemill.file_formats.delta_changes import changes, table_head
from tidemill.publish.delta.compaction import Compaction, NotCompacted
from tidemill.publish.delta.log_checkpoint import FEW_ENTRIES, entries_to_cover
from tidemill.reporting.pipeline_status import read_status
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.steps.upkeep.compact import CompactRequest, NoDeltaTable
from tidemill.steps.upkeep.leftover import Leftover

SECOND = date(2024, 1, 2)
ALL = CompactRequest()


@pytest.fixture
def past(tmp_path: Path) -> RolledHistory:
    """Four published increments over two days, each with a rejected row."""
    history = RolledHistory(tmp_path / "pipeline")
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    for number, record in enumerate("abcd", 1):
        history.increment([row(number), row(10 * number, SECOND)], [reject(record)])
        history.publish()
    return history


def live(table: Path) -> list[Path]:
    return sorted(map(Path, DeltaTable(table).file_uris()))


def small(found: Sequence[Leftover]) -> list[tuple[str, int]]:
    return [(one.path.name, one.files) for one in found if one.kind == "small"]


def differences(before: Sequence[Path], after: Sequence[Path]) -> list[Any]:
    """The rows that are in one set of files and not in the other, each as often as that."""
    with duckdb.connect() as connected:
        for name, paths in (("before", before), ("after", after)):
            files = connected.read_parquet([str(path) for path in paths], hive_partitioning=True)
            # Without what Spark's sinks add for themselves.
            files.project('day, id, amount, "at", text').create(name)
        either = "(FROM {0} EXCEPT ALL FROM {1})"
        ways = (either.format("before", "after"), either.format("after", "before"))
        return connected.execute(" UNION ALL ".join(ways)).fetchall()


def test_small_files_of_a_partition_become_one_and_no_row_changes(past: RolledHistory) -> None:
    before, seen = live(past.layout.table), past.published()
    planned = ALL.plan(past.run())
    assert small(planned) == [("day=2024-01-01", 4), ("day=2024-01-02", 4), ("rejected", 4)]
    assert live(past.layout.table) == before
    assert small(ALL.apply(past.run("compact"))) == small(planned)
    after = live(past.layout.table)
    assert [path.parent.name for path in after] == ["day=2024-01-01", "day=2024-01-02"]
    assert (differences(before, after), len(live(past.layout.rejected))) == ([], 1)
    assert sorted(map(str, past.published())) == sorted(map(str, seen))
    assert past.records() == ["a", "b", "c", "d"]
    # The ledger names them, and so do other targets.
    assert all(path.exists() for path in before)
    assert small(ALL.apply(past.run("again"))) == []
    last = past.delta().history(1)[0]
    assert (last["tidemill.compacted"], last["tidemill.run_id"]) == ("8", "compact")


def test_later_steps_go_on_as_without_it(past: RolledHistory) -> None:
    ALL.apply(past.run("compact"))
    assert perform("doctor", doctor, past.run("scheduled-next")).error is None
    assert len(read_status(past.layout, ["delta"]).increments) == 4
    past.increment(rows(5), [reject("e")])
    assert past.publish().outcome is Outcome.DONE
    assert past.ids() == [1, 2, 3, 4, 5, 10, 20, 30, 40]
    assert past.publish().reason == "nothing to publish"


def test_a_swap_after_it_takes_exactly_its_partitions(past: RolledHistory) -> None:
    ALL.apply(past.run("compact"))
    made_again(past, [row(21, SECOND)], [reject("n", day="2024-01-02")],
               partitions=days("2024-01-02"))  # fmt: skip
    past.publish("again")
    assert past.ids() == [1, 2, 3, 4, 21]
    assert past.records() == ["a", "b", "c", "d", "n"]


def test_a_swap_that_was_computed_before_it_is_applied_after_it(past: RolledHistory) -> None:
    made_again(past, [row(21, SECOND)], partitions=days("2024-01-02"))
    ALL.apply(past.run("compact"))
    assert past.publish("again").outcome is Outcome.DONE
    assert past.ids() == [1, 2, 3, 4, 21]


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_rewind_goes_back_to_an_increment_within_a_compacted_file(
    past: RolledHistory, last: int
) -> None:
    ALL.apply(past.run("compact"))
    rewound(past, back_to(f"run-{last}"))
    stay = [*range(1, last + 1), *range(10, 10 * last + 1, 10)]
    assert (past.ids(), past.records()) == (stay, [*"abcd"[:last]])
    # What stays are files as Spark wrote them, which are compacted as others are.
    assert len(live(past.layout.table)) == 2 * last
    ALL.apply(past.run("compact-2"))
    assert (past.ids(), len(live(past.layout.table))) == (stay, 2)


def test_a_table_that_lost_its_log_is_filled_again_from_the_journal(past: RolledHistory) -> None:
    ALL.apply(past.run("compact"))
    seen = past.ids()
    (past.layout.table / "_delta_log").rename(past.home / "lost")
    assert past.publish().error is None
    carry_out(past, f"tidemill target repair {past.name} delta", "target repair")
    assert past.publish().outcome is Outcome.DONE
    assert past.ids() == seen


def test_an_iceberg_table_that_lags_gets_every_increment(tmp_path: Path) -> None:
    home = tmp_path / "catalogue"
    home.mkdir()
    catalogue = Catalogue(home)
    history = History(tmp_path / "pipeline")
    for number in (1, 2, 3):
        history.increment(rows(number))
        history.publish()
    ALL.apply(history.run("compact"))
    history.write_spec(more=f"publish: [{{kind: delta}}, {catalogue.target}]")
    assert history.publish().outcome is Outcome.DONE
    assert catalogue.ids() == history.ids() == [1, 2, 3]


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_rows_of_compacted_files_are_replaced_by_key(tmp_path: Path, mode: str) -> None:
    keys = ("action", "hour") if mode == "update" else ()
    history = NetHistory(tmp_path / "net", mode=mode, keys=keys)
    for hour in (1, 2, 3):
        history.increment([count("open", hour, 1)])
        history.publish()
    files = {"update": 3, "complete": 1}[mode]
    assert small(ALL.apply(history.run("compact"))) == ([("table", 3)] if files > 1 else [])
    before = sorted(history.table())
    history.increment([count("open", 2, 7)])
    assert history.publish().outcome is Outcome.DONE
    kept = [one for one in before if "02:00" not in str(one[1])] if mode == "update" else []
    assert len(history.table()) == len(kept) + 1


def test_rows_are_sorted_where_the_spec_says_so(tmp_path: Path) -> None:
    how = "publish: [{kind: delta, compact: {sort_by: [id]}}]"
    history = History(tmp_path / "pipeline", more=how)
    for number in (3, 1, 2):
        history.increment(rows(number, 10 * number))
        history.publish()
    ALL.apply(history.run("compact"))
    (file,) = live(history.layout.table)
    assert pq.read_table(file, partitioning=None)["id"].to_pylist() == [1, 2, 3, 10, 20, 30]


def test_a_column_that_cannot_be_sorted_is_named_and_nothing_changes(past: RolledHistory) -> None:
    version = past.delta().version()
    compaction = Compaction(past.layout, past.layout.table, 2**20, ["nothing"])
    with pytest.raises(NotCompacted) as refused:
        compaction.commit_some(9, "compact")
    assert refused.value.partition == {"day": "2024-01-01"}
    assert past.delta().version() == version
    assert [*past.layout.table.glob("day=*/*")] == []


def test_files_are_only_as_large_as_the_target_size(past: RolledHistory) -> None:
    size = 2 * max(path.stat().st_size for path in live(past.layout.table)) + 8
    past.write_spec(more=f"publish: [{{kind: delta, compact: {{target_size: {size}}}}}]")
    before = live(past.layout.table)
    done = [one for one in ALL.apply(past.run("compact")) if one.kind == "small"]
    assert [one.files for one in done[:4]] == [2, 2, 2, 2]
    assert max(one.size for one in done) <= size
    assert differences(before, live(past.layout.table)) == []
    past.write_spec(more="publish: [{kind: delta, compact: {target_size: 16}}]")
    assert small(ALL.plan(past.run())) == []


def test_partitions_are_compacted_that_a_person_names(past: RolledHistory) -> None:
    asked = CompactRequest([{"day": "2024-01-02"}])
    assert small(asked.apply(past.run("compact"))) == [("day=2024-01-02", 4)]
    assert [path.parent.name for path in live(past.layout.table)].count("day=2024-01-01") == 4
    with pytest.raises(NoDeltaTable):
        CompactRequest([{"region": "north"}]).plan(past.run())


def test_a_pipeline_without_a_delta_table_is_refused(tmp_path: Path) -> None:
    history = History(tmp_path / "pipeline", more="publish: [{kind: files}]")
    history.increment(rows(1))
    with pytest.raises(NoDeltaTable):
        ALL.apply(history.run())


def test_each_commit_is_bounded(past: RolledHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidemill.publish.delta.compaction.BYTES_AT_ONCE", 1)
    version, seen = past.delta().version(), past.ids()
    ALL.apply(past.run("compact"))
    assert past.delta().version() == version + 2
    assert (past.ids(), len(live(past.layout.table))) == (seen, 2)


def test_a_writer_that_lost_the_lease_commits_nothing(past: RolledHistory) -> None:
    version = past.delta().version()
    with pytest.raises(LeaseLost):
        Compaction(past.layout, past.layout.table, 2**20).commit_some(0, "late")
    assert past.delta().version() == version


def test_what_another_writer_compacts_meanwhile_comes_back_in_no_row(
    past: RolledHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, write = past.ids(), Compaction._write
    meanwhile = [lambda: past.delta().optimize.compact()]

    def slow(*given: Any) -> Any:
        if meanwhile:
            meanwhile.pop()()
        return write(*given)

    monkeypatch.setattr(Compaction, "_write", slow)
    assert ALL.apply(past.run("compact")) is not None
    assert (past.ids(), len(live(past.layout.table))) == (seen, 2)


def test_readers_of_changes_pass_over_it(past: RolledHistory) -> None:
    head = table_head(past.layout.table)
    assert head is not None
    ALL.apply(past.run("compact"))
    (version,) = changes(past.layout.table, head.version + 1, head.version + 2)
    assert (version.added, version.swapped) == ((), ())


def test_a_long_log_gets_a_checkpoint(past: RolledHistory) -> None:
    for number in range(5, 5 + FEW_ENTRIES):
        past.increment(rows(number))
        past.publish()
    planned = [one for one in ALL.plan(past.run()) if one.kind == "entry"]
    assert {one.path.parents[1] for one in planned} == {past.layout.table, past.layout.rejected}
    seen = past.ids()
    ALL.apply(past.run("compact"))
    for table in (past.layout.table, past.layout.rejected):
        assert entries_to_cover(table) == []
        assert [*(table / "_delta_log").glob("*.checkpoint.parquet")] != []
    assert past.ids() == seen
    past.increment(rows(99))
    assert past.publish().outcome is Outcome.DONE
    assert past.ids() == [*seen, 99]
