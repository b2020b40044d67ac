"""Great Expectations' progress bars, which would fill the log of a task."""

from great_expectations.data_context.types.base import ProgressBarsConfig

CALLS = {
    "great_expectations.data_context.types.base:ProgressBarsConfig": (
        "globally=",
        "metric_calculations=",
    ),
}

NO_PROGRESS_BARS = ProgressBarsConfig(globally=False, metric_calculations=False)
