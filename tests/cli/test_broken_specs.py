"""Each broken pipeline of the table gets exactly one sentence from `tidemill check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tidemill
from tests.support.check_problems import SPEC, SUITE, TRANSFORM, found
from tests.support.pipelines.orders_pipeline import NAME, OrdersPipeline
from tidemill.steps.read_only.checks import dag_integrity

SQL = TRANSFORM.replace(".py", ".sql")
TEXTS = {
    SPEC: """\
env: {ORDERS_INPUT: }
timezone: Europe/London
schedule: "@daily"
expect: {every: 1 day}
sources:
  orders:
    kind: file
    format: csv
    path: ${ORDERS_INPUT}
    schema: id string, quantity int, at timestamp
    maxFilesPerTrigger: 2
event_time: {column: at}
row_rules:
  plausible: quantity > 3 AND id IS NOT NULL
observe:
  pieces: sum(quantity)
output:
  mode: append
  keys: [id]
  partition_by:
    day: to_date(at)
gate:
  rejected: {hold_above: 0.5}
  mask: [id]
airflow: {retries: 2}
""",
    SQL: """\
-- Twice as much of each.
WITH counted AS (SELECT id, quantity, at, day FROM orders)
SELECT id, at, day,
  quantity,
  quantity * 2 AS double
