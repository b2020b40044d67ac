"""Runs Great Expectations: a suite over an engine's rows, with results in the suite's order.

Only `judge()` imports this module, because importing Great Expectations costs seconds.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import great_expectations as gx  # noqa: TID253 - see the module's docstring
import pandas as pd
from great_expectations.core.expectation_validation_result import (  # noqa: TID253
    ExpectationSuiteValidationResult,
    ExpectationValidationResult,
)
from great_expectations.data_context.data_context.abstract_data_context import (  # noqa: TID253
    AbstractDataContext,
)
from great_expectations.data_context.types.base import (  # noqa: TID253
    DataContextConfig,
    InMemoryStoreBackendDefaults,
)
from great_expectations.expectations.expectation import Expectation as GxExpectation  # noqa: TID253

from tidemill.gate.engine_choice import Engine
from tidemill.gate.gx_internals import loggers
from tidemill.gate.gx_internals.expectation_configuration import (
    REFUSALS,
    configuration,
    expectation_of,
    id_of,
)
from tidemill.gate.gx_internals.progress_bars import NO_PROGRESS_BARS
from tidemill.gate.own_expectations import completed, import_own
from tidemill.gate.sample import Rows, Sample
from tidemill.gate.suite import Expectation, Suite, SuiteError
from tidemill.increments.judgement import CheckBroke
from tidemill.increments.mask import hides

LONGEST_TEXT = 500
# What Great Expectations counts; everything else in a result may be a value of the data.
_COUNTS = frozenset(
    {
        "element_count",
        "missing_count",
        "missing_percent",
        "unexpected_count",
        "unexpected_percent",
        "unexpected_percent_nonmissing",
        "unexpected_percent_total",
    }
)
_OBSERVED_COUNTS = ("_row_count_", "_column_count_", "_unique_value_count_", "_proportion_of_")

# Failures reach us as results. What these two would log besides is noise, or values of the data.
logging.getLogger(loggers.ALL).setLevel(logging.CRITICAL)
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class Validated:
    """Great Expectations' results in the order of the suite, and how many rows they saw."""

    results: tuple[ExpectationValidationResult, ...]
    table_rows: int


def open_context() -> AbstractDataContext:
    """A context that keeps everything in memory; `expectations/` is not even opened."""
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(),
        analytics_enabled=False,
        progress_bars=NO_PROGRESS_BARS,
    )
    return gx.get_context(mode="ephemeral", project_config=config)


def validate(
    sample: Sample,
    rows: Rows,
    suite: Suite,
    engine: Engine,
    *,
    samples: int,
    mask: Collection[str] = (),
) -> Validated:
    """Judge the increment, and with the published rows what is marked for the whole table.

    Raises:
        CheckBroke: a column is missing or a metric raised.
        SuiteError: Great Expectations refuses an expectation.
    """
    of_scope = {"increment": rows}
    if suite.of_scope("table"):
        of_scope["table"] = engine.read(sample, (*sample.files, *sample.extra_files))
    results = run(sample, of_scope, suite, engine, samples=samples)
    judged = tuple(zip(results, suite.expectations, strict=True))
    # Spark computes many metrics at once: what is said of one column may be of another.
    _refuse_broken(judged, suite, shown=bool(samples) and not mask)
    # Code of the user may look at any column.
    seen = [() if e.type in suite.own else e.columns for e in suite.expectations]
    show = [bool(samples) and not hides(mask, columns) for columns in seen]
    said = (_said(*one, shown=shown) for one, shown in zip(judged, show, strict=True))
    return Validated(tuple(said), of_scope["table"].count if "table" in of_scope else 0)


def run(
    sample: Sample,
    of_scope: Mapping[str, Rows],
    suite: Suite,
    engine: Engine,
    *,
    samples: int,
) -> list[ExpectationValidationResult]:
    """Great Expectations' result for each expectation, in the order of the suite.

    Args:
        of_scope: The rows of each scope that the suite has.
    """
    import_own(suite)
    asked = completed(suite)
    found: dict[int, ExpectationValidationResult] = {}
    for scope, rows in of_scope.items():
        chosen = {n: e for n, e in enumerate(asked) if e.scope == scope}
        if not chosen:
            continue
        definition = engine.batch_definition(open_context(), rows)
        batch = definition.get_batch(batch_parameters={"dataframe": rows.frame})
        judged = partial(_judged, batch, suite, engine, sample)
        if samples and engine.scans_for_samples:
            # The user's own expectations may show samples in a way of theirs.
            ours = {n: e for n, e in chosen.items() if e.type not in suite.own}
            counted = judged(ours, 0)
            chosen = {n: e for n, e in chosen.items() if n not in counted or _fails(counted[n])}
            found |= counted
        found |= judged(chosen, samples)
    return [found[number] for number in range(len(suite.expectations))]


