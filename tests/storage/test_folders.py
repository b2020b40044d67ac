"""Folders are claimed, renamed, copied and removed alike on a disk and in a bucket in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.objects.client import ObjectClient
from tidemill.contract.objects.object_path import path_of
from tidemill.storage.folders import (
    claim_folder,
    copy_file,
    discard_folder,
    has_file,
    names_in,
    put_file,
    rename_folder,
    whole_file,
)
from tidemill.storage.root_bucket import NoConditionalPut, verify_bucket


@pytest.fixture(params=["disk", "bucket"])
def root(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    if request.param == "bucket":
        return path_of(new_root_in_memory(monkeypatch))
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(root: Path) -> Path:
    """A folder with two files, one of them in a folder of its own."""
    for name in ("a.json", "in/b.json"):
        (root / "old" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "old" / name).write_text(name)
    return root / "old"


def texts(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_folder_is_claimed_once(root: Path) -> None:
    claim_folder(root / "live-0002")
    assert (root / "live-0002").is_dir()
    with pytest.raises(FileExistsError):
        claim_folder(root / "live-0002")


def test_a_renamed_folder_has_all_its_files_under_the_new_name(folder: Path) -> None:
    new = folder.with_name("new")
    rename_folder(folder, new)
    assert texts(new) == {"a.json": "a.json", "in/b.json": "in/b.json"}
    assert not folder.exists()


def test_a_discarded_folder_leaves_nothing(folder: Path) -> None:
    waste = folder.with_name("waste")
    discard_folder(folder, waste)
    assert not folder.exists()
    assert not waste.exists()


def test_a_file_is_copied_and_found(folder: Path) -> None:
    copy_file(folder / "a.json", folder / "copy.json")
    assert has_file(folder, "copy.json")
    assert sorted(names_in(folder)) == ["a.json", "copy.json", "in"]


def test_a_local_file_is_moved_to_its_place(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "local").write_text("new")
    put_file(tmp_path / "local", folder / "a.json")
    assert (folder / "a.json").read_text() == "new"
    assert not (tmp_path / "local").exists()


def test_a_file_is_in_its_place_once_it_is_whole(root: Path) -> None:
    with whole_file(root / "reports" / "one.json") as draft:
        draft.write_text("whole")
    assert texts(root) == {"reports/one.json": "whole"}


def test_a_store_that_overwrites_what_was_written_once_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = path_of(new_root_in_memory(monkeypatch))
    verify_bucket(root)

    def create(client: ObjectClient, key: str, content: bytes) -> bool:
        client.put(key, content)
        return True

    monkeypatch.setattr(ObjectClient, "create", create)
    with pytest.raises(NoConditionalPut) as refused:
        verify_bucket(root)
    assert refused.value.root == str(root)
    assert list(root.rglob("*")) == []
