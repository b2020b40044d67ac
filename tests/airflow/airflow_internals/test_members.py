"""What `airflow_internals` relies on: a version of Airflow that lacks it fails here by name."""

from __future__ import annotations

import inspect

import airflow
import pytest
from packaging.version import Version

from tests.support.inner_members import complaint, declared
from tidemill_airflow import airflow_internals
from tidemill_airflow.airflow_internals.ui_dag_list import LOOKS_FOR, PATH

MEMBERS = declared(airflow_internals)


@pytest.mark.parametrize("member", MEMBERS)
def test_the_installed_airflow_has_it(member: str) -> None:
    assert complaint(member, MEMBERS[member]) is None


def test_the_uis_list_of_dags_has_the_path_and_the_filters() -> None:
    from airflow.api_fastapi.core_api.routes.ui import ui_router
    from airflow.api_fastapi.core_api.routes.ui.dags import dags_router, get_dags

    assert ui_router.prefix + dags_router.prefix == PATH
    lacking = {*LOOKS_FOR, "tags"} - inspect.signature(get_dags).parameters.keys()
    # Airflow 3.3.0 has no such filter.
    assert lacking == (
        {"dag_run_state"} if Version(airflow.__version__) < Version("3.3.2") else set()
    )


HOOK = "airflow.providers.apache.spark.hooks.spark_submit:SparkSubmitHook"


@pytest.mark.parametrize(
    ("member", "arguments"),
    [
        ("airflow.no_such_module:name", None),
        ("airflow.models.dag:NoSuchModel", None),
        ("airflow.models.dag:DagModel.no_such_column", None),
        (f"{HOOK}._no_such_attribute", None),
        (f"{HOOK}._no_such_method", ()),
        # It is there and cannot be called.
        ("airflow.models.dag:__name__", ()),
        # Too many, a renamed one, one that is required, and two in another order.
        (f"{HOOK}._get_spark_binary_path", ("application",)),
        ("airflow.api.common.delete_dag:delete_dag", ("dag_id", "keep_log=")),
        (f"{HOOK}._build_spark_submit_command", ()),
        (f"{HOOK}._build_spark_submit_command", ("path",)),
        ("airflow.models.pool:Pool.create_or_update_pool", ("slots", "name", "description", "x")),
    ],
)
def test_a_member_that_has_changed_is_seen(member: str, arguments: tuple[str, ...] | None) -> None:
    assert complaint(member, arguments) is not None
