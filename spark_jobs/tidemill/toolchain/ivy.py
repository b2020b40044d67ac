"""Apache Ivy, which is among pyspark's own jars and fetches jars from Maven Central.

`TIDEMILL_IVY_SETTINGS` names an `ivysettings.xml` of your own where jars come from a mirror.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

from tidemill.contract.errors import UsageError
from tidemill.toolchain.java import java_home

SETTINGS = "TIDEMILL_IVY_SETTINGS"

# Ivy's `ibiblio` is Maven Central where no address is given. Hashes are the lock's affair.
_CENTRAL = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms="{usepoms}" checksums=""/>
  </resolvers>
</ivysettings>
"""
_NAME = "[organisation]~[module]~[revision](~[classifier]).[ext]"
# Ivy knows a classifier only as an attribute of Maven's.
_CLASSIFIER = "{http://ant.apache.org/ivy/maven}classifier"


class JarsUnresolved(UsageError):
    """Ivy did not find or could not fetch something; carries the end of what it `said`."""


@dataclass(frozen=True, order=True)
class Module:
    """A jar as Maven names it.

    Args:
        classifier: Which of a module's further jars, such as `tests`; its main jar where empty.
    """

    group: str
    artifact: str
    version: str
    classifier: str = ""

    def __str__(self) -> str:
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))

    @classmethod
    def parse(cls, text: str) -> Module:
        """Read `group:artifact:version` or `group:artifact:version:classifier`."""
        return cls(*text.split(":"))


def pyspark_jars() -> Path:
    """The folder of the jars that pyspark ships; it is found without importing pyspark.

    Raises:
        UsageError: pyspark is not installed.
    """
    spec = find_spec("pyspark")
    for home in (spec and spec.submodule_search_locations) or ():
        if any((jars := Path(home) / "jars").glob("ivy-*.jar")):
            return jars
    raise UsageError(
        "There is no pyspark with its jars in this Python.", remedy="Run `make setup`."
    )


def fetch(
    modules: Iterable[Module],
    folder: Path,
    environ: Mapping[str, str],
    fetched: Callable[[], object] = lambda: None,
) -> dict[Module, Path]:
    """Fetch exactly these jars, and nothing that they depend on.

    Args:
        modules: What to fetch; several versions of one jar are fine.
        environ: For JAVA_HOME and `TIDEMILL_IVY_SETTINGS`.
        fetched: Called after each jar.

    Raises:
        JarsUnresolved: One of them could not be had; then none is laid.
    """
    # A configuration of its own for each, so that no version drives out another.
    return _run([[module] for module in modules], folder, environ, fetched)


def closure(
    modules: Iterable[Module], without: Iterable[str], folder: Path, environ: Mapping[str, str]
) -> dict[Module, Path]:
    """Fetch jars with all that they need at run time.

    Args:
        modules: The requested modules; their versions win over those of dependencies.
        without: Names of jars to leave out, with what only they need, as `group:artifact` or
            `*:artifact`.

    Raises:
        JarsUnresolved: As for `fetch`.
    """
    return _run([list(modules)], folder, environ, lambda: None, without=without)


def _run(
    groups: list[list[Module]],
    folder: Path,
    environ: Mapping[str, str],
    fetched: Callable[[], object],
    without: Iterable[str] | None = None,
) -> dict[Module, Path]:
    transitive = without is not None
    with tempfile.TemporaryDirectory(prefix="ivy-", dir=folder) as scratch:
        work = Path(scratch)
        (work / "ivysettings.xml").write_text(_CENTRAL.format(usepoms=str(transitive).lower()))
        _request(groups, without).write(work / "ivy.xml")
        command = [
            java_home(environ) / "bin" / "java",
            *("-cp", next(pyspark_jars().glob("ivy-*.jar")), "org.apache.ivy.Main"),
            *("-settings", environ.get(SETTINGS) or work / "ivysettings.xml"),
            *("-ivy", work / "ivy.xml", "-cache", work / "cache"),
            *("-retrieve", folder / _NAME),
        ]
        with subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as ivy:
            said = []
            for line in ivy.stdout or ():
                said.append(line.rstrip())
                if "[SUCCESSFUL ]" in line:
                    fetched()
    if ivy.returncode:
        lines = {re.fullmatch(r"\s*:: (\S+): not found", line) for line in said}
        missing = sorted(line[1] for line in lines if line)
        raise JarsUnresolved(
            f"Ivy did not get {', '.join(missing) or 'the jars'}.",
            remedy=f"Try again; where Maven Central is reached through a mirror, let {SETTINGS} "
            "name an ivysettings.xml; JAVA_TOOL_OPTIONS takes Java's own settings of a proxy or "
            "of certificates. It said:\n" + "\n".join(filter(None, said[-12:])),
            said=said,
            missing=missing,
        )
    return {_module(path): path for path in folder.glob("*~*~*.jar")}


def _request(
    groups: list[list[Module]], without: Iterable[str] | None
) -> ElementTree.ElementTree[ElementTree.Element]:
    """The `ivy.xml` that asks for each group of modules in a configuration of its own."""
    root = ElementTree.Element("ivy-module", version="2.0")
    ElementTree.SubElement(root, "info", organisation="tidemill", module="jars")
    confs = ElementTree.SubElement(root, "configurations")
    wanted = ElementTree.SubElement(root, "dependencies")
    for number, group in enumerate(groups):
        ElementTree.SubElement(confs, "conf", name=f"c{number}")
        # All jars of a module in one dependency: Ivy drops a second one on the same module.
        jars: dict[tuple[str, str, str], list[str]] = {}
        for module in group:
            key = (module.group, module.artifact, module.version)
            jars.setdefault(key, []).append(module.classifier)
        for (organisation, name, version), classifiers in jars.items():
            needed = ElementTree.SubElement(
                wanted,
                "dependency",
                org=organisation,
                name=name,
                rev=version,
                conf=f"c{number}->default",
                transitive=str(without is not None).lower(),
            )
            for classifier in classifiers:
                jar = {"name": name, "type": "jar", "conf": f"c{number}"}
                extra = {_CLASSIFIER: classifier} if classifier else {}
                ElementTree.SubElement(needed, "artifact", {**jar, **extra})
    if without is not None:
        asked = [module for group in groups for module in group]
        for organisation, artifact in (name.split(":") for name in without):
            if artifact not in {module.artifact for module in asked}:
                ElementTree.SubElement(wanted, "exclude", org=organisation, module=artifact)
        for module in asked:
            ElementTree.SubElement(
                wanted, "override", org=module.group, module=module.artifact, rev=module.version
            )
    return ElementTree.ElementTree(root)


def _module(path: Path) -> Module:
    return Module(*path.name.removesuffix(".jar").split("~"))
