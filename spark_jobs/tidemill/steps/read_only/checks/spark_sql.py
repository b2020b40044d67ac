"""Spark SQL as a tree, and what is wrong with a text, found without Spark.

Where it is not certain that Spark refuses something, nothing is said.
"""

import logging
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

from sqlglot import exp, parse
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from tidemill.contract.syntax.spark_functions import SPARK_FUNCTIONS
from tidemill.contract.syntax.sql_text import Token, tokens

# It logs each syntax that it does not know.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
# The parser takes the function `window` for the clause of that name in some places.
_WINDOW = re.compile(r"\bwindow(?=\s*\()", re.IGNORECASE)
_STANDS_FOR_WINDOW = "windo_"
# Spark's syntax that the parser does not have: >>>, X '1F', a:b, |>, parameters; TABLE t, AS OF.
_BEYOND = re.compile(r">>>|\b[xb]''|(?<!:):(?!:)|\|>", re.IGNORECASE)
_BEYOND_WORDS = re.compile(r"table|.*\bas of\b", re.IGNORECASE)
_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        and as between by case distinct else end from group having in is join like limit not null
        on or order select then union using when where
        """,
    )
)
# The grammar has them, and the registry of functions does not.
_GRAMMAR = frozenset(("all", "case", "identifier", "timestampadd", "timestampdiff", "try_cast"))
# Spark reads them without brackets where no column has such a name.
_WITHOUT_BRACKETS = frozenset(
    re.findall(
        r"\w+",
        """
        current_catalog current_database current_date current_schema current_time current_timestamp
        current_user grouping__id localtimestamp session_user user
        """,
    )
)


@dataclass(frozen=True)
class SqlMistake:
    """One thing that Spark would refuse.

    Args:
        what: The rest of a sentence that begins with the text's name.
        line: 1-based, in the text; None where it has no place.
        column: 1-based, in that line.
    """

    what: str
    remedy: str
    line: int | None = None
    column: int | None = None


class NotSparkSql(Exception):
    """A text cannot be read as Spark SQL; carries `mistake`."""

    def __init__(self, mistake: SqlMistake) -> None:
        super().__init__(mistake.what)
        self.mistake = mistake


def tree_of(sql: str) -> exp.Expr | None:
    """An expression or a query as a tree; None where the parser does not have its syntax.

    Raises:
        NotSparkSql: it cannot be read.
    """
    unquoted = next((p.text for p in tokens(sql) if p.name == p.text and not p.text.isascii()), "")
    if unquoted:
        raise NotSparkSql(_without_backticks(sql, unquoted))
    parts = [_without_inside(part) for part in tokens(sql)]
    if _BEYOND.search("".join(parts)) or _BEYOND_WORDS.match(" ".join(parts)):
        return None
    try:
        trees = parse(_WINDOW.sub(_STANDS_FOR_WINDOW, sql), read=Spark)
    except TokenError as error:
        what = "cannot be read: a quote or a comment is not closed"
        raise NotSparkSql(SqlMistake(what, "Close it.")) from error
    except ParseError as error:
        raise NotSparkSql(_mistake(sql, error)) from error
    except RecursionError:
        return None
    return trees[0] if len(trees) == 1 and not isinstance(trees[0], exp.Command) else None


def _without_backticks(sql: str, name: str) -> SqlMistake:
    before = sql[: sql.index(name)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    what = f"names {name} without backticks, which Spark reads for ASCII letters alone"
    return SqlMistake(what, f"Write `{name}`.", line, column)


def _without_inside(part: Token) -> str:
    return part.text[0] * 2 if _quoted(part) else part.text


def _quoted(part: Token) -> bool:
    return part.text[:1] in ("'", '"', "`") and len(part.text) > 1


def _mistake(sql: str, error: ParseError) -> SqlMistake:
    at = error.errors[0]
    line, end, word = at.get("line"), at.get("col") or 0, str(at.get("highlight") or "")
    if not word or line is None:
        return SqlMistake("cannot be read", "Fix the syntax.")
    column = max(1, end - len(word) + 1)
    before = [part.text for part in tokens(str(at.get("start_context") or ""))]
    return SqlMistake(
        f"cannot be read at '{word.replace(_STANDS_FOR_WINDOW, 'window')}'",
        _hint([*before[-2:], word], str(at.get("description"))),
        line,
        column,
    )


def _hint(words: list[str], description: str) -> str:
    """What to do: the keyword that one of the last words is nearly, or the bracket to close."""
    for word in reversed(words):
        near = get_close_matches(word.lower(), _KEYWORDS, n=1, cutoff=0.75)
        if near and word.lower() not in _KEYWORDS and word[:1].isalpha():
            return f"Did you mean '{near[0].upper()}'?"
    if description.startswith("Expecting )"):
        return "Close the bracket that is open there."
    if description.startswith("Expected END"):
        return "Close the CASE with END."
    return "Fix the syntax there."


def unknown_functions(tree: exp.Expr, sql: str) -> Iterator[tuple[str, str]]:
    """Functions that Spark does not ship, each with a remedy."""
    called = {
        found.name.lower()
        for found in tree.find_all(exp.Anonymous)
        if not isinstance(found.parent, exp.Dot) and not found.find_ancestor(exp.Hint)
    }
    own = {alias.name.lower() for alias in tree.find_all(exp.TableAlias)}
    # The parser knows functions of other databases, and then does not keep how they were written.
    parts = [Token("", ""), *tokens(sql)]
    for (before, name), after in zip(pairwise(parts), parts[2:], strict=False):
        word = name.name.lower()
        if after.text == "(" and before.text != "." and word.upper() in Spark.Parser.FUNCTIONS:
            called.add(word)
    called -= {_STANDS_FOR_WINDOW, *own}
    for word in sorted(called - SPARK_FUNCTIONS - _GRAMMAR):
        near = get_close_matches(word, SPARK_FUNCTIONS, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else "Use a function that Spark ships."
        yield word, remedy


def columns_named(tree: exp.Expr) -> list[str]:
    """The first part of each column's name, in order; it may be a table's name or a struct's."""
    named = (column.parts[0] for column in tree.find_all(exp.Column) if not _is_star(column))
    words = (part.name for part in named if part.args.get("quoted") or not _is_function(part.name))
    return list(dict.fromkeys(words))


def words_of(sql: str) -> list[str]:
    """The columns that an expression names; none where it cannot be read."""
    try:
        tree = tree_of(sql)
    except NotSparkSql:
        return []
    return [] if tree is None else columns_named(tree)


def _is_star(column: exp.Column) -> bool:
    return isinstance(column.this, exp.Star)


def _is_function(word: str) -> bool:
    return word.lower() in _WITHOUT_BRACKETS


def nearest(word: str, known: Collection[str], what: str = "It has") -> str:
    """The remedy for a word that is not among those that are known."""
    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), by_lower, n=1)
    return f"Did you mean '{by_lower[near[0]]}'?" if near else f"{what}: {', '.join(known)}."
