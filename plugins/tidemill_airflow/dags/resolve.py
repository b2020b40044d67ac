"""The companion of a published pipeline's DAG: a person decides what becomes of an increment.

approve >> doctor >> decide >> ingest >> gate >> publish. It is started by hand, with a form, and
approved by another person, or the same one; then the pipeline's steps carry it out in a separate
run. `decide` records a release or a rejection; the other actions are carried out by `ingest`.

Each pipeline has one of its own: Airflow knows permissions, queues, pools and connections by DAG,
and a task cannot ask its auth manager about the user who started it. The list of DAGs shows it to
whoever looks for it (`pages/dag_list.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, chain

from tidemill.contract.counted import counted
from tidemill.contract.errors import SpecError, TidemillError
from tidemill.ledger.approval import forget_approval
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.spec import Spec
from tidemill_airflow.airflow_internals.approval_operator import QuestionOperator
from tidemill_airflow.dags.dag_page import resolve_page
from tidemill_airflow.dags.forms import ACTIONS, resolve_form, with_form
from tidemill_airflow.dags.notify import StateNotice
from tidemill_airflow.dags.tasks import beginning, callbacks, default_args, step_args, tasks
from tidemill_airflow.operators.approval import (
    approve,
    approved,
    assigned_users,
    conditions,
    require_root,
)
from tidemill_airflow.operators.ingest import IngestOperator
from tidemill_airflow.operators.outcome import as_airflow
from tidemill_airflow.operators.request import OF_ONE_INCREMENT, Action, in_words, resolution_of
from tidemill_airflow.operators.steps import DecideOperator, DoctorOperator
from tidemill_airflow.task_names import RESOLVE, RESOLVE_TAG, resolve_id

if TYPE_CHECKING:
    from airflow.sdk import Context

APPROVE = "approve"
# Who has not answered by then has not approved.
PATIENCE = timedelta(days=7)
# A question is not work: it is asked at once, whatever the pipelines are at.
POOL_OF_QUESTIONS = "default_pool"


class ApproveOperator(QuestionOperator):
    """Asks a person whether it is to be done; whatever else they answer skips the rest."""

    # The question is made of the parameters here, so that no template of theirs is rendered.
    template_fields: Sequence[str] = ()

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(subject=f"Resolve {pipeline}", response_timeout=PATIENCE, **kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> Any:
        try:
            pipeline = open_pipeline(self.pipeline)
            require_root(pipeline)
            request = resolution_of(context)
            subject = f"{pipeline.name}: {in_words(request, pipeline.spec.timezone)}"
            body = question(pipeline, request)
        except TidemillError as error:
            raise as_airflow(error) from error
        forget_approval(pipeline.layout.run(context["run_id"]))
        return self.ask(context, subject, body, assigned_users(pipeline.spec.decisions))

    def on_approval(self, context: Context, answer: Mapping[str, Any]) -> None:
        try:
            approve(open_pipeline(self.pipeline), context, answer)
        except TidemillError as error:
            raise as_airflow(error) from error


class ResolveDoctorOperator(DoctorOperator):
    """The doctor of a run that does what a person approved."""

    def wanted(self, pipeline: Pipeline, context: Context) -> RunRequest:
        """The approved request, in the approver's name.

        Raises:
            NotApproved: no person approved it, whatever state the task `approve` has.
        """
        return approved(pipeline, context)


def build_resolve_dag(name: str, spec: Spec, path: Path) -> DAG:
    """The companion DAG of one published pipeline.

    Args:
        path: The spec's file, for messages.

    Raises:
        SpecError: the notifier is not valid.
    """
    notice = StateNotice.of(spec, path) if spec.notify else None
    dag = DAG(
        dag_id=resolve_id(name),
        description=f"What becomes of an increment of {name}, when a person decides",
        schedule=None,
        start_date=beginning(spec),
        catchup=False,
        # One decision after the other; the lease keeps them apart from the pipeline's own runs.
        max_active_runs=1,
        allowed_run_types=("manual",),  # type: ignore[arg-type] # it converts their values
        # It runs when somebody starts it, and then at once.
        is_paused_upon_creation=False,
        tags=["tidemill", RESOLVE_TAG, *spec.airflow.tags],
        doc_md=resolve_page(name, ACTIONS),
        default_args=default_args(spec),
    )
    with with_form(dag, resolve_form()):
        ask = ApproveOperator(
            task_id=APPROVE,
            pipeline=name,
            pool=POOL_OF_QUESTIONS,
            execution_timeout=None,
            # Whatever the spec says of its steps: an answer that comes before the process that
            # asked is gone is lost, costs a try, and the question is put again (Airflow 3.3.2).
            retries=3,
            retry_delay=timedelta(seconds=5),
        )
        ingest = IngestOperator(
            task_id="ingest",
            pipeline=name,
            conn_id=spec.spark.conn_id,
            **step_args(spec, "ingest"),
        )
        told = callbacks(spec, notice)
        told.pop("on_success_callback", None)
        decide = DecideOperator(
            task_id="decide", pipeline=name, **step_args(spec, "decide"), **told
        )
        chain(ask, *tasks(name, spec, notice, [decide, ingest], doctor=ResolveDoctorOperator))
    return dag


def resolution(
    pipeline: str,
    action: Action,
    *,
    increment: int | None,
    reason: str,
    exclude: Sequence[str] = (),
) -> tuple[str, dict[str, Any]]:
    """The DAG that carries out a decision, and the parameters of its run.

    Args:
        pipeline: The pipeline's name.
        increment: The number of the increment; None where the action names none.
        reason: Why, for the table's history.
        exclude: Input files to leave out.
    """
    given = {"action": action, "increment": increment, "reason": reason, "exclude": [*exclude]}
    return resolve_id(pipeline), {name: value for name, value in given.items() if value}


def refuse_reserved(name: str, path: Path) -> None:
    """Refuse a pipeline whose name would be that of a resolve DAG.

    Raises:
        SpecError: it is.
    """
    if name.endswith(RESOLVE):
        raise SpecError(
            f"{path}: '{name}' ends in {RESOLVE}, as the DAGs do in which people decide.",
            remedy="Give the spec, its transform and its suite another name.",
            path=path,
            line=None,
            field=None,
        )


def question(pipeline: Pipeline, request: RunRequest) -> str:
    """The question to a person, as Markdown.

    Raises:
        UsageError: there is no such increment.
    """
    what = ACTIONS[request.role].partition(": ")[2]
    lines = [
        f"**{in_words(request, pipeline.spec.timezone)}** of pipeline **{pipeline.name}**: {what}.",
        "",
        f"- asked for by: {request.by}",
        f"- reason: {_quoted(request.reason)}",
    ]
    if request.role in OF_ONE_INCREMENT and request.increment is not None:
        lines += [f"- {line}" for line in _known(pipeline, request.increment)]
    lines += [f"- {line}" for line in conditions(pipeline.spec.decisions)]
    lines += ["", "Approve to have it done. Reject, and nothing is; so it is after a week."]
    return "\n".join(lines)


def _known(pipeline: Pipeline, number: int) -> list[str]:
    """Facts on an increment, and why its gate held it."""
    # Imported here, because it costs what a DAG file must not.
    from tidemill.increments.snapshot import Snapshot

    found = Snapshot(pipeline.layout).get(number)
    sealed = found.sealed
    lines = [
        f"increment: {found.state}, {counted(sealed.rows, 'row')} and {sealed.rejected:,} "
        f"rejected, sealed {sealed.sealed:%Y-%m-%d %H:%M} UTC by run {_quoted(sealed.run_id)}"
    ]
    reasons = found.verdict.reasons if found.verdict else ()
    return lines + [f"the gate said: {_quoted(reason)}" for reason in reasons]


def _quoted(text: str) -> str:
    """A person's text as code, in which Markdown has no effect."""
    return f"`` {' '.join(text.replace('`', chr(39)).split())} ``"
