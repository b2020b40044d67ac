"""The clock and chance are found in Python and SQL without running either."""

from __future__ import annotations

import ast

import pytest

from tidemill.contract.syntax.unrepeatable_python import unrepeatable_names
from tidemill.contract.syntax.unrepeatable_sql import unrepeatable_in_sql

IMPORTS = """
import datetime, os.path, random, secrets, time as t, uuid
import numpy as np, pandas as pd
from datetime import date, datetime as moment
from uuid import uuid4
"""


def named(line: str) -> list[str]:
    return [one.name for one in unrepeatable_names(ast.parse(f"{IMPORTS}{line}"))]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("random.random()", "random.random"),
        ("pick = random.choice", "random.choice"),
        ("random.Random()", "random.Random"),
        ("secrets.token_hex(4)", "secrets.token_hex"),
        ("uuid4()", "uuid.uuid4"),
        ("uuid.uuid1()", "uuid.uuid1"),
        ("t.time()", "time.time"),
        ("t.strftime('%F')", "time.strftime"),
        ("datetime.datetime.now(datetime.UTC)", "datetime.datetime.now"),
        ("moment.utcnow()", "datetime.datetime.utcnow"),
        ("date.today()", "datetime.date.today"),
        ("np.random.rand(3)", "numpy.random.rand"),
        ("np.random.default_rng()", "numpy.random.default_rng"),
        ("pd.Timestamp.now()", "pandas.Timestamp.now"),
        ("def f(row):\n    from random import gauss\n    return gauss(0, 1)", "random.gauss"),
        ("class Count:\n    def handle(self, rows): yield uuid4()", "uuid.uuid4"),
    ],
)
def test_a_name_for_the_clock_or_chance_is_found_in_python(line: str, name: str) -> None:
    assert named(line) == [name]


@pytest.mark.parametrize(
    "line",
    [
        "random.Random(7)",
        "np.random.default_rng(seed=7)",
        "uuid.uuid5(uuid.NAMESPACE_URL, row.url)",
        "moment(2026, 3, 1)",
        "moment.fromtimestamp(row.at)",
        "t.gmtime(row.at)",
        "t.sleep(1)",
        "row.random.choice()",
    ],
)
def test_what_is_the_same_each_time_is_not_found_in_python(line: str) -> None:
    assert named(line) == []


@pytest.mark.parametrize(
    ("sql", "used"),
    [
        ("at > now()", ["now()"]),
        ("at::date < CURRENT_DATE", ["current_date()"]),
        ("rand() < 0.5 OR rand(7) < 0.1", ["rand()"]),
        ("at > unix_timestamp()", ["unix_timestamp()"]),
        ("at > timestamp 'now'", ["timestamp'now'"]),
        ("at > date'yesterday'", ["date'yesterday'"]),
        ("at > timestamp'12:30:00'", ["timestamp'12:30:00'"]),
        ("at > timestamp'2026-03-01 12:30:00' AND at > unix_timestamp(t)", []),
        ("o.current_date > at -- now()", []),
        ("note = 'now()' AND `now` > 1", []),
        ("bought_on > date'epoch'", []),
    ],
)
def test_the_clock_and_chance_are_found_in_sql(sql: str, used: list[str]) -> None:
    assert unrepeatable_in_sql(sql) == used


def test_a_column_may_be_called_like_the_clock() -> None:
    assert unrepeatable_in_sql("current_date > at", ["current_date", "at"]) == []
