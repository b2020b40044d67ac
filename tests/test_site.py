"""The site of the pages builds without a warning, and its reference leaves nothing out."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from docs.site.reference import GENERATED, REFERENCE
from tests.support.pages import PAGES
from tests.support.shown_errors import rows
from tidemill.cli.app import app
from tidemill.contract.project import REPOSITORY
from tidemill.spec.json_schema import PATH

RECIPE = re.compile(r"^docs:.*\n\t@\$\(RUN\) (sphinx .*) \S+$", re.MULTILINE)


class Text(HTMLParser):
    """The words of a page, and the files that it links to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words, self.links = list[str](), list[str]()
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.words.extend(data.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links.extend(value for name, value in attrs if name in ("href", "src") and value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make docs` builds."""
    folder = tmp_path_factory.mktemp("site")
    recipe = RECIPE.search((REPOSITORY / "Makefile").read_text())
    assert recipe is not None
    arguments = recipe[1].split()
    assert "-W" in arguments, "a warning is an error"
    built = subprocess.run(
        [sys.executable, "-m", *arguments, str(folder)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder


def test_each_page_is_in_the_site_and_each_of_its_links_leads_to_a_file(site: Path) -> None:
    for page in PAGES:
        file = site / page.with_suffix(".html")
        links = {link.partition("#")[0] for link in Text(file.read_text()).links}
        inside = {link for link in links if link and not re.match(r"[a-z]+:", link)}
        gone = {link for link in inside if not (file.parent / link.partition("?")[0]).exists()}
        assert gone == set(), page


def test_the_site_begins_at_its_root(site: Path) -> None:
    (start,) = re.findall(r"url=([^\"]+)", (site / "index.html").read_text())
    assert (site / start).is_file()


def test_the_site_has_every_error(site: Path) -> None:
    words = Text((site / "docs/errors.html").read_text()).words
    assert {name for name, *_ in rows()} <= set(words)


@pytest.mark.parametrize("name", GENERATED)
def test_a_page_of_the_reference_is_what_the_code_says(name: str) -> None:
    assert (REFERENCE / name).read_text() == GENERATED[name](), "make schema writes it"


def models(schema: Any) -> Iterator[set[str]]:
    for model in (schema, *schema["$defs"].values()):
        if "properties" in model:
            yield set(model["properties"])


def test_the_reference_has_every_field_of_every_part_of_a_spec() -> None:
    sections = (REFERENCE / "spec.md").read_text().split("\n## ")[1:]
    shown = [set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) for section in sections]
    expected = list(models(json.loads(PATH.read_bytes())))
    assert len(expected) > 30
    assert sorted(map(sorted, shown)) == sorted(map(sorted, expected))


def test_each_field_of_the_reference_has_a_type_and_a_description() -> None:
    page = (REFERENCE / "spec.md").read_text()
    fields = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert len(fields) > 200
    assert [name for name, kind, _, said in fields if not (kind.strip() and said.strip())] == []


def commands(name: str, command: Any) -> Iterator[tuple[str, set[str]]]:
    options = (one for one in command.params if one.param_type_name == "option")
    yield name, {max(option.opts, key=len) for option in options}
    for child in getattr(command, "commands", {}).items():
        yield from commands(f"{name} {child[0]}", child[1])


def test_the_reference_has_every_command_with_its_options() -> None:
    sections = (REFERENCE / "commands.md").read_text().split("\n### ")[1:]
    shown = {
        section.partition("\n")[0]: set(
            re.findall(r"^\| `(?:-\w, ?)?(--[\w-]+)", section, re.MULTILINE)
        )
        for section in sections
    }
    root: Any = get_command(app)
    expected = dict(
        one for name in root.commands for one in commands(f"tidemill {name}", root.commands[name])
    )
    assert len(expected) > 40
    assert shown == expected
