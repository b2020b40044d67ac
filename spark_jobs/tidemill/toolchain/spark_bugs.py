"""Where Spark itself gives wrong results, and what Tidemill does about each.

`docs/reference/spark-bugs.md` prints this table. The test of a row shows the bug in plain Spark,
and fails once a new version of Spark has fixed it: then what Tidemill does about it can go. Where
the version in use gives the right result, the test shows that.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SparkBug:
    """A wrong result of Spark.

    Attributes:
        number: In Spark's tracker; empty where none is known.
        wrong: What goes wrong, and with what.
        versions: The versions of Spark in which it was seen.
        here: What Tidemill does about it.
        test: Shows the bug, or that it is gone, as `path::name`.
    """

    number: str
    wrong: str
    versions: str
    here: str
    test: str


_TESTS = "tests/engine/test_spark_bugs.py::"

SPARK_BUGS = (
    SparkBug(
        "SPARK-58904",
        "A join of streams whose time condition is over a column without a watermark: Spark drops "
        "rows by the column with the watermark, before their match comes. They are missing, or "
        "come out as unmatched.",
        "4.2.0 to 4.3.0",
        "refused: `JoinTimeUnwatermarked`",
        _TESTS + "test_a_join_by_another_time_than_the_watermarks_loses_rows",
    ),
    SparkBug(
        "SPARK-58904",
        "A join of streams by an equal time that has a watermark on one side only: Spark drops the "
        "rows of both sides as soon as the watermark passes that time.",
        "4.2.0 to 4.3.0",
        "refused: `JoinTimeUnwatermarked`",
        _TESTS + "test_a_join_by_an_equal_time_without_a_watermark_on_one_side_loses_rows",
    ),
    SparkBug(
        "",
        "A join of streams by times that are a day or more apart, in a time zone whose clocks "
        "change: Spark drops rows after days of 24 hours, and the condition counts days of 25.",
        "4.2.1",
        "refused: `JoinBoundInexact`",
        _TESTS + "test_a_join_over_a_day_of_25_hours_loses_rows_of_the_last_one",
    ),
    SparkBug(
        "",
        "A join of streams whose condition adds the same interval twice: the second is forgotten.",
        "4.2.0",
        "right in the version in use",
        _TESTS + "test_an_interval_that_is_added_twice_counts_twice",
    ),
    SparkBug(
        "SPARK-58518",
        "A file with one of `[ ] { } * ? \\` in its name or folder: the other files of its batch "
        "are read twice.",
        "4.2.0 to 4.3.0",
        "an optimizer rule takes the second reading out of the plan",
        "tests/engine/spark_internals/test_spark_internals.py::"
        "test_spark_reads_a_batch_with_a_glob_in_a_name_again_but_for_our_rule",
    ),
    SparkBug(
        "",
        "`mode` of a binary column gives any of the values.",
        "4.2.0",
        "right in the version in use",
        _TESTS + "test_the_mode_of_a_binary_column_is_its_most_frequent_value",
    ),
    SparkBug(
        "",
        "What follows the first JSON object on a line is ignored.",
        "4.2.0 to 4.3.0",
        "such lines are rejected rows, with their text",
        _TESTS + "test_a_second_object_on_a_line_of_json_is_ignored",
    ),
    SparkBug(
        "",
        "A union of streams with state, under an operator with state: each run fails "
        "(`Can only upgrade readStore to writeStore`).",
        "4.2.0 to 4.3.0",
        "avoided: `spark.sql.unionOutputPartitioning: false`",
        _TESTS + "test_state_above_a_union_of_states_needs_a_setting",
    ),
    SparkBug(
        "SPARK-59662",
        "A query with state that was killed within a batch does not start again: `None.get`.",
        "4.2.0",
        "right in the version in use; for checkpoints of 4.2.0 avoided: "
        "`spark.sql.streaming.checkUnfinishedRepartitionOnRestart: false`",
        _TESTS + "test_a_query_that_was_killed_within_a_batch_starts_again",
    ),
    SparkBug(
        "",
        "The offset log of version 2 does not hold the number of state partitions; with another "
        "number, state is lost.",
        "4.2.0",
        "each generation keeps its first number of partitions",
        "tests/compatibility/test_spec_changes.py::test_a_change_has_its_verdict",
    ),
    SparkBug(
        "SPARK-59108",
        "Avro with `positionalFieldMatching`, of which not all columns are used: a column gets the "
        "value of its neighbour.",
        "4.2.0",
        "right in the version in use",
        _TESTS + "test_avro_fields_that_are_matched_by_position_keep_their_values",
    ),
    SparkBug(
        "SPARK-58183",
        "Rows that Spark reads again, for a sample (`repartitionByRange`) or after the output of a "
        "stage was lost, are counted again: in `numInputRows` and by `observe`.",
        "4.2.1",
        "such a batch is written down without the number of rows read",
        _TESTS + "test_rows_that_are_read_for_a_sample_are_counted_twice",
    ),
    SparkBug(
        "",
        "An inner join with a small static table that has no rows, in a plan of more than a "
        "hundred columns: Spark reads none of the batch's rows, so the watermark stays where it "
        "was, and `numInputRows` and `observe` count none.",
        "4.2.1",
        "nothing: the batch has no result rows, but its number of rows read is 0, and rows that "
        "the watermark would have made late still count",
        _TESTS + "test_rows_that_meet_an_empty_table_are_not_read_in_a_wide_plan",
    ),
    SparkBug(
        "",
        "A Python function gets a timestamp in the time zone of the machine, not of the session: "
        "on another machine it gives other rows.",
        "4.2.1",
        "avoided: `spark.executorEnv.TZ: UTC`",
        _TESTS + "test_a_python_function_gets_times_in_the_zone_of_the_machine",
    ),
    SparkBug(
        "",
        "A pandas function (`mapInPandas`, `pandas_udf` and the like) gives out a timestamp of the "
        "hour before the clocks go back an hour later, in a session whose time zone has such an "
        "hour. A batch gives the same.",
        "4.2.1",
        "nothing: what is published equals the batch; `mapInArrow` and `timezone: UTC` are right",
        _TESTS + "test_a_pandas_function_moves_times_before_the_clocks_go_back",
    ),
    SparkBug(
        "",
        "Avro under a schema of another type, nested ones too: a decimal is rounded, a date or "
        "timestamp is read as its number, a number as a date, or as a timestamp in milliseconds, "
        "without a word.",
        "4.2.1",
        "rated by `other_schema`; the default holds such a file",
        _TESTS + "test_avro_of_another_type_is_read_as_something_else",
    ),
    SparkBug(
        "",
        "A Python function without Arrow (`@udf(useArrow=False)`) that says it returns a text and "
        "returns bytes gives out their address, such as `[B@1f2e3d`, another in each run.",
        "4.2.1",
        "nothing: let the function decode them",
        _TESTS + "test_a_function_without_arrow_gives_out_the_address_of_bytes",
    ),
    SparkBug(
        "",
        "`count(DISTINCT map)` counts equal maps twice whose keys are in another order. A batch "
        "gives the same.",
        "4.2.0 and 4.2.1",
        "nothing: what is published equals the batch",
        _TESTS + "test_equal_maps_of_another_order_are_counted_twice",
    ),
)
