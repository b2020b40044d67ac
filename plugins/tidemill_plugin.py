"""What Tidemill adds to Airflow's UI and API server."""

from airflow.plugins_manager import AirflowPlugin

from tidemill_airflow.docs_page import lazy_app
from tidemill_airflow.operators.docs_link import URL_PREFIX, DataDocsLink


class TidemillPlugin(AirflowPlugin):
    name = "tidemill"
    fastapi_apps = [{"app": lazy_app, "url_prefix": URL_PREFIX, "name": "Tidemill"}]
    operator_extra_links = [DataDocsLink()]
