"""JSON objects in text, each of them read to the end of its text.

Spark stops where the first value of a text ends, and drops what follows; its source of JSON files
also makes several rows of a line that is an array, and none of an empty one: all without a word
(Spark 4.2). So lines are read as text, and one counts only if it is an object and nothing else.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from tidemill.engine.sources.columns import CORRUPT, ORIGIN, RECORD
from tidemill.spec.sources.file import FileSource

_PARSED = "_parsed"
_BLANKS = " \t\r\n"


def parse_lines(lines: DataFrame, source: FileSource, schema: StructType) -> DataFrame:
    """The rows of lines, with `_corrupt` where a line is not one object of the schema.

    Args:
        lines: From `load_lines`.
        source: Its options say what else than JSON is read.
        schema: The spec's.
    """
    text = F.col(RECORD)
    in_path = {name.lower() for name in lines.columns}
    fields = [field for field in schema.fields if field.name.lower() not in in_path]
    parsing = StructType([*fields, StructField(CORRUPT, StringType())])
    options = {**source.reader_options, "mode": "PERMISSIVE"}
    parsed = F.from_json(text, parsing, {**options, "columnNameOfCorruptRecord": CORRUPT})
    # Nothing is pushed below a generator's output, so that each line is parsed once.
    rows = lines.select("*", F.inline(F.array(F.struct(parsed.alias(_PARSED)))))
    object_ = F.col(_PARSED)
    fits = object_.isNotNull() & object_[CORRUPT].isNull() & ends_with_object(text, options)
    # Spark passes over blank lines as well.
    rows = rows.where(fits | (F.btrim(text, F.lit(_BLANKS)) != ""))
    names = {field.name for field in fields}
    return rows.select(
        *[
            (object_.getField(name) if name in names else F.col(f"`{name}`")).alias(name)
            for name in schema.names
        ],
        F.coalesce(F.col(CORRUPT), F.when(~fits, text)).alias(CORRUPT),
        RECORD,
        ORIGIN,
    )


def ends_with_object(text: Column, options: Mapping[str, str]) -> Column:
    """Whether nothing follows the object at the beginning of a text; never null.

    Args:
        text: A text that begins with an object.
        options: Those of `from_json` with which it was parsed, without a corrupt record's column.
    """
    # Where the only closing bracket is the last sign, the text need not be parsed again.
    flat = (F.substring_index(text, "}", 2) == text) & F.endswith(
        F.rtrim(text, F.lit(_BLANKS)), F.lit("}")
    )
    # What follows the object makes it another list, or none. A comment ends with the line.
    listed = F.concat(F.lit("["), text, F.lit("\n,0]"))
    # The first one is generated code. NaN, say, is not JSON, and then the options count.
    count = F.coalesce(
        F.json_array_length(listed), F.size(F.from_json(listed, "array<string>", {**options}))
    )
    return F.when(flat, F.lit(True)).otherwise(F.coalesce(count == 2, F.lit(False)))
