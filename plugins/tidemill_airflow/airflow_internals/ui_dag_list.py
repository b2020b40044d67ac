"""The request by which Airflow's UI gets its list of DAGs; this module does not import Airflow.

Airflow's public REST API, `/api/v2/dags`, is another one.
"""

_ROUTES = "airflow.api_fastapi.core_api.routes.ui"
ATTRIBUTES = (f"{_ROUTES}:ui_router", f"{_ROUTES}.dags:get_dags")

PATH = "/ui/dags"
# Filters with which a person looks for a DAG by its name, or for what needs attention.
LOOKS_FOR = frozenset(
    {
        "dag_ids",
        "dag_id_pattern",
        "dag_id_prefix_pattern",
        "dag_display_name_pattern",
        "dag_display_name_prefix_pattern",
        "dag_run_state",
        "last_dag_run_state",
        "has_pending_actions",
        "is_favorite",
    }
)
