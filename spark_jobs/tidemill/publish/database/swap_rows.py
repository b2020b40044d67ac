"""The rows that a swap removes from a database table, and conflicts with those that stay."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tidemill.publish.database.session import BATCH, GENERATION, KeyRepeated, Session

# Partitions that one statement names.
PARTITIONS = 500


def remove_partitions(
    session: Session, partitions: Mapping[str, pa.Array], generation: str, last: int
) -> int:
    """Delete the rows of whole partitions up to a batch; how many of theirs are left.

    Args:
        partitions: Column -> its value in each of them; no columns for the whole table.
        generation: The batch's generation; all rows of earlier generations are removed.
        last: The batch.
    """
    kinds = {name: values.type for name, values in partitions.items()}
    rows = list(zip(*(values.to_pylist() for values in partitions.values()), strict=True))
    if not kinds:
        rows = [()]
    one = " AND ".join(session.equal(name, kind) for name, kind in kinds.items()) or "1 = 1"
    before = f"({session.quoted(GENERATION)} <> %s OR {session.quoted(BATCH)} <= %s)"
    left = 0
    for start in range(0, len(rows), PARTITIONS):
        some = rows[start : start + PARTITIONS]
        inside = " OR ".join([f"({one})"] * len(some))
        values = [value for row in some for value in row]
        session.execute(
            f"DELETE FROM {session.place} WHERE ({inside}) AND {before}",
            (*values, generation, last),
        )
        ((count,),) = session.execute(
            f"SELECT count(*) FROM {session.place} WHERE {inside}", values
        )
        left += int(count)
    return left


def check_apart(session: Session, key: Sequence[str]) -> None:
    """Prove that no staged row has the key of one that stays.

    Raises:
        KeyRepeated: one has; which of the two is the later one, nothing says any more.
    """
    names = ", ".join(map(session.quoted, key))
    ((there,),) = session.execute(
        f"SELECT count(*) FROM {session.temporary} WHERE ({names}) IN "
        f"(SELECT {names} FROM {session.place})"
    )
    if there:
        raise KeyRepeated(
            f"{there} keys of output.keys ({', '.join(key)}) that were computed again stand in "
            f"{session.table} outside of what is replaced, and nothing says which row is the later "
            "one.",
            remedy="Make the partition columns part of output.keys, or let the target append; to "
            "this target nothing was published.",
            keys=tuple(key),
            batch=None,
        )


def leave_later(session: Session, key: Sequence[str], lineage: Sequence[str], last: int) -> None:
    """Drop the staged rows whose key has a row of a later batch in the table.

    Args:
        key: The columns of the table's primary key.
        lineage: The generation of the staged rows, then those before it.
        last: Their batch.
    """
    names = ", ".join(map(session.quoted, key))
    generation, batch = session.quoted(GENERATION), session.quoted(BATCH)
    session.execute(
        f"DELETE FROM {session.temporary} WHERE ({names}) IN (SELECT {names} FROM {session.place} "
        f"WHERE ({generation} = %s AND {batch} > %s) "
        f"OR {generation} NOT IN ({', '.join(['%s'] * len(lineage))}))",
        (lineage[0], last, *lineage),
    )
