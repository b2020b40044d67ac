"""Copies of objects: fetched once, and never another content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from tests.support.memory_buckets import new_root_in_memory
from tidemill.contract.objects.object_path import ObjectPath, path_of
from tidemill.storage.kept_copies import UNUSED_SECONDS, kept_copy, put_and_keep

CONTENT = b"never changes"
HASH = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def there(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectPath:
    path = path_of(new_root_in_memory(monkeypatch)) / "one"
    assert isinstance(path, ObjectPath)
    path.write_bytes(CONTENT)
    return path


def content(path: ObjectPath, sha256: str = HASH) -> bytes | None:
    with kept_copy(path, sha256) as copy:
        return None if copy is None else copy.read_bytes()


def copies(temporary: Path) -> list[Path]:
    return [path for path in temporary.rglob("*") if path.is_file()]


def test_an_object_is_fetched_once(there: ObjectPath) -> None:
    assert content(there) == CONTENT
    there.unlink()
    assert content(there) == CONTENT


def test_what_is_put_need_not_be_fetched(there: ObjectPath, temporary: Path) -> None:
    there.unlink()
    file = temporary / "draft"
    file.write_bytes(CONTENT)
    put_and_keep(file, there, HASH)
    assert there.read_bytes() == CONTENT
    there.unlink()
    assert content(there) == CONTENT
    assert not file.exists()


def test_another_content_is_no_copy(there: ObjectPath, temporary: Path) -> None:
    assert content(there, HASH[::-1]) is None
    there.unlink()
    assert content(there) is None
    assert copies(temporary) == []


def test_a_copy_that_nobody_uses_goes_with_the_next(there: ObjectPath, temporary: Path) -> None:
    content(there)
    (old,) = copies(temporary)
    used = old.stat().st_mtime
    os.utime(old, (used, used - UNUSED_SECONDS + 60))
    # Used again, it stays.
    content(there)
    fetch_another(there)
    assert old.exists()
    os.utime(old, (used, used - UNUSED_SECONDS - 60))
    fetch_another(there)
    assert not old.exists()


def fetch_another(path: ObjectPath) -> None:
    other = path.with_name(f"{path.name}-other")
    text = os.urandom(8)
    other.write_bytes(text)
    assert content(other, hashlib.sha256(text).hexdigest()) == text


def test_a_folder_that_others_may_write_to_is_not_used(there: ObjectPath, temporary: Path) -> None:
    folder = temporary / f"tidemill-copies-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / HASH).write_bytes(b"a lie")
    assert content(there) == CONTENT
    assert copies(temporary) == [folder / HASH]
