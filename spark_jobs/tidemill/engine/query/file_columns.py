"""`_metadata`: the name and the path of the file that a row comes from, as Spark calls them.

Spark adds it to the rows of files as a hidden column, which is lost at unions and in SQL views. So
it is made an ordinary one where partitions, row rules or the transform name it. It has no more than
`file_name` and `file_path`: the time of a file's last change is another one after it was archived
or copied, and reading it again would give other rows.
"""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from tidemill.engine.sources.columns import ORIGIN
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.sources.file import FileSource
from tidemill.spec.spec import Spec

METADATA = "_metadata"
FIELDS = StructType([StructField(name, StringType()) for name in ("file_path", "file_name")])


def names_files(texts: Iterable[str]) -> bool:
    """Whether one of some expressions names the file of a row."""
    return any(METADATA in text for text in texts)


def of_transform(pipeline: Pipeline, source: str) -> tuple[str, ...]:
    """The columns that the transform gets besides those of the source and its partitions."""
    path = pipeline.transform_file
    if source not in pipeline.spec.sources_of(FileSource) or not path.is_file():
        return ()
    return (METADATA,) if names_files([path.read_text("utf-8")]) else ()


def named_in_spec(spec: Spec, source: str) -> bool:
    """Whether a partition or a row rule of a source names the file of a row."""
    if source not in spec.sources_of(FileSource):
        return False
    return names_files([*spec.output.partition_by.values(), *spec.row_rules_of(source).values()])


def with_file(rows: DataFrame) -> DataFrame:
    """Rows with their file as an ordinary column; an archived one has the path it was read from."""
    name = F.element_at(F.split(ORIGIN, "/"), -1)
    file = F.struct(F.col(ORIGIN).alias("file_path"), name.alias("file_name"))
    return rows.withColumn(METADATA, file)
