"""The condition of an erasure: which values, in which columns, tell the rows of a person."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tidemill.storage.erasures import HiddenText

# A shorter text is within too many others to tell a person.
SHORTEST_TEXT = 4
# A shorter number is too often a count, a size or a time in our documents.
SHORTEST_NUMBER = 9
SALT_BYTES = 16


@dataclass(frozen=True)
class Condition:
    """A conjunction of equalities.

    Args:
        columns: Column -> its values, as Spark prints them; a row needs one of each column.
        further: Other texts by which the same person is known: a rejected row with any of them is
            one of the person's.
        dates: The columns that hold dates, which tell no person where they stand in a text.
        sources: The sources whose rows the columns are of; none where they are the table's.
    """

    columns: Mapping[str, tuple[str, ...]]
    further: tuple[str, ...] = ()
    dates: frozenset[str] = frozenset()
    sources: tuple[str, ...] = ()

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
            "sources": self.sources,
        }


def new_salt() -> str:
    return secrets.token_hex(SALT_BYTES)


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
