"""Where pipelines are found: in this repository, then in the user's own folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.spec_text import MINIMAL
from tidemill.contract.errors import SpecError, UsageError
from tidemill.contract.project import (
    REPOSITORY,
    Project,
    TransformDoubled,
    search_path,
)
from tidemill.spec.catalog import find, spec_files
from tidemill.spec.pipeline import open_pipeline


def project(home: Path, *names: str) -> Project:
    """A folder laid out like this repository, with a spec of each name."""
    made = Project(home.resolve())
    made.specs.mkdir(parents=True)
    for name in names:
        made.spec(name).write_text(MINIMAL)
    return made


def environ(*projects: Project) -> dict[str, str]:
    homes = os.pathsep.join(str(project.home) for project in projects)
    return {"TIDEMILL_PROJECTS": homes, "TIDEMILL_ROOT": "/srv/tidemill"}


def test_without_further_folders_only_this_repository_is_searched() -> None:
    assert search_path({}) == (Project(REPOSITORY),)


def test_further_folders_come_after_it_in_their_order(tmp_path: Path) -> None:
    b, a = project(tmp_path / "b"), project(tmp_path / "a")
    assert search_path(environ(b, a)) == (Project(REPOSITORY), b, a)


def test_a_folder_that_is_named_twice_is_searched_once(tmp_path: Path) -> None:
    one = project(tmp_path / "one", "orders")
    assert search_path(environ(one, Project(REPOSITORY), one)) == (Project(REPOSITORY), one)


def test_empty_parts_of_the_search_path_do_not_mean_the_working_directory() -> None:
    assert search_path({"TIDEMILL_PROJECTS": os.pathsep * 3}) == (Project(REPOSITORY),)


def test_a_folder_that_does_not_exist_holds_no_pipelines(tmp_path: Path) -> None:
    assert find("shop_orders", environ(Project(tmp_path / "none"))).project.home == REPOSITORY


def test_the_shipped_pipelines_are_found() -> None:
    shipped = {"actions_per_hour", "events_kafka", "retail", "shop_orders", "word_count_kafka"}
    assert {one.name for one in spec_files({})} >= shipped


def test_a_users_pipeline_takes_all_three_files_from_its_own_folder(tmp_path: Path) -> None:
    own = project(tmp_path / "own", "clicks")
    pipeline = open_pipeline("clicks", environ(own))
    assert pipeline.spec_file == own.home / "dags" / "specs" / "clicks.yaml"
    assert pipeline.transform_file == own.home / "spark_jobs" / "transforms" / "clicks.py"
    assert pipeline.suite_file == own.home / "expectations" / "suites" / "clicks.json"
    assert pipeline.layout.home == Path("/srv/tidemill/clicks")


def test_a_spec_may_name_another_transform_and_suite(tmp_path: Path) -> None:
    own = project(tmp_path / "own", "clicks")
    own.spec("clicks").write_text(f"{MINIMAL}transform: web\ngate: {{suite: strict}}\n")
    pipeline = open_pipeline("clicks", environ(own))
    assert (pipeline.transform_file.name, pipeline.suite_file.name) == ("web.py", "strict.json")


def test_a_transform_may_be_sql_and_not_both(tmp_path: Path) -> None:
    own = project(tmp_path / "own", "clicks")
    python = own.transform("clicks")
    sql = python.with_suffix(".sql")
    sql.parent.mkdir(parents=True, exist_ok=True)
    sql.write_text("SELECT * FROM orders")
    assert own.transform("clicks") == sql
    python.write_text("def transform(orders):\n    return orders\n")
    with pytest.raises(TransformDoubled) as doubled:
        own.transform("clicks")
    assert doubled.value.path == sql


def test_one_name_in_two_folders_is_refused_after_all_others_were_given(tmp_path: Path) -> None:
    one, two = project(tmp_path / "1", "clicks"), project(tmp_path / "2", "clicks", "views")
    with pytest.raises(UsageError) as error:
        list(spec_files(environ(one, two)))
    assert (error.value.path, error.value.other) == (two.spec("clicks"), one.spec("clicks"))
    given = [path.stem for path in until_refused(environ(one, two))]
    assert {"clicks", "views", "retail"} <= set(given)


def until_refused(variables: dict[str, str]) -> Iterator[Path]:
    try:
        yield from (one.path for one in spec_files(variables))
    except UsageError:
        return


def test_the_first_folder_with_a_name_wins(tmp_path: Path) -> None:
    own = project(tmp_path / "own", "retail")
    assert find("retail", environ(own)).project.home == REPOSITORY


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("retial", "retail"), ("click", "clicks"), ("shop_order", "shop_orders"), ("xyz", None)],
)
def test_a_name_that_does_not_exist_names_the_nearest(
    tmp_path: Path, name: str, nearest: str | None
) -> None:
    with pytest.raises(UsageError) as error:
        find(name, environ(project(tmp_path / "own", "clicks")))
    assert (error.value.name, error.value.nearest) == (name, nearest)


@pytest.mark.parametrize("name", ["../clicks", "specs/clicks", "clicks.yaml", "", "/etc/passwd"])
def test_a_name_is_looked_up_and_never_a_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as error:
        open_pipeline(name, environ(project(tmp_path / "own", "clicks")))
    assert error.value.name == name


def test_a_broken_spec_does_not_hide_the_others(tmp_path: Path) -> None:
    own = project(tmp_path / "own", "clicks", "views")
    own.spec("clicks").write_text("nonsense: [")
    assert open_pipeline("views", environ(own)).name == "views"
    with pytest.raises(SpecError) as error:
        open_pipeline("clicks", environ(own))
    assert error.value.path == own.spec("clicks")
