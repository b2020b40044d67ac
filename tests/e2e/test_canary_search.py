"""The search for a secret finds one that was planted; otherwise it would prove nothing."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.airflow.secret_search import CommandLines, files_with, tables_with
from tests.support.processes import child, wait_for

SECRET = "SingingInTheMine42"


@pytest.mark.parametrize(
    "content",
    [
        SECRET.encode(),
        f"a log line: password={SECRET}, and more".encode(),
        json.dumps({"uri": f"kafka://mill:{SECRET}@broker"}).encode(),
        b"\x00\xffPAR1" + SECRET.encode() + b"PAR1",
        SECRET.encode("utf-16-le"),
        base64.b64encode(f"x{SECRET}".encode()),
        base64.b64encode(f"{SECRET}, and more".encode()),
        base64.b64encode(f"user:{SECRET}".encode()),
        SECRET.encode().hex().encode(),
        gzip.compress(f"<td>{SECRET}</td>".encode(), mtime=0),
    ],
)
def test_a_secret_in_a_file_is_found(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "innocent").write_text("nothing to see")
    leak = tmp_path / "deep" / "down"
    leak.parent.mkdir()
    leak.write_bytes(content)
    assert files_with(SECRET, tmp_path) == [leak]


def test_a_secret_in_a_files_name_is_found(tmp_path: Path) -> None:
    leak = tmp_path / f"password={SECRET}"
    leak.touch()
    assert files_with(SECRET, tmp_path) == [leak]


@pytest.mark.parametrize("value", [SECRET, f"{{'password': '{SECRET}'}}", SECRET.encode()])
def test_a_secret_in_a_database_is_found(tmp_path: Path, value: object) -> None:
    database = tmp_path / "some.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE innocent (word TEXT)")
        connection.execute('CREATE TABLE "the log" (at INT, message BLOB)')
        connection.execute("INSERT INTO innocent VALUES ('nothing to see')")
        connection.execute('INSERT INTO "the log" VALUES (1, ?)', [value])
        connection.commit()
    assert tables_with(SECRET, database) == ["the log"]


def test_a_secret_on_a_command_line_is_found() -> None:
    lines = CommandLines()
    with lines.watching():
        wait_for(lambda: len(lines))
        assert lines.with_(SECRET) == []
        with child("import time; time.sleep(60)", f"--password={SECRET}"):
            wait_for(lambda: lines.with_(SECRET))
