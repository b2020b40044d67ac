"""What Tidemill adds to Airflow's UI and API server."""

from typing import Any

from airflow.plugins_manager import AirflowPlugin

from tidemill_airflow.addresses import URL_PREFIX, page_path
from tidemill_airflow.operators.docs_link import DataDocsLink
from tidemill_airflow.operators.increment_link import IncrementLink
from tidemill_airflow.pages.dag_list import DagList
from tidemill_airflow.pages.mount import pages
from tidemill_airflow.settings import export_settings


class TidemillPlugin(AirflowPlugin):
    name = "tidemill"
    fastapi_apps = [{"app": pages, "url_prefix": URL_PREFIX, "name": "Tidemill"}]
    fastapi_root_middlewares = [
        {"middleware": DagList, "args": [], "kwargs": {}, "name": "Tidemill's list of DAGs"}
    ]
    external_views = [
        {
            "name": "Tidemill",
            "href": page_path("pipelines"),
            "destination": "nav",
            "url_route": "tidemill",
            "nav_top_level": True,
        },
        {
            "name": "Tidemill",
            "href": f"{page_path('dags')}/{{DAG_ID}}",
            "destination": "dag",
            "url_route": "tidemill_pipeline",
        },
        {
            "name": "Tidemill",
            "href": f"{page_path('dags')}/{{DAG_ID}}/runs/{{RUN_ID}}",
            "destination": "dag_run",
            "url_route": "tidemill_run",
        },
    ]
    operator_extra_links = [DataDocsLink(), IncrementLink()]

    @classmethod
    def on_load(cls, *args: Any, **kwargs: Any) -> None:
        """Airflow's section `[tidemill]` holds for the pages too."""
        export_settings()
