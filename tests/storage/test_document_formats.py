"""Documents of other versions: older ones are read, newer ones as far as that is safe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidemill.contract.document import FORMAT_VERSION, MAJOR, MINOR, Document, FrozenModel
from tidemill.storage import documents
from tidemill.storage.documents import NewerFormat, TornDocument

NEWER_MINOR, NEWER_MAJOR = f"{MAJOR}.{MINOR + 1}", f"{MAJOR + 1}.0"


class Line(FrozenModel):
    text: str


class Page(Document):
    number: int
    lines: tuple[Line, ...] = ()
    notes: dict[str, Line] = {}


def write(path: Path, **fields: Any) -> Path:
    path.write_text(json.dumps({"number": 7, **fields}))
    return path


def read(path: Path) -> Page:
    page = documents.read(path, Page)
    assert page is not None
    return page


def test_a_document_says_its_format_version_first(tmp_path: Path) -> None:
    documents.put(tmp_path / "1.json", Page(number=7))
    written = json.loads((tmp_path / "1.json").read_text())
    assert next(iter(written.items())) == ("format_version", FORMAT_VERSION)


@pytest.mark.parametrize("fields", [{}, {"format_version": "1.0"}])
def test_a_document_of_an_older_version_equals_one_of_today(
    tmp_path: Path, fields: dict[str, str]
) -> None:
    path = write(tmp_path / "1.json", **fields)
    assert read(path) == Page(number=7)
    documents.put(path, Page(number=7))


def test_fields_of_a_newer_minor_version_survive_reading_and_writing(tmp_path: Path) -> None:
    fields = {
        "format_version": NEWER_MINOR,
        "colour": "blue",
        "lines": [{"text": "a", "font": [1, 2]}, {"text": "b"}],
        "notes": {"x": {"text": "c", "by": "ada"}},
    }
    page = read(write(tmp_path / "1.json", **fields))
    assert [line.text for line in page.lines] == ["a", "b"]
    documents.put(tmp_path / "2.json", page.model_copy(update={"number": 8}))
    assert json.loads((tmp_path / "2.json").read_text()) == {**fields, "number": 8}
    assert read(tmp_path / "2.json").number == 8


def test_a_part_of_a_newer_document_can_be_a_part_of_one_of_today(tmp_path: Path) -> None:
    newer = write(tmp_path / "1.json", format_version=NEWER_MINOR, lines=[{"text": "a", "font": 1}])
    documents.put(tmp_path / "2.json", Page(number=8, lines=read(newer).lines))
    assert read(tmp_path / "2.json").lines == (Line(text="a"),)


def test_a_newer_minor_version_must_have_what_this_one_needs(tmp_path: Path) -> None:
    path = write(tmp_path / "1.json", format_version=NEWER_MINOR, number="seven")
    with pytest.raises(TornDocument):
        documents.read(path, Page)


def test_a_newer_major_version_is_refused_by_name_whatever_it_holds(tmp_path: Path) -> None:
    path = write(tmp_path / "1.json", format_version=NEWER_MAJOR, number="seven", colour="blue")
    with pytest.raises(NewerFormat) as refused:
        documents.read(path, Page)
    error = refused.value
    assert (error.path, error.version, error.known) == (path, NEWER_MAJOR, f"{MAJOR}.x")
    assert "Upgrade Tidemill" in error.remedy
    # One that only informs is passed over.
    assert documents.read_if_whole(path, Page) is None


@pytest.mark.parametrize("version", [None, "1.0", FORMAT_VERSION])
@pytest.mark.parametrize("fields", [{"colour": "blue"}, {"lines": [{"text": "a", "font": 1}]}])
def test_an_unknown_field_in_a_document_of_this_or_an_older_version_is_damage(
    tmp_path: Path, version: str | None, fields: dict[str, Any]
) -> None:
    said = {} if version is None else {"format_version": version}
    with pytest.raises(TornDocument):
        documents.read(write(tmp_path / "1.json", **said, **fields), Page)


@pytest.mark.parametrize("version", ["", "1", "1.x", "1.0.0", 1.1, None])
def test_what_is_no_version_is_damage(tmp_path: Path, version: object) -> None:
    with pytest.raises(TornDocument):
        documents.read(write(tmp_path / "1.json", format_version=version), Page)
