"""Asset events: DAGs scheduled on a table hear of each change of it once it is visible."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import Asset, AssetAlias

from tidemill.contract.layout import Layout
from tidemill.journal.journal import Applied, Event, Journal
from tidemill.journal.recent_journal import read_news
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.root import root

if TYPE_CHECKING:
    from airflow.sdk import Context

__all__ = ["table_alias", "table_asset"]


def table_alias(pipeline: str) -> AssetAlias:
    """The asset alias that other DAGs are scheduled on: `schedule=table_alias("retail")`."""
    return AssetAlias(name=f"tidemill.{pipeline}", group="tidemill")


def table_asset(pipeline: str, under: Path | None = None) -> Asset:
    """The published table as an asset.

    Args:
        under: `TIDEMILL_ROOT`; the environment's where not given.
    """
    table = Layout(under or root(), pipeline).table
    return Asset(name=f"tidemill/{pipeline}", uri=table.as_uri(), group="tidemill")


def emit(pipeline: Pipeline, context: Context) -> tuple[int, ...]:
    """Add an event for everything that is published and not announced.

    Through an alias, so that a publish without news sends nothing.

    Returns:
        The events' numbers in the journal, for `announce` once the task has succeeded.
    """
    journal = read_news(pipeline.layout, [target.name for target in pipeline.spec.publish])
    asset = table_asset(pipeline.name, pipeline.layout.root)
    outlet = context["outlet_events"][table_alias(pipeline.name)]
    news, published = journal.unannounced(), journal.published()
    for event in news:
        outlet.add(asset, extra=_extra(event, published[event.seq]))
    return tuple(event.seq for event in news)


def announce(pipeline: Pipeline, numbers: Iterable[int]) -> None:
    """Note in the journal that these events were sent."""
    journal = Journal(pipeline.layout.journal)
    for number in numbers:
        journal.announce(number)


def _extra(event: Event, applied: Applied) -> dict[str, Any]:
    """The asset event for consumers: rows were added, replaced or rejected.

    A swap names the partitions in which rows changed, each by its values of the columns
    `partition_by`; None where they may be anywhere. A replace is always of the whole table.
    """
    extra: dict[str, Any] = {
        "kind": event.kind,
        "target": applied.target,
        "version": applied.version,
        "increment": event.increment,
        "generation": event.generation,
        "first_batch": event.first,
        "last_batch": event.last,
        "rows": event.rows,
        "rejected": event.rejected,
        "run_id": event.run_id,
    }
    if event.recomputation is not None:
        extra |= {"recomputation": event.recomputation.kind, "by": event.recomputation.by}
    decided = event.rejection or event.release
    if decided is not None:
        extra["by"] = decided["by"]
    if event.kind == "swap":
        partitions = event.recomputation.partitions if event.recomputation else None
        known = partitions is not None and not partitions.everything
        extra["partition_by"] = list(partitions.columns) if partitions and known else []
        extra["partitions"] = [list(v) for v in partitions.values] if partitions and known else None
    return extra
