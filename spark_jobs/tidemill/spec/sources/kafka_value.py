"""How the value of a Kafka record becomes columns."""

import json
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from tidemill.contract.syntax.ddl import column_names, column_types
from tidemill.spec.formats.rules import FALLS_BACK, WITH_DATE, with_defaults
from tidemill.spec.model import Disagreement, Model, PlainName
from tidemill.spec.sources.base import Ddl, Options, as_text, check_names, checked_columns
from tidemill.spec.sources.new_fields import (
    NewFieldsPolicy,
    misplaced_policy,
    rescue_column,
    with_rescue_column,
)

# A record that does not parse is kept beside the others, whatever the spec says.
ENGINE_OPTIONS = frozenset({"mode", "columnnameofcorruptrecord"})
READER_SCHEMA = "avroSchema"
# The formats of records that are not text; a schema registry has schemas for them.
BINARY_RECORDS = ("avro", "protobuf")
MESSAGE_NAME = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
LOGICAL_TYPES = {
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
    "date": "date",
}


class KafkaValue(Model):
    """How a record's value becomes columns.

    Attributes:
        format: `text` and `binary` make one column, `value`.
        schema_: Spark DDL for json, csv and protobuf; for avro the writer's schema as JSON, or
            with a `registry` the reader's.
        options: The options of Spark's `from_json`, `from_csv` or `from_avro`.
        registry: The Airflow connection (type `http`) of the schema registry with the writer
            schemas of avro and protobuf values, each of which begins with Confluent's frame: a zero
            byte and four bytes of schema id. protobuf needs it.
        message: The full name of the protobuf message that values hold, such as `shop.Order`; the
            first of each schema where not given. Values of other messages are rejected where it is
            given, and else end the run.
        new_fields: What becomes of fields of JSON that the schema does not name: they are ignored,
            the run is refused before a row of the batch counts, or a column gets them as JSON.
    """

    format: Literal["json", "csv", "avro", "protobuf", "text", "binary"] = "json"
    schema_: Ddl | None = Field(default=None, alias="schema")
    options: Options = {}
    new_fields: NewFieldsPolicy = "ignore"
    # Left out where it is not given, as by the versions that did not know it.
    registry: PlainName | None = Field(default=None, exclude_if=lambda given: given is None)
    message: str | None = Field(
        default=None, pattern=MESSAGE_NAME, exclude_if=lambda given: given is None
    )

    @classmethod
    def of_reading(cls, fields: Mapping[str, Any]) -> Self:
        """The value as a record of how a source was read has it, by the names in this class."""
        return cls.model_validate({name.removesuffix("_"): one for name, one in fields.items()})

    @property
    def columns(self) -> tuple[str, ...]:
        if self.schema_ is None:
            return ("value",)
        if self.format == "avro":
            return avro_fields(self.reader_options.get(READER_SCHEMA, self.schema_))
        return (*column_names(self.schema_), *rescue_column(self.new_fields))

    def type_of(self, column: str) -> str | None:
        """The name of a column's type; None where the schema does not tell."""
        if self.schema_ is None:
            return "binary" if self.format == "binary" else "string"
        if self.format != "avro":
            ddl = with_rescue_column(self.schema_, self.new_fields)
            return column_types(ddl)[column].name
        fields = json.loads(self.reader_options.get(READER_SCHEMA, self.schema_))["fields"]
        return _avro_type(next(field["type"] for field in fields if field["name"] == column))

    @property
    def reader_options(self) -> dict[str, str]:
        """The options as Spark's functions take them."""
        named = {name.lower(): name for name in (READER_SCHEMA,)}
        given = {named.get(n.lower(), n): as_text(value) for n, value in self.options.items()}
        return with_defaults(given, WITH_DATE) if self.format in ("json", "csv") else given

    @field_validator("options")
    @classmethod
    def _not_the_engines(cls, options: dict[str, Any]) -> dict[str, Any]:
        taken = next((name for name in options if name.lower() in ENGINE_OPTIONS), None)
        if taken:
            msg = f"option '{taken}' is set by the engine; remove it"
            raise ValueError(msg)
        reasons = {name.lower(): reason for name, reason in FALLS_BACK.items()}
        for name in options:
            if name.lower() in reasons:
                msg = f"option '{name}' has no place here: {reasons[name.lower()]}"
                raise ValueError(msg)
        return options

    @model_validator(mode="after")
    def _registry_fits_the_format(self) -> Self:
        if self.message is not None and self.format != "protobuf":
            msg = f"message is for protobuf, not for {self.format}; remove it"
            raise ValueError(msg)
        if self.registry is None:
            if self.format == "protobuf":
                msg = "a protobuf value needs a registry, which has the schemas of the messages"
                raise ValueError(msg)
            return self
        if self.format not in BINARY_RECORDS:
            msg = f"registry is for avro and protobuf in Confluent's frame, not for {self.format}"
            raise ValueError(msg)
        if READER_SCHEMA in self.reader_options:
            msg = (
                f"with a registry, schema is the schema to read with, and option '{READER_SCHEMA}' "
                "would be a second one; remove it"
            )
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _schema_fits_the_format(self) -> Self:
        misplaced = misplaced_policy(self.new_fields, self.schema_ or "", self.format)
        if misplaced:
            raise Disagreement(misplaced, "new_fields")
        if self.format in ("text", "binary"):
            given = next((name for name in ("schema", "options") if self._given(name)), None)
            if given:
                msg = f"a {self.format} value is one column, 'value'; remove its {given}"
                raise ValueError(msg)
            return self
        if self.format == "protobuf" and self.options:
            msg = "a protobuf value has no options; remove them"
            raise ValueError(msg)
        if self.schema_ is None:
            msg = f"a {self.format} value needs a schema"
            raise ValueError(msg)
        if self.format == "avro":
            for schema in (self.schema_, self.reader_options.get(READER_SCHEMA, self.schema_)):
                _check_avro(schema)
        else:
            checked_columns(self.schema_)
        return self

    def _given(self, name: str) -> bool:
        return self.schema_ is not None if name == "schema" else bool(self.options)


def avro_fields(schema: str) -> tuple[str, ...]:
    """The names of a record's fields.

    Raises:
        ValueError: it is not JSON of a record.
    """
    try:
        found = json.loads(schema)
        if found["type"] != "record":
            raise TypeError
        return tuple(str(field["name"]) for field in found["fields"])
    except (ValueError, KeyError, TypeError) as error:
        msg = "an avro schema is the JSON of a record with fields"
        raise ValueError(msg) from error


def _avro_type(kind: Any) -> str | None:
    """The name that Spark has for an Avro type; None for those that cannot be a time either way."""
    if isinstance(kind, list):
        others = [one for one in kind if one != "null"]
        return _avro_type(others[0]) if len(others) == 1 else None
    if isinstance(kind, dict):
        logical = kind.get("logicalType")
        return LOGICAL_TYPES.get(logical) if logical else _avro_type(kind["type"])
    return {"record": "struct", "long": "bigint", "bytes": "binary"}.get(str(kind), str(kind))


def _check_avro(schema: str) -> None:
    check_names(avro_fields(schema), "field")
