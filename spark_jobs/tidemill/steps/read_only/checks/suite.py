"""Checks a pipeline's suite without Great Expectations."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from tidemill.gate.gx_internals.known_expectations import Arguments, known_expectations
from tidemill.gate.plugin_source import metric_without_spark
from tidemill.gate.suite import Expectation, Suite, SuiteError, load_suite
from tidemill.steps.read_only.checks.expressions import unknown_words
from tidemill.steps.read_only.checks.problem import Problem, write_or_rename
from tidemill.steps.read_only.checks.select_columns import Columns
from tidemill.steps.read_only.checks.spark_sql import nearest

# An expectation that only pandas can judge: a larger increment, or a backfill, is Spark's.
NO_METRIC = "{kind} cannot be judged on Spark, for which '{metric}' is not written"
WRITE_METRIC = "Write it with engine=SparkDFExecutionEngine too."


def problems_of_suite(path: Path, result: Columns | None) -> Iterator[Problem]:
    """The problems with a suite; a file that is missing is one.

    Args:
        path: The suite's file.
        result: The columns of the rows that it judges, where they are known.
    """
    if not path.is_file():
        remedy = write_or_rename(path, "gate: {suite: none}", "judges by row rules and counts")
        yield Problem(path, None, "there is no such suite", remedy)
        return
    try:
        suite = load_suite(path)
    except SuiteError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, json.JSONDecodeError) else None
        yield Problem.said(Path(str(error.data["path"])), line, error.what, error.remedy)
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    for expectation in suite.expectations:
        word = f'"{expectation.type}"'
        line = next((number for number, text in enumerate(lines, 1) if word in text), None)
        for what, remedy in _of_expectation(suite, expectation):
            yield Problem(path, line, what, remedy)
        for name in unknown_words(expectation.columns, result) if result is not None else ():
            place = next((n for n, text in enumerate(lines, 1) if f'"{name}"' in text), line)
            what = f"{expectation.type} names '{name}', which is not a column of the result"
            yield Problem(path, place, what, nearest(name, result or ()))


def _of_expectation(suite: Suite, expectation: Expectation) -> Iterator[tuple[str, str]]:
    known = known_expectations()
    kind = expectation.type
    if not known:
        # Great Expectations is not installed, which the command says.
        return
    if kind not in known and kind not in suite.own:
        near = get_close_matches(kind, [*known, *suite.project.own_expectations()], n=1)
        folder = suite.project.plugins()
        write = f"Use one that Great Expectations ships, or write its class in {folder}."
        remedy = f"Did you mean '{near[0]}'?" if near else write
        yield f"'{kind}' is not an expectation of Great Expectations or of yours", remedy
        return
    if kind in suite.own:
        files = suite.project.plugin_files()
        metric = metric_without_spark(kind, suite.own[kind], files)
        if metric is not None:
            yield NO_METRIC.format(kind=kind, metric=metric), WRITE_METRIC
        return
    arguments = known[kind]
    if arguments is not None:
        yield from problems_of_arguments(expectation, arguments)


def problems_of_arguments(
    expectation: Expectation, arguments: Arguments
) -> Iterator[tuple[str, str]]:
    """What is wrong with the arguments of an expectation, and what to do about each."""
    kind = expectation.type
    for name in sorted(set(expectation.kwargs) - arguments.names):
        near = get_close_matches(name, arguments.names, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else "Remove it."
        yield f"{kind} has no argument '{name}'", remedy
    for name in sorted(arguments.required - set(expectation.kwargs)):
        yield f"{kind} lacks its argument '{name}'", "Add it to its kwargs."
