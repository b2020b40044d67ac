"""A batch that was planned and not committed runs with the static inputs it was planned with."""

from collections.abc import Mapping
from dataclasses import replace

from tidemill.engine.run.lost_state import pins_of, run_with_state
from tidemill.engine.run.query_run import QueryRun, Ran
from tidemill.engine.sources.static_inputs import Pins
from tidemill.generations.verify import open_generation
from tidemill.sources.probe_result import ProbeResult
from tidemill.spec.stream_trigger import StreamTrigger, TriggerKind


def repeat_unfinished(
    query: QueryRun, today: Pins, backlog: Mapping[str, ProbeResult]
) -> Ran | None:
    """Run such a batch alone, by the trigger `once`, which takes no other batch after it.

    Its files may be there already: with other static inputs its state would not match them.

    Args:
        query: The query, which has not started yet.
        today: The static inputs as they are now.
        backlog: Source -> what waits there.

    Returns:
        What came of it; None where no batch is unfinished, or its static inputs are today's.
    """
    run = query.context
    if not today or not query.trigger.by_batch:
        return None
    generation = open_generation(run.pipeline)
    if not generation.unfinished:
        return None
    pins = pins_of(run.pipeline, generation, generation.planned, today)
    if pins == today:
        return None
    run.log(f"batch {generation.planned} runs again with the static inputs it was planned with")
    once = replace(query.options, trigger=StreamTrigger(TriggerKind.ONCE))
    planned = query.plan(pins)
    return run_with_state(replace(query, options=once), pins, planned, backlog)
