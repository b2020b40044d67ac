"""Status and alerts of users: a session begins with an action and ends half an hour after the last.

Actions wait in the state until the watermark has passed them and are then taken in the order of
their times. So no file that comes late, but in time, changes what was said already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

# Microseconds, as Spark counts time; Spark's timers go by milliseconds.
MILLISECOND = 1000
GAP = 30 * 60 * 1000 * MILLISECOND
FAILURES = 3
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Session(NamedTuple):
    """What is known of a user who is active; as the state keeps it."""

    began: int
    last: int
    actions: int
    failed: int

    @property
    def ends(self) -> int:
        """When it ends unless something happens."""
        return self.last + GAP


Said = tuple[int, str, int]


def advance(
    session: Session | None, actions: Iterable[tuple[int, str]], now: int
) -> tuple[list[Said], Session | None]:
    """Take a user's actions up to a moment.

    Args:
        session: As it was before them; None for a user who was inactive.
        actions: Time in microseconds and kind, in the order of time.
        now: Nothing that happened until then is missing, in microseconds.

    Returns:
        What is to be said, each with its time, the status and the session's actions so far; and the
        session that goes on.
    """
    said: list[Said] = []
    for at, action in actions:
        if session is not None and session.ends <= at:
            said.append((session.ends, "inactive", session.actions))
            session = None
        if session is None:
            said.append((at, "active", 0))
            session = Session(at, at, 0, 0)
        failed = {"login_failed": session.failed + 1, "login": 0}.get(action, session.failed)
        session = Session(session.began, at, session.actions + 1, failed % FAILURES)
        if failed == FAILURES:
            said.append((at, "alert", session.actions))
    if session is not None and session.ends <= now:
        said.append((session.ends, "inactive", session.actions))
        session = None
    return said, session


class UserSessions(StatefulProcessor):
    """Keeps each user's session, and the actions that the watermark has not passed yet."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        columns = "began bigint, last bigint, actions int, failed int"
        self.session = handle.getValueState("session", columns)
        self.waiting = handle.getListState("waiting", "at bigint, action string")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        actions = [(row["micros"], row["action"]) for row in rows]
        self.waiting.appendList(actions)
        self._wake(min(at for at, _ in actions))
        return iter(())

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        now = timerValues.getCurrentWatermarkInMs() * MILLISECOND
        waiting = sorted((at, action) for at, action in self.waiting.get())
        due = [one for one in waiting if one[0] <= now]
        kept = self.session.get()
        said, session = advance(Session(*kept) if kept else None, due, now)
        self._keep(session, waiting[len(due) :])
        for at, status, actions in said:
            since = EPOCH + timedelta(microseconds=at)
            yield Row(user=key[0], since=since, status=status, actions=actions)

    def _keep(self, session: Session | None, waiting: list[tuple[int, str]]) -> None:
        if session is None:
            self.session.clear()
        else:
            self.session.update(tuple(session))
            self._wake(session.ends)
        if waiting:
            self.waiting.put(waiting)
            self._wake(waiting[0][0])
        else:
            self.waiting.clear()

    def _wake(self, at: int) -> None:
        """Be called when the watermark has passed a time."""
        self.handle.registerTimer(-(-at // MILLISECOND))


def transform(actions: DataFrame) -> DataFrame:
    # As a number: a timestamp in Python is in the zone of the machine, where hours come twice.
    timed = actions.withColumn("micros", F.unix_micros("at"))
    return timed.groupBy("user").transformWithState(
        statefulProcessor=UserSessions(),
        outputStructType="user string, since timestamp, status string, actions int",
        outputMode="Append",
        timeMode="EventTime",
        # A batch, as in a preview, has no watermark to continue with.
        eventTimeColumnName="since" if actions.isStreaming else "",
    )
