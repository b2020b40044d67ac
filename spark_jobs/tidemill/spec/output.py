"""What a query writes, and in which of Spark's output modes."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tidemill.spec.formats.rules import FormatRules, with_defaults
from tidemill.spec.formats.table import FORMATS, OutputFormat
from tidemill.spec.model import Column, Disagreement, Expression, Model, is_engine_column
from tidemill.spec.sources.base import OptionValue, as_text

REJECTED = "_rejected"
# The partition of rejected rows where the null partition holds good ones.
REJECTED_PARTITION = "__TIDEMILL_REJECTED__"
# What Spark escapes in the name of a partition's directory (`ExternalCatalogUtils`).
ESCAPED = frozenset({*map(chr, range(1, 32)), *"\"#%'*/:=?\\{[]^\x7f"})

NullPartition = Literal["reject", "keep"]


class OutputMode(StrEnum):
    """Spark's output mode: new rows, changed rows, or the whole result of each batch."""

    APPEND = "append"
    UPDATE = "update"
    COMPLETE = "complete"


class Output(Model):
    """The output of the query.

    Attributes:
        mode: Spark's output mode: new rows, changed rows, or the whole result.
        format: The format of the data files; tables need parquet.
        partition_by: Column -> an expression in Spark SQL, whose value names the directory of a
            row.
        maxRecordsPerFile: Most rows of one file; 0 sets no limit.
        options: The options of Spark's writer, by Spark's names.
        null_partition: What becomes of a row whose partition value is null: `reject` puts it among
            the rejected rows, `keep` publishes it in the null partition of Hive, Spark and Delta.
        keys: The columns that tell rows apart, for `update` and for targets that upsert.
        max_rows: The most rows that a batch in mode `complete` may have.
    """

    mode: OutputMode = OutputMode.APPEND
    format: OutputFormat = "parquet"
    options: dict[str, OptionValue] = {}
    partition_by: dict[Column, Expression] = {}
    null_partition: NullPartition = "reject"
    maxRecordsPerFile: Annotated[int, Field(ge=0)] = 0
    keys: tuple[Column, ...] = ()
    max_rows: Annotated[int, Field(gt=0)] = 1_000_000

    @model_validator(mode="after")
    def _options_have_their_place(self) -> Self:
        for name in self.options:
            refused = self.rules.writer_option_refused(name, as_text(self.options[name]))
            if refused:
                raise Disagreement(refused, "options", name)
        return self

    @model_validator(mode="after")
    def _partitions_are_seen(self) -> Self:
        for name in self.partition_by:
            if is_engine_column(name):
                msg = f"'{name}' is kept for the engine; give the partition another name"
                raise Disagreement(msg, "partition_by", name)
            if name.startswith("."):
                msg = f"'{name}' names a folder that Spark does not read; begin with another sign"
                raise Disagreement(msg, "partition_by", name)
            escaped = next((sign for sign in name if sign in ESCAPED), None)
            if escaped is not None:
                msg = f"'{name}' has '{escaped}' in it, which readers of folders show otherwise"
                raise Disagreement(f"{msg}; leave it out of the name", "partition_by", name)
        return self

    @model_validator(mode="after")
    def _null_has_a_partition(self) -> Self:
        if self.keeps_null_partition and not self.partition_by:
            msg = "a table without partition_by has no null partition; remove one or give the other"
            raise Disagreement(msg, "null_partition")
        return self

    @property
    def keeps_null_partition(self) -> bool:
        """Whether the null partition holds good rows, and rejected ones have another."""
        return self.null_partition == "keep"

    @property
    def rules(self) -> FormatRules:
        """The rules of its format."""
        return FORMATS[self.format]

    @property
    def writer_options(self) -> dict[str, str]:
        """Every option for Spark's writer, as text: our defaults, then the spec's own."""
        given = {name: as_text(value) for name, value in self.options.items()}
        return with_defaults(given, self.rules.writer_defaults)

    @property
    def sink_partitions(self) -> tuple[str, ...]:
        """The columns that the sink's directories are named after.

        A rejected row is in the null partition, into which no good row ever falls, or where that
        one is kept, in a partition of a reserved name; a sink without partitions gets one for the
        purpose. (A further level over the partitions would do, but Polars then finds a column in
        the path that the table does not have.)
        """
        return tuple(self.partition_by) or (REJECTED,)
