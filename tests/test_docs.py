"""What the pages for people name is there: files, headings, commands, tests."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.support.pages import PAGES, PROSE, UNNAMED, anchors
from tests.support.typed_commands import is_known, parsed
from tidemill.contract.project import REPOSITORY
from tidemill.ledger.run_kinds import RUN_KINDS
from tidemill.toolchain.spark_bugs import SPARK_BUGS

ROOT = REPOSITORY
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)")
MODULE = re.compile(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`")
FLOORS = (ROOT, ROOT / "spark_jobs/tidemill", ROOT / "plugins/tidemill_airflow")
COMMAND = re.compile(r"`tidemill ([a-z-][^`]*)`")
MAKE = re.compile(r"`make ([a-z-]+)[^`]*`")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    file = (ROOT / page.parent / path).resolve() if path else ROOT / page
    return file.exists() and (not anchor or anchor in anchors(file.relative_to(ROOT)))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_each_link_of_a_page_leads_to_a_file_and_its_heading(page: Path) -> None:
    dead = [link for link in LINK.findall(PROSE[page]) if not leads_somewhere(page, link)]
    assert dead == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_each_command_that_a_page_names_is_there(page: Path) -> None:
    assert set(MAKE.findall(PROSE[page])) - TARGETS == set()
    assert [one for one in COMMAND.findall(PROSE[page]) if not is_known(one)] == []


@pytest.mark.parametrize("gone", ["statu", "status --nope", "lease mend NAME", "NAME"])
def test_a_command_that_is_not_there_is_found(gone: str) -> None:
    assert not is_known(gone)


def test_a_heading_that_is_not_there_is_found() -> None:
    readme = Path("README.md")
    assert leads_somewhere(readme, "#install")
    assert not leads_somewhere(readme, "#installation")
    assert not leads_somewhere(readme, "docs/operations/installing.md#installation")


@pytest.mark.parametrize(("page", "block"), UNNAMED)
def test_each_command_of_a_block_that_is_not_run_can_be_typed(page: Path, block: str) -> None:
    for line in block.splitlines():
        start, _, given = line.strip().removeprefix("$ ").partition(" ")
        if start == "tidemill":
            parsed(shlex.split(given, comments=True))


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
