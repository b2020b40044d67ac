"""Tells the user's Great Expectations project of a verdict that is written."""

from contextlib import suppress
from urllib.parse import quote

from tidemill.contract.objects.object_path import path_of
from tidemill.gate.gx_internals.quick_import import import_great_expectations
from tidemill.gate.suite import Suite, SuiteError, load_suite
from tidemill.increments.increments import Verdict
from tidemill.storage.run_context import RunContext

# An empty file beside the run's result: all of it was told.
TOLD = "validation.told"


def tell(run: RunContext, verdict: Verdict, suite: Suite) -> tuple[str, ...]:
    """Give a verdict to the stores, sites and actions of the project that its suite is of.

    Nothing here changes the verdict. A run that is killed meanwhile tells all of it again when
    its gate is run again, so each of them hears of it at least once.

    Args:
        verdict: It is written; one that passed without a judged row is not told.
        suite: It was judged by.

    Returns:
        A warning for each that could not be told.
    """
    judged = verdict.judgement.get("result")
    if not run.tells or (judged is None and verdict.outcome == "passed"):
        return ()
    done = run.layout.run(verdict.run_id) / TOLD
    with suppress(OSError):
        done.unlink()
    warnings = [f"Great Expectations: {missed}" for missed in _missed(run, verdict, suite, judged)]
    if warnings:
        again = f"tell it again: tidemill run {run.pipeline.name} --run-id {verdict.run_id}"
        warnings.append(f"The verdict stands; {again}, or clear the task gate")
    else:
        # Without it a retry tells all of it once more.
        with suppress(OSError):
            done.touch()
    for warning in warnings:
        run.log(f"warning: {warning}")
    return tuple(warnings)


def tell_again(run: RunContext, verdicts: tuple[Verdict, ...]) -> tuple[str, ...]:
    """Tell the last verdict of this run where not all of it was told, and its suite is there."""
    own = [one for one in verdicts if one.run_id == run.run_id]
    if not own or (run.layout.run(run.run_id) / TOLD).is_file():
        return ()
    try:
        suite = load_suite(run.pipeline.suite_file)
    except SuiteError:
        return ()
    return tell(run, own[-1], suite)


def _missed(run: RunContext, verdict: Verdict, suite: Suite, judged: str | None) -> tuple[str, ...]:
    project = suite.project
    try:
        if not suite.expectations or not project.receives():
            return ()
    except ValueError as error:
        return (f"{project.file} cannot be read: {error}",)
    # Here and not above: it imports Great Expectations, which costs seconds.
    import_great_expectations()
    from tidemill.gate.delivery import Delivery

    return Delivery(
        suite,
        f"{run.pipeline.name}-{verdict.increment:06d}",
        quote(verdict.run_id, safe="+:"),
        verdict.judged,
        held=verdict.reasons if verdict.outcome == "held" else (),
        result=path_of(judged) if judged else None,
    ).deliver()
