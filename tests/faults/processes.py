"""Work in a process of its own that may be killed, forked where everything is imported already."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any


class Killed(Exception):
    """The process was killed before its work was done."""


def forked(work: Callable[[], Any]) -> Any:
    """The result of some work, as JSON gives it back, done by a child.

    Args:
        work: Its result is plain data. This process must not have started threads, such as those
            of Delta: a child would have their locks without them.

    Raises:
        Killed: SIGKILL ended it.
        RuntimeError: it raised something itself.
    """
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _finish(work, theirs)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    if not said:
        raise Killed
    answer = json.loads(said)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["result"]


def _finish(work: Callable[[], Any], pipe: int) -> None:
    """Do the work, and end without what an interpreter does at its end."""
    try:
        answer = {"result": work()}
    except BaseException as error:  # noqa: BLE001 - the parent raises it
        answer = {"error": f"{type(error).__name__}: {error}"}
    with os.fdopen(pipe, "wb") as file:
        file.write(json.dumps(answer).encode())
    os._exit(0)
