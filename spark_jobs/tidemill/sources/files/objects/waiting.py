"""Compares an object store with what was copied from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.objects.errors import ObjectKeyUnusable
from tidemill.contract.objects.found_object import FoundObject
from tidemill.contract.syntax.hadoop_glob import python_globs
from tidemill.sources.files.objects.fetched import FetchedObject
from tidemill.sources.files.source_tree import is_hidden
from tidemill.sources.probe_result import Problem
from tidemill.spec.sources.file import FileSource

# The most bytes of a name, on every common file system.
LONGEST_NAME = 255


class ObjectReplaced(Refused):
    """An object that was copied has other content now, which will never be read; has `keys`."""


@dataclass(frozen=True)
class Waiting:
    """An object store as it is now.

    Args:
        new: What the next run copies, the oldest first.
        replaced: What was copied and has other content now.
        unusable: What cannot be copied because of its key.
    """

    new: tuple[FoundObject, ...]
    replaced: tuple[FoundObject, ...]
    unusable: tuple[FoundObject, ...]

    @property
    def backlog_bytes(self) -> int:
        return sum(one.size for one in self.new)

    @property
    def oldest_new(self) -> datetime | None:
        return min((one.modified for one in self.new), default=None)

    @property
    def last_arrival(self) -> datetime | None:
        return max((one.modified for one in self.new), default=None)

    def problems(self, name: str, source: FileSource) -> list[Problem]:
        """What would be passed over, as errors that the spec rates.

        Args:
            name: The source's name.
        """
        found: list[Problem] = []
        if self.unusable:
            found.append(Problem(source.not_utf8, _unusable(self.unusable, source)))
        if self.replaced:
            found.append(Problem(source.redelivered, _replaced(self.replaced, name, source)))
        return found


def compare(
    source: FileSource, listed: Sequence[FoundObject], fetched: Mapping[str, FetchedObject]
) -> Waiting:
    """Compare a listing with what was copied.

    Objects that Spark would pass over are left out: hidden names, and those that
    `pathGlobFilter` does not match.

    Args:
        listed: Every object, the oldest first.
        fetched: Key -> the object as it was copied.
    """
    folders = {str(parent) for one in listed for parent in PurePosixPath(one.key).parents}
    readable = [one for one in listed if _is_read(one, source) and not _is_marker(one, folders)]
    new = [one for one in readable if one.key not in fetched]
    unusable = {one for one in new if _is_unusable(one.key, folders)}
    return Waiting(
        new=tuple(one for one in new if one not in unusable),
        replaced=tuple(
            one
            for one in readable
            if one.key in fetched and not fetched[one.key].is_content_of(one)
        ),
        unusable=tuple(one for one in new if one in unusable),
    )


def _is_read(found: FoundObject, source: FileSource) -> bool:
    *folders, name = PurePosixPath(found.key).parts
    filters = python_globs(source.reader_option("pathGlobFilter") or "*")
    hidden = any(is_hidden(one) for one in (*folders, name))
    return not hidden and any(fnmatchcase(name, one) for one in filters)


def _is_marker(found: FoundObject, folders: set[str]) -> bool:
    """Whether it is what consoles of stores write for a folder."""
    return found.size == 0 and found.key in folders


def _is_unusable(key: str, folders: set[str]) -> bool:
    parts = PurePosixPath(key).parts
    too_long = any(len(part.encode()) > LONGEST_NAME or "\0" in part for part in parts)
    return too_long or ".." in parts or key in folders


def _unusable(objects: Sequence[FoundObject], source: FileSource) -> ObjectKeyUnusable:
    return ObjectKeyUnusable(
        f"{_named(objects)} in {_url(source)} cannot be copied to a file: a part of the key is "
        f"longer than {LONGEST_NAME} bytes, or is a file and a folder at once.",
        remedy="Deliver it under another key, and delete the object.",
        keys=[one.key for one in objects],
    )


def _replaced(objects: Sequence[FoundObject], name: str, source: FileSource) -> ObjectReplaced:
    return ObjectReplaced(
        f"{_named(objects)} in {_url(source)} has other content than was copied; the new content "
        "will never be read.",
        remedy="Deliver the new content under a key of its own, and put the old object back; or "
        f"set sources.{name}.redelivered: warn to go on without it.",
        keys=[one.key for one in objects],
    )


def _named(objects: Sequence[FoundObject]) -> str:
    more = len(objects) - 1
    return f"'{objects[0].key}'" + (f" (and {counted(more, 'other object')})" if more else "")


def _url(source: FileSource) -> str:
    return source.fetch.url if source.fetch else ""
