"""What does not go with a root in an object store, and is refused there before anything is done.

A command is marked by `disk_only`.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from tidemill.contract.errors import UsageError
from tidemill.contract.objects.object_path import URL, ObjectPath
from tidemill.spec.complaints import Location
from tidemill.spec.root import given_root
from tidemill.spec.spec import Spec

Given = ParamSpec("Given")
Result = TypeVar("Result")
# They would rename files of a checkpoint, or overwrite a batch that another driver has written.
UNSAFE = re.compile(
    r"spark\.sql\.streaming\.checkpointFileManagerClass"
    r"|(spark\.hadoop\.)?fs\.s3a\.(bucket\.[^.]+\.)?(create\.performance|performance\.flags)"
)


class DiskRootNeeded(UsageError):
    """A command or a setting needs a root on a disk; carries `root`, and `command` or `field`."""


def disk_only(
    remedy: str, name: str | None = None
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Mark a command that needs a root on a disk: elsewhere it is refused before it begins.

    Args:
        remedy: What to do instead.
        name: Its name; that of its function where not given.
    """

    def mark(command: Callable[Given, Result]) -> Callable[Given, Result]:
        @wraps(command)
        def checked(*arguments: Given.args, **options: Given.kwargs) -> Result:
            root = object_root(os.environ)
            if root is not None:
                called = name or command.__name__
                raise DiskRootNeeded(
                    f"`tidemill {called}` needs a root on a disk, and TIDEMILL_ROOT is {root}.",
                    remedy=remedy,
                    root=root,
                    command=called,
                )
            return command(*arguments, **options)

        return checked

    return mark


def object_root(environ: Mapping[str, str]) -> str | None:
    """The URL of the root where it is in an object store; None for any other, or without one."""
    given = given_root(environ)
    return given if given and URL.fullmatch(given) else None


def refuse_disk_settings(spec: Spec, root: Path) -> None:
    """Refuse a spec that does not go with its root.

    Raises:
        DiskRootNeeded: the root is in an object store, and a setting needs one on a disk.
    """
    if not isinstance(root, ObjectPath):
        return
    for at, what, remedy in disk_settings(spec):
        raise DiskRootNeeded(
            f"{what}, and TIDEMILL_ROOT is {root}.",
            remedy=remedy,
            root=str(root),
            field=".".join(map(str, at)),
        )


def disk_settings(spec: Spec) -> Iterator[tuple[Location, str, str]]:
    """The settings of a spec that need a root on a disk: where, what, and what to do instead."""
    for name in filter(UNSAFE.fullmatch, spec.spark.conf):
        yield (
            ("spark", "conf", name),
            f"spark.conf: {name} goes with a root on a disk only",
            "Take it out of the spec: Tidemill sets how Spark writes below this root.",
        )
