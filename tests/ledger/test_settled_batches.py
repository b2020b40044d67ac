"""Settled batches: a record and an index save the reading of old batches, and change no answer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.histories.history_builder import History, rows
from tests.support.listed_folders import listings
from tests.support.opened_files import opened_files
from tidemill.compatibility.source_identity import verify_sources
from tidemill.contract.errors import Refused
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import LedgerGap
from tidemill.ledger.past_batches import PastBatches
from tidemill.ledger.settled_batches import folder_of, read_settled_batches
from tidemill.sources.kinds import open_source
from tidemill.sources.open_source import OpenSource
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.overdue import last_arrivals
from tidemill.steps.parts.run import perform

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
SETTLED = 6
RECURSIVE = ", options: {recursiveFileLookup: true}"


def with_past(home: Path, *, source: str = RECURSIVE) -> History:
    """Six settled batches and two after them, each of which has read a file of its own folder."""
    home.mkdir(exist_ok=True)
    history = History(home, source=source)
    for number in range(SETTLED + 2):
        content = f"id,at\n{number},\n"
        file = history.arrive(f"{number}/in.csv", content, at=NOON + timedelta(hours=number))
        history.batch(rows(number), inputs=[file])
        if number == SETTLED - 1:
            history.ledger.settle(every=1)
    return history


@pytest.fixture
def past(tmp_path: Path) -> History:
    return with_past(tmp_path / "past")


def answers(history: History, batches: Sequence[Batch]) -> dict[str, Any]:
    """All that a doctor, an ingest and the triggerer ask of the batches of a file source."""
    source = open_source(history.pipeline, "orders")
    found = source.probe(batches)
    verify_sources(history.layout, FIRST_GENERATION, history.pipeline.spec, batches)
    said = [(one.error.code, one.rating, str(one.error)) for one in found.problems]
    return {
        "new": found.new,
        "times": (found.last_arrival, found.oldest_new, found.backlog_bytes),
        "facts": found.facts,
        "problems": said,
        "report": report(source, batches),
        "arrivals": last_arrivals(history.run(), [found], batches, datetime.now(UTC)),
        "last": (len(batches), batches[-1], batches[SETTLED - 1], batches[4:]),
    }


def report(source: OpenSource[Any], batches: Sequence[Batch]) -> Any:
    """What an ingest of the last batch says, or is refused for."""
    try:
        found = source.report(batches, batches[-1:], print)
    except Refused as error:
        return str(error)
    return found and found.facts


# What becomes of the source's folder after the batches.


def grow(history: History) -> None:
    with (history.inputs / "2" / "in.csv").open("a") as file:
        file.write("9,\n")


def deliver_again(history: History) -> None:
    draft = history.arrive("draft.tmp", "id,at\n77,\n")
    draft.replace(history.inputs / "1" / "in.csv")


def copy(history: History) -> None:
    shutil.copy(history.inputs / "3" / "in.csv", history.inputs / "3" / "copy.csv")
    shutil.copy(history.inputs / "7" / "in.csv", history.inputs / "7" / "copy.csv")


def empty_folder(history: History) -> None:
    (history.inputs / "0" / "in.csv").unlink()


def remove_folder(history: History) -> None:
    shutil.rmtree(history.inputs / "0")


def unmount(history: History) -> None:
    shutil.rmtree(history.inputs)
    history.inputs.mkdir()


def old_file(history: History) -> None:
    history.arrive("0/old.csv", "id,at\n5,\n", at=NOON - timedelta(days=30))
    history.write_spec(source=f"{RECURSIVE}, maxFileAge: 1 day")


def by_name(history: History) -> None:
    history.write_spec(source=f"{RECURSIVE}, fileNameOnly: true")


def read_again(history: History) -> None:
    file = history.inputs / "0" / "in.csv"
    file.write_text("id,at\n42,\n")
    history.batch(rows(42), inputs=[file])


CHANGES: tuple[Callable[[History], None], ...] = (
    copy,
    grow,
    deliver_again,
    empty_folder,
    remove_folder,
    old_file,
    read_again,
    by_name,
    unmount,
)


def test_the_answers_are_those_of_all_batches(past: History) -> None:
    """One change after the other; after each, there is something else to say."""
    before: dict[str, Any] = {}
    for change in CHANGES:
        change(past)
        batches = past.ledger.past()
        assert isinstance(batches, PastBatches)
        found = answers(past, batches)
        assert found == answers(past, past.ledger.batches()), change.__name__
        assert found != before, change.__name__
        before = found


# What becomes of the record and of the index.


def record_gone(history: History) -> None:
    one(history, "*.json").unlink()


def record_torn(history: History) -> None:
    truncate(one(history, "*.json"))


def index_gone(history: History) -> None:
    one(history, "*.sqlite").unlink()


def index_torn(history: History) -> None:
    truncate(one(history, "*.sqlite"))


def index_changed(history: History) -> None:
    """Another digit in a path: SQLite itself would not see it."""
    file = one(history, "*.sqlite")
    content = file.read_bytes()
    assert b"/3/in.csv" in content
    file.write_bytes(content.replace(b"/3/in.csv", b"/9/in.csv"))


def another(history: History) -> History:
    home = history.home / "another"
    return History(home, source=RECURSIVE) if home.exists() else with_past(home)


def all_of_another_root(history: History) -> None:
    other = another(history)
    folder = folder_of(history.ledger.folder)
    shutil.rmtree(folder)
    shutil.copytree(folder_of(other.ledger.folder), folder)


def index_of_another_root(history: History) -> None:
    other = another(history)
    shutil.copy(one(other, "*.sqlite"), one(history, "*.sqlite"))


def ledger_restored(history: History) -> None:
    """Its settled batches are others than the record is about."""
    file = history.ledger.folder / f"{SETTLED - 1:06d}.json"
    file.write_text(file.read_text().replace('"run_id"', ' "run_id"'))


DAMAGES: tuple[Callable[[History], None], ...] = (
    record_gone,
    record_torn,
    index_gone,
    index_torn,
    index_changed,
    all_of_another_root,
    index_of_another_root,
    ledger_restored,
)


def one(history: History, pattern: str) -> Path:
    (found,) = folder_of(history.ledger.folder).glob(pattern)
    return found


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def test_what_is_damaged_or_foreign_does_not_count(past: History, tmp_path: Path) -> None:
    copy(past)
    expected = answers(past, past.ledger.past())
    folder, spare = folder_of(past.ledger.folder), tmp_path / "spare"
    shutil.copytree(folder, spare)
    for damage in DAMAGES:
        damage(past)
        batches = past.ledger.past()
        assert not isinstance(batches, PastBatches), damage.__name__
        assert answers(past, batches) == expected, damage.__name__
        past.ledger.settle(every=1)
        mended = past.ledger.past()
        assert isinstance(mended, PastBatches), damage.__name__
        assert (mended.settled.last, len(mended.rest)) == (SETTLED + 1, 0)
        assert answers(past, mended) == expected, damage.__name__
        shutil.rmtree(folder)
        shutil.copytree(spare, folder)


def test_a_record_goes_on_from_the_one_before(past: History) -> None:
    last = SETTLED + 1
    for _ in range(2):
        past.ledger.settle(every=1)
        last += 1
        file = past.arrive(f"{last}/in.csv", f"id,at\n{last},\n")
        past.batch(rows(last), inputs=[file])
    past.ledger.settle(every=1)
    found = read_settled_batches(past.ledger.folder)
    assert found is not None
    assert (found[0].last, found[0].sources["orders"].files) == (last, last + 1)
    names = {path.suffix for path in folder_of(past.ledger.folder).iterdir()}
    assert (names, len([*folder_of(past.ledger.folder).iterdir()])) == ({".json", ".sqlite"}, 4)
    assert answers(past, past.ledger.past()) == answers(past, past.ledger.batches())


def test_a_doctor_opens_the_batches_after_it_alone(past: History) -> None:
    past.increment(rows(9))
    past.publish()
    with opened_files(past.ledger.folder) as opened:
        perform("doctor", doctor, past.run())
    batches = {int(path.stem) for path in opened if path.parent == past.ledger.folder}
    # The last settled batch proves that the record is of this ledger.
    assert batches == {SETTLED - 1, SETTLED, SETTLED + 1, SETTLED + 2}


def test_a_settled_batch_that_is_gone_is_missed_when_the_next_record_is_due(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidemill.ledger.ledger.EVERY", 3)
    (past.ledger.folder / "000002.json").unlink()
    before = read_settled_batches(past.ledger.folder)
    past.batch(rows(9))
    past.ledger.settle(every=3)
    after = read_settled_batches(past.ledger.folder)
    assert before is not None
    assert after is not None
    assert before[0] == after[0]
    with pytest.raises(LedgerGap) as raised:
        past.ledger.past()
    assert raised.value.data["batch"] == 2


def test_an_index_is_read_whole_only_where_another_file_is_in_its_place(past: History) -> None:
    folder = folder_of(past.ledger.folder)
    index = one(past, "*.sqlite")
    with opened_files(folder) as opened:
        assert isinstance(past.ledger.past(), PastBatches)
    assert index not in opened
    copied = folder / "copy"
    shutil.copy2(index, copied)
    copied.replace(index)
    with opened_files(folder) as opened:
        assert isinstance(past.ledger.past(), PastBatches)
    assert index in opened


def test_a_decayed_index_is_not_gone_on_from(past: History) -> None:
    file = one(past, "*.sqlite")
    (record,) = folder_of(past.ledger.folder).glob("*.json")
    index_changed(past)
    # The stamp fits, as it does where a disk gives back other bytes than it was given.
    content = json.loads(record.read_text())
    content["segments"][0]["stamp"]["changed_ns"] = file.stat().st_ctime_ns
    record.write_text(json.dumps(content))
    assert isinstance(past.ledger.past(), PastBatches)
    past.ledger.settle(every=1)
    found = read_settled_batches(past.ledger.folder)
    assert found is not None
    assert (found[0].last, found[0].sources["orders"].files) == (SETTLED + 1, SETTLED + 2)
    for number, there in ((3, True), (9, False)):
        path = str(past.inputs / f"{number}" / "in.csv")
        assert (found[1].at("orders", path) is not None) is there


def test_an_index_of_one_file_is_the_first_segment(past: History) -> None:
    """Older versions wrote one file, which the record named by its hash alone."""
    (path,) = folder_of(past.ledger.folder).glob("*.json")
    content = json.loads(path.read_text())
    (segment,) = content.pop("segments")
    oldest = {**content, "index": segment["sha256"]}
    for older in (oldest, {**oldest, "stamp": segment["stamp"]}):
        path.write_text(json.dumps(older))
        batches = past.ledger.past()
        assert isinstance(batches, PastBatches)
        assert answers(past, batches) == answers(past, past.ledger.batches())
    past.ledger.settle(every=1)
    found = read_settled_batches(past.ledger.folder)
    assert found is not None
    assert (found[0].last, found[0].sources["orders"].files) == (SETTLED + 1, SETTLED + 2)
    assert answers(past, past.ledger.past()) == answers(past, past.ledger.batches())


def test_the_last_batch_is_found_without_a_list(past: History) -> None:
    with listings(past.ledger.folder) as listed:
        assert past.ledger.latest() == SETTLED + 1
        assert len(past.ledger.past()) == SETTLED + 2
    assert past.ledger.folder not in listed


def test_nothing_is_written_while_few_batches_were_added(past: History) -> None:
    past.ledger.settle(every=3)
    found = read_settled_batches(past.ledger.folder)
    assert found is not None
    assert found[0].last == SETTLED - 1
