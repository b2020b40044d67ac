"""A batch that was planned and not committed runs with the static inputs it was planned with."""

from collections.abc import Mapping
from dataclasses import replace

from tidemill.engine.run.new_schemas import run_to_the_end
from tidemill.engine.run.query_run import QueryRun, Ran
from tidemill.engine.sources.static_inputs import Pins
from tidemill.generations.verify import open_generation
from tidemill.ledger.batch_times import with_batch_time
from tidemill.ledger.static_pins import StaticPin
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
    ledger, names = generation.ledger, run.pipeline.spec.batch_statics
    then = with_batch_time(ledger.pins_of(generation.planned), names, ledger, generation.planned)
    pins = {name: _same_kind(then.get(name), pin) for name, pin in today.items()}
    if pins == today:
        return None
    run.log(f"batch {generation.planned} runs again with the static inputs it was planned with")
    once = replace(query.options, trigger=StreamTrigger(TriggerKind.ONCE))
    planned = query.plan(pins)
    return run_to_the_end(replace(query, options=once), pins, planned, backlog)


def _same_kind(then: StaticPin | None, now: StaticPin) -> StaticPin:
    """The pin of a static input, unless the spec now reads it from elsewhere."""
    return then if then is not None and then.kind == now.kind else now
