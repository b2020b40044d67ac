"""The request of an Airflow run, from its type and interval or from the form that started it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn
from zoneinfo import ZoneInfo

from tidemill.contract.clock import wall_clock
from tidemill.contract.errors import UsageError
from tidemill.contract.syntax.unicode_text import NotUnicode, refuse_no_unicode
from tidemill.ledger.run_request import LIVE, RunRequest, partition_named
from tidemill.spec.spec import Spec
from tidemill_airflow.operators.backfill_interval import backfill_interval, data_interval

if TYPE_CHECKING:
    from airflow.sdk import Context

Mode = Literal["live", "backfill"]
Action = Literal["release", "redo", "reject", "reinstate", "rebuild"]
# What a doctor does by itself; the other roles are computed.
DECIDED = ("release", "reject")
OF_ONE_INCREMENT = ("release", "reject", "reinstate")
MAY_EXCLUDE = ("redo", "rebuild")
# Airflow names no user where the scheduler started the run or a backfill has taken it over.
AIRFLOW = "airflow"


class RequestRefused(UsageError):
    """A run was asked for what cannot be; nothing was started. Carries `given`."""


def request_of(spec: Spec, context: Context) -> RunRequest:
    """The request of a run of a pipeline's own DAG.

    Raises:
        RequestRefused: the parameters contradict each other.
    """
    params = _params(context)
    mode, backfilled = params.get("mode") or "live", run_type(context) == "backfill"
    start, end = (_moment(params, name, spec.timezone) for name in ("from", "to"))
    partitions = tuple(map(partition_named, params.get("partitions") or ()))
    if backfilled:
        if partitions:
            _refuse(params, "The dialog's backfill is of dates, and partitions were named.")
        if start or end:
            _refuse(params, "A backfill has its dates from the dialog, and from or to were given.")
        start, end = backfill_interval(spec, context["dag_run"])
    elif mode == "live":
        if start or end or partitions or params.get("dry_run"):
            _refuse(params, "from, to, partitions and dry_run are a backfill's, and mode is live.")
        return _live(spec, context)
    if not spec.published:
        _refuse(params, "What Spark's own sink has written cannot be taken back by a backfill.")
    if partitions and (start or end):
        _refuse(params, "A backfill is of dates or of partitions, and both were given.")
    if not partitions and (start is None or end is None or start >= end):
        _refuse(params, f"It is asked for from {start or 'nowhere'} to {end or 'nowhere'}.")
    return RunRequest(
        role="backfill",
        start=start,
        end=end,
        partitions=partitions,
        dry_run=bool(params.get("dry_run")),
        by=starter(context),
        reason=(params.get("reason") or "").strip(),
        asked=wall_clock(),
    )


def _live(spec: Spec, context: Context) -> RunRequest:
    """A live run, with its interval where the transform may ask for it."""
    if not spec.batch_statics:
        return LIVE
    start, end = data_interval(context["dag_run"])
    return LIVE.model_copy(update={"interval_start": start, "interval_end": end})


def refuse_same_dry_run(wanted: RunRequest, context: Context) -> None:
    """Refuse that a dry run of the Backfill dialog is done once more.

    Whoever leaves "Override parameters on existing runs" unticked sends no parameters, and Airflow
    keeps those of the dry run.

    Args:
        wanted: What Airflow asks for, of a run that has said what would change.

    Raises:
        RequestRefused: it is that dry run.
    """
    if wanted.dry_run and run_type(context) == "backfill":
        raise RequestRefused(
            "This run was a dry run, and Airflow asks for the dry run once more: it keeps a run's "
            "parameters until others are sent.",
            remedy="To compute the interval for real, choose Trigger, Backfill, All Runs, tick "
            '"Override parameters on existing runs" and switch Dry run off. For another dry run '
            "choose Trigger, Single Run, with mode backfill, from, to and Dry run.",
            given={**_params(context)},
        )


def resolution_of(context: Context, by: str | None = None) -> RunRequest:
    """The request of a run of a resolve DAG.

    Args:
        by: Who approved it; who started the run, where no approval was needed.

    Raises:
        RequestRefused: the parameters do not go together.
    """
    params = _params(context)
    action: Action = params["action"]
    increment, reason = params.get("increment"), params["reason"].strip()
    exclude = tuple(line.strip() for line in params.get("exclude") or () if line.strip())
    if not reason:
        _refuse(params, "The reason is empty.")
    if action in OF_ONE_INCREMENT and increment is None:
        _refuse(params, f"A {action} is of one increment, and none was named.")
    if action == "rebuild" and increment is not None:
        _refuse(params, "A rebuild is of the whole table, and an increment was named.")
    if action not in MAY_EXCLUDE and exclude:
        _refuse(params, f"A {action} leaves no files out.")
    accept_loss = bool(params.get("accept_loss"))
    if accept_loss and action != "rebuild":
        _refuse(params, f"A {action} loses nothing that could be accepted.")
    return RunRequest(
        role=action,
        increment=increment,
        exclude=exclude,
        accept_loss=accept_loss,
        by=by or starter(context),
        reason=reason,
        asked=wall_clock(),
    )


def run_type(context: Context) -> str:
    """The type of a run; its id says nothing, since a reprocessed run keeps the one it had."""
    kind: Any = context["dag_run"].run_type
    return str(getattr(kind, "value", kind))


def starter(context: Context) -> str:
    """Who started a run."""
    return context["dag_run"].triggering_user_name or AIRFLOW


def in_words(request: RunRequest, timezone: str) -> str:
    """A request in words, for the log and for the approver."""
    if request.role == "live":
        return "live run, which takes in what is new"
    said = f"dry run of a {request.role}" if request.dry_run else str(request.role)
    if request.increment is not None:
        said += f" of increment {request.increment:06d}"
    if request.start and request.end:
        zone = ZoneInfo(timezone)
        start, end = (at.astimezone(zone) for at in (request.start, request.end))
        said += f" from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} ({timezone})"
    if request.partitions:
        named = ("/".join(f"{k}={v}" for k, v in one.items()) for one in request.partitions)
        said += f" of {', '.join(named)}"
    if request.accept_loss:
        said += " whatever the sources no longer hold"
    return said + (f" without {', '.join(request.exclude)}" if request.exclude else "")


def _params(context: Context) -> Mapping[str, Any]:
    """The parameters of a run, from the form or by REST; all text of theirs can be kept."""
    params: Mapping[str, Any] = context["params"]
    try:
        refuse_no_unicode(params)
    except NotUnicode as error:
        raise RequestRefused(error.what, remedy=error.remedy, given=error.given) from error
    return params


def _moment(params: Mapping[str, Any], name: str, timezone: str) -> datetime | None:
    """A parameter as a time; Airflow's own check of its format needs a package that it lacks."""
    given = params.get(name)
    if not given:
        return None
    try:
        moment = datetime.fromisoformat(given)
    except (TypeError, ValueError):
        _refuse(params, f"{name} is '{given}', which is not a date.")
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(timezone))).astimezone(UTC)


def _refuse(params: Mapping[str, Any], what: str) -> NoReturn:
    if "action" in params:
        remedy = "Start the resolve DAG again with action, increment and reason filled in."
    else:
        remedy = (
            "For a backfill start the DAG with mode backfill, from and to: 2026-03-01 and "
            "2026-03-08 are the week without the 8th. For a live run leave all of them alone."
        )
    raise RequestRefused(what, remedy=remedy, given={**params})
