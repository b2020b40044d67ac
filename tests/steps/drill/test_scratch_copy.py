"""The copy that a drill runs: the same rows are read, and the real pipeline is not touched."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipelines.orders_pipeline import SPEC, OrdersPipeline
from tests.support.table_reader import tree
from tidemill.contract.project import SHIPPED
from tidemill.spec.pipeline import Pipeline, open_pipeline
from tidemill.spec.targets import DeltaTarget, FilesTarget
from tidemill.steps.read_only.drill.scratch_copy import (
    FolderInUse,
    NotDrillable,
    ScratchCopy,
    make_copy,
)

KAFKA = {
    "kind": "kafka",
    "subscribe": ["orders"],
    "value": {"format": "json", "schema": "id string, at timestamp"},
}


def pipeline(home: Path, **changes: Any) -> OrdersPipeline:
    """The pipeline of orders with other fields in its spec, and three files of input."""
    found = OrdersPipeline(home, json.loads(json.dumps({**SPEC, **changes})))
    for number, name in enumerate(("c.csv", "a.csv", "b.csv")):
        path = found.deliver(name, [f"{name},1,2026-03-01 00:00:00"])
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return found


def copied(real: OrdersPipeline, files: int | None = None) -> ScratchCopy:
    return make_copy(real.pipeline, real.home / "copy", files, real.environ)


def opened(copy: ScratchCopy, real: OrdersPipeline) -> Pipeline:
    """The copy as its steps find it."""
    return open_pipeline(copy.name, copy.processes("quiet", real.environ).environ)


def test_it_has_an_input_and_a_root_of_its_own_and_the_real_files_beside_the_spec(
    tmp_path: Path,
) -> None:
    real = pipeline(tmp_path)
    before = tree(tmp_path)
    copy = copied(real)
    found = opened(copy, real)
    assert found.layout.root == copy.folder / "quiet" != real.root
    assert Path(found.spec.sources["orders"].path) == copy.folder / "input" / "orders"
    assert found.transform_file.samefile(real.pipeline.transform_file)
    assert found.suite_file.samefile(real.suite)
    after = {
        path: seen for path, seen in tree(tmp_path).items() if not str(path).startswith("copy/")
    }
    assert after == before


def test_its_input_has_the_same_bytes_and_times_and_is_whole_again_for_the_second_run(
    tmp_path: Path,
) -> None:
    real = pipeline(tmp_path)
    copy = copied(real)
    copy.processes("quiet", real.environ)
    below = copy.folder / "input" / "orders"
    (below / "a.csv").unlink()
    copy.processes("killed", real.environ)
    for path in real.input.iterdir():
        linked = below / path.name
        assert linked.read_bytes() == path.read_bytes()
        assert linked.stat().st_mtime_ns == path.stat().st_mtime_ns


def test_its_verdicts_are_told_to_nothing_of_great_expectations(tmp_path: Path) -> None:
    copy = copied(pipeline(tmp_path))
    assert "--untold" in copy.command("gate")


def test_a_bounded_number_of_files_are_the_oldest_of_each_source(tmp_path: Path) -> None:
    real = pipeline(tmp_path)
    copy = copied(real, files=2)
    copy.processes("quiet", real.environ)
    assert {path.name for path in (copy.folder / "input" / "orders").iterdir()} == {
        "c.csv",
        "a.csv",
    }


def test_what_reaches_beyond_the_folder_is_left_out_and_named(tmp_path: Path) -> None:
    postgres = {"kind": "postgres", "conn_id": "warehouse", "table": "orders"}
    publish = [{"kind": "delta"}, postgres, {"kind": "files"}]
    budget = {"max_batches": 1}
    real = pipeline(tmp_path, publish=publish, budget=budget, schedule="@daily", group="shop")
    copy = copied(real)
    found = opened(copy, real)
    assert copy.left_out == ("budget", "publish postgres.warehouse.orders")
    assert [type(one) for one in found.spec.publish] == [DeltaTarget, FilesTarget]
    assert (found.spec.budget, found.spec.schedule, found.spec.group) == (None, None, None)


def test_files_that_are_archived_are_so_within_the_copy(tmp_path: Path) -> None:
    archive = {"cleanSource": "archive", "sourceArchiveDir": str(tmp_path / "archive")}
    sources = {"orders": {**SPEC["sources"]["orders"], **archive}}
    real = pipeline(tmp_path, sources=sources)
    copy = copied(real)
    source = opened(copy, real).spec.file_inputs["sources.orders"]
    assert Path(source.sourceArchiveDir or "").is_relative_to(copy.folder)


def test_a_glob_keeps_its_folders(tmp_path: Path) -> None:
    day = tmp_path / "input" / "2026-03-01"
    day.mkdir(parents=True)
    (day / "a.csv").write_text("id,quantity,at\n")
    sources = {"orders": {**SPEC["sources"]["orders"], "path": "${ORDERS_INPUT}/*/"}}
    real = OrdersPipeline(tmp_path, json.loads(json.dumps({**SPEC, "sources": sources})))
    copy = copied(real)
    assert opened(copy, real).spec.sources["orders"].path.endswith("/input/orders/*")
    assert (copy.folder / "input" / "orders" / "2026-03-01" / "a.csv").is_file()


def test_a_shipped_example_is_copied_under_a_name_of_its_own(tmp_path: Path) -> None:
    below = tmp_path / "input" / "windowed_words"
    below.mkdir(parents=True)
    (below / "1.json").write_text("{}\n")
    environ = {"TIDEMILL_ROOT": str(tmp_path / "root"), "TIDEMILL_INPUT": str(tmp_path / "input")}
    copy = make_copy(open_pipeline("windowed_words", environ), tmp_path / "copy", None, environ)
    found = open_pipeline(copy.name, copy.processes("quiet", environ).environ)
    assert found.spec_file.is_relative_to(copy.folder)
    assert found.transform_file.resolve().is_relative_to(SHIPPED)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sources": {"orders": KAFKA}}, "sources.orders"),
        ({"deterministic": False}, "deterministic"),
        ({"statics": {"run": {"kind": "batch"}}}, "statics.run"),
        ({"publish": [{"kind": "kafka", "topic": "out"}]}, "publish"),
        ({"output": {"format": "csv"}, "publish": [{"kind": "files"}]}, "output.format"),
    ],
)
def test_what_a_copy_cannot_stand_for_is_refused_by_name(
    changes: dict[str, Any], field: str, tmp_path: Path
) -> None:
    real = pipeline(tmp_path, **changes)
    with pytest.raises(NotDrillable) as caught:
        copied(real)
    assert caught.value.field == field
    assert not (tmp_path / "copy").exists()


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    real = pipeline(tmp_path)
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine").touch()
    with pytest.raises(FolderInUse):
        copied(real)
