"""What does not go with a root in an object store, and is refused there before anything is done."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.contract.objects.object_path import URL, ObjectPath
from tidemill.spec.complaints import Location
from tidemill.spec.root import given_root
from tidemill.spec.spec import Spec

# They would rename files of a checkpoint, or overwrite a batch that another driver has written.
UNSAFE = re.compile(
    r"spark\.sql\.streaming\.checkpointFileManagerClass"
    r"|(spark\.hadoop\.)?fs\.s3a\.(bucket\.[^.]+\.)?(create\.performance|performance\.flags)"
)


class DiskRootNeeded(UsageError):
    """A setting needs a root on a disk; carries `root` and `field`."""


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
