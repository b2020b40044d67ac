"""The only DAG file: an Airflow DAG for every spec in dags/specs, and on TIDEMILL_PROJECTS."""

from tidemill_airflow.dag import dags

globals().update({dag.dag_id: dag for dag in dags()})
