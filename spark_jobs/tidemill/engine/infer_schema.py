"""The schema that Spark infers from a sample, with notes on what to check before using it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType, StructType

from tidemill.contract.counted import counted
from tidemill.contract.syntax.hadoop_glob import exactly
from tidemill.spec.formats.rules import with_defaults
from tidemill.spec.formats.table import FORMATS
from tidemill.spec.model import is_engine_column

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CORRUPT = "_corrupt_record"
_NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")


@dataclass(frozen=True)
class InferredColumn:
    """A column as Spark sees it.

    Args:
        type: As DDL.
        notes: What may be wrong with it.
    """

    name: str
    type: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inferred:
    """A schema to be looked over.

    Args:
        notes: What may be wrong with the whole.
    """

    columns: tuple[InferredColumn, ...]
    rows: int
    notes: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        return ", ".join(f"{_quoted(column.name)} {column.type}" for column in self.columns)


def infer(
    session: SparkSession, format: str, options: Mapping[str, str], paths: Sequence[str]
) -> Inferred:
    """Infer a schema and count what contradicts it."""
    by = FORMATS[format].infers_by
    if by is not None:
        options = with_defaults(options, {by: "true"})
    frame = _reader(session, format, options).load([exactly(path) for path in paths])
    texts = None
    if by is not None:
        as_text = {k: value for k, value in options.items() if k.lower() != by.lower()}
        texts = _reader(session, format, as_text).load([exactly(path) for path in paths])
    counts = _counts(frame)
    zeros = _leading_zeros(frame, texts) if texts is not None else {}
    columns = [
        InferredColumn(
            field.name,
            field.dataType.simpleString(),
            (*_notes(field.name, field.dataType, counts), *zeros.get(field.name, ())),
        )
        for field in frame.schema.fields
        if field.name != _CORRUPT
    ]
    malformed = counts.get(f"{_CORRUPT}.filled", 0)
    notes = (f"{counted(malformed, 'row')} did not parse",) if malformed else ()
    return Inferred(tuple(columns), counts["rows"], notes)


def _reader(session: SparkSession, format: str, options: Mapping[str, str]) -> DataFrameReader:
    return session.read.format(format).options(**options)


def _leaves(schema: StructType, within: str = "") -> Iterator[tuple[str, Column, DataType]]:
    """Each column and each field of a struct."""
    for field in schema.fields:
        path = f"{within}{_quoted(field.name, always=True)}"
        yield path.replace("`", ""), F.col(path), field.dataType
        if isinstance(field.dataType, StructType):
            yield from _leaves(field.dataType, f"{path}.")


def _counts(frame: DataFrame) -> dict[str, int]:
    """Rows, and of each text how many are filled, and look like a number or a time."""
    counted = [F.count(F.lit(1)).alias("rows")]
    for name, column, kind in _leaves(frame.schema):
        counted.append(F.count(column).alias(f"{name}.filled"))
        if isinstance(kind, StringType):
            counted.append(F.count(column.try_cast("double")).alias(f"{name}.numbers"))
            counted.append(F.count(column.try_cast("timestamp")).alias(f"{name}.times"))
    return dict(frame.select(*counted).first().asDict())  # type: ignore[union-attr]


def _notes(name: str, kind: DataType, counts: Mapping[str, Any]) -> Iterator[str]:
    if is_engine_column(name):
        yield "this name is kept for the engine: give it another"
    filled = counts[f"{name}.filled"]
    if filled == 0:
        yield "holds nothing in this sample, so that its type is a guess"
    elif isinstance(kind, StringType):
        for what in ("numbers", "times"):
            found = counts[f"{name}.{what}"]
            if 0 < found < filled:
                yield f"mixed: {found} of {filled} are {what}"
    if isinstance(kind, StructType):
        for field in kind.fields:
            for note in _notes(f"{name}.{field.name}", field.dataType, counts):
                yield f"{field.name}: {note}"


def _leading_zeros(frame: DataFrame, texts: DataFrame) -> dict[str, tuple[str, ...]]:
    """Numbers that lose something as numbers, such as `007`."""
    numeric = [
        field.name
        for field in frame.schema.fields
        if field.dataType.simpleString().startswith(_NUMERIC) and field.name in texts.columns
    ]
    if not numeric:
        return {}
    counted = [
        F.count_if(F.col(_quoted(name, always=True)).rlike("^[+-]?0[0-9]")).alias(name)
        for name in numeric
    ]
    found = texts.select(*counted).first().asDict()  # type: ignore[union-attr]
    return {
        name: (f"{count} begin with 0, which a number loses: string would keep it",)
        for name, count in found.items()
        if count
    }


def _quoted(name: str, *, always: bool = False) -> str:
    if _PLAIN.fullmatch(name) and not always:
        return name
    return "`" + name.replace("`", "``") + "`"
