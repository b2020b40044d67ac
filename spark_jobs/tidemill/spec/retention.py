"""How long a pipeline keeps files that neither readers nor later runs need."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from tidemill.contract.syntax.quantities import Duration
from tidemill.spec.model import Model

# What is younger may belong to a process that still works.
AtLeastADay = Annotated[Duration, Field(ge=timedelta(days=1))]


class Retention(Model):
    """How long `tidemill vacuum` leaves files that neither readers nor later runs need.

    Attributes:
        runs: The folders of runs that are over, with their reports and logs. Keep them as long as
            Airflow keeps its runs: one that is cleared later starts over.
        leftovers: Files that killed processes left. Computations that run longer than this are not
            safe from it.
        replaced: The table's own files that later versions no longer name, which modes `update` and
            `complete` and compactions write. Without it they stay, and every version can be read.
        checkpoints: Checkpoints of generations that another has taken over from. A rewind to one of
            their batches may need them.
        snapshots: What `tidemill checkpoint snapshot` has kept; the newest stays however old.
    """

    runs: AtLeastADay = timedelta(days=90)
    leftovers: AtLeastADay = timedelta(days=7)
    replaced: AtLeastADay | None = None
    checkpoints: AtLeastADay = timedelta(days=30)
    snapshots: AtLeastADay = timedelta(days=90)
