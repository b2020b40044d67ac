"""`tidemill check` of a transform in SQL and of static inputs, without Spark."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tidemill
from tests.support.check_problems import SPEC, TRANSFORM, found
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.contract.errors import ExitCode
from tidemill.steps.read_only.checks import dag_integrity

SQL = TRANSFORM.replace(".py", ".sql")


@pytest.fixture(autouse=True)
def without_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)


def write(mill: OrdersPipeline, text: str) -> None:
    project = mill.home / "project"
    (project / TRANSFORM).unlink()
    (project / SQL).write_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM orders",
        "/* what; */ -- drop it\nWITH a AS (SELECT ';' FROM `orders`) SELECT * FROM a;\n",
    ],
)
def test_a_select_over_the_sources_is_sound(
    tidemill: Tidemill, mill: OrdersPipeline, text: str
) -> None:
    write(mill, text)
    assert tidemill("check", NAME, "--json").exit_code == ExitCode.DONE


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("", "Write one SELECT over the sources."),
        ("DROP TABLE orders", "Write one SELECT over the sources."),
        ("SELECT 1 FROM orders; SELECT 2", "Write one SELECT; WITH names what comes before it."),
        ("SELECT `Reflect`('a', 'b') FROM orders", "Write the transform in Python."),
        ("SELECT 1 -- FROM orders", "Read it, or remove it from the spec."),
    ],
)
def test_anything_else_is_a_problem(
    tidemill: Tidemill, mill: OrdersPipeline, text: str, remedy: str
) -> None:
    write(mill, text)
    assert found(tidemill("check", NAME, "--json")) == {(SQL, None, remedy)}


@pytest.mark.parametrize(
    ("pipeline", "remedy"),
    [("shop_order", "Did you mean 'shop_orders'?"), (NAME, "Name another pipeline.")],
)
def test_the_table_of_no_other_pipeline_is_a_problem(
    tidemill: Tidemill, mill: OrdersPipeline, pipeline: str, remedy: str
) -> None:
    spec = mill.home / "project" / SPEC
    statics = f"statics:\n  prices:\n    kind: table\n    pipeline: {pipeline}\n"
    before = spec.read_text()
    line = before.count("\n") + 4
    spec.write_text(before + statics)
    assert (SPEC, line, remedy) in found(tidemill("check", NAME, "--json"))


def test_two_transforms_of_one_name_are_a_problem(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    (mill.home / "project" / SQL).write_text("SELECT * FROM orders")
    assert found(tidemill("check", NAME, "--json")) == {(SQL, None, "Remove one of them.")}
