"""The stores of a data context, and the keys of what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from great_expectations import RunIdentifier
from great_expectations.core.expectation_validation_result import (
    ExpectationSuiteValidationResult,
    ExpectationSuiteValidationResultSchema,
)
from great_expectations.data_context.data_context.abstract_data_context import AbstractDataContext
from great_expectations.data_context.types.resource_identifiers import (
    ExpectationSuiteIdentifier,
    ValidationResultIdentifier,
)

_CONTEXT = "great_expectations.data_context.data_context.abstract_data_context:AbstractDataContext"
_KEYS = "great_expectations.data_context.types.resource_identifiers"
_STORE = "great_expectations.data_context.store:Store"
_RESULTS = "great_expectations.core.expectation_validation_result"
CALLS = {
    f"{_RESULTS}:ExpectationSuiteValidationResultSchema": (),
    f"{_RESULTS}:ExpectationSuiteValidationResultSchema.load": ("data",),
    f"{_KEYS}:ExpectationSuiteIdentifier": ("name",),
    f"{_KEYS}:ValidationResultIdentifier": (
        "expectation_suite_identifier",
        "run_id",
        "batch_identifier",
    ),
    f"{_STORE}.get": ("key",),
    f"{_STORE}.list_keys": (),
    f"{_STORE}.remove_key": ("key",),
    f"{_STORE}.set": ("key", "value"),
    "great_expectations.core.data_context_key:DataContextKey.to_tuple": (),
}
ATTRIBUTES = (f"{_CONTEXT}.checkpoint_store", f"{_CONTEXT}.validation_results_store")


def suite_key(suite: str) -> ExpectationSuiteIdentifier:
    """The key of a suite."""
    return ExpectationSuiteIdentifier(suite)


def result_key(suite: str, run: RunIdentifier, batch: str) -> ValidationResultIdentifier:
    """The key of a suite's result.

    Args:
        batch: What was judged.
    """
    return ValidationResultIdentifier(suite_key(suite), run, batch)


def read_result(document: Mapping[str, Any]) -> ExpectationSuiteValidationResult:
    """A result as `to_json_dict` has written it."""
    result: ExpectationSuiteValidationResult = ExpectationSuiteValidationResultSchema().load(
        document
    )
    return result


class ResultStore:
    """A context's store of validation results."""

    def __init__(self, context: AbstractDataContext) -> None:
        self._store = context.validation_results_store

    def put(
        self, key: ValidationResultIdentifier, result: ExpectationSuiteValidationResult
    ) -> ValidationResultIdentifier:
        """Keep a result; its key."""
        self._store.set(key, result)
        return key

    def keys(self) -> list[ValidationResultIdentifier]:
        return cast("list[ValidationResultIdentifier]", self._store.list_keys())

    def remove(self, key: ValidationResultIdentifier) -> None:
        self._store.remove_key(key)  # type: ignore[no-untyped-call]


class CheckpointStore:
    """A context's store of checkpoints."""

    def __init__(self, context: AbstractDataContext) -> None:
        self._store = context.checkpoint_store

    def keys(self) -> list[tuple[str, Any]]:
        """The name and the key of each checkpoint."""
        return [(key.to_tuple()[-1], key) for key in self._store.list_keys()]

    def get(self, key: Any) -> Any:
        """A checkpoint; raises what its data sources raise."""
        return self._store.get(key)
