"""The condition of an erasure: which values, in which columns, tell the rows of a person."""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from tidemill.contract.errors import UsageError
from tidemill.storage.erasures import HiddenText

# It logs each syntax that it does not know.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
# Spark's types whose values have one spelling, whichever program writes them.
WHOLE = ("byte", "short", "integer", "long")
TYPES = ("string", "date", *WHOLE)
# A shorter text is within too many others to tell a person.
SHORTEST_TEXT = 4
# A shorter number is too often a count, a size or a time in our documents.
SHORTEST_NUMBER = 9
SALT_BYTES = 16


class ConditionUnsupported(UsageError):
    """Rows cannot be erased by a condition; carries `condition`, and the `part` of it."""


@dataclass(frozen=True)
class Condition:
    """A conjunction of equalities.

    Args:
        columns: Column -> its values, as Spark prints them; a row needs one of each column.
        further: Other texts by which the same person is known: a rejected row with any of them is
            one of the person's.
        dates: The columns that hold dates, which tell no person where they stand in a text.
    """

    columns: Mapping[str, tuple[str, ...]]
    further: tuple[str, ...] = ()
    dates: frozenset[str] = frozenset()

    def texts_of(self, column: str) -> tuple[str, ...]:
        """What the values of a column look like within a record; short ones are left out."""
        return () if column in self.dates else tuple(_spellings(self.columns[column]))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Every text that tells the person in a document or a page."""
        own = (text for column in self.columns for text in self.texts_of(column))
        found = dict.fromkeys((*own, *_spellings(self.further)))
        return tuple(t for t in found if not t.isdecimal() or len(t) >= SHORTEST_NUMBER)

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Whether a good row is one of them."""
        return all(_text(row.get(name)) in values for name, values in self.columns.items())

    def holds_record(self, record: str | None) -> bool:
        """Whether the record of a rejected row is one of them."""
        if record is None:
            return False
        fields = _fields(record)
        by_columns = all(
            _text(fields.get(name)) in values or _words(self.texts_of(name), record)
            for name, values in self.columns.items()
        )
        return by_columns or _words(tuple(_spellings(self.further)), record)

    def hidden(self, salt: str) -> dict[str, Any]:
        """What an erasure's document says of it.

        Args:
            salt: As `new_salt` gives it.
        """

        def hide(texts: Sequence[str]) -> tuple[HiddenText, ...]:
            return tuple(HiddenText.of(salt, text) for text in texts)

        return {
            "columns": {name: hide(values) for name, values in self.columns.items()},
            "texts": {name: hide(self.texts_of(name)) for name in self.columns},
            "further": hide(tuple(_spellings(self.further))),
        }


def new_salt() -> str:
    return secrets.token_hex(SALT_BYTES)


def parse_condition(
    where: Sequence[str],
    values: Sequence[str],
    schema: Mapping[str, Any],
    partitions: Sequence[str],
) -> Condition:
    """Understand a condition.

    Args:
        where: Conditions of which all hold, such as `customer = 'C-17' AND shop IN (1, 2)`.
        values: Further texts.
        schema: The table's, as Spark's JSON.
        partitions: Its partition columns.

    Raises:
        ConditionUnsupported: it is not a conjunction of equalities with columns of such types.
    """
    types = {field["name"].lower(): field for field in schema["fields"]}
    columns: dict[str, tuple[str, ...]] = {}
    for text in where:
        for part in _parts(text):
            column, literals = _equality(part, text)
            field = types.get(column.lower())
            if field is None or field["name"] in partitions:
                why = "partitions the table" if field else "is not a column of the table"
                raise _unsupported(text, column, f"'{column}' {why}")
            name, kind = field["name"], str(field["type"])
            if kind not in TYPES and not kind.startswith(("char", "varchar")):
                raise _unsupported(text, column, f"'{column}' is of type {kind}")
            if name in columns:
                raise _unsupported(text, column, f"'{column}' is there twice; use IN")
            columns[name] = tuple(_as_printed(one, kind, text) for one in literals)
    if not columns:
        raise _unsupported("", "", "it is empty")
    short = next((value for value in values if len(value) < SHORTEST_TEXT), None)
    if short is not None:
        raise _unsupported(short, short, f"a --value needs {SHORTEST_TEXT} characters")
    dates = frozenset(name for name in columns if types[name.lower()]["type"] == "date")
    return Condition(columns, tuple(dict.fromkeys(values)), dates)


def _parts(text: str) -> Iterator[exp.Expr]:
    try:
        tree = parse_one(text, dialect=Spark)
    except (ParseError, TokenError) as error:
        raise _unsupported(text, text, "it is not SQL") from error
    stack = [tree]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.Paren):
            stack.append(part.this)
        elif isinstance(part, exp.And):
            stack += [part.expression, part.this]
        else:
            yield part


def _equality(part: exp.Expr, text: str) -> tuple[str, list[exp.Expr]]:
    shown = part.sql(dialect=Spark)
    literals: list[exp.Expr] = []
    if isinstance(part, exp.EQ):
        literals = [part.expression]
    elif isinstance(part, exp.In) and not part.args.get("query"):
        literals = [*part.expressions]
    column = part.this
    plain = isinstance(column, exp.Column) and not column.table
    if not plain or not literals or not all(isinstance(one, exp.Literal) for one in literals):
        raise _unsupported(text, shown, "it is not `column = value` or `column IN (values)`")
    return str(column.name), literals


def _as_printed(literal: exp.Expr, kind: str, text: str) -> str:
    """A literal as Spark prints a value of a type."""
    value = str(literal.this)
    try:
        if kind in WHOLE:
            return str(int(value))
        if kind == "date":
            return date.fromisoformat(value).isoformat()
    except ValueError as error:
        raise _unsupported(text, value, f"{value} is not a value of type {kind}") from error
    if not literal.args.get("is_string") or not value:
        raise _unsupported(text, value, "the value of a text needs quotes, and a character")
    return value


def _unsupported(condition: str, part: str, why: str) -> ConditionUnsupported:
    return ConditionUnsupported(
        f"No row can be erased by `{part}`: {why}.",
        remedy="Name rows by equality, joined by AND: --where \"customer = 'C-17'\", or "
        "--where \"customer IN ('C-17', 'C-18')\". Columns are texts, dates or whole numbers, and "
        "do not partition the table; only hashes of the values are kept.",
        condition=condition,
        part=part,
    )


def _spellings(values: Sequence[str]) -> Iterator[str]:
    """Values as they stand in text and in JSON."""
    for value in values:
        if len(value) >= SHORTEST_TEXT:
            yield value
            escaped = json.dumps(value, ensure_ascii=False)[1:-1]
            if escaped != value:
                yield escaped


def _words(texts: Sequence[str], within: str) -> bool:
    return bool(texts) and words_pattern(texts).search(within) is not None


def words_pattern(texts: Sequence[str]) -> re.Pattern[str]:
    """Finds texts that are words of their own; as `engine.query.erased` does."""
    either = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{either})(?!\w)")


def _fields(record: str) -> Mapping[str, Any]:
    try:
        found = json.loads(record)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
