"""Only `gx_internals` uses what Great Expectations keeps private."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import great_expectations as gx
import pytest
from great_expectations.checkpoint.actions import ValidationAction

from tests.support.inner_members import declared
from tests.support.private_uses import (
    lines_found,
    own_classes,
    private_attributes,
    private_imports,
    private_of_bases,
    sources,
)
from tidemill.contract.project import REPOSITORY
from tidemill.gate import gx_internals

SPARK_JOBS = REPOSITORY / "spark_jobs"
GATE = SPARK_JOBS / "tidemill" / "gate"
ADAPTER = GATE / "gx_internals"
LIBRARY = "great_expectations"
# Great Expectations marks the docstring of what its reference has.
MARK = "--Public API--"


def is_public(module: str, name: str) -> bool:
    if not name:
        return module == LIBRARY
    found = getattr(importlib.import_module(module), name)
    exported = name in gx.__all__ and getattr(gx, name) is found
    return exported or MARK in (found.__doc__ or "")


def private_members() -> Iterator[str]:
    """The declared members of public classes, without those named as a dictionary's are."""
    for member in declared(gx_internals):
        module, _, path = member.partition(":")
        kind, _, name = path.partition(".")
        if name and not hasattr(dict, name) and is_public(module, kind):
            yield name


MEMBERS = frozenset(private_members())


def test_no_other_module_imports_a_private_part() -> None:
    files = sources(SPARK_JOBS, ADAPTER)
    assert lines_found(files, lambda text: private_imports(text, LIBRARY, is_public)) == []


def test_no_other_module_of_the_gate_touches_a_private_attribute() -> None:
    files = sources(GATE, ADAPTER)
    assert lines_found(files, lambda text: private_attributes(text, MEMBERS)) == []


def test_no_other_class_shares_a_private_name_with_a_base_of_great_expectations() -> None:
    kinds = own_classes("tidemill.gate", SPARK_JOBS, "tidemill.gate.gx_internals")
    shared = {kind.__qualname__: private_of_bases(kind, LIBRARY) for kind in kinds}
    assert {"ResultsPage", "SuitePage", "PageView"} <= shared.keys()
    assert {name: names for name, names in shared.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from great_expectations.data_context.types.base import ProgressBarsConfig",
        "from great_expectations.expectations.registry import get_expectation_impl",
        "import great_expectations.render.view.view",
    ],
)
def test_a_private_import_is_seen(source: str) -> None:
    assert private_imports(source, LIBRARY, is_public) == [1]


def test_a_public_import_is_let_through() -> None:
    for source in (
        "import great_expectations as gx",
        "from great_expectations import ExpectationSuite",
        "from great_expectations.checkpoint.actions import UpdateDataDocsAction",
    ):
        assert private_imports(source, LIBRARY, is_public) == []


@pytest.mark.parametrize(
    "source",
    [
        "context.validation_results_store.set(key, result)",
        "context.get_docs_sites_urls()",
        "Expectation.__fields__",
        "getattr(kind, 'success_keys')",
        "renderer._get_grouped_and_ordered_expectations_by_column",
    ],
)
def test_a_private_attribute_is_seen(source: str) -> None:
    assert private_attributes(source, MEMBERS) == [1]


class Mail(ValidationAction):
    """Defines what its base has too, and asks it for more."""

    def _using_cloud_context(self) -> None:
        self._own = self._get_data_docs_pages_from_prior_action


def test_a_private_name_shared_with_a_base_is_seen() -> None:
    assert private_of_bases(Mail, LIBRARY) == {
        "_get_data_docs_pages_from_prior_action",
        "_using_cloud_context",
    }
