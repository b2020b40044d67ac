"""Erasure: no row of a person is below the pipeline's folder, and all others are as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.steps.decisions.test_rewind import back_to, rewound
from tests.support.histories.generation_builder import days, made_again
from tests.support.histories.history_builder import History, reject, row
from tests.support.histories.rolled_history import RolledHistory
from tests.support.remedies import carry_out
from tests.support.table_reader import tree
from tests.support.warehouse import Warehouse
from tidemill.contract.errors import LeaseLost
from tidemill.contract.report import Outcome
from tidemill.increments.judgement import ExpectationOutcome, Judgement
from tidemill.journal.published_files import files_now
from tidemill.ledger.books import books_of
from tidemill.publish.erased_rows import ErasedRows, ErasesRows
from tidemill.publish.registry import targets_of
from tidemill.publish.target_heads import verify_tables, verify_target
from tidemill.steps.doctor import doctor
from tidemill.steps.parts.run import perform
from tidemill.steps.upkeep.compact import CompactRequest
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import NotErased, ReasonNamesPerson, erase
from tidemill.steps.upkeep.erase.find import find
from tidemill.steps.upkeep.erase.parse_condition import ConditionUnsupported, parse_condition
from tidemill.steps.upkeep.erase.plan import ErasePlan, OtherErasureUnfinished, plan_erase
from tidemill.steps.upkeep.erase.row_file import NotErasable
from tidemill.storage.erasures import ErasureUnfinished, end_of_erasure, read_erasures

Make = Callable[..., History]
PERSON = "ann@example.org"
SECOND = date(2024, 1, 2)
BOTH = "publish: [{kind: delta}, {kind: files}]"


def told(text: str = PERSON) -> Condition:
    return Condition({"text": (text,)})


def erased(history: History, condition: Condition | None = None) -> ErasePlan:
    return erase(history.run("erase"), condition or told(), by="ann", reason="a request")


def said(person: str) -> str:
    return f'{{"id":7,"text":"{person}"}}'


@pytest.fixture
def past(tmp_path: Path) -> RolledHistory:
    """Three increments over two days, the last one held; a person is in each of them."""
    return filled(RolledHistory(tmp_path / "pipeline", more=BOTH))


def filled(history: RolledHistory) -> RolledHistory:
    """Let a pipeline have that past."""
    history.pipeline.transform_file.parent.mkdir(parents=True, exist_ok=True)
    history.pipeline.transform_file.write_text("def transform(orders): ...\n")
    history.increment([row(1), row(2, text=PERSON), row(3, SECOND)], [reject(said(PERSON))])
    history.publish()
    history.increment([row(4), row(5, SECOND, text=PERSON)], [reject("b"), reject(said("bob"))])
    history.publish()
    history.increment([row(6), row(7, text=PERSON)], outcome="held")
    return history


def holding(history: History) -> list[Path]:
    """The files below the folder that hold the person, by a plain search in all that is there."""
    found = []
    for path in sorted(history.layout.home.rglob("*")):
        if path.is_file():
            shown = path.read_bytes().decode("utf-8", "replace")
            if path.suffix == ".parquet":
                shown = str(pq.read_table(path, partitioning=None).to_pylist())
            found += [path] if PERSON in shown else []
    return found


def test_the_rows_are_nowhere_and_all_others_are_as_they_were(past: RolledHistory) -> None:
    assert holding(past)
    plan = erased(past)
    assert holding(past) == []
    assert (plan.rows, plan.rejected, plan.increments) == (3, 1, (1, 2, 3))
    assert (past.ids(), past.records()) == ([1, 3, 4], ["b", said("bob")])
    # What was held still waits, without the row.
    past.release(3)
    assert past.publish().outcome is Outcome.DONE
    assert past.ids() == [1, 3, 4, 6]


def test_lists_of_files_name_what_is_there(past: RolledHistory) -> None:
    erased(past)
    listed = [past.layout.home / one.path for one in files_now(past.layout)]
    ids = (pq.ParquetFile(path).read(columns=["id"]).column("id").to_pylist() for path in listed)
    assert sorted(number for found in ids for number in found) == past.ids()


def test_what_a_plan_says_is_done_and_a_plan_changes_nothing(past: RolledHistory) -> None:
    before = tree(past.layout.home)
    plan = plan_erase(past.pipeline, told())
    assert tree(past.layout.home) == before
    done = erased(past)
    assert plan.as_dict() == done.as_dict()
    assert plan.partitions[:2] == ("rejected", "table/day=2024-01-01")
    assert len(plan.inputs.there) == 3


def test_every_document_agrees_afterwards(past: RolledHistory) -> None:
    erased(past)
    verify_tables(past.pipeline)
    assert perform("doctor", doctor, past.run("scheduled-next")).error is None
    assert [(one.rows, one.rejected) for one in past.journal.events()] == [(2, 0), (1, 2)]
    assert all(books_of([one]).amiss == 0 for one in past.ledger.batches())
    past.increment([row(8)])
    assert past.publish().error is None


def test_it_is_recorded_without_the_value(past: RolledHistory) -> None:
    erased(past)
    (record,) = read_erasures(past.layout.home)
    assert (record.by, record.reason, [*record.columns]) == ("ann", "a request", ["text"])
    assert end_of_erasure(past.layout.home, 1).exists()
    assert erased(past).needed is False
    assert len(read_erasures(past.layout.home)) == 1


def test_a_reason_that_names_the_person_is_refused(past: RolledHistory) -> None:
    before = tree(past.layout.home)
    with pytest.raises(ReasonNamesPerson):
        erase(past.run("erase"), told(), by="ann", reason=f"{PERSON} has asked")
    assert tree(past.layout.home) == before


def test_a_compacted_table_gives_them_up_too(past: RolledHistory) -> None:
    CompactRequest().apply(past.run("compact"))
    erased(past)
    assert (holding(past), past.ids()) == ([], [1, 3, 4])
    CompactRequest().apply(past.run("compact-2"))
    assert past.ids() == [1, 3, 4]


def test_a_swap_leaves_nothing_behind(past: RolledHistory) -> None:
    past.release(3)
    past.publish()
    made_again(past, [row(21, SECOND), row(22, SECOND, text=PERSON)], [reject(said(PERSON))],
               partitions=days("2024-01-02"))  # fmt: skip
    past.publish("again")
    assert past.ids() == [1, 2, 4, 6, 7, 21, 22]
    erased(past)
    assert (holding(past), past.ids()) == ([], [1, 4, 6, 21])


def test_a_rewind_does_not_bring_them_back(past: RolledHistory) -> None:
    erased(past)
    rewound(past, back_to("run-1"))
    assert (holding(past), past.ids()) == ([], [1, 3])


def test_a_table_is_filled_again_without_them(past: RolledHistory) -> None:
    erased(past)
    (past.layout.table / "_delta_log").rename(past.home / "lost")
    assert past.publish().error is None
    carry_out(past, f"tidemill target repair {past.name} delta", "target repair")
    assert past.publish().outcome is Outcome.DONE
    assert past.ids() == [1, 3, 4]


def judged_with_sample(history: History, number: int) -> Path:
    """A verdict with a sample of the rows, and the page that shows it."""
    page = history.layout.docs / "validations" / "orders" / "run-3" / "increment.html"
    result = history.layout.docs / "results" / "orders" / "run-3" / "increment.json"
    for path in (page, result, history.layout.run(f"run-{number}") / "validation.json"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a page of 17")
    outcome = ExpectationOutcome(
        type="expect_column_values_to_be_between",
        columns=("id",),
        kwargs={"column": "id"},
        severity="critical",
        scope="increment",
        success=False,
        unexpected_count=1,
        samples=(17,),
    )
    history.judge(
        number,
        "held",
        judgement=Judgement(
            engine="in_process",
            suite="orders",
            suite_hash="suite",
            rows=2,
            success=False,
            reason="expectations",
            outcomes=(outcome,),
            result=history.layout.run(f"run-{number}") / "validation.json",
            docs=page,
        ),
    )
    return page


def test_samples_and_pages_of_the_increments_go(past: RolledHistory) -> None:
    past.batch([row(17)])
    number = past.seal().increment
    page = judged_with_sample(past, number)
    erased(past, Condition({"id": ("17",)}))
    assert not page.exists()
    assert [*past.layout.docs.rglob("*.json")] == []
    verdict = past.snapshot.get(number).verdict
    assert verdict is not None
    assert verdict.judgement["outcomes"][0]["samples"] == []


def test_values_go_from_reports_logs_and_decisions(past: RolledHistory) -> None:
    past.release(3, reason=f"{PERSON} is known")
    past.publish("run-3")
    log = past.layout.run("run-3") / "spark.log"
    log.write_text(f"a row of {PERSON} was read\n")
    erased(past)
    assert holding(past) == []
    assert log.read_text() == "a row of [erased] was read\n"
    released = past.snapshot.get(3).release
    assert released is not None
    assert released.reason == "[erased] is known"
    verify_tables(past.pipeline)


def test_a_further_text_takes_rejected_rows_and_no_good_one(past: RolledHistory) -> None:
    past.release(3)
    past.increment([row(9, text="Ann Smith")], [reject("9;Ann Smith;x"), reject("9;Ann Smithson")])
    past.publish()
    erased(past, Condition({"text": (PERSON,)}, ("Ann Smith",)))
    assert past.records() == ["9;Ann Smithson", "b", said("bob")]
    # It stands in a column of the table, whose rows only the condition tells.
    assert 9 in past.ids()


def test_a_snapshot_of_the_checkpoint_names_the_new_files(past: RolledHistory) -> None:
    entry = past.layout.snapshot(1) / "_spark_metadata" / "0"
    entry.parent.mkdir(parents=True)
    entry.write_bytes((past.sink / "_spark_metadata" / "0").read_bytes())
    erased(past)
    assert entry.read_text() == (past.sink / "_spark_metadata" / "0").read_text()


def test_files_of_a_killed_computation_go(past: RolledHistory) -> None:
    scratch = past.layout.table / "_backfill-0badc0de" / "day=2024-01-01"
    scratch.mkdir(parents=True)
    (scratch / "part-1.parquet").write_bytes(past.files(0)[0].read_bytes())
    torn = past.sink / "day=2024-01-01" / "part-00009-dead.parquet"
    torn.write_bytes(b"PAR1")
    erased(past)
    assert (holding(past), scratch.exists(), torn.exists()) == ([], False, False)


def test_a_copy_of_a_static_input_is_not_changed_and_refused(past: RolledHistory) -> None:
    copy = past.layout.statics / "customers" / "abc" / "part.parquet"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(past.files(0)[0].read_bytes())
    before = tree(past.layout.home)
    with pytest.raises(NotErasable) as refused:
        plan_erase(past.pipeline, told())
    assert refused.value.data["reasons"] == (str(copy),)
    assert tree(past.layout.home) == before


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_erasure_that_was_begun_is_finished_by_the_same_condition_alone(
    past: RolledHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(
            "tidemill.steps.upkeep.erase.erase.replace_files",
            lambda *_: (_ for _ in ()).throw(OSError(5, "EIO")),
        )
        with pytest.raises(Exception, match="EIO"):
            erased(past)
    report = past.publish()
    assert report.error is not None
    assert report.error["code"] == ErasureUnfinished.__name__
    with pytest.raises(OtherErasureUnfinished):
        erased(past, told("row 1"))
    erased(past)
    assert (holding(past), past.ids()) == ([], [1, 3, 4])


def test_what_is_left_is_named_and_everybody_stays_refused(
    past: RolledHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A computation without the lease writes a file after it was looked for."""
    late = past.layout.table / "_backfill-0badc0de" / "part-0.parquet"
    content = past.files(0)[0].read_bytes()

    def found_then_written(*arguments: object) -> object:
        late.parent.mkdir(exist_ok=True)
        late.write_bytes(content)
        return find(*arguments)  # type: ignore[arg-type]

    plan = plan_erase(past.pipeline, told())
    monkeypatch.setattr("tidemill.steps.upkeep.erase.erase.plan_erase", lambda *_, **__: plan)
    monkeypatch.setattr("tidemill.steps.upkeep.erase.erase.find", found_then_written)
    with pytest.raises(NotErased) as refused:
        erased(past)
    assert refused.value.data["files"] == (str(late),)
    monkeypatch.undo()
    assert past.publish().error is not None
    erased(past)
    assert (holding(past), past.publish().error) == ([], None)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ("publish: [{kind: delta}, {kind: kafka, topic: t, conn_id: k}]", "publish"),
        ("publish: [{kind: delta}, {kind: python, target: 'own:Own'}]", "publish"),
    ],
    ids=["kafka", "python"],
)
def test_targets_outside_the_root_are_refused(past: RolledHistory, more: str, word: str) -> None:
    past.write_spec(more=more)
    with pytest.raises(NotErasable) as refused:
        erased(past)
    assert word in refused.value.data["reasons"][0]


