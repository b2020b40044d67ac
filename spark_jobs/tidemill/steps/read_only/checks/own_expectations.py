"""Checks the user's own expectations as classes: it runs their code."""

from collections.abc import Iterator
from pathlib import Path

from tidemill.gate.gx_internals.quick_import import import_great_expectations
from tidemill.gate.suite import SuiteError, load_suite
from tidemill.steps.read_only.checks.problem import Problem, line_of
from tidemill.steps.read_only.checks.suite import (
    NO_METRIC,
    WRITE_METRIC,
    problems_of_arguments,
)


def problems_of_own(path: Path) -> Iterator[Problem]:
    """The problems with expectations of the user's own that a suite names.

    Args:
        path: The suite's file. One that does not load has been reported.
    """
    try:
        suite = load_suite(path)
    except SuiteError:
        return
    if not suite.own:
        return
    # Here and not above: it imports Great Expectations, which costs seconds.
    import_great_expectations()
    from tidemill.gate.own_expectations import arguments_of_own, import_own, lacks_on_spark

    try:
        import_own(suite)
    except SuiteError as error:
        cause = error.__cause__
        line = cause.lineno if isinstance(cause, SyntaxError) else None
        yield Problem.said(Path(error.path), line, error.what, error.remedy)
        return
    text = path.read_text(encoding="utf-8")
    for one in (one for one in suite.expectations if one.type in suite.own):
        line = line_of(text, one.type)
        metric = lacks_on_spark(one.type)
        if metric is not None:
            yield Problem(path, line, NO_METRIC.format(kind=one.type, metric=metric), WRITE_METRIC)
        for what, remedy in problems_of_arguments(one, arguments_of_own(one.type)):
            yield Problem(path, line, what, remedy)
