"""A name in a Hive metastore, as a spec gives it to a Delta table."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from tidemill.spec.model import Model, PlainName


class HiveTable(Model):
    """A table in a Hive metastore, where other engines find the Delta table by name.

    Attributes:
        type: The kind of catalogue.
        table: Database and name, such as `sales.orders`; both are created where they do not exist.
        conn_id: The Airflow connection with the metastore's host and port.
    """

    type: Literal["hive"]
    table: Annotated[
        str,
        StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*$"),
    ]
    conn_id: PlainName

    @property
    def database_and_name(self) -> tuple[str, str]:
        """Both in lower case, as a metastore keeps them."""
        database, _, name = self.table.lower().partition(".")
        return database, name