SCHEMA = {
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "at", "type": "timestamp"},
        {"name": "born", "type": "date"},
        {"name": "text", "type": "string"},
        {"name": "day", "type": "date"},
    ]
}


def parsed(*where: str, values: Sequence[str] = ()) -> Condition:
    return parse_condition(where, values, SCHEMA, ["day"])


def test_a_condition_is_a_conjunction_of_equalities() -> None:
    found = parsed("ID = 017 AND (text IN ('a', 'b'))", "born = '2000-01-02'")
    assert dict(found.columns) == {"id": ("17",), "text": ("a", "b"), "born": ("2000-01-02",)}


@pytest.mark.parametrize(
    "where",
    [
        "id > 3",
        "id = 3 OR text = 'a'",
        "text LIKE 'a%'",
        "lower(text) = 'a'",
        "text = id",
        "text IS NULL",
        "nothing = 1",
        "day = '2024-01-01'",
        "at = '2024-01-01'",
        "id = 'x'",
        "text = 5",
        "id IN (SELECT 1)",
        "id = 1; id = 2",
        "id = 1 AND id = 2",
        "id =",
        "",
    ],
)
def test_any_other_condition_is_refused(where: str) -> None:
    with pytest.raises(ConditionUnsupported):
        parsed(where)


def test_a_short_text_is_refused_as_a_further_value() -> None:
    with pytest.raises(ConditionUnsupported):
        parsed("id = 1", values=["ann"])


