"""The books of some batches: what became of each row that they read."""

from collections.abc import Iterable, Sequence

from tidemill.contract.counted import counted
from tidemill.contract.document import FrozenModel
from tidemill.contract.syntax.quantities import sum_if_known
from tidemill.ledger.batch import Batch, RowsPerRow
from tidemill.ledger.late_rows import LateRows


class Books(FrozenModel):
    """The rows that were read, and what became of them.

    Where each row that is read becomes one row or none, rows in = good + rejected + filtered. A
    query with state gives no row for each that it reads: there the terms are known one by one, and
    no sum of them is claimed.

    Attributes:
        rows_in: Rows read; None where a driver died before it said so, or nothing counted them.
        good: Rows that the transform gave and no rule rejected.
        rejected: Rows that were left out with a reason.
        late: Rows that came after the watermark had passed them; None where it is unknown.
        rows_per_row: How many rows the transform makes of each row that it is given.
    """

    rows_in: int | None
    good: int
    rejected: int
    late: int | None = 0
    rows_per_row: RowsPerRow = "any"

    @property
    def filtered(self) -> int | None:
        """Rows that the transform left out; None where no equation holds, or a term is unknown."""
        if self.rows_per_row == "any" or self.rows_in is None:
            return None
        return max(0, self.rows_in - self.good - self.rejected)

    @property
    def amiss(self) -> int:
        """Rows by which the books do not add up; 0 where they do, or where none can tell.

        More than 0: rows that were read and are nowhere. Less: rows that come of none.
        """
        if self.rows_per_row == "any" or self.rows_in is None:
            return 0
        rest = self.rows_in - self.good - self.rejected
        return rest if self.rows_per_row == "one" else min(0, rest)

    def __str__(self) -> str:
        """The equation, such as `100 rows in = 90 good + 8 rejected + 0 late + 2 filtered`."""
        known = self.rows_in is not None
        rows_in = counted(self.rows_in or 0, "row") if known else "an unknown number of rows"
        late = "unknown" if self.late is None else f"{self.late:,}"
        terms = f"{self.good:,} good + {self.rejected:,} rejected + {late} late"
        if self.filtered is None:
            terms = terms.replace(" + ", ", ")
            return f"{rows_in} in; {terms}"
        if self.amiss:
            return f"{rows_in} in, but {terms}: {abs(self.amiss):,} do not add up"
        return f"{rows_in} in = {terms} + {self.filtered:,} filtered"


def books_of(batches: Sequence[Batch], late: Iterable[LateRows] = ()) -> Books:
    """The books of some batches of one generation.

    Args:
        late: The late rows of these batches.
    """
    kinds = {batch.rows_per_row for batch in batches}
    per_row: RowsPerRow = "any" if not kinds or "any" in kinds else "at_most_one"
    return Books(
        rows_in=sum_if_known(batch.rows_in for batch in batches),
        good=sum(batch.rows for batch in batches),
        rejected=sum(batch.rejected for batch in batches),
        late=sum_if_known(one.rows for one in late),
        rows_per_row="one" if kinds == {"one"} else per_row,
    )
