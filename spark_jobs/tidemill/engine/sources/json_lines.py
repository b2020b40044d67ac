"""JSON objects in text, each of them read to the end of its text.

Spark stops where the first value of a text ends, and drops what follows; its source of JSON files
also makes several rows of a line that is an array, and none of an empty one: all without a word
(Spark 4.2). So lines are read as text, and one counts only if it is an object and nothing else.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from tidemill.engine.sources.columns import CORRUPT, ORIGIN, RECORD
from tidemill.engine.sources.json_objects import ObjectColumns, with_object
from tidemill.engine.sources.new_fields import Found, all_fields
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.new_fields import Rescue

_PARSED = "_tidemill_parsed"
_FIELDS = "_tidemill_fields"
_VALUE = "_tidemill_value"
_ENDS = "_tidemill_ends"
_BLANKS = " \t\r\n"


def parse_lines(lines: DataFrame, source: FileSource, schema: StructType) -> DataFrame:
    """The rows of lines, with `_corrupt` where a line is not one object of the schema.

    Args:
        lines: From `load_lines`, or from `elements_of`.
        source: Its options say what else than JSON is read.
        schema: The spec's.
    """
    text = F.col(RECORD)
    in_path = {name.lower() for name in lines.columns}
    fields = [field for field in schema.fields if field.name.lower() not in in_path]
    parsing = StructType([*fields, StructField(CORRUPT, StringType())])
    options = {**source.reader_options, "mode": "PERMISSIVE"}
    of_object = {**options, "columnNameOfCorruptRecord": CORRUPT}
    further = {} if source.new_fields == "ignore" else {_FIELDS: all_fields(text, options)}
    new = ObjectColumns(_PARSED, _ENDS)
    rows = with_object(lines, text, parsing, of_object, new, further, is_utf8=True)
    object_ = F.col(_PARSED)
    value = F.col(_VALUE) if _VALUE in lines.columns else object_
    fits = object_.isNotNull() & object_[CORRUPT].isNull() & value.isNotNull()
    fits &= F.col(_ENDS)
    # Spark passes over blank lines as well.
    rows = rows.where(fits | (F.btrim(text, F.lit(_BLANKS)) != ""))
    names = {field.name for field in fields}
    corrupt = F.coalesce(F.col(CORRUPT), F.when(~fits, text))
    columns = [
        (value.getField(name) if name in names else F.col(f"`{name}`")).alias(name)
        for name in schema.names
    ]
    found = Found(F.col(_FIELDS), text, schema)
    if isinstance(source.new_fields, Rescue):
        rescued = F.when(corrupt.isNull(), found.rescued())
        columns.append(rescued.alias(source.new_fields.rescue))
    elif source.new_fields == "refuse":
        corrupt = F.coalesce(corrupt, found.refused(F.col(ORIGIN)))
    return rows.select(*columns, corrupt.alias(CORRUPT), RECORD, ORIGIN)


def elements_of(texts: DataFrame, source: FileSource, schema: StructType) -> DataFrame:
    """The texts of whole files as lines for `parse_lines`: the objects of an array, or the one.

    Spark calls every row of a file malformed where one of them is, and gives each of them the text
    of the whole file (4.2).

    Args:
        texts: From `load_lines`.
        source: As for `parse_lines`.
        schema: As there.
    """
    text = F.ltrim(F.col(RECORD), F.lit("\ufeff"))
    in_path = {name.lower() for name in texts.columns}
    fields = StructType([one for one in schema.fields if one.name.lower() not in in_path])
    options = {**source.reader_options, "mode": "PERMISSIVE"}
    # Where Spark parses a text into texts it rewrites numbers, and may cut their digits off. So an
    # element's own text only says whether it is right; its values are parsed from the file's.
    elements = F.coalesce(F.from_json(text, "array<string>", options), F.array(text))
    values = F.from_json(text, ArrayType(fields), options)
    none = F.array().cast(ArrayType(fields))
    pairs = F.arrays_zip(
        F.transform(elements, lambda one: F.coalesce(one, F.lit("null"))).alias(RECORD),
        F.when(F.size(values) == F.size(elements), values).otherwise(none).alias(_VALUE),
    )
    kept = [F.col(f"`{name}`") for name in texts.columns if name != RECORD]
    lines = texts.select(*kept, F.inline(pairs))
    undecodable = F.contains(F.col(RECORD), F.lit("\N{REPLACEMENT CHARACTER}"))
    return lines.withColumn(
        CORRUPT, F.when(F.col(CORRUPT).isNotNull() & undecodable, F.col(RECORD))
    )
