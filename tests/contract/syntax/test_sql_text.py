"""Functions that would run Java are found wherever they are called, and nowhere else."""

from __future__ import annotations

import pytest

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.contract.syntax.sql_text import java_call

CALLS = "('java.lang.System', 'getenv')"


@pytest.mark.parametrize(
    "sql",
    [
        f"reflect{CALLS}",
        f"id > 0 AND Java_Method {CALLS} IS NULL",
        f"`TRY_REFLECT`{CALLS}",
        f"system.builtin.reflect{CALLS}",
        f"`system` . `builtin` . `reflect`\n{CALLS}",
        f"reflect /* ( */ -- (\n {CALLS}",
        f"(SELECT max(reflect{CALLS}))",
        # Neither a text, raw or not, nor the end of a comment's line hides it.
        rf"r'\' || reflect{CALLS} || r'\'",
        rf"'it\'s' || reflect{CALLS}",
        f"id -- it is\rreflect{CALLS}",
        f"/* a */ reflect{CALLS} /* b */",
        # A name that is made up when it runs.
        f"IDENTIFIER('ref' || 'lect'){CALLS}",
    ],
)
def test_a_call_is_found(sql: str) -> None:
    assert java_call(sql) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "reflect > 0",
        "'reflect(a)' = id",
        '"java_method(a)" = id',
        "id /* reflect('a', 'b') */ > 0 -- reflect('a', 'b')",
        "reflected(id)",
        "r'reflect(' || id",
        "`reflect` IN (1, 2)",
    ],
)
def test_words_texts_and_comments_are_no_calls(sql: str) -> None:
    assert java_call(sql) is None


RULE = "{fine: \"reflect('java.lang.System', 'exit', 1) IS NULL\"}"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (minimal(f"row_rules: {RULE}\n"), "row_rules.fine"),
        (minimal(f"output: {{partition_by: {RULE}}}\n"), "output.partition_by.fine"),
        (minimal(f"observe: {RULE}\n"), "observe.fine"),
        (
            minimal(replace={"path: /in/orders": f"path: /in/orders\n    row_rules: {RULE}"}),
            "sources.orders.row_rules.fine",
        ),
    ],
)
def test_no_expression_of_a_spec_may_run_java(text: str, field: str) -> None:
    with pytest.raises(SpecError, match=r"reflect\(\)") as refused:
        parse(text)
    assert refused.value.field == field
