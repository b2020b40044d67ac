"""Documents that are written once: one writer wins, and what it wrote is there whole."""

from __future__ import annotations

import errno
import json
import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import PydanticSerializationError

from tests.support.processes import child
from tidemill.contract.document import Document
from tidemill.storage import documents
from tidemill.storage.disk_errors import DiskFull, NoHardLinks
from tidemill.storage.documents import AlreadyWritten, NotReadableBack, TornDocument


class Page(Document):
    """A document of more than one disk block."""

    writer: str
    text: str
    more: dict[str, Any] = {}


WRITERS = 8
PAGES = 40

# Waits for all writers to be ready, then writes the same pages as all the others.
WRITE = f"""
import sys, time
from contextlib import suppress
from pathlib import Path
from tidemill.contract.document import Document
from tidemill.storage import documents
from tidemill.storage.documents import AlreadyWritten
from tests.storage.test_documents import Page
folder, me = Path(sys.argv[1]), sys.argv[2]
(folder / f"{{me}}.ready").touch()
while len(list(folder.glob("*.ready"))) < {WRITERS}:
    time.sleep(0.001)
for number in range({PAGES}):
    page = Page(writer=me, text=me * 20_000)
    with suppress(AlreadyWritten):
        documents.put(folder / "pages" / f"{{number:06d}}.json", page)
        print(number)
"""


def test_of_eight_processes_exactly_one_writes_each_document_and_it_is_whole(
    tmp_path: Path,
) -> None:
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(child(WRITE, tmp_path, name))
            for name in map(str, range(WRITERS))
        }
        won = {
            name: {int(line) for line in process.communicate()[0].split()}
            for name, process in writers.items()
        }
        assert all(process.returncode == 0 for process in writers.values())
    assert sorted(number for numbers in won.values() for number in numbers) == list(range(PAGES))
    found = list(documents.numbered(tmp_path / "pages"))
    assert [number for number, _ in found] == list(range(PAGES))
    for number, path in found:
        page = documents.read(path, Page)
        assert page is not None
        assert number in won[page.writer]
        assert page.text == page.writer * 20_000
    assert len(list((tmp_path / "pages").iterdir())) == PAGES


def test_a_second_document_changes_nothing_and_its_writer_gets_the_first(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "1.json"
    first, second = Page(writer="a", text="first"), Page(writer="b", text="second")
    assert documents.put_if_absent(path, first) == first
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    assert documents.put_if_absent(path, second) == first
    with pytest.raises(AlreadyWritten) as refused:
        documents.put(path, second)
    assert refused.value.path == path
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert list(path.parent.iterdir()) == [path]


def test_a_document_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(PydanticSerializationError):
        documents.put_if_absent(tmp_path / "1.json", Page(writer="a", text="b", more={"x": object}))
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_writer_left_is_no_document(tmp_path: Path) -> None:
    (tmp_path / ".000001.json.0123.draft").write_text('{"writer": "dead", "te')
    assert list(documents.numbered(tmp_path)) == []
    assert documents.put_if_absent(tmp_path / "000001.json", Page(writer="a", text="b"))
    assert [number for number, _ in documents.numbered(tmp_path)] == [1]


def test_documents_are_numbered_by_value_and_nothing_else_is_listed(tmp_path: Path) -> None:
    for name in ("000010.json", "000009.json", "1000000.json", "000010.delta.json", "x.json"):
        (tmp_path / name).touch()
    for name in ("000011.released", "000012.json.bak", "-1.json", "1.5.json", ".json"):
        (tmp_path / name).touch()
    assert [number for number, _ in documents.numbered(tmp_path)] == [9, 10, 1_000_000]
    assert list(documents.numbered(tmp_path / "none")) == []


def test_there_may_be_no_document(tmp_path: Path) -> None:
    assert documents.read(tmp_path / "1.json", Page) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b'{"writer": "a"}',
        b'{"writer": "a", "text": 1}',
        b"null",
        b"\xff\xfe",
        b"\0" * 64,
    ],
)
def test_a_torn_document_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "1.json"
    path.write_bytes(content)
    with pytest.raises(TornDocument) as refused:
        documents.read(path, Page)
    assert refused.value.path == path


FINITE = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), FINITE, st.text())


@settings(max_examples=30)
@given(text=st.text(), more=st.dictionaries(st.text(), VALUES))
def test_what_was_written_is_read_back(text: str, more: dict[str, Any]) -> None:
    page = Page(writer="a", text=text, more=more)
    with TemporaryDirectory() as folder:
        documents.put_if_absent(Path(folder) / "1.json", page)
        assert documents.read(Path(folder) / "1.json", Page) == page


def test_documents_are_json_that_others_can_read(tmp_path: Path) -> None:
    path = tmp_path / "1.json"
    documents.put_if_absent(path, Page(writer="é", text="\u2028", more={"x": [1, None]}))
    assert json.loads(path.read_text("ascii"))["writer"] == "é"


NOT_UTF8 = os.fsdecode(b"caf\xe9")


@pytest.mark.parametrize(
    "page",
    [
        Page(writer="a", text=NOT_UTF8),
        Page(writer="a", text="b", more={"path": NOT_UTF8}),
    ],
)
def test_a_document_that_could_not_be_read_back_is_not_written(tmp_path: Path, page: Page) -> None:
    path = tmp_path / "journal" / "1.json"
    with pytest.raises(NotReadableBack) as refused:
        documents.put_if_absent(path, page)
    assert refused.value.path == path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_hard_links_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def link(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(NoHardLinks) as refused:
        documents.put_if_absent(tmp_path / "1.json", Page(writer="a", text="b"))
    assert refused.value.folder == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_document_on_a_full_disk_is_refused_with_the_folder_and_its_free_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(DiskFull) as refused:
        documents.put_if_absent(tmp_path / "deep" / "1.json", Page(writer="a", text="b"))
    assert refused.value.folder == tmp_path / "deep"
    assert isinstance(refused.value.free_bytes, int)
    assert list((tmp_path / "deep").iterdir()) == []
