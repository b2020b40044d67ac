"""A writer on the other host: one action, stopped at a point of its own code.

    python -m tests.hosts.writer HOST PLAYED HOME BUCKET STOP ACTION [ARGUMENT...]

`BUCKET` is the URL of the root where that is in an object store, and empty otherwise. `STOP` is
`link <end of a path>` (before that document gets its name), `before <module>:<name>` or
`after <module>:<name>` (of a function, or of a class's method). There it says `stopped`, and goes
on when it gets a line. At its end it says `ended`, and its outcome or the error of its report.
"""

from __future__ import annotations

import importlib
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.histories.history_builder import History
from tidemill.contract.errors import TidemillError
from tidemill.ledger.run_increment import remember
from tidemill.steps.parts.run import perform
from tidemill.steps.parts.seal import seal
from tidemill.steps.publish import publish
from tidemill.storage import heartbeat, lease
from tidemill.storage import processes as process
from tidemill.storage.lease import hold
from tidemill.storage.run_context import RunContext

CREATE = "tidemill.contract.objects.object_path:ObjectPath.create"


def main(
    host: str, played: str, home: str, bucket: str, stop: str, action: str, *arguments: str
) -> None:
    if played:
        play_host(host)
    else:
        socket.sethostname(host)
    heartbeat.BEAT_SECONDS = 0.1
    history = History(Path(home), bucket=bucket or None)
    if stop:
        _stop_at(stop, in_bucket=bool(bucket))
    say(f"ended {ACTIONS[action](history, *arguments)}")


def play_host(host: str) -> None:
    """Answer as a process on another host does when it is asked who and where it is."""
    boot = "another-boot" if host == socket.gethostname() else process._boot()
    setattr(socket, "gethostname", lambda: host)  # noqa: B010
    setattr(process, "_boot", lambda: boot)  # noqa: B010
    setattr(process, "_machine", lambda: None)  # noqa: B010
    setattr(process, "_namespace", lambda: 4026532180)  # noqa: B010


def say(line: str) -> None:
    print(line, flush=True)


def _wait() -> None:
    say("stopped")
    sys.stdin.readline()


def _stop_at(stop: str, *, in_bucket: bool) -> None:
    when, _, where = stop.partition(" ")
    # What gives a document its name, and where its path is among the arguments.
    link, place = (CREATE, 0) if in_bucket else ("os:link", 1)
    owner, name = _named(link if when == "link" else where)
    function = getattr(owner, name)

    def paused(*given: Any, **options: Any) -> Any:
        if when == "before" or (when == "link" and str(given[place]).endswith(where)):
            _wait()
        answer = function(*given, **options)
        if when == "after":
            _wait()
        return answer

    setattr(owner, name, paused)


def _named(where: str) -> tuple[Any, str]:
    """What a function belongs to, and its name there."""
    module, _, path = where.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for one in owners:
        owner = getattr(owner, one)
    return owner, name


def _publish(history: History, run_id: str) -> str:
    run = RunContext(history.pipeline, run_id, say, spark=False)
    report = perform("publish", publish, run)
    return str(report.outcome) if report.error is None else str(report.error["code"])


def _publish_and_leave(history: History, run_id: str) -> str:
    """As the command-line processes do."""
    lease.leave_on_loss()
    return _publish(history, run_id)


def _seal(history: History, run_id: str) -> str:
    """Seal as the gate does, before it judges."""
    try:
        with history.run(run_id).hold("gate") as held:
            number = seal(held, history.snapshot)
            assert number is not None
            remember(history.layout.run(run_id), number)
    except TidemillError as error:
        return error.code
    return "done"


def _hold(history: History, time_limit: str) -> str:
    """Hold the lease, as a process that leaves when it is lost, until it is told to end."""
    lease.leave_on_loss()
    with hold(history.layout.lease, step="x", run_id="elsewhere", time_limit=float(time_limit)):
        _wait()
    return "done"


ACTIONS: dict[str, Callable[..., str]] = {
    "publish": _publish,
    "publish and leave": _publish_and_leave,
    "seal": _seal,
    "hold": _hold,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
