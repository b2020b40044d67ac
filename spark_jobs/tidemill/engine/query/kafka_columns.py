"""The columns that Spark's Kafka sink takes from a transform."""

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType

from tidemill.contract.errors import SpecError

TYPES: dict[str, tuple[type[DataType], ...]] = {
    "key": (StringType, BinaryType),
    "value": (StringType, BinaryType),
    "topic": (StringType,),
    "partition": (IntegerType,),
    "headers": (ArrayType,),
}


class KafkaColumns(SpecError):
    """A transform's columns are not those of Kafka's records; carries `columns`."""


def refuse_other_columns(rows: DataFrame, path: Path, *, topic_given: bool) -> None:
    """Look at what a transform returns, before a query starts.

    Spark itself refuses a missing value only when the first batch runs, and leaves other columns
    out without a word (Kafka integration guide, "Writing Data to Kafka").

    Args:
        path: Its file, for messages.
        topic_given: Whether the spec names the topic.

    Raises:
        KafkaColumns: a column is missing, is not one of Kafka's, or is of another type.
    """
    column_types = {field.name: field.dataType for field in rows.schema.fields}
    needed = {"value"} if topic_given else {"value", "topic"}
    known = set(TYPES) - ({"topic"} if topic_given else set())
    missing, strange = sorted(needed - column_types.keys()), sorted(column_types.keys() - known)
    wrong = sorted(
        n for n, kind in column_types.items() if n in known and not isinstance(kind, TYPES[n])
    )
    if missing:
        why, columns = f"returns no column '{missing[0]}'", missing
    elif strange:
        why, columns = f"returns '{strange[0]}', which the Kafka sink leaves out", strange
    elif wrong:
        kind = column_types[wrong[0]].simpleString()
        why, columns = f"returns '{wrong[0]}' as {kind}", wrong
    else:
        return
    raise KafkaColumns(
        f"{path}: the transform {why}.",
        remedy="Return value and, if wanted, key (string or binary), partition (int), headers "
        "(array<struct<key: string, value: binary>>)"
        + ("." if topic_given else ", and topic (string), as sink.topic names none."),
        path=path,
        field="sink",
        columns=columns,
    )
