"""Refuses a result whose columns its files, tables, targets or readers cannot hold."""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql.types import ArrayType, MapType, StringType, StructType

from tidemill.contract.errors import SpecError
from tidemill.spec.column_types import Unfit, quoted, unfit_columns
from tidemill.spec.output import OutputMode
from tidemill.spec.spec import Spec


class ColumnUnfit(SpecError):
    """A column of the result has a type or a name that some place cannot hold; carries `column`."""


def refuse_unfit_columns(result: StructType, spec: Spec, transform: Path) -> None:
    """Look at the types and names of a result, before a query starts.

    Args:
        result: The columns of the transform's result, with the partition columns.
        transform: The transform's file.

    Raises:
        ColumnUnfit: the output's format, its tables, a target or a reader cannot hold a column; or
            one cannot be a key.
    """
    unfit = next(_unfit(result, spec), None)
    if unfit is not None:
        raise ColumnUnfit(
            f"{transform}: the transform's column '{unfit.column}' {unfit.what}.",
            remedy=f"{unfit.instead}.",
            path=transform,
            field="transform",
            column=unfit.column,
        )


def _unfit(result: StructType, spec: Spec) -> Iterator[Unfit]:
    kinds = {target.kind for target in spec.publish}
    yield from unfit_columns(result.jsonValue(), spec.output.format, kinds)
    for target in spec.publish:
        for name in result.names:
            why = target.column_refused(name)
            if why is not None:
                yield Unfit(name, f"cannot be a column of {target.name}: {why}", "Rename it")
        for field, name in target.columns_named:
            if name not in result.names:
                what = f"is missing, and {field} of {target.name} names it"
                yield Unfit(name, what, f"Select it, or correct {field} under publish")
        keys = spec.output.keys if target.upserts(spec.output.mode) else ()
        for name in set(keys).intersection(result.names):
            if isinstance(result[name].dataType, ArrayType | MapType | StructType):
                what = (
                    f"is {result[name].dataType.simpleString()}, and {target.name} has no such keys"
                )
                yield Unfit(name, what, "Make a text of it: to_json(…), or name other output.keys")
        why = target.key_refused([result[n].dataType.typeName() for n in keys if n in result.names])
        if why is not None:
            what = f"is in output.keys ({', '.join(keys)}), which {target.name} cannot have: {why}"
            yield Unfit(keys[0], what, "Name one column in their place, such as sha2(…, 256)")
    yield from _collated_keys(result, spec)


def _collated_keys(result: StructType, spec: Spec) -> Iterator[Unfit]:
    if spec.output.mode is not OutputMode.UPDATE:
        return
    for name in set(spec.output.keys).intersection(result.names):
        kind = result[name].dataType
        if isinstance(kind, StringType) and not kind.isUTF8BinaryCollation():
            # Spark puts 'a' and 'A' into one group, and names it after either of them.
            yield Unfit(
                name,
                f"is a key of output.keys and {kind.simpleString()}: texts that differ are one "
                "key, and each batch may spell it otherwise",
                f"Group by lower({quoted(name)}), or by {quoted(name)} COLLATE UTF8_BINARY",
            )
