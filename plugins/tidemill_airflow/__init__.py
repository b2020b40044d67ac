"""The Airflow side: DAG builder, operators and notifiers."""
