"""Spark's types for the values of a sample, as careful as Spark's own readers are strict.

A type is proposed only where Spark would read each value of the sample as it; otherwise it is
`string`, with a note where most values look like something else.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from tidemill.spec.column_types import quoted

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,18})")
_NUMBER = re.compile(r"[+-]?(0|[1-9][0-9]*)?(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_LONGEST = 2**63
MOSTLY = 0.5


def _is_integer(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -_LONGEST <= int(text) < _LONGEST


def _is_number(text: str) -> bool:
    return any(c.isdigit() for c in text) and bool(_NUMBER.fullmatch(text))


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text)) and _parses(date.fromisoformat, text)


def _is_time(text: str) -> bool:
    return bool(_TIME.fullmatch(text)) and _parses(datetime.fromisoformat, text)


def _parses(parse: Callable[[str], Any], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


# In the order in which they are tried; each of them only if all values fit.
_TEXTS: dict[str, Callable[[str], bool]] = {
    "boolean": lambda text: text.lower() in ("true", "false"),
    "bigint": _is_integer,
    "double": _is_number,
    "date": _is_date,
    "timestamp": _is_time,
}
_TIMES = ("date", "timestamp")


@dataclass(frozen=True)
class SampledColumn:
    """A column of a sample.

    Args:
        type: As Spark's DDL.
        notes: What to look over.
    """

    name: str
    type: str
    notes: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        return f"{quoted(self.name)} {self.type}"


def column_of_texts(name: str, values: Iterable[str | None]) -> SampledColumn:
    """A column of a file whose values are all texts, such as CSV."""
    given = [value for value in values if value is not None]
    if not given:
        return SampledColumn(name, "string", ("is empty in this sample, so its type is a guess",))
    kind = _type_of_texts(given, _TEXTS)
    return SampledColumn(name, kind, tuple(_notes(given)) if kind == "string" else ())


def column_of_values(name: str, values: Iterable[Any]) -> SampledColumn:
    """A column of JSON values; dates and times are texts that look like them."""
    given = [value for value in values if value is not None]
    if not given:
        return SampledColumn(name, "string", ("is empty in this sample, so its type is a guess",))
    kind = _type_of_values(given)
    kinds = {type(value).__name__ for value in given}
    mixed = kind == "string" and kinds != {"str"}
    notes = (f"mixed: {', '.join(sorted(kinds))}",) if mixed else ()
    return SampledColumn(name, kind, notes)


def _type_of_texts(given: list[str], kinds: Mapping[str, Callable[[str], bool]]) -> str:
    return next((kind for kind, fits in kinds.items() if all(map(fits, given))), "string")


def _notes(given: list[str]) -> Iterable[str]:
    zeros = sum(text[:1] == "0" and text.isdigit() for text in given)
    if zeros and all(text.isdigit() for text in given):
        yield f"{zeros} of {len(given)} begin with 0, which a number would lose"
        return
    for kind, fits in _TEXTS.items():
        found = sum(map(fits, given))
        if found > MOSTLY * len(given):
            yield f"mixed: {found} of {len(given)} are {kind}"
            return


def _type_of_values(given: list[Any]) -> str:
    kinds = {type(value) for value in given}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int} and all(-_LONGEST <= value < _LONGEST for value in given):
        return "bigint"
    if kinds <= {int, float}:
        return "double"
    if kinds == {str}:
        return _type_of_texts(given, {kind: _TEXTS[kind] for kind in _TIMES})
    if kinds == {list}:
        items = [item for value in given for item in value if item is not None]
        return f"array<{_type_of_values(items) if items else 'string'}>"
    if kinds == {dict}:
        return _struct(given)
    return "string"


def _struct(given: list[dict[str, Any]]) -> str:
    names = dict.fromkeys(name for value in given for name in value)
    fields = (column_of_values(name, [value.get(name) for value in given]).type for name in names)
    inside = (f"{quoted(name)}: {kind}" for name, kind in zip(names, fields, strict=True))
    return f"struct<{', '.join(inside)}>" if names else "string"
