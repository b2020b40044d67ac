"""`tidemill schema` prints or writes what editors complete specs from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tidemill.contract.errors import ExitCode
from tidemill.spec import json_schema as schema


def test_it_is_printed(tidemill: Tidemill) -> None:
    assert tidemill("schema").json == schema.spec_schema()


def test_it_is_written_to_where_specs_refer_to(
    tidemill: Tidemill, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "PATH", tmp_path / "spec.schema.json")

    answer = tidemill("schema", "--write")

    assert answer.exit_code == ExitCode.DONE
    assert answer.stdout.strip() == str(schema.PATH)
    assert json.loads(schema.PATH.read_text()) == schema.spec_schema()
