"""Understands the condition of an erasure: equalities of columns and values, joined by AND."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from tidemill.contract.errors import UsageError
from tidemill.steps.upkeep.erase.condition import SHORTEST_TEXT, Condition

# It logs each syntax that it does not know.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
# Spark's types whose values have one spelling, whichever program writes them.
WHOLE = ("byte", "short", "integer", "long")
TYPES = ("string", "date", *WHOLE)


class ConditionUnsupported(UsageError):
    """Rows cannot be erased by a condition; carries `condition`, and the `part` of it."""


def parse_condition(
    where: Sequence[str],
    values: Sequence[str],
    schema: Mapping[str, Any],
    partitions: Sequence[str],
    place: str = "the table",
) -> Condition:
    """Understand a condition.

    Args:
        where: Conditions of which all hold, such as `customer = 'C-17' AND shop IN (1, 2)`.
        values: Further texts.
        schema: The table's, or that of a source, as Spark's JSON.
        partitions: The partition columns of the table.
        place: What has the schema.

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
                why = "partitions the table" if field else f"is not a column of {place}"
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


def columns_named(where: Sequence[str]) -> list[str]:
    """The columns of a condition, as they are written.

    Raises:
        ConditionUnsupported: it is not a conjunction of equalities.
    """
    return [_equality(part, text)[0] for text in where for part in _parts(text)]


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
