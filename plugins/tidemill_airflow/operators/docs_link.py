"""The button "Data docs" on the gate's task: the page of what was judged in this run."""

from __future__ import annotations

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
        recorded = report.facts.get("docs") if report else None
        page = layout.docs_page(recorded) if recorded else None
        return page_path("docs", layout.name, *page.relative_to(layout.docs).parts) if page else ""
