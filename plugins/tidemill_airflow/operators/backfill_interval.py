"""The interval of a run that Airflow's Backfill dialog has queued.

A run that was there before keeps the interval it was created with. Where the schedule has changed
since, that may be a day of the week that the dialog shows, so it also covers what the schedule
says now.
"""

from datetime import UTC, datetime
from typing import Any

from airflow.timetables.base import TimeRestriction
from airflow.timetables.interval import CronDataIntervalTimetable

from tidemill.spec.spec import Spec
from tidemill_airflow.airflow_internals.timezones import coerce_datetime

Interval = tuple[datetime | None, datetime | None]


def backfill_interval(spec: Spec, dag_run: Any) -> Interval:
    """The start and the end of what a backfill's run computes, in UTC.

    Args:
        dag_run: The run, as Airflow gives it to its tasks.
    """
    start, end = data_interval(dag_run)
    scheduled = None if spec.schedule is None else _scheduled(spec.schedule, spec.timezone, start)
    return start, end if end is None or scheduled is None else max(end, scheduled)


def data_interval(dag_run: Any) -> Interval:
    """The data interval of a run in UTC; None for a run without one, as one started by hand.

    Args:
        dag_run: The run, as Airflow gives it to its tasks.
    """
    start, end = (_utc(getattr(dag_run, f"data_interval_{side}")) for side in ("start", "end"))
    return start, end


def _scheduled(schedule: str, timezone: str, start: datetime | None) -> datetime | None:
    """The end of the schedule's interval with a certain start; None where there is none."""
    if start is None:
        return None
    restriction = TimeRestriction(earliest=coerce_datetime(start), latest=None, catchup=True)
    info = CronDataIntervalTimetable(schedule, timezone=timezone).next_dagrun_info(
        last_automated_data_interval=None, restriction=restriction
    )
    if info is None or info.data_interval is None or info.data_interval.start != start:
        return None
    return _utc(info.data_interval.end)


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at.timestamp(), UTC)
