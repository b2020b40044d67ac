"""What is due since a table upstream swapped rows: told by its log and the journal here."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.chained_history import Stopped
from tests.support.histories.generation_builder import reject_increment
from tests.support.histories.played_chain import PlayedChain
from tests.support.remedies import carry_out
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.ledger.generation_note import read_note
from tidemill.ledger.run_request import read_request
from tidemill.steps.decisions.follow import NotFollowable, due_now
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.storage import documents


@pytest.fixture
def chain(tmp_path: Path) -> PlayedChain:
    """A chain whose second pipeline has read a first day, which was computed again since."""
    chain = PlayedChain(tmp_path)
    chain.append(1)
    chain.second.turn()
    chain.backfill(1)
    return chain


def now(chain: PlayedChain) -> tuple[tuple[str, ...], ...]:
    (due,) = chain.second.due()
    return due.partitions.values if due.partitions else ()


def test_a_swap_is_due_until_it_was_computed_again_here(chain: PlayedChain) -> None:
    assert now(chain) == (("2024-01-01",),)
    chain.backfill(2)
    assert now(chain) == (("2024-01-01",), ("2024-01-02",))
    assert chain.second.turn()
    assert chain.second.due() == []
    chain.backfill(1)
    assert now(chain) == (("2024-01-01",),)


def test_a_swap_behind_rows_that_were_not_read_waits_for_them(chain: PlayedChain) -> None:
    chain.second.turn()
    chain.append(3)
    chain.backfill(1)
    (due,) = chain.second.due()
    assert due.partitions is None
    assert due.waiting is not None
    assert due.waiting.values == (("2024-01-01",),)
    chain.second.turn()
    assert now(chain) == (("2024-01-01",),)


def test_a_rebuild_upstream_makes_all_that_it_swapped_due(chain: PlayedChain) -> None:
    chain.rebuild()
    assert now(chain) == (("2024-01-01",), ("2024-01-02",))


@pytest.mark.parametrize(
    ("swapped", "outcome", "codes"),
    [
        ("hold", Outcome.REFUSED, ["UpstreamSwapped"]),
        ("warn", Outcome.SKIPPED, ["UpstreamSwapped"]),
        ("ignore", Outcome.SKIPPED, []),
        ("follow", Outcome.DONE, []),
    ],
)
def test_the_spec_says_what_a_run_does_about_it(
    chain: PlayedChain, swapped: str, outcome: Outcome, codes: list[str]
) -> None:
    chain.second.write_spec(swapped=swapped)
    report = perform("doctor", doctor, chain.second.run("live"))
    assert report.outcome is outcome
    if outcome is Outcome.REFUSED:
        assert report.error is not None
        assert [report.error["code"]] == codes
        return
    assert [one["code"] for one in report.facts["sources"]["orders"]["problems"]] == codes
    request = read_request(chain.second.layout.run("live"))
    assert request.role == ("backfill" if swapped == "follow" else "live")


@pytest.mark.remedy("UpstreamSwapped")
def test_a_run_that_is_held_goes_on_once_what_is_due_was_asked_for(chain: PlayedChain) -> None:
    chain.second.write_spec(swapped="hold")
    report = perform("doctor", doctor, chain.second.run("live"))
    assert report.error is not None
    carry_out(chain.second, report.error["remedy"], "follow")


@pytest.mark.remedy("NotFollowable")
@pytest.mark.parametrize("kind", [PipelineClass.ORDERED, PipelineClass.UNBOUNDED])
@pytest.mark.parametrize("swapped", ["follow", "hold"])
def test_a_class_of_which_no_part_can_be_computed_again_is_refused_with_the_reason(
    chain: PlayedChain, kind: PipelineClass, swapped: str
) -> None:
    second = chain.second
    second.write_spec(swapped=swapped)
    note = read_note(second.layout, FIRST_GENERATION)
    assert note is not None
    documents.replace(
        second.layout.note(FIRST_GENERATION), note.model_copy(update={"pipeline_class": kind})
    )
    report = perform("doctor", doctor, second.run("live"))
    assert report.error is not None
    assert report.error["code"] == "UpstreamSwapped"
    assert "tidemill rebuild second" in report.error["remedy"]
    with pytest.raises(NotFollowable) as refused:
        due_now(second.pipeline)
    assert refused.value.data["why"]
    carry_out(second, refused.value.remedy, "rebuild")


def test_what_the_gate_holds_is_under_way_and_due_again_once_it_is_rejected(
    chain: PlayedChain,
) -> None:
    second = chain.second
    with pytest.raises(Stopped):
        second.turn("held", stop_at="computed")
    number = max(second.increments.numbers())
    second.judge(number, "held")
    (due,) = second.due()
    assert (due.partitions, due.open_versions) == (None, ())
    assert due.under_way is not None
    chain.append(2)
    assert second.turn()
    reject_increment(second, number)
    assert now(chain) == (("2024-01-01",),)
