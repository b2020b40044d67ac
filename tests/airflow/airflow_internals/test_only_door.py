"""Only `airflow_internals` uses what Airflow and its Spark provider keep private."""

from __future__ import annotations

import airflow.sdk
import pytest
from airflow.sdk import DAG, BaseOperator

from tests.support.private_uses import (
    lines_found,
    own_classes,
    private_attributes,
    private_imports,
    private_of_bases,
    sources,
)
from tidemill.contract.project import REPOSITORY

PLUGINS = REPOSITORY / "plugins"
ADAPTER = PLUGINS / "tidemill_airflow" / "airflow_internals"
FILES = [*sources(PLUGINS, ADAPTER), *sources(REPOSITORY / "dags", ADAPTER)]
# Module -> the names that Airflow's page "Public Interface of Airflow", the reference of
# `airflow.sdk` or the provider's documentation names; None for all of a module's.
PUBLIC: dict[str, set[str] | None] = {
    "airflow.exceptions": None,
    "airflow.plugins_manager": {"AirflowPlugin"},
    "airflow.providers.openlineage.extractors": {"OperatorLineage"},
    "airflow.sdk": set(airflow.sdk.__all__),
    "airflow.sdk.exceptions": None,
    "airflow.sdk.log": {"mask_secret"},
    "airflow.sdk.types": None,
    "airflow.timetables.base": None,
    "airflow.timetables.interval": None,
    "airflow.triggers.base": None,
    "airflow.utils.state": None,
}


def is_public(module: str, name: str) -> bool:
    names = PUBLIC.get(module, set())
    return names is None or name in names


def test_no_other_module_imports_a_private_part() -> None:
    assert lines_found(FILES, lambda text: private_imports(text, "airflow", is_public)) == []


def test_no_other_module_touches_a_private_attribute() -> None:
    assert lines_found(FILES, private_attributes) == []


def test_no_other_class_shares_a_private_name_with_a_base_of_airflows() -> None:
    package = "tidemill_airflow"
    kinds = set(own_classes(package, PLUGINS, f"{package}.airflow_internals"))
    assert len(kinds) > 20
    shared = {kind.__qualname__: private_of_bases(kind, "airflow") for kind in kinds}
    assert {name: names for name, names in shared.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    [
        "from airflow.models.dag import DagModel",
        "import airflow.models.dag",
        "from airflow.sdk import timezone",
        "from airflow.sdk.definitions.param import ParamsDict",
        "from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook",
        "def f():\n    from airflow.utils.session import create_session",
    ],
)
def test_a_private_import_is_seen(source: str) -> None:
    assert private_imports(source, "airflow", is_public) == [source.count("\n") + 1]


def test_a_public_import_is_let_through() -> None:
    for source in (
        "from airflow.sdk import DAG",
        "from airflow.triggers.base import TriggerEvent",
        "from airflows_neighbour import anything",
        "from tidemill_airflow.airflow_internals import stats",
    ):
        assert private_imports(source, "airflow", is_public) == []


@pytest.mark.parametrize(
    "source",
    [
        "hook._connection",
        "hook._env = None",
        "getattr(hook, '_submit_sp')",
        "vars(dag)['params']",
        "dag.__dict__",
        "frame.f_back.f_locals",
        # A base defines it.
        "class Step(Hook):\n    def end(self): self._submit_sp.kill()",
    ],
)
def test_a_private_attribute_is_seen(source: str) -> None:
    assert set(private_attributes(source)) == {source.count("\n") + 1}


def test_an_attribute_of_the_modules_own_is_let_through() -> None:
    source = (
        "class Pace:\n    def __init__(self): self._next = 0\n    def at(self): return self._next"
    )
    assert private_attributes(source) == []


class Shadowing(BaseOperator):
    """Defines a method that a base has too, and sets an attribute of it."""

    def _set_relatives(self) -> None: ...

    def prepare(self) -> None:
        self._is_mapped = True
        self._own = True


class Apart(DAG):
    def prepare(self) -> None:
        self._own = True


def test_a_private_name_shared_with_a_base_is_seen() -> None:
    assert "_set_relatives" in private_of_bases(Shadowing, "airflow")
    assert "_own" not in private_of_bases(Shadowing, "airflow")
    assert private_of_bases(Apart, "airflow") == set()
