"""Decides whether a batch without input is needed, to emit what the watermark has passed.

Spark closes windows, gives out unmatched rows and fires timers in a batch after the one that moved
the watermark. Within a run it adds that batch by itself (not with the trigger `once`, nor when it
was stopped before); at a start it plans none unless something new is there.
"""

from collections.abc import Sequence

from tidemill.generations.verify import open_generation
from tidemill.sources.probe_result import ProbeResult
from tidemill.spark_logs.offset_log import plan_empty
from tidemill.spec.event_time import as_time
from tidemill.storage.run_context import RunContext


def plan_due(run: RunContext, probes: Sequence[ProbeResult]) -> int | None:
    """Plan a batch for what is due, where Spark would not; the log says that it was planned.

    Args:
        probes: What waits at every source. Where one has something new its batch does what is due.

    Returns:
        The watermark of the batch that was planned, in milliseconds; None where none was.
    """
    generation = open_generation(run.pipeline)
    last = generation.planned
    if generation.unfinished or last < 0:
        return None
    watermark = generation.checkpoint.commits[last].next_watermark_ms
    flush = generation.flush
    if flush is not None:
        watermark = max(watermark, flush.watermark_ms)
    elif not generation.due or any(probe.new for probe in probes):
        return None
    now_ms = int(run.clock().timestamp() * 1000)
    plan_empty(generation.checkpoint.path / "offsets", last, watermark, now_ms)
    run.log(f"a batch without input works off what is due at the watermark {as_time(watermark)}")
    return watermark
