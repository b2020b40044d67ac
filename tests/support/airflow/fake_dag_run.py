"""The context of a task, as Airflow's own run of a certain type has it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

from airflow.sdk import Context
from airflow.sdk.api.datamodels._generated import DagRun, DagRunState, DagRunType

DAY = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))


def context_of(
    run_type: str = "scheduled",
    run_id: str = "run-1",
    params: dict[str, Any] | None = None,
    interval: tuple[datetime | None, datetime | None] = DAY,
    by: str | None = None,
    **more: Any,
) -> Context:
    """The context of a task of a run.

    Args:
        run_type: Airflow's.
        run_id: Which says nothing of the type.
        params: As whoever started it gave them.
        interval: Its data interval.
        by: Who started it.
        **more: The more of the context.
    """
    start, end = interval
    run = DagRun(
        dag_id="orders",
        run_id=run_id,
        logical_date=start,
        data_interval_start=start,
        data_interval_end=end,
        run_after=datetime.now(UTC),
        start_date=None,
        end_date=None,
        run_type=DagRunType(run_type),
        state=DagRunState.RUNNING,
        consumed_asset_events=[],
        partition_key=None,
        triggering_user_name=by,
    )
    return cast("Context", {"run_id": run_id, "dag_run": run, "params": params or {}, **more})
