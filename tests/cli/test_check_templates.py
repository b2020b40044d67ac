"""`tidemill check` of a template: once what several rows have in common, and what a group saves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Tidemill
from tidemill.steps.read_only.checks import dag_integrity

ROWS = ("de", "fr", "it", "uk", "us")
TEMPLATE = """\
each:
{rows}
schedule: "@hourly"
transform: none
gate: {{suite: none}}
sources:
  lines: {{kind: file, format: csv, path: "/in/${{name}}", schema: "id string, at timestamp"}}
event_time: {{column: at}}
"""


class Feeds:
    """A project with the template `feeds`."""

    def __init__(self, specs: Path, tidemill: Tidemill) -> None:
        specs.mkdir(parents=True)
        self.file = specs / "feeds.yaml"
        self._tidemill = tidemill

    def check(self, more: str = "", rows: tuple[str, ...] = ROWS, *options: str) -> Answer:
        written = "\n".join(f"  {row}: {{zone: Europe/{row}}}" for row in rows)
        self.file.write_text(TEMPLATE.format(rows=written) + more)
        return self._tidemill("check", *options)

    def problems(self, more: str, rows: tuple[str, ...] = ROWS) -> list[tuple[int, str]]:
        answer = self.check(more, rows, "--json")
        return [(one["line"], one["what"]) for one in answer.json["problems"]]

    def notes(self, more: str = "", rows: tuple[str, ...] = ROWS) -> list[str]:
        notes: list[str] = self.check(more, rows, "--json").json["notes"]
        return notes


@pytest.fixture
def feeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tidemill: Tidemill) -> Feeds:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(tmp_path))
    return Feeds(tmp_path / "dags" / "specs", tidemill)


def test_a_mistake_of_the_template_is_told_once_for_all_rows(feeds: Feeds) -> None:
    ((_, expression),) = feeds.problems("row_rules: {known: idd IS NOT NULL}\n")
    assert expression.startswith("rows de, fr, it and 2 others of each: ")
    ((line, field),) = feeds.problems("row_rule: {}\n", ("de", "fr"))
    assert field.startswith("rows de and fr of each: ")
    assert feeds.file.read_text().splitlines()[line - 1] == "row_rule: {}"


def test_mistakes_that_differ_from_row_to_row_are_told_each(feeds: Feeds) -> None:
    told = [what for _, what in feeds.problems('timezone: "${zone}"\n', ("x", "y"))]
    assert [what.partition(": ")[0] for what in told] == ["row x of each", "row y of each"]


def test_a_template_whose_pipelines_could_share_an_application_is_told(feeds: Feeds) -> None:
    (note,) = feeds.notes()
    assert note.startswith("feeds: its 5 pipelines ")
    assert "`group: feeds`" in note


@pytest.mark.parametrize(
    ("more", "rows"),
    [
        ("", ("de",)),
        ("group: feeds\n", ROWS),
        ("wake: {files: {poke: 1 minute}}\n", ROWS),
        ('except: {de: {schedule: "@daily"}}\n', ROWS),
    ],
    ids=["one row", "a group", "woken", "two schedules"],
)
def test_one_that_cannot_or_does_already_is_not(
    feeds: Feeds, more: str, rows: tuple[str, ...]
) -> None:
    assert feeds.notes(more, rows) == []
