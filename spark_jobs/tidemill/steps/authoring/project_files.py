"""The files that a command writes into a user's project; one that is there is never overwritten."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tidemill.contract.errors import UsageError
from tidemill.contract.project import SHIPPED, Project, search_path
from tidemill.spec.catalog import spec_files
from tidemill.spec.model import Name


class FileExists(UsageError):
    """A file that was to be written is there already; nothing was written; carries `path`."""


def own_project(environ: Mapping[str, str] = os.environ) -> Project:
    """The first project on the search path that is the user's own.

    Raises:
        UsageError: there is none.
    """
    own = [project for project in search_path(environ) if project.home != SHIPPED]
    if not own:
        raise UsageError(
            "TIDEMILL_PROJECTS names no folder of your own.",
            remedy="Name one with --to FOLDER, and then in TIDEMILL_PROJECTS.",
        )
    return own[0]


def refuse_unfit(name: str, environ: Mapping[str, str] = os.environ) -> None:
    """Prove that a new pipeline can have a name.

    Raises:
        UsageError: it is not a name, or another pipeline has it.
    """
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError as error:
        raise UsageError(
            f"'{name}' cannot be the name of a pipeline.",
            remedy="Use small letters, digits and '_', with a letter first.",
            name=name,
        ) from error
    taken = {one.name: one.path for one in spec_files(environ)}
    if name in taken:
        raise UsageError(
            f"{taken[name]} is a pipeline of that name.",
            remedy="Choose another name.",
            path=taken[name],
        )


def schema_line(project: Project) -> str:
    """The first line of a spec, by which editors find the JSON Schema."""
    own = project.specs / "spec.schema.json"
    place = own.name if own.is_file() else str(Project(SHIPPED).specs / own.name)
    return f"# yaml-language-server: $schema={place}\n"


def refuse_existing(paths: Iterable[Path]) -> None:
    """Prove that files which are to be written are not there.

    Raises:
        FileExists: one of them is there.
    """
    for path in paths:
        if path.exists():
            raise FileExists(
                f"{path} is there already.",
                remedy="Move it away, or choose another name.",
                path=path,
            )


def write_files(texts: Mapping[Path, str]) -> None:
    """Write new files with their folders: all of them, or none.

    Raises:
        FileExists: one of them is there.
    """
    refuse_existing(texts)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
