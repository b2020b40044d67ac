"""The button "Increment" on the gate's task: what it judged, and what can be decided about it."""

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


class IncrementLink(BaseOperatorLink):
    """Leads to the page of the increment that the gate's report names."""

    name = "Increment"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """The address within this Airflow, or '' where the gate judged nothing."""
        layout = Layout(root(), pipeline_of(ti_key.dag_id, ti_key.task_id))
        report = reports.read(current_run_folder(layout, ti_key.run_id), "gate")
        number = report.facts.get("increment") if report else None
        return page_path("pipelines", layout.name, "increments", str(number)) if number else ""
