"""Judges the files of `tests.bench.gate` on Spark, as the step does.

Arguments: the folder of the suite, the schema and the result, the folder of the files.
"""

import gc
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "spark_jobs"))
# Both here and at the end as the process of a step has it: see `tidemill.main`.
gc.set_threshold(200_000)

from pyspark.sql import SparkSession  # noqa: E402

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
    Sample(files, (home / "schema.json").read_text(), "UTC"),
    load_suite(home / "expectations/suites/orders.json"),
    OnSpark(spark),
    run_name="bench",
    docs=home / "docs",
    results=home,
    samples=20,
)
gc.freeze()
sys.exit(0 if found.success else 1)
