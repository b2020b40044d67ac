"""The jar of Tidemill's checkpoint file manager, compiled from Java by what pyspark brings.

It is small, fits exactly the Spark that is installed, and needs no Java compiler: Janino, which
Spark compiles its queries with, is among pyspark's own jars.
"""

import hashlib
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.toolchain.ivy import pyspark_jars
from tidemill.toolchain.java import java_home

MANAGER = "tidemill.ConditionalCheckpointFileManager"
SOURCE = Path(__file__).with_name("ConditionalCheckpointFileManager.java")
# The command line of Janino's.
COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"
# Equal classes are an equal jar.
FIRST_DAY_OF_ZIP = (1980, 1, 1, 0, 0, 0)


class CheckpointJarNotBuilt(UsageError):
    """The checkpoint file manager could not be compiled; carries what the compiler `said`."""


def checkpoint_jar(folder: Path) -> Path:
    """Where the jar is, or is to be built: its name tells the source and the Spark that it fits.

    Args:
        folder: The folder of the jars.
    """
    spark = next(pyspark_jars().glob("spark-sql_*.jar")).name
    both = SOURCE.read_bytes() + spark.encode()
    return folder / f"tidemill-checkpoints-{hashlib.sha256(both).hexdigest()[:12]}.jar"


def build_checkpoint_jar(folder: Path, environ: Mapping[str, str]) -> Path:
    """Compile the jar unless it is there.

    Args:
        environ: For JAVA_HOME.

    Raises:
        CheckpointJarNotBuilt: the compiler failed.
    """
    jar = checkpoint_jar(folder)
    if jar.is_file():
        return jar
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".compile-", dir=folder) as scratch:
        classes = Path(scratch, "classes")
        classes.mkdir()
        _compile(classes, environ)
        draft = Path(scratch, jar.name)
        with zipfile.ZipFile(draft, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                name = zipfile.ZipInfo(path.relative_to(classes).as_posix(), FIRST_DAY_OF_ZIP)
                archive.writestr(name, path.read_bytes())
        draft.replace(jar)
    return jar


def _compile(classes: Path, environ: Mapping[str, str]) -> None:
    jars = os.pathsep.join(map(str, sorted(pyspark_jars().glob("*.jar"))))
    command: list[str | Path] = [
        java_home(environ) / "bin" / "java",
        *("-cp", jars, COMPILER, "-d", classes, "-classpath", jars, SOURCE),
    ]
    done = subprocess.run(
        command,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode or not any(classes.rglob("*.class")):
        raise CheckpointJarNotBuilt(
            f"{SOURCE.name} could not be compiled for the Spark that is installed.",
            remedy="Use a version of pyspark that Tidemill supports (tidemill version). The "
            f"compiler said:\n{done.stdout[-2000:]}",
            said=done.stdout,
        )
