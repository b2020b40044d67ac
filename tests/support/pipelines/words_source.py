"""A Python data source that holds three words and can read any of them again."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader
from pyspark.sql.types import StructType

from tests.support.pipelines.matrix_pipeline import WORDS


class WordsReader(SimpleDataSourceStreamReader):
    """Counts its words by offset."""

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        return {"words": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[str]], dict[str, int]]:
        rest = WORDS[start["words"] :]
        return iter([(word,) for word in rest]), {"words": len(WORDS)}

    def readBetweenOffsets(  # noqa: N802 - Spark's name
        self, start: dict[str, int], end: dict[str, int]
    ) -> Iterator[tuple[str]]:
        return iter([(word,) for word in WORDS[start["words"] : end["words"]]])


class WordsSource(DataSource):
    """The words, as a stream."""

    @classmethod
    def name(cls) -> str:
        return "words"

    def schema(self) -> str:
        return "word string"

    def simpleStreamReader(self, schema: StructType) -> WordsReader:  # noqa: N802 - Spark's name
        return WordsReader()
