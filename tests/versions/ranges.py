"""The ranges of `[project]` in pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

from packaging.requirements import Requirement

from tidemill.contract.project import REPOSITORY

# Tools of this repository, and names of other extras.
NOT_FOR_USERS = {"all", "dev", "docs"}


def ranges(*, without: set[str] = NOT_FOR_USERS) -> Iterator[Requirement]:
    """What users install, without the extras named."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    for extra, lines in {"": project["dependencies"], **project["optional-dependencies"]}.items():
        if extra not in without:
            yield from map(Requirement, lines)


def floor(asked: Requirement) -> str | None:
    """The lowest version that a range allows."""
    found = [one.version for one in asked.specifier if one.operator == ">="]
    return found[0] if found else None
