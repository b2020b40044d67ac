"""The table of cases: a new one is an entry of `CASES`, replayed by its name."""

from __future__ import annotations

from tests.faults import pasts, steps
from tests.faults.case import Case

BOTH = "publish: [{kind: delta}, {kind: files}]"
ARCHIVE = ", cleanSource: archive, sourceArchiveDir: {home}/archive"


def counted(action: str, hour: int, number: int) -> str:
    return f"['{action}', '2024-01-01 0{hour}:00:00+00:00', '{number}']"


ONE, TWO, THREE = ["1"], ["1", "2"], ["1", "2", "3"]

CASES = {
    "first": Case(pasts.first_increment, [([], []), (TWO, ["a"])], more=BOTH),
    "append": Case(
        pasts.two_increments,
        [(ONE, ["a"]), (["1", "2", "5"], ["a", "b"]), (["1", "2", "3", "5"], ["a", "b"])],
        more=BOTH,
    ),
    "swap": Case(
        pasts.a_day_computed_again,
        [(["1", "2", "3", "4", "5"], ["a", "x"]), (["1", "20", "21", "3", "4"], ["n"])],
        more=BOTH,
    ),
    "reject": Case(
        pasts.an_increment_to_reject,
        [([], []), (ONE, ["a"]), (["1", "3"], ["a", "c"])],
        step=steps.reject_and_publish,
    ),
    "reject-refused": Case(
        pasts.an_event_that_no_target_takes,
        [(ONE, ["a"]), (ONE, []), (["1", "3"], ["b"])],
        step=steps.reject_and_publish,
    ),
    "redo": Case(pasts.a_tail_computed_again, [([], []), (ONE, []), (["1", "20", "30"], ["c"])]),
    "rebuild": Case(
        pasts.everything_computed_again, [(THREE, ["a"]), (["1", "2", "3", "4"], ["z"])]
    ),
    "takeover": Case(
        pasts.a_generation_that_is_to_take_over, [(TWO, ["a"]), (["1", "2", "4"], ["z"])]
    ),
    "rebuild-partitions": Case(
        pasts.everything_with_other_partitions, [(THREE, ["a"]), (THREE, ["z"])]
    ),
    "rewind": Case(
        pasts.three_increments_to_go_back_from,
        [(THREE, ["a", "b", "c"]), (ONE, ["a"])],
        step=steps.rewind_and_publish,
        more=BOTH,
        rest=steps.where_it_goes_on,
    ),
    "update": Case(
        pasts.updated_rows,
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
        pasts.replaced_results,
        [
            ([counted("open", 1, 1), counted("open", 2, 1)], ["a"]),
            ([counted("open", 1, 2)], ["a", "b"]),
            ([counted("close", 1, 1), counted("open", 1, 3)], ["a", "b"]),
        ],
        mode="complete",
    ),
    "seal": Case(
        pasts.two_batches_to_seal,
        [
            ([counted("open", 1, 1)], []),
            ([counted("close", 1, 1), counted("open", 1, 3)], ["r"]),
        ],
        step=steps.seal_and_publish,
        mode="update",
    ),
    "batch": Case(
        pasts.one_published_batch,
        [(ONE, ["a"]), (TWO, ["a", "b"])],
        step=steps.run_a_batch_and_publish,
        rest=steps.what_a_repair_would_do,
    ),
    "ledger": Case(
        pasts.three_batches_that_the_ledger_lacks,
        [(ONE, []), (["1", "2", "3", "4"], ["1", "2", "3"])],
        step=steps.complete_and_publish,
    ),
    "release": Case(
        pasts.a_held_increment, [(ONE, []), (TWO, []), (THREE, [])], step=steps.release_and_publish
    ),
    "lease-repair": Case(
        pasts.a_lost_lease, [(ONE, []), (TWO, [])], step=steps.repair_lease_and_publish
    ),
    "checkpoint-repair": Case(
        pasts.a_power_cut,
        [([], []), (ONE, []), (TWO, [])],
        step=steps.repair_checkpoint_and_publish,
        rest=steps.what_is_torn,
    ),
    "target-repair": Case(
        pasts.a_target_that_was_set_back,
        [(ONE, ["a"]), (TWO, ["a", "b"])],
        step=steps.repair_targets_and_publish,
    ),
    "withdraw": Case(
        pasts.an_event_that_no_target_takes,
        [(ONE, ["a"]), (ONE, [])],
        step=steps.withdraw_and_publish,
    ),
    "vacuum": Case(
        pasts.leftovers_of_every_kind,
        [(ONE, ["a"]), (TWO, ["a"])],
        step=steps.vacuum_and_publish,
        rest=steps.what_vacuum_leaves,
    ),
    "vacuum-checkpoints": Case(
        pasts.a_rollover_of_long_ago,
        [(ONE, ["a"])],
        step=steps.vacuum_and_publish,
        more="rollover: {after_batches: 1}",
        rest=steps.what_vacuum_leaves,
    ),
    "relocate": Case(
        pasts.a_root_that_was_moved,
        [(ONE, ["a"]), (["1", "2", "5"], ["a", "b"]), (["1", "2", "3", "5"], ["a", "b"])],
        step=steps.relocate_and_publish,
        rest=steps.what_the_log_names,
    ),
    "rename": Case(
        pasts.a_pipeline_of_another_name,
        [
            ([], []),
            (ONE, ["a"]),
            (["1", "2", "5"], ["a", "b"]),
            (["1", "2", "3", "5"], ["a", "b"]),
        ],
        step=steps.rename_and_publish,
        rest=steps.what_the_log_names,
    ),
    "copy": Case(
        pasts.one_published_batch,
        [(ONE, ["a"])],
        step=steps.copy_and_publish,
        rest=steps.what_is_copied,
    ),
    "fork": Case(
        pasts.one_published_batch,
        [(ONE, ["a"])],
        step=steps.fork_and_publish,
        rest=steps.what_is_forked,
    ),
    "rollover": Case(
        pasts.two_increments,
        [(ONE, ["a"]), (["1", "2", "5"], ["a", "b"]), (["1", "2", "3", "5"], ["a", "b"])],
        more="rollover: {after_batches: 3}",
        rest=steps.where_spark_goes_on,
    ),
    "archive": Case(
        pasts.three_files_to_archive,
        [([], []), (["0", "1", "2"], [])],
        source=ARCHIVE,
        rest=steps.where_the_input_lies,
    ),
}

