"""A judgement as plain, frozen data for the ledger, the run report and people."""

from typing import Any, Literal

from tidemill.contract.document import FrozenModel
from tidemill.contract.errors import TidemillError
from tidemill.contract.objects.object_path import RecordedPath

EngineName = Literal["in_process", "spark"]
Severity = Literal["critical", "warning", "info"]
Scope = Literal["increment", "table"]
# The arguments of an expectation that its count is compared with.
BOUNDS = ("value", "min_value", "max_value")


class CheckBroke(TidemillError):
    """A check could not be made, which says nothing about the data.

    Carries `expectation`, its `columns` and `exception`, the text of what went wrong; `broken`
    names every expectation that could not be checked.
    """


class ExpectationOutcome(FrozenModel):
    """The outcome of one expectation.

    Attributes:
        type: Great Expectations' name of it, such as `expect_column_values_to_be_between`.
        columns: The columns it names, in the order of the suite.
        kwargs: Its arguments as the suite has them.
        scope: `table` was judged with the published rows of the partitions the increment touches.
        observed_value: What aggregates saw; None for row-by-row expectations.
        unexpected_count: Rows that broke it; None for aggregates.
        unexpected_percent: The unexpected percent of the rows that are not null, 0 to 100.
        samples: Values that broke it, at most `gate.samples`.
    """

    type: str
    columns: tuple[str, ...]
    kwargs: dict[str, Any]
    severity: Severity
    scope: Scope
    success: bool
    observed_value: Any = None
    unexpected_count: int | None = None
    unexpected_percent: float | None = None
    samples: tuple[Any, ...] = ()

    @property
    def sentence(self) -> str:
        """One line for logs and messages, without any value of the data."""
        what = f"{self.type}({', '.join(self.columns)})"
        if self.unexpected_count:
            many = f"{self.unexpected_count} row{'s' if self.unexpected_count != 1 else ''}"
            return f"{what}: {many}, {self.unexpected_percent or 0:.2f} %"
        if not self.columns and isinstance(self.observed_value, int | float):
            # A count of rows tells no value of the data.
            bounds = (f"{name} {value}" for name, value in self.kwargs.items() if name in BOUNDS)
            return ", ".join((f"{what}: found {self.observed_value:,}", *bounds))
        return what


class Judgement(FrozenModel):
    """The verdict on a list of files.

    Attributes:
        engine: The engine that judged.
        rows: Rows of the increment.
        table_rows: Rows that table-wide expectations saw, 0 where the suite has none.
        success: No critical expectation failed, and there were rows.
        reason: Why it is not a success: `empty` or `expectations`; None for a success.
        outcomes: In the order of the suite.
        result: Great Expectations' own result, as JSON; None where nothing was judged.
        docs: The page of data docs that shows it; None where none could be written.
    """

    engine: EngineName
    suite: str
    suite_hash: str
    rows: int
    table_rows: int = 0
    success: bool
    reason: Literal["empty", "expectations"] | None
    outcomes: tuple[ExpectationOutcome, ...] = ()
    result: RecordedPath | None = None
    docs: RecordedPath | None = None

    @property
    def failed_critical(self) -> tuple[ExpectationOutcome, ...]:
        return tuple(o for o in self.outcomes if not o.success and o.severity == "critical")

    @property
    def warnings(self) -> tuple[ExpectationOutcome, ...]:
        """Failures that are reported and hold nothing back."""
        return tuple(o for o in self.outcomes if not o.success and o.severity != "critical")
