"""Specs to be changed: one change each, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidemill.compatibility.change import Change, Judge, Verdict
from tidemill.compatibility.creation_snapshot import print_of
from tidemill.compatibility.spec_changes import spec_changes
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.spec.spec import Spec

Part = Mapping[str, Any]

FILES: Part = {
    "kind": "file",
    "format": "json",
    "path": "/in/orders",
    "schema": "id string, at timestamp, booked timestamp",
}
KAFKA: Part = {
    "kind": "kafka",
    "subscribe": "orders",
    "value": {"schema": "id string, at timestamp"},
}
TABLE: Part = {"kind": "table", "pipeline": "shop", "schema": "id string, at timestamp"}
RATE: Part = {"kind": "rate"}
TIME: Part = {"event_time": {"column": "at"}}
WATERMARK: Part = {"event_time": {"column": "at", "watermark": "1 hour"}}


@dataclass(frozen=True)
class Row:
    """One change of a spec with one source, `orders`.

    Args:
        verdict: On it.
        at: The field that is named.
        source: The source.
        was: Fields of the source before.
        now: The same after.
        spec: Fields of the spec on both sides.
        spec_was: The spec was of the spec before.
        spec_now: The spec now of the spec after.
        of: The class of the pipeline.
    """

    verdict: Verdict
    at: str
    source: Part = field(default_factory=lambda: FILES)
    was: Part = field(default_factory=dict)
    now: Part = field(default_factory=dict)
    spec: Part = field(default_factory=lambda: TIME)
    spec_was: Part = field(default_factory=dict)
    spec_now: Part = field(default_factory=dict)
    of: PipelineClass = PipelineClass.MAP

    def changes(self) -> list[Change]:
        def spec(source: Part, own: Part) -> Spec:
            sources = {"sources": {"orders": {**self.source, **source}}}
            return Spec.model_validate({**sources, **self.spec, **own})

        was, now = spec(self.was, self.spec_was), spec(self.now, self.spec_now)
        prints = print_of(was, b"", ".py"), print_of(now, b"", ".py")
        return spec_changes(Judge("orders", self.of), *prints)


def row(verdict: Verdict, at: str, **given: Any) -> Row:
    return Row(verdict, at, **given)


def sources(*more: str) -> Part:
    return {"sources": {name: {**FILES, "path": f"/in/{name}"} for name in ("orders", *more)}}


def sink(kind: str, **own: Any) -> Part:
    return {"sink": {"kind": kind, **own}}
