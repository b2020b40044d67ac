"""Errors of the file system: no space, no permission, no hard links.

The operating system says a number and perhaps a path; a person needs the folder, the free space
and what to do. Python, Arrow, delta-rs and the JVM each say it in a way of their own.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from tempfile import gettempdir

from tidemill.contract.errors import Refused, TidemillError, TransientError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# With less than that left a file system counts as full.
FEW_BYTES = 64 * 2**20
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
# As delta-rs spells a number, and as Java spells ENOSPC and EDQUOT.
_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_JAVA_FULL = ("No space left on device", "Disk quota exceeded")


class DiskFull(TransientError):
    """There is no space left, or no quota; carries `folder` and `free_bytes`."""


class NotPermitted(Refused):
    """This user may not read or write a file or folder; carries `path`."""


class NoHardLinks(Refused):
    """A file system on which no document can be written for once and for all; carries `folder`."""


def named(error: BaseException, folder: Path) -> TidemillError | None:
    """An error of the file system as one of ours; None where it is something else.

    Args:
        error: As Python, Arrow, delta-rs or Spark raised it.
        folder: Where it was written to, if the error itself does not say.
    """
    if isinstance(error, DiskFull):
        return error
    path = _path(error)
    if _number(error) in _FORBIDDEN and path is not None:
        return _forbidden(path, str(error))
    cause: BaseException | None = error
    while cause is not None:
        # A library may have put an error of its own around it.
        if _number(cause) in _FULL:
            return _full(_path(cause) or _fuller(folder), str(cause))
        cause = cause.__cause__ or cause.__context__
    return None


def _path(error: BaseException) -> Path | None:
    name = getattr(error, "filename", None)
    return Path(os.fsdecode(name)) if isinstance(name, str | bytes) else None


def _fuller(folder: Path) -> Path:
    """The folder, or that of temporary files where it has space left and that has none."""
    home, drafts = _existing(folder), Path(gettempdir())
    full = shutil.disk_usage(drafts).free < FEW_BYTES <= shutil.disk_usage(home).free
    return drafts if full else home


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise what the file system refuses by its name.

    Args:
        path: What is read or written within.

    Raises:
        DiskFull: there is no space left.
        NotPermitted: this user may not do that.
    """
    try:
        yield
    except OSError as error:
        ours = named(error, path.parent)
        if ours is None:
            raise
        raise ours from error


def hard_link(draft: Path, path: Path) -> None:
    """Put a draft in its place, unless something is there.

    Raises:
        FileExistsError: something is.
        NoHardLinks: the file system has no second names of a file.
    """
    try:
        os.link(draft, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        raise NoHardLinks(
            f"The file system of '{path.parent}' has no hard links ({os.strerror(error.errno)}), "
            "and without them two writers could overwrite each other.",
            remedy="Put TIDEMILL_ROOT on a file system that has them, such as ext4, XFS, ZFS or "
            "NFS; SMB (CIFS), exFAT and some FUSE mounts have none.",
            folder=path.parent,
        ) from error


def _number(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    text = str(error)
    found = _OS_ERROR.search(text)
    if found:
        return int(found[1])
    return errno.ENOSPC if any(words in text for words in _JAVA_FULL) else None


def _full(path: Path, text: str) -> DiskFull:
    folder = _existing(path)
    free = shutil.disk_usage(folder).free
    return DiskFull(
        f"There is no space left for '{folder}', or the quota of {_user()} is used up: "
        f"{free:,} bytes are free on its file system ({text}).",
        remedy=f"Make room there (df -h '{folder}'; quota -s); the next try goes on from what "
        "is there.",
        folder=folder,
        free_bytes=free,
    )


def _forbidden(path: Path, text: str) -> NotPermitted:
    return NotPermitted(
        f"User {_user()} may not do that with '{path}' ({text}).",
        remedy=f"See who may: namei -l '{path}'. Give the user the right, or mount the file "
        "system so that it can be written to; then run the same again.",
        path=path,
    )


def _existing(path: Path) -> Path:
    return next((one for one in (path, *path.parents) if one.is_dir()), Path("/"))


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        # A container may run under a number that has no name.
        return str(os.getuid())
