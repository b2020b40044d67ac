"""The types that a partition column may have: those that every reader reads back unchanged.

A partition's value is a text in a directory's name. For a timestamp it is the local time, which
Delta's readers take for UTC, and the two hours of the end of summer time become one directory. A
negative decimal between -1 and 0 is read as `0.-1` by deltalake 1.6.6, which then fails.
"""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.types import StructType

from tidemill.contract.errors import SpecError
from tidemill.spec.spec import Spec

FAITHFUL = ("string", "date", "boolean", "byte", "short", "integer", "long")


class PartitionTypeUnfaithful(SpecError):
    """A partition column has a type that does not survive as text; carries `column`, `type`."""


def refuse_unfaithful_types(columns: StructType, spec: Spec, spec_file: Path) -> None:
    """Look at the partition columns' types, before a query starts.

    Raises:
        PartitionTypeUnfaithful: one is a timestamp, a decimal, a float or the like.
    """
    for name in spec.output.partition_by:
        kind = columns[name].dataType.typeName()
        if kind not in FAITHFUL:
            raise PartitionTypeUnfaithful(
                f"{spec_file}: output.partition_by.{name} is a {kind}, and partitions may be "
                f"{', '.join(FAITHFUL)}.",
                remedy="Make it a date or a text, e.g. date_format(at, 'yyyy-MM-dd HH').",
                path=spec_file,
                field=f"output.partition_by.{name}",
                column=name,
                type=kind,
            )
