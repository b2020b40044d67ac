"""The parameters of our DAGs as JSON Schema: the form for starting a run by hand."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import get_args

from airflow.sdk import DAG, Param

from tidemill_airflow.airflow_internals.dag_params import set_params
from tidemill_airflow.operators.request import Mode

# What each action of a resolve DAG does, as its form says it.
ACTIONS: dict[str, str] = {
    "release": "release: publish a held increment although the gate holds it",
    "redo": "redo: compute everything that is not published again, with today's transform",
    "reject": "reject: leave the input of a held increment out, now and in later computations",
    "reinstate": "reinstate: count the input of a rejected increment again",
    "rebuild": "rebuild: compute the whole table again, from what the sources still hold",
}


@contextmanager
def with_form(dag: DAG, form: Mapping[str, Param]) -> Iterator[DAG]:
    """A DAG to build tasks in, which has a form afterwards.

    Each task of a DAG with a form takes four copies of it and keeps one, and Airflow checks the
    form's own schema for each DAG: together most of the time that building many DAGs takes. A run's
    parameters are those of the DAG either way.

    Args:
        form: One of this module, which need no check.
    """
    with dag:
        yield dag
    set_params(dag, form)


def backfill_form(timezone: str) -> dict[str, Param]:
    """The parameters of a pipeline's DAG.

    Args:
        timezone: The timezone of the spec: that of times which name no other.
    """

    def moment(title: str, what: str) -> Param:
        return Param(
            None,
            f"{what} Airflow's picker takes the time zone chosen at the top of its UI; a time "
            f"without a zone, as in JSON, is one of {timezone}.",
            type=["null", "string"],
            format="date-time",
            title=title,
        )

    return {
        "mode": Param(
            "live",
            "Single Run: live takes in what is new; backfill computes past partitions again. The "
            "dialog Backfill is always a backfill of the dates at its top, whatever stands here.",
            type="string",
            enum=[*get_args(Mode)],
            title="Mode",
        ),
        "from": moment("From", "Backfill: the first moment."),
        "to": moment("To", "Backfill: the moment after the last. Partitions are done as a whole."),
        "partitions": Param(
            None,
            "Backfill: partitions instead of dates, one a line, such as year=2012 or "
            "year=2012/state=CA.",
            type=["null", "array"],
            items={"type": "string"},
            title="Partitions",
        ),
        "dry_run": Param(
            False,
            "Backfill: say what would change, and change nothing. It always works with Single Run "
            "and mode backfill. Airflow's dialog Backfill sends it only with \"Override parameters "
            'on existing runs" ticked; unticked, the backfill is a real one.',
            type="boolean",
            title="Dry run",
        ),
        "reason": Param(
            None,
            "Backfill: why, for the history of the table.",
            type=["null", "string"],
            title="Reason",
        ),
    }


def resolve_form() -> dict[str, Param]:
    """The parameters of a resolve DAG; action and reason have no default, so they are asked for."""
    return {
        "action": Param(
            description="What is to be done.",
            type="string",
            enum=[*ACTIONS],
            values_display=ACTIONS,
            title="Action",
        ),
        "increment": Param(
            None,
            "Release, reject, reinstate: the increment's number, such as 3. A rebuild has none.",
            type=["null", "integer"],
            minimum=1,
            title="Increment",
        ),
        "exclude": Param(
            None,
            "Redo, rebuild: files to leave out from now on, one a line.",
            type=["null", "array"],
            items={"type": "string"},
            title="Leave out",
        ),
        "accept_loss": Param(
            False,
            "Rebuild: also where the sources no longer hold all input, whose rows then leave the "
            "table.",
            type="boolean",
            title="Accept loss",
        ),
        "reason": Param(
            description="Why. It is kept in the history of the table.",
            type="string",
            minLength=1,
            title="Reason",
        ),
    }
