"""Gives Great Expectations the sealed files, and the published rows beside them."""

from collections.abc import Sequence
from contextlib import nullcontext

from tidemill.contract.layout import Layout
from tidemill.contract.report import path_of
from tidemill.gate.engine_choice import Engine, EngineChoice
from tidemill.gate.judge import judge
from tidemill.gate.sample import Sample, SampleFile
from tidemill.gate.suite import Suite
from tidemill.increments.increments import Increments, Sealed
from tidemill.increments.judgement import Judgement
from tidemill.ledger.batch import Batch
from tidemill.ledger.ledger import Ledger
from tidemill.steps.parts.published_rows import published_beside
from tidemill.storage.run_context import RunContext


def judge_increment(
    run: RunContext,
    suite: Suite,
    choice: EngineChoice,
    columns: str,
    sealed: Sealed,
    batches: Sequence[Batch],
) -> Judgement:
    """Judge the rows that become visible if an increment goes out.

    Args:
        suite: What is expected.
        choice: The engine to judge with.
        columns: The published columns, as Spark's JSON schema.

    Raises:
        CheckBroke: the check failed, which says nothing about the data.
    """
    layout, spec = run.pipeline.layout, run.pipeline.spec
    files = _files(layout, sealed, batches)
    wider = published_beside(layout, spec.output, files) if suite.of_scope("table") else None
    with wider or nullcontext(()) as extra:
        return judge(
            Sample(files=files, columns=columns, time_zone=spec.timezone, extra_files=extra),
            suite,
            engine_of(run, choice),
            run_name=run.run_id,
            docs=layout.docs,
            results=path_of(layout.run(run.run_id), "gate").parent,
            samples=spec.gate.samples,
            mask=spec.gate.mask,
            clock=run.clock,
        )


def _files(layout: Layout, sealed: Sealed, batches: Sequence[Batch]) -> tuple[SampleFile, ...]:
    if sealed.net is not None:
        folder = Increments(layout.increments).folder_of(sealed.increment)
        paths = [folder / file.path for file in sealed.net]
        return tuple(SampleFile(path, path.parent, {}) for path in paths)
    sink = layout.sink(sealed.generation)
    written = Ledger(layout, sealed.generation).written(batches)
    return tuple(
        SampleFile(sink / file.path, sink, file.partition, written[batch.batch])
        for batch in batches
        for file in batch.outputs
        if not file.rejected and file.rows
    )


def engine_of(run: RunContext, choice: EngineChoice) -> Engine:
    """The engine that was chosen; Spark is started where it is Spark."""
    if choice.engine == "in_process":
        from tidemill.gate.in_process import InProcess

        return InProcess()
    from tidemill.engine.session import open_session
    from tidemill.gate.on_spark import OnSpark

    return OnSpark(open_session(run.pipeline, "gate"))
