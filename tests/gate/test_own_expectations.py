"""Expectations of the user's own: the page's example, judged in process and on Spark."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.pages import BLOCKS
from tests.support.parquet_sink import sample_of
from tidemill.contract.project import Project
from tidemill.gate.engine_choice import Engine, choose_engine
from tidemill.gate.in_process import InProcess
from tidemill.gate.judge import judge
from tidemill.gate.sample import Sample
from tidemill.gate.suite import Suite, SuiteError, load_suite
from tidemill.increments.judgement import Judgement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLUGIN, SUITE = "expectations/plugins/levels.py", "expectations/suites/levels.json"
ENGINES = "@condition(engine=PandasExecutionEngine)", "@condition(engine=SparkDFExecutionEngine)"
LEVELS = {"level_cm": [410, 437, -300]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The project of the page."""
    for name in (PLUGIN, SUITE):
        path = tmp_path / "harbour" / name
        path.parent.mkdir(parents=True)
        path.write_text(BLOCKS[f"harbour/{name}"])
    return Project((tmp_path / "harbour").resolve())


def suite_in(project: Project) -> Suite:
    return load_suite(project.suite("levels"))


def judged(
    sample: Sample, suite: Suite, engine: Engine, home: Path, mask: Collection[str] = ()
) -> Judgement:
    return judge(
        sample,
        suite,
        engine,
        run_name="run",
        docs=home / "docs",
        results=home / "run",
        samples=20,
        mask=mask,
    )


def said(judgement: Judgement) -> list[tuple[str, bool, tuple[Any, ...]]]:
    return [(one.type, one.success, one.samples) for one in judgement.outcomes]


EXPECTED = [
    ("expect_level_of_a_sea", False, (-300,)),
    ("expect_column_values_to_be_of_a_step", False, (437,)),
]


def choice(project: Project, sample: Sample) -> tuple[str, str]:
    found = choose_engine(1, 10, suite_in(project), sample.columns)
    return found.engine, found.why


def test_they_are_judged_in_process_where_pandas_has_their_metrics(
    project: Project, tmp_path: Path
) -> None:
    sample = sample_of(LEVELS, tmp_path)
    assert choice(project, sample)[0] == "in_process"
    judgement = judged(sample, suite_in(project), InProcess(), tmp_path)
    assert said(judgement) == EXPECTED
    assert [one.type for one in judgement.failed_critical] == ["expect_level_of_a_sea"]


def test_they_are_judged_on_spark_with_the_same_verdict(
    project: Project, tmp_path: Path, spark: SparkSession
) -> None:
    from tidemill.gate.on_spark import OnSpark

    sample = sample_of(LEVELS, tmp_path)
    assert said(judged(sample, suite_in(project), OnSpark(spark), tmp_path)) == EXPECTED


def test_one_without_a_metric_for_pandas_is_left_to_spark(project: Project, tmp_path: Path) -> None:
    path = project.home / PLUGIN
    # Under a name of its own: what was registered in this process stays so.
    path.write_text(path.read_text().replace(*ENGINES).replace(".step", ".pace"))
    sample = sample_of(LEVELS, tmp_path)
    assert choice(project, sample) == (
        "spark",
        "expect_column_values_to_be_of_a_step has no metric for pandas",
    )


def test_one_that_narrows_a_shipped_one_follows_its_conditions(
    project: Project, tmp_path: Path
) -> None:
    sample = sample_of({"level_cm": ["high", "low"]}, tmp_path)
    engine, why = choice(project, sample)
    assert engine == "spark"
    assert why.startswith("expect_level_of_a_sea: column level_cm is string")


def test_no_value_of_its_result_is_kept_where_a_column_is_masked(
    project: Project, tmp_path: Path
) -> None:
    sample = sample_of({**LEVELS, "keeper": ["ann", "ben", "eva"]}, tmp_path)
    judgement = judged(sample, suite_in(project), InProcess(), tmp_path, mask=["keeper"])
    assert [(one.unexpected_count, one.samples) for one in judgement.outcomes] == [(1, ()), (1, ())]


def test_its_code_is_part_of_the_suites_hash_and_its_layout_is_not(project: Project) -> None:
    path = project.home / PLUGIN
    before = suite_in(project).hash
    path.write_text("# A remark.\n" + path.read_text())
    assert suite_in(project).hash == before
    path.write_text(path.read_text().replace("1500", "1600"))
    assert suite_in(project).hash != before


@pytest.mark.parametrize(
    "change",
    [
        ("import great_expectations.expectations as gxe", "import nothing_of_this_name"),
        ("ValuesOfAStep(", "ExpectColumnToExist(gxe.ExpectColumnToExist):\n    pass\n\nclass X("),
    ],
    ids=["does not load", "takes a shipped name"],
)
def test_code_that_cannot_be_used_is_refused_with_its_file(
    project: Project, tmp_path: Path, change: tuple[str, str]
) -> None:
    path = project.home / PLUGIN
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(SuiteError) as refused:
        judged(sample_of(LEVELS, tmp_path), suite_in(project), InProcess(), tmp_path)
    assert refused.value.path == path


def test_the_settings_may_name_another_folder(project: Project) -> None:
    settings = project.expectations / "great_expectations.yml"
    settings.write_text("plugins_directory: ../code\n")
    assert suite_in(project).own == {}
    (project.home / "expectations/plugins").rename(project.home / "code")
    assert set(suite_in(project).own.values()) == {project.home / "code/levels.py"}


def test_settings_that_are_not_yaml_are_refused_with_their_file(project: Project) -> None:
    settings = project.expectations / "great_expectations.yml"
    settings.write_text("plugins_directory: [\n")
    with pytest.raises(SuiteError) as refused:
        suite_in(project)
    assert refused.value.path == settings
