"""The style page of CONTRIBUTING.md, as far as a program can check it."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
START = r"(?:^|[.:;!?] |[\"'(#|*-] ?|[\"']{3})"
RULES = {
    "a sentence that begins with Of": rf"{START}Of (?!course)",
    "an argument that is a bare Whose": r": Whose\b",
    "a sentence that begins with Else": rf"{START}Else\b",
    "is no X": r"(?<![Tt]here )\b(?:is|are|was|were) (?:no|none)\b(?! (?:longer|more|less)\b)",
    "nobody": r"\b[Nn]obody\b",
    "mend": r"\b[Mm]end(?:s|ed|ing)?\b",
    "anew": r"\banew\b",
    "by now": r"\bby now\b",
    "files that lie": r"\b(?:lie|lies|lay)\b",
}
# Pairs and rules of the style page quote what they forbid.
QUOTED = re.compile(r"^\| (?:docstring|argument|comment|error|message|name) \||^\d+\. \*\*No ")


def tracked(*patterns: str) -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in done.stdout.splitlines() if (ROOT / line).is_file()]


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that people read, with their numbers."""
    text = path.read_text()
    if path.suffix != ".py":
        lines = enumerate(text.splitlines(), 1)
        yield from ((n, line) for n, line in lines if not QUOTED.match(line))
        return
    # A test's plain strings may quote what a program or a person says.
    quote = '"""' if path.is_relative_to(ROOT / "tests") else ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        said = token.type == tokenize.STRING and " " in token.string
        if token.type == tokenize.COMMENT or (said and token.string.startswith(quote)):
            yield from enumerate(token.string.split("\n"), token.start[0])


@pytest.fixture(scope="module")
def prose() -> list[str]:
    """All that people read, as lines that begin with their place."""
    files = tracked("spark_jobs/*.py", "plugins/*.py", "dags/*.py", "tests/*.py", "*.md")
    return [
        f"{path.relative_to(ROOT)}:{number}\t{line.strip()}"
        for path in files
        for number, line in prose_of(path)
    ]


@pytest.mark.parametrize("rule", RULES)
def test_whatever_people_read_is_plain(rule: str, prose: list[str]) -> None:
    pattern = re.compile(RULES[rule])
    assert [line for line in prose if pattern.search(line.partition("\t")[2])] == []


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        ("a sentence that begins with Of", "Of an aggregation come fewer rows."),
        ("an argument that is a bare Whose", "pipeline: Whose."),
        ("a sentence that begins with Else", "# Else it waits."),
        ("is no X", "The file is no Python."),
        ("nobody", "Nobody reads it."),
        ("mend", "Mend it."),
        ("anew", "It is read anew."),
        ("by now", "It is gone by now."),
        ("files that lie", "Where the files lie."),
    ],
)
def test_each_rule_finds_its_sentence(rule: str, sentence: str) -> None:
    assert re.search(RULES[rule], sentence)


def test_there_is_no_is_plain() -> None:
    assert not re.search(RULES["is no X"], "There is no such file, and it is no longer read.")
