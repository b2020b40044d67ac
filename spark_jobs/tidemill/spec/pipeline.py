"""A pipeline as a step uses it: its spec, its three files, and its folder under the root."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.project import Project, find
from tidemill.spec.load import load_spec
from tidemill.spec.spec import Spec


@dataclass(frozen=True)
class Pipeline:
    """One pipeline, loaded.

    Args:
        name: The stem of its spec's file.
        project: The folder its three files are in.
        layout: Its paths under `TIDEMILL_ROOT`.
        generation: That steps work on, where it is not the live one.
    """

    name: str
    spec: Spec
    project: Project
    layout: Layout
    generation: str | None = None

    @property
    def spec_file(self) -> Path:
        return self.project.spec(self.name)

    @property
    def transform_file(self) -> Path:
        return self.project.transform(self.spec.transform or self.name)

    @property
    def suite_file(self) -> Path:
        return self.project.suite(self.spec.gate.suite or self.name)


def open_pipeline(name: str, environ: Mapping[str, str] = os.environ) -> Pipeline:
    """Load a pipeline by name.

    Raises:
        UsageError: no such pipeline, or `TIDEMILL_ROOT` is unset or no absolute local path.
        SpecError: its spec does not load.
    """
    project = find(name, environ)
    spec = load_spec(project.spec(name), environ)
    return Pipeline(name, spec, project, Layout(root(environ), name))


def root(environ: Mapping[str, str] = os.environ) -> Path:
    """`TIDEMILL_ROOT` as a path.

    Raises:
        UsageError: it is unset, relative, a URL, or holds `..`.
    """
    given = environ.get("TIDEMILL_ROOT", "")
    if "://" in given:
        raise UsageError(
            f"TIDEMILL_ROOT is '{given}', but only local directories are supported so far.",
            remedy="Set it to an absolute path on a disk that Airflow and Spark share.",
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
