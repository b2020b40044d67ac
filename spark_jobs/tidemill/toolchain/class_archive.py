"""An archive of the classes that Spark loads, from which its JVM starts in half the CPU time.

`python -m tidemill.toolchain.class_archive` writes it into this environment, once after an install:
Java's class-data sharing. It is as good as the packages beside it, since what is in it is run. Java
itself holds it against its own build and against the jars; where they differ, it loads the classes
from the jars, as it does without an archive. Standard library only.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from tidemill.contract.errors import ExitCode, UsageError
from tidemill.toolchain import class_training
from tidemill.toolchain.java import java_home

# Options of the JVM that spark-submit starts on this machine, wherever the driver runs.
SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"
RECORD = "classes.json"
# Seconds, on a busy machine.
PATIENCE = 900
# A JVM that loads classes from an archive of its own and records its flight dies with SIGSEGV
# (Java 17.0.15, while Spark starts).
FLIGHT_RECORDER = "-XX:StartFlightRecording"
JAVA_VARIABLES = (SUBMIT_OPTIONS, "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# What Spark's launcher adds, too: the archive of a JVM without it would not fit.
MODULE = "--add-modules=jdk.incubator.vector"


class ArchiveNotWritten(UsageError):
    """The archive cannot be made; carries `command` and `said`, the end of what it printed."""


@dataclass(frozen=True)
class ClassArchive:
    """An archive, as its record says.

    Args:
        file: Its path.
        jars: The folder of Spark's jars.
        java: The home of the Java that wrote it.
        key: What it was made for: a hash of that Java and of these jars.
    """

    file: str
    jars: str
    java: str
    key: str


def submit_options(
    environ: Mapping[str, str],
    java: str,
    python: str = sys.executable,
    *,
    driver_options: str = "",
) -> dict[str, str]:
    """The variable by which a JVM of spark-submit uses the archive; none where no archive fits.

    A JVM that records its flight gets none.

    Args:
        environ: The environment of spark-submit, whose own options come first.
        java: Its JAVA_HOME.
        python: The interpreter of the environment with the archive.
        driver_options: What the application sets as spark.driver.extraJavaOptions.
    """
    options = (driver_options, *(environ.get(name, "") for name in JAVA_VARIABLES))
    if any(FLIGHT_RECORDER in text for text in options):
        return {}
    found = archive_of(java, python)
    if found is None or _names_another_spark(environ, found):
        return {}
    own = environ.get(SUBMIT_OPTIONS, "")
    if "-XX:SharedArchiveFile" in own:
        return {}
    return {SUBMIT_OPTIONS: f"{own} -XX:SharedArchiveFile={found.file}".strip()}


def archive_of(java: str, python: str = sys.executable) -> ClassArchive | None:
    """The archive of an environment, if it was made for this Java and the jars that are there."""
    try:
        archive = ClassArchive(**json.loads((_folder(python) / RECORD).read_bytes()))
        fits = archive.java == java and archive.key == _key(Path(java), Path(archive.jars))
        return archive if fits and Path(archive.file).is_file() else None
    except (OSError, ValueError, TypeError):
        return None


def write_archive(python: str = sys.executable) -> ClassArchive:
    """Make the archive of an environment, unless it is there; the one that it has then.

    Args:
        python: The interpreter of the environment; its Spark is that of this process.

    Raises:
        ArchiveNotWritten: Spark is not here, a JVM fails, or the folder cannot be written to.
        UnsuitableJava: there is no Java that Spark can start on.
    """
    java = java_home(os.environ)
    if (there := archive_of(str(java), python)) is not None:
        return there
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        raise ArchiveNotWritten(
            "There is no Spark in this environment.",
            remedy="Run: pip install 'tidemill[engine]'",
            command=(),
            said="",
        )
    jars = Path(pyspark.origin).with_name("jars")
    folder, key = _folder(python), _key(java, jars)
    archive = ClassArchive(str(folder / f"classes-{key}.jsa"), str(jars), str(java), key)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".classes-", dir=folder) as draft:
            written = _written(java, Path(draft))
            written.replace(archive.file)
            record = Path(draft, RECORD)
            record.write_text(json.dumps(asdict(archive)), encoding="utf-8")
            record.replace(folder / RECORD)
    except OSError as error:
        raise ArchiveNotWritten(
            f"The archive of classes cannot be written to {folder}: {error}.",
            remedy="Run this as the user who installs the packages.",
            command=(),
            said=str(error),
        ) from error
    for older in set(folder.glob("classes-*.jsa")) - {Path(archive.file)}:
        # A JVM that has it open keeps it.
        with suppress(OSError):
            older.unlink()
    return archive


def _written(java: Path, home: Path) -> Path:
    """An archive in a folder that is empty: of the classes that an ingest of samples loads."""
    classes, archive = home / "classes", home / "classes.jsa"
    training = class_training.write(home)
    _run(
        training.command, {**training.environ, SUBMIT_OPTIONS: f"-XX:DumpLoadedClassList={classes}"}
    )
    class_path = training.class_path.read_text(encoding="utf-8")
    uses = (f"-XX:SharedArchiveFile={archive}", MODULE, "-cp", class_path)
    program = str(java / "bin" / "java")
    options = ("-Xmx1g", "-Xlog:disable", "-Xlog:all=error")
    dump = (program, *options, "-Xshare:dump", f"-XX:SharedClassListFile={classes}", *uses)
    _run(dump, os.environ)
    # It ends with an error where Java cannot use the archive.
    _run((program, "-Xmx1g", "-Xshare:on", *uses, "-version"), os.environ)
    return archive


def _names_another_spark(environ: Mapping[str, str], archive: ClassArchive) -> bool:
    home = environ.get("SPARK_HOME")
    return home is not None and Path(home, "jars") != Path(archive.jars)


def _run(command: tuple[str, ...], environ: Mapping[str, str]) -> None:
    try:
        ended = subprocess.run(
            command, env=dict(environ), capture_output=True, check=False, timeout=PATIENCE
        )
        code, said = ended.returncode, ended.stdout + ended.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        code, said = 1, str(error).encode()
    if code:
        words = said.decode("utf-8", "replace").strip()[-2000:]
        raise ArchiveNotWritten(
            f"{Path(command[0]).name} ended with {code} for the archive of classes: {words}",
            remedy="Pipelines run without the archive. Correct what it says, and run this again.",
            command=command,
            said=words,
        )


def _key(java: Path, jars: Path) -> str:
    """A hash of a Java and of jars, in the order in which Java lists them."""
    release = java / "release"
    known = [release.read_bytes().hex()] if release.is_file() else []
    for jar in os.scandir(jars):
        stat = jar.stat()
        known.append(f"{jar.name} {stat.st_size} {int(stat.st_mtime)}")
    return hashlib.sha256("\n".join((str(java), str(jars), *known)).encode()).hexdigest()[:16]


def _folder(python: str) -> Path:
    return Path(python).parents[1] / "share" / "tidemill"


def main() -> int:
    """Write the archive, and say where it is."""
    try:
        archive = write_archive()
    except UsageError as error:
        print(f"{error}\n{error.remedy}", file=sys.stderr)
        return error.exit_code
    print(f"Spark's classes are in {archive.file}")
    return ExitCode.DONE


if __name__ == "__main__":
    sys.exit(main())
