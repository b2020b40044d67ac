"""What is installed here: versions, paths, Java, and what is missing."""

import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from tidemill.contract.objects.object_path import path_of
from tidemill.contract.project import PACKAGE, SHIPPED, search_path
from tidemill.spec.root import given_root
from tidemill.toolchain import extras, jars
from tidemill.toolchain.java import UnsuitableJava, find_java

# The other sets of `jars.lock` are for tests.
_JARS = ("kafka", "avro")


@dataclass(frozen=True)
class Missing:
    """Something that is not there.

    Args:
        what: A sentence about it.
        remedy: What to do for it to be there.
    """

    what: str
    remedy: str


@dataclass(frozen=True)
class Installation:
    """What a person, or a report of an error, has to know of this machine.

    Args:
        version: Tidemill's; None where it is not installed as a package.
        python: The version of the interpreter.
        packages: Name -> installed version, or None.
        paths: What it is -> where it is.
        java: The version of the Java that Spark would run on, or None.
        missing: What some pipelines may need.
    """

    version: str | None
    python: str
    packages: dict[str, str | None]
    paths: dict[str, Path | None]
    java: str | None
    missing: list[Missing]


def installation(environ: Mapping[str, str] = os.environ) -> Installation:
    """Look at the environment; no server is asked and no JVM is started if Java says its version.

    Args:
        environ: For `TIDEMILL_ROOT`, `TIDEMILL_PROJECTS`, `TIDEMILL_JARS`, JAVA_HOME and PATH.
    """
    missing = [*_missing_packages(), *_missing_folders(environ), *_missing_jars(environ)]
    root = _root(environ)
    paths: dict[str, Path | None] = {
        "python": Path(sys.executable),
        "package": PACKAGE,
        "dag_file": SHIPPED / "dags" / "pipelines.py",
        "json_schema": SHIPPED / "dags" / "specs" / "spec.schema.json",
        "jars": jars.folder_of(environ),
        "root": root,
    }
    own = [project.home for project in search_path(environ) if project.home != SHIPPED]
    paths |= {f"project_{number}": home for number, home in enumerate(own, 1)}
    version = None
    try:
        java = find_java(environ)
        version, paths["java_home"] = java.version, java.home
    except UnsuitableJava as error:
        paths["java_home"] = None
        missing.append(Missing(error.what, error.remedy))
    return Installation(
        version=extras.installed_version(),
        python=platform.python_version(),
        packages={one.name: one.installed for one in extras.packages()},
        paths=paths,
        java=version,
        missing=missing,
    )


def _missing_packages() -> Iterator[Missing]:
    absent = [one for one in extras.packages() if one.installed is None]
    for extra, group in groupby(sorted(absent, key=_extra), key=_extra):
        names = ", ".join(one.name for one in group)
        named = f"{extras.DISTRIBUTION}[{extra}]" if extra else extras.DISTRIBUTION
        yield Missing(f"{named} lacks {names}.", f"pip install '{named}'")


def _extra(package: extras.Package) -> str:
    return package.extra


def _missing_folders(environ: Mapping[str, str]) -> Iterator[Missing]:
    root = _root(environ)
    if not root:
        yield Missing("TIDEMILL_ROOT is not set.", "Set it to a folder, and run: tidemill init")
    elif not root.is_dir():
        yield Missing(f"TIDEMILL_ROOT={root} does not exist.", "Run: tidemill init")
    for project in search_path(environ):
        if not project.specs.is_dir():
            remedy = "Correct TIDEMILL_PROJECTS, or make the folder."
            yield Missing(f"{project.specs} does not exist.", remedy)


def _root(environ: Mapping[str, str]) -> Path | None:
    given = given_root(environ)
    return path_of(given) if given else None


def _missing_jars(environ: Mapping[str, str]) -> Iterator[Missing]:
    for name in _JARS:
        try:
            jars.jars_of(name, environ=environ)
        except jars.JarsMissing as error:
            yield Missing(error.what, error.remedy)
