"""Fields of JSON that a schema does not name: collected in a column, or an error.

Spark passes over them without a word. So the text is parsed once more, as a map of whatever it has;
only where the spec asks for it, as this takes about as long as the parsing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.engine.spark_errors import NEW_FIELDS

_MAP = "map<string, variant>"


def all_fields(text: Column, options: Mapping[str, str]) -> Column:
    """The fields of an object, each as it is; null for a text without an object.

    Args:
        options: Those of `from_json`, without a corrupt record's column.
    """
    return F.from_json(text, _MAP, {**options})


@dataclass(frozen=True)
class Found:
    """The fields of an object, of which a schema names some.

    Args:
        fields: A column with what `all_fields` made of it.
        text: The object. Where its fields cannot be told apart, as where one is given twice within
            another, it stands for them.
        schema: The spec's; fields within its structs are looked at, those within arrays are not.
    """

    fields: Column
    text: Column
    schema: StructType

    def rescued(self) -> Column:
        """The fields that the schema does not name, as JSON; null where there are none."""
        entries = _entries(self.fields, self.schema)
        found = F.when(F.size(entries) > 0, F.to_json(F.map_from_entries(entries)))
        return F.when(self.fields.isNull(), self.text).otherwise(found)

    def refused(self, origin: Column) -> Column:
        """Null for an object without such fields; evaluating it for another ends the query.

        Args:
            origin: The file or record, for the message.
        """
        names = F.array_except(F.json_object_keys(self.text), _names(self.schema))
        paths = F.coalesce(_paths(self.fields, self.schema), names)
        data = F.to_json(F.struct(origin.alias("origin"), paths.alias("fields")))
        raised = F.raise_error(F.concat(F.lit(NEW_FIELDS), data)).cast("string")
        return F.when(F.size(paths) > 0, raised)


def _names(schema: StructType) -> Column:
    return F.array(*map(F.lit, schema.names)).cast("array<string>")


def _structs(schema: StructType) -> dict[str, StructType]:
    return {f.name: f.dataType for f in schema.fields if isinstance(f.dataType, StructType)}


def _last(fields: Column, name: Column) -> Column:
    """A field's value; the last where it is given twice, as Spark reads it into a column."""
    entries = F.filter(F.map_entries(fields), lambda entry: entry["key"] == name)
    return F.try_element_at(entries, F.lit(-1))["value"]


def _within(fields: Column, name: str) -> Column:
    return F.try_variant_get(_last(fields, F.lit(name)), "$", _MAP)


def _entries(fields: Column, schema: StructType) -> Column:
    unknown = F.array_except(F.map_keys(fields), _names(schema))
    own = F.transform(
        unknown, lambda name: F.struct(name.alias("key"), _last(fields, name).alias("value"))
    )
    found = [own]
    for name, inner in _structs(schema).items():
        entries = _entries(_within(fields, name), inner)
        entry = F.struct(
            F.lit(name).alias("key"),
            F.to_variant_object(F.map_from_entries(entries)).alias("value"),
        )
        found.append(F.when(F.size(entries) > 0, F.array(entry)))
    return reduce(_joined, found)


def _paths(fields: Column, schema: StructType) -> Column:
    found = [F.array_except(F.map_keys(fields), _names(schema))]
    for name, inner in _structs(schema).items():
        paths = _paths(_within(fields, name), inner)
        found.append(F.transform(paths, _prefixed(f"{name}.")))
    return reduce(_joined, found)


def _prefixed(prefix: str) -> Callable[[Column], Column]:
    return lambda path: F.concat(F.lit(prefix), path)


def _joined(some: Column, more: Column) -> Column:
    return F.when(more.isNull(), some).otherwise(F.concat(some, more))
