"""Parquet, which every table is made of."""

from tidemill.spec.formats.rules import FormatRules

PARQUET = FormatRules(
    name="parquet",
    shared="datetimeRebaseMode",
    reading="int96RebaseMode",
    writing="compression parquet.compression",
    writing_prefix="parquet.",
    inferring="mergeSchema",
    self_describing=True,
    for_tables=True,
)
