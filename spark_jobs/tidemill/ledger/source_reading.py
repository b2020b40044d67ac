"""How a source's rows were read: the settings that decide whether and where a row counts.

Kept with each start of the query, so that a backfill can tell which rows another reading moves: a
row that did not parse and does now is in no partition of the table's rejected rows, and one whose
time is read otherwise leaves its partition.
"""

from typing import Any

from tidemill.spec.event_time import EventTime
from tidemill.spec.spec import Source, Spec

Reading = dict[str, Any]
RULES = "row_rules"


def readings_of(spec: Spec) -> dict[str, Reading]:
    """Source -> how it is read, as plain data."""
    return {name: _reading(spec, name, source) for name, source in spec.sources.items()}


def spec_as_read(spec: Spec, readings: dict[str, Reading]) -> Spec:
    """A spec whose sources are read as they were.

    Args:
        readings: How a start read each source; a source that is missing is read as today.
    """
    sources = {
        name: _as_read(source, readings[name]) if name in readings else source
        for name, source in spec.sources.items()
    }
    rules: dict[str, str] = {}
    return spec.model_copy(update={"sources": sources, RULES: rules})


def _reading(spec: Spec, name: str, source: Source) -> Reading:
    time = spec.event_time_of(name)
    return {
        "kind": source.kind,
        **source.reading(),
        "event_time": time.column if time else None,
        RULES: spec.row_rules_of(name),
    }


def _as_read(source: Source, reading: Reading) -> Source:
    if reading["kind"] != source.kind:
        return source
    fields = {name: reading[name] for name in source.HOW_READ if name in reading}
    time = reading["event_time"]
    event_time = EventTime(column=time) if time else None
    update = {"event_time": event_time, RULES: reading[RULES]}
    return source.as_read(fields).model_copy(update=update)
