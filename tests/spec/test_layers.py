"""Defaults hold for specs; a message names the file that holds the wrong value."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.spec_text import MINIMAL
from tidemill.contract.errors import SpecError, UsageError
from tidemill.contract.project import Project
from tidemill.spec.catalog import find, spec_files
from tidemill.spec.effective import stamp_of


@pytest.fixture
def own(tmp_path: Path) -> Project:
    """A project with the pipelines `clicks` and, in a folder, `web__views`."""
    made = Project(tmp_path.resolve())
    (made.specs / "web").mkdir(parents=True)
    made.spec("clicks").write_text(MINIMAL)
    (made.specs / "web" / "views.yaml").write_text(MINIMAL)
    return made


def environ(own: Project, **more: str) -> dict[str, str]:
    return {"TIDEMILL_PROJECTS": str(own.home), **more}


def test_a_pipeline_in_a_folder_has_the_folders_name_before_its_own(own: Project) -> None:
    named = {one.name for one in spec_files(environ(own)) if one.project == own}
    assert named == {"clicks", "web__views"}
    assert find("web__views", environ(own)).path == own.specs / "web" / "views.yaml"


def test_two_files_that_come_to_one_name_are_refused_by_name(own: Project) -> None:
    own.spec("web__views").write_text(MINIMAL)
    with pytest.raises(UsageError) as error:
        list(spec_files(environ(own)))
    assert error.value.name == "web__views"
    assert {error.value.path, error.value.other} == {
        own.spec("web__views"),
        own.specs / "web" / "views.yaml",
    }


def test_the_nearest_default_counts_and_the_spec_before_all(own: Project) -> None:
    own.file.write_text("defaults: {timezone: Asia/Tokyo, airflow: {owner: all, tags: [a]}}\n")
    (own.specs / "_defaults.yaml").write_text("airflow: {tags: [b, c]}\n")
    (own.specs / "web" / "_defaults.yaml").write_text("airflow: {owner: web}\n")
    own.spec("clicks").write_text(f"{MINIMAL}timezone: Europe/London\n")
    clicks = find("clicks", environ(own)).load(environ(own))
    views = find("web__views", environ(own)).load(environ(own))
    assert (clicks.timezone, clicks.airflow.owner, clicks.airflow.tags) == (
        "Europe/London",
        "all",
        ("b", "c"),
    )
    assert (views.timezone, views.airflow.owner, views.airflow.tags) == (
        "Asia/Tokyo",
        "web",
        ("b", "c"),
    )


def test_a_profile_overrides_defaults_and_variables(own: Project) -> None:
    own.file.write_text(
        "variables: {landing: /dev/in, zone: UTC}\n"
        "defaults: {description: 'from ${landing} in ${zone}'}\n"
        "profiles:\n  prod:\n    variables: {landing: /in}\n    defaults: {airflow: {retries: 9}}\n"
    )
    clicks = find("clicks", environ(own))
    prod = clicks.load(environ(own, TIDEMILL_PROFILE="prod"))
    assert (prod.description, prod.airflow.retries) == ("from /in in UTC", 9)
    assert clicks.load(environ(own)).description == "from /dev/in in UTC"
    with pytest.raises(SpecError) as error:
        clicks.load(environ(own, TIDEMILL_PROFILE="prd"))
    assert (error.value.path, error.value.line) == (own.file, 3)


def test_a_default_may_declare_a_variable_of_the_environment(own: Project) -> None:
    own.file.write_text("defaults:\n  env: {LANDING: /in}\n  description: ${LANDING}\n")
    clicks = find("clicks", environ(own))
    assert clicks.load(environ(own)).description == "/in"
    assert clicks.load(environ(own, LANDING="/there")).description == "/there"


@pytest.mark.parametrize(
    ("text", "line", "field"),
    [
        ("gate:\n  sute: x\n", 2, "gate.sute"),
        ("\ntimezone: Moon\n", 2, "timezone"),
        ("description: ${NOWHERE}\n", 1, "description"),
        ("each: {a: {}}\n", 1, "each"),
    ],
)
def test_a_wrong_default_is_told_where_it_stands(
    own: Project, text: str, line: int, field: str
) -> None:
    defaults = own.specs / "_defaults.yaml"
    defaults.write_text(text)
    with pytest.raises(SpecError) as error:
        find("clicks", environ(own)).load(environ(own))
    told = error.value
    assert (told.path, told.line, told.field) == (defaults, line, field)
    assert told.what.startswith(f"{defaults}:{line}: ")


def test_the_stamp_of_a_spec_changes_with_each_file_that_has_a_part_in_it(own: Project) -> None:
    spec, seen = own.specs / "web" / "views.yaml", set()
    for file in (own.file, own.specs / "_defaults.yaml", own.specs / "web" / "_defaults.yaml"):
        seen.add(stamp_of(spec, {}))
        file.write_text("")
    seen |= {stamp_of(spec, {}), stamp_of(spec, {"TIDEMILL_PROFILE": "prod"})}
    assert len(seen) == 5
