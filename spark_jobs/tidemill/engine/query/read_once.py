"""Reads a source once, however often a plan names it.

Good and rejected rows come out of two passes over a source where one does not do. Spark (4.2)
refuses a plan that names a source twice (DUPLICATE_SOURCE_NAMES), also when both names are the same
relation. Put under a common table expression it stands there once: one entry in the checkpoint, one
look at what is new, and the optimiser still gives each pass the columns that it asks for.
"""

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame

from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.plan import analysed, items, kind, nodes
from tidemill.engine.spark_internals.plan_outline import outlined

RELATIONS = frozenset({"StreamingRelation", "StreamingRelationV2"})


def read_once(frame: DataFrame) -> DataFrame:
    """The same rows from a plan in which every streaming source stands once."""
    names = [_name(relation) for relation in nodes(outlined(frame)) if kind(relation) in RELATIONS]
    if len(names) == len(set(names)):
        return frame
    catalyst = Catalyst(frame.sparkSession)
    shared = _Shared(catalyst)
    rest = shared.without_relations(analysed(frame))
    return catalyst.frame(catalyst.WithCTE(rest, catalyst.seq([*shared.definitions.values()])))


@dataclass
class _Shared:
    """The sources of a plan, each to be defined once."""

    catalyst: Catalyst
    definitions: dict[str, Any] = field(default_factory=dict)

    def without_relations(self, plan: Any) -> Any:
        if kind(plan) in RELATIONS:
            return self._reference(plan)
        children = [self.without_relations(child) for child in items(plan.children())]
        return plan.withNewChildren(self.catalyst.seq(children)) if children else plan

    def _reference(self, relation: Any) -> Any:
        none = self.catalyst.none
        name = _name(relation)
        if name not in self.definitions:
            identity = self.catalyst.CTERelationDef.newId()
            definition = self.catalyst.CTERelationDef(relation, identity, none, False, none)
            self.definitions[name] = definition
        # A relation that was named again has attributes of its own, in the same order.
        return self.catalyst.CTERelationRef(
            self.definitions[name].id(), True, relation.output(), True, none, False, none, False
        )


def _name(relation: Any) -> str:
    return str(relation.sourceIdentifyingName().toString())
