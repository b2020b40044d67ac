"""Where all pipelines' data is: `TIDEMILL_ROOT`, or the `root` of a project's `tidemill.yaml`."""

import os
from collections.abc import Mapping
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.contract.objects.object_path import URL, path_of
from tidemill.contract.project import search_path
from tidemill.spec.project_file import read_project_file

ROOT = "TIDEMILL_ROOT"


class RootMissing(UsageError):
    """The folder of all pipelines' data is not there, so it cannot be read; carries `root`."""


def root(environ: Mapping[str, str] = os.environ) -> Path:
    """The root as a path, whether it exists or not.

    Raises:
        UsageError: it is given nowhere or twice, is relative, a URL of another kind than `s3a://`,
            or holds `..`.
    """
    given = given_root(environ) or ""
    if URL.fullmatch(given):
        return path_of(given)
    if "://" in given:
        raise UsageError(
            f"TIDEMILL_ROOT is '{given}', which is neither a path nor s3a://BUCKET/FOLDER.",
            remedy="Set it to an absolute path on a disk that Airflow and Spark share, or to a "
            "bucket that is reached as S3.",
            root=given,
        )
    path = Path(given)
    # Spark's logs hold the root as Hadoop spells it, without these two.
    if not path.is_absolute() or ".." in path.parts or given.startswith("//"):
        raise UsageError(
            f"TIDEMILL_ROOT is '{given}', which is not a plain absolute path.",
            remedy="Set it to the directory that holds all pipelines' data, such as /srv/tidemill.",
            root=given,
        )
    return path


def given_root(environ: Mapping[str, str] = os.environ) -> str | None:
    """The root as the variable or the projects give it, unread; None where neither does.

    Raises:
        UsageError: as `root_of_projects`.
    """
    return environ.get(ROOT) or root_of_projects(environ)


def existing_root(environ: Mapping[str, str] = os.environ) -> Path:
    """The root, for whoever only reads it.

    Raises:
        RootMissing: it does not exist.
        UsageError: as `root`.
    """
    found = root(environ)
    if not found.is_dir():
        raise RootMissing(
            f"TIDEMILL_ROOT '{found}' does not exist.",
            remedy="Mount its disk, or correct TIDEMILL_ROOT. A new root is made by: tidemill init",
            root=str(found),
        )
    return found


def root_of_projects(environ: Mapping[str, str]) -> str | None:
    """The root that the projects' files give; None where none of them does.

    Raises:
        UsageError: two projects give different ones.
    """
    files = [project.file for project in search_path(environ)]
    given = {file: settings.root for file in files if (settings := read_project_file(file)).root}
    if len(set(given.values())) > 1:
        (one, its), (other, another) = list(given.items())[:2]
        raise UsageError(
            f"{one} gives the root {its}, and {other} gives {another}.",
            remedy="Set TIDEMILL_ROOT to the one that is meant.",
            path=other,
            other=one,
        )
    return str(next(iter(given.values()))) if given else None
