"""The table of cases: a new one is an entry of `CASES`, replayed by its name."""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import date
from typing import Any

import pyarrow as pa

from spark_jobs.contract.report import Report
from spark_jobs.ledger import documents
from spark_jobs.ledger.construction import construct
from spark_jobs.ledger.journal import event_file
from spark_jobs.ledger.lease import hold
from spark_jobs.steps.lease import look_at_lease, repair_lease
from spark_jobs.steps.reject import reject as reject_increment
from spark_jobs.steps.release import NotHeld, release
from spark_jobs.steps.seal import seal
from tests.faults.case import Case
from tests.histories import History, reject, row, rows
from tests.ledger.spark_logs import write_commit
from tests.net_histories import count
from tests.publish.again import days, made_again, rebuilt
from tests.rows import COLUMNS

SECOND, THIRD = date(2024, 1, 2), date(2024, 1, 3)
BOTH = "publish: [{kind: delta}, {kind: files}]"
ARCHIVE = ", cleanSource: archive, sourceArchiveDir: {home}/archive"


def first_increment(history: History) -> None:
    history.increment(rows(1, 2), [reject("a")])


def two_increments(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.publish()
    history.increment([row(2), row(5, SECOND)], [reject("b")])
    history.increment(rows(3))


def a_day_computed_again(history: History) -> None:
    history.increment(
        [row(1), row(2, SECOND), row(3, THIRD)], [reject("a", day="2024-01-02"), reject("x")]
    )
    history.increment([row(4), row(5, SECOND)])
    history.publish()
    made_again(
        history,
        [row(20, SECOND), row(21, SECOND)],
        [reject("n", day="2024-01-02")],
        partitions=days("2024-01-02"),
        forgets=("file:///in/x.csv",),
    )


def an_increment_to_reject(history: History) -> None:
    history.increment(rows(1), [reject("a")])
    history.increment(rows(2), [reject("b")], outcome="held")
    history.increment(rows(3), [reject("c")])


def reject_and_publish(history: History) -> Report:
    with suppress(NotHeld):
        reject_increment(history.pipeline, 2, by="ann", reason="a test file", run_id="reject")
    return history.publish("reject")


def a_tail_computed_again(history: History) -> None:
    history.increment(rows(1))
    held = history.increment(rows(2), [reject("b")], outcome="held")
    behind = history.increment(rows(3))
    made_again(
        history,
        rows(20, 30),
        [reject("c")],
        by_way_of="redo",
        first=1,
        last=2,
        supersedes=(held, behind),
    )


def everything_computed_again(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.increment([row(3)])
    history.publish()
    rebuilt(history, [row(1), row(2, SECOND)], [row(3), row(4)], rejected=[reject("z")])


def a_generation_that_is_to_take_over(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.publish()
    history.pipeline.transform_file.parent.mkdir(parents=True)
    history.pipeline.transform_file.touch()
    construct(history.pipeline, "rebuild", "rebuild")
    event = rebuilt(history, [row(1), row(2, SECOND)], [row(4)], rejected=[reject("z")])
    # As it was before its publish: judged, neither born nor in the journal.
    event_file(history.layout.journal, event.seq).unlink()
    for _, birth in documents.numbered(history.layout.generations):
        birth.unlink()


def everything_with_other_partitions(history: History) -> None:
    history.increment([row(1), row(2, SECOND)], [reject("a")])
    history.increment([row(3)])
    history.publish()
    history.partitions = {"text": pa.string()}
    others = [field for field in COLUMNS if field.name != "text"]
    history.columns = pa.schema([*others, pa.field("day", pa.date32())])
    rebuilt(
        history,
        [row(1), row(2, SECOND)],
        [row(3)],
        rejected=[reject("z")],
        partition_by={"text": "expr(text)"},
    )


def updated_rows(history: History) -> None:
    history.increment([count("open", 1, 1), count("close", 1, 1)], [reject("a")])
    history.publish()
    history.increment([count("open", 1, 2), count("open", 2, 1)], [reject("b")])
    history.increment([count("close", 1, 5)])


def replaced_results(history: History) -> None:
    history.increment([count("open", 1, 1), count("open", 2, 1)], [reject("a")])
    history.publish()
    history.increment([count("open", 1, 2)], [reject("b")])
    history.increment([count("open", 1, 3), count("close", 1, 1)])


def two_batches_to_seal(history: History) -> None:
    history.increment([count("open", 1, 1)])
    history.publish()
    history.batch([count("open", 1, 2)])
    history.batch([count("open", 1, 3), count("close", 1, 1)], [reject("r")])


def seal_and_publish(history: History) -> Report:
    with hold(history.layout.lease, step="gate", run_id="gate") as lease:
        seal(history.pipeline, lease, "gate")
    newest = history.increments.numbers()[-1]
    if history.increments.get(newest).verdict is None:
        history.judge(newest)
    return history.publish("gate")


def three_batches_that_the_ledger_lacks(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    for number in (1, 2, 3):
        history.batch(rows(number + 1), [reject(str(number))], commit=False)
    for number in (1, 2, 3):
        write_commit(history.checkpoint, number)


def complete_and_publish(history: History) -> Report:
    history.ledger.complete()
    return seal_and_publish(history)


def a_held_increment(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2), outcome="held")
    history.increment(rows(3))


def release_and_publish(history: History) -> Report:
    with suppress(NotHeld):
        release(history.pipeline, 2, by="ann", reason="the feed was late", run_id="release")
    return history.publish("release")


def three_files_to_archive(history: History) -> None:
    for number in range(3):
        file = history.arrive(f"in{number}.csv", f"id,at\n{number},\n")
        history.batch(rows(number), inputs=[file])
    history.judge(history.seal().increment)


def where_the_input_lies(history: History) -> Any:
    """The names of what was not archived, and name and content of what was."""
    archived = (history.home / "archive").rglob("*.csv")
    return {
        "left": sorted(path.name for path in history.inputs.iterdir()),
        "archived": sorted((path.name, path.read_text()) for path in archived),
    }


def a_lost_lease(history: History) -> None:
    history.increment(rows(1))
    history.publish()
    history.increment(rows(2))
    shutil.rmtree(history.layout.lease)


def repair_lease_and_publish(history: History) -> Report:
    repair_lease(history.pipeline, look_at_lease(history.pipeline), "repair")
    return history.publish("repair")


def counted(action: str, hour: int, number: int) -> str:
    return f"['{action}', '2024-01-01 0{hour}:00:00+00:00', '{number}']"


ONE, TWO, THREE = ["1"], ["1", "2"], ["1", "2", "3"]

CASES = {
    "first": Case(first_increment, [([], []), (TWO, ["a"])], more=BOTH),
    "append": Case(
        two_increments,
        [(ONE, ["a"]), (["1", "2", "5"], ["a", "b"]), (["1", "2", "3", "5"], ["a", "b"])],
        more=BOTH,
    ),
    "swap": Case(
        a_day_computed_again,
        [(["1", "2", "3", "4", "5"], ["a", "x"]), (["1", "20", "21", "3", "4"], ["n"])],
        more=BOTH,
    ),
    "reject": Case(
        an_increment_to_reject,
        [([], []), (ONE, ["a"]), (["1", "3"], ["a", "c"])],
        step=reject_and_publish,
    ),
    "redo": Case(a_tail_computed_again, [([], []), (ONE, []), (["1", "20", "30"], ["c"])]),
    "rebuild": Case(everything_computed_again, [(THREE, ["a"]), (["1", "2", "3", "4"], ["z"])]),
    "takeover": Case(a_generation_that_is_to_take_over, [(TWO, ["a"]), (["1", "2", "4"], ["z"])]),
    "rebuild-partitions": Case(everything_with_other_partitions, [(THREE, ["a"]), (THREE, ["z"])]),
    "update": Case(
        updated_rows,
        [
            ([counted("close", 1, 1), counted("open", 1, 1)], ["a"]),
            (
                [counted("close", 1, 1), counted("open", 1, 2), counted("open", 2, 1)],
                ["a", "b"],
            ),
            (
                [counted("close", 1, 5), counted("open", 1, 2), counted("open", 2, 1)],
                ["a", "b"],
            ),
        ],
        mode="update",
    ),
    "complete": Case(
        replaced_results,
        [
            ([counted("open", 1, 1), counted("open", 2, 1)], ["a"]),
            ([counted("open", 1, 2)], ["a", "b"]),
            ([counted("close", 1, 1), counted("open", 1, 3)], ["a", "b"]),
        ],
        mode="complete",
    ),
    "seal": Case(
        two_batches_to_seal,
        [
            ([counted("open", 1, 1)], []),
            ([counted("close", 1, 1), counted("open", 1, 3)], ["r"]),
        ],
        step=seal_and_publish,
        mode="update",
    ),
    "ledger": Case(
        three_batches_that_the_ledger_lacks,
        [(ONE, []), (["1", "2", "3", "4"], ["1", "2", "3"])],
        step=complete_and_publish,
    ),
    "release": Case(
        a_held_increment, [(ONE, []), (TWO, []), (THREE, [])], step=release_and_publish
    ),
    "lease-repair": Case(a_lost_lease, [(ONE, []), (TWO, [])], step=repair_lease_and_publish),
    "archive": Case(
        three_files_to_archive,
        [([], []), (["0", "1", "2"], [])],
        source=ARCHIVE,
        rest=where_the_input_lies,
    ),
}
