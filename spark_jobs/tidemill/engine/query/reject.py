"""Good rows and rejected rows: told apart before the transform, committed in one batch.

A row is rejected when it does not parse, has no event time, has no partition, or breaks a row rule;
also when its event time or partition is a date that Python, Arrow and many readers cannot hold. It
goes into its own partition of the same sink, with the reason, the file, the record, and the
partition it would have had.

Where `output.null_partition` is `keep`, a row without a partition's value is a good one. To Spark,
Hive and Delta '' is null there too, and so is the name of the null partition.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_, or_

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemill.contract.syntax.quantities import as_interval
from tidemill.engine.query.expressions import refuse_expressions
from tidemill.engine.query.file_columns import METADATA, named_in_spec, with_file
from tidemill.engine.query.partition_columns import source_partitions
from tidemill.engine.sources.columns import CORRUPT, ORIGIN, RECORD
from tidemill.file_formats.reader import REJECT
from tidemill.spark_logs.partition_paths import NULL_PARTITION
from tidemill.spec.column_types import quoted
from tidemill.spec.formats.rules import MICROSECONDS
from tidemill.spec.output import REJECTED, REJECTED_PARTITION
from tidemill.spec.spec import Spec

NO_TIME = "no event time"
FAR_TIME = "event time outside the years 1 to 9999"
# Texts that are the names of a sink's own partitions.
RESERVED = (NULL_PARTITION, REJECTED_PARTITION)
# A day less at both ends, as a time zone may move it into the next year.
_CALENDAR = {
    "date": ("DATE'0001-01-01'", "DATE'9999-12-31'"),
    "timestamp": ("TIMESTAMP'0001-01-02 00:00:00Z'", "TIMESTAMP'9999-12-31 00:00:00Z'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'0001-01-02 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 00:00:00'"),
}
REJECT_TYPE = "struct<reason: string, file: string, record: string, partition: map<string, string>>"


def tag(source: DataFrame, spec: Spec, name: str, further: Sequence[str] = ()) -> DataFrame:
    """The rows of one source with their partition columns, and `_reject` (null for a good row).

    Args:
        source: From `read_stream`, or in its shape.
        further: Columns of `source` to keep beside its own; `_metadata` is kept where the spec
            names it.
    """
    cut = source_partitions(spec)
    if METADATA in further or named_in_spec(spec, name):
        source, further = with_file(source), (*dict.fromkeys((*further, METADATA)),)
    columns = [F.col(quoted(column)) for column in spec.sources[name].columns]
    times = _of_time(spec, name, source)
    has_time = reduce(and_, (~is_so for is_so in times.values()), F.col(CORRUPT).isNull())
    partitions = [
        F.when(has_time, F.expr(expression)).alias(partition)
        for partition, expression in cut.items()
    ]
    keeps_null = spec.output.keeps_null_partition
    delivered = [F.col(RECORD)] if RECORD in source.columns else []
    kept: list[Column | str] = [*columns, *delivered, *dict.fromkeys((CORRUPT, ORIGIN, *further))]
    try:
        located = source.select(*kept, *partitions)
    except AnalysisException:
        refuse_expressions(source, cut, "output.partition_by.{}".format)
        raise
    if keeps_null:
        located = located.withColumns(
            {n: _nullable(located, n) for n in cut if _is_text(located, n)}
        )
    # Without the formats Spark would cut microseconds off.
    record = F.coalesce(F.col(CORRUPT), *delivered, F.to_json(F.struct(*columns), MICROSECONDS))
    reason = _reason(spec, name, times, {name: _has_none(located, name, spec) for name in cut})
    values = {name: _directory_value(located, name) for name in cut}
    if keeps_null:
        null = F.when(has_time, F.lit(NULL_PARTITION))
        values = {
            name: F.when(F.col(f"`{name}`").isNull(), null).otherwise(value)
            for name, value in values.items()
        }
    pairs = [part for name, value in values.items() for part in (F.lit(name), value)]
    partition = F.create_map(*pairs) if pairs else F.lit(None).cast("map<string, string>")
    reject = F.struct(
        reason.alias("reason"),
        F.col(ORIGIN).alias("file"),
        record.alias("record"),
        partition.alias("partition"),
    )
    reject = F.when(reason.isNotNull(), reject)
    try:
        return located.select(*columns, *further, *map(quoted, cut), reject.alias(REJECT))
    except AnalysisException:
        own = spec.sources[name].row_rules
        refuse_expressions(
            located,
            spec.row_rules_of(name),
            lambda rule: f"sources.{name}.row_rules.{rule}" if rule in own else f"row_rules.{rule}",
        )
        raise


def good(tagged: DataFrame, spec: Spec, name: str) -> DataFrame:
    """The good rows of one source under its watermark, as the transform gets them."""
    # A rejected row always has a record, which is made of every source column. Asked for `_reject`
    # alone, Spark would not parse the columns that the transform leaves out, and a row that is
    # malformed there would be good here and rejected in the other pass.
    fine = tagged.where(F.col(f"{REJECT}.record").isNull()).drop(REJECT)
    time = spec.event_time_of(name)
    if time is None or time.watermark is None:
        return fine
    # Not before: a rejected row from the far future would make every good one a late one.
    return fine.withWatermark(quoted(time.column), as_interval(time.watermark))


def two_passes(tagged: Iterable[DataFrame], transformed: DataFrame) -> DataFrame:
    """The transform's rows and the rejected ones (all null but `_reject`), for any transform.

    Args:
        tagged: The rows of each source.
        transformed: What the transform made of the good ones.
    """
    fine = transformed.withColumn(REJECT, F.lit(None).cast(REJECT_TYPE))
    nothing = [
        F.lit(None).cast(field.dataType).alias(field.name) for field in transformed.schema.fields
    ]
    refused = [one.where(F.col(REJECT).isNotNull()).select(*nothing, REJECT) for one in tagged]
    return reduce(DataFrame.unionByName, refused, fine)


def committed(rows: DataFrame, spec: Spec) -> DataFrame:
    """The rows that the sink writes; rejected ones are in the null partition or their own one."""
    rejected = F.col(REJECT).isNotNull()
    if not spec.output.partition_by:
        return rows.withColumn(REJECTED, rejected)
    if not spec.output.keeps_null_partition:
        return rows
    # A directory's name is a text, of whatever type the column is.
    named = {
        name: F.when(rejected, F.lit(REJECTED_PARTITION)).otherwise(
            F.col(quoted(name)).cast("string")
        )
        for name in spec.output.partition_by
    }
    return rows.withColumns(named)


def reasons(spec: Spec, source: str) -> tuple[str, ...]:
    """Every reason for which a row of a source can be rejected."""
    time = [NO_TIME, FAR_TIME] if spec.event_time_of(source) is not None else []
    partitions = [f"no partition {name}" for name in source_partitions(spec)]
    rules = [f"rule {name}" for name in spec.row_rules_of(source)]
    return ("malformed", *time, *partitions, *rules)


def _directory_value(located: DataFrame, partition: str) -> Column:
    """A partition's value as a directory's name has it; null where no directory can have it."""
    value = F.col(quoted(partition))
    if _is_text(located, partition):
        return F.when(~value.isin(*RESERVED), value)
    far, text = _is_far(located, partition), value.cast("string")
    return text if far is None else F.when(~far, text)


def _nullable(located: DataFrame, partition: str) -> Column:
    """A text of which those are null that the null partition's directory stands for."""
    text = F.col(f"`{partition}`")
    return F.when(~text.isin("", NULL_PARTITION), text)


