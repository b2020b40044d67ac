"""From YAML to a spec: what is refused, where it stands, and what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.spec_text import MINIMAL, PATH, minimal, parse
from tidemill.contract.errors import ExitCode, SpecError
from tidemill.spec.load import load_spec


def refused(text: str, environ: dict[str, str] | None = None) -> SpecError:
    with pytest.raises(SpecError) as error:
        parse(text, environ)
    assert error.value.path == PATH
    assert error.value.remedy
    assert error.value.exit_code == ExitCode.USAGE
    return error.value


def line_of(text: str, word: str) -> int:
    (number,) = [n for n, line in enumerate(text.split("\n"), 1) if word in line]
    return number


def test_the_smallest_spec_loads() -> None:
    spec = parse(MINIMAL)
    assert spec.sources["orders"].columns == ("id", "amount", "at")


@pytest.mark.parametrize(
    ("text", "wrong", "field", "nearest"),
    [
        (minimal("shedule: '@daily'\n"), "shedule", "shedule", "schedule"),
        (minimal("gate: {sute: orders}\n"), "sute", "gate.sute", "suite"),
        (
            minimal("gate:\n  rejected: {hold_abov: 0.1}\n"),
            "hold_abov",
            "gate.rejected.hold_abov",
            "hold_above",
        ),
        (minimal("publish:\n- kind: delta\n- kin: x\n"), "kin:", "publish.1.kin", "kind"),
        (
            minimal(replace={"    format: csv": "    format: csv\n    optons: {}"}),
            "optons",
            "sources.orders.optons",
            "options",
        ),
        (
            minimal(replace={"    format: csv": "    format: csv\n    maxFilePerTrigger: 2"}),
            "maxFilePerTrigger",
            "sources.orders.maxFilePerTrigger",
            "maxFilesPerTrigger",
        ),
        (minimal("expect: {evry: 1 day}\n"), "evry", "expect.evry", "every"),
        (minimal("airflow: {retry: 1}\n"), "retry", "airflow.retry", "retries"),
        (minimal("output: {partition: {}}\n"), "partition", "output.partition", "partition_by"),
        # Required keys that are misspelt: the typo is the news, not that the key is missing.
        (
            minimal(replace={"    schema:": "    shema:"}),
            "shema",
            "sources.orders.shema",
            "schema",
        ),
        (minimal(replace={"sources:": "source:"}), "source:", "source", "sources"),
        (minimal(replace={"  column:": "  colum:"}), "colum:", "event_time.colum", "column"),
    ],
)
def test_an_unknown_key_at_any_depth_names_the_nearest_known_one(
    text: str, wrong: str, field: str, nearest: str
) -> None:
    error = refused(text)
    assert error.field == field
    assert error.line == line_of(text, wrong)
    assert f"'{nearest}'" in error.remedy


def test_an_unknown_key_with_nothing_near_lists_those_there_are() -> None:
    error = refused(minimal("gate: {zzz: 1}\n"))
    assert error.field == "gate.zzz"
    assert all(key in error.remedy for key in ("suite", "rejected", "in_process_max", "samples"))


def test_a_missing_key_stands_at_its_parent() -> None:
    text = minimal(replace={"    format: csv\n": ""})
    error = refused(text)
    assert (error.field, error.line) == ("sources.orders.format", line_of(text, "  orders:"))


def test_a_wrong_value_stands_at_its_own_line() -> None:
    text = minimal("gate:\n  samples: 5\n  rejected:\n    hold_above: 1.5\n")
    error = refused(text)
    assert (error.field, error.line) == ("gate.rejected.hold_above", line_of(text, "hold_above"))


@pytest.mark.parametrize(
    ("text", "field", "line"),
    [
        (minimal("timezone: UTC\ntimezone: Europe/London\n"), "timezone", 10),
        (minimal("env: {A: a, A: b}\n"), "env.A", 9),
        (minimal("row_rules:\n  one: a > 1\n  two: b\n  one: c\n"), "row_rules.one", 12),
        (minimal("publish: [{kind: delta, kind: delta}]\n"), "publish.0.kind", 9),
        (minimal("airflow: {owner: a, 'owner': b}\n"), "airflow.owner", 9),
    ],
)
def test_a_key_that_is_given_twice_is_refused(text: str, field: str, line: int) -> None:
    error = refused(text)
    assert (error.field, error.line) == (field, line)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("# nothing\n", 1),
        ("- a\n- b\n", 1),
        ("just words\n", 1),
        ("a: [1\nb: 2\n", 2),
        ("a: b: c\n", 1),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: !!python/object/apply:os.system ['true']\n", 1),
        ("? [a, b]\n: 1\n", 1),
        ("a: *nowhere\n", 1),
    ],
)
def test_what_is_no_yaml_mapping_is_refused_with_its_line(text: str, line: int) -> None:
    assert refused(text).line == line


@pytest.mark.parametrize(
    "text",
    [
        minimal("description: bell \a\n"),
        minimal("description: nul \0\n"),
        minimal("airflow: {start_date: 2024-13-45}\n"),
        minimal("description: " + "[" * 5000 + "\n"),
        minimal("description: &a [*a]\n"),
    ],
)
def test_what_the_yaml_reader_stumbles_over_is_refused_too(text: str) -> None:
    refused(text)


def multiplied(levels: int, *, merged: bool = False) -> str:
    """Aliases of aliases: each level spells out to twice the one before it."""
    first, next_one = ("{x: 1}", "{{<<: [*a{0}, *a{0}]}}") if merged else ("[x]", "[*a{0}, *a{0}]")
    lines = [f"a0: &a0 {first}"]
    lines += [f"a{n}: &a{n} {next_one.format(n - 1)}" for n in range(1, levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("merged", [False, True])
def test_aliases_that_multiply_are_refused_at_their_line_however_many(merged: bool) -> None:
    refusals = [refused(multiplied(levels, merged=merged)) for levels in (20, 2_000)]
    assert [error.line for error in refusals] == [refusals[0].line] * 2
    assert refusals[0].line is not None
    assert 10 < refusals[0].line < 20


@pytest.mark.parametrize("text", ["a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a {<<: *a}\n"])
def test_an_alias_within_what_it_names_is_refused(text: str) -> None:
    assert refused(text).line == 1


def test_an_alias_stands_for_what_it_names() -> None:
    more = "    options: &comma {sep: ','}\n    row_rules: {}\nevent_time:"
    other = "  others:\n    kind: file\n    format: csv\n    path: /in/others\n"
    other += "    schema: id string, at timestamp\n    options: *comma\nevent_time:"
    text = MINIMAL.replace("event_time:", more).replace("event_time:", other)
    sources = parse(text).sources
    assert sources["others"].options == sources["orders"].options == {"sep": ","}


@pytest.mark.parametrize(
    "text",
    [
        minimal("on: 1\n"),
        minimal("row_rules: {on: id > 1}\n"),
        minimal("1: 2\n"),
        minimal("~: 2\n"),
    ],
)
def test_keys_that_yaml_takes_for_no_text_are_refused(text: str) -> None:
    assert refused(text).line == 9


def test_a_declared_variable_is_expanded_from_the_environment() -> None:
    text = minimal("env: {IN: }\n", replace={"/in/orders": "${IN}/orders"})
    assert parse(text, {"IN": "/data"}).sources["orders"].path == "/data/orders"


def test_a_declared_variable_has_its_default_where_it_is_not_set() -> None:
    text = minimal("env: {IN: /default}\n", replace={"/in/orders": "${IN}/orders"})
    assert parse(text).sources["orders"].path == "/default/orders"
    assert parse(text, {"IN": "/set"}).sources["orders"].path == "/set/orders"


def test_a_variable_is_expanded_wherever_text_stands() -> None:
    spec = parse(
        minimal(
            "env: {WHO: me}\nairflow: {owner: '${WHO}', tags: [a, 'b-${WHO}-${WHO}']}\n"
            "notify: {notifier: a.b, args: {to: ['${WHO}']}}\n"
        )
    )
    assert spec.airflow.owner == "me"
    assert spec.airflow.tags == ("a", "b-me-me")
    assert spec.notify is not None
    assert spec.notify.args == {"to": ["me"]}


def test_an_undeclared_variable_is_refused_even_if_it_is_set() -> None:
    text = minimal(replace={"/in/orders": "${HOME}/orders"})
    error = refused(text, {"HOME": "/root"})
    assert (error.field, error.line) == ("sources.orders.path", line_of(text, "HOME"))
    assert "HOME" in error.remedy


def test_a_declared_variable_without_value_is_refused() -> None:
    text = minimal("env: {IN: }\n", replace={"/in/orders": "${IN}/orders"})
    error = refused(text, {"OTHER": "x"})
    assert (error.field, error.line) == ("sources.orders.path", line_of(text, "${IN}"))
    assert "IN" in error.remedy


@pytest.mark.parametrize("reference", ["${}", "${ IN }", "${IN:-x}", "${in}"])
def test_only_the_plain_form_of_a_reference_is_known(reference: str) -> None:
    text = minimal("env: {IN: /x}\n", replace={"/in/orders": f"{reference}/orders"})
    assert refused(text, {"in": "/y"}).field == "sources.orders.path"


def test_what_a_variable_holds_is_not_expanded_again() -> None:
    text = minimal("env: {A: , B: secret}\ndescription: ${A}\n")
    assert parse(text, {"A": "${B}"}).description == "${B}"


def test_defaults_are_no_place_for_variables() -> None:
    text = minimal("env: {A: x, B: '${A}'}\ndescription: ${B}\n")
    assert parse(text).description == "${A}"


@pytest.mark.parametrize("env", ["[A]", "{A: 5}", "{a: x}", "{A: [x]}", "text"])
def test_a_declaration_of_another_form_is_refused(env: str) -> None:
    text = minimal(f"env: {env}\ndescription: uses ${{A}}\n")
    assert refused(text, {}).line in (9, 10)


@pytest.mark.parametrize("name", ["Orders", "1orders", "_orders", "or-ders", "or.ders", "or ders"])
def test_a_file_name_that_is_no_pipeline_name_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.yaml"
    path.write_text(MINIMAL)
    with pytest.raises(SpecError) as error:
        load_spec(path, {})
    assert (error.value.path, error.value.line, error.value.field) == (path, None, None)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "orders.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError) as error:
        load_spec(path, {})
    assert error.value.path == path
