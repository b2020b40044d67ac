"""Has the JVM forget objects that Python no longer holds, many by one call.

py4j tells the JVM of each by a call of its own: a third of all calls by which a query is planned.

Relies on the queue from which py4j's `JavaClient` has a thread of its own take such objects, and on
`Gateway.deleteObject`.
"""

from collections import deque
from contextlib import suppress
from typing import Any

from py4j.protocol import ENTRY_POINT_OBJECT_ID, GATEWAY_SERVER_OBJECT_ID
from pyspark.sql import SparkSession

from tidemill.engine.spark_internals.java_object import java_object

MANY = 200
LASTING = (ENTRY_POINT_OBJECT_ID, GATEWAY_SERVER_OBJECT_ID)
NAME = "tidemill.ForgetObjects"
SOURCE = """
package tidemill;

import java.util.StringTokenizer;
import py4j.Gateway;

public final class ForgetObjects {
  public void of(Gateway gateway, String names) {
    StringTokenizer each = new StringTokenizer(names);
    while (each.hasMoreTokens()) gateway.deleteObject(each.nextToken());
  }
}
"""


class ReleasedObjects:
    """Stands before py4j's queue, and collects what comes one by one.

    Python's garbage collector calls it, within any other call: it takes no lock.

    Args:
        client: py4j's, with its queue.
        session: Any session of the JVM.
    """

    def __init__(self, client: Any, session: SparkSession) -> None:
        self._client, self._queue = client, client.finalizer_deque
        self._names: deque[str] = deque()
        gateway: Any = session.sparkContext._gateway
        self._gateway = gateway.java_gateway_server.getGateway()
        self._java = java_object(session, NAME, SOURCE)

    def appendleft(self, task: Any) -> None:
        """What py4j calls with a client and a name, or with the word that ends its thread."""
        if not isinstance(task, tuple):
            self._queue.appendleft(task)
        elif task[1] not in LASTING:
            self._names.append(task[1])
            if len(self._names) >= MANY:
                self._queue.appendleft((self, MANY))

    def garbage_collect_object(self, most: int, _: bool) -> None:
        """What py4j's thread calls for each task."""
        names: list[str] = []
        with suppress(IndexError):
            names.extend(self._names.popleft() for _ in range(most))
        # The JVM may go meanwhile.
        with suppress(Exception):
            if names and self._client.is_connected:
                self._java.of(self._gateway, " ".join(names))


def release_together(session: SparkSession) -> None:
    """Let the JVM of a session forget objects many at a time."""
    gateway: Any = session.sparkContext._gateway
    client = gateway._gateway_client
    if isinstance(getattr(client, "finalizer_deque", None), deque):
        client.finalizer_deque = ReleasedObjects(client, session)
