"""Judges the files of `tests.bench.gate` on Spark, as the step does.

Arguments: the folder of the suite and the result, the folder of the files.
"""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "spark_jobs")]

from pyspark.sql import SparkSession  # noqa: E402

from tests.bench.gate import SCHEMA  # noqa: E402
from tidemill.gate.judge import judge  # noqa: E402
from tidemill.gate.on_spark import OnSpark  # noqa: E402
from tidemill.gate.sample import Sample, SampleFile  # noqa: E402
from tidemill.gate.suite import load_suite  # noqa: E402

home, folder = map(Path, sys.argv[1:])
spark = (
    SparkSession.builder.config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
files = tuple(SampleFile(path, folder, {}) for path in sorted(folder.iterdir()))
found = judge(
    Sample(files, SCHEMA, "UTC"),
    load_suite(home / "expectations/suites/orders.json"),
    OnSpark(spark),
    run_name="bench",
    docs=home / "docs",
    results=home,
    samples=20,
)
sys.exit(0 if found.success else 1)