# Those that are played with the root in an object store too: no repair of a local disk, and none
# that only a folder of this machine takes part in.
IN_BUCKET = (
    "append",
    "swap",
    "reject",
    "redo",
    "rebuild",
    "takeover",
    "rebuild-partitions",
    "update",
    "complete",
    "seal",
    "release",
    "withdraw",
    "relocate",
    "rename",
    "copy",
    "fork",
    "rollover",
)

# It is killed at each of its calls (`test_compact`); no other fault was tried with it.
COMPACT = Case(
    pasts.three_small_files,
    [(["1", "10", "2", "20", "3", "30"], ["a", "b", "c"])],
    step=steps.compact_and_publish,
    rest=steps.what_is_compacted,
)

# `test_erase` plays some calls of it, with every fault.
ERASE = Case(
    pasts.a_person_in_two_increments,
    [
        (TWO, ["a", f"2;{pasts.ERASED}"]),
        (ONE, ["a", f"2;{pasts.ERASED}"]),
        (ONE, ["a"]),
        (["1", "3"], ["a"]),
    ],
    step=steps.erase_and_publish,
    rest=steps.what_holds_the_erased,
)

# The same of an erasure that has read everything again; to build that takes a JVM.
ERASE_AGAIN = Case(
    pasts.a_person_that_was_read_again_without,
    [(TWO, ["a", f"2;{pasts.ERASED}"]), (["1", "3"], ["z"])],
    step=steps.erase_again_and_publish,
    more="gate: {suite: none, rejected: {hold_above: 0.5}}",
    rest=steps.what_is_left_of_the_past,
)

# What is played with the root in an object store.
CASES_IN_BUCKET = {
    **{name: CASES[name] for name in IN_BUCKET},
    "erase": ERASE,
    "erase-again": ERASE_AGAIN,
}