FROM counted
""",
    SUITE: """\
{"name": "orders", "expectations": [
  {"type": "expect_column_sum_to_be_between", "kwargs": {"column": "double", "min_value": 1}}
]}
""",
}
RESULT = "It has: id, at, day, quantity, double."
# The file, a text in it, what stands there instead, what the sentence names, its remedy.
BROKEN = {
    "a type that Spark does not know": (
        SPEC, "id string,", "id strng,", "strng", "Did you mean 'string'?",
    ),
    "a bracket in a schema that stays open": (
        SPEC, "quantity int,", "quantity decimal(10,", "schema", "Change the value.",
    ),
    "a column that is there twice": (
        SPEC, "quantity int,", "id int,", "'id' is given twice", "Change the value.",
    ),
    "a misspelt keyword in a row rule": (
        SPEC, "> 3 AND", ">> 3 ANDD", "character", "Did you mean 'AND'?",
    ),
    "a row rule that ends too early": (
        SPEC, "AND id IS NOT NULL", "AND", "cannot be read at 'AND'", "Fix the syntax there.",
    ),
    "a quote in a row rule that stays open": (
        SPEC, "quantity > 3", "id = '3", "not closed", "Close it.",
    ),
    "a function in a row rule that Spark does not have": (
        SPEC, "quantity > 3", "lenght(id) > 3", "lenght()", "Did you mean 'length'?",
    ),
    "a function of another database": (
        SPEC, "quantity > 3", "iif(quantity > 3, true, false)", "iif()", "Did you mean 'if'?",
    ),
    "a misspelt column in a row rule": (
        SPEC, "quantity > 3", "quantiy > 3", "quantiy", "Did you mean 'quantity'?",
    ),
    "a column of the result in a row rule": (
        SPEC, "quantity > 3", "total > 3", "total", "It has: id, quantity, at, day.",
    ),
    "a misspelt function in a partition": (
        SPEC, "to_date(at)", "to_dat(at)", "to_dat()", "Did you mean 'to_date'?",
    ),
    "a misspelt column in a partition": (
        SPEC, "to_date(at)", "to_date(att)", "att", "Did you mean 'at'?",
    ),
    "a misspelt function in a metric": (
        SPEC, "sum(quantity)", "summ(quantity)", "summ()", "Did you mean 'sum'?",
    ),
    "a metric of a column that the result does not have": (
        SPEC, "sum(quantity)", "sum(price)", "price", RESULT,
    ),
    "a key that is not a column": (
        SPEC, "keys: [id]", "keys: [idd]", "output.keys.0", "Did you mean 'id'?",
    ),
    "a masked column that is not there": (
        SPEC, "mask: [id]", "mask: [customer]", "gate.mask.0", RESULT,
    ),
    "an unknown column of times": (
        SPEC, "{column: at}", "{column: att}", "att", "Did you mean 'at'?",
    ),
    "an unknown kind of source": (
        SPEC, "kind: file", "kind: fil", "sources.orders.kind", "Did you mean 'file'?",
    ),
    "an unknown format": (
        SPEC, "format: csv", "format: cvs", "sources.orders.format", "Did you mean 'csv'?",
    ),
    "an unknown output mode": (
        SPEC, "mode: append", "mode: appendd", "output.mode", "Did you mean 'append'?",
    ),
    "an unknown time zone": (
        SPEC, "Europe/London", "Europe/Lodnon", "timezone", "Did you mean 'Europe/London'?",
    ),
    "a duration with an unknown unit": (
        SPEC, "1 day", "1 fortnight", "expect.every",
        "Write a whole number and a unit, such as '30 minutes', '6h' or '1 day 12 hours'.",
    ),
    "a text for a number": (
        SPEC, "retries: 2", "retries: twice", "airflow.retries", "Write it in digits, such as 5.",
    ),
    "a share above one": (
        SPEC, "0.5", "50", "gate.rejected.hold_above", "Write a number that is at most 1.0.",
    ),
    "a key without a value": (
        SPEC, "event_time: {column: at}", "event_time: {}", "event_time.column", "Add it.",
    ),
    "a misspelt key": (
        SPEC, "maxFilesPerTrigger", "maxFilePerTrigger", "maxFilePerTrigger",
        "Did you mean 'maxFilesPerTrigger'?",
    ),
    "a text for a mapping": (
        SPEC, "expect: {every: 1 day}", "expect: daily", "expect",
        "Write its keys below it, one on each line.",
    ),
    "a relative path": (
        SPEC, "${ORDERS_INPUT}\n", "in/orders\n", "sources.orders.path",
        "Write it from the root on, such as /srv/landing.",
    ),
    "a variable that is not declared": (
        SPEC, "${ORDERS_INPUT}\n", "${ORDERS_INPT}\n", "ORDERS_INPT",
        "Add 'ORDERS_INPT:' under 'env:', with a default or without.",
    ),
    "a misspelt keyword in SQL": (
        SQL, "FROM counted", "FRM counted", "line 6, column 1", "Did you mean 'FROM'?",
    ),
    "a table that SQL cannot read": (
        SQL, "FROM orders", "FROM order_lines", "order_lines", "Did you mean 'orders'?",
    ),
    "a misspelt column in SQL": (
        SQL, "quantity * 2", "quantty * 2", "quantty", "Did you mean 'quantity'?",
    ),
    "a misspelt function in SQL": (
        SQL, "quantity * 2", "rond(quantity)", "rond()", "Did you mean 'round'?",
    ),
    "a partition that SQL drops": (
        SQL, "SELECT id, at, day,", "SELECT id, at,", "'day'",
        "Select it as it is, and group by it; the spec says what day holds.",
    ),
    "a suite on a column that does not exist": (
        SUITE, '"double"', '"dubble"', "dubble", "Did you mean 'double'?",
    ),
    "an expectation with a misspelt argument": (
        SUITE, "min_value", "min_valeu", "min_valeu", "Did you mean 'min_value'?",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def project(mill: OrdersPipeline, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(dag_integrity, "airflow_installed", lambda: False)
    project = mill.home / "project"
    (project / TRANSFORM).unlink()
    for file, text in TEXTS.items():
        (project / file).write_text(text)
    return project


def test_the_pipeline_that_each_of_them_breaks_is_sound(tidemill: Tidemill) -> None:
    assert tidemill("check", NAME, "--json").json["problems"] == []


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_mistake_gets_one_sentence_with_file_line_and_remedy(
    tidemill: Tidemill, project: Path, mistake: str
) -> None:
    file, old, new, named, remedy = BROKEN[mistake]
    text = TEXTS[file]
    assert text.count(old) == 1
    (project / file).write_text(text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1

    answer = tidemill("check", NAME, "--json")

    whole_file = mistake == "a partition that SQL drops"
    assert found(answer) == {(file, None if whole_file else line, remedy)}
    (problem,) = answer.json["problems"]
    assert named in problem["what"]


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("def transform(rows, more):\n    return rows\n", "Write: def transform(rows): …"),
        ("def transfrm(rows):\n    return rows\n", "Add: def transform(rows): …"),
    ],
)
def test_a_function_that_cannot_be_called_gets_one_too(
    tidemill: Tidemill, project: Path, code: str, remedy: str
) -> None:
    (project / SQL).unlink()
    (project / TRANSFORM).write_text(code)

    assert {(file, said) for file, _, said in found(tidemill("check", NAME, "--json"))} == {
        (TRANSFORM, remedy)
    }


def test_what_python_returns_is_not_known_and_nothing_is_said_of_its_columns(
    tidemill: Tidemill, project: Path
) -> None:
    (project / SQL).unlink()
    (project / TRANSFORM).write_text("def transform(rows):\n    return rows\n")
    spec = (project / SPEC).read_text()
    (project / SPEC).write_text(spec.replace("keys: [id]", "keys: [other]"))
    (project / SUITE).write_text(TEXTS[SUITE].replace("double", "dubble"))

    assert tidemill("check", NAME, "--json").json["problems"] == []


def test_the_rows_of_a_source_that_are_published_as_they_come_have_its_columns(
    tidemill: Tidemill, project: Path
) -> None:
    (project / SQL).unlink()
    (project / SPEC).write_text("transform: none\n" + TEXTS[SPEC])

    assert found(tidemill("check", NAME, "--json")) == {
        (SUITE, 2, "It has: id, quantity, at, day.")
    }