def merged(
    suite: Suite, validated: Validated, meta: dict[str, Any]
) -> ExpectationSuiteValidationResult:
    """One result of the whole suite, as Great Expectations' own tools read it."""
    succeeded = sum(bool(result.success) for result in validated.results)
    evaluated = len(validated.results)
    return ExpectationSuiteValidationResult(
        success=succeeded == evaluated,
        results=list(validated.results),
        suite_name=suite.name,
        statistics={
            "evaluated_expectations": evaluated,
            "successful_expectations": succeeded,
            "unsuccessful_expectations": evaluated - succeeded,
            "success_percent": 100 * succeeded / evaluated if evaluated else None,
        },
        meta={"great_expectations_version": gx.__version__, **meta},
    )


def _judged(
    batch: Any,
    suite: Suite,
    engine: Engine,
    sample: Sample,
    chosen: Mapping[int, Expectation],
    samples: int,
) -> dict[int, ExpectationValidationResult]:
    """The results of some expectations of a suite, by their places in it.

    Args:
        batch: Great Expectations' batch of rows.
        chosen: The expectations by their places.
        samples: The most failing values of each.
    """
    if not chosen:
        return {}
    part = gx.ExpectationSuite(name=suite.name)
    part.expectations = [_built(suite, e, engine, sample, n) for n, e in chosen.items()]
    # COMPLETE would collect every failing row on the driver.
    result_format = {"result_format": "BASIC", "partial_unexpected_count": samples}
    results = batch.validate(part, result_format=result_format).results
    return {_number(result): result for result in results}


def _fails(result: ExpectationValidationResult) -> bool:
    """Whether there are values that an expectation counts as failing."""
    return bool(result.result.get("unexpected_count"))


def _number(result: ExpectationValidationResult) -> int:
    return int(id_of(result) or -1)


def _built(
    suite: Suite, expectation: Expectation, engine: Engine, sample: Sample, number: int
) -> GxExpectation:
    """The expectation for one engine; its id is its place in the suite.

    Built one by one, because a suite only logs and drops what Great Expectations refuses.
    """
    try:
        return expectation_of(
            configuration(
                expectation.type,
                engine.arguments(expectation, sample),
                expectation.severity,
                expectation.raw.get("meta") or {},
                id=str(number),
            )
        )
    except REFUSALS as error:
        raise SuiteError(
            f"{suite.path}: Great Expectations refuses {expectation.type}: {error}",
            remedy="Fix the expectation; `tidemill check` names its arguments.",
            path=suite.path,
            expectation=expectation.type,
        ) from error


def _refuse_broken(
    judged: Sequence[tuple[ExpectationValidationResult, Expectation]], suite: Suite, *, shown: bool
) -> None:
    raised = [(e, _exception(r.exception_info)) for r, e in judged]
    broken = [(expectation, text) for expectation, text in raised if text is not None]
    if not broken:
        return
    # Spark computes many metrics at once, so that one of them can break its neighbours too.
    expectation, text = broken[0]
    text = text[:LONGEST_TEXT] if shown else "(withheld, because of gate.samples or gate.mask)"
    others = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    raise CheckBroke(
        f"{expectation.type} on {', '.join(expectation.columns) or 'the table'}{others} "
        f"could not be checked: {text}",
        remedy=f"Nothing was judged: fix {suite.path} or the transform; the next run judges it.",
        remedy_in_airflow=f"Nothing was judged: fix {suite.path} or the transform, then clear the "
        "task gate.",
        expectation=expectation.type,
        columns=expectation.columns,
        exception=text,
        broken=tuple(f"{one.type}({', '.join(one.columns)})" for one, _ in broken),
    )


def _said(
    result: ExpectationValidationResult, expectation: Expectation, *, shown: bool
) -> ExpectationValidationResult:
    """The result in the suite's own words, and with values of the data only if they are wanted."""
    config = configuration(
        expectation.type,
        expectation.kwargs,
        expectation.severity,
        expectation.raw.get("meta") or {},
        notes=expectation.raw.get("notes"),
        id=expectation.raw.get("id"),
    )
    kept = result.result if shown else _counts_only(expectation.type, result.result)
    if kept.get("observed_value") is pd.NaT:
        # The extreme of a column of nulls; Spark says None.
        kept = {**kept, "observed_value": None}
    return ExpectationValidationResult(
        # It may be numpy's own bool, which no JSON writer knows.
        success=bool(result.success),
        expectation_config=config,
        result=kept,
        meta=result.meta,
    )


def _exception(info: Mapping[str, Any]) -> str | None:
    """The first exception of a result; there may be one, or one per metric."""
    for one in [info] if "raised_exception" in info else info.values():
        if one.get("raised_exception"):
            return str(one.get("exception_message"))
    return None


def _counts_only(kind: str, result: Mapping[str, Any]) -> dict[str, Any]:
    counts = {name: value for name, value in result.items() if name in _COUNTS}
    if "observed_value" in result and any(part in kind for part in _OBSERVED_COUNTS):
        counts["observed_value"] = result["observed_value"]
    return counts
