"""The lock of the jars that Spark itself does not ship: which, in which sets, with which hashes."""

import re
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidemill.contract.content_hash import sha256_of
from tidemill.toolchain.ivy import Module, closure, pyspark_jars

# A line that leaves out of a set whatever Spark has already.
_WITH_SPARK = "- pyspark"


@dataclass(frozen=True)
class Jar:
    """One line of the lock.

    Args:
        module: What Maven calls it.
        asked_for: Whether we name it; else it came along with one that we name.
    """

    module: Module
    sha256: str
    asked_for: bool = field(compare=False)

    @property
    def name(self) -> str:
        """Its name in the folder."""
        module = self.module
        return "-".join(filter(None, (module.artifact, module.version, module.classifier))) + ".jar"


def read_lock(text: str) -> dict[str, tuple[Jar, ...]]:
    """The jars of each set."""
    sets: dict[str, list[Jar]] = {}
    for line in text.splitlines():
        if head := re.fullmatch(r"\[(\w+)\]", line):
            sets[head[1]] = jars = []
        elif line.strip() and not line.startswith(("#", "-")):
            coordinate, sha256 = line.split()
            jars.append(Jar(Module.parse(coordinate), sha256, not line.startswith(" ")))
    return {name: tuple(jars) for name, jars in sets.items()}


def write_lock(text: str, sets: Iterable[str], environ: Mapping[str, str]) -> str:
    """The lock with what the modules that it names need today, and with every hash.

    Args:
        text: The lock as it is. Comments and what it names itself are kept.
        sets: The sets to do; the others stay as they are.
        environ: For JAVA_HOME and Ivy's settings.

    Raises:
        JarsUnresolved: A jar could not be had.
    """
    parts = re.split(r"^(?=\[\w+\]$)", text, flags=re.MULTILINE)
    return "".join(
        _lock_set(part, environ) if set(sets) & read_lock(part).keys() else part for part in parts
    )


def _lock_set(text: str, environ: Mapping[str, str]) -> str:
    lines = [line for line in text.splitlines() if not line.startswith(" ")]
    asked = [jar.module for jars in read_lock(text).values() for jar in jars if jar.asked_for]
    without = [line[2:] for line in lines if line.startswith("- ") and line != _WITH_SPARK]
    if _WITH_SPARK in lines:
        shipped = (re.sub(r"-\d.*", "", path.name) for path in pyspark_jars().glob("*.jar"))
        without += (f"*:{name}" for name in shipped)
    with tempfile.TemporaryDirectory() as scratch:
        files = closure(asked, without, Path(scratch), environ)
        hashes = {module: sha256_of(path) for module, path in files.items()}
    last = max(number for number, line in enumerate(lines) if line[:1] not in ("", "#", "-"))
    for number, line in enumerate(lines[: last + 1]):
        if line[:1] not in ("", "#", "-", "["):
            lines[number] = f"{line.split()[0]}  {hashes.pop(Module.parse(line.split()[0]))}"
    lines[last + 1 : last + 1] = [f"  {module}  {hashes[module]}" for module in sorted(hashes)]
    return "\n".join(lines) + "\n"
