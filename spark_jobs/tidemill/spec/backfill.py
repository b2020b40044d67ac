"""What a backfill may take for granted of a pipeline's input."""

from __future__ import annotations

from tidemill.contract.syntax.quantities import Duration
from tidemill.spec.model import Model


class Backfill(Model):
    """How an interval is computed again.

    Attributes:
        lateness: Every row arrives between its event time and that much later, so that a backfill
            need not read what arrived before or after. Of a file it is the time of modification
            that counts, of a record the commit of the batch that read it. Without it all input is
            read.
    """

    lateness: Duration | None = None
