"""A user's streaming query listeners, registered while one query runs."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQueryListener

from tidemill.contract.errors import SpecError
from tidemill.contract.log import Log
from tidemill.contract.user_code import load_module
from tidemill.spec.pipeline import Pipeline
from tidemill.storage.run_context import RunContext

# For the event of its end, which is on its way when a query has ended.
LAST_EVENT_SECONDS = 10


class ListenerUnusable(SpecError):
    """A listener that the spec names is not there, or is not one; carries `listener`."""


@contextmanager
def listening(session: SparkSession, run: RunContext) -> Iterator[None]:
    """Let the spec's listeners hear of one pipeline's query while the context lasts.

    Args:
        run: The run; its log gets a line where a listener fails, which never fails the query.

    Raises:
        ListenerUnusable: one cannot be made.
    """
    pipeline = run.pipeline
    own = [_made(pipeline, named) for named in pipeline.spec.listeners]
    listeners = [_OfOneQuery(pipeline.name, named, one, run.log) for named, one in own]
    for listener in listeners:
        session.streams.addListener(listener)
    try:
        yield
    finally:
        for listener in listeners:
            listener.wait_for_the_end()
            session.streams.removeListener(listener)


class _OfOneQuery(StreamingQueryListener):
    """Hands on the events of one pipeline's query: a session may run those of others, too."""

    def __init__(self, query: str, named: str, own: StreamingQueryListener, log: Log) -> None:
        self._query, self._named, self._own, self._log = query, named, own, log
        self._runs: set[str] = set()
        self._ended = Event()

    def wait_for_the_end(self) -> None:
        """Wait until the listener has heard of the query's end, if it began."""
        if self._runs:
            self._ended.wait(LAST_EVENT_SECONDS)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        if event.name == self._query:
            self._runs.add(str(event.runId))
        self._tell("onQueryStarted", event, event.runId)

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self._tell("onQueryProgress", event, event.progress.runId)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        self._tell("onQueryIdle", event, event.runId)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self._tell("onQueryTerminated", event, event.runId)
        if str(event.runId) in self._runs:
            self._ended.set()

    def _tell(self, method: str, event: Any, run: object) -> None:
        if str(run) not in self._runs:
            return
        try:
            getattr(self._own, method)(event)
        except Exception as error:  # noqa: BLE001 (it is the user's, and only listens)
            self._log(f"listener {self._named} failed in {method}: {error!r}")


def _made(pipeline: Pipeline, named: str) -> tuple[str, StreamingQueryListener]:
    module_name, _, class_name = named.partition(":")
    path = pipeline.project.listener(module_name)
    try:
        if path.is_file():
            module = load_module(f"tidemill_listener_{path.stem}", path)
        else:
            module = importlib.import_module(module_name)
        own = getattr(module, class_name)()
    except Exception as error:
        raise _unusable(pipeline, named, path, f"cannot be made ({error!r})") from error
    if not isinstance(own, StreamingQueryListener):
        raise _unusable(pipeline, named, path, "is not a StreamingQueryListener")
    return named, own


def _unusable(pipeline: Pipeline, named: str, path: Path, what: str) -> ListenerUnusable:
    return ListenerUnusable(
        f"{pipeline.spec_file}: the listener '{named}' {what}.",
        remedy=f"Write the class in {path}, or install its package.",
        path=pipeline.spec_file,
        field="listeners",
        listener=named,
    )
