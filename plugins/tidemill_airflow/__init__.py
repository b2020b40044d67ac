"""The Airflow side: DAGs from specs, their operators, and a small Airflow on one machine."""