def test_numbers_are_looked_for_in_records_and_only_long_ones_in_documents() -> None:
    short, long = Condition({"id": ("1234",)}), Condition({"id": ("1234567890",)})
    assert (short.texts, long.texts) == ((), ("1234567890",))
    assert short.holds_record("a,1234,b")
    assert not short.holds_record("a,12345,b")
    assert Condition({"id": ("12",)}).holds_record('{"id":12}')
    assert not Condition({"id": ("12",)}).holds_record("a,12")


@pytest.fixture
def past_in_table(make_history: Make, warehouse: Warehouse) -> History:
    """Two published increments, with a person in each, in Delta and in a database."""
    history = make_history(more=f"publish: [{{kind: delta}}, {warehouse.target()}]")
    history.increment([row(1), row(2, text=PERSON), row(3, SECOND)])
    history.increment([row(4, SECOND, text=PERSON), row(5, SECOND, text=PERSON.upper())])
    assert history.publish().outcome is Outcome.DONE
    return history


def test_a_database_gives_them_up_and_goes_on(past_in_table: History, warehouse: Warehouse) -> None:
    history = past_in_table
    (target,) = plan_erase(history.pipeline, told()).remote.items()
    assert target[1] == 2
    erased(history)
    # Other spellings are other values, whatever the table's collation says.
    assert (warehouse.ids(), history.ids()) == ([1, 3, 5], [1, 3, 5])
    assert plan_erase(history.pipeline, told()).needed is False
    verify_target(history.pipeline, target[0])
    history.increment([row(6)])
    assert history.publish().outcome is Outcome.DONE
    assert warehouse.ids() == [1, 3, 5, 6]


