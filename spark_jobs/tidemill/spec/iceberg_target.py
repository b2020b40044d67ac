"""A table in an Apache Iceberg catalogue, as a spec names it."""

from typing import Annotated, Literal, Self

from pydantic import StringConstraints, model_validator

from tidemill.spec.base_target import BaseTarget, target_name
from tidemill.spec.model import Disagreement, PlainName
from tidemill.spec.secret_setting import is_secret
from tidemill.spec.table_properties import TableProperties, check_iceberg

# PyIceberg's types of catalogues, but for the one that is gone with the process.
CATALOGUES = ("sql", "rest", "glue", "hive", "dynamodb", "bigquery")


class IcebergTarget(BaseTarget):
    """A table in an Apache Iceberg catalogue; of the Delta table's own files in mode `append`.

    Attributes:
        table: Namespace and name, such as `sales.orders`; created where it does not exist.
        catalog: The catalogue's name; a SQL catalogue keeps its tables under it.
        conn_id: An Airflow connection with properties of the catalogue, secrets among them.
        properties: Properties of the catalogue without secrets, as PyIceberg names them
            (`type`, `uri`, `warehouse`); the connection's own win.
        location: Where the table keeps its metadata; the catalogue's choice where not given.
        table_properties: Properties of the table, by Iceberg's names or your own, such as
            `write.parquet.compression-codec: zstd`. The next publish sets what has changed.
    """

    remote_head = True
    kind: Literal["iceberg"]
    table: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    catalog: PlainName = "tidemill"
    conn_id: PlainName | None = None
    properties: dict[str, str] = {}
    location: Annotated[str, StringConstraints(min_length=1)] | None = None
    table_properties: TableProperties = {}

    @property
    def name(self) -> str:
        return target_name("iceberg", self.catalog, self.table)

    @property
    def held_in(self) -> str:
        return f"{self.table} from the catalogue (drop it without PURGE)"

    @model_validator(mode="after")
    def _has_a_catalogue(self) -> Self:
        if self.conn_id is None and "type" not in self.properties:
            msg = "give conn_id or properties with a type (sql, rest, glue or hive), or both"
            raise ValueError(msg)
        given = self.properties.get("type", CATALOGUES[0]).lower()
        if given not in CATALOGUES:
            msg = f"'{given}' is not a type of catalogue; give one of {', '.join(CATALOGUES)}"
            raise Disagreement(msg, "properties", "type")
        if given == "hive" and self.conn_id is None and "uri" not in self.properties:
            msg = "a catalogue of type hive needs the uri of its metastore, or a conn_id"
            raise Disagreement(msg, "properties", "uri")
        secret = next((n for n, value in self.properties.items() if is_secret(n, value)), None)
        if secret is not None:
            msg = f"'{secret}' would put a secret into a file; put it into the connection's extra"
            raise Disagreement(msg, "properties", secret)
        check_iceberg(self.table_properties)
        return self
