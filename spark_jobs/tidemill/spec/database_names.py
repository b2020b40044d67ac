"""The names that a database's tables and columns can have."""

POSTGRES_BYTES = 63
MARIADB_CHARACTERS = 64
LAST_OF_PLANE = "\uffff"


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
