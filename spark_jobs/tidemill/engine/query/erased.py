"""Leaves erased rows out of a query, good and rejected ones, by the hashes of their values."""

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import groupby

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemill.contract.errors import Refused
from tidemill.file_formats.reader import REJECT
from tidemill.spec.column_types import quoted
from tidemill.storage.erasures import Erasure, HiddenText

# What stands beside a text that is a word of its own.
LETTER = r"[\p{L}\p{N}_]"


class ErasedColumnGone(Refused):
    """Erased rows cannot be told any more; carries `column`, `erasure` and perhaps `source`."""


def without_erased_input(tagged: DataFrame, erasures: Iterable[Erasure], source: str) -> DataFrame:
    """The rows of a source without its good ones that are erased before the transform.

    Args:
        tagged: The source's typed rows, with `_reject`.
        source: Its name.

    Raises:
        ErasedColumnGone: the rows have no such column any more.
    """
    for one in erasures:
        if source in one.sources:
            _refuse_missing(tagged, one, source)
            erased = F.col(REJECT).isNull() & _is_good_erased(one)
            tagged = tagged.where(~F.coalesce(erased, F.lit(False)))
    return tagged


def refuse_missing_sources(erasures: Iterable[Erasure], sources: Iterable[str]) -> None:
    """Refuse a spec without a source that rows were erased from.

    Raises:
        ErasedColumnGone: there is no such source any more.
    """
    known = {*sources}
    for one in erasures:
        for source in one.sources:
            if source not in known:
                raise _column_gone(next(iter(one.columns)), one, source)


def without_erased(rows: DataFrame, erasures: Iterable[Erasure]) -> DataFrame:
    """The rows without those that are erased, but for good ones that the transform has not got.

    Args:
        rows: The transform's rows and the rejected ones, with `_reject`.

    Raises:
        ErasedColumnGone: the rows have no such column any more.
    """
    for one in erasures:
        record = F.col(f"{REJECT}.record")
        is_good, good = F.col(REJECT).isNull(), F.lit(False)
        if not one.sources:
            _refuse_missing(rows, one)
            good = _is_good_erased(one)
        erased = F.when(is_good, good).otherwise(_is_record_erased(record, one))
        rows = rows.where(~F.coalesce(erased, F.lit(False)))
    return rows


def _is_good_erased(one: Erasure) -> Column:
    return _all(
        _is_one_of(F.col(quoted(name)).cast("string"), one.salt, hidden)
        for name, hidden in one.columns.items()
    )


def _is_record_erased(record: Column, one: Erasure) -> Column:
    by_columns = _all(_names(record, name, one) for name in one.columns)
    return by_columns | _holds(record, one.salt, one.further)


def _names(record: Column, column: str, one: Erasure) -> Column:
    """Whether a record has a value of a column, as a field of JSON or somewhere in its text."""
    field = F.get_json_object(record, f"$['{column}']")
    in_field = F.coalesce(_is_one_of(field, one.salt, one.columns[column]), F.lit(False))
    return in_field | _holds(record, one.salt, one.texts.get(column, ()))


def _is_one_of(text: Column, salt: str, hidden: Sequence[HiddenText]) -> Column:
    return F.sha2(F.concat(F.lit(salt), text), 256).isin(*(one.sha256 for one in hidden))


def _holds(text: Column, salt: str, hidden: Sequence[HiddenText]) -> Column:
    """Whether a text holds one of some words, at any place."""
    found = F.lit(False)
    for letters, same in groupby(sorted(hidden, key=lambda one: one.letters), _letters):
        found |= _holds_of_length(text, salt, letters, [*same])
    return F.coalesce(found, F.lit(False))


def _holds_of_length(text: Column, salt: str, letters: int, hidden: Sequence[HiddenText]) -> Column:
    last = F.length(text) - F.lit(letters - 1)

    def is_word(place: Column) -> Column:
        part = F.substring(text, place, letters)
        before = F.when(place > 1, F.substring(text, place - 1, 1)).otherwise("")
        after = F.substring(text, place + letters, 1)
        free = ~before.rlike(LETTER) & ~after.rlike(LETTER)
        return free & _is_one_of(part, salt, hidden)

    places = F.sequence(F.lit(1), F.greatest(last, F.lit(1)))
    return F.when(last >= 1, F.exists(places, is_word))


def _letters(one: HiddenText) -> int:
    return one.letters


def _all(conditions: Iterable[Column]) -> Column:
    return reduce(Column.__and__, conditions)


def _refuse_missing(rows: DataFrame, one: Erasure, source: str | None = None) -> None:
    known = {name.lower() for name in rows.columns}
    for column in (name for name in one.columns if name.lower() not in known):
        raise _column_gone(column, one, source)


def _column_gone(column: str, one: Erasure, source: str | None) -> ErasedColumnGone:
    place = "the transform" if source is None else f"source {source}"
    return ErasedColumnGone(
        f"Rows were erased by their {column} (erasure {one.number}), and {place} gives no such "
        "column any more: they would come back.",
        remedy=f"Keep the column {column} in {place}.",
        column=column,
        erasure=one.number,
        **({} if source is None else {"source": source}),
    )
