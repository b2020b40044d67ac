"""PySpark is loaded from the folder where it is installed, not from spark-submit's archives."""

from pathlib import Path

import pyspark

from tidemill.toolchain.pyspark_archives import without_pyspark_archives

LIB = Path(pyspark.__path__[0]) / "python/lib"


def test_archives_of_packages_that_are_installed_are_left_out() -> None:
    site = str(LIB.parents[2])
    archives = [str(file) for file in LIB.glob("*.zip")]
    assert len(archives) == 2
    assert without_pyspark_archives(["/own", *archives, "/other.zip", site]) == [
        "/own",
        "/other.zip",
        site,
    ]


def test_archives_of_a_spark_that_is_not_installed_as_a_package_stay(tmp_path: Path) -> None:
    archive = tmp_path / "python/lib/pyspark.zip"
    archive.parent.mkdir(parents=True)
    archive.touch()
    path = [str(archive), str(LIB.parents[2])]
    assert without_pyspark_archives(path) == path
