"""Which partitions swapped rows may be in, by their times, by values, or by nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.spec_text import parse
from tidemill.contract.pipeline_class import PipelineClass
from tidemill.file_formats.delta_changes import Version
from tidemill.journal.partition_set import Partitions
from tidemill.ledger.generation_note import GenerationNote
from tidemill.ledger.windows import Windows
from tidemill.sources.tables.affected import affected, not_final
from tidemill.spec.spec import Spec

SPEC = """\
sources:
  orders: {{kind: table, pipeline: shop, schema: "id long, at timestamp, day date, shop string"}}
event_time: {{column: at}}
timezone: {zone}
output: {{partition_by: {partitions}}}
"""
HOUR = 3_600_000_000
AT = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)
HOURS = (Windows(length=HOUR, slide=HOUR, offset=0),)
HALVES = (Windows(length=2 * HOUR, slide=HOUR // 2, offset=0),)
EVERYTHING = Partitions()


def spec(partitions: str, zone: str = "UTC") -> Spec:
    return parse(SPEC.format(partitions=partitions, zone=zone))


def note(
    kind: PipelineClass = PipelineClass.MAP, windows: tuple[Windows, ...] | None = None
) -> GenerationNote:
    return GenerationNote.model_construct(pipeline_class=kind, windows=windows)


def swap(folder: Path, *times: datetime | None, gone: bool = False) -> Version:
    """A version that swapped rows of some times, each in a file of its own."""
    paths = []
    for number, at in enumerate(times):
        path = folder / f"{number}.parquet"
        pq.write_table(pa.table({"at": pa.array([at], pa.timestamp("us", "UTC"))}), path)
        paths.append(str(path))
    if gone:
        Path(paths[0]).unlink()
    return Version(3, (), ({"day": "2026-03-01", "shop": None},), tuple(paths))


def values(found: Partitions) -> list[str]:
    return ["/".join(value) for value in found.values]


def test_rows_are_in_the_partitions_of_their_times(tmp_path: Path) -> None:
    version = swap(tmp_path, AT, AT + timedelta(hours=1))
    by_day = affected(spec("{on_day: to_date(at)}"), "orders", version, note())
    assert values(by_day) == ["2026-03-01"]
    ahead = spec("{on_day: to_date(at)}", "Europe/Athens")
    assert values(affected(ahead, "orders", version, note())) == ["2026-03-02"]


def test_a_partition_of_the_table_that_is_read_tells_by_its_value(tmp_path: Path) -> None:
    version = swap(tmp_path, AT)
    assert values(affected(spec("{d: day}"), "orders", version, note())) == ["2026-03-01"]


@pytest.mark.parametrize("partitions", ["{s: shop}", "{group: id % 10}"])
def test_where_nothing_tells_it_is_the_whole_table(tmp_path: Path, partitions: str) -> None:
    assert affected(spec(partitions), "orders", swap(tmp_path, AT), note()) == EVERYTHING


def test_rows_whose_times_are_not_known_are_anywhere(tmp_path: Path) -> None:
    by_day = spec("{on_day: to_date(at)}")
    for version in (swap(tmp_path, AT, None), swap(tmp_path, AT, gone=True)):
        assert affected(by_day, "orders", version, note()) == EVERYTHING


@pytest.mark.parametrize(
    ("windows", "sql", "found"),
    [
        (HOURS, "to_date(window.start)", ["2026-03-01"]),
        (HOURS, "hour(window.start)", ["22"]),
        (HOURS, "hour(window.end)", ["22", "23"]),
        (HALVES, "hour(window.start)", ["21", "22"]),
        (None, "to_date(window.start)", []),
    ],
)
def test_windows_are_in_the_partitions_of_their_starts_or_ends(
    tmp_path: Path, windows: tuple[Windows, ...] | None, sql: str, found: list[str]
) -> None:
    of_windows = note(PipelineClass.WINDOW, windows)
    version = swap(tmp_path, AT)
    assert values(affected(spec(f"{{part: {sql}}}"), "orders", version, of_windows)) == found


def test_partitions_with_open_windows_are_not_final(tmp_path: Path) -> None:
    of_hours = note(PipelineClass.WINDOW, HOURS)
    by_hour = spec("{part: hour(window.start)}")
    version = swap(tmp_path, AT - timedelta(hours=2), AT)

    def open_at(hour: int) -> list[str]:
        watermark = datetime(2026, 3, 1, hour, tzinfo=UTC).timestamp() * 1000
        found = not_final(by_hour, "orders", version, of_hours, int(watermark))
        return [] if found is None else values(found)

    assert open_at(21) == ["21", "22"]
    assert open_at(23) == ["23"]
    assert not_final(by_hour, "orders", version, note(), 0) is None
