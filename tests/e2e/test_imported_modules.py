"""A module beside a transform runs on executors, and counts as a part of the transform."""

from __future__ import annotations

from pathlib import Path

from tests.support.pipelines.json_pipeline import JsonPipeline
from tidemill.compatibility.change import Verdict
from tidemill.steps.read_only.plan import Compared, plan

PRICED = """
from prices import priced
from pyspark.sql import functions as F


def transform(clicks):
    return clicks.withColumn("price", F.udf(priced, "int")("click"))
"""
PRICES = """
from rates import RATE


def priced(click):
    return click * RATE
"""


def test_a_helper_runs_on_executors_and_plan_tells_that_it_has_changed(
    tmp_path: Path, spark: object
) -> None:
    flow = JsonPipeline(tmp_path, {"clicks": "click int"}, {}, PRICED)
    folder = flow.pipeline.transform_file.parent
    (folder / "prices.py").write_text(PRICES)
    (folder / "rates.py").write_text("RATE = 2\n")
    flow.arrive("clicks", "a", [{"click": 1}])
    flow.go("first")
    assert flow.published("click", "price") == [(1, 2)]
    assert plan(flow.pipeline).changes == ()

    (folder / "rates.py").write_text("# Raised.\nRATE = 3\n")

    planned = plan(flow.pipeline)
    assert (planned.compared, planned.verdict) == (Compared.FINGERPRINT, Verdict.CONSEQUENCES)
    assert [change.field for change in planned.changes] == ["transform.functions.priced"]
    flow.arrive("clicks", "b", [{"click": 2}])
    flow.go("second")
    assert flow.published("click", "price") == [(1, 2), (2, 6)]
