"""When a row happened, and how late it may come."""

from datetime import UTC, datetime

from tidemill.contract.syntax.quantities import Duration
from tidemill.spec.model import Model


class EventTime(Model):
    """The column that says when a row happened; a row without it is a rejected row.

    Attributes:
        column: The column of the source's schema.
        watermark: How late a row may come; Spark's `withWatermark`.
    """

    column: str
    watermark: Duration | None = None


def as_time(milliseconds: int) -> str:
    """A watermark, in milliseconds since the epoch, for people."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
