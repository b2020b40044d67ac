"""The state variables of a `transformWithState` in Python: what its `init` asks for.

The plan holds the processor as a pickled function and nothing of its variables; Spark asks for them
when the query starts, as is done here.
"""

from typing import Any, cast

from pyspark.sql.streaming import StatefulProcessorHandle
from pyspark.sql.types import StructType

from tidemill.compatibility.plan_shape import Column, StateVariable

Schema = StructType | str


class Asked:
    """Stands for the client of Spark's handle and notes what is asked of it."""

    def __init__(self) -> None:
        self.variables: list[StateVariable] = []

    def get_value_state(self, name: str, schema: Schema, ttl: int | None) -> None:
        self._note("value", name, schema, ttl)

    def get_list_state(self, name: str, schema: Schema, ttl: int | None) -> None:
        self._note("list", name, schema, ttl)

    def get_map_state(self, name: str, key: Schema, value: Schema, ttl: int | None) -> None:
        self._note("map", name, value, ttl, columns_of(key))

    def delete_if_exists(self, name: str) -> None:
        """Nothing is there."""

    def _parse_string_schema(self, schema: str) -> StructType:
        return cast(StructType, StructType.fromDDL(schema))

    def _note(
        self, kind: str, name: str, schema: Schema, ttl: int | None, key: tuple[Column, ...] = ()
    ) -> None:
        columns = columns_of(schema)
        variable = StateVariable(name=name, kind=kind, columns=columns, key=key, ttl=bool(ttl))
        self.variables.append(variable)


def variables_of(processor: Any) -> tuple[StateVariable, ...] | None:
    """A processor's state variables by name; None if its `init` needs more than a handle."""
    asked: Any = Asked()
    try:
        processor.init(StatefulProcessorHandle(asked))
    except Exception:  # noqa: BLE001 (whatever it needs, it has when the query runs)
        return None
    return tuple(sorted(asked.variables, key=lambda one: one.name))


def columns_of(schema: Schema) -> tuple[Column, ...]:
    """A schema, as Spark or as DDL has it."""
    parsed: Any = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    return tuple(Column(name=one.name, type=one.dataType.simpleString()) for one in parsed.fields)
