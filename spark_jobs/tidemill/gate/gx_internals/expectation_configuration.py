"""Expectations as a suite's file has them."""

from collections.abc import Mapping
from typing import Any

from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.exceptions.exceptions import GreatExpectationsError
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.metadata_types import FailureSeverity

_CONFIGURATION = (
    "great_expectations.expectations.expectation_configuration:ExpectationConfiguration"
)
_RESULT = "great_expectations.core.expectation_validation_result:ExpectationValidationResult"
CALLS = {
    _CONFIGURATION: ("type=", "kwargs=", "severity=", "meta=", "notes=", "id="),
    f"{_CONFIGURATION}.to_domain_obj": (),
    "great_expectations.expectations.metadata_types:FailureSeverity": ("value",),
}
ATTRIBUTES = (
    "great_expectations.exceptions.exceptions:GreatExpectationsError",
    f"{_CONFIGURATION}.id",
    f"{_RESULT}.expectation_config",
)

# What Great Expectations raises where it refuses an expectation.
REFUSALS = (GreatExpectationsError, ValueError, TypeError)


def configuration(
    type: str,
    kwargs: Mapping[str, Any],
    severity: str,
    meta: Mapping[str, Any],
    *,
    notes: Any = None,
    id: str | None = None,
) -> ExpectationConfiguration:
    """An expectation as data.

    Args:
        type: Such as `expect_column_to_exist`.
        kwargs: Its arguments.
        severity: `critical`, `warning` or `info`.
        meta: As its suite has it, as `notes` and `id` are.
    """
    return ExpectationConfiguration(
        type=type,
        kwargs=dict(kwargs),
        severity=FailureSeverity(severity),
        meta=dict(meta),
        notes=notes,
        id=id,
    )


def expectation_of(configured: ExpectationConfiguration) -> Expectation:
    """The expectation that can be validated.

    Raises:
        GreatExpectationsError, ValueError, TypeError: its arguments are not valid: `REFUSALS`.
    """
    return configured.to_domain_obj()


def id_of(result: ExpectationValidationResult) -> str:
    """The id of the expectation that a result is of; '' where it has none."""
    configured = result.expectation_config
    return "" if configured is None else str(configured["id"])
