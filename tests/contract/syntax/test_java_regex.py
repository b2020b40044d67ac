"""Java's patterns in Python's words; `test_equivalence.py` compares them with Spark."""

from __future__ import annotations

import re

import pytest

from tidemill.contract.syntax.java_regex import as_python


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^SO-\d{6}$", "SO-000001", True),
        (r"^SO-\d{6}$", "SO-000001\r\n", True),
        (r"^SO-\d{6}$", "SO-000001\n\n", False),
        (r"^SO-\d{6}$", "SO-" + 6 * "\N{ARABIC-INDIC DIGIT ONE}", False),
        (r"^\w+$", "Ünï", False),
        (r"^.$", "\u2028", False),
        (r"\s", "\u00a0", False),
        (r"^[CA]?\d{6}$", "C536379", True),
        (r"[^\]a-z]", "]", False),
        (r"^(?:a|b)+?$", "abba", True),
        (r"(?<=a)b", "ab", True),
        (r"Ü+", "Ü", True),
    ],
)
def test_a_pattern_of_the_common_language_finds_what_java_finds(
    pattern: str, text: str, found: bool
) -> None:
    said = as_python(pattern)
    assert said is not None
    assert (re.search(said, text) is not None) is found


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bx",
        r"(?i)x",
        r"[a-z&&[b]]",
        r"[]a]",
        r"(?<name>x)",
        r"x++",
        r"{",
        r"\p{L}",
        r"\Z",
        r"(x)\1",
        r"a)",
        "x\\",
    ],
)
def test_what_may_mean_another_thing_to_java_is_not_translated(pattern: str) -> None:
    assert as_python(pattern) is None
