"""The neighbours of a pipeline: which it reads, which read it, and what is due because of that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories.played_chain import PlayedChain
from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.project import Project
from tidemill.reporting.chain import Chain, chains_of, read_abouts
from tidemill.reporting.chain_graph import chain_graph
from tidemill.reporting.due import read_due
from tidemill.reporting.status_document import StatusDocument
from tidemill.storage import documents


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedChain:
    """Three pipelines; the last one has not run."""
    return PlayedChain.begun(tmp_path, monkeypatch)


def chain_of(chain: PlayedChain, name: str) -> Chain:
    return chains_of([name], read_abouts(chain.first.root), read_due)[name]


def neighbours(found: Chain) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    up, down = ([(one.pipeline, one.input) for one in some] for _, some in found)
    return up, down


def test_each_pipeline_has_its_neighbours(chain: PlayedChain) -> None:
    orders = "sources.orders"
    assert neighbours(chain_of(chain, "orders")) == ([], [("second", orders)])
    assert neighbours(chain_of(chain, "second")) == ([("orders", orders)], [("third", orders)])
    assert neighbours(chain_of(chain, "third")) == ([("second", orders)], [])


def test_what_is_due_stands_at_both_ends_of_a_link(chain: PlayedChain) -> None:
    chain.backfill(1)
    (due,) = chain.second.due()
    assert [one.due for one in chain_of(chain, "orders").downstream] == [due]
    second = chain_of(chain, "second")
    assert [one.due for one in second.upstream] == [due]
    assert [one.due for one in second.downstream] == [None]


def test_a_static_input_is_a_link_too_and_a_pipeline_that_is_gone_has_no_dag(
    chain: PlayedChain,
) -> None:
    statics = {"shops": {"kind": "table", "pipeline": "gone"}}
    spec = {"statics": statics, "group": "shop"}
    transform = "def transform(rows, shops):\n    return rows\n"
    JsonPipeline(chain.home, {"rows": "id long"}, spec, transform, name="reports")
    found = chain_of(chain, "reports")
    assert neighbours(found) == ([("gone", "statics.shops")], [])
    assert [one.dag_id for one in found.upstream] == [None]
    (reader,) = chain_of(chain, "gone").downstream
    assert (reader.pipeline, reader.dag_id) == ("reports", "shop")
    assert found.among({"shop"}) == Chain(upstream=(), downstream=())


def test_a_document_that_was_written_before_it_named_tables_is_not_believed(
    chain: PlayedChain,
) -> None:
    status = chain.second.layout.status
    found = documents.read(status, StatusDocument)
    before = found.about.model_copy(update={"tables_read": None})
    documents.replace(status, found.model_copy(update={"about": before}))
    assert [one.pipeline for one in chain_of(chain, "second").upstream] == ["orders"]


def test_a_pipeline_whose_spec_does_not_load_has_no_neighbours(chain: PlayedChain) -> None:
    Project(chain.home / "project").spec("second").write_text("sources: 1")
    assert neighbours(chain_of(chain, "second")) == ([], [("third", "sources.orders")])
    assert neighbours(chain_of(chain, "orders")) == ([], [])


def test_the_graph_goes_over_all_links_and_a_circle_has_no_first_layer(chain: PlayedChain) -> None:
    names = {"orders", "second", "third"}
    whole = chain_graph("third", read_abouts(chain.first.root), names)
    assert whole is not None
    assert whole.layers == (("orders",), ("second",), ("third",))
    chain.second.write_spec(upstream="third")
    circle = chain_graph("third", read_abouts(chain.first.root), names)
    assert circle is not None
    assert circle.layers == (("second", "third"),)
    assert chain_graph("orders", read_abouts(chain.first.root), names) is None
