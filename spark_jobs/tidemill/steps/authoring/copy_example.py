"""Copies an example pipeline into a user's own project, under a name of its own."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from tidemill.contract.errors import UsageError
from tidemill.contract.examples import EXAMPLES
from tidemill.contract.project import SHIPPED, Project
from tidemill.spec.load import load_spec
from tidemill.steps.authoring.project_files import (
    own_project,
    refuse_existing,
    refuse_unfit,
    schema_line,
    write_files,
)


def copy_example(
    name: str,
    as_name: str,
    folder: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    write: bool = True,
) -> list[Path]:
    """Copy an example's spec, transform and suite.

    Args:
        name: The example.
        as_name: The name of the copy.
        folder: The project; the first of `TIDEMILL_PROJECTS` where not given.
        write: Whether to write them, or only to prove that they can be written.

    Returns:
        The files of the copy.

    Raises:
        UsageError: there is no such example or no project, or the name is taken.
    """
    target = Project(folder) if folder else own_project(environ)
    refuse_unfit(as_name, environ)
    texts = example_files(name, as_name, target, environ)
    if write:
        write_files(texts)
    refuse_existing(() if write else texts)
    return [*texts]


def example_files(
    name: str, as_name: str, target: Project, environ: Mapping[str, str] = os.environ
) -> dict[Path, str]:
    """The files of a copy and their texts.

    Raises:
        UsageError: there is no such example.
    """
    if name not in EXAMPLES:
        raise UsageError(
            f"There is no example '{name}'.", remedy=f"Examples: {', '.join(EXAMPLES)}.", name=name
        )
    source = Project(SHIPPED)
    spec = load_spec(source.spec(name), environ)
    transform = source.transform(spec.transform or name)
    stem = spec.transform or as_name
    place = target.transform(stem).with_name(stem + transform.suffix)
    text = source.spec(name).read_text()
    shipped = "# yaml-language-server: $schema=spec.schema.json\n"
    texts = {target.spec(as_name): text.replace(shipped, schema_line(target))}
    if transform.is_file():
        texts[place] = transform.read_text()
    if spec.published:
        suite = json.loads(source.suite(spec.gate.suite or name).read_text())
        own = spec.gate.suite or as_name
        texts[target.suite(own)] = json.dumps({**suite, "name": own}, indent=2) + "\n"
    return texts
