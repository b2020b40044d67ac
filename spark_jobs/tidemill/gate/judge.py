"""Judges one increment: Great Expectations over exact files, and the verdict as plain data."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from tidemill.contract.clock import Clock, wall_clock
from tidemill.gate.engine_choice import Engine
from tidemill.gate.gx_internals.quick_import import import_great_expectations
from tidemill.gate.sample import Sample
from tidemill.gate.suite import Expectation, Suite
from tidemill.increments.judgement import ExpectationOutcome, Judgement
from tidemill.increments.mask import refuse_unknown

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult


def judge(
    sample: Sample,
    suite: Suite,
    engine: Engine,
    *,
    run_name: str,
    docs: Path,
    results: Path,
    samples: int,
    mask: Collection[str] = (),
    clock: Clock = wall_clock,
) -> Judgement:
    """Judge the files of an increment.

    Args:
        sample: The files, and what is known of their columns.
        suite: What is expected of them.
        engine: `InProcess()` or `OnSpark(session)`, as `choose_engine` says.
        run_name: The run id; it names the page in data docs.
        docs: `Layout.docs`, the pipeline's data docs.
        results: The run's folder; the result is written there as `validation.json`.
        samples: The most failing values that are shown per expectation; 0 shows none anywhere.
        mask: Columns whose values are shown nowhere: of their expectations only counts are kept.

    Returns:
        The judgement. Without rows nothing is judged, and that is a failure: expectations all
        pass on nothing.

    Raises:
        CheckBroke: a column is missing or a metric raised, which says nothing about the data.
        SuiteError: Great Expectations refuses an expectation of the suite.
        MaskUnknown: the mask names a column that does not exist.
    """
    refuse_unknown(mask, sample.parsed)
    rows = engine.read(sample, sample.files)
    if rows.count == 0:
        return Judgement(
            engine=engine.name,
            suite=suite.name,
            suite_hash=suite.hash,
            rows=0,
            success=False,
            reason="empty",
        )
    # Here and not above: importing Great Expectations costs seconds.
    import_great_expectations()
    from tidemill.gate import data_docs, validation

    validated = validation.validate(sample, rows, suite, engine, samples=samples, mask=mask)
    run = data_docs.run_identifier(quote(run_name, safe="+:"), clock())
    result = validation.merged(suite, validated, {"run_id": run, "validation_time": run.run_time})
    outcomes = tuple(map(_outcome, suite.expectations, validated.results))
    failed = any(not o.success and o.severity == "critical" for o in outcomes)
    return Judgement(
        engine=engine.name,
        suite=suite.name,
        suite_hash=suite.hash,
        rows=rows.count,
        table_rows=validated.table_rows,
        success=not failed,
        reason="expectations" if failed else None,
        outcomes=outcomes,
        result=data_docs.write_result(result, results),
        docs=data_docs.write_page(suite, result, docs),
    )


def _outcome(expectation: Expectation, judged: ExpectationValidationResult) -> ExpectationOutcome:
    result = cast("dict[str, Any]", judged.to_json_dict()["result"])
    return ExpectationOutcome(
        type=expectation.type,
        columns=expectation.columns,
        kwargs=dict(expectation.kwargs),
        severity=expectation.severity,
        scope=expectation.scope,
        success=bool(judged.success),
        observed_value=result.get("observed_value"),
        unexpected_count=result.get("unexpected_count"),
        unexpected_percent=result.get("unexpected_percent"),
        samples=tuple(result.get("partial_unexpected_list") or ()),
    )
