"""The functions and names in a Spark SQL text, found without Spark.

Texts and comments end where Spark's own grammar ends them, so that no name can hide behind one.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
    (?P<skipped> --(?:\\\n|[^\r\n])* | /\*.*?\*/ | \s+ )
    | (?P<text> [rR]'[^']*' | [rR]"[^"]*" | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | `(?P<quoted>(?:[^`]|``)*)`
    | (?P<word>[^\W\d]\w*)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
# They run any method of any class that Java finds, whoever wrote the expression.
RUN_JAVA = frozenset({"reflect", "java_method", "try_reflect"})
# IDENTIFIER('name')(…) calls a function whose name is made up only when it runs.
_MADE_UP = "identifier"


class Token(NamedTuple):
    """A word, a text in quotes, or a character of Spark SQL.

    Attributes:
        name: The word, or the name in backquotes; otherwise empty.
    """

    text: str
    name: str


def tokens(sql: str) -> Iterator[Token]:
    """The parts of a text, without blanks and comments."""
    for found in _TOKEN.finditer(sql):
        if found["skipped"] is None:
            yield Token(found[0], found["quoted"] or found["word"] or "")


def java_call(sql: str) -> str | None:
    """The first function that a text calls and that would run Java; None where it calls none."""
    parts = [*tokens(sql)]
    for part, after in pairwise(parts):
        # A name in double quotes is one where Spark is set so.
        name = (part.name or part.text.strip('"')).strip().lower()
        if after.text == "(" and name in (*RUN_JAVA, _MADE_UP):
            return name
    return None


def without_java(expression: str) -> str:
    """An expression of a spec.

    Raises:
        ValueError: it calls a function that runs Java.
    """
    name = java_call(expression)
    if name is not None:
        msg = (
            f"{name}() could run any method of Java, which an expression may not; compute it in a "
            "transform in Python"
        )
        raise ValueError(msg)
    return expression
