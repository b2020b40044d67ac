"""The user's transform: a pure function from DataFrame to DataFrame, found by file."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import cast

from pyspark.errors import (
    AnalysisException,
    PySparkAttributeError,
    PySparkException,
    PySparkTypeError,
    PySparkValueError,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidemill.contract import user_code
from tidemill.contract.errors import SpecError
from tidemill.engine.query.file_columns import METADATA
from tidemill.engine.query.partition_columns import source_partitions
from tidemill.engine.query.sql_transform import SqlRefused, SqlTransform
from tidemill.engine.spark_errors import said
from tidemill.engine.spark_internals.call_sites import calls_noted
from tidemill.engine.spark_internals.plan_outline import column_ids
from tidemill.spec.model import is_engine_column
from tidemill.spec.spec import Spec

Transform = Callable[..., DataFrame]
# Spark's words for what it has no condition for.
ASKS_FOR_ROWS = "must be executed with writeStream.start()"
# Raised in Python by a call that no Spark would take, such as of a column that a frame lacks.
CALLED_WRONG = (PySparkAttributeError, PySparkTypeError, PySparkValueError)


class TransformRefused(SpecError):
    """Spark refuses what the transform asks for; carries `path`, `line` and `condition`."""


def load_transform(path: Path) -> Transform:
    """The function `transform` in a file, or the SELECT that a file is.

    Raises:
        SpecError: the file or the function is missing, or the file does not import.
    """
    if path.suffix == ".sql":
        return SqlTransform(path)
    function = getattr(load_module(path), "transform", None)
    if not callable(function):
        raise _error(path, "has no function 'transform'", "Add: def transform(rows): …")
    return cast(Transform, function)


def load_module(path: Path) -> ModuleType:
    """The file of a transform as a module that no one else can import.

    Its functions are therefore pickled by value, so that executors need no file of the driver's;
    so are the modules beside it that it imports.

    Raises:
        SpecError: the file is missing, or does not import.
    """
    if not path.is_file():
        remedy = "Write it, with a function transform(rows), or say in the spec: transform: none"
        raise _error(path, "does not exist", remedy)
    try:
        return user_code.load_module(f"tidemill_transform_{path.stem}", path)
    except Exception as error:
        raise _error(path, f"does not import ({error!r})", "Fix it.") from error


def apply(
    transform: Transform,
    rows: Mapping[str, DataFrame],
    spec: Spec,
    path: Path,
    statics: Mapping[str, DataFrame] | None = None,
) -> DataFrame:
    """Run the transform and check what it made of the engine's columns.

    Args:
        rows: Source -> its good rows. A transform of one source takes them as its one argument, a
            transform of several sources or with static inputs has an argument named like each.
        statics: Static input -> its rows.

    Raises:
        SpecError: the transform fails, drops a partition column or computes it again, takes a name
            that is kept for the engine, or leaves no column beside the partitions; or Spark
            refuses what it asks for.
        PySparkException: Spark fails on the way.
    """
    broadcast = {name for name, static in spec.statics.items() if static.broadcast}
    joined = {
        name: F.broadcast(frame) if name in broadcast else frame
        for name, frame in (statics or {}).items()
    }
    result = _result(transform, {**rows, **joined}, path)
    if METADATA in result.columns:
        result = result.drop(METADATA)
    reserved = [*filter(is_engine_column, result.columns)]
    if reserved:
        raise _error(
            path,
            f"returns column '{reserved[0]}'",
            "Rename it: the engine adds a column of this name.",
        )
    before = [column_ids(frame) for frame in rows.values()]
    after = column_ids(result)
    for name in source_partitions(spec):
        if after.get(name) not in [columns[name] for columns in before]:
            raise _error(
                path,
                f"drops or recomputes partition column '{name}'",
                "Keep it as it is; what it holds is said in the spec, output.partition_by.",
            )
    if not set(result.columns) - set(spec.output.partition_by):
        raise _error(path, "returns partition columns only", "Return at least one more column.")
    return result


def _result(transform: Transform, inputs: Mapping[str, DataFrame], path: Path) -> DataFrame:
    by_name = len(inputs) > 1 or isinstance(transform, SqlTransform)
    _refuse_other_arguments(transform, inputs, path, by_name=by_name)
    try:
        with calls_noted():
            result = transform(**inputs) if by_name else transform(*inputs.values())
    except (AnalysisException, *CALLED_WRONG) as error:
        raise _refused(error, path) from error
    except (PySparkException, SqlRefused):
        # Whoever builds the query tells Spark's own errors apart.
        raise
    except Exception as error:
        line = _line(error, path)
        what = f"fails{'' if line is None else f' in line {line}'}: {error!r}"
        raise _error(path, what, "Fix it.") from error
    if not isinstance(result, DataFrame):
        raise _error(path, f"returns {type(result).__name__}", "Return a DataFrame.")
    return result


def _refused(error: PySparkException, path: Path) -> TransformRefused:
    line = _line(error, path)
    message = said(error)
    asks = ASKS_FOR_ROWS in message
    return TransformRefused(
        f"{path}:{line}: Spark refuses the transform: {message.strip(' ;')}",
        remedy="A stream has no rows while its query is built: count, show and collect have no "
        "place here. Aggregate with groupBy() instead, or write foreach_batch for a sink."
        if asks
        else "Fix it.",
        path=path,
        line=line,
        field="transform",
        condition=error.getCondition(),
    )


def _line(error: Exception, path: Path) -> int | None:
    """The line of the transform's file that an error came from."""
    frames = extract_tb(error.__traceback__)
    return next((f.lineno for f in reversed(frames) if Path(f.filename) == path), None)


def _refuse_other_arguments(
    transform: Transform, inputs: Mapping[str, DataFrame], path: Path, *, by_name: bool
) -> None:
    signature = inspect.signature(transform)
    try:
        signature.bind(**inputs) if by_name else signature.bind(*inputs.values())
    except TypeError as error:
        raise _error(
            path,
            f"does not take the inputs {', '.join(inputs)} ({error})",
            f"Write: def transform({', '.join(inputs)}): …",
        ) from error


def _error(path: Path, what: str, remedy: str) -> SpecError:
    return SpecError(f"{path}: the transform {what}.", remedy=remedy, path=path, field="transform")
