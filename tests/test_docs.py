"""The pages for people name files that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidemill.ledger.run_kinds import RUN_KINDS
from tidemill.toolchain.spark_bugs import SPARK_BUGS

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")))
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
MODULE = re.compile(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`")
FLOORS = (ROOT, ROOT / "spark_jobs/tidemill", ROOT / "plugins/tidemill_airflow")


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_each_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = LINK.findall((ROOT / page).read_text())
    assert [link for link in links if not (ROOT / page.parent / link).exists()] == []


def test_each_module_that_the_architecture_page_names_is_there() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    where = text[text.index("## Where is it?") : text.index("## Documents")]
    named = MODULE.findall(where)
    assert len(named) > 5
    assert [one for one in named if not any((floor / one).exists() for floor in FLOORS)] == []


def test_the_architecture_page_has_a_line_for_each_package() -> None:
    packages = {path.parent.name for path in (ROOT / "spark_jobs/tidemill").glob("*/__init__.py")}
    text = (ROOT / "docs/architecture.md").read_text()
    floors = text[text.index("## Floors") : text.index("## The life")]
    assert packages - set(re.findall(r"`(\w+)`", floors)) == set()


def test_the_architecture_page_has_the_table_of_run_kinds() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    table = text[text.index("| request |") : text.index("The same table in code")]
    rows = [[cell.strip(" `") for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    code = [
        [kind.role, kind.does, kind.recomputation or "", kind.generation or "", kind.event]
        for kind in RUN_KINDS
    ]
    assert [row for row in rows if row][2:] == code


def test_the_page_of_sparks_bugs_has_their_table() -> None:
    lines = (ROOT / "docs/reference/spark-bugs.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split(" | ")] for line in lines if line[:2] == "| "]
    assert [[cell.strip("| ") for cell in row] for row in rows[1:]] == [
        [bug.number or "none known", bug.wrong, bug.versions, bug.here, f"`{bug.test}`"]
        for bug in SPARK_BUGS
    ]


def test_each_bug_of_spark_has_its_test() -> None:
    for bug in SPARK_BUGS:
        path, name = bug.test.split("::")
        assert f"\ndef {name}(" in (ROOT / path).read_text()


def test_each_test_that_the_operators_walk_names_is_there() -> None:
    named = re.findall(
        r"`(tests/\S+\.py)::(\w+)`", (ROOT / "docs/operations/operators-walk.md").read_text()
    )
    assert len(named) > 5
    gone = [
        f"{file}::{name}" for file, name in named if f"def {name}(" not in (ROOT / file).read_text()
    ]
    assert gone == []
