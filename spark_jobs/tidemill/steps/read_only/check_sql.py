"""Checks a SQL transform without Spark, as far as that is possible."""

from collections.abc import Iterator
from pathlib import Path

from tidemill.contract.syntax.sql_text import java_call, tokens
from tidemill.contract.syntax.unrepeatable_sql import unrepeatable_in_sql
from tidemill.spec.sinks import ForeachBatchSink, ForeachSink
from tidemill.spec.spec import Spec

# What a query can begin with.
_BEGINNINGS = ("select", "with", "from", "table", "values")
FROM_THE_ROW = "Compute it from the row."
WRITE_PYTHON = "Write the transform in Python."


def problems_of_sql(path: Path, spec: Spec) -> Iterator[tuple[str, str]]:
    """Problems with a SQL transform, with remedies.

    Args:
        path: The file, which exists.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except ValueError as error:
        yield f"is not text: {error}", "Save it as UTF-8 text."
        return
    parts = [*tokens(text)]
    words = [part.name.lower() for part in parts]
    first = next(filter(None, words), "")
    if first not in _BEGINNINGS:
        yield f"is not a SELECT, and begins with '{first}'", "Write one SELECT over the sources."
        return
    ends = [number for number, part in enumerate(parts) if part.text == ";"]
    if ends and any(words[ends[0] :]):
        yield "is more than one statement", "Write one SELECT; WITH names what comes before it."
    called = java_call(text)
    if called is not None:
        yield f"calls {called}(), which could run any method of Java", WRITE_PYTHON
    for name in (*spec.sources, *spec.statics):
        if name not in words:
            yield f"does not read '{name}'", "Read it, or remove it from the spec."
    if spec.published:
        columns = {name for source in spec.sources.values() for name in source.columns}
        for used in unrepeatable_in_sql(text, columns):
            yield f"uses {used}, which gives another value the next time", FROM_THE_ROW
    if isinstance(spec.sink, ForeachSink | ForeachBatchSink):
        yield f"has no functions for the sink {spec.sink.kind}", WRITE_PYTHON
