"""Which joins of a stream with a static input Spark runs, and what becomes of the spec's hints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.engine.query.build import plan
from tidemill.engine.query.refusals import ModeUnsupported
from tidemill.engine.session import open_session
from tidemill.engine.sources.static_inputs import Statics, persisted, pin_statics, read_statics
from tidemill.steps.stream import explain


def flow_of(home: Path, transform: str, **static: Any) -> JsonPipeline:
    (home / "ads").mkdir()
    (home / "ads" / "prices.csv").write_text("ad,price\ntide,10\n")
    ads = {"kind": "file", "format": "csv", "path": str(home / "ads"), **static}
    ads = {"schema": "ad string, price int", **ads}
    return JsonPipeline(
        home, {"clicks": "click int, ad string"}, {"statics": {"ads": ads}}, transform
    )


def joining(left: str, right: str, kind: str) -> str:
    return f"def transform(clicks, ads):\n    return {left}.join({right}, 'ad', '{kind}')\n"


def statics_of(flow: JsonPipeline, spark: SparkSession) -> Statics:
    open_session(flow.pipeline, "test")
    return read_statics(spark, flow.pipeline, pin_statics(flow.pipeline))


def test_a_stream_with_its_static_rows_is_of_class_map(tmp_path: Path, spark: SparkSession) -> None:
    flow = flow_of(tmp_path, joining("clicks", "ads", "left"))
    planned = plan(spark, flow.pipeline, statics_of(flow, spark))
    assert planned.pipeline_class is PipelineClass.MAP


@pytest.mark.parametrize(
    ("left", "right", "kind"), [("ads", "clicks", "left"), ("clicks", "ads", "right")]
)
def test_the_side_that_is_kept_whole_must_be_the_stream(
    tmp_path: Path, spark: SparkSession, left: str, right: str, kind: str
) -> None:
    flow = flow_of(tmp_path, joining(left, right, kind))
    with pytest.raises(ModeUnsupported):
        plan(spark, flow.pipeline, statics_of(flow, spark))


def test_the_hint_broadcasts_and_what_is_persisted_is_read_from_memory(
    tmp_path: Path, spark: SparkSession
) -> None:
    flow = flow_of(tmp_path, joining("clicks", "ads", "left"), broadcast=True, persist=True)
    statics = statics_of(flow, spark)
    with persisted(flow.pipeline, statics):
        physical = executed(flow, spark, statics)
        assert "BroadcastHashJoin" in physical
        assert "InMemoryTableScan" in physical
    assert "InMemoryTableScan" not in executed(flow, spark, statics)


def executed(flow: JsonPipeline, spark: SparkSession, statics: Statics) -> str:
    """The physical plan of one batch of the query, as Spark's engine makes it."""
    flow.arrive("clicks", f"{len(flow.batches)}", [{"click": 1, "ad": "tide"}])
    rows: DataFrame = plan(spark, flow.pipeline, statics).rows
    query = rows.writeStream.format("noop").trigger(once=True).start()
    query.awaitTermination()
    return str(query._jsq.explainInternal(False))


def test_a_static_row_that_does_not_parse_is_an_error(tmp_path: Path, spark: SparkSession) -> None:
    flow = flow_of(tmp_path, joining("clicks", "ads", "left"))
    with (tmp_path / "ads" / "prices.csv").open("a") as file:
        file.write("mill,many\n")
    statics = statics_of(flow, spark)
    with pytest.raises(Exception, match="MALFORMED_RECORD_IN_PARSING"):
        statics["ads"].collect()


def test_partitions_of_the_original_are_columns(tmp_path: Path, spark: SparkSession) -> None:
    schema = "ad string, price int, country string"
    flow = flow_of(tmp_path, joining("clicks", "ads", "left"), schema=schema, format="json")
    (tmp_path / "ads" / "prices.csv").unlink()
    for country, price in (("GB", 1), ("FR", 2)):
        folder = tmp_path / "ads" / f"country={country}"
        folder.mkdir()
        (folder / "prices.json").write_text(json.dumps({"ad": "tide", "price": price}))
    rows = statics_of(flow, spark)["ads"].collect()
    assert {(row["price"], row["country"]) for row in rows} == {(1, "GB"), (2, "FR")}


def test_an_argument_that_the_transform_lacks_is_named(tmp_path: Path, spark: SparkSession) -> None:
    flow = flow_of(tmp_path, "def transform(clicks):\n    return clicks\n")
    with pytest.raises(Exception, match="def transform\\(clicks, ads\\)"):
        plan(spark, flow.pipeline, statics_of(flow, spark))


def test_a_plan_is_explained_without_a_trace_in_the_pipelines_folder(
    tmp_path: Path, spark: SparkSession
) -> None:
    flow = flow_of(tmp_path, joining("clicks", "ads", "left"))
    assert "Join LeftOuter" in explain(flow.pipeline)
    assert not flow.layout.home.exists()
