"""What a query keeps between its batches, and where."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tidemill.spec.model import Model


class State(Model):
    """The state of a query with windows, joins, deduplication or state of its own.

    Attributes:
        shuffle_partitions: Over which its keys are divided, for good: chosen when a generation is
            born, from the cores where not given.
    """

    shuffle_partitions: Annotated[int, Field(gt=0)] | None = None
