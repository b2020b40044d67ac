"""Rejects the rows of a result that a target could not hold."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from tidemill.engine.query.reject import REJECT_TYPE
from tidemill.file_formats.reader import REJECT
from tidemill.spec.column_types import quoted
from tidemill.spec.formats.rules import MICROSECONDS
from tidemill.spec.spec import Spec
from tidemill.spec.targets import Target


def publishable(rows: DataFrame, spec: Spec, partitions: Sequence[str]) -> DataFrame:
    """The rows, of which those are rejected that a target could not hold.

    A null group is an ordinary result, and Delta's tables and topics have it. A database has no
    null and no long text in a primary key, and every target must show the same rows. An outer
    join may leave a row without a partition, and where the null partition is not kept, the sink's
    is that of the rejected rows.

    Args:
        rows: The transform's rows and the rejected ones, with `_reject`.
        partitions: The partition columns that the transform may have made null.
    """
    upserting = [target for target in spec.publish if target.upserts(spec.output.mode)]
    keys = spec.output.keys if upserting else ()
    if spec.output.keeps_null_partition:
        partitions = ()
    if not keys and not partitions:
        return rows
    columns = [name for name in rows.columns if name != REJECT]
    reason = _whole_key_too_long(rows, keys, upserting)
    for name in reversed(keys):
        kind = rows.schema[name].dataType.typeName()
        known = (target.longest_key(kind) for target in upserting)
        longest = min((limit for limit in known if limit is not None), default=None)
        if longest is not None:
            said = (
                f"key {name} longer than {longest} {'bytes' if kind == 'binary' else 'characters'}"
            )
            reason = F.when(F.length(F.col(quoted(name))) > longest, F.lit(said)).otherwise(reason)
        reason = F.when(F.col(quoted(name)).isNull(), F.lit(f"no key {name}")).otherwise(reason)
    if partitions:
        nowhere = reduce(Column.__and__, (F.col(quoted(name)).isNull() for name in partitions))
        reason = F.when(nowhere, F.lit(f"no partition {partitions[0]}")).otherwise(reason)
    record = F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)), MICROSECONDS)
    reject = F.struct(
        reason.alias("reason"),
        F.lit(None).alias("file"),
        record.alias("record"),
        F.lit(None).alias("partition"),
    ).cast(REJECT_TYPE)
    both = rows.withColumn(
        REJECT, F.when(F.col(REJECT).isNull() & reason.isNotNull(), reject).otherwise(F.col(REJECT))
    )
    good = F.col(REJECT).isNull()
    return both.select(*(F.when(good, F.col(f"`{name}`")).alias(name) for name in columns), REJECT)


def _whole_key_too_long(rows: DataFrame, keys: Sequence[str], targets: Sequence[Target]) -> Column:
    """A reason for rows whose keys together are longer than a target has them; null for others."""
    known = [one.longest_whole_key for one in targets if one.longest_whole_key is not None]
    kinds = {name: rows.schema[name].dataType.typeName() for name in keys}
    texts = [name for name, kind in kinds.items() if kind in ("string", "binary")]
    sizes = [F.octet_length(F.col(quoted(name))) for name in texts]
    if not known or not sizes:
        return F.lit(None).cast("string")
    total = reduce(Column.__add__, (F.coalesce(size, F.lit(0)) for size in sizes))
    return F.when(total > min(known), F.lit(f"key longer than {min(known)} bytes"))
