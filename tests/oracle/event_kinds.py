"""The kinds of events that the histories of a pipeline must have had among them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.oracle.cases import CASES
from tests.oracle.changed_versions import OTHERS
from tests.oracle.history import Kill
from tests.oracle.reading import LineModel

KINDS = (
    *("killed", "held", "released", "rejected", "late", "duplicate", "changed", "flushed"),
    *("nothing in it", "empty run", "skipped", "again", "not retried", "waited"),
    *(f"killed before {point}" for point in Kill),
)

# What is drawn of every chain.
OF_CHAINS = (
    *("held", "released", "rolled over", "backfill", "rebuild", "settled"),
    *("due down", "killed down", "held down", "released down", "again down", "rolled over down"),
)


def never_met(test: str, name: str, met: Mapping[str, int]) -> list[str]:
    """The kinds of event that could have happened to a pipeline and did not.

    Args:
        test: The function of the test.
        name: The name of the case.
        met: How often each kind was met.
    """
    kinds = {
        "test_what_is_published_is_what_the_model_says": _of_runs,
        "test_and_after_any_history": _of_decisions,
        "test_the_last_table_is_the_composed_transform_of_the_first_input": lambda _: [],
        "test_and_after_any_history_of_shipped_pipelines": lambda _: [*OF_CHAINS],
        "test_processes_that_are_killed_anywhere_break_no_promise": lambda _: ["died"],
    }[test](name)
    return [kind for kind in kinds if not met.get(kind)]


def _of_runs(name: str) -> list[str]:
    case = CASES[name]
    of_time = set() if case.kind.late else {"late", "flushed"}
    of_statics = set() if case.kind.changes is not None else {"changed"}
    # A text of lines has no bad ones.
    of_rows = {"rejected"} if isinstance(case.model, LineModel) else set()
    impossible = of_time | of_statics | of_rows
    return [kind for kind in (*KINDS, "rolled over") if kind not in impossible]


def _of_decisions(name: str) -> list[str]:
    other = OTHERS[name]
    of_parts = [] if other.slots is None else ["backfill"]
    return ["rebuild", "rewind", "redo" if other.rejects else "forked", *of_parts]
