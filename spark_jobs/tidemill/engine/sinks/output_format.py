"""Converts rows to what the file sink's format can hold."""

from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from tidemill.contract.errors import SpecError
from tidemill.file_formats.reader import REJECT
from tidemill.file_formats.written_format import written_by
from tidemill.spec.column_types import quoted
from tidemill.spec.formats.rules import RejectForm
from tidemill.spec.output import Output


class OutputDoesNotFit(SpecError):
    """The transform's columns cannot be written in the spec's format; carries `columns`."""


def in_format(rows: DataFrame, published: StructType, output: Output, path: Path) -> DataFrame:
    """The rows that the sink writes.

    Args:
        rows: With `_reject`, null for a good row.
        published: The columns of the good ones, with the partitions.

    Returns:
        The rows with `_reject` in the form that the format's rules name.

    Raises:
        OutputDoesNotFit: a row must be one text, and there is not just one column of text.
    """
    if output.rules.rejects is RejectForm.JSON:
        return rows.withColumn(REJECT, F.to_json(REJECT))
    if not output.rules.one_text:
        return rows
    columns = [field for field in published.fields if field.name not in output.partition_by]
    if len(columns) != 1 or not isinstance(columns[0].dataType, StringType):
        names = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns)
        raise OutputDoesNotFit(
            f"{path}: the transform returns {names}, and a row of output.format "
            f"{output.format} is one text.",
            remedy="Return one column of type string beside the partitions, or change the format.",
            path=path,
            field="output.format",
            columns=[field.name for field in columns],
        )
    name = columns[0].name
    value = F.when(F.col(REJECT).isNull(), _one_line(F.col(quoted(name)), output)).otherwise(
        F.to_json(REJECT)
    )
    return rows.withColumn(name, value).drop(REJECT)


def _one_line(value: Column, output: Output) -> Column:
    """The text; one with a line break would be two rows when it is read again."""
    separator = written_by(output).option("lineSep", "\n")
    refusal = F.raise_error(F.lit("a row of text output has a line break in it")).cast("string")
    return F.when(value.contains(separator), refusal).otherwise(value)
