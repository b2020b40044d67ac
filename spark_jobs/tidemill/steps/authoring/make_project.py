"""Makes a project: the folders and files in which a user writes pipelines."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tidemill.contract.project import SHIPPED, Project
from tidemill.spec.json_schema import spec_schema
from tidemill.spec.project_file import read_project_file
from tidemill.steps.authoring.copy_example import example_files

EXAMPLE = "shop_orders"
SCHEMA = "spec.schema.json"

DEFAULT_ROOT = ".tidemill/root"
SETTINGS = f"""\
# Marks this folder as a Tidemill project: commands that are typed in it find its pipelines.
tidemill: 1
# All pipelines' data, for which TIDEMILL_ROOT is not set. In production set TIDEMILL_ROOT.
root: {DEFAULT_ROOT}
"""
IGNORED = """\
.tidemill/
expectations/uncommitted/
__pycache__/
"""
CI = """\
# Finds mistakes in specs, transforms, suites and DAGs, and writes them beside the lines of a pull
# request. Its summary says what the request changes of which pipeline, and what that means.
name: tidemill
on: [push, pull_request]
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with: {fetch-depth: 0}
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: pip install 'tidemill[engine]'
      - run: tidemill check --format github
      - if: github.event_name == 'pull_request'
        run: >-
          tidemill plan --against "origin/$GITHUB_BASE_REF" --format markdown
          >> "$GITHUB_STEP_SUMMARY"
"""
LOADER = '''\
"""An Airflow DAG for every spec of this project: make Airflow's dags folder this one."""

from tidemill_airflow.dag import dags

globals().update({dag.dag_id: dag for dag in dags()})
'''


@dataclass(frozen=True)
class MadeProject:
    """A project, and what was made of it now.

    Args:
        files: Path -> whether it was written, or would be; one that was there is kept.
        root: The folder of its pipelines' data; None where its `tidemill.yaml` was there, and
            names none.
    """

    home: Path
    files: dict[Path, bool]
    root: Path | None


def make_project(
    home: Path,
    *,
    example: bool = True,
    write: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> MadeProject:
    """Make what a folder lacks to be a project.

    Args:
        home: Made where it is missing; files in it are kept as they are.
        example: Whether it gets a copy of an example, `my_shop_orders`.
        write: Whether to write, or only to say what would be written.
    """
    project = Project(home)
    texts = {
        project.file: SETTINGS,
        home / ".gitignore": IGNORED,
        home / ".vscode" / "settings.json": _editor(project),
        home / ".github" / "workflows" / "tidemill.yml": CI,
        home / "dags" / "tidemill_pipelines.py": LOADER,
        project.specs / SCHEMA: json.dumps(spec_schema(), indent=2) + "\n",
        project.expectations / "great_expectations.yml": (
            Project(SHIPPED).expectations / "great_expectations.yml"
        ).read_text(),
    }
    put = _write if write else _lacks
    files = {path: put(path, text) for path, text in texts.items()}
    for folder in (project.transform(EXAMPLE).parent, project.suite(EXAMPLE).parent):
        if write:
            folder.mkdir(parents=True, exist_ok=True)
    # Now that the JSON Schema is there, specs point to it.
    copied = example_files(EXAMPLE, f"my_{EXAMPLE}", project, environ) if example else {}
    files |= {path: put(path, text) for path, text in copied.items()}
    if not project.file.is_file():
        return MadeProject(home, files, home / DEFAULT_ROOT)
    return MadeProject(home, files, read_project_file(project.file).root)


def _lacks(path: Path, _text: str) -> bool:
    return not path.exists()


def _write(path: Path, text: str) -> bool:
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def _editor(project: Project) -> str:
    """Visual Studio Code's settings, by which its YAML extension checks and completes specs."""
    specs = project.specs.relative_to(project.home)
    schemas = {f"./{specs}/{SCHEMA}": f"{specs}/*.yaml"}
    return json.dumps({"yaml.schemas": schemas}, indent=2) + "\n"
