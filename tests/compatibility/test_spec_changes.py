"""Changes of a spec beside its sources, row by row after Spark's guide, "Recovery Semantics".

The first rows are the guide's own, in its order; the others are about what only this spec has.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.spec_changes import RATE, TIME, WATERMARK, Part, Row, row, sink
from tidemill.compatibility.change import Judge, Verdict
from tidemill.compatibility.creation_snapshot import print_of
from tidemill.compatibility.spec_changes import spec_changes
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.spec.spec import Spec

ALLOWED, CONSEQUENCES, NOT_ALLOWED = Verdict
MAP, WINDOW, ORDERED, UNBOUNDED = PipelineClass
NO_GATE: Part = {"source": RATE, "spec": {}}
WAYS: Mapping[str, Row] = {
    # Changes in the type of output sink: some allowed, from case to case.
    "files, then Kafka": row(NOT_ALLOWED, "sink", spec_now=sink("kafka")),
    "Kafka, then files": row(NOT_ALLOWED, "sink", spec_was=sink("kafka")),
    "Kafka, then foreach": row(
        CONSEQUENCES,
        "sink.kind",
        **NO_GATE,
        spec_was=sink("kafka"),
        spec_now=sink("foreach"),
    ),
    "foreach, then Kafka": row(
        CONSEQUENCES,
        "sink.kind",
        **NO_GATE,
        spec_was=sink("foreach"),
        spec_now=sink("kafka"),
    ),
    "Kafka, then memory": row(
        NOT_ALLOWED, "sink.kind", **NO_GATE, spec_was=sink("kafka"), spec_now=sink("memory")
    ),
    # Changes in the parameters of output sink.
    "another topic to write to": row(
        CONSEQUENCES,
        "sink.topic",
        **NO_GATE,
        spec_was=sink("kafka", topic="some"),
        spec_now=sink("kafka", topic="another"),
    ),
    "rows on the screen": row(
        ALLOWED,
        "sink.numRows",
        **NO_GATE,
        spec_was=sink("console"),
        spec_now=sink("console", numRows=5),
    ),
    "a writer's option": row(
        ALLOWED,
        "output.options.compression",
        spec_now={"output": {"options": {"compression": "zstd"}}},
    ),
    "a separator": row(
        CONSEQUENCES,
        "output.options.sep",
        spec={**TIME, "publish": [{"kind": "files"}]},
        spec_was={"output": {"format": "csv"}},
        spec_now={"output": {"format": "csv", "options": {"sep": ";"}}},
    ),
    "another format of files": row(
        NOT_ALLOWED,
        "output.format",
        spec={**TIME, "publish": [{"kind": "files"}]},
        spec_now={"output": {"format": "csv"}},
    ),
    "another output mode": row(
        NOT_ALLOWED, "output.mode", spec_now={"output": {"mode": "complete"}}
    ),
    "other keys": row(
        NOT_ALLOWED,
        "output.keys",
        spec_was={"output": {"mode": "update", "keys": ["id"]}},
        spec_now={"output": {"mode": "update", "keys": ["id", "at"]}},
    ),
    "another trigger": row(ALLOWED, "trigger", spec_now={"trigger": "once"}),
    # This spec's own.
    "another event time": row(
        NOT_ALLOWED, "sources.orders.event_time", spec_now={"event_time": {"column": "booked"}}
    ),
    "a longer watermark without state": row(
        ALLOWED,
        "sources.orders.event_time.watermark",
        spec_was=WATERMARK,
        spec_now={"event_time": {"column": "at", "watermark": "2 hours"}},
    ),
    "a longer watermark": row(
        CONSEQUENCES,
        "sources.orders.event_time.watermark",
        spec_was=WATERMARK,
        spec_now={"event_time": {"column": "at", "watermark": "2 hours"}},
        of=WINDOW,
    ),
    "a first watermark": row(
        NOT_ALLOWED, "sources.orders.event_time.watermark", spec_now=WATERMARK, of=UNBOUNDED
    ),
    "another watermark's policy": row(
        CONSEQUENCES,
        "multipleWatermarkPolicy",
        spec_now={"multipleWatermarkPolicy": "max"},
        of=ORDERED,
    ),
    "other partitions": row(
        NOT_ALLOWED,
        "output.partition_by",
        spec_was={"output": {"partition_by": {"day": "to_date(at)"}}},
        spec_now={"output": {"partition_by": {"day": "to_date(booked)"}}},
    ),
    "another place of null partitions": row(
        NOT_ALLOWED,
        "output.null_partition",
        spec_was={"output": {"partition_by": {"day": "to_date(at)"}}},
        spec_now={"output": {"partition_by": {"day": "to_date(at)"}, "null_partition": "keep"}},
    ),
    "another time zone": row(NOT_ALLOWED, "timezone", spec_now={"timezone": "Europe/London"}),
    "a row rule": row(
        CONSEQUENCES, "row_rules.known", spec_now={"row_rules": {"known": "id > ''"}}
    ),
    "a rule of one source": row(
        CONSEQUENCES, "sources.orders.row_rules.known", was={"row_rules": {"known": "id > ''"}}
    ),
    "other shuffle partitions": row(
        CONSEQUENCES,
        "state.shuffle_partitions",
        spec_was={"state": {"shuffle_partitions": 2}},
        spec_now={"state": {"shuffle_partitions": 8}},
        of=WINDOW,
    ),
    "other shuffle partitions without state": row(
        ALLOWED, "state.shuffle_partitions", spec_now={"state": {"shuffle_partitions": 8}}
    ),
    "a static input more": row(
        CONSEQUENCES,
        "statics.shops",
        spec_now={"statics": {"shops": {"kind": "table", "pipeline": "shops"}}},
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_a_change_has_its_verdict(name: str) -> None:
    way = WAYS[name]
    (change,) = way.changes()
    assert (change.field, change.verdict) == (way.at, way.verdict)
    rebuild = "tidemill rebuild orders" in change.remedy
    assert rebuild or way.verdict is not NOT_ALLOWED
    assert change.was != change.now


@pytest.mark.parametrize(
    "unseen",
    [
        {"description": "new"},
        {"schedule": "@hourly"},
        {"gate": {"rejected": {"hold_above": 0.5}}},
        {"publish": [{"kind": "delta"}, {"kind": "kafka", "conn_id": "k", "topic": "out"}]},
    ],
)
def test_what_is_not_the_querys_is_no_change(unseen: Part) -> None:
    assert Row(ALLOWED, "", spec_now=unseen).changes() == []


def test_what_is_only_watched_for_is_no_change() -> None:
    assert Row(ALLOWED, "", now={"changed": "warn", "same_content": "ignore"}).changes() == []


def test_several_changes_come_in_the_order_of_the_spec() -> None:
    both = Row(
        ALLOWED,
        "",
        now={"maxFilesPerTrigger": 1},
        spec_now={"timezone": "Asia/Tokyo", "trigger": "available_now"},
    )
    assert [change.field for change in both.changes()] == [
        "timezone",
        "sources.orders.maxFilesPerTrigger",
    ]


def test_days_of_a_running_total_are_not_offered_to_be_computed_again() -> None:
    rules = {"row_rules": {"known": "id > ''"}}
    remedies = {
        of: Row(ALLOWED, "", spec_now=rules, of=of).changes()[0].remedy for of in PipelineClass
    }
    assert "backfill" not in remedies[UNBOUNDED]
    assert all("backfill" in remedies[of] for of in (MAP, WINDOW, ORDERED))


def test_of_a_sink_of_sparks_own_nothing_is_computed_again() -> None:
    judge = Judge("orders", WINDOW, published=False)
    changes = judge.not_allowed("a", 1, 2, "b"), judge.consequences("a", 1, 2, "b")
    assert not [one for one in changes if "tidemill" in one.remedy]


def test_the_code_that_a_sink_calls_is_told_from_the_transform() -> None:
    spec = Spec.model_validate({"sources": {"rows": RATE}, **sink("foreach")})
    was = b"def transform(rows):\n    return rows\n\ndef foreach(row):\n    print(row)\n"
    prints = {
        code: print_of(spec, code, ".py")
        for code in (
            was,
            was.replace(b"return rows", b"return rows.limit(1)"),
            was.replace(b"print(row)", b"print(row)  # for all to see"),
            was.replace(b"print(row)", b"print(row.value)"),
        )
    }
    born, *others = prints.values()
    judge = Judge("orders", MAP)
    found = [[change.field for change in spec_changes(judge, born, other)] for other in others]
    assert found == [[], [], ["sink.code"]]
    assert spec_changes(judge, born, others[2])[0].verdict is CONSEQUENCES
