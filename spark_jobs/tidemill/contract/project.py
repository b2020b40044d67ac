"""Where pipelines are found: the shipped examples first, then the user's own folders.

`TIDEMILL_PROJECTS` lists further folders (separated like PATH), each laid out like this repository:
`dags/specs/`, `spark_jobs/transforms/`, `expectations/`. So a user's pipelines survive an upgrade.

A file `tidemill.yaml` marks such a folder: a command that is typed within it finds it by itself.

A wheel holds what a clone has beside the package in a folder of the package, `shipped/`, which
`setup.py` fills: the examples, the DAG file, the JSON Schema and `jars.lock`.
"""

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.errors import SpecError

PACKAGE = Path(__file__).resolve().parents[1]
REPOSITORY = PACKAGE.parents[1]
_IN_WHEEL = PACKAGE / "shipped"
INSTALLED = _IN_WHEEL.is_dir()
SHIPPED = _IN_WHEEL if INSTALLED else REPOSITORY
PROJECT_FILE = "tidemill.yaml"
PROJECTS = "TIDEMILL_PROJECTS"


class TransformDoubled(SpecError):
    """A transform is there as Python and as SQL."""


@dataclass(frozen=True)
class Project:
    """One folder with pipelines: three files of the same stem each."""

    home: Path

    @property
    def file(self) -> Path:
        """The settings of the whole project; it need not be there."""
        return self.home / PROJECT_FILE

    @property
    def specs(self) -> Path:
        return self.home / "dags" / "specs"

    @property
    def expectations(self) -> Path:
        return self.home / "expectations"

    def spec(self, name: str) -> Path:
        return self.specs / f"{name}.yaml"

    def transform(self, name: str) -> Path:
        """The transform's file: Python, or SQL where there is one of that name.

        Raises:
            TransformDoubled: there are both.
        """
        python = self.home / "spark_jobs" / "transforms" / f"{name}.py"
        sql = python.with_suffix(".sql")
        if not sql.is_file():
            return python
        if python.is_file():
            raise TransformDoubled(
                f"{python} and {sql.name} beside it are the same transform.",
                remedy="Remove one of them.",
                path=sql,
                line=None,
                field="transform",
            )
        return sql

    def listener(self, module: str) -> Path:
        return self.home / "spark_jobs" / "listeners" / f"{module}.py"

    def data_source(self, module: str) -> Path:
        return self.home / "spark_jobs" / "data_sources" / f"{module}.py"

    def target(self, module: str) -> Path:
        return self.home / "spark_jobs" / "targets" / f"{module}.py"

    def suite(self, name: str) -> Path:
        return self.expectations / "suites" / f"{name}.json"


def search_path(environ: Mapping[str, str] = os.environ) -> tuple[Project, ...]:
    """The folders in the order in which they are searched; the first one with a name wins."""
    given = environ.get(PROJECTS, "")
    homes = [SHIPPED, *(Path(home).resolve() for home in given.split(os.pathsep) if home)]
    return tuple(Project(home) for home in dict.fromkeys(homes))


def project_above(folder: Path) -> Project | None:
    """The project that a folder belongs to: the nearest one upwards with a `tidemill.yaml`."""
    above = (Project(home) for home in (folder, *folder.parents))
    return next((project for project in above if project.file.is_file()), None)


def is_left_out(project: Project, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a look at all pipelines leaves it out: the examples, beside other projects."""
    return project.home == SHIPPED and len(search_path(environ)) > 1


def enter_project(folder: Path, environ: MutableMapping[str, str] = os.environ) -> None:
    """Put the project that a folder belongs to before those of `TIDEMILL_PROJECTS`.

    The variable is set, so that the processes which a command starts find the same pipelines.
    """
    found = project_above(folder.resolve())
    if found is not None:
        given = environ.get(PROJECTS, "").split(os.pathsep)
        homes = dict.fromkeys([str(found.home), *given])
        environ[PROJECTS] = os.pathsep.join(home for home in homes if home)
