"""The table of what a run can be asked for names every role and every kind of document."""

from __future__ import annotations

from typing import get_args

from tidemill.ledger.run_kinds import (
    EVENT_OF,
    RUN_KINDS,
    EventKind,
    GenerationKind,
    RecomputationKind,
    Role,
)


def test_each_role_and_each_kind_has_a_row() -> None:
    assert {kind.role for kind in RUN_KINDS} == {*get_args(Role)}
    assert {kind.event for kind in RUN_KINDS} == {*get_args(EventKind)}
    assert {kind.generation for kind in RUN_KINDS} == {None, *get_args(GenerationKind)}


def test_a_recomputation_has_one_kind_of_event() -> None:
    assert {*EVENT_OF} == {*get_args(RecomputationKind)}
    kinds = [kind.recomputation for kind in RUN_KINDS if kind.recomputation]
    assert len(kinds) == len(EVENT_OF)
