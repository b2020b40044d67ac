"""Pins of static inputs: what is copied, what a copy stands for, and which batch reads which."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.layout import FIRST_GENERATION, Layout
from tidemill.contract.objects.object_path import path_of
from tidemill.ledger.ledger import Ledger, Start
from tidemill.ledger.static_pins import StaticPin, keep_copies
from tidemill.sources.static_files import StaticChanging, StaticMissing, pin_files
from tidemill.spec.static_inputs import FileStatic


def static_at(path: Path, **options: str) -> FileStatic:
    return FileStatic(format="csv", path=str(path), schema="id string", options=options)


@pytest.fixture
def original(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "country=GB").mkdir(parents=True)
    (folder / "country=GB" / "one.csv").write_text("id\n1\n")
    (folder / "_SUCCESS").touch()
    return folder


@pytest.fixture(params=["disk", "bucket"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where copies go."""
    if request.param == "disk":
        return tmp_path / "copies"
    return path_of(new_root_in_memory(monkeypatch)) / "copies"


def pin_of(identity: str) -> StaticPin:
    return StaticPin(kind="file", identity=identity, files=())


def test_the_same_files_are_copied_once(original: Path, tmp_path: Path) -> None:
    first = pin_files("ids", static_at(original), tmp_path / "copies")
    folder = tmp_path / "copies" / first.identity
    made = folder.stat().st_ino
    assert pin_files("ids", static_at(original), tmp_path / "copies") == first
    assert folder.stat().st_ino == made
    assert [file.path for file in first.files] == ["country=GB/one.csv"]
    assert first.missing_in(folder) is None


def test_a_copy_stays_as_it_was_when_the_original_changes(original: Path, place: Path) -> None:
    first = pin_files("ids", static_at(original), place)
    file = original / "country=GB" / "one.csv"
    file.write_text("id\n2\n")
    # The same size, in what may be the same millisecond.
    os.utime(file, ns=(0, 0))
    second = pin_files("ids", static_at(original), place)
    assert second.identity != first.identity
    texts = [(place / pin.identity / "country=GB/one.csv").read_text() for pin in (first, second)]
    assert texts == ["id\n1\n", "id\n2\n"]


def test_a_copy_that_lacks_a_file_or_has_another_is_not_whole(original: Path, place: Path) -> None:
    pin = pin_files("ids", static_at(original), place)
    assert pin.missing_in(place / pin.identity) is None
    folder = place / pin.identity
    copy = folder / "country=GB" / "one.csv"
    copy.write_text("id\n1\n2\n")
    assert pin.missing_in(folder) == "country=GB/one.csv"
    copy.unlink()
    assert pin.missing_in(folder) == "country=GB/one.csv"
    # As long as the original is the same it is simply copied again.
    assert pin_files("ids", static_at(original), place) == pin
    assert pin.missing_in(folder) is None


def test_one_file_may_be_named_and_a_glob(original: Path, tmp_path: Path) -> None:
    file = original / "country=GB" / "one.csv"
    one = pin_files("ids", static_at(file), tmp_path / "one")
    many = pin_files("ids", static_at(original / "*" / "*.csv"), tmp_path / "many")
    assert [f.path for f in one.files] == ["one.csv"]
    assert [f.path for f in many.files] == ["country=GB/one.csv"]


@pytest.mark.parametrize("name", ["nowhere", "empty"])
def test_nothing_to_read_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(StaticMissing) as missing:
        pin_files("ids", static_at(tmp_path / name), tmp_path / "copies")
    assert missing.value.static == "ids"


def test_a_file_that_is_written_to_while_it_is_copied_is_copied_at_the_next_try(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = original / "country=GB" / "one.csv"
    copy2 = "tidemill.sources.static_files.shutil.copy2"

    def copied_too_early(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes())
        with source.open("a") as more:
            more.write("2\n")

    with monkeypatch.context() as patched:
        patched.setattr(copy2, copied_too_early)
        with pytest.raises(StaticChanging) as changing:
            pin_files("ids", static_at(original), tmp_path / "copies")
    assert changing.value.path == file
    pin = pin_files("ids", static_at(original), tmp_path / "copies")
    assert pin.files[0].size == len("id\n1\n2\n")


def test_only_copies_that_somebody_reads_are_kept(original: Path, place: Path) -> None:
    pin = pin_files("ids", static_at(original), place)
    for name in ("of-nobody", ".torn.draft"):
        (place / name).mkdir()
        (place / name / "one.csv").touch()
    keep_copies(place, [pin, pin_of("elsewhere")])
    assert [folder.name for folder in place.iterdir()] == [pin.identity]


def test_a_batch_reads_what_was_pinned_when_it_was_planned(tmp_path: Path) -> None:
    ledger = Ledger(Layout(tmp_path, "orders"), FIRST_GENERATION)
    assert ledger.pins_of(0) == {}
    # The second planned nothing; the third planned batches 0 and 1, and died in the latter.
    for epoch, planned in enumerate((-1, -1, -1, 1, 1), start=1):
        ledger.start(start(epoch, planned))
    pinned = [ledger.pins_of(batch)["ids"].identity for batch in (0, 1, 2)]
    assert pinned == ["epoch-3", "epoch-3", "epoch-5"]


def start(epoch: int, planned: int) -> Start:
    return Start(
        epoch=epoch,
        run_id=f"run-{epoch}",
        spec_hash="",
        code_hash="",
        table_schema={},
        last_written=planned,
        at=datetime.now(UTC),
        last_planned=planned,
        static={"ids": pin_of(f"epoch-{epoch}")},
    )
