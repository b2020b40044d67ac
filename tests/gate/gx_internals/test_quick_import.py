"""Great Expectations is imported without what few expectations use, and those still have it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tidemill.gate.gx_internals.quick_import import ABSENT, BUCKETS, ON_USE

QUICK = (
    "import json, sys\n"
    "from tidemill.gate.gx_internals.quick_import import import_great_expectations\n"
    "import_great_expectations()\n"
    "from tidemill.gate import data_docs, validation\n"
    "from great_expectations.compatibility import pyspark\n"
    "from great_expectations.expectations.core import (\n"
    "    expect_column_kl_divergence_to_be_less_than as charts)\n"
)


def printed(program: str) -> Any:
    """What a program in a process of its own prints as JSON."""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout)


def test_no_such_library_is_loaded_before_it_is_used() -> None:
    libraries = [*ON_USE, BUCKETS, *ABSENT, "grpc", "altair.vegalite", "pyspark.ml"]
    program = f"{QUICK}print(json.dumps([n for n in {libraries!r} if n in sys.modules]))"
    assert printed(program) == []


def test_charts_and_statistics_are_loaded_by_their_first_use() -> None:
    program = (
        f"{QUICK}"
        "entropy = charts.stats.entropy([0.5, 0.5], [0.25, 0.75])\n"
        "chart = charts.alt.Chart({'values': []}).mark_bar().to_dict()\n"
        "import altair, scipy.stats\n"
        "same = charts.alt.Chart is altair.Chart and charts.stats.entropy is scipy.stats.entropy\n"
        "print(json.dumps([round(entropy, 6), '$schema' in chart, same]))"
    )
    assert printed(program) == [0.143841, True, True]


def test_another_import_of_a_library_is_the_real_one() -> None:
    program = (
        f"{QUICK}"
        "import altair\n"
        "from scipy import stats\n"
        "from pyspark.ml.feature import Bucketizer\n"
        "print(json.dumps([altair.__file__ != '', stats.__name__, isinstance(Bucketizer, type)]))"
    )
    assert printed(program) == [True, "scipy.stats", True]


def test_a_bucketizer_is_that_of_spark() -> None:
    # Without a JVM it fails where the real one asks for it.
    program = (
        f"{QUICK}"
        "try:\n    pyspark.Bucketizer(splits=[0, 1])\n"
        "except Exception as error:\n    said = repr(error)\n"
        "print(json.dumps(['pyspark.ml.feature' in sys.modules, said]))"
    )
    loaded, said = printed(program)
    assert loaded, said


def test_spark_connect_is_absent_to_it_and_no_data_frame_of_ours_is_one() -> None:
    program = f"{QUICK}print(json.dumps([bool(pyspark.ConnectDataFrame), bool(pyspark.DataFrame)]))"
    assert printed(program) == [False, True]


def test_a_process_that_has_it_whole_keeps_it() -> None:
    program = f"import great_expectations, altair\nwhole = altair\n{QUICK}import altair\n" + (
        "print(json.dumps(whole is altair and charts.alt is altair))"
    )
    assert printed(program) is True
