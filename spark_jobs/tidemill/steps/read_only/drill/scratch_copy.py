"""A copy of a pipeline in a folder of its own: its spec, its input, and two roots.

The copy's spec is the effective one with other places in it, and without whatever reaches beyond
the folder: other targets, notifications, listeners, the object store of a source. Transform, suite
and helper modules are the pipeline's own, linked into a project of the copy. Where the real root is
in an object store, the two roots are below it: what is killed writes to the same store.
"""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

import yaml

from tidemill.contract.errors import UsageError
from tidemill.contract.layout import Layout
from tidemill.contract.objects.object_path import ObjectPath
from tidemill.contract.project import PROJECT_FILE, PROJECTS, Project
from tidemill.contract.report import Step
from tidemill.contract.syntax.hadoop_glob import exactly
from tidemill.sources.files.listing import Found, list_source
from tidemill.spec.effective import effective
from tidemill.spec.pipeline import Pipeline
from tidemill.spec.root import ROOT
from tidemill.spec.sources.file import FileSource
from tidemill.spec.static_inputs import FileStatic
from tidemill.spec.targets import DeltaTarget, FilesTarget
from tidemill.steps.read_only.drill.killed_run import StepProcesses
from tidemill.storage.folders import remove_folder
from tidemill.storage.processes import LAUNCHER_VARIABLE
from tidemill.storage.root_identity import ROOT_ID, initialise

# Fields that reach beyond the folder, end a run early, or only matter to Airflow.
_ONLY_REAL = (
    *("airflow", "assets", "budget", "expect", "group", "listeners", "notify", "schedule", "wake"),
)
_TOLD = ("budget", "notify", "listeners")
RUN_ID = "drill"
# Variables that belong to the real root, and to the task that runs the drill.
_OF_REAL_RUNS = (ROOT_ID, LAUNCHER_VARIABLE)
Name = Literal["quiet", "killed"]


class NotDrillable(UsageError):
    """A pipeline that a copy cannot stand for; carries `field`."""


class FolderInUse(UsageError):
    """The folder for a copy holds something; carries `path`."""


@dataclass(frozen=True)
class ScratchCopy:
    """A copy of a pipeline.

    Args:
        pipeline: The real one.
        folder: Holds everything of the copy, but for roots in an object store.
        roots: Holds the two roots.
        name: That of the copy; an example's own would be found first.
        files: Source -> the input files that are read, in the order in which they came.
        left_out: What the copy does without, as fields of the spec.
    """

    pipeline: Pipeline
    folder: Path
    roots: Path
    name: str
    files: Mapping[str, Sequence[Path]]
    left_out: tuple[str, ...]

    def layout(self, run: Name) -> Layout:
        """The folders of one of the two runs, each of which has a root of its own."""
        return Layout(self.roots / run, self.name)

    def processes(self, run: Name, environ: Mapping[str, str] = os.environ) -> StepProcesses:
        """The steps of one of the two runs, on input as it was at first."""
        layout = self.layout(run)
        initialise(layout.root, environ={})
        self._lay_out_input()
        own = {
            **{key: text for key, text in environ.items() if key not in _OF_REAL_RUNS},
            ROOT: str(layout.root),
            PROJECTS: os.pathsep.join([str(self.folder / "project"), environ.get(PROJECTS, "")]),
            # A cluster does not see the folder, and is not ours to disturb.
            "TIDEMILL_MASTER": _local(environ.get("TIDEMILL_MASTER", "")),
        }
        return StepProcesses(layout.home, self.command, own, self.folder / "logs" / run)

    def command(self, step: Step) -> Sequence[str]:
        """The command of a step, which Airflow starts in the same way but for what it tells."""
        own = ("--run-id", RUN_ID, "--untold")
        return (sys.executable, "-m", "tidemill.main", step, self.name, *own)

    def remove(self) -> None:
        """Remove all of it."""
        for place in {self.roots, self.folder}:
            remove_folder(place)

    def _lay_out_input(self) -> None:
        """Put the input in place again: a run may delete or archive it."""
        for place in ("input", "archive"):
            shutil.rmtree(self.folder / place, ignore_errors=True)
        for name, source in self.pipeline.spec.sources_of(FileSource).items():
            home = self.folder / "input" / name
            home.mkdir(parents=True)
            for path in self.files[name]:
                target = home / path.relative_to(source.directory)
                target.parent.mkdir(parents=True, exist_ok=True)
                _link(path.resolve(), target)


