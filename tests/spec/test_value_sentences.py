"""No sentence of pydantic's reaches a person: each kind of mistake has words of our own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.spec.spec import Spec

# What a part of pydantic's core schema checks -> the types of error that it can raise.
RAISED_BY_TYPE = {
    "str": {"string_type"},
    "int": {"int_type", "int_parsing", "int_from_float"},
    "float": {"float_type", "float_parsing"},
    "bool": {"bool_type", "bool_parsing"},
    "date": {"date_type", "date_from_datetime_parsing", "date_from_datetime_inexact"},
    "literal": {"literal_error"},
    "enum": {"enum"},
    "tuple": {"tuple_type"},
    "dict": {"dict_type"},
    "model": {"model_type"},
    "model-fields": {"missing", "extra_forbidden"},
    "tagged-union": {"union_tag_invalid", "union_tag_not_found"},
    "function-after": {"value_error"},
    "function-before": {"value_error"},
    "function-wrap": {"value_error"},
    "function-plain": {"value_error"},
}
# A text and a length are too short in words of their own.
RAISED_BY_BOUND = {
    "pattern": {"string_pattern_mismatch"},
    "gt": {"greater_than"},
    "ge": {"greater_than_equal"},
    "lt": {"less_than"},
    "le": {"less_than_equal"},
}
# These check nothing themselves, or nothing that a text of YAML can break.
SILENT = {
    "any", "default", "definitions", "definition-ref", "json-or-python", "lax-or-strict",
    "model-field", "none", "nullable", "timedelta", "union", "is-instance", "chain", "list",
    "no-info", "with-info",
}  # fmt: skip
SAMPLES = {
    "string_type": "description: 5\n",
    "string_pattern_mismatch": "transform: Orders\n",
    "string_too_short": "row_rules: {a: ''}\n",
    "string_too_long": "assets: {outlets: [{uri: 's3://" + "a" * 1500 + "'}]}\n",
    "int_type": "airflow: {retries: [1]}\n",
    "int_parsing": "airflow: {retries: many}\n",
    "int_from_float": "airflow: {retries: 1.5}\n",
    "float_type": "budget: {max_minutes: [1]}\n",
    "float_parsing": "budget: {max_minutes: long}\n",
    "bool_type": "decisions: {four_eyes: [1]}\n",
    "bool_parsing": "decisions: {four_eyes: perhaps}\n",
    "date_type": "airflow: {start_date: [1]}\n",
    "date_from_datetime_parsing": "airflow: {start_date: yesterday}\n",
    "date_from_datetime_inexact": "airflow: {start_date: 2026-03-01 10:00:00}\n",
    "literal_error": "multipleWatermarkPolicy: mix\n",
    "enum": "trigger: onc\n",
    "tuple_type": "publish: {kind: delta}\n",
    "dict_type": "row_rules: [a]\n",
    "model_type": "gate: daily\n",
    "missing": "expect: {grace: 1 day}\n",
    "extra_forbidden": "gate: {sute: orders}\n",
    "union_tag_invalid": "publish: [{kind: delt}]\n",
    "union_tag_not_found": "publish: [{table: a}]\n",
    "value_error": "timezone: Utopia\n",
    "too_short": "publish: []\n",
    "too_long": "assets: {inlets: [" + "{uri: 's3://a/b'}, " * 101 + "]}\n",
    "greater_than": "budget: {max_batches: 0}\n",
    "greater_than_equal": "gate: {samples: -1}\n",
    "less_than": "airflow: {priority_weight: 2147483648}\n",
    "less_than_equal": "gate: {rejected: {hold_above: 2}}\n",
}


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every part of a core schema that checks something."""
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), str):
            yield schema
        for key, inner in schema.items():
            if key not in ("metadata", "serialization", "default", "function"):
                yield from parts(inner)
    elif isinstance(schema, list | tuple):
        for inner in schema:
            yield from parts(inner)


def test_there_is_a_sample_of_every_mistake_that_a_spec_can_make() -> None:
    found = [*parts(Spec.__pydantic_core_schema__)]
    unknown = {one["type"] for one in found} - {*RAISED_BY_TYPE} - SILENT
    raised: set[str] = set()
    for one in found:
        raised |= RAISED_BY_TYPE.get(one["type"], set())
        for bound in RAISED_BY_BOUND.keys() & one.keys():
            raised |= RAISED_BY_BOUND[bound]
        for bound, word in (("min_length", "short"), ("max_length", "long")):
            if bound in one:
                raised.add(f"string_too_{word}" if one["type"] == "str" else f"too_{word}")

    assert unknown == set()
    assert raised <= {*SAMPLES}


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_mistake_is_told_in_words_of_our_own(kind: str) -> None:
    text = minimal(SAMPLES[kind])
    with pytest.raises(ValidationError) as raw:
        Spec.model_validate(yaml.safe_load(text))
    (theirs,) = [one for one in raw.value.errors() if one["type"] == kind][:1]
    with pytest.raises(SpecError) as ours:
        parse(text)

    told = " ".join(f"{one.what} {one.remedy}" for one in (ours.value, *ours.value.further))
    # A value error has our own message already, which pydantic puts words before.
    assert theirs["msg"].lower() not in told.lower()
    assert ours.value.line is not None
    assert ours.value.remedy