def test_numbers_and_dates_are_compared_as_such(
    past_in_table: History, warehouse: Warehouse
) -> None:
    erased(past_in_table, Condition({"id": ("3", "4"), "text": ("row 3",)}))
    assert warehouse.ids() == [1, 2, 4, 5]


def test_an_older_writer_deletes_nothing_in_a_database(
    past_in_table: History, warehouse: Warehouse
) -> None:
    (table,) = targets_of(past_in_table.pipeline, 0, print)[1:]
    assert isinstance(table, ErasesRows)
    with pytest.raises(LeaseLost):
        table.erase_rows(ErasedRows({"id": (1,)}))
    assert warehouse.ids() == [1, 2, 3, 4, 5]


def test_a_database_that_is_gone_meanwhile_gives_them_up_later(
    past_in_table: History, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(
            "tidemill.publish.database.target.delete_erased",
            lambda *_: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            erased(past_in_table)
    assert warehouse.ids() == [1, 2, 3, 4, 5]
    erased(past_in_table)
    assert (holding(past_in_table), warehouse.ids()) == ([], [1, 3, 5])
    for target in past_in_table.pipeline.spec.publish:
        verify_target(past_in_table.pipeline, target.name)


def test_where_rows_replace_others_only_their_key_tells_whom_to_erase(
    make_history: Make, warehouse: Warehouse
) -> None:
    history = make_history(
        output=", keys: [id]",
        more=f"publish: [{{kind: delta}}, {warehouse.target(mode='upsert')}]",
    )
    history.increment([row(1), row(2)])
    history.increment([row(2, text=PERSON)])
    assert history.publish().outcome is Outcome.DONE
    with pytest.raises(NotErasable):
        plan_erase(history.pipeline, told())
    erased(history, Condition({"id": ("2",)}))
    assert (warehouse.ids(), history.ids()) == ([1], [1])
