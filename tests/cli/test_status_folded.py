"""`tidemill status` of many pipelines of one template: a row, except for what needs attention."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Tidemill

TEMPLATE = """\
each: {de: {}, uk: {}, us: {}}
transform: none
gate: {suite: none}
sources:
  lines: {kind: file, format: csv, path: "/in/${name}", schema: "id string, at timestamp"}
event_time: {column: at}
"""


@pytest.fixture
def specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one template of three pipelines, and one without a template."""
    specs = tmp_path / "project" / "dags" / "specs"
    specs.mkdir(parents=True)
    (tmp_path / "root").mkdir()
    (specs / "settlements.yaml").write_text(TEMPLATE)
    single = TEMPLATE.replace("each: {de: {}, uk: {}, us: {}}\n", "").replace("${name}", "one")
    (specs / "single.yaml").write_text(single)
    monkeypatch.setenv("TIDEMILL_PROJECTS", str(tmp_path / "project"))
    monkeypatch.setenv("TIDEMILL_ROOT", str(tmp_path / "root"))
    return specs


def shown(answer: Answer) -> list[list[str]]:
    """Name and state of each row."""
    return [line.split("\t")[:2] for line in answer.stdout.splitlines()[1:]]


@pytest.mark.usefixtures("specs")
def test_the_pipelines_of_a_template_share_a_row(tidemill: Tidemill) -> None:
    assert shown(tidemill("status")) == [
        ["settlements (3 pipelines)", "3 never run"],
        ["single", "never run"],
    ]


@pytest.mark.usefixtures("specs")
def test_unfolded_and_in_json_each_has_its_own(tidemill: Tidemill) -> None:
    names = ["settlements_de", "settlements_uk", "settlements_us", "single"]

    assert [name for name, _ in shown(tidemill("status", "--unfolded"))] == names
    found = {
        one["pipeline"]: one["template"] for one in tidemill("status", "--json").json["pipelines"]
    }
    assert found == {**dict.fromkeys(names[:3], "settlements"), "single": None}


def test_what_needs_attention_has_a_row_of_its_own(tidemill: Tidemill, specs: Path) -> None:
    template = specs / "settlements.yaml"
    template.write_text(template.read_text() + "except: {uk: {timezone: Atlantis}}\n")

    assert shown(tidemill("status"))[:2] == [
        ["settlements_uk", "refused"],
        ["settlements (2 pipelines)", "2 never run"],
    ]
