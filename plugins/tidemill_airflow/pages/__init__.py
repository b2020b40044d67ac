"""Tidemill's pages within Airflow: HTML made on the server, for users who may read the DAG."""
