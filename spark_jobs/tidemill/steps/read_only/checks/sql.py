"""Checks a SQL transform without Spark, as far as that is possible."""

from collections.abc import Iterator
from pathlib import Path

from sqlglot import exp

from tidemill.contract.syntax.sql_text import java_call, tokens
from tidemill.contract.syntax.unrepeatable_sql import unrepeatable_in_sql
from tidemill.spec.model import is_engine_column
from tidemill.spec.sinks import ForeachBatchSink, ForeachSink
from tidemill.spec.spec import Spec
from tidemill.steps.read_only.checks.problem import Problem
from tidemill.steps.read_only.checks.result import dropped_partitions
from tidemill.steps.read_only.checks.result_columns import input_columns
from tidemill.steps.read_only.checks.select_columns import (
    names_within,
    select_columns,
    unknown_tables,
)
from tidemill.steps.read_only.checks.spark_sql import (
    NotSparkSql,
    columns_named,
    nearest,
    tree_of,
    unknown_functions,
)

# What a query can begin with.
_BEGINNINGS = ("select", "with", "from", "table", "values")
FROM_THE_ROW = "Compute it from the row."
WRITE_PYTHON = "Write the transform in Python."


def problems_of_sql(path: Path, spec: Spec) -> Iterator[Problem]:
    """Problems with a SQL transform.

    Args:
        path: The file, which exists.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError as error:
        yield Problem(path, None, f"is not text: {error}", "Save it as UTF-8 text.")
        return
    parts = [*tokens(text)]
    words = [part.name.lower() for part in parts]
    first = next(filter(None, words), "")
    if first not in _BEGINNINGS:
        what = f"is not a SELECT, and begins with '{first}'"
        yield Problem(path, None, what, "Write one SELECT over the sources.")
        return
    ends = [number for number, part in enumerate(parts) if part.text == ";"]
    if ends and any(words[ends[0] :]):
        remedy = "Write one SELECT; WITH names what comes before it."
        yield Problem(path, None, "is more than one statement", remedy)
        return
    called = java_call(text)
    if called is not None:
        what = f"calls {called}(), which could run any method of Java"
        yield Problem(path, None, what, WRITE_PYTHON)
    try:
        tree = tree_of(text)
    except NotSparkSql as error:
        found = error.mistake
        where = f" (line {found.line}, column {found.column})" if found.line else ""
        yield Problem(path, found.line, f"{found.what}{where}", found.remedy)
        return
    if tree is not None:
        yield from _of_names(tree, text, path, spec)
    if tree is None or not unknown_tables(tree, input_columns(spec)):
        for name in (*spec.sources, *spec.statics):
            if name not in words:
                what = f"does not read '{name}'"
                yield Problem(path, None, what, "Read it, or remove it from the spec.")
    if spec.published and spec.deterministic:
        columns = {name for source in spec.sources.values() for name in source.columns}
        for used in unrepeatable_in_sql(text, columns):
            what = f"uses {used}, which gives another value the next time"
            yield Problem(path, None, what, FROM_THE_ROW)
    if isinstance(spec.sink, ForeachSink | ForeachBatchSink):
        yield Problem(path, None, f"has no functions for the sink {spec.sink.kind}", WRITE_PYTHON)


def _of_names(tree: exp.Expr, text: str, path: Path, spec: Spec) -> Iterator[Problem]:
    inputs = input_columns(spec)
    for table in unknown_tables(tree, inputs):
        what = f"reads '{table.name}', which is neither a source nor a static input"
        yield Problem(
            path, _line(text, table.name), what, nearest(table.name, inputs, "It can read")
        )
    if not any("extensions" in name for name in spec.spark.conf):
        for name, remedy in unknown_functions(tree, text):
            what = f"calls {name}(), which Spark does not have"
            yield Problem(path, _line(text, name), what, remedy)
    names = names_within(tree, inputs)
    if names is None or unknown_tables(tree, inputs):
        return
    for word in columns_named(tree):
        if word.lower() not in names and not is_engine_column(word):
            known = dict.fromkeys(name for columns in inputs.values() for name in columns or ())
            what = f"names '{word}', which is not a column of its inputs"
            yield Problem(path, _line(text, word), what, nearest(word, known))
    selected = select_columns(tree, inputs)
    for name in dropped_partitions(spec, selected) if selected else ():
        remedy = f"Select it as it is, and group by it; the spec says what {name} holds."
        yield Problem(path, None, f"drops the partition column '{name}'", remedy)


def _line(text: str, word: str) -> int | None:
    """The first line of a SQL text with a word."""
    lines = enumerate(text.split("\n"), 1)
    return next(
        (n for n, one in lines if any(t.name.lower() == word.lower() for t in tokens(one))), None
    )
