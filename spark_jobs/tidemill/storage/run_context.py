"""The context of one run of one pipeline: pipeline, run id, log, clock and lease."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tidemill.contract.clock import Clock, wall_clock
from tidemill.contract.errors import LeaseLost
from tidemill.contract.layout import Layout
from tidemill.contract.log import Log
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.lease import PATIENCE_SECONDS, Lease, hold


@dataclass(frozen=True)
class RunContext:
    """A run that may read; `hold` gives the one that may write.

    Args:
        pipeline: The pipeline that runs.
        run_id: Airflow's run id, or the one that `tidemill run` made.
        log: Gets lines for the task log.
        spark: Whether a step may start a JVM.
        clock: Gives the time that the run's documents record.
        tells: Whether a verdict is told to the user's own stores and actions; one of a preview is
            not.
    """

    pipeline: Pipeline
    run_id: str
    log: Log
    spark: bool = True
    clock: Clock = wall_clock
    tells: bool = True

    @property
    def layout(self) -> Layout:
        return self.pipeline.layout

    @property
    def epoch(self) -> int:
        """The epoch of the held lease; 0 where none is held."""
        return 0

    @contextmanager
    def hold(
        self,
        step: str,
        *,
        patience: float = PATIENCE_SECONDS,
        on_loss: Callable[[LeaseLost], None] | None = None,
    ) -> Iterator[LeasedRun]:
        """Hold the pipeline's lease while a step writes; the arguments are those of `lease.hold`.

        Raises:
            LeaseHeld: a live holder did not end in time; transient.
        """
        with hold(
            self.layout.lease,
            step=step,
            run_id=self.run_id,
            patience=patience,
            on_loss=on_loss,
            clock=self.clock,
        ) as lease:
            yield self.holding(lease)

    def holding(self, lease: Lease) -> LeasedRun:
        """The same run, which holds a lease."""
        return LeasedRun(
            self.pipeline,
            self.run_id,
            self.log,
            self.spark,
            self.clock,
            self.tells,
            lease=lease,
        )


@dataclass(frozen=True, kw_only=True)
class LeasedRun(RunContext):
    """A run that holds the lease: the pipeline's, or that of a generation which it builds.

    Args:
        lease: Held for as long as the context is used.
    """

    lease: Lease

    @property
    def epoch(self) -> int:
        return self.lease.epoch
