"""What `spark_internals` relies on in Spark: a version that changes it fails here by name."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException, utils
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery
from pyspark.sql.types import StructType

from tidemill.engine.session import NOISY
from tidemill.engine.spark_internals.active_session import activate
from tidemill.engine.spark_internals.batch_boundary import BatchBoundary
from tidemill.engine.spark_internals.call_sites import calls_noted
from tidemill.engine.spark_internals.catalyst import Catalyst
from tidemill.engine.spark_internals.class_lookups import CLASSES, SHORT, keep_classes
from tidemill.engine.spark_internals.empty_frame import empty_frame
from tidemill.engine.spark_internals.encoded_path import encoded_path
from tidemill.engine.spark_internals.guarded_steps import guarded, step_classes
from tidemill.engine.spark_internals.java_errors import SPARK_ERRORS, causes, converted
from tidemill.engine.spark_internals.logging import hush
from tidemill.engine.spark_internals.plan import (
    analysed,
    explained,
    items,
    kind,
    nodes,
    optimised,
)
from tidemill.engine.spark_internals.plan_outline import column_ids, columns_named, outlined
from tidemill.engine.spark_internals.python_function import python_function, python_udfs
from tidemill.engine.spark_internals.query_state import (
    at_work,
    last_progress,
    observed_counts,
)
from tidemill.engine.spark_internals.query_state import explained as explained_query
from tidemill.engine.spark_internals.read_files_once import read_files_once
from tidemill.engine.spark_internals.scratch_session import ScratchSession
from tidemill.engine.spark_internals.streaming_check import check_streaming, goes_row_by_row


@pytest.fixture
def numbers(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(1,), (2,), (3,)], "n int")


@pytest.fixture
def stream(spark: SparkSession) -> DataFrame:
    return empty_frame(spark, StructType.fromDDL("n int"), {"from": "here"}, streaming=True)


def test_a_plan_is_analysed_optimised_and_walked(spark: SparkSession, numbers: DataFrame) -> None:
    plan = analysed(numbers.where("n > 1").where("n < 3"))
    assert [kind(node) for node in nodes(plan)][:2] == ["Filter", "Filter"]
    assert [kind(node) for node in nodes(optimised(spark, plan))].count("Filter") == 1
    assert [str(one.name()) for one in items(plan.output())] == ["n"]


def test_the_class_of_a_node_is_asked_for_once(
    numbers: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = analysed(numbers.where("n > 1"))
    first = kind(plan)
    monkeypatch.setattr(plan, "getClass", None)
    assert (first, kind(plan)) == ("Filter", "Filter")


@pytest.mark.parametrize(
    ("column", "facts"),
    [
        ("DATE'2026-03-01'", ("Literal", "date", True, True, "DATE'2026-03-01'")),
        ("CAST('12:30' AS timestamp)", ("Cast", "timestamp", True, True, None)),
        ("rand(1) + n", ("Add", "double", False, False, None)),
        ("named_struct('two\twords\nmore', n)", ("CreateNamedStruct", None, True, False, None)),
    ],
)
def test_an_outline_tells_what_the_plan_tells(
    stream: DataFrame, column: str, facts: tuple[str, str | None, bool, bool, str | None]
) -> None:
    frame = stream.select("n", F.expr(column).alias("made")).where("made IS NOT NULL")
    known = [*nodes(outlined(frame))]
    for told, node in zip(known, nodes(analysed(frame)), strict=True):
        assert (told.isStreaming(), kind(told)) == (node.isStreaming(), kind(node))
        assert told.original.fastEquals(node)
    made = known[1].expressions()[1].children()[0]
    context = made.origin().context()
    text = None if context is None or facts[-1] is None else context.fragment()
    kinds = None if facts[1] is None else made.dataType().catalogString()
    assert (kind(made), kinds, made.deterministic(), made.foldable(), text) == facts
    assert made.original.prettyName() == made.prettyName()


def test_an_outline_has_what_has_no_type_too(stream: DataFrame) -> None:
    ranked = stream.select(F.expr("row_number() OVER (PARTITION BY n ORDER BY n)"))
    parts = [part for node in nodes(outlined(ranked)) for part in node.expressions()]
    assert "WindowSpecDefinition" in [kind(node) for part in parts for node in nodes(part)]


def test_only_a_users_calls_are_noted_by_file_and_line(numbers: DataFrame) -> None:
    def divided() -> DataFrame:
        return numbers.select(F.col("n") / F.lit(0))

    def lines_of(frame: DataFrame) -> list[str]:
        with pytest.raises(PySparkException) as failed:
            frame.collect()
        return [str(context.callSite()) for context in failed.value.getQueryContext()]

    with calls_noted():
        of_user = divided()
    assert [Path(__file__).name in line for line in lines_of(of_user)] == [True]
    assert not any(Path(__file__).name in line for line in lines_of(divided()))


def test_calls_are_noted_after_those_of_a_thread_without_a_session(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utils, "_enable_debugging_cache", None)

    def without_session() -> None:
        jvm: Any = spark._jvm
        jvm.org.apache.spark.sql.SparkSession.clearActiveSession()
        with calls_noted():
            F.lit(1) + F.lit(1)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(without_session).result()
    with calls_noted():
        F.lit(1) + F.lit(1)
    assert utils._enable_debugging_cache is True


def test_a_class_that_is_kept_is_not_looked_for_again(spark: SparkSession) -> None:
    keep_classes(spark)
    jvm: Any = spark._jvm
    for name in (*CLASSES, *SHORT):
        # A class that py4j looks for is a new object each time.
        assert getattr(jvm, name) is getattr(jvm, name), name
    assert jvm.org.apache.spark.sql.classic.Dataset is jvm.org.apache.spark.sql.classic.Dataset
    assert jvm.org.apache.spark.SparkEnv is not jvm.org.apache.spark.SparkEnv
    assert jvm.functions.lit(1).toString() == "1"


def test_the_columns_that_an_expression_names_are_told_without_a_frame(spark: SparkSession) -> None:
    assert columns_named("nowhere + upper(`two words`.part) + nowhere * 2") == {
        "nowhere",
        "two words",
    }
    assert columns_named("1 + 1") == set()


def test_a_column_keeps_its_id_until_it_is_computed_again(numbers: DataFrame) -> None:
    before = column_ids(numbers.withColumn("two words", F.lit("a")))
    assert [*before] == ["n", "two words"]
    after = column_ids(numbers.select("n", (F.col("n") + 0).alias("m")))
    assert (after["n"] == before["n"], after["m"] in before.values()) == (True, False)


def test_a_frame_is_explained_with_all_its_plans(numbers: DataFrame) -> None:
    assert "== Analyzed Logical Plan ==" in explained(numbers)
    assert "== Physical Plan ==" in explained(numbers)


def test_a_frame_is_made_of_a_plan_that_was_rewritten(
    spark: SparkSession, numbers: DataFrame
) -> None:
    catalyst, plan = Catalyst(spark), analysed(numbers)
    nothing = catalyst.LocalRelation(plan.output(), catalyst.seq([]), False, catalyst.none)
    frame = catalyst.frame(nothing)
    assert (frame.columns, frame.collect()) == (["n"], [])


def test_steps_over_more_rows_leave_the_marked_ones_as_they_are(numbers: DataFrame) -> None:
    marked = numbers.withColumn("mark", F.when(F.col("n") == 2, F.lit("bad")))
    plain = marked.where("mark IS NULL").select("n")
    top = plain.alias("rows").where("n < 3").select((10 / F.col("n")).alias("part"))
    assert step_classes(top, plain) == ["Project", "Filter"]
    both = guarded(marked, plain, top, "mark")
    assert both is not None
    assert [*map(tuple, both.sort("part").collect())] == [(None, "bad"), (10.0, None)]


def test_steps_that_no_condition_guards_are_not_taken_along(numbers: DataFrame) -> None:
    marked = numbers.withColumn("mark", F.lit(None).cast("string"))
    plain = marked.where("mark IS NULL").select("n")
    for top in (plain.select(F.rand()), plain.select(F.udf(lambda n: f"{n}!")("n"))):
        assert step_classes(top, plain) == ["Project"]
        assert guarded(marked, plain, top, "mark") is None
    sums = plain.groupBy().sum("n")
    assert (step_classes(sums, plain), guarded(marked, plain, sums, "mark")) == (None, None)


def test_a_plan_is_shared_and_inlined_again(spark: SparkSession, numbers: DataFrame) -> None:
    catalyst, plan, none = Catalyst(spark), analysed(numbers), Catalyst(spark).none
    shared = catalyst.CTERelationDef(plan, catalyst.CTERelationDef.newId(), none, False, none)
    read = catalyst.CTERelationRef(
        shared.id(), True, plan.output(), False, none, False, none, False
    )
    whole = catalyst.WithCTE(read, catalyst.seq([shared]))
    assert catalyst.frame(whole).count() == 3
    assert "CTERelationRef" not in [kind(node) for node in nodes(catalyst.inlined(whole))]


def test_a_view_leaves_no_node_in_a_plan(spark: SparkSession, numbers: DataFrame) -> None:
    numbers.createOrReplaceTempView("numbers_of_a_test")
    try:
        plan = analysed(spark.sql("SELECT n FROM numbers_of_a_test"))
    finally:
        spark.catalog.dropTempView("numbers_of_a_test")
    assert "View" in [kind(node) for node in nodes(plan)]
    assert "View" not in [kind(node) for node in nodes(Catalyst(spark).without_views(plan))]


def test_the_code_of_a_python_function_is_read_back(
    spark: SparkSession, numbers: DataFrame
) -> None:
    double = F.udf(lambda n: 2 * n, "int")
    (udf,) = python_udfs(spark, analysed(numbers.select(double("n"))))
    function = python_function(spark, udf)
    assert function is not None
    assert function(21) == 42


def test_an_empty_frame_is_a_stream_whose_columns_have_metadata(stream: DataFrame) -> None:
    assert stream.isStreaming
    assert stream.schema["n"].metadata == {"from": "here"}


def test_a_scratch_session_knows_its_views_and_nothing_of_the_others(
    spark: SparkSession, numbers: DataFrame
) -> None:
    spark.range(1).createOrReplaceTempView("of_the_session")
    try:
        scratch = ScratchSession(spark, without=["java_method"])
    finally:
        spark.catalog.dropTempView("of_the_session")
    scratch.create_view("numbers", numbers)
    frame = Catalyst(spark).frame(scratch.analysed("SELECT max(n) AS n FROM numbers"))
    assert [row.n for row in frame.collect()] == [3]
    for refused in (
        "SELECT * FROM of_the_session",
        "SELECT java_method('java.lang.System', 'exit')",
        "SELECT system.builtin.java_method('java.lang.System', 'exit')",
        "SELECT * FROM parquet.`/nowhere`",
    ):
        with pytest.raises(AnalysisException):
            scratch.analysed(refused)
    assert spark.sql("SELECT java_method('java.lang.Math', 'abs', -1) AS one").first()


def test_a_command_is_seen_before_it_is_run(spark: SparkSession) -> None:
    scratch = ScratchSession(spark, without=())
    assert scratch.command_in("WITH a AS (SELECT 1 AS n) SELECT n FROM a") is None
    assert scratch.command_in("SET spark.sql.ansi.enabled=false") == "SetCommand"
    assert scratch.command_in("CREATE TABLE t (n INT)") == "CreateTable"
    assert scratch.command_in("BEGIN SELECT 1; END") == "CompoundBody"


def test_spark_checks_a_stream_for_an_output_mode(stream: DataFrame) -> None:
    check_streaming(stream, "append")
    with pytest.raises(AnalysisException):
        check_streaming(stream.groupBy("n").count(), "append")


def test_spark_plans_a_stream_before_its_query_starts(stream: DataFrame) -> None:
    other = stream.withColumnRenamed("n", "m")
    check_streaming(stream.join(other, F.expr("n = m")), "append")
    with pytest.raises(AnalysisException):
        check_streaming(stream.join(other, F.expr("n < m")), "append")


@pytest.mark.parametrize(
    ("made", "by_row"),
    [("n + 1", True), ("(SELECT max(id) FROM range(9)) + n", False), ("twice(n)", False)],
)
def test_what_the_planner_may_refuse_does_not_go_row_by_row(
    spark: SparkSession, made: str, by_row: bool
) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("value", "n")
    spark.udf.register("twice", lambda n: 2 * n, "int")
    assert goes_row_by_row(stream.selectExpr(f"{made} AS made").where("made > 1")) == by_row
    assert not goes_row_by_row(stream.groupBy("n").count())


def test_a_new_session_is_the_active_one_of_its_thread(spark: SparkSession) -> None:
    other, found = spark.newSession(), []

    def look() -> None:
        activate(other)
        jvm: Any = spark._jvm
        found.append(jvm.org.apache.spark.sql.SparkSession.active().sessionUUID())

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [other._jsparkSession.sessionUUID()]


def test_a_path_is_encoded_as_spark_shows_that_of_a_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "ä b%c.csv"
    file.write_text("1\n")
    shown = spark.read.schema("n int").csv(str(tmp_path)).select("_metadata.file_path").first()
    assert shown is not None
    assert re.sub("^file:(//)?", "", shown.file_path) == encoded_path(spark, file)


def test_an_error_of_the_jvm_gives_its_condition_and_its_causes(numbers: DataFrame) -> None:
    with pytest.raises(SPARK_ERRORS) as caught:
        numbers.select(F.expr("n / 0")).collect()
    error = converted(caught.value)
    assert isinstance(error, PySparkException)
    assert "DIVIDE_BY_ZERO" in {cause.getCondition() for cause, _ in causes(error)}
    assert all(text for _, text in causes(error))


class TestRunningQuery:
    """A query that has ended its first batch and waits for the next."""

    @pytest.fixture
    def query(self, spark: SparkSession, tmp_path: Path) -> Iterator[StreamingQuery]:
        source = tmp_path / "source"
        source.mkdir()
        (source / "one.csv").write_text("1\n2\n")
        rows = spark.readStream.schema("n int").csv(str(source)).observe("seen", F.count("*"))
        writer = rows.writeStream.format("noop").queryName("of_a_test")
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        query.processAllAvailable()
        yield query
        query.stop()

    def test_what_it_knows_of_itself(self, query: StreamingQuery) -> None:
        assert at_work(query)
        assert observed_counts(query, ["seen", "unseen"]) == [2]
        assert "== Physical Plan ==" in explained_query(query)
        report = last_progress(query)
        assert report is not None
        assert report["observedMetrics"] == {"seen": {"count(1)": 2}}
        query.stop()
        assert not at_work(query)

    def test_it_reads_no_more_once_it_is_cut_off(
        self, spark: SparkSession, query: StreamingQuery, tmp_path: Path
    ) -> None:
        boundary = BatchBoundary(spark, query)
        with boundary.held():
            boundary.wait(1)
            boundary.cut_off()
        (tmp_path / "source/two.csv").write_text("3\n")
        query.processAllAvailable()
        reports = query.recentProgress
        assert sum(report.numInputRows for report in reports) == 2
        query.stop()
        boundary.stop_sources()


@pytest.mark.parametrize("once", [False, True])
def test_spark_reads_a_batch_with_a_glob_in_a_name_again_but_for_our_rule(
    spark: SparkSession, tmp_path: Path, once: bool
) -> None:
    # Where the first case fails, Spark has fixed SPARK-58518 and the rule can go.
    session = spark.newSession()
    (tmp_path / "source").mkdir()
    for name in ("a.csv", "b.csv", "c[1].csv"):
        (tmp_path / "source" / name).write_text("1\n")
    if once:
        read_files_once(session)
        read_files_once(session)
    rows = session.readStream.schema("n int").csv(str(tmp_path / "source"))
    writer = rows.writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    assert [report.numInputRows for report in query.recentProgress] == [3 if once else 5]


def test_what_warns_of_input_that_was_put_away_is_hushed(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    logger = getattr(jvm.org.apache.spark.sql.execution.streaming.sinks, "FileStreamSink$")
    log = getattr(logger, "MODULE$").log()
    assert log.getName() == NOISY
    hush(spark, NOISY)
    assert (log.isWarnEnabled(), log.isErrorEnabled()) == (False, True)
