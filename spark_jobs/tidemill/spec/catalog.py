"""Every pipeline on the search path: its name, and the file that holds it."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from tidemill.contract.errors import SpecError, UsageError
from tidemill.contract.examples import ALL, DEMO, EXAMPLES, SHOWN
from tidemill.contract.project import SHIPPED, Project, search_path
from tidemill.spec.each import is_template, rows_of
from tidemill.spec.effective import DEFAULTS, folders_of, name_of
from tidemill.spec.load import load_spec
from tidemill.spec.spec import Spec


@dataclass(frozen=True)
class SpecFile:
    """The file that holds a pipeline, which may hold others too.

    Args:
        name: The pipeline.
    """

    project: Project
    path: Path
    name: str

    def load(self, environ: Mapping[str, str] = os.environ) -> Spec:
        """The pipeline's effective spec.

        Raises:
            SpecError: as `load_spec`.
        """
        return load_spec(self.path, environ, self.name)


def paths_of(project: Project) -> list[Path]:
    """The files of a project that hold pipelines, sorted."""
    return sorted(path for path in project.specs.rglob("*.yaml") if path.name != DEFAULTS)


def names_in(path: Path) -> Collection[str]:
    """The pipelines of a file; where its rows cannot be understood, one that does not load."""
    if not is_template(path):
        return [name_of(path)]
    try:
        return _of_rows(folders_of(path), tuple(rows_of(path)))
    except SpecError:
        return [name_of(path)]


@lru_cache(maxsize=512)
def _of_rows(folders: tuple[str, ...], rows: tuple[str, ...]) -> dict[str, None]:
    return dict.fromkeys("__".join((*folders, row)) for row in rows)


def pipelines_in(project: Project, path: Path) -> Iterator[SpecFile]:
    """The pipelines of a file."""
    return (SpecFile(project, path, name) for name in names_in(path))


def spec_files(environ: Mapping[str, str] = os.environ) -> Iterator[SpecFile]:
    """Every pipeline on the search path, sorted by file within its folder.

    Raises:
        UsageError: two files hold a pipeline of the same name; after all others were given.
    """
    seen: dict[str, Path] = {}
    doubled: list[SpecFile] = []
    for project in search_path(environ):
        for path in paths_of(project):
            for one in pipelines_in(project, path):
                if one.name in seen:
                    doubled.append(one)
                    continue
                seen[one.name] = path
                yield one
    for one in doubled:
        raise UsageError(
            f"{one.path} and {seen[one.name]} define the same pipeline, {one.name}.",
            remedy="Rename one of them, with its transform and suite.",
            path=one.path,
            other=seen[one.name],
            name=one.name,
        )


def shown_spec_files(environ: Mapping[str, str] = os.environ) -> Iterator[SpecFile]:
    """Every pipeline that Airflow shows.

    Args:
        environ: For `TIDEMILL_EXAMPLES`: names with commas between them, `all`, or nothing for no
            example; the demo's where the variable is not set.

    Raises:
        UsageError: two files hold a pipeline of the same name; after all others were given.
    """
    shown = {name.strip() for name in environ.get(SHOWN, DEMO).split(",")}
    for one in spec_files(environ):
        example = one.project.home == SHIPPED and one.name in EXAMPLES
        if not example or ALL in shown or one.name in shown:
            yield one


def find(name: str, environ: Mapping[str, str] = os.environ) -> SpecFile:
    """The file that holds a pipeline.

    Raises:
        UsageError: no such pipeline; carries the `nearest` name that exists, or None.
    """
    known: list[str] = []
    for project in search_path(environ):
        # The usual place first, so that nothing else is read.
        usual = project.spec(name)
        if usual.parent == project.specs and usual.is_file() and not is_template(usual):
            return SpecFile(project, usual, name)
        for path in paths_of(project):
            names = names_in(path)
            if name in names:
                return SpecFile(project, path, name)
            known.extend(names)
    nearest = next(iter(get_close_matches(name, known, n=1)), None)
    raise UsageError(
        f"There is no pipeline '{name}'.",
        remedy=f"Did you mean '{nearest}'?" if nearest else f"Known: {', '.join(known) or 'none'}.",
        name=name,
        nearest=nearest,
    )
