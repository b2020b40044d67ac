"""JSON objects in texts, each of them parsed once, and its timestamps fast."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from tidemill.engine.sources.quick_times import quick_time, times_of_default_format, with_texts

_TEXTS = "_tidemill_texts"
_TIME = "_tidemill_time"
_OTHERS = "_tidemill_others"
_OWN = "_tidemill_own"


def with_object(
    rows: DataFrame,
    text: Column,
    schema: StructType,
    options: Mapping[str, str],
    column: str,
    further: Mapping[str, Column],
) -> DataFrame:
    """Rows with the object that a text of theirs is.

    Where all timestamps of an object have a usual form, they are read as texts first. Any other
    object is parsed again by its own types: to a timestamp a number is another thing than a text.

    Args:
        rows: The rows.
        text: Their text.
        schema: The object's.
        options: Those of `from_json`.
        column: The name of the column that gets the object.
        further: Other columns that are computed once -> what they are.
    """
    times = times_of_default_format(schema, options)
    if not times:
        return computed_once(rows, {column: F.from_json(text, schema, {**options}), **further})
    # What asks for it asks for `_OWN` as well, and so stays above that one's generator.
    rows = rows.withColumn(_TEXTS, F.from_json(text, with_texts(schema, times), {**options}))
    read = {name: F.col(_TEXTS)[name] for name in schema.names}
    quick = {name: f"{_TIME}_{number}" for number, name in enumerate(times)}
    # In one step with what asks for it Spark would read each text twice.
    rows = rows.withColumns({quick[name]: quick_time(read[name]) for name in times})
    others = F.lit(False)
    for name in times:
        others |= read[name].isNotNull() & F.col(quick[name]).isNull()
    rows = rows.withColumn(_OTHERS, others)
    own = F.when(F.col(_OTHERS), F.from_json(text, schema, {**options}))
    rows = computed_once(rows, {_OWN: own, **further})
    values = {**read, **{name: F.col(quick[name]) for name in times}}
    of_texts = F.struct(*(value.alias(name) for name, value in values.items()))
    # It is no more than a choice between columns, and may be made again.
    found = F.when(F.col(_OTHERS), F.col(_OWN)).when(F.col(_TEXTS).isNotNull(), of_texts)
    return rows.withColumn(column, found).drop(_TEXTS, _OTHERS, _OWN, *quick.values())


def computed_once(rows: DataFrame, columns: Mapping[str, Column]) -> DataFrame:
    """Rows with more columns, each computed once: nothing is pushed below a generator's output.

    Args:
        rows: The rows.
        columns: The name of each -> what it is.
    """
    found = F.struct(*(column.alias(name) for name, column in columns.items()))
    return rows.select("*", F.inline(F.array(found)))
