"""What the gate gives Great Expectations: the sealed files, and the published ones beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
from deltalake import DeltaTable

from spark_jobs.contract.layout import Layout
from spark_jobs.contract.report import path_of
from spark_jobs.gate.engine import Engine, EngineChoice
from spark_jobs.gate.judge import judge
from spark_jobs.gate.judgement import Judgement
from spark_jobs.gate.sample import Sample, SampleFile
from spark_jobs.gate.suite import Suite
from spark_jobs.ledger.batches import Batch
from spark_jobs.steps.step import Run


def judge_increment(
    run: Run, suite: Suite, choice: EngineChoice, columns: str, batches: Sequence[Batch]
) -> Judgement:
    """Judge the good files of sealed batches.

    Args:
        run: The gate's run; its folder gets Great Expectations' own result.
        suite: What is expected.
        choice: Which engine judges.
        columns: The published columns, as Spark's JSON schema.
        batches: Those of the increment.

    Raises:
        CheckBroke: the check failed, which says nothing about the data.
    """
    layout = run.pipeline.layout
    sink = layout.sink(batches[0].generation)
    files = tuple(
        SampleFile(sink / file.path, sink, file.partition)
        for batch in batches
        for file in batch.outputs
        if not file.rejected and file.rows
    )
    wider = suite.of_scope("table")
    sample = Sample(
        files=files,
        columns=columns,
        time_zone=run.pipeline.spec.timezone,
        extra_files=published_beside(layout, files) if wider else (),
    )
    return judge(
        sample,
        suite,
        _engine(run, choice),
        run_name=run.run_id,
        docs=layout.docs,
        results=path_of(layout.run(run.run_id), "gate").parent,
        samples=run.pipeline.spec.gate.samples,
    )


def published_beside(layout: Layout, files: Sequence[SampleFile]) -> tuple[SampleFile, ...]:
    """The published files of the partitions that some files lie in."""
    if not DeltaTable.is_deltatable(str(layout.table)):
        return ()
    touched = {tuple(sorted(file.partition.items())) for file in files}
    actions = pa.table(DeltaTable(layout.table).get_add_actions())
    beside = []
    for row in actions.to_pylist():
        partition = {name: _text(value) for name, value in (row.get("partition") or {}).items()}
        if tuple(sorted(partition.items())) in touched:
            path = layout.table / unquote(urlparse(row["path"]).path)
            beside.append(SampleFile(path, _sink_of(path, layout.table), partition))
    return tuple(beside)


def _engine(run: Run, choice: EngineChoice) -> Engine:
    if choice.engine == "in_process":
        from spark_jobs.gate.in_process import InProcess

        return InProcess()
    from spark_jobs.engine.session import open_session
    from spark_jobs.gate.on_spark import OnSpark

    return OnSpark(open_session(run.pipeline, "gate"))


def _sink_of(path: Path, table: Path) -> Path:
    """Where a file's partition directories begin: a sink of ours, or the table's own root."""
    first = path.relative_to(table).parts[0]
    return table / first if first.startswith("_") and "=" not in first else table


def _text(value: object) -> str | None:
    """A partition value as Spark writes it into a directory's name."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
