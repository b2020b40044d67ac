"""Whether Avro values can be read by another schema than they were written with."""

import json

from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.avro_compatibility import incompatibilities
from tidemill.sources.kafka.avro_fields import field_at, other_unit
from tidemill.sources.kafka.writer_schemas import WriterSchema
from tidemill.spec.sources.kafka_value import KafkaValue

# Which record a value is part of is said by its topic; Spark's decoder does not compare it either.
OWN_NAME = "/name"


def misfit(
    session: SparkSession, value: KafkaValue, writer: WriterSchema
) -> tuple[str, str] | None:
    """The field that cannot be read, and why; None where all can."""
    reader, text = json.loads(str(value.schema_)), str(writer.text)
    found = incompatibilities(session, str(value.schema_), text)
    wrong = [one for one in found if one.location != OWN_NAME]
    if wrong:
        kind = wrong[0].kind.lower().replace("_", " ")
        return field_at(reader, wrong[0].location), f"{kind} ({wrong[0].message})"
    return other_unit(reader, json.loads(text))
