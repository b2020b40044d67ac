"""What a power cut leaves of Spark's logs, and what the ledger gives back of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.spark_batch_builder import plan
from tests.support.histories.spark_log_builder import write_commit
from tests.support.remedies import carry_out
from tidemill.contract.errors import Refused, TidemillError
from tidemill.generations.repairs.plan import NothingBound, planned_repairs
from tidemill.generations.repairs.repair import EntryUnknown, Repair
from tidemill.generations.verify import CheckpointLost, LedgerAhead, SinkLost, open_generation
from tidemill.ledger.ledger import LedgerGap
from tidemill.spark_logs.checkpoint import CheckpointWithoutMetadata
from tidemill.spark_logs.compactible_log import GapInSinkLog, GapInSourceLog, MissingCompactLog
from tidemill.spark_logs.metadata_log import TornLogEntry
from tidemill.spark_logs.sink_log import read_sink_log
from tidemill.steps.decisions.repair_checkpoint import RepairChanged, repair_checkpoint
from tidemill.steps.decisions.snapshot import keep_snapshot
from tidemill.storage.documents import TornDocument
from tidemill.storage.lease import hold


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Three batches."""
    history = History(tmp_path)
    for number in range(3):
        history.batch(rows(number), [reject(f"r{number}")])
    return history


def entry(history: History, name: str) -> Path:
    return (history.sink if name.startswith("_spark") else history.checkpoint) / name


def emptied(file: Path) -> None:
    file.write_text("")


def gone(file: Path) -> None:
    file.unlink()


def cut_short(file: Path) -> None:
    file.write_text(file.read_text()[:-9])


def meaning(file: Path) -> list[Any]:
    """The lines of an entry without what only the batch itself could tell."""
    found: list[Any] = []
    for line in file.read_text().split("\n"):
        try:
            value = json.loads(line)
            if isinstance(value, dict):
                value.pop("batchTimestampMs", None)
        except ValueError:
            value = line
        found.append(value)
    return found


def repaired(history: History) -> list[Repair]:
    return repair_checkpoint(history.pipeline, planned_repairs(history.pipeline), "repair")


def repair(history: History) -> list[tuple[str, str]]:
    done = repaired(history)
    return [(one.action, str(one.file.relative_to(history.layout.home))) for one in done]


KNOWN = [
    "commits/2",
    "commits/1",
    "offsets/2",
    "offsets/1",
    "metadata",
    "sources/orders/2",
    "sources/orders/0",
    "_spark_metadata/2",
    "_spark_metadata/0",
]


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("harm", [emptied, gone, cut_short])
def test_an_entry_of_a_batch_that_the_ledger_knows_is_written_as_it_was(
    history: History, name: str, harm: Callable[[Path], None]
) -> None:
    file = entry(history, name)
    before = meaning(file)
    harm(file)
    assert repair(history) == [("write", str(file.relative_to(history.layout.home)))]
    assert meaning(file) == before
    assert not file.with_name(f".{file.name}.crc").exists()
    assert repair(history) == []


@pytest.mark.remedy(
    "CheckpointLost",
    "CheckpointWithoutMetadata",
    "GapInLog",
    "GapInSinkLog",
    "GapInSourceLog",
    "LedgerAhead",
    "SinkLost",
    "TornLogEntry",
)
@pytest.mark.parametrize(
    ("name", "harm", "refusal"),
    [
        ("commits/2", emptied, TornLogEntry),
        ("commits/2", gone, LedgerAhead),
        ("offsets/2", emptied, TornLogEntry),
        ("offsets/2", gone, CheckpointLost),
        ("metadata", emptied, TornLogEntry),
        ("metadata", gone, CheckpointWithoutMetadata),
        ("sources/orders/2", emptied, TornLogEntry),
        ("sources/orders/2", gone, GapInSourceLog),
        ("_spark_metadata/2", emptied, TornLogEntry),
        ("_spark_metadata/2", gone, SinkLost),
        ("_spark_metadata/1", gone, GapInSinkLog),
    ],
)
def test_what_refuses_such_a_state_names_the_command_that_mends_it(
    history: History, name: str, harm: Callable[[Path], None], refusal: type[Refused]
) -> None:
    harm(entry(history, name))
    with pytest.raises(refusal) as refused:
        open_generation(history.pipeline).checkpoint.inputs("orders")[2]
    assert "tidemill checkpoint repair" in refused.value.remedy
    repair(history)
    assert len(open_generation(history.pipeline).checkpoint.inputs("orders")[2]) == 1


