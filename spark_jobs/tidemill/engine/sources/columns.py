"""The columns of a source: those of the spec's schema, and those that the engine adds."""

from textwrap import shorten
from typing import cast

from pyspark.sql.types import StructType

from tidemill.contract.errors import SpecError

CORRUPT = "_corrupt"
ORIGIN = "_origin"
RECORD = "_record"
"""The row as it was delivered, of sources that know it."""


def schema_of(ddl: str, field: str) -> StructType:
    """A schema of the spec as Spark types.

    Args:
        ddl: Spark DDL.
        field: The field of the spec, for the message.

    Raises:
        SpecError: Spark cannot parse it.
    """
    try:
        return cast(StructType, StructType.fromDDL(ddl))
    except Exception as error:
        why = shorten(str(error).split("== SQL ==")[0], 300, placeholder=" …")
        raise SpecError(
            f"{field} is not Spark DDL: {why}",
            remedy='Write e.g. "id string, at timestamp, price decimal(10,2)".',
            field=field,
        ) from error
