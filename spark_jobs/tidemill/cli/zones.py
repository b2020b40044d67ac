"""Times as the people of a pipeline read them: in the zone of its spec, or in UTC."""

from datetime import UTC, datetime, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo

from typer import Option

from tidemill.contract.errors import TidemillError
from tidemill.spec.catalog import find

Utc = Annotated[bool, Option("--utc", help="Show times in UTC, not in the spec's time zone.")]


def zone_of(name: str, utc: bool = False) -> tzinfo:
    """The zone in which a pipeline's times are shown; UTC too where its spec does not load."""
    if utc:
        return UTC
    try:
        return ZoneInfo(find(name).load().timezone)
    except TidemillError:
        return UTC


def time_shown(moment: datetime, zone: tzinfo) -> str:
    """Such as `2026-03-01 12:00 CET`."""
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M %Z}"