def test_after_a_repair_the_pipeline_goes_on_as_if_nothing_had_been(history: History) -> None:
    history.judge(history.seal().increment)
    history.publish()
    for name in KNOWN:
        emptied(entry(history, name))
    repair(history)
    history.increment(rows(99))
    history.publish()
    assert (history.ids(), history.records()) == ([0, 1, 2, 99], ["r0", "r1", "r2"])


def test_everything_of_the_last_batch_may_be_torn_at_once(history: History) -> None:
    names = ["commits/2", "offsets/2", "sources/orders/2", "_spark_metadata/2", "metadata"]
    before = {name: meaning(entry(history, name)) for name in names}
    for name in names:
        emptied(entry(history, name))
    assert len(repair(history)) == len(names)
    assert {name: meaning(entry(history, name)) for name in names} == before


def test_the_watermark_of_a_commit_is_the_ledgers(tmp_path: Path) -> None:
    history = History(tmp_path)
    history.batch(rows(1))
    history.batch(rows(2), commit=False)
    write_commit(history.checkpoint, 1, 1_700_000_000_000)
    history.ledger.complete()
    emptied(entry(history, "commits/1"))
    repair(history)
    assert meaning(entry(history, "commits/1"))[1] == {"nextBatchWatermarkMs": 1_700_000_000_000}


@pytest.mark.remedy("MissingCompactLog")
def test_without_a_compact_file_the_message_names_the_command_that_writes_it(
    tmp_path: Path,
) -> None:
    history = compacted(tmp_path, "_spark_metadata", batches=22)
    log = entry(history, "_spark_metadata")
    (log / "19").unlink()
    with pytest.raises(MissingCompactLog) as refused:
        open_generation(history.pipeline)
    carry_out(history, refused.value.remedy, "checkpoint repair")
    assert open_generation(history.pipeline).written == 21


def compacted(tmp_path: Path, log: str, *, batches: int = 12) -> History:
    """Some batches, of which the first ten are in a compact file of a log."""
    history = History(tmp_path)
    for number in range(batches):
        history.batch(rows(number))
    folder = entry(history, log)
    lines = [line for n in range(10) for line in meaning(folder / str(n))[1:]]
    (folder / "9.compact").write_text("\n".join(["v1", *map(json.dumps, lines)]))
    # Spark has cleared some of what it compacted; of the others it holds the very lines.
    for number in (0, 1, 2, 9):
        (folder / str(number)).unlink()
    return history


@pytest.mark.parametrize("harm", [emptied, gone])
@pytest.mark.parametrize("log", ["_spark_metadata", "sources/orders"])
def test_a_compact_file_is_put_together_again(
    tmp_path: Path, log: str, harm: Callable[[Path], None]
) -> None:
    history = compacted(tmp_path, log)
    compact = entry(history, f"{log}/9.compact")
    before = meaning(compact)
    harm(compact)
    assert len(repair(history)) == 1
    assert meaning(compact) == before
    assert len(read_sink_log(history.sink).files) == 12


# -- what the ledger does not know ---------------------------------------------------------


def begun(history: History) -> None:
    """A fourth batch that Spark has committed, and that has no record."""
    history.batch(rows(30), commit=False)
    write_commit(history.checkpoint, 3)


@pytest.mark.parametrize(
    ("torn", "removed"),
    [
        ("commits/3", ["commits/3"]),
        ("_spark_metadata/3", ["commits/3", "_spark_metadata/3"]),
        ("offsets/3", ["commits/3", "_spark_metadata/3", "offsets/3"]),
        ("sources/orders/3", ["commits/3", "_spark_metadata/3", "offsets/3", "sources/orders/3"]),
    ],
)
def test_what_is_torn_of_a_batch_that_nobody_knows_is_left_to_spark(
    history: History, torn: str, removed: list[str]
) -> None:
    begun(history)
    emptied(entry(history, torn))
    done = repaired(history)
    assert [(one.action, one.file) for one in done] == [
        ("remove", entry(history, name)) for name in removed
    ]
    left = open_generation(history.pipeline)
    assert (left.committed, history.ledger.latest()) == (2, 2)
    assert not [path for name in removed for path in entry(history, name).parent.glob(".3.crc")]


