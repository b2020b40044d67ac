"""`tidemill render` shows the effective spec of a pipeline, and where each line comes from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Tidemill
from tidemill.contract.errors import ExitCode
from tidemill.spec.effective import effective

PROJECT = """\
tidemill: 1
variables:
  landing: /srv/in
defaults:
  timezone: Europe/London
  airflow: {owner: payments}
"""
FEED = """\
each:
  de: {folder: germany}
  uk: {folder: britain}
except:
  uk: {timezone: UTC}
env: {KEY: none}
transform: none
gate: {suite: none}
sources:
  lines:
    kind: file
    format: csv
    path: "${landing}/${folder}"
    schema: "id string, note string, at timestamp"
    options: {nullValue: "${KEY}"}
event_time: {column: at}
row_rules: {known: "id IS NOT NULL AND note <> 'a: # b'"}
publish:
  - {kind: delta}
"""


@pytest.fixture
def feed(home: Path) -> Path:
    (home / "tidemill.yaml").write_text(PROJECT)
    path = home / "dags" / "specs" / "feed.yaml"
    path.write_text(FEED)
    return path


def lines(tidemill: Tidemill, name: str) -> dict[str, dict[str, Any]]:
    """Field -> its line."""
    return {one["field"]: one for one in tidemill("render", name, "--json").json["lines"]}


def test_what_is_printed_is_the_effective_spec(tidemill: Tidemill, feed: Path) -> None:
    shown = "\n".join(one["text"] for one in lines(tidemill, "feed_de").values())
    assert yaml.safe_load(shown) == effective(feed, "feed_de").values


def test_each_line_names_the_file_and_the_line_that_gave_its_value(
    tidemill: Tidemill, feed: Path, home: Path
) -> None:
    found = lines(tidemill, "feed_de")
    project = str(home / "tidemill.yaml")
    assert (found["timezone"]["file"], found["timezone"]["line"]) == (project, 5)
    assert (found["airflow.owner"]["file"], found["airflow.owner"]["line"]) == (project, 6)
    source = found["sources.lines.path"]
    at = FEED.splitlines().index('    path: "${landing}/${folder}"') + 1
    assert (source["file"], source["line"], source["row"]) == (str(feed), at, "de")


@pytest.mark.usefixtures("feed")
def test_what_a_row_changes_comes_from_its_exception(tidemill: Tidemill) -> None:
    zone = lines(tidemill, "feed_uk")["timezone"]
    assert (zone["text"], zone["line"]) == ("timezone: UTC", 5)


@pytest.mark.usefixtures("feed")
def test_variables_of_the_environment_are_shown_by_name(
    tidemill: Tidemill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "hush")
    found = lines(tidemill, "feed_de")["sources.lines.options.nullValue"]
    assert yaml.safe_load(found["text"]) == {"nullValue": "${KEY}"}


@pytest.mark.usefixtures("feed")
def test_a_spec_that_does_not_load_is_not_rendered(tidemill: Tidemill, home: Path) -> None:
    (home / "tidemill.yaml").write_text(PROJECT.replace("Europe/London", "Europe/Lundon"))
    answer = tidemill("render", "feed_de", "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "SpecError")
