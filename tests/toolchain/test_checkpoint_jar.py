"""The jar of the checkpoint file manager: compiled once, the same everywhere, or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from zipfile import ZipFile

import pytest

from tidemill.toolchain import checkpoint_jar as jars
from tidemill.toolchain.checkpoint_jar import (
    MANAGER,
    CheckpointJarNotBuilt,
    build_checkpoint_jar,
    checkpoint_jar,
)


def test_equal_sources_give_an_equal_jar_which_is_compiled_once(
    tmp_path: Path, child_jvm: Path
) -> None:
    environ = {**os.environ, "JAVA_HOME": str(child_jvm)}
    built = build_checkpoint_jar(tmp_path / "one", environ)
    assert built == checkpoint_jar(tmp_path / "one")
    assert f"{MANAGER.replace('.', '/')}.class" in ZipFile(built).namelist()
    assert build_checkpoint_jar(tmp_path / "two", environ).read_bytes() == built.read_bytes()
    # No Java is needed any more.
    assert build_checkpoint_jar(tmp_path / "one", {"JAVA_HOME": "/nowhere"}) == built


def test_a_source_that_does_not_fit_the_spark_is_an_error_and_leaves_no_jar(
    tmp_path: Path, child_jvm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "Broken.java"
    source.write_text("package tidemill; public class Broken extends org.apache.spark.Nothing {}")
    monkeypatch.setattr(jars, "SOURCE", source)
    with pytest.raises(CheckpointJarNotBuilt) as refusal:
        build_checkpoint_jar(tmp_path / "jars", {**os.environ, "JAVA_HOME": str(child_jvm)})
    assert "Broken.java" in refusal.value.said
    assert not list((tmp_path / "jars").iterdir())
