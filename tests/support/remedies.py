"""Carries out the command that a message names, as far as that needs no Spark."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Protocol

from typer.testing import CliRunner

from tests.support.typed_commands import typed
from tidemill.cli.app import app
from tidemill.contract.errors import ExitCode
from tidemill.contract.report import Outcome
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.spec.pipeline import Pipeline
from tidemill.steps.decisions.follow import due_now, named
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage.run_context import RunContext

# Commands that compute with Spark. Their run's doctor decides whether they can.
COMPUTES = ("run", "backfill", "rebuild", "redo", "replay", "follow")
# Commands that need a yes, which a person gives at a terminal.
ASKING = ("drop", "checkpoint repair", "target repair", "lease repair", "flush")
DAY = {"from": datetime(2024, 1, 1, tzinfo=UTC), "to": datetime(2024, 1, 2, tzinfo=UTC)}
VALUES = {"TEXT": "as the message says"}


class Place(Protocol):
    """A pipeline of a test."""

    @property
    def pipeline(self) -> Pipeline: ...

    @property
    def environ(self) -> dict[str, str]: ...


def carry_out(place: Place, remedy: str, command: str) -> str:
    """Do what a message says.

    Args:
        place: The pipeline, whose commands are typed in its environment.
        remedy: The message's, which has to name the command.
        command: The first words of the command, such as `checkpoint repair`.

    Returns:
        What the command printed; "" if a doctor stood for it.
    """
    found = (typed(remedy[start.end() :]) for start in re.finditer(r"\btidemill ", remedy))
    words = [one for one in found if one and " ".join(one).startswith(command)]
    assert words, f"no `tidemill {command}` in: {remedy}"
    first = [VALUES.get(word, word) for word in words[0]]
    if first[0] in COMPUTES:
        can_begin(place.pipeline, first)
        return ""
    confirmed = ["--yes"] if any(" ".join(first).startswith(it) for it in ASKING) else []
    typed_in = {"env": place.environ, "catch_exceptions": False}
    answer = CliRunner().invoke(app, [*first, *confirmed], **typed_in)
    assert answer.exit_code == ExitCode.DONE, answer.output
    return answer.output


def can_begin(pipeline: Pipeline, words: list[str]) -> None:
    """The doctor of a run that a command starts finds nothing against it, and something to do."""
    run_id = f"{words[0]}-{datetime.now(UTC):%H%M%S%f}"
    if words[0] != "run":
        asked: dict[str, Any] = {"role": words[0], "by": "ada", "reason": "as the message says"}
        if words[0] == "follow":
            _, due = due_now(pipeline)
            assert due is not None
            asked |= {"role": "backfill", "partitions": named(due)}
        if words[0] == "backfill":
            asked |= {"start": DAY["from"], "end": DAY["to"]}
        if "--accept-loss" in words:
            asked["accept_loss"] = True
        fix_request(pipeline.layout.run(run_id), RunRequest(**asked))
    report = perform("doctor", doctor, RunContext(pipeline, run_id, lambda _: None))
    assert report.outcome is Outcome.DONE, report.error
