"""Reads a Delta table.

Arguments: `count` for its rows by the log, or the reader that adds its ids up; the table.
"""

import sys

reader, table = sys.argv[1:]
if reader == "count":
    from deltalake import DeltaTable

    found = DeltaTable(table).to_pyarrow_dataset().count_rows()
elif reader == "polars":
    import polars

    found = polars.scan_delta(table).select(polars.col("id").sum()).collect().item()
elif reader == "duckdb":
    import duckdb
    from deltalake import DeltaTable

    rows = duckdb.read_parquet(DeltaTable(table).file_uris())
    found = rows.sum("id").fetchall()[0][0]
else:
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "spark_jobs"))
    from pyspark.sql import SparkSession

    from tidemill.toolchain.jars import jars_of

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.jars", ",".join(map(str, jars_of("delta"))))
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.databricks.delta.snapshotPartitions", "2")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .getOrCreate()
    )
    found = spark.read.format("delta").load(table).agg({"id": "sum"}).first()[0]
sys.exit(0 if found is not None else 1)