@pytest.mark.parametrize(
    ("torn", "removed"),
    [
        (["commits/0"], ["commits/0"]),
        (["offsets/0"], ["state", "commits/0", "_spark_metadata/0", "offsets/0"]),
        (
            ["offsets/0", "sources/orders/0"],
            ["state", "commits/0", "_spark_metadata/0", "offsets/0", "sources/orders/0"],
        ),
    ],
)
def test_so_is_what_is_torn_of_the_first_batch(
    tmp_path: Path, torn: list[str], removed: list[str]
) -> None:
    history = History(tmp_path)
    history.batch(rows(1), commit=False)
    write_commit(history.checkpoint, 0)
    schema = entry(history, "state/0/_metadata/schema")
    schema.parent.mkdir(parents=True)
    schema.touch()
    for name in torn:
        emptied(entry(history, name))
    assert [one.file for one in repaired(history)] == [entry(history, name) for name in removed]
    # Spark refuses to plan a first batch beside any state.
    assert schema.exists() == ("offsets/0" not in removed)
    assert open_generation(history.pipeline).committed == -1
    assert planned_repairs(history.pipeline) == []


def test_a_commit_whose_files_are_not_whole_is_taken_back(history: History) -> None:
    begun(history)
    torn = read_sink_log(history.sink).files_of(3)[0].path
    torn.write_bytes(b"")
    done = repaired(history)
    assert [one.file.name for one in done] == ["3", "3"]
    assert open_generation(history.pipeline).planned == 3
    assert open_generation(history.pipeline).written == 2


def test_a_listing_that_no_plan_names_is_made_again(history: History) -> None:
    plan(history.checkpoint, 3, [history.arrive("f0003.csv")])
    (history.checkpoint / "offsets" / "3").unlink()
    emptied(entry(history, "sources/orders/3"))
    assert repair(history) == [("remove", "checkpoints/live-0001/sources/orders/3")]


def test_a_whole_batch_that_nobody_wrote_down_is_left_as_it_is(history: History) -> None:
    begun(history)
    assert planned_repairs(history.pipeline) == []
    history.ledger.complete()
    assert history.ledger.latest() == 3


# -- what is refused -----------------------------------------------------------------------


def refusal(history: History) -> EntryUnknown:
    before = {path: path.read_bytes() for path in history.checkpoint.rglob("*") if path.is_file()}
    with pytest.raises(EntryUnknown) as refused:
        repaired(history)
    after = {path: path.read_bytes() for path in history.checkpoint.rglob("*") if path.is_file()}
    assert after == before
    return refused.value


def test_a_commit_that_named_files_of_state_by_id_is_not_made_up(history: History) -> None:
    for number in (0, 1, 2):
        text = 'v2\n{"nextBatchWatermarkMs":0,"stateUniqueIds":{"0":[["c8"]]}}'
        (history.checkpoint / "commits" / str(number)).write_text(text)
    emptied(entry(history, "commits/2"))
    assert refusal(history).file == entry(history, "commits/2")


def test_a_query_is_not_told_that_it_committed_what_its_state_lacks(history: History) -> None:
    store = history.checkpoint / "state" / "0" / "0"
    store.mkdir(parents=True)
    for version in (1, 2):
        (store / f"{version}.changelog").write_text("x")
    emptied(entry(history, "commits/2"))
    assert "does not hold what batch 2 left" in refusal(history).why
    (store / "3.changelog").write_text("x")
    assert len(repair(history)) == 1


def test_without_any_entry_of_offsets_nothing_tells_the_settings(history: History) -> None:
    for number in (0, 1, 2):
        entry(history, f"offsets/{number}").unlink()
    assert refusal(history).file == entry(history, "offsets/2")


def test_a_published_file_that_is_gone_is_not_named_as_if_it_were_there(history: History) -> None:
    emptied(entry(history, "_spark_metadata/1"))
    history.files(1)[0].unlink()
    assert refusal(history).file == entry(history, "_spark_metadata/1")


