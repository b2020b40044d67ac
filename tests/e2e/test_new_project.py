"""From an empty folder to a published table: `init`, `new`, `check`, `run`, `rows`."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill, tidemill
from tests.cli.project.conftest import home, parcels, visits
from tidemill.contract.errors import ExitCode
from tidemill.contract.project import Project
from tidemill.spec.pipeline_files import NO_TRANSFORM

__all__ = ["home", "parcels", "tidemill", "visits"]

pytestmark = pytest.mark.usefixtures("spark")


def published(tidemill: Tidemill, name: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = tidemill("rows", name, "--limit", "1000", "--json").json["rows"]
    return rows


def test_a_pipeline_made_of_a_file_publishes_each_of_its_rows(
    tidemill: Tidemill, home: Path, parcels: Path
) -> None:
    tried = tidemill("new", "parcels", "--from", str(parcels), "--preview")
    assert tried.exit_code == ExitCode.DONE, tried.stdout
    ran = tidemill("run", "parcels", "--json")
    assert ran.exit_code == ExitCode.DONE, ran.stdout
    with parcels.open(newline="") as file:
        delivered = [*csv.DictReader(file, delimiter=";")]
    found = {str(row["parcel"]): row for row in published(tidemill, "parcels")}
    assert len(found) == len(delivered)
    for row in delivered:
        one = found[row["parcel"]]
        assert one["weight.kg"] == float(row["weight.kg"])
        assert (one["City"], one["postcode"]) == (row["City"], row["postcode"])
        assert (one["note"] or "", one["day"]) == (row["note"], row["picked_up"][:10])


def test_without_a_transform_rows_go_out_as_they_come_and_one_may_be_written_later(
    tidemill: Tidemill, home: Path, visits: Path
) -> None:
    tidemill("new", "visits", "--from", str(visits), "--no-transform")
    project, before = Project(home), NO_TRANSFORM.read_bytes()
    suite = project.suite("visits")
    suite.unlink()
    spec = project.spec("visits")
    spec.write_text(spec.read_text() + "gate: {suite: none}\n")
    ran = tidemill("run", "visits", "--json")
    assert ran.exit_code == ExitCode.DONE, ran.stdout
    delivered = [json.loads(line) for line in visits.read_text().splitlines()[:-1]]
    rows = published(tidemill, "visits")
    assert sorted(row["seconds"] for row in rows) == sorted(row["seconds"] for row in delivered)
    assert all(row["pages"] == ["a", "b"] for row in rows)
    assert {row["day"] for row in rows} == {row["when"][:10] for row in delivered}

    spec.write_text(spec.read_text().replace("transform: none\n", ""))
    project.transform("visits").write_text("def transform(rows):\n    return rows.drop('pages')\n")
    planned = tidemill("plan", "visits", "--json").json
    assert {change["field"] for change in planned["changes"]} == {"transform.columns.pages"}
    assert NO_TRANSFORM.read_bytes() == before
