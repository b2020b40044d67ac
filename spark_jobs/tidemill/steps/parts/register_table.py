"""Lets the catalogue that a Delta target names know the table as it is now."""

from tidemill.file_formats.delta_log import has_table
from tidemill.spec.targets import DeltaTarget
from tidemill.storage.run_context import LeasedRun


def register_table(run: LeasedRun) -> None:
    """Register the published Delta table where its target has a `catalog`.

    It comes after everything that publish does: whatever goes wrong here, the rows are out.

    Raises:
        TransientError: the catalogue does not answer.
        UsageError: its connection or its client is missing.
        Refused: it cannot name the table.
    """
    layout = run.pipeline.layout
    for target in run.pipeline.spec.publish:
        if not isinstance(target, DeltaTarget) or target.catalog is None:
            continue
        if has_table(layout.table):
            from tidemill.publish.hive.registration import register

            register(run.pipeline, target.catalog, run.log)
