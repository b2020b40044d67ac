"""Which published tables other pipelines read, so that the logs of these tables keep every entry.

Only the log says what such a pipeline has not read yet, and which swaps it has not followed. Delta
removes entries that are older than 30 days, unless a writer tells it not to.
"""

from pathlib import Path

from tidemill.contract.layout import Layout


def mark_read(layout: Layout) -> None:
    """Remember that another pipeline reads the table of this one.

    Args:
        layout: That of the pipeline that publishes the table.
    """
    mark = _mark(layout)
    if not mark.exists():
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()


def is_read(layout: Layout) -> bool:
    """Whether another pipeline reads the table, or once did."""
    return _mark(layout).exists()


def _mark(layout: Layout) -> Path:
    return layout.root / ".tidemill" / "tables_read" / layout.name
