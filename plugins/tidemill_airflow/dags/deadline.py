"""Airflow's deadline alert of a pipeline: a run that has not ended when the next data are due.

A run that fails says so itself, and a doctor says that a feed is overdue. This is for runs that do
neither, because they hang, or wait for a pool, a worker or a run before them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from airflow.sdk import (  # type: ignore[attr-defined] # the stub lacks them
    DeadlineAlert,
    DeadlineReference,
    SyncCallback,
)

from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.spec import Spec
from tidemill_airflow.dags.notify import send

if TYPE_CHECKING:
    from airflow.sdk import Context

UNFINISHED = ("queued", "running")


def deadlines(specs: Mapping[str, Spec]) -> list[DeadlineAlert]:
    """One alert for each pipeline that expects data regularly and has a notifier.

    Args:
        specs: Pipeline -> its spec, for all pipelines of one DAG.
    """
    return [
        DeadlineAlert(
            name=f"{name} is late",
            reference=DeadlineReference.DAGRUN_QUEUED_AT,
            interval=spec.expect.every + spec.expect.grace,
            callback=SyncCallback(
                tell_of_late_run, kwargs={"pipeline": name}, executor=spec.airflow.executor
            ),
        )
        for name, spec in specs.items()
        if spec.expect is not None and spec.notify is not None
    ]


def tell_of_late_run(pipeline: str, context: Mapping[str, Any]) -> None:
    """Send the message; called by Airflow, in a process of the executor.

    A backfill takes as long as it takes, and a run that has ended was told of by its own tasks.

    Args:
        context: The run as Airflow's REST API gives it, under `dag_run`.
    """
    run, spec = context["dag_run"], open_pipeline(pipeline).spec
    if spec.notify is None or spec.expect is None:
        return
    if run["run_type"] == "backfill" or run["state"] not in UNFINISHED:
        return
    due = spec.expect.every + spec.expect.grace
    message = (
        f"{pipeline} is late. Run {run['dag_run_id']} was queued {due} ago and has not ended, and "
        f"the next data are due. Look in Airflow at what it waits for: DAG {run['dag_id']}."
    )
    send(spec.notify, message, cast("Context", context))
