"""How far an ingest is, as a bar for whoever watches."""

import time

from rich.console import RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table

from tidemill.contract.layout import Layout
from tidemill.ledger.running_queries import RunningQuery, running

BAR_WIDTH = 30
# The query writes down where it stands every two seconds.
LOOK_SECONDS = 1.0


class IngestBar:
    """The bar of a pipeline's running query, drawn from the document that the query writes.

    Args:
        step: What it says until a query runs.
    """

    def __init__(self, layout: Layout, step: str = "ingest") -> None:
        self._layout = layout
        self._step = step
        self._query: RunningQuery | None = None
        self._due = 0.0

    def __rich__(self) -> RenderableType:
        if time.monotonic() >= self._due:
            self._query = next(iter(running(self._layout)), None)
            self._due = time.monotonic() + LOOK_SECONDS
        if self._query is None:
            return f"{self._step} …"
        line = Table.grid(padding=(0, 1))
        cells: list[RenderableType] = [f"{self._step} …"]
        if self._query.done is not None:
            cells.append(ProgressBar(total=1.0, completed=self._query.done, width=BAR_WIDTH))
        line.add_row(*cells, self._query.how_far)
        return line
