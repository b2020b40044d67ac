"""The state variables of a processor are what its `init` asks a handle for."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from tidemill.compatibility.plan_shape import Column, StateVariable
from tidemill.engine.shape.state_variables import columns_of, variables_of

COUNT = StructType([StructField("count", LongType())])
WORD = StructType([StructField("word", StringType())])


class Processor:
    def init(self, handle: Any) -> None:
        self.seen = handle.getMapState("seen", WORD, COUNT, 1000)
        self.last = handle.getValueState("last", COUNT)
        self.all = handle.getListState("all", WORD, 0)
        handle.deleteIfExists("old")


def test_each_variable_is_told_by_name_with_its_kind_columns_key_and_ttl() -> None:
    count, word = Column(name="count", type="bigint"), Column(name="word", type="string")
    assert variables_of(Processor()) == (
        StateVariable(name="all", kind="list", columns=(word,)),
        StateVariable(name="last", kind="value", columns=(count,)),
        StateVariable(name="seen", kind="map", columns=(count,), key=(word,), ttl=True),
    )


def test_a_processor_that_needs_a_running_query_has_unknown_variables() -> None:
    class Needs:
        def init(self, handle: Any) -> None:
            handle.getValueState("last", COUNT)
            handle.registerTimer(1000)

    assert variables_of(Needs()) is None


def test_a_processor_without_state_has_none_of_them() -> None:
    class Nothing:
        def init(self, handle: Any) -> None:
            """Asks for nothing."""

    assert variables_of(Nothing()) == ()


def test_nested_columns_are_told_by_their_whole_type() -> None:
    inner = StructType([StructField("a", IntegerType())])
    assert columns_of(StructType([StructField("s", inner)])) == (
        Column(name="s", type="struct<a:int>"),
    )
