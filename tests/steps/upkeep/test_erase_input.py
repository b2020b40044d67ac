"""An erasure from a pipeline with state: whose rows are meant, what is refused, and its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.pasts import begin_erasure, killed, read_again
from tests.support.histories.generation_builder import made_again
from tests.support.histories.history_builder import History, reject, row
from tests.support.table_reader import tree
from tests.support.warehouse import Warehouse
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.contract.report import Outcome
from tidemill.generations.build import begin_build
from tidemill.journal.takeovers import current
from tidemill.publish.target_heads import verify_target
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import OtherRowsRemain, erase
from tidemill.steps.upkeep.erase.of_sources import SourceUnclear, read_condition
from tidemill.steps.upkeep.erase.parse_condition import ConditionUnsupported
from tidemill.steps.upkeep.erase.plan import ErasePlan, OtherErasureUnfinished, plan_erase
from tidemill.steps.upkeep.erase.rebuild import ErasureHeld, ErasureInputLost
from tidemill.steps.upkeep.erase.row_file import NotErasable
from tidemill.storage.erasures import ErasureUnfinished, read_erasures, unfinished_erasure

PERSON = "ann@example.org"
OF_ORDERS = Condition({"text": (PERSON,)}, sources=("orders",))
LENIENT = "gate: {suite: none, rejected: {hold_above: 0.5}}"
TWO_SOURCES = """\
sources:
  orders: {kind: file, format: csv, path: /in, schema: "id bigint, who string, at timestamp"}
  clicks:
    kind: file
    format: csv
    path: /in
    schema: "id string, who string, born date, at timestamp"
event_time: {column: at}
"""
TOPIC = """\
sources:
  orders: {kind: kafka, subscribe: o, value: {schema: "id bigint"}, include: {key: buyer}}
  clicks:
    kind: kafka
    subscribe: c
    value:
      format: avro
      schema: '{"type": "record", "name": "Click", "fields": [{"name": "who", "type": "string"}]}'