def _is_text(rows: DataFrame, column: str) -> bool:
    return rows.schema[column].dataType.typeName() == "string"


def _reason(
    spec: Spec, source: str, times: Mapping[str, Column], partitions: Mapping[str, Column]
) -> Column:
    """The first reason for rejecting a row; null for a good row.

    Args:
        times: Reason -> whether it holds, of the event time.
        partitions: Partition column -> whether a row has none.
    """
    reason = F.when(F.col(CORRUPT).isNotNull(), F.lit("malformed"))
    for what, is_so in times.items():
        reason = reason.when(is_so, F.lit(what))
    for name, is_missing in partitions.items():
        reason = reason.when(is_missing, F.lit(f"no partition {name}"))
    for name, rule in spec.row_rules_of(source).items():
        reason = reason.when(~F.coalesce(F.expr(rule), F.lit(False)), F.lit(f"rule {name}"))
    return reason


def _of_time(spec: Spec, name: str, source: DataFrame) -> dict[str, Column]:
    """What may be wrong with the event time of a source's row -> whether it is."""
    time = spec.event_time_of(name)
    if time is None:
        return {}
    far = _is_far(source, time.column)
    missing = {NO_TIME: F.col(quoted(time.column)).isNull()}
    return missing if far is None else {**missing, FAR_TIME: far}


def _has_none(located: DataFrame, partition: str, spec: Spec) -> Column:
    """Whether a row has no value of a partition, or one that no directory can have."""
    value, far = F.col(quoted(partition)), _is_far(located, partition)
    found = [] if far is None else [far]
    if not spec.output.keeps_null_partition:
        found.append(value.isNull())
    if _is_text(located, partition):
        # '' is null to Spark, the name of the null partition to all who read directories.
        found.append(value.isin("", *RESERVED))
    return reduce(or_, found) if found else F.lit(False)


def _is_far(rows: DataFrame, column: str) -> Column | None:
    """Whether a date or time is outside the years 1 to 9999: null for a null, None for others."""
    bounds = _CALENDAR.get(rows.schema[column].dataType.typeName())
    return None if bounds is None else ~F.col(quoted(column)).between(*map(F.expr, bounds))
