"""JSON objects in texts, each of them parsed once, and its timestamps fast."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.engine.sources.quick_times import quick_time, times_of_default_format, with_texts
from tidemill.engine.spark_internals.json_of_bytes import JsonOfBytes
from tidemill.toolchain.loopback import is_local

_TEXTS = "_tidemill_texts"
_TIME = "_tidemill_time"
_OTHERS = "_tidemill_others"
_OWN = "_tidemill_own"
_BLANKS = " \t\r\n"


@dataclass(frozen=True)
class ObjectColumns:
    """Names of the columns that an object in a text gets.

    Args:
        object: The column with the object.
        ends: The column that tells whether nothing follows it; never null.
    """

    object: str
    ends: str


def with_object(
    rows: DataFrame,
    text: Column,
    schema: StructType,
    options: Mapping[str, str],
    names: ObjectColumns,
    further: Mapping[str, Column],
    *,
    is_utf8: bool,
) -> DataFrame:
    """Rows with the object that a text of theirs is.

    Where all timestamps of an object have a usual form, they are read as texts first. Any other
    object is parsed again by its own types: to a timestamp a number is another thing than a text.

    Args:
        rows: The rows.
        text: Their text.
        schema: The object's.
        options: Those of `from_json`.
        names: Those of the new columns.
        further: Other columns that are computed once -> what they are.
        is_utf8: Whether every text is known to be valid UTF-8.
    """
    session = rows.sparkSession
    if is_local(str(session.sparkContext.master)):
        json = JsonOfBytes(session, text, options, is_utf8)
        object_of: Callable[[StructType], Column] = json.object_of
        rows = rows.withColumn(names.ends, F.coalesce(json.is_alone(), F.lit(False)))
    else:
        # The workers of a cluster have no class of ours.
        object_of = partial(F.from_json, text, options={**options})
        # Spark generates no code for a step that has it in it: so those above only ask for it.
        further = {**further, names.ends: ends_with_object(text, options)}
    times = times_of_default_format(schema, options)
    if not times:
        return computed_once(rows, {names.object: object_of(schema), **further})
    # What asks for it asks for `_OWN` as well, and so stays above that one's generator.
    rows = rows.withColumn(_TEXTS, object_of(with_texts(schema, times)))
    read = {name: F.col(_TEXTS)[name] for name in schema.names}
    quick = {name: f"{_TIME}_{number}" for number, name in enumerate(times)}
    # In one step with what asks for it Spark would read each text twice.
    rows = rows.withColumns({quick[name]: quick_time(read[name]) for name in times})
    others = F.lit(False)
    for name in times:
        others |= read[name].isNotNull() & F.col(quick[name]).isNull()
    rows = rows.withColumn(_OTHERS, others)
    own = F.when(F.col(_OTHERS), object_of(schema))
    rows = computed_once(rows, {_OWN: own, **further})
    values = {**read, **{name: F.col(quick[name]) for name in times}}
    of_texts = F.struct(*(value.alias(name) for name, value in values.items()))
    # It is no more than a choice between columns, and may be made again.
    found = F.when(F.col(_OTHERS), F.col(_OWN)).when(F.col(_TEXTS).isNotNull(), of_texts)
    return rows.withColumn(names.object, found).drop(_TEXTS, _OTHERS, _OWN, *quick.values())


def computed_once(rows: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """Rows with more columns, each computed once: nothing is pushed below a generator's output.

    Args:
        rows: The rows.
        columns: The name of each -> what it is.
    """
    found = F.struct(*(column.alias(name) for name, column in columns.items()))
    return rows.select("*", F.inline(F.array(found)))


def ends_with_object(text: Column, options: Mapping[str, str]) -> Column:
    """Whether nothing follows the object at the beginning of a text; never null.

    Args:
        text: A text that begins with an object.
        options: Those of `from_json` with which it was parsed.
    """
    lenient = {
        name: value for name, value in options.items() if name != "columnNameOfCorruptRecord"
    }
    # Where the only closing bracket is the last sign, the text need not be parsed again. Without
    # blanks after it the text need not be copied either.
    closed = F.lit("}")
    at_end = F.endswith(text, closed) | F.endswith(F.rtrim(text, F.lit(_BLANKS)), closed)
    flat = at_end & (F.substring_index(text, "}", 2) == text)
    # What follows the object makes it another list, or none. A comment ends with the line.
    listed = F.concat(F.lit("["), text, F.lit("\n,0]"))
    # The first one is generated code. NaN, say, is not JSON, and then the options count.
    count = F.coalesce(
        F.json_array_length(listed), F.size(F.from_json(listed, "array<string>", lenient))
    )
    return F.when(flat, F.lit(True)).otherwise(F.coalesce(count == 2, F.lit(False)))
