"""Copies an example pipeline into a user's own project, under a name of its own."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tidemill.contract.errors import UsageError
from tidemill.contract.examples import EXAMPLES
from tidemill.contract.project import SHIPPED, Project, search_path, spec_files
from tidemill.spec.load import load_spec
from tidemill.spec.model import Name


def copy_example(
    name: str, as_name: str, folder: Path | None = None, environ: Mapping[str, str] = os.environ
) -> list[Path]:
    """Copy an example's spec, transform and suite.

    Args:
        name: The example.
        as_name: The name of the copy.
        folder: The project; the first of `TIDEMILL_PROJECTS` where not given.

    Returns:
        The files that were written.

    Raises:
        UsageError: there is no such example or no project, or the name is taken.
    """
    if name not in EXAMPLES:
        raise UsageError(
            f"There is no example '{name}'.", remedy=f"Examples: {', '.join(EXAMPLES)}.", name=name
        )
    source, target = Project(SHIPPED), Project(folder or _own_project(environ))
    _refuse_unfit(as_name, target, environ)
    spec = load_spec(source.spec(name), environ)
    transform = source.transform(spec.transform or name)
    stem = spec.transform or as_name
    place = target.transform(stem).with_name(stem + transform.suffix)
    schema = f"$schema={source.specs / 'spec.schema.json'}"
    text = source.spec(name).read_text().replace("$schema=spec.schema.json", schema)
    texts = {target.spec(as_name): text}
    if transform.is_file():
        texts[place] = transform.read_text()
    if spec.published:
        suite = json.loads(source.suite(spec.gate.suite or name).read_text())
        own = spec.gate.suite or as_name
        texts[target.suite(own)] = json.dumps({**suite, "name": own}, indent=2) + "\n"
    for path in texts:
        if path.exists():
            raise UsageError(
                f"{path} is there already.",
                remedy=f"Name the copy: tidemill example copy {name} --as other_{as_name}.",
                path=path,
            )
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [*texts]


def _own_project(environ: Mapping[str, str]) -> Path:
    own = [project.home for project in search_path(environ) if project.home != SHIPPED]
    if not own:
        raise UsageError(
            "TIDEMILL_PROJECTS names no folder of your own.",
            remedy="Name one with --to FOLDER, and then in TIDEMILL_PROJECTS.",
        )
    return own[0]


def _refuse_unfit(as_name: str, target: Project, environ: Mapping[str, str]) -> None:
    try:
        TypeAdapter(Name).validate_python(as_name)
    except ValidationError as error:
        raise UsageError(
            f"'{as_name}' cannot be the name of a pipeline.",
            remedy="Use small letters, digits and '_', with a letter first.",
            name=as_name,
        ) from error
    taken = {path.stem: path for _, path in spec_files(environ)}
    if as_name in taken:
        raise UsageError(
            f"{taken[as_name]} is a pipeline of that name.",
            remedy="Give the copy another name with --as NAME.",
            path=taken[as_name],
        )
