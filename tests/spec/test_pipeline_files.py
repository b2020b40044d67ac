"""A spec names its transform and suite: none, its own, or those of another pipeline or project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.contract.project import Project
from tidemill.spec.pipeline_files import NO_SUITE, NO_TRANSFORM, suite_file, transform_file
from tidemill.spec.spec import Spec

SECOND = "  more: {kind: file, format: csv, path: /in/more, schema: at timestamp}\n"


@pytest.fixture
def projects(tmp_path: Path) -> tuple[Project, Project]:
    """A project with `own`, and another one with `own` and `shared`."""
    first, second = Project(tmp_path / "first"), Project(tmp_path / "second")
    for project, names in ((first, ["own"]), (second, ["own", "shared"])):
        for name in names:
            for path in (project.transform(name), project.suite(name)):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
    return first, second


def files(spec: Spec, projects: tuple[Project, Project]) -> tuple[Path, Path]:
    first = projects[0]
    return (
        transform_file("orders", spec, first, projects),
        suite_file("orders", spec, first, projects),
    )


def naming(name: str) -> Spec:
    return parse(minimal(f"transform: {name}\ngate: {{suite: {name}}}\n"))


def test_none_is_no_file_of_a_project(projects: tuple[Project, Project]) -> None:
    assert files(naming("none"), projects) == (NO_TRANSFORM, NO_SUITE)


def test_a_file_of_the_own_project_comes_before_one_of_the_same_name_elsewhere(
    projects: tuple[Project, Project],
) -> None:
    first, _ = projects
    assert files(naming("own"), projects) == (first.transform("own"), first.suite("own"))


def test_files_of_another_project_are_found_by_name(projects: tuple[Project, Project]) -> None:
    _, second = projects
    assert files(naming("shared"), projects) == (second.transform("shared"), second.suite("shared"))


def test_what_is_nowhere_is_expected_in_the_own_project(projects: tuple[Project, Project]) -> None:
    first, _ = projects
    assert files(naming("gone"), projects) == (first.transform("gone"), first.suite("gone"))
    unnamed = parse(minimal())
    assert files(unnamed, projects) == (first.transform("orders"), first.suite("orders"))


@pytest.mark.parametrize(
    "text",
    [
        minimal("transform: none\n", replace={"event_time:": f"{SECOND}event_time:"}),
        minimal("transform: none\nsink: {kind: foreach}\n"),
        minimal("transform: none\nsink: {kind: foreach_batch}\n"),
    ],
)
def test_none_is_refused_where_only_a_file_can_say_what_is_done(text: str) -> None:
    with pytest.raises(SpecError) as error:
        parse(text)
    assert error.value.field == "transform"
