"""Changes of sources, row by row after Spark's guide, "Recovery Semantics after Changes"."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.support.spec_changes import FILES, KAFKA, TABLE, Row, row, sources
from tidemill.compatibility.change import Verdict

ALLOWED, CONSEQUENCES, NOT_ALLOWED = Verdict
WAYS: Mapping[str, Row] = {
    # Changes in the number or type of input sources. The guide: not allowed; here by their names.
    "a source more": row(
        CONSEQUENCES, "sources.returns", spec_was=sources(), spec_now=sources("returns")
    ),
    "a source less": row(
        CONSEQUENCES, "sources.returns", spec_was=sources("returns"), spec_now=sources()
    ),
    "another kind of source": row(
        NOT_ALLOWED,
        "sources.orders.kind",
        spec_was={"sources": {"orders": FILES}},
        spec_now={"sources": {"orders": KAFKA}},
    ),
    # Changes in the parameters of input sources. Rate limits: allowed.
    "files per batch": row(
        ALLOWED, "sources.orders.maxFilesPerTrigger", now={"maxFilesPerTrigger": 3}
    ),
    "bytes per batch": row(
        ALLOWED,
        "sources.orders.maxBytesPerTrigger",
        was={"maxBytesPerTrigger": 10},
        now={"maxBytesPerTrigger": 20},
    ),
    "offsets per batch": row(
        ALLOWED,
        "sources.orders.maxOffsetsPerTrigger",
        source=KAFKA,
        was={"maxOffsetsPerTrigger": 10},
    ),
    "files of a table per batch": row(
        ALLOWED,
        "sources.orders.maxFilesPerTrigger",
        source=TABLE,
        now={"maxFilesPerTrigger": 3},
    ),
    "the store that files are copied from": row(
        CONSEQUENCES,
        "sources.orders.fetch",
        was={"fetch": {"url": "s3://one"}},
        now={"fetch": {"url": "s3://two"}},
    ),
    "what becomes of published objects": row(
        ALLOWED,
        "sources.orders.fetch",
        was={"fetch": {"url": "s3://one"}},
        now={"fetch": {"url": "s3://one", "clean": "delete"}},
    ),
    # What a record says beside its schema.
    "new fields are refused": row(
        CONSEQUENCES, "sources.orders.new_fields", now={"new_fields": "refuse"}
    ),
    "new fields are rescued": row(
        CONSEQUENCES, "sources.orders.new_fields", now={"new_fields": {"rescue": "rest"}}
    ),
    "new fields of records are rescued": row(
        CONSEQUENCES,
        "sources.orders.value",
        source=KAFKA,
        now={"value": {**KAFKA["value"], "new_fields": {"rescue": "rest"}}},
    ),
    # Subscribed topics and files: generally not allowed.
    "another path": row(NOT_ALLOWED, "sources.orders.path", now={"path": "/in/others"}),
    "another path where names alone count": row(
        CONSEQUENCES,
        "sources.orders.path",
        was={"fileNameOnly": True},
        now={"fileNameOnly": True, "path": "/in/others"},
    ),
    "another topic": row(
        NOT_ALLOWED, "sources.orders.subscribe", source=KAFKA, now={"subscribe": "others"}
    ),
    "a topic more": row(
        CONSEQUENCES, "sources.orders.subscribe", source=KAFKA, now={"subscribe": "orders,others"}
    ),
    "a pattern that finds the topic": row(
        CONSEQUENCES,
        "sources.orders.subscribePattern",
        source=KAFKA,
        now={"subscribe": None, "subscribePattern": "ord.*"},
    ),
    "a pattern that does not": row(
        NOT_ALLOWED,
        "sources.orders.subscribePattern",
        source=KAFKA,
        now={"subscribe": None, "subscribePattern": "^other"},
    ),
    "a partition less": row(
        NOT_ALLOWED,
        "sources.orders.assign",
        source={**KAFKA, "subscribe": None},
        was={"assign": {"orders": [0, 1]}},
        now={"assign": {"orders": [0]}},
    ),
    "where a first start begins": row(
        ALLOWED, "sources.orders.startingOffsets", source=KAFKA, now={"startingOffsets": "latest"}
    ),
    "other brokers": row(
        CONSEQUENCES, "sources.orders.conn_id", source=KAFKA, now={"conn_id": "others"}
    ),
    "another class of rows": row(
        NOT_ALLOWED,
        "sources.orders.data_source",
        source={"kind": "python", "schema": "id string, at timestamp"},
        was={"data_source": "log:Log"},
        now={"data_source": "log:Other"},
    ),
    "a column more": row(
        CONSEQUENCES, "sources.orders.schema", now={"schema": f"{FILES['schema']}, n int"}
    ),
    "another format": row(CONSEQUENCES, "sources.orders.format", now={"format": "parquet"}),
    "a reader's option": row(
        CONSEQUENCES, "sources.orders.options", now={"options": {"allowComments": True}}
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
