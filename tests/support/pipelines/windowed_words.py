"""Words counted in windows of ten minutes, under a watermark of ten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.pipelines.json_pipeline import JsonPipeline

COUNTS = """
from pyspark.sql import functions as F


def transform(events):
    return events.groupBy(F.window("at", "10 minutes"), "word").count()
"""
SPEC: dict[str, Any] = {
    "event_time": {"column": "at", "watermark": "10 minutes"},
    "output": {"partition_by": {"day": "to_date(window.start)"}},
}


def windows(home: Path, **spec: Any) -> JsonPipeline:
    """The pipeline, with other fields of its spec where given."""
    return JsonPipeline(home, {"events": "at timestamp, word string"}, {**SPEC, **spec}, COUNTS)


def at(time: str, word: str = "tide") -> dict[str, str]:
    """A word that was said at a time of the day."""
    return {"at": f"2026-03-01T{time}:00Z", "word": word}
