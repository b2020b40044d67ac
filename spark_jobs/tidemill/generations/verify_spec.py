"""Verifies that today's spec still means what a generation's files were written by."""

from tidemill.compatibility.binding_rules import (
    bound_by,
    bound_today,
    format_changes,
    interval_changes,
    judge_of,
    mode_changes,
    sentences,
)
from tidemill.contract.errors import Refused
from tidemill.ledger.generation_note import GenerationNote
from tidemill.spec.pipeline import Pipeline


class IntervalsChanged(Refused):
    """Partitions or time zone were changed; rows would move to other intervals."""


class OutputFormatChanged(Refused):
    """The spec writes another format than the generation holds; carries `born` and `today`."""


class OutputModeChanged(Refused):
    """Output mode, keys or sink were changed: what is written means another thing in each."""


def verify_intervals(pipeline: Pipeline, note: GenerationNote) -> None:
    """Verify that the spec cuts intervals as the generation was born to.

    Raises:
        IntervalsChanged: it cuts other ones.
    """
    born, today = bound_by(note), bound_today(pipeline.spec)
    changes = interval_changes(judge_of(note, pipeline.name), born, today)
    if changes:
        raise IntervalsChanged(
            f"{pipeline.spec_file}: {sentences(changes)}.",
            remedy=f"{changes[0].remedy}.",
            born=(born.partition_by, born.null_partition, born.timezone),
            today=(today.partition_by, today.null_partition, today.timezone),
        )


def verify_output(pipeline: Pipeline, note: GenerationNote) -> None:
    """Verify that the spec writes what the generation holds.

    Raises:
        OutputFormatChanged: it names another file format.
        OutputModeChanged: its output mode, keys or sink are others.
    """
    born, today = bound_by(note), bound_today(pipeline.spec)
    judge = judge_of(note, pipeline.name)
    changes = format_changes(judge, born, today)
    if changes:
        raise OutputFormatChanged(
            f"{pipeline.spec_file}: {sentences(changes)}.",
            remedy=f"{changes[0].remedy}.",
            born=born.format,
            today=today.format,
        )
    changes = mode_changes(judge, born, today)
    if changes:
        raise OutputModeChanged(
            f"{pipeline.spec_file}: {sentences(changes)}.",
            remedy=f"{changes[0].remedy}.",
            born=(born.writes, born.mode, born.keys),
            today=(today.writes, today.mode, today.keys),
        )
