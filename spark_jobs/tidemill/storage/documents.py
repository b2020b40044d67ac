"""Writes documents once, whole or not at all: by hard link, or by conditional put in a bucket.

Ledger, increments, journal, notes and leases are made of these. None of them is ever renamed
over another, so a writer that was paused and woke too late cannot undo what came after it.
"""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tidemill.contract.document import MAJOR, NEWER_FORMAT, Document
from tidemill.contract.errors import Refused, TransientError
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.storage.disk_errors import disk_errors, hard_link
from tidemill.storage.folders import names_in
from tidemill.storage.sync import make_folder, sync_folder

Kind = TypeVar("Kind", bound=Document)


class NewerFormat(Refused):
    """A newer version of Tidemill wrote a document; carries `path`, `version` and `known`."""


class TornDocument(Refused):
    """A document of ours cannot be read back; carries `path`."""


class NotReadableBack(Refused):
    """A document would be one that cannot be read; it was not written. Carries `path`, `field`."""


class AlreadyWritten(TransientError):
    """Another writer has put a document where ours was to be; carries `path`."""


def put(path: Path, document: Document) -> None:
    """Write a document that must be the only one at its path.

    Raises:
        AlreadyWritten: another one is there.
    """
    if put_if_absent(path, document) != document:
        raise AlreadyWritten(
            f"Another process has written {path} first.",
            remedy="The next try goes on from what is there.",
            path=path,
        )


def put_if_absent(path: Path, document: Kind) -> Kind:
    """Write a document unless one is there.

    Returns:
        The document that is there now: this one, or that of whoever was first.

    Raises:
        TornDocument: one is there and cannot be read.
        NotReadableBack: this one could not be read once it is written.
        NoHardLinks: the file system cannot keep a second writer out.
        DiskFull: there is no space left for it.
        NotPermitted: this user may not write there.
    """
    while True:
        if _link(path, document):
            return document
        found = read(path, type(document))
        if found is not None:
            return found


def _link(path: Path, document: Document) -> bool:
    """Write a document unless one is there; whether this call wrote it."""
    content = _readable_back(path, document)
    if isinstance(path, ObjectPath):
        # A put whose reply was lost is found again by who compares the documents.
        return path.create(content.encode())
    with disk_errors(path):
        return _link_content(path, content)


def _readable_back(path: Path, document: Document) -> str:
    content = document.content()
    try:
        type(document).parse(content)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise NotReadableBack(
            f"{path}: {field or 'the document'} could not be read again ({first['msg']}).",
            remedy="Nothing was written. Give it as plain text: no byte of it may be no UTF-8.",
            path=path,
            field=field,
        ) from error
    return content


def _link_content(path: Path, content: str) -> bool:
    make_folder(path.parent)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.draft")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            hard_link(draft, path)
        except FileExistsError:
            # NFS repeats a request whose answer was lost, and then finds what it made itself.
            if draft.stat().st_nlink != 2:
                return False
        finally:
            # Also of one who may have died between its link and this.
            sync_folder(path.parent)
        return True
    finally:
        draft.unlink(missing_ok=True)


def replace(path: Path, document: Document) -> None:
    """Put a document that only informs in the place of the one before.

    The last writer wins, and no write waits for the disk: only for what can be computed again.
    """
    if isinstance(path, ObjectPath):
        path.write_text(document.content())
        return
    make_folder(path.parent)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.draft")
    try:
        with disk_errors(path):
            draft.write_text(document.content(), encoding="utf-8")
            draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read(path: Path, model: type[Kind]) -> Kind | None:
    """The document at a path, or None where there is none.

    Raises:
        TornDocument: it is there and is not what was written.
        NewerFormat: a version of Tidemill wrote it whose documents this one cannot read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return model.parse(content)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == NEWER_FORMAT:
            raise _newer(path, first["ctx"]["version"]) from None
        raise TornDocument(
            f"{path} is damaged ({first['msg']}).",
            remedy="Restore it from a backup of TIDEMILL_ROOT; no program of ours rewrites it.",
            path=path,
        ) from error


def _newer(path: Path, version: str) -> NewerFormat:
    return NewerFormat(
        f"{path} has format {version}, and this version of Tidemill reads formats up to {MAJOR}.x.",
        remedy="Upgrade Tidemill to the version that wrote it, or to a newer one.",
        path=path,
        version=version,
        known=f"{MAJOR}.x",
    )


def read_if_whole(path: Path, model: type[Kind]) -> Kind | None:
    """A document that only informs; None where there is none or it cannot be read."""
    try:
        return read(path, model)
    except (TornDocument, NewerFormat):
        return None


def numbered(folder: Path, suffix: str = ".json") -> Iterator[tuple[int, Path]]:
    """The documents named by number in a folder, in order."""
    for number, name in sorted(_named(folder, suffix)):
        yield number, folder / name


def numbers(folder: Path) -> list[int]:
    """The numbers of the documents in a folder, in any order."""
    return [number for number, _ in _named(folder, ".json")]


def _named(folder: Path, suffix: str) -> Iterator[tuple[int, str]]:
    try:
        names = names_in(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        number = name.removesuffix(suffix)
        if name.endswith(suffix) and number.isdecimal():
            yield int(number), name


def exists(folder: Path, number: int) -> bool:
    """Whether a folder has the document of a number.

    Raises:
        OSError: it cannot be told: the folder's disk does not answer.
    """
    try:
        (folder / f"{number:06d}.json").stat()
    except FileNotFoundError:
        return False
    return True


def newest(folder: Path, known: int | None = None) -> int | None:
    """The greatest number of a document in a folder, None where there is no document.

    Args:
        folder: A folder of documents that are numbered without a gap. Upkeep may remove them, the
            oldest first.
        known: A number that was there before: only those after it are looked for then, by name,
            and nothing is listed.
    """
    if known is not None and exists(folder, known):
        found = _last_from(folder, known)
        # Where it is there still, its successor was not removed, but had not been written yet.
        if exists(folder, found):
            return found
    return max(numbers(folder), default=None)


def _last_from(folder: Path, known: int) -> int:
    """The last number of the documents that follow each other from one that is there."""
    last, step = known, 1
    while exists(folder, last + step):
        last += step
        step *= 2
    missing = last + step
    while missing - last > 1:
        middle = (last + missing) // 2
        if exists(folder, middle):
            last = middle
        else:
            missing = middle
    return last


def as_json(document: BaseModel) -> dict[str, Any]:
    """Plain data for `--json` and for commit metadata."""
    return document.model_dump(mode="json")
