"""Approvals of decisions: who may give one, and where it is recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import conf

from tidemill.contract.errors import Refused, UsageError
from tidemill.contract.file_mode import keep_from_others
from tidemill.ledger.approval import Approval, read_approval, record_approval
from tidemill.ledger.run_request import RunRequest
from tidemill.spec.decisions import Decisions
from tidemill.spec.pipeline import Pipeline
from tidemill_airflow.operators.request import AIRFLOW, resolution_of, starter

if TYPE_CHECKING:
    from airflow.sdk import Context

    from tidemill_airflow.airflow_internals.approval_operator import HITLUser

ASK_AGAIN = "Clear the task approve of this run: the question is put again"


class NotApproved(Refused):
    """A resolve run goes on though no person approved it; carries `run_id`."""


class ApproverNotAllowed(Refused):
    """Whoever approved may not, as the spec has it; carries `approver`, `asked_by`, `approvers`."""


class RootNotWritable(UsageError):
    """A decision could not be kept under `TIDEMILL_ROOT`; carries `root`."""


def require_root(pipeline: Pipeline) -> None:
    """Refuse to ask where an answer could not be kept.

    Raises:
        RootNotWritable: `TIDEMILL_ROOT` is not there, or this user may not write to it.
    """
    root = pipeline.layout.root
    if not os.access(root, os.W_OK | os.X_OK):
        raise RootNotWritable(
            f"TIDEMILL_ROOT {root} is not there, or this user may not write to it.",
            remedy="Mount it, or give the user of Airflow's tasks the right to write; then clear "
            "the task approve of this run.",
            root=str(root),
        )


def approve(pipeline: Pipeline, context: Context, answer: Mapping[str, Any]) -> None:
    """Keep a person's yes beside the run, where its doctor looks for it.

    Args:
        context: The asking task's context.
        answer: As Airflow's approval operator gives it.

    Raises:
        NotApproved: no person gave it.
        RootNotWritable: it could be kept nowhere.
        ApproverNotAllowed: the spec's `decisions` say that it has to be somebody else.
    """
    user = answer["responded_by_user"]
    run_id = context["run_id"]
    if user is None:
        raise NotApproved(
            f"Airflow does not say who approved run {run_id}.",
            remedy=f"{ASK_AGAIN}, for a person to answer.",
            run_id=run_id,
        )
    require_root(pipeline)
    keep_from_others()
    asked_by = starter(context)
    _refuse_who_may_not(pipeline.spec.decisions, user, asked_by)
    record_approval(
        pipeline.layout.run(run_id),
        Approval(
            request=resolution_of(context, by=user["name"] or user["id"]),
            user_id=user["id"],
            asked_by=asked_by,
            answered=answer["responded_at"],
        ),
    )


def approved(pipeline: Pipeline, context: Context) -> RunRequest:
    """The approved request of this run.

    Raises:
        NotApproved: no person did.
    """
    run_id = context["run_id"]
    approval = read_approval(pipeline.layout.run(run_id))
    if approval is None:
        raise NotApproved(
            f"No person approved what run {run_id} is to do: its task approve has no answer of a "
            "person's, whatever its state.",
            remedy=f"{ASK_AGAIN}, and whoever may decide answers it there.",
            run_id=run_id,
        )
    return approval.request


def assigned_users(decisions: Decisions) -> list[HITLUser] | None:
    """The approvers as Airflow's own check wants them; None where Airflow cannot tell by names.

    Airflow compares the ids of users, which are their names with the simple auth manager only; the
    answer is held against the spec in any case.
    """
    if not decisions.approvers or "SimpleAuthManager" not in conf.get("core", "auth_manager"):
        return None
    return [{"id": name, "name": name} for name in decisions.approvers]


def conditions(decisions: Decisions) -> Iterator[str]:
    """Who may approve, for the question."""
    if decisions.approvers:
        yield f"may approve: {', '.join(decisions.approvers)}"
    if decisions.four_eyes:
        yield "whoever asked for it may not approve it"


def _refuse_who_may_not(decisions: Decisions, user: Mapping[str, str], asked_by: str) -> None:
    names = {user["id"], user["name"]}
    facts: dict[str, Any] = {
        "approver": user["name"],
        "asked_by": asked_by,
        "approvers": decisions.approvers,
    }
    if decisions.approvers and names.isdisjoint(decisions.approvers):
        raise ApproverNotAllowed(
            f"{user['name']} approved, and the spec's decisions.approvers does not name them.",
            remedy=f"{ASK_AGAIN}; {' or '.join(decisions.approvers)} may approve.",
            **facts,
        )
    if decisions.four_eyes and asked_by == AIRFLOW:
        raise ApproverNotAllowed(
            "Airflow does not say who started this run, and decisions.four_eyes of the spec wants "
            "somebody else to approve it.",
            remedy="Start the DAG again in Airflow's UI, under a user's own name.",
            **facts,
        )
    if decisions.four_eyes and asked_by in names:
        raise ApproverNotAllowed(
            f"{asked_by} started this run and approved it, and decisions.four_eyes of the spec "
            "wants two people.",
            remedy=f"{ASK_AGAIN}, for somebody else to answer.",
            **facts,
        )
