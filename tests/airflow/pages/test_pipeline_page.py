"""The page of a pipeline shows its increments, held ones first, its targets and its spec."""

from __future__ import annotations

from typing import Any

import pytest

from tests.airflow.pages.conftest import token
from tests.support.histories.history_builder import NAME, History


@pytest.mark.parametrize("place", [f"pipelines/{NAME}", f"dags/{NAME}", f"dags/{NAME}__resolve"])
def test_the_page_shows_what_is_held_before_what_was_published(
    api: Any, history: History, place: str
) -> None:
    answer = api.get(f"/tidemill/{place}", headers=token("viewer"))
    assert answer.status_code == 200
    held, newest = answer.text.index("Held and waiting"), answer.text.index("<h2>Increments")
    assert held < newest
    assert all(f"/tidemill/pipelines/{NAME}/increments/{n}" in answer.text for n in (1, 2, 3))
    assert "output.partition_by.day" in answer.text


def test_a_spec_that_does_not_load_is_said_beside_the_history(api: Any, history: History) -> None:
    history.project.spec(NAME).write_text("sources: 1")
    answer = api.get(f"/tidemill/pipelines/{NAME}", headers=token("viewer"))
    assert (answer.status_code, 'role="alert"' in answer.text) == (200, True)
    assert f"/tidemill/pipelines/{NAME}/increments/2" in answer.text


def test_a_damaged_document_is_said(api: Any, history: History) -> None:
    (history.increments.folder_of(2) / "sealed.json").write_text("{")
    answer = api.get(f"/tidemill/pipelines/{NAME}", headers=token("viewer"))
    assert (answer.status_code, 'role="alert"' in answer.text) == (200, True)


def test_a_dag_of_others_has_a_tab_that_says_so(api: Any, history: History) -> None:
    answer = api.get("/tidemill/dags/other", headers=token("viewer"))
    assert (answer.status_code, "runs no pipeline" in answer.text) == (200, True)


@pytest.mark.parametrize("place", [f"pipelines/{NAME}", f"dags/{NAME}"])
def test_who_may_not_read_the_dag_sees_no_pipeline(api: Any, history: History, place: str) -> None:
    assert api.get(f"/tidemill/{place}", headers=token(None)).status_code == 403
