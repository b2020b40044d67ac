"""`tidemill check` of a transform in SQL and of static inputs, without Spark."""

from __future__ import annotations

import json

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


def test_a_name_that_spark_reads_in_backticks_alone_is_a_problem(
    tidemill: Tidemill, mill: OrdersPipeline
) -> None:
    write(mill, "SELECT id AS größe FROM orders")
    assert found(tidemill("check", NAME, "--json")) == {(SQL, 1, "Write `größe`.")}


def test_columns_with_any_names_are_known(tidemill: Tidemill, mill: OrdersPipeline) -> None:
    source = {**mill.spec["sources"]["orders"], "schema": "_id string, `a.b` int, `Ä` timestamp"}
    changed: dict[str, object] = {
        **mill.spec,
        "sources": {"orders": source},
        "event_time": {"column": "Ä", "watermark": "1 hour"},
        "row_rules": {"known": "_id IS NOT NULL AND `a.b` > 0"},
        "output": {"mode": "update", "keys": ["_id", "AN ZAHL"], "partition_by": {"Tag.es": "`Ä`"}},
        "gate": {"suite": "none"},
    }
    spec = mill.home / "project" / SPEC
    spec.write_text(json.dumps(changed))
    select = "SELECT _id, count(`a.b`) AS `AN ZAHL`, `Tag.es` FROM orders GROUP BY ALL"
    write(mill, select)
    assert tidemill("check", NAME, "--json").exit_code == ExitCode.DONE

    (mill.home / "project" / SQL).write_text(select.replace("_id", "_idd"))
    remedy = "Did you mean '_id'?"
    assert (SQL, 1, remedy) in found(tidemill("check", NAME, "--json"))


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
