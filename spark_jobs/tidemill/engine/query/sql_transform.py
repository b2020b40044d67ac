"""A transform in SQL: one SELECT over views that are named like the sources and static inputs.

The views are made in a copy of the session that nothing else uses, so that no other pipeline of the
process meets them, and the SELECT meets no view or table but its own inputs.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from tidemill.contract.errors import SpecError
from tidemill.contract.syntax.sql_text import RUN_JAVA, java_call
from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.scratch_session import ScratchSession

PLACE = re.compile(r"\(?\bline (\d+),? pos (\d+)\)?")
# What Spark says of a function that the session does not have; the second of its whole name.
NO_FUNCTION = ("UNRESOLVED_ROUTINE", "REQUIRES_SINGLE_PART_NAMESPACE")


class SqlRefused(SpecError):
    """A SELECT that Spark cannot make a plan of; carries `path`, `line` and `condition`."""


@dataclass(frozen=True)
class SqlTransform:
    """The result of a SQL transform."""

    path: Path

    def __call__(self, **inputs: DataFrame) -> DataFrame:
        """The SELECT's rows.

        Raises:
            SqlRefused: it is not a SELECT, or Spark refuses it.
        """
        session = next(iter(inputs.values())).sparkSession
        catalyst, scratch = Catalyst(session), ScratchSession(session, without=RUN_JAVA)
        for name, frame in inputs.items():
            scratch.create_view(name, frame)
        text = self.path.read_text(encoding="utf-8")
        try:
            # Before it is run: Spark carries a command out as soon as it is asked about.
            self._refuse_command(scratch.command_in(text))
            # The same plan as a transform in Python gives: without views and WITH.
            plan = catalyst.without_views(catalyst.inlined(scratch.analysed(text)))
            return catalyst.frame(plan)
        except PySparkException as error:
            raise self._refused(error, text, [*inputs]) from error

    def _refuse_command(self, command: str | None) -> None:
        if command is not None:
            raise SqlRefused(
                f"{self.path}: the transform is not a SELECT but a {command}.",
                remedy="Write one SELECT over the views that are named like the sources.",
                path=self.path,
                line=None,
                field="transform",
                condition=None,
            )

    def _refused(self, error: PySparkException, text: str, views: list[str]) -> SqlRefused:
        message = " ".join(str(error).split("\n\n")[0].split("\n== SQL")[0].split())
        line = _line(error, text)
        place = f"{self.path}:{line}" if line else str(self.path)
        condition = error.getCondition()
        remedy = "Fix it."
        if condition in NO_FUNCTION and java_call(text) is not None:
            remedy = f"It may not call {java_call(text)}(), which could run any method of Java."
        if condition == "TABLE_OR_VIEW_NOT_FOUND":
            remedy = f"It can read {', '.join(views)}, and nothing else."
        return SqlRefused(
            f"{place}: Spark refuses the transform: {PLACE.sub('', message).strip(' ;')}",
            remedy=remedy,
            path=self.path,
            line=line,
            field="transform",
            condition=condition,
        )


def _line(error: PySparkException, text: str) -> int | None:
    """The position in the text, if Spark gives it."""
    for context in error.getQueryContext():
        try:
            return text.count("\n", 0, context.startIndex()) + 1
        except PySparkException:
            continue
    place = PLACE.search(str(error))
    return int(place[1]) if place else None
