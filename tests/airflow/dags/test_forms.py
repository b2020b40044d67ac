"""The forms of our DAGs are ones that Airflow takes, which it is not asked for each DAG."""

from __future__ import annotations

import pytest
from airflow.sdk import DAG, Param

from tidemill_airflow.dags.forms import backfill_form, resolve_form


@pytest.mark.parametrize(
    ("form", "schedule"), [(backfill_form("Europe/Paris"), "@daily"), (resolve_form(), None)]
)
def test_a_form_fits_its_own_schema(form: dict[str, Param], schedule: str | None) -> None:
    # Raises where a value that a form begins with is not one that it allows.
    assert set(DAG("any", schedule=schedule, params=form).params) == set(form)
