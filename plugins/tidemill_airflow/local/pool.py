"""The pool that bounds how many pipelines work at the same time on one machine."""

import os

POOL = "tidemill"


def pool_slots(cores: int | None = None) -> int:
    """Slots of the pool: half the cores, and at least one.

    A local Spark job uses every core it finds. With a slot per two cores, many feeds that are due
    at midnight run some at a time with two cores each, instead of all at once on a share of one.

    Args:
        cores: The machine's, where not given.
    """
    return max(1, (cores or os.cpu_count() or 1) // 2)
