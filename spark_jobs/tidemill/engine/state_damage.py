"""Damaged state, which Spark reports without naming a file; it may be computed again."""

import re
from pathlib import Path

from tidemill.contract.errors import TidemillError
from tidemill.engine.spark_errors import QueryFailed
from tidemill.spark_logs.state_files import UNFINISHED, damaged_state_files
from tidemill.spec.pipeline import Pipeline

# Conditions under which Spark could not take over what the batch before has left.
LOADING = (
    "CANNOT_LOAD_STATE_STORE",
    "STATE_STORE_ROW_CHECKSUM_VERIFICATION_FAILED",
    "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED",
)
# What says by itself that bytes are not what was written.
CORRUPT = ("Stream is corrupted", "Checksum error", "CHECKSUM_VERIFICATION_FAILED")
GONE = re.compile(r"file:(\S+) does not exist")


class StateDamaged(QueryFailed):
    """A file of the state is not what Spark wrote, or is gone; carries `files`, `condition`.

    `engine.run.lost_state` computes it again where that gives the same state.
    """


def explain_state(pipeline: Pipeline, generation: str, failure: TidemillError) -> TidemillError:
    """A failed query's error, or that its state is damaged if that is why.

    Args:
        failure: What Spark said.
    """
    checkpoint = pipeline.layout.checkpoint(generation)
    condition = str(failure.data.get("condition", ""))
    # An error of a task that writes files comes without a condition of its own.
    loading = condition.startswith(LOADING) or any(f"[{one}" in failure.what for one in LOADING)
    files = damaged_state_files(checkpoint, metadata_only=not loading)
    if loading:
        gone = (Path(path) for path in GONE.findall(failure.what))
        # What other tasks were writing is gone too, once Spark has stopped them.
        kept = (path for path in gone if path.suffix != UNFINISHED)
        files = tuple(dict.fromkeys((*files, *kept)))
        if not files and any(word in failure.what for word in CORRUPT):
            files = (checkpoint / "state",)
    if not files:
        return failure
    return StateDamaged(
        f"Damaged or gone: {', '.join(map(str, files))}. Spark keeps there what the next batch of "
        f"{pipeline.name} begins with. {failure.what}",
        remedy=_remedy(pipeline, checkpoint),
        files=files,
        condition=condition,
    )


def _remedy(pipeline: Pipeline, checkpoint: Path) -> str:
    restore = f"What is published is whole. Restore the files from a backup of {checkpoint}"
    if not pipeline.spec.published:
        return f"{restore}, or start over under another pipeline name."
    return (
        f"{restore}, or compute everything again from what the sources still hold: "
        f"tidemill rebuild {pipeline.name} --reason 'damaged state' (first with --dry-run, which "
        "says what they no longer hold)."
    )
