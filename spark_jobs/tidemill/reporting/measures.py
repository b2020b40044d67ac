"""What a gate measured, one expectation at a time, and how it was in the increments before."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import ValidationError

from tidemill.contract.document import FrozenModel
from tidemill.increments.increment import Increment
from tidemill.increments.judgement import ExpectationOutcome, Judgement, Scope, Severity
from tidemill.increments.mask import hides
from tidemill.increments.records import Verdict

REJECTED_SHARE = "rejected rows, share of all"
# What an expectation's arguments say besides: which column, and how samples are named.
NOT_EXPECTED = ("column", "column_list", "column_set", "column_A", "column_B", "batch_id")
LONGEST_VALUE = 300


class Measured(FrozenModel):
    """One measure of one increment.

    Attributes:
        value: In percent where the measure is a share; None where it was not measured.
        good: Whether the rule was met; None where it was not judged.
    """

    increment: int
    value: float | None
    good: bool | None


class Failure(FrozenModel):
    """A rule that an increment broke.

    Attributes:
        rule: Great Expectations' name of it, or what the spec's gate says of counts.
        expected: Its arguments, such as `min_value 0, mostly 0.99`.
        observed: What was found, as a phrase.
        samples: Values that broke it; none where the spec masks them.
        masked: Whether `gate.mask` hides the values.
        measure: What `history` holds, in words.
        history: The same measure of this increment and of those before it, in order.
    """

    rule: str
    columns: tuple[str, ...] = ()
    severity: Severity = "critical"
    scope: Scope = "increment"
    expected: str = ""
    observed: str
    samples: tuple[str, ...] = ()
    masked: bool = False
    measure: str
    history: tuple[Measured, ...] = ()


def failures(
    increment: Increment, earlier: Sequence[Increment], mask: Sequence[str]
) -> tuple[Failure, ...]:
    """What an increment broke, the rules on counts first, then the expectations of its suite.

    Args:
        earlier: Increments before it, in order.
        mask: `gate.mask` of the spec today, which may hide more than it did when it was judged.
    """
    verdict = increment.verdict
    if verdict is None:
        return ()
    judged = judgement_of(verdict)
    outcomes = [one for one in (judged.outcomes if judged else ()) if not one.success]
    past = [*earlier, increment]
    critical = sum(one.severity == "critical" for one in outcomes)
    of_counts = verdict.reasons[: len(verdict.reasons) - critical]
    found = [_of_counts(of_counts, past)] if of_counts else []
    return (*found, *(_of_expectation(one, past, mask) for one in outcomes))


def judgement_of(verdict: Verdict) -> Judgement | None:
    """What Great Expectations found; None where counts alone decided, or it cannot be read."""
    try:
        return Judgement.model_validate(verdict.judgement) if verdict.judgement else None
    except ValidationError:
        return None


def _of_counts(reasons: Sequence[str], past: Iterable[Increment]) -> Failure:
    return Failure(
        rule="the gate's rules on row counts",
        observed="; ".join(reasons),
        measure=f"{REJECTED_SHARE}, percent",
        history=tuple(
            Measured(
                increment=one.number,
                value=_rejected_percent(one),
                good=None if one.verdict is None else one.verdict.outcome == "passed",
            )
            for one in past
        ),
    )


def _rejected_percent(increment: Increment) -> float | None:
    rows = increment.sealed.rows + increment.sealed.rejected
    return 100 * increment.sealed.rejected / rows if rows else None


def _of_expectation(
    outcome: ExpectationOutcome, past: Iterable[Increment], mask: Sequence[str]
) -> Failure:
    masked = hides(mask, outcome.columns)
    return Failure(
        rule=outcome.type,
        columns=outcome.columns,
        severity=outcome.severity,
        scope=outcome.scope,
        expected=", ".join(
            f"{name} {_short(value)}"
            for name, value in outcome.kwargs.items()
            if name not in NOT_EXPECTED and value is not None
        ),
        observed=_observed(outcome, masked=masked),
        samples=() if masked else tuple(map(_short, outcome.samples)),
        masked=masked,
        measure="rows that broke it, percent"
        if outcome.unexpected_percent is not None
        else "observed value",
        history=tuple(_measured(one, outcome, masked=masked) for one in past),
    )


def _observed(outcome: ExpectationOutcome, *, masked: bool) -> str:
    if outcome.unexpected_count is not None:
        rows = f"{outcome.unexpected_count:,} row{'' if outcome.unexpected_count == 1 else 's'}"
        return f"{rows}, {outcome.unexpected_percent or 0:.2f} %, broke it"
    if masked and outcome.columns:
        return "not shown, as gate.mask says"
    return "nothing" if outcome.observed_value is None else _short(outcome.observed_value)


def _measured(increment: Increment, outcome: ExpectationOutcome, *, masked: bool) -> Measured:
    """The same expectation's measure in another increment."""
    judged = judgement_of(increment.verdict) if increment.verdict else None
    same = next((one for one in judged.outcomes if _same(one, outcome)), None) if judged else None
    if same is None:
        return Measured(increment=increment.number, value=None, good=None)
    value: Any = same.unexpected_percent
    if outcome.unexpected_percent is None and not masked:
        value = same.observed_value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return Measured(
        increment=increment.number, value=float(value) if number else None, good=same.success
    )


def _same(one: ExpectationOutcome, other: ExpectationOutcome) -> bool:
    """Whether both are the same rule; its bounds may have changed since."""
    return (one.type, one.columns, one.scope) == (other.type, other.columns, other.scope)


def _short(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:,}" if number else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]} …"
