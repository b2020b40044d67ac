"""`tidemill check` speaks to build servers: annotations of GitHub, and JUnit."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import Tidemill
from tests.support.check_problems import SPEC, edit
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.cli.problem_formats import github_lines, junit_report
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.checks import dag_integrity
from tidemill.steps.read_only.checks.problem import Problem

HERE = Path("/checkout")
ANNOTATION = re.compile(r"::(error|warning|notice) (.*?)::(.*)")


def report(text: str) -> ElementTree.Element:
    # It is our own.
    return ElementTree.fromstring(text)  # noqa: S314


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)


def test_a_mistake_annotates_its_line_of_the_checkout(
    tidemill: Tidemill, mill: OrdersPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = edit(mill, SPEC, "row_rules:", "row_rule:")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(mill.home / "project"))

    answer = tidemill("check", NAME, "--format", "github")

    assert answer.exit_code == ExitCode.USAGE
    found = [ANNOTATION.fullmatch(one) for one in answer.stdout.splitlines()]
    assert all(found)
    errors = [one.groups() for one in found if one and one[1] == "error"]
    ((_, place, said),) = errors
    assert place == f"file={SPEC},line={line},title=tidemill check"
    assert "row_rules" in said


def test_what_would_end_an_annotation_is_escaped() -> None:
    problem = Problem(HERE / "a,b:c.yaml", None, "100 %\nof it", "Remove it.", warning=True)

    (line,) = github_lines([problem], [], HERE)

    assert line == (
        "::warning file=a%2Cb%3Ac.yaml,title=tidemill check::100 %25%0Aof it. Remove it."
    )


def test_a_sound_pipeline_is_a_passed_test_and_a_mistake_a_failed_one(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    sound = report(tidemill("check", NAME, "--format", "junit").stdout)
    line = edit(mill, SPEC, "row_rules:", "row_rule:")
    answer = tidemill("check", NAME, "--format", "junit")
    broken = report(answer.stdout)

    assert (sound.get("tests"), sound.get("failures")) == ("1", "0")
    assert answer.exit_code == ExitCode.USAGE
    assert (broken.get("tests"), broken.get("failures")) == ("1", "1")
    (case,) = broken.iter("testcase")
    assert case.get("line") == str(line)
    assert str(case.get("file")).endswith(SPEC)
    assert "row_rules" in str(case.findtext("failure"))


def test_a_warning_passes_and_what_xml_cannot_hold_is_replaced() -> None:
    problem = Problem(HERE / "a.yaml", 3, "a <b> \x00", "Look.", warning=True)

    suite = report(junit_report([problem], [HERE / "a.yaml", HERE / "b.yaml"], HERE))

    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert [case.get("name") for case in suite] == ["b.yaml", "a.yaml:3"]
    assert suite.findtext("testcase/system-out") == "warning: a <b> \ufffd. Look."


@pytest.mark.usefixtures("mill")
def test_a_format_and_json_exclude_each_other(tidemill: Tidemill) -> None:
    answer = tidemill("check", NAME, "--format", "junit", "--json")

    assert (answer.exit_code, answer.json["code"]) == (ExitCode.USAGE, "UsageError")
