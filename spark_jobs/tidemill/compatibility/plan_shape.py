"""The parts of a transform's analysed plan that a checkpoint depends on.

Every expression is told by the columns of the inputs that it is made of, whatever the columns
between were called: two transforms that compute the same in other words have the same shape.
"""

from tidemill.contract.document import FrozenModel
from tidemill.contract.pipeline_class import PipelineClass


class Column(FrozenModel):
    """A column of the result, or a key.

    Attributes:
        type: As Spark writes it, such as `decimal(10,2)`.
        made_of: The expression over the inputs' columns.
    """

    name: str
    type: str
    made_of: str = ""


class Aggregate(FrozenModel):
    """An aggregate of a streaming aggregation.

    Attributes:
        function: Such as `sum`, with `distinct` and `filter` where it has them.
        of: The inputs' columns that it is made of.
        made_of: The whole expression.
        state: The types of what Spark keeps of it.
    """

    function: str
    of: tuple[str, ...]
    made_of: str
    state: tuple[str, ...]


class StateVariable(FrozenModel):
    """A variable of `transformWithState`.

    Attributes:
        kind: `value`, `list` or `map`.
        ttl: Whether it is forgotten after a time.
    """

    name: str
    kind: str
    columns: tuple[Column, ...]
    key: tuple[Column, ...] = ()
    ttl: bool = False


class Operator(FrozenModel):
    """An operator with state.

    Attributes:
        kind: The kind of Spark's logical plan, such as `Aggregate`.
        keys: By which its state is found: groups, keys of a deduplication or of a join.
        join_type: Such as `LeftOuter`.
        condition: The condition of a join, beside its keys.
        sides: The columns that each side of a join keeps.
        state: The schema of a state of one's own (`applyInPandasWithState`).
        variables: Those of `transformWithState`; None where they are not known.
        time: Timeout or time mode.
        function: The hash of the user's function.
    """

    kind: str
    keys: tuple[Column, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    join_type: str | None = None
    condition: tuple[str, ...] = ()
    sides: tuple[tuple[Column, ...], ...] = ()
    state: tuple[Column, ...] = ()
    variables: tuple[StateVariable, ...] | None = None
    time: str | None = None
    function: str | None = None


class PlanShape(FrozenModel):
    """A transform's plan.

    Attributes:
        operators: Those with state, in the order in which rows pass them.
        filters: What rows must hold.
        others: All else that has no state, such as unions and joins with static inputs.
        functions: Python functions by name, with the hashes of their code.
    """

    pipeline_class: PipelineClass
    operators: tuple[Operator, ...] = ()
    filters: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    others: tuple[str, ...] = ()
    functions: dict[str, str] = {}
