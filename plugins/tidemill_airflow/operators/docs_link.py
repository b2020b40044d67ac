"""The button "Data docs" on the gate's task: the page of what was judged in this run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import BaseOperatorLink

from tidemill.contract import report as reports
from tidemill.contract.layout import Layout
from tidemill.ledger.reprocessed_run import current_run_folder
from tidemill.spec.root import root
from tidemill_airflow.addresses import page_path
from tidemill_airflow.task_names import pipeline_of

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class DataDocsLink(BaseOperatorLink):
    """Leads to the Great Expectations page that the gate's report names."""

    name = "Data docs"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The address within this Airflow, or '' where the gate wrote no page."""
        layout = Layout(root(), pipeline_of(ti_key.dag_id, ti_key.task_id))
        report = reports.read(current_run_folder(layout, ti_key.run_id), "gate")
        page = report.facts.get("docs") if report else None
        return docs_url(layout, Path(page)) if page else ""


def docs_url(layout: Layout, page: Path) -> str:
    """The address of a page under `Layout.docs`; a relative path is taken from there."""
    inside = page.relative_to(layout.docs) if page.is_absolute() else page
    return page_path("docs", layout.name, *inside.parts)
