"""`tidemill plan --against` tells what a change of a repository means for each pipeline."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tidemill
from tests.cli.project.test_render import FEED, PROJECT
from tidemill.contract.errors import ExitCode

IDENTITY = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")


@pytest.fixture
def repository(home: Path) -> Path:
    """A project with a template of two pipelines, committed as the tag `before`."""
    (home / "tidemill.yaml").write_text(PROJECT)
    specs = home / "dags" / "specs"
    (specs / "feed.yaml").write_text(FEED)
    (specs / "lone.yaml").write_text(FEED[FEED.index("env") :].replace("${folder}", "lone"))
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *IDENTITY, *arguments], cwd=home, check=True)
    subprocess.run(["git", "tag", "before"], cwd=home, check=True)
    return home


def edit(repository: Path, file: str, old: str, new: str) -> None:
    path = repository / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def touched(tidemill: Tidemill, *arguments: str) -> dict[str, Any]:
    """Pipeline -> what is told of it."""
    document = tidemill("plan", *arguments, "--against", "before", "--json").json
    return {one["pipeline"]: one for one in document["pipelines"]}


@pytest.mark.usefixtures("repository")
def test_nothing_differs_from_the_same_state(tidemill: Tidemill) -> None:
    assert touched(tidemill) == {}


def test_a_changed_default_is_told_of_each_pipeline_that_it_touches(
    tidemill: Tidemill, repository: Path
) -> None:
    edit(repository, "tidemill.yaml", "Europe/London", "Europe/Berlin")
    found = touched(tidemill)
    # The row `uk` has a zone of its own.
    assert set(found) == {"feed_de", "lone"}
    (change,) = found["lone"]["changes"]
    assert (change["field"], change["was"], change["now"]) == (
        "timezone",
        "Europe/London",
        "Europe/Berlin",
    )
    assert change["verdict"] == found["lone"]["verdict"] == "not allowed"
    assert tidemill("plan", "--against", "before").exit_code == ExitCode.REFUSED


def test_a_value_that_only_moves_into_a_default_is_no_change(
    tidemill: Tidemill, repository: Path
) -> None:
    specs = repository / "dags" / "specs"
    time = "event_time: {column: at}\n"
    for file in ("feed.yaml", "lone.yaml"):
        edit(repository, f"dags/specs/{file}", time, "")
    (specs / "_defaults.yaml").write_text(time)
    assert touched(tidemill) == {}

    # The same default with another value is a change of every pipeline that it reaches.
    (specs / "_defaults.yaml").write_text("event_time: {column: at, watermark: 2 hours}\n")
    found = touched(tidemill)
    assert set(found) == {"feed_de", "feed_uk", "lone"}
    for one in found.values():
        fields = [change["field"] for change in one["changes"]]
        assert "sources.lines.event_time.watermark" in fields


def test_rows_of_a_template_come_and_go(tidemill: Tidemill, repository: Path) -> None:
    edit(repository, "dags/specs/feed.yaml", "  de: {folder: germany}", "  fr: {folder: france}")
    found = touched(tidemill)
    assert {name: one["fate"] for name, one in found.items()} == {
        "feed_de": "removed",
        "feed_fr": "added",
    }


def test_what_no_checkpoint_depends_on_is_allowed(tidemill: Tidemill, repository: Path) -> None:
    edit(repository, "tidemill.yaml", "owner: payments", "owner: billing")
    found = touched(tidemill, "lone")
    assert set(found) == {"lone"}
    (change,) = found["lone"]["changes"]
    assert (change["field"], change["verdict"]) == ("airflow.owner", "allowed")


def test_a_changed_rule_has_consequences(tidemill: Tidemill, repository: Path) -> None:
    edit(repository, "dags/specs/lone.yaml", "id IS NOT NULL AND ", "")
    (change,) = touched(tidemill)["lone"]["changes"]
    assert (change["field"], change["verdict"]) == ("row_rules.known", "allowed with consequences")


def test_changed_code_and_a_changed_suite_are_told(tidemill: Tidemill, repository: Path) -> None:
    for name in ("transform: none", "gate: {suite: none}"):
        edit(repository, "dags/specs/lone.yaml", name, "")
    code, suite = (
        repository / "spark_jobs/transforms/lone.py",
        repository / "expectations/suites/lone.json",
    )
    code.write_text("def transform(lines):\n    return lines\n")
    suite.write_text(json.dumps({"name": "lone", "expectations": []}))
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    subprocess.run(["git", *IDENTITY, "commit", "-qm", "two"], cwd=repository, check=True)
    subprocess.run(["git", "tag", "-f", "before"], cwd=repository, check=True)
    code.write_text("def transform(lines):\n    return lines.distinct()\n")
    suite.write_text(json.dumps({"name": "lone", "expectations": [{"type": "x"}]}))
    found = touched(tidemill)["lone"]["changes"]
    assert {one["field"]: one["verdict"] for one in found} == {
        "transform": "allowed with consequences",
        "gate.suite": "allowed",
    }


def test_changed_code_of_an_expectation_of_ones_own_is_told(
    tidemill: Tidemill, repository: Path
) -> None:
    edit(repository, "dags/specs/lone.yaml", "gate: {suite: none}", "")
    suite, plugin = (
        repository / "expectations" / one for one in ("suites/lone.json", "plugins/a.py")
    )
    for path in (suite, plugin):
        path.parent.mkdir(parents=True, exist_ok=True)
    suite.write_text(json.dumps({"name": "lone", "expectations": [{"type": "expect_tides"}]}))
    plugin.write_text("class ExpectTides:\n    limit = 1\n")
    subprocess.run(["git", "add", "."], cwd=repository, check=True)
    subprocess.run(["git", *IDENTITY, "commit", "-qm", "two"], cwd=repository, check=True)
    subprocess.run(["git", "tag", "-f", "before"], cwd=repository, check=True)
    assert touched(tidemill) == {}
    plugin.write_text("class ExpectTides:\n    limit = 2\n")
    (change,) = touched(tidemill)["lone"]["changes"]
    assert (change["field"], change["verdict"]) == ("expectations of your own", "allowed")


def test_a_spec_that_does_not_load_is_told_with_its_reason(
    tidemill: Tidemill, repository: Path
) -> None:
    edit(repository, "dags/specs/lone.yaml", "format: csv", "format: cvs")
    found = touched(tidemill)["lone"]
    assert found["fate"] == "unreadable"
    assert "cvs" in found["trouble"]
    assert tidemill("plan", "--against", "before").exit_code == ExitCode.USAGE


def test_a_spec_that_is_mended_is_no_refusal(tidemill: Tidemill, repository: Path) -> None:
    edit(repository, "dags/specs/lone.yaml", "format: csv", "format: cvs")
    subprocess.run(["git", *IDENTITY, "commit", "-qam", "two"], cwd=repository, check=True)
    subprocess.run(["git", "tag", "-f", "before"], cwd=repository, check=True)
    edit(repository, "dags/specs/lone.yaml", "format: cvs", "format: csv")
    assert touched(tidemill)["lone"]["fate"] == "changed"
    assert tidemill("plan", "--against", "before").exit_code == ExitCode.DONE


def test_markdown_has_a_row_for_each_change(tidemill: Tidemill, repository: Path) -> None:
    edit(repository, "dags/specs/lone.yaml", "a: # b", "a | b")
    answer = tidemill("plan", "--against", "before", "--format", "markdown")
    (row,) = [line for line in answer.stdout.splitlines() if line.startswith("| lone")]
    assert "a \\| b" in row


@pytest.mark.usefixtures("repository")
def test_a_state_that_git_does_not_have_is_refused(tidemill: Tidemill) -> None:
    answer = tidemill("plan", "--against", "nowhere", "--json")
    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "NoSuchState")


def test_without_a_name_or_a_state_there_is_nothing_to_plan(tidemill: Tidemill) -> None:
    assert tidemill("plan").exit_code == ExitCode.USAGE
