"""Settings that do not go with a root in an object store are refused, and `check` finds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemill.spec.object_root import DiskRootNeeded
from tidemill.spec.pipeline import open_pipeline
from tidemill.spec.root import ROOT
from tidemill.steps.read_only.checks.all_checks import check

URL = "s3a://mills/root"
SOURCE = """\
sources:
  orders: {kind: file, format: csv, path: /in, schema: "id long, at timestamp"}
gate: {suite: none}
"""
CONF = (
    "spark.sql.streaming.checkpointFileManagerClass",
    "spark.hadoop.fs.s3a.performance.flags",
    "spark.hadoop.fs.s3a.create.performance",
    "spark.hadoop.fs.s3a.bucket.mills.create.performance",
)
REFUSED = {
    f"spark.conf.{name}": f'{SOURCE}spark: {{conf: {{{name}: "create"}}}}\n' for name in CONF
}


def environ_of(home: Path, spec: str, root: str) -> dict[str, str]:
    specs = home / "project" / "dags" / "specs"
    specs.mkdir(parents=True, exist_ok=True)
    (specs / "orders.yaml").write_text(spec)
    transforms = home / "project" / "spark_jobs" / "transforms"
    transforms.mkdir(parents=True, exist_ok=True)
    (transforms / "orders.py").write_text("def transform(orders, **statics):\n    return orders\n")
    return {ROOT: root, "TIDEMILL_PROJECTS": str(home / "project")}


@pytest.mark.parametrize("field", REFUSED)
def test_a_setting_that_needs_a_disk_is_refused_in_a_bucket_alone(
    field: str, tmp_path: Path
) -> None:
    environ = environ_of(tmp_path, REFUSED[field], URL)
    with pytest.raises(DiskRootNeeded) as refused:
        open_pipeline("orders", environ)
    assert (refused.value.field, refused.value.root) == (field, URL)
    on_disk = environ_of(tmp_path, REFUSED[field], str(tmp_path / "root"))
    assert open_pipeline("orders", on_disk).layout.root == tmp_path / "root"
    (found,) = {*check(["orders"], environ)} - {*check(["orders"], on_disk)}
    assert (found.file.name, found.line is None) == ("orders.yaml", False)


def test_what_goes_with_a_bucket_is_not_refused(tmp_path: Path) -> None:
    spec = SOURCE + "spark: {conf: {spark.sql.ansi.enabled: true}}\n"
    assert str(open_pipeline("orders", environ_of(tmp_path, spec, URL)).layout.root) == URL
