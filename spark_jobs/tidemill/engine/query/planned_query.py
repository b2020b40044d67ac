"""A planned query: the rows of the sink, and what is known of them before it runs."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.batch import RowsPerRow

# Names of the observations in Spark's progress reports.
ROWS_READ = "tidemill_rows"
ROWS_OUT = "tidemill_out"
SAMPLE = "tidemill_sample"


@dataclass(frozen=True)
class Plan:
    """A query that is ready to start.

    Args:
        rows: What the sink writes: good and rejected rows.
        pipeline_class: How the rows depend on the batches.
        state_encoding: The encoding of the query's state.
        rows_per_row: How many rows the transform makes of each row that it is given.
    """

    rows: DataFrame
    table_schema: StructType
    pipeline_class: PipelineClass
    state_encoding: str
    rows_per_row: RowsPerRow = "any"


@dataclass(frozen=True)
class Watch:
    """What a query reports on its rows while it runs.

    Args:
        continuous: It is a continuous query, which tells nothing.
        sample: How many rows of each batch it shows.
    """

    continuous: bool = False
    sample: int = 0
