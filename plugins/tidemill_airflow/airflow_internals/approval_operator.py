"""Airflow's operator that asks a person for approval, and the methods of it that are private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk.execution_time.hitl import HITLUser

if TYPE_CHECKING:
    from airflow.sdk import Context

__all__ = ["HITLUser", "QuestionOperator"]

_OPERATOR = "airflow.providers.standard.operators.hitl:ApprovalOperator"
CALLS = {
    _OPERATOR: ("task_id=", "subject=", "defaults=", "response_timeout="),
    f"{_OPERATOR}.execute": ("context",),
    f"{_OPERATOR}.execute_complete": ("context", "event"),
}
ATTRIBUTES = (
    "airflow.sdk.execution_time.hitl:HITLUser",
    *(f"{_OPERATOR}.{name}" for name in ("APPROVE", "REJECT", "assigned_users", "body", "subject")),
)


class QuestionOperator(ApprovalOperator):
    """Asks a person for approval; without an answer in time it counts as rejected."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(defaults=self.REJECT, **kwargs)

    def ask(
        self, context: Context, subject: str, body: str, users: Sequence[HITLUser] | None
    ) -> Any:
        """Put the question; Airflow calls `execute_complete` with the answer.

        Args:
            subject: The question as one line.
            body: Its details, as Markdown.
            users: Who may answer; None for everybody who may edit the DAG's runs.
        """
        self.subject = subject
        self.body = body
        self.assigned_users = None if users is None else [*users]
        return super().execute(context)

    def on_approval(self, context: Context, answer: Mapping[str, Any]) -> None:
        """Called when a person has approved.

        Args:
            answer: With `responded_by_user` and `responded_at`.
        """

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        answer = super().execute_complete(context, event)
        if answer["chosen_options"] == [self.APPROVE]:
            self.on_approval(context, answer)
        return answer
