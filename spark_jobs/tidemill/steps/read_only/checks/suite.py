"""Checks a pipeline's suite without Great Expectations."""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from tidemill.gate.known_expectations import known_expectations
from tidemill.gate.suite import Expectation, SuiteError, load_suite
from tidemill.steps.read_only.checks.expressions import unknown_words
from tidemill.steps.read_only.checks.problem import Problem, write_or_rename
from tidemill.steps.read_only.checks.select_columns import Columns
from tidemill.steps.read_only.checks.spark_sql import nearest


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
        yield Problem.said(path, line, error.what, error.remedy)
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    for expectation in suite.expectations:
        word = f'"{expectation.type}"'
        line = next((number for number, text in enumerate(lines, 1) if word in text), None)
        for what, remedy in _of_expectation(expectation):
            yield Problem(path, line, what, remedy)
        for name in unknown_words(expectation.columns, result) if result is not None else ():
            place = next((n for n, text in enumerate(lines, 1) if f'"{name}"' in text), line)
            what = f"{expectation.type} names '{name}', which is not a column of the result"
            yield Problem(path, place, what, nearest(name, result or ()))


def _of_expectation(expectation: Expectation) -> Iterator[tuple[str, str]]:
    known = known_expectations()
    kind = expectation.type
    if not known:
        # Great Expectations is not installed, which the command says.
        return
    if kind not in known:
        near = get_close_matches(kind, known, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else "Use one that Great Expectations ships."
        yield f"'{kind}' is not an expectation of Great Expectations", remedy
        return
    arguments = known[kind]
    if arguments is None:
        return
    for name in sorted(set(expectation.kwargs) - arguments.names):
        near = get_close_matches(name, arguments.names, n=1)
        remedy = f"Did you mean '{near[0]}'?" if near else "Remove it."
        yield f"{kind} has no argument '{name}'", remedy
    for name in sorted(arguments.required - set(expectation.kwargs)):
        yield f"{kind} lacks its argument '{name}'", "Add it to its kwargs."
