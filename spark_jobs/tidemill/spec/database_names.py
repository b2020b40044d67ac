"""The names and keys that a database's tables can have."""

from collections.abc import Sequence

POSTGRES_BYTES = 63
# An entry of its index holds 2704 bytes, of which other columns and headers take some.
POSTGRES_WHOLE_KEY = 2600
MARIADB_CHARACTERS = 64
LAST_OF_PLANE = "\uffff"
# InnoDB's primary key holds 3072 bytes, of 4 a character; other types take 17 at the most.
MARIADB_KEY = {"string": 255, "binary": 767}
MARIADB_KEY_BYTES = {"string": 1020, "binary": 767}
OTHER_KEY_BYTES = 17
MARIADB_WHOLE_KEY = 3072


def unfit_for_postgres(name: str) -> str | None:
    """Why PostgreSQL cannot have this name; None where it can."""
    if not name or "\0" in name or len(name.encode()) > POSTGRES_BYTES:
        return f"PostgreSQL's names have 1 to {POSTGRES_BYTES} bytes"
    return None


def unfit_for_mariadb(name: str) -> str | None:
    """Why MariaDB and MySQL cannot have this name; None where they can."""
    if (
        not 0 < len(name) <= MARIADB_CHARACTERS
        or "\0" in name
        or name != name.rstrip()
        or max(name) > LAST_OF_PLANE
    ):
        return (
            f"MariaDB's names have 1 to {MARIADB_CHARACTERS} characters, end with no space, and "
            "have no emoji"
        )
    return None


def key_unfit_for_mariadb(kinds: Sequence[str]) -> str | None:
    """Why MariaDB and MySQL cannot have a primary key of columns; None where they can.

    Args:
        kinds: Spark's names of their types.
    """
    size = sum(MARIADB_KEY_BYTES.get(kind, OTHER_KEY_BYTES) for kind in kinds)
    if size <= MARIADB_WHOLE_KEY:
        return None
    return f"a key of MariaDB holds {MARIADB_WHOLE_KEY:,} bytes, and these columns need {size:,}"
