"""One input file is archived or deleted, and never another one, whatever happens in between."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tidemill.contract.errors import LeaseLost
from tidemill.ledger.input_file import InputFile
from tidemill.sources.files import archive as put_away
from tidemill.sources.files.archive import Kept, archive, claim_of, delete

Check = Callable[[], None]


def free() -> None:
    """No other writer took over."""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    return folder


def read(path: Path, content: str = "id\n1\n") -> InputFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    status = path.stat()
    return InputFile(
        source="orders",
        path=str(path),
        size=status.st_size,
        modified_ms=status.st_mtime_ns // 1_000_000,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_file_is_deleted(source: Path) -> None:
    file = read(source / "a.csv")
    delete(file, source, free)
    assert names(source) == []


def test_a_file_is_archived_as_it_is(source: Path, tmp_path: Path) -> None:
    file = read(source / "a.csv")
    to = tmp_path / "archive" / "deep" / "a.csv"
    archive(file, source, to, free)
    assert names(source) == []
    assert to.read_text() == "id\n1\n"
    assert file.is_at(to)


@pytest.mark.parametrize("error", [errno.EXDEV, errno.EPERM, errno.EMLINK])
@pytest.mark.parametrize("links", [True, False])
def test_where_no_link_reaches_it_is_copied(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int, links: bool
) -> None:
    file = read(source / "a.csv")
    to = tmp_path / "archive" / "a.csv"
    link = os.link

    def refuse(old: Path, new: Path) -> None:
        if old.parent == source or not links:
            raise OSError(error, "no link")
        link(old, new)

    monkeypatch.setattr(os, "link", refuse)
    archive(file, source, to, free)
    assert names(source) == []
    assert file.is_at(to)
    assert names(to.parent) == ["a.csv"]


def both(file: InputFile, within: Path, to: Path) -> list[Callable[[], None]]:
    return [
        lambda: delete(file, within, free),
        lambda: archive(file, within, to, free),
    ]


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("change", ["grew", "touched", "replaced"])
def test_a_file_that_is_not_what_was_read_stays(
    source: Path, tmp_path: Path, way: int, change: str
) -> None:
    path = source / "a.csv"
    file = read(path)
    if change == "grew":
        path.write_text("id\n1\n2\n")
    elif change == "touched":
        os.utime(path, (0, 0))
    else:
        path.unlink()
        path.write_text("id\n22\n")
    with pytest.raises(Kept):
        both(file, source, tmp_path / "archive" / "a.csv")[way]()
    assert names(source) == ["a.csv"]
    assert names(tmp_path / "archive") == []


@pytest.mark.parametrize("way", [0, 1])
def test_a_file_of_which_nobody_knows_what_was_read_stays(
    source: Path, tmp_path: Path, way: int
) -> None:
    file = read(source / "a.csv").model_copy(update={"size": None})
    with pytest.raises(Kept):
        both(file, source, tmp_path / "a.csv")[way]()
    assert names(source) == ["a.csv"]


@pytest.mark.parametrize("way", [0, 1])
def test_nothing_outside_the_source_is_touched(source: Path, tmp_path: Path, way: int) -> None:
    elsewhere = tmp_path / "elsewhere"
    read(elsewhere / "a.csv")
    (source / "linked").symlink_to(elsewhere)
    (source / "a.csv").symlink_to(elsewhere / "a.csv")
    for path in (source / "linked" / "a.csv", source / "a.csv", elsewhere / "a.csv"):
        status = path.stat()
        file = InputFile(
            source="orders",
            path=str(path),
            size=status.st_size,
            modified_ms=status.st_mtime_ns // 1_000_000,
        )
        with pytest.raises(Kept):
            both(file, source, tmp_path / "archive" / "a.csv")[way]()
    assert names(elsewhere) == ["a.csv"]


def test_an_archived_file_is_never_written_over(source: Path, tmp_path: Path) -> None:
    to = tmp_path / "archive" / "a.csv"
    read(to, "another\n")
    file = read(source / "a.csv")
    with pytest.raises(Kept):
        archive(file, source, to, free)
    assert to.read_text() == "another\n"
    assert (source / "a.csv").read_text() == "id\n1\n"


def test_what_took_the_name_while_the_file_was_claimed_stays(source: Path, tmp_path: Path) -> None:
    file = read(source / "a.csv")

    def deliver_once_claimed() -> None:
        if claim_of(file.on_disk).exists():
            file.on_disk.write_text("id\nnew\n")

    delete(file, source, deliver_once_claimed)
    assert (source / "a.csv").read_text() == "id\nnew\n"
    assert names(source) == ["a.csv"]


class Died(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("step", ["link", "unlink", "sync_folder"])
def test_a_crash_is_taken_up_where_it_was_left(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = read(source / "a.csv")
    to = tmp_path / "archive" / "a.csv"

    def die(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patched:
        if step == "link":
            patched.setattr(os, "link", die)
        elif step == "unlink":
            patched.setattr(Path, "unlink", die)
        else:
            patched.setattr(put_away, "sync_folder", die)
        with pytest.raises(Died):
            archive(file, source, to, free)
    assert not (source / "a.csv").exists()
    archive(file, source, to, free)
    archive(file, source, to, free)
    assert names(source) == []
    assert file.is_at(to)


@pytest.mark.parametrize("steps", [0, 1])
def test_whoever_lost_the_lease_deletes_nothing(source: Path, steps: int) -> None:
    file = read(source / "a.csv")
    checks = 0

    def fenced() -> None:
        nonlocal checks
        checks += 1
        if checks > steps:
            raise LeaseLost("Epoch 1 was taken over.", remedy="Nothing to do.", epoch=1, newer=2)

    with pytest.raises(LeaseLost):
        delete(file, source, fenced)
    left = claim_of(file.on_disk) if steps else file.on_disk
    assert left.read_text() == "id\n1\n"
    # Whoever took over carries on.
    delete(file, source, free)
    assert names(source) == []


def test_a_file_that_is_gone_is_said(source: Path, tmp_path: Path) -> None:
    file = read(source / "a.csv")
    file.on_disk.unlink()
    for way in both(file, source, tmp_path / "archive" / "a.csv"):
        with pytest.raises(Kept):
            way()