"""


@pytest.fixture
def past(tmp_path: Path) -> History:
    """Two increments of a pipeline with windows, the second one held; a person is in each."""
    history = History(tmp_path / "pipeline", more=LENIENT, pipeline_class=PipelineClass.WINDOW)
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    history.increment([row(1), row(2, text=PERSON)], [reject("a")])
    history.publish()
    history.increment([row(3), row(4, text=PERSON)], outcome="held")
    return history


def erased(history: History, condition: Condition = OF_ORDERS, **how: bool) -> ErasePlan:
    return erase(history.run("again"), condition, by="ann", reason="a request", **how)


def reasons(history: History, condition: Condition = OF_ORDERS) -> tuple[str, ...]:
    """Why it is refused; nothing is changed then."""
    before = tree(history.layout.home)
    with pytest.raises(NotErasable) as refused:
        plan_erase(history.pipeline, condition)
    assert tree(history.layout.home) == before
    return tuple(refused.value.data["reasons"])


@pytest.fixture
def two_sources(past: History) -> History:
    past.project.spec(past.name).write_text(TWO_SOURCES)
    return past


def read(history: History, where: str, *sources: str) -> Condition:
    return read_condition(history.pipeline, [where], (), sources)


def test_columns_of_one_source_name_it(two_sources: History) -> None:
    found = read(two_sources, "WHO = 'ann' AND born = '2000-01-02'")
    assert found.sources == ("clicks",)
    assert dict(found.columns) == {"who": ("ann",), "born": ("2000-01-02",)}


def test_columns_of_several_sources_need_their_names(two_sources: History) -> None:
    with pytest.raises(SourceUnclear) as refused:
        read(two_sources, "who = 'ann'")
    assert refused.value.data == {"sources": ("orders", "clicks"), "columns": ("who",)}
    assert read(two_sources, "who = 'ann'", "clicks", "orders").sources == ("clicks", "orders")


def test_columns_of_a_topic_name_it(past: History) -> None:
    past.project.spec(past.name).write_text(TOPIC)
    assert read(past, "buyer = 'ann' AND id = 5").sources == ("orders",)
    assert read(past, "who = 'ann'").sources == ("clicks",)


def test_sources_without_files_that_rows_came_from_are_named(tmp_path: Path) -> None:
    history = History(tmp_path / "pipeline")
    history.increment([row(1), row(2, text=PERSON)])
    history.publish()
    history.project.spec(history.name).write_text(TOPIC)
    assert plan_erase(history.pipeline, Condition({"text": (PERSON,)})).origins == (
        "orders",
        "clicks",
    )
    assert plan_erase(history.pipeline, Condition({"text": ("nobody",)})).origins == ()


@pytest.mark.parametrize(
    ("where", "sources"), [("text = 'ann'", ()), ("who = 'ann'", ("orders", "visits"))]
)
def test_what_is_in_no_source_is_refused(
    two_sources: History, where: str, sources: tuple[str, ...]
) -> None:
    with pytest.raises(SourceUnclear):
        read(two_sources, where, *sources)


@pytest.mark.parametrize(
    ("where", "sources"),
    [
        ("id = 5", ("orders", "clicks")),
        ("at = '2000-01-01'", ("clicks",)),
    ],
    ids=["types differ", "a time"],
)
def test_a_condition_is_one_for_all_its_sources(
    two_sources: History, where: str, sources: tuple[str, ...]
) -> None:
    with pytest.raises(ConditionUnsupported):
        read(two_sources, where, *sources)


def test_rows_of_the_table_do_not_tell_what_went_into_state(past: History) -> None:
    assert reasons(past, Condition({"text": (PERSON,)}))


@pytest.mark.parametrize(
    "target",
    [
        "{kind: kafka, topic: t, conn_id: k}",
        "{kind: python, target: 'own:Own'}",
    ],
    ids=["kafka", "python"],
)
def test_targets_that_keep_more_than_their_newest_rows_are_refused(
    past: History, target: str
) -> None:
    past.write_spec(more=f"publish: [{{kind: delta}}, {target}]")
    assert "publish" in reasons(past)[0]


def test_a_database_has_its_whole_table_replaced(
    make_history: Callable[..., History], warehouse: Warehouse
) -> None:
    history = make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]\n{LENIENT}")
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    history.increment([row(1), row(2, text=PERSON)])
    history.publish()
    history.increment([row(3), row(4, text=PERSON)])
    assert history.publish().outcome is Outcome.DONE
    begin_erasure(history, OF_ORDERS)
    assert warehouse.ids() == [1, 2, 3, 4]
    read_again(history, [row(1), row(3)])
    erased(history)
    assert (history.ids(), warehouse.ids()) == ([1, 3], [1, 3])
    assert not warehouse.rows("target", table="tidemill_staging")
    for target in history.pipeline.spec.publish:
        verify_target(history.pipeline, target.name)


@pytest.mark.parametrize("cut", ["upper(text)", "`text`"])
def test_columns_that_partition_the_table_are_refused(past: History, cut: str) -> None:
    past.write_spec(partition_by=f'{{day: "expr({cut})"}}')
    assert reasons(past) == ("output.partition_by.day is made of text",)


@pytest.mark.parametrize("file", ["f0000.csv", "f0001.csv"], ids=["published", "held"])
def test_input_that_is_gone_is_refused(past: History, file: str) -> None:
    (past.inputs / file).unlink()
    assert file in reasons(past)[0]
    accepted = plan_erase(past.pipeline, OF_ORDERS, accept_loss=True)
    assert [phrase for phrase in accepted.phrases() if file in phrase]


def test_input_that_goes_meanwhile_is_lost_only_as_a_person_accepts(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_erasure(past, OF_ORDERS)
    (past.inputs / "f0000.csv").unlink()
    with pytest.raises(ErasureInputLost) as refused:
        erased(past)
    assert "--accept-loss" in refused.value.remedy
    monkeypatch.setattr("tidemill.steps.decisions.rebuild.fill_generation", killed)
    # It begins to read.
    with pytest.raises(KeyboardInterrupt):
        erased(past, accept_loss=True)


def test_what_was_computed_again_has_to_be_decided_on_first(past: History) -> None:
    number = made_again(past, [row(21, text=PERSON)], kind="backfill")
    assert reasons(past) == (f"increment {number}",)


def test_it_is_finished_by_the_same_condition_alone(past: History) -> None:
    begin_erasure(past, OF_ORDERS)
    report = past.publish()
    assert report.error is not None
    assert report.error["code"] == ErasureUnfinished.__name__
    with pytest.raises(OtherErasureUnfinished):
        erased(past, Condition({"text": (PERSON,)}, sources=("clicks",)))
    read_again(past, [row(1), row(3)], [reject("a")])
    plan = erased(past)
    assert (past.ids(), past.records(), current(past.layout)) == ([1, 3], ["a"], "live-0002")
    assert (plan.rebuilds, plan_erase(past.pipeline, OF_ORDERS).needed) == (True, False)
    (record,) = read_erasures(past.layout.home)
    assert (record.sources, [*record.columns]) == (("orders",), ["text"])
    assert past.publish().outcome is Outcome.DONE


def test_what_another_run_was_building_goes_too(past: History) -> None:
    begin_erasure(past, OF_ORDERS)
    read_again(past, [row(1)], [reject("a")])
    build = begin_build(past.pipeline, "rebuild", "of another run")
    state = past.layout.checkpoint(build.generation) / "state" / "0" / "1.delta"
    state.parent.mkdir(parents=True)
    state.write_text(PERSON)
    erased(past)
    assert build.generation == "live-0003"
    assert not state.exists()


def test_rows_of_another_source_are_named_at_the_end(past: History) -> None:
    begin_erasure(past, OF_ORDERS)
    read_again(past, [row(1), row(9, text=PERSON)], [reject("a")])
    with pytest.raises(OtherRowsRemain) as remaining:
        erased(past)
    assert [Path(one).is_relative_to(past.layout.sink("live-0002"))
            for one in remaining.value.data["files"]] == [True]  # fmt: skip
    assert (past.ids(), unfinished_erasure(past.layout.home)) == ([1, 9], None)


def test_a_table_that_the_gate_holds_waits_for_a_release(past: History) -> None:
    begin_erasure(past, OF_ORDERS)
    read_again(past, [row(1)], [reject("a"), reject("b")])
    with pytest.raises(ErasureHeld):
        erased(past)
    assert (past.ids(), past.publish().error is None) == ([1, 2], False)
    erased(past, release=True)
    assert (past.ids(), past.records()) == ([1], ["a", "b"])
    released = past.snapshot.get(3).release
    assert released is not None
    assert released.by == "ann"
