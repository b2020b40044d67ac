"""What `check` takes for known is what Great Expectations has."""

from __future__ import annotations

import json
import subprocess
import sys

from tidemill.gate.equivalence import EQUIVALENT
from tidemill.gate.gx_internals.known_expectations import known_expectations


def test_all_that_the_gate_can_judge_in_process_is_known() -> None:
    assert set(EQUIVALENT) <= set(known_expectations())


def test_an_expectation_has_its_arguments() -> None:
    arguments = known_expectations()["expect_column_values_to_be_between"]

    assert arguments is not None
    assert {"column", "min_value", "max_value", "mostly", "row_condition"} <= arguments.names
    assert arguments.required == {"column"}


def test_great_expectations_is_not_imported() -> None:
    program = (
        "import sys; from tidemill.gate.gx_internals.known_expectations import known_expectations;"
        "assert known_expectations(); print('great_expectations' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ended.stdout.strip() == "False"


def test_they_are_exactly_those_that_great_expectations_registers() -> None:
    # In a process of its own: other tests register expectations under names of shipped ones.
    program = (
        "import json, great_expectations.expectations.core\n"
        "from great_expectations.expectations import registry\n"
        "found = registry.list_registered_expectation_implementations()\n"
        "core = great_expectations.expectations.core.__name__\n"
        "module = lambda name: registry.get_expectation_impl(name).__module__\n"
        "print(json.dumps([name for name in found if module(name).startswith(core)]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert set(json.loads(ended.stdout)) == set(known_expectations())
