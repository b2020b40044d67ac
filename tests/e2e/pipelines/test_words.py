"""The shipped pipelines `word_count` and `windowed_words`, against plain Python."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path

from tests.support.pipelines.shipped_pipeline import Shipped, windows
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.samples import windowed_words, word_count

SIZE, SLIDE = timedelta(minutes=10), timedelta(minutes=5)


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def test_word_count_replaces_the_table_with_the_counts_of_all_text(
    tmp_path: Path, spark: object
) -> None:
    library = Shipped("word_count", tmp_path)
    said = ""
    for number in (1, 2):
        said += word_count.write_file(library.input / "word_count", number).read_text()
        library.run()
        expected = Counter(words(said))
        assert dict(library.published("word", "count")) == expected
    assert expected["straße"] > 0
    assert library.kind is PipelineClass.UNBOUNDED


def test_windowed_words_publishes_each_window_once_without_what_came_late(
    tmp_path: Path, spark: object
) -> None:
    library = Shipped("windowed_words", tmp_path)
    for files in ((1, 2), (3, 4)):
        for number in files:
            windowed_words.write_file(library.input / "windowed_words", number)
        library.run()

    expected: Counter[tuple[object, ...]] = Counter()
    late = 0
    for batch in library.taken(lines=timedelta(minutes=10)):
        for line in batch.rows["lines"]:
            for start, end in windows(line["at"], SIZE, SLIDE):
                in_time = end > batch.late
                late += not in_time
                expected.update((start, end, word) for word in words(line["text"]) if in_time)
    closed = {key: count for key, count in expected.items() if key[1] <= batch.closed}
    found = library.published("window_start", "window_end", "word", "count")
    assert found == sorted(((*key, count) for key, count in closed.items()), key=repr)
    assert late > 0
    assert 0 < len(closed) < len(expected)
    days = {(start, day) for start, day in library.published("window_start", "day")}
    assert all(start.date() == day for start, day in days)
    assert library.kind is PipelineClass.WINDOW
