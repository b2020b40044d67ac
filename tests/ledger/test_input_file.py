"""What is written down of a file that a batch read."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.ledger.input_file import InputFile, hashed_sources, taken_in
from tidemill.spark_logs.source_log import SourceFile

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
SOON = datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def listed(tmp_path: Path) -> SourceFile:
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    return SourceFile(path, path.stat().st_mtime_ns // 1_000_000, 0)


def test_a_file_as_spark_listed_it_is_known_by_all_it_has(listed: SourceFile) -> None:
    assert taken_in("orders", listed, LONG_AGO, hashed=True) == InputFile(
        source="orders",
        path=str(listed.path),
        size=5,
        modified_ms=listed.modified_ms,
        inode=listed.path.stat().st_ino,
        sha256=hashlib.sha256(b"id\n1\n").hexdigest(),
    )


def test_contents_that_nobody_compares_are_not_read(listed: SourceFile) -> None:
    assert taken_in("orders", listed, LONG_AGO, hashed=False).sha256 is None


def test_an_empty_file_is_like_no_other(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.touch()
    file = SourceFile(path, path.stat().st_mtime_ns // 1_000_000, 0)
    found = taken_in("orders", file, LONG_AGO, hashed=True)
    assert (found.size, found.sha256) == (0, None)


def test_of_a_file_that_changed_since_the_query_began_nobody_knows_what_was_read(
    listed: SourceFile,
) -> None:
    listed.path.write_text("id\n1\n2\n")
    os.utime(listed.path, ns=(0, listed.path.stat().st_mtime_ns + 2_000_000_000))
    found = taken_in("orders", listed, LONG_AGO, hashed=True)
    assert (found.size, found.inode, found.sha256) == (None, None, None)
    assert found.modified_ms == listed.modified_ms


def test_a_file_that_was_mended_before_the_query_began_is_what_was_read(
    listed: SourceFile,
) -> None:
    listed.path.write_text("id\n1\n2\n")
    os.utime(listed.path, (0, 0))
    found = taken_in("orders", listed, SOON, hashed=False)
    assert (found.size, found.modified_ms) == (7, 0)


def test_a_file_that_took_its_place_with_an_old_date_is_not_taken_for_it(
    listed: SourceFile,
) -> None:
    listed.path.write_text("id\n1\n2\n")
    os.utime(listed.path, (0, 0))
    assert taken_in("orders", listed, LONG_AGO, hashed=False).size is None


def test_of_a_file_that_is_gone_the_listing_is_all_there_is(listed: SourceFile) -> None:
    listed.path.unlink()
    found = taken_in("orders", listed, SOON, hashed=True)
    assert (found.size, found.modified_ms) == (None, listed.modified_ms)


def test_contents_are_compared_unless_the_spec_ignores_them() -> None:
    assert hashed_sources(parse(minimal())) == ("orders",)
    ignored = {"    format: csv": "    format: csv\n    same_content: ignore"}
    assert hashed_sources(parse(minimal(replace=ignored))) == ()
