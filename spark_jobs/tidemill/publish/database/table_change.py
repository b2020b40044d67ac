"""Compares a database table with incoming columns: nothing to do, new columns, or refused."""

from tidemill.contract.errors import Refused
from tidemill.publish.database.incoming_rows import Incoming, KeyUnfit
from tidemill.publish.database.session import Existing, Session
from tidemill.publish.delta.table_schema import changed
from tidemill.publish.head import Head, TableTaken


class TableGone(Refused):
    """The head row counts batches, and the table is not there; carries `table` and `head`."""


def changes(session: Session, head: Head, incoming: Incoming, refill: str) -> list[str]:
    """The statements that give the table the incoming columns; none where it has them.

    Args:
        head: Its head row.
        incoming: What comes.
        refill: How a person has the table filled again.

    Raises:
        SchemaChanged: a column has another type, or one of the table's is missing.
        KeyUnfit: the table tells rows apart by other columns.
        TableTaken: it has rows, and nothing says that they are ours.
        TableGone: it was dropped, and its head row was not.
    """
    keys = incoming.keys
    wanted = {
        field.name: session.type_of(field.type, key=field.name in keys) for field in incoming.fields
    }
    existing = session.existing()
    if existing is None:
        if head.last_batch >= 0:
            raise TableGone(
                f"Table {session.table} is gone, and tidemill_heads says that it holds batches up "
                f"to {head.last_batch}.",
                remedy=f"Restore it, or {refill}.",
                table=session.table,
                head=head.last_batch,
            )
        return [session.create(wanted, keys)]
    if head.last_batch < 0 and session.has_rows():
        raise TableTaken(
            f"Table {session.table} has rows, and tidemill_heads does not say from where.",
            remedy=f"Name another table under `publish`, or {refill}.",
            table=session.table,
        )
    if keys and existing.key != set(keys):
        raise KeyUnfit(
            f"Table {session.table} has the primary key "
            f"({', '.join(sorted(existing.key)) or 'none'}), and output.keys are "
            f"{', '.join(keys)}.",
            remedy="Name another table under `publish`.",
            keys=keys,
            why=sorted(existing.key),
        )
    if not incoming.payload.files:
        return []
    return [
        f"ALTER TABLE {session.place} ADD COLUMN {session.quoted(name)} {kind}"
        for name, kind in _added(existing, wanted).items()
    ]


def _added(existing: Existing, wanted: dict[str, str]) -> dict[str, str]:
    for name, kind in existing.columns.items():
        if name not in wanted:
            raise changed(name, kind, None)
        if wanted[name] != kind:
            raise changed(name, kind, wanted[name])
    return {name: kind for name, kind in wanted.items() if name not in existing.columns}
