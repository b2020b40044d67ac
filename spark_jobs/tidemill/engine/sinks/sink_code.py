"""The user's side of a sink in Python: `foreach`, `ForeachWriter`, `foreach_batch`.

They stand in the transform's file, beside `transform`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pyspark.sql import DataFrame, Row

from tidemill.contract.errors import SpecError
from tidemill.engine.query.transform import load_module

ForeachBatch = Callable[[DataFrame, int], None]


class SinkCodeMissing(SpecError):
    """The transform's file lacks what the sink calls; carries `path` and `names`."""


def load_foreach(path: Path) -> Callable[[Row], None] | Any:
    """The function or writer that Spark's foreach sink calls for each row.

    A `ForeachWriter` is made once in the driver, without arguments, and copied to every task.
    Spark calls `open(partition_id, epoch_id)`, which may decline by returning False; then
    `process(row)` for each row unless it declined; then always `close(error)`, with the error if
    there was one. `open` and `close` may be missing. A batch that failed comes again under the
    same epoch and with the same rows, in partitions that may differ.

    Raises:
        SinkCodeMissing: there is neither, or there are both.
        SpecError: the file does not import, or the writer cannot be made.
    """
    module = load_module(path)
    function = getattr(module, "foreach", None)
    writer = getattr(module, "ForeachWriter", None)
    if (function is None) == (writer is None):
        what = "has neither" if function is None else "has both"
        raise _missing(
            path,
            f"{what} a function foreach(row) and a class ForeachWriter",
            "Write one of them, beside transform.",
            ("foreach", "ForeachWriter"),
        )
    if function is not None:
        return function
    if not callable(getattr(writer, "process", None)):
        raise _missing(path, "has a ForeachWriter without process(row)", "Add it.", ("process",))
    try:
        return cast(Any, writer)()
    except Exception as error:
        raise SpecError(
            f"{path}: ForeachWriter() fails: {error!r}.",
            remedy="Open what it needs in open(); it is made once, in the driver.",
            path=path,
            field="sink",
        ) from error


def load_foreach_batch(path: Path, *, persist: bool) -> ForeachBatch:
    """The function that Spark's foreachBatch sink calls with each batch and its id.

    To write a batch to several destinations without reading and computing it for each of them,
    the function persists it, as Spark's guide does, or the spec says `persist: true`:

        def foreach_batch(rows, batch_id):
            rows.persist()
            rows.write.mode("append").parquet("/srv/all")
            rows.where("amount > 1000").write.mode("append").parquet("/srv/large")
            rows.unpersist()

    Rows are counted as they are computed: a batch that is computed twice counts twice. A batch that
    failed, or whose driver was killed, comes again under the same id; a destination that keeps the
    ids it has seen is written exactly once.

    Args:
        persist: Keep the rows while the function runs.

    Raises:
        SinkCodeMissing: there is no such function.
        SpecError: the file does not import.
    """
    function = getattr(load_module(path), "foreach_batch", None)
    if not callable(function):
        raise _missing(
            path,
            "has no function 'foreach_batch'",
            "Add: def foreach_batch(rows, batch_id): …",
            ("foreach_batch",),
        )
    if not persist:
        return cast(ForeachBatch, function)

    def with_rows_kept(rows: DataFrame, batch_id: int) -> None:
        rows.persist()
        try:
            function(rows, batch_id)
        finally:
            rows.unpersist()

    return with_rows_kept


def _missing(path: Path, what: str, remedy: str, names: tuple[str, ...]) -> SinkCodeMissing:
    return SinkCodeMissing(f"{path} {what}.", remedy=remedy, path=path, field="sink", names=names)
