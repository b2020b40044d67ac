"""Paths in an object store, compared with the same operations on a folder of the disk."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.objects.object_path import LocalFileNeeded, ObjectPath, path_of
from tidemill.storage.folders import entries, names_in, remove_folder, walk

FILES = ("a.json", "x/1.json", "x/y/k=a%3Ab/part 0.parquet", "x/y/é.txt", "xy/2.json")
ROOT = path_of("s3a://shop/tide/mill")


@pytest.fixture(params=["disk", "memory"])
def folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with some files, on a disk and in a bucket."""
    root = tmp_path / "root"
    if request.param == "memory":
        root = path_of(new_root_in_memory(monkeypatch))
    return with_files(root)


def with_files(root: Path) -> Path:
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"in {name}")
    return root


def below(folder: Path, found: Any) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in found)


def test_a_url_becomes_a_path_and_the_path_the_url_again() -> None:
    path = ROOT / "orders" / "lease" / "000001.json"
    assert str(path) == f"{path}" == "s3a://shop/tide/mill/orders/lease/000001.json"
    assert path_of(str(path)) == path
    assert {path: 1}[path_of(str(path))] == 1
    assert (path.bucket, path.key) == ("shop", "tide/mill/orders/lease/000001.json")
    assert isinstance(path.parent.with_name("journal") / "a", ObjectPath)
    assert str(path.with_suffix(".beat")) == "s3a://shop/tide/mill/orders/lease/000001.beat"
    assert pickle.loads(pickle.dumps(path)) == path  # noqa: S301 - written here.
    assert path_of("/srv/tidemill") == Path("/srv/tidemill")


def test_a_walk_does_not_enter_what_its_caller_takes_out(folder: Path) -> None:
    found = []
    for place, folders, names in walk(folder):
        found += [str((place / name).relative_to(folder)) for name in names]
        folders[:] = [name for name in folders if name != "x"]
    assert sorted(found) == ["a.json", "xy/2.json"]


def test_what_is_below_a_folder_is_named_by_a_plain_path() -> None:
    name = (ROOT / "orders" / "table").relative_to(ROOT)
    assert (str(name), type(name)) == ("orders/table", type(Path()))
    assert ROOT.joinpath(name) == ROOT / "orders" / "table"
    assert (ROOT / "orders").is_relative_to(ROOT)
    with pytest.raises(ValueError, match="not below"):
        ROOT.relative_to(ROOT / "orders")


@pytest.mark.parametrize(
    "use",
    [
        os.listdir,
        os.stat,
        os.path.exists,
        open,
        shutil.rmtree,
        os.fspath,
        lambda path: path.chmod(0o600),
        lambda path: path.symlink_to("elsewhere"),
    ],
)
def test_a_call_of_the_operating_system_is_refused_and_touches_no_disk(
    use: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LocalFileNeeded) as refused:
        use(ROOT / "orders")
    assert refused.value.path == str(ROOT / "orders")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_lost_its_class_names_no_local_file() -> None:
    with pytest.raises(ValueError, match="null"):
        Path(*ROOT.parts).mkdir(parents=True)


def test_a_bucket_is_looked_through_like_a_folder(folder: Path) -> None:
    assert below(folder, folder.rglob("*.json")) == ["a.json", "x/1.json", "xy/2.json"]
    assert below(folder, folder.glob("x*/*.json")) == ["x/1.json", "xy/2.json"]
    assert below(folder, folder.iterdir()) == ["a.json", "x", "xy"]
    assert below(folder, (folder / "x").rglob("*")) == [
        "x/1.json",
        "x/y",
        "x/y/k=a%3Ab",
        "x/y/k=a%3Ab/part 0.parquet",
        "x/y/é.txt",
    ]
    assert sorted(names_in(folder)) == ["a.json", "x", "xy"]
    assert {one.path.name: one.is_dir for one in entries(folder)} == {
        "a.json": False,
        "x": True,
        "xy": True,
    }
    found = {
        str(place.relative_to(folder)): (sorted(folders), sorted(names))
        for place, folders, names in walk(folder)
    }
    assert found["x/y"] == (["k=a%3Ab"], ["é.txt"])
    assert found["."] == (["x", "xy"], ["a.json"])


def test_what_is_missing_is_missing(folder: Path) -> None:
    gone = folder / "x" / "z"
    assert not gone.exists()
    assert (folder / "x").is_dir()
    assert not (folder / "x").is_file()
    assert (folder / "a.json").is_file()
    assert not (folder / "a.json").is_dir()
    assert list(gone.glob("*")) == list(walk(gone)) == list(entries(gone)) == []
    for use in (Path.stat, Path.read_bytes, Path.unlink, names_in):
        with pytest.raises(FileNotFoundError):
            getattr(type(gone), use.__name__, use)(gone)
    gone.unlink(missing_ok=True)


def test_what_was_written_is_read_in_whole_and_in_parts(folder: Path) -> None:
    file = folder / "x" / "numbers"
    with file.open("wb") as into:
        into.write(b"0123")
        into.write(b"456789")
    assert (file.read_bytes(), file.stat().st_size) == (b"0123456789", 10)
    with file.open("rb") as found:
        found.seek(-4, os.SEEK_END)
        assert (found.read(2), found.tell()) == (b"67", 8)
    with file.open() as found:
        assert found.read() == "0123456789"
    assert file.replace(folder / "moved") == folder / "moved"
    assert (file.exists(), (folder / "moved").read_text()) == (False, "0123456789")


def test_a_file_that_was_not_finished_is_no_object(monkeypatch: pytest.MonkeyPatch) -> None:
    file = path_of(new_root_in_memory(monkeypatch)) / "half"

    def write() -> None:
        with file.open("wb") as into:
            into.write(b"half of it")
            raise InterruptedError

    with pytest.raises(InterruptedError):
        write()
    assert not file.exists()


def test_a_folder_is_removed_with_all_that_is_in_it_and_no_more(folder: Path) -> None:
    remove_folder(folder / "x")
    assert below(folder, folder.rglob("*.*")) == ["a.json", "xy/2.json"]
