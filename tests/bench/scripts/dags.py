"""Builds the DAGs of all pipelines, as Airflow's DAG processor does."""

from tidemill_airflow.dag import dags

found = [dag.dag_id for dag in dags()]
assert found, "there are no DAGs"
