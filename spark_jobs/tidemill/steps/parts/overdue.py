"""Checks whether a feed stopped arriving."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from tidemill.contract.errors import TidemillError
from tidemill.contract.syntax.quantities import in_words
from tidemill.ledger.batch import Batch
from tidemill.ledger.past_batches import unsettled
from tidemill.sources.probe_result import ProbeResult
from tidemill.storage.folders import entries
from tidemill.storage.run_context import RunContext


class FeedOverdue(TidemillError):
    """Nothing arrived for longer than the spec's `expect` allows; carries `last_arrival`."""


def last_arrivals(
    run: RunContext, found: list[ProbeResult], batches: Sequence[Batch], now: datetime
) -> dict[str, datetime | None]:
    """When something arrived last at each source, by its own date or when a run took it in."""
    arrivals = {}
    settled, rest = unsettled(batches)
    for look in found:
        # A file with a date to come did not arrive then, and must not silence this for ever.
        times = [look.last_arrival] if look.last_arrival and look.last_arrival <= now else []
        times += [batch.committed for batch in rest if _brought(batch, look.source)]
        before = settled and settled.sources.get(look.source)
        times += [before.brought] if before and before.brought else []
        arrivals[look.source] = max(times) if times else _first_look(run)
    return arrivals


def check_overdue(run: RunContext, arrivals: Mapping[str, datetime | None], now: datetime) -> None:
    """Hold every source's last arrival against the spec's `expect`.

    Args:
        arrivals: As `last_arrivals`.

    Raises:
        FeedOverdue: nothing arrived for longer than that.
    """
    expect = run.pipeline.spec.expect
    if expect is None:
        return
    grace = f", with a grace of {in_words(expect.grace)}" if expect.grace else ""
    for source, last in arrivals.items():
        if last is not None and now - last > expect.every + expect.grace:
            raise FeedOverdue(
                f"sources.{source}: nothing arrived since {last:%Y-%m-%d %H:%M} UTC, and "
                f"expect.every is {in_words(expect.every)}{grace}.",
                remedy="Ask whoever delivers the feed; what arrives next ends this state.",
                source=source,
                last_arrival=last,
                every=expect.every,
            )


def _brought(batch: Batch, source: str) -> bool:
    """Whether a batch read something new of a source that has files; others tell the time."""
    return any(file.source == source for file in batch.inputs)


def _first_look(run: RunContext) -> datetime | None:
    """The time of the first look at this pipeline, for a feed that never arrived."""
    found = entries(run.pipeline.layout.runs)
    oldest = min((one.stat.st_mtime for one in found), default=None)
    return None if oldest is None else datetime.fromtimestamp(oldest, UTC)
