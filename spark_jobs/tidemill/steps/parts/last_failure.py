"""The last failure of a step: one that comes twice in the same way is not transient.

`failures/<step>.json` holds what the step last failed with, and how far the pipeline was then. It
is replaced by the next failure and removed when the step succeeds. It only informs.
"""

import re
from contextlib import suppress
from pathlib import Path

from tidemill.contract.document import Document
from tidemill.contract.errors import TidemillError, TransientError
from tidemill.contract.report import Step
from tidemill.generations.build import LIVE
from tidemill.ledger.run_request import read_request
from tidemill.storage import documents
from tidemill.storage.run_context import RunContext

# What differs from try to try: numbers of tasks, expressions and processes, ids, addresses.
_CHANGING = re.compile(r"0x[0-9a-f]+|(?=[\w-]*\d)[0-9a-f][0-9a-f-]{7,}|\d+", re.IGNORECASE)


class LastFailure(Document):
    """The last failure of a step.

    Attributes:
        code: The error's class.
        what: The error's text without what differs from try to try.
        role: The request of the run, such as `live` or `rebuild`.
        position: Folder -> the newest document that was in it: the batch, increment and event
            after which the step failed.
    """

    code: str
    what: str
    role: str
    position: dict[str, int]


def judge_again(error: TidemillError, step: Step, run: RunContext) -> None:
    """Remember a failure; one that the try before met as well becomes terminal.

    Args:
        error: How the step failed.
    """
    home = run.layout.home
    if (
        not isinstance(error, TransientError)
        or error.if_again is None
        or not run.layout.root.is_dir()
    ):
        return
    path = _path(home, step)
    failure = LastFailure(
        code=error.code,
        what=_CHANGING.sub("#", error.what),
        role=read_request(run.layout.run(run.run_id)).role,
        position=_position(home),
    )
    before = documents.read_if_whole(path, LastFailure)
    if before == failure:
        error.came_again()
        return
    with suppress(OSError):
        documents.replace(path, failure)


def forget_failure(step: Step, run: RunContext) -> None:
    """The step has succeeded: what it fails with next comes for the first time."""
    with suppress(OSError):
        _path(run.layout.home, step).unlink(missing_ok=True)


def _path(home: Path, step: Step) -> Path:
    return home / "failures" / f"{step}.json"


def _position(home: Path) -> dict[str, int]:
    folders = [*home.glob(f"ledger/{LIVE}*"), home / "journal"]
    found = {str(one.relative_to(home)): documents.newest(one) for one in folders}
    increments = [int(one.name) for one in home.glob("increments/*") if one.name.isdecimal()]
    found["increments"] = max(increments, default=None)
    return {name: number for name, number in sorted(found.items()) if number is not None}
