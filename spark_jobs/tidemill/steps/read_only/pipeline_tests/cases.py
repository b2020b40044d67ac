"""The file with a pipeline's tests, `tests/<pipeline>.yaml` of its project."""

from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from tidemill.contract.errors import SpecError
from tidemill.contract.project import Project
from tidemill.spec.model import Model, doubled_in

Row = dict[str, Any]
# Rows, or the path of a file beside the file with the tests.
Given = list[Row] | str


class Expected(Model):
    """What is to come of the given rows; what is left out is not looked at.

    Attributes:
        rows: The good rows, in any order, with the columns that are to be compared: the same ones
            in each row.
        rejected: How many rows are rejected, or why each is.
        gate: Whether the gate lets the rows pass.
    """

    rows: list[Row] | None = None
    rejected: Annotated[int, Field(ge=0)] | list[str] | None = None
    gate: Literal["passed", "held"] | None = None


class Case(Model):
    """One test.

    Attributes:
        name: A sentence about it.
        given: Source -> its rows. A source that is left out has none.
    """

    name: str
    given: dict[str, Given]
    expect: Expected


class TestsInvalid(SpecError):
    """The file with a pipeline's tests cannot be read as such; carries `path` and `field`."""

    # Not a class of pytest's.
    __test__ = False


class _TextTimes(yaml.SafeLoader):
    """Leaves times as they are written: the source's own format reads them."""


_TextTimes.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_CASES = TypeAdapter(list[Case])


def path_of(project: Project, pipeline: str) -> Path:
    """Where the tests of a pipeline are."""
    return project.home / "tests" / f"{pipeline}.yaml"


def read_cases(path: Path) -> list[Case]:
    """The tests of a file, in its order.

    Raises:
        TestsInvalid: it is not YAML, or not a list of tests.
    """
    try:
        # The loader is a safe one.
        found = yaml.load(path.read_text(encoding="utf-8"), _TextTimes)  # noqa: S506
        cases = _CASES.validate_python(found)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _invalid(path, None, f"cannot be read ({error})") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise _invalid(path, field, "is not what a test has there") from error
    if twice := doubled_in(case.name for case in cases):
        raise _invalid(path, "name", f"'{twice}' is the name of two tests")
    for number, case in enumerate(cases):
        rows = case.expect.rows or []
        if any(row.keys() != rows[0].keys() for row in rows):
            raise _invalid(path, f"{number}.expect.rows", "name different columns")
    return cases


def _invalid(path: Path, field: str | None, what: str) -> TestsInvalid:
    return TestsInvalid(
        f"{path}: {field or 'the file'} {what}.",
        remedy="A test has name, given (source: rows or a file) and expect (rows, rejected, gate).",
        path=path,
        line=None,
        field=field,
    )
