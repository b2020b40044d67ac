"""Shows the state that a pipeline's query keeps between batches."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidemill.contract.errors import UsageError
from tidemill.journal.takeovers import generation_of
from tidemill.spark_logs.state_metadata import StateOperator, state_operators
from tidemill.spec.pipeline import open_pipeline

if TYPE_CHECKING:
    from tidemill.engine.state_rows import StateRows


class NoState(UsageError):
    """A pipeline keeps nothing, or not under that number; carries `operators`, those it has."""


def show_state(
    name: str, operator: int | None, limit: int, environ: Mapping[str, str] = os.environ
) -> list[StateRows]:
    """The state of a pipeline's operators after its last batch.

    Args:
        operator: The number of one; None for all.
        limit: Most rows of each part.

    Raises:
        NoState: there is none.
        QueryFailed: Spark cannot read it.
    """
    pipeline = open_pipeline(name, environ)
    layout, generation = pipeline.layout, generation_of(pipeline)
    known = state_operators(layout, generation)
    wanted = [one for one in known if operator in (None, one.operator)]
    if not wanted:
        raise _no_state(name, operator, known)
    # Spark is imported here so that a question without an answer never loads it.
    from tidemill.engine.session import open_session
    from tidemill.engine.state_rows import state_rows

    session = open_session(pipeline, "state")
    return [part for one in wanted for part in state_rows(session, layout, generation, one, limit)]


def _no_state(name: str, operator: int | None, known: list[StateOperator]) -> NoState:
    numbers = [one.operator for one in known]
    if known:
        return NoState(
            f"{name} has no operator {operator} with state.",
            remedy=f"It has {', '.join(map(str, numbers))}: tidemill state list {name}.",
            operators=numbers,
        )
    return NoState(
        f"{name} keeps no state: it works row by row, or no batch of it was run yet.",
        remedy=f"Look where it stands: tidemill status {name}.",
        operators=numbers,
    )
