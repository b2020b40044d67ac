"""`each` makes one pipeline for each row of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tidemill.contract.errors import SpecError
from tidemill.contract.project import Project
from tidemill.spec.catalog import find, spec_files
from tidemill.spec.pipeline import open_pipeline

FEED = """
sources:
  lines:
    kind: file
    format: csv
    path: /in/${country}
    schema: id string, at timestamp
event_time: {column: at}
"""
MAPPING = "each:\n  de: {country: germany}\n  uk: {country: britain}\n"


class Template:
    """A project with one template, `feed`."""

    def __init__(self, home: Path) -> None:
        self.project = Project(home.resolve())
        self.project.specs.mkdir(parents=True)
        self.path = self.project.spec("feed")
        self.environ = {"TIDEMILL_PROJECTS": str(home), "TIDEMILL_ROOT": "/srv/tidemill"}

    def names(self, text: str) -> list[str]:
        self.path.write_text(text)
        return [one.name for one in spec_files(self.environ) if one.project == self.project]

    def load(self, name: str) -> Any:
        return find(name, self.environ).load(self.environ)

    def refused(self, text: str) -> SpecError:
        (name,) = self.names(text)
        with pytest.raises(SpecError) as error:
            self.load(name)
        return error.value


@pytest.fixture
def feed(tmp_path: Path) -> Template:
    return Template(tmp_path)


def path_of(spec: Any) -> str:
    return str(spec.sources["lines"].path)


def test_a_mapping_makes_one_pipeline_for_each_of_its_names(feed: Template) -> None:
    assert feed.names(MAPPING + FEED) == ["feed_de", "feed_uk"]
    assert [path_of(feed.load(f"feed_{one}")) for one in ("de", "uk")] == [
        "/in/germany",
        "/in/britain",
    ]


def test_a_list_names_its_pipelines_by_their_values(feed: Template) -> None:
    text = "each:\n- {country: de, year: 2026}\n- {country: uk, year: 2025}\n"
    assert feed.names(f"{text}name: '${{country}}_${{year}}'\n{FEED}") == ["de_2026", "uk_2025"]
    assert path_of(feed.load("uk_2025")) == "/in/uk"


def test_a_csv_file_stands_beside_the_spec(feed: Template) -> None:
    (feed.project.specs / "feeds.csv").write_text("name,country,rows\nde,germany,5\nuk,uk,\n")
    text = f"each: feeds.csv\n{FEED}".replace("kind: file", "kind: file\n    max_rows: '${rows}'")
    text = text.replace("max_rows", "maxFilesPerTrigger")
    assert feed.names(text) == ["feed_de", "feed_uk"]
    assert feed.load("feed_de").sources["lines"].maxFilesPerTrigger == 5
    (feed.project.specs / "feeds.csv").write_text("name,country,rows\nfr,france,50\n")
    assert feed.names(text) == ["feed_fr"]


def test_one_transform_and_one_suite_serve_all_pipelines_of_a_template(feed: Template) -> None:
    feed.names(MAPPING + FEED)
    opened = open_pipeline("feed_de", feed.environ)
    assert opened.spec_file == feed.path
    assert (opened.transform_file.name, opened.suite_file.name) == ("feed.py", "feed.json")
    feed.names(f"{MAPPING}{FEED}transform: none\n")
    assert feed.load("feed_de").transform == "none"


def test_a_row_is_left_out_or_has_fields_of_its_own(feed: Template) -> None:
    text = f"{MAPPING}except:\n  de: skip\n  uk:\n    timezone: Europe/London\n{FEED}"
    assert feed.names(text) == ["feed_uk"]
    assert feed.load("feed_uk").timezone == "Europe/London"


def test_a_list_of_a_row_takes_the_place_of_a_text(feed: Template) -> None:
    text = "each:\n  de: {country: de, tags: [a, b]}\nairflow: {tags: '${tags}'}\n"
    feed.names(text + FEED)
    assert feed.load("feed_de").airflow.tags == ("a", "b")


def test_a_template_in_a_folder_keeps_the_folders_name(feed: Template) -> None:
    feed.path = feed.project.specs / "bank" / "feed.yaml"
    feed.path.parent.mkdir()
    assert feed.names(MAPPING + FEED) == ["bank__feed_de", "bank__feed_uk"]
    assert feed.load("bank__feed_uk").transform == "bank__feed"


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("each: 5\n", 1, "each"),
        ("each: {}\nexcept: {de: skip}\n", 2, "except.de"),
        ("each: {de: {}}\nexcept: {ed: skip}\n", 2, "except.ed"),
        ("each: {de: {}}\nexcept: {de: leave}\n", 2, "except.de"),
        ("each: {de: {}}\nexcept: [de]\n", 2, "except"),
        ("each:\n- {country: de}\n", 2, "the row"),
        ("each:\n- {name: de}\n- {name: de}\n", 3, "each"),
        ("each:\n  de: [1]\n", 2, "each"),
        ("each:\n  DE: {country: de}\n", 2, "the row"),
        ("each: none.csv\n", 1, "each"),
        ("each: {de: {}}\nname: feed_${land}\n", None, "name"),
    ],
)
def test_rows_that_cannot_be_understood_are_told(
    feed: Template, text: str, line: int | None, field: str
) -> None:
    if text.startswith("each: {}"):
        assert feed.names(text + FEED) == ["feed"]
    error = feed.refused(text + FEED)
    assert (error.path, error.line, error.field) == (feed.path, line, field)


def test_a_row_of_a_csv_file_is_told_with_its_file_and_line(feed: Template) -> None:
    table = feed.project.specs / "feeds.csv"
    table.write_text("name,country\nde,germany\nuk\n")
    error = feed.refused(f"each: feeds.csv\n{FEED}")
    assert (error.path, error.line) == (table, 3)


def test_a_wrong_value_names_line_and_row(feed: Template) -> None:
    feed.names(f"{MAPPING}timezone: ${{zone}}\n{FEED}".replace("britain}", "x, zone: Moon}"))
    with pytest.raises(SpecError) as error:
        feed.load("feed_uk")
    assert (error.value.line, error.value.field, error.value.row) == (4, "timezone", "uk")
    with pytest.raises(SpecError) as missing:
        feed.load("feed_de")
    assert (missing.value.line, missing.value.row) == (4, "de")


def test_a_wrong_exception_is_told_where_it_stands(feed: Template) -> None:
    feed.names(f"{MAPPING}except:\n  uk:\n    timezon: UTC\n{FEED}")
    with pytest.raises(SpecError) as error:
        feed.load("feed_uk")
    assert (error.value.line, error.value.field, error.value.row) == (6, "timezon", "uk")
