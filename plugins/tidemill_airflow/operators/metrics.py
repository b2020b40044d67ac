"""What a step's report says, as metrics of Airflow's, which go to StatsD, Datadog or OpenTelemetry.

Airflow's `[metrics]` section switches them on and names the receiver. A metric has its pipeline,
and whatever else tells two of the same name apart, as tags. Plain StatsD knows no tags: as long as
Airflow itself does so (`[metrics] legacy_names_on`), it also gets each metric with the tags' values
in its name.
"""

import resource
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from airflow.sdk import conf

from tidemill.contract.report import Outcome, Report
from tidemill_airflow.airflow_internals import stats

PREFIX = "tidemill"


@dataclass(frozen=True)
class Metric:
    """One value of one pipeline.

    Args:
        name: Below `tidemill.`.
        kind: A `counter` adds `value`, a `gauge` is set to it, a `timer` takes it as seconds.
        tags: Beside the pipeline's name.
    """

    name: str
    kind: Literal["counter", "gauge", "timer"]
    value: float
    tags: Mapping[str, str] = field(default_factory=dict)


def send(report: Report) -> None:
    """Send what a report says; a receiver that is away or slow fails no step."""
    for metric in (*metrics_of(report), _cpu_of_children(report)):
        # What else a tag may hold, some receiver takes for the end of a tag or of a name.
        tags = {
            key: stats.normalize_name_for_stats(value, log_warning=False)
            for key, value in {"pipeline": report.pipeline, **metric.tags}.items()
        }
        name = f"{PREFIX}.{metric.name}"
        _send(name, metric, tags)
        if _drops_tags():
            # A dot would begin a new level.
            _send(".".join((name, *(tag.replace(".", "_") for tag in tags.values()))), metric, {})


def _drops_tags() -> bool:
    """Whether Airflow sends to a StatsD without tags, and names that tell as much are on."""
    plain = conf.getboolean("metrics", "statsd_on") and not (
        conf.getboolean("metrics", "statsd_influxdb_enabled")
        or conf.getboolean("metrics", "statsd_datadog_enabled")
    )
    return plain and conf.getboolean("metrics", "legacy_names_on")


def metrics_of(report: Report) -> Iterator[Metric]:
    """The metrics of one report."""
    seconds = (report.finished - report.started).total_seconds()
    step = {"step": report.step, "outcome": str(report.outcome)}
    yield Metric("step_duration", "timer", seconds, step)
    if report.error is not None:
        yield Metric("refusals", "counter", 1, {"code": str(report.error["code"])})
        data = report.error["data"]
        if report.error["code"] == "FeedOverdue" and data.get("last_arrival"):
            # A doctor that fails has found nothing else, and this is when the age is asked for.
            yield _age(data["source"], data["last_arrival"], report.finished)
    match report.step:
        case "doctor":
            yield from _of_doctor(report.facts, report.finished)
        case "ingest":
            yield from _of_ingest(report.facts)
        case "gate" if "increment" in report.facts:
            outcome = "held" if report.outcome is Outcome.HELD else "passed"
            yield Metric("increments_judged", "counter", 1, {"verdict": outcome})
        case "publish":
            yield from _of_publish(report.facts)


def _of_doctor(facts: Mapping[str, Any], now: datetime) -> Iterator[Metric]:
    if facts.get("backlog_bytes") is not None:
        yield Metric("waiting_bytes", "gauge", facts["backlog_bytes"])
    for name, source in facts.get("sources", {}).items():
        tags = {"source": name}
        if source.get("new") is not None:
            yield Metric("waiting_input", "gauge", source["new"], tags)
        if source.get("last_arrival"):
            yield _age(name, source["last_arrival"], now)
        codes = {problem["code"] for problem in source.get("problems", ())}
        yield Metric("falls_behind", "gauge", int("FallingBehind" in codes), tags)


def _age(source: str, last_arrival: str, now: datetime) -> Metric:
    age = now - datetime.fromisoformat(last_arrival)
    return Metric("last_arrival_age_seconds", "gauge", age.total_seconds(), {"source": source})


def _of_ingest(facts: Mapping[str, Any]) -> Iterator[Metric]:
    if "rows" not in facts:
        return
    taken_in = [count for count in facts.get("rows_in", ()) if count is not None]
    yield Metric("rows_in", "counter", sum(taken_in))
    yield Metric("rows_good", "counter", facts["rows"])
    for reason, rows in facts.get("rejected_by_reason", {}).items():
        yield Metric("rows_rejected", "counter", rows, {"reason": reason})
    late = (facts.get("late") or {}).get("rows")
    if late is not None:
        yield Metric("rows_late", "counter", late)


def _of_publish(facts: Mapping[str, Any]) -> Iterator[Metric]:
    for event in facts.get("published", ()):
        yield Metric("increments_published", "counter", 1, {"kind": event["kind"]})
        yield Metric("rows_published", "counter", event["rows"])


def _cpu_of_children(report: Report) -> Metric:
    """CPU-seconds of the step's processes on this machine: each task is a process of its own."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Metric("step_cpu", "timer", used.ru_utime + used.ru_stime, {"step": report.step})


def _send(name: str, metric: Metric, tags: dict[str, str]) -> None:
    match metric.kind:
        case "counter":
            stats.incr(name, int(metric.value), tags=tags)
        case "gauge":
            stats.gauge(name, metric.value, tags=tags)
        case "timer":
            stats.timing(name, timedelta(seconds=metric.value), tags=tags)