def test_nothing_is_repaired_of_a_pipeline_that_never_ran(tmp_path: Path) -> None:
    with pytest.raises(NothingBound):
        planned_repairs(History(tmp_path).pipeline)


def test_nothing_is_repaired_while_a_run_is_writing(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.steps.decisions.repair_checkpoint.PATIENCE_SECONDS", 0.0)
    emptied(entry(history, "commits/2"))
    with (
        hold(history.layout.lease, step="ingest", run_id="ingest"),
        pytest.raises(TidemillError) as refused,
    ):
        repaired(history)
    assert refused.value.code == "LeaseHeld"
    assert entry(history, "commits/2").read_text() == ""


@pytest.mark.remedy("RepairChanged")
def test_only_what_was_shown_is_done(history: History) -> None:
    emptied(entry(history, "commits/2"))
    shown = planned_repairs(history.pipeline)
    emptied(entry(history, "offsets/2"))
    with pytest.raises(RepairChanged) as refused:
        repair_checkpoint(history.pipeline, shown, "repair")
    assert entry(history, "commits/2").read_text() == ""
    carry_out(history, refused.value.remedy, "checkpoint repair")
    assert open_generation(history.pipeline).committed == 2


def record(history: History, number: int) -> Path:
    return history.ledger.folder / f"{number:06d}.json"


def told(history: History, number: int) -> Any:
    """A record without its moment, and without what is counted when input is looked into."""
    found = json.loads(record(history, number).read_text())
    inputs = [(one["source"], one["path"], one["size"]) for one in found["inputs"]]
    return found | {"committed": None, "inputs": inputs, "rows_in": None}


@pytest.mark.remedy("LedgerGap", "TornDocument")
@pytest.mark.parametrize(
    ("harm", "refusal"), [(emptied, TornDocument), (gone, LedgerGap), (cut_short, TornDocument)]
)
@pytest.mark.parametrize("sealed", [True, False])
def test_a_record_of_the_ledger_is_written_again(
    history: History, harm: Callable[[Path], None], refusal: type[Refused], sealed: bool
) -> None:
    if sealed:
        history.judge(history.seal().increment)
    before = told(history, 1)
    harm(record(history, 1))
    with pytest.raises(refusal) as refused:
        history.ledger.batches()
    carry_out(history, refused.value.remedy, "checkpoint repair")
    assert told(history, 1) == before
    assert planned_repairs(history.pipeline) == []


def test_several_records_are_written_again_at_once(history: History) -> None:
    before = [told(history, number) for number in range(3)]
    for number in (0, 2):
        emptied(record(history, number))
    repaired(history)
    assert [told(history, number) for number in range(3)] == before


def test_a_snapshot_of_the_checkpoint_tells_what_spark_has_forgotten(history: History) -> None:
    history.judge(history.seal().increment)
    history.publish()
    keep_snapshot(history.run("keep"), "ada")
    before = told(history, 0)
    gone(record(history, 0))
    for log in ("offsets", "commits"):
        (history.checkpoint / log / "0").unlink()
    repaired(history)
    assert told(history, 0) == before


@pytest.mark.parametrize("log", ["offsets", "commits"])
def test_a_record_that_nothing_tells_is_refused(history: History, log: str) -> None:
    gone(record(history, 0))
    (history.checkpoint / log / "0").unlink()
    with pytest.raises(EntryUnknown) as refused:
        planned_repairs(history.pipeline)
    assert refused.value.data["file"] == record(history, 0)


def test_a_record_of_other_files_than_were_sealed_is_refused(history: History) -> None:
    history.judge(history.seal().increment)
    gone(record(history, 1))
    written = json.loads(entry(history, "_spark_metadata/1").read_text().split("\n")[1])
    moved = json.dumps(written | {"path": written["path"].replace("part-", "part-9")})
    Path(written["path"].removeprefix("file://")).rename(
        json.loads(moved)["path"].removeprefix("file://")
    )
    entry(history, "_spark_metadata/1").write_text(f"v1\n{moved}")
    with pytest.raises(EntryUnknown):
        planned_repairs(history.pipeline)
    assert not record(history, 1).exists()
