"""`tidemill follow`, and what `status` and `plan` say of what is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.histories.played_chain import PlayedChain
from tidemill.contract.errors import ExitCode
from tidemill.contract.layout import FIRST_GENERATION
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.ledger.generation_note import read_note
from tidemill.storage import documents


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedChain:
    return PlayedChain.begun(tmp_path, monkeypatch)


def test_where_nothing_is_due_nothing_is_done(tidemill: Tidemill, chain: PlayedChain) -> None:
    answer = tidemill("follow", "second", "--json")
    assert (answer.exit_code, answer.json["outcome"]) == (ExitCode.DONE, "skipped")
    assert tidemill("status", "second", "--json").pipeline["due"] == []


def test_status_and_plan_say_what_is_due(tidemill: Tidemill, chain: PlayedChain) -> None:
    chain.backfill(1)
    (due,) = tidemill("status", "second", "--json").pipeline["due"]
    assert due["partitions"]["values"] == [["2024-01-01"]]
    assert tidemill("plan", "second", "--json").json["due"] == [due]


def test_a_class_that_cannot_follow_is_refused(tidemill: Tidemill, chain: PlayedChain) -> None:
    chain.backfill(1)
    note = read_note(chain.second.layout, FIRST_GENERATION)
    assert note is not None
    changed = note.model_copy(update={"pipeline_class": PipelineClass.UNBOUNDED})
    documents.replace(chain.second.layout.note(FIRST_GENERATION), changed)
    assert tidemill("follow", "second").exit_code == ExitCode.REFUSED


def test_status_says_what_each_pipeline_reads_and_what_reads_it(
    tidemill: Tidemill, chain: PlayedChain
) -> None:
    chain.backfill(1)
    (due,) = tidemill("status", "second", "--json").pipeline["due"]
    listed = tidemill("status", "--json").json["pipelines"]
    every = {one["pipeline"]: one["chain"] for one in listed}
    link = {"input": "sources.orders", "due": due}
    assert every["orders"] == {
        "upstream": [],
        "downstream": [{"pipeline": "second", "dag_id": "second", **link}],
    }
    assert every["second"]["upstream"] == [{"pipeline": "orders", "dag_id": "orders", **link}]
    assert [one["pipeline"] for one in every["second"]["downstream"]] == ["third"]
    assert tidemill("status", "second", "--json").pipeline["chain"] == every["second"]
