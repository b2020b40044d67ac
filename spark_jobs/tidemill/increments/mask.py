"""Columns whose values are hidden in samples, results and pages."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tidemill.contract.errors import UsageError

MASKED = "***"
# The field of a rejected row that is the whole of it.
RECORD = "record"


class MaskUnknown(UsageError):
    """`gate.mask` names what is not a column; carries `column` and `columns`."""


def refuse_unknown(mask: Collection[str], columns: Collection[str]) -> None:
    """Hold a mask against the columns that there are; one letter amiss would show everything.

    Args:
        columns: The table's columns; as in Spark, letter case does not matter.

    Raises:
        MaskUnknown: one of its names is not one of them.
    """
    known = {column.lower() for column in columns}
    unknown = next((name for name in mask if name.lower() not in known), None)
    if unknown is not None:
        raise MaskUnknown(
            f"gate.mask names '{unknown}', which is not a column of the table.",
            remedy=f"Name some of {', '.join(columns)}; the next run judges the increment.",
            remedy_in_airflow=f"Name some of {', '.join(columns)}; then clear the task gate.",
            column=unknown,
            columns=tuple(columns),
        )


def hides(mask: Collection[str], columns: Iterable[str]) -> bool:
    """Whether what is said of some columns may hold values of a masked one.

    Args:
        columns: The expectation's columns; one that names none may look at any.
    """
    masked = {name.lower() for name in mask}
    # A field of a struct, `address.street`, is of its column.
    named = {part.lower() for column in columns for part in (column, column.partition(".")[0])}
    return bool(masked) and (not named or not masked.isdisjoint(named))


def masked_row(row: Mapping[str, Any], mask: Collection[str]) -> dict[str, Any]:
    """A row with asterisks for the values of masked columns, and for the whole record of them.

    Args:
        row: Column -> value; of a rejected row its reason, file and record.
    """
    hidden = {name.lower() for name in (*mask, *([RECORD] if mask else []))}
    return {
        name: MASKED if value is not None and name.lower() in hidden else value
        for name, value in row.items()
    }
