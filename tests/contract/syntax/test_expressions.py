"""Misspelt columns are found without Spark, and words that are not one are left alone."""

from __future__ import annotations

import pytest

from tidemill.contract.syntax.expressions import misspelt_columns

COLUMNS = ("InvoiceNo", "Quantity", "InvoiceDate", "days", "Unit Price")


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("Quanttiy IS NOT NULL", [("Quanttiy", "Quantity")]),
        ("to_date(InvoiceDtae)", [("InvoiceDtae", "InvoiceDate")]),
        ("`Unit Prise` >= 0", [("Unit Prise", "Unit Price")]),
        ("Quantiti > 0 AND quantiti < 9", [("Quantiti", "Quantity"), ("quantiti", "Quantity")]),
        ("Quantiti + Quantiti", [("Quantiti", "Quantity")]),
    ],
)
def test_a_word_that_is_nearly_a_column_is_named_with_the_column(
    expression: str, found: list[tuple[str, str]]
) -> None:
    assert misspelt_columns(expression, COLUMNS) == found


@pytest.mark.parametrize(
    "expression",
    [
        "quantity > 0",
        "INVOICEDATE < current_date",
        "InvoiceNo NOT LIKE 'Quantiti%'",
        'InvoiceNo = "Quantiti"',
        r"InvoiceNo = 'it\'s Quantiti'",
        "date_add(InvoiceDate, 3) > date '2026-03-01'",
        "InvoiceDate - INTERVAL 3 day > now()",
        "quantiti(InvoiceNo)",
        "named_struct('a', 1).Quantiti = 1",
        "CAST(Quantity AS string) AS Quantiti",
        "something_else > 3",
        "`Unit Price` IS NOT NULL",
        "",
    ],
)
def test_what_may_be_right_is_left_to_spark(expression: str) -> None:
    assert misspelt_columns(expression, COLUMNS) == []
