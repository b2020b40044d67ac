"""Steps that must bear a fault, each with all that follows it, and what they leave besides rows."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.faults.pasts import ERASED, KEPT, OTHER_NAME
from tests.support.histories.history_builder import History, reject, rows
from tests.support.histories.moved_history import Moved, fields_of_entries
from tests.support.histories.spark_log_builder import write_commit
from tidemill.contract.layout import Layout
from tidemill.contract.report import Report
from tidemill.file_formats.delta_table import open_table
from tidemill.generations.repairs.plan import planned_repairs
from tidemill.generations.verify import open_generation
from tidemill.journal.takeovers import current, read_takeovers
from tidemill.ledger.run_request import RunRequest, fix_request
from tidemill.publish.target_heads import verify_tables
from tidemill.spark_logs.source_log_cut import files_known
from tidemill.steps.decisions.copy_pipelines import CopyInPlace, copy_pipelines
from tidemill.steps.decisions.named_fork import named_fork
from tidemill.steps.decisions.reject import reject as reject_increment
from tidemill.steps.decisions.release import NotHeld, release
from tidemill.steps.decisions.relocate import relocate
from tidemill.steps.decisions.rename import NameTaken, NothingToRename, rename
from tidemill.steps.decisions.repair_checkpoint import repair_checkpoint
from tidemill.steps.decisions.repair_lease import look_at_lease, repair_lease
from tidemill.steps.decisions.repair_target import repair_target
from tidemill.steps.decisions.rewind import rewind
from tidemill.steps.decisions.withdraw import NotWithdrawable, withdraw
from tidemill.steps.doctor import doctor
from tidemill.steps.gate import gate
from tidemill.steps.parts.run import perform
from tidemill.steps.parts.seal import seal
from tidemill.steps.upkeep.compact import CompactRequest
from tidemill.steps.upkeep.erase.condition import Condition
from tidemill.steps.upkeep.erase.erase import erase
from tidemill.steps.upkeep.erase.plan import plan_erase
from tidemill.steps.upkeep.vacuum import plan_vacuum, vacuum
from tidemill.storage.erasures import read_erasures

OF_SOURCE = Condition({"text": (ERASED,)}, sources=("orders",))


def reject_and_publish(history: History) -> Report:
    with suppress(NotHeld):
        reject_increment(history.pipeline, 2, by="ann", reason="a test file", run_id="reject")
    return history.publish("reject")


def seal_and_publish(history: History) -> Report:
    with history.run("gate").hold("gate") as held:
        seal(held, history.snapshot)
    newest = history.increments.numbers()[-1]
    if history.snapshot.get(newest).verdict is None:
        history.judge(newest)
    return history.publish("gate")


def complete_and_publish(history: History) -> Report:
    history.ledger.complete()
    return seal_and_publish(history)


def run_a_batch_and_publish(history: History) -> Report:
    """As Spark: it syncs nothing, and takes up what a repair has left of its second batch."""
    repair_checkpoint(history.pipeline, planned_repairs(history.pipeline), "repair")
    if history.written < 1:
        history.batch(rows(2), [reject("b")], commit=False)
    if not (history.checkpoint / "commits" / "1").exists():
        write_commit(history.checkpoint, 1)
    return complete_and_publish(history)


def release_and_publish(history: History) -> Report:
    with suppress(NotHeld):
        release(history.pipeline, 2, by="ann", reason="the feed was late", run_id="release")
    return history.publish("release")


def where_the_input_lies(history: History) -> Any:
    """The names of what was not archived, and name and content of what was."""
    archived = (history.home / "archive").rglob("*.csv")
    return {
        "left": sorted(path.name for path in history.inputs.iterdir()),
        "archived": sorted((path.name, path.read_text()) for path in archived),
    }


def repair_lease_and_publish(history: History) -> Report:
    repair_lease(history.pipeline, look_at_lease(history.pipeline), "repair")
    return history.publish("repair")


def repair_checkpoint_and_publish(history: History) -> Report:
    repair_checkpoint(history.pipeline, planned_repairs(history.pipeline), "repair")
    return history.publish("repair")


def repair_targets_and_publish(history: History) -> Report:
    for target in ("rejected", "delta"):
        repair_target(history.pipeline, target, "repair", lambda _: None)
    return history.publish("repair")


def withdraw_and_publish(history: History) -> Report:
    with suppress(NotWithdrawable):
        withdraw(history.run("withdraw"), 2, by="ann", reason="wrong")
    return history.publish("withdraw")


def rewind_and_publish(history: History) -> Report:
    asked = RunRequest(role="rewind", back_to="run-1", by="ann", reason="a bad release")
    fix_request(history.layout.run("rewind"), asked)
    rewind(history.run("rewind"), asked)
    judged = perform("gate", gate, history.run("rewind"))
    return judged if judged.error else history.publish("rewind")


def where_it_goes_on(history: History) -> Any:
    """The live generation's last batch, and what a doctor would read again."""
    generation = open_generation(history.pipeline)
    again = doctor(history.run("doctor")).facts["new"]
    return generation.committed, generation.ledger.latest(), again


