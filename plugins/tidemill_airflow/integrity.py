"""Checks that the DAGs are sound: `python -m tidemill_airflow.integrity [FOLDER ...]`; no database.

A FOLDER is a project laid out like this repository; without one, all projects of the search path
are looked at. The exit code is 1 if anything is wrong: a spec that does not load, a DAG that breaks
a house rule, is missing or is one too many, a heavy import, or nothing to check.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tidemill.contract.counted import counted
from tidemill.contract.errors import ExitCode, SpecError
from tidemill.contract.project import SHIPPED, Project, search_path
from tidemill.spec.catalog import SpecFile, paths_of, pipelines_in
from tidemill_airflow.task_names import resolve_id

if TYPE_CHECKING:
    from airflow.sdk import DAG

DAG_FILE = SHIPPED / "dags" / "pipelines.py"
# Each costs seconds in every process that parses DAGs, every few seconds.
HEAVY = ("pyspark", "great_expectations", "deltalake", "pyarrow", "pandas")


@dataclass(frozen=True)
class Problem:
    """Something wrong with a DAG.

    Args:
        file: The spec, or the DAG file.
        what: One sentence.
        line: In the file, from 1, where one is known.
    """

    file: str
    what: str
    remedy: str
    line: int | None = None


@dataclass(frozen=True)
class Parsed:
    """The DAG file as Airflow parses it.

    Args:
        errors: Import errors by file.
        heavy: Heavy modules that parsing imported.
    """

    dags: Mapping[str, DAG]
    errors: Mapping[str, str]
    heavy: tuple[str, ...]


def parse() -> Parsed:
    """Parse the DAG file as Airflow's DAG processor does, for the projects of the search path."""
    from tidemill_airflow.airflow_internals.dag_bag import parse as parse_dags

    there_before = set(sys.modules)
    dags, errors = parse_dags(str(DAG_FILE))
    heavy = tuple(name for name in HEAVY if name in sys.modules and name not in there_before)
    return Parsed(dags, errors, heavy)


def problems(projects: Sequence[Project], parsed: Parsed) -> Iterator[Problem]:
    """Problems with the DAGs of some projects.

    Args:
        projects: Those that are looked at; all of them are on the search path.
        parsed: What Airflow made of the whole search path.
    """
    every = (one for project in search_path() for one in _specs(project))
    everywhere = {name for one in every for name in _dags_of(one)}
    for name in sorted(set(parsed.dags) - everywhere):
        yield Problem(str(DAG_FILE), f"DAG '{name}' comes from no spec.", "Remove it.")
    for module in parsed.heavy:
        yield Problem(
            str(DAG_FILE),
            f"Parsing the DAGs imports {module}, which costs seconds each time.",
            "Import it inside the function that needs it.",
        )
    if str(DAG_FILE) in parsed.errors:
        yield Problem(str(DAG_FILE), parsed.errors[str(DAG_FILE)], "Fix the file.")
    specs = [one for project in projects for one in _specs(project)]
    if not specs:
        folders = ", ".join(str(project.specs) for project in projects)
        yield Problem(folders, "There is no spec, so nothing was checked.", "Name another folder.")
    for one in specs:
        yield from _of_spec(one, parsed)


def _of_spec(one: SpecFile, parsed: Parsed) -> Iterator[Problem]:
    from tidemill_airflow.dags.house_rules import RESOLVE_RULES, RULES

    path = one.path
    if str(path) in parsed.errors:
        yield _of_error(one, parsed.errors[str(path)])
        return
    spec = one.load()
    expected = {spec.group or one.name: RULES}
    if spec.published:
        expected[resolve_id(one.name)] = RESOLVE_RULES
    for name, rules in expected.items():
        dag = parsed.dags.get(name)
        if dag is None:
            remedy = f"Look at the log of parsing {DAG_FILE}."
            yield Problem(str(path), f"It has no DAG '{name}'.", remedy)
            continue
        for rule in rules:
            for what, remedy in rule(dag, spec):
                yield Problem(str(path), f"DAG {name}: {what} ({rule.__name__}).", remedy)


def _dags_of(one: SpecFile) -> set[str]:
    """The DAGs that a spec may have: of its own or its group, and the one of decisions."""
    with suppress(SpecError):
        spec = one.load()
        return {spec.group or one.name, *([resolve_id(one.name)] if spec.published else [])}
    return {one.name}


def _of_error(one: SpecFile, text: str) -> Problem:
    try:
        one.load()
    except SpecError as error:
        return Problem(str(error.path), error.what, error.remedy, error.data.get("line"))
    return Problem(str(one.path), text, "Fix the spec.")


def _specs(project: Project) -> list[SpecFile]:
    return [one for path in paths_of(project) for one in pipelines_in(project, path)]


def main(argv: Sequence[str] | None = None) -> int:
    """Check, and answer with a table or with JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m tidemill_airflow.integrity", description=__doc__
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help='{"dags": [...], "problems": [...]}')
    given = parser.parse_args(argv)
    if given.folders:
        os.environ["TIDEMILL_PROJECTS"] = os.pathsep.join(map(str, given.folders))
    named = [Project(folder.resolve()) for folder in given.folders]
    with tempfile.TemporaryDirectory(prefix="tidemill-") as home:
        # Airflow makes itself a home where it is imported, and logs to standard output.
        os.environ.update(AIRFLOW_HOME=home, AIRFLOW__LOGGING__LOGGING_LEVEL="CRITICAL")
        os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"
        # What an Airflow does not show is sound all the same.
        os.environ["TIDEMILL_EXAMPLES"] = "all"
        parsed = parse()
        found = list(problems(named or search_path(), parsed))
    _answer(sorted(parsed.dags), found, as_json=given.json)
    return ExitCode.FAILED if found else ExitCode.DONE


def _answer(dags: Sequence[str], found: Sequence[Problem], *, as_json: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    if as_json:
        json.dump({"dags": dags, "problems": [asdict(problem) for problem in found]}, sys.stdout)
        return
    console = Console()
    if not found:
        console.print(f"{len(dags)} DAGs are sound: {', '.join(dags)}")
        return
    table = Table(title=f"{counted(len(found), 'problem')} in {counted(len(dags), 'DAG')}")
    for column in ("where", "what", "remedy"):
        table.add_column(column, overflow="fold")
    for problem in found:
        where = f"{problem.file}:{problem.line}" if problem.line else problem.file
        table.add_row(where, problem.what, problem.remedy)
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
