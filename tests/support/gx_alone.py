"""Great Expectations on Spark as it is by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidemill.gate.on_spark import OnSpark
from tidemill.gate.sample import Rows

if TYPE_CHECKING:
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.data_context.data_context.abstract_data_context import (
        AbstractDataContext,
    )


class GxAlone(OnSpark):
    """Counts all by scans, and asks for the samples of all expectations at once."""

    scans_for_samples = False

    def batch_definition(self, context: AbstractDataContext, rows: Rows) -> BatchDefinition[Any]:
        source = context.data_sources.add_spark(self.name, persist=False)
        asset = source.add_dataframe_asset("increment")
        return asset.add_batch_definition_whole_dataframe("sealed")
