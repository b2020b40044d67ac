"""A pipeline as a step uses it: its spec, its three files, and its folder under the root."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.layout import Layout
from tidemill.contract.project import Project, search_path
from tidemill.spec import pipeline_files
from tidemill.spec.catalog import find
from tidemill.spec.object_root import refuse_disk_settings
from tidemill.spec.root import root
from tidemill.spec.spec import Spec


@dataclass(frozen=True)
class Pipeline:
    """One pipeline, loaded.

    Args:
        name: The name of its spec's file, or of its row in a template.
        project: The folder of its spec, and of its transform and suite unless these are shared.
        layout: Its paths under `TIDEMILL_ROOT`.
        generation: That steps work on, where it is not the live one.
        others: Further projects, whose transforms and suites the spec may name.
        file: That of its spec, where it is not the one of its name.
    """

    name: str
    spec: Spec
    project: Project
    layout: Layout
    generation: str | None = None
    others: tuple[Project, ...] = ()
    file: Path | None = None

    @property
    def spec_file(self) -> Path:
        return self.file or self.project.spec(self.name)

    @property
    def transform_file(self) -> Path:
        return pipeline_files.transform_file(self.name, self.spec, self.project, self.others)

    @property
    def suite_file(self) -> Path:
        return pipeline_files.suite_file(self.name, self.spec, self.project, self.others)


def open_pipeline(name: str, environ: Mapping[str, str] = os.environ) -> Pipeline:
    """Load a pipeline by name.

    Raises:
        UsageError: no such pipeline, or `TIDEMILL_ROOT` is unset or no absolute local path.
        SpecError: its spec does not load.
        DiskRootNeeded: the root is in an object store, and the spec needs one on a disk.
    """
    found = find(name, environ)
    spec = found.load(environ)
    layout = Layout(root(environ), name)
    refuse_disk_settings(spec, layout.root)
    return Pipeline(name, spec, found.project, layout, others=search_path(environ), file=found.path)
