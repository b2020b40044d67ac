"""A person's approval of a resolve run, written by the task that has the answer.

It is in the run's folder and not in Airflow's XCom, because whoever may mark a task as
successful or write an XCom must not be able to approve in another's name.
"""

from pathlib import Path

from pydantic import AwareDatetime

from tidemill.contract.document import Document
from tidemill.ledger.run_request import RunRequest
from tidemill.storage import documents


class Approval(Document):
    """A person's yes.

    Attributes:
        request: What they approved; `by` is the approver's name.
        user_id: The approver's, as Airflow's auth manager has it.
        asked_by: Who started the run.
        answered: When Airflow got the answer.
    """

    request: RunRequest
    user_id: str
    asked_by: str
    answered: AwareDatetime


def record_approval(run_folder: Path, approval: Approval) -> None:
    """Write down the answer to the question that was put last.

    Args:
        run_folder: `Layout.run(run_id)`.
        approval: The answer.

    Raises:
        AlreadyWritten: another process is answering the same question.
    """
    forget_approval(run_folder)
    documents.put(_path(run_folder), approval)


def forget_approval(run_folder: Path) -> None:
    """Take back an earlier answer, because the question is put again."""
    _path(run_folder).unlink(missing_ok=True)


def read_approval(run_folder: Path) -> Approval | None:
    """The approval of a run, or None where it has none."""
    return documents.read(_path(run_folder), Approval)


def _path(run_folder: Path) -> Path:
    return run_folder / "approval.json"
