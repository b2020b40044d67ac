"""One message per change of a pipeline's state, through the Airflow notifier that its spec names.

The states are kept in `notices/`, one file each, never changed: `000003-held.json`. A pipeline that
stays held sends nothing more; that it is well again is noted and not sent.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from airflow.sdk import BaseNotifier

from tidemill.contract import report as reports
from tidemill.contract.clock import wall_clock
from tidemill.contract.document import Document
from tidemill.contract.errors import SpecError, TidemillError
from tidemill.contract.file_mode import keep_from_others
from tidemill.contract.layout import Layout
from tidemill.contract.remedy import for_airflow
from tidemill.contract.report import Outcome, Report, Step
from tidemill.ledger.reprocessed_run import current_run_folder
from tidemill.ledger.run_kinds import Role
from tidemill.ledger.run_request import read_request
from tidemill.spec.root import root
from tidemill.spec.settings import Notify
from tidemill.spec.spec import Spec
from tidemill.storage import documents
from tidemill_airflow.addresses import page_url
from tidemill_airflow.operators.request import RequestRefused
from tidemill_airflow.task_names import pipeline_of, step_of

if TYPE_CHECKING:
    from airflow.sdk import Context

State = Literal["ok", "held", "overdue", "refused", "failed"]
PLACEHOLDER = "{message}"
TROUBLE = (Outcome.HELD, Outcome.REFUSED, Outcome.FAILED)


class Notice(Document):
    """A change of state."""

    number: int
    state: State
    message: str
    run_id: str
    at: datetime


class Notices:
    """The states a pipeline went through.

    Args:
        folder: `Layout.notices`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[Notice]:
        paths = sorted(self.folder.glob("[0-9]*.json")) if self.folder.is_dir() else []
        found = (documents.read_if_whole(path, Notice) for path in paths)
        return [notice for notice in found if notice is not None]

    def add(self, notice: Notice) -> None:
        """Note a change, unless another process noted the same at the same moment."""
        path = self.folder / f"{notice.number:06d}-{notice.state}.json"
        documents.put_if_absent(path, notice)


@dataclass(frozen=True)
class StateNotice:
    """The callbacks of a DAG's tasks.

    Args:
        notify: The notifier and its arguments.
        last: The step after which a run has done what it is for.
    """

    notify: Notify
    last: Step = "publish"

    @classmethod
    def of(cls, spec: Spec, path: Path) -> StateNotice:
        """The callbacks of a spec.

        Raises:
            SpecError: the notifier cannot be imported, or is not a notifier.
        """
        notify = cast("Notify", spec.notify)
        try:
            _notifier_class(notify)
        except (ImportError, AttributeError, TypeError) as error:
            raise SpecError(
                f"{path}: notify.notifier: '{notify.notifier}' is not a notifier ({error}).",
                remedy="Give the import path of a class such as "
                "airflow.providers.smtp.notifications.smtp.SmtpNotifier, and install its provider.",
                path=path,
                line=None,
                field="notify.notifier",
            ) from error
        return cls(notify, last="publish" if spec.published else "ingest")

    def failed(self, context: Context) -> None:
        """A task ended as failed: held, overdue, refused or failed."""
        report = _report(context)
        if _asked_in_vain(context, report):
            return
        if report is not None and report.outcome not in TROUBLE:
            # The task failed beside its step: before it began, or after it had ended well.
            report = None
        state = _state(report)
        reason = report.reason if report else str(context.get("exception") or "no report was left")
        remedy = for_airflow(report.error) if report and report.error else ""
        page = _where_to_decide(context, report) if report and state == "held" else ""
        said = (f"{step_of(context['ti'].task_id)}: {reason}", remedy, page)
        self._change(context, state, " ".join(filter(None, said)))

    def ended(self, context: Context) -> None:
        """The last step is done, or the doctor found nothing to do: the pipeline is well."""
        report = _report(context)
        # That past days are computed again says nothing of the days to come.
        if _role(context) != "backfill" and report and report.step in ("doctor", self.last):
            self._change(context, "ok", report.reason)

    def _change(self, context: Context, state: State, message: str) -> None:
        # Airflow calls this in a process of its own where it killed the task's.
        keep_from_others()
        layout = _layout(context)
        notices = Notices(layout.notices)
        before = notices.all()
        last = before[-1] if before else None
        if state == (last.state if last else "ok") or (state == "ok" and _is_held(layout)):
            return
        text = f"{layout.name} is {state}. {message}"
        if state != "ok":
            # Sent before it is noted: a notifier that fails is tried again with the next run.
            send(self.notify, text, context)
        notices.add(
            Notice(
                number=(last.number if last else 0) + 1,
                state=state,
                message=message,
                run_id=context["run_id"],
                at=wall_clock(),
            )
        )


def _notifier_class(notify: Notify) -> type[BaseNotifier]:
    module, _, name = notify.notifier.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, BaseNotifier)):
        msg = "it does not extend BaseNotifier"
        raise TypeError(msg)
    return found


def send(notify: Notify, text: str, context: Context) -> None:
    """Send a message through the notifier of a spec."""
    args = {name: _filled(value, _as_text(text)) for name, value in notify.args.items()}
    _notifier_class(notify)(**args)(context)


def _filled(value: Any, text: str) -> Any:
    if isinstance(value, str):
        return value.replace(PLACEHOLDER, text)
    if isinstance(value, dict):
        return {key: _filled(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, text) for item in value]
    return value


def _as_text(text: str) -> str:
    """A message that no template engine takes for a template: it may quote a file's name."""
    for mark in ("{{", "{%", "{#"):
        text = text.replace(mark, f"{mark[0]} {mark[1]}")
    return text


def _layout(context: Context) -> Layout:
    return Layout(root(), pipeline_of(context["ti"].dag_id, context["ti"].task_id))


def _run_folder(context: Context) -> Path:
    return current_run_folder(_layout(context), context["run_id"])


def _report(context: Context) -> Report | None:
    try:
        return reports.read(_run_folder(context), step_of(context["ti"].task_id))
    except (TidemillError, OSError, ValueError):
        return None


def _asked_in_vain(context: Context, report: Report | None) -> bool:
    """Whether it concerns only who started the run, and sees it there: the pipeline is as before.

    That a gate holds what was computed again is told: somebody else may know the data.
    """
    if isinstance(getattr(context.get("exception"), "__cause__", None), RequestRefused):
        return True
    return _role(context) != "live" and (report is None or report.outcome is not Outcome.HELD)


def _role(context: Context) -> Role:
    try:
        return read_request(_run_folder(context)).role
    except (TidemillError, OSError):
        return "live"


def _is_held(layout: Layout) -> bool:
    # Imported here, because it costs what a DAG file must not.
    from tidemill.increments.increment import State
    from tidemill.increments.snapshot import Snapshot

    states = (one.state for one in Snapshot(layout).in_order())
    return State.HELD in states


def _where_to_decide(context: Context, report: Report) -> str:
    """The address of the held increment's page; '' where it cannot be known."""
    number = report.facts.get("increment")
    if number is None:
        return ""
    return page_url("pipelines", _layout(context).name, "increments", str(number))


def _state(report: Report | None) -> State:
    if report is None:
        return "failed"
    if report.error and report.error["code"] == "FeedOverdue":
        return "overdue"
    states: dict[Outcome, State] = {Outcome.HELD: "held", Outcome.REFUSED: "refused"}
    return states.get(report.outcome, "failed")
