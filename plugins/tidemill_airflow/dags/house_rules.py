"""The rules for every DAG, one function per rule: DAG and spec in, complaints out."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from airflow.sdk import DAG, AssetOrTimeSchedule, CronDataIntervalTimetable

from tidemill.spec.spec import Spec
from tidemill_airflow.task_names import step_of

Rule = Callable[[DAG, Spec], Iterator[tuple[str, str]]]
STEPS = ("doctor", "ingest", "gate", "publish")
UNGATED_STEPS = ("doctor", "ingest")
RESOLVE_STEPS = ("approve", "doctor", "decide", "ingest", "gate", "publish")
AIRFLOWS_OWN_OWNER = "airflow"
TAG = "tidemill"


def is_owned(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    for task in dag.tasks:
        if task.owner in ("", AIRFLOWS_OWN_OWNER):
            yield f"task {task.task_id} has no owner", "Name who is called: airflow.owner."


def is_tagged(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    if TAG not in dag.tags:
        yield f"the tag '{TAG}' is missing", f"Add '{TAG}' to its tags."


def retries(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """A lost worker needs no person; errors that need one are never retried."""
    for task in dag.tasks:
        if not task.retries:
            yield f"task {task.task_id} is never retried", "Set airflow.retries to 1 or more."


def times_out(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """A question to a person does too, after a time of its own."""
    for task in dag.tasks:
        if task.execution_timeout is None and getattr(task, "response_timeout", None) is None:
            yield f"task {task.task_id} may run for ever", "Set airflow.timeout."


def runs_alone(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """`max_active_runs` does not count backfills, so the steps are bounded too."""
    if dag.max_active_runs != 1:
        yield f"max_active_runs is {dag.max_active_runs}", "Set it to 1."
    if dag.catchup:
        yield "catchup is on", "Turn it off: one run takes all that is there."
    for task in dag.tasks:
        if step_of(task.task_id) in (*STEPS, "decide") and task.max_active_tis_per_dag != 1:
            yield f"task {task.task_id} may run beside itself", "Set max_active_tis_per_dag to 1."


def swaps_only_what_it_published(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """A backfill where Spark's own sink takes the rows would run the live checkpoint for a day."""
    if not spec.published and (dag.allowed_run_types is None or "backfill" in _run_types(dag)):
        yield "backfills are allowed", "Leave 'backfill' out of allowed_run_types."


def is_started_by_hand(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    if _run_types(dag) != {"manual"} or dag.timetable.can_be_scheduled:
        yield "it can run without a person's start", "Give it no schedule, and manual runs only."


def has_real_intervals(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """Scheduled runs have intervals; a run that was woken has none."""
    timetable: Any = dag.timetable
    if isinstance(timetable, AssetOrTimeSchedule):
        timetable = timetable.timetable
    if spec.schedule is not None and not isinstance(timetable, CronDataIntervalTimetable):
        yield (
            "its data intervals have no width",
            "Use CronDataIntervalTimetable as the schedule.",
        )


def has_its_steps(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """In a group's DAG each pipeline has them, after the doctor and around the ingest of all."""
    steps: tuple[str, ...] = STEPS if spec.published else UNGATED_STEPS
    if spec.group is not None:
        steps = (*steps[:2], "ingested", *steps[2:])
    groups = {task.task_id.rpartition(".")[0] for task in dag.tasks if "." in task.task_id}
    chains = [[_task_of(name, step) for step in steps] for name in groups or {""}]
    if spec.group is not None:
        chains = [["doctor", *own] for own in chains]
    yield from _unlike(dag, steps, chains)


def asks_first(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """In a resolve DAG nothing is done before a person has approved it."""
    yield from _unlike(dag, RESOLVE_STEPS, [RESOLVE_STEPS])


def takes_no_input_from_runs(dag: DAG, spec: Spec) -> Iterator[tuple[str, str]]:
    """A templated field that reaches spark-submit is code execution."""
    for task in dag.tasks:
        if task.template_fields:
            yield (
                f"task {task.task_id} templates {', '.join(task.template_fields)}",
                "Set template_fields to ().",
            )


_OF_BOTH: tuple[Rule, ...] = (
    is_owned,
    is_tagged,
    retries,
    times_out,
    runs_alone,
    takes_no_input_from_runs,
)
RULES: tuple[Rule, ...] = (
    *_OF_BOTH,
    swaps_only_what_it_published,
    has_real_intervals,
    has_its_steps,
)
RESOLVE_RULES: tuple[Rule, ...] = (*_OF_BOTH, is_started_by_hand, asks_first)


def _unlike(
    dag: DAG, steps: Sequence[str], chains: Sequence[Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """The complaint where a DAG's tasks are not just these, each after the one before it."""
    expected: dict[str, set[str]] = {}
    for chain in chains:
        for task, after in zip(chain, [*chain[1:], None], strict=True):
            expected.setdefault(task, set()).update([after] if after else [])
    follows = {task.task_id: set(task.downstream_task_ids) for task in dag.tasks}
    if follows != expected:
        yield f"its tasks are {', '.join(dag.task_ids)}", f"Make them {' >> '.join(steps)}."


def _task_of(group: str, step: str) -> str:
    return f"{group}.{step}" if group and step != "ingest" else step


def _run_types(dag: DAG) -> set[str]:
    return {str(getattr(kind, "value", kind)) for kind in dag.allowed_run_types or ()}
