"""The condition of erased rows in a database, and the statements that count and delete them."""

from typing import Any

import pyarrow as pa

from tidemill.publish.database.session import Session
from tidemill.publish.erased_rows import ErasedRows


def count_erased(session: Session, rows: ErasedRows) -> int:
    """How many of the rows a table holds; none where it lacks one of their columns."""
    condition = _condition(session, rows)
    if condition is None:
        return 0
    where, values = condition
    ((count,),) = session.execute(f"SELECT count(*) FROM {session.place} WHERE {where}", values)
    return int(count)


def delete_erased(session: Session, rows: ErasedRows) -> None:
    """Delete them, in the transaction of its caller."""
    condition = _condition(session, rows)
    if condition is not None:
        where, values = condition
        session.execute(f"DELETE FROM {session.place} WHERE {where}", values)


def _condition(session: Session, rows: ErasedRows) -> tuple[str, list[Any]] | None:
    existing = session.existing()
    if existing is None or not rows.columns.keys() <= existing.columns.keys():
        return None
    alike = []
    for name, values in rows.columns.items():
        one = session.equal(name, pa.scalar(values[0]).type)
        alike.append("(" + " OR ".join([one] * len(values)) + ")")
    return " AND ".join(alike), [one for values in rows.columns.values() for one in values]