def vacuum_and_publish(history: History) -> Report:
    vacuum(history.run("vacuum"), KEPT)
    return history.publish("vacuum")


def compact_and_publish(history: History) -> Report:
    CompactRequest().apply(history.run("compact"))
    return history.publish("compact")


def what_is_compacted(history: History) -> Any:
    """Folder -> how many files the tables have there."""
    tables = (history.layout.table, history.layout.rejected)
    folders = (Path(uri).parent for table in tables for uri in open_table(table).file_uris())
    return Counter(str(one.relative_to(history.layout.home)) for one in folders)


def erase_and_publish(history: History) -> Report:
    erase(history.run("erase"), Condition({"text": (ERASED,)}), by="ann", reason="a request")
    return history.publish("erase")


def what_holds_the_erased(history: History) -> Any:
    """What an erasure would still change, what documents count, and how often it was recorded."""
    plan = plan_erase(history.pipeline, Condition({"text": (ERASED,)}))
    books = [(one.rows, one.rejected) for one in history.journal.events()]
    verify_tables(history.pipeline)
    return plan.found.paths, books, len(read_erasures(history.layout.home))


def erase_again_and_publish(history: History) -> Report:
    erase(history.run("again"), OF_SOURCE, by="ann", reason="a request")
    return history.publish("erase")


def what_is_left_of_the_past(history: History) -> Any:
    """Whether it would change something, what holds rows, and what of the first generation."""
    plan = plan_erase(history.pipeline, OF_SOURCE)
    verify_tables(history.pipeline)
    folders = (history.layout.checkpoint("live-0001"), history.sink)
    left = [path.name for one in folders for path in one.rglob("*.parquet")]
    return plan.needed, plan.found.paths, left, current(history.layout), folders[0].exists()


def relocate_and_publish(history: History) -> Report:
    relocate(history.pipeline, "relocate")
    return history.publish("relocate")


def what_the_log_names(history: History) -> Any:
    """The fields of each entry, whose files are where the log says."""
    log = open_generation(history.pipeline).log
    return fields_of_entries(history.sink), [one.path.is_file() for one in log.files]


def rename_and_publish(history: History) -> Report:
    was = replace(history.pipeline, layout=Layout(history.root, OTHER_NAME))
    with suppress(NothingToRename):
        rename(was, history.name, "rename")
    return history.publish("rename")


def copy_and_publish(history: History) -> Report:
    copy = _copy(history)
    with suppress(CopyInPlace):
        [*copy_pipelines([history.pipeline], copy.root, "copy")]
    return copy.publish("copy")


def what_is_copied(history: History) -> Any:
    """What consumers of the copy see, and what its log says."""
    copy = _copy(history)
    log = open_generation(copy.pipeline).log
    return copy.ids(), copy.records(), [one.path.is_file() for one in log.files]


def _copy(history: History) -> Moved:
    root = history.root.parent if history.bucket else history.home
    return Moved(history, root / "copy")


def fork_and_publish(history: History) -> Report:
    with suppress(NameTaken):
        named_fork(history.run("fork"), OTHER_NAME, by="ann", reason="new code")
    return history.publish("fork")


def what_is_forked(history: History) -> Any:
    """Where the fork goes on, what its spec says, and that its parts agree."""
    layout = Layout(history.root, OTHER_NAME)
    generation = open_generation(replace(history.pipeline, name=OTHER_NAME, layout=layout))
    return {
        "committed": generation.committed,
        "batches": [one.batch for one in generation.ledger.batches()],
        "files": len(generation.log.files),
        "spec": history.project.spec(OTHER_NAME).read_text(),
    }


def what_vacuum_leaves(history: History) -> Any:
    """What the next one would remove, but what too many later runs and epochs make superfluous."""
    planned = plan_vacuum(history.run("plan"), KEPT)
    return [str(one.path) for one in planned if one.kind not in ("lease", "run")]


def what_a_repair_would_do(history: History) -> Any:
    return [one.as_dict() for one in planned_repairs(history.pipeline)]


def what_is_torn(history: History) -> Any:
    """What a repair would still do, and what each log says."""
    logs = (history.checkpoint / "commits", history.sink / "_spark_metadata")
    entries = {str(file): file.read_text() for log in logs for file in log.glob("[0-9]*")}
    return [str(one) for one in planned_repairs(history.pipeline)], entries


def where_spark_goes_on(history: History) -> Any:
    """What the live generation begins with, whose name depends on how many were begun."""
    takeovers = read_takeovers(history.layout.home)
    generation = open_generation(history.pipeline)
    known = files_known(generation.checkpoint.path / "sources" / "orders")
    return {
        "takeovers": [(one.kind, one.predecessor, one.first) for one in takeovers],
        "batches": [one.batch for one in generation.ledger.batches()],
        "committed": generation.committed,
        "sink": len(generation.log.files),
        "known": sorted(file.name for file in known),
    }
