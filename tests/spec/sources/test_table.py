"""The batch limits of a table source."""

from __future__ import annotations

import pytest

from tests.support.spec_text import parse
from tidemill.contract.errors import SpecError
from tidemill.spec.sources.table import TableSource


def source(text: str, more: str = "") -> TableSource:
    table = f"kind: table, pipeline: shop_orders, schema: id long{text}"
    found = parse(f"sources:\n  orders: {{{table}}}\n{more}").sources["orders"]
    assert isinstance(found, TableSource)
    return found


def test_both_limits_may_be_given() -> None:
    found = source(", maxFilesPerTrigger: 5, maxBytesPerTrigger: 1 MiB")
    assert (found.maxFilesPerTrigger, found.maxBytesPerTrigger) == (5, 2**20)


@pytest.mark.parametrize("limit", ["maxFilesPerTrigger", "maxBytesPerTrigger"])
def test_the_trigger_once_takes_no_limit(limit: str) -> None:
    assert source("", "trigger: once\n").rate_limits == ()
    with pytest.raises(SpecError) as error:
        source(f", {limit}: 5", "trigger: once\n")
    assert error.value.field == f"sources.orders.{limit}"


@pytest.mark.parametrize("limit", ["maxFilesPerTrigger: 0", "maxBytesPerTrigger: many"])
def test_a_limit_that_is_none_is_refused(limit: str) -> None:
    with pytest.raises(SpecError) as error:
        source(f", {limit}")
    assert error.value.field == f"sources.orders.{limit.partition(':')[0]}"
