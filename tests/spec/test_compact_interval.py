"""How often Spark compacts its logs: at most every 500 batches, since it keeps 1,000."""

from __future__ import annotations

import json

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.spec.settings import COMPACT_INTERVALS, LONGEST_COMPACT_INTERVAL
from tidemill.toolchain.spark_conf import RETAINED_BATCHES


def spec(name: str, value: str | bool | int) -> str:
    return minimal(f"spark: {{conf: {json.dumps({name: value})}}}\n")


@pytest.mark.parametrize("name", COMPACT_INTERVALS)
@pytest.mark.parametrize("value", [501, "501", 0, "-1", "", "often", True])
def test_an_interval_that_spark_cannot_keep_is_refused(name: str, value: str | bool | int) -> None:
    with pytest.raises(SpecError) as refused:
        parse(spec(name, value))
    assert refused.value.field == f"spark.conf.{name}"


@pytest.mark.parametrize("name", COMPACT_INTERVALS)
@pytest.mark.parametrize("value", [1, 10, 500, "500"])
def test_an_interval_of_which_two_are_kept_is_fine(name: str, value: str | int) -> None:
    assert parse(spec(name, value)).spark.conf == {name: value}


def test_two_of_the_longest_intervals_are_kept() -> None:
    assert 2 * LONGEST_COMPACT_INTERVAL <= RETAINED_BATCHES
