"""How a source's rows were read: the settings that decide whether and where a row counts.

Kept with each start of the query, so that a backfill can tell which rows another reading moves: a
row that did not parse and does now is in no partition of the table's rejected rows, and one whose
time is read otherwise leaves its partition.
"""

from __future__ import annotations

from typing import Any

from tidemill.spec.event_time import EventTime
from tidemill.spec.sources.file import FileSource
from tidemill.spec.sources.kafka import KafkaSource
from tidemill.spec.sources.kafka_value import KafkaValue
from tidemill.spec.spec import Source, Spec

Reading = dict[str, Any]
OF_FILES = {"format", "schema_", "options"}
OF_RECORDS = {"value", "include", "key_format", "options"}
RULES = "row_rules"


def readings_of(spec: Spec) -> dict[str, Reading]:
    """Source -> how it is read, as plain data."""
    return {name: _reading(spec, name, source) for name, source in spec.sources.items()}


def spec_as_read(spec: Spec, readings: dict[str, Reading]) -> Spec:
    """A spec whose sources are read as they were.

    Args:
        spec: Today's.
        readings: How a start read each source; a source that is missing is read as today.
    """
    sources = {
        name: _as_read(source, readings[name]) if name in readings else source
        for name, source in spec.sources.items()
    }
    rules: dict[str, str] = {}
    return spec.model_copy(update={"sources": sources, RULES: rules})


def _reading(spec: Spec, name: str, source: Source) -> Reading:
    wanted = OF_FILES if isinstance(source, FileSource) else OF_RECORDS
    time = spec.event_time_of(name)
    return {
        "kind": source.kind,
        **source.model_dump(mode="json", include=wanted),
        "event_time": time.column if time else None,
        RULES: spec.row_rules_of(name),
    }


def _as_read(source: Source, reading: Reading) -> Source:
    if reading["kind"] != source.kind:
        return source
    wanted = OF_FILES if isinstance(source, FileSource) else OF_RECORDS
    found = {name: reading[name] for name in wanted if name in reading}
    if isinstance(source, KafkaSource):
        found["value"] = KafkaValue.model_validate(found["value"])
    time = reading["event_time"]
    found["event_time"] = EventTime(column=time) if time else None
    return source.model_copy(update={**found, RULES: reading[RULES]})