def make_copy(
    pipeline: Pipeline,
    folder: Path | None,
    files: int | None,
    environ: Mapping[str, str] = os.environ,
) -> ScratchCopy:
    """Copy a pipeline; nothing of the real one is written.

    Args:
        folder: Empty, or not there yet; None for a new one among the temporary files.
        files: Most input files of each source, the oldest ones; None for all.

    Raises:
        NotDrillable: a copy cannot read or publish what it does.
        FolderInUse: the folder is not empty.
        InputMissing: the directory of a source is not there.
    """
    refuse_undrillable(pipeline)
    chosen = {
        name: [one.path for one in sorted(_listed(name, source), key=_age)[:files]]
        for name, source in pipeline.spec.sources_of(FileSource).items()
    }
    if folder is None:
        folder = Path(mkdtemp(prefix=f"tidemill-drill-{pipeline.name}-"))
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FolderInUse(
            f"{folder} is not empty.", remedy="Give --into an empty folder.", path=str(folder)
        )
    values = deepcopy(dict(effective(pipeline.spec_file, pipeline.name, environ).values))
    left_out = tuple(_cut(values, pipeline, folder))
    name = f"{pipeline.name}_drill"
    project = Project(folder / "project")
    _link_project(pipeline.project, project)
    project.spec(name).write_text(
        yaml.safe_dump(values, sort_keys=False, allow_unicode=True), encoding="utf-8"
    )
    return ScratchCopy(pipeline, folder, _roots(pipeline, folder), name, chosen, left_out)


def _roots(pipeline: Pipeline, folder: Path) -> Path:
    root = pipeline.layout.root
    if not isinstance(root, ObjectPath):
        return folder
    # Only a folder with the name of a pipeline is taken for one.
    return root / ".tidemill" / "drills" / f"{pipeline.name}-{uuid.uuid4().hex[:8]}"


def refuse_undrillable(pipeline: Pipeline) -> None:
    """Refuse a pipeline whose runs cannot be compared, or would touch what is not a copy.

    Raises:
        NotDrillable: it is one.
    """
    for field, why in _hindrances(pipeline):
        raise NotDrillable(
            f"{field}: {why}, so {pipeline.name} cannot be drilled.",
            remedy="Drill a pipeline that reads files and publishes a table.",
            field=field,
        )


def _hindrances(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    spec = pipeline.spec
    if not spec.published:
        yield "sink", "nothing is published that could be compared"
    if not spec.deterministic:
        yield "deterministic", "two runs may give different rows"
    for name, source in spec.sources.items():
        if not source.LISTS_FILES:
            yield f"sources.{name}", f"input of kind {source.kind} is not copied"
    for name, static in spec.statics.items():
        if not isinstance(static, FileStatic):
            yield f"statics.{name}", f"a static input of kind {static.kind} may change meanwhile"
    if not any(isinstance(one, DeltaTarget | FilesTarget) for one in spec.publish):
        yield "publish", "there is no target below the root, of kind delta or files"
    if spec.output.format != "parquet":
        yield "output.format", f"rows in {spec.output.format} are not compared"


def _cut(values: dict[str, Any], pipeline: Pipeline, folder: Path) -> Iterator[str]:
    """Give a spec the copy's places; the fields that were left out."""
    spec = pipeline.spec
    for name, source in spec.sources_of(FileSource).items():
        given = values["sources"][name]
        rest = Path(source.path).relative_to(source.directory)
        given["path"] = str(Path(exactly(folder / "input" / name)) / rest)
        if source.sourceArchiveDir is not None:
            given["sourceArchiveDir"] = str(folder / "archive" / name)
        if given.pop("fetch", None) is not None:
            yield f"sources.{name}.fetch"
    for field in _ONLY_REAL:
        if values.pop(field, None) and field in _TOLD:
            yield field
    kept = [one for one in spec.publish if isinstance(one, DeltaTarget | FilesTarget)]
    yield from (f"publish {one.name}" for one in spec.publish if one not in kept)
    values["publish"] = [{"kind": one.kind} for one in kept]
    values.setdefault("transform", pipeline.name)
    gate = values.setdefault("gate", {})
    gate.setdefault("suite", pipeline.name)


def _link_project(real: Project, copy: Project) -> None:
    """Link everything beside the specs, such as transforms, suites and schema files."""
    copy.specs.mkdir(parents=True)
    for entry in real.home.iterdir():
        if entry.name not in ("dags", PROJECT_FILE) and not entry.name.startswith("."):
            (copy.home / entry.name).symlink_to(entry)


def _link(path: Path, to: Path) -> None:
    """Give a file a second name, or copy it where a disk or its rights do not allow that."""
    with suppress(OSError):
        os.link(path, to)
        return
    shutil.copy2(path, to)


def _local(master: str) -> str:
    return master if master.startswith("local") else "local[*]"


def _listed(name: str, source: FileSource) -> Sequence[Found]:
    return list_source(source, f"sources.{name}.path").files


def _age(found: Found) -> tuple[int, Path]:
    return found.modified_ms, found.path
