"""A JVM that ended is named with its likely reason."""

from __future__ import annotations

from pathlib import Path
from subprocess import Popen

import pytest

from tidemill.toolchain import jvm

HEAP = "java.lang.OutOfMemoryError: Java heap space"


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "_process", None)
    monkeypatch.setattr(jvm, "_log", None)


@pytest.mark.parametrize(
    ("command", "log", "why"),
    [
        ("kill -KILL $$", "", "where memory runs out"),
        ("kill -TERM $$", "", "SIGTERM"),
        ("kill -ABRT $$", "", "crashed"),
        ("exit 137", "", "where memory runs out"),
        ("exit 7", "", "exit code 7"),
        ("exit 3", f"at first\n{HEAP}\n\tat a.b.C\n", HEAP),
    ],
)
def test_the_reason_comes_from_its_exit_code_and_its_log(
    tmp_path: Path, command: str, log: str, why: str
) -> None:
    path = tmp_path / "spark.log"
    path.write_text(log)
    jvm.keep_log(path)
    jvm.started(Popen(["sh", "-c", command]))

    assert jvm.has_ended(patience=10)
    error = jvm.jvm_gone()
    assert why in error.what
    assert (error.log, str(path) in error.remedy) == (path, True)


def test_a_jvm_that_runs_or_is_another_process_s_has_not_ended() -> None:
    assert not jvm.has_ended()
    with Popen(["sleep", "60"]) as running:
        jvm.started(running)
        assert jvm.is_running()
        assert not jvm.has_ended()
        running.kill()
