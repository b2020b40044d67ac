"""Problems with a file source's files, as errors that the spec rates."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from tidemill.contract.clock import wall_clock
from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.syntax.ddl import DdlType
from tidemill.file_formats.reader import DAMAGED, NO_ZONE, FormatReader
from tidemill.file_formats.table import READERS
from tidemill.sources.files.listing import Found, partition_columns
from tidemill.sources.files.scan import Scan
from tidemill.sources.probe_result import Problem
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource

# The most columns that a sentence names.
MOST_SHOWN = 10
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


class InputOfOtherSchema(Refused):
    """A file lacks a column or has it in another type, which Spark would read as something else."""


class InputColumnsLeftOut(Refused):
    """Files have columns that the schema does not name; carries `columns`."""


class InputDigitsDropped(Refused):
    """Numbers have more digits than their decimal; carries `files` and `columns` (with counts)."""


class InputPartRead(Refused):
    """Spark would read only a part of a file, silently."""


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
        _problem(
            Rating.WARN,
            _paths(scan.overlooked),
            InputOverlooked,
            "is in a directory that Spark does not read",
            f"Set {place}.options.recursiveFileLookup to read it.",
        ),
        _problem(
            Rating.WARN,
            {str(path): str(path) for path in scan.passed_over},
            InputPassedOver,
            "is not read: Spark passes over names that begin with '_' or '.', and links that lead "
            "nowhere",
            "Rename it if it holds data; otherwise move it out of the source's directory.",
        ),
        _problem(
            source.not_utf8,
            _paths(scan.not_utf8),
            InputNameNotUtf8,
            "has a name that is not UTF-8 (ls -b shows it), and Spark does not see it",
            f"Rename it; convmv renames many (or set {place}.not_utf8: warn).",
        ),
        _problem(
            Rating.HOLD,
            _paths(scan.with_colon),
            InputNameUnreadable,
            "has ':' in its name, with which Spark cannot open it",
            f"Rename it, e.g. with '-' for ':' (find '{source.directory}' -name '*:*' shows all).",
        ),
        _problem(
            Rating.HOLD,
            _paths(scan.nameless_partition),
            InputNameUnreadable,
            "is in a partition folder (k=v) without a name or a value, and Spark then lists no "
            "file of the source",
            "Rename the folder, e.g. 'y=' to 'y=unknown', or move it out of the source's "
            "directory.",
        ),
        _problem(
            Rating.HOLD,
            _paths(scan.partition_of_today),
            InputNameUnreadable,
            "is in a partition folder (k=v) with a time without a date, to which Spark would give "
            "the date of the run",
            f"Rename the folder with its date, or declare the column as string in {place}.schema.",
        ),
        _problem(
            Rating.HOLD,
            _paths(scan.mistyped_partition),
            InputNameUnreadable,
            "is in a partition folder (k=v) whose value is not of the column's type",
            f"Rename the folder, or declare the column as string in {place}.schema.",
        ),
        _problem(
            source.changed,
            _paths(scan.changed),
            InputChanged,
            "changed after it was read; what it holds now is never read",
            "To publish what it holds now, read all input again: "
            f"{rebuild}. Or deliver the new content under a new name and put the old file back "
            f"(or set {place}.changed: warn).",
        ),
        _problem(
            source.redelivered,
            _paths(scan.redelivered),
            InputRedelivered,
            "has the name of a file that was read and is another; it is never read",
            f"Deliver it under a new name, or read all input again: {rebuild} "
            f"(or set {place}.redelivered: warn).",
        ),
        _problem(
            source.too_old,
            _paths(scan.too_old),
            InputTooOld,
            "is older than maxFileAge lets Spark see, and is never read",
            f"touch the file, or remove {place}.maxFileAge.",
        ),
        _problem(
            source.too_old if source.maxFileAge else Rating.IGNORE,
            _paths(_ahead(scan.new)),
            InputAhead,
            "is dated in the future, and makes files too old that are not",
            f"touch the file, or remove {place}.maxFileAge.",
        ),
        _problem(
            source.same_content,
            copies,
            InputDoubled,
            "has content that is there already, so that its rows would be there twice",
            f"Remove it if it is a copy (or set {place}.same_content: ignore).",
        ),
    )
    return [problem for problem in found if problem is not None]


def problems_of_content(name: str, source: FileSource, files: Iterable[Path]) -> list[Problem]:
    """Problems with files that Spark has not read, or has just read.

    Args:
        files: Which; one that is gone is left out.
    """
    place = f"sources.{name}"
    reader = READERS[source.format]
    cut: dict[str, str] = {}
    others: dict[str, str] = {}
    left_out: dict[str, list[str]] = {}
    digits: dict[str, Counter[str]] = {}
    for path in files:
        try:
            why = reader.part_read(path, source)
            if why is not None:
                cut[str(path)] = f"{path} {why},"
            elif misfit := next(_misfits(path, source), None):
                others[str(path)] = f"{path}: {misfit},"
            if why is None and (columns := list(reader.new_columns(path, source))):
                left_out[str(path)] = columns
            if why is None and (dropped := reader.dropped_digits(path, source, _own(path, source))):
                digits[str(path)] = dropped
        except FileNotFoundError:
            continue
        except DAMAGED as error:
            cut[str(path)] = f"{path} is not a whole {source.format} file ({error}),"
    found = (
        _problem(
            source.part_read,
            cut,
            InputPartRead,
            "and Spark would not read all of it",
            f"{reader.if_part_read} (or set {place}.part_read: warn).",
        ),
        _problem(
            source.other_schema,
            others,
            InputOfOtherSchema,
            "and Spark would read something else",
            _remedy_of_misfits(reader, place, others.values()),
        ),
        _left_out(place, source, left_out),
        _dropped(place, source, digits),
    )
    return [problem for problem in found if problem is not None]


def _remedy_of_misfits(reader: FormatReader, place: str, misfits: Iterable[str]) -> str:
    remedy = f"Fix {place}.schema or the file (or set {place}.other_schema: warn)."
    without_zone = any(NO_ZONE in misfit for misfit in misfits)
    return f"{reader.if_without_zone} {remedy}" if without_zone else remedy


def _left_out(place: str, source: FileSource, files: Mapping[str, list[str]]) -> Problem | None:
    rating = _mentioned(source)
    # Otherwise the query itself rescues or refuses them, in every row.
    if not files or rating is Rating.IGNORE or source.new_fields != "ignore":
        return None
    columns = list(dict.fromkeys(name for names in files.values() for name in names))
    shown = ", ".join(columns[:MOST_SHOWN]) + (", …" if len(columns) > MOST_SHOWN else "")
    error = InputColumnsLeftOut(
        f"{next(iter(files))} has {shown}, which {place}.schema does not name and Spark leaves out "
        f"({counted(len(files), 'such file')}).",
        remedy=f"Add it to {place}.schema if it is to be read (or set {place}.other_schema: warn).",
        files=list(files),
        columns=columns,
    )
    return Problem(rating, error)


def _dropped(place: str, source: FileSource, files: Mapping[str, Counter[str]]) -> Problem | None:
    rating = _mentioned(source)
    if not files or rating is Rating.IGNORE:
        return None
    columns = sum(files.values(), Counter[str]())
    shown = ", ".join(
        f"{counted(number, 'value')} of {name}" for name, number in columns.most_common(MOST_SHOWN)
    )
    error = InputDigitsDropped(
        f"{next(iter(files))} has numbers with more digits than {place}.schema has places for, and "
        f"Spark rounds them: {shown} "
        f"({counted(len(files), 'such file')}).",
        remedy=f"Give the columns more places in {place}.schema, such as decimal(38,10) (or set "
        f"{place}.other_schema: ignore).",
        files=list(files),
        columns=dict(columns),
    )
    return Problem(rating, error)


def _mentioned(source: FileSource) -> Rating:
    """Rated by `other_schema` where the spec gives it; it is common, so by default it is said."""
    return source.other_schema if "other_schema" in source.model_fields_set else Rating.WARN


def _own(path: Path, source: FileSource) -> dict[str, DdlType]:
    """The columns that a file itself has to hold: not those that Spark reads from its path."""
    read, _ = partition_columns(path, source)
    return {name: kind for name, kind in source.types.items() if name.lower() not in read}


def _misfits(path: Path, source: FileSource) -> Iterator[str]:
    _, unread = partition_columns(path, source)
    wanted = _own(path, source)
    for name in wanted:
        if name.lower() in unread:
            yield f"Spark does not read the partition {name} from the path; set options.basePath"
    yield from READERS[source.format].misfits(path, source, wanted)


def _problem(
    rating: Rating, files: Mapping[str, str], error: type[Refused], what: str, remedy: str
) -> Problem | None:
    """A problem of several files, of each of which the path and what to call it are given."""
    if not files or rating is Rating.IGNORE:
        return None
    text = f"{next(iter(files.values()))} {what} ({counted(len(files), 'such file')})."
    return Problem(rating, error(text, remedy=remedy, files=list(files)))


def _paths(files: Iterable[Found]) -> dict[str, str]:
    return {str(file.path): str(file.path) for file in files}


def _ahead(files: Iterable[Found]) -> list[Found]:
    limit = (wall_clock() + A_MOMENT).timestamp() * 1000
    return [file for file in files if file.modified_ms > limit]
