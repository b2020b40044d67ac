"""The JSON Schema that editors complete specs from: it says what the loader says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.support.spec_text import minimal, parse
from tidemill.contract.errors import SpecError
from tidemill.contract.project import REPOSITORY
from tidemill.spec import json_schema as schema

SPECS = sorted((REPOSITORY / "dags" / "specs").glob("*.yaml"))


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(schema.PATH.read_bytes()))


def complaints(validator: Draft202012Validator, document: Any) -> list[str]:
    return [error.json_path for error in validator.iter_errors(document)]


def test_the_committed_schema_is_that_of_the_code() -> None:
    # `make schema` writes it.
    assert json.loads(schema.PATH.read_bytes()) == schema.spec_schema()


def test_the_schema_is_a_schema(validator: Draft202012Validator) -> None:
    validator.check_schema(validator.schema)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: str(path.stem))
def test_the_shipped_specs_follow_it_and_point_editors_to_it(
    validator: Draft202012Validator, path: Any
) -> None:
    assert complaints(validator, yaml.safe_load(path.read_text())) == []
    modeline = path.read_text().split("\n")[0]
    assert (path.parent / modeline.rpartition("=")[2]).samefile(schema.PATH)


@pytest.mark.parametrize(
    "more",
    [
        "",
        "expect: {every: 1 day, grace: 6h}\n",
        "gate: {in_process_max: 512 KiB}\n",
        "gate: {in_process_max: 1024}\n",
        "trigger: once\n",
        "output: {partition_by: {day: to_date(at)}}\n",
        "env: {A: , B: x}\n",
        "notify: {notifier: a.b.C, args: {x: 1}}\n",
    ],
)
def test_what_loads_follows_the_schema(validator: Draft202012Validator, more: str) -> None:
    parse(minimal(more))
    assert complaints(validator, yaml.safe_load(minimal(more))) == []


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ("unknown: 1\n", "$"),
        ("gate: {sute: x}\n", "$.gate"),
        ("airflow: {timeout: 60}\n", "$.airflow.timeout"),
        ("airflow: {timeout: 1 fortnight}\n", "$.airflow.timeout"),
        ("expect: {every: 1 fortnight}\n", "$.expect"),
        ("gate: {in_process_max: 1 MB}\n", "$.gate.in_process_max"),
        ("gate: {in_process_max: -1}\n", "$.gate.in_process_max"),
        ("output: {mode: upsert}\n", "$.output.mode"),
        ("publish: []\n", "$.publish"),
        ("transform: ../x\n", "$.transform"),
        ("output: {partition_by: {'a`b': to_date(at)}}\n", "$.output.partition_by"),
        ("env: {lower: x}\n", "$.env"),
    ],
)
def test_an_editor_complains_where_the_loader_does(
    validator: Draft202012Validator, more: str, place: str
) -> None:
    with pytest.raises(SpecError):
        parse(minimal(more))
    assert complaints(validator, yaml.safe_load(minimal(more))) == [place]


def properties() -> Iterator[tuple[str, Any]]:
    """Every property of a spec, with its part of the schema."""
    whole = schema.spec_schema()
    for model, part in {"Spec": whole, **whole["$defs"]}.items():
        for name, found in part.get("properties", {}).items():
            yield f"{model}.{name}", found


def test_every_property_has_a_description() -> None:
    described = {name: part.get("description", "") for name, part in properties()}
    assert len(described) > 200
    assert [name for name, words in described.items() if not words] == []


def test_every_default_is_what_the_property_itself_permits() -> None:
    models = schema.spec_schema()["$defs"]
    refused = {
        name: part["default"]
        for name, part in properties()
        if "default" in part
        and not Draft202012Validator({"$defs": models, **part}).is_valid(part["default"])
    }
    assert refused == {}


def test_a_default_duration_is_written_as_people_write_it() -> None:
    defaults = {name: part.get("default") for name, part in properties()}
    assert defaults["Airflow.retry_delay"] == "30 seconds"
    assert defaults["Spec.airflow"]["timeout"] == "2 hours"


@pytest.mark.parametrize("field", ["sources.orders", "publish.0"])
def test_the_kind_is_asked_for_where_the_loader_asks(
    validator: Draft202012Validator, field: str
) -> None:
    spec = yaml.safe_load(minimal("publish: [{kind: delta}]\n"))
    part = spec["sources"]["orders"] if field.startswith("sources") else spec["publish"][0]
    del part["kind"]

    with pytest.raises(SpecError, match="kind"):
        parse(yaml.safe_dump(spec))
    assert complaints(validator, spec)
