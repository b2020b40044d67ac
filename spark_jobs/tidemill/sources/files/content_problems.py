"""Problems with what is in a file source's files, as errors that the spec rates."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tidemill.contract.counted import counted
from tidemill.contract.errors import Refused
from tidemill.contract.syntax.ddl import DdlType
from tidemill.contract.unchanged_file import Findings
from tidemill.file_formats.reader import DAMAGED, NO_ZONE, FormatReader
from tidemill.file_formats.table import READERS
from tidemill.sources.files.listing import partition_columns
from tidemill.sources.files.problems import file_problem
from tidemill.sources.probe_result import Problem
from tidemill.spec.sources.base import Rating
from tidemill.spec.sources.file import FileSource

# The most columns that a sentence names.
MOST_SHOWN = 10


class InputOfOtherSchema(Refused):
    """A file lacks a column or has it in another type, which Spark would read as something else."""


class InputColumnsLeftOut(Refused):
    """Files have columns that the schema does not name; carries `columns`."""


class InputDigitsDropped(Refused):
    """Numbers have more digits than their decimal; carries `files` and `columns` (with counts)."""


class InputPartRead(Refused):
    """Spark would read only a part of a file, silently."""


@dataclass(frozen=True)
class _Content:
    """What is wrong in a file.

    Args:
        cut: Why Spark would not read all of it.
        misfit: What of it does not fit the schema.
        new_columns: Those that the schema leaves out.
        dropped: Column -> how many of its values lose digits.
    """

    cut: str | None = None
    misfit: str | None = None
    new_columns: list[str] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


_CONTENTS = Findings[_Content]()


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
    asked = repr(source)
    for path in files:
        try:
            found = _CONTENTS.of(path, asked, partial(_content_of, path, source))
        except FileNotFoundError:
            continue
        except DAMAGED as error:
            found = _Content(cut=f"{path} is not a whole {source.format} file ({error}),")
        if found.cut is not None:
            cut[str(path)] = found.cut
        elif found.misfit is not None:
            others[str(path)] = found.misfit
        if found.new_columns:
            left_out[str(path)] = found.new_columns
        if found.dropped:
            digits[str(path)] = found.dropped
    problems = (
        file_problem(
            source.part_read,
            cut,
            InputPartRead,
            "and Spark would not read all of it",
            f"{reader.if_part_read} (or set {place}.part_read: warn).",
        ),
        file_problem(
            source.other_schema,
            others,
            InputOfOtherSchema,
            "and Spark would read something else",
            _remedy_of_misfits(reader, place, others.values()),
        ),
        _left_out(place, source, left_out),
        _dropped(place, source, digits),
    )
    return [problem for problem in problems if problem is not None]


def _content_of(path: Path, source: FileSource) -> _Content:
    reader = READERS[source.format]
    why = reader.part_read(path, source)
    if why is not None:
        return _Content(cut=f"{path} {why},")
    misfit = next(_misfits(path, source), None)
    return _Content(
        misfit=f"{path}: {misfit}," if misfit else None,
        new_columns=list(reader.new_columns(path, source)),
        dropped=reader.dropped_digits(path, source, _own(path, source)),
    )


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
