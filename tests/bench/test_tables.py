"""Both sides of the comparisons of tables leave the same rows."""

from __future__ import annotations

from pathlib import Path

from tests.bench.tables import ManyFilesSides
from tests.support.table_reader import read_rows


def test_both_sides_publish_and_swap_the_same_rows(tmp_path: Path) -> None:
    sides = ManyFilesSides(tmp_path / "bench", files=4, partitions=2)
    for prepared, rows in ((sides.publish(), 4), (sides.swap(), 2)):
        for side in prepared:
            side()
        ours, theirs = ({row["id"] for row in read_rows(table)} for table in sides.tables)
        assert ours == theirs
        assert len(ours) == rows
