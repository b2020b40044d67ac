"""Deletes or archives one input file, safely against kills in between.

The file is claimed first, under a hidden name beside it that Spark does not list: whatever takes
its old name from then on is another file and stays. A claim is put back if it turns out not to be
what was read. Nothing is ever written over, and a crash anywhere is taken up where it was left.
"""

import os
import shutil
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tidemill.contract.content_hash import sha256_of
from tidemill.ledger.input_file import InputFile
from tidemill.storage.sync import make_folder, sync_folder

Check = Callable[[], None]


class Kept(Exception):
    """A file stays where it is, and why."""


def claim_of(path: Path) -> Path:
    """The hidden name under which a file is put away."""
    return path.with_name(f".{path.name}.tidemill")


def delete(file: InputFile, within: Path, check: Check) -> None:
    """Remove a file that is what was read.

    Args:
        within: The source's directory, outside of which nothing is touched.
        check: Called before each step that cannot be undone; raises where nothing may be written.

    Raises:
        Kept: it is not, or not there.
        OSError: the file system refuses.
    """
    claim = _claim(file, within, check)
    check()
    claim.unlink()


def archive(file: InputFile, within: Path, to: Path, check: Check) -> None:
    """Move a file that is what was read.

    Args:
        within: The source's directory.
        to: Where to; its folders are made.

    Raises:
        Kept: it is not what was read, or another file is there already.
        OSError: the file system refuses.
    """
    if file.is_at(to) and not os.path.lexists(file.path) and not claim_of(file.on_disk).exists():
        return
    claim = _claim(file, within, check)
    check()
    make_folder(to.parent)
    try:
        _link(claim, to)
    except FileExistsError:
        if not _is_copy(to, claim):
            _put_back(claim, file.on_disk)
            why = f"{to} is there already"
            raise Kept(why) from None
    sync_folder(to.parent)
    claim.unlink()


def _claim(file: InputFile, within: Path, check: Check) -> Path:
    path, claim = file.on_disk, claim_of(file.on_disk)
    if not path.parent.resolve().is_relative_to(within.resolve()):
        raise Kept("it is outside the source's directory")
    if not claim.exists():
        if path.is_symlink():
            raise Kept("it is a link")
        if not path.exists():
            raise Kept("it is gone")
        if not file.is_at(path):
            raise Kept("it is not the file that was read")
        check()
        path.rename(claim)
    if not file.is_at(claim):
        _put_back(claim, path)
        raise Kept("it is not the file that was read")
    return claim


def _put_back(claim: Path, path: Path) -> None:
    # If there is a new file, the claimed one stays hidden beside it: neither is lost.
    with suppress(FileExistsError):
        os.link(claim, path)
        claim.unlink()


def _link(claim: Path, to: Path) -> None:
    """Give a file a second name, on another file system or one without links a copy."""
    try:
        os.link(claim, to)
    except FileExistsError:
        raise
    except OSError:
        _copy(claim, to)


def _copy(claim: Path, to: Path) -> None:
    draft = to.with_name(f".{to.name}.{uuid.uuid4().hex}.draft")
    try:
        shutil.copy2(claim, draft)
        with draft.open("rb") as content:
            os.fsync(content.fileno())
        try:
            os.link(draft, to)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links; only the holder of the lease writes here.
            if to.exists():
                raise FileExistsError(to) from None
            draft.replace(to)
    finally:
        draft.unlink(missing_ok=True)


def _is_copy(found: Path, claim: Path) -> bool:
    """Whether an earlier run got as far as this."""
    if found.samefile(claim):
        return True
    return found.stat().st_size == claim.stat().st_size and sha256_of(found) == sha256_of(claim)
