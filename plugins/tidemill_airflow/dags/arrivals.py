"""Event-driven start: one asset per pipeline, whose watchers see new input at its sources.

A watcher compares sources with the ledger, as the doctor does. (The Kafka provider's own trigger
would consume the topic record by record in a consumer group: an event for each, long after a run
took them in, by positions that mean nothing to the checkpoint.) While a run is queued or running
nothing is sent; Airflow keeps back what it gets in between. So wake-ups never pile up. The runs of
a backfill count too, since Airflow tells a watcher nothing of their type: until it is over the
pipeline goes by its clock alone.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow.sdk import Asset, AssetAny, AssetWatcher
from airflow.sdk.exceptions import AirflowException
from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from tidemill.contract.errors import TidemillError, TransientError
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.spec import Spec
from tidemill.spec.wake import Wake
from tidemill.toolchain.extras import missing_extra
from tidemill_airflow.events import table_alias
from tidemill_airflow.operators.connections import connection_variables
from tidemill_airflow.settings import export_settings

# The pause after wake-ups without effect: a failing pipeline is not started every few seconds.
LONGEST_PAUSE = 3600.0


def woken_by(pipeline: str, spec: Spec, wake: Wake) -> AssetAny:
    """What a pipeline is scheduled on: what arrives, and tables that other DAGs publish.

    A table's own asset starts a run at once and is an edge of Airflow's graph; the watcher sees
    what was published without Airflow.
    """
    names = wake.sources_of("tables", spec.sources) if wake.tables else ()
    read = dict.fromkeys(spec.tables_read[f"sources.{name}"] for name in names)
    return AssetAny(arrivals(pipeline, wake), *map(table_alias, read))


def arrivals(pipeline: str, wake: Wake) -> Asset:
    """An asset that has an event when something arrives at a pipeline's sources.

    Args:
        wake: What its spec says of waking.
    """
    return Asset(
        name=f"tidemill/{pipeline}/arrivals",
        uri=f"tidemill://{pipeline}/arrivals",
        group="tidemill",
        watchers=[
            AssetWatcher(
                name=kind, trigger=ArrivalTrigger(pipeline, kind, watch.poke.total_seconds())
            )
            for kind, watch in wake.watches.items()
        ],
    )


class Pace:
    """The pause before a pipeline is woken again; longer after a wake-up that changed nothing.

    Args:
        poke: Seconds between two looks.
    """

    def __init__(self, poke: float) -> None:
        self.poke = poke
        self._pause = poke
        self._committed: int | None = None
        self._next = -math.inf

    def may_wake(self, committed: int, now: float) -> bool:
        """Whether to wake it now; the next time is counted from here if so.

        Args:
            committed: How many batches the pipeline has committed so far.
            now: Seconds of a clock that only goes forward.
        """
        if committed != self._committed:
            self._pause = self.poke
        elif now < self._next:
            return False
        else:
            self._pause = min(2 * self._pause, max(LONGEST_PAUSE, self.poke))
        self._committed = committed
        self._next = now + self._pause
        return True


@dataclass(frozen=True)
class Seen:
    """One look at the sources that one watcher is for.

    Args:
        new: Source -> how much of it is new, in files or records; None where only a query can
            tell, which therefore has to run.
        committed: How many batches the pipeline has committed.
        due: Whether a run would compute something again of its own accord.
        trouble: Why a run would fail, which it should do and say.
    """

    new: Mapping[str, int | None] = field(default_factory=dict)
    committed: int = -1
    due: bool = False
    trouble: str | None = None

    @property
    def wakes(self) -> bool:
        return bool(self.new or self.due or self.trouble)


class ArrivalTrigger(BaseEventTrigger):
    """Sends an event when a run would find something to do; runs in Airflow's triggerer.

    Args:
        kind: `files`, `kafka` or `tables`.
        poke: Seconds between two looks.
    """

    def __init__(self, pipeline: str, kind: str, poke: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.pipeline = pipeline
        self.kind = kind
        self.poke = poke
        self._committed = 0

    def serialize(self) -> tuple[str, dict[str, Any]]:
        kwargs = {"pipeline": self.pipeline, "kind": self.kind, "poke": self.poke}
        return f"{type(self).__module__}.{type(self).__qualname__}", kwargs

    async def run(self) -> AsyncIterator[TriggerEvent]:
        # A triggerer parses no DAG file.
        export_settings()
        pace = Pace(self.poke)
        while True:
            seen = await asyncio.to_thread(self._look)
            # The clock is asked last: a wake-up without effect must not slow the next.
            if (
                seen.wakes
                and not await asyncio.to_thread(is_at_work, self.pipeline)
                and pace.may_wake(seen.committed, time.monotonic())
            ):
                payload = {"new": dict(seen.new), "trouble": seen.trouble}
                yield TriggerEvent(payload)  # type: ignore[no-untyped-call]
            await asyncio.sleep(self.poke)

    def _look(self) -> Seen:
        """Look once; never raises for what may be well at the next look."""
        try:
            # Anew each time: a spec may change while the trigger lives on.
            return self._look_at(open_pipeline(self.pipeline))
        except (TransientError, OSError) as error:
            self.log.warning(
                "The sources of %s could not be looked at; the next look is in %g seconds: %s",
                self.pipeline,
                self.poke,
                error,
            )
            return Seen()
        except (TidemillError, AirflowException, ModuleNotFoundError) as error:
            return Seen(committed=self._committed, trouble=str(missing_extra(error) or error))

    def _look_at(self, pipeline: Pipeline) -> Seen:
        # Imported here, because they cost what a DAG file must not.
        from tidemill.journal.takeovers import current
        from tidemill.ledger.ledger import Ledger
        from tidemill.sources.due import all_partitions
        from tidemill.sources.kinds import open_source

        spec = pipeline.spec
        names = spec.wake.sources_of(self.kind, spec.sources) if spec.wake else ()
        needed = [getattr(spec.sources[name], "conn_id", "") for name in names]
        environ = {**os.environ, **connection_variables(spec, only=needed)}
        ledger = Ledger(pipeline.layout, current(pipeline.layout))
        batches = ledger.past()
        self._committed = len(batches)
        probes = [open_source(pipeline, name, environ).probe(batches) for name in names]
        return Seen(
            new={look.source: look.new for look in probes if look.new != 0},
            committed=self._committed,
            due=all_partitions([one.follows for one in probes if one.follows]) is not None,
            # What the doctor would refuse a run for: there has to be a run for it to be said.
            trouble=next((str(look.held) for look in probes if look.held), None),
        )


def is_at_work(dag_id: str) -> bool:
    """Whether a run of a DAG is queued or running; asked within the triggerer."""
    from tidemill_airflow.airflow_internals.task_runner import count_runs

    return count_runs(dag_id, ["queued", "running"]) > 0
