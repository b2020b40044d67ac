"""Somebody types each block of the tutorial in order, and has what each step promises."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from tests.support.checkout import somebody
from tests.support.pages import TEXTS
from tests.support.reader_shell import Shell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEP = re.compile(r"^## (\d)\. ", re.MULTILINE)
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def shell(tmp_path: Path, spark: SparkSession) -> Iterator[Shell]:
    zone = str(spark.conf.get("spark.sql.session.timeZone"))
    state = tmp_path / "state"
    state.mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    yield Shell(tmp_path, state, {**somebody(), "PATH": path})
    spark.conf.set("spark.sql.session.timeZone", zone)


def test_seven_steps_lead_from_csv_files_to_a_corrected_table_and_an_alert(
    shell: Shell, tmp_path: Path
) -> None:
    page = TEXTS[Path("docs/tutorial.md")]
    parts = STEP.split(page)[2::2]
    assert len(parts) == 7
    blocks = [BLOCK.findall(part) for part in parts]
    root = tmp_path / "bakery" / ".tidemill" / "root"

    def play(step: int) -> list[tuple[int, str]]:
        ended = [shell.run(block) for block in blocks[step - 1]]
        print(*(one.output for one in ended), sep="\n")
        return [command for one in ended for command in one.commands]

    def published() -> list[dict[str, Any]]:
        return DeltaTable(root / "sales" / "table").to_pyarrow_table().to_pylist()

    def revenue() -> dict[str, Decimal]:
        days = dict[str, Decimal]()
        for row in published():
            days[str(row["day"])] = days.get(str(row["day"]), Decimal(0)) + row["revenue"]
        return days

    assert play(1) == []
    assert play(2) == [(0, "init"), (0, "new")]
    assert play(3) == [(0, "check"), (0, "preview")]
    assert not (root / "sales").exists()
    assert play(4) == [(0, "run"), (0, "sql")]
    first = {"2026-05-01": Decimal("11.40"), "2026-05-02": Decimal("11.40")}
    assert (len(published()), revenue()) == (12, first)
    assert play(5) == [(3, "run"), (3, "resolve"), (0, "rows"), (0, "run")]
    third = {"2026-05-03": Decimal("95.60")}
    assert revenue() == first | third
    assert play(6) == [(0, "plan"), (0, "backfill"), (0, "backfill"), (0, "sql")]
    corrected = {
        "2026-05-01": Decimal("20.00"),
        "2026-05-02": Decimal("18.20"),
        "2026-05-03": Decimal("96.20"),
    }
    assert revenue() == corrected
    assert play(7) == [(0, "check"), (3, "run"), (3, "status")]
    assert revenue() == corrected
