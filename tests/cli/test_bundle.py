"""`tidemill bundle` holds what helps, and neither secrets nor values of rows."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.history_builder import History, reject, rows
from tidemill.contract.errors import ExitCode
from tidemill.increments.judgement import ExpectationOutcome, Judgement

NUMBER = 7654321
TEXT = "hush-hush"


@pytest.fixture
def held(tmp_path: Path, tidemill: Tidemill, history: History) -> dict[str, str]:
    """The files of a bundle of a pipeline with a published, a rejected and a held row."""
    history.increment(rows(NUMBER), [reject(TEXT)])
    history.publish()
    broken = ExpectationOutcome(
        type="expect_column_values_to_be_between",
        columns=("id",),
        kwargs={"column": "id", "max_value": NUMBER},
        severity="critical",
        scope="increment",
        success=False,
        unexpected_count=1,
        observed_value=NUMBER,
        samples=(NUMBER, TEXT),
    )
    history.batch(rows(NUMBER + 1))
    judgement = Judgement(
        engine="in_process",
        suite="orders",
        suite_hash="suite",
        rows=1,
        table_rows=0,
        success=False,
        reason="expectations",
        outcomes=(broken,),
        result=None,
        docs=None,
    )
    history.judge(history.seal().increment, "held", judgement=judgement)
    path = tmp_path / "orders.tar.gz"
    answer = tidemill("bundle", "orders", "--to", str(path), "--json")
    assert answer.exit_code == ExitCode.DONE
    with tarfile.open(path) as bundle:
        found = {entry.name: bundle.extractfile(entry) for entry in bundle if entry.isfile()}
        return {name: file.read().decode() for name, file in found.items() if file}


def test_no_value_of_a_row_is_in_it(held: dict[str, str]) -> None:
    leaky = [name for name, text in held.items() if str(NUMBER) in text or TEXT in text]
    assert leaky == []


def test_versions_spec_and_documents_are_in_it(held: dict[str, str], history: History) -> None:
    assert json.loads(held["orders/info.json"])["python"]
    assert held["orders/spec.yaml"] == history.project.spec("orders").read_text()
    event = json.loads(held["orders/documents/journal/000001.json"])
    assert (event["kind"], event["seq"], event["rows"]) == ("increment", 1, 1)
    assert "_spark_metadata" in held["orders/files.txt"]


def test_a_file_that_is_there_is_not_replaced(
    tmp_path: Path, tidemill: Tidemill, history: History
) -> None:
    path = tmp_path / "mine"
    path.write_text("mine")
    assert tidemill("bundle", "orders", "--to", str(path)).exit_code == ExitCode.USAGE
    assert path.read_text() == "mine"
