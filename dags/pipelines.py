"""The only DAG file: an Airflow DAG for every spec on TIDEMILL_PROJECTS, and for the demo."""

from tidemill_airflow.dag import dags

globals().update({dag.dag_id: dag for dag in dags()})
