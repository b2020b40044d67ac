"""What `gx_internals` relies on: a Great Expectations that lacks it fails here by name."""

from __future__ import annotations

import pytest

from tests.support.inner_members import complaint, declared
from tidemill.gate import gx_internals

MEMBERS = declared(gx_internals)


@pytest.mark.parametrize("member", MEMBERS)
def test_the_installed_great_expectations_has_it(member: str) -> None:
    assert complaint(member, MEMBERS[member]) is None


CONTEXT = "great_expectations.data_context.data_context.abstract_data_context:AbstractDataContext"


@pytest.mark.parametrize(
    ("member", "arguments"),
    [
        (f"{CONTEXT}.no_such_store", None),
        ("great_expectations.expectations.expectation:Expectation.no_such_keys", None),
        (f"{CONTEXT}.get_docs_sites_urls", ("key=",)),
        ("great_expectations.expectations.registry:get_expectation_impl", ("kind",)),
        # Its fields are those of a model, and one that is required is left out.
        ("great_expectations.data_context.types.base:ProgressBarsConfig", ("everywhere=",)),
        (
            "great_expectations.data_context.types.resource_identifiers:ValidationResultIdentifier",
            ("expectation_suite_identifier",),
        ),
    ],
)
def test_a_member_that_has_changed_is_seen(member: str, arguments: tuple[str, ...] | None) -> None:
    assert complaint(member, arguments) is not None
