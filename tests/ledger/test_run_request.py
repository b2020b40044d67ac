"""Partitions as a person names them."""

from __future__ import annotations

import pytest

from tidemill.ledger.run_request import PartitionMalformed, partition_named


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("year=2012", {"year": "2012"}),
        ("year=2012/state=New York/", {"year": "2012", "state": "New York"}),
        ("at=10%3A00", {"at": "10:00"}),
    ],
)
def test_a_partition_is_named_as_its_directory_is(text: str, named: dict[str, str]) -> None:
    assert partition_named(text) == named


@pytest.mark.parametrize("text", ["2012", "year=", "=2012", "year=2012/CA", ""])
def test_what_names_no_partition_is_refused(text: str) -> None:
    with pytest.raises(PartitionMalformed):
        partition_named(text)
