"""Whether Avro data can be read by another schema, as told by the library that Spark decodes with.

Relies on `_jvm` and on Avro's `Schema.Parser` and `SchemaCompatibility` in Spark's own jars.
"""

from typing import Any, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession


class Incompatibility(NamedTuple):
    """A reason why a writer's data cannot be read.

    Attributes:
        kind: Avro's name of it, such as `TYPE_MISMATCH`.
        message: What Avro says.
        location: The place in the reader's schema, such as `/fields/1/type`.
    """

    kind: str
    message: str
    location: str


def incompatibilities(session: SparkSession, reader: str, writer: str) -> list[Incompatibility]:
    """Why data of one schema cannot be read by another; empty where it can.

    Args:
        reader: JSON of the schema to read with.
        writer: JSON of the schema that the data was written with.
    """
    jvm: Any = session._jvm
    avro = jvm.org.apache.avro
    parser = getattr(avro, "Schema$Parser")
    reads = parser().parse(reader)
    try:
        writes = parser().parse(writer)
    except Py4JJavaError as error:
        return [Incompatibility("UNREADABLE", str(error.java_exception.getMessage()), "/")]
    checked = avro.SchemaCompatibility.checkReaderWriterCompatibility(reads, writes)
    return [
        Incompatibility(one.getType().name(), str(one.getMessage()), str(one.getLocation()))
        for one in checked.getResult().getIncompatibilities()
    ]
