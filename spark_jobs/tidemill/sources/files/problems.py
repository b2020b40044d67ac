"""Problems with what is in a file source's folder, as errors that the spec rates."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from tidemill.contract.clock import wall_clock
from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.sources.files.listing import Found
from tidemill.sources.files.scan import Scan
from tidemill.sources.probe_result import Problem
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource

A_MOMENT = timedelta(hours=1)


class InputChanged(Refused):
    """A file that was read was written to since; what was added will never be read."""


class InputRedelivered(Refused):
    """Another file has taken the path or name of one that was read; it will never be read."""


class InputTooOld(Refused):
    """A file is older than `maxFileAge` lets Spark see; it will never be read."""


class InputAhead(Refused):
    """A file is dated in the future, which makes every other too old for `maxFileAge`."""


class InputOverlooked(Refused):
    """A file is in a directory that Spark does not read; carries `files`."""


class InputNameNotUtf8(Refused):
    """A file has a name that is not UTF-8, so that Java, and with it Spark, does not see it."""


class InputNameUnreadable(Refused):
    """Spark cannot read a file because of its name, or of a folder's; carries `files`."""


class InputPassedOver(Refused):
    """Spark passes over a file that is hidden, or a link to nothing. Said, never refused."""


class InputDoubled(Refused):
    """A file has the content of another, so that its rows would be there twice."""


def problems_of_scan(name: str, source: FileSource, scan: Scan, pipeline: str) -> list[Problem]:
    """The problems of a scan, the gravest first.

    Args:
        pipeline: Its name, for the commands in the messages.
    """
    place = f"sources.{name}"
    rebuild = f"tidemill rebuild {pipeline} --reason TEXT"
    copies = {
        str(file.path): f"{file.path}, like {first}," for file, first in scan.same_content.items()
    }
    found = (
        file_problem(
            Rating.WARN,
            _paths(scan.overlooked),
            InputOverlooked,
            "is in a directory that Spark does not read",
            f"Set {place}.options.recursiveFileLookup to read it.",
        ),
        file_problem(
            Rating.WARN,
            {str(path): str(path) for path in scan.passed_over},
            InputPassedOver,
            "is not read: Spark passes over names that begin with '_' or '.', and links that lead "
            "nowhere",
            "Rename it if it holds data; otherwise move it out of the source's directory.",
        ),
        file_problem(
            source.not_utf8,
            _paths(scan.not_utf8),
            InputNameNotUtf8,
            "has a name that is not UTF-8 (ls -b shows it), and Spark does not see it",
            f"Rename it; convmv renames many (or set {place}.not_utf8: warn).",
        ),
        file_problem(
            Rating.HOLD,
            _paths(scan.with_colon),
            InputNameUnreadable,
            "has ':' in its name, with which Spark cannot open it",
            f"Rename it, e.g. with '-' for ':' (find '{source.directory}' -name '*:*' shows all).",
        ),
        file_problem(
            Rating.HOLD,
            _paths(scan.nameless_partition),
            InputNameUnreadable,
            "is in a partition folder (k=v) without a name or a value, and Spark then lists no "
            "file of the source",
            "Rename the folder, e.g. 'y=' to 'y=unknown', or move it out of the source's "
            "directory.",
        ),
        file_problem(
            Rating.HOLD,
            _paths(scan.partition_of_today),
            InputNameUnreadable,
            "is in a partition folder (k=v) with a time without a date, to which Spark would give "
            "the date of the run",
            f"Rename the folder with its date, or declare the column as string in {place}.schema.",
        ),
        file_problem(
            Rating.HOLD,
            _paths(scan.mistyped_partition),
            InputNameUnreadable,
            "is in a partition folder (k=v) whose value is not of the column's type",
            f"Rename the folder, or declare the column as string in {place}.schema.",
        ),
        file_problem(
            source.changed,
            _paths(scan.changed),
            InputChanged,
            "changed after it was read; what it holds now is never read",
            "To publish what it holds now, read all input again: "
            f"{rebuild}. Or deliver the new content under a new name and put the old file back "
            f"(or set {place}.changed: warn).",
        ),
        file_problem(
            source.redelivered,
            _paths(scan.redelivered),
            InputRedelivered,
            "has the name of a file that was read and is another; it is never read",
            f"Deliver it under a new name, or read all input again: {rebuild} "
            f"(or set {place}.redelivered: warn).",
        ),
        file_problem(
            source.too_old,
            _paths(scan.too_old),
            InputTooOld,
            "is older than maxFileAge lets Spark see, and is never read",
            f"touch the file, or remove {place}.maxFileAge.",
        ),
        file_problem(
            source.too_old if source.maxFileAge else Rating.IGNORE,
            _paths(_ahead(scan.new)),
            InputAhead,
            "is dated in the future, and makes files too old that are not",
            f"touch the file, or remove {place}.maxFileAge.",
        ),
        file_problem(
            source.same_content,
            copies,
            InputDoubled,
            "has content that is there already, so that its rows would be there twice",
            f"Remove it if it is a copy (or set {place}.same_content: ignore).",
        ),
    )
    return [problem for problem in found if problem is not None]


def file_problem(
    rating: Rating, files: Mapping[str, str], error: type[Refused], what: str, remedy: str
) -> Problem | None:
    """A problem of several files.

    Args:
        rating: The spec's.
        files: The path of each -> what an error calls it.
        error: The class of the error.
        what: What is wrong with the first one, as the end of a sentence.
        remedy: What to do.

    Returns:
        None without files, and where the spec ignores it.
    """
    if not files or rating is Rating.IGNORE:
        return None
    text = f"{next(iter(files.values()))} {what} ({counted(len(files), 'such file')})."
    return Problem(rating, error(text, remedy=remedy, files=list(files)))


def _paths(files: Iterable[Found]) -> dict[str, str]:
    return {str(file.path): str(file.path) for file in files}


def _ahead(files: Iterable[Found]) -> list[Found]:
    limit = (wall_clock() + A_MOMENT).timestamp() * 1000
    return [file for file in files if file.modified_ms > limit]
