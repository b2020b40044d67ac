"""Names on disk and partition values; `test_against_spark` has Spark write the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemill.spark_logs.partition_paths import (
    NotALocalFile,
    NotAPartitionDirectory,
    disk_path,
    is_rejected,
    partition_values,
)

SINK = Path("/data/_live-0001")


@pytest.mark.parametrize(
    ("recorded", "directory", "value"),
    [
        ("k=a%20b", "k=a b", "a b"),
        ("k=a%253Ab", "k=a%3Ab", "a:b"),
        ("k=50%2525", "k=50%25", "50%"),
        ("k=x%252Fy", "k=x%2Fy", "x/y"),
        ("k=k%253Dv", "k=k%3Dv", "k=v"),
        ("k=%2523h", "k=%23h", "#h"),
        ("k=q%253F", "k=q%3F", "q?"),
        ("k=é", "k=é", "é"),
        ("k=e\u0301", "k=e\u0301", "e\u0301"),
        ("k=日本%20語", "k=日本 語", "日本 語"),
        ("k=a%252520b", "k=a%2520b", "a%20b"),
        ("k=+plus", "k=+plus", "+plus"),
        ("k=%257Bcurly%7D", "k=%7Bcurly}", "{curly}"),
        ("k=new%250Aline", "k=new%0Aline", "new\nline"),
        ("k=__HIVE_DEFAULT_PARTITION__", "k=__HIVE_DEFAULT_PARTITION__", None),
    ],
)
def test_a_value_is_escaped_twice_in_the_log_and_once_on_disk(
    recorded: str, directory: str, value: str | None
) -> None:
    path = disk_path(f"file:///data/_live-0001/{recorded}/part-0.parquet")
    assert path == f"/data/_live-0001/{directory}/part-0.parquet"
    assert partition_values(Path(path), SINK) == {"k": value}


def test_every_level_is_a_column_in_order() -> None:
    values = partition_values(SINK / "_rejected=false" / "a%3Db=1" / "part-0.parquet", SINK)
    assert list(values.items()) == [("_rejected", "false"), ("a=b", "1")]


@pytest.mark.parametrize(
    ("values", "keeps_null", "rejected"),
    [
        ({"_rejected": "true"}, False, True),
        ({"_rejected": "false"}, False, False),
        ({"k": None}, False, True),
        ({"k": None, "day": "2026-03-01"}, False, False),
        ({"k": None}, True, False),
        ({"k": "__TIDEMILL_REJECTED__"}, True, True),
        ({"k": "a"}, True, False),
    ],
)
def test_rejected_rows_have_a_name_of_their_own_where_the_null_partition_is_kept(
    values: dict[str, str | None], keeps_null: bool, rejected: bool
) -> None:
    assert is_rejected(values, keeps_null=keeps_null) is rejected


def test_a_file_of_an_unpartitioned_sink_has_no_values() -> None:
    assert partition_values(SINK / "part-0.parquet", SINK) == {}


@pytest.mark.parametrize("name", ["stray", "=1"])
def test_a_directory_that_is_no_partition_is_refused(name: str) -> None:
    with pytest.raises(NotAPartitionDirectory) as refused:
        partition_values(SINK / "k=1" / name / "part-0.parquet", SINK)
    assert refused.value.name == name


@pytest.mark.parametrize("uri", ["file:/a%20b", "file:///a%20b"])
def test_both_forms_of_a_local_uri_are_understood(uri: str) -> None:
    assert disk_path(uri) == "/a b"


@pytest.mark.parametrize("uri", ["gs://bucket/a", "hdfs:/a", "/a", "file://host/a", "file:a"])
def test_other_file_systems_are_refused(uri: str) -> None:
    with pytest.raises(NotALocalFile) as refused:
        disk_path(uri)
    assert refused.value.uri == uri
